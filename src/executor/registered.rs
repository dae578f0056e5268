//! The registered executor with its sockets and its JVM: carries out what the state machine decides.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tracing::warn;
use wire::messages::{DecommissionBlockManager, DecommissionExecutor, HeartbeatResponse, reply};

use super::core::Core;
use super::driver_link::{DriverLink, heartbeat_answer};
use super::ending::Ending;
use super::events::{Input, Output, Time};
use super::inbound::{BLOCK_MANAGER, EXECUTOR};
use super::jvm_link::JvmLink;
use super::native::{self, NativeAttempt, NativeTasks};
use super::replies::{NOBODY_ASKS, Replies};
use super::threads;
use crate::blocks::LocalDirs;
use crate::blocks::store::Decommissioner;
use crate::logging::LevelHandle;
use crate::report::Report;
use crate::rpc::FileServer;
use crate::task::jvm::Jvm;

/// How long answers for the JVM are waited for. The JVM has its own, shorter limits; some of its asks (barriers) may
/// wait for a year.
const FOREVER: Duration = Duration::from_secs(400 * 24 * 3600);

/// A registered executor.
pub(super) struct RegisteredExecutor {
    /// What has been decided, and what is decided next.
    pub(super) core: Mutex<Core>,
    /// The state machine's next look at the clock has come nearer.
    pub(super) rearm: Notify,
    /// When the process started: the zero of the state machine's clock.
    pub(super) process_start: Instant,
    /// The driver.
    pub(super) driver: DriverLink,
    /// Asks of the driver that have not been answered.
    pub(super) replies: Replies,
    /// The JVM.
    pub(super) jvm: JvmLink,
    /// Tasks that run without it.
    pub(super) native: NativeTasks,
    /// Moves the blocks of the native lanes away once the executor is decommissioned.
    pub(super) migration: Mutex<Option<Decommissioner>>,
    /// Where blocks are on disk.
    pub(super) local_dirs: Arc<LocalDirs>,
    /// The driver's files.
    pub(super) files: FileServer,
    /// What has been counted.
    pub(super) report: Arc<Report>,
    /// The log's level.
    pub(super) level: Arc<LevelHandle>,
    /// The end.
    pub(super) ending: Ending,
    /// The IO threads.
    pub(super) runtime: tokio::runtime::Handle,
}

