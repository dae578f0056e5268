//! Binds a stage's plan to the partition of a task.

use std::borrow::Cow;
use std::sync::Arc;

use javaser::arena::{Graph, NodeId, Value};
use javaser::kryo::KryoForm;

use super::{RddIndex, RddKind, RddPlan, Shape, Step, bytes_of, hadoop, simple};
use crate::blocks::kryo::KryoReader;
use crate::python::Element;
use crate::task::DecodedTask;

/// Bytes before the elements in [`Binder::own_data`].
const OWN_HEADER: usize = 12;

/// The steps that compute the partition, an object in the task's graph, of the plan's last RDD. `kryo` is set if
/// `spark.serializer` is Kryo.
pub(in super::super) fn bind(
    plan: &RddPlan,
    task: &DecodedTask,
    partition: NodeId,
    kryo: Option<KryoForm>,
) -> Result<Arc<Step>, String> {
    let binder = Binder {
        plan,
        task,
        graph: &task.task.graph,
        kryo,
    };
    binder.bind(plan.root, partition)
}

struct Binder<'a> {
    plan: &'a RddPlan,
    task: &'a DecodedTask,
    graph: &'a Graph,
    kryo: Option<KryoForm>,
}

impl Binder<'_> {
    fn bind(&self, rdd: RddIndex, partition: NodeId) -> Result<Arc<Step>, String> {
        let rdd = self.plan.rdds.get(rdd).ok_or("no such RDD")?;
        let step = self.step(&rdd.kind, partition)?;
        // `StorageLevel.NONE` is not valid.
        if !rdd.level.is_valid() {
            return Ok(step);
        }
        Ok(Arc::new(Step::Cached {
            rdd: rdd.id,
            split: self.index(partition)?,
            level: rdd.level,
            text: rdd.shape == Shape::Text,
            input: step,
        }))
    }

    fn step(&self, kind: &RddKind, partition: NodeId) -> Result<Arc<Step>, String> {
        Ok(Arc::new(match kind {
            RddKind::Parallel => Step::Values(self.values(partition)?),
            RddKind::Python { rdd, parent } => Step::Python {
                rdd: *rdd,
                split: self.index(partition)?,
                input: self.bind(*parent, partition)?,
            },
            RddKind::Pairwise(parent) => Step::Pairwise(self.bind(*parent, partition)?),
            RddKind::Second(parent) => Step::Second(self.bind(*parent, partition)?),
            RddKind::Strings(parent) => Step::Strings(self.bind(*parent, partition)?),
            RddKind::Lines(parent) => return self.bind(*parent, partition),
            RddKind::Distribute { parent, partitions } => Step::Distribute {
                split: self.index(partition)?,
                partitions: *partitions,
                input: self.bind(*parent, partition)?,
            },
            RddKind::Shuffled(input) => Step::Shuffle {
                input: input.clone(),
                partition: self.index(partition)?,
            },
            RddKind::Union(parents) => {
                self.expect(partition, "UnionPartition")?;
                let parent = self
                    .int(partition, "parentRddIndex")
                    .and_then(|index| parents.get(usize::try_from(index).ok()?))
                    .ok_or("a union without that parent")?;
                return self.bind(*parent, self.object(partition, "parentPartition")?);
            }
            RddKind::PartitionerAwareUnion(parents) => {
                self.expect(partition, "PartitionerAwareUnionRDDPartition")?;
                let partitions = self.objects(partition, "parents")?;
                if partitions.len() != parents.len() {
                    return Err("a union of other parents".to_owned());
                }
                Step::Chain(
                    parents
                        .iter()
                        .zip(partitions)
                        .map(|(parent, partition)| self.bind(*parent, partition))
                        .collect::<Result<_, _>>()?,
                )
            }
            RddKind::Coalesced(parent) => {
                self.expect(partition, "CoalescedRDDPartition")?;
                Step::Chain(
                    self.objects(partition, "parents")?
                        .into_iter()
                        .map(|partition| self.bind(*parent, partition))
                        .collect::<Result<_, _>>()?,
                )
            }
            RddKind::Zip(left, right) => {
                self.expect(partition, "ZippedPartitionsPartition")?;
                match self.objects(partition, "partitionValues")?.as_slice() {
                    [a, b] => Step::Zip(self.bind(*left, *a)?, self.bind(*right, *b)?),
                    _ => return Err("a zip of other partitions".to_owned()),
                }
            }
            RddKind::Cartesian(left, right) => {
                self.expect(partition, "CartesianPartition")?;
                Step::Cartesian(
                    self.bind(*left, self.object(partition, "s1")?)?,
                    self.bind(*right, self.object(partition, "s2")?)?,
                )
            }
            RddKind::Files(files) => {
                let split = self
                    .graph
                    .field_node(partition, "inputSplit")
                    .or_else(|| self.graph.field_node(partition, "serializableHadoopSplit"))
                    .and_then(|split| self.graph.levels(split).next_back())
                    .ok_or_else(|| simple(self.class(partition)).to_owned())?;
                Step::Files {
                    files: files.clone(),
                    ranges: hadoop::read_split(&split.block_bytes())?,
                }
            }
            RddKind::Rows(rows) => Step::Rows(rows.bind(self.task, partition)?),
            RddKind::Checkpointed(parent) => return self.bind(*parent, partition),
            RddKind::ReliableCheckpoint(dir) => Step::ReliableCheckpoint {
                dir: dir.clone(),
                split: self.index(partition)?,
            },
            RddKind::LocalCheckpoint(rdd) => Step::LocalCheckpoint {
                rdd: *rdd,
                split: self.index(partition)?,
            },
        }))
    }

    /// The elements in a `ParallelCollectionPartition`.
    fn values(&self, partition: NodeId) -> Result<Vec<Element>, String> {
        self.expect(partition, "ParallelCollectionPartition")?;
        if let (Some(kryo), Some(own)) = (self.kryo, self.own_data(partition)) {
            let values = own.get(OWN_HEADER..).unwrap_or_default();
            let values = KryoReader::new(kryo, values, values.len())
                .read_wrapped_byte_arrays()
                .map_err(|_| "a collection of other elements")?;
            return Ok(values.into_iter().map(Element::Bytes).collect());
        }
        let values = self
            .graph
            .field(partition, "values")
            .and_then(|values| self.graph.elements(values))
            .ok_or("a collection that is not known")?;
        values
            .into_iter()
            .map(|value| match value {
                Value::Null => Ok(Element::Null),
                value => match self.graph.byte_array(value) {
                    Some(bytes) => Ok(Element::Bytes(bytes_of(bytes))),
                    None => Err("a collection of other elements".to_owned()),
                },
            })
            .collect()
    }

    /// What a `ParallelCollectionPartition` writes by itself under another serializer than Java's: id of the RDD (i64),
    /// index (i32), elements.
    fn own_data(&self, partition: NodeId) -> Option<Cow<'_, [u8]>> {
        let level = self.graph.levels(partition).next_back()?;
        let bytes = level.block_bytes();
        (bytes.len() > OWN_HEADER).then_some(bytes)
    }

    /// `Partition.index`
    fn index(&self, partition: NodeId) -> Result<i32, String> {
        if self.kryo.is_some()
            && simple(self.class(partition)) == "ParallelCollectionPartition"
            && let Some(own) = self.own_data(partition)
            && let Some(index) = own.get(8..).and_then(|rest| rest.first_chunk())
        {
            return Ok(i32::from_be_bytes(*index));
        }
        let field = match simple(self.class(partition)) {
            "ParallelCollectionPartition" => "slice",
            "ShuffledRDDPartition"
            | "ZippedPartitionsPartition"
            | "PartitionerAwareUnionRDDPartition"
            | "UnionPartition" => "idx",
            _ => "index",
        };
        self.int(partition, field)
            .or_else(|| self.int(partition, "index"))
            .ok_or_else(|| format!("{} without index", simple(self.class(partition))))
    }

    fn expect(&self, partition: NodeId, class: &str) -> Result<(), String> {
        match simple(self.class(partition)) {
            found if found == class => Ok(()),
            found => Err(found.to_owned()),
        }
    }

    fn int(&self, node: NodeId, field: &str) -> Option<i32> {
        i32::try_from(self.graph.int(self.graph.field(node, field)?)?).ok()
    }

    fn object(&self, node: NodeId, field: &str) -> Result<NodeId, String> {
        self.graph
            .field_node(node, field)
            .ok_or_else(|| format!("{} without {field}", simple(self.class(node))))
    }

    fn objects(&self, node: NodeId, field: &str) -> Result<Vec<NodeId>, String> {
        self.graph
            .field(node, field)
            .and_then(|all| self.graph.elements(all))
            .and_then(|all| all.into_iter().map(Value::node).collect())
            .ok_or_else(|| format!("{} without {field}", simple(self.class(node))))
    }

    fn class(&self, node: NodeId) -> &str {
        self.graph.class_name(Value::Ref(node)).unwrap_or("null")
    }
}
