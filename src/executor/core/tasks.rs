//! The table of tasks: who runs what, from the launch to the last status update.

use std::sync::Arc;

use bytes::Bytes;
use tracing::{debug, info};
use wire::task_description::TaskDescription;

use super::super::events::{Output, TaskHeader, Time, Verdict};
use super::super::native::NativeAttempt;
use super::reaper::Killed;
use super::{Jvm, LOG, Pending, Running};
use crate::config::LaneName;
use crate::report::TaskEnd;

/// Stage and reason pairs whose delegation has been logged; beyond this many they are logged at debug level only.
const MAX_LOGGED_REASONS: usize = 1000;

/// A task that the driver launched here.
#[derive(Debug)]
pub(super) struct Task {
    name: String,
    header: TaskHeader,
    place: Place,
    /// Set once a native lane was told to stop it.
    pub(super) killed: Option<Killed>,
}

#[derive(Debug)]
enum Place {
    /// The native lanes look at it; holds the `LaunchTask` for the JVM.
    Judged(Bytes),
    /// In a native lane; holds the `LaunchTask` in case it bails out.
    Native(Arc<NativeAttempt>, Bytes),
    /// In the jvm lane.
    Jvm,
}

impl Task {
    fn lane(&self) -> LaneName {
        match &self.place {
            Place::Native(attempt, _) => attempt.lane(),
            Place::Judged(_) | Place::Jvm => LaneName::Jvm,
        }
    }

    fn native_attempt(&self) -> Option<&Arc<NativeAttempt>> {
        match &self.place {
            Place::Native(attempt, _) => Some(attempt),
            Place::Judged(_) | Place::Jvm => None,
        }
    }
}

impl Running {
    /// A task that the driver gives; `delegated` says why the native lanes do not even look at it.
    pub(super) fn launch(
        &mut self,
        now: Time,
        description: Box<TaskDescription>,
        delegated: Option<String>,
        envelope: Bytes,
        out: &mut Vec<Output>,
    ) {
        let task_id = description.task_id;
        let place = match delegated {
            Some(_) => Place::Jvm,
            None => Place::Judged(envelope.clone()),
        };
        let task = Task {
            name: description.name.clone(),
            header: TaskHeader::from(&*description),
            place,
            killed: None,
        };
        self.tasks.insert(task_id, task);
        match delegated {
            Some(reason) => self.delegate(now, task_id, reason, envelope, out),
            None => {
                self.judged_since_trim = true;
                out.push(Output::Judge(description));
            }
        }
    }

    pub(super) fn judged(
        &mut self,
        now: Time,
        task_id: i64,
        verdict: Verdict,
        out: &mut Vec<Output>,
    ) {
        // A task that was killed meanwhile is not there any more.
        let Some(task) = self.tasks.get_mut(&task_id) else {
            return;
        };
        let Place::Judged(envelope) = &task.place else {
            return;
        };
        let envelope = envelope.clone();
        match verdict {
            Verdict::Run(attempt) => {
                task.place = Place::Native(Arc::clone(&attempt), envelope);
                out.push(Output::RunNative(attempt));
            }
            Verdict::Delegate(reason) => {
                task.place = Place::Jvm;
                self.delegate(now, task_id, reason, envelope, out);
            }
        }
    }

    pub(super) fn bailed_out(
        &mut self,
        now: Time,
        task_id: i64,
        reason: String,
        out: &mut Vec<Output>,
    ) {
        let Some(task) = self.tasks.get_mut(&task_id) else {
            return;
        };
        let Place::Native(attempt, envelope) = &task.place else {
            return;
        };
        info!(target: LOG, "{} leaves the {} lane: {reason}", task.name, attempt.lane().name());
        let envelope = envelope.clone();
        self.report.count_bailed_out(&reason);
        // The kill came when the lane was already done.
        if let Some(killed) = task.killed.take() {
            return self.killed_before_it_began(task_id, killed.reason, out);
        }
        task.place = Place::Jvm;
        self.hand_task_to_jvm(now, task_id, envelope, out);
    }

    /// Gives a task to the jvm lane, which it is already noted to be in.
    fn delegate(
        &mut self,
        now: Time,
        task_id: i64,
        reason: String,
        envelope: Bytes,
        out: &mut Vec<Output>,
    ) {
        self.report.count_delegated(&reason);
        self.log_delegation(task_id, reason);
        self.hand_task_to_jvm(now, task_id, envelope, out);
    }

