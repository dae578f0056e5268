//! Frames of groups of rows, made when they are asked for: one group after the other, as batches of one stream, or as
//! streams of their own.

use std::cmp::Ordering;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arrow::array::{ArrayRef, RecordBatch, UInt64Array, make_comparator};
use arrow::compute::{SortOptions, take};
use bytes::BufMut as _;
use datafusion_common::Result;
use datafusion_execution::SendableRecordBatchStream;
use datafusion_execution::memory_pool::MemoryReservation;
use datafusion_physical_expr::PhysicalExpr;
use datafusion_physical_plan::metrics::Count;
use rows::error::bail_out;

use super::batches::{BatchWriter, END_OF_STREAM, MAX_BATCH, rows_of_batch};
use super::frames::wait_for_next;
use super::queue::RowQueue;
use super::waiting::Waiting;
use crate::groups::{GroupKeys, runs, same_keys};
use crate::project::evaluate;
use crate::sources::Sources;

/// Most bytes of the rows of a group that goes as one batch.
const MAX_GROUP: usize = 1 << 30;

/// An input, and its groups whose rows are not all in frames.
pub(super) struct Side {
    input: Option<SendableRecordBatchStream>,
    keys: Arc<GroupKeys>,
    /// What the function is given of each row.
    arguments: Arc<[Arc<dyn PhysicalExpr>]>,
    writer: BatchWriter,
    /// Whether groups of another input are joined to these.
    is_merged: bool,
    /// Who is told of each group that begins.
    beginnings: Option<Beginnings>,
    /// Where batches wait for results of each of their rows.
    kept: Option<Waiting>,
    waiting: RowQueue,
    groups: VecDeque<Group>,
    /// Rows and bytes of the batches that rows wait of.
    batches: VecDeque<(usize, usize)>,
    memory: MemoryReservation,
}

/// Values of the first rows of groups, until the results of these are there.
#[derive(Clone)]
pub(super) struct Beginnings {
    values: Arc<[Arc<dyn PhysicalExpr>]>,
    waiting: Arc<Mutex<RowQueue>>,
}

impl Beginnings {
    pub(super) fn new(values: Arc<[Arc<dyn PhysicalExpr>]>) -> Self {
        let waiting = RowQueue::new(values.len());
        let waiting = Arc::new(Mutex::new(waiting));
        Self { values, waiting }
    }

    fn waiting(&self) -> MutexGuard<'_, RowQueue> {
        // Nobody panics while it is locked.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds the values of groups that begin at these rows of a batch.
    pub(super) fn add(&self, batch: &RecordBatch, firsts: Vec<usize>) -> Result<()> {
        let rows = firsts.len();
        let firsts = UInt64Array::from_iter_values(firsts.into_iter().map(|row| row as u64));
        let values = evaluate(&self.values, batch)?;
        let values = values.iter().map(|column| take(column, &firsts, None));
        let values = values.collect::<std::result::Result<_, _>>()?;
        let pushed = self.waiting().push(values, rows);
        pushed.ok_or_else(|| bail_out("too many groups for Python"))
    }

    /// The columns of the first so many; `None` if there are fewer.
    pub(super) fn take(&self, count: usize) -> Option<Vec<Vec<ArrayRef>>> {
        self.waiting().take(count)
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.waiting().rows()
    }
}

struct Group {
    /// Of its first row.
    keys: Vec<ArrayRef>,
    /// What these are keys of, if that makes a difference.
    values: Vec<ArrayRef>,
    /// Those that wait.
    rows: usize,
}

impl Side {
    pub(super) fn new(
        input: SendableRecordBatchStream,
        keys: Arc<GroupKeys>,
        arguments: Arc<[Arc<dyn PhysicalExpr>]>,
        writer: BatchWriter,
        memory: MemoryReservation,
    ) -> Self {
        Self {
            input: Some(input),
            waiting: RowQueue::new(arguments.len()),
            keys,
            arguments,
            writer,
            is_merged: false,
            beginnings: None,
            kept: None,
            groups: VecDeque::new(),
            batches: VecDeque::new(),
            memory,
        }
    }

    /// Tells of each group that begins.
    pub(super) fn with_beginnings(self, beginnings: Beginnings) -> Self {
        Self {
            beginnings: Some(beginnings),
            ..self
        }
    }

    /// Keeps batches for who joins results to their rows.
    pub(super) fn with_kept(self, kept: Waiting) -> Self {
        Self {
            kept: Some(kept),
            ..self
        }
    }

