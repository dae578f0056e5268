//! Values that Kryo wrote, as far as they are rows.
//!
//! Classes are numbers that depend on the version and on what an application registers, so they are known by their
//! shape.

use super::{KryoForm, NEW_OBJECT};

/// Most bytes before the rows of a collection or behind a class tag.
const MOST_BEFORE_ROWS: usize = 24;

/// What `InternalRow[]` is as a class, in Spark 3.5 to 4.3 without further classes: without rows nothing else tells.
const ROWS: [u32; 3] = [204, 206, 207];

/// The class of rows has a greater number than all that stand before such an array.
const LEAST_ROW_CLASS: u32 = 150;

/// What is left to be read of a value.
#[derive(Debug, Clone, Copy)]
pub struct KryoInput<'a> {
    /// The bytes.
    pub rest: &'a [u8],
    /// How it was written.
    pub form: KryoForm,
}

impl<'a> KryoInput<'a> {
    /// So many bytes, and others as they come; `None` if there are fewer, here and below.
    pub fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.rest.split_first_chunk()?;
        self.rest = rest;
        Some(*first)
    }

    /// So many bytes.
    pub fn skip(&mut self, bytes: usize) -> Option<&'a [u8]> {
        let (first, rest) = self.rest.split_at_checked(bytes)?;
        self.rest = rest;
        Some(first)
    }

    /// A number of as many bytes as it needs: of a class, or of elements.
    pub fn var(&mut self) -> Option<u32> {
        let mut value = 0_u32;
        for shift in [0, 7, 14, 21, 28] {
            let [byte] = self.take()?;
            value |= u32::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    /// An `int` that a class writes itself.
    pub fn int(&mut self) -> Option<i32> {
        self.own().map(i32::from_le_bytes)
    }

    /// A `long` that a class writes itself.
    pub fn long(&mut self) -> Option<i64> {
        self.own().map(i64::from_le_bytes)
    }

    /// Bytes of a value of fixed width, in little-endian order.
    pub fn own<const N: usize>(&mut self) -> Option<[u8; N]> {
        let mut bytes = self.take()?;
        if !self.form.fixed_width {
            bytes.reverse();
        }
        Some(bytes)
    }

    /// An `int` of a class whose fields Kryo writes.
    pub fn int_field(&mut self) -> Option<i32> {
        if self.form.fixed_width {
            return self.int();
        }
        let value = self.var()?;
        Some((value >> 1).cast_signed() ^ -(value & 1).cast_signed())
    }

    /// A `long` of a class whose fields Kryo writes.
    pub fn long_field(&mut self) -> Option<i64> {
        if self.form.fixed_width {
            return self.long();
        }
        let mut value = 0_u64;
        for index in 0..9 {
            let [byte] = self.take()?;
            // A ninth byte has eight bits and is the last.
            if index == 8 {
                value |= u64::from(byte) << 56;
                break;
            }
            value |= u64::from(byte & 0x7f) << (7 * index);
            if byte & 0x80 == 0 {
                break;
            }
        }
        Some((value >> 1).cast_signed() ^ -(value & 1).cast_signed())
    }

    /// The name of a class, of ASCII.
    pub fn name(&mut self) -> Option<String> {
        let (first, _) = self.rest.split_first()?;
        let characters = if first & 0x80 == 0 {
            // The last character is marked.
            let length = self
                .rest
                .iter()
                .position(|byte| byte & 0x80 != 0)?
                .checked_add(1)?;
            let mut characters = self.skip(length)?.to_vec();
            *characters.last_mut()? &= 0x7f;
            characters
        } else {
            let [first] = self.take()?;
            let mut units = u32::from(first & 0x3f);
            if first & 0x40 != 0 {
                units |= self.var()?.checked_mul(64)?;
            }
            self.skip(usize::try_from(units.checked_sub(1)?).ok()?)?
                .to_vec()
        };
        String::from_utf8(characters)
            .ok()
            .filter(|name| name.is_ascii())
    }

    /// The mark of an object that was not written before, where there are marks.
    pub fn new_object(&mut self) -> Option<()> {
        if self.form.references && self.take()? != [NEW_OBJECT] {
            return None;
        }
        Some(())
    }

    /// The mark of a field that is not null, of a class that has none of its own for null.
    pub fn not_null(&mut self) -> Option<()> {
        (self.take()? == [NEW_OBJECT]).then_some(())
    }

    /// What an `UnsafeRow` writes itself: its bytes, and its number of columns.
    pub fn unsafe_row(&mut self) -> Option<(&'a [u8], i32)> {
        let size = usize::try_from(self.int()?).ok()?;
        let columns = self.int()?;
        Some((self.skip(size)?, columns))
    }
}

/// The rows of an `InternalRow[]` of `UnsafeRow`s, behind its class and its mark, with their numbers of columns. The
/// two classes are registered one after the other.
#[must_use]
pub fn unsafe_rows<'a>(class: u32, mut input: KryoInput<'a>) -> Option<Vec<(&'a [u8], i32)>> {
    let count = input.var()?.checked_sub(1)?;
    let mut rows = Vec::new();
    for _ in 0..count {
        if input.var()? != class.checked_add(1)? {
            return None;
        }
        input.new_object()?;
        rows.push(input.unsafe_row()?);
    }
    let known = count > 0 || ROWS.contains(&class);
    (known && input.rest.is_empty()).then_some(rows)
}

