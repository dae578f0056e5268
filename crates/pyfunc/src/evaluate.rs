//! Values of expressions, as CPython computes them.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::ops::Deref;

use crate::compare::{equal, extreme, is_in, order, sorted};
use crate::expression::{Expression, Read};
use crate::format::{formatted, repr_of, str_of};
use crate::interpreter::Interpreter;
use crate::math::math;
use crate::methods::method;
use crate::number::{arithmetic, of_one, rounded};
use crate::operation::Operation;
use crate::sequence::{concatenated, element, repeated, slice, slice_between, sum};
use crate::text::Pieces;
use crate::value::Value;

/// The interpreter must call the function itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("left to Python")]
pub struct LeftToPython;

/// Bytes of a text whose characters become values.
const MAX_ITERATED: usize = 1 << 14;

/// A value that is only read: one that was there, or a new one.
#[derive(Debug)]
pub(crate) enum Held<'a, 'v> {
    There(&'a Value<'v>),
    /// Its texts need no copies.
    Constant(&'v Value<'static>),
    New(Value<'v>),
}

impl<'v> Held<'_, 'v> {
    pub(crate) fn into_value(self) -> Value<'v> {
        match self {
            Held::There(value) => value.clone(),
            Held::Constant(value) => value.borrowed(),
            Held::New(value) => value,
        }
    }
}

impl<'v> Deref for Held<'_, 'v> {
    type Target = Value<'v>;

    #[inline]
    fn deref(&self) -> &Value<'v> {
        match self {
            Held::There(value) => value,
            Held::Constant(value) => value,
            Held::New(value) => value,
        }
    }
}

impl Expression {
    /// The value for these arguments; `python` does what depends on the interpreter.
    ///
    /// # Errors
    /// The interpreter must do it all: the function raises an error, or a value is not of a known kind and size.
    pub fn value<'v>(
        &'v self,
        python: &dyn Interpreter,
        arguments: &[Value<'v>],
    ) -> Result<Value<'v>, LeftToPython> {
        match self {
            Self::Argument(index) => arguments.get(*index).cloned().ok_or(LeftToPython),
            Self::Constant(value) => Ok(value.borrowed()),
            Self::If(parts) => way(parts, python, arguments)?.value(python, arguments),
            Self::Call(operation, inner) => match self.scalar(arguments) {
                Some(found) => Ok(found.value()),
                None => call(python, arguments, *operation, inner),
            },
            _ => self.put_together(python, arguments),
        }
    }

    /// The value for reading only, without a copy of an argument or constant.
    fn held<'a, 'v>(
        &'v self,
        python: &dyn Interpreter,
        arguments: &'a [Value<'v>],
    ) -> Result<Held<'a, 'v>, LeftToPython> {
        match self {
            Self::Argument(index) => {
                let found = arguments.get(*index);
                found.map(Held::There).ok_or(LeftToPython)
            }
            Self::Constant(value) => Ok(Held::Constant(value)),
            Self::If(parts) => way(parts, python, arguments)?.held(python, arguments),
            Self::Call(operation, inner) => Ok(Held::New(match self.scalar(arguments) {
                Some(found) => found.value(),
                None => call(python, arguments, *operation, inner)?,
            })),
            _ => self.put_together(python, arguments).map(Held::New),
        }
    }

    /// The value of what is no operation.
    fn put_together<'v>(
        &'v self,
        python: &dyn Interpreter,
        arguments: &[Value<'v>],
    ) -> Result<Value<'v>, LeftToPython> {
        let held = |one: &'v Self| one.held(python, arguments);
        let all = |inner: &'v [Self]| -> Result<Vec<Value<'v>>, LeftToPython> {
            inner
                .iter()
                .map(|one| one.value(python, arguments))
                .collect()
        };
        match self {
            Self::Tuple(inner) => all(inner).map(Value::Tuple),
            Self::List(inner) => all(inner).map(Value::List),
            Self::Element { of, at, len } => {
                // Usually one of few pieces is wanted.
                if let (Self::Call(Operation::Split, inner), Ok(at), None) =
                    (&**of, usize::try_from(*at), len)
                    && let [text, rest @ ..] = inner.as_slice()
                    && rest.len() < 2
                    && let Value::Str(Cow::Borrowed(text)) = *held(text)?
                {
                    return Pieces::new(text, &all(rest)?)?
                        .nth(at)
                        .map(|piece| Value::Str(Cow::Borrowed(piece)))
                        .ok_or(LeftToPython);
                }
                element(held(of)?, *at, *len)
            }
            Self::Slice { of, start, stop } => slice(held(of)?, *start, *stop),
            Self::Read { table, read, inner } => {
                let mut inner = inner.iter().map(held);
                let key = inner.next().ok_or(LeftToPython)??;
                let other = inner.next().transpose()?;
                let found = table.get(&key)?;
                Ok(match (read, found) {
                    (Read::Contains, found) => Value::Bool(found.is_some()),
                    (_, Some(found)) => found.borrowed(),
                    (Read::Item, None) => return Err(LeftToPython),
                    (Read::Get, None) => other.map_or(Value::None, Held::into_value),
                })
            }
            _ => self.value(python, arguments),
        }
    }
}

