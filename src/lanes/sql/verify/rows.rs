//! Sets of rows, as far as they are determined.

use std::collections::BTreeMap;
use std::io::{self, Read};

use twox_hash::XxHash64;

/// Rows with sums of floating-point numbers that are kept of one attempt.
const MAX_NEAR: usize = 1_000_000;

/// By how much two sums of the same numbers may differ, in parts of the larger. Smaller differences than this number
/// itself are not seen either: what is left of numbers that cancel each other out says nothing.
const NEAR: f64 = 1e-9;

/// As [`NEAR`], for what was made a `float`.
const NEAR_FLOAT: f64 = 1e-5;

/// Where the value of a column is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Slot {
    /// In its 8 bytes.
    Fixed,
    /// The first four of them.
    Float,
    Double,
    /// Where its 8 bytes say.
    Variable,
}

/// What of a column is determined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Determined {
    /// All of it.
    Exact,
    /// A sum of floating-point numbers: all but its last digits, which depend on the order of addition.
    Near,
    /// The same of a variance: where its numbers are not all finite it is infinite or no number, by the order of
    /// addition.
    Moment,
    /// Nothing.
    Free,
}

/// A column of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Column {
    pub(super) slot: Slot,
    pub(super) look: Determined,
}

/// Whose order counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Sequence {
    Nothing,
    /// Whole rows.
    Rows,
    /// Only these columns'.
    Keys(Vec<usize>),
}

/// Which rows count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Count {
    All,
    /// All that are before the last by these columns; of those that tie with it, if there are `limit` rows, the number:
    /// Spark may keep any of them.
    First {
        keys: Vec<usize>,
        limit: u64,
    },
    /// Only how many there are.
    Number,
}

/// How rows are looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct View {
    /// `None` if nothing is known of them: every byte counts then.
    pub(super) columns: Option<Vec<Column>>,
    pub(super) count: Count,
    pub(super) sequence: Sequence,
}

impl View {
    /// Whether every byte counts.
    fn is_exact(&self) -> bool {
        self.known()
            .iter()
            .all(|column| column.look == Determined::Exact)
    }

    fn known(&self) -> &[Column] {
        self.columns.as_deref().unwrap_or_default()
    }

    /// Bytes of the null bits.
    fn null_bytes(&self) -> usize {
        self.known().len().div_ceil(64) * 8
    }

    /// A row has at least the bytes of its columns.
    fn check(&self, row: &[u8]) -> Result<(), Malformed> {
        match row.len() < self.null_bytes() + self.known().len() * 8 {
            true => Err(Malformed),
            false => Ok(()),
        }
    }

    /// The bytes of a column's value; `None` if it is null.
    fn value<'r>(&self, row: &'r [u8], index: usize) -> Result<Option<&'r [u8]>, Malformed> {
        let column = self.known().get(index).ok_or(Malformed)?;
        let nulls = row.get(index / 8).ok_or(Malformed)?;
        if (nulls >> (index % 8)) & 1 == 1 {
            return Ok(None);
        }
        let start = self.null_bytes() + index * 8;
        let slot = row.get(start..).and_then(<[u8]>::first_chunk::<8>);
        let slot = slot.ok_or(Malformed)?;
        let bytes = match column.slot {
            Slot::Float => slot.get(..4),
            Slot::Fixed | Slot::Double => Some(slot.as_slice()),
            Slot::Variable => {
                let place = u64::from_le_bytes(*slot);
                // Both halves are of 32 bits.
                let (offset, size) = ((place >> 32) as usize, (place & 0xffff_ffff) as usize);
                row.get(offset..offset.saturating_add(size))
            }
        };
        bytes.map(Some).ok_or(Malformed)
    }

    /// Columns by which rows are sorted, as a number that is equal for what sorts alike.
    fn key(&self, row: &[u8], keys: &[usize]) -> Result<u64, Malformed> {
        let mut bytes = Vec::new();
        for &index in keys {
            let value = self.value(row, index)?;
            bytes.push(u8::from(value.is_some()));
            let Some(value) = value else { continue };
            match self.known().get(index).map(|column| column.slot) {
                Some(Slot::Float | Slot::Double) => {
                    let number = number(value);
                    let one = match number {
                        _ if number.is_nan() => f64::NAN,
                        // One zero.
                        _ => number + 0.0,
                    };
                    bytes.extend_from_slice(&one.to_bits().to_le_bytes());
                }
                _ => {
                    bytes.extend_from_slice(&(value.len() as u64).to_le_bytes());
                    bytes.extend_from_slice(value);
                }
            }
        }
        Ok(hash(&bytes))
    }

    /// What counts of a row: a number for all that is exact, and the sums in it.
    fn look(&self, row: &[u8]) -> Result<(u64, Vec<f64>), Malformed> {
        if self.is_exact() {
            return Ok((hash(row), Vec::new()));
        }
        let (mut bytes, mut sums) = (Vec::new(), Vec::new());
        for (index, column) in self.known().iter().enumerate() {
            if column.look == Determined::Free {
                continue;
            }
            let value = self.value(row, index)?;
            bytes.push(u8::from(value.is_some()));
            match (column.look, value) {
                (_, None) => {}
                (Determined::Near, Some(value)) => sums.push(number(value)),
                (Determined::Moment, Some(value)) => {
                    let number = number(value);
                    sums.push(if number.is_finite() { number } else { f64::NAN });
                }
                (_, Some(value)) => {
                    bytes.extend_from_slice(&(value.len() as u64).to_le_bytes());
                    bytes.extend_from_slice(value);
                }
            }
        }
        Ok((hash(&bytes), sums))
    }

    /// Tolerance of the sums: that of the least exact type among them.
    fn tolerance(&self) -> f64 {
        let float = |column: &Column| {
            column.slot == Slot::Float
                && matches!(column.look, Determined::Near | Determined::Moment)
        };
        match self.known().iter().any(float) {
            true => NEAR_FLOAT,
            false => NEAR,
        }
    }
}

