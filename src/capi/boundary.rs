//! Where Rust ends: results become codes, panics become `FIRESTEEL_INTERNAL`, pointers are checked.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::code::firesteel_code;
use super::error::firesteel_error;

/// Runs the body of an exported function. `error` takes the failure, if the caller wants it.
///
/// # Safety
/// `error` is NULL or points to a pointer that may be written.
pub(super) unsafe fn boundary(
    error: *mut *mut firesteel_error,
    body: impl FnOnce() -> Result<firesteel_code, firesteel_error>,
) -> firesteel_code {
    if !error.is_null() {
        // SAFETY: not NULL, so writable, as the caller promises. Nothing is dropped: the old value may be anything.
        unsafe { error.write_unaligned(std::ptr::null_mut()) };
    }
    let failure = match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(code)) => return code,
        Ok(Err(failure)) => failure,
        Err(panic) => firesteel_error::new(
            firesteel_code::FIRESTEEL_INTERNAL,
            format!(
                "bug in firesteel: {}",
                crate::panic_text(panic.as_ref()).unwrap_or("a panic without a message")
            ),
        ),
    };
    let code = failure.code();
    if !error.is_null() {
        // SAFETY: as above.
        unsafe { error.write_unaligned(Box::into_raw(Box::new(failure))) };
    }
    code
}

/// Runs a body that cannot report anything, such as that of a `_free` function.
pub(super) fn quietly(body: impl FnOnce()) {
    // The panic hook has printed it; there is nobody to tell.
    let _ = catch_unwind(AssertUnwindSafe(body));
}

/// A place for a result, cleared to `empty`.
///
/// # Safety
/// `pointer` is NULL or points to a `T` that may be written for the lifetime `'a`.
pub(super) unsafe fn out<'a, T>(
    name: &str,
    pointer: *mut T,
    empty: T,
) -> Result<&'a mut T, firesteel_error> {
    present(name, pointer)?;
    // SAFETY: not NULL and aligned, so writable, as the caller promises. The old value may be uninitialised: it is not
    // dropped, and only after the write does a reference exist.
    unsafe {
        pointer.write(empty);
        Ok(&mut *pointer)
    }
}

/// Refuses NULL and misaligned pointers.
pub(super) fn present<T>(name: &str, pointer: *const T) -> Result<(), firesteel_error> {
    if pointer.is_null() {
        return Err(firesteel_error::new(
            firesteel_code::FIRESTEEL_NULL_ARGUMENT,
            format!("{name} is NULL"),
        ));
    }
    if !pointer.is_aligned() {
        return Err(firesteel_error::new(
            firesteel_code::FIRESTEEL_INVALID_ARGUMENT,
            format!("{name} is not aligned to {} bytes", align_of::<T>()),
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::error::{firesteel_error_free, firesteel_error_message};
    use super::super::slice::text;
    use super::*;
    use std::ptr::null_mut;

    fn message(error: *mut firesteel_error) -> String {
        // SAFETY: `error` was made by `boundary`, is read once and then freed.
        unsafe {
            let text = text(firesteel_error_message(error), "message")
                .unwrap()
                .to_owned();
            firesteel_error_free(error);
            text
        }
    }

    #[test]
    fn a_panic_becomes_a_code_and_a_message() {
        let mut error = null_mut();
        for (body, text) in [
            (
                (|| panic!("no {}", "way")) as fn() -> _,
                "bug in firesteel: no way",
            ),
            (|| panic!("static"), "bug in firesteel: static"),
            (
                || std::panic::panic_any(7),
                "bug in firesteel: a panic without a message",
            ),
        ] {
            // SAFETY: `error` is a local variable.
            let code = unsafe { boundary(&raw mut error, body) };
            assert_eq!(code, firesteel_code::FIRESTEEL_INTERNAL);
            assert_eq!(message(error), text);
        }
        // SAFETY: NULL is allowed.
        let code = unsafe { boundary(null_mut(), || panic!("unheard")) };
        assert_eq!(code, firesteel_code::FIRESTEEL_INTERNAL);
    }

    #[test]
    fn success_clears_an_old_error_pointer() {
        let mut error = std::ptr::dangling_mut();
        // SAFETY: `error` is a local variable; the dangling value is overwritten, never followed.
        let code = unsafe { boundary(&raw mut error, || Ok(firesteel_code::FIRESTEEL_TIMED_OUT)) };
        assert_eq!(code, firesteel_code::FIRESTEEL_TIMED_OUT);
        assert!(error.is_null());
    }

    #[test]
    fn results_are_checked_and_cleared() {
        let mut value = 7_u64;
        // SAFETY: local variable; NULL and misaligned pointers are refused before they are followed.
        unsafe {
            assert_eq!(*out("value", &raw mut value, 0).unwrap(), 0);
            let null = out("value", null_mut::<u64>(), 0).unwrap_err();
            assert_eq!(null.code(), firesteel_code::FIRESTEEL_NULL_ARGUMENT);
            let odd = (&raw mut value).cast::<u8>().wrapping_add(1).cast::<u64>();
            let odd = out("value", odd, 0).unwrap_err();
            assert_eq!(odd.code(), firesteel_code::FIRESTEEL_INVALID_ARGUMENT);
        }
    }
}
