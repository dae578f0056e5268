//! serde's access traits over nodes of a graph.

use std::vec;

use serde::de::value::StringDeserializer;
use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, IntoDeserializer, MapAccess, SeqAccess,
    VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;

use super::De;
use crate::Error;
use crate::arena::{Content, NodeId, Value, unmangled};
use crate::types::magic;

/// Elements.
pub(super) struct Seq<'g> {
    de: De<'g>,
    values: vec::IntoIter<Value>,
}

impl<'g> Seq<'g> {
    pub(super) fn new(de: De<'g>, values: Vec<Value>) -> Self {
        Self {
            de,
            values: values.into_iter(),
        }
    }
}

impl<'de> SeqAccess<'de> for Seq<'_> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Error> {
        self.values
            .next()
            .map(|v| seed.deserialize(self.de.child(v)?))
            .transpose()
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.values.len())
    }
}

/// Entries.
pub(super) struct Pairs<'g> {
    de: De<'g>,
    pairs: vec::IntoIter<(Value, Value)>,
    value: Option<Value>,
}

impl<'g> Pairs<'g> {
    pub(super) fn new(de: De<'g>, pairs: Vec<(Value, Value)>) -> Self {
        Self {
            de,
            pairs: pairs.into_iter(),
            value: None,
        }
    }
}

impl<'de> MapAccess<'de> for Pairs<'_> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Error> {
        let Some((key, value)) = self.pairs.next() else {
            return Ok(None);
        };
        self.value = Some(value);
        seed.deserialize(self.de.child(key)?).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Error> {
        seed.deserialize(self.de.child(self.value.take().unwrap_or(Value::Null))?)
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.pairs.len())
    }
}

/// Fields of an object under the names that the reader's type gives them.
pub(super) struct Fields<'g> {
    de: De<'g>,
    fields: vec::IntoIter<(String, Source<'g>)>,
    next: Option<Source<'g>>,
}

/// Where a field's value comes from.
enum Source<'g> {
    Value(Value),
    Text(String),
    Body(&'g [Content]),
}

impl<'g> Fields<'g> {
    fn new(de: De<'g>, fields: Vec<(String, Source<'g>)>) -> Self {
        Self {
            de,
            fields: fields.into_iter(),
            next: None,
        }
    }

    pub(super) fn texts<const N: usize>(de: De<'g>, texts: [(&str, String); N]) -> Self {
        Self::new(
            de,
            texts
                .into_iter()
                .map(|(name, text)| (name.to_owned(), Source::Text(text)))
                .collect(),
        )
    }

    pub(super) fn and(self, name: &str, value: Value) -> Self {
        let fields: Vec<_> = self
            .fields
            .chain([(name.to_owned(), Source::Value(value))])
            .collect();
        Self::new(self.de, fields)
    }

    /// Those that the type asks for; the object's own class comes before its super classes.
    pub(super) fn named(de: De<'g>, id: NodeId, wanted: &[&'static str]) -> Self {
        let levels: Vec<_> = de.graph.levels(id).rev().collect();
        let mut fields = Vec::with_capacity(wanted.len());
        for name in wanted {
            let exact = || levels.iter().find_map(|l| l.field(name));
            let by_source_name = || {
                levels.iter().find_map(|l| {
                    l.iter()
                        .find(|(f, _)| unmangled(f.name()) == *name)
                        .map(|(_, v)| v)
                })
            };
            let source = match name.strip_prefix(magic::BODY_FIELD) {
                Some(class) => {
                    let with_body = |l: &&crate::arena::Level<'_>| {
                        l.desc.flags() & (crate::SC_WRITE_METHOD | crate::SC_EXTERNALIZABLE) != 0
                    };
                    let level = match class.strip_prefix('@') {
                        Some(class) => levels.iter().find(|l| l.desc.name() == class),
                        None => levels.iter().find(with_body),
                    };
                    level.map(|l| Source::Body(l.body))
                }
                None => exact().or_else(by_source_name).map(Source::Value),
            };
            fields.extend(source.map(|s| ((*name).to_owned(), s)));
        }
        Self::new(de, fields)
    }

    pub(super) fn all(de: De<'g>, id: NodeId) -> Self {
        let values = de.graph.levels(id).rev().flat_map(|l| {
            l.iter()
                .map(|(f, v)| (f.name().to_owned(), Source::Value(v)))
                .collect::<Vec<_>>()
        });
        Self::new(de, values.collect())
    }

    pub(super) fn external(de: De<'g>, id: NodeId) -> Self {
        let class = de.graph.class_name(de.value).unwrap_or_default().to_owned();
        let body = de
            .graph
            .levels(id)
            .rev()
            .map(|l| l.body)
            .find(|b| !b.is_empty())
            .unwrap_or_default();
        let mut fields = Self::texts(de, [("class", class)])
            .fields
            .collect::<Vec<_>>();
        fields.push(("body".to_owned(), Source::Body(body)));
        Self::new(de, fields)
    }

    pub(super) fn throwable(de: De<'g>, id: NodeId) -> Self {
        let class = de.graph.class_name(de.value).unwrap_or_default().to_owned();
        let field = |name| de.graph.field(id, name).unwrap_or(Value::Null);
        // A throwable without cause is its own.
        let cause = Some(field("cause"))
            .filter(|c| *c != de.value)
            .unwrap_or(Value::Null);
        Self::new(
            de,
            vec![
                ("class".to_owned(), Source::Text(class)),
                ("message".to_owned(), Source::Value(field("detailMessage"))),
                ("cause".to_owned(), Source::Value(cause)),
                ("stackTrace".to_owned(), Source::Value(field("stackTrace"))),
            ],
        )
    }
}

