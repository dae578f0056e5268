//! The function that the caller of a library has for partition and table functions.

use std::ffi::c_void;

use arrow::datatypes::{DataType, Fields};
use arrow::ffi_stream::ArrowArrayStreamReader;

use crate::abi::{ArrowArrayStream, firesteel_failure, firesteel_status, firesteel_task};
use crate::guest::failure::answered;
use crate::guest::instance::{Bound, Instance, wrong_kind};
use crate::guest::stream::columns_of_table;
use crate::guest::stream_output::Output;
use crate::guest::{Failure, raw};

/// `firesteel_function.open`
pub(crate) unsafe extern "C" fn open(
    instance: *mut c_void,
    task: *const firesteel_task,
    input: *mut ArrowArrayStream,
    output: *mut ArrowArrayStream,
    failure: *mut firesteel_failure,
) -> firesteel_status {
    let body = || {
        raw::present("input", input)?;
        raw::present("place for an output", output)?;
        // SAFETY: an instance that nobody else uses, as the caller promises.
        let (instance, task) = unsafe { Instance::of(instance, task)? };
        let declared = match &instance.result {
            DataType::Struct(columns) if instance.is_table => columns_of_table(columns),
            DataType::Struct(columns) => columns.clone(),
            _ => Fields::empty(),
        };
        let Bound::Stream(function) = Instance::alive(&mut instance.bound)? else {
            return Err(wrong_kind());
        };
        // SAFETY: a stream that is not used by others, as the caller promises. It is moved, and what is left behind is
        // marked as released, so that the caller does not release it a second time if anything fails from here on.
        let input = unsafe { ArrowArrayStreamReader::from_raw(input) }
            .map_err(|error| Failure::invalid(error.to_string()))?;
        let batches = function.open(&task, input)?;
        let stream = Output::new(batches, declared, instance.is_table)?.into_stream();
        // SAFETY: not NULL and aligned, so it may be written, as the caller promises.
        unsafe { output.write(stream) };
        Ok(())
    };
    // SAFETY: as the caller promises.
    unsafe { answered(failure, body) }
}
