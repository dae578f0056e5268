//! Why a function fails, and where panics end.

use std::any::Any;
use std::fmt::{self, Display, Formatter};
use std::mem::offset_of;
use std::panic::{AssertUnwindSafe, catch_unwind};

use arrow::error::ArrowError;

use crate::abi::{
    FIRESTEEL_STATUS_CANCELLED, FIRESTEEL_STATUS_INTERNAL, FIRESTEEL_STATUS_INVALID,
    FIRESTEEL_STATUS_NO_MEMORY, FIRESTEEL_STATUS_NOT_APPLICABLE, FIRESTEEL_STATUS_OK,
    firesteel_failure, firesteel_status,
};

/// Why a function fails.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    status: Status,
    message: String,
    row: Option<usize>,
    sqlstate: Option<[u8; 5]>,
}

/// Whose fault it is that a function fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Status {
    /// `bind`: the function does not take these arguments. Nothing is wrong.
    NotApplicable,
    /// A value that the function cannot work with.
    Invalid,
    /// Memory was refused.
    NoMemory,
    /// The task was cancelled.
    Cancelled,
    /// A bug in the library, or in its caller.
    Internal,
}

impl Status {
    fn code(self) -> firesteel_status {
        match self {
            Self::NotApplicable => FIRESTEEL_STATUS_NOT_APPLICABLE,
            Self::Invalid => FIRESTEEL_STATUS_INVALID,
            Self::NoMemory => FIRESTEEL_STATUS_NO_MEMORY,
            Self::Cancelled => FIRESTEEL_STATUS_CANCELLED,
            Self::Internal => FIRESTEEL_STATUS_INTERNAL,
        }
    }
}

impl Failure {
    fn new(status: Status, message: impl Into<String>) -> Self {
        Self {
            status,
            message: message.into(),
            row: None,
            sqlstate: None,
        }
    }

    /// A value that the function cannot work with.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(Status::Invalid, message)
    }

    /// Memory was refused.
    pub fn no_memory(message: impl Into<String>) -> Self {
        Self::new(Status::NoMemory, message)
    }

    /// The task was cancelled, and the function noticed.
    #[must_use]
    pub fn cancelled() -> Self {
        Self::new(Status::Cancelled, "the task was cancelled")
    }

    /// `bind`: the function does not take these arguments. Nothing is wrong: the next signature is tried.
    pub fn not_applicable(message: impl Into<String>) -> Self {
        Self::new(Status::NotApplicable, message)
    }

    /// A bug in the library.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(Status::Internal, message)
    }

    /// Says which row of the batch is at fault, from 0 on.
    #[must_use]
    pub fn at_row(mut self, row: usize) -> Self {
        self.row = Some(row);
        self
    }

    /// Says the SQLSTATE, such as `22003`: five digits and capital letters. Anything else is left out.
    #[must_use]
    pub fn with_sqlstate(mut self, sqlstate: &str) -> Self {
        let is_valid = |byte: &u8| byte.is_ascii_digit() || byte.is_ascii_uppercase();
        self.sqlstate = <[u8; 5]>::try_from(sqlstate.as_bytes())
            .ok()
            .filter(|sqlstate| sqlstate.iter().all(is_valid));
        self
    }

    /// Whose fault it is.
    #[must_use]
    pub fn status(&self) -> Status {
        self.status
    }

    /// What people are told.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The row of the batch at fault, from 0 on.
    #[must_use]
    pub fn row(&self) -> Option<usize> {
        self.row
    }

    /// The SQLSTATE.
    #[must_use]
    pub fn sqlstate(&self) -> Option<&str> {
        let sqlstate = self.sqlstate.as_ref()?;
        std::str::from_utf8(sqlstate).ok()
    }

    /// Fills in what the caller has room for.
    ///
    /// # Safety
    /// `to` is NULL or a failure that may be written, with `message_capacity` bytes at `message`.
    unsafe fn write(&self, to: *mut firesteel_failure) {
        if to.is_null() || !to.is_aligned() {
            return;
        }
        // SAFETY: the struct begins with its size, and has the fields that are within it.
        unsafe {
            let size = (*to).struct_size;
            if size >= offset_of!(firesteel_failure, sqlstate) {
                let row = self.row.and_then(|row| i64::try_from(row).ok());
                (&raw mut (*to).row).write(row.unwrap_or(-1));
            }
            if size >= offset_of!(firesteel_failure, message) {
                let mut sqlstate = [0; 8];
                for (to, from) in sqlstate.iter_mut().zip(self.sqlstate.unwrap_or_default()) {
                    *to = from.cast_signed();
                }
                (&raw mut (*to).sqlstate).write(sqlstate);
            }
            if size >= size_of::<firesteel_failure>() {
                let mut len = 0;
                if !(*to).message.is_null() {
                    len = self.message.floor_char_boundary((*to).message_capacity);
                    let from = self.message.as_ptr().cast();
                    (*to).message.copy_from_nonoverlapping(from, len);
                }
                (&raw mut (*to).message_len).write(len);
            }
        }
    }
}

