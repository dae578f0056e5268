//! Python workers: the processes that run a task's Python code, as the distribution's own `pyspark` starts and talks.
//!
//! A daemon (`pyspark.daemon`) per interpreter and environment forks workers; a worker serves one task after another.
//! For each task it gets a message with everything it needs, then the elements; it sends back what its function makes
//! of them, then times and updates of accumulators. Formats and texts are those of `PythonRunner` and
//! `PythonWorkerFactory`.

mod barrier;
mod broadcast;
mod compiled;
mod environment;
mod factory;
mod framing;
#[cfg(fuzzing)]
pub(crate) mod fuzzing;
mod inbox;
mod listener;
mod message;
mod monitor;
mod outbox;
mod output;
mod process;
mod protocol;
mod settings;
mod simple;
mod socket;
mod wire;

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicI32;
use std::sync::{Arc, Weak};
use std::time::SystemTime;

use ::wire::task_description::TaskDescription;
use javaser::Catalog;
use parking_lot::Mutex;

pub use message::{ArrowStream, PythonCallee, PythonRowCall, PythonTable};
pub use output::{PythonOutput, WorkerTimes};
pub use protocol::{ContextForm, UdfForm, WorkerProtocol};
pub use settings::WorkerSettings;
pub use simple::Translated;

use self::barrier::BarrierServer;
use self::compiled::CompileReports;
use self::factory::{Factory, FactoryKey};
use self::framing::{ArrowParts, Framing};
use self::message::{PythonTask, TaskMessage};
use self::monitor::Monitor;
use self::outbox::Outbox;
use self::output::Assignment;
use super::{Elements, PythonFunction};
use crate::config::{SettingError, SparkProperties};
use crate::report::PythonCompiled;
use crate::task::{TaskContext, TaskError};

/// What all workers share.
#[derive(Debug)]
struct WorkerPool {
    settings: Arc<WorkerSettings>,
    protocol: Arc<WorkerProtocol>,
    /// The distribution's part of `PYTHONPATH`.
    spark_path: String,
    /// Where workers write tracebacks when they crash, if `spark.python.worker.faulthandler.enabled`.
    faulthandler_dir: Option<PathBuf>,
    /// What workers tell of the pipelines that they compile, if they may and know how.
    compile_reports: Option<CompileReports>,
    factories: Mutex<HashMap<FactoryKey, Arc<Factory>>>,
    monitor: Monitor,
    /// How often running tasks of barrier stages have waited for each other.
    barrier_epochs: Mutex<HashMap<i64, Weak<AtomicI32>>>,
}

impl Drop for WorkerPool {
    fn drop(&mut self) {
        if let Some(dir) = &self.faulthandler_dir {
            // Left in the system's directory for temporary files otherwise.
            let _ = std::fs::remove_dir_all(dir);
        }
    }
}

/// The Python workers of an executor. Clones are the same workers; the last one ends them.
#[derive(Debug, Clone)]
pub struct PythonWorkers(Arc<WorkerPool>);

/// Memory of Python processes, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PythonMemory {
    /// Address space.
    pub virtual_bytes: u64,
    /// Resident set.
    pub resident_bytes: u64,
}

/// What a worker is asked for.
struct Job<'a> {
    function: &'a PythonFunction,
    partition_index: i32,
    task: PythonTask<'a>,
}

impl PythonWorkers {
    /// No worker is started yet.
    ///
    /// # Errors
    /// A property has a value that Spark refuses too.
    pub fn new(properties: &SparkProperties, catalog: &Catalog) -> Result<Self, SettingError> {
        let protocol = WorkerProtocol::detect(catalog);
        let settings = WorkerSettings::new(properties, &protocol)?;
        let home = std::env::var_os("SPARK_HOME").map(PathBuf::from);
        // Java follows symbolic links in its class path.
        let core = catalog.jar_of("org.apache.spark.SparkContext");
        let core = core.map(|jar| jar.canonicalize().unwrap_or(jar));
        let path = environment::spark_python_path(home.as_deref(), core);
        let path: Vec<_> = path.iter().map(|path| path.to_string_lossy()).collect();
        Ok(Self(Arc::new(WorkerPool {
            spark_path: environment::merge_paths(path.iter().map(AsRef::as_ref)),
            faulthandler_dir: settings.faulthandler.then(new_faulthandler_dir).flatten(),
            compile_reports: (settings.compile && settings.launcher.is_some())
                .then(new_compile_reports)
                .flatten(),
            settings: Arc::new(settings),
            protocol: Arc::new(protocol),
            factories: Mutex::default(),
            monitor: Monitor::default(),
            barrier_epochs: Mutex::default(),
        })))
    }

