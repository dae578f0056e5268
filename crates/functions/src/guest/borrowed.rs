//! Arrays that are the caller's, for the time of a call.
//!
//! Arrow's arrays share their memory by counting, with no lifetime: a function could keep some. So they are made of a
//! shallow copy of the caller's struct whose `release` says only that the last of them is gone, and a call does not
//! return before that has happened.

use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use arrow::array::{ArrayData, AsArray, StructArray};
use arrow::datatypes::{DataType, Fields};
use arrow::ffi::from_ffi_and_data_type;

use crate::abi::ArrowArray;
use crate::guest::failure::guarded;
use crate::guest::{Failure, Level, Task, raw, results};

/// For threads that a function waited for and that are about to drop what they were given.
const SOON: Duration = Duration::from_millis(100);
/// For threads that an instance stops when it is dropped.
const AT_LAST: Duration = Duration::from_secs(2);

/// Calls a function with borrowed arrays.
///
/// A result that shares memory with them is copied by `own`. An instance that keeps some of them is dropped while they
/// are still there, and the call fails. If arrays are alive even then, a static or a thread has them, and could read
/// memory that is gone: the process is ended.
///
/// # Safety
/// `arrays` is NULL or a struct array of the fields' types, which stays as it is until the call returns.
pub(crate) unsafe fn lend<I, R>(
    task: &Task,
    instance: &mut Option<I>,
    (arrays, fields): (*const ArrowArray, &Fields),
    call: impl FnOnce(&mut I, &StructArray) -> Result<R, Failure>,
    own: impl FnOnce(R) -> Result<R, Failure>,
) -> Result<R, Failure> {
    let loan = Loan::new();
    let mut answer = guarded(|| {
        let Some(instance) = instance.as_mut() else {
            return Err(Failure::internal("the instance was ended by a failure"));
        };
        // SAFETY: as the caller promises; what is made of it is gone at the end of this function.
        let arrays = unsafe { loan.lend(arrays, fields)? };
        call(instance, &arrays)
    });
    if !loan.is_over() {
        answer = answer.and_then(|result| guarded(|| own(result)));
    }
    if loan.ends_within(SOON) {
        return answer;
    }
    drop(answer);
    let kept = instance.take();
    // The failure is reported below.
    let _ = guarded(|| {
        drop(kept);
        Ok(())
    });
    if !loan.ends_within(AT_LAST) {
        let message =
            "a native function gave its arguments to a static or a thread: the process is ended";
        task.log(Level::Error, message);
        eprintln!("firesteel: {message}");
        std::process::abort();
    }
    Err(Failure::internal(
        "bug in the library: the function keeps its arguments, which it may only borrow",
    ))
}

/// Copies of the children of a struct array, which are not the caller's.
///
/// # Safety
/// `arrays` is NULL or a struct array of the fields' types.
pub(crate) unsafe fn owned(
    arrays: *const ArrowArray,
    fields: &Fields,
) -> Result<StructArray, Failure> {
    let loan = Loan::new();
    // SAFETY: as the caller promises; nothing else is made of it than the copy.
    let borrowed = unsafe { loan.lend(arrays, fields)? };
    Ok(results::copied(&borrowed).as_struct().clone())
}

/// Whether no array is alive that was lent.
struct Loan(Arc<AtomicBool>);

impl Loan {
    fn new() -> Self {
        Self(Arc::new(AtomicBool::new(true)))
    }

    /// # Safety
    /// `arrays` is NULL or a struct array of the fields' types, which stays as it is until the loan is over.
    unsafe fn lend(
        &self,
        arrays: *const ArrowArray,
        fields: &Fields,
    ) -> Result<StructArray, Failure> {
        raw::present("array", arrays)?;
        // SAFETY: an array, as the caller promises, that is neither moved nor released here.
        let arrays = unsafe { &*arrays };
        if arrays.is_released() {
            return Err(Failure::internal("the caller's array is released"));
        }
        let copy = ArrowArray {
            length: arrays.length,
            null_count: arrays.null_count,
            offset: arrays.offset,
            n_buffers: arrays.n_buffers,
            n_children: arrays.n_children,
            buffers: arrays.buffers,
            children: arrays.children,
            dictionary: arrays.dictionary,
            release: Some(over),
            private_data: Arc::into_raw(self.0.clone()).cast_mut().cast(),
        };
        self.0.store(false, Ordering::Relaxed);
        let data_type = DataType::Struct(fields.clone());
        // SAFETY: of this type, as the caller promises. Children are only read: that they have a `release` is of no
        // matter. The memory stays until the loan is over, which is when `copy` is dropped.
        let data: ArrayData = unsafe { from_ffi_and_data_type(copy, data_type)? };
        Ok(StructArray::from(data))
    }

    fn is_over(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }

    fn ends_within(&self, patience: Duration) -> bool {
        let begin = Instant::now();
        while !self.is_over() {
            if begin.elapsed() > patience {
                return false;
            }
            thread::sleep(Duration::from_micros(100));
        }
        true
    }
}

/// `release` of what was lent. The last array is gone, whichever thread it was that had it.
unsafe extern "C" fn over(array: *mut ArrowArray) {
    // SAFETY: called once by the owner of a struct that `lend` has made, with an `Arc` in it.
    unsafe {
        let is_over: *const c_void = (*array).private_data;
        (*array).release = None;
        Arc::from_raw(is_over.cast::<AtomicBool>()).store(true, Ordering::Release);
    }
}
