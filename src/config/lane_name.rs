//! The lanes by name: the ways to run a task, as `spark.firesteel.lanes`, logs and the report name them.

/// A way to run a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LaneName {
    /// The JVM embedded in the process.
    Jvm,
    /// PySpark RDD tasks.
    Python,
    /// Spark SQL stages.
    Sql,
}

impl LaneName {
    /// Every lane, in the order of the report.
    pub const ALL: [Self; 3] = [Self::Jvm, Self::Python, Self::Sql];

    /// The name in settings, reports and logs.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Jvm => "jvm",
            Self::Python => "python",
            Self::Sql => "sql",
        }
    }
}
