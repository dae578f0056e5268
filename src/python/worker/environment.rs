//! The environment in which a function's workers run: the other half of a daemon's identity.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::protocol::WorkerProtocol;
use super::settings::WorkerSettings;
use crate::python::PythonFunction;
use crate::task::{TaskContext, TaskError};

/// The environment of workers for `function`, on top of the executor's own: the function's variables and what
/// `BasePythonRunner.compute` adds. Daemons and idle workers are looked up by it.
pub(super) fn of_function(
    function: &PythonFunction,
    context: &TaskContext,
    settings: &WorkerSettings,
    protocol: &WorkerProtocol,
    faulthandler_dir: Option<&Path>,
    compile_reports: Option<&Path>,
) -> Result<BTreeMap<String, String>, TaskError> {
    let mut env = function.env_vars.clone();
    let mut put = |name: &str, value: String| {
        env.insert(name.to_owned(), value);
    };
    if !settings.threads_chosen {
        let threads = match protocol.threads_by_task {
            true => whole_cpus(&context.cpus).to_string(),
            false => settings.task_cpus.clone(),
        };
        put("OMP_NUM_THREADS", threads);
    }
    let dirs = context.blocks.local_dirs.dirs().iter();
    let dirs: Vec<_> = dirs.map(|dir| dir.to_string_lossy()).collect();
    put("SPARK_LOCAL_DIRS", dirs.join(","));
    if settings.reuse {
        put("SPARK_REUSE_WORKER", "1".to_owned());
    }
    if let Some(megabytes) = memory_of_worker(context, settings, protocol)? {
        put("PYSPARK_EXECUTOR_MEMORY_MB", megabytes.to_string());
    }
    put(
        "SPARK_AUTH_SOCKET_TIMEOUT",
        settings.auth_timeout.to_string(),
    );
    put("SPARK_BUFFER_SIZE", settings.buffer_size.to_string());
    if let Some(dir) = faulthandler_dir {
        put(
            "PYTHON_FAULTHANDLER_DIR",
            dir.to_string_lossy().into_owned(),
        );
    }
    if settings.traceback_dump_interval > 0 {
        put(
            "PYTHON_TRACEBACK_DUMP_INTERVAL_SECONDS",
            settings.traceback_dump_interval.to_string(),
        );
    }
    if settings.use_daemon && settings.kill_on_flush_failure {
        put("PYTHON_DAEMON_KILL_WORKER_ON_FLUSH_FAILURE", "1".to_owned());
    }
    if protocol.batch_size {
        put("PYTHON_UDF_BATCH_SIZE", "100".to_owned());
    }
    // The launcher takes these out of the environment again.
    if settings.launcher.is_some() {
        put("FIRESTEEL_PYTHON_COMPILE", settings.compile.to_string());
    }
    if let Some(pipe) = compile_reports {
        put(
            "FIRESTEEL_PYTHON_REPORTS",
            pipe.to_string_lossy().into_owned(),
        );
    }
    let artifacts = function.job_artifact_uuid.as_deref();
    put(
        "SPARK_JOB_ARTIFACT_UUID",
        artifacts.unwrap_or("default").to_owned(),
    );
    if protocol.python_runtime {
        put("SPARK_PYTHON_RUNTIME", "PYTHON_WORKER".to_owned());
    }
    Ok(env)
}

/// `TaskContext.cpus()`: a whole number, rounded up.
pub(super) fn whole_cpus(cpus: &str) -> i32 {
    // As a float it is exact far beyond any number of CPUs; the cast saturates.
    cpus.parse::<f64>().map_or(1, |cpus| cpus.ceil() as i32)
}

/// Megabytes that each worker may use, if `spark.executor.pyspark.memory` limits them. The driver says so in local
/// properties.
fn memory_of_worker(
    context: &TaskContext,
    settings: &WorkerSettings,
    protocol: &WorkerProtocol,
) -> Result<Option<i64>, TaskError> {
    let number = |key: &str| {
        let value = context.local_property(key);
        value.and_then(|value| value.trim().parse::<i64>().ok())
    };
    let Some(memory) = number("resource.pyspark.memory") else {
        return Ok(None);
    };
    let cores = number("resource.executor.cores").unwrap_or(settings.executor_cores.into());
    if !protocol.memory_by_tasks {
        return Ok(Some(memory / cores.max(1)));
    }
    let tasks = number("resource.maxTasksPerExecutor").unwrap_or_else(|| {
        let cpus = context.cpus.parse::<f64>().unwrap_or(1.0);
        // The cast saturates.
        (cores as f64 / cpus).floor() as i64
    });
    let tasks = tasks.max(1);
    let share = memory / tasks;
    if share < 1 {
        return Err(TaskError::spark(format!(
            "Cannot honor spark.executor.pyspark.memory={memory}m split across {tasks} concurrent task slots: each worker would get less than 1 MiB. \
             Increase spark.executor.pyspark.memory, or reduce the executor's concurrent task capacity."
        )));
    }
    Ok(Some(share))
}

/// `PythonUtils.sparkPythonPath`: the distribution's own Python libraries, and the jar that Spark has on this path for
/// historical reasons.
pub(super) fn spark_python_path(
    spark_home: Option<&Path>,
    core_jar: Option<PathBuf>,
) -> Vec<PathBuf> {
    let mut path = Vec::new();
    if let Some(home) = spark_home {
        let lib = home.join("python").join("lib");
        path.push(lib.join("pyspark.zip"));
        let py4j = std::fs::read_dir(&lib).ok().and_then(|entries| {
            entries.flatten().map(|entry| entry.path()).find(|path| {
                let name = path.file_name().and_then(|name| name.to_str());
                name.is_some_and(|name| name.starts_with("py4j-") && name.ends_with("-src.zip"))
            })
        });
        path.extend(py4j);
    }
    path.extend(core_jar);
    path
}

/// `PythonUtils.mergePythonPaths`
pub(super) fn merge_paths<'a>(paths: impl IntoIterator<Item = &'a str>) -> String {
    let paths: Vec<&str> = paths.into_iter().filter(|path| !path.is_empty()).collect();
    paths.join(":")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpus_are_rounded_up() {
        let all = ["1", "0.5", "1.5", "3", "0.0001"].map(whole_cpus);
        assert_eq!(all, [1, 1, 2, 3, 1]);
    }

    #[test]
    fn paths_are_joined_without_empty_ones() {
        assert_eq!(merge_paths(["", "/a:/b", "", "/c"]), "/a:/b:/c");
        assert_eq!(merge_paths([]), "");
    }

    #[test]
    fn the_library_path_has_whatever_py4j_there_is() {
        let home = tempfile::tempdir().unwrap();
        let lib = home.path().join("python/lib");
        std::fs::create_dir_all(&lib).unwrap();
        for name in ["pyspark.zip", "py4j-0.10.9.9-src.zip", "PY4J_LICENSE.txt"] {
            std::fs::write(lib.join(name), "").unwrap();
        }
        let path = spark_python_path(Some(home.path()), Some(PathBuf::from("/jars/core.jar")));
        let expected = [
            lib.join("pyspark.zip"),
            lib.join("py4j-0.10.9.9-src.zip"),
            PathBuf::from("/jars/core.jar"),
        ];
        assert_eq!(path, expected);
        assert!(spark_python_path(None, None).is_empty());
    }
}
