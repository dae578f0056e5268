//! Variants in the making, byte for byte as Spark's `VariantBuilder` makes them.

use std::collections::HashMap;

use super::format::{
    self, Left, MAX_DEPTH, Malformed, Read, Value, Variant, basic, java_order, primitive,
};

/// Texts of at most so many bytes have their length in the first byte.
const SHORT_TEXT: usize = 63;

/// Longest value or metadata that is made: what is longer is left to Spark, whose limits depend on where it runs.
const MOST: usize = 8 << 20;

/// Why there is no variant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// Spark has none either.
    None,
    /// Spark may have one.
    Unknown,
}

impl From<Malformed> for Fault {
    fn from(Malformed: Malformed) -> Self {
        Self::Unknown
    }
}

/// A value in the making, and its names.
#[derive(Debug, Default)]
pub(super) struct Builder {
    value: Vec<u8>,
    ids: HashMap<Box<str>, u32>,
    names: Vec<u8>,
    /// Where each name ends.
    ends: Vec<u32>,
}

/// A field of an object in the making.
#[derive(Debug, Clone)]
pub(super) struct Field<'n> {
    name: std::borrow::Cow<'n, str>,
    id: u32,
    offset: usize,
}

impl Builder {
    /// Forgets what was built.
    pub(super) fn clear(&mut self) {
        self.value.clear();
        self.ids.clear();
        self.names.clear();
        self.ends.clear();
    }

    /// Where the next value begins.
    pub(super) fn position(&self) -> usize {
        self.value.len()
    }

    /// The variant as it lies in rows.
    pub(super) fn finish(&self) -> Result<Vec<u8>, Fault> {
        let count = self.ends.len();
        let width = width_of(self.names.len().max(count));
        let metadata = 1 + (count + 2) * width + self.names.len();
        if self.value.len() > MOST || metadata > MOST {
            return Err(Fault::Unknown);
        }
        let mut out = Vec::with_capacity(4 + self.value.len() + metadata);
        put(&mut out, self.value.len(), 4);
        out.extend_from_slice(&self.value);
        // The version, and the width of offsets.
        out.push(1 | ((width - 1) as u8) << 6);
        put(&mut out, count, width);
        put(&mut out, 0, width);
        for end in &self.ends {
            put(&mut out, *end as usize, width);
        }
        out.extend_from_slice(&self.names);
        Ok(out)
    }

    /// Another part, unless there are too many already.
    fn check(&self) -> Result<(), Fault> {
        match self.value.len() > MOST || self.names.len() > MOST {
            true => Err(Fault::Unknown),
            false => Ok(()),
        }
    }

    fn primitive(&mut self, of: u8, bytes: &[u8]) {
        self.value.push(of << 2 | basic::PRIMITIVE);
        self.value.extend_from_slice(bytes);
    }

    pub(super) fn null(&mut self) {
        self.primitive(primitive::NULL, &[]);
    }

    pub(super) fn boolean(&mut self, value: bool) {
        let of = if value {
            primitive::TRUE
        } else {
            primitive::FALSE
        };
        self.primitive(of, &[]);
    }

    pub(super) fn long(&mut self, value: i64) {
        if let Ok(value) = i8::try_from(value) {
            self.primitive(primitive::INT1, &value.to_le_bytes());
        } else if let Ok(value) = i16::try_from(value) {
            self.primitive(primitive::INT2, &value.to_le_bytes());
        } else if let Ok(value) = i32::try_from(value) {
            self.primitive(primitive::INT4, &value.to_le_bytes());
        } else {
            self.primitive(primitive::INT8, &value.to_le_bytes());
        }
    }

    pub(super) fn double(&mut self, value: f64) {
        // As `doubleToLongBits`, which knows one NaN.
        let value = if value.is_nan() { f64::NAN } else { value };
        self.primitive(primitive::DOUBLE, &value.to_bits().to_le_bytes());
    }

    pub(super) fn float(&mut self, value: f32) {
        let value = if value.is_nan() { f32::NAN } else { value };
        self.primitive(primitive::FLOAT, &value.to_bits().to_le_bytes());
    }

    /// A decimal of at most 38 digits, and as many behind the point.
    pub(super) fn decimal(&mut self, unscaled: i128, scale: u8) {
        let most = format::digits(unscaled).max(scale);
        // They fit: they have so many digits at most.
        let (of, length) = match most {
            0..=9 => (primitive::DECIMAL4, 4),
            10..=18 => (primitive::DECIMAL8, 8),
            _ => (primitive::DECIMAL16, 16),
        };
        self.primitive(of, &[scale]);
        let bytes = unscaled.to_le_bytes();
        self.value.extend(bytes.iter().take(length));
    }

    pub(super) fn date(&mut self, days: i32) {
        self.primitive(primitive::DATE, &days.to_le_bytes());
    }

    pub(super) fn timestamp(&mut self, micros: i64) {
        self.primitive(primitive::TIMESTAMP, &micros.to_le_bytes());
    }

    pub(super) fn timestamp_ntz(&mut self, micros: i64) {
        self.primitive(primitive::TIMESTAMP_NTZ, &micros.to_le_bytes());
    }

    pub(super) fn binary(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        let length = u32::try_from(bytes.len()).map_err(|_| Fault::Unknown)?;
        self.primitive(primitive::BINARY, &length.to_le_bytes());
        self.value.extend_from_slice(bytes);
        self.check()
    }

    pub(super) fn text(&mut self, text: &str) -> Result<(), Fault> {
        match u8::try_from(text.len()) {
            Ok(length) if text.len() <= SHORT_TEXT => {
                self.value.push(length << 2 | basic::SHORT_TEXT);
            }
            _ => {
                let length = u32::try_from(text.len()).map_err(|_| Fault::Unknown)?;
                self.primitive(primitive::LONG_TEXT, &length.to_le_bytes());
            }
        }
        self.value.extend_from_slice(text.as_bytes());
        self.check()
    }

