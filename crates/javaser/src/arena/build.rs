//! Making graphs: from the class catalog, or with descriptors cloned from a graph that was read.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::{
    Array, Block, Body, Content, Desc, DescKind, Elements, Field, Graph, Node, NodeId, Object, Str,
    Value, primitive_size,
};
use crate::catalog::ClassDesc;
use crate::omitted_fields::{OmittedFields, omitted_fields};
use crate::stream::*;
use crate::{Error, mutf8};

impl Graph {
    /// Appends a root value.
    ///
    /// # Errors
    /// [`Error::BadNode`] for an id of another graph.
    pub fn push_root(&mut self, value: Value) -> Result<(), Error> {
        self.check(value)?;
        self.roots.push(Content::Value(value));
        Ok(())
    }

    /// Adds a string. Equal strings stay different objects, as in Java.
    pub fn new_string(&mut self, text: &str) -> NodeId {
        let bytes = mutf8::encode(text).into();
        self.push(Node::Str(Str { long: false, bytes }))
    }

    /// Adds a `java.lang.Class`.
    ///
    /// # Errors
    /// [`Error::BadNode`] if `desc` is no class descriptor.
    pub fn new_class(&mut self, desc: NodeId) -> Result<NodeId, Error> {
        self.complete_desc(desc)?;
        Ok(self.push(Node::Class { desc }))
    }

    /// Adds an enum constant.
    ///
    /// # Errors
    /// [`Error::BadNode`] if `desc` does not describe an enum.
    pub fn new_enum(&mut self, desc: NodeId, constant: &str) -> Result<NodeId, Error> {
        if self.complete_desc(desc)?.flags() & SC_ENUM == 0 {
            return Err(Error::BadNode {
                node: desc.0,
                expected: "the descriptor of an enum",
            });
        }
        let name = self.new_string(constant);
        Ok(self.push(Node::Enum { desc, name }))
    }

    /// Adds an array.
    ///
    /// # Errors
    /// [`Error::BadNode`] if `desc` does not describe such an array, or for elements of another graph;
    /// [`Error::ArrayTooLong`] above Java's limit.
    pub fn new_array(&mut self, desc: NodeId, elements: Elements) -> Result<NodeId, Error> {
        let name = self.complete_desc(desc)?.name();
        let element = name
            .as_bytes()
            .get(1)
            .copied()
            .filter(|_| name.starts_with('['));
        let (fits, len) = match &elements {
            Elements::Primitive(code, bytes) => {
                let size = primitive_size(*code).unwrap_or(1);
                (
                    element == Some(*code) && bytes.len() % size == 0,
                    bytes.len() / size,
                )
            }
            Elements::Refs { len, values } => {
                for value in values {
                    self.check_reference(*value)?;
                }
                (
                    matches!(element, Some(b'L' | b'[')) && *len as usize == values.len(),
                    values.len(),
                )
            }
        };
        if !fits {
            return Err(Error::BadNode {
                node: desc.0,
                expected: "the descriptor of an array with such elements",
            });
        }
        if i32::try_from(len).is_err() {
            return Err(Error::ArrayTooLong {
                at: 0,
                len: len as u64,
                max: i32::MAX as usize,
            });
        }
        Ok(self.push(Node::Array(Array { desc, elements })))
    }

    /// Adds an array of references; the elements may be set with the values known so far.
    ///
    /// # Errors
    /// As [`Graph::new_array`].
    pub fn new_ref_array(&mut self, desc: NodeId, values: Vec<Value>) -> Result<NodeId, Error> {
        let len = u32::try_from(values.len()).unwrap_or(u32::MAX);
        self.new_array(desc, Elements::Refs { len, values })
    }

