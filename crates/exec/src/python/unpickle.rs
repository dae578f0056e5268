//! What functions of Python gave, unpickled into columns, as `EvaluatePython.makeFromJava` takes it: a value of another
//! type is null.
//!
//! Pickles are programs for a machine with a stack. Only those that put together numbers, texts, lists, tuples and
//! dictionaries are run here; each opcode makes one value at most, so that what they make is as large as they are.

use std::cell::Cell;

use datafusion_common::{DataFusionError, Result};
use rows::error::bail_out;

/// Bytes of columns that pickles may become, however short they are.
const ALWAYS: usize = 4 << 20;
/// Bytes of columns that a byte of a pickle may become; an element of a list takes one at least.
const PER_BYTE: usize = 2 * Objects::ELEMENT;

/// An object of Python.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Item<'a> {
    /// Where a list or tuple begins that is being put together.
    Mark,
    None,
    Bool(bool),
    Int(i64),
    /// An integer of more than 64 bits.
    LargeInt,
    Float(f64),
    Text(&'a str),
    Bytes(&'a [u8]),
    /// A list, whose elements are at that place.
    List(usize),
    /// A tuple; likewise.
    Tuple(usize),
    /// A dictionary; likewise, keys and values in turn.
    Dict(usize),
    /// The class `decimal.Decimal`.
    DecimalClass,
    /// A `decimal.Decimal`, by its text.
    Decimal(&'a str),
}

/// The objects of a pickle.
#[derive(Debug, Default)]
pub(super) struct Objects<'a> {
    stack: Vec<Item<'a>>,
    memo: Vec<Item<'a>>,
    /// Elements of lists and tuples.
    elements: Vec<Vec<Item<'a>>>,
    /// Bytes of columns that may still be made of them.
    left: Cell<usize>,
    java_major: u32,
}

pub(super) fn other() -> DataFusionError {
    bail_out("a result of Python of another kind")
}

/// The next bytes.
fn take<'a>(from: &mut &'a [u8], count: usize) -> Result<&'a [u8]> {
    let (taken, rest) = from.split_at_checked(count).ok_or_else(other)?;
    *from = rest;
    Ok(taken)
}

/// A length in so many bytes.
fn length(from: &mut &[u8], bytes: usize) -> Result<usize> {
    let mut all = [0; 8];
    let taken = take(from, bytes)?;
    let place = all.get_mut(..bytes).ok_or_else(other)?;
    place.copy_from_slice(taken);
    usize::try_from(u64::from_le_bytes(all)).map_err(|_| other())
}

impl<'a> Objects<'a> {
    /// Bytes of an element of a list while columns are made.
    pub(super) const ELEMENT: usize = 32;

    /// For pickles that would be read by this version of Java; 0 if it is not known.
    pub(super) fn new(java_major: u32) -> Self {
        Self {
            java_major,
            left: Cell::new(ALWAYS),
            ..Self::default()
        }
    }

    /// The version of Java.
    pub(super) fn java_major(&self) -> u32 {
        self.java_major
    }

