//! Runs one application on one side, plain Spark's executors or Firesteel's, and reads its result file.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use testkit::Distribution;

use crate::places;
use crate::process::{Running, Turn, beside_others, one_at_a_time, only_one, read_lossy, tail};

/// Whose executors run the tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Plain,
    Firesteel,
}

impl Side {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Firesteel => "firesteel",
        }
    }

    /// `JAVA_HOME` of its executors.
    pub(crate) fn java_home(self) -> PathBuf {
        match self {
            Self::Plain => testkit::jdk(),
            Self::Firesteel => testkit::firesteel(),
        }
    }
}

/// What an application left behind.
pub(crate) struct Outcome {
    pub(crate) result: Value,
    /// Reports of Firesteel's executors, `<id>.json`.
    pub(crate) reports: PathBuf,
    /// Executors' logs are below it; absent when the result came from the cache.
    pub(crate) executor_logs: Option<PathBuf>,
}

/// Settings of every application of the tests.
pub(crate) fn common_conf(work: &Path) -> Vec<String> {
    let mut conf = conf_of_tasks();
    for address in [
        "spark.driver.bindAddress=127.0.0.1",
        "spark.driver.host=localhost",
    ] {
        conf.extend(["--conf".to_owned(), address.to_owned()]);
    }
    conf.extend([
        "--conf".to_owned(),
        format!(
            "spark.sql.warehouse.dir={}",
            work.join("warehouse").display()
        ),
    ]);
    conf
}

/// Those of them that say nothing of this machine.
fn conf_of_tasks() -> Vec<String> {
    [
        "spark.ui.port=0",
        "spark.ui.liveUpdate.period=0",
        "spark.sql.shuffle.partitions=4",
        // Many short stages on few cores: the second compiler would take more time than it saves.
        "spark.executor.extraJavaOptions=-XX:TieredStopAtLevel=1",
    ]
    .iter()
    .flat_map(|entry| ["--conf".to_owned(), (*entry).to_owned()])
    .collect()
}