/// The expression that a condition chooses.
#[inline]
fn way<'e>(
    parts: &'e [Expression; 3],
    python: &dyn Interpreter,
    arguments: &[Value<'e>],
) -> Result<&'e Expression, LeftToPython> {
    let [condition, yes, no] = parts;
    let holds = match condition.truth(arguments) {
        Some(found) => found,
        None => condition.held(python, arguments)?.is_true(),
    };
    Ok(if holds { yes } else { no })
}

fn call<'v>(
    python: &dyn Interpreter,
    arguments: &[Value<'v>],
    operation: Operation,
    inner: &'v [Expression],
) -> Result<Value<'v>, LeftToPython> {
    let held = |one: &'v Expression| one.held(python, arguments);
    match inner {
        [one] => unary(python, operation, held(one)?),
        [one, two] => binary(python, operation, held(one)?, held(two)?),
        [of, start, stop, step] if operation == Operation::SliceBetween => {
            let (of, start, stop, step) = (held(of)?, held(start)?, held(stop)?, held(step)?);
            slice_between(of, [&start, &stop, &step])
        }
        [one, two, three] => {
            let (one, two, three) = (held(one)?, held(two)?, held(three)?);
            method(python, operation, &one, &[&two, &three])
        }
        [one, two, three, four] => {
            let (one, two, three, four) = (held(one)?, held(two)?, held(three)?, held(four)?);
            method(python, operation, &one, &[&two, &three, &four])
        }
        _ => Err(LeftToPython),
    }
}

fn unary<'v>(
    python: &dyn Interpreter,
    operation: Operation,
    value: Held<'_, 'v>,
) -> Result<Value<'v>, LeftToPython> {
    let elements = || value.elements().ok_or(LeftToPython);
    Ok(match operation {
        Operation::Not => Value::Bool(!value.is_true()),
        Operation::IsNone => Value::Bool(matches!(*value, Value::None)),
        Operation::Len => Value::Int(match value.as_str() {
            Some(text) => text.chars().count() as i64,
            None => elements()?.len() as i64,
        }),
        Operation::Int => match value.as_str() {
            Some(text) => Value::Int(match text.parse() {
                Ok(found) => found,
                // Python reads more than that.
                Err(_) => python.int(text)?,
            }),
            None => of_one(operation, &value).ok_or(LeftToPython)?,
        },
        Operation::Float => match value.as_str() {
            Some(text) => Value::Float(match text.parse() {
                Ok(found) => found,
                Err(_) => python.float(text)?,
            }),
            None => of_one(operation, &value).ok_or(LeftToPython)?,
        },
        Operation::Positive
        | Operation::Negative
        | Operation::Absolute
        | Operation::Invert
        | Operation::Round
        | Operation::IntToWrite => of_one(operation, &value).ok_or(LeftToPython)?,
        Operation::Str if value.as_str().is_some() => value.into_value(),
        Operation::Str => Value::Str(Cow::Owned(str_of(&value)?.into_owned())),
        Operation::Repr => Value::Str(Cow::Owned(repr_of(&value)?)),
        Operation::Ord => Value::Int(one_char(value.as_str())?.into()),
        Operation::Chr => {
            let found = value.as_int().and_then(|code| u32::try_from(code).ok());
            let found = found.and_then(char::from_u32).ok_or(LeftToPython)?;
            Value::Str(Cow::Owned(found.into()))
        }
        Operation::MaxOf => extreme(&iterated(&value)?, Ordering::Greater)?.clone(),
        Operation::MinOf => extreme(&iterated(&value)?, Ordering::Less)?.clone(),
        Operation::Sum => Value::Int(sum(elements()?).ok_or(LeftToPython)?),
        Operation::Sorted => Value::List(sorted(&iterated(&value)?)?),
        Operation::All => Value::Bool(iterated(&value)?.iter().all(Value::is_true)),
        Operation::Any => Value::Bool(iterated(&value)?.iter().any(Value::is_true)),
        Operation::ListOf => Value::List(iterated(&value)?.into_owned()),
        Operation::TupleOf => Value::Tuple(iterated(&value)?.into_owned()),
        Operation::Math(function) => math(function, &[&value])?,
        _ => return method(python, operation, &value, &[]),
    })
}

