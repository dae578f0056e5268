//! Writing one map output.
//!
//! ```text
//! write(p, record) ─▶ records of p ─(piece is full)─▶ packed bytes of p ─┐
//!                         │                                              ├─(stop)─▶ data file: segments in order of reducers
//!                         └──(memory is full)──▶ spill file: p's piece ──┘
//! ```
//! A segment is made of complete compressed streams, which readers of all codecs take as one, so what was packed once
//! is never unpacked again.

use super::output::{MapOutputs, TempFile};
use super::segment::{Packer, SegmentFormat};
use crate::blocks::checksum::Hasher;
use crate::blocks::metrics::{ShuffleWriteMetrics, SpillMetrics};
use crate::blocks::shuffle_files::Section;
use crate::memory::budget::TaskMemory;
use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::sync::Arc;
use std::time::Instant;
use wire::ids::BlockManagerId;
use wire::map_status::MapStatus;
use wire::map_status_rules::MapStatusRules;

/// Bounds for the records of one reducer that are packed at a time.
const MIN_PIECE: usize = 8 << 10;
const MAX_PIECE: usize = 256 << 10;
/// Bytes that are written at a time.
const WRITE_SIZE: usize = 256 << 10;
/// Memory that a writer may have if there is plenty: decides how much is packed at a time.
const USUAL_MEMORY: usize = 64 << 20;

/// What all map outputs of an executor have in common.
#[derive(Debug)]
pub(super) struct WriterRules {
    pub(super) outputs: MapOutputs,
    pub(super) format: SegmentFormat,
    /// Who readers shall ask.
    pub(super) location: BlockManagerId,
    pub(super) map_status: MapStatusRules,
    /// Records after which everything goes to disk: `spark.shuffle.spill.numElementsForceSpillThreshold`.
    pub(super) force_spill: u64,
}

/// Takes the records of one map task, each for a reducer. Without [`ShuffleWriter::stop`] nothing is left of it.
#[derive(Debug)]
pub struct ShuffleWriter<'a> {
    rules: Arc<WriterRules>,
    shuffle_id: i32,
    map_id: i64,
    parts: Vec<Part>,
    packer: Packer,
    /// Records of one reducer that are packed at a time.
    piece: usize,
    /// What may be in use before everything goes to disk.
    memory: TaskMemory,
    used: usize,
    /// Memory of whoever writes, which is the task's too.
    held: usize,
    most_used: usize,
    spills: Vec<Spill>,
    records: i64,
    /// Records since the last spill.
    records_in_memory: u64,
    metrics: &'a ShuffleWriteMetrics,
    spill_metrics: &'a SpillMetrics,
}

/// What is in memory for one reducer.
#[derive(Debug, Default)]
struct Part {
    records: Vec<u8>,
    packed: Vec<u8>,
}

impl Part {
    fn memory(&self) -> usize {
        self.records.capacity() + self.packed.capacity()
    }

    fn is_empty(&self) -> bool {
        self.records.is_empty() && self.packed.is_empty()
    }

    /// Writes everything, packed.
    fn write(mut self, packer: &mut Packer, out: &mut impl Write) -> io::Result<()> {
        out.write_all(&self.packed)?;
        if self.records.is_empty() {
            return Ok(());
        }
        self.packed.clear();
        packer.pack(&self.records, &mut self.packed)?;
        out.write_all(&self.packed)
    }
}

/// What was in memory once.
#[derive(Debug)]
struct Spill {
    file: Arc<File>,
    /// End of each reducer's piece.
    ends: Vec<u64>,
}

impl Spill {
    /// What is there for a reducer, if anything.
    fn piece(&self, partition: usize) -> Option<Section> {
        let end = |index: usize| self.ends.get(index).copied().unwrap_or(0);
        let offset = partition.checked_sub(1).map_or(0, end);
        let len = end(partition).checked_sub(offset).filter(|len| *len > 0)?;
        let file = Arc::clone(&self.file);
        Some(Section { file, offset, len })
    }
}

/// Copies all of `from` through `buffer`, which is not empty.
fn copy(from: &mut impl Read, to: &mut impl Write, buffer: &mut [u8]) -> io::Result<()> {
    loop {
        match from.read(buffer)? {
            0 => return Ok(()),
            count => to.write_all(buffer.get(..count).unwrap_or_default())?,
        }
    }
}

