//! Properties of Spark SQL that come with its tasks.

use super::DefaultValue::{Changed, Is, Unset};
use super::{Effect, Family, LocalProperty, Property, Switch, Text, Whole, declarations};

/// Of settings that workers would have to be told.
const FUNCTIONS_DELEGATED: &str = "if a session sets it, its Python functions are delegated";
/// Of settings of Arrow streams.
const ARROW_DELEGATED: &str = "if a session sets one that changes what functions of Python get or give, those over Arrow streams are delegated";

declarations! { Sql:
    /// Whether results of decimal arithmetic that fit no type lose digits after the point; of the query's session, sent
    /// with its tasks.
    ALLOW_PRECISION_LOSS: Property<Switch> = Property::new(
        catalyst::Settings::ALLOW_PRECISION_LOSS,
        Switch,
        Is("true"),
    );

    /// The column that has texts of malformed records of CSV and JSON; of the query's session.
    CORRUPT_RECORD: Property<Text> =
        Property::new(catalyst::Settings::CORRUPT_RECORD, Text, Is("_corrupt_record"));

    /// Whether `to_json` leaves out fields that are null; of the query's session.
    IGNORE_NULL_FIELDS: Property<Switch> =
        Property::new(catalyst::Settings::IGNORE_NULL_FIELDS, Switch, Is("true"));

    /// Whether names of columns in other letters are others; of the query's session.
    CASE_SENSITIVE: Property<Switch> =
        Property::new(catalyst::Settings::CASE_SENSITIVE, Switch, Is("false"));

    /// Whether nulls are written to CSV as Spark 2 wrote them; of the query's session.
    CSV_NULLS_ARE_EMPTY: Property<Switch> =
        Property::new(catalyst::Settings::CSV_NULLS_ARE_EMPTY, Switch, Is("false"))
            .effect(Effect::NativeBut("writes of CSV are left to the JVM if it is set"));

    /// Whether decimals may have scales below zero; of the query's session.
    NEGATIVE_SCALES: Property<Switch> =
        Property::new(catalyst::Settings::NEGATIVE_SCALES, Switch, Is("false"))
            .effect(Effect::NativeBut("jobs that find out columns of CSV are left to the JVM if it is set"));

    /// Whether readers of CSV leave rows out by conditions of queries; of the query's session. It only changes how many
    /// rows a scan counts.
    CSV_FILTERS: Property<Switch> =
        Property::new(catalyst::Settings::CSV_FILTERS, Switch, Is("true"));

    /// The same of JSON.
    JSON_FILTERS: Property<Switch> =
        Property::new(catalyst::Settings::JSON_FILTERS, Switch, Is("true"));

    /// Whether texts are read and written as times as Spark 2 did; of the query's session.
    TIME_PARSER: Property<Text> =
        Property::new(catalyst::Settings::TIME_PARSER, Text, Is("EXCEPTION"))
            .effect(Effect::NativeBut("with `LEGACY` what reads or writes times by patterns, and reads of CSV and JSON, are left to the JVM"));

    /// Whether dates and timestamps of times when there were two calendars are written to Parquet files; of the query's
    /// session. `LEGACY` leaves writes to the JVM.
    CALENDAR_IN_WRITE: Family<Text> = Family::new(
        "spark.sql.parquet.",
        "RebaseModeInWrite",
        &["datetime", "int96"],
        Text,
        Changed("EXCEPTION", &[((4, 0), "CORRECTED")]),
    ).effect(Effect::NativeBut("with `EXCEPTION` tasks with such values are left to the JVM, with `LEGACY` all writes"));

    /// The same under an older name.
    OLD_CALENDAR_IN_WRITE: Family<Text> = Family::new(
        "spark.sql.legacy.parquet.",
        "RebaseModeInWrite",
        &["datetime", "int96"],
        Text,
        Unset,
    );

    /// How timestamps are kept in Parquet files that are written; of the query's session, with the job's settings of
    /// Hadoop.
    WRITTEN_TIMESTAMPS: Property<Text> =
        Property::new("spark.sql.parquet.outputTimestampType", Text, Is("INT96"));

    /// Whether Parquet files are written as Spark 1.4 did; of the query's session, with the job's settings of Hadoop.
    LEGACY_PARQUET: Property<Switch> =
        Property::new("spark.sql.parquet.writeLegacyFormat", Switch, Is("false"))
            .effect(Effect::Jvm("with `true` writes are left to it"));

    /// The class that commits files that are written, which Spark sets for each format.
    OUTPUT_COMMITTER: Property<Text> =
        Property::new("spark.sql.sources.outputCommitterClass", Text, Unset)
            .effect(Effect::NativeBut("writes with any but Parquet's own are left to the JVM"));

    /// Whether the driver is asked before an attempt commits the files that it has written.
    OUTPUT_COMMIT_COORDINATION: Property<Switch> = Property::new(
        "spark.hadoop.outputCommitCoordination.enabled",
        Switch,
        Is("true"),
    );

    /// How functions of Python run that a query calls; of its session.
    PYTHON_FUNCTIONS: Family<Text> =
        Family::new("spark.sql.execution.pyspark.", "", &[], Text, Unset)
            .effect(Effect::Jvm(FUNCTIONS_DELEGATED));

    /// How many rows functions of Python are given at a time; of the query's session.
    PYTHON_FUNCTION_BATCHES: Family<Text> =
        Family::new("spark.sql.execution.python.", "", &[], Text, Unset)
            .effect(Effect::Jvm(FUNCTIONS_DELEGATED));

    /// The time zone in which functions of Python see timestamps, and ranges of windows add intervals to them; of the
    /// query's session.
    SESSION_TIME_ZONE: Property<Text> =
        Property::new(catalyst::Settings::SESSION_ZONE, Text, Unset);

    /// Whether operations fail where they would otherwise give null; of the query's session. Expressions say it
    /// themselves, native functions are told. `true` from Spark 4.0 on.
    ANSI: Property<Text> = Property::new("spark.sql.ansi.enabled", Text, Unset);

    /// Most rows that a batch has that functions of Python are given; of the query's session.
    ARROW_BATCH_SIZE: Property<Whole> =
        Property::new("spark.sql.execution.arrow.maxRecordsPerBatch", Whole { least: i32::MIN as i128, most: i32::MAX as i128 }, Is("10000"));

    /// Other properties of Arrow streams to functions of Python; of the query's session.
    ARROW_STREAMS: Family<Text> = Family::new("spark.sql.execution.arrow.", "", &[], Text, Unset)
        .effect(Effect::Jvm(ARROW_DELEGATED));

    /// How functions over Arrow streams convert values; of the query's session.
    PANDAS_FUNCTIONS: Family<Text> = Family::new("spark.sql.execution.pandas.", "", &[], Text, Unset);

    /// How functions over Arrow streams convert values; of the query's session.
    ARROW_FUNCTIONS: Family<Text> =
        Family::new("spark.sql.execution.pythonUDF.", "", &[], Text, Unset);

    /// How functions over Arrow streams once converted values; of the query's session.
    LEGACY_ARROW_FUNCTIONS: Family<Text> =
        Family::new("spark.sql.legacy.execution.pythonUDF.", "", &[], Text, Unset)
            .effect(Effect::Jvm(ARROW_DELEGATED));

    /// Profilers and logs of functions of Python, and much of PySpark's drivers; of the query's session.
    PYSPARK_SESSION: Family<Text> = Family::new("spark.sql.pyspark.", "", &[], Text, Unset)
        .effect(Effect::Jvm(FUNCTIONS_DELEGATED));
}

/// The query that a task is of; other tasks do not have it.
pub const SQL_EXECUTION_ID: LocalProperty = LocalProperty {
    key: "spark.sql.execution.id",
};
