//! The running executor with its sockets and its JVM: carries out what the state machine decides.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use bytes::Bytes;
use javaser::Catalog;
use parking_lot::Mutex;
use tokio::sync::{Notify, oneshot, watch};
use tracing::{debug, error, info, warn};
use wire::WireError;
use wire::ids::{BlockManagerId, TaskState};
use wire::messages::{
    DecommissionExecutor, ExecutorDecommissioning, ExecutorLossReason, Heartbeat,
    HeartbeatResponse, RegisterBlockManager, RemoveExecutor, RpcFailure, StatusUpdate, TaskKilled,
    reply,
};
use wire::task_description::{TaskCpus, TaskResource};
use wire::version::WireVersion;

use super::core::Core;
use super::events::{Input, Output, Reply, RequestId, Time};
use super::inbound::EXECUTOR;
use super::jvm_start::JvmLaunch;
use super::native::{self, NativeTasks};
use crate::blocks::LocalDirs;
use crate::blocks::store::Decommissioner;
use crate::lanes::jvm::{JvmBlock, JvmLane};
use crate::logging::LevelHandle;
use crate::report::Report;
use crate::rpc::{DriverEndpoint, FileServer, FileStream};
use crate::transport;

/// How long answers for the JVM are waited for. The JVM has its own, shorter limits; some of its asks (barriers) may wait for a year.
const FOREVER: Duration = Duration::from_secs(400 * 24 * 3600);
/// How many tasks may wait for the JVM with their header kept; the driver never sends more than there are cores.
const MAX_WAITING_TASKS: usize = 1 << 16;

/// What a `StatusUpdate` repeats of a task's description.
#[derive(Debug, Clone)]
pub(super) struct TaskHeader {
    pub(super) cpus: TaskCpus,
    pub(super) resources: Vec<TaskResource>,
}

/// Takes the JVM's answer to an upload.
pub(super) type UploadAnswer = oneshot::Sender<Result<Vec<u8>, String>>;

/// Everything that the parts of a running executor share.
pub(super) struct Shared {
    pub(super) core: Mutex<Core>,
    pub(super) process_start: Instant,
    pub(super) driver: DriverEndpoint,
    pub(super) ask_timeout: Duration,
    pub(super) heartbeat_interval: Duration,
    pub(super) catalog: Arc<Catalog>,
    pub(super) version: WireVersion,
    pub(super) executor_id: String,
    pub(super) registration: RegisterBlockManager,
    pub(super) report: Arc<Report>,
    pub(super) local_dirs: Arc<LocalDirs>,
    pub(super) files: FileServer,
    pub(super) runtime: tokio::runtime::Handle,
    pub(super) level: Arc<LevelHandle>,
    pub(super) native: NativeTasks,
    pub(super) jvm_launch: JvmLaunch,
    pub(super) lane: OnceLock<JvmLane>,
    pub(super) replies: Mutex<HashMap<RequestId, transport::Reply>>,
    pub(super) waiting_tasks: Mutex<HashMap<i64, TaskHeader>>,
    pub(super) blocks: Mutex<HashMap<i64, oneshot::Sender<JvmBlock>>>,
    pub(super) uploads: Mutex<HashMap<i64, UploadAnswer>>,
    pub(super) streams: Mutex<HashMap<i64, Arc<FileStream>>>,
    pub(super) next_id: AtomicI64,
    pub(super) next_request: AtomicU64,
    /// Whether the process is the executor's; else it belongs to a host program and outlives the executor.
    pub(super) own_process: bool,
    pub(super) exit: watch::Sender<Option<i32>>,
    pub(super) finished: AtomicBool,
    pub(super) rearm: Notify,
    /// Moves the blocks of the native lanes away once the executor is decommissioned.
    pub(super) migration: Mutex<Option<Decommissioner>>,
}

impl Shared {
    /// Time since the start of the process.
    pub(super) fn now(&self) -> Time {
        self.process_start.elapsed()
    }

    /// A fresh id for something that the JVM answers.
    pub(super) fn next_id(&self) -> i64 {
        self.next_id.fetch_add(1, Ordering::Relaxed)
    }

    /// The block manager's identity: host and port are those of our block server.
    pub(super) fn block_manager_id(&self) -> &BlockManagerId {
        &self.registration.block_manager_id
    }

    /// Keeps a handle for the answer to an ask of the driver.
    pub(super) fn keep_reply(&self, reply: transport::Reply) -> RequestId {
        let id = self.next_request.fetch_add(1, Ordering::Relaxed);
        self.replies.lock().insert(id, reply);
        id
    }

