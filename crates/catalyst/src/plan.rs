//! Operators of a stage.

use std::fmt;

use javaser::arena::NodeId;

use crate::aggregate::AggregateExpression;
use crate::aggregate_python::AggregatePython;
use crate::cached::InMemoryTableScan;
use crate::checkpoint::{CheckpointScan, KeptRows};
use crate::error::Unsupported;
use crate::expr::{Attribute, Expr, SortOrder};
use crate::generate::Generator;
use crate::join::{BuildSide, EquiJoin, JoinType};
use crate::map_groups::MapGroups;
use crate::map_in_batch::MapInBatch;
use crate::metrics::Metric;
use crate::objects::Objects;
use crate::pickled::PickledScan;
use crate::python::{PythonForm, PythonUdf};
use crate::scan::FileSourceScan;
use crate::table_python::TablePython;
use crate::window::{RankLike, WindowExpression};
use crate::window_python::WindowPython;

/// Place of a leaf among those of its stage, from 0.
pub type LeafId = usize;

/// The columns of an operator's rows.
///
/// That no columns are known is not the same as that there are none: rows of no columns have 8 bytes less for each, and
/// a reader who was promised some reads garbage.
#[derive(Debug, Clone, PartialEq)]
pub enum Columns {
    /// All of them, in their order. There may be none: the input of a `count(*)` has rows without columns.
    Known(Vec<Attribute>),
    /// Nothing in the stage says which columns there are: rows are passed on as they are.
    Opaque {
        /// How many there are, where the stage says that.
        num_fields: Option<usize>,
    },
}

impl Columns {
    /// The columns, if they are known.
    pub fn known(&self) -> Option<&[Attribute]> {
        match self {
            Self::Known(columns) => Some(columns),
            Self::Opaque { .. } => None,
        }
    }

    /// How many there are, if that is known.
    pub fn num_fields(&self) -> Option<usize> {
        match self {
            Self::Known(columns) => Some(columns.len()),
            Self::Opaque { num_fields } => *num_fields,
        }
    }

    /// The columns, for those who have to know them.
    ///
    /// # Errors
    /// They are not known.
    pub fn require(&self) -> Result<&[Attribute], Unsupported> {
        self.known()
            .ok_or_else(|| Unsupported::of_use("rows of unknown columns"))
    }
}

/// An operator with its inputs.
#[derive(Debug, Clone, PartialEq)]
pub struct Operator {
    /// What it does.
    pub kind: OperatorKind,
    /// Columns that come out.
    pub output: Columns,
    /// Its SQL metrics, sorted by name.
    pub metrics: Vec<Metric>,
}

/// A broadcast variable that a task reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Broadcast {
    /// `Broadcast.id`
    pub id: i64,
    /// The `TorrentBroadcast` in the stage's graph.
    pub node: NodeId,
}

/// Which of Spark's operators an aggregation is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AggregateStrategy {
    /// `HashAggregateExec`
    Hash,
    /// `SortAggregateExec`: its input is sorted by the keys.
    Sort,
    /// `ObjectHashAggregateExec`
    ObjectHash {
        /// With so many groups a task sets their buffers aside, sorts the rows that are left, and adds the buffers to
        /// what these come to (`spark.sql.objectHashAggregate.sortBased.fallbackThreshold`).
        sorts_from: i32,
    },
}

impl fmt::Display for AggregateStrategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Hash => "Hash",
            Self::Sort => "Sort",
            Self::ObjectHash { .. } => "ObjectHash",
        })
    }
}