/// What `for` would give: the elements of a list or tuple, or the characters of a text.
fn iterated<'a, 'v>(value: &'a Value<'v>) -> Result<Cow<'a, [Value<'v>]>, LeftToPython> {
    match value {
        Value::Str(text) if text.len() <= MAX_ITERATED => {
            let chars = text.chars();
            let texts = chars.map(|one| Value::Str(Cow::Owned(one.into())));
            Ok(Cow::Owned(texts.collect()))
        }
        value => value.elements().map(Cow::Borrowed).ok_or(LeftToPython),
    }
}

/// The code of the only character of a text.
fn one_char(text: Option<&str>) -> Result<u32, LeftToPython> {
    let mut chars = text.ok_or(LeftToPython)?.chars();
    match (chars.next(), chars.next()) {
        (Some(one), None) => Ok(one.into()),
        _ => Err(LeftToPython),
    }
}

fn binary<'v>(
    python: &dyn Interpreter,
    operation: Operation,
    one: Held<'_, 'v>,
    two: Held<'_, 'v>,
) -> Result<Value<'v>, LeftToPython> {
    use Operation::{
        Add, AddInPlace, And, Divide, DivideWithRest, Equal, ExclusiveOr, FloorDivide, Format,
        Greater, GreaterOrEqual, In, Is, IsOf, Item, Less, LessOrEqual, Math, Max, Min, Modulo,
        Multiply, MultiplyInPlace, NotEqual, NotIn, Or, Power, Round, ShiftLeft, ShiftRight,
        Subtract,
    };
    let is = |found: Result<Option<Ordering>, _>, wanted: fn(Ordering) -> bool| {
        found.map(|found| Value::Bool(found.is_some_and(wanted)))
    };
    match operation {
        AddInPlace | MultiplyInPlace if matches!(*one, Value::List(_)) => Err(LeftToPython),
        Add | AddInPlace => match arithmetic(Add, &one, &two) {
            Some(found) => Ok(found),
            None => concatenated(one, two),
        },
        Multiply | MultiplyInPlace => match arithmetic(Multiply, &one, &two) {
            Some(found) => Ok(found),
            None => repeated(&one, &two),
        },
        Subtract | Divide | FloorDivide | Modulo | DivideWithRest | Power | And | Or
        | ExclusiveOr | ShiftLeft | ShiftRight => {
            arithmetic(operation, &one, &two).ok_or(LeftToPython)
        }
        Equal => equal(&one, &two).map(Value::Bool),
        NotEqual => equal(&one, &two).map(|equal| Value::Bool(!equal)),
        Less => is(order(&one, &two), Ordering::is_lt),
        LessOrEqual => is(order(&one, &two), Ordering::is_le),
        Greater => is(order(&one, &two), Ordering::is_gt),
        GreaterOrEqual => is(order(&one, &two), Ordering::is_ge),
        In => is_in(&one, &two).map(Value::Bool),
        NotIn => is_in(&one, &two).map(|found| Value::Bool(!found)),
        Is => same(&one, &two).map(Value::Bool),
        IsOf => {
            let mut names = two.as_str().ok_or(LeftToPython)?.split(' ');
            Ok(Value::Bool(names.any(|name| name == one.type_name())))
        }
        Max | Min => {
            let wanted = if operation == Max {
                Ordering::Greater
            } else {
                Ordering::Less
            };
            match order(&two, &one)? == Some(wanted) {
                true => Ok(two.into_value()),
                false => Ok(one.into_value()),
            }
        }
        Round => rounded(&one, &two).ok_or(LeftToPython),
        Item => element(one, two.as_int().ok_or(LeftToPython)?, None),
        Format => {
            let made = formatted(&one, two.as_str().ok_or(LeftToPython)?)?;
            Ok(Value::Str(Cow::Owned(made)))
        }
        Math(function) => math(function, &[&one, &two]),
        _ => method(python, operation, &one, &[&two]),
    }
}

/// `one is two`, of which one is `None` or a truth.
fn same(one: &Value<'_>, two: &Value<'_>) -> Result<bool, LeftToPython> {
    match (one, two) {
        (Value::None, Value::None) => Ok(true),
        (Value::Bool(one), Value::Bool(two)) => Ok(one == two),
        (Value::None | Value::Bool(_), _) | (_, Value::None | Value::Bool(_)) => Ok(false),
        _ => Err(LeftToPython),
    }
}
