//! A Python function as a task brings it along.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;

use crate::task::{TaskContext, TaskError};

/// `org.apache.spark.api.python.SimplePythonFunction`, with the `PythonRDD`'s `jobArtifactUUID`. The field names are
/// Spark's.
#[derive(Debug, Clone)]
pub struct PythonFunction {
    /// The pickled function and its serializers; goes to the worker as it is.
    pub command: Bytes,
    /// Environment of the worker, on top of the executor's own. One part of a daemon's identity.
    pub env_vars: BTreeMap<String, String>,
    /// Names of `.zip`, `.egg` and `.py` files in the directory of the task's files that the worker shall import from.
    pub python_includes: Vec<String>,
    /// The interpreter. The other part of a daemon's identity.
    pub python_exec: String,
    /// Version of the driver's interpreter, such as `3.11`. A worker of another version refuses the task.
    pub python_ver: String,
    /// Broadcast variables that the function refers to.
    pub broadcast_vars: Vec<PythonBroadcast>,
    /// Id of the `PythonAccumulatorV2` that collects the updates of all Python accumulators, if the function has one.
    /// Without, updates of the worker are dropped.
    pub accumulator: Option<i64>,
    /// Artifacts of which session the worker sees, if the session has its own.
    pub job_artifact_uuid: Option<String>,
}

impl PythonFunction {
    /// What workers are told of several functions that they call: the surroundings of the first, files and broadcast
    /// variables of all. `None` of none.
    pub fn together<'a>(functions: impl IntoIterator<Item = &'a Arc<Self>>) -> Option<Self> {
        let mut functions = functions.into_iter();
        let mut all = Self::clone(functions.next()?);
        for other in functions {
            for include in &other.python_includes {
                if !all.python_includes.contains(include) {
                    all.python_includes.push(include.clone());
                }
            }
            for variable in &other.broadcast_vars {
                if !all
                    .broadcast_vars
                    .iter()
                    .any(|known| known.id == variable.id)
                {
                    all.broadcast_vars.push(variable.clone());
                }
            }
        }
        Some(all)
    }
}

/// `org.apache.spark.broadcast.Broadcast[PythonBroadcast]`: a variable whose pickled value workers read from a file.
#[derive(Debug, Clone)]
pub struct PythonBroadcast {
    /// The broadcast's id.
    pub id: i64,
    /// Where its value is.
    pub file: Arc<dyn BroadcastFile>,
}

/// Makes sure that the file of a [`PythonBroadcast`] is on this machine.
pub trait BroadcastFile: Debug + Send + Sync {
    /// The file with the value as the driver's Python wrote it: pickled, and encrypted if `spark.io.encryption.enabled`
    /// is. Asked only when a worker does not have the variable yet; fetches the value if need be, and may block.
    ///
    /// # Errors
    /// The value cannot be had.
    fn path(&self, context: &TaskContext) -> Result<PathBuf, TaskError>;
}
