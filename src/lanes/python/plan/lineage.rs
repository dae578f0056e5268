//! From the RDDs in a stage's graph to a [`StagePlan`].

use std::collections::HashMap;

use javaser::arena::{Graph, NodeId, Value};
use wire::ids::StorageLevel;

use super::kinds::{Mapped, RddClass, mapped, rdd_class};
use super::{
    CheckpointDir, FileFormat, Files, Key, MAX_DEPTH, Rdd, RddIndex, RddKind, RddPlan, RowsOf,
    Shape, ShuffleInput, StagePlan, hadoop, simple, target,
};
use crate::task::StageBinary;
use javaser::Closure;

const RDD: &str = "org.apache.spark.rdd.RDD";

impl StagePlan {
    /// Recognises a stage, or says why not.
    pub(in super::super) fn judge(stage: &StageBinary, rows: &RowsOf<'_>) -> Result<Self, String> {
        let plan = RddPlan::judge(&stage.graph, stage.rdd, rows)?;
        let Some(rdd) = plan.rdds.get(plan.root) else {
            return Err("no RDD".to_owned());
        };
        let target = target::judge(stage, rdd)?;
        Ok(Self { rdd: plan, target })
    }
}

impl RddPlan {
    /// Recognises an RDD, or says why not.
    pub(in super::super) fn judge(
        graph: &Graph,
        rdd: NodeId,
        rows: &RowsOf<'_>,
    ) -> Result<Self, String> {
        let mut lineage = Lineage {
            graph,
            rows,
            rdds: Vec::new(),
            known: HashMap::new(),
            accumulator: None,
        };
        let root = lineage.rdd(rdd, 0)?;
        Ok(Self {
            root,
            accumulator: lineage.accumulator,
            rdds: lineage.rdds,
        })
    }

    /// What elements there are.
    pub(in super::super) fn shape(&self) -> Option<&Shape> {
        self.rdds.get(self.root).map(|rdd| &rdd.shape)
    }

    /// Whether a reliable checkpoint is read.
    pub(in super::super) fn reads_checkpoints(&self) -> bool {
        let is_checkpoint = |rdd: &Rdd| matches!(rdd.kind, RddKind::ReliableCheckpoint(_));
        self.rdds.iter().any(is_checkpoint)
    }
}

/// What PySpark makes strings with, as it encodes texts itself.
const BYTES_TO_STRING: &str = "org.apache.spark.api.python.BytesToString";

struct Lineage<'a> {
    graph: &'a Graph,
    rows: &'a RowsOf<'a>,
    rdds: Vec<Rdd>,
    /// An RDD may be there more than once: `rdd.union(rdd)`.
    known: HashMap<NodeId, RddIndex>,
    accumulator: Option<NodeId>,
}

