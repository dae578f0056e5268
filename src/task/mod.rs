//! The interface between the executor and the lanes: a task, what it runs with, and how it ends.

pub mod accumulators;
mod commit;
mod context;
mod decoded;
mod error;
mod evaluator;
pub mod jvm;
mod lane;
mod metrics;
pub mod outcome;
mod pickled;
mod value;

pub use commit::{AttemptDir, AttemptNames, ask_to_commit, cannot_make, cannot_write};
pub use context::{Resources, TaskContext};
pub use decoded::{DecodeError, DecodedTask, StageBinary, StageTarget, TaskKind, TaskObject};
pub use error::{FetchFailure, TaskError, TaskException};
pub use evaluator::{Evaluated, Evaluator, NoEvaluator, RestAnswer};
pub use lane::{AcceptedTask, Assembly, Lane, LaneParts, LanesOf, Verifier};
pub use metrics::{InputMetrics, TaskMetrics, thread_cpu};
pub use pickled::{OtherLane, PickledBatches, PickledPartition, PickledRdd, PickledSource};
pub use value::TaskValue;
