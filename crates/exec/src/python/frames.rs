//! Frames of arguments, made when they are asked for.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;

use arrow::array::RecordBatch;
use datafusion_common::Result;
use datafusion_execution::SendableRecordBatchStream;
use datafusion_physical_plan::metrics::Count;
use futures::stream::StreamExt as _;
use rows::error::bail_out;

use super::call::{Encoder, Format, WorkerCall};
use super::pickle::RowPickler;
use super::stream::Part;
use super::waiting::Waiting;
use crate::project::evaluate;

/// Rows in a frame of pickles, as Spark groups them.
const ROWS_PER_FRAME: usize = 100;

/// What is kept of the rows that go out.
#[derive(Clone)]
pub(super) enum Kept {
    /// All of them: their columns are wanted beside the results.
    Rows(Waiting),
    /// Whether there was one.
    Any(Arc<AtomicBool>),
}

/// The frames of a partition's rows.
pub(super) struct Frames {
    call: Arc<WorkerCall>,
    encoder: Encoder,
    input: Option<SendableRecordBatchStream>,
    kept: Kept,
    sent: Count,
}

impl Frames {
    /// Of the rows of an input.
    pub(super) fn new(
        call: &Arc<WorkerCall>,
        encoder: Encoder,
        input: SendableRecordBatchStream,
        kept: Kept,
        sent: Count,
    ) -> Self {
        Self {
            call: Arc::clone(call),
            encoder,
            input: Some(input),
            kept,
            sent,
        }
    }

    fn frame(&mut self) -> Result<Option<Vec<u8>>> {
        loop {
            match &mut self.encoder {
                Encoder::Pickled { open: Some(open) } if open.2 < open.1 => {
                    let Format::Pickled(pickler) = &self.call.format else {
                        return Err(bail_out("arguments of another format"));
                    };
                    let frame = pickled(pickler, open)?;
                    self.sent.add(frame.len());
                    return Ok(Some(frame));
                }
                Encoder::Pickled { open } => *open = None,
                Encoder::Arrow(encoder) => match encoder.next()? {
                    Part::Bytes(bytes, is_batch) => {
                        // Spark counts batches only.
                        self.sent.add(if is_batch { bytes.len() } else { 0 });
                        return Ok(Some(bytes));
                    }
                    Part::Rows => {}
                    Part::End => return Ok(None),
                },
            }
            if !self.take_rows()? {
                match &mut self.encoder {
                    Encoder::Pickled { .. } => return Ok(None),
                    Encoder::Arrow(encoder) => encoder.finish(),
                }
            }
        }
    }

    /// Gives the encoder the rows of the next batch; whether there was one.
    fn take_rows(&mut self) -> Result<bool> {
        let Some(input) = &mut self.input else {
            return Ok(false);
        };
        let Some(batch) = wait_for_next(input).transpose()? else {
            self.input = None;
            return Ok(false);
        };
        let rows = batch.num_rows();
        if rows > 0 {
            let arguments = evaluate(&self.call.arguments, &batch)?;
            match &mut self.encoder {
                Encoder::Pickled { open } => *open = Some((arguments, rows, 0)),
                Encoder::Arrow(encoder) => {
                    let pushed = encoder.push(arguments, rows);
                    pushed.ok_or_else(|| bail_out("too many rows for Python"))?;
                }
            }
            match &self.kept {
                Kept::Rows(waiting) => waiting.push(batch)?,
                Kept::Any(any) => any.store(true, Ordering::Release),
            }
        }
        Ok(true)
    }
}

/// The next frame of the arguments of a batch with so many rows, of which so many are in frames.
fn pickled(
    pickler: &RowPickler,
    (arguments, rows, done): &mut (Vec<arrow::array::ArrayRef>, usize, usize),
) -> Result<Vec<u8>> {
    let end = (*rows).min(*done + ROWS_PER_FRAME);
    let columns = pickler.columns(arguments);
    let columns = columns.ok_or_else(|| bail_out("arguments of another type"))?;
    let frame = pickler.frame(&columns, *done..end);
    *done = end;
    Ok(frame)
}

impl Iterator for Frames {
    type Item = Result<Vec<u8>>;

    fn next(&mut self) -> Option<Self::Item> {
        self.frame().transpose()
    }
}

/// Wakes a thread.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// The next batch of an input, for who cannot give its thread away meanwhile. An executor of futures cannot be entered
/// twice, so this is none.
pub(super) fn wait_for_next(input: &mut SendableRecordBatchStream) -> Option<Result<RecordBatch>> {
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut context = Context::from_waker(&waker);
    loop {
        match input.poll_next_unpin(&mut context) {
            Poll::Ready(next) => return next,
            Poll::Pending => std::thread::park(),
        }
    }
}
