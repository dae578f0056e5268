//! The task of `SchemaMergeUtils.mergeSchemasInParallel` over Parquet files ([`SchemaMerge`](catalyst::SchemaMerge)):
//! which columns the files of a partition have, as Spark writes the answer.

mod encode;
mod footer;

pub use encode::result;
pub use footer::read;
