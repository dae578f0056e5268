//! The types that columns of frames may have.

use catalyst::{DataType, Decimal, MAX_LONG_DIGITS, MAX_TIME_PRECISION};

use crate::input::{Damaged, Input, Result};

/// Types of columns that frames can hold.
#[derive(Debug, Clone, PartialEq)]
pub struct ColumnTypes(Box<[DataType]>);

impl ColumnTypes {
    /// `None` if a column has a type that is sent as part of a row only.
    #[must_use]
    pub fn new(types: &[DataType]) -> Option<Self> {
        let known = types.iter().all(|of| code(of).is_some());
        known.then(|| Self(types.into()))
    }

    /// The types.
    #[must_use]
    pub fn types(&self) -> &[DataType] {
        &self.0
    }
}

/// How values of a type are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Values {
    /// There are none: all are null.
    None,
    Numbers,
    /// Numbers of which all bits count, as those of floats do.
    Bits,
    /// Decimals of more than 18 digits.
    Wide,
    Text,
}

impl Values {
    pub(crate) fn of(data_type: &DataType) -> Self {
        match data_type {
            DataType::Null => Self::None,
            DataType::Float | DataType::Double => Self::Bits,
            DataType::Decimal(decimal) if decimal.precision > MAX_LONG_DIGITS => Self::Wide,
            DataType::String | DataType::Binary => Self::Text,
            _ => Self::Numbers,
        }
    }
}

const DECIMAL: u8 = 8;
const TIME: u8 = 16;

/// Types without parameters and their codes.
const CODES: [(u8, DataType); 15] = [
    (0, DataType::Null),
    (1, DataType::Boolean),
    (2, DataType::Byte),
    (3, DataType::Short),
    (4, DataType::Integer),
    (5, DataType::Long),
    (6, DataType::Float),
    (7, DataType::Double),
    (9, DataType::String),
    (10, DataType::Binary),
    (11, DataType::Date),
    (12, DataType::Timestamp),
    (13, DataType::TimestampNtz),
    (14, DataType::YearMonthInterval),
    (15, DataType::DayTimeInterval),
];

/// The code of a type that columns of frames may have.
fn code(data_type: &DataType) -> Option<u8> {
    if let DataType::Decimal(Decimal { precision, scale }) = data_type {
        return is_size(*precision, *scale).then_some(DECIMAL);
    }
    if let DataType::Time(precision) = data_type {
        return (*precision <= MAX_TIME_PRECISION).then_some(TIME);
    }
    let mut known = CODES.iter();
    known.find_map(|(code, of)| (of == data_type).then_some(*code))
}

/// Whether decimals may have so many digits, and so many of them behind the point.
fn is_size(precision: u8, scale: i8) -> bool {
    (1..=38).contains(&precision) && scale >= 0 && scale as u8 <= precision
}

/// Appends a type.
pub(crate) fn put_type(data_type: &DataType, out: &mut Vec<u8>) {
    // Columns have been looked at before.
    out.push(code(data_type).unwrap_or_default());
    if let DataType::Decimal(Decimal { precision, scale }) = data_type {
        out.push(*precision);
        out.push(*scale as u8);
    }
    if let DataType::Time(precision) = data_type {
        out.push(*precision);
    }
}

/// Reads a type.
pub(crate) fn read_type(input: &mut Input<'_>) -> Result<DataType> {
    let code = input.byte()?;
    if code == TIME {
        return match input.byte()? {
            precision @ ..=MAX_TIME_PRECISION => Ok(DataType::Time(precision)),
            _ => Err(Damaged("a time of unknown precision")),
        };
    }
    if code != DECIMAL {
        let of = CODES.iter().find(|(known, _)| *known == code);
        return of
            .map(|(_, of)| of.clone())
            .ok_or(Damaged("a type that is not known"));
    }
    let (precision, scale) = (input.byte()?, input.byte()? as i8);
    match is_size(precision, scale) {
        true => Ok(DataType::Decimal(Decimal { precision, scale })),
        false => Err(Damaged("a decimal of unknown size")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_come_back() {
        let decimal = |precision, scale| DataType::Decimal(Decimal { precision, scale });
        let mut types: Vec<_> = CODES.into_iter().map(|(_, of)| of).collect();
        types.extend([decimal(18, 2), decimal(38, 38), decimal(1, 0)]);
        types.extend([DataType::Time(0), DataType::Time(9)]);
        for data_type in &types {
            let mut bytes = Vec::new();
            put_type(data_type, &mut bytes);
            assert_eq!(read_type(&mut Input(&bytes)).as_ref(), Ok(data_type));
        }
        assert!(ColumnTypes::new(&types).is_some());
        types.push(DataType::CalendarInterval);
        assert!(ColumnTypes::new(&types).is_none());
        let bad = [
            &[99][..],
            &[8, 39, 0],
            &[8, 0, 0],
            &[8, 5, 6],
            &[8, 5],
            &[16],
            &[16, 10],
        ];
        for bytes in bad {
            assert!(read_type(&mut Input(bytes)).is_err(), "{bytes:?}");
        }
    }
}
