use crate::catalog::CatalogError;

/// Why a stream could not be read or written.
///
/// [`Error::code`] is stable; texts are not.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The first four bytes are not `AC ED 00 05`.
    #[error("not a Java object stream: it starts with {found:02x?} instead of aced0005")]
    BadHeader {
        /// Up to four first bytes.
        found: Vec<u8>,
    },
    /// The stream ends inside a value.
    #[error("the Java object stream ends at byte {at} where {needed} more bytes were expected")]
    Truncated {
        /// Offset of the value.
        at: usize,
        /// Bytes that the value still needs; what a hostile stream claims.
        needed: u64,
    },
    /// A type code that the grammar does not allow here.
    #[error("byte {at}: type code {code:#04x} where {expected} was expected")]
    BadTypeCode {
        /// Offset of the type code.
        at: usize,
        /// The byte found.
        code: u8,
        /// What the grammar allows here.
        expected: &'static str,
    },
    /// A back reference to something that does not exist or is of another kind.
    #[error("byte {at}: handle {handle:#x} does not name {expected}")]
    BadHandle {
        /// Offset of the reference.
        at: usize,
        /// Handle as written.
        handle: u32,
        /// What was needed.
        expected: &'static str,
    },
    /// A class descriptor that no Java runtime would accept.
    #[error("byte {at}: bad descriptor of class {class}: {why}")]
    BadDescriptor {
        /// Offset behind the descriptor's head.
        at: usize,
        /// Class name.
        class: String,
        /// The rule that is broken.
        why: &'static str,
    },
    /// Not modified UTF-8.
    #[error("byte {at}: the string is not modified UTF-8")]
    BadString {
        /// Offset of the string's bytes.
        at: usize,
    },
    /// A boolean that is neither 0 nor 1, a negative length.
    #[error("byte {at}: {what} has the impossible value {value}")]
    BadValue {
        /// Offset of the value.
        at: usize,
        /// Kind of value.
        what: &'static str,
        /// The value.
        value: i64,
    },
    /// [`crate::Limits::max_depth`].
    #[error("byte {at}: objects are nested deeper than {max}")]
    TooDeep {
        /// Offset where the limit was passed.
        at: usize,
        /// The limit.
        max: usize,
    },
    /// A typed read visits shared objects again each time; a small stream could keep it busy for ever.
    #[error("the stream's shared objects stand for more than {max} values")]
    TooManyValues {
        /// The limit, in proportion to the stream.
        max: usize,
    },
    /// [`crate::Limits::max_handles`].
    #[error("byte {at}: more than {max} objects")]
    TooManyHandles {
        /// Offset where the limit was passed.
        at: usize,
        /// The limit.
        max: usize,
    },
    /// [`crate::Limits::max_array_len`].
    #[error("byte {at}: array of {len} elements, at most {max} are accepted")]
    ArrayTooLong {
        /// Offset of the array's length.
        at: usize,
        /// What the stream claims.
        len: u64,
        /// The limit.
        max: usize,
    },
    /// [`crate::Limits::max_string_len`].
    #[error("byte {at}: string of {len} bytes, at most {max} are accepted")]
    StringTooLong {
        /// Offset of the string's length.
        at: usize,
        /// What the stream claims.
        len: u64,
        /// The limit.
        max: usize,
    },
    /// [`crate::Limits::max_total`].
    #[error("Java object stream of {len} bytes, at most {max} are accepted")]
    StreamTooLong {
        /// Bytes given.
        len: usize,
        /// The limit.
        max: usize,
    },
    /// The writer failed half way and wrote its exception into the stream (`TC_EXCEPTION`).
    #[error("the peer failed while writing the object: {class}: {message}")]
    WriteAborted {
        /// Class of the exception.
        class: String,
        /// Its message, empty if it has none.
        message: String,
    },
    /// A typed read found another class.
    #[error("expected {expected}, found {found}")]
    WrongClass {
        /// What the reader's type asks for.
        expected: String,
        /// What the stream holds.
        found: String,
    },
    /// A value does not fit the declared type of its field, or the reader's type.
    #[error("{context}: {why}")]
    WrongType {
        /// `class.field` or a class.
        context: String,
        /// What does not fit.
        why: String,
    },
    /// The class has a field that the value to write does not have.
    #[error(
        "class {class} of this Spark version needs a field {field} ({signature}), which is not known here"
    )]
    MissingField {
        /// Class that declares the field.
        class: String,
        /// Field name.
        field: String,
        /// Its type in Java's signature form.
        signature: String,
    },
    /// A stream with another number of root values than one.
    #[error("expected one value in the stream, found {found}")]
    NotOneValue {
        /// Root values found.
        found: usize,
    },
    /// A handle of another graph, or of a node of another kind, was given to the graph's builder.
    #[error("node {node} of the graph is not {expected}")]
    BadNode {
        /// Index of the node.
        node: u32,
        /// What was needed.
        expected: &'static str,
    },
    /// The class catalog has no (usable) descriptor.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    /// Raised by a type's own serde implementation.
    #[error("{0}")]
    Custom(String),
}

impl Error {
    /// Stable code of the error, for reports and tests.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::BadHeader { .. } => "java-stream-header",
            Self::Truncated { .. } => "java-stream-truncated",
            Self::BadTypeCode { .. } => "java-stream-type-code",
            Self::BadHandle { .. } => "java-stream-handle",
            Self::BadDescriptor { .. } => "java-stream-descriptor",
            Self::BadString { .. } => "java-stream-string",
            Self::BadValue { .. } => "java-stream-value",
            Self::TooDeep { .. } => "java-limit-depth",
            Self::TooManyValues { .. } => "java-limit-values",
            Self::TooManyHandles { .. } => "java-limit-handles",
            Self::ArrayTooLong { .. } => "java-limit-array",
            Self::StringTooLong { .. } => "java-limit-string",
            Self::StreamTooLong { .. } => "java-limit-total",
            Self::WriteAborted { .. } => "java-stream-write-aborted",
            Self::WrongClass { .. } => "java-class",
            Self::WrongType { .. } => "java-type",
            Self::MissingField { .. } => "java-missing-field",
            Self::NotOneValue { .. } => "java-not-one-value",
            Self::BadNode { .. } => "java-graph-node",
            Self::Catalog(e) => e.code(),
            Self::Custom(_) => "java-value",
        }
    }
}

impl serde::ser::Error for Error {
    fn custom<T: std::fmt::Display>(msg: T) -> Self {
        Self::Custom(msg.to_string())
    }
}

impl serde::de::Error for Error {
    fn custom<T: std::fmt::Display>(msg: T) -> Self {
        Self::Custom(msg.to_string())
    }
}
