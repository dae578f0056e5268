//! How an attempt ended, as the `data` of its last `StatusUpdate`.

use bytes::Bytes;
use javaser::Catalog;
use javaser::types::Throwable;
use wire::WireError;
use wire::ids::TaskState;
use wire::messages::{
    Accumulator, DirectTaskResult, ExceptionFailure, FetchFailed, LongAccumulator, PythonException,
    Raw, TaskCommitDenied, TaskKilled, encode_throwable, wrap_throwable,
};

use super::accumulators::info;
use super::{FetchFailure, TaskError, TaskException};
use crate::report::TaskEnd;

/// State and data of the status update that ends an attempt.
#[derive(Debug)]
pub struct Outcome {
    /// `FINISHED`, `FAILED` or `KILLED`.
    pub state: TaskState,
    /// A Java object stream.
    pub data: Bytes,
}

impl Outcome {
    /// The same for the report.
    pub fn end(&self) -> TaskEnd {
        match self.state {
            TaskState::FINISHED => TaskEnd::Finished,
            TaskState::KILLED => TaskEnd::Killed,
            _ => TaskEnd::Failed,
        }
    }
}

/// A `DirectTaskResult`.
///
/// # Errors
/// The distribution's classes do not fit.
pub fn direct_result(
    value: Vec<u8>,
    metrics: Vec<LongAccumulator>,
    others: Vec<Accumulator>,
    metric_peaks: Vec<i64>,
    catalog: &Catalog,
) -> Result<Vec<u8>, WireError> {
    let accum_updates = metrics
        .into_iter()
        .map(Accumulator::Long)
        .chain(others)
        .collect();
    DirectTaskResult {
        value: value.into(),
        accum_updates,
        metric_peaks,
    }
    .encode(catalog)
}

/// The outcome of an attempt that did not finish; [`TaskError::BailOut`] has none.
///
/// # Errors
/// The distribution's classes do not fit.
pub fn failure(
    error: TaskError,
    metrics: &[LongAccumulator],
    metric_peaks: Vec<i64>,
    catalog: &Catalog,
) -> Result<Outcome, WireError> {
    let raw_accumulators = || -> Result<Vec<Raw>, WireError> {
        metrics.iter().map(|m| m.encode(catalog).map(Raw)).collect()
    };
    let raw_infos = || -> Result<Vec<Raw>, WireError> {
        metrics
            .iter()
            .map(|m| info(m).encode(catalog).map(Raw))
            .collect()
    };
    let failed = |data: Vec<u8>| Outcome {
        state: TaskState::FAILED,
        data: data.into(),
    };
    let exception = |thrown: &Throwable, stack: &str, object: Option<Vec<u8>>| {
        let full = match stack {
            "" => exception_string(thrown),
            stack => stack.to_owned(),
        };
        let message = thrown.message.as_deref().unwrap_or_default();
        let mut failure = ExceptionFailure::new(&thrown.class, message, Vec::new(), &full);
        failure.exception_wrapper = object
            .map(|object| wrap_throwable(object, catalog))
            .transpose()?;
        failure.accum_updates = raw_infos()?;
        failure.accums = raw_accumulators()?;
        failure.metric_peaks = metric_peaks.clone();
        failure.encode(catalog).map(failed)
    };
    match error {
        TaskError::Exception(TaskException {
            class_name,
            message,
            full_stack_trace,
            cause,
        }) => {
            let mut thrown = Throwable::new(class_name, message);
            thrown.cause = cause;
            // A class that cannot be written is still named; it only has no object.
            let object = encode_throwable(&thrown, catalog);
            exception(&thrown, &full_stack_trace, object)
        }
        TaskError::Python(traceback) => {
            let raised = PythonException {
                traceback,
                in_sql: false,
            };
            let thrown = Throwable::new(PythonException::CLASS, raised.message(catalog));
            exception(&thrown, "", Some(raised.encode(catalog)?))
        }
        TaskError::PythonUdf(traceback) => {
            let raised = PythonException {
                traceback,
                in_sql: true,
            };
            let thrown = Throwable::new(PythonException::CLASS, raised.message(catalog));
            let stack = exception_string(&thrown) + "\n" + PythonException::CALL_IN_SQL;
            exception(&thrown, &stack, Some(raised.encode(catalog)?))
        }
        TaskError::FetchFailed(failure) => {
            let FetchFailure {
                address,
                shuffle_id,
                map_id,
                map_index,
                reduce_id,
                message,
            } = *failure;
            FetchFailed {
                bm_address: address,
                shuffle_id,
                map_id,
                map_index,
                reduce_id,
                message,
            }
            .encode(catalog)
            .map(failed)
        }
        TaskError::Killed(reason) => {
            let mut killed = TaskKilled::new(&reason);
            killed.accum_updates = raw_infos()?;
            killed.accums = raw_accumulators()?;
            killed.metric_peaks = metric_peaks.clone();
            Ok(Outcome {
                state: TaskState::KILLED,
                data: killed.encode(catalog)?.into(),
            })
        }
        TaskError::CommitDenied {
            stage_id,
            partition_id,
            attempt_number,
        } => {
            let denied = TaskCommitDenied {
                job_id: stage_id,
                partition_id,
                attempt_number,
            };
            Ok(Outcome {
                state: TaskState::KILLED,
                data: denied.encode(catalog)?.into(),
            })
        }
        TaskError::InSpark { killed, reason } => {
            // What the native operators counted goes with an exception, too.
            let data = match ExceptionFailure::decode(&reason) {
                Ok(mut thrown) => {
                    thrown.accum_updates = raw_infos()?;
                    thrown.accums = raw_accumulators()?;
                    thrown.metric_peaks = metric_peaks.clone();
                    thrown.encode(catalog)?.into()
                }
                Err(_) => reason,
            };
            let state = match killed {
                true => TaskState::KILLED,
                false => TaskState::FAILED,
            };
            Ok(Outcome { state, data })
        }
        TaskError::BailOut(reason) => {
            let text = format!("The task left its native lane and no other took it: {reason}");
            let thrown = Throwable::new("org.apache.spark.SparkException", text);
            exception(&thrown, "", None)
        }
    }
}

/// `Utils.exceptionString` of an exception without Java frames.
fn exception_string(thrown: &Throwable) -> String {
    let mut text = thrown.to_string();
    let mut next = thrown.cause.as_deref();
    while let Some(cause) = next {
        text.push_str(&format!("\nCaused by: {cause}"));
        next = cause.cause.as_deref();
    }
    text
}

#[cfg(test)]
mod tests {
    use testkit::VERSIONS;

    use super::*;
    use crate::task::accumulators::tests::catalog;

    #[test]
    fn attempts_that_may_not_commit_are_no_failures() {
        for version in VERSIONS {
            let denied = TaskError::CommitDenied {
                stage_id: 3,
                partition_id: 7,
                attempt_number: 1,
            };
            let outcome = failure(denied, &[], Vec::new(), &catalog(version)).unwrap();
            assert_eq!(outcome.state, TaskState::KILLED);
            assert_eq!(outcome.end(), TaskEnd::Killed);
            let sent = TaskCommitDenied::decode(&outcome.data).unwrap();
            let expected = TaskCommitDenied {
                job_id: 3,
                partition_id: 7,
                attempt_number: 1,
            };
            assert_eq!(sent, expected, "{version}");
        }
    }
}
