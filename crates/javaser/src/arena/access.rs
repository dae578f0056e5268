//! Looking at a graph.

use std::borrow::Cow;

use super::{
    Array, Body, Content, Desc, Elements, Field, Graph, Node, NodeId, Object, Value, primitive_size,
};
use crate::Error;
use crate::mutf8;

/// One serializable level of an object: the class or one of its super classes, with what it wrote.
#[derive(Debug, Clone, Copy)]
pub struct Level<'a> {
    /// Descriptor of this level's class.
    pub desc: &'a Desc,
    /// Values of `desc.fields()`, in that order. Shorter if the class wrote none or the stream was cut.
    pub fields: &'a [Value],
    /// What its `writeObject` or `writeExternal` wrote.
    pub body: &'a [Content],
}

impl<'a> Level<'a> {
    /// Value of a field of this level.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<Value> {
        let index = self.desc.fields().iter().position(|f| f.name == name)?;
        self.fields.get(index).copied()
    }

    /// Fields with their values.
    pub fn iter(&self) -> impl Iterator<Item = (&'a Field, Value)> + use<'a> {
        self.desc.fields().iter().zip(self.fields.iter().copied())
    }

    /// The body's primitive data, blocks joined.
    #[must_use]
    pub fn block_bytes(&self) -> Cow<'a, [u8]> {
        let mut blocks = self.body.iter().filter_map(|c| match c {
            Content::Block(block) => Some(block.bytes()),
            _ => None,
        });
        match (blocks.next(), blocks.next()) {
            (None, _) => Cow::Borrowed(&[]),
            (Some(only), None) => Cow::Borrowed(only),
            (Some(first), Some(second)) => Cow::Owned(
                [first, second]
                    .into_iter()
                    .chain(blocks)
                    .collect::<Vec<_>>()
                    .concat(),
            ),
        }
    }

    /// The body's objects and nulls.
    pub fn objects(&self) -> impl Iterator<Item = Value> + use<'a> {
        self.body.iter().filter_map(|c| match c {
            Content::Value(value) => Some(*value),
            _ => None,
        })
    }
}

impl Graph {
    /// The node, `None` for an id of another graph.
    #[must_use]
    pub fn node(&self, id: NodeId) -> Option<&Node> {
        self.nodes.get(id.index())
    }

    /// Every node in the order of handles.
    pub fn nodes(&self) -> impl Iterator<Item = (NodeId, &Node)> {
        (0..).map(NodeId).zip(&self.nodes)
    }

    /// Nodes, values and elements: in proportion to the stream's length.
    pub(crate) fn size(&self) -> usize {
        let of_node = |node: &Node| match node {
            Node::Object(o) => {
                o.fields.len() + o.bodies.iter().map(|b| b.items.len()).sum::<usize>()
            }
            Node::Array(Array {
                elements: Elements::Refs { values, .. },
                ..
            }) => values.len(),
            Node::Array(Array {
                elements: Elements::Primitive(_, bytes),
                ..
            }) => bytes.len(),
            Node::Str(s) => s.bytes.len() / 64,
            Node::Desc(d) => d.fields().len() + d.annotations.len(),
            Node::Class { .. } | Node::Enum { .. } => 0,
        };
        self.nodes.iter().map(|n| 1 + of_node(n)).sum()
    }

    /// First root value, or `None` if the stream holds none.
    #[must_use]
    pub fn root(&self) -> Option<Value> {
        self.root_values().next()
    }

    /// Root values without block data and resets.
    pub fn root_values(&self) -> impl Iterator<Item = Value> {
        self.roots.iter().filter_map(|c| match c {
            Content::Value(value) => Some(*value),
            Content::Block(_) | Content::Reset => None,
        })
    }

    /// The class descriptor with this id.
    #[must_use]
    pub fn desc(&self, id: NodeId) -> Option<&Desc> {
        match self.node(id) {
            Some(Node::Desc(desc)) => Some(desc),
            _ => None,
        }
    }

    /// The object with this id.
    #[must_use]
    pub fn object(&self, id: NodeId) -> Option<&Object> {
        match self.node(id) {
            Some(Node::Object(object)) => Some(object),
            _ => None,
        }
    }

    /// Id of the descriptor of an object, array or enum constant.
    #[must_use]
    pub fn desc_of(&self, id: NodeId) -> Option<NodeId> {
        match self.node(id)? {
            Node::Object(Object { desc, .. })
            | Node::Array(Array { desc, .. })
            | Node::Enum { desc, .. } => Some(*desc),
            Node::Class { .. } | Node::Desc(_) | Node::Str(_) => None,
        }
    }

    /// Serializable levels of a complete descriptor, topmost super class first.
    pub(crate) fn chain(&self, id: NodeId) -> &[NodeId] {
        self.desc(id).map_or(&[], |d| &d.chain)
    }

