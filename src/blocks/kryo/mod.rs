//! The few values of Kryo's format that Spark picks Kryo for by itself: `byte[]`, `String`, boxed numbers and null.
//!
//! `SerializerManager` uses `KryoSerializer` for shuffles and cached blocks whose class tags are primitives, arrays of
//! them or `String`, whatever `spark.serializer` says; Python records are of that kind. A stream is objects one behind
//! the other, without header or end. An object is `varint(class id + 2)` and its data, 0 is null. With reference
//! tracking, `byte[]` and `String` have one more byte, 1 for "not seen before": every record is an object graph of its
//! own, so nothing else can be there.

mod graph;
mod map_status;

use std::io::{self, Read};

use bytes::{Buf, Bytes, BytesMut};

use crate::config::{SettingError, SparkProperties, declared};

pub use graph::{ArrayLength, KryoGraph};

/// Bytes read at a time.
const READ_SIZE: usize = 64 << 10;

/// Class ids plus two, as Kryo and Spark's `KryoSerializer` register them, the same in Spark 3.5 to 4.3.
mod tag {
    pub(super) const NULL: u8 = 0;
    pub(super) const INT: u8 = 0x02;
    pub(super) const STRING: u8 = 0x03;
    pub(super) const FLOAT: u8 = 0x04;
    pub(super) const BOOLEAN: u8 = 0x05;
    pub(super) const BYTE: u8 = 0x06;
    pub(super) const CHAR: u8 = 0x07;
    pub(super) const SHORT: u8 = 0x08;
    pub(super) const LONG: u8 = 0x09;
    pub(super) const DOUBLE: u8 = 0x0a;
    pub(super) const HEAP_BYTE_BUFFER: u8 = 0x0c;
    pub(super) const BYTE_BUFFERS: u8 = 0x0d;
    pub(super) const COMPRESSED_MAP_STATUS: u8 = 0x0f;
    pub(super) const HIGHLY_COMPRESSED_MAP_STATUS: u8 = 0x10;
    pub(super) const CHUNKED_BYTE_BUFFER: u8 = 0x11;
    pub(super) const BLOCK_MANAGER_ID: u8 = 0x13;
    pub(super) const BYTES: u8 = 0x15;
    pub(super) const ROARING_BITMAP: u8 = 0x23;
}

/// What stands before a value that may be referred to again.
const NEW_OBJECT: u8 = 1;

/// The settings that change the format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kryo {
    /// `spark.kryo.unsafe`: `int` and `long` have their fixed width, little-endian, instead of a variable one.
    pub fixed_width: bool,
    /// `spark.kryo.referenceTracking`
    pub references: bool,
}

impl Default for Kryo {
    fn default() -> Self {
        Self {
            fixed_width: true,
            references: true,
        }
    }
}

/// A value.
#[derive(Debug, Clone, PartialEq)]
pub enum KryoValue {
    /// `null`
    Null,
    /// `java.lang.Long`
    Long(i64),
    /// `java.lang.Integer`
    Int(i32),
    /// `java.lang.Short`
    Short(i16),
    /// `java.lang.Byte`
    Byte(i8),
    /// `java.lang.Character`: a UTF-16 code unit
    Char(u16),
    /// `java.lang.Boolean`
    Boolean(bool),
    /// `java.lang.Float`
    Float(f32),
    /// `java.lang.Double`
    Double(f64),
    /// `byte[]`
    Bytes(Bytes),
    /// `java.lang.String`. Surrogates without partner have become `?`, as in Java's `getBytes(UTF_8)`.
    Text(String),
}

/// Why values cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum KryoError {
    /// The stream cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The stream ends within a value.
    #[error("a Kryo stream ends within a value")]
    Truncated,
    /// A class that this reader does not know.
    #[error("Kryo class id {0} is not one that this program reads")]
    Class(u32),
    /// Longer than allowed.
    #[error("a Kryo value of {len} bytes is longer than the {max} that are allowed")]
    TooLong {
        /// Its length in bytes or characters.
        len: usize,
        /// The limit.
        max: usize,
    },
    /// Not Kryo's format.
    #[error("a Kryo stream is damaged: {0}")]
    Malformed(&'static str),
}

