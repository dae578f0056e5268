//! How the values of a column are made shorter: `PassThrough` (0), `RunLengthEncoding` (1), `DictionaryEncoding` (2),
//! `BooleanBitSet` (3), `IntDelta` (4) and `LongDelta` (5).

use std::collections::HashMap;
use std::hash::Hash;

use crate::layout::Slot;

/// Entries of a dictionary at most.
const MAX_DICTIONARY: usize = i16::MAX as usize;

/// Who does not save a fifth is not worth it.
const WORTH: f64 = 0.8;

/// What stands before a value that is not told as a difference: the least byte is no difference.
const NO_DELTA: i8 = i8::MIN;

/// A way to keep values. The numbers are Spark's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scheme {
    /// As they are.
    PassThrough = 0,
    /// A value, and how often it comes one after the other.
    RunLength = 1,
    /// The number of different values, these, and for each value its place among them as a short.
    Dictionary = 2,
    /// The number of values, and a bit for each.
    BitSet = 3,
    /// Of ints: differences of a byte, or a mark and the value.
    IntDelta = 4,
    /// As `IntDelta`, of longs.
    LongDelta = 5,
}

impl Scheme {
    pub(super) fn of(id: u32) -> Option<Self> {
        Some(match id {
            0 => Self::PassThrough,
            1 => Self::RunLength,
            2 => Self::Dictionary,
            3 => Self::BitSet,
            4 => Self::IntDelta,
            5 => Self::LongDelta,
            _ => return None,
        })
    }

    /// Those that a column of this type may have, in the order in which they are tried.
    pub(super) fn all(slot: &Slot) -> &'static [Self] {
        match slot {
            Slot::Boolean => &[Self::RunLength, Self::BitSet],
            Slot::Byte | Slot::Short => &[Self::RunLength],
            Slot::Integer => &[Self::RunLength, Self::Dictionary, Self::IntDelta],
            Slot::Long => &[Self::RunLength, Self::Dictionary, Self::LongDelta],
            Slot::String => &[Self::RunLength, Self::Dictionary],
            _ => &[],
        }
    }
}

/// A value of a column.
pub(super) trait Value: Copy + Eq + Hash {
    /// Bytes of it.
    fn size(self) -> usize;
    /// Writes it.
    fn put(self, out: &mut Vec<u8>);
    /// What is added to the value before to have this one, in the type's own arithmetic, if that is a difference.
    fn delta(self, before: Self) -> Option<i8>;
    /// Whether it is `true`.
    fn is_true(self) -> bool;
}

/// The bits of a value of fixed width, and that width.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Fixed {
    pub(super) bits: i64,
    pub(super) width: usize,
}

impl Value for Fixed {
    fn size(self) -> usize {
        self.width
    }

    fn put(self, out: &mut Vec<u8>) {
        let bytes = self.bits.to_le_bytes();
        out.extend(bytes.iter().take(self.width));
    }

    fn delta(self, before: Self) -> Option<i8> {
        let delta = match self.width {
            // Of ints, which these are.
            4 => i64::from((self.bits as i32).wrapping_sub(before.bits as i32)),
            _ => self.bits.wrapping_sub(before.bits),
        };
        i8::try_from(delta).ok().filter(|delta| *delta != NO_DELTA)
    }

    fn is_true(self) -> bool {
        self.bits & 0xFF != 0
    }
}

impl Value for &[u8] {
    fn size(self) -> usize {
        4 + self.len()
    }

    fn put(self, out: &mut Vec<u8>) {
        // Of a row, which has at most 2 GiB.
        out.extend_from_slice(&(self.len() as u32).to_le_bytes());
        out.extend_from_slice(self);
    }

    fn delta(self, _: Self) -> Option<i8> {
        None
    }

    fn is_true(self) -> bool {
        false
    }
}

