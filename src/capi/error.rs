use super::boundary::quietly;
use super::code::firesteel_code;
use functions::abi::firesteel_str;

/// Why a call failed: a code and a message for people. Made by a failing call whose `error` argument was not NULL;
/// freed with `firesteel_error_free`.
#[derive(Debug)]
pub struct firesteel_error {
    code: firesteel_code,
    message: String,
}

impl firesteel_error {
    pub(super) fn new(code: firesteel_code, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
        }
    }

    pub(super) fn code(&self) -> firesteel_code {
        self.code
    }
}

/// The code of an error, the same that the failing call returned; `FIRESTEEL_OK` if `error` is NULL.
///
/// # Safety
/// `error` is NULL or an error that has not been freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn firesteel_error_code(error: *const firesteel_error) -> firesteel_code {
    // SAFETY: NULL or alive, as the caller promises.
    unsafe { error.as_ref() }.map_or(firesteel_code::FIRESTEEL_OK, firesteel_error::code)
}

/// What went wrong and what to do, in UTF-8; it may have several lines. Empty if `error` is NULL. The text lives as
/// long as the error.
///
/// # Safety
/// `error` is NULL or an error that has not been freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn firesteel_error_message(error: *const firesteel_error) -> firesteel_str {
    // SAFETY: NULL or alive, as the caller promises.
    unsafe { error.as_ref() }.map_or(firesteel_str::of(""), |error| {
        firesteel_str::of(&error.message)
    })
}

/// Frees an error; NULL is ignored.
///
/// # Safety
/// `error` is NULL or an error that has not been freed; neither it nor its message is used afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn firesteel_error_free(error: *mut firesteel_error) {
    if !error.is_null() {
        // SAFETY: made by `Box::into_raw` and not freed before, as the caller promises.
        quietly(|| drop(unsafe { Box::from_raw(error) }));
    }
}
