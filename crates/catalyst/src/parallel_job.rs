//! Jobs that Spark SQL starts over values of the driver: `parallelize(values).mapPartitions(…).collect()`.

use javaser::Closure;
use javaser::arena::{Graph, NodeId, Value};

use crate::closure::ClosureArgs as _;
use crate::error::{Result, Unsupported};
use crate::object::Reader;
use crate::stage::Settings;

/// What a stage's tasks make of their values, if it is such a job of this class (without `org.apache.spark.`) and
/// method; `None` if it is another kind of stage.
///
/// # Errors
/// It is one, but not as all versions have it.
pub(crate) fn mapped(
    graph: &Graph,
    (rdd, function): (NodeId, NodeId),
    name: (&str, &str),
) -> Result<Option<Closure>> {
    let reader = Reader::new(graph, Settings::default());
    let rdd = reader.object(rdd);
    let mapped = Closure::in_field(rdd, "f")
        .ok()
        .and_then(|outer| outer.inner(graph))
        .filter(|mapped| mapped.name() == name);
    let Some(mapped) = mapped else {
        return Ok(None);
    };
    let action = Closure::read(graph, Value::Ref(function))
        .filter(|action| action.name() == ("SparkContext", "runJob"))
        .and_then(|action| action.inner(graph));
    if action.is_none_or(|action| action.name() != ("rdd.RDD", "collect")) {
        return Err(mapped.unsupported());
    }
    let values = rdd.object("prev")?;
    match values.name() {
        "ParallelCollectionRDD" => Ok(Some(mapped)),
        other => Err(Unsupported::Class(other.to_owned())),
    }
}

/// The captured settings of Hadoop, a `SerializableConfiguration`.
pub(crate) fn hadoop_conf(graph: &Graph, of: &Closure) -> Result<NodeId> {
    let is_conf = |value: &&Value| {
        let class = graph.class_name(**value);
        class.is_some_and(|class| class.ends_with(".SerializableConfiguration"))
    };
    let conf = of.args.iter().find(is_conf).and_then(|conf| conf.node());
    conf.ok_or_else(|| of.unsupported())
}

/// The values of a task, from the `Partition` in the task's own graph.
pub(crate) fn values(graph: &Graph, partition: NodeId) -> Result<Vec<Value>> {
    let reader = Reader::new(graph, Settings::default());
    let partition = reader.object(partition);
    match partition.name() {
        "ParallelCollectionPartition" => partition.elements("values"),
        other => Err(Unsupported::Class(other.to_owned())),
    }
}