    /// Takes the next batch of the input; whether there was one.
    fn fill(&mut self) -> Result<bool> {
        let Some(input) = &mut self.input else {
            return Ok(false);
        };
        let Some(batch) = wait_for_next(input).transpose()? else {
            self.input = None;
            return Ok(false);
        };
        let rows = batch.num_rows();
        if rows == 0 {
            return Ok(true);
        }
        let bytes = batch.get_array_memory_size();
        self.memory.try_grow(bytes)?;
        self.batches.push_back((rows, bytes));
        let keys = self.keys.of(&batch)?;
        let values = match self.is_merged {
            true => evaluate(self.keys.values(), &batch)?,
            false => Vec::new(),
        };
        let mut firsts = Vec::new();
        for run in runs(&keys, rows)? {
            match self.groups.back_mut() {
                Some(last) if run.start == 0 && same_keys(&last.keys, &keys)? => {
                    last.rows += run.len();
                }
                _ => {
                    firsts.push(run.start);
                    self.groups.push_back(Group {
                        keys: row_of(&keys, run.start),
                        values: row_of(&values, run.start),
                        rows: run.len(),
                    });
                }
            }
        }
        if let Some(beginnings) = &self.beginnings {
            beginnings.add(&batch, firsts)?;
        }
        let arguments = evaluate(&self.arguments, &batch)?;
        let pushed = self.waiting.push(arguments, rows);
        pushed.ok_or_else(|| bail_out("too many rows for Python"))?;
        if let Some(kept) = &self.kept {
            kept.push(batch)?;
        }
        Ok(true)
    }

    /// Whether there is another group.
    pub(super) fn has_group(&mut self) -> Result<bool> {
        while self.groups.is_empty() && self.fill()? {}
        Ok(!self.groups.is_empty())
    }

    /// Rows of the first group that wait, and whether these are all.
    fn first(&self) -> (usize, bool) {
        let rows = self.groups.front().map_or(0, |group| group.rows);
        (rows, self.groups.len() > 1 || self.input.is_none())
    }

    /// A batch of the first group's rows, of as many as are allowed; `None` if there are no more. `divides` if the
    /// function does not see batches.
    fn batch(&mut self, most_rows: Option<usize>, divides: bool) -> Result<Option<Vec<u8>>> {
        let enough = |rows| most_rows.is_some_and(|most| rows >= most);
        while !self.first().1 && !enough(self.first().0) {
            self.fill()?;
            if most_rows.is_none() && self.memory.size() > MAX_GROUP {
                return Err(bail_out("large groups for Python"));
            }
        }
        let rows = self.first().0.min(most_rows.unwrap_or(usize::MAX));
        if rows == 0 {
            return Ok(None);
        }
        let columns = self.waiting.take(rows);
        let columns = columns.ok_or_else(|| bail_out("rows for Python that are missing"))?;
        if let Some(group) = self.groups.front_mut() {
            group.rows -= rows;
        }
        let most = if most_rows.is_none() {
            MAX_GROUP
        } else {
            MAX_BATCH
        };
        let bytes = self.writer.batch(&columns, rows, most, divides)?;
        self.release();
        Ok(Some(bytes))
    }

    /// Gives back the memory of batches of which no row waits.
    fn release(&mut self) {
        let mut rows: usize = self.batches.iter().map(|(rows, _)| rows).sum();
        while let Some((of_first, bytes)) = self.batches.front() {
            rows -= of_first;
            if rows < self.waiting.rows() {
                return;
            }
            self.memory.shrink(*bytes);
            self.batches.pop_front();
        }
    }
}

/// How groups are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// As batches of one stream (up to Spark 4.0, of one input).
    Batches,
    /// As streams, behind the number of inputs. Batches have so many rows at most, or the whole group.
    Streams(Option<usize>),
}

impl Form {
    /// For so many inputs; `in_batches` if the session says how long batches are.
    ///
    /// # Errors
    /// Bail-out: it says that they have any length.
    pub(super) fn of(inputs: usize, in_batches: bool, sources: &dyn Sources) -> Result<Self> {
        Ok(match (inputs, in_batches) {
            (1, false) => Self::Batches,
            (_, false) => Self::Streams(None),
            (_, true) => Self::Streams(Some(rows_of_batch(&sources.arrow_session()?)?)),
        })
    }
}

/// What comes next.
enum Step {
    Start,
    Group,
    /// The part of an input in a group, from its beginning or not.
    Input(usize, bool),
    End,
}

/// The frames of a partition's groups.
pub(super) struct GroupFrames {
    sides: Vec<Side>,
    form: Form,
    divides: bool,
    step: Step,
    /// Which of the inputs have rows in the group.
    present: Vec<bool>,
    sent: Count,
}

impl GroupFrames {
    /// Of inputs that are sorted by their keys. `divides` if the function does not see batches.
    pub(super) fn new(mut sides: Vec<Side>, form: Form, divides: bool, sent: Count) -> Self {
        if let [left, right] = &mut sides[..] {
            (left.is_merged, right.is_merged) = (true, true);
        }
        Self {
            present: vec![false; sides.len()],
            sides,
            form,
            divides,
            step: Step::Start,
            sent,
        }
    }