impl From<KryoError> for io::Error {
    fn from(error: KryoError) -> Self {
        match error {
            KryoError::Io(error) => error,
            KryoError::Truncated => Self::new(io::ErrorKind::UnexpectedEof, error),
            error => Self::new(io::ErrorKind::InvalidData, error),
        }
    }
}

impl Kryo {
    /// The settings of an application.
    ///
    /// # Errors
    /// A switch is neither `true` nor `false`.
    pub fn from_conf(properties: &SparkProperties) -> Result<Self, SettingError> {
        Ok(Self {
            fixed_width: properties.switch(&declared::KRYO_UNSAFE)?,
            references: properties.switch(&declared::KRYO_REFERENCE_TRACKING)?,
        })
    }

    /// The settings of an application whose `spark.serializer` is Kryo; `None` if it is another one.
    ///
    /// # Errors
    /// A switch is neither `true` nor `false`.
    pub fn of_serializer(properties: &SparkProperties) -> Result<Option<Self>, SettingError> {
        match properties.text(&declared::SERIALIZER).as_str() {
            declared::KRYO_SERIALIZER => Self::from_conf(properties).map(Some),
            _ => Ok(None),
        }
    }

    /// Appends `null`.
    pub fn write_null(self, out: &mut Vec<u8>) {
        out.push(tag::NULL);
    }

    /// Appends a `java.lang.Long`.
    pub fn write_long(self, out: &mut Vec<u8>, value: i64) {
        out.push(tag::LONG);
        self.put_long(out, value);
    }

    /// Appends a `java.lang.Integer`.
    pub fn write_int(self, out: &mut Vec<u8>, value: i32) {
        out.push(tag::INT);
        self.put_int(out, value);
    }

    /// Appends a `byte[]`.
    pub fn write_bytes(self, out: &mut Vec<u8>, value: &[u8]) {
        out.push(tag::BYTES);
        self.put_new(out);
        // Arrays of more than i32::MAX - 1 elements do not exist in Java, and u64 cannot overflow here.
        put_var(out, value.len() as u64 + 1);
        out.extend_from_slice(value);
    }

    /// Appends a `java.lang.String`. What is not UTF-8 becomes U+FFFD, as when Java decodes it.
    pub fn write_text(self, out: &mut Vec<u8>, value: &[u8]) {
        out.push(tag::STRING);
        self.put_new(out);
        put_text(out, value);
    }

    /// Reads values from `input`, of at most `max_len` bytes each. A reader of its own buffers what it reads.
    pub fn reader<R: Read>(self, input: R, max_len: usize) -> KryoReader<R> {
        KryoReader {
            kryo: self,
            input,
            buffer: BytesMut::new(),
            scratch: Vec::new(),
            max_len,
        }
    }

    fn put_long(self, out: &mut Vec<u8>, value: i64) {
        if self.fixed_width {
            out.extend_from_slice(&value.to_le_bytes());
        } else {
            put_var_long(out, ((value << 1) ^ (value >> 63)).cast_unsigned());
        }
    }

    fn put_int(self, out: &mut Vec<u8>, value: i32) {
        if self.fixed_width {
            out.extend_from_slice(&value.to_le_bytes());
        } else {
            put_var(out, ((value << 1) ^ (value >> 31)).cast_unsigned().into());
        }
    }

    fn put_new(self, out: &mut Vec<u8>) {
        if self.references {
            out.push(NEW_OBJECT);
        }
    }
}