    /// A field whose value is next, of an object that begins at `start`.
    pub(super) fn field<'n>(
        &mut self,
        start: usize,
        name: impl Into<std::borrow::Cow<'n, str>>,
    ) -> Result<Field<'n>, Fault> {
        self.check()?;
        let name = name.into();
        let id = match self.ids.get(&*name) {
            Some(id) => *id,
            None => {
                let id = u32::try_from(self.ends.len()).map_err(|_| Fault::Unknown)?;
                self.ids.insert(name.as_ref().into(), id);
                self.names.extend_from_slice(name.as_bytes());
                let end = u32::try_from(self.names.len());
                self.ends.push(end.map_err(|_| Fault::Unknown)?);
                id
            }
        };
        Ok(Field {
            name,
            id,
            offset: self.value.len() - start,
        })
    }

    /// Ends an object whose fields' values begin at `start`. With `repeated` the last of several fields of a name
    /// counts, without it there may be one only.
    pub(super) fn object(
        &mut self,
        start: usize,
        mut fields: Vec<Field<'_>>,
        repeated: bool,
    ) -> Result<(), Fault> {
        self.check()?;
        fields.sort_by(|a, b| java_order(&a.name, &b.name));
        let mut most_id = fields.first().map_or(0, |field| field.id);
        for field in &fields {
            most_id = most_id.max(field.id);
        }
        let before = fields.len();
        fields.dedup_by(|next, kept| {
            let same = next.id == kept.id;
            if same && kept.offset < next.offset {
                kept.offset = next.offset;
            }
            same
        });
        if fields.len() < before {
            if !repeated {
                return Err(Fault::None);
            }
            self.drop_others(start, &mut fields)?;
        }
        let data = self.value.len() - start;
        let (id_width, offset_width) = (width_of(most_id as usize), width_of(data));
        let large = fields.len() > 255;
        let mut head = vec![
            u8::from(large) << 6
                | ((id_width - 1) as u8) << 4
                | ((offset_width - 1) as u8) << 2
                | basic::OBJECT,
        ];
        put(&mut head, fields.len(), if large { 4 } else { 1 });
        for field in &fields {
            put(&mut head, field.id as usize, id_width);
        }
        for field in &fields {
            put(&mut head, field.offset, offset_width);
        }
        put(&mut head, data, offset_width);
        self.value.splice(start..start, head);
        self.check()
    }

    /// Leaves no values but those of the fields, in the order in which they were made.
    fn drop_others(&mut self, start: usize, fields: &mut [Field<'_>]) -> Result<(), Fault> {
        let mut places: Vec<_> = fields.iter_mut().collect();
        places.sort_by_key(|field| field.offset);
        let mut end = start;
        for field in places {
            let from = start + field.offset;
            let length = Variant::of_value(&self.value, from).own_bytes()?.len();
            self.value.copy_within(from..from + length, end);
            field.offset = end - start;
            end += length;
        }
        self.value.truncate(end);
        Ok(())
    }

    /// Ends an array whose elements begin at `start`, each at an offset from there.
    pub(super) fn array(&mut self, start: usize, offsets: &[usize]) -> Result<(), Fault> {
        self.check()?;
        let data = self.value.len() - start;
        let width = width_of(data);
        let large = offsets.len() > 255;
        let mut head = vec![u8::from(large) << 4 | ((width - 1) as u8) << 2 | basic::ARRAY];
        put(&mut head, offsets.len(), if large { 4 } else { 1 });
        for offset in offsets {
            put(&mut head, *offset, width);
        }
        put(&mut head, data, width);
        self.value.splice(start..start, head);
        self.check()
    }

    /// A value of another variant, with its names.
    pub(super) fn variant(&mut self, of: Variant<'_>) -> Result<(), Fault> {
        self.variant_in(of, MAX_DEPTH, &mut Left::of(of))
    }

    fn variant_in(&mut self, of: Variant<'_>, depth: usize, left: &mut Left) -> Result<(), Fault> {
        let depth = depth.checked_sub(1).ok_or(Fault::Unknown)?;
        left.take(of)?;
        // Texts of objects and arrays only have to be Unicode here.
        let value: Read<Value<'_>> = of.value();
        match value {
            Ok(Value::Object(object)) => {
                let start = self.position();
                let mut fields = Vec::new();
                for field in object.fields() {
                    let (name, value) = field?;
                    fields.push(self.field(start, name)?);
                    self.variant_in(value, depth, left)?;
                }
                // Names that are there twice are an error of Spark's, but for which words.
                self.object(start, fields, false)
                    .map_err(|_| Fault::Unknown)
            }
            Ok(Value::Array(array)) => {
                let start = self.position();
                let mut offsets = Vec::new();
                for element in array.elements() {
                    offsets.push(self.position() - start);
                    self.variant_in(element?, depth, left)?;
                }
                self.array(start, &offsets)
            }
            Ok(_) => {
                self.value.extend_from_slice(of.own_bytes()?);
                self.check()
            }
            Err(malformed) => Err(malformed.into()),
        }
    }
}

/// Bytes that a number takes.
fn width_of(most: usize) -> usize {
    match most {
        0..=0xff => 1,
        0x100..=0xffff => 2,
        0x1_0000..=0xff_ffff => 3,
        _ => 4,
    }
}

/// Appends a number of so many bytes.
fn put(out: &mut Vec<u8>, number: usize, width: usize) {
    out.extend(number.to_le_bytes().iter().take(width));
}