    /// Whether there are rows at all.
    pub(super) fn has_rows(&mut self) -> Result<bool> {
        for side in &mut self.sides {
            if side.has_group()? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Adds what comes next to a frame; whether that ends it.
    fn put(&mut self, out: &mut Vec<u8>) -> Result<bool> {
        match (&self.step, self.form) {
            (Step::Start, Form::Batches) => {
                let side = self.sides.first();
                out.extend_from_slice(side.map_or(&[], |side| side.writer.start()));
                self.step = Step::Group;
                Ok(true)
            }
            (Step::Group, Form::Batches) => {
                let Some(side) = self.sides.first_mut() else {
                    return Ok(true);
                };
                if side.has_group()? {
                    let batch = side.batch(None, false)?.unwrap_or_default();
                    side.groups.pop_front();
                    self.sent.add(batch.len());
                    *out = batch;
                } else {
                    out.extend_from_slice(&END_OF_STREAM);
                    self.step = Step::End;
                }
                Ok(true)
            }
            (Step::Start | Step::Group, Form::Streams(_)) => self.begin_group(out),
            (Step::Input(place, begins), Form::Streams(most_rows)) => {
                self.input(*place, *begins, most_rows, out)
            }
            (Step::Input(..), Form::Batches) | (Step::End, _) => Ok(true),
        }
    }

    /// Chooses the next group: that with the least keys.
    fn begin_group(&mut self, out: &mut Vec<u8>) -> Result<bool> {
        for (side, present) in self.sides.iter_mut().zip(&mut self.present) {
            *present = side.has_group()?;
        }
        if !self.present.contains(&true) {
            out.put_i32(0);
            self.step = Step::End;
            return Ok(true);
        }
        let mut firsts = self.sides.iter().map(|side| side.groups.front());
        if let (Some(Some(left)), Some(Some(right))) = (firsts.next(), firsts.next()) {
            let order = compare(&left.keys, &right.keys)?;
            if order.is_eq() && left.values != right.values {
                // Zeros of both signs, or other NaNs: Spark fails.
                return Err(bail_out(
                    "keys of two inputs that are the same but look otherwise",
                ));
            }
            self.present = vec![order.is_le(), order.is_ge()];
        }
        out.put_i32(if self.sides.len() == 2 { 2 } else { 1 });
        self.step = Step::Input(0, true);
        Ok(false)
    }

    /// A batch of an input's part in the group, or the end of that.
    fn input(
        &mut self,
        place: usize,
        begins: bool,
        most_rows: Option<usize>,
        out: &mut Vec<u8>,
    ) -> Result<bool> {
        // Of two inputs Spark counts everything, of one the batches and ends of streams.
        let counts_all = self.sides.len() == 2;
        let (Some(side), Some(present)) = (self.sides.get_mut(place), self.present.get(place))
        else {
            self.step = Step::Group;
            return Ok(true);
        };
        let before = if counts_all {
            0
        } else {
            side.writer.start().len() + 4
        };
        if begins {
            out.extend_from_slice(side.writer.start());
            self.step = Step::Input(place, false);
        }
        let not_counted = if begins { before } else { 0 };
        let batch = match *present {
            true => side.batch(most_rows, self.divides)?,
            false if begins => {
                let nothing = vec![Vec::new(); side.arguments.len()];
                Some(side.writer.batch(&nothing, 0, MAX_BATCH, false)?)
            }
            false => None,
        };
        if let Some(batch) = batch {
            out.extend_from_slice(&batch);
        }
        let ended = !*present || side.first() == (0, true);
        if ended {
            out.extend_from_slice(&END_OF_STREAM);
            if *present {
                side.groups.pop_front();
            }
            let is_last = place + 1 == self.sides.len();
            self.step = if is_last {
                Step::Group
            } else {
                Step::Input(place + 1, true)
            };
        }
        self.sent.add(out.len().saturating_sub(not_counted));
        Ok(true)
    }
}

fn row_of(columns: &[ArrayRef], row: usize) -> Vec<ArrayRef> {
    columns.iter().map(|column| column.slice(row, 1)).collect()
}

/// The order of groups by their keys, ascending with nulls first.
fn compare(left: &[ArrayRef], right: &[ArrayRef]) -> Result<Ordering> {
    for (left, right) in left.iter().zip(right) {
        let order = make_comparator(left, right, SortOptions::default())?(0, 0);
        if order.is_ne() {
            return Ok(order);
        }
    }
    Ok(Ordering::Equal)
}

impl Iterator for GroupFrames {
    type Item = Result<Vec<u8>>;

    fn next(&mut self) -> Option<Self::Item> {
        if matches!(self.step, Step::End) {
            return None;
        }
        let mut frame = Vec::new();
        loop {
            match self.put(&mut frame) {
                Ok(true) => return Some(Ok(frame)),
                Ok(false) => {}
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
#[path = "group_frames_tests.rs"]
mod tests;
