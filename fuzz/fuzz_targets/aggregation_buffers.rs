//! Buffers of aggregate functions that other executors sent.
#![no_main]

firesteel_fuzz::target!(|data: &[u8]| exec::fuzzing::aggregation_buffers(data));
