//! What only Spark's own code reads, next to plain Spark: files of other formats, data sources, tables of Hive's,
//! databases, RDDs of objects. Their stages run natively, and the embedded JVM gives the rows.

use std::path::Path;

use testkit::{Distribution, NEWEST, each_version};

use crate::carried_plans::plan_jar;
use crate::jobs::{both_sides, equal_sides};
use crate::lanes::WithJvm;
use crate::places;
use crate::submit::{Application, job_with};

const SCANS: Application = Application {
    name: "sql-scans",
    program: "spark-submit",
    seconds: 900,
    arguments: |distribution, work| {
        let off = ["--conf", "spark.sql.codegen.wholeStage=false"].map(str::to_owned);
        let jars = ["--jars".to_owned(), jar(distribution, work)];
        [off.to_vec(), jars.to_vec(), arguments(work)].concat()
    },
    stdin: None,
    lanes: None,
    sources: &[
        "jobs/sql_scans.py",
        "jobs/asking.py",
        "jobs/support.py",
        "jobs/scans",
    ],
};

/// The same of generated code, which reads batches of columns.
const GENERATED: Application = Application {
    name: "sql-scans-generated",
    arguments: |distribution, work| {
        let jars = ["--jars".to_owned(), jar(distribution, work)];
        [jars.to_vec(), arguments(work)].concat()
    },
    ..SCANS
};

const CARRIED: Application = Application {
    arguments: |distribution, work| {
        let jars = format!("{},{}", jar(distribution, work), plan_jar());
        let extension = "spark.sql.extensions=org.firesteel.CarriedPlans";
        let jars = ["--jars", &jars, "--conf", extension].map(str::to_owned);
        [jars.to_vec(), arguments(work)].concat()
    },
    ..GENERATED
};

/// Why tasks are delegated: the names of files are known to whoever reads them, and somebody sees how many rows are
/// made; stages with nothing but a scan, of whose columns nobody says anything then, and jobs that are not queries.
const NOT_NATIVE: [&str; 11] = [
    "HiveFileFormat$$anon$1",
    "HiveTableScanExec::doExecute",
    "InputFileName of rows that do not come from a scan",
    "an accumulator of rows that are not all needed",
    "OrcFileFormat::buildReaderWithPartitionValues",
    "ParallelCollectionRDD",
    "RangePartitioner$::sketch",
    "SerializedLambda",
    "a serializer of another type",
    "a shuffle with JavaSerializer",
    "a write of orc files",
];

/// Why tasks are bailed out of: what fails fails in Spark's words, and texts of fixed lengths are another type in
/// files.
const BAILED_OUT: [&str; 2] = ["Scan fails in the JVM", "columns with metadata"];

fn jar(distribution: &Distribution, work: &Path) -> String {
    places::jar_of(distribution, work, "scans")
}

const EXPECTED: WithJvm<'_> = WithJvm {
    delegated: &NOT_NATIVE,
    bailed_out: &BAILED_OUT,
    native: 150,
    in_jvm: 100,
};

fn arguments(work: &Path) -> Vec<String> {
    let metastore = work.join("metastore");
    let settings = [
        "spark.task.maxFailures=1".to_owned(),
        "spark.sql.catalogImplementation=hive".to_owned(),
        format!(
            "spark.sql.warehouse.dir={}",
            work.join("warehouse").display()
        ),
        format!(
            "spark.hadoop.javax.jdo.option.ConnectionURL=jdbc:derby:;databaseName={};create=true",
            metastore.display()
        ),
    ];
    let settings = settings
        .into_iter()
        .flat_map(|setting| ["--conf".to_owned(), setting]);
    let mut arguments: Vec<_> = settings.collect();
    arguments.extend(job_with(&["support.py", "asking.py"], "sql_scans.py", work));
    if places::everything() {
        arguments.push("all".to_owned());
    }
    arguments
}

fn scans(version: &'static str) {
    if !places::asked_for(version, &[NEWEST]) {
        return;
    }
    if let Some(outcome) = both_sides(&SCANS, version) {
        EXPECTED.check(&outcome);
    }
}

fn generated(version: &'static str) {
    if !places::asked_for(version, &[]) {
        return;
    }
    if let Some(outcome) = equal_sides(&GENERATED, &CARRIED, version) {
        EXPECTED.check(&outcome);
    }
}

each_version!(scans_in_the_jvm_equal_plain_spark, super::scans);
each_version!(scans_of_generated_code_equal_plain_spark, super::generated);
