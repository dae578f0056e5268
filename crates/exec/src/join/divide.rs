//! Rows of a side of a join, divided by hashes of their keys, in memory and on disk.

use std::sync::{Arc, Mutex, PoisonError};

use arrow::array::{ArrayRef, AsArray, RecordBatch};
use arrow::compute::BatchCoalescer;
use datafusion_common::Result;
use datafusion_execution::memory_pool::MemoryReservation;
use datafusion_execution::{SendableRecordBatchStream, SpillFile};
use datafusion_physical_expr::PhysicalExpr;
use datafusion_physical_plan::spill::SpillManager;
use datafusion_physical_plan::stream::RecordBatchStreamAdapter;
use futures::stream::{self, StreamExt};

use super::gather::{Gather, Gathered, size_in_table};
use super::probe::Build;
use crate::exec::batch_of;
use crate::parts::{Parts, rows_of};
use crate::project::evaluate;
use rows::error::bail_out;
use rows::valid_rows;

/// Parts that rows are divided into at a time.
const PARTS: usize = 16;
/// Other hashes than those of tables.
const SEED: u64 = 0x0d17_1de5;

/// A file of rows, if there are any.
pub(super) type File = Option<Arc<dyn SpillFile>>;

/// How rows are divided.
#[derive(Debug)]
pub(super) struct Divide {
    /// Equal keys of both sides are in the same part.
    keys: Vec<Arc<dyn PhysicalExpr>>,
    parts: Parts,
}

impl Divide {
    /// `depth` is how often the rows were divided: never by the same hashes.
    pub(super) fn new(keys: Vec<Arc<dyn PhysicalExpr>>, depth: u32) -> Self {
        Self {
            keys,
            parts: Parts::new(PARTS, SEED + u64::from(depth)),
        }
    }

    /// The part of each row; `None` of those with a null among their keys, which have no match.
    fn parts(&self, batch: &RecordBatch) -> Result<impl Iterator<Item = Option<usize>>> {
        let keys = evaluate(&self.keys, batch)?;
        let keys = keys.iter().map(rows::normalized);
        let keys = keys.collect::<Result<Vec<ArrayRef>>>()?;
        let valid = valid_rows(&keys);
        let parts = self.parts.of_rows(&keys, batch.num_rows())?.enumerate();
        Ok(parts.map(move |(row, part)| {
            let is_null = valid.as_ref().is_some_and(|valid| valid.is_null(row));
            (!is_null).then_some(part)
        }))
    }
}

/// Appends rows to a file, or finishes it.
type Append = dyn FnMut(Option<&RecordBatch>) -> Result<File> + Send;

/// Rows of a part on their way to disk.
struct Writer {
    pending: BatchCoalescer,
    /// Once there is one. DataFusion's own type has no public name.
    file: Option<Box<Append>>,
}

impl Writer {
    fn new(disk: &SpillManager, batch_size: usize) -> Self {
        Self {
            pending: BatchCoalescer::new(Arc::clone(disk.schema()), batch_size),
            file: None,
        }
    }

    fn open(&mut self, disk: &SpillManager) -> Result<&mut Append> {
        if self.file.is_none() {
            let mut file = disk.create_in_progress_file("join")?;
            self.file = Some(Box::new(move |batch| match batch {
                Some(batch) => file.append_batch(batch).map(|_| None),
                None => file.finish(),
            }));
        }
        let file = self.file.as_deref_mut();
        file.ok_or_else(|| bail_out("a join without a file"))
    }

    /// What came together goes to disk.
    fn write(&mut self, disk: &SpillManager) -> Result<()> {
        while let Some(batch) = self.pending.next_completed_batch() {
            self.open(disk)?(Some(&batch))?;
        }
        Ok(())
    }

    fn finish(&mut self, disk: &SpillManager) -> Result<File> {
        self.pending.finish_buffered_batch()?;
        self.write(disk)?;
        match &mut self.file {
            Some(file) => file(None),
            None => Ok(None),
        }
    }
}

/// A part of the side with the table.
struct Part {
    writer: Writer,
    /// In memory, until they are too many.
    kept: Vec<RecordBatch>,
    kept_size: usize,
    rows: usize,
}

impl Part {
    fn is_on_disk(&self) -> bool {
        self.writer.file.is_some()
    }

    /// Keeps rows that came together, or writes them.
    fn settle(&mut self, disk: &SpillManager) -> Result<()> {
        if self.is_on_disk() {
            return self.writer.write(disk);
        }
        while let Some(batch) = self.writer.pending.next_completed_batch() {
            self.kept_size += size_in_table(&batch);
            self.kept.push(batch);
        }
        Ok(())
    }

