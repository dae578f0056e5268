//! Map outputs that are columns: which there are, and rows made of them for whoever cannot read columns.
//!
//! Who that is: the JVM in this process, which reads Spark's files of this executor itself; plain Spark executors,
//! which ask the block server or, on the same host, read Spark's files; and executors that take over files when this
//! one is decommissioned. Rows are made of an output when the first of them wants it, and have Spark's files then,
//! beside those of the columns. Nobody has to wait for rows that nobody wants.

use super::ShuffleFormat;
use super::frames::{Frames, put_frame};
use super::stream::Raw;
use super::writer::{ShuffleWriter, WriterRules};
use crate::blocks::disk_wait::DiskWait;
use crate::blocks::metrics::{ShuffleWriteMetrics, SpillMetrics};
use crate::blocks::{Form, ShuffleFiles};
use crate::memory::budget::ExecutionMemory;
use parking_lot::Mutex;
use std::collections::{HashMap, HashSet};
use std::io;
use std::sync::Arc;
use wire::map_status::MapStatus;

/// Outputs of which rows may be made at the same time.
const AT_ONCE: usize = 16;

/// Map outputs that are columns, and those that rows were made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ColumnCounts {
    /// Outputs that were written as columns.
    pub written: u64,
    /// Outputs that rows were made of.
    pub made_rows: u64,
}

/// The map outputs of an executor that are columns.
pub(super) struct ColumnOutputs {
    format: ShuffleFormat,
    known: Mutex<Known>,
    /// One output belongs to one of these: rows are made of it once.
    making: [Mutex<()>; AT_ONCE],
    files: ShuffleFiles,
    /// How rows are written.
    rows: Arc<WriterRules>,
    memory: ExecutionMemory,
}

#[derive(Debug, Default)]
struct Known {
    /// By shuffle and map id, whether there are rows of it too.
    outputs: HashMap<i32, HashMap<i64, bool>>,
    /// Shuffles of which rows are wanted.
    of_rows: HashSet<i32>,
    /// Rows are wanted of all.
    all_rows: bool,
    counts: ColumnCounts,
}

impl Known {
    fn wants_rows(&self, shuffle_id: i32) -> bool {
        self.all_rows || self.of_rows.contains(&shuffle_id)
    }
}

impl ColumnOutputs {
    pub(super) fn new(
        format: ShuffleFormat,
        files: ShuffleFiles,
        rows: Arc<WriterRules>,
        memory: ExecutionMemory,
    ) -> Self {
        Self {
            format,
            known: Mutex::default(),
            making: Default::default(),
            files,
            rows,
            memory,
        }
    }

    /// Whether outputs of a shuffle are to be columns.
    pub(super) fn are_wanted(&self, shuffle_id: i32) -> bool {
        self.format != ShuffleFormat::Rows && !self.known.lock().wants_rows(shuffle_id)
    }

    pub(super) fn counts(&self) -> ColumnCounts {
        self.known.lock().counts
    }

    /// An output was written. To be called before anybody is told of it.
    ///
    /// # Errors
    /// Rows of it are wanted and cannot be made.
    pub(super) fn written(&self, shuffle_id: i32, map_id: i64) -> io::Result<()> {
        let mut known = self.known.lock();
        known.counts.written += 1;
        let of_shuffle = known.outputs.entry(shuffle_id).or_default();
        of_shuffle.insert(map_id, false);
        let wants_rows = known.wants_rows(shuffle_id);
        drop(known);
        match wants_rows {
            true => self.make_rows(shuffle_id, map_id),
            false => Ok(()),
        }
    }

    /// Whether an output is columns and nothing else.
    pub(super) fn lacks_rows(&self, shuffle_id: i32, map_id: i64) -> bool {
        let known = self.known.lock();
        let of_shuffle = known.outputs.get(&shuffle_id);
        of_shuffle.and_then(|outputs| outputs.get(&map_id)) == Some(&false)
    }

    /// Somebody who does not take columns asks for an output. Gives whether it was columns.
    ///
    /// # Errors
    /// Rows cannot be made of it.
    pub(super) fn rows_of(&self, shuffle_id: i32, map_id: i64) -> io::Result<bool> {
        if !self.lacks_rows(shuffle_id, map_id) {
            return Ok(false);
        }
        if self.format == ShuffleFormat::Auto {
            // Others of this shuffle will be asked for too.
            self.known.lock().of_rows.insert(shuffle_id);
        }
        self.make_rows(shuffle_id, map_id)?;
        Ok(true)
    }

    /// Somebody is going to read Spark's files of a shuffle: there are rows of all its outputs then, and of those that
    /// are written later.
    pub(super) fn shuffle_is_read(&self, shuffle_id: i32) {
        let mut known = self.known.lock();
        known.of_rows.insert(shuffle_id);
        let outputs = lacking(&known, Some(shuffle_id));
        drop(known);
        self.make_all(&outputs);
    }

    /// Somebody is going to read all of Spark's files.
    pub(super) fn files_are_read(&self) {
        let mut known = self.known.lock();
        known.all_rows = true;
        let outputs = lacking(&known, None);
        drop(known);
        self.make_all(&outputs);
    }

