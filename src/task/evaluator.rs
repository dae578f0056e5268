//! Who evaluates for a native task what only Spark's own code can.

use std::fmt::Debug;
use std::time::Duration;

use bytes::Bytes;
use catalyst::{JvmExpression, JvmRest, ObjectsAnswer, ObjectsCall, ObjectsInput};
use wire::messages::Accumulator;

use super::TaskError;

/// What was counted where something was evaluated.
#[derive(Debug, Default)]
pub struct Evaluated {
    /// The accumulators that functions and Spark's operators have added to.
    pub accumulators: Vec<Accumulator>,
    /// Numbers of Spark's `TaskMetrics`, by their names: those that are not zero.
    pub metrics: Vec<(String, i64)>,
}

/// What the JVM says that does the rest of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RestAnswer {
    /// More rows are wanted.
    Wanted,
    /// It is done: what the task returns, serialized as `spark.serializer` does.
    Done(Bytes),
}

/// Evaluates expressions of one task in the embedded JVM, which is started for the first of them.
pub trait Evaluator: Debug + Send + Sync {
    /// The results of an expression for rows: both are streams of `UnsafeRow`s, each behind its size. `number` tells
    /// the expression from all others of the process. Waits for them.
    ///
    /// # Errors
    /// The task was killed, or bails out: the expression fails, or there is no JVM.
    fn evaluate(
        &self,
        number: u64,
        expression: &JvmExpression,
        rows: &[u8],
    ) -> Result<Bytes, TaskError>;

    /// Has operators on objects of a partition go on. Waits for what they say.
    ///
    /// # Errors
    /// The task was killed, or bails out: an operator fails, or there is no JVM.
    fn objects(
        &self,
        call: &ObjectsCall,
        input: ObjectsInput<'_>,
    ) -> Result<ObjectsAnswer, TaskError>;

    /// Has Spark's own code go on with what is above the task's native operators. Waits for what it says.
    ///
    /// # Errors
    /// The task was killed, failed as it would have in Spark, or bails out: there is no JVM.
    fn rest(&self, rest: &JvmRest, input: ObjectsInput<'_>) -> Result<RestAnswer, TaskError>;

    /// Nothing is to be evaluated any more, as the task fails: has what was begun end, and waits for it.
    fn abandon(&self);

    /// Nothing is to be evaluated any more: waits until what functions have left to be done at the end of the task is
    /// done. Gives what they have counted.
    ///
    /// # Errors
    /// The task was killed, or bails out: something of that fails.
    fn finish(&self) -> Result<Evaluated, TaskError>;

    /// Processor time of the JVM's thread so far.
    fn cpu_time(&self) -> Duration;
}

/// Where there is no JVM.
#[derive(Debug)]
pub struct NoEvaluator;

impl Evaluator for NoEvaluator {
    fn evaluate(&self, _: u64, _: &JvmExpression, _: &[u8]) -> Result<Bytes, TaskError> {
        Err(TaskError::BailOut("no JVM for expressions".to_owned()))
    }

    fn objects(&self, _: &ObjectsCall, _: ObjectsInput<'_>) -> Result<ObjectsAnswer, TaskError> {
        Err(TaskError::BailOut(
            "no JVM for operators on objects".to_owned(),
        ))
    }

    fn rest(&self, _: &JvmRest, _: ObjectsInput<'_>) -> Result<RestAnswer, TaskError> {
        Err(TaskError::BailOut("no JVM for the rest".to_owned()))
    }

    fn abandon(&self) {}

    fn finish(&self) -> Result<Evaluated, TaskError> {
        Ok(Evaluated::default())
    }

    fn cpu_time(&self) -> Duration {
        Duration::ZERO
    }
}
