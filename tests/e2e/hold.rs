//! A driver without executors (`tests/jobs/hold.py`), and executors started by hand against it.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};
use testkit::Distribution;

use crate::places::{self, Inputs};
use crate::process::{Running, patience, tail};
use crate::submit::{common_conf, environment};

/// What plain Spark answers, which is kept from run to run: `name` and the files and directories `sources` below
/// `tests` tell such answers apart.
pub(crate) fn plain_answers(
    distribution: &Distribution,
    name: &str,
    sources: &[&str],
    ask: impl FnOnce() -> Vec<Value>,
) -> Vec<Value> {
    let fingerprint = places::fingerprint(sources);
    let version = distribution.version;
    let known = testkit::cache_dir().join(format!(
        "e2e/plain-{version}-{name}-{fingerprint:016x}.json"
    ));
    if std::env::var_os("FIRESTEEL_E2E_FRESH").is_none()
        && let Some(answers) = std::fs::read(&known)
            .ok()
            .and_then(|text| serde_json::from_slice(&text).ok())
    {
        return answers;
    }
    let answers = ask();
    std::fs::create_dir_all(known.parent().expect("a directory")).unwrap();
    std::fs::write(&known, serde_json::to_vec(&answers).unwrap()).unwrap();
    answers
}

/// What a driver says about itself.
#[derive(Debug, Clone)]
pub(crate) struct Hello {
    pub(crate) driver_url: String,
    pub(crate) app_id: String,
    pub(crate) pid: i32,
}

impl Hello {
    fn from_json(value: &Value) -> Self {
        let text = |key: &str| value[key].as_str().expect("a text").to_owned();
        Self {
            driver_url: text("driver_url"),
            app_id: text("app_id"),
            pid: value["pid"]
                .as_i64()
                .and_then(|pid| pid.try_into().ok())
                .expect("a pid"),
        }
    }
}

/// A running driver.
pub(crate) struct Hold {
    pub(crate) work: PathBuf,
    pub(crate) hello: Hello,
    process: Running,
    commands: ChildStdin,
    answers: Receiver<String>,
}

impl Hold {
    /// Starts a driver of `distribution`, in a fresh directory named by `name`, with further settings `conf`.
    pub(crate) fn start(distribution: &Distribution, name: &str, conf: &[&str]) -> Self {
        let work = places::fresh_dir(&format!("{}-{name}", distribution.version));
        places::spark_home(distribution, &work);
        Self::start_in(distribution, work, "local-cluster[0,1,1024]", name, conf)
    }

    /// Starts a driver at `master` in a directory that has a `SPARK_HOME`.
    pub(crate) fn start_in(
        distribution: &Distribution,
        work: PathBuf,
        master: &str,
        name: &str,
        conf: &[&str],
    ) -> Self {
        let inputs = Inputs::make(distribution, &work);
        std::fs::create_dir_all(work.join("scratch")).unwrap();
        let mut submit = vec!["--master".to_owned(), master.to_owned()];
        submit.extend(common_conf(&work));
        for entry in conf {
            submit.extend(["--conf".to_owned(), (*entry).to_owned()]);
        }
        submit.extend([
            "--jars".to_owned(),
            inputs.probe_jar.display().to_string(),
            "pyspark-shell".to_owned(),
        ]);
        let mut command = Command::new(&distribution.python);
        environment(&mut command, distribution, &work);
        command
            .arg(places::jobs().join("hold.py"))
            .arg(name)
            .arg(work.join("scratch"))
            .env("PYSPARK_SUBMIT_ARGS", submit.join(" "))
            .current_dir(&work)
            .stdin(Stdio::piped());
        let mut process = Running::start(&mut command, &work, "driver", true);
        let commands = process.child.stdin.take().expect("piped");
        let output = process.child.stdout.take().expect("piped");
        let (sender, answers) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if let Some(answer) = line.strip_prefix("hold> ")
                    && sender.send(answer.to_owned()).is_err()
                {
                    break;
                }
            }
        });
        let mut hold = Self {
            work,
            hello: Hello {
                driver_url: String::new(),
                app_id: String::new(),
                pid: 0,
            },
            process,
            commands,
            answers,
        };
        hold.hello = Hello::from_json(&hold.ask(json!({"do": "hello"})));
        hold
    }

    /// Gives a command and waits for its answer.
    pub(crate) fn ask(&mut self, command: Value) -> Value {
        writeln!(self.commands, "{command}").expect("the driver takes commands");
        let line = self
            .answers
            .recv_timeout(Duration::from_secs(120 * patience()))
            .unwrap_or_else(|error| {
                panic!(
                    "{command}: no answer ({error}):\n{}",
                    tail(&self.process.log(), 60)
                )
            });
        let answer: Value = serde_json::from_str(&line).unwrap();
        assert!(
            answer.get("error").is_none(),
            "{command}: {answer}\n{}",
            tail(&self.process.log(), 40)
        );
        answer["ok"].clone()
    }

    /// Waits until exactly these executors are active.
    pub(crate) fn wait_for_executors(&mut self, ids: &[&str]) {
        self.ask(json!({"do": "wait", "ids": ids}));
    }

    /// What the driver knows about an executor.
    pub(crate) fn executor(&mut self, id: &str) -> Value {
        self.ask(json!({"do": "executors"}))[id].clone()
    }

    /// Stops the context, and starts another in the same process.
    pub(crate) fn restart(&mut self) {
        self.hello = Hello::from_json(&self.ask(json!({"do": "restart"})));
    }

    /// Kills the driver's JVM.
    pub(crate) fn kill(&mut self) {
        let pid = rustix::process::Pid::from_raw(self.hello.pid).expect("a pid");
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    }

    /// A directory for the reports of executors.
    pub(crate) fn reports(&self) -> PathBuf {
        let dir = self.work.join("reports");
        std::fs::create_dir_all(&dir).unwrap();
        dir
    }

    /// An executor's command line as a Standalone worker makes it (without the worker's own URL).
    pub(crate) fn executor_command(&self, java_home: &Path, class_path: &str, id: &str) -> Command {
        let hello = &self.hello;
        let mut command =
            executor_command(java_home, class_path, &hello.driver_url, id, &hello.app_id);
        let work = self.work.join(format!("executor-{id}"));
        std::fs::create_dir_all(&work).unwrap();
        command
            .current_dir(&work)
            .env("SPARK_EXECUTOR_DIRS", work.join("local"))
            .env("SPARK_HOME", self.work.join("home"))
            .env("FIRESTEEL_REPORT", self.reports().join("{id}.json"));
        command
    }

    /// Starts an executor and does not wait for it.
    pub(crate) fn start_executor(&self, java_home: &Path, class_path: &str, id: &str) -> Running {
        let mut command = self.executor_command(java_home, class_path, id);
        Running::start(&mut command, &self.work, &format!("executor-{id}"), false)
    }

    /// Starts an executor of the given side's `java_home` and waits until it is registered beside those in `others`.
    pub(crate) fn add_executor(
        &mut self,
        distribution: &Distribution,
        java_home: &Path,
        id: &str,
        others: &[&str],
    ) -> Running {
        let executor = self.start_executor(java_home, &distribution.class_path(), id);
        let mut ids = others.to_vec();
        ids.push(id);
        self.wait_for_executors(&ids);
        executor
    }
}

