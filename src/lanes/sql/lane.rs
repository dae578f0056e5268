//! Which tasks the lane takes.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use catalyst::{LeafId, Listing, OperatorKind, Output, SchemaMerge, Settings, Stage, Unsupported};
use exec::NativeStage;
use javaser::Limits;
use javaser::arena::{NodeId, Value};
use javatime::Zones;
use rows::Serializer;
use wire::task_description::TaskDescription;

use super::engine::Engine;
use super::functions::Functions;
use super::listing::{ListingJob, ListingPlan};
use super::native::Natives;
use super::partition::SqlPartition;
use super::pickled::RowsForPython;
use super::relations::Relations;
use super::result_format::ResultFormat;
use super::run::SqlPlan;
use super::schemas::{SchemaJob, SchemaPlan};
use super::simple::SimpleFunctions;
use super::sink::JudgedOutput;
use super::sql_metrics::SqlMetrics;
use super::verify::{Attempts, Rules};
use crate::blocks::broadcast::Broadcasts;
use crate::blocks::codec::Codec;
use crate::blocks::kryo;
use crate::blocks::shuffle::Shuffle;
use crate::blocks::store::BlockManager;
use crate::config::{LaneName, SettingError, SparkProperties, declared, unknown_part};
use crate::files::{FileSystems, HadoopConf};
use crate::memory::budget::ExecutionMemory;
use crate::native_functions::Libraries;
use crate::python::worker::PythonWorkers;
use crate::report::{Report, Verification};
use crate::task::{
    AcceptedTask, DecodedTask, Lane, OtherLane, PickledRdd, PickledSource, StageBinary,
    StageTarget, Verifier,
};

/// The executor's parts that the lane works with.
#[derive(Debug, Clone)]
pub struct SqlParts {
    /// Values of broadcasts.
    pub broadcasts: Arc<Broadcasts>,
    /// Cached tables.
    pub store: Arc<BlockManager>,
    /// Shuffles.
    pub shuffle: Arc<Shuffle>,
    /// What tasks take memory from.
    pub memory: ExecutionMemory,
    /// Where files are read.
    pub files: Arc<FileSystems>,
    /// Time zones with rules.
    pub zones: Zones,
    /// Major version of the JDK on this machine; 0 if there is none.
    pub java_major: u32,
    /// The driver's version of Spark, major and minor.
    pub spark: (u32, u32),
    /// The same as it calls itself: `4.0.5`.
    pub spark_version: String,
    /// Who runs functions of Python, if somebody does.
    pub workers: Option<PythonWorkers>,
}

/// The lane of Spark SQL's stages.
#[derive(Debug)]
pub struct SqlLane {
    shared: Arc<Shared>,
    rows_for_python: Arc<dyn PickledSource>,
    /// Why no task can be run.
    nothing: Option<String>,
}

/// What all tasks of an executor have in common.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) parts: SqlParts,
    pub(super) engine: OnceLock<Engine>,
    pub(super) relations: Arc<Relations>,
    /// With `spark.firesteel.verify=both`.
    pub(super) verifier: Option<Attempts>,
    pub(super) codec: Codec,
    /// Whether files of checkpoints are compressed (`spark.checkpoint.compress`).
    compresses_checkpoints: bool,
    /// Whether the JVM evaluates what has no native form (`spark.firesteel.sql.jvmExpressions`).
    jvm_expressions: bool,
    /// How results and values of broadcasts are written.
    pub(super) format: ResultFormat,
    /// Of objects that are read.
    pub(super) limits: Limits,
    /// Who computes RDDs of Python.
    python: OtherLane,
    /// Functions of shared libraries.
    pub(super) natives: Natives,
    /// Functions of Python that are computed without it.
    pub(super) simple: SimpleFunctions,
}

/// Operators that run natively.
#[derive(Debug)]
pub(super) struct JudgedStage {
    pub(super) native: NativeStage,
    pub(super) metrics: SqlMetrics,
    pub(super) python: Functions,
    /// RDDs of Python that leaves read.
    pub(super) pickled: HashMap<LeafId, Arc<dyn PickledRdd>>,
}

impl Shared {
    /// What files of checkpoints are compressed with, if they are.
    pub(super) fn checkpoint_codec(&self) -> Option<&Codec> {
        self.compresses_checkpoints.then_some(&self.codec)
    }
}

impl JudgedStage {
    /// Where updates of Python's accumulators go.
    pub(super) fn accumulator(&self) -> Option<NodeId> {
        let mut of_rdds = self.pickled.values().filter_map(|rdd| rdd.accumulator());
        self.python.accumulator().or_else(|| of_rdds.next())
    }
}

/// A stage that runs natively, and what it does with its rows.
#[derive(Debug)]
pub(super) struct JudgedPlan {
    pub(super) stage: Arc<JudgedStage>,
    pub(super) output: JudgedOutput,
    /// With `spark.firesteel.verify=both`.
    pub(super) rules: Option<Arc<Rules>>,
}

/// What became of a stage.
#[derive(Debug)]
struct Judged(Result<Work, String>);

