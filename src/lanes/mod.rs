//! Lanes: the ways to run a task. Exactly one lane runs a task attempt.

pub mod jvm;
pub mod python;

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
