//! The python lane as the executor sees every lane.

use std::sync::Arc;

use javaser::arena::NodeId;
use wire::task_description::TaskDescription;

use super::{Plan, PythonLane};
use crate::executor::task::{DecodedTask, TaskContext, TaskError, TaskValue};
use crate::lanes::{Lane, NativeLane, NativePlan};

impl NativeLane for PythonLane {
    fn lane(&self) -> Lane {
        Lane::Python
    }

    fn accepts(
        &self,
        task: &DecodedTask,
        _description: &TaskDescription,
    ) -> Result<Box<dyn NativePlan>, String> {
        Self::accepts(self, task).map(|plan| Box::new(plan) as Box<dyn NativePlan>)
    }
}

impl NativePlan for Plan {
    fn run(self: Box<Self>, context: &Arc<TaskContext>) -> Result<TaskValue, TaskError> {
        Self::run(&self, context)
    }

    fn accumulator(&self) -> Option<NodeId> {
        Self::accumulator(self)
    }
}
