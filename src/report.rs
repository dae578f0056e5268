//! What the executor did, counted while it runs and written as JSON at exit.
//!
//! Tests and benchmarks read this report, never the log. The file is named by `FIRESTEEL_REPORT` in the environment;
//! `{id}` in the name stands for the executor id.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use parking_lot::Mutex;
use serde::Serialize;

use crate::config::LaneName;

/// How task attempts ended, for one lane.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct TaskCounts {
    /// Attempts that ended with `TaskState.FINISHED`.
    pub finished: u64,
    /// Attempts that ended with `TaskState.FAILED`.
    pub failed: u64,
    /// Attempts that ended with `TaskState.KILLED`.
    pub killed: u64,
}

/// A snapshot of everything the executor counts; the JSON report is this struct.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Counters {
    /// Executor id as the driver knows it.
    pub executor_id: String,
    /// Version of the Spark distribution on the class path, such as `4.3.0`; empty before it is known.
    pub spark_version: String,
    /// Milliseconds from the start of the process to the driver's acceptance of `RegisterExecutor`; `null` before that.
    pub ms_to_registered: Option<u64>,
    /// Whether a JVM was created in this process.
    pub jvm_started: bool,
    /// Milliseconds from the request for a JVM to its readiness to run tasks; `null` when there was none.
    pub ms_to_jvm_ready: Option<u64>,
    /// Largest resident set size of the process so far, in bytes (`VmHWM`).
    pub peak_rss_bytes: u64,
    /// Largest resident memory of all Python daemons and workers together that was seen, in bytes; looked at with each
    /// heartbeat and the end of tasks, at most once a second.
    pub python_peak_rss_bytes: u64,
    /// Attempts by lane.
    pub tasks: BTreeMap<&'static str, TaskCounts>,
    /// Attempts given to the jvm lane, by reason.
    pub delegated: BTreeMap<String, u64>,
    /// Attempts that a native lane gave up before anything of them was visible, by reason.
    pub bailed_out: BTreeMap<String, u64>,
    /// What came of pipelines of Python functions.
    pub python_compiled: PythonCompiled,
    /// Functions of Python in SQL.
    pub python_functions: PythonFunctions,
    /// Functions of shared libraries.
    pub native_functions: NativeFunctions,
    /// Expressions that the embedded JVM evaluated for native tasks.
    pub jvm_expressions: JvmExpressions,
    /// Map outputs that were columns.
    pub shuffle_columns: ShuffleColumns,
    /// What came of `spark.firesteel.verify=both`.
    pub verified: Verified,
    /// Exit code, once the executor has stopped.
    pub exit_code: Option<i32>,
}

/// Pipelines of Python functions that workers compiled (`spark.firesteel.python.compile`), and those that they did not.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct PythonCompiled {
    /// Pipelines that began without the interpreter.
    pub pipelines: u64,
    /// Functions in them.
    pub functions: u64,
    /// Those of the pipelines that went on in the interpreter before their end.
    pub left_to_python: u64,
    /// Pipelines that were the interpreter's from the beginning, by reason.
    pub not_simple: BTreeMap<String, u64>,
}

/// Functions of Python in SQL that are given values: those that are computed without Python
/// (`spark.firesteel.python.compile`), and those that are not.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct PythonFunctions {
    /// How often a task began with one that it computes itself.
    pub computed: u64,
    /// Rows that they were computed for.
    pub rows: u64,
    /// Batches of rows of theirs that Python had to see.
    pub left_to_python: u64,
    /// How often a task began with one that is Python's, by reason.
    pub not_simple: BTreeMap<String, u64>,
}

/// Expressions without a native form, which Spark's own code evaluates in the embedded JVM for native tasks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct JvmExpressions {
    /// Native tasks that had some.
    pub tasks: u64,
    /// Batches of rows.
    pub batches: u64,
    /// Those of the tasks whose last operators, or what became of their rows, were the JVM's.
    pub rests: u64,
}

