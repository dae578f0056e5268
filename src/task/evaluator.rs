//! Who evaluates for a native task what only Spark's own code can.

use std::fmt::Debug;
use std::time::Duration;

use bytes::Bytes;
use catalyst::JvmExpression;

use super::TaskError;

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

    fn cpu_time(&self) -> Duration {
        Duration::ZERO
    }
}