impl<'a> ShuffleWriter<'a> {
    /// For the output of `map_id`, for `num_partitions` reducers.
    pub(super) fn new(
        rules: Arc<WriterRules>,
        shuffle_id: i32,
        map_id: i64,
        num_partitions: usize,
        memory: TaskMemory,
        metrics: &'a ShuffleWriteMetrics,
        spill_metrics: &'a SpillMetrics,
    ) -> io::Result<Self> {
        let packer = rules.format.packer()?;
        let share = USUAL_MEMORY / 4 / num_partitions.max(1);
        Ok(Self {
            rules,
            shuffle_id,
            map_id,
            parts: std::iter::repeat_with(Part::default)
                .take(num_partitions)
                .collect(),
            packer,
            piece: share.clamp(MIN_PIECE, MAX_PIECE),
            memory,
            used: 0,
            held: 0,
            most_used: 0,
            spills: Vec::new(),
            records: 0,
            records_in_memory: 0,
            metrics,
            spill_metrics,
        })
    }

    /// Number of reducers.
    pub fn num_partitions(&self) -> usize {
        self.parts.len()
    }

    /// Appends a serialized record for a reducer.
    ///
    /// # Errors
    /// There is no such reducer, or memory is full and the disk as well.
    pub fn write(&mut self, partition: usize, record: &[u8]) -> io::Result<()> {
        self.write_with(partition, |out| out.extend_from_slice(record))
    }

    /// Appends a record that `serialize` appends to the bytes it gets. It must not change what is there.
    ///
    /// # Errors
    /// As [`ShuffleWriter::write`].
    pub fn write_with(
        &mut self,
        partition: usize,
        serialize: impl FnOnce(&mut Vec<u8>),
    ) -> io::Result<()> {
        self.append(partition, 1, serialize)
    }

    /// Appends `count` serialized records for a reducer.
    ///
    /// # Errors
    /// As [`ShuffleWriter::write`].
    pub fn write_many(&mut self, partition: usize, records: &[u8], count: i64) -> io::Result<()> {
        self.append(partition, count, |out| out.extend_from_slice(records))
    }

    fn append(
        &mut self,
        partition: usize,
        records: i64,
        serialize: impl FnOnce(&mut Vec<u8>),
    ) -> io::Result<()> {
        let count = self.parts.len();
        let part = self.parts.get_mut(partition).ok_or_else(|| {
            let message = format!("reducer {partition} of a shuffle with {count}");
            io::Error::new(io::ErrorKind::InvalidInput, message)
        })?;
        let before = part.memory();
        serialize(&mut part.records);
        if part.records.len() >= self.piece && self.packer.compresses() {
            self.packer.pack(&part.records, &mut part.packed)?;
            part.records.clear();
            // One large record must not keep its room for ever.
            part.records.shrink_to(self.piece * 2);
        }
        self.used = (self.used + part.memory()).saturating_sub(before);
        self.records += records;
        self.records_in_memory += u64::try_from(records).unwrap_or_default();
        if self.records_in_memory > self.rules.force_spill || !self.grow() {
            self.spill()?;
        }
        Ok(())
    }

    /// So many bytes are in use before they are written here. `false` if there is not as much memory: then they should
    /// be written, and [`ShuffleWriter::spill`]ed.
    pub fn hold(&mut self, bytes: usize) -> bool {
        self.held = bytes;
        self.grow()
    }

    fn grow(&mut self) -> bool {
        let used = self.used + self.held;
        self.memory.grow_to(used as u64)
    }