/// What the tasks of a stage do.
#[derive(Debug, Clone)]
enum Work {
    Plan(Arc<JudgedPlan>),
    Schemas(SchemaJob),
    Listing(ListingJob),
}

/// Whether attempts are run by the JVM too: `spark.firesteel.verify`.
///
/// # Errors
/// It is neither `none` nor `both`.
pub fn verifies(properties: &SparkProperties) -> Result<bool, SettingError> {
    match properties.text(&declared::VERIFY).as_str() {
        "none" => Ok(false),
        "both" => Ok(true),
        other => Err(SettingError::Invalid {
            key: declared::VERIFY.key.to_owned(),
            value: other.to_owned(),
            expected: "none or both".to_owned(),
        }),
    }
}

impl SqlLane {
    /// The lane of an executor.
    ///
    /// # Errors
    /// A setting is wrong.
    pub fn new(parts: SqlParts, properties: &SparkProperties) -> Result<Self, SettingError> {
        let verifier = verifies(properties)?.then(Attempts::default);
        let nothing = unknown_part(properties, LaneName::Sql);
        let jvm_expressions =
            properties.switch(&declared::SQL_JVM_EXPRESSIONS)? && parts.java_major > 0;
        let shared = Arc::new(Shared {
            relations: Relations::new(parts.memory.clone()),
            parts,
            engine: OnceLock::new(),
            verifier,
            codec: Codec::from_conf(properties)?,
            compresses_checkpoints: properties.switch(&declared::CHECKPOINT_COMPRESS)?,
            jvm_expressions,
            format: ResultFormat(match kryo::form_of_serializer(properties)? {
                Some(form) => Serializer::Kryo(form),
                None => Serializer::Java,
            }),
            limits: Limits::default(),
            python: OtherLane::default(),
            natives: Natives::new(Libraries::new(properties)),
            simple: SimpleFunctions::default(),
        });
        let rows_for_python = RowsForPython {
            shared: Arc::clone(&shared),
            nothing: nothing.clone(),
        };
        Ok(Self {
            shared,
            rows_for_python: Arc::new(rows_for_python),
            nothing,
        })
    }

    /// Rows of data frames for RDDs of Python.
    pub fn rows_for_python(&self) -> &Arc<dyn PickledSource> {
        &self.rows_for_python
    }

    /// Makes known who computes the RDDs of Python that data frames are made of.
    pub fn connect(&self, python: &Arc<dyn PickledSource>) {
        self.shared.python.connect(python);
    }
}

impl Lane for SqlLane {
    fn name(&self) -> LaneName {
        LaneName::Sql
    }

    fn accepts(
        &self,
        task: &DecodedTask,
        description: &TaskDescription,
    ) -> Result<Box<dyn AcceptedTask>, String> {
        if let Some(reason) = &self.nothing {
            return Err(reason.clone());
        }
        if task.task.is_barrier {
            return Err("a barrier stage of Spark SQL".to_owned());
        }
        let shared = &*self.shared;
        let judged = task
            .stage
            .judged(|stage| Judged(shared.judge(stage, description)));
        let plan = match judged.0.as_ref().map_err(String::clone)? {
            Work::Plan(plan) => plan,
            Work::Schemas(job) => {
                return SchemaPlan::new(job, &shared.parts.files, task)
                    .map(|plan| Box::new(plan) as _);
            }
            Work::Listing(job) => {
                return ListingPlan::new(job, &shared.parts.files, task)
                    .map(|plan| Box::new(plan) as _);
            }
        };
        let node = task.task.partition;
        Ok(Box::new(SqlPlan {
            partition: SqlPartition::new(&self.shared, &plan.stage, task, node)?,
            plan: Arc::clone(plan),
        }))
    }

    fn broadcast_removed(&self, id: i64) {
        self.shared.relations.remove(id);
    }

    fn report_children(&self, report: &Report) {
        report.count_native_functions(&self.shared.natives.take_counts());
        report.count_python_functions(&self.shared.simple.take_counts());
    }

    fn verifier(&self) -> Option<&dyn Verifier> {
        self.shared.verifier.as_ref().map(|_| self as _)
    }
}

impl Verifier for SqlLane {
    fn finished_in_jvm(&self, task_id: i64, data: &[u8]) -> Option<Verification> {
        let Shared { parts, codec, .. } = &*self.shared;
        let attempts = self.shared.verifier.as_ref()?;
        attempts.compare(task_id, data, &parts.shuffle, codec)
    }

    fn failed_in_jvm(&self, task_id: i64, data: &[u8]) -> Option<Verification> {
        self.shared.verifier.as_ref()?.failed(task_id, data)
    }
}

impl Shared {
    /// Fails if objects would be written by Kryo that this lane writes and reads as Java does only.
    fn check_format(&self, what: &str) -> Result<(), String> {
        match self.format.kryo() {
            None => Ok(()),
            Some(_) => Err(format!("{what} with {}", declared::SERIALIZER.key)),
        }
    }

