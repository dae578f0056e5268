//! Which columns files have, as Spark writes the answer: of Parquet files, the task of
//! `SchemaMergeUtils.mergeSchemasInParallel` ([`SchemaMerge`](catalyst::SchemaMerge)), and of
//! [texts of JSON](catalyst::JsonInference).

mod encode;
mod footer;

pub use encode::{inferred, result};
pub use footer::read;
