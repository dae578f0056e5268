//! What the bytes of a variant say, as Spark's `VariantUtil` and `Variant` read them.
//!
//! A variant is a value and metadata. Metadata are the names of fields, each with its number:
//!
//! ```text
//! version and width of offsets: byte | number of names | where each begins, and the last ends | names
//! ```
//!
//! A value begins with a byte whose lower two bits are its basic type: one without parts, a short text, an object or an
//! array. What is not so, or could be read in another way, is [`Malformed`].

use datafusion_common::DataFusionError;
use rows::error::bail_out;

/// Bytes of which Spark may make something else, or an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Malformed;

impl From<Malformed> for DataFusionError {
    fn from(Malformed: Malformed) -> Self {
        bail_out("a malformed variant")
    }
}

pub(super) type Read<T> = Result<T, Malformed>;

/// Deepest nesting of objects and arrays that is followed.
pub(super) const MAX_DEPTH: usize = 200;

/// Longest value, and longest metadata. Spark's limit is higher, but for its own tests.
pub(super) const MAX_BYTES: usize = 16 << 20;

/// What is left of a variant's bytes while its parts are gone through: they are not within each other, so that together
/// they are no longer than it is.
pub(super) struct Left(usize);

impl Left {
    pub(super) fn of(whole: Variant<'_>) -> Self {
        Self(whole.value.len())
    }

    /// For a part. What is in an object or an array is parts of its own.
    pub(super) fn take(&mut self, part: Variant<'_>) -> Read<()> {
        let bytes = match part.head()?.0 {
            basic::OBJECT | basic::ARRAY => 1,
            _ => part.own_bytes()?.len(),
        };
        self.0 = self.0.checked_sub(bytes).ok_or(Malformed)?;
        Ok(())
    }
}

/// From this number of fields on, names are searched by halves.
const MANY_FIELDS: usize = 32;

/// The basic types, in the lower bits of a value's first byte.
pub(super) mod basic {
    pub(in super::super) const PRIMITIVE: u8 = 0;
    pub(in super::super) const SHORT_TEXT: u8 = 1;
    pub(in super::super) const OBJECT: u8 = 2;
    pub(in super::super) const ARRAY: u8 = 3;
}

/// The types of values without parts, in the upper bits.
pub(super) mod primitive {
    pub(in super::super) const NULL: u8 = 0;
    pub(in super::super) const TRUE: u8 = 1;
    pub(in super::super) const FALSE: u8 = 2;
    pub(in super::super) const INT1: u8 = 3;
    pub(in super::super) const INT2: u8 = 4;
    pub(in super::super) const INT4: u8 = 5;
    pub(in super::super) const INT8: u8 = 6;
    pub(in super::super) const DOUBLE: u8 = 7;
    pub(in super::super) const DECIMAL4: u8 = 8;
    pub(in super::super) const DECIMAL8: u8 = 9;
    pub(in super::super) const DECIMAL16: u8 = 10;
    pub(in super::super) const DATE: u8 = 11;
    pub(in super::super) const TIMESTAMP: u8 = 12;
    pub(in super::super) const TIMESTAMP_NTZ: u8 = 13;
    pub(in super::super) const FLOAT: u8 = 14;
    pub(in super::super) const BINARY: u8 = 15;
    pub(in super::super) const LONG_TEXT: u8 = 16;
    pub(in super::super) const UUID: u8 = 20;
}

/// A value within a variant.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Variant<'a> {
    value: &'a [u8],
    metadata: &'a [u8],
    /// Where it begins.
    at: usize,
}

