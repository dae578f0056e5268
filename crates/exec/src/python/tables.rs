//! Rows that a class of Python made, beside columns of the rows that they were made of.

use std::collections::VecDeque;
use std::iter::repeat_n;
use std::mem::take;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use arrow::array::{ArrayRef, RecordBatch, UInt64Array, new_empty_array};
use arrow::compute::take as gather;
use arrow::datatypes::SchemaRef;
use bytes::Bytes;
use catalyst::DataType;
use datafusion_common::{DataFusionError, Result};
use datafusion_physical_plan::metrics::{BaselineMetrics, Count, MetricBuilder};
use futures::stream::Stream;
use rows::error::bail_out;

use super::call::Decoder;
use super::evaluation::joined;
use super::frames::{Frames, Kept};
use super::objects::check_nulls;
use super::queue::RowQueue;
use super::results::{self, arrow_type};
use super::table::TablePlan;
use super::waiting::Waiting;
use super::{Column, DATA_RECEIVED, DATA_SENT};
use crate::exec::{Start, batch_of, from_fn};
use crate::sources::{PythonFrames, PythonTimes, Sources};

/// Calls whose rows are taken at once: workers give those of each row apart.
const MOST_CALLS: usize = 1000;
/// Bytes of frames from which on no more are taken at once.
const MOST_BYTES: usize = 256 << 10;

/// Rows on their way out.
pub(super) struct Tables {
    plan: Arc<TablePlan>,
    schema: SchemaRef,
    batch_size: usize,
    frames: PythonFrames,
    decoder: Decoder,
    /// What is kept of the rows that went to the worker.
    kept: Kept,
    left: Left,
    ready: VecDeque<RecordBatch>,
    received: Count,
    baseline: BaselineMetrics,
}

/// What calls made: columns, and how many rows each call made.
type Made = (Vec<ArrayRef>, Vec<usize>);

