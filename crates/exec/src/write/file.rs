//! Files in the making.

use std::io::Write;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::{FieldRef, Schema, SchemaRef};
use catalyst::{Attribute, Unsupported};
use datafusion_common::{DataFusionError, Result};
use datafusion_execution::memory_pool::MemoryReservation;
use parquet::arrow::arrow_writer::{
    ArrowColumnChunk, ArrowColumnWriter, ArrowRowGroupWriterFactory, compute_leaves,
};
use parquet::basic::{Compression, GzipLevel, Type as Physical, ZstdLevel};
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::metadata::{ColumnChunkMetaData, KeyValue};
use parquet::file::properties::{WriterProperties, WriterPropertiesPtr, WriterVersion};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{ColumnDescPtr, TypePtr};
use rows::error::bail_out;

use super::column::{Calendar, has_nan, leaves, of_file};
use super::dictionary::few_values;
use super::schema::{TimestampFormat, field, message};

/// What a file says that wrote it. `parquet-mr` in front tells Spark that timestamps of 96 bits are those of UTC; names
/// with more words behind it are no version of that library, whose faults readers know.
const CREATED_BY: &str = concat!(
    "parquet-mr-compatible firesteel version ",
    env!("CARGO_PKG_VERSION")
);

/// Spark's name for its version in a file. Without it, dates are taken for those of another calendar.
const VERSION_KEY: &str = "org.apache.spark.version";
/// Spark's name for its columns in a file.
const COLUMNS_KEY: &str = "org.apache.spark.sql.parquet.row.metadata";

/// Rows of a page at most: `parquet.page.row.count.limit`.
const PAGE_ROWS: usize = 20_000;
/// Bytes of the rows by which columns are judged.
const FIRST_BYTES: usize = 8 << 20;

/// How pages are compressed: `parquet.compression`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Codec {
    /// `UNCOMPRESSED`
    None,
    /// `SNAPPY`
    Snappy,
    /// `GZIP`
    Gzip,
    /// `ZSTD`
    Zstd,
    /// `LZ4_RAW`
    Lz4Raw,
}

impl Codec {
    const ALL: [(&str, Self, &str); 5] = [
        ("UNCOMPRESSED", Self::None, ""),
        ("SNAPPY", Self::Snappy, ".snappy"),
        ("GZIP", Self::Gzip, ".gz"),
        ("ZSTD", Self::Zstd, ".zstd"),
        ("LZ4_RAW", Self::Lz4Raw, ".lz4raw"),
    ];

    /// The codec of a `CompressionCodecName`, if files are written with it.
    #[must_use]
    pub fn of(name: &str) -> Option<Self> {
        let mut all = Self::ALL.iter();
        all.find(|(known, ..)| known.eq_ignore_ascii_case(name))
            .map(|(_, codec, _)| *codec)
    }

    /// What the names of files have before `.parquet`.
    #[must_use]
    pub fn extension(self) -> &'static str {
        let mut all = Self::ALL.iter();
        all.find(|(_, codec, _)| *codec == self)
            .map_or("", |(.., extension)| extension)
    }

    fn compression(self) -> ParquetResult<Compression> {
        Ok(match self {
            Self::None => Compression::UNCOMPRESSED,
            Self::Snappy => Compression::SNAPPY,
            Self::Gzip => Compression::GZIP(GzipLevel::default()),
            // `parquet.compression.codec.zstd.level`
            Self::Zstd => Compression::ZSTD(ZstdLevel::try_new(3)?),
            Self::Lz4Raw => Compression::LZ4_RAW,
        })
    }
}

/// How files are written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParquetOptions {
    /// How pages are compressed.
    pub codec: Codec,
    /// How timestamps are kept.
    pub timestamps: TimestampFormat,
    /// Whether dates and timestamps of 64 bits of times when there were two calendars are left to Spark.
    pub refuses_ancient: bool,
    /// The same of timestamps of 96 bits.
    pub refuses_ancient_int96: bool,
    /// `parquet.enable.dictionary`
    pub dictionaries: bool,
    /// `parquet.block.size`: bytes of a row group.
    pub row_group_bytes: usize,
    /// The driver's version of Spark: `4.0.5`.
    pub spark_version: String,
    /// The columns as Spark's JSON.
    pub columns: String,
}

/// What all files of a write have in common.
#[derive(Debug)]
pub struct ParquetFormat {
    schema: TypePtr,
    /// The schema with types that are written.
    as_written: TypePtr,
    arrays: SchemaRef,
    properties: WriterPropertiesPtr,
    calendar: Calendar,
    row_group_bytes: usize,
}

