//! What serde's data model lacks: values for [`crate::to_vec`] and [`crate::from_slice`].

mod body;

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{self, Deserializer, MapAccess, Visitor};
use serde::ser::{SerializeStruct, Serializer};
use serde::{Deserialize, Serialize};

pub use body::{Body, BodyItem, BodyReader};

/// Names by which the wrappers are known to this crate's serializer and deserializer.
pub(crate) mod magic {
    pub(crate) const OPTION: &str = "$javaser::ScalaOption";
    pub(crate) const MODULE: &str = "$javaser::ScalaModule";
    pub(crate) const RAW: &str = "$javaser::Raw";
    pub(crate) const BODY: &str = "$javaser::Body";
    pub(crate) const BODY_ITEM: &str = "$javaser::BodyItem";
    pub(crate) const TYPED: &str = "$javaser::Typed";
    pub(crate) const JAVA_ENUM: &str = "$javaser::JavaEnum";
    pub(crate) const SCALA_ENUM: &str = "$javaser::ScalaEnumeration";
    pub(crate) const EXTERNAL: &str = "$javaser::External";
    pub(crate) const THROWABLE: &str = "$javaser::Throwable";
    /// Field of a struct that holds what `writeObject` or `writeExternal` writes; `$body@CLASS` for a super class's.
    pub(crate) const BODY_FIELD: &str = "$body";
}

/// A Scala `Option`.
///
/// A plain `Option` in a field that Java declares as `scala.Option` is written as a Scala `Option` too; elsewhere it
/// is `null` or the value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
#[allow(clippy::exhaustive_enums)]
pub enum ScalaOption<T> {
    /// `scala.None`
    #[default]
    None,
    /// `scala.Some`
    Some(T),
}

impl<T> From<Option<T>> for ScalaOption<T> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::None, Self::Some)
    }
}

impl<T> From<ScalaOption<T>> for Option<T> {
    fn from(value: ScalaOption<T>) -> Self {
        match value {
            ScalaOption::None => None,
            ScalaOption::Some(v) => Some(v),
        }
    }
}

impl<T> ScalaOption<T> {
    /// The value, if there is one.
    #[must_use]
    pub fn as_ref(&self) -> Option<&T> {
        match self {
            Self::None => None,
            Self::Some(v) => Some(v),
        }
    }
}

impl<T: Serialize> Serialize for ScalaOption<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_newtype_struct(magic::OPTION, &self.as_ref())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for ScalaOption<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Option::deserialize(deserializer).map(Self::from)
    }
}

/// A Scala `object` (module), by the name of its class, which ends in `$`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct ScalaModule {
    /// Class name, for example `org.apache.spark.shuffle.sort.SortShuffleManager$`.
    pub class: Cow<'static, str>,
}

impl ScalaModule {
    /// The module with this class.
    pub fn new(class: impl Into<Cow<'static, str>>) -> Self {
        Self {
            class: class.into(),
        }
    }
}

impl Serialize for ScalaModule {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_newtype_struct(magic::MODULE, &self.class)
    }
}

impl<'de> Deserialize<'de> for ScalaModule {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Name;
        impl Visitor<'_> for Name {
            type Value = ScalaModule;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a Scala object")
            }

            fn visit_str<E: de::Error>(self, class: &str) -> Result<ScalaModule, E> {
                Ok(ScalaModule::new(class.to_owned()))
            }
        }
        deserializer.deserialize_newtype_struct(magic::MODULE, Name)
    }
}

/// Constant of a Java enum. A Rust enum whose serde name is the Java class and whose variants are the constants does
/// the same for a known enum.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename = "$javaser::JavaEnum")]
#[non_exhaustive]
pub struct JavaEnum {
    /// Class of the enum.
    pub class: Cow<'static, str>,
    /// Name of the constant.
    pub constant: Cow<'static, str>,
}

