//! Firesteel: a native executor for Apache Spark.
#![deny(unsafe_code)]

pub mod assemble;
pub mod blocks;
pub mod cancel;
pub mod capi;
pub mod cli;
pub mod config;
pub mod executor;
pub mod files;
#[cfg(fuzzing)]
pub mod fuzzing;
pub mod lanes;
pub mod launch;
pub mod logging;
pub mod memory;
pub mod native_functions;
pub mod python;
pub mod report;
pub mod rpc;
pub mod task;
pub mod transport;

/// What a panic said, if it said something.
pub(crate) fn panic_text(panic: &(dyn std::any::Any + Send)) -> Option<&str> {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
}
