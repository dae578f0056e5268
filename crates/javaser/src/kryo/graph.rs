//! Graphs of objects of any class in Kryo's format, for results of tasks under `spark.serializer=KryoSerializer`.
//!
//! Classes are named. Kryo writes numbers instead for those that are registered, but the numbers depend on the class
//! path and on what an application registers, and every reader takes a name too: `1`, the number of the name, and at
//! its first use the name. No object is written as a reference to an earlier one.

use super::{KryoForm, NEW_OBJECT, put_text, put_var, tag};

/// What stands for a class that is named.
const NAMED: u8 = 1;
/// Bytes of each buffer of a `ChunkedByteBuffer` at most.
const CHUNK: usize = 1 << 20;
/// Bytes of a number that is filled in later.
const LATER: usize = 5;

/// Writes one graph.
#[derive(Debug)]
pub struct KryoGraph {
    form: KryoForm,
    out: Vec<u8>,
    /// Names that are in the stream, in the order of their numbers.
    names: Vec<&'static str>,
}

/// Where the length of an array is to be filled in.
#[derive(Debug)]
pub struct ArrayLength(usize);

impl KryoGraph {
    /// An empty stream.
    pub fn new(form: KryoForm) -> Self {
        Self {
            form,
            out: Vec::new(),
            names: Vec::new(),
        }
    }

    /// The bytes.
    pub fn finish(self) -> Vec<u8> {
        self.out
    }

    /// Begins an object of a class; its fields follow.
    pub fn object(&mut self, class: &'static str) {
        self.out.push(NAMED);
        match self.names.iter().position(|name| *name == class) {
            Some(known) => put_var(&mut self.out, known as u64),
            None => {
                put_var(&mut self.out, self.names.len() as u64);
                put_text(&mut self.out, class.as_bytes());
                self.names.push(class);
            }
        }
        self.new_object();
    }

    /// Begins an array of objects; its elements follow.
    pub fn array(&mut self, class: &'static str) -> ArrayLength {
        self.object(class);
        let at = self.out.len();
        self.out.extend_from_slice(&[0; LATER]);
        ArrayLength(at)
    }

    /// Fills in how many elements the array has, at most 2^31 - 2.
    pub fn set_length(&mut self, length: ArrayLength, elements: u32) {
        // Null would be 0. A number may be longer than it needs to be.
        let mut value = u64::from(elements) + 1;
        let slots = self.out.get_mut(length.0..length.0 + LATER);
        for (index, slot) in slots.into_iter().flatten().enumerate() {
            let more = if index + 1 < LATER { 0x80 } else { 0 };
            *slot = (value & 0x7f) as u8 | more;
            value >>= 7;
        }
    }

    /// `null` in the place of an object of any class, or of one that is expected there.
    pub fn null(&mut self) {
        self.form.write_null(&mut self.out);
    }

    /// A `byte[]` where an object of any class may be.
    pub fn any_bytes(&mut self, value: &[u8]) {
        self.form.write_bytes(&mut self.out, value);
    }

    /// A `java.lang.String` where an object of any class may be.
    pub fn any_text(&mut self, value: &[u8]) {
        self.form.write_text(&mut self.out, value);
    }

    /// A `java.lang.Integer` where an object of any class may be.
    pub fn any_int(&mut self, value: i32) {
        self.form.write_int(&mut self.out, value);
    }

    /// A `java.lang.Long` where an object of any class may be.
    pub fn any_long(&mut self, value: i64) {
        self.form.write_long(&mut self.out, value);
    }

    /// A `java.lang.Byte` where an object of any class may be.
    pub fn any_byte(&mut self, value: u8) {
        self.out.extend_from_slice(&[tag::BYTE, value]);
    }

    /// A `java.lang.Short` where an object of any class may be.
    pub fn any_short(&mut self, value: i16) {
        self.out.push(tag::SHORT);
        self.own(value.to_le_bytes());
    }

    /// A `java.lang.Float` where an object of any class may be.
    pub fn any_float(&mut self, value: f32) {
        self.out.push(tag::FLOAT);
        self.own(value.to_le_bytes());
    }

    /// A `java.lang.Double` where an object of any class may be.
    pub fn any_double(&mut self, value: f64) {
        self.out.push(tag::DOUBLE);
        self.own(value.to_le_bytes());
    }

    /// A `java.lang.Boolean` where an object of any class may be.
    pub fn any_boolean(&mut self, value: bool) {
        self.out.extend_from_slice(&[tag::BOOLEAN, value.into()]);
    }