/// What an [`Operator`] does. The names are Spark's, without `Exec`.
#[derive(Debug, Clone, PartialEq)]
pub enum OperatorKind {
    /// Reads files.
    FileSourceScan(Box<FileSourceScan>),
    /// Reads a cached table, or makes it.
    InMemoryTableScan(Box<InMemoryTableScan>),
    /// `ShuffledRowRDD`: reads a shuffle.
    ShuffleRead {
        /// Where tasks say which part.
        leaf: LeafId,
        /// The shuffle.
        shuffle: ShuffleRead,
    },
    /// Rows that lie in the tasks' partitions: `LocalTableScan`.
    LocalTableScan {
        /// Where tasks have them.
        leaf: LeafId,
    },
    /// One row without columns, what a `SELECT` without `FROM` selects from: `OneRowRelation`, which is an `RDDScan`
    /// before Spark 4.1.
    OneRowRelation {
        /// Where tasks know that it is theirs.
        leaf: LeafId,
    },
    /// Rows that Python pickled.
    PickledScan(PickledScan),
    /// `RDDScan`: rows of a checkpoint.
    CheckpointScan(CheckpointScan),
    /// Keeps rows for a local checkpoint, or gives those that somebody keeps.
    KeepRows {
        /// Where they are kept.
        rows: KeptRows,
        /// What they are made of.
        child: Box<Operator>,
    },
    /// `Range`: numbers.
    Range {
        /// Where tasks say which slice.
        leaf: LeafId,
        /// The first.
        start: i64,
        /// What is between two.
        step: i64,
        /// The one behind the last, or a step beyond.
        end: i64,
        /// Number of slices.
        num_slices: i32,
    },
    /// Rows of which the condition is true.
    Filter {
        /// The condition.
        condition: Expr,
        /// Input.
        child: Box<Operator>,
    },
    /// Other columns.
    Project {
        /// Attributes and aliases.
        list: Vec<Expr>,
        /// Input.
        child: Box<Operator>,
    },
    /// An aggregation.
    Aggregate {
        /// Which of Spark's operators.
        strategy: AggregateStrategy,
        /// Keys; attributes and aliases.
        grouping: Vec<Expr>,
        /// Functions. Their modes may differ.
        aggregates: Vec<AggregateExpression>,
        /// Attributes that `result` knows the functions' results by: the buffers' for `Partial` and `PartialMerge`.
        aggregate_attributes: Vec<Attribute>,
        /// What comes out, of keys and `aggregate_attributes`; for partial modes keys and [`input_buffer`] attributes.
        ///
        /// [`input_buffer`]: crate::AggregateFunction::input_buffer
        result: Vec<Expr>,
        /// Where buffers start in the input.
        initial_input_buffer_offset: usize,
        /// Input.
        child: Box<Operator>,
    },
    /// Sorts each partition.
    Sort {
        /// By what.
        order: Vec<SortOrder>,
        /// Whether the partitions are sorted too; tasks need not care.
        global: bool,
        /// Input.
        child: Box<Operator>,
    },
    /// The first rows of each partition.
    Limit {
        /// How many; all if negative.
        limit: i32,
        /// How many to leave out before.
        offset: i32,
        /// Input.
        child: Box<Operator>,
    },
    /// `BroadcastHashJoin`
    BroadcastHashJoin {
        /// Keys, type, condition.
        join: EquiJoin,
        /// Which side was broadcast.
        build_side: BuildSide,
        /// Whether it is `NOT IN` with nulls.
        null_aware_anti: bool,
        /// The `HashedRelation`.
        broadcast: Broadcast,
        /// Columns of the broadcast side.
        build_output: Vec<Attribute>,
        /// The other side.
        streamed: Box<Operator>,
    },
    /// `BroadcastNestedLoopJoin`
    BroadcastNestedLoopJoin {
        /// Which rows come out.
        join_type: JoinType,
        /// Which pairs of rows match.
        condition: Option<Expr>,
        /// Which side was broadcast.
        build_side: BuildSide,
        /// The rows, `UnsafeRow[]`.
        broadcast: Broadcast,
        /// Columns of the broadcast side.
        build_output: Vec<Attribute>,
        /// The other side.
        streamed: Box<Operator>,
    },
    /// `ShuffledHashJoin`
    ShuffledHashJoin {
        /// Keys, type, condition.
        join: EquiJoin,
        /// Which side Spark puts into a table.
        build_side: BuildSide,
        /// Left input.
        left: Box<Operator>,
        /// Right input.
        right: Box<Operator>,
    },
    /// `SortMergeJoin`: both inputs are sorted by the keys.
    SortMergeJoin {
        /// Keys, type, condition.
        join: EquiJoin,
        /// Left input.
        left: Box<Operator>,
        /// Right input.
        right: Box<Operator>,
    },
    /// `CartesianProduct`: all pairs of rows of a partition of each input.
    CartesianProduct {
        /// What must be true of a pair.
        condition: Option<Expr>,
        /// Left input.
        left: Box<Operator>,
        /// Right input.
        right: Box<Operator>,
    },
    /// `Union`: a task computes one of them; columns go by their place.
    Union(Vec<Operator>),
    /// `Coalesce`: a task computes several partitions of its input.
    Coalesce(Box<Operator>),
    /// `Expand`: each row comes out once for each projection.
    Expand {
        /// As many expressions as output columns in each.
        projections: Vec<Vec<Expr>>,
        /// Input.
        child: Box<Operator>,
    },
    /// `TakeOrderedAndProject` in a task: the first rows of the partition in this order.
    TopK {
        /// How many.
        limit: i32,
        /// The order.
        order: Vec<SortOrder>,
        /// Input.
        child: Box<Operator>,
    },
    /// `Window`: a column for each expression behind those of the input, which is sorted by `partition` and `order`.
    Window {
        /// What is computed.
        expressions: Vec<WindowExpression>,
        /// Rows of which these are the same are a partition.
        partition: Vec<Expr>,
        /// The order within a partition. Rows of which it is the same are peers.
        order: Vec<SortOrder>,
        /// Input.
        child: Box<Operator>,
    },
    /// `WindowGroupLimit`: the first rows of each partition of an input that is sorted by `partition` and `order`.
    WindowGroupLimit {
        /// Rows of which these are the same are a partition.
        partition: Vec<Expr>,
        /// The order within a partition. Rows of which it is the same are peers.
        order: Vec<SortOrder>,
        /// By what rows are counted.
        rank: RankLike,
        /// The last rank that is kept.
        limit: i32,
        /// Input.
        child: Box<Operator>,
    },
    /// `BatchEvalPython`, `ArrowEvalPython`: columns that functions of Python compute, behind those of the input.
    EvalPython {
        /// How they are given rows.
        form: PythonForm,
        /// The functions, one for each column.
        udfs: Vec<PythonUdf>,
        /// Their columns.
        results: Vec<Attribute>,
        /// Artifacts of which session workers see, if the session has its own.
        job_artifact_uuid: Option<String>,
        /// Input.
        child: Box<Operator>,
    },
    /// `BatchEvalPythonUDTF`, `ArrowEvalPythonUDTF`: rows that a class of Python makes of each row of the input, beside
    /// columns of that, and rows that it makes behind the last, beside those of the last.
    TablePython {
        /// The class.
        table: Box<TablePython>,
        /// Input.
        child: Box<Operator>,
    },
    /// `MapInPandas`, `MapInArrow`: rows that a function of Python makes of those of a partition.
    MapInBatch {
        /// The function.
        map: Box<MapInBatch>,
        /// Input.
        child: Box<Operator>,
    },
    /// `DeserializeToObject` … `SerializeFromObject`, `AppendColumns` and their kin: what is made of objects of
    /// users' classes.
    Objects {
        /// The operators.
        objects: Box<Objects>,
        /// Inputs, as many as the first operator takes.
        children: Vec<Operator>,
    },
    /// `FlatMapGroupsInPandas` and its kin: rows that a function of Python makes of rows of the same keys.
    MapGroups {
        /// The function.
        map: Box<MapGroups>,
        /// Inputs, as many as the function takes.
        children: Vec<Operator>,
    },
    /// `AggregateInPandas`, `ArrowAggregatePython`: values that functions of Python compute of rows of the same keys.
    AggregatePython {
        /// The functions.
        aggregate: Box<AggregatePython>,
        /// Input.
        child: Box<Operator>,
    },
    /// `WindowInPandas`, `ArrowWindowPython`: a column for each function of Python behind those of the input, which is
    /// sorted by `partition` and `order`.
    WindowPython {
        /// The functions and their windows.
        window: Box<WindowPython>,
        /// Input.
        child: Box<Operator>,
    },
    /// `Generate`: columns of the input, and those that a generator makes, in as many rows as it makes.
    Generate {
        /// What is made of each row.
        generator: Generator,
        /// Whether a row of which nothing is made comes out once, with nulls.
        outer: bool,
        /// Columns of the input that come out.
        required: Vec<Attribute>,
        /// The generator's columns.
        generated: Vec<Attribute>,
        /// Input.
        child: Box<Operator>,
    },
}

