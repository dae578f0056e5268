//! Which columns files have, as Spark writes the answer: of Parquet files, the task of
//! `SchemaMergeUtils.mergeSchemasInParallel` ([`SchemaMerge`](catalyst::SchemaMerge)), and of
//! [texts of JSON](catalyst::JsonInference); of which types the values of [lines of CSV](catalyst::CsvInference) are.

mod encode;
mod footer;

pub use encode::{inferred, result, types};
pub use footer::read;
