//! A native task's numbers as the driver's accumulators.

use javaser::arena::{Content, Elements, Graph, NodeId, Value};
use javaser::{Catalog, Limits};
use wire::messages::{AccumulableInfo, Accumulator, LongAccumulator, Raw};

use super::TaskMetrics;

const NANOS_PER_MILLI: i64 = 1_000_000;

/// Fields of `org.apache.spark.executor.TaskMetrics`, outer and inner, and the number that belongs there.
type Slot = (&'static [&'static str], fn(&TaskMetrics) -> i64);

const SLOTS: &[Slot] = &[
    (&["_executorDeserializeTime"], |m| {
        m.executor_deserialize_time.get()
    }),
    (&["_executorDeserializeCpuTime"], |m| {
        m.executor_deserialize_cpu_time.get()
    }),
    (&["_executorRunTime"], |m| m.executor_run_time.get()),
    (&["_executorCpuTime"], |m| m.executor_cpu_time.get()),
    (&["_resultSerializationTime"], |m| {
        m.result_serialization_time.get()
    }),
    (&["_memoryBytesSpilled"], |m| {
        m.spill.memory_bytes_spilled.get()
    }),
    (&["_diskBytesSpilled"], |m| m.spill.disk_bytes_spilled.get()),
    (&["_peakExecutionMemory"], |m| {
        m.spill.peak_execution_memory.get()
    }),
    // Native memory is off the Java heap (Spark 4.0 on).
    (&["_peakOffHeapExecutionMemory"], |m| {
        m.spill.peak_execution_memory.get()
    }),
    (&["shuffleReadMetrics", "_remoteBlocksFetched"], |m| {
        m.shuffle_read.remote_blocks_fetched.get()
    }),
    (&["shuffleReadMetrics", "_localBlocksFetched"], |m| {
        m.shuffle_read.local_blocks_fetched.get()
    }),
    (&["shuffleReadMetrics", "_remoteBytesRead"], |m| {
        m.shuffle_read.remote_bytes_read.get()
    }),
    (&["shuffleReadMetrics", "_remoteBytesReadToDisk"], |m| {
        m.shuffle_read.remote_bytes_read_to_disk.get()
    }),
    (&["shuffleReadMetrics", "_localBytesRead"], |m| {
        m.shuffle_read.local_bytes_read.get()
    }),
    (&["shuffleReadMetrics", "_fetchWaitTime"], |m| {
        m.shuffle_read.fetch_wait_time.get() / NANOS_PER_MILLI
    }),
    (&["shuffleReadMetrics", "_recordsRead"], |m| {
        m.shuffle_read.records_read.get()
    }),
    (&["shuffleReadMetrics", "_remoteReqsDuration"], |m| {
        m.shuffle_read.remote_reqs_duration.get()
    }),
    (&["shuffleWriteMetrics", "_bytesWritten"], |m| {
        m.shuffle_write.bytes_written.get()
    }),
    (&["shuffleWriteMetrics", "_recordsWritten"], |m| {
        m.shuffle_write.records_written.get()
    }),
    (&["shuffleWriteMetrics", "_writeTime"], |m| {
        m.shuffle_write.write_time.get()
    }),
    (&["inputMetrics", "_bytesRead"], |m| {
        m.input.bytes_read.get()
    }),
    (&["inputMetrics", "_recordsRead"], |m| {
        m.input.records_read.get()
    }),
    (&["outputMetrics", "_bytesWritten"], |m| {
        m.output.bytes_written.get()
    }),
    (&["outputMetrics", "_recordsWritten"], |m| {
        m.output.records_written.get()
    }),
];

/// The driver's numbers for the metrics of one stage attempt's tasks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MetricIds {
    /// Accumulator ids in the order of [`SLOTS`]; `None` where the version has no such metric.
    slots: Vec<Option<i64>>,
    result_size: Option<i64>,
}

