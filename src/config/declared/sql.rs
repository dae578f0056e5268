//! Properties of Spark SQL that come with its tasks.

use super::DefaultValue::Is;
use super::{LocalProperty, Property, Switch, declarations};

declarations! { Sql:
    /// Whether results of decimal arithmetic that fit no type lose digits after the point; of the query's session, sent
    /// with its tasks.
    ALLOW_PRECISION_LOSS: Property<Switch> = Property::new(
        catalyst::Settings::ALLOW_PRECISION_LOSS,
        Switch,
        Is("true"),
    );
}

/// The query that a task is of; other tasks do not have it.
pub const SQL_EXECUTION_ID: LocalProperty = LocalProperty {
    key: "spark.sql.execution.id",
};
