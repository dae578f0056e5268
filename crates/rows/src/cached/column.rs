//! A column of a batch: its buffer and its statistics, out of rows.

use catalyst::Literal;

use super::compression::{Fixed, Scheme, Value, best, compress};
use super::{ColumnStatistics, Layout, has_scheme};
use crate::decode::{big_endian, slot};
use crate::layout::{Column, Slot, null_bytes};

/// Bytes that a place of a null counts for.
const NULL_SIZE: i64 = 4;

/// Bytes that any decimal counts for.
const DECIMAL_SIZE: i64 = 8;

/// A column at its place in rows.
#[derive(Debug, Clone, Copy)]
pub(super) struct ColumnOfRows<'c> {
    pub(super) column: &'c Column,
    pub(super) place: usize,
    /// Columns of the rows.
    pub(super) of: usize,
}

impl ColumnOfRows<'_> {
    fn is_null(&self, row: &[u8]) -> bool {
        let byte = row.get(self.place / 8);
        byte.is_none_or(|byte| byte >> (self.place % 8) & 1 == 1)
    }

    fn slot(&self, row: &[u8]) -> i64 {
        slot(row, null_bytes(self.of) + self.place * 8) as i64
    }

    fn bytes<'r>(&self, row: &'r [u8]) -> &'r [u8] {
        let slot = self.slot(row) as u64;
        let (offset, length) = ((slot >> 32) as usize, slot as u32 as usize);
        row.get(offset..offset + length).unwrap_or(&[])
    }

    /// What the column's value in a row adds to the size of the batch.
    pub(super) fn size(&self, row: &[u8]) -> i64 {
        if self.is_null(row) {
            return NULL_SIZE;
        }
        match (&self.column.slot, Layout::of(self.column)) {
            (Slot::Decimal | Slot::WideDecimal { .. }, _) => DECIMAL_SIZE,
            (_, Layout::Null) => NULL_SIZE,
            (_, Layout::Fixed(width)) => width as i64,
            // Of a row of at most 2 GiB.
            (_, Layout::Variable) => self.bytes(row).size() as i64,
        }
    }

    /// The buffer and the statistics.
    pub(super) fn build(&self, rows: &[&[u8]], compressed: bool) -> (Vec<u8>, ColumnStatistics) {
        let mut out = vec![0; 4];
        let mut nulls: u32 = 0;
        let mut values = Vec::with_capacity(rows.len());
        let mut size: i64 = 0;
        for (place, row) in (0u32..).zip(rows) {
            size = size.saturating_add(self.size(row));
            if self.is_null(row) {
                nulls += 1;
                out.extend_from_slice(&place.to_le_bytes());
            } else {
                values.push(*row);
            }
        }
        if let Some(count) = out.first_chunk_mut() {
            *count = nulls.to_le_bytes();
        }
        let (lower, upper) = match Layout::of(self.column) {
            Layout::Null => (Literal::Null, Literal::Null),
            Layout::Fixed(width) => {
                let slots = values.iter().map(|row| self.slot(row));
                let slots: Vec<_> = slots.map(|bits| Fixed { bits, width }).collect();
                self.put(&slots, compressed, &mut out);
                self.bounds_of_slots(&slots)
            }
            Layout::Variable => {
                let values: Vec<_> = values.iter().map(|row| self.bytes(row)).collect();
                self.put(&values, compressed, &mut out);
                self.bounds_of_bytes(&values)
            }
        };
        let statistics = ColumnStatistics {
            lower,
            upper,
            // Of a batch, whose rows an int counts.
            null_count: nulls as i32,
            count: rows.len() as i32,
            size_in_bytes: size,
        };
        (out, statistics)
    }

    fn put<V: Value>(&self, values: &[V], compressed: bool, out: &mut Vec<u8>) {
        if !has_scheme(self.column) {
            values.iter().for_each(|value| value.put(out));
            return;
        }
        let scheme = match compressed {
            true => best(&self.column.slot, values),
            false => Scheme::PassThrough,
        };
        compress(scheme, values, out);
    }

    fn bounds_of_slots(&self, slots: &[Fixed]) -> (Literal, Literal) {
        let bits = || slots.iter().map(|slot| slot.bits);
        // Without a value the least is the greatest there is, and the other way round.
        macro_rules! integers {
            ($literal:ident, $of:ty) => {{
                let values = || bits().map(|bits| bits as $of);
                (
                    Literal::$literal(values().min().unwrap_or(<$of>::MAX)),
                    Literal::$literal(values().max().unwrap_or(<$of>::MIN)),
                )
            }};
        }
        // NaN is neither less nor more.
        macro_rules! floats {
            ($literal:ident, $of:ty, $bits:ty) => {{
                let (mut lower, mut upper) = (<$of>::MAX, <$of>::MIN);
                for value in bits().map(|bits| <$of>::from_bits(bits as $bits)) {
                    if value > upper {
                        upper = value;
                    }
                    if value < lower {
                        lower = value;
                    }
                }
                (Literal::$literal(lower), Literal::$literal(upper))
            }};
        }
        match self.column.slot {
            Slot::Boolean => {
                let values = || bits().map(|bits| bits & 0xFF != 0);
                (
                    Literal::Boolean(values().min().unwrap_or(true)),
                    Literal::Boolean(values().max().unwrap_or(false)),
                )
            }
            Slot::Byte => integers!(Byte, i8),
            Slot::Short => integers!(Short, i16),
            Slot::Integer => integers!(Integer, i32),
            Slot::Float => floats!(Float, f32, u32),
            Slot::Double => floats!(Double, f64, u64),
            Slot::Decimal => {
                let digits = |value: Option<i64>| match value {
                    Some(value) => Literal::Decimal(value.into()),
                    None => Literal::Null,
                };
                (digits(bits().min()), digits(bits().max()))
            }
            _ => integers!(Long, i64),
        }
    }

    fn bounds_of_bytes(&self, values: &[&[u8]]) -> (Literal, Literal) {
        match self.column.slot {
            Slot::String => {
                let text = |bytes: Option<&&[u8]>| match bytes {
                    Some(bytes) => Literal::String(bytes.to_vec()),
                    None => Literal::Null,
                };
                (text(values.iter().min()), text(values.iter().max()))
            }
            Slot::WideDecimal { .. } => {
                let all = || values.iter().filter_map(|bytes| big_endian(bytes));
                let digits = |value: Option<i128>| value.map_or(Literal::Null, Literal::Decimal);
                (digits(all().min()), digits(all().max()))
            }
            _ => (Literal::Null, Literal::Null),
        }
    }
}
