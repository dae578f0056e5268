//! Broadcast variables of workers.

use std::collections::BTreeSet;

use super::factory::Worker;
use super::message::BroadcastChanges;
use super::settings::WorkerSettings;
use crate::executor::task::{TaskContext, TaskError};
use crate::lanes::python::PythonFunction;

/// What has to change for `worker` to have exactly the variables of `function`, and notes that it has.
///
/// # Errors
/// The value of a variable cannot be had.
pub(super) fn changes(
    function: &PythonFunction,
    worker: &mut Worker,
    context: &TaskContext,
    _settings: &WorkerSettings,
) -> Result<BroadcastChanges, TaskError> {
    let needed: BTreeSet<i64> = function.broadcast_vars.iter().map(|var| var.id).collect();
    let dropped: Vec<i64> = worker.broadcasts.difference(&needed).copied().collect();
    worker.broadcasts.retain(|id| needed.contains(id));
    let mut added = Vec::new();
    for variable in &function.broadcast_vars {
        if worker.broadcasts.insert(variable.id) {
            added.push((variable.id, variable.file.path(context)?));
        }
    }
    if !added.is_empty() && context.blocks.io_encryption_key.is_some() {
        return Err(TaskError::BailOut(
            "encrypted broadcast variable of Python".to_owned(),
        ));
    }
    Ok(BroadcastChanges {
        server: None,
        dropped,
        added,
    })
}
