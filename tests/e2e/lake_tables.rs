//! Tables of Delta Lake and of Apache Iceberg, next to plain Spark. What of them is left to the JVM is known: most reads
//! and all writes.

use std::path::Path;

use testkit::versions;

use crate::carried_plans::carried;
use crate::jobs::both_sides;
use crate::lanes::{Reason, Report, check_reasons, ended, reports};
use crate::places;
use crate::submit::{Application, job_with};

const DELTA: Application = Application {
    name: "lake-delta",
    program: "spark-submit",
    seconds: 900,
    arguments: |distribution, work| {
        let library = match distribution.version {
            "3.5.9" => "io.delta:delta-spark_2.12:3.3.3",
            _ => "io.delta:delta-spark_2.13:4.3.0",
        };
        let extension = "io.delta.sql.DeltaSparkSessionExtension";
        arguments(work, "delta", library, extension)
    },
    stdin: None,
    lanes: None,
    sources: &["jobs/lake_tables.py", "jobs/sql_random.py"],
};

const ICEBERG: Application = Application {
    name: "lake-iceberg",
    arguments: |distribution, work| {
        let library = match distribution.version {
            "3.5.9" => "org.apache.iceberg:iceberg-spark-runtime-3.5_2.12:1.12.0",
            _ => "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0",
        };
        let extension = "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions";
        arguments(work, "iceberg", library, extension)
    },
    ..DELTA
};

/// With the library from Maven Central, as its users have it.
fn arguments(work: &Path, kind: &str, library: &str, extension: &str) -> Vec<String> {
    let extensions = format!("spark.sql.extensions={extension},org.firesteel.CarriedPlans");
    let ivy = testkit::cache_dir().join("ivy");
    let settings = [
        "--packages",
        library,
        "--conf",
        &extensions,
        "--conf",
        &format!("spark.jars.ivy={}", ivy.display()),
    ]
    .map(str::to_owned);
    let mut job = job_with(&["sql_random.py"], "lake_tables.py", work);
    job.push(work.join("scratch").display().to_string());
    job.push(kind.to_owned());
    [carried(), settings.to_vec(), job].concat()
}

/// What starts with one of `left` is left to the JVM, and nothing else.
fn compared(application: &Application, version: &'static str, left: &[&str], least: u64) {
    // They fetch libraries.
    if !places::asked_for(version, &[]) {
        return;
    }
    let Some(outcome) = both_sides(application, version) else {
        return;
    };
    let reports = reports(&outcome, version);
    check_reasons(&reports, Report::left_native, &[Reason::Part(left)]);
    let native = ended(&reports, "sql");
    assert!(native >= least, "{native} tasks ran natively: {reports:#?}");
}

fn delta(version: &'static str) {
    compared(&DELTA, version, &OF_DELTA, 20);
}

fn iceberg(version: &'static str) {
    compared(&ICEBERG, version, &OF_ICEBERG, 20);
}

const OF_DELTA: [&str; 1] = ["?"];

const OF_ICEBERG: [&str; 1] = ["?"];

versions!(
    tables_of_delta_equal_plain_spark,
    super::delta,
    v3_5_9 = "3.5.9",
    v4_1_4 = "4.1.4"
);
versions!(
    tables_of_iceberg_equal_plain_spark,
    super::iceberg,
    v3_5_9 = "3.5.9",
    v4_1_4 = "4.1.4"
);
