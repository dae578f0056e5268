//! The few values of Kryo's format that Spark picks Kryo for by itself: `byte[]`, `String`, boxed numbers and null.
//!
//! `SerializerManager` uses `KryoSerializer` for shuffles and cached blocks whose class tags are primitives, arrays of
//! them or `String`, whatever `spark.serializer` says; Python records are of that kind. A stream is objects one behind
//! the other, without header or end. An object is `varint(class id + 2)` and its data, 0 is null. With reference
//! tracking, `byte[]` and `String` have one more byte, 1 for "not seen before": every record is an object graph of its
//! own, so nothing else can be there.

mod map_status;

use std::io::{self, Read};

use bytes::{Buf, Bytes, BytesMut};
use javaser::kryo::{KryoForm, NEW_OBJECT, tag};

use crate::config::{SettingError, SparkProperties, declared};

pub use map_status::map_status;

/// Bytes read at a time.
const READ_SIZE: usize = 64 << 10;

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

/// How the Kryo of an application writes.
///
/// # Errors
/// A switch is neither `true` nor `false`.
pub fn form_of_conf(properties: &SparkProperties) -> Result<KryoForm, SettingError> {
    Ok(KryoForm {
        fixed_width: properties.switch(&declared::KRYO_UNSAFE)?,
        references: properties.switch(&declared::KRYO_REFERENCE_TRACKING)?,
    })
}

/// The same if `spark.serializer` is Kryo; `None` if it is another one.
///
/// # Errors
/// A switch is neither `true` nor `false`.
pub fn form_of_serializer(properties: &SparkProperties) -> Result<Option<KryoForm>, SettingError> {
    match properties.text(&declared::SERIALIZER).as_str() {
        declared::KRYO_SERIALIZER => form_of_conf(properties).map(Some),
        _ => Ok(None),
    }
}

/// Reads values one by one.
#[derive(Debug)]
pub struct KryoReader<R> {
    form: KryoForm,
    input: R,
    buffer: BytesMut,
    /// What one read gives. Values are cut out of `buffer` without a copy, which a read cannot go into without clearing
    /// it first.
    scratch: Vec<u8>,
    max_len: usize,
}

impl<R: Read> KryoReader<R> {
    /// Reads values from `input`, of at most `max_len` bytes each. It buffers what it reads.
    pub fn new(form: KryoForm, input: R, max_len: usize) -> Self {
        Self {
            form,
            input,
            buffer: BytesMut::new(),
            scratch: Vec::new(),
            max_len,
        }
    }

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
        let class_first = match self.form.references {
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
        if self.form.references && self.byte()? != NEW_OBJECT {
            return Err(KryoError::Malformed("a reference to an earlier object"));
        }
        Ok(())
    }

    fn long(&mut self) -> Result<i64, KryoError> {
        if self.form.fixed_width {
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
        if self.form.fixed_width {
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
        Ok(if self.form.fixed_width {
            self.buffer.get_u16_le()
        } else {
            self.buffer.get_u16()
        })
    }

    fn fixed_u32(&mut self) -> Result<u32, KryoError> {
        self.need(4)?;
        Ok(if self.form.fixed_width {
            self.buffer.get_u32_le()
        } else {
            self.buffer.get_u32()
        })
    }

    fn fixed_u64(&mut self) -> Result<u64, KryoError> {
        self.need(8)?;
        Ok(if self.form.fixed_width {
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
