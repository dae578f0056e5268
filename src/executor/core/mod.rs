//! The running executor as a state machine without sockets, clock or threads.
//!
//! ```text
//!   Running ──StopExecutor, driver lost, fatal error──▶ Draining ──JVM gone or deadline──▶ Stopped
//!      │                                                                                      ▲
//!      └───────────────────────────(no JVM to wait for)───────────────────────────────────────┘
//! ```
//!
//! Inputs are messages of the driver, messages of the embedded JVM, answers and clock ticks; outputs are messages,
//! commands for the JVM and an exit code. Rules and log lines are those of
//! `org.apache.spark.executor.CoarseGrainedExecutorBackend`. What comes before (fetching properties and registering) is
//! a straight line and lives in `startup`.

mod leaving;
mod reaper;
mod tasks;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tracing::{debug, error, info, warn};

use super::events::{DriverCommand, Input, JvmMessage, Output, Reply, RequestId, Time};
use super::exit_code;
use super::heartbeat::HeartbeatClock;
use crate::report::Report;
use leaving::Leaving;
pub use reaper::Reaper;
use tasks::Task;

/// Name under which Spark logs what this state machine does.
const LOG: &str = "CoarseGrainedExecutorBackend";

/// How long an ordered stop waits for the JVM's shutdown hooks.
const STOP_DEADLINE: Duration = Duration::from_secs(60);
/// How long the JVM may take to leave after the driver was lost.
const LOST_DEADLINE: Duration = Duration::from_secs(5);

/// Rules that come from settings and version.
#[derive(Debug, Clone)]
pub struct CoreConfig {
    /// `spark.executor.heartbeatInterval`
    pub heartbeat_interval: Duration,
    /// `spark.executor.heartbeat.maxFailures`
    pub heartbeat_max_failures: u32,
    /// Share of an interval by which the first heartbeat is late, 0..1.
    pub heartbeat_jitter: f64,
    /// `spark.decommission.enabled`
    pub decommission_enabled: bool,
    /// Blocks move to other executors before a decommissioned one leaves.
    pub migration: bool,
    /// When a decommissioned executor first looks whether it may leave.
    pub decommission_first_look: Duration,
    /// Files of shuffles may have to go where only the JVM can write
    /// (`spark.storage.decommission.fallbackStorage.path`).
    pub jvm_migrates: bool,
    /// The driver gives tasks only after a JVM, which a setting wants from the start, is ready.
    pub tasks_wait_for_jvm: bool,
    /// `spark.task.reaper.enabled`
    pub reaper: Option<Reaper>,
    /// Exit code after a refused re-registration of the block manager (58 from Spark 4.0 on, else -1).
    pub reregistration_exit_code: i32,
}

#[derive(Debug, PartialEq, Eq)]
enum Jvm {
    Absent,
    /// Being created; holds what the driver said to it meanwhile.
    Starting(Vec<Pending>),
    Ready,
}

#[derive(Debug, PartialEq, Eq)]
struct Pending {
    /// Set for a task that has not reached the JVM, so that it can still be taken back.
    task_id: Option<i64>,
    envelope: Bytes,
    request: Option<RequestId>,
}

/// The executor between registration and exit.
#[derive(Debug)]
pub struct Core {
    state: LifeCycle,
}

#[derive(Debug)]
enum LifeCycle {
    Running(Box<Running>),
    Draining(Draining),
    Stopped(i32),
}

impl Core {
    /// An executor that the driver has just accepted.
    pub fn new(now: Time, config: CoreConfig, report: Arc<Report>) -> Self {
        let heartbeat = HeartbeatClock::new(
            now,
            config.heartbeat_interval,
            config.heartbeat_max_failures,
            config.heartbeat_jitter,
        );
        let running = Running {
            config,
            report,
            heartbeat,
            tasks: HashMap::new(),
            jvm: Jvm::Absent,
            jvm_asked_at: now,
            jvm_must_reregister: false,
            latest_tokens: None,
            leaving: None,
            task_ended: Time::ZERO,
            judged_since_trim: false,
            logged_reasons: HashSet::new(),
        };
        Self {
            state: LifeCycle::Running(Box::new(running)),
        }
    }

