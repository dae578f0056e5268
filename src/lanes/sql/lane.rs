//! Which tasks the lane takes.

use std::sync::{Arc, OnceLock};

use javaser::Limits;
use sql::native::NativeStage;
use sql::schema::SchemaMerge;
use sql::{LeafInput, Settings, Stage, TaskInputs, Unsupported};
use wire::task_description::TaskDescription;

use super::engine::Engine;
use super::relations::Relations;
use super::run::SqlPlan;
use super::schemas::SchemaPlan;
use super::sink::JudgedOutput;
use super::sources::{local_path, remote_path};
use super::sql_metrics::SqlMetrics;
use super::verify::{Rules, Verdict, Verifier};
use crate::blocks::broadcast::Broadcasts;
use crate::blocks::codec::Codec;
use crate::blocks::shuffle::Shuffle;
use crate::config::{SettingError, SparkProperties};
use crate::executor::task::{DecodedTask, StageBinary, StageTarget};
use crate::files::FileSystems;
use crate::lanes::{Lane, NativeLane, NativePlan, SHUFFLE_PARTS, unknown_part};
use crate::memory::budget::ExecutionMemory;

/// Whether attempts are run by the JVM too: `none` or `both`.
const VERIFY: &str = "spark.firesteel.verify";

/// The executor's parts that the lane works with.
#[derive(Debug, Clone)]
pub struct SqlParts {
    /// Values of broadcasts.
    pub broadcasts: Arc<Broadcasts>,
    /// Shuffles.
    pub shuffle: Arc<Shuffle>,
    /// What tasks take memory from.
    pub memory: ExecutionMemory,
    /// Where files are read.
    pub files: Arc<FileSystems>,
}

/// The lane of Spark SQL's stages.
#[derive(Debug)]
pub struct SqlLane {
    shared: Arc<Shared>,
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
    pub(super) verifier: Option<Verifier>,
    pub(super) codec: Codec,
    /// Of objects that are read.
    pub(super) limits: Limits,
}

/// How the lane hears of what happens elsewhere.
#[derive(Debug, Clone)]
pub struct SqlEars(Arc<Shared>);

impl SqlEars {
    /// The driver removes a broadcast.
    pub fn broadcast_removed(&self, id: i64) {
        self.0.relations.remove(id);
    }

    /// Whether the ends of tasks in the JVM are wanted.
    pub fn verifies(&self) -> bool {
        self.0.verifier.is_some()
    }

    /// A task has finished in the JVM; `data` are those of its status update. What comes of it if it was run natively before. To be called before the update is
    /// sent, on a thread that may wait.
    pub fn finished_in_jvm(&self, task_id: i64, data: &[u8]) -> Option<Verdict> {
        let Shared { parts, codec, .. } = &*self.0;
        let verifier = self.0.verifier.as_ref()?;
        verifier.compare(task_id, data, &parts.shuffle, codec)
    }

    /// A task has failed in the JVM or was killed there.
    pub fn failed_in_jvm(&self, task_id: i64, data: &[u8]) -> Option<Verdict> {
        self.0.verifier.as_ref()?.failed(task_id, data)
    }
}

/// A stage that runs natively.
#[derive(Debug)]
pub(super) struct JudgedStage {
    pub(super) native: NativeStage,
    pub(super) output: JudgedOutput,
    pub(super) metrics: SqlMetrics,
    /// With `spark.firesteel.verify=both`.
    pub(super) rules: Option<Arc<Rules>>,
}

/// What became of a stage.
#[derive(Debug)]
struct Judged(Result<Work, String>);

/// What the tasks of a stage do.
#[derive(Debug, Clone)]
enum Work {
    Plan(Arc<JudgedStage>),
    Schemas(SchemaMerge),
}

/// Further settings that put something else in the place of a part of Spark, and the values that this lane knows.
const PLUGGABLE: [(&str, &[&str]); 1] = [
    // Results and relations are objects of it.
    (
        "spark.serializer",
        &["org.apache.spark.serializer.JavaSerializer"],
    ),
];