/// The message, followed by the row and the SQLSTATE if they are known: what the user of a stream is told.
impl Display for Failure {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        out.write_str(&self.message)?;
        if let Some(row) = self.row {
            write!(out, " (row {row})")?;
        }
        match self.sqlstate() {
            Some(sqlstate) => write!(out, " SQLSTATE: {sqlstate}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Failure {}

/// Values that cannot be computed with are invalid, and so is an input that cannot be read; calls that make no sense
/// are bugs.
impl From<ArrowError> for Failure {
    fn from(error: ArrowError) -> Self {
        let error = match error {
            ArrowError::ExternalError(error) => match error.downcast::<Self>() {
                Ok(failure) => return *failure,
                Err(error) => return Self::invalid(error.to_string()),
            },
            error => error,
        };
        let message = error.to_string();
        match error {
            ArrowError::MemoryError(_) => Self::no_memory(message),
            ArrowError::ArithmeticOverflow(_) => Self::invalid(message).with_sqlstate("22003"),
            ArrowError::DivideByZero => Self::invalid(message).with_sqlstate("22012"),
            ArrowError::CastError(_)
            | ArrowError::ParseError(_)
            | ArrowError::ComputeError(_)
            | ArrowError::CDataInterface(_)
            | ArrowError::IoError(..) => Self::invalid(message),
            _ => Self::internal(message),
        }
    }
}

/// For streams, whose errors are Arrow's. The failure comes out of it again as it was.
impl From<Failure> for ArrowError {
    fn from(failure: Failure) -> Self {
        Self::ExternalError(Box::new(failure))
    }
}

/// Runs what a library wrote: a panic is a failure.
pub(crate) fn guarded<T>(body: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    // Whoever is called again after a panic is the author's own.
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|panic| {
        let text = panic_text(panic.as_ref());
        let failure = Failure::internal(format!("bug in the library, it panicked: {text}"));
        // A value that was thrown may panic when it is dropped, and so may what that throws.
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| drop(panic))) {
            std::mem::forget(panic);
        }
        Err(failure)
    })
}

/// Runs the body of a function that the caller of a library calls.
///
/// # Safety
/// `failure` is NULL or a failure that may be written, with `message_capacity` bytes at `message`.
pub(crate) unsafe fn answered(
    failure: *mut firesteel_failure,
    body: impl FnOnce() -> Result<(), Failure>,
) -> firesteel_status {
    match guarded(body) {
        Ok(()) => FIRESTEEL_STATUS_OK,
        Err(error) => {
            // SAFETY: as the caller promises.
            unsafe { error.write(failure) };
            error.status.code()
        }
    }
}

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    match (panic.downcast_ref::<String>(), panic.downcast_ref::<&str>()) {
        (Some(text), _) => text,
        (_, Some(text)) => text,
        _ => "a panic without a message",
    }
}