    /// Fails for a task whose resources workers cannot be told of. PySpark before 4.2 forgets all kinds of them but the
    /// last that it is told, and which is told last depends on Scala's hash maps.
    ///
    /// # Errors
    /// The reason to delegate the task.
    pub fn check_resources(&self, task: &TaskDescription) -> Result<(), String> {
        let keeps_one = self.0.protocol.context != ContextForm::Json;
        match keeps_one && task.resources.len() > 1 {
            true => Err("several kinds of resources, of which PySpark keeps one".to_owned()),
            false => Ok(()),
        }
    }

    /// Runs a function over the elements of a partition: `PythonRunner.compute` with `PythonEvalType.NON_UDF`.
    /// `partition_index` is the index that the function sees. Blocks until a worker is there; input is asked for while
    /// output is read. Updates of accumulators are in [`TaskContext::python_updates`] after the last output.
    ///
    /// # Errors
    /// No worker can be had, or a broadcast variable cannot be. Errors of the output are [`TaskError::Python`] with the
    /// traceback if the function raised, those of the input as they are, [`TaskError::Killed`], or Spark's text for a
    /// worker that died.
    pub fn run<'a>(
        &self,
        function: &PythonFunction,
        partition_index: i32,
        input: Elements<'a>,
        context: &Arc<TaskContext>,
    ) -> Result<PythonOutput<'a>, TaskError> {
        let job = Job {
            function,
            partition_index,
            task: PythonTask::Iterate,
        };
        self.start(&job, input, context)
    }

    /// Calls functions for every row of the input's frames: `PythonUDFRunner.compute`, `ArrowPythonRunner.compute`.
    /// Otherwise as [`Self::run`]. The worker's surroundings are those of the first function; broadcasts and files of
    /// all.
    ///
    /// # Errors
    /// As [`Self::run`].
    pub fn call_for_rows<'a>(
        &self,
        call: &PythonRowCall,
        input: Elements<'a>,
        context: &Arc<TaskContext>,
    ) -> Result<PythonOutput<'a>, TaskError> {
        let all = call.callees.iter().flat_map(|callee| &callee.functions);
        let mut function = PythonFunction::together(all)
            .ok_or_else(|| TaskError::BailOut("no Python function".to_owned()))?;
        function
            .job_artifact_uuid
            .clone_from(&call.job_artifact_uuid);
        // `spark.sql.execution.pyspark.udf.simplifiedTraceback.enabled`; nobody has turned it off.
        let simplified = ("SPARK_SIMPLIFIED_TRACEBACK".to_owned(), "1".to_owned());
        function.env_vars.extend([simplified]);
        let job = Job {
            function: &function,
            partition_index: context.partition_id,
            task: PythonTask::CallForRows(call),
        };
        self.start(&job, input, context)
    }

    /// Whether Arrow's conversions fail where values do not fit, unless the session says otherwise (from 4.1).
    pub fn converts_safely(&self) -> bool {
        self.0.protocol.settings_of_4_1
    }

    fn start<'a>(
        &self,
        job: &Job<'_>,
        input: Elements<'a>,
        context: &Arc<TaskContext>,
    ) -> Result<PythonOutput<'a>, TaskError> {
        let started = SystemTime::now();
        context.check()?;
        let (shared, function) = (&self.0, job.function);
        let factory = shared.factory(function, context)?;
        let barrier = match context.is_barrier {
            true => Some(BarrierServer::start(
                context,
                &shared.settings,
                shared.barrier_epoch(context.task_attempt_id),
            )?),
            false => None,
        };
        let mut worker = factory.acquire()?;
        let changes = broadcast::changes(function, &mut worker, context, &shared.settings)?;
        let message = TaskMessage {
            function,
            task: job.task,
            partition_index: job.partition_index,
            context,
            barrier: barrier.as_ref().map(BarrierServer::address),
            broadcasts: &changes,
        };
        let framing = match job.task {
            PythonTask::CallForRows(call) if call.stream.is_some() => {
                Framing::Arrow(ArrowParts::default())
            }
            _ => Framing::Lengths,
        };
        let mut outbox = Outbox::default();
        outbox.put_message(message.encode(&shared.protocol)?);
        Ok(PythonOutput::new(Assignment {
            shared: Arc::clone(shared),
            factory,
            worker,
            context: Arc::clone(context),
            outbox,
            input,
            framing,
            accumulates: function.accumulator.is_some(),
            started,
            barrier,
        }))
    }

    /// Memory of all daemons and workers, for the executor's metrics.
    pub fn memory(&self) -> PythonMemory {
        let factories: Vec<_> = self.0.factories.lock().values().cloned().collect();
        let pids = factories.iter().flat_map(|factory| factory.process_ids());
        let mut sum = PythonMemory::default();
        for pid in pids {
            // A process that has just ended has none.
            let statm = std::fs::read_to_string(format!("/proc/{pid}/statm"));
            let statm = statm.unwrap_or_default();
            let mut pages = statm
                .split(' ')
                .map_while(|number| number.parse::<u64>().ok());
            let page = rustix::param::page_size() as u64;
            sum.virtual_bytes += pages.next().unwrap_or(0) * page;
            sum.resident_bytes += pages.next().unwrap_or(0) * page;
        }
        sum
    }

    /// What workers have told of pipelines of functions since the last time.
    pub fn take_compiled(&self) -> PythonCompiled {
        let reports = self.0.compile_reports.as_ref();
        reports.map(CompileReports::take).unwrap_or_default()
    }
}

