//! Kryo's format, as far as Spark's own values need it: [graphs of objects](KryoGraph) are written, and rows and
//! batches are read from [what it wrote](KryoInput).

mod graph;
mod input;

pub use graph::{ArrayLength, KryoGraph};
pub use input::{KryoInput, last_unsafe_rows, length_of_sequence, unsafe_rows};

/// The settings that change what Kryo writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KryoForm {
    /// `spark.kryo.unsafe`: numbers have their fixed width, little-endian. Otherwise those of classes that write
    /// themselves are big-endian, and fields have as many bytes as they need.
    pub fixed_width: bool,
    /// `spark.kryo.referenceTracking`: what may be referred to again has a mark before it.
    pub references: bool,
}

impl Default for KryoForm {
    fn default() -> Self {
        Self {
            fixed_width: true,
            references: true,
        }
    }
}

/// Class ids plus two, as Kryo and Spark's `KryoSerializer` register them, the same in Spark 3.5 to 4.3.
pub mod tag {
    /// `null`
    pub const NULL: u8 = 0;
    /// `java.lang.Integer`
    pub const INT: u8 = 0x02;
    /// `java.lang.String`
    pub const STRING: u8 = 0x03;
    /// `java.lang.Float`
    pub const FLOAT: u8 = 0x04;
    /// `java.lang.Boolean`
    pub const BOOLEAN: u8 = 0x05;
    /// `java.lang.Byte`
    pub const BYTE: u8 = 0x06;
    /// `java.lang.Character`
    pub const CHAR: u8 = 0x07;
    /// `java.lang.Short`
    pub const SHORT: u8 = 0x08;
    /// `java.lang.Long`
    pub const LONG: u8 = 0x09;
    /// `java.lang.Double`
    pub const DOUBLE: u8 = 0x0a;
    /// `java.nio.HeapByteBuffer`
    pub const HEAP_BYTE_BUFFER: u8 = 0x0c;
    /// `java.nio.ByteBuffer[]`
    pub const BYTE_BUFFERS: u8 = 0x0d;
    /// Spark's `CompressedMapStatus`
    pub const COMPRESSED_MAP_STATUS: u8 = 0x0f;
    /// Spark's `HighlyCompressedMapStatus`
    pub const HIGHLY_COMPRESSED_MAP_STATUS: u8 = 0x10;
    /// Spark's `ChunkedByteBuffer`
    pub const CHUNKED_BYTE_BUFFER: u8 = 0x11;
    /// Spark's `BlockManagerId`
    pub const BLOCK_MANAGER_ID: u8 = 0x13;
    /// `byte[]`
    pub const BYTES: u8 = 0x15;
    /// `org.roaringbitmap.RoaringBitmap`
    pub const ROARING_BITMAP: u8 = 0x23;
}

/// What stands before an object that was not written before, where there are references.
pub const NEW_OBJECT: u8 = 1;

impl KryoForm {
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

    pub(super) fn put_long(self, out: &mut Vec<u8>, value: i64) {
        if self.fixed_width {
            out.extend_from_slice(&value.to_le_bytes());
        } else {
            put_var_long(out, ((value << 1) ^ (value >> 63)).cast_unsigned());
        }
    }

    pub(super) fn put_int(self, out: &mut Vec<u8>, value: i32) {
        if self.fixed_width {
            out.extend_from_slice(&value.to_le_bytes());
        } else {
            put_var(out, ((value << 1) ^ (value >> 31)).cast_unsigned().into());
        }
    }

    pub(super) fn put_new(self, out: &mut Vec<u8>) {
        if self.references {
            out.push(NEW_OBJECT);
        }
    }
}

/// Seven bits to a byte, lowest first; the highest bit says that more follow.
pub(super) fn put_var(out: &mut Vec<u8>, mut value: u64) {
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
pub(super) fn put_text(out: &mut Vec<u8>, value: &[u8]) {
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
