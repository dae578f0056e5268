//! Java object graphs of any class: an arena of nodes that writes back byte for byte.

mod access;
mod build;
mod collections;
mod json;

mod read;
mod write;

use std::collections::HashMap;
use std::sync::Arc;

pub use access::Level;
pub(crate) use collections::unmangled;

/// Index of a node in its [`Graph`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub(crate) u32);

impl NodeId {
    /// Position in the order of the graph's handles.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A field, an array element, a root or an object between block data.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value {
    /// `null`.
    Null,
    /// An object, array, string, enum constant, class or class descriptor.
    Ref(NodeId),
    /// `Z`
    Bool(bool),
    /// `B`
    Byte(i8),
    /// `C`, one UTF-16 unit
    Char(u16),
    /// `S`
    Short(i16),
    /// `I`
    Int(i32),
    /// `J`
    Long(i64),
    /// `F`
    Float(f32),
    /// `D`
    Double(f64),
    /// The writer failed here and sent this exception instead (`TC_EXCEPTION`). Everything that was open ends here;
    /// the stream goes on with the next root.
    Aborted(NodeId),
}

impl Value {
    /// The node, if the value is a reference.
    #[must_use]
    pub fn node(self) -> Option<NodeId> {
        match self {
            Self::Ref(id) => Some(id),
            _ => None,
        }
    }

    /// Type code of a primitive, `None` for references.
    pub(crate) fn primitive_code(self) -> Option<u8> {
        Some(match self {
            Self::Bool(_) => b'Z',
            Self::Byte(_) => b'B',
            Self::Char(_) => b'C',
            Self::Short(_) => b'S',
            Self::Int(_) => b'I',
            Self::Long(_) => b'J',
            Self::Float(_) => b'F',
            Self::Double(_) => b'D',
            Self::Null | Self::Ref(_) | Self::Aborted(_) => return None,
        })
    }
}

/// One item of the root, of a class annotation or of what a custom `writeObject` or `writeExternal` wrote.
#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    /// An object or `null`; never a primitive.
    Value(Value),
    /// Primitive data.
    Block(Block),
    /// All handles are forgotten (`TC_RESET`). Roots only.
    Reset,
}

/// One block of primitive data, cut as it was in the stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// Written with a four-byte length although it may be short (`TC_BLOCKDATALONG`).
    pub(crate) long: bool,
    pub(crate) bytes: Box<[u8]>,
}

impl Block {
    /// The data.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// A thing with a handle.
#[derive(Debug, Clone, PartialEq)]
pub enum Node {
    /// Class descriptor.
    Desc(Box<Desc>),
    /// Instance of a `Serializable` or `Externalizable` class.
    Object(Object),
    /// Array.
    Array(Array),
    /// `java.lang.String`.
    Str(Str),
    /// Instance of `java.lang.Class`.
    Class {
        /// Descriptor of the class meant.
        desc: NodeId,
    },
    /// Enum constant.
    Enum {
        /// Descriptor of the enum.
        desc: NodeId,
        /// String node with the constant's name.
        name: NodeId,
    },
}

/// Descriptor of a class as the stream gives it.
#[derive(Debug, Clone, PartialEq)]
pub struct Desc {
    pub(crate) kind: DescKind,
    pub(crate) annotations: Vec<Content>,
    pub(crate) super_desc: Option<NodeId>,
    /// Serializable levels from the topmost super class to this class; empty until the descriptor is complete.
    pub(crate) chain: Arc<[NodeId]>,
}

/// A normal class or a `java.lang.reflect.Proxy`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum DescKind {
    Class {
        name: String,
        suid: i64,
        flags: u8,
        fields: Vec<Field>,
    },
    Proxy {
        interfaces: Vec<String>,
    },
}

impl Desc {
    /// Class name with dots; `[I` or `[Ljava.lang.String;` for arrays, `$Proxy` for dynamic proxies.
    #[must_use]
    pub fn name(&self) -> &str {
        match &self.kind {
            DescKind::Class { name, .. } => name,
            DescKind::Proxy { .. } => "$Proxy",
        }
    }

    /// `serialVersionUID`; 0 for dynamic proxies.
    #[must_use]
    pub fn suid(&self) -> i64 {
        match &self.kind {
            DescKind::Class { suid, .. } => *suid,
            DescKind::Proxy { .. } => 0,
        }
    }

    /// Stream flags (`SC_*`).
    #[must_use]
    pub fn flags(&self) -> u8 {
        match &self.kind {
            DescKind::Class { flags, .. } => *flags,
            DescKind::Proxy { .. } => crate::stream::SC_SERIALIZABLE,
        }
    }

