//! What becomes of the arrays that functions give.

use arrow::array::{
    Array, ArrayData, ArrayDataBuilder, ArrayRef, StructArray, make_array, new_empty_array,
};
use arrow::buffer::{BooleanBuffer, Buffer, NullBuffer};
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
    // An empty slice may have offsets that point beyond what C is told of.
    Ok(match len {
        0 => new_empty_array(declared),
        _ => array,
    })
}

/// The arrays of states as one.
pub(crate) fn states(
    columns: Vec<ArrayRef>,
    declared: &Fields,
    len: usize,
) -> Result<StructArray, Failure> {
    let given = struct_of(declared, columns)?;
    let states = declared
        .iter()
        .zip(given.columns())
        .map(|(declared, column)| {
            let what = format!("state `{}`", declared.name());
            checked(&what, column.clone(), declared.data_type(), len)
        });
    struct_of(declared, states.collect::<Result<_, _>>()?)
}

/// An array with memory of its own. Arrow's own ways to copy fail for some slices that have come through C.
pub(crate) fn copied(array: &dyn Array) -> ArrayRef {
    make_array(copied_data(&array.to_data()))
}

fn copied_data(data: &ArrayData) -> ArrayData {
    let copied = |buffer: &Buffer| Buffer::from(buffer.as_slice());
    let nulls = data.nulls().map(|nulls| {
        let bits = copied(nulls.buffer());
        NullBuffer::new(BooleanBuffer::new(bits, nulls.offset(), nulls.len()))
    });
    let builder = ArrayDataBuilder::new(data.data_type().clone())
        .len(data.len())
        .offset(data.offset())
        .nulls(nulls)
        .buffers(data.buffers().iter().map(copied).collect())
        .child_data(data.child_data().iter().map(copied_data).collect());
    // SAFETY: it is in every way as the array was.
    unsafe { builder.build_unchecked() }
}
