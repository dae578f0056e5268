use super::java;
use crate::WireError;
use indexmap::IndexMap;
use javaser::Catalog;
use javaser::types::{Raw, ScalaOption, StackTraceElement, Throwable};
use serde::Serialize;

/// An error in Python code: `org.apache.spark.api.python.PythonException`. Up to Spark 4.1 its message is the worker's
/// traceback; later ones carry an error class.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PythonException {
    /// The worker's traceback.
    pub traceback: String,
    /// Whether Spark SQL called it: PySpark raises its own `PythonException` then, which it knows by a call of Java's in
    /// the stack trace.
    pub in_sql: bool,
}

#[derive(Serialize)]
#[serde(
    rename = "org.apache.spark.api.python.PythonException",
    rename_all = "camelCase"
)]
struct Java<'a> {
    detail_message: &'a str,
    cause: Option<Raw>,
    stack_trace: Vec<StackTraceElement>,
    suppressed_exceptions: EmptyList,
    error_class: Option<&'static str>,
    message_parameters: IndexMap<&'static str, &'a str>,
    context: Vec<Raw>,
}

/// `org.apache.spark.SparkException` without an error class. Its fields must not be null: the driver calls methods on
/// them.
#[derive(Serialize)]
#[serde(rename = "org.apache.spark.SparkException", rename_all = "camelCase")]
struct SparkException<'a> {
    detail_message: Option<&'a str>,
    cause: Option<Raw>,
    stack_trace: Vec<StackTraceElement>,
    suppressed_exceptions: EmptyList,
    error_class: Option<&'static str>,
    message_parameters: IndexMap<&'static str, &'a str>,
    context: Vec<Raw>,
    sql_state: Option<&'static str>,
}

#[derive(Serialize)]
#[serde(rename = "java.util.Collections$EmptyList")]
struct EmptyList {}

#[derive(Serialize)]
#[serde(rename = "org.apache.spark.ThrowableSerializationWrapper")]
struct Wrapper {
    // Written by the class's own `writeObject`, and nothing else: the same bytes as a field.
    exception: Raw,
}

impl PythonException {
    /// The Java class.
    pub const CLASS: &str = "org.apache.spark.api.python.PythonException";

    /// A line of the stack trace of one that Spark SQL called.
    pub const CALL_IN_SQL: &str =
        "\tat org.apache.spark.sql.execution.python.PythonUDFRunner.compute(Native Method)\n";

    const SUMMARY: &str = "An exception was thrown from the Python worker";

    fn has_error_class(catalog: &Catalog) -> bool {
        catalog
            .lookup(Self::CLASS)
            .is_ok_and(|class| class.fields.iter().any(|field| field.name == "errorClass"))
    }

    /// `getMessage` in this distribution.
    pub fn message(&self, catalog: &Catalog) -> String {
        if Self::has_error_class(catalog) {
            // As `SparkThrowableHelper.getMessage` puts class, text and state together.
            format!(
                "[PYTHON_EXCEPTION] {}: {} SQLSTATE: 38000",
                Self::SUMMARY,
                self.traceback
            )
        } else {
            self.traceback.clone()
        }
    }

    /// The call in [`Self::CALL_IN_SQL`].
    fn call_in_sql() -> StackTraceElement {
        StackTraceElement {
            format: 0,
            // That of native methods.
            line_number: -2,
            class_loader_name: None,
            declaring_class: "org.apache.spark.sql.execution.python.PythonUDFRunner".to_owned(),
            file_name: None,
            method_name: "compute".to_owned(),
            module_name: None,
            module_version: None,
        }
    }

    /// The exception object, without a stack trace of Java calls: there were none, but for that which PySpark looks for.
    ///
    /// # Errors
    /// [`WireError::Unsupported`] if the distribution's class does not fit.
    pub fn encode(&self, catalog: &Catalog) -> Result<Vec<u8>, WireError> {
        let message = self.message(catalog);
        let java = Java {
            detail_message: &message,
            cause: None,
            stack_trace: match self.in_sql {
                true => vec![Self::call_in_sql()],
                false => Vec::new(),
            },
            suppressed_exceptions: EmptyList {},
            error_class: Some("PYTHON_EXCEPTION"),
            message_parameters: [
                ("msg", Self::SUMMARY),
                ("traceback", self.traceback.as_str()),
            ]
            .into(),
            context: Vec::new(),
        };
        java::encode(&java, Self::CLASS, catalog)
    }
}

