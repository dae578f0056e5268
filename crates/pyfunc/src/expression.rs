//! The tree that a simple function is.

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
    /// Condition, value if it is true, value if it is not: only one of the two is computed.
    If(Box<[Expression; 3]>),
}

/// Operators, methods of texts and built-in functions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// `a + b`
    Add,
    /// `a += b`, which changes lists.
    AddInPlace,
    /// `a - b`
    Subtract,
    /// `a * b`
    Multiply,
    /// `a / b`
    Divide,
    /// `a // b`
    FloorDivide,
    /// `a % b`
    Modulo,
    /// `-a`
    Negative,
    /// `abs(a)`
    Absolute,
    /// `not a`
    Not,
    /// `a is None`
    IsNone,
    /// `a == b`
    Equal,
    /// `a != b`
    NotEqual,
    /// `a < b`
    Less,
    /// `a <= b`
    LessOrEqual,
    /// `a > b`
    Greater,
    /// `a >= b`
    GreaterOrEqual,
    /// `a in b`
    In,
    /// `a not in b`
    NotIn,
    /// `max(a, b)`
    Max,
    /// `min(a, b)`
    Min,
    /// `len(a)`
    Len,
    /// `int(a)`
    Int,
    /// `float(a)`
    Float,
    /// `str(a)`
    Str,
    /// `a.split()`, `a.split(b)`
    Split,
    /// `a.strip()`, `a.strip(b)`
    Strip,
    /// `a.lstrip()`, `a.lstrip(b)`
    StripStart,
    /// `a.rstrip()`, `a.rstrip(b)`
    StripEnd,
    /// `a.lower()`
    Lower,
    /// `a.upper()`
    Upper,
    /// `a.startswith(b)`
    StartsWith,
    /// `a.endswith(b)`
    EndsWith,
    /// `a.replace(b, c)`
    Replace,
}

impl Operation {
    /// The operation of a name that the Python side uses, and how few and how many arguments it has.
    pub fn named(name: &str) -> Option<(Self, usize, usize)> {
        Some(match name {
            "+" => (Self::Add, 2, 2),
            "+=" => (Self::AddInPlace, 2, 2),
            "-" => (Self::Subtract, 2, 2),
            "*" => (Self::Multiply, 2, 2),
            "/" => (Self::Divide, 2, 2),
            "//" => (Self::FloorDivide, 2, 2),
            "%" => (Self::Modulo, 2, 2),
            "negative" => (Self::Negative, 1, 1),
            "abs" => (Self::Absolute, 1, 1),
            "not" => (Self::Not, 1, 1),
            "is None" => (Self::IsNone, 1, 1),
            "==" => (Self::Equal, 2, 2),
            "!=" => (Self::NotEqual, 2, 2),
            "<" => (Self::Less, 2, 2),
            "<=" => (Self::LessOrEqual, 2, 2),
            ">" => (Self::Greater, 2, 2),
            ">=" => (Self::GreaterOrEqual, 2, 2),
            "in" => (Self::In, 2, 2),
            "not in" => (Self::NotIn, 2, 2),
            "max" => (Self::Max, 2, 2),
            "min" => (Self::Min, 2, 2),
            "len" => (Self::Len, 1, 1),
            "int" => (Self::Int, 1, 1),
            "float" => (Self::Float, 1, 1),
            "str" => (Self::Str, 1, 1),
            ".split" => (Self::Split, 1, 2),
            ".strip" => (Self::Strip, 1, 2),
            ".lstrip" => (Self::StripStart, 1, 2),
            ".rstrip" => (Self::StripEnd, 1, 2),
            ".lower" => (Self::Lower, 1, 1),
            ".upper" => (Self::Upper, 1, 1),
            ".startswith" => (Self::StartsWith, 2, 2),
            ".endswith" => (Self::EndsWith, 2, 2),
            ".replace" => (Self::Replace, 3, 3),
            _ => return None,
        })
    }
}
