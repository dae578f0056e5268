//! Executors whose local directory is on a disk that fills up.

use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::Signal;
use serde_json::{Value, json};
use testkit::{Distribution, NEWEST, each_version};

use crate::hold::Hold;
use crate::lanes::Report;
use crate::places;
use crate::process::{Running, one_at_a_time};
use crate::report;

/// A file system of a few MB; unmounted when dropped.
struct SmallDisk(PathBuf);

impl SmallDisk {
    /// `None` where mounting is not allowed.
    fn mount(dir: &Path) -> Option<Self> {
        std::fs::create_dir_all(dir).unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=6m", "tmpfs"])
            .arg(dir)
            .output()
            .is_ok_and(|output| output.status.success());
        mounted.then(|| Self(dir.to_owned()))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).status();
    }
}

/// What the user reads when an executor of `java_home` runs out of disk, and what it answers afterwards.
fn overfill(
    hold: &mut Hold,
    distribution: &Distribution,
    java_home: &Path,
    id: &str,
) -> Option<Value> {
    let disk = SmallDisk::mount(&hold.work.join(format!("small-{id}")))?;
    let mut command = hold.executor_command(java_home, &distribution.class_path(), id);
    command.env("SPARK_EXECUTOR_DIRS", disk.0.join("local"));
    let mut executor = Running::start(
        &mut command,
        &hold.work.clone(),
        &format!("executor-{id}"),
        false,
    );
    hold.wait_for_executors(&[id]);
    let answer = hold.ask(json!({"do": "overfill"}));
    assert!(executor.is_running(), "{}", executor.log());
    executor.signal(Signal::TERM);
    executor.exit_code(20);
    hold.wait_for_executors(&[]);
    Some(answer)
}

fn full_disk(version: &'static str) {
    if !places::asked_for(version, &[NEWEST]) {
        return;
    }
    let _turn = one_at_a_time();
    let distribution = Distribution::find(version);
    testkit::firesteel();
    let mut hold = Hold::start(&distribution, "full-disk", &["spark.task.maxFailures=2"]);
    let Some(plain) = overfill(&mut hold, &distribution, &testkit::jdk(), "0") else {
        eprintln!("not tested: mounting a small file system is not allowed here");
        return;
    };
    let native = overfill(&mut hold, &distribution, &testkit::firesteel(), "1").expect("as before");
    hold.ask(json!({"do": "stop"}));
    let report = Report::new(report::read(&hold.reports(), "1"));
    report.check_no_jvm();
    assert!(report.ended("python") > 0, "{report:#?}");
    assert_eq!(plain["shuffle"]["reason"], true, "{plain:#}");
    let found = crate::compare::differences(&plain, &native, 10);
    assert!(found.is_empty(), "Spark {version}:\n{}", found.join("\n"));
}

each_version!(full_disk_is_told_as_by_plain_spark, super::full_disk);
