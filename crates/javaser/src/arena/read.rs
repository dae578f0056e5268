//! The parser: a loop over an explicit stack of open nodes.

use std::sync::Arc;

use super::{
    Array, Block, Body, Content, Desc, DescKind, Elements, Field, Graph, Node, NodeId, Object, Str,
    Value, primitive_size,
};
use crate::liars::{Liar, liar};
use crate::stream::*;
use crate::{Error, Limits, mutf8};

impl Graph {
    /// Reads a whole stream.
    ///
    /// # Errors
    /// Everything that a Java reader would call corrupt, and every passed limit. Nothing is allocated for lengths that
    /// the input cannot fill.
    pub fn parse(bytes: &[u8], limits: &Limits) -> Result<Self, Error> {
        let mut parser = Parser::new(bytes, limits)?;
        while !parser.rest.is_empty() {
            let root = parser.root()?;
            parser.graph.roots.push(root);
        }
        Ok(parser.graph)
    }

    /// Reads a stream up to its first root value and says how many bytes that took. Spark sends some streams in the
    /// buffers in which they were built, with zeros behind them (a task's serialized metrics).
    ///
    /// # Errors
    /// As [`Graph::parse`].
    pub fn parse_first(bytes: &[u8], limits: &Limits) -> Result<(Self, usize), Error> {
        let mut parser = Parser::new(bytes, limits)?;
        while !parser.rest.is_empty() {
            let root = parser.root()?;
            let is_value = matches!(root, Content::Value(_));
            parser.graph.roots.push(root);
            if is_value {
                break;
            }
        }
        let used = parser.at();
        Ok((parser.graph, used))
    }
}

/// A node whose reading has begun.
enum Frame {
    /// `TC_OBJECT`, `TC_ARRAY`, `TC_CLASS` or `TC_ENUM` (the code) waiting for its descriptor.
    AwaitsDesc(u8),
    /// Descriptor: reading annotations.
    Annotations(NodeId),
    /// Descriptor: waiting for the one of the super class.
    AwaitsSuper(NodeId),
    Object(ObjectFrame),
    /// Array of so many references.
    Array(NodeId, u32),
}

/// Object whose data is being read.
struct ObjectFrame {
    id: NodeId,
    chain: Arc<[NodeId]>,
    /// Index into `chain`.
    level: usize,
    place: Place,
}

enum Place {
    LevelStart,
    Field(usize),
    Body,
}

/// What a frame came to.
enum Step {
    /// The frame waits for the other one.
    Open(Frame, Frame),
    Done(Value),
    /// `TC_EXCEPTION` inside this node: every open node stays as it is.
    Aborted(NodeId),
}

/// First look at a value.
enum Opened {
    Value(Value),
    Frame(Frame),
}

/// One item of a content list.
enum Item {
    Content(Content),
    Frame(Frame),
    End,
}

struct Parser<'a> {
    bytes: &'a [u8],
    rest: &'a [u8],
    limits: &'a Limits,
    graph: Graph,
    /// Index of the node with the first handle since the last reset.
    base: usize,
    in_exception: bool,
}

impl<'a> Parser<'a> {
    fn new(bytes: &'a [u8], limits: &'a Limits) -> Result<Self, Error> {
        if bytes.len() > limits.max_total {
            return Err(Error::StreamTooLong {
                len: bytes.len(),
                max: limits.max_total,
            });
        }
        let Some(body) = bytes.strip_prefix(&HEADER) else {
            return Err(Error::BadHeader {
                found: bytes.iter().take(4).copied().collect(),
            });
        };
        Ok(Parser {
            bytes,
            rest: body,
            limits,
            graph: Graph::default(),
            base: 0,
            in_exception: false,
        })
    }

    fn root(&mut self) -> Result<Content, Error> {
        if self.rest.first() == Some(&TC_RESET) {
            self.u8()?;
            self.base = self.graph.nodes.len();
            return Ok(Content::Reset);
        }
        match self.item()? {
            Item::Content(c) => Ok(c),
            Item::Frame(frame) => self.run(frame).map(Content::Value),
            Item::End => Err(self.bad_code(TC_ENDBLOCKDATA, "a value")),
        }
    }

