//! Readers of batches as C streams. Other than those that Arrow makes, they keep panics within, and the types that were
//! declared.

use std::ffi::{CString, c_char, c_int};

use arrow::array::{Array, AsArray, RecordBatch, StructArray};
use arrow::datatypes::{Fields, Int64Type, Schema};

use crate::abi::{ArrowArray, ArrowArrayStream, ArrowSchema};
use crate::guest::failure::guarded;
use crate::guest::{Batches, Failure, Status};
use crate::types;

/// Numbers of Linux: what Arrow's C streams say errors with. See `firesteel_function.open`.
const EIO: c_int = 5;
const ENOMEM: c_int = 12;
const EINVAL: c_int = 22;
const ECANCELED: c_int = 125;

/// `private_data` of a stream.
pub(crate) struct Output {
    batches: State,
    declared: Fields,
    is_table: bool,
    /// The last call that had rows.
    call: i64,
    error: CString,
}

enum State {
    Open(Batches),
    Ended,
    Failed(Failure),
}

impl Output {
    pub(crate) fn new(batches: Batches, declared: Fields, is_table: bool) -> Result<Self, Failure> {
        check_columns(&declared, &batches.schema().fields)?;
        Ok(Self {
            batches: State::Open(batches),
            declared,
            is_table,
            call: 0,
            error: CString::default(),
        })
    }

    pub(crate) fn into_stream(self) -> ArrowArrayStream {
        ArrowArrayStream {
            get_schema: Some(get_schema),
            get_next: Some(get_next),
            get_last_error: Some(get_last_error),
            release: Some(release),
            private_data: Box::into_raw(Box::new(self)).cast(),
        }
    }

    /// `None` at the end. After a failure there is only that failure.
    fn next(&mut self) -> Result<Option<StructArray>, Failure> {
        let next = match &mut self.batches {
            State::Open(batches) => guarded(|| Ok(batches.next().transpose()?)),
            State::Ended => return Ok(None),
            State::Failed(failure) => return Err(failure.clone()),
        };
        let next = next.and_then(|batch| batch.map(|batch| self.checked(batch)).transpose());
        let after = match &next {
            Ok(Some(_)) => return next,
            Ok(None) => State::Ended,
            Err(failure) => State::Failed(failure.clone()),
        };
        let before = std::mem::replace(&mut self.batches, after);
        guarded(|| {
            drop(before);
            Ok(())
        })?;
        next
    }

    fn checked(&mut self, batch: RecordBatch) -> Result<StructArray, Failure> {
        check_columns(&self.declared, &batch.schema().fields)?;
        let batch = StructArray::from(batch);
        if !self.is_table {
            return Ok(batch);
        }
        let [calls, rows] = batch.columns() else {
            return Err(Failure::internal(
                "a table function without its two columns",
            ));
        };
        if calls.null_count() > 0 || rows.null_count() > 0 {
            let message = "a table function gives null as `call` or `row`";
            return Err(Failure::internal(message));
        }
        for call in calls.as_primitive::<Int64Type>().values() {
            if *call < self.call {
                let message = format!("a table function gives rows of call {call} too late");
                return Err(Failure::internal(message));
            }
            self.call = *call;
        }
        Ok(batch)
    }

    fn failed(&mut self, failure: &Failure) -> c_int {
        let message = failure.to_string().replace('\0', "\u{fffd}");
        self.error = CString::new(message).unwrap_or_default();
        match failure.status() {
            Status::Invalid => EINVAL,
            Status::NoMemory => ENOMEM,
            Status::Cancelled => ECANCELED,
            Status::NotApplicable | Status::Internal => EIO,
        }
    }
}

fn check_columns(declared: &Fields, given: &Fields) -> Result<(), Failure> {
    match types::columns_fit(declared, given) {
        true => Ok(()),
        false => Err(Failure::internal(format!(
            "the function gives the columns `{}` and declares `{}`",
            types::names(given),
            types::names(declared)
        ))),
    }
}

/// # Safety
/// `stream` was made by [`Output::into_stream`], is not released and is used by nobody else.
unsafe fn output<'a>(stream: *mut ArrowArrayStream) -> &'a mut Output {
    // SAFETY: as the caller promises.
    unsafe { &mut *(*stream).private_data.cast::<Output>() }
}

unsafe extern "C" fn get_schema(stream: *mut ArrowArrayStream, to: *mut ArrowSchema) -> c_int {
    // SAFETY: a stream that nobody else uses, as its user promises.
    let output = unsafe { output(stream) };
    let schema = guarded(|| {
        let schema = Schema::new(output.declared.clone());
        Ok(ArrowSchema::try_from(&schema)?)
    });
    match schema {
        Ok(schema) => {
            // SAFETY: a place for a schema, as the user of the stream promises.
            unsafe { to.write(schema) };
            0
        }
        Err(failure) => output.failed(&failure),
    }
}

unsafe extern "C" fn get_next(stream: *mut ArrowArrayStream, to: *mut ArrowArray) -> c_int {
    // SAFETY: a stream that nobody else uses, as its user promises.
    let output = unsafe { output(stream) };
    let next = guarded(|| {
        Ok(match output.next()? {
            Some(batch) => ArrowArray::new(&batch.to_data()),
            None => ArrowArray::empty(),
        })
    });
    match next {
        Ok(next) => {
            // SAFETY: a place for an array, as the user of the stream promises.
            unsafe { to.write(next) };
            0
        }
        Err(failure) => output.failed(&failure),
    }
}

unsafe extern "C" fn get_last_error(stream: *mut ArrowArrayStream) -> *const c_char {
    // SAFETY: a stream that nobody else uses, as its user promises.
    let output = unsafe { output(stream) };
    match output.error.is_empty() {
        true => std::ptr::null(),
        false => output.error.as_ptr(),
    }
}

unsafe extern "C" fn release(stream: *mut ArrowArrayStream) {
    // There is nobody to tell of a panic; the panic hook has printed it.
    let _ = guarded(|| {
        // SAFETY: a stream that is not released, as its user promises, and that is so from here on.
        unsafe {
            (*stream).release = None;
            drop(Box::from_raw((*stream).private_data.cast::<Output>()));
        }
        Ok(())
    });
}
