//! Simple Python functions as expression trees.
//!
//! The package `firesteel_pyfunc` (in `python/`) reads a function's bytecode and writes an [`Expression`], or says why
//! the function is not simple ([`NotSimple`]). [`Expression::decode`] reads what it has written, and
//! [`Expression::value`] computes it for [`Value`]s without an interpreter. Equal to what CPython computes, in value
//! and type; where the function would raise an error, and wherever a value is of a kind or size that is not known here,
//! the answer is [`LeftToPython`]: the caller has CPython call the function.

#![forbid(unsafe_code)]

mod cases;
mod compare;
mod decode;
mod evaluate;
mod expression;
mod format;
mod interpreter;
mod math;
mod methods;
mod number;
mod operation;
mod reason;
mod scalar;
mod sequence;
mod table;
mod text;
mod value;

pub use decode::MalformedExpression;
pub use evaluate::LeftToPython;
pub use expression::{Expression, Read};
pub use interpreter::{Interpreter, NoInterpreter};
pub use math::Math;
pub use operation::Operation;
pub use reason::NotSimple;
pub use table::Table;
pub use text::Pieces;
pub use value::Value;