    fn spill(&mut self, disk: &SpillManager) -> Result<()> {
        let file = self.writer.open(disk)?;
        for batch in std::mem::take(&mut self.kept) {
            file(Some(&batch))?;
        }
        self.kept_size = 0;
        Ok(())
    }
}

/// A part of the side with the table that is on disk.
pub(super) struct Written {
    pub(super) file: File,
    /// Whether most rows are in this part: it is of no use to divide them again.
    pub(super) is_most: bool,
}

/// The side with the table: as many of its parts as fit stay in memory.
pub(super) struct BuildSide {
    divide: Divide,
    disk: SpillManager,
    gather: Gather,
    parts: Vec<Part>,
    /// Rows without a match may come out, those with a null among their keys too.
    with_nulls: bool,
    /// The part of the next such row.
    next: usize,
}

impl BuildSide {
    pub(super) fn new(
        divide: Divide,
        disk: SpillManager,
        gather: Gather,
        batch_size: usize,
        with_nulls: bool,
    ) -> Self {
        let part = || Part {
            writer: Writer::new(&disk, batch_size),
            kept: Vec::new(),
            kept_size: 0,
            rows: 0,
        };
        Self {
            parts: std::iter::repeat_with(part).take(PARTS).collect(),
            divide,
            gather,
            with_nulls,
            next: 0,
            disk,
        }
    }

    /// # Errors
    /// Of the disk, and of keys.
    pub(super) fn add(&mut self, batch: &RecordBatch) -> Result<()> {
        self.put(batch)?;
        self.fit()
    }

    fn put(&mut self, batch: &RecordBatch) -> Result<()> {
        let mut rows = vec![Vec::new(); PARTS];
        for (row, part) in self.divide.parts(batch)?.enumerate() {
            let part = match part {
                Some(part) => part,
                None if !self.with_nulls => continue,
                None => {
                    // All in one part they could be too many.
                    self.next = (self.next + 1) % PARTS;
                    self.next
                }
            };
            if let Some(rows) = rows.get_mut(part) {
                // Batches have fewer rows.
                rows.push(row as u32);
            }
        }
        for (rows, part) in rows.into_iter().zip(&mut self.parts) {
            if !rows.is_empty() {
                part.rows += rows.len();
                part.writer.pending.push_batch(rows_of(batch, rows)?)?;
                part.settle(&self.disk)?;
            }
        }
        Ok(())
    }

    /// Writes parts until the others fit.
    fn fit(&mut self) -> Result<()> {
        loop {
            let pending = self.parts.iter().map(|part| part.writer.pending.size());
            let pending: usize = pending.sum();
            let kept = self.parts.iter().map(|part| part.kept_size);
            let size = pending + kept.sum::<usize>();
            self.gather.peak.set_max(size);
            if self.gather.resize(size).is_ok() {
                return Ok(());
            }
            let parts = self.parts.iter_mut();
            let largest = parts.max_by_key(|part| part.kept_size);
            match largest.filter(|part| part.kept_size > 0) {
                Some(part) => part.spill(&self.disk)?,
                None => {
                    // There are always so many on their way.
                    self.gather.memory.resize(pending);
                    return Ok(());
                }
            }
        }
    }

    /// The table of the parts that fit, the memory for it, and the parts that are on disk, by their numbers.
    ///
    /// # Errors
    /// Of the disk, and those of [`Gather::table`].
    pub(super) fn finish(
        mut self,
    ) -> Result<(Arc<Build>, MemoryReservation, Vec<Option<Written>>)> {
        let total: usize = self.parts.iter().map(|part| part.rows).sum();
        let is_most: Vec<bool> = self
            .parts
            .iter()
            .map(|part| part.rows * 4 > total * 3)
            .collect();
        self.settle()?;
        self.fit()?;
        let kept = self
            .parts
            .iter_mut()
            .flat_map(|part| std::mem::take(&mut part.kept));
        let kept: Vec<RecordBatch> = kept.collect();
        let schema = Arc::clone(self.disk.schema());
        let table = match self.gather.table(&schema, kept)? {
            Gathered::Table(table) => table,
            Gathered::TooMuch(rows) => {
                // It takes more than was foreseen: nothing stays.
                for part in &mut self.parts {
                    part.writer.open(&self.disk)?;
                }
                for batch in rows {
                    self.put(&batch)?;
                }
                self.settle()?;
                self.gather.empty_table(&schema)?
            }
        };
        let parts = self.parts.iter_mut().zip(is_most).map(|(part, is_most)| {
            Ok(match part.is_on_disk() {
                true => Some(Written {
                    file: part.writer.finish(&self.disk)?,
                    is_most,
                }),
                false => None,
            })
        });
        let parts = parts.collect::<Result<_>>()?;
        Ok((table, self.gather.memory, parts))
    }

