//! Why a stage is not understood.

/// Why a stage cannot be read as Catalyst's operators and expressions. Its tasks are delegated, with this as the
/// reason.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unsupported {
    /// A class that is not known here.
    #[error("{0}")]
    Class(String),
    /// A field that every version of the class has is not there, or holds something else than ever seen.
    #[error("{class} without {field}")]
    Missing {
        /// The class, without its package.
        class: String,
        /// The field.
        field: String,
    },
    /// A field that the class did not have when this was written: it may change what the class means.
    #[error("{class} with {field}")]
    Extra {
        /// The class, without its package.
        class: String,
        /// The field.
        field: String,
    },
    /// Something known, used in a way that is not.
    #[error("{0}")]
    Use(String),
    /// Larger or deeper than anything that Spark plans.
    #[error("a plan with too many {0}")]
    TooLarge(&'static str),
}

impl Unsupported {
    /// Something known, used in a way that is not.
    pub fn of_use(what: impl Into<String>) -> Self {
        Self::Use(what.into())
    }
}

/// Result of reading.
pub(crate) type Result<T> = std::result::Result<T, Unsupported>;
