use javaser::arena::Graph;
use javaser::{Error, Limits};
use wire::frame::{Frame, FrameError, LENGTH_SIZE, MAX_FRAME};

use super::boundary::{boundary, out};
use super::code::firesteel_code;
use super::error::firesteel_error;
use super::slice::{firesteel_bytes, firesteel_text};

/// Decodes a Java object stream (`AC ED 00 05 …`) to JSON: the root objects with class names, fields by name, and
/// shared objects by reference. No class is loaded and no code of the stream's classes runs; any bytes may be given.
///
/// @param bytes the whole stream.
/// @param json takes the JSON text, which the caller frees; NULL after a failure.
/// @param error takes the error, which the caller frees; may be NULL.
/// @return `FIRESTEEL_OK`, `FIRESTEEL_MALFORMED` (also for a stream that ends too early), `FIRESTEEL_LIMIT_EXCEEDED`,
///   `FIRESTEEL_NULL_ARGUMENT`, `FIRESTEEL_INVALID_ARGUMENT`.
///
/// # Safety
/// `bytes.data` points to `bytes.len` readable bytes; `json` and `error` are NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn firesteel_decode_java(
    bytes: firesteel_bytes,
    json: *mut *mut firesteel_text,
    error: *mut *mut firesteel_error,
) -> firesteel_code {
    let body = || {
        // SAFETY: the caller's promises are passed on.
        let (json, bytes) = unsafe {
            (
                out("json", json, std::ptr::null_mut())?,
                bytes.as_slice("bytes.data")?,
            )
        };
        let graph = Graph::parse(bytes, &Limits::default()).map_err(|e| java_failure(&e))?;
        *json = firesteel_text::give(graph.to_json().to_string());
        Ok(firesteel_code::FIRESTEEL_OK)
    };
    // SAFETY: `error` is the caller's promise.
    unsafe { boundary(error, body) }
}

/// Decodes the transport frame that the bytes begin with to JSON: its type, its fields, and the Java object or block
/// transfer message in its body. What follows the frame is not looked at, so a recorded connection is decoded by
/// calling again at `bytes.data + size` (behind the raw bytes, if the JSON has a `byte_count`).
///
/// @param bytes the bytes; any bytes may be given.
/// @param size takes the number of bytes that the frame has. After `FIRESTEEL_INCOMPLETE`: the number of bytes that are
/// needed to
///   go on. Zero after a failure.
/// @param json takes the JSON text, which the caller frees; NULL unless the answer is `FIRESTEEL_OK`.
/// @param error takes the error, which the caller frees; may be NULL.
/// @return `FIRESTEEL_OK`, `FIRESTEEL_INCOMPLETE`, `FIRESTEEL_MALFORMED`, `FIRESTEEL_LIMIT_EXCEEDED` (a frame beyond 2
/// GiB),
///   `FIRESTEEL_NULL_ARGUMENT`, `FIRESTEEL_INVALID_ARGUMENT`.
///
/// # Safety
/// `bytes.data` points to `bytes.len` readable bytes; `size`, `json` and `error` are NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn firesteel_decode_frame(
    bytes: firesteel_bytes,
    size: *mut usize,
    json: *mut *mut firesteel_text,
    error: *mut *mut firesteel_error,
) -> firesteel_code {
    let body = || {
        // SAFETY: the caller's promises are passed on.
        let (size, json, bytes) = unsafe {
            (
                out("size", size, 0)?,
                out("json", json, std::ptr::null_mut())?,
                bytes.as_slice("bytes.data")?,
            )
        };
        let announced = Frame::announced(bytes, MAX_FRAME).map_err(|e| frame_failure(&e))?;
        let needed = announced.unwrap_or(LENGTH_SIZE);
        let Some(frame) = announced.and_then(|needed| bytes.get(..needed)) else {
            *size = needed;
            return Ok(firesteel_code::FIRESTEEL_INCOMPLETE);
        };
        Frame::decode(&mut frame.into(), MAX_FRAME).map_err(|e| frame_failure(&e))?;
        *json = firesteel_text::give(wire::json::frame(frame).to_string());
        *size = needed;
        Ok(firesteel_code::FIRESTEEL_OK)
    };
    // SAFETY: `error` is the caller's promise.
    unsafe { boundary(error, body) }
}

fn java_failure(error: &Error) -> firesteel_error {
    let code = match error {
        Error::TooDeep { .. }
        | Error::TooManyHandles { .. }
        | Error::ArrayTooLong { .. }
        | Error::StringTooLong { .. }
        | Error::StreamTooLong { .. } => firesteel_code::FIRESTEEL_LIMIT_EXCEEDED,
        _ => firesteel_code::FIRESTEEL_MALFORMED,
    };
    firesteel_error::new(code, error.to_string())
}

fn frame_failure(error: &FrameError) -> firesteel_error {
    let code = match error {
        FrameError::TooLarge { .. } => firesteel_code::FIRESTEEL_LIMIT_EXCEEDED,
        _ => firesteel_code::FIRESTEEL_MALFORMED,
    };
    firesteel_error::new(code, error.to_string())
}
