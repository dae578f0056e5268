//! Fuzz targets of this room; see [`crate::fuzzing`].

pub use super::compute::fuzzing::{checkpoint, lines};

use std::path::PathBuf;
use std::sync::Arc;

use javaser::Limits;
use javaser::kryo::KryoForm;

use super::plan::{RddKind, StagePlan, bind};
use crate::python::BroadcastFile;
use crate::python::function_of_rdd;
use crate::task::{DecodedTask, StageBinary, TaskContext, TaskError, TaskObject};

#[derive(Debug)]
struct NoFile;

impl BroadcastFile for NoFile {
    fn path(&self, _: &TaskContext) -> Result<PathBuf, TaskError> {
        Ok(PathBuf::new())
    }
}

/// A stage of PySpark and a task of it: 4 bytes say how long the task is, which stands first.
pub fn python_stage(data: &[u8]) {
    let limits = Limits::default();
    let Some((size, rest)) = data.split_first_chunk() else {
        return;
    };
    let size = u32::from_be_bytes(*size) as usize;
    let (task, stage) = rest.split_at(size.min(rest.len()));
    let Ok(stage) = StageBinary::decode(stage, &limits) else {
        return;
    };
    let Ok(plan) = StagePlan::judge(&stage, &|_| Err(String::new())) else {
        return;
    };
    for rdd in &plan.rdd.rdds {
        if let RddKind::Python { rdd, .. } = &rdd.kind {
            let _ = function_of_rdd(&stage.graph, *rdd, |_| Arc::new(NoFile));
        }
    }
    if let Ok(task) = TaskObject::decode(task, &limits) {
        let _ = task.serialized_task_metrics();
        let stage = Arc::new(stage);
        let task = DecodedTask { task, stage };
        for kryo in [None, Some(KryoForm::default())] {
            let _ = bind(&plan.rdd, &task, task.task.partition, kryo);
        }
    }
}
