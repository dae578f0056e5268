//! From a [`Tree`] to a graph: descriptors, field order and declared types come from the catalog.

use std::collections::HashMap;
use std::sync::Arc;

use super::Tree;
use crate::arena::{Content, Elements, Graph, NodeId, Value, primitive_size, unmangled};
use crate::catalog::{Catalog, ClassDesc};
use crate::types::{BodyItem, magic};
use crate::{Error, Limits, ScalaVersion};

const OBJECT: &str = "java.lang.Object";

pub(super) struct Encoder<'c> {
    catalog: &'c Catalog,
    pub(super) scala: ScalaVersion,
    pub(super) graph: Graph,
    /// Scala objects written before; Java too writes an object once.
    modules: HashMap<String, Value>,
}

impl<'c> Encoder<'c> {
    pub(super) fn new(catalog: &'c Catalog) -> Self {
        Self {
            catalog,
            scala: catalog.scala_version(),
            graph: Graph::default(),
            modules: HashMap::new(),
        }
    }

    pub(super) fn root(mut self, tree: Tree) -> Result<Graph, Error> {
        let value = self.object(tree, OBJECT)?;
        self.graph.push_root(value)?;
        Ok(self.graph)
    }

    /// Encodes for a field of this signature.
    fn field(
        &mut self,
        tree: Tree,
        signature: &str,
        context: &dyn Fn() -> String,
    ) -> Result<Value, Error> {
        match signature.as_bytes() {
            [code] => primitive(untyped(tree), *code).map_err(|why| Error::WrongType {
                context: context(),
                why,
            }),
            [b'[', ..] => self.object(tree, &signature.replace('/', ".")),
            _ => {
                let class = signature
                    .strip_prefix('L')
                    .and_then(|s| s.strip_suffix(';'))
                    .unwrap_or(OBJECT);
                self.object(tree, &class.replace('/', "."))
            }
        }
    }

    /// Encodes as a reference whose declared class is `class`, with dots, `[...` for arrays.
    pub(super) fn object(&mut self, tree: Tree, class: &str) -> Result<Value, Error> {
        let is_option = class == "scala.Option";
        match tree {
            Tree::Null | Tree::Option(None) if is_option => self.module("scala.None$"),
            Tree::Option(None) => self.module("scala.None$"),
            Tree::Option(Some(inner)) => self.some(*inner),
            Tree::Null => Ok(Value::Null),
            Tree::Typed { signature, value } if signature.len() == 1 => self.boxed(*value, OBJECT),
            Tree::Typed { signature, value } => {
                self.field(*value, &signature, &|| signature.clone())
            }
            Tree::Raw(stream) => self.raw(&stream),
            Tree::Module(name) => self.module(&name),
            Tree::UnitStruct(name) if name.ends_with('$') => self.module(name),
            Tree::UnitVariant { constant, .. } if constant.ends_with('$') => self.module(constant),
            other if is_option && !is_scala_option(&other) => self.some(other),
            Tree::UnitStruct(name) => self.instance(name, Vec::new()),
            Tree::Struct {
                class: name,
                fields,
            } => {
                // A struct without a Java name is what its field says.
                let name = if name.contains('.') {
                    name.as_str()
                } else {
                    class
                };
                self.instance(name, fields)
            }
            Tree::JavaEnum { class, constant } => self.java_enum(&class, &constant),
            Tree::UnitVariant {
                class: name,
                constant,
            } => self.java_enum(if name.contains('.') { name } else { class }, constant),
            Tree::ScalaEnum { module, id } => self.scala_enum(&module, id),
            Tree::External { class, body } => self.external(&class, body),
            Tree::Throwable {
                class,
                message,
                cause,
                stack_trace,
            } => self.throwable(&class, *message, *cause, *stack_trace),
            Tree::Unit => self.instance("scala.runtime.BoxedUnit", Vec::new()),
            Tree::Str(text) => Ok(Value::Ref(self.graph.new_string(&text))),
            Tree::Bool(_) | Tree::Int(..) | Tree::Float(_) | Tree::Double(_) | Tree::Char(_) => {
                self.boxed(tree, class)
            }
            Tree::Bytes(_) | Tree::Seq(_) | Tree::Tuple(_) if class.starts_with('[') => {
                self.array(tree, class)
            }
            Tree::Bytes(_) => self.array(tree, "[B"),
            Tree::Tuple(items) if class == OBJECT || class.starts_with("scala.Tuple") => {
                self.tuple(items)
            }
            Tree::Seq(items) | Tree::Tuple(items) => self.sequence(items, class),
            Tree::Map(entries) => self.map(entries, class),
            Tree::Block(_) | Tree::Body(_) => Err(Error::WrongType {
                context: class.to_owned(),
                why: "a body outside of a class that writes one".to_owned(),
            }),
        }
    }