    /// Takes one input; what to do is appended to `out`.
    pub fn handle(&mut self, now: Time, input: Input, out: &mut Vec<Output>) {
        let state = std::mem::replace(&mut self.state, LifeCycle::Stopped(exit_code::SUCCESS));
        self.state = match state {
            LifeCycle::Running(running) => running.handle(now, input, out),
            LifeCycle::Draining(draining) => draining.handle(now, input, out),
            LifeCycle::Stopped(code) => LifeCycle::Stopped(code),
        };
    }

    /// When [`Input::Tick`] is wanted next, at the latest.
    pub fn next_tick(&self) -> Option<Time> {
        match &self.state {
            LifeCycle::Running(r) => {
                let poll = r.leaving.as_ref().and_then(Leaving::poll);
                let others = poll.into_iter().chain(r.reaper_is_due());
                Some(others.fold(r.heartbeat.due(), Time::min))
            }
            LifeCycle::Draining(d) => Some(d.deadline),
            LifeCycle::Stopped(_) => None,
        }
    }

    /// Whether the JVM has been told to run tasks and has not gone since.
    pub fn jvm_is_ready(&self) -> bool {
        match &self.state {
            LifeCycle::Running(r) => r.jvm == Jvm::Ready,
            LifeCycle::Draining(d) => d.jvm_ready,
            LifeCycle::Stopped(_) => false,
        }
    }
}

#[derive(Debug)]
struct Running {
    config: CoreConfig,
    report: Arc<Report>,
    heartbeat: HeartbeatClock,
    tasks: HashMap<i64, Task>,
    jvm: Jvm,
    jvm_asked_at: Time,
    /// The driver forgot our blocks: the JVM reports its own at its next heartbeat.
    jvm_must_reregister: bool,
    /// The last `UpdateDelegationTokens`, for a JVM that does not exist yet.
    latest_tokens: Option<Bytes>,
    /// Set once it is decommissioned.
    leaving: Option<Leaving>,
    /// When the last task ended.
    task_ended: Time,
    /// The native lanes have had tasks since free memory was given back last.
    judged_since_trim: bool,
    logged_reasons: HashSet<(String, String)>,
}

