//! The server that answers `BarrierTaskContext` of a worker.

use super::message::ServerAddress;
use super::settings::WorkerSettings;
use crate::executor::task::{TaskContext, TaskError};

/// Serves one task of a barrier stage.
#[derive(Debug)]
pub(super) struct BarrierServer {
    address: ServerAddress,
}

impl BarrierServer {
    /// Starts serving.
    pub(super) fn start(
        _context: &TaskContext,
        _settings: &WorkerSettings,
    ) -> Result<Self, TaskError> {
        Err(TaskError::BailOut(
            "Python function in a barrier stage".to_owned(),
        ))
    }

    /// Where the worker finds it.
    pub(super) fn address(&self) -> &ServerAddress {
        &self.address
    }
}