    /// Runs a pickle, and gives what it makes. What others made stays.
    ///
    /// # Errors
    /// Bail-out: it makes something else, or is damaged.
    pub(super) fn read(&mut self, mut from: &'a [u8]) -> Result<Item<'a>> {
        let left = PER_BYTE.saturating_mul(from.len());
        self.left.set(self.left.get().saturating_add(left));
        self.stack.clear();
        self.memo.clear();
        loop {
            let code = take(&mut from, 1)?;
            match code {
                b"." => return self.pop(),
                // PROTO, FRAME
                b"\x80" => drop(take(&mut from, 1)?),
                b"\x95" => drop(take(&mut from, 8)?),
                b"(" => self.stack.push(Item::Mark),
                b"]" => self.make(Vec::new(), Item::List),
                b")" => self.make(Vec::new(), Item::Tuple),
                b"}" => self.make(Vec::new(), Item::Dict),
                // SETITEM, SETITEMS
                b"s" => {
                    let (value, key) = (self.pop()?, self.pop()?);
                    self.set(&[key, value])?;
                }
                b"u" => {
                    let entries = self.since_mark()?;
                    self.set(&entries)?;
                }
                b"a" => {
                    let element = self.pop()?;
                    self.extend(&[element])?;
                }
                b"e" => {
                    let elements = self.since_mark()?;
                    self.extend(&elements)?;
                }
                b"t" => {
                    let elements = self.since_mark()?;
                    self.make(elements, Item::Tuple);
                }
                b"\x85" => self.tuple(1)?,
                b"\x86" => self.tuple(2)?,
                b"\x87" => self.tuple(3)?,
                // MEMOIZE, BINPUT, LONG_BINPUT
                b"\x94" => self.memoize(self.memo.len())?,
                b"q" => self.memoize(length(&mut from, 1)?)?,
                b"r" => self.memoize(length(&mut from, 4)?)?,
                _ => {
                    let item = self.item(code, &mut from)?;
                    self.stack.push(item);
                }
            }
        }
    }

    /// Of opcodes that push a value.
    fn item(&mut self, code: &[u8], from: &mut &'a [u8]) -> Result<Item<'a>> {
        Ok(match code {
            b"N" => Item::None,
            b"\x88" => Item::Bool(true),
            b"\x89" => Item::Bool(false),
            // BININT, BININT1, BININT2
            b"J" => {
                let bytes = take(from, 4)?.first_chunk().ok_or_else(other)?;
                Item::Int(i32::from_le_bytes(*bytes).into())
            }
            b"K" => Item::Int(i64::try_from(length(from, 1)?).map_err(|_| other())?),
            b"M" => Item::Int(i64::try_from(length(from, 2)?).map_err(|_| other())?),
            // LONG1, LONG4
            b"\x8a" => integer_of(from, 1)?,
            b"\x8b" => integer_of(from, 4)?,
            b"G" => {
                let bytes = take(from, 8)?.first_chunk().ok_or_else(other)?;
                Item::Float(f64::from_be_bytes(*bytes))
            }
            // SHORT_BINUNICODE, BINUNICODE, BINUNICODE8
            b"\x8c" => text(from, 1)?,
            b"X" => text(from, 4)?,
            b"\x8d" => text(from, 8)?,
            // SHORT_BINBYTES, BINBYTES, BINBYTES8, BYTEARRAY8
            b"C" => bytes(from, 1)?,
            b"B" => bytes(from, 4)?,
            b"\x8e" | b"\x96" => bytes(from, 8)?,
            // BINGET, LONG_BINGET
            b"h" => self.recall(length(from, 1)?)?,
            b"j" => self.recall(length(from, 4)?)?,
            // STACK_GLOBAL
            b"\x93" => match (self.pop()?, self.pop()?) {
                (Item::Text("Decimal"), Item::Text("decimal")) => Item::DecimalClass,
                _ => return Err(other()),
            },
            // REDUCE
            b"R" => match (self.pop()?, self.pop()?) {
                (Item::Tuple(place), Item::DecimalClass) => match self.elements(place)[..] {
                    [Item::Text(text)] => decimal(text)?,
                    _ => return Err(other()),
                },
                _ => return Err(other()),
            },
            _ => return Err(other()),
        })
    }

    fn pop(&mut self) -> Result<Item<'a>> {
        match self.stack.pop() {
            Some(Item::Mark) | None => Err(other()),
            Some(item) => Ok(item),
        }
    }

    /// The values behind the last mark.
    fn since_mark(&mut self) -> Result<Vec<Item<'a>>> {
        let mark = self.stack.iter().rposition(|item| *item == Item::Mark);
        let mark = mark.ok_or_else(other)?;
        let elements = self.stack.split_off(mark + 1);
        self.stack.pop();
        Ok(elements)
    }

    fn make(&mut self, elements: Vec<Item<'a>>, of: impl Fn(usize) -> Item<'a>) {
        self.stack.push(of(self.elements.len()));
        self.elements.push(elements);
    }

    fn tuple(&mut self, count: usize) -> Result<()> {
        let start = self.stack.len().checked_sub(count).ok_or_else(other)?;
        let elements = self.stack.split_off(start);
        if elements.contains(&Item::Mark) {
            return Err(other());
        }
        self.make(elements, Item::Tuple);
        Ok(())
    }