    /// Keeps what a later `StatusUpdate` needs of a task that waits for the JVM.
    pub(super) fn keep_header(&self, task_id: i64, header: TaskHeader) {
        let mut waiting = self.waiting_tasks.lock();
        if waiting.len() < MAX_WAITING_TASKS {
            waiting.insert(task_id, header);
        }
    }

    /// Feeds the state machine and does what it says, in its order.
    pub(super) fn input(self: &Arc<Self>, input: Input) {
        let mut out = Vec::new();
        let mut core = self.core.lock();
        let before = core.next_tick();
        core.handle(self.now(), input, &mut out);
        let after = core.next_tick();
        // Still under the lock: nothing here waits, and messages keep the order of decisions.
        for output in out {
            self.carry_out(output);
        }
        drop(core);
        if after < before {
            self.rearm.notify_one();
        }
    }

    fn carry_out(self: &Arc<Self>, output: Output) {
        match output {
            Output::Judge(task_id) => native::judge(self, task_id),
            Output::RunNative(task_id) => {
                self.waiting_tasks.lock().remove(&task_id);
                native::run(self, task_id);
            }
            Output::KillNative { task_id, reason } => self.native.kill(task_id, &reason),
            Output::Forget(task_id) => self.native.forget(task_id),
            Output::BeatForNative => self.beat(false),
            Output::StartJvm => super::jvm_start::start(Arc::clone(self)),
            Output::JvmOneWay(envelope) => self.lane().one_way(envelope),
            Output::JvmRequest(id, envelope) => self.lane().rpc_request(id.cast_signed(), envelope),
            Output::JvmDecommission => match DecommissionExecutor
                .encode(&self.catalog)
                .and_then(|m| self.driver.envelope(EXECUTOR, m.into()))
            {
                Ok(envelope) => self.lane().one_way(envelope),
                Err(error) => self.bug("DecommissionExecutor", &error),
            },
            Output::JvmDisconnected => self.lane().disconnected(),
            Output::JvmExit(code) => self.lane().exit(code),
            Output::AnswerTrue(id) => self.answer_jvm(id, reply::boolean(true, &self.catalog)),
            Output::AnswerBlockManagerId(id) => {
                self.answer_jvm(id, self.block_manager_id().encode(&self.catalog))
            }
            Output::AnswerReregister(id) => {
                self.answer_jvm(
                    id,
                    HeartbeatResponse {
                        reregister_block_manager: true,
                    }
                    .encode(&self.catalog),
                );
            }
            Output::Forward(envelope) => self.driver.tell_raw(envelope),
            Output::ForwardAsk(id, envelope) => self.forward_ask(id, envelope),
            Output::Heartbeat(None) => self.beat(true),
            Output::Heartbeat(Some((id, envelope))) => self.forward_beat(id, envelope),
            Output::Reregister(jvm_ask) => self.reregister(jvm_ask),
            Output::AskDecommission => self.ask_decommission(),
            Output::StartMigration => {
                let _guard = self.runtime.enter();
                let blocks = &self.native.plane.blocks;
                *self.migration.lock() = Some(Decommissioner::start(blocks));
            }
            Output::AskMigration => {
                let shared = Arc::clone(self);
                // Not from here: the state machine is being carried out.
                self.runtime.spawn(async move {
                    let input = shared.migration_info();
                    shared.input(input);
                });
            }
            Output::TaskKilled { task_id, reason } => self.task_killed(task_id, reason),
            Output::RemoveExecutor { reason } => {
                let message = RemoveExecutor {
                    executor_id: self.executor_id.clone(),
                    reason: ExecutorLossReason { message: reason },
                };
                self.tell_scheduler("RemoveExecutor", message.encode(&self.catalog));
            }
            Output::Reply(id, reply) => self.reply(id, reply),
            Output::SetLogLevel(level) => {
                if !self.level.set_log4j_level(&level) {
                    warn!(target: "CoarseGrainedExecutorBackend", "Unknown log level {level}");
                }
            }
            Output::Exit(code) => self.exit(code),
        }
    }

    /// Ends the executor; the first code counts.
    pub(super) fn exit(&self, code: i32) {
        self.exit.send_if_modified(|exit| {
            let first = exit.is_none();
            exit.get_or_insert(code);
            first
        });
    }

    /// The JVM lane. Only asked for after [`Output::StartJvm`], whose thread fills it in before the JVM can say anything that needs an answer.
    pub(super) fn lane(&self) -> &JvmLane {
        self.lane.wait()
    }

