//! What can be seen of an array of the Arrow C Data interface before it is imported.

#![allow(unsafe_code)]

use std::ffi::c_void;

use arrow::array::{ArrayData, ArrayRef, make_array};
use arrow::datatypes::DataType;
use arrow::ffi::from_ffi_and_data_type;
use functions::abi::ArrowArray;

/// Most children, buffers and levels of an array: those of types that signatures can name.
const MOST: i64 = 10_000;

/// `struct ArrowArray` of the specification, of which the `arrow` crate shows only parts, and those not of arrays that
/// are not as they should be.
#[repr(C)]
struct RawArray {
    length: i64,
    null_count: i64,
    offset: i64,
    n_buffers: i64,
    n_children: i64,
    buffers: *const *const c_void,
    children: *const *const RawArray,
    dictionary: *const RawArray,
    release: Option<unsafe extern "C" fn(*mut RawArray)>,
    private_data: *mut c_void,
}

/// An array that a library filled in, imported if it is one of this type.
///
/// # Errors
/// What is wrong with it.
///
/// # Safety
/// The array is zeroed, or was filled in by somebody who keeps to the interface but for what is checked here: pointers
/// that are not NULL lead to as much as the numbers say.
pub(super) unsafe fn import(array: ArrowArray, of: &DataType) -> Result<ArrayRef, String> {
    // SAFETY: of the same layout, and alive.
    let raw = unsafe { &*std::ptr::from_ref(&array).cast::<RawArray>() };
    if raw.release.is_none() {
        return Err("gave no array, or one without a release callback".to_owned());
    }
    // SAFETY: the caller's promise is passed on.
    unsafe { shape(raw, of) }?;
    // SAFETY: the caller's promise, and numbers that fit the type.
    let data = unsafe { from_ffi_and_data_type(array, of.clone()) };
    let mut data: ArrayData = data.map_err(|why| format!("gave an odd array: {why}"))?;
    data.align_buffers();
    let valid = data.validate_full();
    valid.map_err(|why| format!("gave an array that is not valid: {why}"))?;
    Ok(make_array(data))
}

/// How many buffers an array of a type has.
fn buffers_of(of: &DataType) -> i64 {
    match of {
        DataType::Null => 0,
        DataType::Struct(_) => 1,
        DataType::Utf8 | DataType::Binary => 3,
        _ => 2,
    }
}

/// The types of the children of an array of a type.
fn children_of(of: &DataType) -> Vec<&DataType> {
    match of {
        DataType::Struct(fields) => fields.iter().map(|field| field.data_type()).collect(),
        DataType::List(field) | DataType::Map(field, _) => vec![field.data_type()],
        _ => Vec::new(),
    }
}

/// Holds the numbers of an array, and of those below it, against a type.
///
/// # Safety
/// As of [`import`].
unsafe fn shape(raw: &RawArray, of: &DataType) -> Result<(), String> {
    let children = children_of(of);
    let wanted = (
        buffers_of(of),
        i64::try_from(children.len()).unwrap_or(MOST),
    );
    if (raw.n_buffers, raw.n_children) != wanted || !raw.dictionary.is_null() {
        let (buffers, children) = wanted;
        return Err(format!(
            "gave an array of {} buffers and {} children{}, and {of} has {buffers} and {children}",
            raw.n_buffers,
            raw.n_children,
            if raw.dictionary.is_null() {
                ""
            } else {
                " and a dictionary"
            },
        ));
    }
    let end = raw.offset.checked_add(raw.length);
    let end = end.filter(|end| raw.length >= 0 && raw.offset >= 0 && *end < i64::from(i32::MAX));
    let Some(end) = end else {
        return Err(format!(
            "gave an array of length {} at offset {}",
            raw.length, raw.offset
        ));
    };
    if raw.n_buffers > 0 && raw.buffers.is_null() || raw.n_children > 0 && raw.children.is_null() {
        return Err("gave an array without buffers or children".to_owned());
    }
    // The first says which values are null and may be missing, the third of texts if they are empty.
    if raw.n_buffers > 1 && end > 0 {
        // SAFETY: the caller promises as many buffers as `n_buffers` says, which are at least two.
        let second = unsafe { *raw.buffers.add(1) };
        if second.is_null() {
            return Err("gave an array without values".to_owned());
        }
    }
    for (place, of) in children.into_iter().enumerate() {
        // SAFETY: the caller promises as many children as `n_children` says, which are as many as the type has.
        let child = unsafe { *raw.children.add(place) };
        // SAFETY: NULL, or an array as the caller promises.
        let child = unsafe { child.as_ref() };
        let child = child.ok_or("gave an array with a child that is NULL")?;
        // SAFETY: passed on.
        unsafe { shape(child, of) }?;
        if raw.n_buffers == 1 && child.length < end {
            return Err(format!(
                "gave rows of which a column has {} values, and not {end}",
                child.length
            ));
        }
    }
    Ok(())
}
