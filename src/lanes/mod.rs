//! Lanes: the ways to run a task. Exactly one lane runs a task attempt.

pub mod jvm;
pub mod python;
pub mod sql;

use std::sync::Arc;

use javaser::arena::NodeId;
use wire::task_description::TaskDescription;

use crate::config::SparkProperties;
use crate::executor::task::{DecodedTask, TaskContext, TaskError, TaskValue};

/// Settings that put something else in the place of Spark's shuffles, and the values that native lanes know.
pub(crate) const SHUFFLE_PARTS: [(&str, &[&str]); 2] = [
    (
        "spark.shuffle.manager",
        &[
            "sort",
            "tungsten-sort",
            "org.apache.spark.shuffle.sort.SortShuffleManager",
        ],
    ),
    (
        "spark.shuffle.sort.io.plugin.class",
        &["org.apache.spark.shuffle.sort.io.LocalDiskShuffleDataIO"],
    ),
];

/// The first of these settings that has a value which is not known there: why a lane runs nothing.
pub(crate) fn unknown_part(
    properties: &SparkProperties,
    parts: &[(&str, &[&str])],
) -> Option<String> {
    parts.iter().find_map(|(key, known)| {
        let value = properties.get(key)?;
        (!known.contains(&value.as_str())).then(|| format!("{key} is {value}"))
    })
}

/// A way to run a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Lane {
    /// The JVM embedded in the process.
    Jvm,
    /// PySpark RDD tasks.
    Python,
    /// Spark SQL stages.
    Sql,
    /// Functions from the C ABI.
    Native,
}

impl Lane {
    /// Every lane, in the order of the report.
    pub const ALL: [Self; 4] = [Self::Jvm, Self::Python, Self::Sql, Self::Native];

    /// The lane's name in reports and logs.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Jvm => "jvm",
            Self::Python => "python",
            Self::Sql => "sql",
            Self::Native => "native",
        }
    }
}

/// A lane that runs tasks without a JVM.
pub trait NativeLane: Send + Sync {
    /// Its name.
    fn lane(&self) -> Lane;

    /// Judges a task from what it is. A stage is judged once; for a task only its partition is looked at.
    ///
    /// # Errors
    /// Why the task is delegated: one of a few texts, which are counted.
    fn accepts(
        &self,
        task: &DecodedTask,
        description: &TaskDescription,
    ) -> Result<Box<dyn NativePlan>, String>;
}

/// What a lane made of a task that it accepted.
pub trait NativePlan: Send {
    /// Runs the task on this thread.
    ///
    /// # Errors
    /// How the attempt ended instead of finishing.
    fn run(self: Box<Self>, context: &Arc<TaskContext>) -> Result<TaskValue, TaskError>;

    /// The accumulator of PySpark in the stage's binary that [`TaskContext::python_updates`] belongs to.
    fn accumulator(&self) -> Option<NodeId>;
}
