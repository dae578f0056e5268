//! What is wrong with a table of zones.

/// Bytes that are no table of time zones, or one of a kind that is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidTable {
    /// It ends too early.
    #[error("the table of time zones is cut off")]
    CutOff,
    /// A number or text that must not be there.
    #[error("the table of time zones has an invalid {0}")]
    Invalid(&'static str),
}