impl ParquetFormat {
    /// Files with these columns.
    ///
    /// # Errors
    /// Columns of a type are not written.
    pub fn new(
        columns: &[Attribute],
        options: &ParquetOptions,
    ) -> std::result::Result<Self, Unsupported> {
        let timestamps = options.timestamps;
        let fields = columns
            .iter()
            .map(|column| field(&column.name, &column.data_type, column.nullable, timestamps));
        let fields: Vec<_> = fields.collect::<std::result::Result<_, _>>()?;
        let refused = |_| Unsupported::of_use("a write of columns that Parquet does not take");
        let pair = |key: &str, value: &str| KeyValue::new(key.to_owned(), value.to_owned());
        let properties = WriterProperties::builder()
            .set_created_by(CREATED_BY.to_owned())
            .set_writer_version(WriterVersion::PARQUET_1_0)
            .set_compression(options.codec.compression().map_err(refused)?)
            .set_dictionary_enabled(options.dictionaries)
            // Readers take what is least and greatest for values.
            .set_statistics_truncate_length(None)
            .set_key_value_metadata(Some(vec![
                pair(VERSION_KEY, &options.spark_version),
                pair(COLUMNS_KEY, &options.columns),
            ]))
            .build();
        Ok(Self {
            schema: message(columns, timestamps, false).map_err(refused)?,
            as_written: message(columns, timestamps, true).map_err(refused)?,
            arrays: Arc::new(Schema::new(fields)),
            properties: Arc::new(properties),
            calendar: Calendar {
                refuses: options.refuses_ancient,
                refuses_int96: options.refuses_ancient_int96,
            },
            row_group_bytes: options.row_group_bytes,
        })
    }

    /// The columns of a batch as they are kept in files; `places` are those of the file's columns.
    ///
    /// # Errors
    /// Bail-outs: a value that Spark refuses, or a null where none was promised.
    pub fn columns(&self, batch: &RecordBatch, places: &[usize]) -> Result<Vec<ArrayRef>> {
        let fields = self.arrays.fields().iter().zip(places);
        fields
            .map(|(field, place)| {
                let array = batch.columns().get(*place);
                let array = array.ok_or_else(|| bail_out("a column that is not there"))?;
                let kept = of_file(array, field, self.calendar)?;
                match !field.is_nullable() && kept.null_count() > 0 {
                    true => Err(bail_out("a null in a column that promised none")),
                    false => Ok(kept),
                }
            })
            .collect()
    }

    /// A new file, whose row groups are made in memory of a reservation.
    ///
    /// # Errors
    /// Those of `out`, as bail-outs.
    pub fn writer<W: Write + Send>(
        &self,
        out: W,
        memory: MemoryReservation,
    ) -> Result<ParquetWriter<'_, W>> {
        let schema = Arc::clone(&self.schema);
        let file = SerializedFileWriter::new(out, schema, Arc::clone(&self.properties));
        Ok(ParquetWriter {
            format: self,
            file: file.map_err(failed)?,
            first: Vec::new(),
            group: None,
            memory,
        })
    }
}

/// A file in the making.
pub struct ParquetWriter<'f, W: Write + Send> {
    format: &'f ParquetFormat,
    file: SerializedFileWriter<W>,
    /// The first rows of the next row group: they say which columns have few values.
    first: Vec<Vec<ArrayRef>>,
    group: Option<RowGroup>,
    memory: MemoryReservation,
}

/// A row group in the making.
struct RowGroup {
    columns: Vec<ArrowColumnWriter>,
    /// Which columns have a NaN.
    nans: Vec<bool>,
}

impl<W: Write + Send> ParquetWriter<'_, W> {
    /// More rows: columns that [`ParquetFormat::columns`] made.
    ///
    /// # Errors
    /// Bail-outs: those of the file, or there is too little memory.
    pub fn write(&mut self, columns: &[ArrayRef]) -> Result<()> {
        if let Some(group) = &mut self.group {
            group
                .write(self.format.arrays.fields(), columns)
                .map_err(failed)?;
            return self.end_full();
        }
        self.first.push(columns.to_vec());
        let rows = self.first.iter().flat_map(|columns| columns.first());
        let rows: usize = rows.map(|column| column.len()).sum();
        let all = self.first.iter().flatten();
        let bytes: usize = all.map(|column| column.get_array_memory_size()).sum();
        let has_room = self.memory.try_resize(bytes).is_ok();
        if has_room && rows < PAGE_ROWS && bytes < self.format.row_group_bytes.min(FIRST_BYTES) {
            return Ok(());
        }
        self.begin_group()?;
        match has_room {
            true => self.end_full(),
            false => self.flush(),
        }
    }

    /// Begins a row group with the rows that wait for it.
    fn begin_group(&mut self) -> Result<()> {
        let first = std::mem::take(&mut self.first);
        let fields = self.format.arrays.fields();
        let leaves = self.file.schema_descr().columns();
        let properties = self.format.properties.as_ref().clone().into_builder();
        let properties = few_values(&first).into_iter().zip(leaves).fold(
            properties,
            |properties, (few, leaf)| match few {
                true => properties,
                false => properties.set_column_dictionary_enabled(leaf.path().clone(), false),
            },
        );
        let schema = Arc::clone(&self.format.as_written);
        let properties = Arc::new(properties.build());
        let written = SerializedFileWriter::new(std::io::sink(), schema, properties);
        let arrays = Arc::clone(&self.format.arrays);
        let groups = ArrowRowGroupWriterFactory::new(&written.map_err(failed)?, arrays);
        let number = self.file.flushed_row_groups().len();
        let columns = groups.create_column_writers(number).map_err(failed)?;
        let nans = vec![false; columns.len()];
        let mut group = RowGroup { columns, nans };
        for columns in &first {
            group.write(fields, columns).map_err(failed)?;
        }
        self.group = Some(group);
        Ok(())
    }

    /// Ends the row group if it is large enough, or as large as it can be.
    fn end_full(&mut self) -> Result<()> {
        let Some(group) = &self.group else {
            return Ok(());
        };
        let sizes = group.columns.iter().map(ArrowColumnWriter::memory_size);
        let enough = sizes.sum::<usize>();
        let bytes = group
            .columns
            .iter()
            .map(ArrowColumnWriter::get_estimated_total_bytes);
        let is_full = bytes.sum::<usize>() >= self.format.row_group_bytes;
        if is_full || self.memory.try_resize(enough).is_err() {
            self.flush()?;
        }
        Ok(())
    }

    /// Ends the row group.
    fn flush(&mut self) -> Result<()> {
        if self.group.is_none() && !self.first.is_empty() {
            self.begin_group()?;
        }
        let Some(group) = self.group.take() else {
            return Ok(());
        };
        let leaves = self.file.schema_descr().columns().to_vec();
        group.finish(&mut self.file, &leaves).map_err(failed)?;
        self.memory.free();
        Ok(())
    }

    /// Ends the file.
    ///
    /// # Errors
    /// Those of the file, as bail-outs.
    pub fn finish(mut self) -> Result<W> {
        self.flush()?;
        self.file.into_inner().map_err(failed)
    }
}