    /// A `byte[]` where nothing else can be.
    pub fn bytes(&mut self, value: &[u8]) {
        self.new_object();
        put_var(&mut self.out, value.len() as u64 + 1);
        self.out.extend_from_slice(value);
    }

    /// A `java.lang.String` where nothing else can be.
    pub fn text(&mut self, value: &[u8]) {
        self.new_object();
        put_text(&mut self.out, value);
    }

    /// `null` where a `java.lang.String` is expected.
    pub fn null_text(&mut self) {
        // Without references it is a length of its own.
        self.out.push(if self.form.references { 0 } else { 0x80 });
    }

    /// An `int` field.
    pub fn int(&mut self, value: i32) {
        self.form.put_int(&mut self.out, value);
    }

    /// A `long` field.
    pub fn long(&mut self, value: i64) {
        self.form.put_long(&mut self.out, value);
    }

    /// A number of elements as serializers of collections write it.
    pub fn count(&mut self, value: u32) {
        match self.form.fixed_width {
            true => self.out.extend_from_slice(&value.to_le_bytes()),
            false => put_var(&mut self.out, value.into()),
        }
    }

    /// Bytes of a primitive type that a class writes itself, given in little-endian order: Kryo's fast streams reverse
    /// what such classes have reversed before.
    pub fn reversed<const N: usize>(&mut self, mut little_endian: [u8; N]) {
        if self.form.fixed_width {
            little_endian.reverse();
        }
        self.out.extend_from_slice(&little_endian);
    }

    /// The digits of a `java.math.BigDecimal`, as many bytes as they need.
    pub fn digits(&mut self, value: i128) {
        let bytes = value.to_be_bytes();
        let sign = if value < 0 { 0xff } else { 0 };
        // A byte that only repeats the sign is left out.
        let needless = bytes.windows(2).take_while(|pair| match pair {
            [first, second] => *first == sign && (first ^ second) & 0x80 == 0,
            _ => false,
        });
        let digits = bytes.get(needless.count()..).unwrap_or(&bytes);
        put_var(&mut self.out, digits.len() as u64 + 1);
        self.out.extend_from_slice(digits);
    }

    /// Begins a `byte[][]` where nothing else can be; so many [arrays](Self::bytes) follow.
    pub fn arrays(&mut self, count: u32) {
        self.new_object();
        put_var(&mut self.out, u64::from(count) + 1);
    }

    /// Begins an element whose class the array's says: with a mark that it is not null, if with no other.
    pub fn element(&mut self) {
        self.out.push(NEW_OBJECT);
    }

    /// An `int` that a class writes itself.
    pub fn own_int(&mut self, value: i32) {
        self.own(value.to_le_bytes());
    }

    /// Bytes that a class writes itself.
    pub fn raw(&mut self, bytes: &[u8]) {
        self.out.extend_from_slice(bytes);
    }

    /// A `ChunkedByteBuffer` of at most 2 GiB, with its fields and those of the `HeapByteBuffer`s in it, as JDK 17 and
    /// 21 have them, in the order of their names.
    pub fn chunked_bytes(&mut self, bytes: &[u8]) {
        let length = |bytes: &[u8]| i32::try_from(bytes.len()).unwrap_or(i32::MAX);
        self.registered(tag::CHUNKED_BYTE_BUFFER);
        self.long(length(bytes).into());
        // bufferWriteChunkSize
        self.int(64 << 20);
        let chunks = bytes.chunks(CHUNK);
        self.registered(tag::BYTE_BUFFERS);
        put_var(&mut self.out, chunks.len() as u64 + 1);
        for chunk in chunks {
            self.registered(tag::HEAP_BYTE_BUFFER);
            // address: where the bytes of an array begin
            self.long(16);
            // bigEndian
            self.out.push(1);
            // capacity
            self.int(length(chunk));
            // hb
            self.bytes(chunk);
            // isReadOnly
            self.out.push(0);
            // limit
            self.int(length(chunk));
            // mark
            self.int(-1);
            // nativeByteOrder
            self.out.push(0);
            // offset
            self.int(0);
            // position
            self.int(0);
            // segment
            self.null();
        }
        // disposed
        self.out.push(0);
    }

    /// A registered class, whose number is the same everywhere, and the beginning of an object of it.
    pub fn registered(&mut self, tag: u8) {
        self.out.push(tag);
        self.new_object();
    }

    /// A value of fixed width, given in little-endian order.
    fn own<const N: usize>(&mut self, mut little_endian: [u8; N]) {
        if !self.form.fixed_width {
            little_endian.reverse();
        }
        self.out.extend_from_slice(&little_endian);
    }

    fn new_object(&mut self) {
        if self.form.references {
            self.out.push(NEW_OBJECT);
        }
    }
}
