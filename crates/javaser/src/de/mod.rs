//! The deserializer: serde's view of a parsed graph.

mod access;
mod number;

use std::cell::Cell;

use serde::de::{DeserializeOwned, Deserializer, Visitor};

use crate::arena::{Content, Graph, Value};
use crate::types::magic;
use crate::{Error, Limits};
use access::{Enum, Fields, Pairs, Seq};

/// Values inside values. Each takes stack in the reader's own types, so this is far below the graph's limit.
const MAX_DEPTH: usize = 128;

/// Reads a value from a stream with one root object. Resets around it change nothing.
///
/// Fields are matched by name and those that the type does not have are skipped; a field that the stream does not have
/// is serde's business (an `Option` becomes `None`). Scala and Java collections of any kind are sequences or maps,
/// Scala's `Some` is transparent, integers may be boxed.
///
/// # Errors
/// What [`Graph::parse`] finds; [`Error::WrongClass`] and [`Error::WrongType`] where the stream holds something else;
/// [`Error::WriteAborted`] if the writer failed.
pub fn from_slice<T: DeserializeOwned>(bytes: &[u8], limits: &Limits) -> Result<T, Error> {
    let graph = Graph::parse(bytes, limits)?;
    graph.check_not_aborted()?;
    // Spark's own stream resets itself after every `spark.serializer.objectStreamReset`th object, so perhaps after one.
    let mut roots = graph.roots.iter().filter(|c| !matches!(c, Content::Reset));
    match (roots.next(), roots.count()) {
        (Some(Content::Value(root)), 0) => from_value(&graph, *root),
        (first, others) => Err(Error::NotOneValue {
            found: usize::from(first.is_some()) + others,
        }),
    }
}

/// Reads a value out of a graph.
///
/// # Errors
/// As [`from_slice`].
pub fn from_value<T: DeserializeOwned>(graph: &Graph, value: Value) -> Result<T, Error> {
    let max = budget(graph);
    let left = Cell::new(max);
    let budget = Budget { max, left: &left };
    T::deserialize(De {
        graph,
        value,
        depth: 0,
        budget,
    })
}

/// Values that a read may visit: generous for objects that are shared, finite for a stream of references to references.
fn budget(graph: &Graph) -> usize {
    graph.size().saturating_mul(64).saturating_add(1 << 16)
}

#[derive(Clone, Copy)]
struct Budget<'g> {
    max: usize,
    left: &'g Cell<usize>,
}

impl Budget<'_> {
    fn spend(self, values: usize) -> Result<(), Error> {
        let left = self
            .left
            .get()
            .checked_sub(values)
            .ok_or(Error::TooManyValues { max: self.max })?;
        self.left.set(left);
        Ok(())
    }
}

#[derive(Clone, Copy)]
struct De<'g> {
    graph: &'g Graph,
    value: Value,
    depth: usize,
    budget: Budget<'g>,
}

impl<'g> De<'g> {
    fn child(self, value: Value) -> Result<Self, Error> {
        if self.depth >= MAX_DEPTH {
            return Err(Error::TooDeep {
                at: 0,
                max: MAX_DEPTH,
            });
        }
        self.budget.spend(1)?;
        Ok(Self {
            value,
            depth: self.depth + 1,
            ..self
        })
    }

    /// Without the `Some`s around it.
    fn inside_some(self) -> Self {
        let mut inner = self;
        // As many as a sane type could have; a circle of Somes ends here.
        for _ in 0..4 {
            match self.graph.scala_option(inner.value) {
                Some(Some(value)) => inner.value = value,
                _ => break,
            }
        }
        inner
    }

    fn found(self) -> String {
        let value = self
            .graph
            .module(self.value)
            .or_else(|| self.graph.class_name(self.value));
        value.unwrap_or("null").to_owned()
    }

    fn wrong(self, expected: &str) -> Error {
        Error::WrongClass {
            expected: expected.to_owned(),
            found: self.found(),
        }
    }

    fn text(self) -> Option<String> {
        let graph = self.graph;
        let text = graph
            .str(self.value)
            .or_else(|| graph.enum_constant(self.value));
        if let Some(text) = text {
            return Some(text.into_owned());
        }
        number::decimal(graph, self.value)
            .map(|d| d.to_string())
            .or_else(|| graph.class_value(self.value).map(str::to_owned))
    }