    /// Reads the node that `first` begins.
    fn run(&mut self, first: Frame) -> Result<Value, Error> {
        let mut stack = vec![first];
        let mut arrived = None;
        while let Some(frame) = stack.pop() {
            match self.step(frame, arrived.take())? {
                Step::Open(waiting, child) => {
                    stack.push(waiting);
                    stack.push(child);
                    if stack.len() > self.limits.max_depth {
                        return Err(Error::TooDeep {
                            at: self.at(),
                            max: self.limits.max_depth,
                        });
                    }
                }
                Step::Done(value) => arrived = Some(value),
                Step::Aborted(inside) => {
                    // A descriptor on the stack would have to be written half; Spark never annotates descriptors.
                    let mut root = inside;
                    for frame in stack.iter().rev() {
                        match frame {
                            Frame::Object(ObjectFrame { id, .. }) | Frame::Array(id, _) => {
                                root = *id
                            }
                            _ => {
                                return Err(self.bad_code(
                                    TC_EXCEPTION,
                                    "an annotation of a class descriptor",
                                ));
                            }
                        }
                    }
                    return Ok(Value::Ref(root));
                }
            }
        }
        Ok(arrived.unwrap_or(Value::Null))
    }

    fn step(&mut self, frame: Frame, arrived: Option<Value>) -> Result<Step, Error> {
        match frame {
            Frame::AwaitsDesc(code) => match arrived {
                None => self.desc_for(code),
                Some(Value::Ref(desc)) => self.instance(code, desc),
                Some(_) => Err(self.bad_code(TC_NULL, "a class descriptor")),
            },
            Frame::Annotations(id) => {
                if let Some(value) = arrived {
                    self.annotate(id, Content::Value(value))?;
                }
                loop {
                    match self.item()? {
                        Item::Content(c) => self.annotate(id, c)?,
                        Item::Frame(child) => return Ok(Step::Open(Frame::Annotations(id), child)),
                        Item::End => break,
                    }
                }
                match self.desc()? {
                    Opened::Value(value) => self.finish_desc(id, value),
                    Opened::Frame(child) => Ok(Step::Open(Frame::AwaitsSuper(id), child)),
                }
            }
            Frame::AwaitsSuper(id) => self.finish_desc(id, arrived.unwrap_or(Value::Null)),
            Frame::Object(object) => self.object(object, arrived),
            Frame::Array(id, len) => self.array(id, len, arrived),
        }
    }

    fn annotate(&mut self, id: NodeId, content: Content) -> Result<(), Error> {
        if matches!(content, Content::Value(Value::Aborted(_))) {
            return Err(self.bad_code(TC_EXCEPTION, "an annotation of a class descriptor"));
        }
        if let Some(Node::Desc(desc)) = self.graph.nodes.get_mut(id.index()) {
            desc.annotations.push(content);
        }
        Ok(())
    }

    fn finish_desc(&mut self, id: NodeId, super_value: Value) -> Result<Step, Error> {
        let super_desc = super_value.node();
        let above = super_desc.map_or(&[][..], |s| self.graph.chain(s));
        if super_desc.is_some() && above.is_empty() {
            return Err(self.bad_desc(id, "it is its own super class"));
        }
        if above.len() >= MAX_LEVELS {
            return Err(self.bad_desc(id, "too many super classes"));
        }
        let externalizable = self.graph.desc(id).is_some_and(Desc::is_externalizable);
        // Only the class itself writes if it is Externalizable.
        let levels = if externalizable { &[][..] } else { above };
        let chain: Arc<[NodeId]> = levels.iter().copied().chain([id]).collect();
        if let Some(Node::Desc(desc)) = self.graph.nodes.get_mut(id.index()) {
            desc.super_desc = super_desc;
            desc.chain = chain;
        }
        Ok(Step::Done(Value::Ref(id)))
    }

