//! `spark.firesteel.verify=both`: the ends of tasks in the JVM that were run natively before.

use bytes::Bytes;
use javaser::Catalog;
use tracing::{error, warn};
use wire::envelope::RequestEnvelope;
use wire::messages::StatusUpdate;

use super::events::JvmMessage;
use super::jvm_messages::classify;
use super::registered::RegisteredExecutor;
use crate::report::{TaskEnd, Verification};
use crate::task::{TaskError, outcome};

const LOG: &str = "Firesteel";

/// What the JVM says, unless it is the end of a task that came to something else natively: then that the task failed.
/// Waits for files.
pub(super) fn verified(executor: &RegisteredExecutor, envelope: Bytes) -> Bytes {
    let Some(verifier) = executor.native.verifier() else {
        return envelope;
    };
    let JvmMessage::StatusUpdate {
        task_id,
        end: Some(end),
    } = classify(&envelope)
    else {
        return envelope;
    };
    let update = RequestEnvelope::read(&envelope).and_then(|mut request| {
        let update = StatusUpdate::decode(&request.content)?;
        request.content = Bytes::new();
        Ok((request, update))
    });
    let Ok((request, update)) = update else {
        error!(target: LOG, "The end of task {task_id} cannot be read and is not verified");
        return envelope;
    };
    let verdict = match end {
        TaskEnd::Finished => verifier.finished_in_jvm(task_id, &update.data),
        TaskEnd::Failed | TaskEnd::Killed => verifier.failed_in_jvm(task_id, &update.data),
    };
    let Some(verdict) = verdict else {
        return envelope;
    };
    executor.report.count_verified(&verdict);
    match verdict {
        Verification::Equal => envelope,
        Verification::Unverified(why) => {
            warn!(target: LOG, "Task {task_id} is not verified: {why}");
            envelope
        }
        Verification::Different(difference) => {
            let what =
                format!("The native and the JVM attempt of task {task_id} differ: {difference}");
            error!(target: LOG, "{what}");
            match end {
                TaskEnd::Finished => {
                    failed_instead(&executor.driver.catalog, request, update, &what)
                        .unwrap_or(envelope)
                }
                // Spark's own words say more.
                TaskEnd::Failed | TaskEnd::Killed => envelope,
            }
        }
    }
}

/// The same message with another end.
fn failed_instead(
    catalog: &Catalog,
    mut request: RequestEnvelope,
    mut update: StatusUpdate,
    what: &str,
) -> Option<Bytes> {
    let failure = outcome::failure(TaskError::spark(what), &[], Vec::new(), catalog);
    let failure = failure.ok()?;
    update.state = failure.state;
    update.data = failure.data;
    request.content = update.encode(catalog).ok()?.into();
    request.write().ok()
}

#[cfg(test)]
mod tests {
    use testkit::{NEWEST, OLDEST};
    use wire::ids::TaskState;
    use wire::task_description::TaskCpus;

    use super::*;
    use crate::task::accumulators::tests::catalog;

    #[test]
    fn a_difference_is_a_failed_task() {
        for version in [OLDEST, NEWEST] {
            let catalog = catalog(version);
            let update = StatusUpdate {
                executor_id: "1".to_owned(),
                task_id: 7,
                state: TaskState::FINISHED,
                data: Bytes::from_static(b"a result"),
                task_cpus: TaskCpus::whole(1),
                resources: Vec::new(),
            };
            let request = RequestEnvelope {
                sender: None,
                receiver: None,
                endpoint: "CoarseGrainedScheduler".to_owned(),
                content: Bytes::new(),
            };
            let envelope = failed_instead(&catalog, request, update, "other rows").unwrap();
            assert!(matches!(
                classify(&envelope),
                JvmMessage::StatusUpdate {
                    task_id: 7,
                    end: Some(TaskEnd::Failed)
                }
            ));
            let request = RequestEnvelope::read(&envelope).unwrap();
            let update = StatusUpdate::decode(&request.content).unwrap();
            let class = javaser::peek_class(&update.data);
            assert_eq!(class, Some("org.apache.spark.ExceptionFailure"));
            let said = String::from_utf8_lossy(&update.data);
            assert!(said.contains("other rows"), "{version}");
        }
    }
}