    fn visit_int<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let de = self.inside_some();
        if let Some(v) = de.graph.int(de.value) {
            return visitor.visit_i64(v);
        }
        match de.graph.unboxed(de.value) {
            Value::Char(c) => visitor.visit_u16(c),
            _ => match number::decimal(de.graph, de.value).and_then(|d| d.to_i64()) {
                Some(v) => visitor.visit_i64(v),
                None => Err(de.wrong("an integer")),
            },
        }
    }

    fn visit_float<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let de = self.inside_some();
        if let Some(v) = de.graph.double(de.value) {
            return visitor.visit_f64(v);
        }
        match number::decimal(de.graph, de.value).and_then(|d| d.to_f64()) {
            Some(v) => visitor.visit_f64(v),
            None => match de.graph.int(de.value) {
                // A count where a rate is wanted: exact up to 2^53.
                Some(v) => visitor.visit_f64(v as f64),
                None => Err(de.wrong("a number")),
            },
        }
    }
}

impl<'de> Deserializer<'de> for De<'_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.graph.unboxed(self.value) {
            Value::Null => return visitor.visit_unit(),
            Value::Bool(v) => return visitor.visit_bool(v),
            Value::Byte(v) => return visitor.visit_i8(v),
            Value::Short(v) => return visitor.visit_i16(v),
            Value::Int(v) => return visitor.visit_i32(v),
            Value::Long(v) => return visitor.visit_i64(v),
            Value::Float(v) => return visitor.visit_f32(v),
            Value::Double(v) => return visitor.visit_f64(v),
            Value::Char(v) => return visitor.visit_u16(v),
            Value::Ref(_) | Value::Aborted(_) => {}
        }
        match self.graph.scala_option(self.value) {
            Some(Some(_)) => return visitor.visit_some(self.inside_some()),
            Some(None) => return visitor.visit_none(),
            None => {}
        }
        if let Some(text) = self.text() {
            return visitor.visit_string(text);
        }
        if let Some(pairs) = self.graph.pairs(self.value) {
            return visitor.visit_map(Pairs::new(self, pairs));
        }
        if let Some(values) = self
            .graph
            .elements(self.value)
            .or_else(|| self.graph.tuple(self.value))
        {
            return visitor.visit_seq(Seq::new(self, values));
        }
        if let Some(module) = self.graph.module(self.value) {
            return visitor.visit_str(module);
        }
        match self.value.node() {
            Some(id) if self.graph.object(id).is_some() => visitor.visit_map(Fields::all(self, id)),
            _ => Err(self.wrong("a value")),
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let de = self.inside_some();
        match de.graph.bool(de.value) {
            Some(v) => visitor.visit_bool(v),
            None => Err(de.wrong("a boolean")),
        }
    }

    fn deserialize_i8<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.visit_int(visitor)
    }

    fn deserialize_i16<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.visit_int(visitor)
    }

    fn deserialize_i32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.visit_int(visitor)
    }

    fn deserialize_i64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.visit_int(visitor)
    }

    /// Java's bytes are signed; what is wanted here is the byte.
    fn deserialize_u8<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let de = self.inside_some();
        match de.graph.unboxed(de.value) {
            Value::Byte(v) => visitor.visit_u8(v.cast_unsigned()),
            _ => de.visit_int(visitor),
        }
    }

    fn deserialize_u16<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.visit_int(visitor)
    }

    fn deserialize_u32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.visit_int(visitor)
    }

    fn deserialize_u64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.visit_int(visitor)
    }

    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.visit_float(visitor)
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.visit_float(visitor)
    }

    fn deserialize_char<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let de = self.inside_some();
        match de.graph.unboxed(de.value) {
            Value::Char(unit) => match char::from_u32(unit.into()) {
                Some(c) => visitor.visit_char(c),
                None => Err(de.wrong("a character that is no surrogate")),
            },
            _ => Err(de.wrong("a character")),
        }
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_string(visitor)
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let de = self.inside_some();
        match de.text() {
            Some(text) => visitor.visit_string(text),
            None => Err(de.wrong("a string")),
        }
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let de = self.inside_some();
        match de.graph.byte_array(de.value) {
            Some(bytes) => visitor.visit_bytes(bytes),
            None => Err(de.wrong("a byte[]")),
        }
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_bytes(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let none = self.value == Value::Null || self.graph.scala_option(self.value) == Some(None);
        if none {
            visitor.visit_none()
        } else {
            visitor.visit_some(self)
        }
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.graph.class_name(self.value) {
            None | Some("scala.runtime.BoxedUnit") => visitor.visit_unit(),
            Some(_) => Err(self.wrong("nothing")),
        }
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        let de = self.inside_some();
        let found = de.found();
        if found == name || !name.contains('.') {
            visitor.visit_unit()
        } else {
            Err(de.wrong(name))
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        match name {
            magic::RAW => {
                if self.value.primitive_code().is_some() {
                    return Err(self.wrong("an object"));
                }
                let mut graph = Graph::default();
                let root = graph.import(self.graph, self.value)?;
                self.budget.spend(graph.size())?;
                graph.push_root(root)?;
                visitor.visit_byte_buf(graph.to_bytes())
            }
            magic::MODULE => match self.inside_some().graph.module(self.inside_some().value) {
                Some(class) => visitor.visit_str(class),
                None => Err(self.wrong("a Scala object")),
            },
            _ => visitor.visit_newtype_struct(self),
        }
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let de = self.inside_some();
        match de
            .graph
            .elements(de.value)
            .or_else(|| de.graph.tuple(de.value))
        {
            Some(values) => visitor.visit_seq(Seq::new(de, values)),
            None => Err(de.wrong("a sequence, set or array")),
        }
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let de = self.inside_some();
        if let Some(pairs) = de.graph.pairs(de.value) {
            return visitor.visit_map(Pairs::new(de, pairs));
        }
        // A sequence of pairs is a map too.
        let pair = |v: Value| match de.graph.tuple(v)?.as_slice() {
            [key, value] => Some((*key, *value)),
            _ => None,
        };
        match de
            .graph
            .elements(de.value)
            .and_then(|values| values.into_iter().map(pair).collect())
        {
            Some(pairs) => visitor.visit_map(Pairs::new(de, pairs)),
            None => Err(de.wrong("a map")),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        let de = self.inside_some();
        let wrong = || de.wrong(name);
        match name {
            magic::JAVA_ENUM => {
                let class = de.graph.class_name(de.value).ok_or_else(wrong)?;
                let constant = de.graph.enum_constant(de.value).ok_or_else(wrong)?;
                visitor.visit_map(Fields::texts(
                    de,
                    [
                        ("class", class.to_owned()),
                        ("constant", constant.into_owned()),
                    ],
                ))
            }
            magic::SCALA_ENUM => {
                let id = de.value.node().ok_or_else(wrong)?;
                let ordinal = de
                    .graph
                    .field(id, "i")
                    .and_then(|i| de.graph.int(i))
                    .ok_or_else(wrong)?;
                let outer = ["scala$Enumeration$$outerEnum", "$outer"]
                    .iter()
                    .find_map(|f| de.graph.module(de.graph.field(id, f)?));
                let module = outer.ok_or_else(wrong)?.to_owned();
                visitor.visit_map(
                    Fields::texts(de, [("module", module)]).and("id", Value::Long(ordinal)),
                )
            }
            magic::EXTERNAL => {
                let id = de
                    .value
                    .node()
                    .filter(|id| de.graph.object(*id).is_some())
                    .ok_or_else(wrong)?;
                visitor.visit_map(Fields::external(de, id))
            }
            magic::THROWABLE => {
                let id = de
                    .value
                    .node()
                    .filter(|id| de.graph.is_instance(*id, "java.lang.Throwable"));
                visitor.visit_map(Fields::throwable(
                    de,
                    id.ok_or_else(|| de.wrong("java.lang.Throwable"))?,
                ))
            }
            _ => {
                let id = de
                    .value
                    .node()
                    .filter(|id| de.graph.object(*id).is_some())
                    .ok_or_else(wrong)?;
                if name.contains('.') && !de.graph.is_instance(id, name) {
                    return Err(wrong());
                }
                visitor.visit_map(Fields::named(de, id, fields))
            }
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        let de = self.inside_some();
        let mut tag = de.found();
        if let Some(constant) = de
            .graph
            .enum_constant(de.value)
            .or_else(|| de.graph.str(de.value))
        {
            tag = constant.into_owned();
        } else if !variants.contains(&tag.as_str())
            && let Some(id) = de.value.node()
            && let Some(known) = variants.iter().find(|v| de.graph.is_instance(id, v))
        {
            // An unknown subclass is read as the class that is known.
            tag = (*known).to_owned();
        }
        visitor.visit_enum(Enum { tag, de })
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_string(visitor)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_unit()
    }
}