/// Seven bits to a byte, lowest first; the highest bit says that more follow.
fn put_var(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// As [`put_var`], but a ninth byte has eight bits and is the last.
fn put_var_long(out: &mut Vec<u8>, mut value: u64) {
    for _ in 0..8 {
        if value < 0x80 {
            out.push(value as u8);
            return;
        }
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Short ASCII ends with a byte whose highest bit is set. Everything else has the number of UTF-16 units plus one
/// before it, whose first byte has the highest bit set and six bits of the number; each unit follows as one to three
/// bytes.
fn put_text(out: &mut Vec<u8>, value: &[u8]) {
    if (2..=32).contains(&value.len()) && value.is_ascii() {
        out.extend_from_slice(value);
        if let Some(last) = out.last_mut() {
            *last |= 0x80;
        }
        return;
    }
    let text = String::from_utf8_lossy(value);
    let units = text.encode_utf16().count() as u64 + 1;
    if units < 0x40 {
        out.push(units as u8 | 0x80);
    } else {
        out.push((units & 0x3f) as u8 | 0xc0);
        put_var(out, units >> 6);
    }
    if text.is_ascii() {
        out.extend_from_slice(text.as_bytes());
        return;
    }
    for unit in text.encode_utf16() {
        match unit {
            0..0x80 => out.push(unit as u8),
            0x80..0x800 => out.extend([0xc0 | (unit >> 6) as u8, 0x80 | (unit & 0x3f) as u8]),
            _ => out.extend([
                0xe0 | (unit >> 12) as u8,
                0x80 | (unit >> 6 & 0x3f) as u8,
                0x80 | (unit & 0x3f) as u8,
            ]),
        }
    }
}

/// Reads values one by one.
#[derive(Debug)]
pub struct KryoReader<R> {
    kryo: Kryo,
    input: R,
    buffer: BytesMut,
    /// What one read gives. Values are cut out of `buffer` without a copy, which a read cannot go into without clearing
    /// it first.
    scratch: Vec<u8>,
    max_len: usize,
}

impl<R: Read> KryoReader<R> {
    /// The next value, or `None` at the end.
    ///
    /// # Errors
    /// [`KryoError`]; the reader is of no use afterwards.
    pub fn read(&mut self) -> Result<Option<KryoValue>, KryoError> {
        if self.buffer.is_empty() && !self.fill(1)? {
            return Ok(None);
        }
        Ok(Some(match self.byte()? {
            tag::NULL => KryoValue::Null,
            tag::LONG => KryoValue::Long(self.long()?),
            tag::BYTES => self.byte_array()?,
            tag::STRING => {
                self.new_object()?;
                self.text()?
            }
            tag::INT => KryoValue::Int(self.int()?),
            tag::FLOAT => KryoValue::Float(f32::from_bits(self.fixed_u32()?)),
            tag::DOUBLE => KryoValue::Double(f64::from_bits(self.fixed_u64()?)),
            tag::BOOLEAN => KryoValue::Boolean(self.byte()? != 0),
            tag::BYTE => KryoValue::Byte(self.byte()?.cast_signed()),
            tag::SHORT => KryoValue::Short(self.fixed_u16()?.cast_signed()),
            tag::CHAR => KryoValue::Char(self.fixed_u16()?),
            first => {
                let class = self.var_from(first)?;
                return Err(KryoError::Class(
                    u32::try_from(class).unwrap_or(u32::MAX).saturating_sub(2),
                ));
            }
        }))
    }

    /// The next two values, a record of a shuffle, or `None` at the end.
    ///
    /// # Errors
    /// [`KryoError`]
    pub fn read_pair(&mut self) -> Result<Option<(KryoValue, KryoValue)>, KryoError> {
        let Some(key) = self.read()? else {
            return Ok(None);
        };
        match self.read()? {
            Some(value) => Ok(Some((key, value))),
            None => Err(KryoError::Truncated),
        }
    }

    /// The elements of a `byte[][]`, which is the next value. Its class is not looked at: the number of it depends on
    /// the application.
    ///
    /// # Errors
    /// [`KryoError`], also for null elements.
    pub fn read_byte_arrays(&mut self) -> Result<Vec<Bytes>, KryoError> {
        if self.var()? == u64::from(tag::NULL) {
            return Err(KryoError::Malformed("null where an array was expected"));
        }
        self.new_object()?;
        let count = self.var()?.saturating_sub(1);
        let mut arrays = Vec::new();
        for _ in 0..count {
            match self.byte_array()? {
                KryoValue::Bytes(bytes) => arrays.push(bytes),
                _ => return Err(KryoError::Malformed("an array of other elements")),
            }
        }
        Ok(arrays)
    }

    /// The elements of a Scala sequence around a `byte[][]`, which is the next value: Scala 2.13's `ArraySeq`, or
    /// 2.12's `WrappedArray`, which names the class of its elements first.
    ///
    /// # Errors
    /// [`KryoError`], also for null elements.
    pub fn read_wrapped_byte_arrays(&mut self) -> Result<Vec<Bytes>, KryoError> {
        self.var()?;
        self.new_object()?;
        // A reference to a new object where a class would be, or the class of the elements where that of the array
        // would be.
        let class_first = match self.kryo.references {
            true => NEW_OBJECT,
            false => tag::BYTES,
        };
        self.need(1)?;
        if self.buffer.first() == Some(&class_first) {
            self.new_object()?;
            if self.byte()? != tag::BYTES {
                return Err(KryoError::Malformed("a sequence of other elements"));
            }
            // Whether it is a primitive type.
            self.byte()?;
        }
        self.read_byte_arrays()
    }

    /// The stream below. Bytes that are buffered are lost.
    pub fn into_inner(self) -> R {
        self.input
    }

    fn byte_array(&mut self) -> Result<KryoValue, KryoError> {
        self.new_object()?;
        let len = self.var()?;
        let len = len
            .checked_sub(1)
            .ok_or(KryoError::Malformed("null where a value was announced"))?;
        let len = usize::try_from(len).unwrap_or(usize::MAX);
        Ok(KryoValue::Bytes(self.take(len)?))
    }

    fn text(&mut self) -> Result<KryoValue, KryoError> {
        let first = self.byte()?;
        if first & 0x80 == 0 {
            let mut text = vec![first];
            while let Some(last) = text.last_mut() {
                if *last & 0x80 != 0 {
                    *last &= 0x7f;
                    break;
                }
                if text.len() >= self.max_len {
                    return Err(self.too_long(text.len() + 1));
                }
                text.push(self.byte()?);
            }
            // All bytes are ASCII.
            return Ok(KryoValue::Text(String::from_utf8_lossy(&text).into_owned()));
        }
        let mut units = u64::from(first & 0x3f);
        if first & 0x40 != 0 {
            units |= self
                .var()?
                .checked_mul(64)
                .ok_or(KryoError::Malformed("a length"))?;
        }
        let units = units
            .checked_sub(1)
            .ok_or(KryoError::Malformed("null where a value was announced"))?;
        let units = usize::try_from(units).unwrap_or(usize::MAX);
        if units > self.max_len {
            return Err(self.too_long(units));
        }
        let mut text = Vec::with_capacity(units.min(READ_SIZE));
        for _ in 0..units {
            let byte = u16::from(self.byte()?);
            text.push(match byte >> 4 {
                0..=7 => byte,
                12 | 13 => (byte & 0x1f) << 6 | self.trail()?,
                14 => (byte & 0x0f) << 12 | self.trail()? << 6 | self.trail()?,
                _ => return Err(KryoError::Malformed("a character")),
            });
        }
        let text = char::decode_utf16(text).map(|unit| unit.unwrap_or('?'));
        Ok(KryoValue::Text(text.collect()))
    }

    fn trail(&mut self) -> Result<u16, KryoError> {
        Ok(u16::from(self.byte()? & 0x3f))
    }

    fn new_object(&mut self) -> Result<(), KryoError> {
        if self.kryo.references && self.byte()? != NEW_OBJECT {
            return Err(KryoError::Malformed("a reference to an earlier object"));
        }
        Ok(())
    }

    fn long(&mut self) -> Result<i64, KryoError> {
        if self.kryo.fixed_width {
            return Ok(self.fixed_u64()?.cast_signed());
        }
        let mut value = 0;
        for index in 0..9 {
            let byte = u64::from(self.byte()?);
            if index == 8 {
                value |= byte << 56;
                break;
            }
            value |= (byte & 0x7f) << (7 * index);
            if byte & 0x80 == 0 {
                break;
            }
        }
        Ok((value >> 1).cast_signed() ^ -(value & 1).cast_signed())
    }

    fn int(&mut self) -> Result<i32, KryoError> {
        if self.kryo.fixed_width {
            return Ok(self.fixed_u32()?.cast_signed());
        }
        let value = u32::try_from(self.var()?).map_err(|_| KryoError::Malformed("an int"))?;
        Ok((value >> 1).cast_signed() ^ -(value & 1).cast_signed())
    }

    fn var(&mut self) -> Result<u64, KryoError> {
        let first = self.byte()?;
        self.var_from(first)
    }

    /// A number of at most five bytes.
    fn var_from(&mut self, first: u8) -> Result<u64, KryoError> {
        let mut value = u64::from(first & 0x7f);
        let mut byte = first;
        for shift in [7, 14, 21, 28] {
            if byte & 0x80 == 0 {
                return Ok(value);
            }
            byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
        }
        match byte & 0x80 {
            0 => Ok(value),
            _ => Err(KryoError::Malformed("a number")),
        }
    }

    // `fixed_*` check that the bytes are there, so that the getters of `Buf` do not panic.

    fn byte(&mut self) -> Result<u8, KryoError> {
        self.need(1)?;
        Ok(self.buffer.get_u8())
    }

    fn fixed_u16(&mut self) -> Result<u16, KryoError> {
        self.need(2)?;
        Ok(if self.kryo.fixed_width {
            self.buffer.get_u16_le()
        } else {
            self.buffer.get_u16()
        })
    }

    fn fixed_u32(&mut self) -> Result<u32, KryoError> {
        self.need(4)?;
        Ok(if self.kryo.fixed_width {
            self.buffer.get_u32_le()
        } else {
            self.buffer.get_u32()
        })
    }

    fn fixed_u64(&mut self) -> Result<u64, KryoError> {
        self.need(8)?;
        Ok(if self.kryo.fixed_width {
            self.buffer.get_u64_le()
        } else {
            self.buffer.get_u64()
        })
    }

    fn take(&mut self, len: usize) -> Result<Bytes, KryoError> {
        if len > self.max_len {
            return Err(self.too_long(len));
        }
        if len > self.buffer.len() && len > READ_SIZE {
            return self.take_large(len);
        }
        self.need(len)?;
        Ok(self.buffer.split_to(len).freeze())
    }

    /// Grows with what arrives, so that a damaged length takes no more memory than there are bytes.
    fn take_large(&mut self, len: usize) -> Result<Bytes, KryoError> {
        let mut value = Vec::with_capacity(self.buffer.len() + READ_SIZE);
        value.extend_from_slice(&self.buffer);
        self.buffer.clear();
        let missing = (len - value.len()) as u64;
        self.input.by_ref().take(missing).read_to_end(&mut value)?;
        if value.len() < len {
            return Err(KryoError::Truncated);
        }
        Ok(value.into())
    }

    fn too_long(&self, len: usize) -> KryoError {
        KryoError::TooLong {
            len,
            max: self.max_len,
        }
    }

    fn need(&mut self, len: usize) -> Result<(), KryoError> {
        if self.buffer.len() >= len || self.fill(len)? {
            Ok(())
        } else {
            Err(KryoError::Truncated)
        }
    }

    /// Reads until `len` bytes are buffered; false if the input ends before. `len` is at most [`READ_SIZE`].
    fn fill(&mut self, len: usize) -> io::Result<bool> {
        while self.buffer.len() < len {
            if self.scratch.is_empty() {
                self.scratch.resize(READ_SIZE, 0);
            }
            match self.input.read(&mut self.scratch) {
                Ok(0) => return Ok(false),
                Ok(count) => {
                    let read = self.scratch.get(..count).unwrap_or_default();
                    self.buffer.extend_from_slice(read);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests;
