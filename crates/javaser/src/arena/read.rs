//! The parser: a loop over an explicit stack of open nodes.

mod cursor;
mod items;

use std::sync::Arc;

use super::{
    Array, Body, Content, Desc, Elements, Graph, Node, NodeId, Object, Value, primitive_size,
};
use crate::omitted_fields::{OmittedFields, omitted_fields};
use crate::stream::*;
use crate::{Error, Limits};

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

    /// Reads the values of a stream up to where all handles are forgotten, and says how many bytes that took, with the
    /// mark (`TC_RESET`); `None` if the bytes end without one. What follows is read behind a header of its own.
    ///
    /// # Errors
    /// As [`Graph::parse`].
    pub fn parse_to_reset(bytes: &[u8], limits: &Limits) -> Result<(Self, Option<usize>), Error> {
        let mut parser = Parser::new(bytes, limits)?;
        while !parser.rest.is_empty() {
            let root = parser.root()?;
            if root == Content::Reset {
                let used = parser.at();
                return Ok((parser.graph, Some(used)));
            }
            parser.graph.roots.push(root);
        }
        Ok((parser.graph, None))
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
                    // Every node that waits gets the part that was read.
                    let mut root = inside;
                    for frame in stack.into_iter().rev() {
                        let part = Value::Ref(root);
                        match frame {
                            Frame::Object(mut object) => {
                                self.store(object.id, &mut object.place, Content::Value(part));
                                root = object.id;
                            }
                            Frame::Array(id, _) => {
                                self.push_element(id, part);
                                root = id;
                            }
                            // It would have to be written half; Spark never annotates descriptors.
                            Frame::AwaitsDesc(_)
                            | Frame::Annotations(_)
                            | Frame::AwaitsSuper(_) => {
                                let place = "an annotation of a class descriptor";
                                return Err(self.bad_code(TC_EXCEPTION, place));
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

    fn push_element(&mut self, id: NodeId, value: Value) {
        if let Some(Node::Array(array)) = self.graph.nodes.get_mut(id.index())
            && let Elements::Refs { values, .. } = &mut array.elements
        {
            values.push(value);
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
        let is_block = matches!(next, TC_BLOCKDATA | TC_BLOCKDATALONG);
        let fields_omitted = desc.fields().first().is_some_and(|first| {
            match omitted_fields(desc.name(), first.name()) {
                Some(OmittedFields::Always) => true,
                Some(OmittedFields::IfBlockDataComesFirst) => is_block,
                // Neither can be the value of a field.
                None => first.is_reference() && (is_block || next == TC_ENDBLOCKDATA),
            }
        });
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
}