    /// Writes what is in memory to disk now.
    ///
    /// # Errors
    /// The disk is full or fails.
    pub fn spill(&mut self) -> io::Result<()> {
        let start = Instant::now();
        self.most_used = self.most_used.max(self.used + self.held);
        let mut out = BufWriter::with_capacity(WRITE_SIZE, self.rules.outputs.spill_file()?);
        let mut ends = Vec::with_capacity(self.parts.len());
        let mut end = 0;
        for part in &mut self.parts {
            let part = std::mem::take(part);
            if !part.is_empty() {
                let mut piece = Segment::new(&mut out, None);
                let mut encrypted = self.rules.format.encrypt(&mut piece)?;
                part.write(&mut self.packer, &mut encrypted)?;
                end += piece.length;
            }
            ends.push(end);
        }
        let file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
        self.spills.push(Spill {
            file: Arc::new(file),
            ends,
        });
        tracing::info!(
            "Spilled {} bytes of shuffle {} map {} to {end} bytes on disk",
            self.used,
            self.shuffle_id,
            self.map_id
        );
        self.spill_metrics.memory_bytes_spilled.add_len(self.used);
        self.spill_metrics
            .disk_bytes_spilled
            .add(i64::try_from(end).unwrap_or(i64::MAX));
        self.metrics.write_time.add_nanos(start.elapsed());
        self.used = 0;
        self.records_in_memory = 0;
        self.memory.release();
        Ok(())
    }

    /// Bytes of memory in use.
    pub fn memory_used(&self) -> usize {
        self.used
    }

    /// Makes the output visible to readers and says where it is. `checksum` is that of the rows, 0 if they have none.
    ///
    /// # Errors
    /// The disk is full or fails; nothing is visible then.
    pub fn stop(mut self, checksum: i64) -> io::Result<MapStatus> {
        let start = Instant::now();
        self.most_used = self.most_used.max(self.used + self.held);
        let mut lengths = vec![0; self.parts.len()];
        let mut sums = Vec::new();
        let data = match self.records {
            0 => None,
            _ => Some(self.write_data(&mut lengths, &mut sums)?),
        };
        let rules = &self.rules;
        rules
            .outputs
            .commit(self.shuffle_id, self.map_id, &mut lengths, &sums, data)?;
        let sizes = lengths.into_iter();
        let sizes: Vec<i64> = sizes
            .map(|length| i64::try_from(length).unwrap_or(i64::MAX))
            .collect();
        self.metrics.bytes_written.add(sizes.iter().sum());
        self.metrics.records_written.add(self.records);
        self.metrics.write_time.add_nanos(start.elapsed());
        let peak = &self.spill_metrics.peak_execution_memory;
        peak.add_len(self.most_used);
        Ok(rules
            .map_status
            .map_status(rules.location.clone(), &sizes, self.map_id, checksum))
    }

    fn write_data(&mut self, lengths: &mut [u64], sums: &mut Vec<u32>) -> io::Result<TempFile> {
        let outputs = &self.rules.outputs;
        let data = outputs.data_file(self.shuffle_id, self.map_id)?;
        let mut out = BufWriter::with_capacity(WRITE_SIZE, &data.file);
        let mut buffer = vec![
            0;
            if self.spills.is_empty() {
                0
            } else {
                WRITE_SIZE
            }
        ];
        for (partition, (part, length)) in self.parts.iter_mut().zip(lengths).enumerate() {
            let part = std::mem::take(part);
            let sum = outputs.checksum().map(|algorithm| algorithm.hasher());
            let mut segment = Segment::new(&mut out, sum);
            let pieces = self
                .spills
                .iter()
                .filter_map(|spill| spill.piece(partition));
            let pieces: Vec<_> = pieces.collect();
            // What is empty stays so, even if it would be encrypted.
            if !pieces.is_empty() || !part.is_empty() {
                let mut encrypted = self.rules.format.encrypt(&mut segment)?;
                for piece in pieces {
                    let mut piece = self.rules.format.decrypt(piece)?;
                    copy(&mut piece, &mut encrypted, &mut buffer)?;
                }
                part.write(&mut self.packer, &mut encrypted)?;
            }
            *length = segment.length;
            sums.extend(segment.sum.map(|sum| sum.value()));
        }
        out.flush()?;
        drop(out);
        Ok(data)
    }
}

/// Counts and sums the bytes of one segment.
struct Segment<W> {
    out: W,
    sum: Option<Hasher>,
    length: u64,
}

impl<W> Segment<W> {
    fn new(out: W, sum: Option<Hasher>) -> Self {
        Self {
            out,
            sum,
            length: 0,
        }
    }
}

impl<W: Write> Write for Segment<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.out.write(bytes)?;
        let written = bytes.get(..count).unwrap_or_default();
        if let Some(sum) = &mut self.sum {
            sum.update(written);
        }
        self.length += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
#[path = "writer_tests.rs"]
mod tests;