/// `java … CoarseGrainedExecutorBackend …`, with the options that Spark gives on JDK 17 and newer.
pub(crate) fn executor_command(
    java_home: &Path,
    class_path: &str,
    driver_url: &str,
    id: &str,
    app_id: &str,
) -> Command {
    let mut command = Command::new(java_home.join("bin/java"));
    command
        .args(["-cp", class_path, "-Xmx1024M"])
        .args([
            "-Djava.net.preferIPv6Addresses=false",
            "-XX:+IgnoreUnrecognizedVMOptions",
        ])
        .args(MODULE_OPTIONS)
        .arg("org.apache.spark.executor.CoarseGrainedExecutorBackend")
        .args([
            "--driver-url",
            driver_url,
            "--executor-id",
            id,
            "--hostname",
            "localhost",
            "--cores",
            "2",
        ])
        .args(["--app-id", app_id, "--resourceProfileId", "0"])
        .env("SPARK_LOCAL_IP", "127.0.0.1")
        .env("SPARK_LOCAL_HOSTNAME", "localhost")
        .env("FIRESTEEL_JAVA_HOME", testkit::jdk())
        .env_remove("FIRESTEEL_REPORT")
        .stdin(Stdio::null());
    command
}

/// What `JavaModuleOptions` of Spark 3.5 to 4.3 opens and sets.
const MODULE_OPTIONS: [&str; 17] = [
    "--add-opens=java.base/java.lang=ALL-UNNAMED",
    "--add-opens=java.base/java.lang.invoke=ALL-UNNAMED",
    "--add-opens=java.base/java.lang.reflect=ALL-UNNAMED",
    "--add-opens=java.base/java.io=ALL-UNNAMED",
    "--add-opens=java.base/java.net=ALL-UNNAMED",
    "--add-opens=java.base/java.nio=ALL-UNNAMED",
    "--add-opens=java.base/java.util=ALL-UNNAMED",
    "--add-opens=java.base/java.util.concurrent=ALL-UNNAMED",
    "--add-opens=java.base/java.util.concurrent.atomic=ALL-UNNAMED",
    "--add-opens=java.base/jdk.internal.ref=ALL-UNNAMED",
    "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
    "--add-opens=java.base/sun.nio.cs=ALL-UNNAMED",
    "--add-opens=java.base/sun.security.action=ALL-UNNAMED",
    "--add-opens=java.base/sun.util.calendar=ALL-UNNAMED",
    "--add-opens=java.security.jgss/sun.security.krb5=ALL-UNNAMED",
    "-Djdk.reflect.useDirectMethodHandle=false",
    // Since 4.1: without it, what netty makes of files in PEM asks for names of hosts that it is not told.
    "-Dio.netty.handler.ssl.defaultEndpointVerificationAlgorithm=NONE",
];