impl RegisteredExecutor {
    /// Time since the start of the process.
    pub(super) fn now(&self) -> Time {
        self.process_start.elapsed()
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
            Output::Judge(description) => native::judge(self, *description),
            Output::RunNative(attempt) => attempt.run(self),
            Output::KillNative { attempt, reason } => attempt.kill(&reason),
            Output::TrimMemory => {
                self.runtime.spawn_blocking(crate::memory::trim);
            }
            Output::TaskKilled {
                task_id,
                reason,
                header,
            } => self.driver.task_killed(task_id, &reason, &header),
            Output::StartJvm => super::jvm_start::start(Arc::clone(self)),
            Output::JvmOneWay(envelope) => self.jvm.get().one_way(envelope),
            Output::JvmRequest(id, envelope) => {
                self.jvm.get().rpc_request(id.cast_signed(), envelope)
            }
            Output::JvmDecommissionBlocks => self.decommission_blocks_of_jvm(),
            Output::JvmDecommission => self.decommission_jvm(),
            Output::JvmDisconnected => self.jvm.get().disconnected(),
            Output::JvmExit(code) => self.jvm.get().exit(code),
            Output::AnswerTrue(id) => self
                .jvm
                .answer(id, reply::boolean(true, &self.driver.catalog)),
            Output::AnswerBlockManagerId(id) => {
                let identity = self.driver.block_manager_id().encode(&self.driver.catalog);
                self.jvm.answer(id, identity);
            }
            Output::AnswerReregister(id) => {
                let response = HeartbeatResponse {
                    reregister_block_manager: true,
                };
                self.jvm.answer(id, response.encode(&self.driver.catalog));
            }
            Output::Forward(envelope) => self.driver.endpoint.tell_raw(envelope),
            Output::ForwardAsk(id, envelope) => self.forward_ask(id, envelope),
            Output::Heartbeat { counts, running } => self.beat(counts, &running),
            Output::ForwardHeartbeat(id, envelope) => self.forward_beat(id, envelope),
            Output::Reregister(jvm_ask) => self.register_again(jvm_ask),
            Output::AskDecommission => self.ask_decommission(),
            Output::StartMigration => {
                let _guard = self.runtime.enter();
                let plane = &self.native.plane;
                let shuffle = Arc::clone(&plane.shuffle);
                // What others take over are rows.
                let make_rows = move || shuffle.files_are_read();
                *self.migration.lock() = Some(Decommissioner::start(&plane.blocks, make_rows));
            }
            Output::MigrateAgain => {
                if let Some(migration) = &*self.migration.lock() {
                    migration.look_again();
                }
            }
            Output::AskMigration => {
                let executor = Arc::clone(self);
                // Not from here: the state machine is being carried out.
                self.runtime.spawn(async move {
                    let input = executor.migration_info();
                    executor.input(input);
                });
            }
            Output::RemoveExecutor { reason } => self.driver.remove_executor(reason),
            Output::ReplyThreads(id, running) => {
                let executor = Arc::clone(self);
                self.runtime.spawn_blocking(move || {
                    let found = threads::of_process(&running);
                    let content = reply::threads(&found, &executor.driver.catalog);
                    executor.replies.send(id, content);
                });
            }
            Output::ReplyThread(id, attempt) => {
                let thread = attempt.and_then(|attempt| threads::of_task(&attempt));
                let content = reply::thread(thread, &self.driver.catalog);
                self.replies.send(id, content);
            }
            Output::Reply(id, reply) => self.replies.answer(id, reply, &self.driver.catalog),
            Output::SetLogLevel(level) => {
                if !self.level.set_log4j_level(&level) {
                    warn!(target: "CoarseGrainedExecutorBackend", "Unknown log level {level}");
                }
            }
            Output::Exit(code) => self.ending.exit(code),
        }
    }

    /// The JVM once it runs tasks.
    pub(super) fn ready_jvm(&self) -> Option<&dyn Jvm> {
        if self.core.lock().jvm_is_ready() {
            self.jvm.if_created()
        } else {
            None
        }
    }

    fn decommission_blocks_of_jvm(&self) {
        let content = DecommissionBlockManager.encode(&self.driver.catalog);
        let envelope = self
            .driver
            .envelope(BLOCK_MANAGER, "DecommissionBlockManager", content);
        if let Some(envelope) = envelope {
            self.jvm.get().rpc_request(NOBODY_ASKS, envelope);
        }
    }

    fn decommission_jvm(&self) {
        let content = DecommissionExecutor.encode(&self.driver.catalog);
        let envelope = self
            .driver
            .envelope(EXECUTOR, "DecommissionExecutor", content);
        if let Some(envelope) = envelope {
            self.jvm.get().one_way(envelope);
        }
    }

    fn forward_ask(self: &Arc<Self>, id: i64, envelope: Bytes) {
        let asked = self.driver.endpoint.start_ask_raw(envelope);
        let executor = Arc::clone(self);
        self.runtime.spawn(async move {
            executor.jvm.pass_on(id, asked.answer(FOREVER).await);
        });
    }

    /// With every heartbeat: a JVM gets its part.
    fn settle_memory(self: &Arc<Self>) {
        if self.jvm.if_created().is_some() {
            let executor = Arc::clone(self);
            // It may write blocks to disk, and tell the driver.
            self.runtime
                .spawn_blocking(move || executor.native.share_memory_with_jvm());
        }
    }

    fn forward_beat(self: &Arc<Self>, id: i64, envelope: Bytes) {
        self.settle_memory();
        let asked = self.driver.endpoint.start_ask_raw(envelope);
        let executor = Arc::clone(self);
        self.runtime.spawn(async move {
            let answer = asked.answer(executor.driver.heartbeat_interval).await;
            let verdict = heartbeat_answer(&answer);
            executor.jvm.pass_on(id, answer);
            executor.input(Input::HeartbeatAnswer {
                from_jvm: true,
                answer: verdict,
            });
        });
    }

    /// Sends a heartbeat of our own. One that `counts` is answered to the state machine; the others only tell what
    /// native tasks have counted.
    fn beat(self: &Arc<Self>, counts: bool, running: &[Arc<NativeAttempt>]) {
        self.native.poll_memory(&self.report);
        if counts {
            self.settle_memory();
        }
        let executor_updates = self.native.peaks.take_updates();
        let tasks = running
            .iter()
            .map(|attempt| (attempt.id(), attempt.counted()))
            .collect();
        let executor = Arc::clone(self);
        self.runtime.spawn(async move {
            let answer = executor.driver.heartbeat(tasks, executor_updates).await;
            if let (true, Some(answer)) = (counts, answer) {
                executor.input(Input::HeartbeatAnswer {
                    from_jvm: false,
                    answer,
                });
            }
        });
    }

    fn register_again(self: &Arc<Self>, jvm_ask: Option<i64>) {
        let executor = Arc::clone(self);
        self.runtime.spawn(async move {
            let Some((answer, accepted)) = executor.driver.register_again().await else {
                return;
            };
            if let Some(id) = jvm_ask {
                executor.jvm.pass_on(id, answer);
            }
            if accepted == Ok(true) {
                executor.native.plane.blocks.report_all().await;
            }
            executor.input(Input::ReregisterAnswer(accepted));
        });
    }

    fn ask_decommission(self: &Arc<Self>) {
        let executor = Arc::clone(self);
        self.runtime.spawn(async move {
            if let Some(accepted) = executor.driver.may_decommission().await {
                executor.input(Input::DecommissionAnswer(accepted));
            }
        });
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
}