/// Environment of every driver of the tests.
pub(crate) fn environment(command: &mut Command, distribution: &Distribution, work: &Path) {
    let java = testkit::jdk();
    command
        .env_remove("SPARK_CONF_DIR")
        .env_remove("FIRESTEEL_REPORT")
        .env_remove("E2E_REPORTS")
        .env_remove("JAVA_TOOL_OPTIONS")
        .env_remove("JDK_JAVA_OPTIONS")
        .env("JAVA_HOME", &java)
        .env("FIRESTEEL_JAVA_HOME", &java)
        .env("SPARK_HOME", work.join("home"))
        .env("SPARK_LOCAL_IP", "127.0.0.1")
        .env("SPARK_LOCAL_HOSTNAME", "localhost")
        .env("SPARK_LOCAL_DIRS", work.join("local"))
        .env("PYSPARK_PYTHON", &distribution.python)
        .env("PYSPARK_DRIVER_PYTHON", &distribution.python)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env(
            "SPARK_SUBMIT_OPTS",
            "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        )
        .env("E2E_ROOT", work)
        .env("E2E_JOBS", places::jobs())
        .env("E2E_RESULT", work.join("result.json"))
        .stdin(Stdio::null());
}

/// Settings that make executors Firesteel's, as lines of `spark-defaults.conf`: the one a user gives, and the report's.
fn firesteel_defaults(reports: &Path, lanes: Option<&str>) -> String {
    let mut lines = format!(
        "spark.executorEnv.JAVA_HOME {}\nspark.executorEnv.FIRESTEEL_REPORT {}/{{id}}.json\n",
        testkit::firesteel().display(),
        reports.display()
    );
    if let Some(lanes) = lanes {
        lines.push_str(&format!("spark.firesteel.lanes {lanes}\n"));
    }
    lines
}

/// Where an application runs.
pub(crate) struct Cluster {
    /// `--master` and what else its submission needs.
    pub(crate) arguments: Vec<String>,
    pub(crate) environment: Vec<(&'static str, PathBuf)>,
    /// Below it are the logs of executors.
    pub(crate) logs: PathBuf,
    /// What serves it, until the application has ended.
    pub(crate) processes: Vec<Running>,
    /// The driver and the executors are containers of an image, which makes these Firesteel's: settings do not, and the
    /// driver has an address of its own.
    pub(crate) of_image: bool,
}

impl Cluster {
    /// Two executors of two cores, on a Standalone cluster that the driver makes.
    fn local(work: &Path) -> Self {
        Self {
            arguments: ["--master", "local-cluster[2,2,1024]"]
                .map(str::to_owned)
                .to_vec(),
            environment: Vec::new(),
            logs: work.join("home/work"),
            processes: Vec::new(),
            of_image: false,
        }
    }
}

/// One application: what differs between the jobs.
pub(crate) struct Application {
    pub(crate) name: &'static str,
    /// `spark-submit` or `spark-shell`.
    pub(crate) program: &'static str,
    pub(crate) seconds: u64,
    /// Settings, and after them the job and its arguments, given the run's directory.
    pub(crate) arguments: fn(&Distribution, &Path) -> Vec<String>,
    /// A file for standard input.
    pub(crate) stdin: Option<&'static str>,
    /// The lanes that Firesteel may use; without it, all.
    pub(crate) lanes: Option<&'static str>,
    /// Files and directories below `tests` that plain Spark's answer depends on.
    pub(crate) sources: &'static [&'static str],
}

impl Application {
    /// Runs it on a local cluster, unless plain Spark's answer is known already.
    pub(crate) fn run(&self, distribution: &Distribution, side: Side) -> Outcome {
        self.run_in_turn(distribution, side, beside_others, Cluster::local)
    }

    /// The same on a cluster that is started for it in the run's directory.
    pub(crate) fn run_on(
        &self,
        distribution: &Distribution,
        side: Side,
        cluster: impl FnOnce(&Path) -> Cluster,
    ) -> Outcome {
        self.run_in_turn(distribution, side, one_at_a_time, cluster)
    }

    fn run_in_turn(
        &self,
        distribution: &Distribution,
        side: Side,
        turn: fn() -> Turn,
        cluster: impl FnOnce(&Path) -> Cluster,
    ) -> Outcome {
        let name = format!("{}-{}-{}", distribution.version, self.name, side.name());
        let _name = only_one(name.clone());
        let known = self.known_answer(distribution);
        if side == Side::Plain
            && std::env::var_os("FIRESTEEL_E2E_FRESH").is_none()
            && let Some(result) = fs::read(&known)
                .ok()
                .and_then(|text| serde_json::from_slice(&text).ok())
        {
            return Outcome {
                result,
                reports: PathBuf::new(),
                executor_logs: None,
            };
        }
        let _turn = turn();
        let work = places::fresh_dir(&name);
        let home = places::spark_home(distribution, &work);
        let reports = work.join("reports");
        fs::create_dir_all(&reports).unwrap();
        fs::create_dir_all(work.join("scratch")).unwrap();
        let cluster = cluster(&work);
        let mut command = Command::new(home.join("bin").join(self.program));
        command.args(["--name", self.name]);
        command
            .args(match cluster.of_image {
                true => conf_of_tasks(),
                false => common_conf(&work),
            })
            .args(&cluster.arguments);
        command
            .args((self.arguments)(distribution, &work))
            .current_dir(&work);
        environment(&mut command, distribution, &work);
        for (name, value) in &cluster.environment {
            command.env(name, value);
        }
        if side == Side::Firesteel && !cluster.of_image {
            // Not on the command line: applications that this one starts are to have them too.
            fs::create_dir_all(home.join("conf")).unwrap();
            fs::write(
                home.join("conf/spark-defaults.conf"),
                firesteel_defaults(&reports, self.lanes),
            )
            .unwrap();
            command.env("E2E_REPORTS", &reports);
        }
        if let Some(file) = self.stdin {
            command.stdin(fs::File::open(places::jobs().join(file)).unwrap());
        }
        let mut application = Running::start(&mut command, &work, "driver", false);
        let code = application.exit_code(self.seconds);
        drop(cluster.processes);
        let told = || {
            format!(
                "{} on Spark {}, {}: logs in {}\n{}\n{}",
                self.name,
                distribution.version,
                side.name(),
                work.display(),
                tail(&read_lossy(&application.stdout), 15),
                tail(&application.log(), 60)
            )
        };
        assert_eq!(code, 0, "exit code of {}", told());
        println!(
            "{} on Spark {}, {}: {:.1} s",
            self.name,
            distribution.version,
            side.name(),
            application.elapsed().as_secs_f64()
        );
        let text = fs::read(work.join("result.json"))
            .unwrap_or_else(|error| panic!("no result ({error}) of {}", told()));
        let result: Value = serde_json::from_slice(&text).unwrap();
        assert_eq!(
            result["errors"],
            serde_json::json!({}),
            "themes failed in {}",
            told()
        );
        if side == Side::Plain {
            fs::create_dir_all(known.parent().unwrap()).unwrap();
            fs::write(&known, &text).unwrap();
        }
        Outcome {
            result,
            reports,
            executor_logs: Some(cluster.logs),
        }
    }

    fn known_answer(&self, distribution: &Distribution) -> PathBuf {
        let fingerprint = places::fingerprint(self.sources);
        testkit::cache_dir().join(format!(
            "e2e/plain-{}-{}-{fingerprint:016x}.json",
            distribution.version, self.name
        ))
    }
}

/// All logs below `dir`, as (path, text).
pub(crate) fn logs_below(dir: &Path) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let mut open = vec![dir.to_owned()];
    while let Some(dir) = open.pop() {
        for entry in fs::read_dir(&dir)
            .into_iter()
            .flatten()
            .filter_map(Result::ok)
        {
            let path = entry.path();
            if path.is_dir() {
                open.push(path);
            } else if path.ends_with("stderr") || path.ends_with("stdout") {
                let text = read_lossy(&path);
                found.push((path, text));
            }
        }
    }
    found
}

/// Settings of applications whose operators are not in generated code. What has no native form is delegated, so that it
/// is known.
pub(crate) fn interpreted() -> Vec<String> {
    [
        "--conf",
        "spark.sql.codegen.wholeStage=false",
        "--conf",
        NO_JVM_EXPRESSIONS,
    ]
    .map(str::to_owned)
    .to_vec()
}

/// The setting that leaves stages with expressions without a native form to the JVM as a whole.
pub(crate) const NO_JVM_EXPRESSIONS: &str = "spark.firesteel.sql.jvmExpressions=false";

/// A job with its modules, which writes a result.
pub(crate) fn job_with(modules: &[&str], job: &str, work: &Path) -> Vec<String> {
    let jobs = places::jobs();
    let modules = modules
        .iter()
        .map(|module| jobs.join(module).display().to_string());
    vec![
        "--py-files".to_owned(),
        modules.collect::<Vec<_>>().join(","),
        jobs.join(job).display().to_string(),
        work.join("result.json").display().to_string(),
    ]
}
