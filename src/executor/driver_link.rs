//! What the executor says to its driver.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use javaser::Catalog;
use tracing::{error, info, warn};
use wire::WireError;
use wire::ids::{BlockManagerId, TaskState};
use wire::messages::{
    Accumulator, ExecutorDecommissioning, ExecutorLossReason, ExecutorMetrics, Heartbeat,
    HeartbeatResponse, RegisterBlockManager, RemoveExecutor, RpcFailure, StageAttempt,
    StatusUpdate, TaskKilled, reply,
};
use wire::version::WireVersion;

use super::events::TaskHeader;
use crate::rpc::DriverEndpoint;
use crate::transport::AskError;

/// Endpoint of the driver that gives tasks.
pub(super) const SCHEDULER: &str = "CoarseGrainedScheduler";
/// Endpoint of the driver that knows where blocks are.
pub(super) const BLOCK_MANAGER_MASTER: &str = "BlockManagerMaster";
const HEARTBEAT_RECEIVER: &str = "HeartbeatReceiver";
const LOG: &str = "CoarseGrainedExecutorBackend";

/// The driver, and who the executor is to it.
pub(super) struct DriverLink {
    /// The connection.
    pub(super) endpoint: DriverEndpoint,
    /// How long an ask waits.
    pub(super) ask_timeout: Duration,
    /// How long a heartbeat waits for its answer: until the next one.
    pub(super) heartbeat_interval: Duration,
    /// Classes of the distribution.
    pub(super) catalog: Arc<Catalog>,
    /// What they are called in its version.
    pub(super) version: WireVersion,
    /// The executor's id.
    pub(super) executor_id: String,
    /// What the block manager was registered with; host and port are those of our block server.
    pub(super) registration: RegisterBlockManager,
}

impl DriverLink {
    /// The block manager's identity.
    pub(super) fn block_manager_id(&self) -> &BlockManagerId {
        &self.registration.block_manager_id
    }

    /// Logs that something cannot be written with the distribution's classes.
    pub(super) fn cannot_write(&self, what: &str, error: &WireError) {
        error!(target: LOG, "Cannot write {what} for Spark {}: {error}", self.version.spark_version);
    }

    /// A message to one of our own endpoints, as the driver would send it.
    pub(super) fn envelope(
        &self,
        endpoint: &str,
        what: &str,
        content: Result<Vec<u8>, WireError>,
    ) -> Option<Bytes> {
        match content.and_then(|content| self.endpoint.envelope(endpoint, content.into())) {
            Ok(envelope) => Some(envelope),
            Err(error) => {
                self.cannot_write(what, &error);
                None
            }
        }
    }

    fn tell_scheduler(&self, what: &str, content: Result<Vec<u8>, WireError>) {
        if let Err(error) =
            content.and_then(|content| self.endpoint.tell(SCHEDULER, content.into()))
        {
            self.cannot_write(what, &error);
        }
    }

    /// Asks and gives the answer; `None` if the question cannot be written.
    async fn ask(
        &self,
        endpoint: &'static str,
        what: &str,
        content: Result<Vec<u8>, WireError>,
        timeout: Duration,
    ) -> Option<Result<Bytes, AskError>> {
        match content {
            Ok(content) => Some(self.endpoint.ask(endpoint, content.into(), timeout).await),
            Err(error) => {
                self.cannot_write(what, &error);
                None
            }
        }
    }

    /// Tells the driver that this executor is to be removed.
    pub(super) fn remove_executor(&self, reason: String) {
        let message = RemoveExecutor {
            executor_id: self.executor_id.clone(),
            reason: ExecutorLossReason { message: reason },
        };
        self.tell_scheduler("RemoveExecutor", message.encode(&self.catalog));
    }

    /// A `StatusUpdate` in its envelope.
    ///
    /// # Errors
    /// The distribution's classes do not fit.
    pub(super) fn status_update(
        &self,
        task_id: i64,
        header: &TaskHeader,
        state: TaskState,
        data: Bytes,
    ) -> Result<Bytes, WireError> {
        let update = StatusUpdate {
            executor_id: self.executor_id.clone(),
            task_id,
            state,
            data,
            task_cpus: header.cpus,
            resources: header.resources.clone(),
        };
        let content = update.encode(&self.catalog)?;
        self.endpoint.envelope(SCHEDULER, content.into())
    }

