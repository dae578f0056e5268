//! What a distribution's workers expect, as far as versions differ.

use javaser::Catalog;

use crate::config::declared;

/// How a task's context is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContextForm {
    /// Plain fields; port and secret of the barrier server are always there (3.5, 4.0).
    Fields,
    /// Plain fields; how to reach the barrier server follows only in barrier stages (4.1).
    FieldsWithOptionalServer,
    /// A JSON object (from 4.2).
    Json,
}

/// How functions are told that are called for rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UdfForm {
    /// Arguments by their places (3.5).
    Places,
    /// Arguments with their names, after what profiles them (4.0, 4.1).
    Profiled,
    /// Arguments with their names; every function has an id (from 4.2).
    Identified,
}

/// The differences between versions in talking to workers. They are learned from what the distribution's own classes
/// mention, because its `pyspark` is of the same build.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerProtocol {
    /// How a task's context is told.
    pub context: ContextForm,
    /// The context has `cpuAmount` (from 4.3).
    pub cpu_amount: bool,
    /// Everything down to the command is one message with a length (from 4.3).
    pub init_frame: bool,
    /// Two maps of settings stand before the command (from 4.2).
    pub conf_maps: bool,
    /// How functions are told that are called for rows.
    pub udf_form: UdfForm,
    /// There is a fourth time among the times of a task (from 4.2).
    pub processing_time: bool,
    /// The daemon is told the worker's module (from 4.0).
    pub daemon_knows_worker: bool,
    /// Workers get `PYTHON_UDF_BATCH_SIZE` (from 4.0).
    pub batch_size: bool,
    /// Workers get `SPARK_PYTHON_RUNTIME` (from 4.2).
    pub python_runtime: bool,
    /// Workers share memory by the number of tasks that fit the executor instead of by its cores (from 4.3).
    pub memory_by_tasks: bool,
    /// `OMP_NUM_THREADS` is the task's number of CPUs instead of `spark.task.cpus` (from 4.3).
    pub threads_by_task: bool,
    /// The text about a dead worker says how to learn more (from 4.0).
    pub advises_faulthandler: bool,
    /// An idle worker that is dead or has something to say is not used again (from 4.0), with
    /// `spark.python.worker.idleTimeoutSeconds`.
    pub idle_timeout: bool,
    /// `spark.python.worker.killOnIdleTimeout`, `spark.python.worker.tracebackDumpIntervalSeconds`, Unix sockets and
    /// other settings of 4.1.
    pub settings_of_4_1: bool,
}

const PACKAGE: &str = "org.apache.spark.api.python";
/// An argument of a function, with its name.
const ARGUMENT: &str = "org.apache.spark.sql.execution.python.EvalPythonExec$ArgumentMetadata";

impl WorkerProtocol {
    /// Looks at the distribution's classes. What cannot be found counts as not mentioned, that is as an older version.
    pub fn detect(catalog: &Catalog) -> Self {
        let mentions = |class: &str, word: &str| catalog.mentions(class, word) == Some(true);
        let utils = format!("{PACKAGE}.PythonWorkerUtils$");
        let runner = format!("{PACKAGE}.BasePythonRunner");
        let settings = "org.apache.spark.internal.config.Python$";
        let json = mentions(&utils, "taskAttemptId");
        let settings_of_4_1 = mentions(settings, declared::PYTHON_UNIX_SOCKETS.key);
        Self {
            context: match (json, settings_of_4_1) {
                (true, _) => ContextForm::Json,
                (false, true) => ContextForm::FieldsWithOptionalServer,
                (false, false) => ContextForm::Fields,
            },
            cpu_amount: mentions(&utils, "cpuAmount"),
            init_frame: mentions(
                &format!("{PACKAGE}.SpecialLengths$"),
                "START_OF_INIT_MESSAGE",
            ),
            conf_maps: json,
            udf_form: match (json, catalog.jar_of(ARGUMENT).is_some()) {
                (true, _) => UdfForm::Identified,
                (false, true) => UdfForm::Profiled,
                (false, false) => UdfForm::Places,
            },
            processing_time: mentions(&format!("{runner}$ReaderIterator"), "pythonProcessingTime"),
            daemon_knows_worker: mentions(
                &format!("{PACKAGE}.PythonWorkerFactory"),
                "daemonModule",
            ) && mentions(&runner, "PYTHON_UDF_BATCH_SIZE"),
            batch_size: mentions(&runner, "PYTHON_UDF_BATCH_SIZE"),
            python_runtime: mentions(&runner, "SPARK_PYTHON_RUNTIME"),
            memory_by_tasks: mentions(&runner, "MAX_TASKS_PER_EXECUTOR_LOCAL_PROPERTY"),
            threads_by_task: !mentions(&runner, declared::TASK_CPUS.key),
            advises_faulthandler: mentions(
                &format!("{runner}$ReaderIterator$$anonfun$1"),
                "Consider setting",
            ),
            idle_timeout: mentions(settings, declared::PYTHON_IDLE_TIMEOUT.key),
            settings_of_4_1,
        }
    }
}