/// Functions of the libraries that `spark.firesteel.functions` names.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct NativeFunctions {
    /// Those that were called in this process, by the names of their library and their own.
    pub called: BTreeMap<String, NativeFunctionCalls>,
    /// Functions of Python that stand for native ones and ran in workers, by reason.
    pub left_to_python: BTreeMap<String, u64>,
    /// Processes that were started for functions (`spark.firesteel.functions.isolate`).
    pub processes: u64,
    /// Those of them that crashed or were killed.
    pub processes_ended: u64,
}

/// What a native function was called for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct NativeFunctionCalls {
    /// Parts of tasks.
    pub instances: u64,
    /// Rows; of a partition function those that it gave.
    pub rows: u64,
}

impl NativeFunctions {
    /// Counts instances of a function, and rows.
    pub fn called(&mut self, name: &str, instances: u64, rows: u64) {
        self.add(name, NativeFunctionCalls { instances, rows });
    }

    /// Counts a function that Python runs in a task.
    pub fn left_to_python(&mut self, reason: &str) {
        *self.left_to_python.entry(reason.to_owned()).or_default() += 1;
    }

    fn add(&mut self, name: &str, more: NativeFunctionCalls) {
        let of = self.called.entry(name.to_owned()).or_default();
        of.instances += more.instances;
        of.rows += more.rows;
    }
}

/// Map outputs that were written as columns (`spark.firesteel.shuffle.format`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct ShuffleColumns {
    /// How many.
    pub written: u64,
    /// How many of them rows were made of, for somebody who cannot read columns.
    pub made_rows: u64,
}

/// What came of holding a native attempt against the JVM's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verification {
    /// All that is determined is equal.
    Equal,
    /// What is not.
    Different(String),
    /// Why they cannot be compared.
    Unverified(String),
}

/// Attempts that ran natively and in the JVM.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Verified {
    /// Those that came to the same.
    pub equal: u64,
    /// Those that did not.
    pub different: u64,
    /// Those that could not be compared, by reason.
    pub unverified: BTreeMap<String, u64>,
}

/// Thread-safe home of [`Counters`].
#[derive(Debug)]
pub struct Report {
    counters: Mutex<Counters>,
    shuffle_columns: OnceLock<CountedElsewhere>,
    path: Option<PathBuf>,
}

/// Gives the numbers of now.
struct CountedElsewhere(Box<dyn Fn() -> ShuffleColumns + Send + Sync>);

impl std::fmt::Debug for CountedElsewhere {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0().fmt(f)
    }
}

/// How a task attempt ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskEnd {
    /// `TaskState.FINISHED`
    Finished,
    /// `TaskState.FAILED`
    Failed,
    /// `TaskState.KILLED`
    Killed,
}

impl Report {
    /// An empty report of the executor `executor_id`. `pattern` is the value of `FIRESTEEL_REPORT`, if set.
    pub fn new(executor_id: &str, pattern: Option<&str>) -> Self {
        let tasks = LaneName::ALL
            .iter()
            .map(|lane| (lane.name(), TaskCounts::default()))
            .collect();
        let counters = Counters {
            executor_id: executor_id.to_owned(),
            tasks,
            ..Counters::default()
        };
        let path = pattern
            .filter(|p| !p.is_empty())
            .map(|p| PathBuf::from(p.replace("{id}", executor_id)));
        Self {
            counters: Mutex::new(counters),
            shuffle_columns: OnceLock::new(),
            path,
        }
    }

    /// The present numbers, with the peak resident set size read now.
    pub fn snapshot(&self) -> Counters {
        let mut counters = self.counters.lock().clone();
        counters.peak_rss_bytes = crate::memory::peak_rss_bytes();
        if let Some(counted) = self.shuffle_columns.get() {
            counters.shuffle_columns = counted.0();
        }
        counters
    }

    /// Notes the distribution's version.
    pub fn set_spark_version(&self, version: &str) {
        self.counters.lock().spark_version = version.to_owned();
    }

    /// Notes the driver's acceptance, `elapsed` after the start of the process.
    pub fn set_registered(&self, elapsed: Duration) {
        self.counters.lock().ms_to_registered = Some(millis(elapsed));
    }

