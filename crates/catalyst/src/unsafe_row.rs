//! `UnsafeRow`s inside plans: results of subqueries, bounds of ranges.

use crate::error::{Result, Unsupported};
use crate::literal::Literal;
use crate::types::{DataType, MAX_LONG_DIGITS};

/// Fields of a row: a bit set of nulls in words of 8 bytes, 8 bytes for each field, then what does not fit there.
pub(crate) fn read(row: &[u8], types: &[DataType]) -> Result<Vec<Literal>> {
    let short = || Unsupported::of_use("a row that ends early");
    let words = types.len().div_ceil(64) * 8;
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
            read_field(row, *slot, data_type)
        })
        .collect()
}

/// Elements of an array of numbers: their number, a bit set of nulls in words of 8 bytes, and the elements as wide as
/// their type. Plans have no others in this form.
pub(crate) fn read_array(array: &[u8], element: &DataType) -> Result<Vec<Literal>> {
    let short = || Unsupported::of_use("an array that ends early");
    let count = array.first_chunk().map(|count| i64::from_le_bytes(*count));
    let count = count.and_then(|count| usize::try_from(count).ok());
    // Each element takes a byte at least.
    let count = count.filter(|count| *count < array.len());
    let count = count.ok_or_else(short)?;
    let width = match element {
        DataType::Boolean | DataType::Byte => 1,
        DataType::Short => 2,
        DataType::Integer | DataType::Date | DataType::YearMonthInterval | DataType::Float => 4,
        DataType::Long
        | DataType::Double
        | DataType::Timestamp
        | DataType::TimestampNtz
        | DataType::DayTimeInterval => 8,
        other => {
            return Err(Unsupported::of_use(format!(
                "an array of {other} in a plan"
            )));
        }
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
            read_field(array, slot, element)
        })
        .collect()
}

fn read_field(row: &[u8], slot: [u8; 8], data_type: &DataType) -> Result<Literal> {
    let [a, b, c, d, e, f, g, h] = slot;
    let long = i64::from_le_bytes(slot);
    let int = i32::from_le_bytes([a, b, c, d]);
    let variable = || {
        let length = usize::try_from(int).ok();
        let offset = usize::try_from(u32::from_le_bytes([e, f, g, h])).ok();
        let range = offset
            .zip(length)
            .and_then(|(offset, length)| row.get(offset..offset.checked_add(length)?));
        range.ok_or_else(|| Unsupported::of_use("a row that ends early"))
    };
    Ok(match data_type {
        DataType::Boolean => Literal::Boolean(a != 0),
        DataType::Byte => Literal::Byte(i8::from_le_bytes([a])),
        DataType::Short => Literal::Short(i16::from_le_bytes([a, b])),
        DataType::Integer | DataType::Date | DataType::YearMonthInterval => Literal::Integer(int),
        DataType::Long
        | DataType::Timestamp
        | DataType::TimestampNtz
        | DataType::DayTimeInterval => Literal::Long(long),
        DataType::Float => Literal::Float(f32::from_le_bytes([a, b, c, d])),
        DataType::Double => Literal::Double(f64::from_le_bytes(slot)),
        DataType::Decimal(decimal) if decimal.precision <= MAX_LONG_DIGITS => {
            Literal::Decimal(long.into())
        }
        DataType::Decimal(_) => Literal::Decimal(big_endian(variable()?)?),
        DataType::String => Literal::String(variable()?.to_vec()),
        DataType::Binary => Literal::Binary(variable()?.to_vec()),
        DataType::Struct(fields) => {
            let types: Vec<_> = fields.iter().map(|field| field.data_type.clone()).collect();
            // Types nest only as deep as they were read.
            Literal::Struct(read(variable()?, &types)?)
        }
        other => return Err(Unsupported::of_use(format!("a row with {other}"))),
    })
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
            let _ = read_array(&bytes, &DataType::Integer);
            let _ = read(&bytes, &[DataType::Long, DataType::String, wide(), DataType::Binary]);
        }
    }
}
