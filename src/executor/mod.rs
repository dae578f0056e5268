//! The executor's life: states, registration, heartbeat, task table, exit codes.

pub mod core;
pub mod dependencies;
mod discovery;
pub mod distribution;
mod driver_link;
mod ending;
mod error;
mod evaluator;
pub mod events;
pub mod exit_code;
pub mod heartbeat;
mod inbound;
mod jvm_host;
mod jvm_link;
mod jvm_messages;
mod jvm_start;
pub mod metrics_peaks;
mod native;
mod registered;
mod replies;
mod resources;
mod run;
mod source;
mod startup;
mod storage;
mod threads;
mod verified;

pub use error::ExecutorError;
pub use jvm_start::bridge_jar;
pub use run::{ExecutorHandle, process_start, run};
pub use startup::Options;
