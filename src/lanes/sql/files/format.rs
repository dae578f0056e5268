//! Files of one of the formats that are written.

use std::sync::Arc;

use arrow::array::RecordBatch;
use catalyst::{Attribute, Unsupported, WrittenFormat};
use datafusion_common::Result;
use datafusion_execution::memory_pool::{MemoryConsumer, MemoryPool};
use exec::write::{LineFormat, LineWriter, ParquetFormat, ParquetWriter};

use super::settings::FormatSettings;
use crate::files::Output;

/// What all files of a write have in common.
#[derive(Debug)]
pub(super) enum Format {
    Parquet {
        format: ParquetFormat,
        /// The end of the files' names: `.snappy.parquet`
        extension: String,
    },
    Lines(LineFormat),
}

/// A file in the making.
pub(super) enum FileWriter<'f> {
    Parquet(&'f ParquetFormat, Box<ParquetWriter<'f, Output>>),
    Lines(Box<LineWriter<'f, Output>>),
}

impl Format {
    pub(super) fn new(
        columns: &[Attribute],
        format: &WrittenFormat,
        settings: &FormatSettings,
    ) -> Result<Self, Unsupported> {
        Ok(match settings {
            FormatSettings::Parquet(options) => Self::Parquet {
                format: ParquetFormat::new(columns, options)?,
                extension: format!("{}.parquet", options.codec.extension()),
            },
            FormatSettings::Lines(compression) => {
                Self::Lines(LineFormat::new(columns, format, *compression)?)
            }
        })
    }

    /// The end of the files' names.
    pub(super) fn extension(&self) -> &str {
        match self {
            Self::Parquet { extension, .. } => extension,
            Self::Lines(format) => format.extension(),
        }
    }

    pub(super) fn writer(
        &self,
        out: Output,
        memory: &Arc<dyn MemoryPool>,
    ) -> Result<FileWriter<'_>> {
        Ok(match self {
            Self::Parquet { format, .. } => {
                let memory = MemoryConsumer::new("a Parquet file").register(memory);
                FileWriter::Parquet(format, Box::new(format.writer(out, memory)?))
            }
            Self::Lines(format) => FileWriter::Lines(Box::new(format.writer(out))),
        })
    }
}

impl FileWriter<'_> {
    /// More rows; `places` are those of the file's columns.
    pub(super) fn write(&mut self, batch: &RecordBatch, places: &[usize]) -> Result<()> {
        match self {
            Self::Parquet(format, writer) => writer.write(&format.columns(batch, places)?),
            Self::Lines(writer) => writer.write(batch, places),
        }
    }

    pub(super) fn finish(self) -> Result<Output> {
        match self {
            Self::Parquet(_, writer) => writer.finish(),
            Self::Lines(writer) => writer.finish(),
        }
    }
}
