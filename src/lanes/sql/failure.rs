//! A task's errors on their way through DataFusion.

use std::fmt;

use datafusion_common::DataFusionError;
use rows::error::{RunError, source_error};

use crate::task::TaskError;

/// How an attempt ends that a source of rows made fail.
#[derive(Debug)]
struct Failure(TaskError);

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

impl std::error::Error for Failure {}

/// Wraps what a source of rows fails with.
pub(super) fn of_source(error: impl Into<TaskError>) -> DataFusionError {
    match error.into() {
        TaskError::BailOut(reason) => RunError::BailOut(reason).into(),
        error => source_error(Failure(error)),
    }
}

/// What the attempt ends with. Anything but a failure of a source is a bail-out: the JVM runs the attempt, and finds
/// Spark's own words for what is wrong.
pub(super) fn of_run(error: DataFusionError) -> TaskError {
    match RunError::of(error) {
        RunError::BailOut(reason) => TaskError::BailOut(reason),
        // The executor knows the reason.
        RunError::Killed => TaskError::Killed("killed".into()),
        RunError::Source(error) => match error.downcast_ref::<Failure>() {
            Some(Failure(error)) => error.clone(),
            None => TaskError::BailOut(error.to_string()),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_of_sources_come_out_as_they_went_in() {
        let lost = TaskError::io("lost");
        let through = of_source(lost.clone()).context("while reading");
        assert_eq!(of_run(through), lost);
        let odd = of_source(TaskError::BailOut("odd".to_owned()));
        assert_eq!(of_run(odd), TaskError::BailOut("odd".to_owned()));
        let overflow = DataFusionError::Execution("overflow".to_owned());
        assert!(matches!(of_run(overflow), TaskError::BailOut(_)));
    }
}