impl Lineage<'_> {
    fn rdd(&mut self, node: NodeId, depth: usize) -> Result<RddIndex, String> {
        if let Some(index) = self.known.get(&node) {
            return Ok(*index);
        }
        if depth > MAX_DEPTH {
            return Err("a lineage too deep".to_owned());
        }
        let base = self
            .graph
            .level(node, RDD)
            .ok_or_else(|| format!("no RDD but {}", self.class(node)))?;
        let id = base
            .field("id")
            .and_then(|v| self.graph.int(v))
            .and_then(|id| i32::try_from(id).ok())
            .ok_or("an RDD without id")?;
        let level = base
            .field("storageLevel")
            .and_then(|v| self.storage_level(v))
            .ok_or("an RDD without storage level")?;
        let class = base
            .field("evidence$1")
            .and_then(|tag| self.class_of_tag(tag))
            .unwrap_or_default();
        let checkpoint = match base.field("checkpointData") {
            Some(data) => self.checkpoint(data),
            None => None,
        };
        let (kind, shape) = match checkpoint {
            Some(checkpoint) => {
                let parent = self.rdd(checkpoint, depth + 1)?;
                let shape = match class.as_str() {
                    "[B" => Shape::Bytes,
                    "java.lang.String" => Shape::Text,
                    _ => return Err(format!("a checkpoint of {class}")),
                };
                (RddKind::Checkpointed(parent), shape)
            }
            None => self.kind(node, &class, depth)?,
        };
        if level.is_valid() && !matches!(shape, Shape::Bytes | Shape::Text) {
            return Err(format!("a cached RDD of {}", simple(&class)));
        }
        if level.use_off_heap() {
            return Err("a cached RDD off heap".to_owned());
        }
        self.rdds.push(Rdd {
            id,
            level,
            class,
            shape,
            kind,
        });
        let index = self.rdds.len() - 1;
        self.known.insert(node, index);
        Ok(index)
    }

    fn kind(
        &mut self,
        node: NodeId,
        class: &str,
        depth: usize,
    ) -> Result<(RddKind, Shape), String> {
        let name = self.class(node).to_owned();
        let Some(name) = name.strip_prefix("org.apache.spark.") else {
            return Err("an RDD class of the user".to_owned());
        };
        let known = rdd_class(name).ok_or_else(|| simple(name).to_owned())?;
        Ok(match known {
            RddClass::ParallelCollection => match class {
                "[B" => (RddKind::Parallel, Shape::Bytes),
                _ => return Err(format!("a collection of {}", simple(class))),
            },
            RddClass::Python => {
                let parent = self.parent(node, depth)?;
                let function = self
                    .graph
                    .field_node(node, "func")
                    .ok_or("PythonRDD without func")?;
                self.python_function(function)?;
                (RddKind::Python { rdd: node, parent }, Shape::Bytes)
            }
            RddClass::Pairwise => {
                let parent = self.parent(node, depth)?;
                self.expect(parent, &Shape::Bytes, "PairwiseRDD")?;
                (RddKind::Pairwise(parent), Shape::Keyed(Key::Long))
            }
            RddClass::MapPartitions => self.map_partitions(node, depth)?,
            RddClass::Shuffled => self.shuffled(node)?,
            RddClass::Union => {
                let (parents, shape) = self.alike(node, depth)?;
                (RddKind::Union(parents), shape)
            }
            RddClass::PartitionerAwareUnion => {
                let (parents, shape) = self.alike(node, depth)?;
                (RddKind::PartitionerAwareUnion(parents), shape)
            }
            RddClass::Coalesced => {
                let parent = self.parent(node, depth)?;
                let shape = self.shape(parent)?;
                (RddKind::Coalesced(parent), shape)
            }
            RddClass::Zipped => {
                let closure = self.closure(node, "f")?;
                if closure.numbered_name() != ("rdd.RDD", "zip$2") {
                    return Err(closure.describe());
                }
                let (left, right) = self.two(node, depth)?;
                let shape = Shape::Tuple(Box::new((self.shape(left)?, self.shape(right)?)));
                (RddKind::Zip(left, right), shape)
            }
            RddClass::Cartesian => {
                let (left, right) = self.two(node, depth)?;
                let shape = Shape::Tuple(Box::new((self.shape(left)?, self.shape(right)?)));
                (RddKind::Cartesian(left, right), shape)
            }
            RddClass::BinaryFile => {
                let shape = Shape::Tuple(Box::new((Shape::Text, Shape::Stream)));
                (RddKind::Files(self.files(node, FileFormat::Binary)?), shape)
            }
            RddClass::ReliableCheckpoint => {
                let shape = match class {
                    "[B" => Shape::Bytes,
                    "java.lang.String" => Shape::Text,
                    _ => return Err(format!("a checkpoint of {class}")),
                };
                let path = self
                    .graph
                    .field(node, "checkpointPath")
                    .and_then(|path| self.graph.str(path))
                    .ok_or("ReliableCheckpointRDD without path")?;
                let conf = self
                    .graph
                    .field_node(node, "broadcastedConf")
                    .ok_or("ReliableCheckpointRDD without configuration")?;
                let path = hadoop::file_path(&path)?;
                (
                    RddKind::ReliableCheckpoint(CheckpointDir { path, conf }),
                    shape,
                )
            }
            RddClass::LocalCheckpoint => {
                let id = self
                    .int(node, "rddId")
                    .or_else(|| self.int(node, "org$apache$spark$rdd$LocalCheckpointRDD$$rddId"))
                    .ok_or("LocalCheckpointRDD without rddId")?;
                (RddKind::LocalCheckpoint(id), Shape::Bytes)
            }
        })
    }

    fn map_partitions(&mut self, node: NodeId, depth: usize) -> Result<(RddKind, Shape), String> {
        let outer = self.closure(node, "f")?;
        let inner = outer
            .args
            .first()
            .and_then(|f| Closure::read(self.graph, *f));
        let Some(inner) = inner else {
            return Err(outer.describe());
        };
        // The outer closure is the operator, the inner one is what the operator was given.
        match mapped(outer.numbered_name(), inner.numbered_name()) {
            Some(Mapped::Second) => {
                let parent = self.parent(node, depth)?;
                match self.shape(parent)? {
                    Shape::Keyed(_) => Ok((RddKind::Second(parent), Shape::Bytes)),
                    Shape::Tuple(pair) => Ok((RddKind::Second(parent), pair.1)),
                    _ => Err(inner.describe()),
                }
            }
            Some(Mapped::Distribute) => {
                let parent = self.parent(node, depth)?;
                self.expect(parent, &Shape::Bytes, "repartition")?;
                let partitions = inner
                    .args
                    .first()
                    .and_then(|n| self.graph.int(*n))
                    .and_then(|n| i32::try_from(n).ok())
                    .filter(|n| *n > 0)
                    .ok_or_else(|| inner.describe())?;
                Ok((
                    RddKind::Distribute { parent, partitions },
                    Shape::Keyed(Key::Int),
                ))
            }
            Some(Mapped::TextFile) => {
                let files = self.files_of_parent(node, FileFormat::Lines)?;
                Ok((RddKind::Files(files), Shape::Text))
            }
            Some(Mapped::WholeTextFiles) => {
                let files = self.files_of_parent(node, FileFormat::WholeText)?;
                let shape = Shape::Tuple(Box::new((Shape::Text, Shape::Text)));
                Ok((RddKind::Files(files), shape))
            }
            Some(Mapped::BinaryRecords) => {
                let length = inner
                    .args
                    .first()
                    .and_then(|n| self.graph.int(*n))
                    .and_then(|n| i32::try_from(n).ok())
                    .filter(|n| *n > 0)
                    .ok_or_else(|| inner.describe())?;
                let files = self.files_of_parent(node, FileFormat::Records(length))?;
                Ok((RddKind::Files(files), Shape::Bytes))
            }
            Some(Mapped::Rows) => {
                let rows = (self.rows)(node)?;
                self.accumulator = self.accumulator.or_else(|| rows.accumulator());
                Ok((RddKind::Rows(rows), Shape::Bytes))
            }
            Some(Mapped::Strings) => {
                let function = inner.args.first().and_then(|function| function.node());
                let class = function
                    .map(|function| self.class(function))
                    .unwrap_or_default();
                if class != BYTES_TO_STRING {
                    return Err(simple(class).to_owned());
                }
                let parent = self.parent(node, depth)?;
                self.expect(parent, &Shape::Bytes, "BytesToString")?;
                Ok((RddKind::Strings(parent), Shape::Text))
            }
            Some(Mapped::Lines) => {
                let parent = self.parent(node, depth)?;
                self.expect(parent, &Shape::Text, "saveAsTextFile")?;
                Ok((RddKind::Lines(parent), Shape::Line))
            }
            None => Err(inner.describe()),
        }
    }

    /// The RDD of files below a `MapPartitionsRDD` that picks something out of Hadoop's records.
    fn files_of_parent(&self, node: NodeId, format: FileFormat) -> Result<Files, String> {
        let parent = match self.dependencies(node)?.as_slice() {
            [only] => self.graph.field_node(*only, "_rdd"),
            _ => None,
        };
        let parent = parent.ok_or("files without an RDD")?;
        let cached = self
            .graph
            .level(parent, RDD)
            .and_then(|base| self.storage_level(base.field("storageLevel")?))
            .is_none_or(StorageLevel::is_valid);
        if cached {
            return Err("a cached RDD of Hadoop's records".to_owned());
        }
        let class = simple(self.class(parent));
        if class != format.rdd() {
            return Err(class.to_owned());
        }
        self.files(parent, format)
    }

    fn files(&self, node: NodeId, format: FileFormat) -> Result<Files, String> {
        let input_format = self
            .graph
            .levels(node)
            .flat_map(|level| level.iter().collect::<Vec<_>>())
            .find(|(field, _)| unmangled(field.name()) == "inputFormatClass")
            .and_then(|(_, class)| self.graph.class_value(class))
            .unwrap_or("no input format");
        if input_format != format.input_format() {
            return Err(simple(input_format).to_owned());
        }
        // It may only say where the files are: the partition says it too.
        if let Some(Some(function)) = self
            .graph
            .field(node, "initLocalJobConfFuncOpt")
            .map(|option| self.graph.scala_option(option).flatten())
        {
            match Closure::read(self.graph, function) {
                Some(c) if c.name() == ("SparkContext", "hadoopFile") => {}
                Some(other) => return Err(other.describe()),
                None => return Err("a function for the JobConf".to_owned()),
            }
        }
        let flag = |wanted| {
            self.graph
                .levels(node)
                .flat_map(|level| level.iter().collect::<Vec<_>>())
                .find(|(field, _)| unmangled(field.name()) == wanted)
                .and_then(|(_, value)| self.graph.bool(value))
                .unwrap_or(false)
        };
        let conf = self
            .graph
            .field_node(node, "broadcastedConf")
            .or_else(|| self.graph.field_node(node, "confBroadcast"))
            .ok_or("files without configuration")?;
        Ok(Files {
            format,
            conf,
            ignore_missing: flag("ignoreMissingFiles"),
            ignore_corrupt: flag("ignoreCorruptFiles"),
        })
    }

    fn shuffled(&mut self, node: NodeId) -> Result<(RddKind, Shape), String> {
        let dependency = match self.dependencies(node)?.as_slice() {
            [only] => *only,
            _ => return Err("ShuffledRDD without dependency".to_owned()),
        };
        let shuffle = target::Shuffle::read(self.graph, dependency)?;
        let input = ShuffleInput {
            shuffle_id: shuffle.shuffle_id,
            num_maps: shuffle.num_maps,
            num_partitions: shuffle.num_partitions,
        };
        Ok((RddKind::Shuffled(input), Shape::Keyed(shuffle.key)))
    }

    fn python_function(&mut self, function: NodeId) -> Result<(), String> {
        let class = simple(self.class(function));
        if class != "SimplePythonFunction" {
            return Err(class.to_owned());
        }
        // All functions of an application have the same.
        if self.accumulator.is_none() {
            self.accumulator = self.graph.field_node(function, "accumulator");
        }
        Ok(())
    }

    /// The RDD that a checkpoint was written to, or is kept in.
    fn checkpoint(&self, data: Value) -> Option<NodeId> {
        let data = self.graph.scala_option(data)??.node()?;
        let rdd = self.graph.field(data, "cpRDD")?;
        self.graph.scala_option(rdd)??.node()
    }

    fn alike(&mut self, node: NodeId, depth: usize) -> Result<(Vec<RddIndex>, Shape), String> {
        let parents = self.parents(node, depth)?;
        let mut shapes = parents.iter().map(|p| self.shape(*p));
        let first = shapes.next().ok_or("a union of nothing")??;
        for shape in shapes {
            if shape? != first {
                return Err("a union of different elements".to_owned());
            }
        }
        Ok((parents, first))
    }

    fn parents(&mut self, node: NodeId, depth: usize) -> Result<Vec<RddIndex>, String> {
        let mut parents = Vec::new();
        for dependency in self.dependencies(node)? {
            let parent = self
                .graph
                .field_node(dependency, "_rdd")
                .ok_or_else(|| simple(self.class(dependency)).to_owned())?;
            parents.push(self.rdd(parent, depth + 1)?);
        }
        Ok(parents)
    }

    fn parent(&mut self, node: NodeId, depth: usize) -> Result<RddIndex, String> {
        match self.parents(node, depth)?.as_slice() {
            [only] => Ok(*only),
            _ => Err(format!("{} without parent", simple(self.class(node)))),
        }
    }

    fn two(&mut self, node: NodeId, depth: usize) -> Result<(RddIndex, RddIndex), String> {
        match self.parents(node, depth)?.as_slice() {
            [left, right] => Ok((*left, *right)),
            _ => Err(format!("{} without parents", simple(self.class(node)))),
        }
    }

    fn dependencies(&self, node: NodeId) -> Result<Vec<NodeId>, String> {
        self.graph
            .level(node, RDD)
            .and_then(|base| self.graph.elements(base.field("dependencies_")?))
            .and_then(|all| all.into_iter().map(Value::node).collect())
            .ok_or_else(|| format!("{} without dependencies", simple(self.class(node))))
    }

    fn shape(&self, index: RddIndex) -> Result<Shape, String> {
        let rdd = self.rdds.get(index).ok_or("no such RDD")?;
        Ok(rdd.shape.clone())
    }

    fn expect(&self, index: RddIndex, shape: &Shape, what: &str) -> Result<(), String> {
        if self.shape(index)? == *shape {
            Ok(())
        } else {
            Err(format!("{what} of other elements"))
        }
    }

    fn closure(&self, node: NodeId, field: &str) -> Result<Closure, String> {
        self.graph
            .field(node, field)
            .and_then(|f| Closure::read(self.graph, f))
            .ok_or_else(|| format!("{} without closure", simple(self.class(node))))
    }

    fn class(&self, node: NodeId) -> &str {
        self.graph.class_name(Value::Ref(node)).unwrap_or("null")
    }

    fn int(&self, node: NodeId, field: &str) -> Option<i32> {
        i32::try_from(self.graph.int(self.graph.field(node, field)?)?).ok()
    }

    fn class_of_tag(&self, tag: Value) -> Option<String> {
        let class = self.graph.field(tag.node()?, "runtimeClass")?;
        self.graph.class_value(class).map(str::to_owned)
    }

    fn storage_level(&self, value: Value) -> Option<StorageLevel> {
        let level = self.graph.levels(value.node()?).next_back()?;
        match *level.block_bytes() {
            [flags, replication] => Some(StorageLevel { flags, replication }),
            _ => None,
        }
    }
}

/// The name that a Scala source gives a field.
fn unmangled(field: &str) -> &str {
    field.rsplit_once("$$").map_or(field, |(_, name)| name)
}
