//! The executor's life: states, registration, heartbeat, task table, exit codes.

pub mod core;
pub mod events;
pub mod exit_code;
pub mod heartbeat;