    /// Adds an object whose fields are all zero or `null` and whose bodies are empty.
    ///
    /// # Errors
    /// [`Error::BadNode`] if `desc` is no descriptor of a normal class.
    pub fn new_object(&mut self, desc: NodeId) -> Result<NodeId, Error> {
        let class = self.complete_desc(desc)?;
        if class.flags() & SC_ENUM != 0 || class.name().starts_with('[') {
            return Err(Error::BadNode {
                node: desc.0,
                expected: "the descriptor of a class with instances",
            });
        }
        let mut object = Object {
            desc,
            fields: Vec::new(),
            bodies: Vec::new(),
        };
        for (level, id) in (0u16..).zip(self.chain(desc)) {
            let Some(class) = self.desc(*id) else {
                continue;
            };
            let has_body = class.is_externalizable() || class.flags() & SC_WRITE_METHOD != 0;
            let omits = |first: &Field| {
                omitted_fields(class.name(), first.name()) == Some(OmittedFields::Always)
            };
            let fields_omitted = has_body && class.fields().first().is_some_and(omits);
            if has_body {
                object.bodies.push(Body {
                    level,
                    fields_omitted,
                    items: Vec::new(),
                });
            }
            if !fields_omitted {
                object
                    .fields
                    .extend(class.fields().iter().map(|f| zero(f.code)));
            }
        }
        Ok(self.push(Node::Object(object)))
    }

    /// Sets a field; the class itself is searched before its super classes.
    ///
    /// # Errors
    /// [`Error::WrongType`] if there is no such field or the value is of another type; [`Error::BadNode`] for ids of
    /// other graphs.
    pub fn set_field(&mut self, object: NodeId, name: &str, value: Value) -> Result<(), Error> {
        self.set_in(object, None, name, value)
    }

    /// Sets a field that this class of the object's hierarchy declares.
    ///
    /// # Errors
    /// As [`Graph::set_field`].
    pub fn set_field_at(
        &mut self,
        object: NodeId,
        class: &str,
        name: &str,
        value: Value,
    ) -> Result<(), Error> {
        self.set_in(object, Some(class), name, value)
    }

    fn set_in(
        &mut self,
        id: NodeId,
        class: Option<&str>,
        name: &str,
        value: Value,
    ) -> Result<(), Error> {
        self.check(value)?;
        let mut first = 0;
        let mut place = None;
        for level in self.levels(id) {
            if class.is_none_or(|c| c == level.desc.name())
                && let Some(index) = level.desc.fields().iter().position(|f| f.name == name)
                && index < level.fields.len()
            {
                place = level
                    .desc
                    .fields()
                    .get(index)
                    .map(|f| (first + index, f.code));
            }
            first += level.fields.len();
        }
        let context = || {
            format!(
                "{}.{name}",
                self.class_name(Value::Ref(id)).unwrap_or("object")
            )
        };
        let Some((index, code)) = place else {
            return Err(Error::WrongType {
                context: context(),
                why: "there is no such field".to_owned(),
            });
        };
        let fits = match value.primitive_code() {
            Some(c) => c == code,
            None => matches!(code, b'L' | b'[') && !matches!(value, Value::Aborted(_)),
        };
        if !fits {
            return Err(Error::WrongType {
                context: context(),
                why: format!("{value:?} is not of type {}", char::from(code)),
            });
        }
        if let Some(Node::Object(object)) = self.nodes.get_mut(id.index())
            && let Some(slot) = object.fields.get_mut(index)
        {
            *slot = value;
        }
        Ok(())
    }

    /// Makes an object one of another class, which extends the object's super class `ancestor` and has no fields of its
    /// own. What is known of `ancestor` and above stays.
    ///
    /// # Errors
    /// [`Error::BadNode`] if it is no object of a class below `ancestor`.
    pub fn become_instance(
        &mut self,
        object: NodeId,
        ancestor: &str,
        class: &str,
        suid: i64,
    ) -> Result<(), Error> {
        let other = Error::BadNode {
            node: object.0,
            expected: "an object of a class below another",
        };
        let chain = self.desc_of(object).map(|desc| self.chain(desc).to_vec());
        let mut kept = 0;
        let mut above = None;
        for (level, desc) in self.levels(object).zip(chain.unwrap_or_default()) {
            kept += level.fields.len();
            if level.desc.name() == ancestor {
                above = Some(desc);
                break;
            }
        }
        let Some(above) = above else {
            return Err(other);
        };
        let levels = self.chain(above).len();
        let kind = DescKind::Class {
            name: class.to_owned(),
            suid,
            flags: SC_SERIALIZABLE,
            fields: Vec::new(),
        };
        let desc = self.push_desc(kind, Some(above));
        let Some(Node::Object(object)) = self.nodes.get_mut(object.index()) else {
            return Err(other);
        };
        object.desc = desc;
        object.fields.truncate(kept);
        object
            .bodies
            .retain(|body| usize::from(body.level) < levels);
        Ok(())
    }

