//! Asks a worker what functions compute: expressions of simple functions, for those who compute them without Python.

use std::sync::Arc;

use bytes::Bytes;
use pyfunc::Expression;
use serde::Deserialize;

use super::compiled::{UNEXPECTED, is_reason};
use super::{PythonFunction, PythonWorkers};
use crate::python::Element;
use crate::task::{TaskContext, TaskError};

/// A command, as `pyspark.worker` takes it: the function that is called for the elements, and how they are read and
/// written. Names only, so that every version of Python reads it.
const TRANSLATE: &[u8] =
    b"(cfiresteel_worker.functions\ntranslate\nNcpyspark.serializers\nNoOpSerializer\n)R\
    cpyspark.serializers\nNoOpSerializer\n)Rt.";
/// Bytes of an answer.
const MAX_ANSWER: usize = 4 << 20;

/// What a worker answers.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
enum Answer {
    /// Expressions, each encoded.
    Expressions(Vec<String>),
    /// Why there are none.
    Reason(String),
}

/// Expressions of which each takes the value of the one before it, or why a function is not simple.
pub type Translated = Result<Vec<Expression>, String>;

impl PythonWorkers {
    /// Whether workers may be asked.
    pub fn translates(&self) -> bool {
        self.0.settings.compile && self.0.settings.launcher.is_some()
    }

    /// What functions compute of which each takes what the one before it gives, the first so many arguments.
    ///
    /// A worker unpickles them, as it would to call them, and calls none.
    ///
    /// # Errors
    /// The task was killed. All else is a reason.
    pub fn translate(
        &self,
        functions: &[Arc<PythonFunction>],
        job_artifact_uuid: Option<&str>,
        arguments: usize,
        context: &Arc<TaskContext>,
    ) -> Result<Translated, TaskError> {
        let unexpected = || Ok(Err(UNEXPECTED.to_owned()));
        let (Some(together), Some(request)) = (
            PythonFunction::together(functions),
            request(functions, arguments),
        ) else {
            return unexpected();
        };
        let function = PythonFunction {
            command: Bytes::from_static(TRANSLATE),
            accumulator: None,
            job_artifact_uuid: job_artifact_uuid.map(str::to_owned),
            ..together
        };
        let input = std::iter::once(Ok(Element::Bytes(request)));
        let answer = self
            .run(&function, context.partition_id, Box::new(input), context)
            .and_then(|output| output.collect::<Result<Vec<_>, _>>());
        match answer {
            Ok(answers) => match &answers[..] {
                [answer] => Ok(read(answer, functions.len(), arguments)),
                _ => unexpected(),
            },
            Err(killed @ TaskError::Killed(_)) => Err(killed),
            Err(error) => {
                tracing::debug!("A worker could not look at a function: {error:?}");
                unexpected()
            }
        }
    }
}

/// The number of arguments and the commands, each behind its length; `None` if that is too much.
fn request(functions: &[Arc<PythonFunction>], arguments: usize) -> Option<Bytes> {
    let mut request = Vec::from(i32::try_from(arguments).ok()?.to_be_bytes());
    for function in functions {
        let length = i32::try_from(function.command.len()).ok()?;
        request.extend(length.to_be_bytes());
        request.extend_from_slice(&function.command);
    }
    Some(request.into())
}

/// Reads an answer about so many functions.
pub(super) fn read(answer: &[u8], functions: usize, arguments: usize) -> Translated {
    let unexpected = || UNEXPECTED.to_owned();
    if answer.len() > MAX_ANSWER {
        return Err(unexpected());
    }
    match serde_json::from_slice(answer).map_err(|_| unexpected())? {
        Answer::Expressions(encoded) if encoded.len() == functions => {
            let given = std::iter::once(arguments).chain(std::iter::repeat(1));
            let decoded = encoded.iter().zip(given);
            let decoded = decoded.map(|(encoded, given)| Expression::decode(encoded, given));
            decoded.collect::<Result<_, _>>().map_err(|_| unexpected())
        }
        Answer::Reason(reason) if is_reason(&reason) => Err(reason),
        _ => Err(unexpected()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_expressions_or_known_reasons() {
        let add = r#"[["argument",0],["constant",1],["call","+",[0,1]]]"#;
        let of = |encoded: &[&str]| serde_json::json!({ "expressions": encoded }).to_string();
        let read = |answer: &str, functions| read(answer.as_bytes(), functions, 1);
        assert_eq!(read(&of(&[add]), 1).unwrap().len(), 1);
        assert_eq!(read(&of(&[add, add]), 2).unwrap().len(), 2);
        let reason = |text: &str| serde_json::json!({ "reason": text }).to_string();
        for known in ["a loop", "a profiler or tracer"] {
            assert_eq!(read(&reason(known), 1), Err(known.to_owned()));
        }
        let second = r#"[["argument",1]]"#;
        let odd = [
            of(&[add, add]),
            of(&[]),
            of(&["[]"]),
            of(&[second]),
            reason("whatever"),
            r#"{"expressions":[],"reason":"a loop"}"#.to_owned(),
            String::new(),
            "[".repeat(1000),
            " ".repeat(MAX_ANSWER + 1),
        ];
        for answer in odd {
            let short = answer.get(..40).unwrap_or(&answer).to_owned();
            assert_eq!(read(&answer, 1), Err(UNEXPECTED.to_owned()), "{short}");
        }
        // Only the first function has the arguments of the call.
        let two = [r#"[["argument",0]]"#, second];
        assert!(super::read(of(&two).as_bytes(), 2, 2).is_err());
        assert!(super::read(of(&[second]).as_bytes(), 1, 2).is_ok());
    }
}
