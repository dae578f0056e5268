//! Executors come and go; the external shuffle service of a Standalone worker keeps serving what they wrote.

use serde_json::{Value, json};
use testkit::{Distribution, OLDEST, each_version};

use crate::hold::{Hold, plain_answers};
use crate::lanes::Report;
use crate::places;
use crate::process::one_at_a_time;
use crate::report;
use crate::standalone::Standalone;
use crate::submit::Side;

fn conf(port: u16) -> Vec<String> {
    [
        "spark.shuffle.service.enabled=true",
        "spark.shuffle.service.fetch.rdd.enabled=true",
        // Files of dead executors that the service does not need are removed: the others are what is tested.
        "spark.storage.cleanupFilesAfterExecutorExit=true",
    ]
    .map(str::to_owned)
    .into_iter()
    .chain([format!("spark.shuffle.service.port={port}")])
    .collect()
}

/// What two generations of executors answered, in each of two applications.
fn generations(distribution: &Distribution, side: Side) -> Vec<Value> {
    let name = format!("shuffle-service-{}", side.name());
    let work = places::fresh_dir(&format!("{}-{name}", distribution.version));
    places::spark_home(distribution, &work);
    let conf = conf(testkit::free_port());
    let cluster = Standalone::start(distribution, &work, &conf);
    let mut settings = conf.clone();
    settings.extend([
        "spark.executor.cores=2".to_owned(),
        "spark.executor.memory=600m".to_owned(),
        // What is tested is the service, not the files themselves.
        "spark.shuffle.readHostLocalDisk=false".to_owned(),
    ]);
    if side == Side::Firesteel {
        let reports = work.join("reports");
        std::fs::create_dir_all(&reports).unwrap();
        settings.extend([
            format!(
                "spark.executorEnv.JAVA_HOME={}",
                testkit::firesteel().display()
            ),
            format!(
                "spark.executorEnv.FIRESTEEL_REPORT={}/{{id}}.json",
                reports.display()
            ),
        ]);
    }
    let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
    let mut hold = Hold::start_in(distribution, work, &cluster.master_url, &name, &settings);
    let mut answers = Vec::new();
    for java in [false, true] {
        hold.wait_for_executors(&["0", "1"]);
        let first = hold.ask(json!({"do": "keep", "level": "DISK_ONLY", "java": java}));
        let again = hold.ask(json!({"do": "kept_answers"}));
        assert_eq!(cluster.kill_executors(), 2);
        hold.wait_for_executors(&["2", "3"]);
        let after = hold.ask(json!({"do": "kept_answers"}));
        assert_eq!(after, again, "nothing was computed again");
        for key in ["files", "parts", "java"] {
            assert_eq!(after[key]["answer"], first[key]["answer"], "{key}");
        }
        answers.extend([first, again, after]);
        let counted = ["2", "3"].map(|id| hold.executor(id));
        hold.restart();
        if side == Side::Firesteel {
            for (id, counted) in ["2", "3"].iter().zip(&counted) {
                let report = Report::new(report::read(&hold.reports(), id));
                report.check_counts(distribution.version, counted);
                if !java {
                    report.check_native();
                }
            }
            std::fs::remove_dir_all(hold.reports()).unwrap();
            hold.reports();
        }
    }
    hold.ask(json!({"do": "stop"}));
    answers
}

fn service(version: &'static str) {
    if !places::asked_for(version, &[OLDEST]) {
        return;
    }
    let _turn = one_at_a_time();
    let distribution = Distribution::find(version);
    testkit::firesteel();
    let native = generations(&distribution, Side::Firesteel);
    let sources = ["jobs/hold.py", "e2e/shuffle_service.rs"];
    let plain = plain_answers(&distribution, "shuffle-service", &sources, || {
        generations(&distribution, Side::Plain)
    });
    assert_eq!(native, plain);
}

each_version!(files_outlive_executors, super::service);
