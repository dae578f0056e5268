//! RDDs of pickled objects for Spark SQL: what `createDataFrame` and `toDF` make data frames of.

use std::sync::Arc;

use javaser::arena::NodeId;
use wire::task_description::TaskDescription;

use super::compute::{Run, Services};
use super::lane::{PythonRules, rows_of};
use super::plan::{RddPlan, Shape, Step, bind};
use crate::python::Element;
use crate::task::{
    DecodedTask, OtherLane, PickledBatches, PickledPartition, PickledRdd, PickledSource,
    StageBinary, TaskContext, TaskError,
};

/// The lane as a source of pickled objects.
#[derive(Debug)]
pub(super) struct ObjectsForSql {
    pub(super) services: Arc<dyn Services>,
    pub(super) rules: PythonRules,
    pub(super) rows: Arc<OtherLane>,
    /// Why nothing can be computed.
    pub(super) nothing: Option<String>,
}

/// An RDD of pickled objects.
#[derive(Debug)]
struct ObjectsRdd {
    services: Arc<dyn Services>,
    rules: PythonRules,
    plan: RddPlan,
}

/// A partition of it.
#[derive(Debug)]
struct ObjectsPartition {
    services: Arc<dyn Services>,
    stage: Arc<StageBinary>,
    step: Arc<Step>,
}

impl PickledSource for ObjectsForSql {
    fn judge(
        &self,
        stage: &StageBinary,
        rdd: NodeId,
        description: &TaskDescription,
    ) -> Result<Arc<dyn PickledRdd>, String> {
        if let Some(reason) = &self.nothing {
            return Err(reason.clone());
        }
        self.rules.check(description)?;
        let rows = rows_of(&self.rows, stage, description);
        let plan = RddPlan::judge(&stage.graph, rdd, &rows)?;
        if plan.shape() != Some(&Shape::Bytes) {
            return Err("a data frame of other elements than Python's".to_owned());
        }
        self.rules.check_checkpoints(&plan)?;
        Ok(Arc::new(ObjectsRdd {
            services: Arc::clone(&self.services),
            rules: self.rules.clone(),
            plan,
        }))
    }
}

impl PickledRdd for ObjectsRdd {
    fn bind(
        &self,
        task: &DecodedTask,
        partition: NodeId,
    ) -> Result<Arc<dyn PickledPartition>, String> {
        Ok(Arc::new(ObjectsPartition {
            services: Arc::clone(&self.services),
            stage: Arc::clone(&task.stage),
            step: bind(&self.plan, task, partition, self.rules.kryo)?,
        }))
    }

    fn accumulator(&self) -> Option<NodeId> {
        self.plan.accumulator
    }
}

impl PickledPartition for ObjectsPartition {
    fn batches(&self, context: &Arc<TaskContext>) -> Result<PickledBatches, TaskError> {
        let run = Run {
            services: Arc::clone(&self.services),
            stage: Arc::clone(&self.stage),
            context: Arc::clone(context),
        };
        run.check(&self.step)?;
        let elements = run.elements(&self.step)?;
        Ok(Box::new(elements.map(|element| match element? {
            Element::Bytes(batch) => Ok(batch),
            _ => Err(TaskError::BailOut(
                "an element of Python's that is no batch".to_owned(),
            )),
        })))
    }
}
