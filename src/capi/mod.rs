//! The C ABI: `extern "C"` only, nothing else. `build.rs` turns this folder into `include/firesteel.h`.
//!
//! Types and constants carry their C names, so that a name found in the header is found here.
//!
//! Rules for every function: a pointer that must not be NULL is checked and answered with
//! [`firesteel_code::FIRESTEEL_NULL_ARGUMENT`]; text and bytes are pointer and length; what a `_new` function (or an
//! `out` pointer to an opaque type) gives is the caller's until the `_free` function of that type takes it back;
//! results are cleared before anything else happens, so after a failure they are NULL or zero; no panic leaves.
#![allow(unsafe_code, non_camel_case_types)]

mod boundary;
mod code;
mod counters;
mod decode;
mod error;
mod executor;
mod slice;
mod version;

pub use code::firesteel_code;
pub use counters::{FIRESTEEL_UNKNOWN, firesteel_counters, firesteel_task_counts};
pub use decode::{firesteel_decode_frame, firesteel_decode_java};
pub use error::{
    firesteel_error, firesteel_error_code, firesteel_error_free, firesteel_error_message,
};
pub use executor::{
    firesteel_executor, firesteel_executor_counters, firesteel_executor_counters_json,
    firesteel_executor_free, firesteel_executor_new, firesteel_executor_start,
    firesteel_executor_stop, firesteel_executor_wait,
};
pub use slice::{firesteel_bytes, firesteel_text, firesteel_text_free, firesteel_text_str};
pub use version::{FIRESTEEL_ABI_VERSION, firesteel_abi_version, firesteel_version};
