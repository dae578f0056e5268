use std::fmt;
use std::marker::PhantomData;

use serde::de::{self, Deserializer, EnumAccess, SeqAccess, VariantAccess, Visitor};
use serde::ser::Serializer;
use serde::{Deserialize, Serialize};

use super::{BytesRef, JavaBytes, Raw, magic};
use crate::{Error, mutf8};

/// What a custom `writeObject` or `writeExternal` writes: primitive data and objects in order.
///
/// Built like a `java.io.DataOutput`, read with [`Body::reader`] like a `DataInput`:
/// ```
/// # use javaser::types::Body;
/// let body: Body = Body::new().utf("driver").utf("localhost").i32(7078).bool(false);
/// let mut r = body.reader();
/// assert_eq!(r.utf().unwrap(), "driver");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Body<O = Raw> {
    items: Vec<BodyItem<O>>,
}

/// One item of a [`Body`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(clippy::exhaustive_enums)]
pub enum BodyItem<O = Raw> {
    /// Primitive data; neighbouring blocks are one.
    Block(Vec<u8>),
    /// An object or `null`.
    Object(O),
}

impl<O> Default for Body<O> {
    fn default() -> Self {
        Self { items: Vec::new() }
    }
}

impl<O> Body<O> {
    /// An empty body.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends bytes as they are.
    #[must_use]
    pub fn bytes(mut self, bytes: &[u8]) -> Self {
        match self.items.last_mut() {
            Some(BodyItem::Block(block)) => block.extend_from_slice(bytes),
            _ => self.items.push(BodyItem::Block(bytes.to_vec())),
        }
        self
    }

    /// `writeByte`
    #[must_use]
    pub fn u8(self, v: u8) -> Self {
        self.bytes(&[v])
    }

    /// `writeBoolean`
    #[must_use]
    pub fn bool(self, v: bool) -> Self {
        self.u8(v.into())
    }

    /// `writeInt`
    #[must_use]
    pub fn i32(self, v: i32) -> Self {
        self.bytes(&v.to_be_bytes())
    }

    /// `writeLong`
    #[must_use]
    pub fn i64(self, v: i64) -> Self {
        self.bytes(&v.to_be_bytes())
    }

    /// `writeDouble`
    #[must_use]
    pub fn f64(self, v: f64) -> Self {
        self.bytes(&v.to_be_bytes())
    }

    /// `writeUTF`. Java's limit is 65535 bytes; longer texts are cut at a character, as this is what the reader of a
    /// host name or block id can still make sense of.
    #[must_use]
    pub fn utf(self, text: &str) -> Self {
        let mut end = text.len();
        let mut encoded = mutf8::encode(text);
        while encoded.len() > 0xFFFF {
            end = text.floor_char_boundary(end.min(0x1_0000 + 3) - 1);
            encoded = mutf8::encode(text.get(..end).unwrap_or_default());
        }
        self.bytes(&(encoded.len() as u16).to_be_bytes())
            .bytes(&encoded)
    }

    /// `writeObject`
    #[must_use]
    pub fn object(mut self, object: O) -> Self {
        self.items.push(BodyItem::Object(object));
        self
    }

    /// The items.
    #[must_use]
    pub fn items(&self) -> &[BodyItem<O>] {
        &self.items
    }

    /// Reads from the start.
    #[must_use]
    pub fn reader(&self) -> BodyReader<'_, O> {
        BodyReader {
            block: &[],
            items: &self.items,
        }
    }
}

/// Reads a [`Body`] like a `java.io.ObjectInput`.
#[derive(Debug, Clone)]
pub struct BodyReader<'a, O = Raw> {
    block: &'a [u8],
    items: &'a [BodyItem<O>],
}

