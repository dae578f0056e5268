//! `bit_and`, `bit_or` and `bit_xor`. Buffer: the bits so far, null if there was no value.

use std::mem::take;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, BooleanArray, Int64Array};
use arrow::compute::cast;
use arrow::datatypes::{DataType as ArrowType, Int64Type};
use datafusion_common::Result;

use super::accumulator::{Accumulator, each};
use super::number::{valid, widened};
use catalyst::BitOperation;

/// The bits of integers, as longs: those of a shorter one say no more than its sign.
#[derive(Clone)]
pub(super) struct Bits {
    operation: BitOperation,
    of: ArrowType,
    bits: Vec<i64>,
    seen: Vec<bool>,
}

impl Bits {
    pub(super) fn new(operation: BitOperation, of: ArrowType) -> Self {
        Self {
            operation,
            of,
            bits: Vec::new(),
            seen: Vec::new(),
        }
    }
}

// Groups are smaller than `total`, to which the vectors are resized.
#[allow(clippy::indexing_slicing)]
impl Accumulator for Bits {
    fn update(
        &mut self,
        args: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        total: usize,
    ) -> Result<()> {
        let values = widened(args, &ArrowType::Int64)?;
        // What changes nothing.
        let neutral = match self.operation {
            BitOperation::And => -1,
            BitOperation::Or | BitOperation::Xor => 0,
        };
        self.bits.resize(total, neutral);
        self.seen.resize(total, false);
        let (operation, bits, seen) = (self.operation, &mut self.bits, &mut self.seen);
        each(
            values.as_primitive::<Int64Type>(),
            groups,
            filter,
            |group, value| {
                seen[group] = true;
                match operation {
                    BitOperation::And => bits[group] &= value,
                    BitOperation::Or => bits[group] |= value,
                    BitOperation::Xor => bits[group] ^= value,
                }
            },
        );
        Ok(())
    }

    fn so_far(&mut self) -> Option<Result<ArrayRef>> {
        Some(self.clone().evaluate())
    }

    fn evaluate(&mut self) -> Result<ArrayRef> {
        let (bits, seen) = (take(&mut self.bits), take(&mut self.seen));
        let bits: ArrayRef = Arc::new(Int64Array::new(bits.into(), Some(valid(seen))));
        Ok(cast(&bits, &self.of)?)
    }

    fn size(&self) -> usize {
        self.bits.capacity() * size_of::<i64>() + self.seen.capacity()
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::Int8Array;
    use arrow::datatypes::Int8Type;

    use super::*;

    #[test]
    fn signs_are_bits_and_groups_without_values_are_null() {
        let of = |operation| -> Vec<Option<i8>> {
            let mut bits = Bits::new(operation, ArrowType::Int8);
            let values: ArrayRef = Arc::new(Int8Array::from(vec![
                Some(-128),
                Some(127),
                None,
                Some(6),
                Some(3),
                None,
            ]));
            bits.update(&[values], &[0, 0, 0, 1, 1, 2], None, 3)
                .unwrap();
            let buffers = bits.buffers().unwrap();
            bits.merge(&buffers, &[0, 1, 2], 3).unwrap();
            let result = bits.evaluate().unwrap();
            result.as_primitive::<Int8Type>().iter().collect()
        };
        assert_eq!(of(BitOperation::And), [Some(0), Some(2), None]);
        assert_eq!(of(BitOperation::Or), [Some(-1), Some(7), None]);
        assert_eq!(of(BitOperation::Xor), [Some(-1), Some(5), None]);
    }
}
