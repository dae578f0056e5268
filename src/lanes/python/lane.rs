//! Which tasks the lane takes, and how it runs them.

use std::sync::{Arc, OnceLock};

use javaser::Limits;
use javaser::arena::{NodeId, Value};
use javaser::kryo::KryoForm;
use wire::task_description::TaskDescription;

use super::compute::{Run, Services, write_checkpoint, write_text_file};
use super::pickled::ObjectsForSql;
use super::plan::{RddPlan, StagePlan, Step, Target, bind};
use super::result::ResultFormat;
use super::services::{ExecutorServices, PythonParts};
use crate::blocks::LocalDirs;
use crate::blocks::codec::Codec;
use crate::blocks::kryo;
use crate::config::{LaneName, SettingError, SparkProperties, declared, unknown_part};
use crate::files::HadoopConf;
use crate::python::worker::PythonWorkers;
use crate::task::{
    DecodedTask, OtherLane, PickledRdd, PickledSource, StageBinary, TaskContext, TaskError,
    TaskValue,
};

/// The lane of PySpark's RDDs.
#[derive(Debug)]
pub struct PythonLane {
    services: Arc<dyn Services>,
    /// How results are written.
    results: ResultFormat,
    pub(super) rules: PythonRules,
    /// Who computes data frames.
    rows: Arc<OtherLane>,
    objects_for_sql: OnceLock<Arc<dyn PickledSource>>,
    /// The executor's directories; tests of plans have none.
    pub(super) local_dirs: Option<Arc<LocalDirs>>,
    /// Why no task can be run.
    nothing: Option<String>,
}

/// What an executor's settings say of RDDs.
#[derive(Debug, Clone)]
pub(super) struct PythonRules {
    /// Why no checkpoint can be read or written.
    no_checkpoints: Option<String>,
    /// Python's processes; tests of plans have none.
    pub(super) workers: Option<PythonWorkers>,
    /// Set if `spark.serializer` is Kryo.
    pub(super) kryo: Option<KryoForm>,
}

impl PythonRules {
    /// Fails for tasks that workers cannot be told of.
    pub(super) fn check(&self, description: &TaskDescription) -> Result<(), String> {
        match &self.workers {
            Some(workers) => workers.check_resources(description),
            None => Ok(()),
        }
    }

    /// Fails if checkpoints are read that cannot be.
    pub(super) fn check_checkpoints(&self, plan: &RddPlan) -> Result<(), String> {
        match &self.no_checkpoints {
            Some(reason) if plan.reads_checkpoints() => Err(reason.clone()),
            _ => Ok(()),
        }
    }
}

/// Judges RDDs of data frames within a stage.
pub(super) fn rows_of<'a>(
    lane: &'a OtherLane,
    stage: &'a StageBinary,
    description: &'a TaskDescription,
) -> impl Fn(NodeId) -> Result<Arc<dyn PickledRdd>, String> + 'a {
    move |rdd| {
        let lane = lane.get();
        let lane = lane.ok_or("rows of data frames without the sql lane")?;
        lane.judge(stage, rdd, description)
    }
}

/// A task that the lane can run.
#[derive(Debug)]
pub struct Plan {
    services: Arc<dyn Services>,
    results: ResultFormat,
    stage: Arc<StageBinary>,
    judged: Arc<Judged>,
    step: Arc<Step>,
}

/// What became of a stage.
#[derive(Debug)]
struct Judged(Result<StagePlan, String>);

impl PythonLane {
    /// The lane of an executor.
    ///
    /// # Errors
    /// A setting is wrong.
    pub fn new(
        parts: PythonParts,
        properties: &SparkProperties,
        limits: Limits,
    ) -> Result<Self, SettingError> {
        let workers = Some(parts.workers.clone());
        let local_dirs = Some(Arc::clone(&parts.local_dirs));
        let kryo = kryo::form_of_conf(properties)?;
        let checkpoints = match properties.switch(&declared::CHECKPOINT_COMPRESS)? {
            true => Some(Codec::from_conf(properties)?),
            false => None,
        };
        let services = Arc::new(ExecutorServices::new(parts, kryo, checkpoints, limits));
        let mut lane = Self::with_services(services, properties, kryo);
        lane.rules.workers = workers;
        lane.local_dirs = local_dirs;
        Ok(lane)
    }

