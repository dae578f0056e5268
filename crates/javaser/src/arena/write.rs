//! The writer: a loop over an explicit stack of tasks, so that it undoes exactly what the parser did.

use super::{Array, Block, Body, Content, Desc, DescKind, Elements, Graph, Node, NodeId, Value};
use crate::mutf8;
use crate::stream::*;

impl Graph {
    /// Appends the whole stream with its header. A parsed graph that was not changed gives the bytes it came from.
    pub fn write_to(&self, out: &mut Vec<u8>) {
        out.extend(HEADER);
        let mut writer = Writer {
            graph: self,
            out,
            handles: vec![(0, 0); self.nodes.len()],
            epoch: 1,
            next: 0,
            tasks: Vec::new(),
        };
        for root in &self.roots {
            writer.content(root);
            writer.run();
        }
    }

    /// [`Graph::write_to`] a new vector.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.write_to(&mut out);
        out
    }
}

enum Task<'a> {
    Value(Value),
    Values(&'a [Value]),
    Contents(&'a [Content]),
    Desc(Option<NodeId>),
    Byte(u8),
    /// The descriptor is written: the instance gets its handle and its data follows.
    Instance(NodeId),
    /// Level of an object and index of its first field value.
    Level {
        id: NodeId,
        level: usize,
        first: usize,
    },
    Reset,
}

struct Writer<'a, 'o> {
    graph: &'a Graph,
    out: &'o mut Vec<u8>,
    /// Epoch in which the node got a handle, and the handle. Each reset starts an epoch.
    handles: Vec<(u32, u32)>,
    epoch: u32,
    next: u32,
    tasks: Vec<Task<'a>>,
}

impl<'a> Writer<'a, '_> {
    fn run(&mut self) {
        while let Some(task) = self.tasks.pop() {
            match task {
                Task::Value(value) => self.value(value),
                Task::Values(values) => {
                    if let Some((first, rest)) = values.split_first() {
                        if !rest.is_empty() {
                            self.tasks.push(Task::Values(rest));
                        }
                        self.value(*first);
                    }
                }
                Task::Contents(contents) => {
                    if let Some((first, rest)) = contents.split_first() {
                        if !rest.is_empty() {
                            self.tasks.push(Task::Contents(rest));
                        }
                        self.content(first);
                    }
                }
                Task::Desc(desc) => self.desc(desc),
                Task::Byte(byte) => self.out.push(byte),
                Task::Instance(id) => self.instance(id),
                Task::Level { id, level, first } => self.level(id, level, first),
                Task::Reset => self.reset(),
            }
        }
    }

    fn content(&mut self, content: &Content) {
        match content {
            Content::Value(value) => self.tasks.push(Task::Value(*value)),
            Content::Block(Block { long, bytes }) => match u8::try_from(bytes.len()) {
                Ok(len) if !long => {
                    self.out.extend([TC_BLOCKDATA, len]);
                    self.out.extend_from_slice(bytes);
                }
                _ => {
                    self.out.push(TC_BLOCKDATALONG);
                    self.len32(bytes.len());
                    self.out.extend_from_slice(bytes);
                }
            },
            Content::Reset => {
                self.out.push(TC_RESET);
                self.reset();
            }
        }
    }

    fn value(&mut self, value: Value) {
        match value {
            Value::Null => self.out.push(TC_NULL),
            Value::Ref(id) => self.node(id),
            Value::Bool(v) => self.out.push(v.into()),
            Value::Byte(v) => self.out.extend(v.to_be_bytes()),
            Value::Char(v) => self.out.extend(v.to_be_bytes()),
            Value::Short(v) => self.out.extend(v.to_be_bytes()),
            Value::Int(v) => self.out.extend(v.to_be_bytes()),
            Value::Long(v) => self.out.extend(v.to_be_bytes()),
            Value::Float(v) => self.out.extend(v.to_bits().to_be_bytes()),
            Value::Double(v) => self.out.extend(v.to_bits().to_be_bytes()),
            Value::Aborted(exception) => {
                self.out.push(TC_EXCEPTION);
                self.reset();
                // Nothing of what was open is continued.
                self.tasks.clear();
                self.tasks
                    .extend([Task::Reset, Task::Value(Value::Ref(exception))]);
            }
        }
    }

    fn node(&mut self, id: NodeId) {
        if self.back_reference(id) {
            return;
        }
        match self.graph.node(id) {
            None => self.out.push(TC_NULL),
            Some(Node::Desc(_)) => self.desc(Some(id)),
            Some(Node::Str(string)) => {
                self.assign(id);
                if let Ok(len) = u16::try_from(string.bytes.len())
                    && !string.long
                {
                    self.out.push(TC_STRING);
                    self.out.extend(len.to_be_bytes());
                } else {
                    self.out.push(TC_LONGSTRING);
                    self.out.extend((string.bytes.len() as u64).to_be_bytes());
                }
                self.out.extend_from_slice(&string.bytes);
            }
            Some(Node::Object(o)) => self.begin(TC_OBJECT, id, o.desc),
            Some(Node::Array(a)) => self.begin(TC_ARRAY, id, a.desc),
            Some(Node::Class { desc }) => self.begin(TC_CLASS, id, *desc),
            Some(Node::Enum { desc, .. }) => self.begin(TC_ENUM, id, *desc),
        }
    }

    fn begin(&mut self, code: u8, id: NodeId, desc: NodeId) {
        self.out.push(code);
        self.tasks
            .extend([Task::Instance(id), Task::Desc(Some(desc))]);
    }

    fn instance(&mut self, id: NodeId) {
        self.assign(id);
        match self.graph.node(id) {
            Some(Node::Object(_)) => self.tasks.push(Task::Level {
                id,
                level: 0,
                first: 0,
            }),
            Some(Node::Enum { name, .. }) => self.tasks.push(Task::Value(Value::Ref(*name))),
            Some(Node::Array(Array {
                elements: Elements::Primitive(code, bytes),
                ..
            })) => {
                let size = super::primitive_size(*code).unwrap_or(1);
                self.len32(bytes.len() / size);
                self.out.extend_from_slice(bytes);
            }
            Some(Node::Array(Array {
                elements: Elements::Refs { len, values },
                ..
            })) => {
                self.out.extend(len.to_be_bytes());
                self.tasks.push(Task::Values(values));
            }
            Some(Node::Class { .. } | Node::Desc(_) | Node::Str(_)) | None => {}
        }
    }

    fn level(&mut self, id: NodeId, level: usize, first: usize) {
        let Some(Node::Object(object)) = self.graph.node(id) else {
            return;
        };
        let Some(&desc_id) = self.graph.chain(object.desc).get(level) else {
            return;
        };
        let Some(desc) = self.graph.desc(desc_id) else {
            return;
        };
        let body = object.bodies.iter().find(|b| usize::from(b.level) == level);
        let count = match body {
            Some(Body {
                fields_omitted: true,
                ..
            }) => 0,
            _ => desc.fields().len(),
        };
        self.tasks.push(Task::Level {
            id,
            level: level + 1,
            first: first + count,
        });
        if let Some(body) = body {
            self.tasks
                .extend([Task::Byte(TC_ENDBLOCKDATA), Task::Contents(&body.items)]);
        }
        let end = object.fields.len().min(first + count);
        if let Some(values) = object.fields.get(first..end) {
            self.tasks.push(Task::Values(values));
        }
    }

    fn desc(&mut self, desc: Option<NodeId>) {
        let Some((id, desc)) = desc.and_then(|id| self.graph.desc(id).map(|d| (id, d))) else {
            self.out.push(TC_NULL);
            return;
        };
        if self.back_reference(id) {
            return;
        }
        let Desc {
            kind,
            annotations,
            super_desc,
            ..
        } = desc;
        match kind {
            DescKind::Proxy { interfaces } => {
                self.out.push(TC_PROXYCLASSDESC);
                self.assign(id);
                self.len32(interfaces.len());
                for name in interfaces {
                    self.name(name);
                }
            }
            DescKind::Class {
                name,
                suid,
                flags,
                fields,
            } => {
                self.out.push(TC_CLASSDESC);
                self.name(name);
                self.out.extend(suid.to_be_bytes());
                self.assign(id);
                self.out.push(*flags);
                // Built and read descriptors have 65535 fields at most.
                self.out.extend((fields.len() as u16).to_be_bytes());
                for field in fields {
                    self.out.push(field.code);
                    self.name(&field.name);
                    if let Some(type_string) = field.type_string {
                        self.node(type_string);
                    }
                }
            }
        }
        self.tasks.extend([
            Task::Desc(*super_desc),
            Task::Byte(TC_ENDBLOCKDATA),
            Task::Contents(annotations),
        ]);
    }

    fn back_reference(&mut self, id: NodeId) -> bool {
        match self.handles.get(id.index()) {
            Some(&(epoch, handle)) if epoch == self.epoch => {
                self.out.push(TC_REFERENCE);
                self.out.extend((BASE_HANDLE + handle).to_be_bytes());
                true
            }
            _ => false,
        }
    }

    fn assign(&mut self, id: NodeId) {
        if let Some(slot) = self.handles.get_mut(id.index()) {
            *slot = (self.epoch, self.next);
            self.next += 1;
        }
    }

    fn reset(&mut self) {
        self.epoch += 1;
        self.next = 0;
    }

    fn name(&mut self, name: &str) {
        let bytes = mutf8::encode(name);
        // Names come from a stream or a checked builder: 65535 bytes at most.
        self.out.extend((bytes.len() as u16).to_be_bytes());
        self.out.extend_from_slice(&bytes);
    }

    /// Lengths come from a stream or a checked builder: they fit an `int`.
    fn len32(&mut self, len: usize) {
        self.out.extend((len as u32).to_be_bytes());
    }
}