impl MetricIds {
    /// Reads them from the `TaskMetrics` that came with the task: a Java object stream, followed by zeros.
    ///
    /// # Errors
    /// What is wrong with the stream.
    pub fn read(serialized_task_metrics: &[u8]) -> Result<Self, String> {
        let (graph, _) = Graph::parse_first(serialized_task_metrics, &Limits::default())
            .map_err(|error| format!("unreadable TaskMetrics: {error}"))?;
        let metrics = graph
            .root()
            .and_then(|root| root.node())
            .filter(|node| graph.is_instance(*node, "org.apache.spark.executor.TaskMetrics"))
            .ok_or("the task has no TaskMetrics")?;
        Ok(Self {
            slots: SLOTS
                .iter()
                .map(|(path, _)| accumulator_id(&graph, metrics, path))
                .collect(),
            result_size: accumulator_id(&graph, metrics, &["_resultSize"]),
        })
    }

    /// What an attempt has counted: numbers that are not zero, and, for a result, its size, which the driver fills in.
    pub fn updates(&self, metrics: &TaskMetrics, with_result_size: bool) -> Vec<LongAccumulator> {
        let size = self
            .result_size
            .filter(|_| with_result_size)
            .map(|id| LongAccumulator {
                count: 0,
                ..LongAccumulator::of_metric(id, 0)
            });
        SLOTS
            .iter()
            .zip(&self.slots)
            .filter_map(|((_, value), id)| {
                let value = value(metrics);
                id.filter(|_| value != 0)
                    .map(|id| LongAccumulator::of_metric(id, value))
            })
            .chain(size)
            .collect()
    }
}

fn accumulator_id(graph: &Graph, metrics: NodeId, path: &[&str]) -> Option<i64> {
    let mut node = metrics;
    for field in path {
        node = graph.field_node(node, field)?;
    }
    let metadata = graph.field_node(node, "metadata")?;
    graph.int(graph.field(metadata, "id")?)
}

/// The accumulator of a PySpark function with the updates of one attempt: the object that came with the task
/// (`PythonAccumulatorV2`), its list filled and turned towards the driver.
///
/// # Errors
/// What is unexpected about the object.
pub fn python_accumulator(
    stage: &Graph,
    accumulator: NodeId,
    updates: &[Vec<u8>],
    catalog: &Catalog,
) -> Result<Accumulator, String> {
    let fail = |error: javaser::Error| format!("cannot write PythonAccumulatorV2 back: {error}");
    let no_class = |error| format!("cannot write PythonAccumulatorV2 back: {error}");
    let mut graph = Graph::default();
    let copy = graph
        .import(stage, Value::Ref(accumulator))
        .map_err(fail)?
        .node()
        .ok_or("a PythonFunction's accumulator is null")?;
    let list_class = catalog.lookup("java.util.ArrayList").map_err(no_class)?;
    let bytes_class = catalog.lookup("[B").map_err(no_class)?;
    let list_desc = graph.add_desc(&list_class).map_err(fail)?;
    let bytes_desc = graph.add_desc(&bytes_class).map_err(fail)?;
    let size = i32::try_from(updates.len()).map_err(|_| "too many accumulator updates")?;
    // The list's own data start with its capacity, which readers ignore.
    let mut items = Graph::blocks(&size.to_be_bytes());
    for update in updates {
        let elements = Elements::Primitive(b'B', update.as_slice().into());
        let array = graph.new_array(bytes_desc, elements).map_err(fail)?;
        items.push(Content::Value(Value::Ref(array)));
    }
    let list = graph.new_object(list_desc).map_err(fail)?;
    graph
        .set_field(list, "size", Value::Int(size))
        .map_err(fail)?;
    graph.set_body(list, None, items).map_err(fail)?;
    graph
        .set_field(copy, "_list", Value::Ref(list))
        .map_err(fail)?;
    graph
        .set_field(copy, "atDriverSide", Value::Bool(false))
        .map_err(fail)?;
    graph.push_root(Value::Ref(copy)).map_err(fail)?;
    Ok(Accumulator::Raw(Raw(graph.to_bytes())))
}

/// What the UI shows of a failed attempt's numbers.
pub fn info(accumulator: &LongAccumulator) -> AccumulableInfo {
    AccumulableInfo {
        id: accumulator.metadata.id,
        name: accumulator.metadata.name.clone(),
        update: Some(accumulator.sum),
        value: None,
        internal: true,
        count_failed_values: accumulator.metadata.count_failed_values,
        metadata: None,
    }
}

#[cfg(test)]
#[path = "accumulators_tests.rs"]
pub(crate) mod tests;