impl WorkerPool {
    /// The count of a task, which all of its functions share.
    fn barrier_epoch(&self, task_attempt_id: i64) -> Arc<AtomicI32> {
        let mut epochs = self.barrier_epochs.lock();
        epochs.retain(|_, epoch| epoch.strong_count() > 0);
        if let Some(epoch) = epochs.get(&task_attempt_id).and_then(Weak::upgrade) {
            return epoch;
        }
        let epoch = Arc::default();
        epochs.insert(task_attempt_id, Arc::downgrade(&epoch));
        epoch
    }

    /// The workers for a function.
    fn factory(
        &self,
        function: &PythonFunction,
        context: &TaskContext,
    ) -> Result<Arc<Factory>, TaskError> {
        let env = environment::of_function(
            function,
            context,
            &self.settings,
            &self.protocol,
            self.faulthandler_dir.as_deref(),
            self.compile_reports.as_ref().map(CompileReports::path),
        )?;
        let key = FactoryKey {
            exec: function.python_exec.clone(),
            env,
        };
        let mut factories = self.factories.lock();
        if let Some(factory) = factories.get(&key) {
            return Ok(Arc::clone(factory));
        }
        let ours = std::env::var("PYTHONPATH").unwrap_or_default();
        let theirs = key.env.get("PYTHONPATH").map_or("", String::as_str);
        let path = environment::merge_paths([self.spark_path.as_str(), theirs, &ours]);
        let dir = function.job_artifact_uuid.as_ref();
        let factory = Arc::new(Factory::new(
            key.clone(),
            Arc::clone(&self.settings),
            Arc::clone(&self.protocol),
            path,
            dir.map(|_| message::files_dir(function, context)),
        ));
        self.monitor.watch(&factory);
        factories.insert(key, Arc::clone(&factory));
        Ok(factory)
    }
}

fn new_compile_reports() -> Option<CompileReports> {
    let reports = CompileReports::new();
    let failed = |error: &io::Error| {
        tracing::warn!("Compiled pipelines of Python functions are not counted: {error}")
    };
    reports.inspect_err(failed).ok()
}

fn new_faulthandler_dir() -> Option<PathBuf> {
    let name = format!("faulthandler-{}", uuid::Uuid::new_v4());
    let dir: PathBuf = Path::new(&std::env::temp_dir()).join(name);
    match std::fs::create_dir(&dir) {
        Ok(()) => Some(dir),
        Err(error) => {
            tracing::warn!(
                "Python workers leave no tracebacks: {}: {error}",
                dir.display()
            );
            None
        }
    }
}
