use serde::ser::{self, Serialize};

use super::Tree;
use crate::Error;
use crate::types::{BodyItem, magic};

/// Values inside values; more would be a struct that owns itself.
const MAX_DEPTH: usize = 128;

#[derive(Clone, Copy)]
pub(super) struct TreeSerializer {
    depth: usize,
}

impl TreeSerializer {
    pub(super) fn new() -> Self {
        Self { depth: 0 }
    }

    fn child(self) -> Result<Self, Error> {
        if self.depth >= MAX_DEPTH {
            return Err(Error::TooDeep {
                at: 0,
                max: MAX_DEPTH,
            });
        }
        Ok(Self {
            depth: self.depth + 1,
        })
    }

    fn inner<T: Serialize + ?Sized>(self, value: &T) -> Result<Tree, Error> {
        value.serialize(self.child()?)
    }
}

/// What a compound becomes.
enum CompoundKind {
    Seq,
    Tuple,
    Struct(&'static str),
}

pub(super) struct Compound {
    serializer: TreeSerializer,
    kind: CompoundKind,
    items: Vec<Tree>,
    fields: Vec<(&'static str, Tree)>,
}

pub(super) struct MapCompound {
    serializer: TreeSerializer,
    entries: Vec<(Tree, Tree)>,
    key: Option<Tree>,
}

impl Compound {
    fn new(serializer: TreeSerializer, kind: CompoundKind) -> Result<Self, Error> {
        Ok(Self {
            serializer: serializer.child()?,
            kind,
            items: Vec::new(),
            fields: Vec::new(),
        })
    }

    fn push<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        self.items.push(value.serialize(self.serializer)?);
        Ok(())
    }

    fn push_field<T: Serialize + ?Sized>(
        &mut self,
        name: &'static str,
        value: &T,
    ) -> Result<(), Error> {
        self.fields.push((name, value.serialize(self.serializer)?));
        Ok(())
    }

    fn finish(self) -> Result<Tree, Error> {
        match self.kind {
            CompoundKind::Seq => Ok(Tree::Seq(self.items)),
            CompoundKind::Tuple => Ok(Tree::Tuple(self.items)),
            CompoundKind::Struct(name) => wrapper(name, self.fields),
        }
    }
}

/// Tells this crate's wrappers from normal structs.
fn wrapper(name: &'static str, mut fields: Vec<(&'static str, Tree)>) -> Result<Tree, Error> {
    let mut take = |wanted: &str| match fields.iter().position(|(n, _)| *n == wanted) {
        Some(index) => fields.swap_remove(index).1,
        None => Tree::Null,
    };
    let text = |tree: Tree| match tree {
        Tree::Str(text) => text,
        _ => String::new(),
    };
    Ok(match name {
        magic::TYPED => Tree::Typed {
            signature: text(take("signature")),
            value: Box::new(take("value")),
        },
        magic::JAVA_ENUM => Tree::JavaEnum {
            class: text(take("class")),
            constant: text(take("constant")),
        },
        magic::SCALA_ENUM => match take("id") {
            Tree::Int(id, _) => Tree::ScalaEnum {
                module: text(take("module")),
                id,
            },
            other => {
                return Err(Error::WrongType {
                    context: name.to_owned(),
                    why: format!("{other:?} is no id"),
                });
            }
        },
        magic::EXTERNAL => match take("body") {
            Tree::Body(body) => Tree::External {
                class: text(take("class")),
                body,
            },
            other => {
                return Err(Error::WrongType {
                    context: name.to_owned(),
                    why: format!("{other:?} is no body"),
                });
            }
        },
        magic::THROWABLE => Tree::Throwable {
            class: text(take("class")),
            message: Box::new(take("message")),
            cause: Box::new(take("cause")),
            stack_trace: Box::new(take("stackTrace")),
        },
        _ => Tree::Struct {
            class: name.to_owned(),
            fields,
        },
    })
}

impl ser::Serializer for TreeSerializer {
    type Ok = Tree;
    type Error = Error;
    type SerializeSeq = Compound;
    type SerializeTuple = Compound;
    type SerializeTupleStruct = Compound;
    type SerializeTupleVariant = Compound;
    type SerializeMap = MapCompound;
    type SerializeStruct = Compound;
    type SerializeStructVariant = Compound;

    fn serialize_bool(self, v: bool) -> Result<Tree, Error> {
        Ok(Tree::Bool(v))
    }

    fn serialize_i8(self, v: i8) -> Result<Tree, Error> {
        Ok(Tree::Int(v.into(), b'B'))
    }

    fn serialize_i16(self, v: i16) -> Result<Tree, Error> {
        Ok(Tree::Int(v.into(), b'S'))
    }

    fn serialize_i32(self, v: i32) -> Result<Tree, Error> {
        Ok(Tree::Int(v.into(), b'I'))
    }

    fn serialize_i64(self, v: i64) -> Result<Tree, Error> {
        Ok(Tree::Int(v, b'J'))
    }

    fn serialize_u8(self, v: u8) -> Result<Tree, Error> {
        Ok(Tree::Int(v.into(), b'S'))
    }

    fn serialize_u16(self, v: u16) -> Result<Tree, Error> {
        Ok(Tree::Int(v.into(), b'I'))
    }