impl Running {
    fn handle(mut self: Box<Self>, now: Time, input: Input, out: &mut Vec<Output>) -> LifeCycle {
        match input {
            Input::Driver {
                command,
                envelope,
                request,
            } => return self.driver(now, command, envelope, request, out),
            Input::Endpoint {
                without_jvm,
                envelope,
                request,
            } => match (&self.jvm, request) {
                (Jvm::Ready, Some(id)) => out.push(Output::JvmRequest(id, envelope)),
                (Jvm::Ready, None) => out.push(Output::JvmOneWay(envelope)),
                (_, Some(id)) => out.push(Output::Reply(id, without_jvm)),
                (_, None) => {
                    debug!(target: LOG, "Nothing to do for a one-way message while no JVM runs")
                }
            },
            Input::ThreadDump { envelope, request } => out.push(match &self.jvm {
                Jvm::Ready => Output::JvmRequest(request, envelope),
                _ => Output::ReplyThreads(request, self.native_attempts()),
            }),
            Input::Jvm {
                message,
                envelope,
                ask,
            } => return self.jvm(now, message, envelope, ask, out),
            Input::HeartbeatAnswer { from_jvm, answer } => {
                return self.heartbeat_answer(from_jvm, answer, out);
            }
            Input::ReregisterAnswer(Ok(true)) => {}
            Input::ReregisterAnswer(Ok(false)) => {
                error!(target: "BlockManager", "Exiting executor due to block manager re-registration failure");
                let code = self.config.reregistration_exit_code;
                return self.exit(now, code, None, out);
            }
            Input::ReregisterAnswer(Err(why)) => {
                warn!(target: "BlockManager", "Block manager re-registration was not answered: {why}")
            }
            Input::DecommissionAnswer(true) => self.decommission(now, out),
            Input::DecommissionAnswer(false) => {
                error!(target: LOG, "The driver refused to decommission this executor")
            }
            Input::TaskJudged { task_id, verdict } => self.judged(now, task_id, verdict, out),
            Input::TaskEnded {
                task_id,
                end,
                update,
            } => {
                self.note_status(now, task_id, Some(end));
                out.push(Output::Forward(update));
            }
            Input::TaskBailedOut { task_id, reason } => {
                self.bailed_out(now, task_id, reason, out);
            }
            Input::MigrationInfo { since, done } => {
                return self.migration_info(now, since, done, out);
            }
            Input::JvmFailed(why) => {
                error!(target: LOG, "The JVM for delegated tasks cannot run: {why}");
                let reason = format!("Unable to create executor due to {why}");
                return self.exit(now, exit_code::FAILURE, Some(reason), out);
            }
            Input::DriverLost { driver } => {
                error!(target: LOG, "Executor self-exiting due to : Driver {driver} disassociated! Shutting down.");
                // Spark's backend wants to exit with 1 here, but at work it shuts its RPC environment down first, whose
                // end lets `main` return: the process that a cluster manager sees ends with 0. So does ours.
                let code = exit_code::SUCCESS;
                return self.leave(now, code, LOST_DEADLINE, Output::JvmDisconnected, out);
            }
            Input::WorkerLost { url } => {
                error!(target: "WorkerWatcher", "Lost connection to worker rpc endpoint {url}. Exiting.");
                return self.exit(now, exit_code::WORKER_LOST, None, out);
            }
            Input::Terminate => {
                error!(target: LOG, "RECEIVED SIGNAL TERM");
                return self.exit(now, exit_code::TERMINATED, None, out);
            }
            Input::DecommissionSignal => self.decommission_signal(out),
            Input::JvmWanted(why) => {
                if self.jvm == Jvm::Absent {
                    self.start_jvm(now, &why, None, out);
                }
            }
            Input::Stop => {
                return self.exit(
                    now,
                    exit_code::SUCCESS,
                    Some("Executor stopped by its host program".to_owned()),
                    out,
                );
            }
            Input::Tick => return self.tick(now, out),
        }
        LifeCycle::Running(self)
    }

    fn driver(
        mut self: Box<Self>,
        now: Time,
        command: DriverCommand,
        envelope: Bytes,
        request: Option<RequestId>,
        out: &mut Vec<Output>,
    ) -> LifeCycle {
        match command {
            DriverCommand::LaunchTask {
                description,
                delegated,
            } => self.launch(now, description, delegated, envelope, out),
            DriverCommand::UnreadableTask(why) => {
                let reason = format!("Cannot read the task description in LaunchTask: {why}");
                error!(target: LOG, "{reason}");
                return self.exit(now, exit_code::FAILURE, Some(reason), out);
            }
            DriverCommand::KillTask { task_id, reason } => {
                self.kill(now, task_id, reason, envelope, out)
            }
            DriverCommand::StopExecutor => {
                info!(target: LOG, "Driver commanded a shutdown");
                return self.leave(
                    now,
                    exit_code::SUCCESS,
                    STOP_DEADLINE,
                    Output::JvmOneWay(envelope),
                    out,
                );
            }
            DriverCommand::Decommission => {
                info!(target: LOG, "Received decommission executor message");
                self.decommission(now, out);
            }
            DriverCommand::UpdateDelegationTokens => match &mut self.jvm {
                Jvm::Ready => out.push(Output::JvmOneWay(envelope)),
                Jvm::Starting(pending) => pending.push(Pending {
                    task_id: None,
                    envelope,
                    request: None,
                }),
                // Credentials matter only to the lanes; a JVM that starts later takes the latest.
                Jvm::Absent => self.latest_tokens = Some(envelope),
            },
            DriverCommand::UpdateLogLevel(level) => {
                out.push(Output::SetLogLevel(level));
                self.hand_to_jvm_if_any(envelope, request, out);
            }
            DriverCommand::TaskThreadDump { task_id } => {
                let attempt = self.native_attempt(task_id);
                match (&self.jvm, request) {
                    (Jvm::Ready, Some(id)) if attempt.is_none() => {
                        out.push(Output::JvmRequest(id, envelope));
                    }
                    (_, Some(id)) => out.push(Output::ReplyThread(id, attempt)),
                    (_, None) => {}
                }
            }
            DriverCommand::Unknown(class) => {
                debug!(target: LOG, "Message {class} is left to the JVM");
                match (&self.jvm, request) {
                    (Jvm::Absent, Some(id)) => out.push(Output::Reply(id, Reply::NoSuchEndpoint)),
                    (Jvm::Absent, None) => {
                        warn!(target: LOG, "Ignored message {class}: no JVM runs that could take it")
                    }
                    _ => self.hand_to_jvm_if_any(envelope, request, out),
                }
            }
        }
        LifeCycle::Running(self)
    }