    fn desc_for(&mut self, code: u8) -> Result<Step, Error> {
        match self.desc()? {
            Opened::Value(Value::Ref(desc)) => self.instance(code, desc),
            Opened::Value(_) => Err(self.bad_code(TC_NULL, "a class descriptor")),
            Opened::Frame(child) => Ok(Step::Open(Frame::AwaitsDesc(code), child)),
        }
    }

    /// The descriptor of `code` is known: gives the instance its handle and starts on its data.
    fn instance(&mut self, code: u8, desc: NodeId) -> Result<Step, Error> {
        let (name, flags) = self
            .graph
            .desc(desc)
            .map_or(("", 0), |d| (d.name(), d.flags()));
        match code {
            TC_CLASS => self
                .add(Node::Class { desc })
                .map(Value::Ref)
                .map(Step::Done),
            TC_ENUM => {
                if flags & SC_ENUM == 0 {
                    return Err(self.bad_desc(desc, "a constant of a class that is no enum"));
                }
                // The constant has its handle before its name has.
                let id = self.add(Node::Enum { desc, name: desc })?;
                let constant = self.string_value()?;
                if let Some(Node::Enum { name, .. }) = self.graph.nodes.get_mut(id.index()) {
                    *name = constant;
                }
                Ok(Step::Done(Value::Ref(id)))
            }
            TC_ARRAY => {
                let Some(&element) = name.as_bytes().get(1).filter(|_| name.starts_with('['))
                else {
                    return Err(self.bad_desc(desc, "an array of a class that is no array class"));
                };
                self.new_array(desc, element)
            }
            _ => {
                if flags & SC_ENUM != 0 || name.starts_with('[') {
                    return Err(self.bad_desc(desc, "an object of an enum or array class"));
                }
                let id = self.add(Node::Object(Object {
                    desc,
                    fields: Vec::new(),
                    bodies: Vec::new(),
                }))?;
                let chain = self
                    .graph
                    .desc(desc)
                    .map(|d| d.chain.clone())
                    .unwrap_or_default();
                self.object(
                    ObjectFrame {
                        id,
                        chain,
                        level: 0,
                        place: Place::LevelStart,
                    },
                    None,
                )
            }
        }
    }

    fn new_array(&mut self, desc: NodeId, element: u8) -> Result<Step, Error> {
        let at = self.at();
        let len = self.i32()?;
        let Ok(len) = u32::try_from(len) else {
            return Err(Error::BadValue {
                at,
                what: "array length",
                value: len.into(),
            });
        };
        if len as usize > self.limits.max_array_len {
            return Err(Error::ArrayTooLong {
                at,
                len: len.into(),
                max: self.limits.max_array_len,
            });
        }
        if let Some(size) = primitive_size(element) {
            let data = self.take(u64::from(len) * size as u64)?;
            if element == b'Z'
                && let Some(&b) = data.iter().find(|&&b| b > 1)
            {
                return Err(Error::BadValue {
                    at,
                    what: "boolean",
                    value: b.into(),
                });
            }
            let elements = Elements::Primitive(element, data.into());
            return self
                .add(Node::Array(Array { desc, elements }))
                .map(Value::Ref)
                .map(Step::Done);
        }
        if !matches!(element, b'L' | b'[') {
            return Err(self.bad_desc(desc, "unknown element type"));
        }
        // Each element takes a byte at least.
        if len as usize > self.rest.len() {
            return Err(Error::Truncated {
                at,
                needed: u64::from(len) - self.rest.len() as u64,
            });
        }
        let id = self.add(Node::Array(Array {
            desc,
            elements: Elements::Refs {
                len,
                values: Vec::new(),
            },
        }))?;
        self.array(id, len, None)
    }

    fn array(&mut self, id: NodeId, len: u32, arrived: Option<Value>) -> Result<Step, Error> {
        let mut next = arrived;
        loop {
            let Some(Node::Array(Array {
                elements: Elements::Refs { values, .. },
                ..
            })) = self.graph.nodes.get_mut(id.index())
            else {
                return Ok(Step::Done(Value::Ref(id)));
            };
            if let Some(value) = next.take() {
                values.push(value);
                if matches!(value, Value::Aborted(_)) {
                    return Ok(Step::Aborted(id));
                }
            }
            if values.len() >= len as usize {
                return Ok(Step::Done(Value::Ref(id)));
            }
            match self.value()? {
                Opened::Value(value) => next = Some(value),
                Opened::Frame(child) => return Ok(Step::Open(Frame::Array(id, len), child)),
            }
        }
    }