    /// Sets what the `writeObject` or `writeExternal` of one level writes, behind the level's fields. With no class
    /// given it is the level nearest to the object's own class that has a body.
    ///
    /// # Errors
    /// [`Error::WrongType`] if no such level has a body; [`Error::BadNode`] for ids of other graphs.
    pub fn set_body(
        &mut self,
        id: NodeId,
        class: Option<&str>,
        items: Vec<Content>,
    ) -> Result<(), Error> {
        for item in &items {
            if let Content::Value(value) = item {
                self.check_reference(*value)?;
            }
        }
        let chain: Arc<[NodeId]> = self
            .desc_of(id)
            .and_then(|d| self.desc(d))
            .map(|d| d.chain.clone())
            .unwrap_or_default();
        let levels: HashSet<u16> = (0u16..)
            .zip(chain.iter())
            .filter(|(_, d)| class.is_none_or(|c| self.desc(**d).is_some_and(|d| d.name() == c)))
            .map(|(l, _)| l)
            .collect();
        if let Some(Node::Object(object)) = self.nodes.get_mut(id.index())
            && let Some(body) = object
                .bodies
                .iter_mut()
                .rev()
                .find(|b| levels.contains(&b.level))
        {
            body.items = items;
            return Ok(());
        }
        let context = class
            .or(self.class_name(Value::Ref(id)))
            .unwrap_or("object")
            .to_owned();
        Err(Error::WrongType {
            context,
            why: "the class writes no data of its own".to_owned(),
        })
    }

    /// Primitive data in the blocks that a JVM would cut it into.
    #[must_use]
    pub fn blocks(bytes: &[u8]) -> Vec<Content> {
        bytes
            .chunks(JVM_BLOCK)
            .map(|b| {
                Content::Block(Block {
                    long: b.len() > 255,
                    bytes: b.into(),
                })
            })
            .collect()
    }

    /// Adds the descriptor of a class and its serializable super classes, once.
    ///
    /// # Errors
    /// [`Error::WrongType`] for a class that no stream can describe (names above 65535 bytes).
    pub fn add_desc(&mut self, class: &ClassDesc) -> Result<NodeId, Error> {
        if let Some(&id) = self.built_descs.get(&class.name) {
            return Ok(id);
        }
        // A class file's super chain has MAX_LEVELS classes at most: the catalog checks it.
        let super_desc = class
            .super_desc
            .as_deref()
            .map(|s| self.add_desc(s))
            .transpose()?;
        let mut fields = Vec::with_capacity(class.fields.len());
        for field in &class.fields {
            let code = field.signature.as_bytes().first().copied().unwrap_or(b'L');
            let type_string =
                matches!(code, b'L' | b'[').then(|| self.type_string(&field.signature));
            fields.push(Field {
                code,
                name: field.name.clone(),
                type_string,
            });
        }
        let too_long = |s: &str| s.len() > 0xFFFF / 3;
        if too_long(&class.name)
            || fields.len() > 0xFFFF
            || fields.iter().any(|f| too_long(&f.name))
        {
            return Err(Error::WrongType {
                context: class.name.clone(),
                why: "its descriptor is too long".to_owned(),
            });
        }
        let kind = DescKind::Class {
            name: class.name.clone(),
            suid: class.suid,
            flags: class.flags,
            fields,
        };
        Ok(self.push_desc(kind, super_desc))
    }

    /// Copies a descriptor of another graph with its super classes; an equal one that was copied before is used again.
    ///
    /// # Errors
    /// [`Error::BadNode`] if `id` is no complete descriptor there.
    pub fn import_desc(&mut self, other: &Self, id: NodeId) -> Result<NodeId, Error> {
        match self.import(other, Value::Ref(other.complete_desc(id).map(|_| id)?))? {
            Value::Ref(id) => Ok(id),
            _ => Err(Error::BadNode {
                node: id.0,
                expected: "a class descriptor",
            }),
        }
    }

    /// Copies a value of another graph with everything it refers to.
    ///
    /// # Errors
    /// [`Error::BadNode`] if the value is not one of `other`.
    pub fn import(&mut self, other: &Self, value: Value) -> Result<Value, Error> {
        let copied = self.import_all(other, &[value])?;
        Ok(copied.first().copied().unwrap_or(Value::Null))
    }

