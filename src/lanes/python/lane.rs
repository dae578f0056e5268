//! Which tasks the lane takes, and how it runs them.

use std::sync::Arc;

use javaser::Limits;
use javaser::arena::NodeId;

use super::compute::{Run, Services, write_checkpoint};
use super::plan::{StagePlan, Step, Target, bind};
use super::result;
use super::services::{ExecutorServices, LaneParts, broadcast_file};
use crate::blocks::LocalDirs;
use crate::blocks::kryo::Kryo;
use crate::config::{SettingError, SparkProperties};
use crate::executor::task::{DecodedTask, StageBinary, TaskContext, TaskError, TaskValue};

/// The lane of PySpark's RDDs.
#[derive(Debug)]
pub struct PythonLane {
    services: Arc<dyn Services>,
    /// Why no result task can be run.
    no_results: Option<String>,
    /// Why no checkpoint can be read or written.
    no_checkpoints: Option<String>,
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
    /// The lane of an executor.
    ///
    /// # Errors
    /// A setting is wrong.
    pub fn new(
        parts: LaneParts,
        properties: &SparkProperties,
        limits: Limits,
    ) -> Result<Self, SettingError> {
        let kryo = Kryo::from_conf(properties)?;
        let services = Arc::new(ExecutorServices::new(parts, kryo, limits));
        Ok(Self::with_services(services, properties))
    }

    /// Removes what the lane made of a broadcast, when the driver asks for its removal.
    pub fn remove_broadcast(dirs: &LocalDirs, id: i64) {
        // Mostly there is none.
        let _ = std::fs::remove_file(broadcast_file(dirs, id));
    }

    fn with_services(services: Arc<dyn Services>, properties: &SparkProperties) -> Self {
        let nothing = PLUGGABLE.iter().find_map(|(key, known)| {
            let value = properties.get(key)?;
            (!known.contains(&value.as_str())).then(|| format!("{key} is {value}"))
        });
        let serializer = properties.text("spark.serializer", JAVA_SERIALIZER);
        let no_results = (serializer != JAVA_SERIALIZER)
            .then(|| format!("a result of spark.serializer {serializer}"));
        let compressed = properties
            .get("spark.checkpoint.compress")
            .is_some_and(|value| value != "false");
        let no_checkpoints = match compressed {
            true => Some("a compressed checkpoint".to_owned()),
            false => no_results.clone(),
        };
        Self {
            services,
            no_results,
            no_checkpoints,
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
        match (&plan.target, &self.no_results, &self.no_checkpoints) {
            (Target::Shuffle(_), ..) | (Target::Array { .. } | Target::Count, None, _) => {}
            (Target::Checkpoint(_), None, None) => {}
            (_, Some(reason), _) | (Target::Checkpoint(_), _, Some(reason)) => {
                return Err(reason.clone());
            }
        }
        if let Some(reason) = &self.no_checkpoints
            && plan.reads_checkpoints()
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
    pub fn run(&self, context: &TaskContext) -> Result<TaskValue, TaskError> {
        // `accepts` has made sure that there is a plan.
        let plan = self
            .judged
            .0
            .as_ref()
            .map_err(|r| TaskError::BailOut(r.clone()))?;
        let run = Run {
            services: &*self.services,
            stage: &self.stage,
            context,
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
            Target::Checkpoint(dir) => {
                write_checkpoint(dir, elements, context)?;
                Ok(TaskValue::Result(result::unit()))
            }
            Target::Shuffle(output) => self
                .services
                .write_shuffle(output, elements, context)
                .map(TaskValue::MapStatus),
        }
    }
}
