//! Files as Spark writes them, made of batches: Parquet as its `ParquetWriteSupport` makes it of rows, and lines.
//!
//! * `schema`: Spark's types as those of Parquet.
//! * `column`: columns as they are kept in Parquet.
//! * `dictionary`: which columns have few values.
//! * `file`: Parquet files in the making.
//! * `csv`: lines of CSV.
//! * `lines`: files of lines in the making: text, CSV, JSON.

mod column;
mod csv;
mod dictionary;
mod file;
mod lines;
mod schema;
#[cfg(test)]
mod tests;

pub use file::{Codec, ParquetFormat, ParquetOptions, ParquetWriter};
pub use lines::{LineFormat, LineWriter};
pub use schema::TimestampFormat;

/// Spark's names of the formats of files that are written.
pub const FORMATS: [&str; 4] = ["Parquet", "text", "CSV", "JSON"];
