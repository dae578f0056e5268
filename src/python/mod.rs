//! Functions of Python as tasks bring them along, and the processes that run them.

mod broadcast_file;
mod element;
mod function;
mod read_function;
#[cfg(any(test, fuzzing))]
pub(crate) mod testing;
pub mod worker;

pub use broadcast_file::{FetchedFile, broadcast_file};
pub use element::{Element, Elements};
pub use function::{BroadcastFile, PythonBroadcast, PythonFunction};
pub use read_function::{accumulator_of, function_of_rdd, read_function};