    /// Declared fields in stream order, primitives first.
    #[must_use]
    pub fn fields(&self) -> &[Field] {
        match &self.kind {
            DescKind::Class { fields, .. } => fields,
            DescKind::Proxy { .. } => &[],
        }
    }

    /// Interfaces of a dynamic proxy, `None` for normal classes.
    #[must_use]
    pub fn proxy_interfaces(&self) -> Option<&[String]> {
        match &self.kind {
            DescKind::Class { .. } => None,
            DescKind::Proxy { interfaces } => Some(interfaces),
        }
    }

    /// Descriptor of the nearest super class if that is serializable.
    #[must_use]
    pub fn super_desc(&self) -> Option<NodeId> {
        self.super_desc
    }

    /// What `annotateClass` wrote; empty in everything that Spark sends.
    #[must_use]
    pub fn annotations(&self) -> &[Content] {
        &self.annotations
    }

    fn is_externalizable(&self) -> bool {
        self.flags() & crate::stream::SC_EXTERNALIZABLE != 0
    }
}

/// Declared field of a class descriptor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    pub(crate) code: u8,
    pub(crate) name: String,
    /// String node with the type's signature, for `L` and `[`.
    pub(crate) type_string: Option<NodeId>,
}

impl Field {
    /// Name of the field.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// First character of the type's signature: one of `BCDFIJSZ`, `L` or `[`.
    #[must_use]
    pub fn type_code(&self) -> u8 {
        self.code
    }

    fn is_reference(&self) -> bool {
        self.type_string.is_some()
    }
}

/// Instance of a class.
#[derive(Debug, Clone, PartialEq)]
pub struct Object {
    pub(crate) desc: NodeId,
    /// Values of all levels that wrote their fields, topmost super class first.
    pub(crate) fields: Vec<Value>,
    /// One entry for each level with a custom body.
    pub(crate) bodies: Vec<Body>,
}

/// What the `writeObject` or `writeExternal` of one level wrote.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Body {
    /// Index into the descriptor's chain.
    pub(crate) level: u16,
    /// The class writes neither `defaultWriteObject` nor `writeFields`; see [`crate::omitted_fields`].
    pub(crate) fields_omitted: bool,
    pub(crate) items: Vec<Content>,
}

/// Array.
#[derive(Debug, Clone, PartialEq)]
pub struct Array {
    pub(crate) desc: NodeId,
    pub(crate) elements: Elements,
}

impl Array {
    /// The elements.
    #[must_use]
    pub fn elements(&self) -> &Elements {
        &self.elements
    }
}

/// Elements of an array.
#[derive(Debug, Clone, PartialEq)]
pub enum Elements {
    /// Primitive elements of this type code (`BCDFIJSZ`), big endian as in the stream.
    Primitive(u8, Box<[u8]>),
    /// References. A stream that was cut by an exception may hold fewer than `len`.
    Refs {
        /// Length that the stream announced.
        len: u32,
        /// The values.
        values: Vec<Value>,
    },
}

/// String.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Str {
    /// Written with an eight-byte length although it may be short (`TC_LONGSTRING`).
    pub(crate) long: bool,
    /// Modified UTF-8.
    pub(crate) bytes: Box<[u8]>,
}

/// A stream's objects.
///
/// Parsing and writing are iterative: neither deep nor wide graphs cost stack.
///
/// ```
/// use javaser::arena::Graph;
///
/// let bytes = [0xAC, 0xED, 0, 5, 0x74, 0, 2, b'h', b'i'];
/// let graph = Graph::parse(&bytes, &javaser::Limits::default()).unwrap();
/// assert_eq!(graph.str(graph.root().unwrap()).unwrap(), "hi");
///
/// let mut out = Vec::new();
/// graph.write_to(&mut out);
/// assert_eq!(out, bytes);
/// ```
#[derive(Debug, Clone, Default)]
pub struct Graph {
    pub(crate) nodes: Vec<Node>,
    /// The stream's root items in order.
    pub roots: Vec<Content>,
    /// Descriptors that the builder made, by name.
    built_descs: HashMap<String, NodeId>,
    /// Type strings that the builder made.
    built_types: HashMap<String, NodeId>,
}

/// Bytes of one element of a primitive type, `None` for references.
pub(crate) fn primitive_size(code: u8) -> Option<usize> {
    Some(match code {
        b'B' | b'Z' => 1,
        b'C' | b'S' => 2,
        b'I' | b'F' => 4,
        b'J' | b'D' => 8,
        _ => return None,
    })
}
