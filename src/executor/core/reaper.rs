//! Native tasks that were killed and go on: `org.apache.spark.executor.Executor.TaskReaper`. The JVM has one of its own
//! for its tasks.

use std::time::Duration;

use tracing::{error, warn};

use super::super::events::{Output, Time};
use super::super::exit_code;
use super::{LifeCycle, Running};
use crate::config::TaskReaperSettings;

/// Rules of the reaper.
#[derive(Debug, Clone, Copy)]
pub struct Reaper {
    /// Intervals.
    pub settings: TaskReaperSettings,
    /// Exit code of an executor with a task that cannot be stopped (57 from Spark 4.0 on, else 50).
    pub exit_code: i32,
}

impl Reaper {
    /// The rules of a version: Spark 3.5 has no exit code of its own for them.
    pub fn new(settings: TaskReaperSettings, has_own_exit_code: bool) -> Self {
        let exit_code = match has_own_exit_code {
            true => exit_code::KILLED_BY_TASK_REAPER,
            false => exit_code::UNCAUGHT_EXCEPTION,
        };
        Self {
            settings,
            exit_code,
        }
    }
}

/// A native task that was told to stop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Killed {
    /// Why.
    pub(super) reason: String,
    at: Time,
    /// When the reaper looks whether it still runs; `None` without a reaper.
    pub(super) look: Option<Time>,
}

impl Killed {
    pub(super) fn new(now: Time, reason: String, reaper: Option<Reaper>) -> Self {
        let look = reaper.and_then(|reaper| after(now, reaper.settings.polling_interval));
        Self {
            reason,
            at: now,
            look,
        }
    }
}

/// Java waits for ever if it waits for nothing.
fn after(now: Time, interval: Duration) -> Option<Time> {
    now.checked_add(interval).filter(|_| !interval.is_zero())
}

impl Running {
    /// When the reaper looks at a task next.
    pub(super) fn reaper_is_due(&self) -> Option<Time> {
        self.config.reaper?;
        self.tasks
            .values()
            .filter_map(|task| task.killed.as_ref()?.look)
            .min()
    }

    /// Complains about tasks that were killed and still run, and ends the executor if one does for too long.
    pub(super) fn reap(mut self: Box<Self>, now: Time, out: &mut Vec<Output>) -> LifeCycle {
        let Some(Reaper {
            settings,
            exit_code,
        }) = self.config.reaper
        else {
            return LifeCycle::Running(self);
        };
        for (task_id, task) in &mut self.tasks {
            let Some(killed) = &mut task.killed else {
                continue;
            };
            if killed.look.is_none_or(|look| now < look) {
                continue;
            }
            let elapsed = now.saturating_sub(killed.at);
            warn!(target: "Executor", "Killed task {task_id} is still running after {} ms", elapsed.as_millis());
            if let Some(timeout) = settings.kill_timeout.filter(|timeout| elapsed > *timeout) {
                error!(
                    target: "SparkUncaughtExceptionHandler",
                    "Killing executor because killed task {task_id} could not be stopped within {} ms.", timeout.as_millis()
                );
                return self.exit(now, exit_code, None, out);
            }
            killed.look = after(now, settings.polling_interval);
        }
        LifeCycle::Running(self)
    }
}