    fn object(&mut self, mut frame: ObjectFrame, arrived: Option<Value>) -> Result<Step, Error> {
        let id = frame.id;
        if let Some(value) = arrived {
            self.store(id, &mut frame.place, Content::Value(value));
            if matches!(value, Value::Aborted(_)) {
                return Ok(Step::Aborted(id));
            }
        }
        while let Some(&level) = frame.chain.get(frame.level) {
            match frame.place {
                Place::LevelStart => frame.place = self.level_start(id, frame.level, level),
                Place::Field(index) => {
                    let Some(desc) = self.graph.desc(level) else {
                        break;
                    };
                    let Some(field) = desc.fields().get(index) else {
                        frame.place = if desc.flags() & SC_WRITE_METHOD != 0 {
                            Place::Body
                        } else {
                            Place::LevelStart
                        };
                        frame.level += usize::from(matches!(frame.place, Place::LevelStart));
                        continue;
                    };
                    let value = if field.is_reference() {
                        match self.value()? {
                            Opened::Value(value) => value,
                            Opened::Frame(child) => {
                                return Ok(Step::Open(Frame::Object(frame), child));
                            }
                        }
                    } else {
                        let code = field.code;
                        self.primitive(code)?
                    };
                    self.store(id, &mut frame.place, Content::Value(value));
                    if matches!(value, Value::Aborted(_)) {
                        return Ok(Step::Aborted(id));
                    }
                }
                Place::Body => match self.item()? {
                    Item::Content(content) => {
                        let aborted = matches!(content, Content::Value(Value::Aborted(_)));
                        self.store(id, &mut frame.place, content);
                        if aborted {
                            return Ok(Step::Aborted(id));
                        }
                    }
                    Item::Frame(child) => return Ok(Step::Open(Frame::Object(frame), child)),
                    Item::End => {
                        frame.place = Place::LevelStart;
                        frame.level += 1;
                    }
                },
            }
        }
        Ok(Step::Done(Value::Ref(id)))
    }

    /// Decides whether a level begins with its fields or with its body.
    fn level_start(&mut self, id: NodeId, level: usize, desc: NodeId) -> Place {
        let Some(desc) = self.graph.desc(desc) else {
            return Place::Field(0);
        };
        let next = self.rest.first().copied().unwrap_or(TC_NULL);
        let flags = desc.flags();
        let external = desc.is_externalizable();
        if !external && flags & SC_WRITE_METHOD == 0 {
            return Place::Field(0);
        }
        let fields_omitted = match desc.fields().first() {
            None => false,
            Some(first) if first.is_reference() => {
                matches!(next, TC_BLOCKDATA | TC_BLOCKDATALONG | TC_ENDBLOCKDATA)
            }
            Some(_) => match liar(desc.name()) {
                Some(Liar::Always) => true,
                Some(Liar::IfBlockDataComesFirst) => {
                    matches!(next, TC_BLOCKDATA | TC_BLOCKDATALONG)
                }
                None => false,
            },
        };
        // finish_desc limits the levels to MAX_LEVELS.
        let level = u16::try_from(level).unwrap_or(u16::MAX);
        if let Some(Node::Object(object)) = self.graph.nodes.get_mut(id.index()) {
            object.bodies.push(Body {
                level,
                fields_omitted,
                items: Vec::new(),
            });
        }
        if external || fields_omitted {
            Place::Body
        } else {
            Place::Field(0)
        }
    }