    /// Java class of the value, with dots; `None` for `null`. Primitives give their boxed class.
    #[must_use]
    pub fn class_name(&self, value: Value) -> Option<&str> {
        Some(match value {
            Value::Null => return None,
            Value::Bool(_) => "java.lang.Boolean",
            Value::Byte(_) => "java.lang.Byte",
            Value::Char(_) => "java.lang.Character",
            Value::Short(_) => "java.lang.Short",
            Value::Int(_) => "java.lang.Integer",
            Value::Long(_) => "java.lang.Long",
            Value::Float(_) => "java.lang.Float",
            Value::Double(_) => "java.lang.Double",
            Value::Ref(id) | Value::Aborted(id) => match self.node(id)? {
                Node::Str(_) => "java.lang.String",
                Node::Class { .. } => "java.lang.Class",
                Node::Desc(_) => "java.io.ObjectStreamClass",
                Node::Object(_) | Node::Array(_) | Node::Enum { .. } => {
                    self.desc(self.desc_of(id)?)?.name()
                }
            },
        })
    }

    /// Whether the object's class is `class` or has it as a serializable super class.
    #[must_use]
    pub fn is_instance(&self, id: NodeId, class: &str) -> bool {
        let mut desc = self.desc_of(id).and_then(|d| self.desc(d));
        while let Some(d) = desc {
            if d.name() == class {
                return true;
            }
            // Super classes of a complete descriptor are complete and older: this ends.
            desc = d.super_desc.and_then(|s| self.desc(s));
        }
        false
    }

