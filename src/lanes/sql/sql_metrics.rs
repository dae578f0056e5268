//! SQL metrics of a stage as its tasks send them back: the `SQLMetric` objects that came with it, with a task's numbers
//! in them. Their classes differ between versions; what came is written back as it is but for two fields.

use std::collections::HashMap;

use javaser::arena::{Graph, NodeId, Value};
use javaser::types::Raw;
use wire::messages::Accumulator;

const CLASS: &str = "org.apache.spark.sql.execution.metric.SQLMetric";
/// More metrics than any stage has.
const MAX_METRICS: usize = 10_000;

/// Name of the metric of a stage of generated code that counts tasks which ran natively (`CarryingStage.scala` of
/// `jvm-bridge/plan`).
const NATIVE_TASKS: &str = "native tasks";

/// The metrics of a stage, ready to be written.
#[derive(Debug)]
pub(super) struct SqlMetrics(Vec<Template>);

/// A metric as an object stream in which only the number changes.
#[derive(Debug)]
struct Template {
    accumulator: i64,
    bytes: Vec<u8>,
    /// Where the number is.
    place: usize,
}

impl SqlMetrics {
    /// Those of a stage's binary. A task sends every one of them, as Spark does: those without a number count as well,
    /// for the least and the median.
    ///
    /// # Errors
    /// The objects are not as expected.
    pub(super) fn read(stage: &Graph) -> Result<Self, String> {
        let mut templates = Vec::new();
        for (node, _) in stage.nodes() {
            if stage.object(node).is_none() || stage.class_name(Value::Ref(node)) != Some(CLASS) {
                continue;
            }
            if templates.len() == MAX_METRICS {
                return Err("a plan with too many metrics".to_owned());
            }
            templates.push(Template::new(stage, node)?);
        }
        Ok(Self(templates))
    }

    /// As [`Self::updates`], of those that were measured only: other parts of the task send theirs.
    pub(super) fn updates_of(&self, values: &HashMap<i64, i64>) -> Vec<Accumulator> {
        let measured = |template: &&Template| values.contains_key(&template.accumulator);
        let templates = self.0.iter().filter(measured);
        templates.map(|template| template.update(values)).collect()
    }

    /// What a task sends that has measured `values`, by accumulator.
    pub(super) fn updates(&self, values: &HashMap<i64, i64>) -> Vec<Accumulator> {
        let templates = self.0.iter();
        templates.map(|template| template.update(values)).collect()
    }
}

impl Template {
    fn update(&self, values: &HashMap<i64, i64>) -> Accumulator {
        let mut bytes = self.bytes.clone();
        let value = values.get(&self.accumulator);
        let place = bytes
            .get_mut(self.place..)
            .and_then(<[u8]>::first_chunk_mut::<8>);
        if let (Some(value), Some(place)) = (value, place) {
            *place = value.to_be_bytes();
        }
        Accumulator::Raw(Raw(bytes))
    }

    /// A metric that counts tasks like this one is 1 in each.
    fn value_of_task(stage: &Graph, metadata: NodeId, sent: i64) -> i64 {
        let name = stage.field_node(metadata, "name");
        let name = name.and_then(|some| stage.str(stage.field(some, "value")?));
        match name.as_deref() {
            Some(NATIVE_TASKS) => 1,
            _ => sent,
        }
    }

    fn new(stage: &Graph, metric: NodeId) -> Result<Self, String> {
        let unexpected = |what: &str| format!("an SQLMetric without {what}");
        let metadata = stage.field_node(metric, "metadata");
        let metadata = metadata.ok_or_else(|| unexpected("metadata"))?;
        let accumulator = stage.field(metadata, "id").and_then(|id| stage.int(id));
        let accumulator = accumulator.ok_or_else(|| unexpected("id"))?;
        let value = stage.field(metric, "_value");
        let value = value
            .and_then(|value| stage.int(value))
            .ok_or_else(|| unexpected("_value"))?;
        let value = Self::value_of_task(stage, metadata, value);
        let write = |value: i64| -> Result<Vec<u8>, javaser::Error> {
            let mut graph = Graph::default();
            let copy = graph.import(stage, Value::Ref(metric))?;
            if let Some(node) = copy.node() {
                graph.set_field(node, "_value", Value::Long(value))?;
                graph.set_field(node, "atDriverSide", Value::Bool(false))?;
            }
            graph.push_root(copy)?;
            Ok(graph.to_bytes())
        };
        let no_way = |error| format!("cannot write SQLMetric back: {error}");
        let bytes = write(value).map_err(no_way)?;
        let other = write(!value).map_err(no_way)?;
        let place = bytes
            .iter()
            .zip(&other)
            .position(|(one, other)| one != other);
        Ok(Self {
            accumulator,
            bytes,
            place: place.ok_or_else(|| unexpected("_value"))?,
        })
    }
}