/// Bytes before and after, as Spark's encoder counts them.
fn sizes<V: Value>(scheme: Scheme, values: &[V]) -> (usize, usize) {
    let all = || values.iter().map(|value| value.size()).sum::<usize>();
    match scheme {
        Scheme::PassThrough => (0, 0),
        Scheme::RunLength => {
            let mut before = None;
            let mut compressed = 0;
            for value in values {
                if before.replace(*value) != Some(*value) {
                    compressed += value.size() + 4;
                }
            }
            (all(), compressed)
        }
        Scheme::Dictionary => {
            let mut seen = std::collections::HashSet::new();
            let mut dictionary = 4;
            let mut uncompressed = 0;
            for value in values {
                uncompressed += value.size();
                if seen.insert(*value) {
                    if seen.len() > MAX_DICTIONARY {
                        return (uncompressed, i32::MAX as usize);
                    }
                    dictionary += value.size();
                }
            }
            (uncompressed, dictionary + values.len() * 2)
        }
        Scheme::BitSet => (values.len(), values.len().div_ceil(64) * 8 + 4),
        Scheme::IntDelta | Scheme::LongDelta => {
            let marks = deltas(values).filter(|(_, delta)| delta.is_none());
            let whole: usize = marks.map(|(value, _)| value.size()).sum();
            (all(), values.len() + whole)
        }
    }
}

/// Values, and what they differ by from those before them.
fn deltas<V: Value>(values: &[V]) -> impl Iterator<Item = (V, Option<i8>)> {
    let mut before: Option<V> = None;
    values.iter().map(move |value| {
        let delta = before.and_then(|before| value.delta(before));
        before = Some(*value);
        (*value, delta)
    })
}

/// The scheme that saves most, as Spark chooses it.
pub(super) fn best<V: Value>(slot: &Slot, values: &[V]) -> Scheme {
    let mut best = (Scheme::PassThrough, 1.0);
    for scheme in Scheme::all(slot) {
        let (uncompressed, compressed) = sizes(*scheme, values);
        if uncompressed > 0 {
            let ratio = compressed as f64 / uncompressed as f64;
            if ratio < best.1 {
                best = (*scheme, ratio);
            }
        }
    }
    match best.1 < WORTH {
        true => best.0,
        false => Scheme::PassThrough,
    }
}

/// Writes the scheme's number and the values.
pub(super) fn compress<V: Value>(scheme: Scheme, values: &[V], out: &mut Vec<u8>) {
    out.extend_from_slice(&(scheme as u32).to_le_bytes());
    match scheme {
        Scheme::PassThrough => values.iter().for_each(|value| value.put(out)),
        Scheme::RunLength => {
            for run in values.chunk_by(|one, other| one == other) {
                if let Some(value) = run.first() {
                    value.put(out);
                    // As many as there are rows in a batch, an int.
                    out.extend_from_slice(&(run.len() as u32).to_le_bytes());
                }
            }
        }
        Scheme::Dictionary => {
            let mut places = HashMap::new();
            let mut entries = Vec::new();
            let mut codes = Vec::with_capacity(values.len());
            for value in values {
                let place = *places.entry(*value).or_insert_with(|| {
                    entries.push(*value);
                    entries.len() - 1
                });
                // Fewer than `MAX_DICTIONARY`, else the scheme is not chosen.
                codes.push(place as u16);
            }
            out.extend_from_slice(&(entries.len() as u32).to_le_bytes());
            entries.iter().for_each(|value| value.put(out));
            codes
                .iter()
                .for_each(|code| out.extend_from_slice(&code.to_le_bytes()));
        }
        Scheme::BitSet => {
            out.extend_from_slice(&(values.len() as u32).to_le_bytes());
            for bits in values.chunks(64) {
                let word = bits.iter().enumerate().fold(0, |word, (place, value)| {
                    word | u64::from(value.is_true()) << place
                });
                out.extend_from_slice(&word.to_le_bytes());
            }
        }
        Scheme::IntDelta | Scheme::LongDelta => {
            for (value, delta) in deltas(values) {
                match delta {
                    Some(delta) => out.extend_from_slice(&delta.to_le_bytes()),
                    None => {
                        out.extend_from_slice(&NO_DELTA.to_le_bytes());
                        value.put(out);
                    }
                }
            }
        }
    }
}

