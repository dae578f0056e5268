//! Leaving on request: what a decommissioned executor waits for.
//!
//! Spark's backend waits until no task runs and all blocks have moved, and exits. Here two stores may have blocks, that
//! of the native lanes and the embedded JVM's. Both begin to move their cached partitions at once, the native one also
//! the files of shuffles, whoever wrote them. When no lane runs a task and the native part is done, the backend of a
//! JVM that runs is told; it exits when the JVM's part is done, too.

use std::time::Duration;

use tracing::{info, warn};

use super::super::events::{Output, Time};
use super::super::exit_code;
use super::{Jvm, LOG, LifeCycle, Running};
use crate::config::declared::FALLBACK_STORAGE_PATH;

/// How often a decommissioned executor looks whether it may leave (Spark's own poll).
const POLL: Duration = Duration::from_secs(1);

/// What a decommissioned executor waits for.
#[derive(Debug)]
pub(super) enum Leaving {
    /// Tasks, and what moves without the JVM; the time of the next look.
    Native(Time),
    /// The JVM, whose backend decides when to leave.
    Jvm,
}

impl Leaving {
    /// When to look again.
    pub(super) fn poll(&self) -> Option<Time> {
        match self {
            Self::Native(poll) => Some(*poll),
            Self::Jvm => None,
        }
    }
}

impl Running {
    /// The signal came.
    pub(super) fn decommission_signal(&mut self, out: &mut Vec<Output>) {
        if !self.config.decommission_enabled {
            warn!(target: LOG, "Decommission signal received, but spark.decommission.enabled is not set; ignored");
        } else if self.leaving.is_none() {
            out.push(Output::AskDecommission);
        }
    }

    /// The driver wants it, or has agreed to it.
    pub(super) fn decommission(&mut self, now: Time, out: &mut Vec<Output>) {
        if !self.config.decommission_enabled {
            warn!(target: LOG, "Receive decommission request, but decommission feature is disabled.");
            return;
        }
        if self.leaving.is_some() {
            warn!(target: LOG, "The executor already started decommissioning.");
            return;
        }
        info!(target: LOG, "Decommission executor.");
        let first_look = now.saturating_add(self.config.decommission_first_look);
        self.leaving = Some(Leaving::Native(first_look));
        if self.config.migration {
            out.push(Output::StartMigration);
            self.decommission_jvm_blocks(out);
            if self.config.jvm_migrates && self.jvm == Jvm::Absent {
                self.start_jvm(now, FALLBACK_STORAGE_PATH.key, None, out);
            }
        }
        info!(target: LOG, "Will exit when finished decommissioning");
    }

    /// Lets a JVM's block manager move its blocks, and its tasks see that.
    pub(super) fn decommission_jvm_blocks(&self, out: &mut Vec<Output>) {
        if self.config.migration && self.jvm == Jvm::Ready {
            out.push(Output::JvmDecommissionBlocks);
        }
    }

    /// At the time of [`Leaving::poll`], whether the executor may go.
    pub(super) fn look_whether_to_leave(
        mut self: Box<Self>,
        now: Time,
        out: &mut Vec<Output>,
    ) -> LifeCycle {
        let Some(Leaving::Native(poll)) = &mut self.leaving else {
            return LifeCycle::Running(self);
        };
        if now < *poll {
            return LifeCycle::Running(self);
        }
        *poll += POLL;
        if !self.tasks.is_empty() {
            info!(target: LOG, "Blocked from shutdown by {} running tasks", self.tasks.len());
        } else if self.config.migration {
            info!(target: LOG, "No running tasks, checking migrations");
            out.push(Output::AskMigration);
        } else {
            info!(target: LOG, "No running tasks, no block migration configured, stopping.");
            return self.native_part_is_done(now, out);
        }
        LifeCycle::Running(self)
    }

    /// How far the migration of the native lanes' blocks is.
    pub(super) fn migration_info(
        self: Box<Self>,
        now: Time,
        since: Time,
        done: bool,
        out: &mut Vec<Output>,
    ) -> LifeCycle {
        if !matches!(self.leaving, Some(Leaving::Native(_))) || !self.tasks.is_empty() {
            return LifeCycle::Running(self);
        }
        // What a task wrote after the last round began is not in that round.
        if done && since > self.task_ended {
            info!(target: LOG, "No running tasks, all blocks migrated, stopping.");
            return self.native_part_is_done(now, out);
        }
        info!(target: LOG, "All blocks not yet migrated.");
        if since <= self.task_ended {
            out.push(Output::MigrateAgain);
        }
        LifeCycle::Running(self)
    }

    fn native_part_is_done(mut self: Box<Self>, now: Time, out: &mut Vec<Output>) -> LifeCycle {
        match self.jvm {
            Jvm::Ready => {
                self.leaving = Some(Leaving::Jvm);
                out.push(Output::JvmDecommission);
                LifeCycle::Running(self)
            }
            Jvm::Starting(_) => LifeCycle::Running(self),
            Jvm::Absent => {
                let reason = "Finished decommissioning".to_owned();
                self.exit(now, exit_code::SUCCESS, Some(reason), out)
            }
        }
    }
}
