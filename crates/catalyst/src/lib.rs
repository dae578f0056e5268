//! Spark SQL's physical plans as Rust values: from the objects in a task to a typed tree of operators and expressions.
//!
//! The driver sends no plan. It sends RDDs, whose closures captured operators or parts of them as ordinary Java
//! objects, with everything that operators need. [`Stage::read`] gathers them by the names of Spark's classes and
//! fields, which are the same in all versions that Firesteel knows, and [`Stage::bind`] reads what a task's partition
//! says. Whatever is not known is [`Unsupported`].
//!
//! There are two doors to the same tree. With `spark.sql.codegen.wholeStage=false` every operator is an RDD with a
//! closure of its own. With generated code, which is Spark's default, the operators are found where the code refers to
//! one of them; where it refers to none there is only source text.
//!
//! Nothing is evaluated here.
#![forbid(unsafe_code)]

mod aggregate;
mod aggregate_python;
mod cached;
mod carried;
mod checkpoint;
mod closure;
mod codegen;
mod display;
mod error;
mod expr;
#[cfg(fuzzing)]
pub mod fuzzing;
mod generate;
mod infer;
mod inputs;
mod join;
mod jvm_scan;
mod leaves;
mod lineage;
mod listing;
mod literal;
mod map_groups;
mod map_in_batch;
mod metrics;
mod object;
mod objects;
mod operators;
mod output;
mod parallel_job;
mod pickled;
mod plan;
mod python;
mod query_rdd;
mod rest;
mod scan;
mod schema_merge;
mod shuffle;
mod stage;
mod table_python;
mod top_k;
mod types;
mod unsafe_row;
mod window;
mod window_python;
mod write;

pub use aggregate::{
    AggregateExpression, AggregateFunction, AggregateKind, AggregateMode, Between, BitOperation,
    Comoment, ListOrder, Moment, Ties,
};
pub use aggregate_python::{AggregatePython, AggregateUdf, GroupFunction};
pub use cached::{CachedTable, CachedTableCounters, InMemoryTableScan};
pub use checkpoint::{CheckpointFiles, CheckpointRows, CheckpointScan, KeptRows};
pub use error::Unsupported;
pub use expr::{
    Attribute, Draw, EvalMode, Expr, ExprId, ExprKind, FileFact, Function, HigherOrder,
    IntervalField, IntervalFields, IsNative, JsonText, JvmExpression, Lambda, NOT_OF_A_ROW,
    NativeUdf, Share, SortOrder, TimesText, list,
};
pub use generate::Generator;
pub use infer::{CsvInference, JsonInference};
pub use inputs::{
    DeletionVector, Inputs, LeafInput, PartitionedFile, PositionDeletes, RowIndexFilter,
    ShufflePartitionSpec, TableFile, TaskBroadcast, TaskInputs,
};
pub use join::{BuildSide, EquiJoin, JoinType};
pub use listing::Listing;
pub use literal::{Literal, literals_of_row, variant_bytes};
pub use map_groups::{GroupUdf, GroupedInput, MapGroups};
pub use map_in_batch::{MapInBatch, MapUdf};
pub use metrics::Metric;
pub use objects::{ObjectOperator, Objects, ObjectsAnswer, ObjectsCall, ObjectsInput, ScanCall};
pub use pickled::{ArrowBatches, PickledRows, PickledScan};
pub use plan::{
    AggregateStrategy, Broadcast, Columns, LeafId, Operator, OperatorKind, ShuffleRead,
};
pub use python::{ArrowSession, ArrowUdf, PythonArgument, PythonForm, PythonUdf};
pub use rest::JvmRest;
pub use scan::{
    CsvOptions, CsvSyntax, DeletedRows, FILE_FORMATS, FileFormat, FileMetadata, FileSourceScan,
    JsonForm, JsonOptions, Malformed, ParquetOptions, PushedFilter, ROW_INDEX, RecordOptions,
    RecordTimes, ScanInJvm, TextOptions, VariantPart,
};
pub use schema_merge::{SchemaFile, SchemaMerge, SchemaOptions};
pub use shuffle::{Partitioning, ShuffleWrite};
pub use stage::{CollectResult, Output, Settings, Stage};
pub use table_python::{TableForm, TablePython};
pub use types::{
    DataType, Decimal, MAX_LONG_DIGITS, MAX_PRECISION, MAX_TIME_PRECISION, StructField,
};
pub use window::{Bound, Frame, FrameUnit, RankLike, WindowExpression, WindowFunction, integer};
pub use window_python::{FrameFunction, WindowPython, WindowUdf};
pub use write::{CsvWrite, FileWrite, PartitionColumn, WrittenFormat};
