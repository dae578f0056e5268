//! Parquet files as Spark writes them: what its `ParquetWriteSupport` makes of rows, made of batches.
//!
//! * `schema`: Spark's types as those of files.
//! * `column`: columns as they are kept in files.
//! * `dictionary`: which columns have few values.
//! * `file`: files in the making.

mod column;
mod dictionary;
mod file;
mod schema;
#[cfg(test)]
mod tests;

pub use file::{Codec, ParquetFormat, ParquetOptions, ParquetWriter};
pub use schema::TimestampFormat;

/// Spark's names of the formats of files that are written.
pub const FORMATS: [&str; 1] = ["Parquet"];
