//! What a stage does with its partitions: result functions and shuffle dependencies.

use javaser::arena::{Graph, NodeId, Value};

use super::hadoop::file_path;
use super::{CheckpointDir, Key, Rdd, Shape, ShuffleOutput, Target, TextFile, simple};
use crate::files::is_written_scheme;
use crate::task::{StageBinary, StageTarget};
use javaser::Closure;

/// Recognises a stage's target.
pub(super) fn judge(stage: &StageBinary, rdd: &Rdd) -> Result<Target, String> {
    match stage.target {
        StageTarget::Function(function) => result(&stage.graph, function, rdd),
        StageTarget::Shuffle(dependency) => {
            let shuffle = Shuffle::read(&stage.graph, dependency)?;
            if rdd.shape != Shape::Keyed(shuffle.key) {
                return Err("a shuffle of other elements".to_owned());
            }
            Ok(Target::Shuffle(ShuffleOutput {
                shuffle_id: shuffle.shuffle_id,
                num_partitions: shuffle.num_partitions,
                key: shuffle.key,
                dependency,
            }))
        }
    }
}

fn result(graph: &Graph, function: NodeId, rdd: &Rdd) -> Result<Target, String> {
    let outer = Closure::read(graph, Value::Ref(function))
        .ok_or_else(|| "a result function that is no closure".to_owned())?;
    if outer.name() == ("internal.io.SparkHadoopWriter$", "write") {
        return text_file(graph, &outer, rdd).map(Target::TextFile);
    }
    // Nearly every action is wrapped: the wrapper forgets the task context.
    let inner = match outer.numbered_name() {
        ("SparkContext", "runJob$5" | "submitJob$1") => outer
            .args
            .first()
            .and_then(|f| Closure::read(graph, *f))
            .ok_or_else(|| outer.describe())?,
        ("rdd.RDD" | "rdd.LocalRDDCheckpointData" | "rdd.ReliableCheckpointRDD$", _) => outer,
        _ => return Err(outer.describe()),
    };
    let array = |class: String, limit| {
        if let Some(what) = not_in_results(&rdd.shape) {
            return Err(format!("a result of {what}"));
        }
        Ok(Target::Array { class, limit })
    };
    match inner.numbered_name() {
        ("rdd.RDD", "collect$2" | "toLocalIterator$2") => array(array_of(&rdd.class)?, None),
        ("rdd.RDD", "take$2") => {
            let limit = inner
                .args
                .get(1)
                .and_then(|n| graph.int(*n))
                .and_then(|n| usize::try_from(n).ok())
                .ok_or_else(|| inner.describe())?;
            array(array_of(&rdd.class)?, Some(limit))
        }
        ("api.python.PythonRDD$", "runJob$1") => array("[[B".to_owned(), None),
        ("api.python.PythonRDD$", "toLocalIteratorAndServe$4") => {
            array("[Ljava.lang.Object;".to_owned(), None)
        }
        ("rdd.RDD", "count$1")
        | ("rdd.ZippedWithIndexRDD", "startIndices$1")
        | ("rdd.LocalRDDCheckpointData", "doCheckpoint$2") => Ok(Target::Count),
        ("rdd.ReliableCheckpointRDD$", "writeRDDToCheckpointDirectory$1") => {
            // Strings would need Java's own UTF-8.
            if rdd.shape != Shape::Bytes {
                return Err(format!("a checkpoint of {}", simple(&rdd.class)));
            }
            let dir = inner
                .args
                .first()
                .and_then(|dir| graph.str(*dir))
                .ok_or_else(|| inner.describe())?;
            let path = file_path(&dir)?;
            if !is_written_scheme(&path.scheme) {
                return Err(format!("a checkpoint on {}:", path.scheme));
            }
            let broadcast = |value: &Value| match *value {
                Value::Ref(node) if graph.class_name(*value)?.ends_with("Broadcast") => Some(node),
                _ => None,
            };
            let conf = inner.args.iter().find_map(broadcast);
            let conf = conf.ok_or_else(|| inner.describe())?;
            Ok(Target::Checkpoint(CheckpointDir { path, conf }))
        }
        _ => Err(inner.describe()),
    }
}

/// A job that writes text.
fn text_file(graph: &Graph, write: &Closure, rdd: &Rdd) -> Result<TextFile, String> {
    let other = || write.describe();
    if rdd.shape != Shape::Line {
        return Err(other());
    }
    let nodes = write.args.iter().filter_map(|value| value.node());
    let with_class = |class: &str| {
        let is = |node: &NodeId| graph.class_name(Value::Ref(*node)) == Some(class);
        nodes.clone().find(is)
    };
    let config = with_class("org.apache.spark.internal.io.HadoopMapRedWriteConfigUtil");
    let conf = config.and_then(|config| graph.field_node(config, "conf"));
    with_class("org.apache.spark.internal.io.HadoopMapRedCommitProtocol").ok_or_else(other)?;
    let tracker = write.args.iter().find_map(|value| graph.str(*value));
    Ok(TextFile {
        conf: conf.ok_or_else(other)?,
        tracker: tracker.ok_or_else(other)?.into_owned(),
    })
}