impl RowGroup {
    fn write(&mut self, fields: &[FieldRef], columns: &[ArrayRef]) -> ParquetResult<()> {
        let mut writers = self.columns.iter_mut();
        let mut found = Vec::with_capacity(self.nans.len());
        for (field, column) in fields.iter().zip(columns) {
            for leaf in compute_leaves(field, column)? {
                let missing = || ParquetError::General("a column that is not there".to_owned());
                writers.next().ok_or_else(missing)?.write(&leaf)?;
            }
            leaves(column, &mut found);
        }
        for (has, leaf) in self.nans.iter_mut().zip(found) {
            *has = *has || has_nan(leaf);
        }
        Ok(())
    }

    fn finish<W: Write + Send>(
        self,
        file: &mut SerializedFileWriter<W>,
        leaves: &[ColumnDescPtr],
    ) -> ParquetResult<()> {
        let mut group = file.next_row_group()?;
        let columns = self.columns.into_iter().zip(self.nans).zip(leaves);
        for ((column, has_nan), leaf) in columns {
            let mut chunk = column.close()?;
            if leaf.physical_type() == Physical::INT96 {
                describe_as(&mut chunk, leaf)?;
            } else if has_nan {
                // To Spark, NaN is greater than all other numbers; Parquet leaves it out.
                forget_bounds(&mut chunk)?;
            }
            chunk.append_to_row_group(&mut group)?;
        }
        group.close()?;
        Ok(())
    }
}

/// Describes a chunk of arrays of 12 bytes as one of timestamps, which have no order.
fn describe_as(chunk: &mut ArrowColumnChunk, leaf: &ColumnDescPtr) -> ParquetResult<()> {
    let close = chunk.close_mut();
    let metadata = &close.metadata;
    close.metadata = ColumnChunkMetaData::builder(Arc::clone(leaf))
        .set_compression_codec(metadata.compression_codec())
        .set_encodings_mask(*metadata.encodings_mask())
        .set_num_values(metadata.num_values())
        .set_total_compressed_size(metadata.compressed_size())
        .set_total_uncompressed_size(metadata.uncompressed_size())
        .set_data_page_offset(metadata.data_page_offset())
        .set_dictionary_page_offset(metadata.dictionary_page_offset())
        .set_repetition_level_histogram(metadata.repetition_level_histogram().cloned())
        .set_definition_level_histogram(metadata.definition_level_histogram().cloned())
        .build()?;
    close.column_index = None;
    Ok(())
}

/// Takes the least and the greatest value out of what a chunk says of itself.
fn forget_bounds(chunk: &mut ArrowColumnChunk) -> ParquetResult<()> {
    let close = chunk.close_mut();
    close.column_index = None;
    let metadata = close.metadata.clone().into_builder();
    close.metadata = metadata.clear_statistics().build()?;
    Ok(())
}

/// The JVM may succeed, or has Spark's words for it.
fn failed(error: ParquetError) -> DataFusionError {
    let why = match &error {
        ParquetError::External(error) => match error.downcast_ref::<std::io::Error>() {
            Some(error) => error.kind().to_string(),
            None => "something else".to_owned(),
        },
        ParquetError::ArrowError(_) => "its columns".to_owned(),
        _ => "its format".to_owned(),
    };
    bail_out(format!("a Parquet file that cannot be written: {why}"))
}