    fn hand_to_jvm_if_any(
        &mut self,
        envelope: Bytes,
        request: Option<RequestId>,
        out: &mut Vec<Output>,
    ) {
        match (&mut self.jvm, request) {
            (Jvm::Absent, _) => {}
            (Jvm::Starting(pending), request) => pending.push(Pending {
                task_id: None,
                envelope,
                request,
            }),
            (Jvm::Ready, Some(id)) => out.push(Output::JvmRequest(id, envelope)),
            (Jvm::Ready, None) => out.push(Output::JvmOneWay(envelope)),
        }
    }

    fn start_jvm(&mut self, now: Time, why: &str, first: Option<Pending>, out: &mut Vec<Output>) {
        info!(target: LOG, "Starting the embedded JVM for {why}");
        let tokens = self.latest_tokens.take().map(|envelope| Pending {
            task_id: None,
            envelope,
            request: None,
        });
        self.jvm = Jvm::Starting(tokens.into_iter().chain(first).collect());
        self.jvm_asked_at = now;
        self.report.set_jvm_started();
        out.push(Output::StartJvm);
    }

    fn jvm(
        mut self: Box<Self>,
        now: Time,
        message: JvmMessage,
        envelope: Bytes,
        ask: Option<i64>,
        out: &mut Vec<Output>,
    ) -> LifeCycle {
        match (message, ask) {
            (JvmMessage::RegisterExecutor | JvmMessage::CheckKnownEndpoint, Some(id)) => {
                out.push(Output::AnswerTrue(id))
            }
            (JvmMessage::RegisterBlockManager { again: false }, Some(id)) => {
                out.push(Output::AnswerBlockManagerId(id))
            }
            (JvmMessage::RegisterBlockManager { again: true }, Some(id)) => {
                out.push(Output::Reregister(Some(id)))
            }
            (JvmMessage::LaunchedExecutor, None) => {
                if let Jvm::Starting(pending) = std::mem::replace(&mut self.jvm, Jvm::Ready) {
                    let took = now.saturating_sub(self.jvm_asked_at);
                    info!(target: LOG, "The embedded JVM is ready after {} ms", took.as_millis());
                    self.report.set_jvm_ready(took);
                    if self.config.tasks_wait_for_jvm {
                        out.push(Output::Forward(envelope));
                    }
                    out.extend(pending.into_iter().map(|p| match p.request {
                        Some(id) => Output::JvmRequest(id, p.envelope),
                        None => Output::JvmOneWay(p.envelope),
                    }));
                    if self.leaving.is_some() {
                        self.decommission_jvm_blocks(out);
                    }
                }
            }
            (JvmMessage::Heartbeat, Some(id)) if std::mem::take(&mut self.jvm_must_reregister) => {
                out.push(Output::AnswerReregister(id))
            }
            (JvmMessage::Heartbeat, Some(id)) => {
                self.heartbeat.jvm_has_beaten(now);
                self.trim_memory_if_idle(out);
                out.push(Output::ForwardHeartbeat(id, envelope));
                let running = self.native_attempts();
                if !running.is_empty() {
                    out.push(Output::Heartbeat {
                        counts: false,
                        running,
                    });
                }
            }
            (JvmMessage::StatusUpdate { task_id, end }, _) => {
                self.note_status(now, task_id, end);
                out.push(Output::Forward(envelope));
            }
            (JvmMessage::RemoveExecutor, _) => {
                // The JVM's backend says why and then exits by itself; our exit hook ends the process with its code.
                out.push(Output::Forward(envelope));
            }
            (_, Some(id)) => out.push(Output::ForwardAsk(id, envelope)),
            (_, None) => out.push(Output::Forward(envelope)),
        }
        LifeCycle::Running(self)
    }

