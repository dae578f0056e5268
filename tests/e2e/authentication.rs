//! Executors of both kinds whose connections are authenticated and encrypted, and such that do not have the secret.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};
use testkit::{Distribution, NEWEST, OLDEST, each_version};

use crate::hold::Hold;
use crate::lanes::Report;
use crate::places;
use crate::process::{Running, one_at_a_time};
use crate::report;

/// As long as YARN's: passwords of SASL have two lines then.
const SECRET: &str = "a-secret-of-this-test-0123456789-0123456789-0123456789-0123456789";
/// A query whose tasks exchange rows.
const QUERY: &str =
    "SELECT id % 97 AS k, count(*), sum(id) FROM range(0, 50000, 1, 4) GROUP BY id % 97";

/// The variable by which a worker tells an executor the secret.
pub(crate) const VARIABLE: (&str, &str) = ("_SPARK_AUTH_SECRET", SECRET);

/// A driver whose connections are protected, and the executors of its application.
pub(crate) struct Secured<'a> {
    pub(crate) hold: Hold,
    distribution: &'a Distribution,
    /// Settings that executors know from the start.
    settings: Vec<String>,
    /// Variables with secrets that a worker gives them.
    variables: Vec<(&'static str, &'static str)>,
}

impl<'a> Secured<'a> {
    /// Starts the driver. `settings` are those that its executors know from the start, `more` are the driver's only.
    pub(crate) fn start(
        distribution: &'a Distribution,
        name: &str,
        settings: &[impl AsRef<str>],
        more: &[&str],
        variables: &[(&'static str, &'static str)],
    ) -> Self {
        let secret = format!("spark.authenticate.secret={SECRET}");
        let mut conf = vec![
            "spark.locality.wait=0",
            "spark.task.maxDirectResultSize=64k",
            "spark.sql.codegen.wholeStage=false",
            secret.as_str(),
        ];
        conf.extend(
            settings
                .iter()
                .map(AsRef::as_ref)
                .chain(more.iter().copied()),
        );
        let settings = settings.iter().map(|entry| entry.as_ref().to_owned());
        Self {
            hold: Hold::start(distribution, name, &conf),
            distribution,
            settings: settings.collect(),
            variables: variables.to_vec(),
        }
    }

    /// Starts an executor as a worker does that has these settings and secrets.
    fn launch(
        &self,
        java_home: &Path,
        id: &str,
        settings: &[impl AsRef<str>],
        variables: &[(&str, &str)],
    ) -> Running {
        let class_path = self.distribution.class_path();
        let mut command = self.hold.executor_command(java_home, &class_path, id);
        let options = settings.iter().map(|entry| format!("-D{}", entry.as_ref()));
        let options: Vec<_> = options.collect();
        command.env("JDK_JAVA_OPTIONS", options.join(" "));
        command.env_remove(VARIABLE.0);
        command.envs(variables.iter().copied());
        Running::start(
            &mut command,
            &self.hold.work,
            &format!("executor-{id}"),
            false,
        )
    }

    /// Starts an executor with `more` settings and waits until it is there besides `others`.
    pub(crate) fn add(
        &mut self,
        java_home: &Path,
        id: &str,
        others: &[&str],
        more: &[&str],
    ) -> Running {
        let more = more.iter().map(|entry| (*entry).to_owned());
        let settings: Vec<String> = self.settings.iter().cloned().chain(more).collect();
        let executor = self.launch(java_home, id, &settings, &self.variables);
        let mut ids = others.to_vec();
        ids.push(id);
        self.hold.wait_for_executors(&ids);
        executor
    }

    /// Jobs in which every executor needs blocks of the others.
    pub(crate) fn exchange(&mut self) {
        assert_eq!(self.hold.ask(json!({"do": "exchange"})), json!([]));
        let ran = self.hold.ask(json!({"do": "sql_run", "query": QUERY}));
        assert_eq!(ran["answer"]["rows"], 97, "{ran}");
        assert_eq!(ran["failed_fetches"], 0, "{ran}");
    }

    /// An executor that the driver does not take ends at once and says why.
    pub(crate) fn refused(
        &self,
        id: &str,
        settings: &[impl AsRef<str>],
        variables: &[(&str, &str)],
        words: &[&str],
    ) {
        let mut executor = self.launch(&testkit::firesteel(), id, settings, variables);
        assert_eq!(executor.exit_code(60), 1, "{}", executor.log());
        let log = executor.log();
        for words in words {
            assert!(log.contains(words), "'{words}' is not in\n{log}");
        }
        self.check_secrets(&log);
    }

    /// What is written down has no secret.
    fn check_secrets(&self, text: &str) {
        for (name, secret) in &self.variables {
            assert!(!text.contains(secret), "{name} is in\n{text}");
        }
    }

