//! What becomes of the arrays that functions give.

use arrow::array::{Array, ArrayRef, MutableArrayData, StructArray, make_array};
use arrow::datatypes::{DataType, Fields};

use crate::guest::Failure;
use crate::guest::stream::struct_of;
use crate::types;

/// Refuses an array that is not of the declared type, or not as long as it should be.
pub(crate) fn checked(
    what: &str,
    array: ArrayRef,
    declared: &DataType,
    len: usize,
) -> Result<ArrayRef, Failure> {
    if !types::fits(declared, array.data_type()) {
        return Err(Failure::internal(format!(
            "{what}: the function gives `{}` and declares `{}`",
            types::name(array.data_type()),
            types::name(declared)
        )));
    }
    if array.len() != len {
        return Err(Failure::internal(format!(
            "{what}: the function gives {} values where there should be {len}",
            array.len()
        )));
    }
    Ok(array)
}

/// The arrays of states as one.
pub(crate) fn states(
    columns: Vec<ArrayRef>,
    declared: &Fields,
    len: usize,
) -> Result<StructArray, Failure> {
    let states = struct_of(declared, columns)?;
    for (declared, column) in declared.iter().zip(states.columns()) {
        let what = format!("state `{}`", declared.name());
        checked(&what, column.clone(), declared.data_type(), len)?;
    }
    Ok(states)
}

/// An array with memory of its own.
pub(crate) fn copied(array: &dyn Array) -> Result<ArrayRef, Failure> {
    let from = array.to_data();
    let mut to = MutableArrayData::new(vec![&from], false, from.len());
    to.try_extend(0, 0, from.len())?;
    Ok(make_array(to.freeze()))
}
