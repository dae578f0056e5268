//! A Standalone cluster of one worker, with processes of their own as in production.

use std::fs;
use std::path::Path;
use std::process::Command;

use rustix::process::{Pid, Signal, kill_process};
use testkit::Distribution;

use crate::process::{Running, wait_for};
use crate::submit::environment;

/// A master and a worker.
pub(crate) struct Standalone {
    /// `spark://host:port`
    pub(crate) master_url: String,
    worker: Running,
    _master: Running,
}

impl Standalone {
    /// Starts both in `work`, which has a `SPARK_HOME`; `conf` is the worker's.
    pub(crate) fn start(distribution: &Distribution, work: &Path, conf: &[String]) -> Self {
        let daemon = |class: &str, conf: &[String]| {
            let mut command = Command::new(work.join("home/bin/spark-class"));
            environment(&mut command, distribution, work);
            let options: Vec<String> = conf.iter().map(|entry| format!("-D{entry}")).collect();
            command
                .arg(format!("org.apache.spark.deploy.{class}"))
                .args(["--host", "localhost", "--port", "0", "--webui-port", "0"])
                .current_dir(work)
                .env("SPARK_DAEMON_MEMORY", "300m")
                .env("SPARK_DAEMON_JAVA_OPTS", options.join(" "))
                .env("SPARK_LOCAL_DIRS", work.join("local"));
            command
        };
        let master = Running::start(&mut daemon("master.Master", &[]), work, "master", false);
        let master_url = wait_for("the master", 60, || {
            let log = master.log();
            let (_, rest) = log.split_once("Starting Spark master at ")?;
            Some(rest.lines().next()?.trim().to_owned())
        });
        let mut command = daemon("worker.Worker", conf);
        command
            .args(["--cores", "4", "--memory", "4g", "--work-dir"])
            .arg(work.join("home/work"))
            .arg(&master_url);
        let worker = Running::start(&mut command, work, "worker", false);
        wait_for("the worker", 60, || {
            worker
                .log()
                .contains("Successfully registered with master")
                .then_some(())
        });
        Self {
            master_url,
            worker,
            _master: master,
        }
    }

    /// Kills all executors of the worker, which starts others then.
    pub(crate) fn kill_executors(&self) -> usize {
        let worker = i32::try_from(self.worker.child.id()).unwrap();
        let executors = executors_of(worker);
        for executor in &executors {
            kill_process(Pid::from_raw(*executor).expect("a pid"), Signal::KILL).unwrap();
        }
        executors.len()
    }
}

/// The executors that `worker` has started. It starts other processes too, such as the `rm` that removes an
/// application's directory.
fn executors_of(worker: i32) -> Vec<i32> {
    let entries = fs::read_dir("/proc").unwrap();
    entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|pid: &i32| {
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            // State and parent follow the command's name in parentheses.
            let after = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
            let parent = after.split_whitespace().nth(1);
            let command = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            parent.and_then(|parent| parent.parse().ok()) == Some(worker)
                && String::from_utf8_lossy(&command).contains("CoarseGrainedExecutorBackend")
        })
        .collect()
}
