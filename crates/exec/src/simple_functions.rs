//! Functions of Python that are expressions, as tasks compute them without Python.

use std::fmt::Debug;
use std::sync::Arc;

use catalyst::DataType;
use pyfunc::Expression;

use crate::sources::PythonCallee;

/// A function whose values might be computed without Python.
#[derive(Debug)]
pub struct SimpleCall<'a> {
    /// The function.
    pub callee: &'a PythonCallee,
    /// The type that it is declared with.
    pub result: &'a DataType,
    /// Whether it is given values from Arrow streams.
    pub over_arrow: bool,
    /// Artifacts of which session workers see, if the session has its own.
    pub job_artifact_uuid: Option<&'a str>,
    /// Why it is left to Python, if that is known already.
    pub refused: Option<&'static str>,
}

/// What a function computes.
#[derive(Debug, Clone)]
pub struct SimpleFunction {
    /// Expressions of which each takes the value of the one before it; the first takes the arguments.
    pub expressions: Arc<Vec<Expression>>,
    /// Who wants to know what became of it.
    pub observer: Arc<dyn SimpleObserver>,
}

/// Is told what became of batches of a simple function's arguments.
pub trait SimpleObserver: Debug + Send + Sync {
    /// So many rows were computed without Python.
    fn computed(&self, rows: usize);

    /// A batch had a row that Python has to see.
    fn left_to_python(&self);

    /// The function gives values of another kind than it is declared with, which Spark takes in ways of its own.
    fn misfit(&self);
}
