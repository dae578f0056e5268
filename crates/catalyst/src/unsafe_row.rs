//! `UnsafeRow`s inside plans: results of subqueries, bounds of ranges.

use crate::error::{Result, Unsupported};
use crate::literal::Literal;
use crate::types::{DataType, MAX_LONG_DIGITS};

/// Fields of a row: a bit set of nulls in words of 8 bytes, 8 bytes for each field, then what does not fit there.
pub(crate) fn read(row: &[u8], types: &[DataType]) -> Result<Vec<Literal>> {
    Values::of(row).row(row, types)
}

/// Elements of an array: their number, a bit set of nulls in words of 8 bytes, the elements as wide as their type, then
/// what does not fit there.
pub(crate) fn read_array(array: &[u8], element: &DataType) -> Result<Vec<Literal>> {
    Values::of(array).array(array, element)
}

fn short() -> Unsupported {
    Unsupported::of_use("a row that ends early")
}

/// Reads values that have these bytes for themselves.
struct Values {
    /// How many more there can be: each takes a byte at least. More have bytes in common, which Spark never writes.
    left: usize,
}

impl Values {
    fn of(bytes: &[u8]) -> Self {
        Self { left: bytes.len() }
    }

    fn take(&mut self, count: usize) -> Result<()> {
        let shared = || Unsupported::of_use("values that share bytes");
        self.left = self.left.checked_sub(count).ok_or_else(shared)?;
        Ok(())
    }

    fn row(&mut self, row: &[u8], types: &[DataType]) -> Result<Vec<Literal>> {
        let words = types.len().div_ceil(64) * 8;
        self.take(types.len())?;
        types
            .iter()
            .enumerate()
            .map(|(index, data_type)| {
                let nulls = row.get(index / 8).ok_or_else(short)?;
                if nulls >> (index % 8) & 1 == 1 {
                    return Ok(Literal::Null);
                }
                let slot = row
                    .get(words + index * 8..)
                    .and_then(<[u8]>::first_chunk::<8>)
                    .ok_or_else(short)?;
                self.value(row, *slot, data_type)
            })
            .collect()
    }

    fn array(&mut self, array: &[u8], element: &DataType) -> Result<Vec<Literal>> {
        let count = array.first_chunk().map(|count| i64::from_le_bytes(*count));
        let count = count.and_then(|count| usize::try_from(count).ok());
        // Each element takes a byte at least.
        let count = count.filter(|count| *count < array.len());
        let count = count.ok_or_else(short)?;
        self.take(count)?;
        let width = match element {
            DataType::Boolean | DataType::Byte => 1,
            DataType::Short => 2,
            DataType::Integer | DataType::Date | DataType::YearMonthInterval | DataType::Float => 4,
            _ => 8,
        };
        let first = 8 + count.div_ceil(64) * 8;
        (0..count)
            .map(|index| {
                let nulls = array.get(8 + index / 8).ok_or_else(short)?;
                let bytes = array.get(first + index * width..);
                let bytes = bytes.and_then(|bytes| bytes.get(..width));
                let bytes = bytes.ok_or_else(short)?;
                if nulls >> (index % 8) & 1 == 1 {
                    return Ok(Literal::Null);
                }
                let mut slot = [0; 8];
                slot.iter_mut()
                    .zip(bytes)
                    .for_each(|(to, from)| *to = *from);
                self.value(array, slot, element)
            })
            .collect()
    }

    /// A value in its slot, or where that says within the row or array.
    fn value(&mut self, within: &[u8], slot: [u8; 8], data_type: &DataType) -> Result<Literal> {
        let [a, b, c, d, e, f, g, h] = slot;
        let long = i64::from_le_bytes(slot);
        let int = i32::from_le_bytes([a, b, c, d]);
        let variable = || {
            let length = usize::try_from(int).ok();
            let offset = usize::try_from(u32::from_le_bytes([e, f, g, h])).ok();
            let range = offset
                .zip(length)
                .and_then(|(offset, length)| within.get(offset..offset.checked_add(length)?));
            range.ok_or_else(short)
        };
        Ok(match data_type {
            DataType::Boolean => Literal::Boolean(a != 0),
            DataType::Byte => Literal::Byte(i8::from_le_bytes([a])),
            DataType::Short => Literal::Short(i16::from_le_bytes([a, b])),
            DataType::Integer | DataType::Date | DataType::YearMonthInterval => {
                Literal::Integer(int)
            }
            DataType::Long
            | DataType::Timestamp
            | DataType::TimestampNtz
            | DataType::DayTimeInterval
            | DataType::Time(_) => Literal::Long(long),
            DataType::Float => Literal::Float(f32::from_le_bytes([a, b, c, d])),
            DataType::Double => Literal::Double(f64::from_le_bytes(slot)),
            DataType::Decimal(decimal) if decimal.precision <= MAX_LONG_DIGITS => {
                Literal::Decimal(long.into())
            }
            DataType::Decimal(_) => Literal::Decimal(big_endian(variable()?)?),
            DataType::String | DataType::Binary | DataType::Variant => {
                let bytes = variable()?;
                self.take(bytes.len())?;
                match data_type {
                    DataType::String => Literal::String(bytes.to_vec()),
                    _ => Literal::Binary(bytes.to_vec()),
                }
            }
            // Types nest only as deep as they were read.
            DataType::Struct(fields) => {
                let types: Vec<_> = fields.iter().map(|field| field.data_type.clone()).collect();
                Literal::Struct(self.row(variable()?, &types)?)
            }
            DataType::Array { element, .. } => Literal::Array(self.array(variable()?, element)?),
            other => return Err(Unsupported::of_use(format!("a row with {other}"))),
        })
    }
}