/// A row is not as its columns say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Malformed;

impl From<Malformed> for io::Error {
    fn from(_: Malformed) -> Self {
        Self::new(io::ErrorKind::InvalidData, "a row of other columns")
    }
}

fn hash(bytes: &[u8]) -> u64 {
    XxHash64::oneshot(0, bytes)
}

/// A `float` of 4 bytes or a `double` of 8.
fn number(bytes: &[u8]) -> f64 {
    match (bytes.first_chunk::<8>(), bytes.first_chunk::<4>()) {
        (Some(bytes), _) => f64::from_le_bytes(*bytes),
        (None, Some(bytes)) => f32::from_le_bytes(*bytes).into(),
        (None, None) => f64::NAN,
    }
}

/// A set of rows in which rows may be several times.
#[derive(Debug, Clone, Default, PartialEq)]
struct RowSet {
    sum: u64,
    xor: u64,
    bytes: u64,
    /// Sums by what else is in their rows.
    near: BTreeMap<u64, Vec<Vec<f64>>>,
}

impl RowSet {
    fn add(&mut self, hash: u64, bytes: u64, sums: Vec<f64>) {
        self.sum = self.sum.wrapping_add(hash);
        self.xor ^= hash.rotate_left((hash % 63) as u32);
        self.bytes += bytes;
        if !sums.is_empty() {
            self.near.entry(hash).or_default().push(sums);
        }
    }

    fn append(&mut self, other: Self) {
        self.sum = self.sum.wrapping_add(other.sum);
        self.xor ^= other.xor;
        self.bytes += other.bytes;
        for (hash, mut sums) in other.near {
            self.near.entry(hash).or_default().append(&mut sums);
        }
    }

    /// What is different.
    fn difference(&self, other: &Self, view: &View) -> Option<String> {
        let exact = |set: &Self| (set.sum, set.xor, set.bytes);
        if exact(self) != exact(other) {
            return Some(match view.is_exact() {
                true => format!(
                    "other rows ({} bytes natively, {} by the JVM)",
                    self.bytes, other.bytes
                ),
                false => "other rows".to_owned(),
            });
        }
        // The keys are the same, as the rows are.
        self.near.iter().find_map(|(hash, sums)| {
            let others = other.near.get(hash).map_or(&[][..], Vec::as_slice);
            let sorted = |sums: &[Vec<f64>]| {
                let mut sums = sums.to_vec();
                sums.sort_by(|a, b| compare_sums(a, b));
                sums
            };
            let (sums, others) = (sorted(sums), sorted(others));
            let pairs = sums.iter().zip(&others);
            let apart = pairs
                .flat_map(|(a, b)| a.iter().zip(b))
                .find(|(a, b)| !near(**a, **b, view.tolerance()));
            match apart {
                Some((a, b)) => Some(format!("a sum is {a} natively and {b} by the JVM")),
                None => (sums.len() != others.len()).then(|| "other rows".to_owned()),
            }
        })
    }
}