/// A shuffle that is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShuffleRead {
    /// `shuffleId`
    pub shuffle_id: i32,
    /// Number of map partitions.
    pub num_maps: i32,
    /// Number of reduce partitions.
    pub num_partitions: i32,
    /// Columns of the rows.
    pub num_fields: i32,
}

impl Operator {
    /// Names the columns of rows that the stage itself does not name: somebody who reads them knows them.
    ///
    /// # Errors
    /// The rows have another number of columns, or they are known and are others.
    pub fn name_columns(&mut self, columns: &[Attribute]) -> Result<(), Unsupported> {
        let other = || Unsupported::of_use("rows of other columns");
        match &self.output {
            Columns::Known(known) => {
                let mut pairs = known.iter().zip(columns);
                let same = pairs.all(|(known, other)| known.data_type.is_like(&other.data_type));
                return match same && known.len() == columns.len() {
                    true => Ok(()),
                    false => Err(other()),
                };
            }
            Columns::Opaque {
                num_fields: Some(fields),
            } if *fields != columns.len() => return Err(other()),
            Columns::Opaque { .. } => {}
        }
        match &mut self.kind {
            OperatorKind::ShuffleRead { .. } | OperatorKind::LocalTableScan { .. } => {}
            OperatorKind::Limit { child, .. } | OperatorKind::Coalesce(child) => {
                child.name_columns(columns)?;
            }
            OperatorKind::Union(children) => {
                for child in children {
                    child.name_columns(columns)?;
                }
            }
            _ => return Err(other()),
        }
        self.output = Columns::Known(columns.to_vec());
        Ok(())
    }

