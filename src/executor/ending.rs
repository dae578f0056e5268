//! How an executor ends: its exit code, and its last words.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::watch;
use tracing::{debug, error, info};

use crate::blocks::LocalDirs;
use crate::report::Report;

/// The end of an executor, which comes once.
pub(super) struct Ending {
    /// Whether the process is the executor's; else it belongs to a host program and outlives the executor.
    pub(super) own_process: bool,
    report: Arc<Report>,
    local_dirs: Arc<LocalDirs>,
    exit: watch::Sender<Option<i32>>,
    finished: Mutex<bool>,
}

impl Ending {
    /// The end of an executor that runs, and what tells of it.
    pub(super) fn new(
        own_process: bool,
        report: Arc<Report>,
        local_dirs: Arc<LocalDirs>,
    ) -> (Self, watch::Receiver<Option<i32>>) {
        let (exit, receiver) = watch::channel(None);
        let ending = Self {
            own_process,
            report,
            local_dirs,
            exit,
            finished: Mutex::new(false),
        };
        (ending, receiver)
    }

    /// Ends the executor; the first code counts.
    pub(super) fn exit(&self, code: i32) {
        self.exit.send_if_modified(|exit| {
            let first = exit.is_none();
            exit.get_or_insert(code);
            first
        });
    }

    /// Whether the last words have been said, or are being said: a thread that fails meanwhile must not wait for itself.
    pub(super) fn is_finished(&self) -> bool {
        self.finished.try_lock().is_none_or(|finished| *finished)
    }

    /// The process begins to end, and may be killed before it is done: YARN's containers have a quarter of a second.
    /// Writes what the report has until now, without an exit code.
    pub(super) fn begin(&self) {
        let finished = self.finished.lock();
        if !*finished {
            self.write_report(None);
        }
    }

    /// Last words before the process ends: the report, the log line, the local directories. Runs once.
    pub(super) fn finish(&self, code: i32) {
        let mut finished = self.finished.lock();
        if std::mem::replace(&mut *finished, true) {
            return;
        }
        info!(target: "Firesteel", "{}", self.report.summary());
        self.write_report(Some(code));
        self.local_dirs.remove();
    }

    fn write_report(&self, exit_code: Option<i32>) {
        match self.report.write(exit_code) {
            Ok(Some(path)) => debug!(target: "Firesteel", "Report written to {}", path.display()),
            Ok(None) => {}
            Err(error) => {
                error!(target: "Firesteel", "Cannot write the report named by FIRESTEEL_REPORT: {error}")
            }
        }
    }
}