    /// Puts a value where the object's reader stands.
    fn store(&mut self, id: NodeId, place: &mut Place, content: Content) {
        let Some(Node::Object(object)) = self.graph.nodes.get_mut(id.index()) else {
            return;
        };
        match (place, content) {
            (Place::Field(index), Content::Value(value)) => {
                object.fields.push(value);
                *index += 1;
            }
            (_, content) => {
                if let Some(body) = object.bodies.last_mut() {
                    body.items.push(content);
                }
            }
        }
    }

    fn item(&mut self) -> Result<Item, Error> {
        let long = match self.rest.first() {
            Some(&TC_BLOCKDATA) => false,
            Some(&TC_BLOCKDATALONG) => true,
            Some(&TC_ENDBLOCKDATA) => {
                self.u8()?;
                return Ok(Item::End);
            }
            _ => {
                return Ok(match self.value()? {
                    Opened::Value(value) => Item::Content(Content::Value(value)),
                    Opened::Frame(frame) => Item::Frame(frame),
                });
            }
        };
        self.u8()?;
        let at = self.at();
        let len = if long { self.i32()? } else { self.u8()?.into() };
        let len = u64::try_from(len).map_err(|_| Error::BadValue {
            at,
            what: "block length",
            value: len.into(),
        })?;
        let bytes = self.take(len)?.into();
        Ok(Item::Content(Content::Block(Block { long, bytes })))
    }

    fn value(&mut self) -> Result<Opened, Error> {
        let at = self.at();
        let code = self.u8()?;
        match code {
            TC_NULL => Ok(Opened::Value(Value::Null)),
            TC_REFERENCE => {
                let handle = self.u32()?;
                self.referred(handle)
                    .map(|id| Opened::Value(Value::Ref(id)))
                    .ok_or(Error::BadHandle {
                        at,
                        handle,
                        expected: "an object read before",
                    })
            }
            TC_CLASSDESC | TC_PROXYCLASSDESC => self.new_desc(code),
            TC_OBJECT | TC_ARRAY | TC_CLASS | TC_ENUM => Ok(Opened::Frame(Frame::AwaitsDesc(code))),
            TC_STRING | TC_LONGSTRING => self
                .new_string(code)
                .map(|id| Opened::Value(Value::Ref(id))),
            TC_EXCEPTION if !self.in_exception => self.exception(at),
            _ => Err(Error::BadTypeCode {
                at,
                code,
                expected: "a value",
            }),
        }
    }

    fn exception(&mut self, at: usize) -> Result<Opened, Error> {
        self.base = self.graph.nodes.len();
        self.in_exception = true;
        // Nested at most once: `in_exception` refuses a second TC_EXCEPTION.
        let value = match self.value()? {
            Opened::Value(value) => value,
            Opened::Frame(frame) => self.run(frame)?,
        };
        self.in_exception = false;
        self.base = self.graph.nodes.len();
        match value {
            Value::Ref(id) => Ok(Opened::Value(Value::Aborted(id))),
            _ => Err(Error::BadTypeCode {
                at,
                code: TC_EXCEPTION,
                expected: "an exception object behind it",
            }),
        }
    }

    fn desc(&mut self) -> Result<Opened, Error> {
        let at = self.at();
        let code = self.u8()?;
        match code {
            TC_NULL => Ok(Opened::Value(Value::Null)),
            TC_REFERENCE => {
                let handle = self.u32()?;
                match self
                    .referred(handle)
                    .filter(|&id| !self.graph.chain(id).is_empty())
                {
                    Some(id) => Ok(Opened::Value(Value::Ref(id))),
                    None => Err(Error::BadHandle {
                        at,
                        handle,
                        expected: "a complete class descriptor",
                    }),
                }
            }
            TC_CLASSDESC | TC_PROXYCLASSDESC => self.new_desc(code),
            _ => Err(Error::BadTypeCode {
                at,
                code,
                expected: "a class descriptor",
            }),
        }
    }