/// The same array where it is the last of what was written: behind a class, or within a collection. `None` if there is
/// none, or if it may begin at several places.
#[must_use]
pub fn last_unsafe_rows(bytes: &[u8], form: KryoForm) -> Option<Vec<(&[u8], i32)>> {
    let starts = 0..bytes.len().min(MOST_BEFORE_ROWS);
    let mut found = starts.filter_map(|start| {
        let rest = bytes.get(start..)?;
        let mut input = KryoInput { rest, form };
        let class = input.var().filter(|class| *class >= LEAST_ROW_CLASS)?;
        input.new_object()?;
        unsafe_rows(class, input)
    });
    let first = found.next()?;
    found.next().is_none().then_some(first)
}

/// How many elements a Scala sequence around an array has: an `ArraySeq`, or Scala 2.12's `WrappedArray`, which names
/// the class of its elements first.
#[must_use]
pub fn length_of_sequence(bytes: &[u8], form: KryoForm) -> Option<usize> {
    let mut input = KryoInput { rest: bytes, form };
    input.var()?;
    input.new_object()?;
    let first = input.var()?;
    let class_first = match form.references {
        // A new object where a class would be.
        true => first == u32::from(NEW_OBJECT),
        // A class, which is no primitive type: no length has that byte.
        false => input.rest.first() == Some(&0),
    };
    if class_first {
        if form.references {
            input.var()?;
        }
        input.take::<1>()?;
        input.var()?;
    }
    input.new_object()?;
    usize::try_from(input.var()?.checked_sub(1)?).ok()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_kryo_writes_them() {
        let input = |fixed_width, rest| KryoInput {
            rest,
            form: KryoForm {
                fixed_width,
                references: true,
            },
        };
        assert_eq!(input(true, &[0xb0, 0x01]).var().unwrap(), 176);
        assert_eq!(input(true, &[2, 0, 0, 0]).int_field().unwrap(), 2);
        assert_eq!(
            input(false, &[0x80, 0x80, 0x80, 0x40]).int_field().unwrap(),
            64 << 20
        );
        assert_eq!(input(false, &[1]).int_field().unwrap(), -1);
        assert_eq!(input(false, &[0, 0, 0, 2]).int().unwrap(), 2);
        assert!(input(true, &[0xff; 6]).var().is_none());
        assert!(input(true, &[2]).new_object().is_none());
    }

    /// What Spark 3.5 and 4.3 made of the row of a relation of one row.
    #[test]
    fn sequences_have_a_length() {
        let length = |hex: &str, references| {
            let byte = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
            let bytes: Vec<u8> = (0..hex.len()).step_by(2).map(byte).collect();
            let form = KryoForm {
                fixed_width: true,
                references,
            };
            length_of_sequence(&bytes, form)
        };
        assert_eq!(length("8b010101cc0100ce0101020100", true), Some(1));
        assert_eq!(length("8b01cc0100ce01020100", false), Some(1));
        assert_eq!(length("c201011c01020181", true), Some(1));
        assert_eq!(length("c2011c028181", false), Some(1));
        assert_eq!(length("c201011c0103", true), Some(2));
        assert_eq!(length("c201011c01", true), None);
        assert_eq!(length("c201021c0103", true), None);
    }

    /// What Spark's own serializer wrote: a collection's and a partitioner's.
    #[test]
    fn rows_are_found_behind_what_stands_before_them() {
        let row =
            "20000000020000000000000000000000010000000000000002000000180000006162000000000000";
        for (before, class, rows) in [
            ("8b010101cc0100ce010102cf0101", 2, 1),
            ("c20101cf010102d00101", 2, 1),
            ("c6010101ce0100ce010102cf0101", 2, 1),
            ("c4010101cf0100cf010102d00101", 2, 1),
            ("c4010101cf0100cf010101", 2, 0),
            ("8b010101cc0100ce010101", 2, 0),
        ] {
            let hex = if rows == 1 {
                [before, row].concat()
            } else {
                before.to_owned()
            };
            let byte = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
            let bytes: Vec<u8> = (0..hex.len()).step_by(2).map(byte).collect();
            let form = KryoForm {
                fixed_width: true,
                references: true,
            };
            let found = last_unsafe_rows(&bytes, form).unwrap();
            assert_eq!(found.len(), rows, "{before}");
            assert!(
                found
                    .iter()
                    .all(|(row, columns)| row.len() == 32 && *columns == class)
            );
            for end in 0..bytes.len() {
                assert!(
                    last_unsafe_rows(&bytes[..end], form).is_none(),
                    "{before} {end}"
                );
            }
        }
    }
}
