//! Properties of Spark SQL that come with its tasks.

use super::DefaultValue::{Is, Unset};
use super::{Effect, Family, LocalProperty, Property, Switch, Text, declarations};

/// Of settings that workers would have to be told.
const FUNCTIONS_DELEGATED: &str = "if a session sets it, its Python functions are delegated";

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

    /// Profilers and logs of functions of Python, and much of PySpark's drivers; of the query's session.
    PYSPARK_SESSION: Family<Text> = Family::new("spark.sql.pyspark.", "", &[], Text, Unset)
        .effect(Effect::Jvm(FUNCTIONS_DELEGATED));
}

/// The query that a task is of; other tasks do not have it.
pub const SQL_EXECUTION_ID: LocalProperty = LocalProperty {
    key: "spark.sql.execution.id",
};
