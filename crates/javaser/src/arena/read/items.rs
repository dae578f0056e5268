//! Values, class descriptors and strings: everything that begins with a type code.

use std::sync::Arc;

use super::super::{
    Block, Content, Desc, DescKind, Field, Node, NodeId, Str, Value, primitive_size,
};
use super::{Frame, Item, Opened, Parser};
use crate::stream::*;
use crate::{Error, mutf8};

impl Parser<'_> {
    pub(super) fn item(&mut self) -> Result<Item, Error> {
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

    pub(super) fn value(&mut self) -> Result<Opened, Error> {
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

    pub(super) fn exception(&mut self, at: usize) -> Result<Opened, Error> {
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

    pub(super) fn desc(&mut self) -> Result<Opened, Error> {
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

    pub(super) fn new_desc(&mut self, code: u8) -> Result<Opened, Error> {
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

    pub(super) fn field(&mut self) -> Result<Field, Error> {
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
    pub(super) fn string_value(&mut self) -> Result<NodeId, Error> {
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

    pub(super) fn new_string(&mut self, code: u8) -> Result<NodeId, Error> {
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
    pub(super) fn name(&mut self) -> Result<String, Error> {
        let at = self.at();
        let len = self.u16()?;
        let bytes = self.take(len.into())?;
        mutf8::decode_exact(bytes).ok_or(Error::BadString { at })
    }

    pub(super) fn primitive(&mut self, code: u8) -> Result<Value, Error> {
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
}
