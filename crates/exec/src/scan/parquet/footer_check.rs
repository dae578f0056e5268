//! Footers of Parquet files before they are decoded: what they claim has to be there.
//!
//! The decoder makes room for as many elements as a list or a group claims to have, and follows nested groups by
//! recursion. A file of a few bytes could thereby take gigabytes, or overflow a stack.

use bytes::Bytes;
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::{ParquetMetaData, ParquetMetaDataReader};
use parquet::file::reader::ChunkReader;

/// Length of the footer and magic number at the end of a file.
const TAIL: usize = 8;

const MAGIC: &[u8; 4] = b"PAR1";

/// Deepest nesting of structs in a footer, and of groups in its schema.
const MAX_DEPTH: usize = 100;

/// Numbers of the fields `FileMetaData.schema` and `SchemaElement.num_children`.
const SCHEMA: i64 = 2;
const NUM_CHILDREN: i64 = 5;

/// Types of Thrift's compact protocol.
mod kind {
    pub(super) const BOOLS: std::ops::RangeInclusive<u8> = 1..=2;
    pub(super) const BYTE: u8 = 3;
    pub(super) const INTEGERS: std::ops::RangeInclusive<u8> = 4..=6;
    pub(super) const DOUBLE: u8 = 7;
    pub(super) const BINARY: u8 = 8;
    pub(super) const LISTS: std::ops::RangeInclusive<u8> = 9..=10;
    pub(super) const MAP: u8 = 11;
    pub(super) const STRUCT: u8 = 12;
    pub(super) const UUID: u8 = 13;
}

/// Reads the footer of a file, without its page indexes.
///
/// # Errors
/// It is no Parquet file, or its footer is encrypted or damaged.
pub(crate) fn read(file: &impl ChunkReader) -> Result<ParquetMetaData> {
    let damaged = || ParquetError::General("a file without a footer that can be read".to_owned());
    let end = file.len();
    let tail_at = end.checked_sub(TAIL as u64).ok_or_else(damaged)?;
    let tail = file.get_bytes(tail_at, TAIL)?;
    let (length, magic) = tail.split_first_chunk::<4>().ok_or_else(damaged)?;
    if magic != MAGIC {
        return Err(damaged());
    }
    let length = u32::from_le_bytes(*length);
    let start = tail_at.checked_sub(length.into()).ok_or_else(damaged)?;
    let footer: Bytes = file.get_bytes(start, usize::try_from(length)?)?;
    check(&footer).ok_or_else(damaged)?;
    ParquetMetaDataReader::decode_metadata(&footer)
}

/// `None` if the footer claims more than there is.
fn check(footer: &[u8]) -> Option<()> {
    Walk {
        bytes: footer,
        depth: 0,
    }
    .file()
}

/// What is left of a footer.
struct Walk<'a> {
    bytes: &'a [u8],
    depth: usize,
}