impl<'a, O> BodyReader<'a, O> {
    fn fixed<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        self.bytes(N)?.try_into().map_err(|_| Error::Truncated {
            at: 0,
            needed: N as u64,
        })
    }

    /// `readFully` of so many bytes.
    ///
    /// # Errors
    /// [`Error::Truncated`] if the primitive data ends before; `at` is not known there.
    pub fn bytes(&mut self, len: usize) -> Result<&'a [u8], Error> {
        if let ([], [BodyItem::Block(block), rest @ ..]) = (self.block, self.items) {
            (self.block, self.items) = (block, rest);
        }
        let Some((head, tail)) = self.block.split_at_checked(len) else {
            return Err(Error::Truncated {
                at: 0,
                needed: (len - self.block.len()) as u64,
            });
        };
        self.block = tail;
        Ok(head)
    }

    /// `readByte`
    ///
    /// # Errors
    /// As [`BodyReader::bytes`].
    pub fn u8(&mut self) -> Result<u8, Error> {
        self.fixed().map(u8::from_be_bytes)
    }

    /// `readBoolean`
    ///
    /// # Errors
    /// As [`BodyReader::bytes`].
    pub fn bool(&mut self) -> Result<bool, Error> {
        self.u8().map(|b| b != 0)
    }

    /// `readInt`
    ///
    /// # Errors
    /// As [`BodyReader::bytes`].
    pub fn i32(&mut self) -> Result<i32, Error> {
        self.fixed().map(i32::from_be_bytes)
    }

    /// `readLong`
    ///
    /// # Errors
    /// As [`BodyReader::bytes`].
    pub fn i64(&mut self) -> Result<i64, Error> {
        self.fixed().map(i64::from_be_bytes)
    }

    /// `readDouble`
    ///
    /// # Errors
    /// As [`BodyReader::bytes`].
    pub fn f64(&mut self) -> Result<f64, Error> {
        self.fixed().map(f64::from_be_bytes)
    }

    /// `readUTF`
    ///
    /// # Errors
    /// As [`BodyReader::bytes`]; [`Error::BadString`].
    pub fn utf(&mut self) -> Result<String, Error> {
        let len = u16::from_be_bytes(self.fixed()?);
        let bytes = self.bytes(len.into())?;
        if !mutf8::is_valid(bytes) {
            return Err(Error::BadString { at: 0 });
        }
        Ok(mutf8::decode_lossy(bytes).into_owned())
    }

    /// `readObject`
    ///
    /// # Errors
    /// [`Error::WrongType`] if primitive data or nothing comes next.
    pub fn object(&mut self) -> Result<&'a O, Error> {
        match (self.block, self.items) {
            ([], [BodyItem::Object(object), rest @ ..]) => {
                self.items = rest;
                Ok(object)
            }
            _ => Err(Error::WrongType {
                context: "writeObject data".to_owned(),
                why: "an object was expected".to_owned(),
            }),
        }
    }

    /// Primitive data left in front of the next object or the end.
    #[must_use]
    pub fn remaining_bytes(&self) -> usize {
        match (self.block, self.items) {
            ([], [BodyItem::Block(block), ..]) => block.len(),
            (block, _) => block.len(),
        }
    }
}

impl<O: Serialize> Serialize for Body<O> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_newtype_struct(magic::BODY, &self.items)
    }
}

impl<O: Serialize> Serialize for BodyItem<O> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Block(bytes) => {
                serializer.serialize_newtype_variant(magic::BODY_ITEM, 0, "Block", &BytesRef(bytes))
            }
            Self::Object(object) => {
                serializer.serialize_newtype_variant(magic::BODY_ITEM, 1, "Object", object)
            }
        }
    }
}

impl<'de, O: Deserialize<'de>> Deserialize<'de> for Body<O> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Items<O>(PhantomData<O>);
        impl<'de, O: Deserialize<'de>> Visitor<'de> for Items<O> {
            type Value = Body<O>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the data of a writeObject or writeExternal")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Body<O>, A::Error> {
                let mut body = Body::new();
                while let Some(item) = seq.next_element()? {
                    match item {
                        BodyItem::Block(bytes) => body = body.bytes(&bytes),
                        BodyItem::Object(object) => body = body.object(object),
                    }
                }
                Ok(body)
            }
        }
        deserializer.deserialize_newtype_struct(magic::BODY, Items(PhantomData))
    }
}

impl<'de, O: Deserialize<'de>> Deserialize<'de> for BodyItem<O> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Item<O>(PhantomData<O>);
        impl<'de, O: Deserialize<'de>> Visitor<'de> for Item<O> {
            type Value = BodyItem<O>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("block data or an object")
            }

            fn visit_enum<A: EnumAccess<'de>>(self, data: A) -> Result<BodyItem<O>, A::Error> {
                let (kind, item) = data.variant::<String>()?;
                match kind.as_str() {
                    "Block" => item
                        .newtype_variant::<JavaBytes>()
                        .map(|b| BodyItem::Block(b.0)),
                    "Object" => item.newtype_variant().map(BodyItem::Object),
                    _ => Err(de::Error::unknown_variant(&kind, &["Block", "Object"])),
                }
            }
        }
        deserializer.deserialize_enum(magic::BODY_ITEM, &["Block", "Object"], Item(PhantomData))
    }
}