    fn new_desc(&mut self, code: u8) -> Result<Opened, Error> {
        let empty = |kind| {
            let chain = Arc::default();
            Node::Desc(Box::new(Desc {
                kind,
                annotations: Vec::new(),
                super_desc: None,
                chain,
            }))
        };
        if code == TC_PROXYCLASSDESC {
            let id = self.add(empty(DescKind::Proxy {
                interfaces: Vec::new(),
            }))?;
            let at = self.at();
            let count = self.i32()?;
            // A Java class has 65535 interfaces at most.
            if !(0..=0xFFFF).contains(&count) {
                return Err(Error::BadValue {
                    at,
                    what: "number of interfaces",
                    value: count.into(),
                });
            }
            let names = (0..count)
                .map(|_| self.name())
                .collect::<Result<Vec<_>, _>>()?;
            if let Some(Node::Desc(desc)) = self.graph.nodes.get_mut(id.index()) {
                desc.kind = DescKind::Proxy { interfaces: names };
            }
            return Ok(Opened::Frame(Frame::Annotations(id)));
        }
        let name = self.name()?;
        let suid = self.i64()?;
        let id = self.add(empty(DescKind::Class {
            name,
            suid,
            flags: 0,
            fields: Vec::new(),
        }))?;
        let stream_flags = self.u8()?;
        let count = self.u16()?;
        let mut declared: Vec<Field> = Vec::new();
        for _ in 0..count {
            let field = self.field()?;
            if declared.last().is_some_and(Field::is_reference) && !field.is_reference() {
                return Err(self.bad_desc(id, "primitive fields behind references"));
            }
            declared.push(field);
        }
        let both = SC_SERIALIZABLE | SC_EXTERNALIZABLE;
        let why = if stream_flags & both == both {
            Some("both Serializable and Externalizable")
        } else if stream_flags & SC_EXTERNALIZABLE != 0 && stream_flags & SC_BLOCK_DATA == 0 {
            Some("Externalizable in protocol version 1")
        } else if stream_flags & SC_ENUM != 0 && (suid != 0 || !declared.is_empty()) {
            Some("an enum with fields or a serialVersionUID")
        } else if stream_flags & both != SC_SERIALIZABLE && !declared.is_empty() {
            Some("fields in a class that is not Serializable")
        } else {
            None
        };
        if let Some(Node::Desc(desc)) = self.graph.nodes.get_mut(id.index())
            && let DescKind::Class { flags, fields, .. } = &mut desc.kind
        {
            *flags = stream_flags;
            *fields = declared;
        }
        match why {
            Some(why) => Err(self.bad_desc(id, why)),
            None => Ok(Opened::Frame(Frame::Annotations(id))),
        }
    }

    fn field(&mut self) -> Result<Field, Error> {
        let at = self.at();
        let code = self.u8()?;
        let name = self.name()?;
        let type_string = match code {
            b'L' | b'[' => Some(self.string_value()?),
            _ if primitive_size(code).is_some() => None,
            _ => {
                return Err(Error::BadTypeCode {
                    at,
                    code,
                    expected: "the type of a field",
                });
            }
        };
        Ok(Field {
            code,
            name,
            type_string,
        })
    }

    /// A string where nothing else is allowed: type strings and names of enum constants.
    fn string_value(&mut self) -> Result<NodeId, Error> {
        let at = self.at();
        let code = self.u8()?;
        match code {
            TC_STRING | TC_LONGSTRING => self.new_string(code),
            TC_REFERENCE => {
                let handle = self.u32()?;
                let found = self
                    .referred(handle)
                    .filter(|id| matches!(self.graph.node(*id), Some(Node::Str(_))));
                found.ok_or(Error::BadHandle {
                    at,
                    handle,
                    expected: "a string",
                })
            }
            _ => Err(Error::BadTypeCode {
                at,
                code,
                expected: "a string",
            }),
        }
    }

    fn new_string(&mut self, code: u8) -> Result<NodeId, Error> {
        let long = code == TC_LONGSTRING;
        let at = self.at();
        let len = if long {
            self.i64()?
        } else {
            self.u16()?.into()
        };
        let len = u64::try_from(len).map_err(|_| Error::BadValue {
            at,
            what: "string length",
            value: len,
        })?;
        if len > self.limits.max_string_len as u64 {
            return Err(Error::StringTooLong {
                at,
                len,
                max: self.limits.max_string_len,
            });
        }
        let bytes = self.take(len)?;
        if !mutf8::is_valid(bytes) {
            return Err(Error::BadString { at });
        }
        self.add(Node::Str(Str {
            long,
            bytes: bytes.into(),
        }))
    }