/// Reads bytes from the front.
#[derive(Debug, Clone)]
pub(super) struct Cursor<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl<'b> Cursor<'b> {
    pub(super) fn new(bytes: &'b [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    pub(super) fn take(&mut self, length: usize) -> Option<&'b [u8]> {
        let end = self.at.checked_add(length)?;
        let taken = self.bytes.get(self.at..end)?;
        self.at = end;
        Some(taken)
    }

    /// The next bytes as a number, which has 8 at most.
    fn number(&mut self, width: usize) -> Option<u64> {
        let bytes = self.take(width)?;
        let number = |number, byte: &u8| number << 8 | u64::from(*byte);
        Some(bytes.iter().rev().fold(0, number))
    }

    pub(super) fn int(&mut self) -> Option<u32> {
        self.number(4).map(|number| number as u32)
    }

    /// A count, as an int that is not negative.
    pub(super) fn count(&mut self) -> Option<usize> {
        let count = i32::try_from(self.int()?).ok()?;
        usize::try_from(count).ok()
    }
}

/// How values are read.
pub(super) trait Read: Copy {
    /// The value at the front, of so many bytes if it is of fixed width.
    fn read(cursor: &mut Cursor<'_>, width: usize) -> Option<Self>;
    /// `true` or `false`.
    fn of_bool(value: bool) -> Self;
    /// The value that differs by this from the one before, in an arithmetic of so many bytes.
    fn plus(self, delta: i8, width: usize) -> Option<Self>;
}

impl Read for i64 {
    fn read(cursor: &mut Cursor<'_>, width: usize) -> Option<Self> {
        let number = cursor.number(width)?;
        Some(match width {
            1 => i64::from(number as i8),
            2 => i64::from(number as i16),
            4 => i64::from(number as i32),
            _ => number as i64,
        })
    }

    fn of_bool(value: bool) -> Self {
        value.into()
    }

    fn plus(self, delta: i8, width: usize) -> Option<Self> {
        Some(match width {
            4 => i64::from((self as i32).wrapping_add(delta.into())),
            _ => self.wrapping_add(delta.into()),
        })
    }
}

/// Where bytes are: start and length.
pub(super) type Place = (usize, usize);

impl Read for Place {
    fn read(cursor: &mut Cursor<'_>, _: usize) -> Option<Self> {
        let length = cursor.count()?;
        let at = cursor.at;
        cursor.take(length)?;
        Some((at, length))
    }

    fn of_bool(_: bool) -> Self {
        (0, 0)
    }

    fn plus(self, _: i8, _: usize) -> Option<Self> {
        None
    }
}

/// Reads so many values that are kept by a scheme which its type may have; `None` if there are not as many. The number
/// of values is the caller's to limit: a few bytes may stand for many.
pub(super) fn decompress<V: Read>(
    scheme: Scheme,
    cursor: &mut Cursor<'_>,
    count: usize,
    width: usize,
) -> Option<Vec<V>> {
    match scheme {
        Scheme::PassThrough => (0..count).map(|_| V::read(cursor, width)).collect(),
        Scheme::RunLength => {
            let mut values = Vec::new();
            while values.len() < count {
                let value = V::read(cursor, width)?;
                let run = cursor.count().filter(|run| *run > 0)?;
                let left = count - values.len();
                values.resize(values.len() + run.min(left), value);
            }
            Some(values)
        }
        Scheme::Dictionary => {
            let entries = cursor
                .count()
                .filter(|entries| *entries <= MAX_DICTIONARY)?;
            let entries = (0..entries).map(|_| V::read(cursor, width));
            let entries: Vec<V> = entries.collect::<Option<_>>()?;
            let codes = cursor.take(count.checked_mul(2)?)?.as_chunks::<2>().0;
            let value = |code: &[u8; 2]| entries.get(usize::from(u16::from_le_bytes(*code)));
            codes.iter().map(|code| value(code).copied()).collect()
        }
        Scheme::BitSet => {
            cursor.count().filter(|found| *found == count)?;
            let words = cursor.take(count.div_ceil(64) * 8)?.as_chunks::<8>().0;
            let words: Vec<_> = words.iter().map(|word| u64::from_le_bytes(*word)).collect();
            let bit = |place: usize| words.get(place / 64).map(|word| word >> (place % 64) & 1);
            (0..count)
                .map(|place| bit(place).map(|bit| V::of_bool(bit == 1)))
                .collect()
        }
        Scheme::IntDelta | Scheme::LongDelta => {
            let mut before: Option<V> = None;
            (0..count)
                .map(|_| {
                    let delta = cursor.number(1)? as i8;
                    let value = match delta {
                        NO_DELTA => V::read(cursor, width)?,
                        delta => before?.plus(delta, width)?,
                    };
                    before = Some(value);
                    Some(value)
                })
                .collect()
        }
    }
}