    /// The JVM lane once the JVM runs tasks.
    pub(super) fn ready_lane(&self) -> Option<&JvmLane> {
        if self.core.lock().jvm_is_ready() {
            self.lane.get()
        } else {
            None
        }
    }

    fn bug(&self, what: &str, error: &WireError) {
        error!(target: "CoarseGrainedExecutorBackend", "Cannot write {what} for Spark {}: {error}", self.version.spark_version);
    }

    fn answer_jvm(&self, id: i64, answer: Result<Vec<u8>, WireError>) {
        match answer {
            Ok(bytes) => self.lane().ask_reply(id, bytes),
            Err(error) => self.lane().ask_failure(id, &error.to_string()),
        }
    }

    fn tell_scheduler(&self, what: &str, content: Result<Vec<u8>, WireError>) {
        if let Err(error) =
            content.and_then(|c| self.driver.tell("CoarseGrainedScheduler", c.into()))
        {
            self.bug(what, &error);
        }
    }

    fn forward_ask(self: &Arc<Self>, id: i64, envelope: Bytes) {
        let asked = self.driver.start_ask_raw(envelope);
        let shared = Arc::clone(self);
        self.runtime.spawn(async move {
            match asked.answer(FOREVER).await {
                Ok(body) => shared.lane().ask_reply(id, body),
                Err(error) => shared.lane().ask_failure(id, &error.to_string()),
            }
        });
    }

    /// With every heartbeat: what is free goes back to the system when no task is left, and a JVM gets its part.
    fn settle_memory(self: &Arc<Self>) {
        if self.native.has_become_idle() {
            self.runtime.spawn_blocking(crate::memory::trim);
        }
        if self.lane.get().is_some() {
            let shared = Arc::clone(self);
            // It may write blocks to disk, and tell the driver.
            self.runtime
                .spawn_blocking(move || shared.native.share_memory_with_jvm());
        }
    }

    fn forward_beat(self: &Arc<Self>, id: i64, envelope: Bytes) {
        self.settle_memory();
        let asked = self.driver.start_ask_raw(envelope);
        let shared = Arc::clone(self);
        self.runtime.spawn(async move {
            let answer = asked.answer(shared.heartbeat_interval).await;
            let verdict = judge_beat(&answer);
            match answer {
                Ok(body) => shared.lane().ask_reply(id, body),
                Err(error) => shared.lane().ask_failure(id, &error.to_string()),
            }
            shared.input(Input::HeartbeatAnswer {
                from_jvm: true,
                answer: verdict,
            });
        });
    }

    /// Sends a heartbeat of our own. One that `counts` is answered to the state machine; the others only tell what native tasks have counted.
    fn beat(self: &Arc<Self>, counts: bool) {
        self.native.poll_memory(&self.report);
        if counts {
            self.settle_memory();
        }
        let executor_updates = self.native.peaks.take_updates().into_iter().collect();
        let accum_updates = self
            .native
            .progress()
            .iter()
            .map(|progress| wire::messages::task_progress(progress, &self.catalog))
            .collect::<Result<Vec<_>, _>>();
        let content = accum_updates.and_then(|accum_updates| {
            Heartbeat {
                executor_id: self.executor_id.clone(),
                block_manager_id: self.block_manager_id().clone(),
                accum_updates,
                executor_updates,
            }
            .encode(&self.catalog)
        });
        let content = match content {
            Ok(content) => content,
            Err(error) => return self.bug("Heartbeat", &error),
        };
        let shared = Arc::clone(self);
        self.runtime.spawn(async move {
            let answer = shared
                .driver
                .ask(
                    "HeartbeatReceiver",
                    content.into(),
                    shared.heartbeat_interval,
                )
                .await;
            if counts {
                let answer = judge_beat(&answer);
                shared.input(Input::HeartbeatAnswer {
                    from_jvm: false,
                    answer,
                });
            }
        });
    }