/// A value by its type.
#[derive(Debug, Clone, Copy)]
pub(super) enum Value<'a> {
    Null,
    Boolean(bool),
    Long(i64),
    Double(f64),
    Float(f32),
    Decimal(Digits),
    Date(i32),
    Timestamp(i64),
    TimestampNtz(i64),
    Text(&'a str),
    Binary(&'a [u8]),
    Object(Object<'a>),
    Array(Array<'a>),
}

/// A decimal, without zeros at its end behind the point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Digits {
    pub(super) unscaled: i128,
    pub(super) scale: u8,
}

impl Digits {
    fn new(mut unscaled: i128, mut scale: u8) -> Self {
        if unscaled == 0 {
            scale = 0;
        }
        while scale > 0 && unscaled % 10 == 0 {
            unscaled /= 10;
            scale -= 1;
        }
        Self { unscaled, scale }
    }

    /// As Spark's `Decimal` of such a number has it.
    pub(super) fn precision(self) -> u8 {
        digits(self.unscaled).max(self.scale)
    }
}

/// How many digits a number has; zero has one.
pub(super) fn digits(number: i128) -> u8 {
    let digits = number.unsigned_abs().checked_ilog10().unwrap_or(0) + 1;
    // At most 39.
    digits as u8
}

/// Where the parts of an object are.
#[derive(Debug, Clone, Copy)]
pub(super) struct Object<'a> {
    of: Variant<'a>,
    size: usize,
    ids: usize,
    id_width: usize,
    offsets: usize,
    offset_width: usize,
    data: usize,
}

/// Where the parts of an array are.
#[derive(Debug, Clone, Copy)]
pub(super) struct Array<'a> {
    of: Variant<'a>,
    size: usize,
    offsets: usize,
    offset_width: usize,
    data: usize,
}

/// A number of so many bytes without a sign, which fits into 31 bits.
fn unsigned(bytes: &[u8], at: usize, width: usize) -> Read<usize> {
    let end = at.checked_add(width).ok_or(Malformed)?;
    let of = bytes.get(at..end).ok_or(Malformed)?;
    let number = of
        .iter()
        .rev()
        .fold(0_u64, |n, byte| n << 8 | u64::from(*byte));
    let number = i32::try_from(number).map_err(|_| Malformed)?;
    usize::try_from(number).map_err(|_| Malformed)
}

/// A sum of places. Java's are 32 bits wide.
fn place(base: usize, count: usize, width: usize) -> Read<usize> {
    let place = count.checked_mul(width).and_then(|of| of.checked_add(base));
    place
        .filter(|place| i32::try_from(*place).is_ok())
        .ok_or(Malformed)
}

impl<'a> Variant<'a> {
    /// As it lies in rows: the length of the value, the value, the metadata.
    pub(crate) fn new(bytes: &'a [u8]) -> Read<Self> {
        let (value, metadata) = split(bytes)?;
        let header = metadata.first().ok_or(Malformed)?;
        if header & 0xf != 1 || value.len() > MAX_BYTES || metadata.len() > MAX_BYTES {
            return Err(Malformed);
        }
        Ok(Self {
            value,
            metadata,
            at: 0,
        })
    }

    /// A value in the making, whose names are not known yet.
    pub(super) fn of_value(value: &'a [u8], at: usize) -> Self {
        Self {
            value,
            metadata: &[],
            at,
        }
    }