    fn heartbeat_answer(
        mut self: Box<Self>,
        from_jvm: bool,
        answer: Result<bool, String>,
        out: &mut Vec<Output>,
    ) -> LifeCycle {
        match answer {
            Ok(reregister) => {
                self.heartbeat.succeeded();
                // A JVM that sent the beat re-registers by itself; otherwise we do, and the JVM reports its blocks at
                // its next beat.
                if reregister && !from_jvm {
                    info!(target: "Executor", "Told to re-register on heartbeat");
                    self.jvm_must_reregister = self.jvm == Jvm::Ready;
                    out.push(Output::Reregister(None));
                }
                LifeCycle::Running(self)
            }
            Err(why) => {
                warn!(target: "Executor", "Issue communicating with driver in heartbeater: {why}");
                if self.heartbeat.failed() {
                    let n = self.heartbeat.failures();
                    error!(target: "Executor", "Exit as unable to send heartbeats to driver more than {n} times");
                    out.push(Output::Exit(exit_code::HEARTBEAT_FAILURE));
                    return LifeCycle::Stopped(exit_code::HEARTBEAT_FAILURE);
                }
                LifeCycle::Running(self)
            }
        }
    }

    fn tick(mut self: Box<Self>, now: Time, out: &mut Vec<Output>) -> LifeCycle {
        if self.heartbeat.beat_is_due(now) {
            self.trim_memory_if_idle(out);
            out.push(Output::Heartbeat {
                counts: true,
                running: self.native_attempts(),
            });
        }
        match self.look_whether_to_leave(now, out) {
            LifeCycle::Running(running) => running.reap(now, out),
            left => left,
        }
    }

    /// Leaves on our own decision: the driver is told why, if there is a reason for it.
    fn exit(
        self: Box<Self>,
        now: Time,
        code: i32,
        reason: Option<String>,
        out: &mut Vec<Output>,
    ) -> LifeCycle {
        if let Some(reason) = reason {
            out.push(Output::RemoveExecutor { reason });
        }
        self.leave(now, code, LOST_DEADLINE, Output::JvmExit(code), out)
    }

    /// Leaves with `code`: `to_jvm` makes a running JVM go first, for at most `patience`.
    fn leave(
        self: Box<Self>,
        now: Time,
        code: i32,
        patience: Duration,
        to_jvm: Output,
        out: &mut Vec<Output>,
    ) -> LifeCycle {
        if self.jvm == Jvm::Ready {
            out.push(to_jvm);
            return LifeCycle::Draining(Draining {
                code,
                deadline: now + patience,
                jvm_ready: true,
            });
        }
        out.push(Output::Exit(code));
        LifeCycle::Stopped(code)
    }
}

/// The exit is decided; only the JVM's shutdown hooks may still run. The JVM's exit hook ends the process; this state
/// ends it when that takes too long.
#[derive(Debug)]
struct Draining {
    code: i32,
    deadline: Time,
    jvm_ready: bool,
}

impl Draining {
    fn handle(self, now: Time, input: Input, out: &mut Vec<Output>) -> LifeCycle {
        match input {
            Input::Jvm {
                envelope,
                ask: None,
                ..
            } => out.push(Output::Forward(envelope)),
            Input::Jvm {
                envelope,
                ask: Some(id),
                ..
            } => out.push(Output::ForwardAsk(id, envelope)),
            Input::Endpoint {
                envelope,
                request: Some(id),
                ..
            } => out.push(Output::JvmRequest(id, envelope)),
            Input::ThreadDump { envelope, request } => {
                out.push(Output::JvmRequest(request, envelope));
            }
            Input::Tick if now >= self.deadline => {
                warn!(target: LOG, "The JVM did not end in time; leaving without it");
                out.push(Output::Exit(self.code));
                return LifeCycle::Stopped(self.code);
            }
            _ => {}
        }
        LifeCycle::Draining(self)
    }
}

#[cfg(test)]
mod tests;
