//! Spark's frames, RPC envelopes and typed messages. No I/O, no unsafe.
#![forbid(unsafe_code)]
