use std::sync::Arc;

use arrow::array::{ArrayRef, StructArray};

use crate::guest::{Binding, Declaration, Failure, Task};

/// A function that gives one value for each row. See [`scalar`] for the simple ones.
pub trait Scalar: Send + Sync + 'static {
    /// What it is. The same at every call.
    fn declaration(&self) -> Declaration;

    /// Makes an instance for a task.
    ///
    /// # Errors
    /// The function does not take such arguments, or cannot be used.
    fn bind(&self, binding: &Binding) -> Result<Box<dyn ScalarInstance>, Failure>;
}

/// A scalar function that is called by one task.
pub trait ScalarInstance: Send {
    /// Gives an array of as many values as the arguments have rows. The arguments are borrowed: see
    /// [`crate::guest`].
    ///
    /// # Errors
    /// A value cannot be worked with, or whatever else fails the task.
    fn execute(&mut self, task: &Task, arguments: &StructArray) -> Result<ArrayRef, Failure>;
}

/// A scalar function that is a Rust function: from arrays to an array, with nothing kept between calls.
pub fn scalar<F>(declaration: Declaration, function: F) -> impl Scalar
where
    F: Fn(&Task, &StructArray) -> Result<ArrayRef, Failure> + Send + Sync + 'static,
{
    Simple {
        declaration,
        function: Arc::new(function),
    }
}

struct Simple<F> {
    declaration: Declaration,
    function: Arc<F>,
}

impl<F> Scalar for Simple<F>
where
    F: Fn(&Task, &StructArray) -> Result<ArrayRef, Failure> + Send + Sync + 'static,
{
    fn declaration(&self) -> Declaration {
        self.declaration.clone()
    }

    fn bind(&self, _binding: &Binding) -> Result<Box<dyn ScalarInstance>, Failure> {
        Ok(Box::new(SimpleInstance(self.function.clone())))
    }
}

struct SimpleInstance<F>(Arc<F>);

impl<F> ScalarInstance for SimpleInstance<F>
where
    F: Fn(&Task, &StructArray) -> Result<ArrayRef, Failure> + Send + Sync,
{
    fn execute(&mut self, task: &Task, arguments: &StructArray) -> Result<ArrayRef, Failure> {
        (self.0)(task, arguments)
    }
}
