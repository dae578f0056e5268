//! `min` and `max` of arrays and structs. Buffer: the value.

use std::mem::take;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray};
use arrow::datatypes::DataType as ArrowType;
use arrow::row::{RowConverter, SortField};
use datafusion_common::Result;

use super::accumulator::{Accumulator, column};
use catalyst::DataType;
use rows::error::bail_out;
use rows::types::ToArrow as _;
use rows::{has_floats, order_key};

pub(super) struct MinMaxNested {
    min: bool,
    of: ArrowType,
    /// To bytes and back, bit for bit: zeros and NaNs stay what they are.
    converter: RowConverter,
    /// The bytes of nothing.
    null: Box<[u8]>,
    kept: Vec<Option<Kept>>,
    /// Bytes of what is kept.
    bytes: usize,
}

/// The best value of a group so far.
#[derive(Clone)]
struct Kept {
    key: Box<[u8]>,
    /// Where it is not the key itself.
    value: Option<Box<[u8]>>,
}

impl Kept {
    fn bytes(&self) -> usize {
        self.key.len() + self.value.as_ref().map_or(0, |value| value.len())
    }
}

impl MinMaxNested {
    pub(super) fn new(of: &DataType, min: bool) -> Result<Self> {
        let of = of.to_arrow();
        let of = of.map_err(|reason| bail_out(reason.to_string()))?;
        let converter = RowConverter::new(vec![SortField::new(of.clone())])?;
        let null = converter.convert_columns(&[arrow::array::new_null_array(&of, 1)])?;
        let null = null.row(0).as_ref().into();
        Ok(Self {
            min,
            of,
            converter,
            null,
            kept: Vec::new(),
            bytes: 0,
        })
    }
}

impl Accumulator for MinMaxNested {
    fn update(
        &mut self,
        args: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        total: usize,
    ) -> Result<()> {
        let values = column(args, 0)?;
        if values.data_type() != &self.of {
            return Err(bail_out("an aggregate of another type"));
        }
        let keys = order_key(values)?;
        let keys = keys.as_binary_opt::<i32>();
        let keys = keys.ok_or_else(|| bail_out("an aggregate of another type"))?;
        // Keys of floats have one zero and one NaN.
        let bits = match has_floats(&self.of) {
            true => Some(
                self.converter
                    .convert_columns(std::slice::from_ref(values))?,
            ),
            false => None,
        };
        self.kept.resize(total, None);
        for (row, group) in groups.iter().enumerate() {
            if keys.is_null(row) || filter.is_some_and(|filter| !filter.value(row)) {
                continue;
            }
            let key = keys.value(row);
            let Some(kept) = self.kept.get_mut(*group) else {
                return Err(bail_out("a group that is not there"));
            };
            // Of equal ones Spark keeps the first.
            let better = match kept {
                None => true,
                Some(kept) if self.min => *key < *kept.key,
                Some(kept) => *key > *kept.key,
            };
            if better {
                let value = bits.as_ref().map(|bits| bits.row(row).as_ref().into());
                let new = Kept {
                    key: key.into(),
                    value,
                };
                self.bytes += new.bytes();
                self.bytes -= kept.as_ref().map_or(0, Kept::bytes);
                *kept = Some(new);
            }
        }
        Ok(())
    }

    fn evaluate(&mut self) -> Result<ArrayRef> {
        self.bytes = 0;
        let kept = take(&mut self.kept);
        let parser = self.converter.parser();
        let rows = kept.iter().map(|kept| {
            let bytes = kept
                .as_ref()
                .map_or(&self.null, |kept| kept.value.as_ref().unwrap_or(&kept.key));
            parser.parse(bytes)
        });
        let columns = self.converter.convert_rows(rows)?;
        let column = columns.into_iter().next();
        let column = column.filter(|column| column.data_type() == &self.of);
        column.ok_or_else(|| bail_out("an aggregate of another type"))
    }

    fn size(&self) -> usize {
        self.kept.capacity() * size_of::<Option<Kept>>() + self.bytes
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{Float64Array, Int32Array, StructArray};
    use arrow::buffer::NullBuffer;
    use arrow::datatypes::{Float64Type, Int32Type};
    use catalyst::StructField;

    use super::*;

    fn field(data_type: DataType) -> StructField {
        StructField {
            name: "f".to_owned(),
            data_type,
            nullable: true,
            field_id: None,
            exists_default: None,
        }
    }

    /// Of two groups, the second of which has nothing but nulls: the parts of the first's result.
    fn of(min: bool, rows: &[Option<(Option<f64>, i32)>]) -> (Option<f64>, i32) {
        let of = DataType::Struct(vec![field(DataType::Double), field(DataType::Integer)]);
        let ArrowType::Struct(fields) = of.to_arrow().unwrap() else {
            panic!("{of}");
        };
        let doubles = rows.iter().map(|row| row.and_then(|row| row.0));
        let doubles: Float64Array = doubles.collect();
        let ints: Int32Array = rows.iter().map(|row| row.map(|row| row.1)).collect();
        let nulls = NullBuffer::from_iter(rows.iter().map(Option::is_some));
        let columns: Vec<ArrayRef> = vec![Arc::new(doubles), Arc::new(ints)];
        let values: ArrayRef = Arc::new(StructArray::new(fields, columns, Some(nulls)));
        let groups: Vec<_> = rows.iter().map(|row| usize::from(row.is_none())).collect();
        let mut accumulator = MinMaxNested::new(&of, min).unwrap();
        accumulator
            .update(&[Arc::clone(&values)], &groups, None, 2)
            .unwrap();
        assert!(accumulator.size() > 0);
        let buffers = accumulator.buffers().unwrap();
        assert_eq!(accumulator.bytes, 0);
        accumulator.merge(&buffers, &[0, 1], 2).unwrap();
        let result = accumulator.evaluate().unwrap();
        assert!(result.is_null(1));
        let result = result.as_struct();
        let double = result.column(0).as_primitive::<Float64Type>().iter().next();
        let int = result.column(1).as_primitive::<Int32Type>().value(0);
        (double.unwrap(), int)
    }

    #[test]
    fn the_first_part_that_differs_decides_and_bits_are_kept() {
        let (null, nan) = (None, Some(f64::NAN));
        let rows = [
            Some((Some(1.0), 1)),
            None,
            Some((nan, 1)),
            Some((Some(f64::from_bits(0xfff8_0000_0000_0001)), 3)),
            Some((Some(1.0), 0)),
        ];
        assert_eq!(of(true, &rows), (Some(1.0), 0));
        let (double, int) = of(false, &rows);
        assert_eq!(double.unwrap().to_bits(), 0xfff8_0000_0000_0001);
        assert_eq!(int, 3);
        // Nulls come first in structs. Of equal ones the first is kept.
        let rows = [
            None,
            Some((null, 7)),
            Some((Some(-0.0), 1)),
            Some((Some(0.0), 1)),
        ];
        assert_eq!(of(true, &rows), (None, 7));
        let (double, _) = of(false, &rows);
        assert!(double.unwrap().is_sign_negative());
    }
}
