//! Values of operations on numbers, truths and `None`, in registers: most functions are made of these.
//!
//! What is not computed here is computed by `evaluate`, in the same way for the same values.

use std::cmp::Ordering;

use crate::compare::{equal, order};
use crate::expression::{Expression, Read};
use crate::math::math;
use crate::number::{arithmetic, of_one, rounded};
use crate::operation::Operation;
use crate::value::Value;

/// Bytes of a text whose characters are counted here.
const SHORT: usize = 256;

/// A value of fixed size: its bits are those of an integer or float.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scalar {
    kind: Kind,
    bits: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    None,
    Bool,
    Int,
    Float,
}

impl Scalar {
    #[inline]
    fn of(value: &Value<'_>) -> Option<Self> {
        let (kind, bits) = match value {
            Value::None => (Kind::None, 0),
            Value::Bool(value) => (Kind::Bool, u64::from(*value)),
            Value::Int(value) => (Kind::Int, value.cast_unsigned()),
            Value::Float(value) => (Kind::Float, value.to_bits()),
            _ => return None,
        };
        Some(Self { kind, bits })
    }

    #[inline]
    fn bool(value: bool) -> Self {
        Self {
            kind: Kind::Bool,
            bits: u64::from(value),
        }
    }

    #[inline]
    fn int(value: i64) -> Self {
        Self {
            kind: Kind::Int,
            bits: value.cast_unsigned(),
        }
    }

    #[inline]
    fn float(value: f64) -> Self {
        Self {
            kind: Kind::Float,
            bits: value.to_bits(),
        }
    }

    #[inline]
    pub(crate) fn value<'v>(self) -> Value<'v> {
        match self.kind {
            Kind::None => Value::None,
            Kind::Bool => Value::Bool(self.bits != 0),
            Kind::Int => Value::Int(self.bits.cast_signed()),
            Kind::Float => Value::Float(f64::from_bits(self.bits)),
        }
    }

    #[inline]
    fn is_true(self) -> bool {
        match self.kind {
            Kind::Float => f64::from_bits(self.bits) != 0.0,
            _ => self.bits != 0,
        }
    }
}

