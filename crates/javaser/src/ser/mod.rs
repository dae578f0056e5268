//! The serializer: serde gives a [`Tree`], whose objects then get descriptors and field order from the catalog.

mod decimal;
mod encode;
mod scala;
mod serializer;

use serde::Serialize;

use crate::arena::Graph;
use crate::types::BodyItem;
use crate::{Catalog, Error};

/// A value of serde's data model, with this crate's wrappers told apart.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Tree {
    Null,
    Unit,
    Bool(bool),
    /// Value and type code (`B`, `S`, `I` or `J`) of the smallest Java type for the Rust type.
    Int(i64, u8),
    Float(f32),
    Double(f64),
    Char(char),
    Str(String),
    Bytes(Vec<u8>),
    /// Primitive data of a body.
    Block(Vec<u8>),
    Seq(Vec<Tree>),
    Tuple(Vec<Tree>),
    Map(Vec<(Tree, Tree)>),
    Struct {
        class: String,
        fields: Vec<(&'static str, Tree)>,
    },
    UnitStruct(&'static str),
    UnitVariant {
        class: &'static str,
        constant: &'static str,
    },
    Option(Option<Box<Tree>>),
    Module(String),
    JavaEnum {
        class: String,
        constant: String,
    },
    ScalaEnum {
        module: String,
        id: i64,
    },
    Typed {
        signature: String,
        value: Box<Tree>,
    },
    Raw(Vec<u8>),
    Body(Vec<BodyItem<Tree>>),
    External {
        class: String,
        body: Vec<BodyItem<Tree>>,
    },
    Throwable {
        class: String,
        message: Box<Tree>,
        cause: Box<Tree>,
        stack_trace: Box<Tree>,
    },
}

/// Writes a value as a stream with one root object.
///
/// A struct's serde name is its Java class, its fields' serde names are the Java fields; a field that the class does
/// not have is left out. What serde cannot say is in [`crate::types`].
///
/// # Errors
/// [`Error::Catalog`] for classes that are not on the class path, [`Error::MissingField`] for fields that the class
/// has and the struct has not, [`Error::WrongType`] for values that do not fit the declared type.
pub fn to_vec<T: Serialize + ?Sized>(value: &T, catalog: &Catalog) -> Result<Vec<u8>, Error> {
    let mut out = Vec::new();
    to_graph(value, catalog)?.write_to(&mut out);
    Ok(out)
}

/// As [`to_vec`], without writing the graph.
///
/// # Errors
/// As [`to_vec`].
pub fn to_graph<T: Serialize + ?Sized>(value: &T, catalog: &Catalog) -> Result<Graph, Error> {
    let tree = value.serialize(serializer::TreeSerializer::new())?;
    encode::Encoder::new(catalog).root(tree)
}