impl Tables {
    /// The rows of a task. A worker is asked for also if there are no rows to give it: it may make some behind the
    /// last.
    ///
    /// # Errors
    /// There is no input.
    pub(super) fn start(
        plan: &Arc<TablePlan>,
        sources: &Arc<dyn Sources>,
        start: &Start<'_>,
    ) -> Result<impl Stream<Item = Result<RecordBatch>> + Send + 'static> {
        let counter = |name| MetricBuilder::new(start.metrics).counter(name, 0);
        let pool = Arc::clone(start.context.memory_pool());
        let (sent, received) = (counter(DATA_SENT), counter(DATA_RECEIVED));
        let times = PythonTimes::new(counter);
        let (plan, sources) = (Arc::clone(plan), Arc::clone(sources));
        let (schema, baseline) = (Arc::clone(start.schema), start.baseline());
        let batch_size = start.batch_size().max(1);
        let mut begin = Some(start.input(0)?);
        let mut tables = None;
        Ok(from_fn(move || {
            if let Some(input) = begin.take() {
                let kept = match plan.beside {
                    true => Kept::Rows(Waiting::new("EvalPythonUDTFExec", &pool)),
                    false => Kept::Any(Arc::default()),
                };
                let (call, encoder, decoder) = plan.call.open(&*sources)?;
                let frames = Frames::new(&plan.call, encoder, input, kept.clone(), sent.clone());
                tables = Some(Self {
                    plan: Arc::clone(&plan),
                    schema: Arc::clone(&schema),
                    batch_size,
                    frames: sources.python(&call, Box::new(frames), times.clone())?,
                    decoder,
                    kept,
                    left: Left::default(),
                    ready: VecDeque::new(),
                    received: received.clone(),
                    baseline: baseline.clone(),
                });
            }
            tables.as_mut().map_or(Ok(None), Self::next)
        }))
    }

    fn next(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            if let Some(batch) = self.ready.pop_front() {
                return Ok(Some(batch));
            }
            let Some((columns, counts)) = self.calls()? else {
                return Ok(None);
            };
            for (column, of) in columns.iter().zip(&self.plan.made) {
                if !of.nullable && column.logical_null_count() > 0 {
                    return Err(bail_out("nulls of Python in a column without"));
                }
                check_nulls(column, &of.data_type)?;
            }
            self.baseline.record_output(counts.iter().sum());
            self.join(&columns, &counts)?;
        }
    }

    /// What the next calls made; `None` behind the last.
    fn calls(&mut self) -> Result<Option<Made>> {
        let types = self.plan.made.iter().map(|column| &column.data_type);
        let types: Vec<&DataType> = types.collect();
        let made = match &mut self.decoder {
            Decoder::Pickled(java_major) => {
                let frames = pickles(&mut self.frames)?;
                let bytes = frames.iter().map(Bytes::len).sum();
                self.received.add(bytes);
                match &frames[..] {
                    [] => return Ok(None),
                    frames => results::tables(frames, &types, *java_major)?,
                }
            }
            Decoder::Arrow(decoder) => {
                let (mut queue, mut counts) = (RowQueue::new(types.len()), Vec::new());
                let mut all = 0;
                while counts.len() < MOST_CALLS && all < MOST_BYTES {
                    let Some(frame) = self.frames.next() else {
                        break;
                    };
                    if let Some((columns, rows, bytes)) = decoder.push(frame?)? {
                        self.received.add(bytes);
                        all += bytes;
                        counts.push(rows);
                        queue.push(columns, rows).ok_or_else(too_many)?;
                    }
                }
                if counts.is_empty() {
                    return Ok(None);
                }
                let parts = queue.take(queue.rows()).ok_or_else(too_many)?;
                let columns =
                    parts
                        .iter()
                        .zip(&types)
                        .map(|(parts, of)| match joined(Some(parts))? {
                            Some(column) => Ok(column),
                            None => Ok(new_empty_array(&arrow_type(of)?)),
                        });
                (columns.collect::<Result<_>>()?, counts)
            }
        };
        Ok(Some(made))
    }

    /// Makes batches of rows and what is beside them.
    fn join(&mut self, columns: &[ArrayRef], counts: &[usize]) -> Result<()> {
        let waiting = match self.kept.clone() {
            Kept::Rows(waiting) => waiting,
            Kept::Any(any) => {
                let rows = counts.iter().sum();
                return match rows > 0 && !any.load(Ordering::Acquire) {
                    true => Err(beside_nothing()),
                    false => self.push(Vec::new(), columns, 0..rows),
                };
            }
        };
        // Of the rows from `begin` to `end` those of the input that they were made of.
        let (mut made_of, mut begin, mut end) = (Vec::new(), 0, 0);
        for count in counts {
            if !self.left.is_last() {
                self.left.row += 1;
            } else if let Some(batch) = waiting.pop() {
                self.push(take(&mut made_of), columns, begin..end)?;
                begin = end;
                self.left = Left {
                    batch: Some(batch),
                    row: 0,
                };
            }
            // Else it is made behind the last row, and comes out beside that.
            made_of.extend(repeat_n(self.left.row as u64, *count));
            end += count;
        }
        self.push(made_of, columns, begin..end)
    }

    /// Makes batches of these rows, which were made of rows of the batch at hand.
    fn push(&mut self, made_of: Vec<u64>, columns: &[ArrayRef], rows: Range<usize>) -> Result<()> {
        if rows.is_empty() {
            return Ok(());
        }
        if self.plan.beside && self.left.batch.is_none() {
            return Err(beside_nothing());
        }
        let made_of = UInt64Array::from(made_of);
        let missing = || bail_out("columns that are missing");
        let output = self.plan.output.iter().map(|column| match column {
            Column::Input(place) => {
                let batch = self.left.batch.as_ref().ok_or_else(missing)?;
                let column = batch.columns().get(*place).ok_or_else(missing)?;
                Ok(gather(column, &made_of, None)?)
            }
            Column::Result(place) => {
                let column = columns.get(*place).ok_or_else(missing)?;
                Ok(column.slice(rows.start, rows.len()))
            }
        });
        let output = output.collect::<Result<_>>()?;
        let all = batch_of(&self.schema, output, rows.len())?;
        let starts = (0..rows.len()).step_by(self.batch_size);
        let size = self.batch_size;
        let parts = starts.map(|from| all.slice(from, size.min(rows.len() - from)));
        self.ready.extend(parts);
        Ok(())
    }
}

/// The row of the input beside which rows come out.
#[derive(Default)]
struct Left {
    /// The batch that it is in; none before the first.
    batch: Option<RecordBatch>,
    row: usize,
}

impl Left {
    /// Whether the next row is in another batch.
    fn is_last(&self) -> bool {
        let rows = self.batch.as_ref().map_or(0, RecordBatch::num_rows);
        self.row + 1 >= rows
    }
}

/// Frames of pickles that are taken at once; none behind the last.
fn pickles(frames: &mut PythonFrames) -> Result<Vec<Bytes>> {
    let (mut taken, mut bytes) = (Vec::new(), 0);
    while taken.len() < MOST_CALLS && bytes < MOST_BYTES {
        let Some(frame) = frames.next().transpose()? else {
            break;
        };
        bytes += frame.len();
        taken.push(frame);
    }
    Ok(taken)
}

/// Rows came before the first row of the input. Spark puts them beside no row, and fails.
fn beside_nothing() -> DataFusionError {
    bail_out("rows of Python beside no row")
}

fn too_many() -> DataFusionError {
    bail_out("too many rows of Python")
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
#[path = "tables_tests.rs"]
mod tests;