    fn hand_task_to_jvm(
        &mut self,
        now: Time,
        task_id: i64,
        envelope: Bytes,
        out: &mut Vec<Output>,
    ) {
        match &mut self.jvm {
            Jvm::Ready => out.push(Output::JvmOneWay(envelope)),
            Jvm::Starting(pending) => pending.push(Pending {
                task_id: Some(task_id),
                envelope,
                request: None,
            }),
            Jvm::Absent => {
                let why = self
                    .tasks
                    .get(&task_id)
                    .map_or_else(String::new, |task| task.name.clone());
                let first = Pending {
                    task_id: Some(task_id),
                    envelope,
                    request: None,
                };
                self.start_jvm(now, &why, Some(first), out);
            }
        }
    }

    /// The tasks that native lanes run now.
    pub(super) fn native_attempts(&self) -> Vec<Arc<NativeAttempt>> {
        let attempts = self.tasks.values().filter_map(Task::native_attempt);
        attempts.cloned().collect()
    }

    /// The task, if a native lane runs it now.
    pub(super) fn native_attempt(&self, task_id: i64) -> Option<Arc<NativeAttempt>> {
        self.tasks.get(&task_id)?.native_attempt().cloned()
    }

    /// The allocator keeps free memory for the next task. Without one, the system gets it back.
    pub(super) fn trim_memory_if_idle(&mut self, out: &mut Vec<Output>) {
        let idle = |task: &Task| matches!(task.place, Place::Jvm);
        if self.judged_since_trim && self.tasks.values().all(idle) {
            self.judged_since_trim = false;
            out.push(Output::TrimMemory);
        }
    }

    /// One line a stage and reason, since a stage may have a hundred thousand tasks.
    fn log_delegation(&mut self, task_id: i64, reason: String) {
        let Some(Task { name, .. }) = self.tasks.get(&task_id) else {
            return;
        };
        let stage = name
            .split_once(" in ")
            .map_or(name.as_str(), |(_, rest)| {
                rest.split(" (TID").next().unwrap_or(rest)
            })
            .to_owned();
        if self.logged_reasons.len() < MAX_LOGGED_REASONS
            && !self
                .logged_reasons
                .contains(&(stage.clone(), reason.clone()))
        {
            info!(target: LOG, "Tasks of {stage} go to the jvm lane: {reason}");
            self.logged_reasons.insert((stage, reason));
        } else {
            debug!(target: LOG, "{name} goes to the jvm lane: {reason}");
        }
    }

    pub(super) fn kill(
        &mut self,
        now: Time,
        task_id: i64,
        reason: String,
        envelope: Bytes,
        out: &mut Vec<Output>,
    ) {
        if let Some(task) = self.tasks.get_mut(&task_id) {
            match &task.place {
                Place::Native(attempt, _) => {
                    let attempt = Arc::clone(attempt);
                    info!(target: LOG, "Executor is trying to kill {}, reason: {reason}", task.name);
                    task.killed.get_or_insert_with(|| {
                        Killed::new(now, reason.clone(), self.config.reaper)
                    });
                    return out.push(Output::KillNative { attempt, reason });
                }
                Place::Judged(_) => return self.killed_before_it_began(task_id, reason, out),
                Place::Jvm => {}
            }
        }
        match &mut self.jvm {
            Jvm::Ready => out.push(Output::JvmOneWay(envelope)),
            Jvm::Starting(pending) if pending.iter().any(|p| p.task_id == Some(task_id)) => {
                pending.retain(|p| p.task_id != Some(task_id));
                self.killed_before_it_began(task_id, reason, out);
            }
            _ => info!(target: LOG, "Ignored the kill of task {task_id}, which does not run here"),
        }
    }

    fn killed_before_it_began(&mut self, task_id: i64, reason: String, out: &mut Vec<Output>) {
        let Some(task) = self.tasks.remove(&task_id) else {
            return;
        };
        info!(target: LOG, "Killed {} before it began: {reason}", task.name);
        self.report.count_task(LaneName::Jvm, TaskEnd::Killed);
        out.push(Output::TaskKilled {
            task_id,
            reason,
            header: task.header,
        });
    }

    pub(super) fn note_status(&mut self, now: Time, task_id: i64, end: Option<TaskEnd>) {
        let Some(end) = end else { return };
        if let Some(task) = self.tasks.remove(&task_id) {
            self.report.count_task(task.lane(), end);
            self.task_ended = now;
        }
    }
}
