//! Rows of checkpoints: in blocks, as `RDD.localCheckpoint` keeps them, and in files.

use std::io::Read;
use std::sync::{Arc, OnceLock};

use arrow::array::RecordBatch;
use bytes::{Buf, Bytes};
use catalyst::{CheckpointFiles, KeptRows, Unsupported};
use datafusion_common::Result;
use exec::{BlockStream, MakeRows, Records};
use rows::error::bail_out;
use rows::{RowEncoder, RowObjectReader, RowObjectWriter, RowObjects};
use wire::ids::{BlockId, StorageLevel};

use super::cached::BlockError;
use super::failure::{of_run, of_source};
use super::lane::Shared;
use super::result_format::ResultFormat;
use super::sink::{Finished, Sink};
use crate::blocks::codec::Codec;
use crate::blocks::serializer_manager::{PlainReader, PlainWriter};
use crate::blocks::store::{BlockManager, BlockReader, CacheRequest, Cached};
use crate::files::{
    CheckpointFile, FileError, FileInput, FilePath, HadoopConf, Output, Outputs, is_written_scheme,
};
use crate::task::{TaskContext, TaskError, cannot_write};

/// Class of what such an RDD has.
const CLASS_TAG: &str = "org.apache.spark.sql.catalyst.InternalRow";

/// Bytes of rows that are handed on at a time.
const PIECE: usize = 512 << 10;

/// Gives the rows of a partition that are kept in a block. If nobody has them, they are made and kept, or, if they are
/// not to be kept here, left to the JVM.
pub(super) fn kept(
    store: &BlockManager,
    (kept, num_fields, partition): (KeptRows, usize, i32),
    make: Option<MakeRows>,
    keeps: bool,
    context: &Arc<TaskContext>,
) -> Result<Box<dyn BlockStream>> {
    let objects = RowObjects::new(&context.blocks.catalog)?;
    let id = BlockId::Rdd {
        rdd_id: kept.rdd_id,
        split_index: partition,
    };
    let stream = |block: BlockReader, is_found: bool| KeptStream {
        objects: Some(objects.reader(block, num_fields)),
        rest: None,
        found: is_found.then(|| Arc::clone(context)),
    };
    let Some(make) = make.filter(|_| keeps) else {
        let block = store.get(&id, Some(&context.cancellation));
        let block = block.map_err(|error| BlockError::from(error).0)?;
        // Spark has words for it, and a setting to be named.
        let block = block.ok_or_else(|| bail_out("a checkpoint that nobody has"))?;
        count_bytes(context, block.size());
        return Ok(Box::new(stream(block, true)));
    };
    let (flags, replication) = kept.storage_level;
    let request = CacheRequest {
        id,
        level: StorageLevel { flags, replication },
        class_tag: CLASS_TAG,
        header: RowObjects::header(),
        task_id: context.task_attempt_id,
        cancellation: &context.cancellation,
    };
    let made = || -> std::result::Result<_, BlockError> {
        Ok(SingleRecords {
            chunks: make().map_err(BlockError)?,
            chunk: Bytes::new(),
        })
    };
    let mut writer = objects.writer(num_fields);
    let encode = |record: &Bytes, out: &mut Vec<u8>| writer.write(row_of(record), out);
    let cached = store.get_or_else_update(&request, made, encode);
    Ok(Box::new(match cached.map_err(|error| error.0)? {
        Cached::Found(block) => {
            count_bytes(context, block.size());
            stream(block, true)
        }
        Cached::Stored(block) => stream(block, false),
        Cached::NotStored { begun, rest } => KeptStream {
            rest: Some(Box::new(rest)),
            ..stream(begun, false)
        },
    }))
}

fn count_bytes(context: &TaskContext, size: u64) {
    let size = i64::try_from(size).unwrap_or(i64::MAX);
    context.metrics.input.bytes_read.add(size);
}

/// The row of a record, behind its length.
fn row_of(record: &[u8]) -> &[u8] {
    record.get(size_of::<u32>()..).unwrap_or_default()
}

/// Records one by one.
struct SingleRecords<I> {
    chunks: I,
    /// Whole records.
    chunk: Bytes,
}

impl<I: Iterator<Item = Result<Bytes>>> Iterator for SingleRecords<I> {
    type Item = std::result::Result<Bytes, BlockError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(length) = self.chunk.first_chunk().map(|of| u32::from_be_bytes(*of)) {
                let length = size_of::<u32>() + length as usize;
                return Some(match length <= self.chunk.remaining() {
                    true => Ok(self.chunk.split_to(length)),
                    false => Err(BlockError(bail_out("a record that ends early"))),
                });
            }
            match self.chunks.next()? {
                Ok(chunk) => self.chunk = chunk,
                Err(error) => return Some(Err(BlockError(error))),
            }
        }
    }
}

/// Rows of a block, and behind them those for which there was no room.
struct KeptStream<R> {
    objects: Option<RowObjectReader<R>>,
    rest: Option<Box<dyn Iterator<Item = std::result::Result<Bytes, BlockError>> + Send>>,
    /// Who counts rows that somebody else has made.
    found: Option<Arc<TaskContext>>,
}

