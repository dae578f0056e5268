//! Tables of lakes, next to plain Spark: Delta's and Iceberg's, which keep their rows in Parquet's files under other
//! names than those of their columns, with rows that are deleted, and with changes of their schemas; Avro's files; and
//! files whose columns are found by ids.
//!
//! The jars come from packages (`setup_services` of `scripts/lib.sh`); there are some for two versions of Spark.

use std::path::Path;

use testkit::{Distribution, OLDEST, each_version, of_series};

use crate::carried_plans::plan_jar;
use crate::jobs::{both_sides, equal_sides};
use crate::lanes::{Reason, WithJvm, check_alone};
use crate::places;
use crate::submit::{Application, job_with};

const LAKES: Application = Application {
    name: "sql-lakes",
    program: "spark-submit",
    seconds: 1200,
    arguments: |distribution, work| {
        let off = ["--conf", "spark.sql.codegen.wholeStage=false"].map(str::to_owned);
        [
            off.to_vec(),
            arguments(distribution, work, "sql_lakes.py", &[], &[]),
        ]
        .concat()
    },
    stdin: None,
    lanes: None,
    sources: &[
        "jobs/sql_lakes.py",
        "jobs/asking.py",
        "jobs/support.py",
        "services",
    ],
};

/// The same of generated code.
const GENERATED: Application = Application {
    name: "sql-lakes-generated",
    arguments: |distribution, work| arguments(distribution, work, "sql_lakes.py", &[], &[]),
    ..LAKES
};

const CARRIED: Application = Application {
    arguments: |distribution, work| {
        let jar = plan_jar();
        let extension = "org.firesteel.CarriedPlans";
        arguments(distribution, work, "sql_lakes.py", &[&jar], &[extension])
    },
    ..GENERATED
};

/// One table of Delta's, of which the JVM reads nothing beside native tasks.
const NATIVE: Application = Application {
    name: "sql-lakes-native",
    arguments: |distribution, work| {
        let off = "spark.sql.codegen.wholeStage=false";
        let alone = "spark.firesteel.sql.jvmExpressions=false";
        let settings = ["--conf", off, "--conf", alone].map(str::to_owned);
        let mut arguments = [
            settings.to_vec(),
            arguments(distribution, work, "sql_lakes.py", &[], &[]),
        ]
        .concat();
        arguments.retain(|argument| argument != "all");
        arguments.push("delta, names and vectors".to_owned());
        arguments
    },
    ..LAKES
};

/// Of a job over such tables.
pub(crate) fn arguments(
    distribution: &Distribution,
    work: &Path,
    job: &str,
    more_jars: &[&str],
    more_extensions: &[&str],
) -> Vec<String> {
    let series = distribution.version.rsplit_once('.').unwrap().0;
    let jars = testkit::cache_dir().join(format!("services/lakes-{series}"));
    let jars = std::fs::read_dir(&jars).unwrap_or_else(|error| panic!("{jars:?}: {error}"));
    let jars = jars.map(|jar| jar.unwrap().path().display().to_string());
    let mut jars: Vec<String> = jars.filter(|jar| jar.ends_with(".jar")).collect();
    jars.extend(more_jars.iter().map(|jar| (*jar).to_owned()));
    let extensions = [
        "io.delta.sql.DeltaSparkSessionExtension",
        "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
    ];
    let extensions = [&extensions, more_extensions].concat().join(",");
    let catalog = "spark.sql.catalog.ice";
    let settings = [
        format!("spark.sql.extensions={extensions}"),
        "spark.sql.catalog.spark_catalog=org.apache.spark.sql.delta.catalog.DeltaCatalog"
            .to_owned(),
        format!("{catalog}=org.apache.iceberg.spark.SparkCatalog"),
        format!("{catalog}.type=hadoop"),
        format!("{catalog}.warehouse={}", work.join("ice").display()),
        format!(
            "spark.sql.warehouse.dir={}",
            work.join("warehouse").display()
        ),
        "spark.sql.shuffle.partitions=2".to_owned(),
        // Delta's own queries have 50 partitions otherwise.
        "spark.databricks.delta.snapshotPartitions=1".to_owned(),
    ];
    let settings = settings
        .into_iter()
        .flat_map(|setting| ["--conf".to_owned(), setting]);
    let mut arguments = vec!["--jars".to_owned(), jars.join(",")];
    arguments.extend(settings);
    let beside = ["support.py", "asking.py", "sql_lakes.py"];
    arguments.extend(job_with(&beside, job, work));
    if places::everything() {
        arguments.push("all".to_owned());
    }
    arguments
}

/// Whether there are jars for a version.
pub(crate) fn has_jars(version: &str) -> bool {
    [OLDEST, of_series("4.1")].contains(&version)
}

/// Why tasks are delegated: Delta's queries over its log, what it counts and numbers while it changes a table, and
/// writers above nothing but scans.
const NOT_NATIVE: [&str; 16] = [
    "AvroFileFormat::buildReader",
    "BitmapAggregator",
    "Checkpoints$::writeCheckpoint",
    "CollectSet",
    "DeletedRecordCountsHistogramAgg",
    "DeltaFileFormatWriter$::executeWrite",
    "FileSizeHistogramAgg",
    "IncrementMetric",
    "MergeIntoMaterializeSource::prepareMergeSource",
    "MonotonicallyIncreasingID of rows in no fixed order",
    "RangePartitionIdRewrite",
    "SparkPlan::executeToIterator",
    "V2TableWriteExec::writeWithV2",
    "a function that is not deterministic",
    "a write of columns with Parquet's ids",
    "records with values that may not be null",
];

/// Why tasks are bailed out of: files that Spark refuses, and those that it reads in another way than by ids alone.
const BAILED_OUT: [&str; 6] = [
    " in Parquet as ",
    "Cast fails in the JVM",
    "a column with the name of another one",
    "a file whose columns have no ids",
    "a file whose structs have other fields",
    "several columns of a file with one name or id",
];

/// Why more tasks are delegated where the JVM does nothing beside native ones.
const WITHOUT_JVM: [&str; 4] = [
    "DeserializeToObjectExec",
    "InterleaveBits",
    "ScalaUDF",
    "StateCache$CachedDS::cachedDs",
];

const EXPECTED: WithJvm<'_> = WithJvm {
    delegated: &NOT_NATIVE,
    bailed_out: &BAILED_OUT,
    native: 300,
    in_jvm: 100,
};

fn lakes(version: &'static str) {
    if !has_jars(version) || !places::asked_for(version, &[OLDEST]) {
        return;
    }
    if let Some(outcome) = both_sides(&LAKES, version) {
        EXPECTED.check(&outcome);
    }
}

/// Scans of files under other names, and of files with rows that are deleted, are native.
fn native(version: &'static str) {
    if !has_jars(version) || !places::asked_for(version, &[of_series("4.1")]) {
        return;
    }
    if let Some(outcome) = both_sides(&NATIVE, version) {
        let known = [Reason::Part(&NOT_NATIVE), Reason::Part(&WITHOUT_JVM)];
        check_alone(&outcome, &known, 100);
    }
}

fn generated(version: &'static str) {
    if !has_jars(version) || !places::asked_for(version, &[]) {
        return;
    }
    if let Some(outcome) = equal_sides(&GENERATED, &CARRIED, version) {
        EXPECTED.check(&outcome);
    }
}

each_version!(lakes_equal_plain_spark, super::lakes);
each_version!(tables_of_delta_are_read_natively, super::native);
each_version!(lakes_of_generated_code_equal_plain_spark, super::generated);