/// An exception object that needs no more than a message and a cause; `None` for classes with fields of their own,
/// which would be null where their methods expect a value, and for classes that the distribution does not have. The
/// same holds for causes.
pub fn encode_throwable(thrown: &Throwable, catalog: &Catalog) -> Option<Vec<u8>> {
    const SPARK_EXCEPTION: &str = "org.apache.spark.SparkException";
    if thrown.class == SPARK_EXCEPTION {
        let cause = match &thrown.cause {
            Some(cause) => Some(Raw(encode_throwable(cause, catalog)?)),
            None => None,
        };
        let java = SparkException {
            detail_message: thrown.message.as_deref(),
            cause,
            stack_trace: Vec::new(),
            suppressed_exceptions: EmptyList {},
            error_class: None,
            message_parameters: IndexMap::new(),
            context: Vec::new(),
            sql_state: None,
        };
        return java::encode(&java, SPARK_EXCEPTION, catalog).ok();
    }
    // The causes are written along with it.
    let mut next = Some(thrown);
    while let Some(throwable) = next {
        let description = catalog.lookup(&throwable.class).ok()?;
        let has_fields = description
            .levels()
            .iter()
            .any(|level| level.name != "java.lang.Throwable" && !level.fields.is_empty());
        if has_fields {
            return None;
        }
        next = throwable.cause.as_deref();
    }
    javaser::to_vec(thrown, catalog).ok()
}

/// `Some` of a `ThrowableSerializationWrapper` around an encoded exception, for
/// [`ExceptionFailure`](super::ExceptionFailure).
///
/// # Errors
/// [`WireError::Unsupported`] if the distribution's class does not fit.
pub fn wrap_throwable(exception: Vec<u8>, catalog: &Catalog) -> Result<Raw, WireError> {
    let exception = Raw(exception);
    java::encode(
        &ScalaOption::Some(Wrapper { exception }),
        "org.apache.spark.ThrowableSerializationWrapper",
        catalog,
    )
    .map(Raw)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::messages::ExceptionFailure;
    use crate::test_vectors::catalog;
    use javaser::Limits;
    use testkit::{VERSIONS, is_since};

    #[test]
    fn messages_are_those_of_the_version() {
        for version in VERSIONS {
            let exception = PythonException {
                traceback: "Traceback (most recent call last):\n".into(),
                in_sql: true,
            };
            let bytes = exception.encode(catalog(version)).unwrap();
            let read: Throwable = javaser::from_slice(&bytes, &Limits::default()).unwrap();
            assert_eq!(read.class, PythonException::CLASS);
            let called = &read.stack_trace[0].declaring_class;
            assert!(PythonException::CALL_IN_SQL.contains(called.as_str()));
            let message = read.message.unwrap();
            assert_eq!(message, exception.message(catalog(version)));
            let prefixed = message.starts_with("[PYTHON_EXCEPTION] An exception was thrown");
            assert_eq!(prefixed, is_since(version, "4.2"));
            let mut failure = ExceptionFailure::new(&read.class, &message, Vec::new(), "");
            failure.exception_wrapper = Some(wrap_throwable(bytes, catalog(version)).unwrap());
            let bytes = failure.encode(catalog(version)).unwrap();
            let again = ExceptionFailure::decode(&bytes).unwrap();
            assert_eq!(again.description.as_deref(), Some(message.as_str()));
            let wrapper = again.exception_wrapper.unwrap();
            assert_eq!(javaser::peek_class(&wrapper.0), Some("scala.Some"));
        }
    }

    #[test]
    fn no_field_of_an_exception_is_null() {
        use javaser::arena::{Graph, Value};
        for version in VERSIONS {
            let spark = "org.apache.spark.SparkException";
            let mut dead = Throwable::new(spark, "dead");
            dead.cause = Some(Box::new(Throwable {
                class: "java.io.EOFException".to_owned(),
                ..Throwable::default()
            }));
            let bytes = encode_throwable(&dead, catalog(version)).unwrap();
            let read: Throwable = javaser::from_slice(&bytes, &Limits::default()).unwrap();
            assert_eq!(read, dead);
            let graph = Graph::parse(&bytes, &Limits::default()).unwrap();
            let root = graph.root().unwrap().node().unwrap();
            let level = graph.level(root, spark).unwrap();
            assert!(level.iter().count() >= 3, "{version}");
            for (field, value) in level.iter() {
                assert_ne!(value, Value::Null, "{version}: {}", field.name());
            }
            let mut io = Throwable::new("java.io.IOException", "full");
            io.cause = Some(Box::new(Throwable::new("java.io.IOException", "very full")));
            let bytes = encode_throwable(&io, catalog(version)).unwrap();
            let read: Throwable = javaser::from_slice(&bytes, &Limits::default()).unwrap();
            assert_eq!(read, io);
            for other in [
                "org.apache.spark.SparkRuntimeException",
                "no.such.Exception",
            ] {
                let thrown = Throwable::new(other, "");
                assert_eq!(encode_throwable(&thrown, catalog(version)), None, "{other}");
                io.cause = Some(Box::new(thrown));
                assert_eq!(encode_throwable(&io, catalog(version)), None, "{other}");
            }
        }
    }
}
