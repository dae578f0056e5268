//! Files of HDFS and S3: text, whole and compressed files, splits, dependencies, and scans and writes of Spark SQL,
//! without a JVM.
//!
//! The servers come from packages (`setup_services` of `scripts/lib.sh`), and each application starts its own.

use std::path::Path;

use testkit::{Distribution, NEWEST, OLDEST, oldest_and_newest};

use crate::jobs::both_sides;
use crate::lanes::{self, Report, ended, reasons};
use crate::places;
use crate::submit::{Application, Outcome};

const NATIVE: Application = Application {
    name: "remote-files",
    program: "spark-submit",
    seconds: 300,
    arguments: |distribution, work| arguments(distribution, work, "native"),
    stdin: None,
    lanes: None,
    sources: SOURCES,
};

const LEFT: Application = Application {
    name: "remote-files-left",
    arguments: |distribution, work| arguments(distribution, work, "left"),
    ..NATIVE
};

const SOURCES: &[&str] = &[
    "jobs/remote_files.py",
    "jobs/containers.py",
    "jobs/support.py",
    "java/MiniDfs.java",
    "services",
    "e2e/remote_files.rs",
];

/// The Hadoop client of a distribution.
fn hadoop_version(distribution: &Distribution) -> &'static str {
    match distribution.version {
        OLDEST => "3.3.4",
        _ => "3.5.0",
    }
}

fn arguments(distribution: &Distribution, work: &Path, kind: &str) -> Vec<String> {
    let jobs = places::jobs();
    let services = testkit::cache_dir().join("services");
    let missing = "is missing: scripts/test installs it";
    let s3a = services.join(format!("s3a-{}", hadoop_version(distribution)));
    assert!(s3a.is_dir(), "{} {missing}", s3a.display());
    let minidfs = services.join("minidfs");
    assert!(minidfs.is_dir(), "{} {missing}", minidfs.display());
    // The name node is the same for all.
    let server = Distribution::find(OLDEST);
    let class_path = format!("{}/*:{}", minidfs.display(), server.class_path());
    let mut arguments = Vec::new();
    for conf in [
        format!("spark.driver.extraClassPath={}/*", s3a.display()),
        format!("spark.executor.extraClassPath={}/*", s3a.display()),
    ] {
        arguments.extend(["--conf".to_owned(), conf]);
    }
    let support = jobs.join("support.py").display().to_string();
    arguments.extend(["--py-files".to_owned(), support]);
    for path in [
        jobs.join("remote_files.py"),
        work.join("result.json"),
        work.join("scratch"),
        services,
    ] {
        arguments.push(path.display().to_string());
    }
    arguments.extend([class_path, kind.to_owned()]);
    arguments
}

fn remote_files(version: &'static str) {
    if !places::asked_for(version, &[NEWEST]) {
        return;
    }
    let Some(outcome) = both_sides(&NATIVE, version) else {
        return;
    };
    let reports = reports(&outcome, version);
    lanes::check_native(&reports);
    let in_sql = ended(&reports, "sql");
    assert!(in_sql > 0, "scans of Spark SQL: {reports:#?}");
}

fn reports(outcome: &Outcome, version: &str) -> Vec<Report> {
    let reports = lanes::reports(outcome, version);
    assert_eq!(reports.len(), 2, "{reports:#?}");
    reports
}

#[test]
fn what_is_for_the_jvm_is_left_to_it_before_anything_is_visible() {
    let version = OLDEST;
    let Some(outcome) = both_sides(&LEFT, version) else {
        return;
    };
    let reports = reports(&outcome, version);
    let in_sql = ended(&reports, "sql");
    assert_eq!(
        in_sql, 0,
        "scans and writes are left to the JVM: {reports:#?}"
    );
    assert_eq!(
        reasons(&reports),
        [
            "a file that does not exist",
            "a write: a directory with a default ACL",
            "a write: fs.s3a.acl.default is set",
            "fs.s3a.aws.credentials.provider com.amazonaws.auth.SystemPropertiesCredentialsProvider",
        ]
    );
}

oldest_and_newest!(remote_files_equal_plain_spark, super::remote_files);