impl Walk<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.bytes.split_first()?;
        self.bytes = rest;
        Some(*first)
    }

    fn skip(&mut self, bytes: usize) -> Option<()> {
        self.bytes = self.bytes.get(bytes..)?;
        Some(())
    }

    fn unsigned(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }

    /// A zigzag number.
    fn signed(&mut self) -> Option<i64> {
        let value = self.unsigned()?;
        // Both halves fit.
        Some((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    /// The number and type of the elements of a list, of which each takes a byte at least.
    fn list(&mut self) -> Option<(usize, u8)> {
        let head = self.byte()?;
        let count = match head >> 4 {
            15 => usize::try_from(self.unsigned()?).ok()?,
            count => count.into(),
        };
        (count <= self.bytes.len()).then_some((count, head & 15))
    }

    /// The fields of a struct: `field` has to read each, by number and type.
    fn fields(&mut self, mut field: impl FnMut(&mut Self, i64, u8) -> Option<()>) -> Option<()> {
        if self.depth == MAX_DEPTH {
            return None;
        }
        self.depth += 1;
        let mut number = 0_i64;
        loop {
            let head = self.byte()?;
            if head == 0 {
                break;
            }
            number = match head >> 4 {
                0 => self.signed()?,
                delta => number.checked_add(delta.into())?,
            };
            field(self, number, head & 15)?;
        }
        self.depth -= 1;
        Some(())
    }

    fn value(&mut self, of: u8, in_list: bool) -> Option<()> {
        match of {
            // Fields have them in their types.
            of if kind::BOOLS.contains(&of) => self.skip(in_list.into()),
            kind::BYTE => self.skip(1),
            of if kind::INTEGERS.contains(&of) => self.unsigned().map(drop),
            kind::DOUBLE => self.skip(8),
            kind::UUID => self.skip(16),
            kind::BINARY => {
                let length = usize::try_from(self.unsigned()?).ok()?;
                self.skip(length)
            }
            of if kind::LISTS.contains(&of) => {
                let (count, of) = self.list()?;
                (0..count).try_for_each(|_| self.nested(of))
            }
            kind::MAP => {
                let count = usize::try_from(self.unsigned()?).ok()?;
                if count == 0 {
                    return Some(());
                }
                let types = self.byte()?;
                if count > self.bytes.len() {
                    return None;
                }
                (0..count).try_for_each(|_| {
                    self.nested(types >> 4)?;
                    self.nested(types & 15)
                })
            }
            kind::STRUCT => self.fields(|walk, _, of| walk.value(of, false)),
            _ => None,
        }
    }

    /// An element of a list or a map.
    fn nested(&mut self, of: u8) -> Option<()> {
        if self.depth == MAX_DEPTH {
            return None;
        }
        self.depth += 1;
        self.value(of, true)?;
        self.depth -= 1;
        Some(())
    }

    /// A `FileMetaData`.
    fn file(&mut self) -> Option<()> {
        self.fields(|walk, number, of| match (number, of) {
            (SCHEMA, of) if kind::LISTS.contains(&of) => walk.schema(),
            _ => walk.value(of, false),
        })
    }

    /// The `SchemaElement`s of a file, each group in front of its children.
    fn schema(&mut self) -> Option<()> {
        let (count, of) = self.list()?;
        if of != kind::STRUCT {
            return None;
        }
        // How many children the groups around the next element lack.
        let mut missing: Vec<usize> = Vec::new();
        for place in 0..count {
            let mut children = 0;
            self.fields(|walk, number, of| match (number, of) {
                (NUM_CHILDREN, of) if kind::INTEGERS.contains(&of) => {
                    children = usize::try_from(walk.signed()?).ok()?;
                    Some(())
                }
                _ => walk.value(of, false),
            })?;
            if children > count - place {
                return None;
            }
            while missing.last() == Some(&0) {
                missing.pop();
            }
            if let Some(missing) = missing.last_mut() {
                *missing -= 1;
            }
            if children > 0 {
                missing.push(children);
            }
            if missing.len() > MAX_DEPTH {
                return None;
            }
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A footer of one field, the schema, with these elements: a name and a number of children.
    fn schema(claimed: u8, elements: &[i32]) -> Vec<u8> {
        let mut footer = vec![0x29, (claimed << 4) | kind::STRUCT];
        for children in elements {
            footer.extend([0x48, 1, b'a']);
            if *children > 0 {
                footer.push(0x15);
                let mut left = (*children as u32) << 1;
                while left >= 0x80 {
                    footer.push(left as u8 | 0x80);
                    left >>= 7;
                }
                footer.push(left as u8);
            }
            footer.push(0);
        }
        footer.push(0);
        footer
    }

    #[test]
    fn what_is_claimed_has_to_be_there() {
        assert!(check(&schema(3, &[2, 0, 0])).is_some());
        assert!(check(&schema(4, &[2, 1, 0, 0])).is_some());
        for (claimed, elements) in [
            (3, &[i32::MAX / 2, 0, 0][..]),
            (14, &[2, 0, 0]),
            (2, &[3, 0]),
        ] {
            let footer = schema(claimed, elements);
            assert!(check(&footer).is_none(), "{claimed} {elements:?}");
        }
        // A list of 2^28 structs, and a text of as many bytes.
        assert!(check(&[0x49, 0xfc, 0xff, 0xff, 0xff, 0x7f, 0, 0]).is_none());
        assert!(check(&[0x48, 0xff, 0xff, 0xff, 0x7f, 0, 0]).is_none());
        // Structs in structs.
        assert!(check(&[vec![0x1c; 90], vec![0; 91]].concat()).is_some());
        assert!(check(&[vec![0x1c; 200], vec![0; 201]].concat()).is_none());
    }

    #[test]
    fn groups_are_nested_only_so_deep() {
        let nested = |depth: usize| {
            let mut footer = vec![
                0x29,
                0xf0 | kind::STRUCT,
                0x80 | (depth + 1) as u8 & 0x7f,
                ((depth + 1) >> 7) as u8,
            ];
            for _ in 0..depth {
                footer.extend([0x48, 1, b'a', 0x15, 2, 0]);
            }
            footer.extend([0x48, 1, b'a', 0, 0]);
            footer
        };
        assert!(check(&nested(50)).is_some());
        assert!(check(&nested(150)).is_none());
    }
}
