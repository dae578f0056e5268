//! Properties of Spark SQL that come with its tasks.

use super::DefaultValue::{Is, Unset};
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

    /// How functions of Python run that a query calls; of its session.
    PYTHON_FUNCTIONS: Family<Text> =
        Family::new("spark.sql.execution.pyspark.", "", &[], Text, Unset)
            .effect(Effect::Jvm(FUNCTIONS_DELEGATED));

    /// How many rows functions of Python are given at a time; of the query's session.
    PYTHON_FUNCTION_BATCHES: Family<Text> =
        Family::new("spark.sql.execution.python.", "", &[], Text, Unset)
            .effect(Effect::Jvm(FUNCTIONS_DELEGATED));

    /// The time zone in which functions of Python see timestamps; of the query's session.
    SESSION_TIME_ZONE: Property<Text> =
        Property::new("spark.sql.session.timeZone", Text, Unset);

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