    /// Who counts map outputs that are columns; a second call changes nothing.
    pub fn count_shuffle_columns_with(
        &self,
        counted: impl Fn() -> ShuffleColumns + Send + Sync + 'static,
    ) {
        let _ = self
            .shuffle_columns
            .set(CountedElsewhere(Box::new(counted)));
    }

    /// Notes what Python daemons and workers take now.
    pub fn note_python_rss(&self, bytes: u64) {
        let mut counters = self.counters.lock();
        counters.python_peak_rss_bytes = counters.python_peak_rss_bytes.max(bytes);
    }

    /// Notes that a JVM is being created.
    pub fn set_jvm_started(&self) {
        self.counters.lock().jvm_started = true;
    }

    /// Notes that the JVM accepts tasks, `elapsed` after it was asked for.
    pub fn set_jvm_ready(&self, elapsed: Duration) {
        self.counters.lock().ms_to_jvm_ready = Some(millis(elapsed));
    }

    /// Counts the end of an attempt.
    pub fn count_task(&self, lane: LaneName, end: TaskEnd) {
        let mut counters = self.counters.lock();
        let counts = counters.tasks.entry(lane.name()).or_default();
        match end {
            TaskEnd::Finished => counts.finished += 1,
            TaskEnd::Failed => counts.failed += 1,
            TaskEnd::Killed => counts.killed += 1,
        }
    }

    /// Counts an attempt given to the jvm lane.
    pub fn count_delegated(&self, reason: &str) {
        *self
            .counters
            .lock()
            .delegated
            .entry(reason.to_owned())
            .or_default() += 1;
    }

    /// Counts an attempt that a native lane gave up.
    pub fn count_bailed_out(&self, reason: &str) {
        *self
            .counters
            .lock()
            .bailed_out
            .entry(reason.to_owned())
            .or_default() += 1;
    }

    /// Counts an attempt that ran natively and in the JVM.
    pub fn count_verified(&self, verdict: &Verification) {
        let verified = &mut self.counters.lock().verified;
        match verdict {
            Verification::Equal => verified.equal += 1,
            Verification::Different(_) => verified.different += 1,
            Verification::Unverified(why) => {
                *verified.unverified.entry(why.clone()).or_default() += 1;
            }
        }
    }

    /// Counts what Python workers have told of pipelines.
    pub fn count_python_compiled(&self, more: &PythonCompiled) {
        let counted = &mut self.counters.lock().python_compiled;
        counted.pipelines += more.pipelines;
        counted.functions += more.functions;
        counted.left_to_python += more.left_to_python;
        add_counts(&mut counted.not_simple, &more.not_simple);
    }

    /// Counts what became of functions of Python in SQL.
    pub fn count_python_functions(&self, more: &PythonFunctions) {
        let counted = &mut self.counters.lock().python_functions;
        counted.computed += more.computed;
        counted.rows += more.rows;
        counted.left_to_python += more.left_to_python;
        add_counts(&mut counted.not_simple, &more.not_simple);
    }

    /// Counts a native task for which the JVM evaluates expressions.
    pub fn count_jvm_evaluator(&self) {
        self.counters.lock().jvm_expressions.tasks += 1;
    }

    /// Counts rows that the JVM evaluated an expression for.
    pub fn count_jvm_batch(&self) {
        self.counters.lock().jvm_expressions.batches += 1;
    }

    /// Counts a native task of which the JVM does what is above its native operators.
    pub fn count_jvm_rest(&self) {
        self.counters.lock().jvm_expressions.rests += 1;
    }

    /// Counts what native functions were called for.
    pub fn count_native_functions(&self, more: &NativeFunctions) {
        let counted = &mut self.counters.lock().native_functions;
        for (name, calls) in &more.called {
            counted.add(name, *calls);
        }
        add_counts(&mut counted.left_to_python, &more.left_to_python);
        counted.processes += more.processes;
        counted.processes_ended += more.processes_ended;
    }

