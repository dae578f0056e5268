//! From DataFusion's metrics to Spark's SQL metrics.

use std::sync::Arc;

use datafusion_physical_plan::ExecutionPlan;
use datafusion_physical_plan::metrics::{MetricValue, MetricsSet};

use super::python::{DATA_RECEIVED, DATA_SENT};
use super::sources::PythonTimes;
use catalyst::Metric;

/// An operator of a task's plan, with the accumulators of Spark's operator.
#[derive(Debug)]
pub(super) struct Measured {
    pub(super) plan: Arc<dyn ExecutionPlan>,
    pub(super) metrics: Arc<[Metric]>,
    /// Accumulators of sorts right below: they are sent back with a number even if nothing is sorted here.
    pub(super) sorts: Arc<[i64]>,
}

/// Name of the metric with the most bytes that an operator of ours held.
pub(super) const PEAK_MEMORY: &str = "peak_memory";

/// Name of the metric with the aggregations of many groups that Spark goes on with by sorting.
pub(super) const SORT_FALLBACKS: &str = "sort_fallbacks";

/// Name of the metric with the batches that Spark's reader would have made.
pub(super) const INPUT_BATCHES: &str = "input_batches";

/// Name of the metric with the parts of files that a scan reads.
pub(super) const PARTS: &str = "parts";

/// Name of the metric with the rows that a scan leaves out because they are deleted.
pub(super) const DELETED_ROWS: &str = "deleted_rows";

/// How [`Objects::passed`](catalyst::Objects::passed) begins.
const PASSED: &str = "objects passed";

/// Metrics of functions of Python that are counted under Spark's names.
const PYTHON: [&str; 2] = [DATA_SENT, DATA_RECEIVED];

impl Measured {
    /// By accumulator, what was measured.
    pub(super) fn values(&self) -> Vec<(i64, i64)> {
        let sorts = self.sorts.iter().map(|accumulator| (*accumulator, 0));
        let Some(measured) = self.plan.metrics() else {
            return sorts.collect();
        };
        let metrics = self.metrics.iter();
        let metrics = metrics.filter_map(|metric| {
            let value = value(&metric.name, &measured)?;
            Some((metric.accumulator, i64::try_from(value).unwrap_or(i64::MAX)))
        });
        metrics.chain(sorts).collect()
    }
}

/// Bytes that all operators of a plan have written to disk.
pub(super) fn spilled_bytes(plan: &Arc<dyn ExecutionPlan>) -> usize {
    let own = plan.metrics().and_then(|metrics| metrics.spilled_bytes());
    let below = plan.children().into_iter().map(spilled_bytes);
    own.unwrap_or(0) + below.sum::<usize>()
}

/// What was measured under Spark's name for it.
fn value(name: &str, measured: &MetricsSet) -> Option<usize> {
    /// Spark's times are milliseconds, DataFusion's nanoseconds.
    const MILLISECOND: usize = 1_000_000;
    let sum = |name: &str| {
        let value = measured.sum_by_name(name);
        value.map(|value: MetricValue| value.as_usize())
    };
    match name {
        "numOutputRows" => measured.output_rows(),
        "spillSize" => Some(measured.spilled_bytes().unwrap_or(0)),
        // Of filters of objects, which the JVM evaluates.
        name if name.starts_with(PASSED) => sum(name),
        "pythonNumRowsReceived" => measured.output_rows(),
        name if PYTHON.contains(&name) || PythonTimes::NAMES.contains(&name) => sum(name),
        "numInputBatches" => sum(INPUT_BATCHES),
        // Metrics of Iceberg's.
        "numSplits" => sum(PARTS),
        "numDeletes" => sum(DELETED_ROWS),
        "sortTime" | "aggTime" | "scanTime" => {
            measured.elapsed_compute().map(|time| time / MILLISECOND)
        }
        "numTasksFallBacked" => sum(SORT_FALLBACKS),
        "peakMemory" => sum(PEAK_MEMORY),
        _ => None,
    }
}