    /// The name with a number.
    fn name(&self, id: usize) -> Read<&'a str> {
        let header = self.metadata.first().ok_or(Malformed)?;
        let width = usize::from(header >> 6) + 1;
        let names = unsigned(self.metadata, 1, width)?;
        if id >= names {
            return Err(Malformed);
        }
        let texts = place(1, names + 2, width)?;
        let offset = |id: usize| unsigned(self.metadata, place(1, id + 1, width)?, width);
        let (start, end) = (offset(id)?, offset(id + 1)?);
        let name = self
            .metadata
            .get(place(texts, start, 1)?..place(texts, end, 1)?);
        std::str::from_utf8(name.ok_or(Malformed)?).map_err(|_| Malformed)
    }

    fn head(&self) -> Read<(u8, u8)> {
        let head = self.value.get(self.at).ok_or(Malformed)?;
        Ok((head & 3, head >> 2))
    }

    /// So many bytes behind the first, but for some of them.
    fn bytes(&self, skip: usize, length: usize) -> Read<&'a [u8]> {
        let start = place(self.at, 1 + skip, 1)?;
        self.value
            .get(start..place(start, length, 1)?)
            .ok_or(Malformed)
    }

    fn array<const N: usize>(&self, skip: usize) -> Read<[u8; N]> {
        let bytes = self.bytes(skip, N)?.first_chunk();
        bytes.copied().ok_or(Malformed)
    }

    fn decimal(&self, unscaled: i128, most: u8) -> Read<Value<'a>> {
        let [scale] = self.array(0)?;
        if scale > most || digits(unscaled) > most {
            return Err(Malformed);
        }
        Ok(Value::Decimal(Digits::new(unscaled, scale)))
    }

    /// Bytes behind a length of four.
    fn counted(&self) -> Read<&'a [u8]> {
        let length = unsigned(self.value, place(self.at, 1, 1)?, 4)?;
        self.bytes(4, length)
    }

    /// What it is.
    pub(super) fn value(&self) -> Read<Value<'a>> {
        let (basic, of) = self.head()?;
        match basic {
            basic::SHORT_TEXT => text(self.bytes(0, of.into())?),
            basic::OBJECT => self.object(of).map(Value::Object),
            basic::ARRAY => self.elements(of).map(Value::Array),
            _ => self.primitive(of),
        }
    }

    fn primitive(&self, of: u8) -> Read<Value<'a>> {
        Ok(match of {
            primitive::NULL => Value::Null,
            primitive::TRUE => Value::Boolean(true),
            primitive::FALSE => Value::Boolean(false),
            primitive::INT1 => Value::Long(i8::from_le_bytes(self.array(0)?).into()),
            primitive::INT2 => Value::Long(i16::from_le_bytes(self.array(0)?).into()),
            primitive::INT4 => Value::Long(i32::from_le_bytes(self.array(0)?).into()),
            primitive::INT8 => Value::Long(i64::from_le_bytes(self.array(0)?)),
            primitive::DOUBLE => Value::Double(f64::from_le_bytes(self.array(0)?)),
            primitive::FLOAT => Value::Float(f32::from_le_bytes(self.array(0)?)),
            primitive::DECIMAL4 => self.decimal(i32::from_le_bytes(self.array(1)?).into(), 9)?,
            primitive::DECIMAL8 => self.decimal(i64::from_le_bytes(self.array(1)?).into(), 18)?,
            primitive::DECIMAL16 => self.decimal(i128::from_le_bytes(self.array(1)?), 38)?,
            primitive::DATE => Value::Date(i32::from_le_bytes(self.array(0)?)),
            primitive::TIMESTAMP => Value::Timestamp(i64::from_le_bytes(self.array(0)?)),
            primitive::TIMESTAMP_NTZ => Value::TimestampNtz(i64::from_le_bytes(self.array(0)?)),
            primitive::BINARY => Value::Binary(self.counted()?),
            primitive::LONG_TEXT => text(self.counted()?)?,
            // UUIDs, which nothing here writes, and what is not known.
            _ => return Err(Malformed),
        })
    }

    fn object(&self, of: u8) -> Read<Object<'a>> {
        let count_width = if of >> 4 & 1 == 1 { 4 } else { 1 };
        let size = unsigned(self.value, place(self.at, 1, 1)?, count_width)?;
        let (id_width, offset_width) = (usize::from(of >> 2 & 3) + 1, usize::from(of & 3) + 1);
        let ids = place(self.at, 1 + count_width, 1)?;
        let offsets = place(ids, size, id_width)?;
        Ok(Object {
            of: *self,
            size,
            ids,
            id_width,
            offsets,
            offset_width,
            data: place(offsets, size + 1, offset_width)?,
        })
    }

    fn elements(&self, of: u8) -> Read<Array<'a>> {
        let count_width = if of >> 2 & 1 == 1 { 4 } else { 1 };
        let size = unsigned(self.value, place(self.at, 1, 1)?, count_width)?;
        let offset_width = usize::from(of & 3) + 1;
        let offsets = place(self.at, 1 + count_width, 1)?;
        Ok(Array {
            of: *self,
            size,
            offsets,
            offset_width,
            data: place(offsets, size + 1, offset_width)?,
        })
    }

    /// The bytes of the value alone.
    pub(super) fn own_bytes(&self) -> Read<&'a [u8]> {
        let (basic, of) = self.head()?;
        let length = match (basic, of) {
            (basic::SHORT_TEXT, length) => 1 + usize::from(length),
            (basic::OBJECT, of) => {
                let object = self.object(of)?;
                object.data - self.at
                    + self.last(object.offsets, object.size, object.offset_width)?
            }
            (basic::ARRAY, of) => {
                let array = self.elements(of)?;
                array.data - self.at + self.last(array.offsets, array.size, array.offset_width)?
            }
            (_, of) => match of {
                primitive::NULL | primitive::TRUE | primitive::FALSE => 1,
                primitive::INT1 => 2,
                primitive::INT2 => 3,
                primitive::INT4 | primitive::DATE | primitive::FLOAT => 5,
                primitive::INT8
                | primitive::DOUBLE
                | primitive::TIMESTAMP
                | primitive::TIMESTAMP_NTZ => 9,
                primitive::DECIMAL4 => 6,
                primitive::DECIMAL8 => 10,
                primitive::DECIMAL16 => 18,
                primitive::BINARY | primitive::LONG_TEXT => 5 + self.counted()?.len(),
                primitive::UUID => 17,
                _ => return Err(Malformed),
            },
        };
        let end = place(self.at, length, 1)?;
        self.value.get(self.at..end).ok_or(Malformed)
    }

    /// Where the last part of an object or an array ends.
    fn last(&self, offsets: usize, size: usize, width: usize) -> Read<usize> {
        unsigned(self.value, place(offsets, size, width)?, width)
    }

    /// The whole value as it was made, as Spark copies it: from where it begins, if that is the beginning, to the end.
    pub(super) fn copied_bytes(&self) -> Read<&'a [u8]> {
        match self.at {
            0 => Ok(self.value),
            _ => self.own_bytes(),
        }
    }

    /// All names.
    pub(super) fn metadata(&self) -> &'a [u8] {
        self.metadata
    }

    fn part(&self, data: usize, offset: usize) -> Read<Self> {
        Ok(Self {
            at: place(data, offset, 1)?,
            ..*self
        })
    }
}

