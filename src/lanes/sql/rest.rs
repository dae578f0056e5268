//! Rows of native operators for Spark's own code, which does in the JVM what is above them.

use std::sync::Arc;

use arrow::array::RecordBatch;
use bytes::Bytes;
use catalyst::{JvmRest, ObjectsInput};
use rows::RowEncoder;

use super::failure::of_run;
use super::sink::{Finished, Sink};
use crate::task::{RestAnswer, TaskContext, TaskError};

/// Hands rows on as they are asked for. What is done with them may be seen before the end.
pub(super) struct RestSink<'a> {
    rest: &'a JvmRest,
    encoder: RowEncoder,
    /// What the task returns, once that is known. No more rows are wanted then.
    value: Option<Bytes>,
    context: &'a Arc<TaskContext>,
}

impl<'a> RestSink<'a> {
    /// Has the JVM begin.
    ///
    /// # Errors
    /// As [`Evaluator::rest`](crate::task::Evaluator::rest).
    pub(super) fn new(
        rest: &'a JvmRest,
        encoder: RowEncoder,
        context: &'a Arc<TaskContext>,
    ) -> Result<Self, TaskError> {
        let mut sink = Self {
            rest,
            encoder,
            value: None,
            context,
        };
        sink.value = answer(rest, ObjectsInput::Next, context)?;
        Ok(sink)
    }
}

/// An attempt that fails, or panics, ends what was begun before another lane may begin it anew.
impl Drop for RestSink<'_> {
    fn drop(&mut self) {
        if self.value.is_none() {
            self.context.evaluator.abandon();
        }
    }
}

/// What the task returns, if it wants no more.
fn answer(
    rest: &JvmRest,
    input: ObjectsInput<'_>,
    context: &TaskContext,
) -> Result<Option<Bytes>, TaskError> {
    match context.evaluator.rest(rest, input)? {
        RestAnswer::Wanted => Ok(None),
        RestAnswer::Done(value) => Ok(Some(value)),
    }
}

impl Sink for RestSink<'_> {
    fn wants_more(&self) -> bool {
        self.value.is_none()
    }

    fn take(&mut self, batch: &RecordBatch) -> Result<(), TaskError> {
        let rows = self.encoder.encode(batch).map_err(of_run)?;
        let mut start = 0;
        while start < rows.len() && self.value.is_none() {
            let (message, end) = exec::rows_for_jvm(&rows, start).map_err(of_run)?;
            self.value = answer(self.rest, ObjectsInput::Rows(message), self.context)?;
            start = end;
        }
        Ok(())
    }

    fn end(&mut self) -> Result<(), TaskError> {
        if self.wants_more() {
            self.value = answer(self.rest, ObjectsInput::End, self.context)?;
        }
        match self.value {
            Some(_) => Ok(()),
            None => Err(TaskError::BailOut(
                "rows behind the last are wanted".to_owned(),
            )),
        }
    }

    fn too_late(&self, error: TaskError) -> TaskError {
        match error {
            TaskError::BailOut(why) => TaskError::spark(why),
            error => error,
        }
    }

    fn finish(self: Box<Self>) -> Result<Finished, TaskError> {
        let value = self.value.clone().unwrap_or_default();
        Ok(Finished::result(value.into()))
    }
}
