//! How a task that runs natively ends early.

use std::error::Error;
use std::sync::Arc;

use arrow::error::ArrowError;
use datafusion_common::DataFusionError;

/// Why a native attempt has no result. Carried through DataFusion as [`DataFusionError::External`].
#[derive(Debug, Clone, thiserror::Error)]
pub enum RunError {
    /// Nothing is known to be wrong with the task, but its result is not to be had natively: the same attempt is to run
    /// in a JVM, which also raises Spark's own error if there is one. The text is a reason for people, without values.
    #[error("{0}")]
    BailOut(String),
    /// The task was killed.
    #[error("killed")]
    Killed,
    /// A source of rows failed: a shuffle block, a broadcast or a file was not to be had.
    #[error("{0}")]
    Source(Arc<dyn Error + Send + Sync>),
}

/// The longest reason for a bail-out, in characters. Reasons are counted and reported: they are to be few and short.
const MAX_REASON: usize = 200;

/// An attempt that is to be run in a JVM instead.
#[must_use]
pub fn bail_out(reason: impl Into<String>) -> DataFusionError {
    RunError::BailOut(reason.into()).into()
}

/// A source that failed.
#[must_use]
pub fn source_error(error: impl Error + Send + Sync + 'static) -> DataFusionError {
    RunError::Source(Arc::new(error)).into()
}

impl From<RunError> for DataFusionError {
    fn from(error: RunError) -> Self {
        Self::External(Box::new(error))
    }
}

impl From<RunError> for ArrowError {
    fn from(error: RunError) -> Self {
        Self::ExternalError(Box::new(error))
    }
}

impl RunError {
    /// What an error of DataFusion says. Errors of evaluation and exhausted memory are bail-outs; what was put in as a
    /// [`RunError`] comes out as it was.
    #[must_use]
    pub fn of(error: DataFusionError) -> Self {
        match find(&error) {
            Some(own) => own.clone(),
            None => Self::BailOut(reason(&error)),
        }
    }
}

/// The [`RunError`] somewhere below an error.
fn find<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a RunError> {
    if let Some(own) = error.downcast_ref() {
        return Some(own);
    }
    match error.downcast_ref::<DataFusionError>() {
        Some(DataFusionError::External(inner)) => find(inner.as_ref()),
        Some(DataFusionError::Context(_, inner) | DataFusionError::Diagnostic(_, inner)) => {
            find(inner.as_ref())
        }
        Some(DataFusionError::Shared(inner)) => find(inner.as_ref()),
        Some(DataFusionError::Collection(all)) => all.iter().find_map(|one| find(one)),
        Some(DataFusionError::ArrowError(inner, _)) => find(inner.as_ref()),
        Some(DataFusionError::IoError(inner)) => inner.get_ref().and_then(|inner| find(inner)),
        Some(other) => other.source().and_then(find),
        None => match error.downcast_ref::<ArrowError>() {
            Some(ArrowError::ExternalError(inner)) => find(inner.as_ref()),
            Some(_) => None,
            None => error.source().and_then(find),
        },
    }
}

fn reason(error: &DataFusionError) -> String {
    let root = error.find_root();
    if let DataFusionError::ResourcesExhausted(_) = root {
        return "memory exhausted".to_owned();
    }
    let text = root.to_string();
    let line = text.lines().next().unwrap_or_default();
    line.chars().take(MAX_REASON).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_put_in_comes_out_through_any_wrapping() {
        let wrapped = bail_out("overflow").context("while adding");
        assert!(matches!(RunError::of(wrapped), RunError::BailOut(text) if text == "overflow"));
        let arrow = DataFusionError::ArrowError(Box::new(RunError::Killed.into()), None);
        let shared = DataFusionError::Shared(Arc::new(arrow));
        assert!(matches!(RunError::of(shared), RunError::Killed));
        let io = source_error(std::io::Error::other("gone"));
        let io = DataFusionError::IoError(std::io::Error::other(io));
        match RunError::of(io) {
            RunError::Source(error) => assert_eq!(error.to_string(), "gone"),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn other_errors_are_bail_outs_with_a_short_reason() {
        let full = DataFusionError::ResourcesExhausted("42 bytes".to_owned());
        let text = |error| match RunError::of(error) {
            RunError::BailOut(text) => text,
            other => panic!("{other:?}"),
        };
        assert_eq!(text(full), "memory exhausted");
        let long = DataFusionError::Execution(format!("{}\nmore", "x".repeat(1000)));
        assert!(text(long).len() <= MAX_REASON);
    }
}
