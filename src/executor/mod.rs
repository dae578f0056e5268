//! The executor's life: states, registration, heartbeat, task table, exit codes.

pub mod core;
pub mod dependencies;
pub mod distribution;
mod error;
pub mod events;
pub mod exit_code;
pub mod heartbeat;
mod inbound;
mod jvm_host;
mod jvm_messages;
mod jvm_start;
pub mod metrics_peaks;
mod native;
mod resources;
mod run;
mod shared;
mod source;
mod startup;
mod storage;
pub mod task;
mod verified;

pub use error::ExecutorError;
pub use jvm_start::bridge_jar;
pub use run::{ExecutorHandle, process_start, run};
pub use startup::Options;
