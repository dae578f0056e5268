//! Which tasks the lane takes, and how it runs them.

use std::sync::Arc;

use javaser::arena::NodeId;

use super::compute::{Run, Services};
use super::plan::{StagePlan, Step, Target, bind};
use super::result;
use crate::config::SparkProperties;
use crate::executor::task::{DecodedTask, StageBinary, TaskContext, TaskError, TaskValue};

/// The lane of PySpark's RDDs.
#[derive(Debug)]
pub struct PythonLane {
    services: Arc<dyn Services>,
    /// Why no result task can be run.
    no_results: Option<String>,
    /// Why no task can be run.
    nothing: Option<String>,
}

/// A task that the lane can run.
#[derive(Debug)]
pub struct Plan {
    services: Arc<dyn Services>,
    stage: Arc<StageBinary>,
    judged: Arc<Judged>,
    step: Arc<Step>,
}

/// What became of a stage.
#[derive(Debug)]
struct Judged(Result<StagePlan, String>);

/// Settings that put something else in the place of a part of Spark, and the values that this lane knows.
const PLUGGABLE: [(&str, &[&str]); 3] = [
    (
        "spark.shuffle.manager",
        &[
            "sort",
            "tungsten-sort",
            "org.apache.spark.shuffle.sort.SortShuffleManager",
        ],
    ),
    (
        "spark.shuffle.sort.io.plugin.class",
        &["org.apache.spark.shuffle.sort.io.LocalDiskShuffleDataIO"],
    ),
    ("spark.kryo.registrationRequired", &["false"]),
];

const JAVA_SERIALIZER: &str = "org.apache.spark.serializer.JavaSerializer";

impl PythonLane {
    pub(super) fn with_services(services: Arc<dyn Services>, properties: &SparkProperties) -> Self {
        let nothing = PLUGGABLE.iter().find_map(|(key, known)| {
            let value = properties.get(key)?;
            (!known.contains(&value.as_str())).then(|| format!("{key} is {value}"))
        });
        let serializer = properties.text("spark.serializer", JAVA_SERIALIZER);
        let no_results = (serializer != JAVA_SERIALIZER)
            .then(|| format!("a result of spark.serializer {serializer}"));
        Self {
            services,
            no_results,
            nothing,
        }
    }

    /// Judges a task: gives what runs it, or the reason to delegate it. A stage is looked through once; the other tasks of it cost
    /// only a look at their partition.
    ///
    /// # Errors
    /// The reason: one of few texts, to be counted.
    pub fn accepts(&self, task: &DecodedTask) -> Result<Plan, String> {
        if let Some(reason) = &self.nothing {
            return Err(reason.clone());
        }
        let judged = task.stage.judged(|stage| Judged(StagePlan::judge(stage)));
        let plan = judged.0.as_ref().map_err(String::clone)?;
        if let (Some(reason), Target::Array { .. } | Target::Count) =
            (&self.no_results, &plan.target)
        {
            return Err(reason.clone());
        }
        let step = bind(plan, &task.task.graph, task.task.partition)?;
        Ok(Plan {
            services: Arc::clone(&self.services),
            stage: Arc::clone(&task.stage),
            judged,
            step,
        })
    }
}

impl Plan {
    /// The `PythonAccumulatorV2` of the stage's Python functions, in the stage's graph: where
    /// [`TaskContext::python_updates`] belong.
    pub fn accumulator(&self) -> Option<NodeId> {
        self.judged.0.as_ref().ok()?.accumulator
    }

    /// Runs the task on this thread, which may wait for files, workers and other executors.
    ///
    /// # Errors
    /// How the attempt ended instead; after [`TaskError::BailOut`] nothing of it is visible.
    pub fn run(&self, context: &Arc<TaskContext>) -> Result<TaskValue, TaskError> {
        // `accepts` has made sure that there is a plan.
        let plan = self
            .judged
            .0
            .as_ref()
            .map_err(|r| TaskError::BailOut(r.clone()))?;
        let run = Run {
            services: Arc::clone(&self.services),
            stage: Arc::clone(&self.stage),
            context: Arc::clone(context),
        };
        run.check(&self.step)?;
        let elements = run.elements(&self.step)?;
        match &plan.target {
            Target::Array { class, limit } => {
                let catalog = &context.blocks.catalog;
                result::array(class, *limit, elements, catalog, &context.cancellation)
                    .map(TaskValue::Result)
            }
            Target::Count => {
                let mut count = 0;
                for element in elements {
                    context.check()?;
                    element?;
                    count += 1;
                }
                Ok(TaskValue::Result(result::long(count)))
            }
            Target::Shuffle(output) => self
                .services
                .write_shuffle(output, elements, context)
                .map(TaskValue::MapStatus),
        }
    }
}