fn compare_sums(a: &[f64], b: &[f64]) -> std::cmp::Ordering {
    let mut pairs = a.iter().zip(b).map(|(a, b)| a.total_cmp(b));
    let first = pairs.find(|order| order.is_ne());
    first.unwrap_or(std::cmp::Ordering::Equal)
}

fn near(a: f64, b: f64, tolerance: f64) -> bool {
    if a.is_nan() || b.is_nan() || a.is_infinite() || b.is_infinite() {
        return a == b || a.is_nan() && b.is_nan();
    }
    (a - b).abs() <= tolerance * (1.0 + a.abs().max(b.abs()))
}

/// What an attempt puts out, or what goes to one reduce partition of it.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Digest {
    number: u64,
    rows: RowSet,
    /// Of [`Count::First`], the rows that tie with the last so far.
    last: Option<(u64, u64, RowSet)>,
    sequence: u64,
    sums: usize,
}

impl Digest {
    /// One row more.
    pub(super) fn add(&mut self, view: &View, row: &[u8]) -> Result<(), Malformed> {
        view.check(row)?;
        self.number += 1;
        let step = |sequence: u64, hash: u64| {
            // Any odd number will do.
            (sequence ^ hash)
                .wrapping_mul(0x9e37_79b9_7f4a_7c15)
                .rotate_left(23)
        };
        match &view.sequence {
            Sequence::Nothing => {}
            Sequence::Rows => self.sequence = step(self.sequence, view.look(row)?.0),
            Sequence::Keys(keys) => self.sequence = step(self.sequence, view.key(row, keys)?),
        }
        if view.count == Count::Number {
            return Ok(());
        }
        let (hash, sums) = view.look(row)?;
        self.sums += usize::from(!sums.is_empty());
        let sums = match self.sums > MAX_NEAR {
            true => Vec::new(),
            false => sums,
        };
        let bytes = match view.is_exact() {
            true => row.len() as u64,
            false => 0,
        };
        let Count::First { keys, .. } = &view.count else {
            self.rows.add(hash, bytes, sums);
            return Ok(());
        };
        let key = view.key(row, keys)?;
        if self.last.as_ref().is_none_or(|(last, ..)| *last != key)
            && let Some((.., before)) = self.last.replace((key, 0, RowSet::default()))
        {
            self.rows.append(before);
        }
        if let Some((_, number, ties)) = &mut self.last {
            *number += 1;
            ties.add(hash, bytes, sums);
        }
        Ok(())
    }

    /// The rows of a stream of `UnsafeRowSerializer`, which may have an end marker.
    pub(super) fn read(&mut self, view: &View, mut stream: impl Read) -> io::Result<()> {
        let mut row = Vec::new();
        loop {
            let mut size = [0; 4];
            match stream.read(&mut size)? {
                0 => return Ok(()),
                count => stream.read_exact(size.get_mut(count..).unwrap_or_default())?,
            }
            let Ok(size) = u64::try_from(i32::from_be_bytes(size)) else {
                return Ok(());
            };
            row.clear();
            if stream.by_ref().take(size).read_to_end(&mut row)? as u64 != size {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            self.add(view, &row)?;
        }
    }

    /// Whether there is more than is kept.
    pub(super) fn is_incomplete(&self) -> bool {
        self.sums > MAX_NEAR
    }

    /// What is different in what the JVM puts out.
    pub(super) fn difference(&self, jvm: &Self, view: &View) -> Option<String> {
        if self.number != jvm.number {
            return Some(format!(
                "{} rows natively, {} by the JVM",
                self.number, jvm.number
            ));
        }
        let whole = |digest: &Self| {
            let mut rows = digest.rows.clone();
            match (&view.count, &digest.last) {
                // Nothing was left out: ties are all there.
                (Count::First { limit, .. }, Some((.., ties))) if digest.number < *limit => {
                    rows.append(ties.clone());
                    (rows, None)
                }
                (_, last) => {
                    let last = last.as_ref().map(|(key, number, _)| (*key, *number));
                    (rows, last)
                }
            }
        };
        let (mine, my_last) = whole(self);
        let (other, other_last) = whole(jvm);
        if let Some(what) = mine.difference(&other, view) {
            return Some(what);
        }
        if my_last != other_last {
            return Some("another last row".to_owned());
        }
        (self.sequence != jvm.sequence).then(|| "rows in another order".to_owned())
    }
}

#[cfg(test)]
#[path = "rows_tests.rs"]
mod tests;
