//! Between message structs and Java object streams: what all messages share.

use crate::WireError;
use crate::version::spark_version;
use bytes::Bytes;
use javaser::types::{Body, BodyItem};
use javaser::{Catalog, Error, Limits, peek_class};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// Gives a message struct its Java class and its two directions.
macro_rules! message {
    ($type:ty, $class:literal) => {
        impl $type {
            /// The Java class.
            pub const CLASS: &str = $class;

            /// The Java object stream, with the class descriptors of this distribution.
            ///
            /// # Errors
            /// [`WireError::Unsupported`](crate::WireError::Unsupported) if the distribution does not have the class,
            /// or has a field that this message lacks.
            pub fn encode(&self, catalog: &javaser::Catalog) -> Result<Vec<u8>, crate::WireError> {
                $crate::messages::java::encode(self, $class, catalog)
            }

            /// Reads a Java object stream; fields are matched by name and unknown ones skipped.
            ///
            /// # Errors
            /// [`WireError`](crate::WireError) if the stream is damaged or holds another class.
            pub fn decode(content: &[u8]) -> Result<Self, crate::WireError> {
                $crate::messages::java::decode(content, $class)
            }
        }
    };
}
pub(crate) use message;

/// The stream of `value`; `class` names it in errors.
pub(crate) fn encode<T: Serialize + ?Sized>(
    value: &T,
    class: &'static str,
    catalog: &Catalog,
) -> Result<Vec<u8>, WireError> {
    javaser::to_vec(value, catalog).map_err(|error| match error {
        Error::MissingField {
            class,
            field,
            signature,
        } => WireError::Unsupported {
            class,
            version: spark_version(catalog),
            why: format!(
                "it has a field {field} of type {signature}, which this program does not know"
            ),
        },
        Error::Catalog(error) => WireError::Unsupported {
            class: class.to_owned(),
            version: spark_version(catalog),
            why: error.to_string(),
        },
        error => WireError::Unwritable {
            what: class,
            why: error.to_string(),
        },
    })
}

/// The value in a stream whose root object is of this class.
pub(crate) fn decode<T: DeserializeOwned>(
    content: &[u8],
    class: &'static str,
) -> Result<T, WireError> {
    check_class(content, class)?;
    decode_any(content, class)
}

/// Fails unless the root object is of this class.
pub(crate) fn check_class(content: &[u8], class: &'static str) -> Result<(), WireError> {
    match peek_class(content) {
        Some(found) if found == class => Ok(()),
        found => Err(WireError::UnexpectedClass {
            expected: class,
            found: found.unwrap_or("no object").to_owned(),
        }),
    }
}

/// Class of the root object; of a Scala `object` the module's.
pub(crate) fn class_of(content: &[u8]) -> Result<&str, WireError> {
    peek_class(content).ok_or_else(|| WireError::UnexpectedClass {
        expected: "a message",
        found: "no object".to_owned(),
    })
}

/// The value in a stream whose class the type itself checks; `what` names it in errors.
pub(crate) fn decode_any<T: DeserializeOwned>(content: &[u8], what: &str) -> Result<T, WireError> {
    decode_within(content, what, &Limits::default())
}

/// As [`decode_any`], with limits of its own.
pub(crate) fn decode_within<T: DeserializeOwned>(
    content: &[u8],
    what: &str,
    limits: &Limits,
) -> Result<T, WireError> {
    javaser::from_slice(content, limits).map_err(|error| WireError::Decode {
        class: what.to_owned(),
        why: error.to_string(),
    })
}

/// The primitive data of a body that holds no objects.
pub(crate) fn block_of(body: &Body, what: &'static str) -> Result<Vec<u8>, WireError> {
    let mut block = Vec::new();
    for item in body.items() {
        match item {
            BodyItem::Block(bytes) => block.extend_from_slice(bytes),
            BodyItem::Object(_) => {
                return Err(WireError::malformed(what, "an object among its data"));
            }
        }
    }
    Ok(block)
}

/// `org.apache.spark.util.SerializableBuffer`: `length i32 | bytes`.
#[derive(Serialize, Deserialize)]
#[serde(rename = "org.apache.spark.util.SerializableBuffer")]
pub(crate) struct SerializableBuffer {
    #[serde(rename = "$body")]
    body: Body,
}

impl SerializableBuffer {
    pub(crate) fn new(data: &[u8]) -> Result<Self, WireError> {
        let mut block = Vec::with_capacity(data.len() + 4);
        crate::codec::Write::put_bytes32(&mut block, "SerializableBuffer", data)?;
        Ok(Self {
            body: Body::new().bytes(&block),
        })
    }

    pub(crate) fn bytes(&self) -> Result<Bytes, WireError> {
        let block = Bytes::from(block_of(&self.body, "SerializableBuffer")?);
        let mut r = crate::codec::Reader::new(&block);
        let data = block.slice_ref(r.bytes32("SerializableBuffer")?);
        r.finish("SerializableBuffer")?;
        Ok(data)
    }
}

/// Serde form of a Java class with a custom body, for types whose `read` and `write` know the bytes.
macro_rules! external {
    ($type:ty, $class:literal, |$value:ident| $write:expr, |$block:ident| $read:expr) => {
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let $value = self;
                let block: Result<Vec<u8>, crate::WireError> = $write;
                let block = block.map_err(serde::ser::Error::custom)?;
                #[derive(serde::Serialize)]
                #[serde(rename = $class)]
                struct External {
                    #[serde(rename = "$body")]
                    body: javaser::types::Body,
                }
                serde::Serialize::serialize(
                    &External {
                        body: javaser::types::Body::new().bytes(&block),
                    },
                    serializer,
                )
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                #[derive(serde::Deserialize)]
                #[serde(rename = $class)]
                struct External {
                    #[serde(rename = "$body")]
                    body: javaser::types::Body,
                }
                let external = <External as serde::Deserialize>::deserialize(deserializer)?;
                let block = $crate::messages::java::block_of(&external.body, $class)
                    .map_err(serde::de::Error::custom)?;
                let $block = &block[..];
                let value: Result<Self, crate::WireError> = $read;
                value.map_err(serde::de::Error::custom)
            }
        }
    };
}
pub(crate) use external;

/// A `byte[]` field as a vector.
pub(crate) mod byte_array {
    use javaser::types::JavaBytes;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(bytes)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<u8>, D::Error> {
        JavaBytes::deserialize(deserializer).map(|bytes| bytes.0)
    }
}
