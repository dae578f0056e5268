//! The interface between the executor and the lanes: a task, what it runs with, and how it ends.

mod context;
mod error;
mod metrics;

pub use context::{Resources, TaskContext};
pub use error::{FetchFailure, TaskError, TaskException};
pub use metrics::{InputMetrics, TaskMetrics};