impl<'de> MapAccess<'de> for Fields<'_> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Error> {
        let Some((name, source)) = self.fields.next() else {
            return Ok(None);
        };
        self.next = Some(source);
        let name: StringDeserializer<Error> = name.into_deserializer();
        seed.deserialize(name).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Error> {
        match self.next.take() {
            Some(Source::Text(text)) => {
                seed.deserialize::<StringDeserializer<Error>>(text.into_deserializer())
            }
            Some(Source::Body(items)) => seed.deserialize(Items { de: self.de, items }),
            Some(Source::Value(value)) => seed.deserialize(self.de.child(value)?),
            None => seed.deserialize(self.de.child(Value::Null)?),
        }
    }
}

/// The items of a body.
pub(super) struct Items<'g> {
    de: De<'g>,
    items: &'g [Content],
}

impl<'de> Deserializer<'de> for Items<'_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_seq(self)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string bytes byte_buf option unit unit_struct newtype_struct
        seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

impl<'de> SeqAccess<'de> for Items<'_> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Error> {
        let Some((item, rest)) = self.items.split_first() else {
            return Ok(None);
        };
        self.items = rest;
        seed.deserialize(Item { de: self.de, item }).map(Some)
    }
}

/// One item of a body: an enum of block or object.
struct Item<'g> {
    de: De<'g>,
    item: &'g Content,
}

impl<'de> Deserializer<'de> for Item<'_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_enum(self)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string bytes byte_buf option unit unit_struct newtype_struct
        seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

impl<'de> EnumAccess<'de> for Item<'_> {
    type Error = Error;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), Error> {
        let kind = if matches!(self.item, Content::Block(_)) {
            "Block"
        } else {
            "Object"
        };
        let kind: serde::de::value::StrDeserializer<'_, Error> = kind.into_deserializer();
        Ok((seed.deserialize(kind)?, self))
    }
}

impl<'de> VariantAccess<'de> for Item<'_> {
    type Error = Error;

    fn unit_variant(self) -> Result<(), Error> {
        Ok(())
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Error> {
        match self.item {
            Content::Block(block) => {
                let bytes: serde::de::value::BytesDeserializer<'_, Error> =
                    block.bytes().into_deserializer();
                seed.deserialize(bytes)
            }
            Content::Value(value) => seed.deserialize(self.de.child(*value)?),
            Content::Reset => seed.deserialize(self.de.child(Value::Null)?),
        }
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, _: V) -> Result<V::Value, Error> {
        Err(self.de.wrong("one item"))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Error> {
        Err(self.de.wrong("one item"))
    }
}

/// An object whose class, or an enum constant whose name, is the variant.
pub(super) struct Enum<'g> {
    pub(super) tag: String,
    pub(super) de: De<'g>,
}

impl<'de, 'g> EnumAccess<'de> for Enum<'g> {
    type Error = Error;
    type Variant = Variant<'g>;

    fn variant_seed<V: DeserializeSeed<'de>>(
        self,
        seed: V,
    ) -> Result<(V::Value, Variant<'g>), Error> {
        let tag: StringDeserializer<Error> = self.tag.into_deserializer();
        Ok((seed.deserialize(tag)?, Variant(self.de)))
    }
}

pub(super) struct Variant<'g>(De<'g>);

impl<'de> VariantAccess<'de> for Variant<'_> {
    type Error = Error;

    fn unit_variant(self) -> Result<(), Error> {
        Ok(())
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Error> {
        seed.deserialize(self.0)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Error> {
        self.0.deserialize_seq(visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        // The class was matched by the tag.
        self.0.deserialize_struct("", fields, visitor)
    }
}