/// Two's complement of any length.
fn big_endian(bytes: &[u8]) -> Result<i128> {
    if bytes.len() > 16 {
        return Err(Unsupported::of_use("a decimal of more than 16 bytes"));
    }
    let negative = bytes.first().is_some_and(|byte| byte & 0x80 != 0);
    let start = if negative { -1 } else { 0 };
    Ok(bytes
        .iter()
        .fold(start, |digits: i128, byte| digits << 8 | i128::from(*byte)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::types::Decimal;

    fn wide() -> DataType {
        DataType::Decimal(Decimal {
            precision: 38,
            scale: 2,
        })
    }

    fn array(of: DataType) -> DataType {
        let element = Box::new(of);
        DataType::Array {
            element,
            contains_null: true,
        }
    }

    /// An array of elements of 8 bytes each, those that say where the next bytes are.
    fn of_places(elements: &[&[u8]]) -> Vec<u8> {
        let mut array = (elements.len() as u64).to_le_bytes().to_vec();
        array.extend([0; 8]);
        let mut place = array.len() + elements.len() * 8;
        for element in elements {
            array.extend(((place as u64) << 32 | element.len() as u64).to_le_bytes());
            place += element.len().next_multiple_of(8);
        }
        for element in elements {
            array.extend_from_slice(element);
            array.resize(array.len().next_multiple_of(8), 0);
        }
        array
    }

    #[test]
    fn arrays_of_text_lie_in_arrays() {
        let inner = of_places(&[b"a", b"", b"longer than a word"]);
        let outer = of_places(&[&inner, &of_places(&[])]);
        let text = |text: &str| Literal::String(text.as_bytes().to_vec());
        let expected = [
            Literal::Array(vec![text("a"), text(""), text("longer than a word")]),
            Literal::Array(Vec::new()),
        ];
        let read = read_array(&outer, &array(DataType::String)).unwrap();
        assert_eq!(read, expected);
    }

    #[test]
    fn few_bytes_do_not_become_many_values() {
        // Each element is the whole array.
        let count = 64_u64;
        let mut shared = count.to_le_bytes().to_vec();
        shared.extend([0; 8]);
        let size = 16 + count * 8;
        shared.extend((0..count).flat_map(|_| size.to_le_bytes()));
        let types = [
            DataType::String,
            array(DataType::Long),
            array(array(DataType::Long)),
        ];
        for of in types {
            let refused = read_array(&shared, &of).unwrap_err();
            assert!(refused.to_string().contains("share bytes"), "{refused}");
        }
    }

    /// As Spark writes it: 16 bytes for a wide decimal, text padded to words.
    fn row(number: i64, text: Option<&str>, digits: i128) -> Vec<u8> {
        let mut row = vec![0; 32];
        row[8..16].copy_from_slice(&number.to_le_bytes());
        let mut variable = |slot: usize, bytes: &[u8]| {
            let place = (row.len() as u64) << 32 | bytes.len() as u64;
            row[slot..slot + 8].copy_from_slice(&place.to_le_bytes());
            row.extend_from_slice(bytes);
            row.resize(row.len().next_multiple_of(8), 0);
        };
        match text {
            Some(text) => variable(16, text.as_bytes()),
            None => variable(16, &[]),
        }
        let bytes = digits.to_be_bytes();
        let sign = if digits < 0 { 0xFF } else { 0 };
        let mut from = 0;
        // BigInteger.toByteArray is as short as can be.
        while from < 15 && bytes[from] == sign && bytes[from + 1] & 0x80 == sign & 0x80 {
            from += 1;
        }
        variable(24, &bytes[from..]);
        if text.is_none() {
            row[0] |= 2;
        }
        row
    }

    #[test]
    fn elements_are_as_wide_as_their_type() {
        let mut array = 3_i64.to_le_bytes().to_vec();
        array.extend([2, 0, 0, 0, 0, 0, 0, 0]);
        for value in [7_i16, 0, -1, 0] {
            array.extend(value.to_le_bytes());
        }
        let expected = [Literal::Short(7), Literal::Null, Literal::Short(-1)];
        assert_eq!(read_array(&array, &DataType::Short).unwrap(), expected);
        assert!(read_array(&array, &DataType::Long).is_err());
        assert!(read_array(&array, &DataType::String).is_err());
        assert!(read_array(&array, &DataType::Null).is_err());
    }

    proptest! {
        #[test]
        fn what_was_written_is_read(number: i64, text: Option<String>, digits: i128) {
            let types = [DataType::Long, DataType::String, wide()];
            let read = read(&row(number, text.as_deref(), digits), &types).unwrap();
            let text = text.map_or(Literal::Null, |text| Literal::String(text.into_bytes()));
            prop_assert_eq!(read, vec![Literal::Long(number), text, Literal::Decimal(digits)]);
        }

        #[test]
        fn no_bytes_make_it_panic(bytes: Vec<u8>) {
            let _ = read(&bytes, &[array(array(DataType::String)), DataType::Boolean]);
            let _ = read_array(&bytes, &DataType::Integer);
            let _ = read(&bytes, &[DataType::Long, DataType::String, wide(), DataType::Binary]);
        }
    }
}