impl<'a> Object<'a> {
    pub(super) fn len(&self) -> usize {
        self.size
    }

    fn name(&self, at: usize) -> Read<&'a str> {
        let id = place(self.ids, at, self.id_width)?;
        self.of.name(unsigned(self.of.value, id, self.id_width)?)
    }

    fn value(&self, at: usize) -> Read<Variant<'a>> {
        let offset = place(self.offsets, at, self.offset_width)?;
        let offset = unsigned(self.of.value, offset, self.offset_width)?;
        self.of.part(self.data, offset)
    }

    /// The names and values of its fields, in their order.
    pub(super) fn fields(self) -> impl Iterator<Item = Read<(&'a str, Variant<'a>)>> {
        (0..self.size).map(move |at| Ok((self.name(at)?, self.value(at)?)))
    }

    /// The value with a name, found as Spark does.
    pub(super) fn get(&self, name: &str) -> Read<Option<Variant<'a>>> {
        if self.size < MANY_FIELDS {
            for at in 0..self.size {
                if self.name(at)? == name {
                    return self.value(at).map(Some);
                }
            }
            return Ok(None);
        }
        let (mut low, mut high) = (0, self.size);
        while low < high {
            let middle = usize::midpoint(low, high - 1);
            match java_order(self.name(middle)?, name) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
                std::cmp::Ordering::Equal => return self.value(middle).map(Some),
            }
        }
        Ok(None)
    }
}

impl<'a> Array<'a> {
    pub(super) fn len(&self) -> usize {
        self.size
    }

    /// The element at a place.
    pub(super) fn get(&self, at: usize) -> Read<Option<Variant<'a>>> {
        if at >= self.size {
            return Ok(None);
        }
        let offset = place(self.offsets, at, self.offset_width)?;
        let offset = unsigned(self.of.value, offset, self.offset_width)?;
        self.of.part(self.data, offset).map(Some)
    }

    pub(super) fn elements(self) -> impl Iterator<Item = Read<Variant<'a>>> {
        (0..self.size).map(move |at| self.get(at)?.ok_or(Malformed))
    }
}

fn text(bytes: &[u8]) -> Read<Value<'_>> {
    let text = std::str::from_utf8(bytes).map_err(|_| Malformed)?;
    Ok(Value::Text(text))
}

/// Value and metadata of a variant as it lies in rows.
pub(super) fn split(bytes: &[u8]) -> Read<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk().ok_or(Malformed)?;
    let length = usize::try_from(i32::from_le_bytes(*length)).map_err(|_| Malformed)?;
    rest.split_at_checked(length).ok_or(Malformed)
}

/// As Java compares strings: by their UTF-16.
pub(super) fn java_order(left: &str, right: &str) -> std::cmp::Ordering {
    left.encode_utf16().cmp(right.encode_utf16())
}
