//! `min` and `max` of strings and bytes, in the order of their bytes. Buffer: the value.

use std::mem::take;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BinaryViewArray, BinaryViewBuilder, BooleanArray};
use datafusion_common::Result;

use super::accumulator::{Accumulator, column};
use rows::error::bail_out;

pub(super) struct MinMaxBytes {
    min: bool,
    text: bool,
    values: Vec<Option<Box<[u8]>>>,
    /// Bytes of the values.
    bytes: usize,
}

impl MinMaxBytes {
    pub(super) fn new(min: bool, text: bool) -> Self {
        Self {
            min,
            text,
            values: Vec::new(),
            bytes: 0,
        }
    }

    /// The bytes of strings, without a copy.
    fn binary(&self, columns: &[ArrayRef]) -> Result<BinaryViewArray> {
        let array = column(columns, 0)?;
        let binary = match self.text {
            true => array
                .as_string_view_opt()
                .map(|text| text.clone().to_binary_view()),
            false => array.as_binary_view_opt().cloned(),
        };
        binary.ok_or_else(|| bail_out("an aggregate of another type"))
    }
}

impl Accumulator for MinMaxBytes {
    fn update(
        &mut self,
        args: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        total: usize,
    ) -> Result<()> {
        let array = self.binary(args)?;
        self.values.resize(total, None);
        for (row, group) in groups.iter().enumerate() {
            if array.is_null(row) || filter.is_some_and(|filter| !filter.value(row)) {
                continue;
            }
            let value = array.value(row);
            let Some(kept) = self.values.get_mut(*group) else {
                return Err(bail_out("a group that is not there"));
            };
            let better = match kept.as_deref() {
                None => true,
                Some(kept) if self.min => value < kept,
                Some(kept) => value > kept,
            };
            if better {
                self.bytes += value.len();
                self.bytes -= kept.as_ref().map_or(0, |kept| kept.len());
                *kept = Some(value.into());
            }
        }
        Ok(())
    }

    fn evaluate(&mut self) -> Result<ArrayRef> {
        self.bytes = 0;
        let values = take(&mut self.values);
        let mut builder = BinaryViewBuilder::with_capacity(values.len());
        for value in values {
            builder.append_option(value);
        }
        let array = builder.finish();
        Ok(match self.text {
            true => Arc::new(array.to_string_view()?),
            false => Arc::new(array),
        })
    }

    fn size(&self) -> usize {
        self.values.capacity() * size_of::<Option<Box<[u8]>>>() + self.bytes
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::StringViewArray;

    use super::*;

    #[test]
    fn strings_are_compared_by_their_bytes() {
        let values: ArrayRef = Arc::new(StringViewArray::from(vec![
            Some("b"),
            None,
            Some("a longer one, not inline"),
            Some("\u{e9}"),
        ]));
        for (min, expected) in [(true, "a longer one, not inline"), (false, "\u{e9}")] {
            let mut accumulator = MinMaxBytes::new(min, true);
            accumulator
                .update(&[Arc::clone(&values)], &[0, 1, 0, 0], None, 2)
                .unwrap();
            let result = accumulator.evaluate().unwrap();
            let result = result.as_string_view();
            assert_eq!(result.value(0), expected);
            assert!(result.is_null(1));
            assert_eq!(accumulator.bytes, 0);
        }
    }
}