impl Expression {
    /// An argument or constant.
    #[inline]
    fn leaf<'a>(&'a self, arguments: &'a [Value<'_>]) -> Option<&'a Value<'a>> {
        match self {
            Self::Argument(index) => arguments.get(*index),
            Self::Constant(value) => Some(value),
            _ => None,
        }
    }

    /// Whether the value is true, if that is known without making it.
    pub(crate) fn truth(&self, arguments: &[Value<'_>]) -> Option<bool> {
        match self.leaf(arguments) {
            Some(value) => Some(value.is_true()),
            None => self.scalar(arguments).map(Scalar::is_true),
        }
    }

    /// The value, if it and those that it is computed from are scalars.
    pub(crate) fn scalar(&self, arguments: &[Value<'_>]) -> Option<Scalar> {
        match self {
            Self::Argument(index) => Scalar::of(arguments.get(*index)?),
            Self::Constant(value) => Scalar::of(value),
            Self::If(parts) => {
                let [condition, yes, no] = &**parts;
                match condition.truth(arguments)? {
                    true => yes.scalar(arguments),
                    false => no.scalar(arguments),
                }
            }
            Self::Call(operation, inner) => match inner.as_slice() {
                [one] => scalar_of_one(*operation, one, arguments),
                [one, two] => scalar_of_two(*operation, one, two, arguments),
                _ => None,
            },
            Self::Read { table, read, inner } => match (read, inner.as_slice()) {
                (Read::Contains, [key]) => {
                    let found = table.get(key.leaf(arguments)?).ok()?;
                    Some(Scalar::bool(found.is_some()))
                }
                _ => None,
            },
            _ => None,
        }
    }
}

fn scalar_of_one(
    operation: Operation,
    one: &Expression,
    arguments: &[Value<'_>],
) -> Option<Scalar> {
    match operation {
        Operation::Not => one.truth(arguments).map(|found| Scalar::bool(!found)),
        Operation::IsNone => Some(Scalar::bool(match one.leaf(arguments) {
            Some(value) => matches!(value, Value::None),
            None => one.scalar(arguments)?.kind == Kind::None,
        })),
        Operation::Len => match one.leaf(arguments)? {
            // Those of long ones are not counted in vain if something else is no scalar.
            Value::Str(text) if text.len() <= SHORT => {
                Some(Scalar::int(text.chars().count() as i64))
            }
            value => Some(Scalar::int(value.elements()?.len() as i64)),
        },
        Operation::Math(function) => {
            let value = one.scalar(arguments)?.value();
            Scalar::of(&math(function, &[&value]).ok()?)
        }
        Operation::Negative
        | Operation::Positive
        | Operation::Absolute
        | Operation::Invert
        | Operation::Round
        | Operation::Int
        | Operation::Float => Scalar::of(&of_one(operation, &one.scalar(arguments)?.value())?),
        _ => None,
    }
}

fn scalar_of_two(
    operation: Operation,
    one: &Expression,
    two: &Expression,
    arguments: &[Value<'_>],
) -> Option<Scalar> {
    use Operation::{
        Add, And, Divide, Equal, ExclusiveOr, FloorDivide, Greater, GreaterOrEqual, Less,
        LessOrEqual, Max, Min, Modulo, Multiply, NotEqual, Or, Power, Round, ShiftLeft, ShiftRight,
        Subtract,
    };
    match operation {
        Equal | NotEqual | Less | LessOrEqual | Greater | GreaterOrEqual => {
            if let (Some(one), Some(two)) = (one.leaf(arguments), two.leaf(arguments)) {
                return compared(operation, one, two);
            }
        }
        Add | Subtract | Multiply | Divide | FloorDivide | Modulo | Power | And | Or
        | ExclusiveOr | ShiftLeft | ShiftRight | Round | Max | Min => {}
        _ => return None,
    }
    // What is on the right is usually simpler: it says at once that there are texts.
    let two = two.scalar(arguments)?;
    let one = one.scalar(arguments)?;
    if one.kind == Kind::Int && two.kind == Kind::Int {
        let (one, two) = (one.bits.cast_signed(), two.bits.cast_signed());
        match operation {
            Add => return one.checked_add(two).map(Scalar::int),
            Subtract => return one.checked_sub(two).map(Scalar::int),
            Multiply => return one.checked_mul(two).map(Scalar::int),
            Equal => return Some(Scalar::bool(one == two)),
            Less => return Some(Scalar::bool(one < two)),
            Greater => return Some(Scalar::bool(one > two)),
            _ => {}
        }
    }
    if one.kind == Kind::Float && two.kind == Kind::Float {
        let (one, two) = (f64::from_bits(one.bits), f64::from_bits(two.bits));
        match operation {
            Add => return Some(Scalar::float(one + two)),
            Subtract => return Some(Scalar::float(one - two)),
            Multiply => return Some(Scalar::float(one * two)),
            Divide if two != 0.0 => return Some(Scalar::float(one / two)),
            Less => return Some(Scalar::bool(one < two)),
            Greater => return Some(Scalar::bool(one > two)),
            _ => {}
        }
    }
    let (first, second) = (one.value(), two.value());
    let comes_first = |wanted| Some(order(&second, &first).ok()? == Some(wanted));
    match operation {
        Round => Scalar::of(&rounded(&first, &second)?),
        Max => comes_first(Ordering::Greater).map(|second| if second { two } else { one }),
        Min => comes_first(Ordering::Less).map(|second| if second { two } else { one }),
        _ => match arithmetic(operation, &first, &second) {
            Some(found) => Scalar::of(&found),
            None => compared(operation, &first, &second),
        },
    }
}

fn compared(operation: Operation, one: &Value<'_>, two: &Value<'_>) -> Option<Scalar> {
    let holds = |wanted: fn(Ordering) -> bool| {
        let found = order(one, two).ok()?;
        Some(Scalar::bool(found.is_some_and(wanted)))
    };
    match operation {
        Operation::Equal => Some(Scalar::bool(equal(one, two).ok()?)),
        Operation::NotEqual => Some(Scalar::bool(!equal(one, two).ok()?)),
        Operation::Less => holds(Ordering::is_lt),
        Operation::LessOrEqual => holds(Ordering::is_le),
        Operation::Greater => holds(Ordering::is_gt),
        Operation::GreaterOrEqual => holds(Ordering::is_ge),
        _ => None,
    }
}
