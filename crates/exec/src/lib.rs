//! Spark's plans run natively.
//!
//! [`NativeStage`] judges a stage once and lowers it; [`NativeStage::task`] makes of it what one task executes, over
//! the [`Sources`] that the executor gives.

#![forbid(unsafe_code)]

mod aggregate;
pub mod arrow_message;
mod cached;
pub mod capabilities;
mod checkpoint;
mod draws;
mod exchange;
mod exec;
pub mod expr;
mod filter;
mod generate;
mod groups;
mod join;
mod jvm_calls;
mod leaves;
mod limit;
mod lower;
mod metrics;
mod native_calls;
mod native_functions;
mod objects;
mod parts;
mod plan;
mod project;
mod python;
mod records;
mod scan;
pub mod schema;
mod shuffle_read;
mod simple_functions;
mod sort;
mod sources;
mod type_json;
mod union;
mod window;
pub mod write;

pub use exchange::{
    KeySample, Partitioner, RangeSample, RangeSampler, Scattered, round_robin_order, scatter,
};
/// What fuzz targets call.
#[cfg(fuzzing)]
pub mod fuzzing {
    pub use crate::aggregate::fuzzing::aggregation_buffers;
    pub use crate::expr::variant::read as variant;
    pub use crate::python::fuzzing::{python_results, python_stream};
    pub use crate::records::fuzzing::record_line;
    pub use crate::scan::fuzz_deletion_vector as deletion_vector;
}

pub use jvm_calls::{JvmCall, message as rows_for_jvm};
pub use native_calls::{RowCall, TaskCalls, TaskCallsEntered};
pub use native_functions::{
    NativeAggregate, NativeCall, NativeCallee, NativeFunction, NativeInput, NativeOutput,
    NativePartition, NativeScalar,
};
pub use plan::{NativeStage, TaskPlan};
pub use python::{ArrowResult, DataFramePickler, EncodedBatch};
pub use records::{CsvTypes, JsonTypes};
pub use simple_functions::{SimpleCall, SimpleFunction, SimpleObserver};
pub use sources::{
    BlockStream, CachedBatches, FileBytes, HadoopSettings, Make, MakeBatches, MakeRows,
    PythonArguments, PythonCall, PythonCallee, PythonFrames, PythonRows, PythonTable, PythonTimes,
    Records, RowRecords, Shared, SharedMemory, Sources,
};

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
