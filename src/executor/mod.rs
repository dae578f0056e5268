//! The executor's life: states, registration, heartbeat, task table, exit codes.