    /// The numbers in one line for the log.
    pub fn summary(&self) -> String {
        let c = self.snapshot();
        let lanes: Vec<String> = c
            .tasks
            .iter()
            .filter(|(_, t)| **t != TaskCounts::default())
            .map(|(lane, t)| {
                format!(
                    "{lane} {} finished, {} failed, {} killed",
                    t.finished, t.failed, t.killed
                )
            })
            .collect();
        let tasks = if lanes.is_empty() {
            "no task".to_owned()
        } else {
            lanes.join("; ")
        };
        format!(
            "Ran {tasks}; delegated {:?}; bailed out {:?}; JVM started: {}; registered after {} ms; peak resident memory {} bytes",
            c.delegated,
            c.bailed_out,
            c.jvm_started,
            c.ms_to_registered
                .map_or_else(|| "-".to_owned(), |ms| ms.to_string()),
            c.peak_rss_bytes,
        )
    }

    /// Records the exit code, if it is known, and writes the file that `FIRESTEEL_REPORT` names, if it names one.
    ///
    /// The file appears whole or not at all: it is written beside its place and renamed.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&self, exit_code: Option<i32>) -> io::Result<Option<&Path>> {
        self.counters.lock().exit_code = exit_code;
        let Some(path) = self.path.as_deref() else {
            return Ok(None);
        };
        let json = serde_json::to_vec_pretty(&self.snapshot()).map_err(io::Error::other)?;
        let mut partial = path.as_os_str().to_owned();
        partial.push(".partial");
        std::fs::write(&partial, json)?;
        std::fs::rename(&partial, path)?;
        Ok(Some(path))
    }
}

fn millis(d: Duration) -> u64 {
    u64::try_from(d.as_millis()).unwrap_or(u64::MAX)
}

/// Adds counts by reason to others.
fn add_counts(to: &mut BTreeMap<String, u64>, more: &BTreeMap<String, u64>) {
    for (reason, count) in more {
        *to.entry(reason.clone()).or_default() += count;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn report_is_written_under_the_executor_id() {
        let dir = tempfile::tempdir().unwrap();
        let pattern = dir.path().join("report-{id}.json");
        let report = Report::new("7", pattern.to_str());
        report.set_spark_version("4.3.0");
        report.set_registered(Duration::from_millis(41));
        report.count_task(LaneName::Jvm, TaskEnd::Finished);
        report.count_task(LaneName::Jvm, TaskEnd::Killed);
        report.count_delegated("why");
        report.count_delegated("why");
        let compiled = PythonCompiled {
            pipelines: 2,
            functions: 7,
            left_to_python: 1,
            not_simple: BTreeMap::from([("a loop".to_owned(), 3)]),
        };
        report.count_python_compiled(&compiled);
        report.count_python_compiled(&compiled);
        report.count_shuffle_columns_with(|| ShuffleColumns {
            written: 5,
            made_rows: 4,
        });
        report.write(Some(0)).unwrap();
        let json: serde_json::Value =
            serde_json::from_slice(&std::fs::read(dir.path().join("report-7.json")).unwrap())
                .unwrap();
        assert_eq!(json["spark_version"], "4.3.0");
        assert_eq!(json["ms_to_registered"], 41);
        assert_eq!(json["jvm_started"], false);
        assert_eq!(json["tasks"]["jvm"]["finished"], 1);
        assert_eq!(json["tasks"]["jvm"]["killed"], 1);
        assert_eq!(json["tasks"]["sql"]["finished"], 0);
        assert_eq!(json["delegated"]["why"], 2);
        let compiled = serde_json::json!({
            "pipelines": 4, "functions": 14, "left_to_python": 2, "not_simple": {"a loop": 6},
        });
        assert_eq!(json["python_compiled"], compiled);
        let columns = serde_json::json!({"written": 5, "made_rows": 4});
        assert_eq!(json["shuffle_columns"], columns);
        assert_eq!(json["exit_code"], 0);
        assert!(json["peak_rss_bytes"].as_u64().unwrap() > 100_000);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn without_a_pattern_nothing_is_written() {
        assert_eq!(Report::new("0", None).write(Some(0)).unwrap(), None);
        assert_eq!(Report::new("0", Some("")).write(None).unwrap(), None);
    }
}
