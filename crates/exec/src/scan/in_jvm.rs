//! Scans some of whose tasks are none that are read natively: the rows of those are the JVM's.

use catalyst::{
    Expr, ExprId, FileSourceScan, Inputs, LeafInput, Metric, Objects, Operator, ScanInJvm,
};

use super::super::lower::{Demand, Lowered, Lowering, Result, leaf_input};
use super::super::objects::objects;

/// Lowers a scan, with the filter right above it.
pub(in super::super) fn scan(
    lowering: &Lowering,
    operator: &Operator,
    scan: &FileSourceScan,
    filter: Option<&Expr>,
    inputs: &Inputs,
    demand: Demand<'_>,
) -> Result<Lowered> {
    let native = super::scan(scan, operator.output.require()?, filter, demand)?;
    let native = native.with_metrics(operator.metrics.clone());
    let Some(in_jvm) = &scan.in_jvm else {
        return Ok(native);
    };
    let jvm = objects(lowering, &in_jvm.objects, &[], inputs, demand)?;
    let jvm = jvm.with_metrics(metrics(in_jvm, &operator.metrics));
    let ids = |of: &Lowered| -> Result<Vec<ExprId>> {
        Ok(of.output()?.iter().map(|column| column.id).collect())
    };
    // What is known of files is not known in the JVM.
    if ids(&native)? != ids(&jvm)? {
        return Ok(native);
    }
    let (leaf, output) = (scan.leaf, native.output()?.to_vec());
    Lowered::new(
        output,
        Box::new(move |task, inputs| match leaf_input(leaf, inputs)? {
            LeafInput::Object(_) => jvm.build(task, inputs),
            _ => native.build(task, inputs),
        }),
    )
}

/// The metrics of a scan that its RDD does not count itself. The batches of columns are known where they pass.
fn metrics(in_jvm: &ScanInJvm, of_scan: &[Metric]) -> Vec<Metric> {
    let others = of_scan.iter().skip(in_jvm.counted).cloned();
    let others = others.map(|mut metric| {
        if metric.name == "numInputBatches" {
            metric.name = Objects::passed(0);
        }
        metric
    });
    others.collect()
}
