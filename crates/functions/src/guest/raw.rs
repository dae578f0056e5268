//! Reading what the caller of a library gives.

use crate::abi::{firesteel_host, firesteel_str, firesteel_task};
use crate::guest::Failure;

/// A struct of [`crate::abi`] that may be shorter than it is known here.
///
/// # Safety
/// It begins with a `usize`, its size; with all bytes zero, as with any bytes of a caller, it is valid.
pub(crate) unsafe trait Growing: Copy {}

// SAFETY: numbers, pointers and functions that may be NULL, after the size.
unsafe impl Growing for firesteel_host {}
// SAFETY: numbers and pointers, after the size.
unsafe impl Growing for firesteel_task {}

/// A copy of a caller's struct, with zeros for what the caller does not have.
///
/// # Safety
/// `from` is NULL or begins with the number of bytes that can be read there.
pub(crate) unsafe fn read<T: Growing>(name: &str, from: *const T) -> Result<T, Failure> {
    present(name, from)?;
    // SAFETY: what is copied is as long as the caller's struct and this one both are. The rest is zero, which is valid.
    unsafe {
        let size = from.cast::<usize>().read().min(size_of::<T>());
        let mut to = std::mem::zeroed::<T>();
        std::ptr::copy_nonoverlapping(from.cast::<u8>(), (&raw mut to).cast::<u8>(), size);
        Ok(to)
    }
}

/// Refuses NULL and misaligned pointers.
pub(crate) fn present<T>(name: &str, pointer: *const T) -> Result<(), Failure> {
    match pointer.is_null() {
        true => Err(Failure::internal(format!("the caller's {name} is NULL"))),
        false if !pointer.is_aligned() => Err(Failure::internal(format!(
            "the caller's {name} is not aligned to {} bytes",
            align_of::<T>()
        ))),
        false => Ok(()),
    }
}

/// A caller's text. What is not UTF-8 in it is replaced.
///
/// # Safety
/// `data` is NULL or has `len` bytes.
pub(crate) unsafe fn text(from: firesteel_str) -> String {
    if from.data.is_null() {
        return String::new();
    }
    // SAFETY: not NULL, so there are the bytes, as the caller promises.
    let bytes = unsafe { std::slice::from_raw_parts(from.data.cast::<u8>(), from.len) };
    String::from_utf8_lossy(bytes).into_owned()
}