/// What cannot be in the array of a result.
fn not_in_results(shape: &Shape) -> Option<&'static str> {
    match shape {
        Shape::Stream => Some("PortableDataStream"),
        Shape::Line => Some("Hadoop's records"),
        Shape::Keyed(_) => Some("keyed records"),
        Shape::Tuple(pair) => not_in_results(&pair.0).or_else(|| not_in_results(&pair.1)),
        Shape::Bytes | Shape::Text => None,
    }
}

/// Name of the class of arrays of a class.
fn array_of(class: &str) -> Result<String, String> {
    match class {
        "" => Err("an RDD without class tag".to_owned()),
        array if array.starts_with('[') => Ok(format!("[{array}")),
        "java.lang.String" | "scala.Tuple2" | "java.lang.Object" => Ok(format!("[L{class};")),
        other => Err(format!("an array of {}", simple(other))),
    }
}

/// A `ShuffleDependency` of the kind that PySpark makes.
#[derive(Debug)]
pub(super) struct Shuffle {
    pub(super) shuffle_id: i32,
    /// Number of map partitions.
    pub(super) num_maps: i32,
    /// Number of reduce partitions.
    pub(super) num_partitions: i32,
    pub(super) key: Key,
}

impl Shuffle {
    pub(super) fn read(graph: &Graph, dependency: NodeId) -> Result<Self, String> {
        let class = |value| graph.class_name(value).unwrap_or("null");
        if class(Value::Ref(dependency)) != "org.apache.spark.ShuffleDependency" {
            return Err(simple(class(Value::Ref(dependency))).to_owned());
        }
        let field = |name: &str| graph.field(dependency, name);
        let int = |name: &str| {
            field(name)
                .and_then(|v| graph.int(v))
                .and_then(|v| i32::try_from(v).ok())
                .filter(|v| *v >= 0)
                .ok_or_else(|| format!("a shuffle without {name}"))
        };
        let serializer = field("serializer").map_or("null", class);
        if serializer != "org.apache.spark.serializer.KryoSerializer" {
            return Err(format!("a shuffle with {}", simple(serializer)));
        }
        for name in ["aggregator", "keyOrdering"] {
            if field(name).and_then(|v| graph.scala_option(v)) != Some(None) {
                return Err(format!("a shuffle with {name}"));
            }
        }
        let processor = field("shuffleWriterProcessor").map_or("null", class);
        if processor != "org.apache.spark.shuffle.ShuffleWriteProcessor" {
            return Err(format!("a shuffle with {}", simple(processor)));
        }
        if field("rowBasedChecksums")
            .and_then(|v| graph.array(v))
            .is_some_and(|checksums| !checksums.is_empty())
        {
            return Err("a shuffle with checksums of rows".to_owned());
        }
        let merges = field("_shuffleMergeAllowed").and_then(|v| graph.bool(v)) == Some(true);
        let mergers = field("mergerLocs").and_then(|v| graph.elements(v));
        if merges && mergers.is_some_and(|m| !m.is_empty()) {
            return Err("push-based shuffle".to_owned());
        }
        let partitioner = field("partitioner").unwrap_or(Value::Null);
        let (key, count) = match class(partitioner) {
            "org.apache.spark.api.python.PythonPartitioner" => (Key::Long, "numPartitions"),
            "org.apache.spark.HashPartitioner" => (Key::Int, "partitions"),
            other => return Err(simple(other).to_owned()),
        };
        let key_class = field("keyClassName").and_then(|v| graph.str(v));
        let value_class = field("valueClassName").and_then(|v| graph.str(v));
        let expected = match key {
            Key::Long => ["long", "java.lang.Long"],
            Key::Int => ["int", "java.lang.Integer"],
        };
        if !key_class
            .as_deref()
            .is_some_and(|class| expected.contains(&class))
            || value_class.as_deref() != Some("[B")
        {
            return Err(format!(
                "a shuffle of {} and {}",
                simple(key_class.as_deref().unwrap_or("null")),
                simple(value_class.as_deref().unwrap_or("null"))
            ));
        }
        let num_partitions = partitioner
            .node()
            .and_then(|node| graph.int(graph.field(node, count)?))
            .and_then(|n| i32::try_from(n).ok())
            .filter(|n| *n > 0)
            .ok_or("a partitioner without partitions")?;
        Ok(Self {
            shuffle_id: int("shuffleId")?,
            num_maps: int("numPartitions")?,
            num_partitions,
            key,
        })
    }
}
