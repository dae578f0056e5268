//! The tree that a simple function is.

use std::sync::Arc;

use crate::operation::Operation;
use crate::table::Table;
use crate::value::Value;

/// The value of a function, computed from its arguments. It has no effects.
#[derive(Debug, Clone, PartialEq)]
pub enum Expression {
    /// An argument of the function, by its index.
    Argument(usize),
    /// A constant of the function, or a variable from outside of it.
    Constant(Value<'static>),
    /// A new tuple.
    Tuple(Vec<Expression>),
    /// A new list.
    List(Vec<Expression>),
    /// An element of a list or tuple, or a character of a text.
    Element {
        /// The sequence.
        of: Box<Expression>,
        /// Its index, from the end if negative.
        at: i64,
        /// The number of elements that the list or tuple must have, if it is unpacked.
        len: Option<usize>,
    },
    /// A part of a text, list or tuple.
    Slice {
        /// The sequence.
        of: Box<Expression>,
        /// The first index, from the end if negative.
        start: Option<i64>,
        /// The index behind the last, from the end if negative.
        stop: Option<i64>,
    },
    /// An operation on values.
    Call(Operation, Vec<Expression>),
    /// A look-up in a dictionary or set from outside.
    Read {
        /// Its entries.
        table: Arc<Table>,
        /// What is looked up.
        read: Read,
        /// The key, and what is returned if it is not there.
        inner: Vec<Expression>,
    },
    /// Condition, value if it is true, value if it is not: only one of the two is computed.
    If(Box<[Expression; 3]>),
}

/// How a dictionary or set is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Read {
    /// `a[key]`
    Item,
    /// `a.get(key)`, `a.get(key, other)`
    Get,
    /// `key in a`
    Contains,
}