    pub(super) fn desc(&mut self, class: &str) -> Result<(NodeId, Arc<ClassDesc>), Error> {
        let desc = self.catalog.lookup(class)?;
        Ok((self.graph.add_desc(&desc)?, desc))
    }

    /// An object of `class` with all fields zero or `null`.
    pub(super) fn new_object(&mut self, class: &str) -> Result<NodeId, Error> {
        let (desc, _) = self.desc(class)?;
        self.graph.new_object(desc)
    }

    /// Sets a field by the name that it has in Scala's source.
    pub(super) fn set(&mut self, object: NodeId, name: &str, value: Value) -> Result<(), Error> {
        let mangled = self.graph.levels(object).rev().find_map(|l| {
            l.desc
                .fields()
                .iter()
                .map(|f| f.name())
                .find(|f| unmangled(f) == name)
                .map(str::to_owned)
        });
        self.graph
            .set_field(object, mangled.as_deref().unwrap_or(name), value)
    }

    fn instance(
        &mut self,
        class: &str,
        mut fields: Vec<(&'static str, Tree)>,
    ) -> Result<Value, Error> {
        let (desc_id, desc) = self.desc(class)?;
        let object = self.graph.new_object(desc_id)?;
        for level in desc.levels() {
            for field in &level.fields {
                let exact = fields.iter().position(|(name, _)| *name == field.name);
                let found = exact.or_else(|| {
                    fields
                        .iter()
                        .position(|(name, _)| *name == unmangled(&field.name))
                });
                let Some(index) = found else {
                    return Err(Error::MissingField {
                        class: level.name.clone(),
                        field: field.name.clone(),
                        signature: field.signature.clone(),
                    });
                };
                // A field of the same name in a super class finds nothing, or what comes next.
                let tree = fields.swap_remove(index).1;
                let value = self.field(tree, &field.signature, &|| {
                    format!("{class}.{}", field.name)
                })?;
                self.graph
                    .set_field_at(object, &level.name, &field.name, value)?;
            }
        }
        for (name, tree) in fields {
            let Some(of_class) = name.strip_prefix(magic::BODY_FIELD) else {
                continue;
            };
            let Tree::Body(items) = tree else {
                return Err(Error::WrongType {
                    context: format!("{class}.{name}"),
                    why: "not a Body".to_owned(),
                });
            };
            self.body(object, of_class.strip_prefix('@'), items)?;
        }
        Ok(Value::Ref(object))
    }

    fn body(
        &mut self,
        object: NodeId,
        class: Option<&str>,
        items: Vec<BodyItem<Tree>>,
    ) -> Result<(), Error> {
        let mut contents = Vec::new();
        for item in items {
            match item {
                BodyItem::Block(bytes) => contents.extend(Graph::blocks(&bytes)),
                BodyItem::Object(tree) => contents.push(Content::Value(self.object(tree, OBJECT)?)),
            }
        }
        self.graph.set_body(object, class, contents)
    }

    fn external(&mut self, class: &str, items: Vec<BodyItem<Tree>>) -> Result<Value, Error> {
        let object = self.new_object(class)?;
        self.body(object, None, items)?;
        Ok(Value::Ref(object))
    }

    /// A Scala `object`: in 2.12 an instance of its class, whose values the reader replaces by its own object; in 2.13
    /// a proxy.
    pub(super) fn module(&mut self, class: &str) -> Result<Value, Error> {
        if let Some(known) = self.modules.get(class) {
            return Ok(*known);
        }
        let value = if self.scala == ScalaVersion::V2_12 {
            Value::Ref(self.new_object(class)?)
        } else {
            let module = self.catalog.lookup_any(class)?;
            let desc = self.graph.add_desc(&module)?;
            let module_class = self.graph.new_class(desc)?;
            let proxy = self.new_object("scala.runtime.ModuleSerializationProxy")?;
            self.set(proxy, "moduleClass", Value::Ref(module_class))?;
            Value::Ref(proxy)
        };
        self.modules.insert(class.to_owned(), value);
        Ok(value)
    }

    fn some(&mut self, inner: Tree) -> Result<Value, Error> {
        let value = self.object(inner, OBJECT)?;
        let some = self.new_object("scala.Some")?;
        self.set(some, "value", value)?;
        Ok(Value::Ref(some))
    }

    fn java_enum(&mut self, class: &str, constant: &str) -> Result<Value, Error> {
        let (desc, _) = self.desc(class)?;
        self.graph.new_enum(desc, constant).map(Value::Ref)
    }

    fn scala_enum(&mut self, module: &str, id: i64) -> Result<Value, Error> {
        let outer = self.module(module)?;
        let value = self.new_object("scala.Enumeration$Val")?;
        let id = i32::try_from(id).map_err(|_| Error::WrongType {
            context: module.to_owned(),
            why: format!("{id} is no id"),
        })?;
        self.set(value, "i", Value::Int(id))?;
        self.set(value, "$outer", outer)?;
        self.set(value, "outerEnum", outer)?;
        Ok(Value::Ref(value))
    }

    fn throwable(
        &mut self,
        class: &str,
        message: Tree,
        cause: Tree,
        stack_trace: Tree,
    ) -> Result<Value, Error> {
        const THROWABLE: &str = "java.lang.Throwable";
        let (desc_id, desc) = self.desc(class)?;
        if !desc.is_a(THROWABLE) {
            return Err(Error::WrongClass {
                expected: THROWABLE.to_owned(),
                found: class.to_owned(),
            });
        }
        let object = self.graph.new_object(desc_id)?;
        let message = self.object(message, "java.lang.String")?;
        // A throwable without cause is its own.
        let cause = match cause {
            Tree::Null => Value::Ref(object),
            cause => self.object(cause, THROWABLE)?,
        };
        let stack_trace = self.object(stack_trace, "[Ljava.lang.StackTraceElement;")?;
        let suppressed = self.new_object("java.util.Collections$EmptyList")?;
        for (name, value) in [
            ("detailMessage", message),
            ("cause", cause),
            ("stackTrace", stack_trace),
            ("suppressedExceptions", Value::Ref(suppressed)),
        ] {
            self.graph.set_field_at(object, THROWABLE, name, value)?;
        }
        Ok(Value::Ref(object))
    }

    /// A primitive where an object is wanted.
    fn boxed(&mut self, tree: Tree, class: &str) -> Result<Value, Error> {
        let natural = match &tree {
            Tree::Bool(_) => "java.lang.Boolean",
            Tree::Float(_) => "java.lang.Float",
            Tree::Double(_) => "java.lang.Double",
            Tree::Char(_) => "java.lang.Character",
            Tree::Int(_, b'B') => "java.lang.Byte",
            Tree::Int(_, b'S') => "java.lang.Short",
            Tree::Int(_, b'I') => "java.lang.Integer",
            _ => "java.lang.Long",
        };
        let (class, code) = match class {
            "java.lang.Boolean" => (class, b'Z'),
            "java.lang.Byte" => (class, b'B'),
            "java.lang.Character" => (class, b'C'),
            "java.lang.Short" => (class, b'S'),
            "java.lang.Integer" => (class, b'I'),
            "java.lang.Long" => (class, b'J'),
            "java.lang.Float" => (class, b'F'),
            "java.lang.Double" => (class, b'D'),
            "scala.math.BigDecimal" | "java.math.BigDecimal" | "java.math.BigInteger" => {
                return self.big(tree, class);
            }
            "java.lang.Object"
            | "java.lang.Number"
            | "java.lang.Comparable"
            | "java.io.Serializable" => {
                let code = self
                    .catalog
                    .lookup(natural)?
                    .fields
                    .first()
                    .and_then(|f| f.signature.bytes().next())
                    .unwrap_or(b'J');
                (natural, code)
            }
            _ => {
                return Err(Error::WrongType {
                    context: class.to_owned(),
                    why: format!("{tree:?} is a primitive"),
                });
            }
        };
        let value = primitive(tree, code).map_err(|why| Error::WrongType {
            context: class.to_owned(),
            why,
        })?;
        let object = self.new_object(class)?;
        self.graph.set_field(object, "value", value)?;
        Ok(Value::Ref(object))
    }

    pub(super) fn array(&mut self, tree: Tree, class: &str) -> Result<Value, Error> {
        let (desc, _) = self.desc(class)?;
        let element = class.get(1..).unwrap_or_default();
        if let Tree::Bytes(bytes) = tree {
            if element != "B" {
                return Err(Error::WrongType {
                    context: class.to_owned(),
                    why: "bytes".to_owned(),
                });
            }
            return self
                .graph
                .new_array(desc, Elements::Primitive(b'B', bytes.into()))
                .map(Value::Ref);
        }
        let (Tree::Seq(items) | Tree::Tuple(items)) = tree else {
            return Err(Error::WrongType {
                context: class.to_owned(),
                why: format!("{tree:?} is no sequence"),
            });
        };
        if let Some(code) = element
            .bytes()
            .next()
            .filter(|c| primitive_size(*c).is_some())
        {
            let mut bytes = Vec::with_capacity(items.len() * primitive_size(code).unwrap_or(1));
            for item in items {
                let value = match item {
                    // An array of bytes may come as u8, whose values do not fit Java's signed bytes.
                    Tree::Int(v @ 0..=255, b'S') if code == b'B' => {
                        Value::Byte((v as u8).cast_signed())
                    }
                    item => primitive(item, code).map_err(|why| Error::WrongType {
                        context: class.to_owned(),
                        why,
                    })?,
                };
                append(&mut bytes, value);
            }
            return self
                .graph
                .new_array(desc, Elements::Primitive(code, bytes.into()))
                .map(Value::Ref);
        }
        let element = element
            .strip_prefix('L')
            .and_then(|e| e.strip_suffix(';'))
            .unwrap_or(element);
        let values = items
            .into_iter()
            .map(|item| self.object(item, element))
            .collect::<Result<Vec<_>, _>>()?;
        self.graph.new_ref_array(desc, values).map(Value::Ref)
    }

    fn raw(&mut self, stream: &[u8]) -> Result<Value, Error> {
        let other = Graph::parse(stream, &Limits::default())?;
        let mut values = other.root_values();
        match (values.next(), values.next()) {
            (Some(value), None) => self.graph.import(&other, value),
            _ => Err(Error::NotOneValue {
                found: other.root_values().count(),
            }),
        }
    }
}

fn untyped(tree: Tree) -> Tree {
    match tree {
        Tree::Typed { value, .. } => *value,
        other => other,
    }
}

fn is_scala_option(tree: &Tree) -> bool {
    match tree {
        Tree::Option(_) => true,
        Tree::Struct { class, .. } => class == "scala.Some",
        // Both can be anything; their writer knows the declared type.
        Tree::Raw(_) | Tree::Typed { .. } => true,
        _ => false,
    }
}

/// Encodes as a primitive of this type code; integers are converted if the value fits.
pub(super) fn primitive(tree: Tree, code: u8) -> Result<Value, String> {
    let value = match (code, &tree) {
        (b'Z', Tree::Bool(v)) => Some(Value::Bool(*v)),
        (b'B', Tree::Int(v, _)) => i8::try_from(*v).ok().map(Value::Byte),
        (b'S', Tree::Int(v, _)) => i16::try_from(*v).ok().map(Value::Short),
        (b'I', Tree::Int(v, _)) => i32::try_from(*v).ok().map(Value::Int),
        (b'J', Tree::Int(v, _)) => Some(Value::Long(*v)),
        (b'C', Tree::Int(v, _)) => u16::try_from(*v).ok().map(Value::Char),
        (b'C', Tree::Char(c)) => u16::try_from(u32::from(*c)).ok().map(Value::Char),
        (b'F', Tree::Float(v)) => Some(Value::Float(*v)),
        (b'D', Tree::Float(v)) => Some(Value::Double((*v).into())),
        (b'D', Tree::Double(v)) => Some(Value::Double(*v)),
        _ => None,
    };
    value.ok_or_else(|| format!("{tree:?} is not a {}", char::from(code)))
}

fn append(bytes: &mut Vec<u8>, value: Value) {
    match value {
        Value::Bool(v) => bytes.push(v.into()),
        Value::Byte(v) => bytes.extend(v.to_be_bytes()),
        Value::Char(v) => bytes.extend(v.to_be_bytes()),
        Value::Short(v) => bytes.extend(v.to_be_bytes()),
        Value::Int(v) => bytes.extend(v.to_be_bytes()),
        Value::Long(v) => bytes.extend(v.to_be_bytes()),
        Value::Float(v) => bytes.extend(v.to_be_bytes()),
        Value::Double(v) => bytes.extend(v.to_be_bytes()),
        Value::Null | Value::Ref(_) | Value::Aborted(_) => {}
    }
}