impl JavaEnum {
    /// `class.constant`
    pub fn new(
        class: impl Into<Cow<'static, str>>,
        constant: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self {
            class: class.into(),
            constant: constant.into(),
        }
    }
}

impl Serialize for JavaEnum {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut s = serializer.serialize_struct(magic::JAVA_ENUM, 2)?;
        s.serialize_field("class", &self.class)?;
        s.serialize_field("constant", &self.constant)?;
        s.end()
    }
}

/// Value of a `scala.Enumeration`, for example `TaskState.FINISHED`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename = "$javaser::ScalaEnumeration")]
#[non_exhaustive]
pub struct ScalaEnumeration {
    /// Class of the enumeration's `object`, for example `org.apache.spark.TaskState$`.
    pub module: Cow<'static, str>,
    /// The value's id.
    pub id: i32,
}

impl ScalaEnumeration {
    /// Value `id` of `module`.
    pub fn new(module: impl Into<Cow<'static, str>>, id: i32) -> Self {
        Self {
            module: module.into(),
            id,
        }
    }
}

impl Serialize for ScalaEnumeration {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut s = serializer.serialize_struct(magic::SCALA_ENUM, 2)?;
        s.serialize_field("module", &self.module)?;
        s.serialize_field("id", &self.id)?;
        s.end()
    }
}

/// A value written as if its field were declared with this signature. Needed where the declared type is `Object` or
/// missing: at the root, in collections, in `Option`s. Without it, sequences become Scala sequences there.
///
/// ```
/// # use javaser::types::Typed;
/// let reply = Typed::new("[Ljava/lang/String;", vec!["a", "b"]);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Typed<T> {
    /// Type in Java's signature form: `[J`, `Lscala/collection/mutable/Map;`. Empty after decoding.
    pub signature: Cow<'static, str>,
    /// The value.
    pub value: T,
}

impl<T> Typed<T> {
    /// `value` as a `signature`.
    pub fn new(signature: impl Into<Cow<'static, str>>, value: T) -> Self {
        Self {
            signature: signature.into(),
            value,
        }
    }
}

impl<T: Serialize> Serialize for Typed<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut s = serializer.serialize_struct(magic::TYPED, 2)?;
        s.serialize_field("signature", &self.signature)?;
        s.serialize_field("value", &self.value)?;
        s.end()
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Typed<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::deserialize(deserializer).map(|value| Self {
            signature: Cow::Borrowed(""),
            value,
        })
    }
}

/// A `byte[]`, written and read at once. `bytes::Bytes` does the same.
#[derive(Debug, Clone, PartialEq, Eq, Default, Hash)]
#[allow(clippy::exhaustive_structs)]
pub struct JavaBytes(pub Vec<u8>);

impl Serialize for JavaBytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.0)
    }
}

struct BytesVisitor<T>(PhantomData<T>);

impl<T: From<Vec<u8>>> Visitor<'_> for BytesVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("bytes")
    }

    fn visit_bytes<E: de::Error>(self, v: &[u8]) -> Result<T, E> {
        Ok(T::from(v.to_vec()))
    }

    fn visit_byte_buf<E: de::Error>(self, v: Vec<u8>) -> Result<T, E> {
        Ok(T::from(v))
    }
}

impl From<Vec<u8>> for JavaBytes {
    fn from(v: Vec<u8>) -> Self {
        Self(v)
    }
}

impl<'de> Deserialize<'de> for JavaBytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_byte_buf(BytesVisitor(PhantomData))
    }
}

/// Any object, kept as a stream of its own with one root.
///
/// Back references to objects outside of it become copies.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[allow(clippy::exhaustive_structs)]
pub struct Raw(pub Vec<u8>);

impl From<Vec<u8>> for Raw {
    fn from(v: Vec<u8>) -> Self {
        Self(v)
    }
}

impl Serialize for Raw {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_newtype_struct(magic::RAW, &BytesRef(&self.0))
    }
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_newtype_struct(magic::RAW, BytesVisitor(PhantomData))
    }
}