    /// Name of a class or field.
    fn name(&mut self) -> Result<String, Error> {
        let at = self.at();
        let len = self.u16()?;
        let bytes = self.take(len.into())?;
        mutf8::decode_exact(bytes).ok_or(Error::BadString { at })
    }

    fn primitive(&mut self, code: u8) -> Result<Value, Error> {
        let at = self.at();
        Ok(match code {
            b'Z' => match self.u8()? {
                0 => Value::Bool(false),
                1 => Value::Bool(true),
                b => {
                    return Err(Error::BadValue {
                        at,
                        what: "boolean",
                        value: b.into(),
                    });
                }
            },
            b'B' => Value::Byte(i8::from_be_bytes(self.fixed()?)),
            b'C' => Value::Char(self.u16()?),
            b'S' => Value::Short(i16::from_be_bytes(self.fixed()?)),
            b'I' => Value::Int(self.i32()?),
            b'J' => Value::Long(self.i64()?),
            b'F' => Value::Float(f32::from_bits(self.u32()?)),
            b'D' => Value::Double(f64::from_bits(u64::from_be_bytes(self.fixed()?))),
            _ => {
                return Err(Error::BadTypeCode {
                    at,
                    code,
                    expected: "a primitive type",
                });
            }
        })
    }

    fn add(&mut self, node: Node) -> Result<NodeId, Error> {
        let index = self.graph.nodes.len();
        match u32::try_from(index) {
            Ok(id) if index < self.limits.max_handles => {
                self.graph.nodes.push(node);
                Ok(NodeId(id))
            }
            _ => Err(Error::TooManyHandles {
                at: self.at(),
                max: self.limits.max_handles,
            }),
        }
    }

    fn referred(&self, handle: u32) -> Option<NodeId> {
        let index = self
            .base
            .checked_add(handle.checked_sub(BASE_HANDLE)? as usize)?;
        (index < self.graph.nodes.len()).then(|| u32::try_from(index).ok().map(NodeId))?
    }

    fn at(&self) -> usize {
        self.bytes.len() - self.rest.len()
    }

    fn bad_code(&self, code: u8, expected: &'static str) -> Error {
        Error::BadTypeCode {
            at: self.at(),
            code,
            expected,
        }
    }

    fn bad_desc(&self, id: NodeId, why: &'static str) -> Error {
        Error::BadDescriptor {
            at: self.at(),
            class: self.graph.desc(id).map_or("", Desc::name).to_owned(),
            why,
        }
    }

    fn take(&mut self, len: u64) -> Result<&'a [u8], Error> {
        let split = usize::try_from(len)
            .ok()
            .and_then(|n| self.rest.split_at_checked(n));
        let Some((head, tail)) = split else {
            return Err(Error::Truncated {
                at: self.at(),
                needed: len - self.rest.len() as u64,
            });
        };
        self.rest = tail;
        Ok(head)
    }

    fn fixed<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        match self.rest.split_first_chunk::<N>() {
            Some((head, tail)) => {
                self.rest = tail;
                Ok(*head)
            }
            None => Err(Error::Truncated {
                at: self.at(),
                needed: (N - self.rest.len()) as u64,
            }),
        }
    }

    fn u8(&mut self) -> Result<u8, Error> {
        self.fixed().map(u8::from_be_bytes)
    }

    fn u16(&mut self) -> Result<u16, Error> {
        self.fixed().map(u16::from_be_bytes)
    }

    fn u32(&mut self) -> Result<u32, Error> {
        self.fixed().map(u32::from_be_bytes)
    }

    fn i32(&mut self) -> Result<i32, Error> {
        self.fixed().map(i32::from_be_bytes)
    }

    fn i64(&mut self) -> Result<i64, Error> {
        self.fixed().map(i64::from_be_bytes)
    }
}
