use std::fmt;

/// Why bytes could not be turned into a Spark structure, or a structure into bytes.
///
/// The variants are sorted by blame: the first group says that the sender's bytes are wrong, the second that
/// the distribution on the class path does not fit, the third that the caller asked for something impossible.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WireError {
    /// The bytes end inside a value.
    #[error("{what}: the bytes end after {have} of {need}")]
    Truncated {
        /// The value that was being read.
        what: &'static str,
        /// How many bytes it needs.
        need: usize,
        /// How many are left.
        have: usize,
    },
    /// A length or count is negative or above its maximum.
    #[error("{what}: length {len} is outside 0..={max}")]
    Length {
        /// The value that was being read or written.
        what: &'static str,
        /// The length found.
        len: i64,
        /// The largest length that is accepted.
        max: u64,
    },
    /// Bytes remain after the last value.
    #[error("{what}: {count} bytes follow the last value")]
    Trailing {
        /// The structure that was read.
        what: &'static str,
        /// How many bytes are left over.
        count: usize,
    },
    /// A value is not one of those the format allows.
    #[error("{what}: {why}")]
    Malformed {
        /// The value that was being read.
        what: &'static str,
        /// What is wrong with it.
        why: String,
    },
    /// The stream holds an object of another class than the one asked for.
    #[error("expected an object of class {expected}, found {found}")]
    UnexpectedClass {
        /// The class asked for.
        expected: &'static str,
        /// The class in the stream, or a description of what is there instead.
        found: String,
    },
    /// The Java object stream of a message is damaged or does not have the shape of its class.
    #[error("{class}: {why}")]
    Decode {
        /// The message that was being decoded.
        class: String,
        /// What is wrong with the stream.
        why: String,
    },

    /// A class or field of the distribution does not fit this program.
    #[error("{class} of Spark {version} does not fit: {why}")]
    Unsupported {
        /// The Java class that does not fit.
        class: String,
        /// Version of the distribution as it names itself, or `unknown`.
        version: String,
        /// What is missing or different.
        why: String,
    },

    /// A value cannot be expressed in the wire format.
    #[error("{what} cannot be written: {why}")]
    Unwritable {
        /// The value that was being written.
        what: &'static str,
        /// Why there is no encoding for it.
        why: String,
    },
}

impl WireError {
    /// Stable code of the error, for reports and tests.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Truncated { .. } => "wire-truncated",
            Self::Length { .. } => "wire-length",
            Self::Trailing { .. } => "wire-trailing",
            Self::Malformed { .. } => "wire-malformed",
            Self::UnexpectedClass { .. } => "wire-class",
            Self::Decode { .. } => "wire-message",
            Self::Unsupported { .. } => "wire-unsupported",
            Self::Unwritable { .. } => "wire-unwritable",
        }
    }

    /// A value is not one of those the format allows.
    pub(crate) fn malformed(what: &'static str, why: impl fmt::Display) -> Self {
        Self::Malformed {
            what,
            why: why.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::WireError;
    use crate::codec::{Reader, Write};
    use crate::envelope::RequestEnvelope;
    use crate::map_status::MergeStatus;
    use crate::messages::{KillTask, LaunchTask, UpdateBlockInfo, reply};
    use crate::test_vectors::{catalog, samples};
    use crate::version::WireVersion;
    use bytes::Bytes;
    use testkit::NEWEST;

    #[test]
    fn codes_are_stable() {
        let catalog = catalog(NEWEST);
        let kill = samples(NEWEST)
            .into_iter()
            .find(|s| s.name.ends_with("KillTask"))
            .unwrap()
            .content;
        let truncated = RequestEnvelope::read(&Bytes::new()).unwrap_err();
        let length = Reader::new(&[0xff; 4]).bytes32("x").unwrap_err();
        let trailing = Reader::new(&[1]).finish("x").unwrap_err();
        let malformed = Reader::new(&[0, 1, 0xff]).utf("x").unwrap_err();
        let class = LaunchTask::decode(&kill).unwrap_err();
        let message = KillTask::decode(&kill[..kill.len() - 1]).unwrap_err();
        let empty = javaser::Catalog::from_class_path(&[]).unwrap();
        let unsupported = reply::none(&empty).unwrap_err();
        let mut update = samples(NEWEST)
            .into_iter()
            .find_map(|s| UpdateBlockInfo::decode(&s.content).ok())
            .unwrap();
        update.checksum = Some(1);
        let unwritable = update.encode(catalog, &WireVersion::oldest()).unwrap_err();
        let found = [
            truncated,
            length,
            trailing,
            malformed,
            class,
            message,
            unsupported,
            unwritable,
        ];
        assert_eq!(
            found.each_ref().map(WireError::code),
            [
                "wire-truncated",
                "wire-length",
                "wire-trailing",
                "wire-malformed",
                "wire-class",
                "wire-message",
                "wire-unsupported",
                "wire-unwritable",
            ]
        );
        assert!(
            Vec::new()
                .put_utf("x", &"a".repeat(70_000))
                .is_err_and(|error| error.code() == "wire-length")
        );
        assert_eq!(
            MergeStatus::read(&[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1])
                .unwrap_err()
                .code(),
            "wire-malformed"
        );
    }
}
