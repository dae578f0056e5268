//! The python lane as the executor sees every lane.

use std::sync::Arc;

use javaser::arena::NodeId;
use wire::task_description::TaskDescription;

use super::{Plan, PythonLane};
use crate::config::LaneName;
use crate::python::broadcast_file;
use crate::report::Report;
use crate::task::{AcceptedTask, DecodedTask, Lane, TaskContext, TaskError, TaskValue};

impl Lane for PythonLane {
    fn name(&self) -> LaneName {
        LaneName::Python
    }

    fn accepts(
        &self,
        task: &DecodedTask,
        description: &TaskDescription,
    ) -> Result<Box<dyn AcceptedTask>, String> {
        Self::accepts(self, task, description).map(|plan| Box::new(plan) as Box<dyn AcceptedTask>)
    }

    fn broadcast_removed(&self, id: i64) {
        if let Some(dirs) = &self.local_dirs {
            // Mostly there is no file of it.
            let _ = std::fs::remove_file(broadcast_file(dirs, id));
        }
    }

    fn children_memory(&self) -> u64 {
        self.rules
            .workers
            .as_ref()
            .map_or(0, |workers| workers.memory().resident_bytes)
    }

    fn report_children(&self, report: &Report) {
        if let Some(workers) = &self.rules.workers {
            report.count_python_compiled(&workers.take_compiled());
        }
    }
}

impl AcceptedTask for Plan {
    fn run(self: Box<Self>, context: &Arc<TaskContext>) -> Result<TaskValue, TaskError> {
        Self::run(&self, context)
    }

    fn accumulator(&self) -> Option<NodeId> {
        Self::accumulator(self)
    }
}