    /// Stops the driver. What the executors of Firesteel report and log is right, and has no secret.
    pub(crate) fn stop(mut self, executors: Vec<(&str, Running)>) -> Vec<Report> {
        let counted: Vec<Value> = executors
            .iter()
            .map(|(id, _)| self.hold.executor(id))
            .collect();
        self.hold.ask(json!({"do": "stop"}));
        let reports = executors.into_iter().zip(counted);
        let reports = reports.map(|((id, mut executor), counted)| {
            assert_eq!(executor.exit_code(30), 0, "{}", executor.log());
            self.check_secrets(&executor.log());
            let finished = counted["finished"].as_u64().expect("a count");
            assert!(finished > 5, "executor {id} finished {finished} tasks");
            let report = report::read(&self.hold.reports(), id);
            self.check_secrets(&report.to_string());
            let report = Report::new(report);
            report.check_counts(self.distribution.version, &counted);
            report
        });
        reports.collect()
    }
}

/// Tasks of Python ran natively; which tasks of SQL do is looked at elsewhere.
pub(crate) fn check_python_is_native(report: &Report) {
    assert!(report.ended("python") > 5, "{report:?}");
    assert_eq!(report.bailed_out(), BTreeMap::new());
}

/// Keys and AES in counter mode, and executors that speak SASL only, beside files that are encrypted.
fn counter_mode_and_sasl(version: &'static str) {
    if !places::asked_for(version, &[OLDEST]) {
        return;
    }
    let _turn = one_at_a_time();
    let distribution = Distribution::find(version);
    let (firesteel, jdk) = (testkit::firesteel(), testkit::jdk());
    let on = [
        "spark.authenticate=true",
        "spark.network.crypto.enabled=true",
    ];
    let more = ["spark.io.encryption.enabled=true"];
    let mut secured = Secured::start(&distribution, "counter-mode", &on, &more, &[VARIABLE]);
    let native = secured.add(&firesteel, "0", &[], &[]);
    let variable = json!({"do": "variable", "name": "_SPARK_AUTH_SECRET"});
    assert_eq!(
        secured.hold.ask(variable),
        json!([""]),
        "workers do not have it"
    );
    let _plain = secured.add(&jdk, "1", &["0"], &[]);
    secured.exchange();

    // In clear, with each other and with those that would rather encrypt.
    let sasl = ["spark.network.crypto.enabled=false"];
    let second = secured.add(&firesteel, "2", &["0", "1"], &sasl);
    let _other = secured.add(&jdk, "3", &["0", "1", "2"], &sasl);
    secured.exchange();

    secured.refused(
        "4",
        &on,
        &[(VARIABLE.0, "another secret")],
        &["spark.authenticate.secret"],
    );
    secured.refused(
        "5",
        &on,
        &[],
        &["A secret key must be specified via the spark.authenticate.secret config"],
    );
    secured.refused(
        "6",
        &[""; 0],
        &[],
        &["do not trust each other", "spark.authenticate"],
    );
    for report in secured.stop(vec![("0", native), ("2", second)]) {
        check_python_is_native(&report);
    }
}

/// Sealed messages, and a JVM that has connections of its own.
fn sealed_messages(version: &'static str) {
    if !places::asked_for(version, &[NEWEST]) {
        return;
    }
    let _turn = one_at_a_time();
    let distribution = Distribution::find(version);
    let on = [
        "spark.authenticate=true",
        "spark.network.crypto.enabled=true",
        "spark.network.crypto.authEngineVersion=2",
        "spark.network.crypto.cipher=AES/GCM/NoPadding",
        "spark.network.crypto.saslFallback=false",
    ];
    let mut secured = Secured::start(&distribution, "sealed-messages", &on, &[], &[VARIABLE]);
    let native = secured.add(&testkit::firesteel(), "0", &[], &[]);
    let _plain = secured.add(&testkit::jdk(), "1", &["0"], &[]);
    secured.exchange();
    let kept = secured
        .hold
        .ask(json!({"do": "keep", "level": "MEMORY_ONLY", "java": true}));
    assert_eq!(kept["java"]["answer"], 1000, "{kept}");
    assert_eq!(
        kept["parts"]["answer"],
        json!([332_833_500, 1000]),
        "{kept}"
    );
    let other = [
        "spark.authenticate=true",
        "spark.network.crypto.enabled=true",
    ];
    secured.refused("2", &other, &[VARIABLE], &["spark.network.crypto.cipher"]);
    for report in secured.stop(vec![("0", native)]) {
        check_python_is_native(&report);
        assert!(report.jvm_started(), "a shuffle of Java's ran");
    }
}

each_version!(
    encryption_in_counter_mode_and_authentication_alone,
    super::counter_mode_and_sasl
);
each_version!(encryption_of_sealed_messages, super::sealed_messages);