    /// Tells the driver that a task was killed before it ran.
    pub(super) fn task_killed(&self, task_id: i64, reason: &str, header: &TaskHeader) {
        let update = TaskKilled::new(reason)
            .encode(&self.catalog)
            .and_then(|data| self.status_update(task_id, header, TaskState::KILLED, data.into()));
        match update {
            Ok(update) => self.endpoint.tell_raw(update),
            Err(error) => self.cannot_write("StatusUpdate", &error),
        }
    }

    /// A heartbeat with what tasks have counted so far and the executor's peaks of memory. The answer says whether the
    /// block manager has to register again; `None` if it could not be written.
    pub(super) async fn heartbeat(
        &self,
        tasks: Vec<(i64, Vec<Accumulator>)>,
        executor_updates: Vec<(StageAttempt, ExecutorMetrics)>,
    ) -> Option<Result<bool, String>> {
        let accum_updates = tasks
            .iter()
            .map(|progress| wire::messages::task_progress(progress, &self.catalog))
            .collect::<Result<Vec<_>, _>>();
        let content = accum_updates.and_then(|accum_updates| {
            Heartbeat {
                executor_id: self.executor_id.clone(),
                block_manager_id: self.block_manager_id().clone(),
                accum_updates,
                executor_updates: executor_updates.into_iter().collect(),
            }
            .encode(&self.catalog)
        });
        let answer = self
            .ask(
                HEARTBEAT_RECEIVER,
                "Heartbeat",
                content,
                self.heartbeat_interval,
            )
            .await?;
        Some(heartbeat_answer(&answer))
    }

    /// Registers the block manager again. The driver's answer, and whether it has accepted; `None` if the message could
    /// not be written.
    pub(super) async fn register_again(
        &self,
    ) -> Option<(Result<Bytes, AskError>, Result<bool, String>)> {
        info!(target: "BlockManager", "BlockManager {} re-registering with master", self.block_manager_id());
        let message = RegisterBlockManager {
            is_re_register: true,
            ..self.registration.clone()
        };
        let content = message.encode(&self.catalog);
        let answer = self
            .ask(
                BLOCK_MANAGER_MASTER,
                "RegisterBlockManager",
                content,
                self.ask_timeout,
            )
            .await?;
        let accepted = match &answer {
            Ok(body) => BlockManagerId::decode(body)
                .map(|id| id.executor_id != "invalid")
                .map_err(|error| failure_text(body, &error)),
            Err(error) => Err(error.to_string()),
        };
        Some((answer, accepted))
    }

    /// Asks whether the executor may leave; `None` if that could not be written.
    pub(super) async fn may_decommission(&self) -> Option<bool> {
        let message = ExecutorDecommissioning {
            executor_id: self.executor_id.clone(),
        };
        let content = message.encode(&self.catalog);
        let answer = self
            .ask(
                SCHEDULER,
                "ExecutorDecommissioning",
                content,
                self.ask_timeout,
            )
            .await?;
        Some(match answer {
            Ok(body) => reply::read_boolean(&body).unwrap_or(false),
            Err(error) => {
                warn!(target: LOG, "The driver did not answer ExecutorDecommissioning: {error}");
                false
            }
        })
    }
}

/// Whether the driver wants the block manager to register again.
pub(super) fn heartbeat_answer(answer: &Result<Bytes, AskError>) -> Result<bool, String> {
    match answer {
        Ok(body) => HeartbeatResponse::decode(body)
            .map(|response| response.reregister_block_manager)
            .map_err(|error| failure_text(body, &error)),
        Err(error) => Err(error.to_string()),
    }
}

/// The words of an answer that is no answer: those of the `RpcFailure` in it, or why it cannot be read.
pub(super) fn failure_text(body: &Bytes, error: &WireError) -> String {
    match RpcFailure::decode(body) {
        Ok(failure) => {
            let message = failure.error.message.unwrap_or_default();
            format!("{}: {message}", failure.error.class)
        }
        Err(_) => error.to_string(),
    }
}