    /// Copies values of another graph with everything they refer to: what several refer to, once.
    ///
    /// # Errors
    /// [`Error::BadNode`] if a value is not one of `other`.
    pub fn import_all(&mut self, other: &Self, values: &[Value]) -> Result<Vec<Value>, Error> {
        values.iter().try_for_each(|value| other.check(*value))?;
        let mut new_ids: HashMap<NodeId, NodeId> = HashMap::new();
        let mut order = Vec::new();
        let mut todo: Vec<NodeId> = values.iter().filter_map(|value| value.node()).collect();
        while let Some(id) = todo.pop() {
            if new_ids.contains_key(&id) {
                continue;
            }
            if let Some(known) = self.same_desc(other, id) {
                new_ids.insert(id, known);
                continue;
            }
            // A place holder; it gets its content below, when all ids are known.
            let new = self.push(Node::Str(Str {
                long: false,
                bytes: Box::default(),
            }));
            new_ids.insert(id, new);
            order.push((id, new));
            other.for_each_reference(id, |v| todo.push(v));
        }
        let map = |id: NodeId| new_ids.get(&id).copied().unwrap_or(id);
        for (old, new) in order {
            let Some(node) = other.node(old) else {
                continue;
            };
            let node = remapped(node, &map);
            if let Node::Desc(desc) = &node
                && let DescKind::Class { name, .. } = &desc.kind
            {
                self.built_descs.entry(name.clone()).or_insert(new);
            }
            if let Some(slot) = self.nodes.get_mut(new.index()) {
                *slot = node;
            }
        }
        Ok(values.iter().map(|value| map_value(*value, &map)).collect())
    }

    /// A descriptor of this graph that says the same as the other graph's.
    fn same_desc(&self, other: &Self, theirs: NodeId) -> Option<NodeId> {
        let chain = other.chain(theirs);
        let mine = *self.built_descs.get(other.desc(theirs)?.name())?;
        let my_chain = self.chain(mine);
        let same = |(a, b): (&NodeId, &NodeId)| {
            let (Some(a), Some(b)) = (self.desc(*a), other.desc(*b)) else {
                return false;
            };
            let fields = |g: &Self, d: &Desc| {
                d.fields()
                    .iter()
                    .map(|f| (f.name.clone(), g.field_signature(f).into_owned()))
                    .collect::<Vec<_>>()
            };
            (a.name(), a.suid(), a.flags()) == (b.name(), b.suid(), b.flags())
                && b.annotations.is_empty()
                && b.proxy_interfaces().is_none()
                && fields(self, a) == fields(other, b)
        };
        (!chain.is_empty() && chain.len() == my_chain.len() && my_chain.iter().zip(chain).all(same))
            .then_some(mine)
    }

    fn for_each_reference(&self, id: NodeId, mut f: impl FnMut(NodeId)) {
        let mut content = |c: &Content| {
            if let Content::Value(Value::Ref(id) | Value::Aborted(id)) = c {
                f(*id);
            }
        };
        match self.node(id) {
            Some(Node::Desc(d)) => {
                d.annotations.iter().for_each(&mut content);
                d.fields()
                    .iter()
                    .filter_map(|f| f.type_string)
                    .for_each(&mut f);
                d.super_desc
                    .into_iter()
                    .chain(d.chain.iter().copied().filter(|c| *c != id))
                    .for_each(f);
            }
            Some(Node::Object(o)) => {
                o.bodies
                    .iter()
                    .flat_map(|b| &b.items)
                    .for_each(&mut content);
                o.fields.iter().for_each(|v| content(&Content::Value(*v)));
                f(o.desc);
            }
            Some(Node::Array(a)) => {
                if let Elements::Refs { values, .. } = &a.elements {
                    values.iter().for_each(|v| content(&Content::Value(*v)));
                }
                f(a.desc);
            }
            Some(Node::Class { desc }) => f(*desc),
            Some(Node::Enum { desc, name }) => [*desc, *name].into_iter().for_each(f),
            Some(Node::Str(_)) | None => {}
        }
    }

    fn push_desc(&mut self, kind: DescKind, super_desc: Option<NodeId>) -> NodeId {
        let name = match &kind {
            DescKind::Class { name, .. } => name.clone(),
            DescKind::Proxy { .. } => String::new(),
        };
        let mut desc = Desc {
            kind,
            annotations: Vec::new(),
            super_desc,
            chain: Arc::default(),
        };
        let above = if desc.is_externalizable() {
            &[][..]
        } else {
            super_desc.map_or(&[][..], |s| self.chain(s))
        };
        let id = NodeId(self.nodes.len() as u32);
        desc.chain = above.iter().copied().chain([id]).collect();
        self.push(Node::Desc(Box::new(desc)));
        self.built_descs.insert(name, id);
        id
    }

