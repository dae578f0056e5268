use functions::abi::firesteel_str;

use super::boundary::{present, quietly};
use super::code::firesteel_code;
use super::error::firesteel_error;

/// `len` bytes at `data`. `data` may be NULL if `len` is 0.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct firesteel_bytes {
    /// First byte.
    pub data: *const u8,
    /// Number of bytes.
    pub len: usize,
}

/// A text that the library made. Freed with `firesteel_text_free`.
#[derive(Debug)]
pub struct firesteel_text {
    text: String,
}

/// The text itself; empty if `text` is NULL. It lives as long as `text`.
///
/// # Safety
/// `text` is NULL or a text that has not been freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn firesteel_text_str(text: *const firesteel_text) -> firesteel_str {
    // SAFETY: NULL or alive, as the caller promises.
    unsafe { text.as_ref() }.map_or(firesteel_str::of(""), |text| firesteel_str::of(&text.text))
}

/// Frees a text; NULL is ignored.
///
/// # Safety
/// `text` is NULL or a text that has not been freed; neither it nor what `firesteel_text_str` gave is used afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn firesteel_text_free(text: *mut firesteel_text) {
    if !text.is_null() {
        // SAFETY: made by `Box::into_raw` and not freed before, as the caller promises.
        quietly(|| drop(unsafe { Box::from_raw(text) }));
    }
}

impl firesteel_text {
    pub(super) fn give(text: String) -> *mut Self {
        Box::into_raw(Box::new(Self { text }))
    }
}

/// A text that a caller gave.
///
/// # Safety
/// Its `data` is NULL or points to its `len` bytes that stay unchanged for the lifetime `'a`.
pub(super) unsafe fn text<'a>(of: firesteel_str, name: &str) -> Result<&'a str, firesteel_error> {
    // SAFETY: passed on.
    let bytes = unsafe { slice(name, of.data.cast::<u8>(), of.len) }?;
    std::str::from_utf8(bytes).map_err(|e| {
        firesteel_error::new(
            firesteel_code::FIRESTEEL_NOT_UTF8,
            format!("{name} is not UTF-8: {e}"),
        )
    })
}

impl firesteel_bytes {
    /// # Safety
    /// `data` is NULL or points to `len` bytes that stay unchanged for the lifetime `'a`.
    pub(super) unsafe fn as_slice<'a>(self, name: &str) -> Result<&'a [u8], firesteel_error> {
        // SAFETY: passed on.
        unsafe { slice(name, self.data, self.len) }
    }
}

/// # Safety
/// `data` is NULL or points to `len` values that stay unchanged for the lifetime `'a`.
pub(super) unsafe fn slice<'a, T>(
    name: &str,
    data: *const T,
    len: usize,
) -> Result<&'a [T], firesteel_error> {
    if len == 0 {
        return Ok(&[]);
    }
    present(name, data)?;
    if len > isize::MAX.unsigned_abs() / size_of::<T>() {
        return Err(firesteel_error::new(
            firesteel_code::FIRESTEEL_INVALID_ARGUMENT,
            format!("{name} claims {len} elements, more than any memory holds"),
        ));
    }
    // SAFETY: not NULL, aligned, no larger than an object may be; readable, as the caller promises.
    Ok(unsafe { std::slice::from_raw_parts(data, len) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ptr::null;

    #[test]
    fn slices_are_checked_before_they_are_followed() {
        // SAFETY: only the last pointer is followed, and it is valid.
        unsafe {
            assert_eq!(slice::<u64>("a", null(), 0).unwrap(), &[] as &[u64]);
            assert_eq!(
                slice("a", std::ptr::dangling::<u64>(), 0).unwrap(),
                &[] as &[u64]
            );
            let code = |e: firesteel_error| e.code();
            assert_eq!(
                slice::<u64>("a", null(), 1).map_err(code),
                Err(firesteel_code::FIRESTEEL_NULL_ARGUMENT)
            );
            for len in [
                usize::MAX,
                usize::MAX / 8,
                isize::MAX.unsigned_abs() / 8 + 1,
            ] {
                assert_eq!(
                    slice("a", std::ptr::dangling::<u64>(), len).map_err(code),
                    Err(firesteel_code::FIRESTEEL_INVALID_ARGUMENT)
                );
            }
            assert_eq!(slice("a", [1_u64, 2].as_ptr(), 2).unwrap(), &[1, 2]);
        }
    }

    #[test]
    fn text_must_be_utf8() {
        let bytes = [b'a', 0xff];
        let bad = firesteel_str {
            data: bytes.as_ptr().cast(),
            len: 2,
        };
        // SAFETY: two bytes of a local array.
        let error = unsafe { text(bad, "name") }.unwrap_err();
        assert_eq!(error.code(), firesteel_code::FIRESTEEL_NOT_UTF8);
    }
}