    /// Levels of an object, topmost super class first; empty for other nodes.
    pub fn levels(&self, id: NodeId) -> impl DoubleEndedIterator<Item = Level<'_>> {
        let mut levels = Vec::new();
        if let Some(object) = self.object(id) {
            let mut first = 0;
            for (index, desc) in self.chain(object.desc).iter().enumerate() {
                let Some(desc) = self.desc(*desc) else {
                    continue;
                };
                let body = object.bodies.iter().find(|b| usize::from(b.level) == index);
                let count = match body {
                    Some(Body {
                        fields_omitted: true,
                        ..
                    }) => 0,
                    _ => desc.fields().len(),
                };
                let end = object.fields.len().min(first + count);
                let fields = object.fields.get(first..end).unwrap_or_default();
                levels.push(Level {
                    desc,
                    fields,
                    body: body.map_or(&[], |b| &b.items),
                });
                first += count;
            }
        }
        levels.into_iter()
    }

    /// The level of this class.
    #[must_use]
    pub fn level(&self, id: NodeId, class: &str) -> Option<Level<'_>> {
        self.levels(id).find(|l| l.desc.name() == class)
    }

    /// Value of the field; the class itself is searched before its super classes.
    #[must_use]
    pub fn field(&self, id: NodeId, name: &str) -> Option<Value> {
        self.levels(id).rev().find_map(|l| l.field(name))
    }

    /// [`Graph::field`] if it is a reference that is not `null`.
    #[must_use]
    pub fn field_node(&self, id: NodeId, name: &str) -> Option<NodeId> {
        self.field(id, name).and_then(Value::node)
    }

    /// Signature of the field's type, for example `J` or `Ljava/lang/String;`.
    #[must_use]
    pub fn field_signature<'a>(&'a self, field: &'a Field) -> Cow<'a, str> {
        match field.type_string.and_then(|id| self.node(id)) {
            Some(Node::Str(s)) => mutf8::decode_lossy(&s.bytes),
            _ => Cow::Owned(char::from(field.code).to_string()),
        }
    }

    /// Text of a string; lone surrogates become U+FFFD.
    #[must_use]
    pub fn str(&self, value: Value) -> Option<Cow<'_, str>> {
        match self.node(value.node()?)? {
            Node::Str(s) => Some(mutf8::decode_lossy(&s.bytes)),
            _ => None,
        }
    }

    /// An integer, primitive or boxed.
    #[must_use]
    pub fn int(&self, value: Value) -> Option<i64> {
        match self.unboxed(value) {
            Value::Byte(v) => Some(v.into()),
            Value::Short(v) => Some(v.into()),
            Value::Int(v) => Some(v.into()),
            Value::Long(v) => Some(v),
            _ => None,
        }
    }

    /// A boolean, primitive or boxed.
    #[must_use]
    pub fn bool(&self, value: Value) -> Option<bool> {
        match self.unboxed(value) {
            Value::Bool(v) => Some(v),
            _ => None,
        }
    }

    /// A `float` or `double`, primitive or boxed.
    #[must_use]
    pub fn double(&self, value: Value) -> Option<f64> {
        match self.unboxed(value) {
            Value::Float(v) => Some(v.into()),
            Value::Double(v) => Some(v),
            _ => None,
        }
    }

    /// Elements of a `byte[]`.
    #[must_use]
    pub fn byte_array(&self, value: Value) -> Option<&[u8]> {
        match self.node(value.node()?)? {
            Node::Array(Array {
                elements: Elements::Primitive(b'B', bytes),
                ..
            }) => Some(bytes),
            _ => None,
        }
    }

    /// Elements of an array, primitives as their [`Value`]s.
    #[must_use]
    pub fn array(&self, value: Value) -> Option<Vec<Value>> {
        match self.node(value.node()?)? {
            Node::Array(Array {
                elements: Elements::Refs { values, .. },
                ..
            }) => Some(values.clone()),
            Node::Array(Array {
                elements: Elements::Primitive(code, bytes),
                ..
            }) => {
                let size = primitive_size(*code)?;
                Some(
                    bytes
                        .chunks_exact(size)
                        .filter_map(|b| primitive(*code, b))
                        .collect(),
                )
            }
            _ => None,
        }
    }

    /// Name of the class that a `java.lang.Class` value stands for.
    #[must_use]
    pub fn class_value(&self, value: Value) -> Option<&str> {
        match self.node(value.node()?)? {
            Node::Class { desc } => self.desc(*desc).map(Desc::name),
            _ => None,
        }
    }

    /// Name of an enum constant.
    #[must_use]
    pub fn enum_constant(&self, value: Value) -> Option<Cow<'_, str>> {
        match self.node(value.node()?)? {
            Node::Enum { name, .. } => self.str(Value::Ref(*name)),
            _ => None,
        }
    }

    /// Name of the module class (`...$`) if the value is a Scala `object`: in Scala 2.12 an instance of that class, in
    /// 2.13 a `scala.runtime.ModuleSerializationProxy`.
    #[must_use]
    pub fn module(&self, value: Value) -> Option<&str> {
        let id = value.node()?;
        let class = self.class_name(value)?;
        if class == "scala.runtime.ModuleSerializationProxy" {
            return self.class_value(self.field(id, "moduleClass")?);
        }
        (class.ends_with('$') && self.object(id).is_some()).then_some(class)
    }

    /// The primitive inside `java.lang.Integer` and its kin; other values as they are.
    pub(crate) fn unboxed(&self, value: Value) -> Value {
        let Some(id) = value.node() else { return value };
        match self.class_name(value) {
            Some(
                "java.lang.Integer"
                | "java.lang.Long"
                | "java.lang.Boolean"
                | "java.lang.Double"
                | "java.lang.Float"
                | "java.lang.Short"
                | "java.lang.Byte"
                | "java.lang.Character",
            ) => self
                .field(id, "value")
                .filter(|v| v.primitive_code().is_some())
                .unwrap_or(value),
            _ => value,
        }
    }

    /// The exception that a peer's writer left behind (`TC_EXCEPTION`), as an error.
    ///
    /// # Errors
    /// [`Error::WriteAborted`] if there is one.
    pub fn check_not_aborted(&self) -> Result<(), Error> {
        let is_aborted = |v: &Value| matches!(v, Value::Aborted(_));
        let in_content = |c: &Content| match c {
            Content::Value(v) if is_aborted(v) => Some(*v),
            _ => None,
        };
        let found = self.roots.iter().find_map(in_content).or_else(|| {
            self.nodes.iter().find_map(|node| match node {
                // The exception is the last thing that an interrupted node got.
                Node::Object(o) => {
                    let last = o.fields.last().copied().filter(is_aborted);
                    last.or_else(|| {
                        o.bodies
                            .last()
                            .and_then(|b| b.items.last())
                            .and_then(in_content)
                    })
                }
                Node::Array(Array {
                    elements: Elements::Refs { values, .. },
                    ..
                }) => values.last().copied().filter(is_aborted),
                _ => None,
            })
        });
        match found {
            Some(Value::Aborted(id)) => Err(Error::WriteAborted {
                class: self
                    .class_name(Value::Ref(id))
                    .unwrap_or_default()
                    .to_owned(),
                message: self
                    .field(id, "detailMessage")
                    .and_then(|m| self.str(m))
                    .unwrap_or_default()
                    .into_owned(),
            }),
            _ => Ok(()),
        }
    }
}

fn primitive(code: u8, bytes: &[u8]) -> Option<Value> {
    Some(match code {
        b'Z' => Value::Bool(*bytes.first()? != 0),
        b'B' => Value::Byte(i8::from_be_bytes(bytes.try_into().ok()?)),
        b'C' => Value::Char(u16::from_be_bytes(bytes.try_into().ok()?)),
        b'S' => Value::Short(i16::from_be_bytes(bytes.try_into().ok()?)),
        b'I' => Value::Int(i32::from_be_bytes(bytes.try_into().ok()?)),
        b'J' => Value::Long(i64::from_be_bytes(bytes.try_into().ok()?)),
        b'F' => Value::Float(f32::from_be_bytes(bytes.try_into().ok()?)),
        b'D' => Value::Double(f64::from_be_bytes(bytes.try_into().ok()?)),
        _ => return None,
    })
}