    fn judge(&self, binary: &StageBinary, description: &TaskDescription) -> Result<Work, String> {
        let words = |why: Unsupported| why.to_string();
        if let StageTarget::Function(function) = binary.target {
            let (graph, rdd) = (&binary.graph, binary.rdd);
            let conf = |of| HadoopConf::of_object(graph, Value::Ref(of)).map(Arc::new);
            if let Some(merge) = SchemaMerge::read(graph, rdd, function).map_err(words)? {
                self.check_format("schemas of files")?;
                let conf = conf(merge.conf)?;
                return Ok(Work::Schemas(SchemaJob { merge, conf }));
            }
            if let Some(listing) = Listing::read(graph, rdd, function).map_err(words)? {
                self.check_format("listings of files")?;
                let conf = conf(listing.conf)?;
                return Ok(Work::Listing(ListingJob { listing, conf }));
            }
        }
        let target = match binary.target {
            StageTarget::Function(node) | StageTarget::Shuffle(node) => node,
        };
        let property = |name: &str| description.property(name);
        let mut settings = Settings::new(property);
        self.complete(&mut settings);
        let read = |settings| {
            let stage = Stage::read(&binary.graph, binary.rdd, target, settings).map_err(words)?;
            self.plan(self.judged_stage(stage, binary, description)?, description)
        };
        let native = read(settings.clone());
        if native.is_ok() || !self.jvm_expressions {
            return native;
        }
        settings.is_native = Some(exec::expr::is_native);
        // What keeps it from that, not which expression is not native.
        read(settings.clone()).or_else(|why| {
            let ids = (binary.rdd, target);
            let below = self.below_rest(binary, ids, settings, description);
            below.ok_or(why)
        })
    }

    /// The operators of a stage that are native below others.
    fn below_rest(
        &self,
        binary: &StageBinary,
        ids: (NodeId, NodeId),
        settings: Settings,
        description: &TaskDescription,
    ) -> Option<Work> {
        let complete = |settings: &mut Settings| self.complete(settings);
        Stage::below_rest(&binary.graph, ids, settings, complete, |stage| {
            let stage = self.judged_stage(stage, binary, description).ok()?;
            self.plan(stage, description).ok()
        })
    }

    /// What tasks of a stage do whose operators are native.
    fn plan(&self, stage: JudgedStage, description: &TaskDescription) -> Result<Work, String> {
        let property = |name: &str| description.property(name);
        let native = &stage.native;
        let what = match native.stage().output {
            Output::Rest(_) => {
                Some("operators of the JVM's above native ones, which are not held against others")
            }
            Output::Files(_) => Some("a write, which cannot be held against another one"),
            Output::JsonTypes(_) => Some("columns of JSON, which are not held against others"),
            Output::CsvTypes(_) => Some("columns of CSV, which are not held against others"),
            Output::ArrowBatches(_) => Some("Arrow batches, which are not held against others"),
            Output::Count => Some("a number of rows, which is not held against others"),
            Output::Checkpoint(_) => Some("a checkpoint, which is not held against others"),
            _ => None,
        };
        if let Some(what) = what.filter(|_| self.verifier.is_some()) {
            return Err(what.to_owned());
        }
        if self.verifier.is_some() {
            self.check_format("results that are held against others")?;
        }
        let (spark, files) = (&self.parts.spark_version, &self.parts.files);
        let output = JudgedOutput::new(native.stage(), property, spark, files);
        let output = output.map_err(|why| why.to_string())?;
        let rules = self
            .verifier
            .as_ref()
            .map(|_| Arc::new(Rules::new(native.stage())));
        Ok(Work::Plan(Arc::new(JudgedPlan {
            stage: Arc::new(stage),
            output,
            rules,
        })))
    }

    /// Adds what sessions do not say.
    pub(super) fn complete(&self, settings: &mut Settings) {
        settings.zones = self.parts.zones.clone();
        settings.spark = self.parts.spark;
        settings.java = self.parts.java_major;
        settings.kryo = self.format.kryo();
        settings.scans_in_jvm = self.jvm_expressions;
    }

    /// Judges the operators of a stage.
    pub(super) fn judged_stage(
        &self,
        stage: Stage,
        binary: &StageBinary,
        description: &TaskDescription,
    ) -> Result<JudgedStage, String> {
        let native = NativeStage::new(Arc::new(stage)).map_err(|why| why.to_string())?;
        let stage = native.stage();
        let python = Functions::read(&stage.root, &binary.graph, &self.parts)?;
        python.check(description, &self.parts)?;
        let mut pickled = HashMap::new();
        for leaf in stage.leaves() {
            let OperatorKind::PickledScan(scan) = &leaf.kind else {
                continue;
            };
            let lane = self.python.get();
            let lane = lane.ok_or("RDDs of Python without the python lane")?;
            pickled.insert(scan.leaf, lane.judge(binary, scan.rdd, description)?);
        }
        Ok(JudgedStage {
            metrics: SqlMetrics::read(&binary.graph)?,
            native,
            python,
            pickled,
        })
    }
}