    fn with_services(
        services: Arc<dyn Services>,
        properties: &SparkProperties,
        kryo: KryoForm,
    ) -> Self {
        let serializer = properties.text(&declared::SERIALIZER);
        let results = match serializer.as_str() {
            declared::KRYO_SERIALIZER => ResultFormat::Kryo(kryo),
            // With any other the lane runs nothing.
            _ => ResultFormat::Java,
        };
        let no_checkpoints = (results != ResultFormat::Java)
            .then(|| format!("a checkpoint of spark.serializer {serializer}"));
        let rules = PythonRules {
            no_checkpoints,
            workers: None,
            kryo: match results {
                ResultFormat::Java => None,
                ResultFormat::Kryo(kryo) => Some(kryo),
            },
        };
        Self {
            services,
            results,
            rules,
            rows: Arc::default(),
            objects_for_sql: OnceLock::new(),
            local_dirs: None,
            nothing: unknown_part(properties, LaneName::Python),
        }
    }

    /// RDDs of pickled objects for data frames.
    pub fn objects_for_sql(&self) -> &Arc<dyn PickledSource> {
        self.objects_for_sql.get_or_init(|| {
            Arc::new(ObjectsForSql {
                services: Arc::clone(&self.services),
                rules: self.rules.clone(),
                rows: Arc::clone(&self.rows),
                nothing: self.nothing.clone(),
            })
        })
    }

    /// Makes known who computes the data frames whose rows become RDDs.
    pub fn connect(&self, sql: &Arc<dyn PickledSource>) {
        self.rows.connect(sql);
    }

    /// Judges a task: gives what runs it, or the reason to delegate it. A stage is looked through once; the other tasks
    /// of it cost only a look at their partition.
    ///
    /// # Errors
    /// The reason: one of few texts, to be counted.
    pub fn accepts(
        &self,
        task: &DecodedTask,
        description: &TaskDescription,
    ) -> Result<Plan, String> {
        if let Some(reason) = &self.nothing {
            return Err(reason.clone());
        }
        self.rules.check(description)?;
        let judged = task.stage.judged(|stage| {
            let rows = rows_of(&self.rows, stage, description);
            Judged(StagePlan::judge(stage, &rows))
        });
        let plan = judged.0.as_ref().map_err(String::clone)?;
        if let Some(reason) = &self.rules.no_checkpoints
            && matches!(plan.target, Target::Checkpoint(_))
        {
            return Err(reason.clone());
        }
        if self.results != ResultFormat::Java && matches!(plan.target, Target::TextFile(_)) {
            return Err("a text file with spark.serializer".to_owned());
        }
        self.rules.check_checkpoints(&plan.rdd)?;
        let step = bind(&plan.rdd, task, task.task.partition, self.rules.kryo)?;
        Ok(Plan {
            services: Arc::clone(&self.services),
            results: self.results,
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
        self.judged.0.as_ref().ok()?.rdd.accumulator
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
                self.results
                    .array(class, *limit, elements, catalog, &context.cancellation)
                    .map(TaskValue::Result)
            }
            Target::Count => {
                let mut count = 0;
                for element in elements {
                    context.check()?;
                    element?;
                    count += 1;
                }
                Ok(TaskValue::Result(self.results.long(count)))
            }
            Target::Checkpoint(dir) => {
                let services = &self.services;
                let conf = services.hadoop_conf(&self.stage, dir.conf, context)?;
                let outputs = services.file_systems().outputs(&dir.path, &conf, 0)?;
                let codec = services.checkpoint_codec();
                write_checkpoint(&outputs, &dir.path, codec, elements, context)?;
                Ok(TaskValue::Result(self.results.unit()))
            }
            Target::TextFile(file) => {
                let graph = &self.stage.graph;
                let conf = HadoopConf::of_object(graph, Value::Ref(file.conf));
                let conf = conf.map_err(TaskError::BailOut)?;
                let committed = rows::written::committed(&context.blocks.catalog);
                let committed = committed.map_err(|why| TaskError::BailOut(why.to_string()))?;
                let systems = self.services.file_systems();
                write_text_file(&file.tracker, (&conf, systems), elements, context)?;
                Ok(TaskValue::Result(committed))
            }
            Target::Shuffle(output) => self
                .services
                .write_shuffle(output, elements, context)
                .map(TaskValue::MapStatus),
        }
    }
}
