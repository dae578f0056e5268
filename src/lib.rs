//! Firesteel: a native executor for Apache Spark.
#![deny(unsafe_code)]

pub mod blocks;
pub mod cancel;
pub mod capi;
pub mod cli;
pub mod config;
pub mod executor;
pub mod lanes;
pub mod launch;
pub mod logging;
pub mod memory;
pub mod report;
pub mod rpc;
pub mod transport;