impl<R: Read + Send> BlockStream for KeptStream<R> {
    fn next(&mut self) -> Result<Option<Records>> {
        if let Some(objects) = &mut self.objects {
            if let Some((records, count)) = objects.next_rows(PIECE)? {
                if let Some(context) = &self.found {
                    context.metrics.input.records_read.add_len(count);
                }
                return Ok(Some(Records::Rows(records)));
            }
            self.objects = None;
        }
        let Some(rest) = &mut self.rest else {
            return Ok(None);
        };
        let mut records = Vec::new();
        while records.len() < PIECE
            && let Some(record) = rest.next()
        {
            records.extend_from_slice(&record.map_err(|error| error.0)?);
        }
        Ok((!records.is_empty()).then(|| Records::Rows(records.into())))
    }
}

/// The rows in a file of a reliable checkpoint.
pub(super) fn written(
    file: std::result::Result<FileInput, FileError>,
    num_fields: usize,
    codec: Option<&Codec>,
    context: &TaskContext,
) -> Result<Box<dyn BlockStream>> {
    let objects = RowObjects::new(&context.blocks.catalog)?;
    let file = file.map_err(of_source)?;
    let stream = match codec {
        Some(codec) => codec.reader(file).map(PlainReader::Compressed),
        None => Ok(PlainReader::Plain(file)),
    };
    let stream = stream.map_err(|error| bail_out(format!("a checkpoint: {error}")))?;
    Ok(Box::new(KeptStream {
        objects: Some(objects.reader(stream, num_fields)),
        rest: None,
        found: None,
    }))
}

/// A reliable checkpoint that is written, judged once.
#[derive(Debug)]
pub(super) struct JudgedCheckpoint {
    num_fields: usize,
    directory: FilePath,
    /// Once an attempt has read the settings.
    outputs: OnceLock<Outputs>,
}

impl JudgedCheckpoint {
    /// Of rows of so many columns.
    pub(super) fn new(
        files: &CheckpointFiles,
        num_fields: Option<usize>,
    ) -> std::result::Result<Self, Unsupported> {
        let unknown = || Unsupported::of_use("a checkpoint of unknown columns");
        let directory = FilePath::parse(&files.directory);
        let scheme = &directory.scheme;
        if !is_written_scheme(scheme) {
            return Err(Unsupported::of_use(format!("a checkpoint on {scheme}:")));
        }
        Ok(Self {
            num_fields: num_fields.ok_or_else(unknown)?,
            directory,
            outputs: OnceLock::new(),
        })
    }

    /// For one attempt.
    ///
    /// # Errors
    /// How it ends instead.
    pub(super) fn sink<'a>(
        &'a self,
        encoder: RowEncoder,
        conf: &HadoopConf,
        lane: &Shared,
        context: &'a TaskContext,
    ) -> std::result::Result<CheckpointSink<'a>, TaskError> {
        let outputs = match self.outputs.get() {
            Some(outputs) => outputs,
            None => {
                let outputs = lane.parts.files.outputs(&self.directory, conf, 0)?;
                self.outputs.get_or_init(|| outputs)
            }
        };
        let objects = RowObjects::new(&context.blocks.catalog).map_err(of_run)?;
        let (file, output) = CheckpointFile::create(
            outputs,
            &self.directory,
            context.partition_id,
            context.task_attempt_id,
            &context.cancellation,
        )?;
        Ok(CheckpointSink {
            file,
            output: match lane.checkpoint_codec() {
                Some(codec) => PlainWriter::Compressed(codec.writer(output)?),
                None => PlainWriter::Plain(output),
            },
            encoder,
            objects: objects.writer(self.num_fields),
            bytes: RowObjects::header().to_vec(),
            format: lane.format,
            context,
        })
    }
}

/// Writes rows into a file of a reliable checkpoint.
pub(super) struct CheckpointSink<'a> {
    file: CheckpointFile<'a>,
    output: PlainWriter<Output>,
    encoder: RowEncoder,
    objects: RowObjectWriter,
    bytes: Vec<u8>,
    format: ResultFormat,
    context: &'a TaskContext,
}

impl CheckpointSink<'_> {
    fn write(&mut self) -> std::result::Result<(), TaskError> {
        use std::io::Write as _;
        let written = self.output.write_all(&self.bytes);
        self.bytes.clear();
        written.map_err(cannot_write)
    }
}

impl Sink for CheckpointSink<'_> {
    fn take(&mut self, batch: &RecordBatch) -> std::result::Result<(), TaskError> {
        let rows = self.encoder.encode(batch).map_err(of_run)?;
        for row in rows.rows() {
            self.objects.write(row, &mut self.bytes);
        }
        self.write()
    }

    fn finish(mut self: Box<Self>) -> std::result::Result<Finished, TaskError> {
        self.write()?;
        let value = self.format.unit(&self.context.blocks.catalog);
        let value = value.map_err(of_run)?;
        let output = self.output.finish().map_err(cannot_write)?;
        output.finish().map_err(cannot_write)?;
        self.file.finish()?;
        Ok(Finished::result(value))
    }
}