    /// The files of a shuffle are gone.
    pub(super) fn removed(&self, shuffle_id: i32) {
        let mut known = self.known.lock();
        known.outputs.remove(&shuffle_id);
        known.of_rows.remove(&shuffle_id);
    }

    /// What cannot be made is missing then: whoever reads it says so.
    fn make_all(&self, outputs: &[(i32, i64)]) {
        for (shuffle_id, map_id) in outputs {
            if let Err(error) = self.make_rows(*shuffle_id, *map_id) {
                tracing::error!("Cannot make rows of shuffle {shuffle_id} map {map_id}: {error}");
            }
        }
    }

    fn make_rows(&self, shuffle_id: i32, map_id: i64) -> io::Result<()> {
        let lock = map_id.rem_euclid(AT_ONCE as i64) as usize;
        let _one = self.making.get(lock).map(Mutex::lock);
        if !self.lacks_rows(shuffle_id, map_id) {
            return Ok(());
        }
        self.write_rows(shuffle_id, map_id)?;
        let mut known = self.known.lock();
        known.counts.made_rows += 1;
        let outputs = known.outputs.get_mut(&shuffle_id);
        // Unless the shuffle was removed meanwhile.
        if let Some(made) = outputs.and_then(|outputs| outputs.get_mut(&map_id)) {
            *made = true;
        }
        Ok(())
    }

    fn write_rows(&self, shuffle_id: i32, map_id: i64) -> io::Result<()> {
        let wait = DiskWait::Allowed;
        let output = self.files.open(shuffle_id, map_id, Form::Columns, wait)?;
        let reducers = output.reducers()?;
        let (metrics, spills) = (ShuffleWriteMetrics::default(), SpillMetrics::default());
        let mut writer = ShuffleWriter::new(
            Arc::clone(&self.rows),
            shuffle_id,
            map_id,
            reducers,
            // Tasks have ids from 0 on.
            self.memory.of_task(-1 - map_id),
            &metrics,
            &spills,
        )?;
        let mut rows = Vec::new();
        for (partition, start) in (0..reducers).zip(0..) {
            let segment = output.segment(start, start + 1, wait)?;
            let mut frames = Frames::Stream(Raw::Near(segment).reader()?);
            while let Some(frame) = frames.next()? {
                rows.clear();
                let count = columns::frame_rows(&frame.columns, &mut rows);
                let count = count
                    .map_err(|why| io::Error::new(io::ErrorKind::InvalidData, why.to_string()))?;
                writer.write_many(partition, &rows, count as i64)?;
            }
        }
        writer.stop(0).map(drop)
    }
}

/// Takes the rows of one map task as columns. Without [`ColumnsWriter::stop`] nothing is left of it.
pub struct ColumnsWriter<'a> {
    writer: ShuffleWriter<'a>,
    /// Shuffle and map id.
    output: (i32, i64),
    outputs: Arc<ColumnOutputs>,
    frame: Vec<u8>,
}

impl<'a> ColumnsWriter<'a> {
    pub(super) fn new(
        writer: ShuffleWriter<'a>,
        output: (i32, i64),
        outputs: &Arc<ColumnOutputs>,
    ) -> Self {
        Self {
            writer,
            output,
            outputs: Arc::clone(outputs),
            frame: Vec::new(),
        }
    }

    /// Appends so many rows for a reducer, as the crate `columns` writes them.
    ///
    /// # Errors
    /// As [`ShuffleWriter::write`].
    pub fn write(&mut self, partition: usize, rows: usize, columns: &[u8]) -> io::Result<()> {
        self.frame.clear();
        put_frame(rows, columns, &mut self.frame)?;
        self.writer.write_many(partition, &self.frame, rows as i64)
    }

    /// As [`ShuffleWriter::hold`].
    pub fn hold(&mut self, bytes: usize) -> bool {
        self.writer.hold(bytes)
    }

    /// As [`ShuffleWriter::spill`].
    ///
    /// # Errors
    /// The disk is full or fails.
    pub fn spill(&mut self) -> io::Result<()> {
        self.writer.spill()
    }

    /// As [`ShuffleWriter::stop`].
    ///
    /// # Errors
    /// The disk is full or fails.
    pub fn stop(self, checksum: i64) -> io::Result<MapStatus> {
        let status = self.writer.stop(checksum)?;
        let (shuffle_id, map_id) = self.output;
        self.outputs.written(shuffle_id, map_id)?;
        Ok(status)
    }
}

/// Outputs of which there are no rows yet, of a shuffle or of all.
fn lacking(known: &Known, of: Option<i32>) -> Vec<(i32, i64)> {
    let mut found = Vec::new();
    for (shuffle_id, outputs) in &known.outputs {
        if of.is_none_or(|of| of == *shuffle_id) {
            let lacking = outputs.iter().filter(|(_, made)| !**made);
            found.extend(lacking.map(|(map_id, _)| (*shuffle_id, *map_id)));
        }
    }
    found
}