    fn type_string(&mut self, signature: &str) -> NodeId {
        if let Some(&id) = self.built_types.get(signature) {
            return id;
        }
        let id = self.new_string(signature);
        self.built_types.insert(signature.to_owned(), id);
        id
    }

    /// More than 2^32 nodes need over 100 GiB: memory ends first.
    fn push(&mut self, node: Node) -> NodeId {
        let id = NodeId(self.nodes.len() as u32);
        self.nodes.push(node);
        id
    }

    fn complete_desc(&self, id: NodeId) -> Result<&Desc, Error> {
        self.desc(id)
            .filter(|d| !d.chain.is_empty())
            .ok_or(Error::BadNode {
                node: id.0,
                expected: "a class descriptor",
            })
    }

    fn check(&self, value: Value) -> Result<(), Error> {
        match value {
            Value::Ref(id) | Value::Aborted(id) if id.index() >= self.nodes.len() => {
                Err(Error::BadNode {
                    node: id.0,
                    expected: "of this graph",
                })
            }
            _ => Ok(()),
        }
    }

    fn check_reference(&self, value: Value) -> Result<(), Error> {
        if value.primitive_code().is_some() || matches!(value, Value::Aborted(_)) {
            return Err(Error::WrongType {
                context: "object".to_owned(),
                why: format!("{value:?} is not a reference"),
            });
        }
        self.check(value)
    }
}

/// Zero of a field's type.
fn zero(code: u8) -> Value {
    match code {
        b'Z' => Value::Bool(false),
        b'B' => Value::Byte(0),
        b'C' => Value::Char(0),
        b'S' => Value::Short(0),
        b'I' => Value::Int(0),
        b'J' => Value::Long(0),
        b'F' => Value::Float(0.0),
        b'D' => Value::Double(0.0),
        _ => Value::Null,
    }
}

fn map_value(value: Value, map: &impl Fn(NodeId) -> NodeId) -> Value {
    match value {
        Value::Ref(id) => Value::Ref(map(id)),
        Value::Aborted(id) => Value::Aborted(map(id)),
        other => other,
    }
}

fn map_contents(contents: &[Content], map: &impl Fn(NodeId) -> NodeId) -> Vec<Content> {
    contents
        .iter()
        .map(|c| match c {
            Content::Value(v) => Content::Value(map_value(*v, map)),
            other => other.clone(),
        })
        .collect()
}

fn remapped(node: &Node, map: &impl Fn(NodeId) -> NodeId) -> Node {
    let values = |values: &[Value]| values.iter().map(|v| map_value(*v, map)).collect();
    match node {
        Node::Desc(desc) => {
            let mut kind = desc.kind.clone();
            if let DescKind::Class { fields, .. } = &mut kind {
                for field in fields {
                    field.type_string = field.type_string.map(map);
                }
            }
            Node::Desc(Box::new(Desc {
                kind,
                annotations: map_contents(&desc.annotations, map),
                super_desc: desc.super_desc.map(map),
                chain: desc.chain.iter().copied().map(map).collect(),
            }))
        }
        Node::Object(o) => {
            let body = |b: &Body| Body {
                level: b.level,
                fields_omitted: b.fields_omitted,
                items: map_contents(&b.items, map),
            };
            Node::Object(Object {
                desc: map(o.desc),
                fields: values(&o.fields),
                bodies: o.bodies.iter().map(body).collect(),
            })
        }
        Node::Array(a) => {
            let elements = match &a.elements {
                Elements::Primitive(code, bytes) => Elements::Primitive(*code, bytes.clone()),
                Elements::Refs { len, values: v } => Elements::Refs {
                    len: *len,
                    values: values(v),
                },
            };
            Node::Array(Array {
                desc: map(a.desc),
                elements,
            })
        }
        Node::Str(s) => Node::Str(s.clone()),
        Node::Class { desc } => Node::Class { desc: map(*desc) },
        Node::Enum { desc, name } => Node::Enum {
            desc: map(*desc),
            name: map(*name),
        },
    }
}