    fn settle(&mut self) -> Result<()> {
        for part in &mut self.parts {
            part.writer.pending.finish_buffered_batch()?;
            part.settle(&self.disk)?;
        }
        Ok(())
    }
}

/// The other side: rows of parts that are on disk follow them there.
pub(super) struct StreamedSide {
    pub(super) divide: Divide,
    pub(super) disk: SpillManager,
    /// By the numbers of parts; `None` of those in memory.
    writers: Vec<Option<Writer>>,
}

/// Files of the streamed side, once all of its rows were seen.
pub(super) type Files = Arc<Mutex<Vec<File>>>;

impl StreamedSide {
    pub(super) fn new(
        divide: Divide,
        disk: SpillManager,
        parts: &[Option<Written>],
        batch_size: usize,
    ) -> Self {
        let writers = parts.iter().map(|part| {
            let on_disk = part.as_ref();
            on_disk.map(|_| Writer::new(&disk, batch_size))
        });
        Self {
            writers: writers.collect(),
            divide,
            disk,
        }
    }

    /// The rows that have their matches in memory, or have none.
    fn add(&mut self, batch: &RecordBatch) -> Result<RecordBatch> {
        let (mut stay, mut rows) = (Vec::new(), vec![Vec::new(); PARTS]);
        for (row, part) in self.divide.parts(batch)?.enumerate() {
            let on_disk = part.filter(|part| matches!(self.writers.get(*part), Some(Some(_))));
            let rows = on_disk.and_then(|part| rows.get_mut(part));
            // Batches have fewer rows.
            rows.unwrap_or(&mut stay).push(row as u32);
        }
        for (rows, writer) in rows.into_iter().zip(&mut self.writers) {
            if let Some(writer) = writer
                && !rows.is_empty()
            {
                writer.pending.push_batch(rows_of(batch, rows)?)?;
                writer.write(&self.disk)?;
            }
        }
        match stay.len() == batch.num_rows() {
            true => Ok(batch.clone()),
            false => rows_of(batch, stay),
        }
    }

    fn finish(self) -> Result<Vec<File>> {
        let writers = self.writers.into_iter().map(|writer| match writer {
            Some(mut writer) => writer.finish(&self.disk),
            None => Ok(None),
        });
        writers.collect()
    }

    /// The rows of an input that need not go to disk, and where the files of the others will be by the numbers of
    /// parts.
    pub(super) fn split(
        self,
        input: SendableRecordBatchStream,
    ) -> (SendableRecordBatchStream, Files) {
        let files = Files::default();
        let schema = input.schema();
        let split = Split {
            input,
            side: self,
            files: Arc::clone(&files),
        };
        let rows = stream::try_unfold(split, |mut split| async move {
            while let Some(batch) = split.input.next().await.transpose()? {
                let batch = split.side.add(&batch)?;
                if batch.num_rows() > 0 {
                    return Ok(Some((batch, split)));
                }
            }
            let files = split.side.finish()?;
            *split.files.lock().unwrap_or_else(PoisonError::into_inner) = files;
            Ok(None)
        });
        let rows = RecordBatchStreamAdapter::new(schema, rows);
        (Box::pin(rows), files)
    }
}

struct Split {
    input: SendableRecordBatchStream,
    side: StreamedSide,
    files: Files,
}

/// The rows of a file.
///
/// # Errors
/// Of the disk.
pub(super) fn read(disk: &SpillManager, file: File) -> Result<SendableRecordBatchStream> {
    let schema = Arc::clone(disk.schema());
    let rows = match file {
        Some(file) => {
            let rows = disk.read_spill_as_stream_unbuffered(file, None)?;
            rows.map(|batch| compact(&batch?)).boxed()
        }
        None => stream::empty().boxed(),
    };
    Ok(Box::pin(RecordBatchStreamAdapter::new(schema, rows)))
}

/// Texts of a batch that was read back are pieces of what was read at a time, and a sort would count the whole for each
/// piece.
fn compact(batch: &RecordBatch) -> Result<RecordBatch> {
    let columns = batch.columns().iter().map(|column| {
        let views = column
            .as_string_view_opt()
            .map(|texts| Arc::new(texts.gc()) as ArrayRef);
        let bytes = || {
            column
                .as_binary_view_opt()
                .map(|bytes| Arc::new(bytes.gc()) as ArrayRef)
        };
        views.or_else(bytes).unwrap_or_else(|| Arc::clone(column))
    });
    batch_of(&batch.schema(), columns.collect(), batch.num_rows())
}