    fn serialize_u32(self, v: u32) -> Result<Tree, Error> {
        Ok(Tree::Int(v.into(), b'J'))
    }

    fn serialize_u64(self, v: u64) -> Result<Tree, Error> {
        match i64::try_from(v) {
            Ok(v) => Ok(Tree::Int(v, b'J')),
            Err(_) => Err(Error::WrongType {
                context: "u64".to_owned(),
                why: format!("{v} does not fit a Java long"),
            }),
        }
    }

    fn serialize_f32(self, v: f32) -> Result<Tree, Error> {
        Ok(Tree::Float(v))
    }

    fn serialize_f64(self, v: f64) -> Result<Tree, Error> {
        Ok(Tree::Double(v))
    }

    fn serialize_char(self, v: char) -> Result<Tree, Error> {
        Ok(Tree::Char(v))
    }

    fn serialize_str(self, v: &str) -> Result<Tree, Error> {
        Ok(Tree::Str(v.to_owned()))
    }

    fn serialize_bytes(self, v: &[u8]) -> Result<Tree, Error> {
        Ok(Tree::Bytes(v.to_vec()))
    }

    fn serialize_none(self) -> Result<Tree, Error> {
        Ok(Tree::Null)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<Tree, Error> {
        self.inner(value)
    }

    fn serialize_unit(self) -> Result<Tree, Error> {
        Ok(Tree::Unit)
    }

    fn serialize_unit_struct(self, name: &'static str) -> Result<Tree, Error> {
        Ok(Tree::UnitStruct(name))
    }

    fn serialize_unit_variant(
        self,
        class: &'static str,
        _: u32,
        constant: &'static str,
    ) -> Result<Tree, Error> {
        Ok(Tree::UnitVariant { class, constant })
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        value: &T,
    ) -> Result<Tree, Error> {
        let inner = self.inner(value)?;
        Ok(match (name, inner) {
            (magic::OPTION, Tree::Null) => Tree::Option(None),
            (magic::OPTION, value) => Tree::Option(Some(Box::new(value))),
            (magic::MODULE, Tree::Str(class)) => Tree::Module(class),
            (magic::RAW, Tree::Bytes(stream)) => Tree::Raw(stream),
            (magic::BODY, Tree::Seq(items)) => Tree::Body(
                items
                    .into_iter()
                    .map(|item| match item {
                        Tree::Block(bytes) => BodyItem::Block(bytes),
                        object => BodyItem::Object(object),
                    })
                    .collect(),
            ),
            (_, inner) => inner,
        })
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<Tree, Error> {
        Ok(match (name, variant, self.inner(value)?) {
            (magic::BODY_ITEM, "Block", Tree::Bytes(bytes)) => Tree::Block(bytes),
            // One Rust struct for several Java classes: the variant says which.
            (
                _,
                class,
                Tree::Struct {
                    class: of_struct,
                    fields,
                },
            ) if class.contains('.') && !of_struct.contains('.') => Tree::Struct {
                class: class.to_owned(),
                fields,
            },
            (_, _, inner) => inner,
        })
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Compound, Error> {
        Compound::new(self, CompoundKind::Seq)
    }

    fn serialize_tuple(self, _: usize) -> Result<Compound, Error> {
        Compound::new(self, CompoundKind::Tuple)
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Compound, Error> {
        Compound::new(self, CompoundKind::Tuple)
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Compound, Error> {
        Compound::new(self, CompoundKind::Tuple)
    }

    fn serialize_map(self, _: Option<usize>) -> Result<MapCompound, Error> {
        Ok(MapCompound {
            serializer: self.child()?,
            entries: Vec::new(),
            key: None,
        })
    }

    fn serialize_struct(self, name: &'static str, _: usize) -> Result<Compound, Error> {
        Compound::new(self, CompoundKind::Struct(name))
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Compound, Error> {
        Compound::new(self, CompoundKind::Struct(variant))
    }
}

/// What serde asks of compounds is the same under six names.
macro_rules! compound {
    ($($compound:ident: $method:ident($($key:ident)?) $push:ident;)*) => {$(
        impl ser::$compound for Compound {
            type Ok = Tree;
            type Error = Error;

            fn $method<T: Serialize + ?Sized>(&mut self, $($key: &'static str,)? value: &T) -> Result<(), Error> {
                self.$push($($key,)? value)
            }

            fn end(self) -> Result<Tree, Error> {
                self.finish()
            }
        }
    )*};
}

compound! {
    SerializeSeq: serialize_element() push;
    SerializeTuple: serialize_element() push;
    SerializeTupleStruct: serialize_field() push;
    SerializeTupleVariant: serialize_field() push;
    SerializeStruct: serialize_field(key) push_field;
    SerializeStructVariant: serialize_field(key) push_field;
}

impl ser::SerializeMap for MapCompound {
    type Ok = Tree;
    type Error = Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Error> {
        self.key = Some(key.serialize(self.serializer)?);
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        let key = self.key.take().unwrap_or(Tree::Null);
        self.entries.push((key, value.serialize(self.serializer)?));
        Ok(())
    }

    fn end(self) -> Result<Tree, Error> {
        Ok(Tree::Map(self.entries))
    }
}