impl SqlLane {
    /// The lane of an executor.
    ///
    /// # Errors
    /// A setting is wrong.
    pub fn new(parts: SqlParts, properties: &SparkProperties) -> Result<Self, SettingError> {
        let verify = match properties.text(VERIFY, "none").as_str() {
            "none" => None,
            "both" => Some(Verifier::default()),
            other => {
                return Err(SettingError::Invalid {
                    key: VERIFY.to_owned(),
                    value: other.to_owned(),
                    expected: "none or both".to_owned(),
                });
            }
        };
        let nothing = unknown_part(properties, &SHUFFLE_PARTS)
            .or_else(|| unknown_part(properties, &PLUGGABLE));
        Ok(Self {
            shared: Arc::new(Shared {
                relations: Relations::new(parts.memory.clone()),
                parts,
                engine: OnceLock::new(),
                verifier: verify,
                codec: Codec::from_conf(properties)?,
                limits: Limits::default(),
            }),
            nothing,
        })
    }

    /// What the executor has to tell the lane.
    pub fn ears(&self) -> SqlEars {
        SqlEars(Arc::clone(&self.shared))
    }
}

impl NativeLane for SqlLane {
    fn lane(&self) -> Lane {
        Lane::Sql
    }

    fn accepts(
        &self,
        task: &DecodedTask,
        description: &TaskDescription,
    ) -> Result<Box<dyn NativePlan>, String> {
        if let Some(reason) = &self.nothing {
            return Err(reason.clone());
        }
        if task.task.is_barrier {
            return Err("a barrier stage of Spark SQL".to_owned());
        }
        let verifies = self.shared.verifier.is_some();
        let judged = task
            .stage
            .judged(|stage| Judged(judge(stage, description, verifies)));
        let stage = match judged.0.as_ref().map_err(String::clone)? {
            Work::Plan(stage) => stage,
            Work::Schemas(merge) => {
                return SchemaPlan::new(merge, task).map(|plan| Box::new(plan) as _);
            }
        };
        let inputs = stage
            .native
            .stage()
            .bind(&task.task.graph, task.task.partition)
            .map_err(|why| why.to_string())?;
        check_files(&inputs)?;
        Ok(Box::new(SqlPlan {
            shared: Arc::clone(&self.shared),
            binary: Arc::clone(&task.stage),
            stage: Arc::clone(stage),
            inputs,
        }))
    }
}

fn judge(
    binary: &StageBinary,
    description: &TaskDescription,
    verifies: bool,
) -> Result<Work, String> {
    let words = |why: Unsupported| why.to_string();
    if let StageTarget::Function(function) = binary.target {
        let merge = SchemaMerge::read(&binary.graph, binary.rdd, function).map_err(words)?;
        if let Some(merge) = merge {
            return Ok(Work::Schemas(merge));
        }
    }
    let target = match binary.target {
        StageTarget::Function(node) | StageTarget::Shuffle(node) => node,
    };
    let property = |name: &str| {
        let mut properties = description.properties.iter();
        properties
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.as_str())
    };
    let settings = Settings::new(property);
    let stage = Stage::read(&binary.graph, binary.rdd, target, settings).map_err(words)?;
    let native = NativeStage::new(Arc::new(stage)).map_err(words)?;
    let output = JudgedOutput::new(native.stage(), native.raw_rows()).map_err(words)?;
    let metrics = SqlMetrics::read(&binary.graph)?;
    let rules = verifies.then(|| Arc::new(Rules::new(native.stage())));
    Ok(Work::Plan(Arc::new(JudgedStage {
        native,
        output,
        metrics,
        rules,
    })))
}

/// Files of this host and of file systems that are known.
fn check_files(inputs: &TaskInputs) -> Result<(), String> {
    match inputs {
        TaskInputs::Leaf(_, LeafInput::Files(files)) => {
            let mut others = files.iter().filter(|file| local_path(&file.path).is_none());
            others.try_for_each(|file| remote_path(&file.path).map(|_| ()))
        }
        TaskInputs::Leaf(..) => Ok(()),
        TaskInputs::Union(_, one) => check_files(one),
        TaskInputs::Zip(all) | TaskInputs::Coalesced(all) => all.iter().try_for_each(check_files),
    }
}
