//! Values that have no parts as texts, as Spark's writers of CSV and JSON make them.

use std::fmt::Write as _;

use arrow::array::{ArrayRef, AsArray as _};
use arrow::datatypes::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, TimestampMicrosecondType,
};
use catalyst::{DataType, TimesText, Unsupported};
use datafusion_common::Result as RunResult;
use javatime::Zone;
use javatime::calendar::{DAY, SECOND};
use rows::error::bail_out;

use super::cast::text::{decimal, float};
use super::date_format::{Piece, numbers, write_offset, write_pieces};
use super::from_text::TimeTypes;
use super::java::JavaDouble;
use super::zone::zone_of;

/// A type of values without parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Atom {
    /// Of booleans.
    Boolean,
    /// Of integers of 8 bits.
    Byte,
    /// Of 16 bits.
    Short,
    /// Of 32 bits.
    Integer,
    /// Of 64 bits.
    Long,
    /// Of floating-point numbers of 32 bits.
    Float,
    /// Of 64 bits.
    Double,
    /// Digits behind the point.
    Decimal(i8),
    /// Of texts.
    Text,
    /// Of dates.
    Date,
    /// Of instants.
    Timestamp,
    /// Of timestamps without a time zone.
    TimestampNtz,
}

impl Atom {
    /// `None` if values of the type are no texts here.
    pub(crate) fn of(data_type: &DataType) -> Option<Self> {
        Some(match data_type {
            DataType::Boolean => Self::Boolean,
            DataType::Byte => Self::Byte,
            DataType::Short => Self::Short,
            DataType::Integer => Self::Integer,
            DataType::Long => Self::Long,
            DataType::Float => Self::Float,
            DataType::Double => Self::Double,
            DataType::Decimal(of) => Self::Decimal(of.scale),
            DataType::String => Self::Text,
            DataType::Date => Self::Date,
            DataType::Timestamp => Self::Timestamp,
            DataType::TimestampNtz => Self::TimestampNtz,
            _ => return None,
        })
    }
}

/// How dates and timestamps are written.
#[derive(Debug)]
pub(crate) struct TimeTexts {
    zone: Zone,
    date: Vec<Piece>,
    timestamp: Vec<Piece>,
    /// Whether the offset stands behind timestamps.
    offset: bool,
    timestamp_ntz: Vec<Piece>,
}

impl TimeTexts {
    /// For values of these types.
    ///
    /// # Errors
    /// Times in one of the patterns are not written here.
    pub(crate) fn new<'a>(
        form: &TimesText,
        types: impl Iterator<Item = &'a DataType>,
    ) -> Result<Self, Unsupported> {
        let of = TimeTypes::of(types);
        // Whatever is optional is written.
        let known = |is_needed: bool, pattern: &str| {
            let unknown = || Unsupported::of_use(format!("the date format {pattern}"));
            match is_needed {
                true => numbers(&pattern.replace("[.SSS]", ".SSS")).ok_or_else(unknown),
                false => Ok(Vec::new()),
            }
        };
        let usual = [TimesText::TIMESTAMP, TimesText::NEW_TIMESTAMP];
        let offset = usual.contains(&form.timestamp.as_str());
        let timestamp = match form.timestamp.split_once("[X") {
            Some((timestamp, _)) if offset => timestamp,
            _ => form.timestamp.as_str(),
        };
        Ok(Self {
            zone: match of.timestamp {
                true => zone_of(Some(&form.zone))?,
                false => Zone::UTC,
            },
            date: known(of.date, &form.date)?,
            timestamp: known(of.timestamp, timestamp)?,
            offset,
            timestamp_ntz: known(of.timestamp_ntz, &form.timestamp_ntz)?,
        })
    }

    /// Writes a value that is not null.
    ///
    /// # Errors
    /// Bail-outs: a value whose text is not sure.
    pub(crate) fn write(
        &self,
        atom: Atom,
        array: &ArrayRef,
        row: usize,
        out: &mut String,
    ) -> RunResult<()> {
        match atom {
            Atom::Boolean => {
                let value = array.as_boolean().value(row);
                out.push_str(if value { "true" } else { "false" });
            }
            Atom::Byte => put(out, array.as_primitive::<Int8Type>().value(row)),
            Atom::Short => put(out, array.as_primitive::<Int16Type>().value(row)),
            Atom::Integer => put(out, array.as_primitive::<Int32Type>().value(row)),
            Atom::Long => put(out, array.as_primitive::<Int64Type>().value(row)),
            Atom::Float => {
                let value = array.as_primitive::<Float32Type>().value(row);
                float(f64::from(value), out, || JavaDouble::of_float(value))?;
            }
            Atom::Double => {
                let value = array.as_primitive::<Float64Type>().value(row);
                float(value, out, || JavaDouble::of(value))?;
            }
            Atom::Decimal(scale) => {
                let digits = array.as_primitive::<Decimal128Type>().value(row);
                decimal(digits, scale, false, out);
            }
            Atom::Text => out.push_str(array.as_string_view().value(row)),
            Atom::Date => {
                let days = i64::from(array.as_primitive::<Date32Type>().value(row));
                time(&self.date, days.checked_mul(DAY), out, None)?;
            }
            Atom::Timestamp => {
                let instant = array.as_primitive::<TimestampMicrosecondType>().value(row);
                let local = self.zone.local(instant);
                let offset = local.filter(|_| self.offset).map(|local| local - instant);
                time(&self.timestamp, local, out, offset)?;
            }
            Atom::TimestampNtz => {
                let local = array.as_primitive::<TimestampMicrosecondType>().value(row);
                time(&self.timestamp_ntz, Some(local), out, None)?;
            }
        }
        Ok(())
    }
}

/// A number in decimal digits.
fn put(out: &mut String, number: impl std::fmt::Display) {
    let _ = write!(out, "{number}");
}

/// A time, with the offset from UTC in microseconds behind it.
fn time(
    pieces: &[Piece],
    local: Option<i64>,
    out: &mut String,
    offset: Option<i64>,
) -> RunResult<()> {
    let unknown = || bail_out("a date whose year has not four digits as text");
    let local = local.ok_or_else(unknown)?;
    write_pieces(pieces, local, 0, out).ok_or_else(unknown)?;
    // Seconds of offsets, which were long ago, are written by some versions.
    if offset.is_some_and(|offset| offset % (60 * SECOND) != 0) {
        return Err(bail_out("an offset from UTC with seconds"));
    }
    match offset {
        Some(offset) => write_offset(b'X', 3, offset / SECOND, out).ok_or_else(unknown),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_are_written_in_minutes() {
        let of = |offset: i64| {
            let mut out = String::new();
            let written = time(&[], Some(0), &mut out, Some(offset * SECOND));
            written.ok().map(|()| out)
        };
        assert_eq!(of(0).as_deref(), Some("Z"));
        assert_eq!(of(-3600 * 3 - 1800).as_deref(), Some("-03:30"));
        assert_eq!(of(2048), None);
    }
}