    fn reregister(self: &Arc<Self>, jvm_ask: Option<i64>) {
        info!(target: "BlockManager", "BlockManager {} re-registering with master", self.block_manager_id());
        let message = RegisterBlockManager {
            is_re_register: true,
            ..self.registration.clone()
        };
        let content = match message.encode(&self.catalog) {
            Ok(content) => content,
            Err(error) => return self.bug("RegisterBlockManager", &error),
        };
        let shared = Arc::clone(self);
        self.runtime.spawn(async move {
            let answer = shared
                .driver
                .ask("BlockManagerMaster", content.into(), shared.ask_timeout)
                .await;
            let verdict = match &answer {
                Ok(body) => BlockManagerId::decode(body)
                    .map(|id| id.executor_id != "invalid")
                    .map_err(|e| failure_text(body, &e)),
                Err(error) => Err(error.to_string()),
            };
            if let Some(id) = jvm_ask {
                match answer {
                    Ok(body) => shared.lane().ask_reply(id, body),
                    Err(error) => shared.lane().ask_failure(id, &error.to_string()),
                }
            }
            if verdict == Ok(true) {
                shared.native.plane.blocks.report_all().await;
            }
            shared.input(Input::ReregisterAnswer(verdict));
        });
    }

    fn ask_decommission(self: &Arc<Self>) {
        let message = ExecutorDecommissioning {
            executor_id: self.executor_id.clone(),
        };
        let content = match message.encode(&self.catalog) {
            Ok(content) => content,
            Err(error) => return self.bug("ExecutorDecommissioning", &error),
        };
        let shared = Arc::clone(self);
        self.runtime.spawn(async move {
            let answer = shared.driver.ask("CoarseGrainedScheduler", content.into(), shared.ask_timeout).await;
            let accepted = match answer {
                Ok(body) => reply::read_boolean(&body).unwrap_or(false),
                Err(error) => {
                    warn!(target: "CoarseGrainedExecutorBackend", "The driver did not answer ExecutorDecommissioning: {error}");
                    false
                }
            };
            shared.input(Input::DecommissionAnswer(accepted));
        });
    }

    fn task_killed(&self, task_id: i64, reason: String) {
        let Some(header) = self.waiting_tasks.lock().remove(&task_id) else {
            warn!(target: "CoarseGrainedExecutorBackend", "Nothing is known of task {task_id} any more");
            return;
        };
        let update = TaskKilled::new(&reason)
            .encode(&self.catalog)
            .and_then(|data| {
                StatusUpdate {
                    executor_id: self.executor_id.clone(),
                    task_id,
                    state: TaskState::KILLED,
                    data: data.into(),
                    task_cpus: header.cpus,
                    resources: header.resources,
                }
                .encode(&self.catalog)
            });
        self.tell_scheduler("StatusUpdate", update);
    }

    fn migration_info(&self) -> Input {
        let migration = self.migration.lock();
        let Some(migration) = &*migration else {
            return Input::MigrationInfo {
                since: Time::MAX,
                done: true,
            };
        };
        let (began, done) = migration.last_migration_info();
        let since = match migration.is_stopped() {
            true => Time::MAX,
            false => began.map_or(Time::ZERO, |began| {
                began.saturating_duration_since(self.process_start)
            }),
        };
        Input::MigrationInfo { since, done }
    }

    fn reply(&self, id: RequestId, what: Reply) {
        let Some(handle) = self.replies.lock().remove(&id) else {
            return;
        };
        let c = &self.catalog;
        let content = match what {
            Reply::Boolean(value) => reply::boolean(value, c),
            Reply::Integer(n) => reply::integer(n, c),
            Reply::None => reply::none(c),
            Reply::EmptySeq => reply::empty_seq(c),
            Reply::NoThreads => reply::empty_array("org.apache.spark.status.api.v1.ThreadStackTrace", c),
            Reply::NoStrings => reply::empty_array("java.lang.String", c),
            Reply::Unit => reply::unit(c),
            Reply::NoSuchEndpoint => return handle.failure("org.apache.spark.SparkException: this executor has no such endpoint, or no JVM that knows this message"),
        };
        match content {
            Ok(content) => handle.success(content.into()),
            Err(error) => {
                self.bug("a reply", &error);
                handle.failure(error.to_string());
            }
        }
    }

    /// Last words before the process ends: the report, the log line, the local directories. Runs once.
    pub(super) fn finish(&self, code: i32) {
        if self.finished.swap(true, Ordering::AcqRel) {
            return;
        }
        info!(target: "Firesteel", "{}", self.report.summary());
        match self.report.write(code) {
            Ok(Some(path)) => debug!(target: "Firesteel", "Report written to {}", path.display()),
            Ok(None) => {}
            Err(error) => {
                error!(target: "Firesteel", "Cannot write the report named by FIRESTEEL_REPORT: {error}")
            }
        }
        self.local_dirs.remove();
    }
}

fn judge_beat(answer: &Result<Bytes, transport::AskError>) -> Result<bool, String> {
    match answer {
        Ok(body) => HeartbeatResponse::decode(body)
            .map(|r| r.reregister_block_manager)
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