pub(crate) struct BytesRef<'a>(pub(crate) &'a [u8]);

impl Serialize for BytesRef<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(self.0)
    }
}

/// Object of an `Externalizable` class, or of one that writes everything in its `writeObject`, known only at run time.
/// A struct with a field `$body` does the same for a known class.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename = "$javaser::External")]
#[non_exhaustive]
pub struct External<O = Raw> {
    /// The class.
    pub class: Cow<'static, str>,
    /// What it writes.
    pub body: Body<O>,
}

impl<O> External<O> {
    /// An object of `class` that writes `body`.
    pub fn new(class: impl Into<Cow<'static, str>>, body: Body<O>) -> Self {
        Self {
            class: class.into(),
            body,
        }
    }
}

impl<O: Serialize> Serialize for External<O> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut s = serializer.serialize_struct(magic::EXTERNAL, 2)?;
        s.serialize_field("class", &self.class)?;
        s.serialize_field("body", &self.body)?;
        s.end()
    }
}

/// A Java exception or error of any class. Fields that its class adds to `Throwable` are lost on reading and zero or
/// `null` on writing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[allow(clippy::exhaustive_structs)]
pub struct Throwable {
    /// Class name.
    pub class: String,
    /// `getMessage`
    pub message: Option<String>,
    /// `getCause`
    pub cause: Option<Box<Throwable>>,
    /// `getStackTrace`
    pub stack_trace: Vec<StackTraceElement>,
}

impl Throwable {
    /// An exception without stack trace and cause.
    pub fn new(class: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            class: class.into(),
            message: Some(message.into()),
            ..Self::default()
        }
    }
}

/// Java's `Throwable.toString`: class and message.
impl fmt::Display for Throwable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.message {
            Some(message) => write!(f, "{}: {message}", self.class),
            None => f.write_str(&self.class),
        }
    }
}

impl Serialize for Throwable {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut s = serializer.serialize_struct(magic::THROWABLE, 4)?;
        s.serialize_field("class", &self.class)?;
        s.serialize_field("message", &self.message)?;
        s.serialize_field("cause", &self.cause)?;
        s.serialize_field("stackTrace", &self.stack_trace)?;
        s.end()
    }
}

impl<'de> Deserialize<'de> for Throwable {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Fields;
        impl<'de> Visitor<'de> for Fields {
            type Value = Throwable;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a java.lang.Throwable")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Throwable, A::Error> {
                let mut throwable = Throwable::default();
                while let Some(key) = map.next_key::<String>()? {
                    match key.as_str() {
                        "class" => throwable.class = map.next_value()?,
                        "message" => throwable.message = map.next_value()?,
                        "cause" => throwable.cause = map.next_value()?,
                        "stackTrace" => {
                            throwable.stack_trace =
                                map.next_value::<Option<_>>()?.unwrap_or_default()
                        }
                        _ => {
                            map.next_value::<de::IgnoredAny>()?;
                        }
                    }
                }
                Ok(throwable)
            }
        }
        deserializer.deserialize_struct(
            magic::THROWABLE,
            &["class", "message", "cause", "stackTrace"],
            Fields,
        )
    }
}

/// `java.lang.StackTraceElement`
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename = "java.lang.StackTraceElement", rename_all = "camelCase")]
#[allow(clippy::exhaustive_structs)]
pub struct StackTraceElement {
    /// What `toString` leaves out, a bit set of the JDK's own.
    #[serde(default)]
    pub format: i8,
    /// Line, negative if unknown.
    pub line_number: i32,
    /// Name of the class loader.
    #[serde(default)]
    pub class_loader_name: Option<String>,
    /// Class name.
    pub declaring_class: String,
    /// Source file.
    pub file_name: Option<String>,
    /// Method name.
    pub method_name: String,
    /// Module.
    #[serde(default)]
    pub module_name: Option<String>,
    /// Version of the module.
    #[serde(default)]
    pub module_version: Option<String>,
}
