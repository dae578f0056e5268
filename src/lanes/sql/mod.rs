//! Spark SQL without a JVM: stages that `crates/catalyst` reads run on DataFusion's operators, on the task's own
//! thread.
//!
//! | module | what it holds |
//! |---|---|
//! | `lane` | which tasks the lane takes |
//! | `run` | an attempt, from its inputs to what it returns |
//! | `sources` | what stages read: shuffles, broadcasts, files |
//! | `row_blocks` | the rows in blocks of a shuffle |
//! | `relations` | decoded broadcasts, shared by all tasks |
//! | `sink` | what becomes of rows |
//! | `functions` | functions of Python, in workers |
//! | `native` | functions of shared libraries in place of these |
//! | `write` | rows to a shuffle |
//! | `columns` | the same as columns |
//! | `files` | rows to Parquet files |
//! | `results`, `result_format` | rows to the driver |
//! | `verify` | every attempt run by the JVM too |
//! | `engine`, `memory` | DataFusion's surroundings |
//! | `sql_metrics` | what the SQL page of the UI shows |
//! | `failure` | how errors get through DataFusion |

mod cached;
mod checkpoint;
mod columns;
mod engine;
mod failure;
mod files;
mod functions;
mod functions_session;
#[cfg(fuzzing)]
pub(crate) mod fuzzing;
mod lane;
mod listing;
mod memory;
mod native;
mod partition;
mod pickled;
mod relations;
mod rest;
mod result_format;
mod results;
mod row_blocks;
mod run;
mod schemas;
mod simple;
mod sink;
mod source_files;
mod sources;
mod sql_metrics;
mod verify;
mod write;

pub use lane::{SqlLane, SqlParts, verifies};