    /// Adds to the list on the stack.
    fn extend(&mut self, more: &[Item<'a>]) -> Result<()> {
        let Some(Item::List(place)) = self.stack.last() else {
            return Err(other());
        };
        let elements = self.elements.get_mut(*place).ok_or_else(other)?;
        elements.extend_from_slice(more);
        Ok(())
    }

    /// Adds entries to the dictionary on the stack.
    fn set(&mut self, entries: &[Item<'a>]) -> Result<()> {
        let Some(Item::Dict(place)) = self.stack.last() else {
            return Err(other());
        };
        let elements = self.elements.get_mut(*place).ok_or_else(other)?;
        // Java's order of entries depends on which are put together.
        if !elements.is_empty() || !entries.len().is_multiple_of(2) {
            return Err(bail_out("a large dictionary of Python"));
        }
        elements.extend_from_slice(entries);
        Ok(())
    }

    fn memoize(&mut self, place: usize) -> Result<()> {
        let item = *self.stack.last().ok_or_else(other)?;
        // Python counts from 0.
        if place == self.memo.len() {
            self.memo.push(item);
            return Ok(());
        }
        *self.memo.get_mut(place).ok_or_else(other)? = item;
        Ok(())
    }

    fn recall(&self, place: usize) -> Result<Item<'a>> {
        self.memo.get(place).copied().ok_or_else(other)
    }

    /// Counts bytes that are about to be copied into columns: a pickle names the same list or text as often as it
    /// likes, at every level, so that columns may be much larger than it.
    ///
    /// # Errors
    /// Bail-out: too many for a pickle of this length.
    pub(super) fn copies(&self, bytes: usize) -> Result<()> {
        let left = self.left.get().checked_sub(bytes);
        self.left.set(
            left.ok_or_else(|| {
                bail_out("results of Python that name the same large objects again")
            })?,
        );
        Ok(())
    }

    /// Elements of a list, tuple or dictionary.
    pub(super) fn elements(&self, place: usize) -> &[Item<'a>] {
        self.elements.get(place).map_or(&[], Vec::as_slice)
    }
}

/// What Spark has for a `decimal.Decimal` of this text: a `java.math.BigDecimal`, which is a number, or a `Double` that is
/// none.
fn decimal(text: &str) -> Result<Item<'_>> {
    if text == "NaN" {
        return Ok(Item::Float(f64::NAN));
    }
    let (digits, exponent) = text.split_once('E').unwrap_or((text, "0"));
    let digits = digits.strip_prefix('-').unwrap_or(digits);
    let all_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let finite = !whole.is_empty() && all_digits(whole) && all_digits(fraction);
    // Its scale has 32 bits.
    let exponent = exponent.parse::<i32>().map_err(|_| other())?;
    match finite && exponent.unsigned_abs() < i32::MAX as u32 / 2 {
        true => Ok(Item::Decimal(text)),
        false => Err(other()),
    }
}

/// A two's complement number, lowest byte first.
fn integer_of<'a>(from: &mut &'a [u8], length_bytes: usize) -> Result<Item<'a>> {
    let size = length(from, length_bytes)?;
    let bytes = take(from, size)?;
    let negative = bytes.last().is_some_and(|last| last & 0x80 != 0);
    let mut all = [if negative { 0xff } else { 0 }; 8];
    // Python writes no more bytes than needed.
    Ok(match all.get_mut(..bytes.len()) {
        Some(place) => {
            place.copy_from_slice(bytes);
            Item::Int(i64::from_le_bytes(all))
        }
        None => Item::LargeInt,
    })
}

fn text<'a>(from: &mut &'a [u8], length_bytes: usize) -> Result<Item<'a>> {
    let size = length(from, length_bytes)?;
    // Python writes half characters, too.
    let text = std::str::from_utf8(take(from, size)?);
    text.map(Item::Text).map_err(|_| other())
}

fn bytes<'a>(from: &mut &'a [u8], length_bytes: usize) -> Result<Item<'a>> {
    let size = length(from, length_bytes)?;
    take(from, size).map(Item::Bytes)
}
