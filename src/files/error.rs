//! Why a file cannot be read.

use std::io;
use std::sync::Arc;

/// Why a file cannot be read. Clones are cheap.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FileError {
    /// There is no such file.
    #[error("{0} does not exist")]
    NotFound(Arc<str>),
    /// Nothing was tried: this file system, or a setting of it, is one for the JVM. One of few texts.
    #[error("{0}")]
    Unsupported(Arc<str>),
    /// It was tried. The JVM may succeed, or can say better why not.
    #[error("{scheme}: {details}")]
    Failed {
        /// The file system's scheme.
        scheme: Arc<str>,
        /// For the log.
        details: Arc<str>,
    },
    /// The task was told to stop.
    #[error("{0}")]
    Cancelled(Arc<str>),
}

impl FileError {
    pub(super) fn unsupported(reason: impl AsRef<str>) -> Self {
        Self::Unsupported(Arc::from(reason.as_ref()))
    }

    pub(super) fn failed(scheme: &str, details: impl std::fmt::Display) -> Self {
        Self::Failed {
            scheme: Arc::from(scheme),
            details: Arc::from(details.to_string()),
        }
    }

    /// The error that a reader of this room has put into an [`io::Error`].
    pub fn of_io(error: &io::Error) -> Option<&Self> {
        error.get_ref()?.downcast_ref()
    }

    /// Why the task is left to the JVM, as one of few texts.
    pub fn reason(&self) -> String {
        match self {
            Self::NotFound(_) => "a file that does not exist".to_owned(),
            Self::Unsupported(reason) | Self::Cancelled(reason) => reason.to_string(),
            Self::Failed { scheme, .. } => format!("files of {scheme}: that cannot be read"),
        }
    }
}

impl From<FileError> for io::Error {
    fn from(error: FileError) -> Self {
        let kind = match &error {
            FileError::NotFound(_) => io::ErrorKind::NotFound,
            FileError::Unsupported(_) => io::ErrorKind::Unsupported,
            FileError::Failed { .. } | FileError::Cancelled(_) => io::ErrorKind::Other,
        };
        Self::new(kind, error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_pass_through_readers() {
        let error = FileError::failed("hdfs", "no datanode");
        let io = io::Error::from(error.clone());
        assert_eq!(FileError::of_io(&io), Some(&error));
        assert_eq!(error.reason(), "files of hdfs: that cannot be read");
        assert_eq!(FileError::of_io(&io::Error::other("x")), None);
        let gone = io::Error::from(FileError::NotFound("x".into()));
        assert_eq!(gone.kind(), io::ErrorKind::NotFound);
    }
}
