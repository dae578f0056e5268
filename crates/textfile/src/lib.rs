//! Text files as Hadoop's record readers read them: [`Lines`] of a part of a file, and [`Compression`] by a file's
//! name.

#![forbid(unsafe_code)]

mod compression;
mod lines;

pub use compression::{Compression, Packed};
pub use lines::{Delimiter, Lines};

/// Hadoop's property of codecs. Where it is set, names of files say something else than [`Compression`] knows.
pub const CODECS: &str = "io.compression.codecs";

/// Hadoop's property of how long a line may be, see [`limits_lines`].
pub const LINE_LENGTH: &str = "mapreduce.input.linerecordreader.line.maxlength";

/// `io.file.buffer.size`: bytes that Hadoop's streams read at a time. Spark sets it to `spark.buffer.size`.
pub const BUFFER_SIZE: &str = "io.file.buffer.size";

/// Whether a value of [`LINE_LENGTH`] leaves out long lines.
#[must_use]
pub fn limits_lines(value: &str) -> bool {
    value != i32::MAX.to_string()
}

/// What a value of [`BUFFER_SIZE`] means, in bytes.
#[must_use]
pub fn buffer_size(value: Option<&str>) -> usize {
    let size = value.and_then(|size| size.parse().ok());
    size.unwrap_or(64 << 10).clamp(512, 16 << 20)
}