    /// Inputs, left before right. The broadcast side of a join is none; what a cached table is made of is one.
    pub fn children(&self) -> impl Iterator<Item = &Self> {
        let children: Vec<&Self> = match &self.kind {
            OperatorKind::FileSourceScan(_)
            | OperatorKind::ShuffleRead { .. }
            | OperatorKind::LocalTableScan { .. }
            | OperatorKind::OneRowRelation { .. }
            | OperatorKind::PickledScan(_)
            | OperatorKind::CheckpointScan(_)
            | OperatorKind::Range { .. } => Vec::new(),
            OperatorKind::InMemoryTableScan(scan) => vec![&scan.table.child],
            OperatorKind::Filter { child, .. }
            | OperatorKind::KeepRows { child, .. }
            | OperatorKind::Project { child, .. }
            | OperatorKind::Aggregate { child, .. }
            | OperatorKind::Sort { child, .. }
            | OperatorKind::Limit { child, .. }
            | OperatorKind::Coalesce(child)
            | OperatorKind::Expand { child, .. }
            | OperatorKind::TopK { child, .. }
            | OperatorKind::Window { child, .. }
            | OperatorKind::WindowGroupLimit { child, .. }
            | OperatorKind::Generate { child, .. }
            | OperatorKind::EvalPython { child, .. }
            | OperatorKind::TablePython { child, .. }
            | OperatorKind::MapInBatch { child, .. }
            | OperatorKind::AggregatePython { child, .. }
            | OperatorKind::WindowPython { child, .. }
            | OperatorKind::BroadcastHashJoin {
                streamed: child, ..
            }
            | OperatorKind::BroadcastNestedLoopJoin {
                streamed: child, ..
            } => vec![child],
            OperatorKind::CartesianProduct { left, right, .. }
            | OperatorKind::ShuffledHashJoin { left, right, .. }
            | OperatorKind::SortMergeJoin { left, right, .. } => vec![left, right],
            OperatorKind::Union(children)
            | OperatorKind::MapGroups { children, .. }
            | OperatorKind::Objects { children, .. } => children.iter().collect(),
        };
        children.into_iter()
    }
}
