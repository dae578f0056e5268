//! Rows of queries that are kept: `Dataset.checkpoint` and `localCheckpoint`.
//!
//! ```text
//! RDDScanExec            reads them
//! MapPartitionsRDD       copies rows; it has the checkpoint, and a storage level if that is a local one
//! …                      the query, until the checkpoint is made
//! ```

use javaser::Closure;
use javaser::arena::Value;

use crate::cached::storage_level;
use crate::closure::ClosureArgs as _;
use crate::error::{Result, Unsupported};
use crate::expr::Attribute;
use crate::inputs::Inputs;
use crate::lineage::{Hint, Lineage, Tree};
use crate::literal::body;
use crate::metrics::Metric;
use crate::object::Object;
use crate::plan::{Broadcast, Columns, LeafId, Operator, OperatorKind};
use crate::query_rdd::renamed;
use crate::scan::read_broadcast;
use crate::stage::Output;

/// Rows that are kept as objects in blocks of an RDD, one for each partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeptRows {
    /// `RDD.id`
    pub rdd_id: i32,
    /// Flags and replication of the storage level, as `StorageLevel.writeExternal` writes them.
    pub storage_level: (u8, u8),
}

/// Files with the rows of a reliable checkpoint, one for each partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckpointFiles {
    /// Their directory, as Hadoop writes paths.
    pub directory: String,
    /// The `SerializableConfiguration` of its file system.
    pub conf: Broadcast,
}

/// Where the rows of a checkpoint are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CheckpointRows {
    /// A local checkpoint.
    Kept(KeptRows),
    /// A reliable one.
    Files(CheckpointFiles),
}

/// Reads the rows of a checkpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckpointScan {
    /// Where tasks say which partition.
    pub leaf: LeafId,
    /// Where they are.
    pub rows: CheckpointRows,
}

impl<'g> Lineage<'_, 'g> {
    /// Whether an RDD is one that data frames make for checkpoints.
    pub(crate) fn is_checkpoint(&self, rdd: Object<'g>) -> bool {
        let copies = self.closure_of(rdd);
        copies.is_ok_and(|copies| {
            matches!(
                copies.name(),
                ("sql.Dataset" | "sql.classic.Dataset", "checkpoint")
            )
        })
    }

    /// The rows of a checkpoint, with these columns.
    pub(crate) fn checkpoint(
        &mut self,
        rdd: Object<'g>,
        output: Vec<Attribute>,
        metrics: Vec<Metric>,
    ) -> Result<Tree> {
        let Some(made) = self.made(rdd)? else {
            let below = self.rdd(rdd.object("prev")?, Hint::output(output.clone()))?;
            let mut tree = kept_of(rdd, renamed(below, output)?)?;
            tree.operator.metrics.extend(metrics);
            return Ok(tree);
        };
        let rows = match made.name() {
            "LocalCheckpointRDD" => CheckpointRows::Kept(kept_rows(rdd)?),
            "ReliableCheckpointRDD" => CheckpointRows::Files(CheckpointFiles {
                directory: made.text("checkpointPath")?.into_owned(),
                conf: read_broadcast(self.reader, made.value("broadcastedConf")?)?,
            }),
            other => return Err(Unsupported::Class(other.to_owned())),
        };
        let leaf = self.leaf();
        Ok(Tree {
            operator: Operator {
                kind: OperatorKind::CheckpointScan(CheckpointScan { leaf, rows }),
                output: Columns::Known(output),
                metrics,
            },
            inputs: Inputs::Leaf(leaf),
        })
    }

    /// The RDD that a checkpoint has become, if it is made.
    fn made(&self, rdd: Object<'g>) -> Result<Option<Object<'g>>> {
        self.check_serializer()?;
        let Some(data) = rdd.option("checkpointData")? else {
            return Err(Unsupported::of_use("a checkpoint without data"));
        };
        let made = self.reader.expect(data)?.option("cpRDD")?;
        made.map(|made| self.reader.expect(made)).transpose()
    }

    fn check_serializer(&self) -> Result<()> {
        match self.reader.settings.kryo {
            Some(_) => Err(Unsupported::of_use("a checkpoint with spark.serializer")),
            None => Ok(()),
        }
    }

    /// The job that makes a checkpoint, if `function` is of one: it counts the rows of a local one, and writes those of
    /// a reliable one.
    pub(crate) fn checkpoint_job(
        &mut self,
        function: &Closure,
        rdd: Object<'g>,
    ) -> Result<Option<(Tree, Output)>> {
        let is_local = match function.name() {
            ("rdd.LocalRDDCheckpointData", "doCheckpoint") => true,
            ("rdd.ReliableCheckpointRDD$", "writeRDDToCheckpointDirectory") => false,
            _ => return Ok(None),
        };
        if !self.is_checkpoint(rdd) {
            return Err(Unsupported::of_use("a checkpoint of other rows"));
        }
        self.check_serializer()?;
        let below = self.rdd(rdd.object("prev")?, Hint::default())?;
        let tree = kept_of(rdd, below)?;
        if is_local {
            return Ok(Some((tree, Output::Count)));
        }
        let graph = self.reader.graph;
        let mut arguments = function.args.iter();
        let directory = arguments.find_map(|argument| graph.str(*argument));
        let is_broadcast = |value: &&Value| self.reader.class(**value).ends_with("Broadcast");
        let conf = function.args.iter().find(is_broadcast);
        let (Some(directory), Some(conf)) = (directory, conf) else {
            return Err(function.unsupported());
        };
        let files = CheckpointFiles {
            directory: directory.into_owned(),
            conf: read_broadcast(self.reader, *conf)?,
        };
        Ok(Some((tree, Output::Checkpoint(files))))
    }
}

/// Rows that are kept as soon as they are made, if the RDD has a storage level.
fn kept_of(rdd: Object<'_>, below: Tree) -> Result<Tree> {
    // Without one nothing is kept on the way: another job follows for that.
    if matches!(*body(rdd.object("storageLevel")?), [0, _]) {
        return Ok(below);
    }
    Ok(Tree {
        operator: Operator {
            output: below.operator.output.clone(),
            kind: OperatorKind::KeepRows {
                rows: kept_rows(rdd)?,
                child: Box::new(below.operator),
            },
            metrics: Vec::new(),
        },
        inputs: Inputs::Cached(Box::new(below.inputs)),
    })
}

fn kept_rows(rdd: Object<'_>) -> Result<KeptRows> {
    Ok(KeptRows {
        rdd_id: rdd.int("id")?,
        storage_level: storage_level(rdd.object("storageLevel")?)?,
    })
}
