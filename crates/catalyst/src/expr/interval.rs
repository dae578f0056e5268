//! Fields of intervals, which say how an interval is written and what of it there is. Spark's types have them; the
//! types here do not, so they are part of the functions that need them.

use std::fmt;

use super::call::call;
use super::{Expr, Function, text};
use crate::error::{Result, Unsupported};
use crate::object::{Object, Reader};
use crate::types::DataType;

/// A field of an interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum IntervalField {
    Year,
    Month,
    Day,
    Hour,
    Minute,
    Second,
}

/// The first and the last field of an interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct IntervalFields {
    /// The largest unit.
    pub first: IntervalField,
    /// The smallest unit.
    pub last: IntervalField,
}

impl fmt::Display for IntervalFields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} to {:?}", self.first, self.last)
    }
}

const MONTHS: [IntervalField; 2] = [IntervalField::Year, IntervalField::Month];
const MICROS: [IntervalField; 4] = [
    IntervalField::Day,
    IntervalField::Hour,
    IntervalField::Minute,
    IntervalField::Second,
];

/// Those that a type has by its object.
pub(super) fn of_type(of: Object<'_>) -> Result<IntervalFields> {
    let all = match of.name() {
        "YearMonthIntervalType" => &MONTHS[..],
        "DayTimeIntervalType" => &MICROS[..],
        other => return Err(Unsupported::of_use(format!("fields of {other}"))),
    };
    let field = |name| {
        let field = usize::try_from(of.long(name)?).ok();
        let field = field.and_then(|field| all.get(field).copied());
        field.ok_or_else(|| of.missing(name))
    };
    Ok(IntervalFields {
        first: field("startField")?,
        last: field("endField")?,
    })
}

/// Those of the intervals that an expression makes.
pub(super) fn made_by(reader: &Reader<'_>, expr: Object<'_>) -> Result<IntervalFields> {
    use IntervalField as F;
    let all = |first, last| Ok(IntervalFields { first, last });
    let same_as = |child| reader.nested(|| made_by(reader, child));
    match expr.name() {
        "AttributeReference"
        | "BoundReference"
        | "NamedLambdaVariable"
        | "Literal"
        | "Cast"
        | "StaticInvoke" => of_type(expr.object("dataType")?),
        "Alias" | "KnownNotNull" | "KnownNullable" | "TryEval" | "UnaryMinus" | "UnaryPositive"
        | "Abs" => same_as(expr.object("child")?),
        // Analysis makes both sides and all branches the same.
        "Add" | "Subtract" => same_as(expr.object("left")?),
        "If" => same_as(expr.object("trueValue")?),
        "MakeDTInterval" | "MultiplyDTInterval" | "DivideDTInterval" | "SubtractTimestamps" => {
            all(F::Day, F::Second)
        }
        "SubtractDates" => all(F::Day, F::Day),
        "MakeYMInterval" | "MultiplyYMInterval" | "DivideYMInterval" => all(F::Year, F::Month),
        other => Err(Unsupported::of_use(format!("fields of what {other} makes"))),
    }
}

/// Whether an interval may be cast to it, and it to an interval.
fn is_number(of: &DataType) -> bool {
    use DataType as T;
    matches!(
        of,
        T::Byte | T::Short | T::Integer | T::Long | T::Decimal(_)
    )
}

/// A cast of an interval to text or a number, of a number to one, or to one of fewer fields; `None` of others.
#[inline(never)]
pub(super) fn cast(
    reader: &Reader<'_>,
    object: Object<'_>,
    child: &Expr,
    to: &DataType,
) -> Result<Option<Expr>> {
    use DataType as T;
    let function = match (&child.data_type, to) {
        (T::YearMonthInterval | T::DayTimeInterval, T::String) => Function::IntervalText {
            fields: made_by(reader, object.object("child")?)?,
        },
        (T::YearMonthInterval, T::YearMonthInterval) | (T::DayTimeInterval, T::DayTimeInterval) => {
            let last = of_type(object.object("dataType")?)?.last;
            match last {
                IntervalField::Month | IntervalField::Second => return Ok(None),
                _ => Function::IntervalCut { last },
            }
        }
        (T::YearMonthInterval | T::DayTimeInterval, to) if is_number(to) => Function::IntervalIn {
            unit: made_by(reader, object.object("child")?)?.last,
        },
        (from, T::YearMonthInterval | T::DayTimeInterval) if is_number(from) => {
            Function::IntervalOf {
                unit: of_type(object.object("dataType")?)?.last,
            }
        }
        _ => return Ok(None),
    };
    Ok(Some(call(function, vec![child.clone()], to.clone())))
}

/// `ToPrettyString` of an interval; `None` of another value.
#[inline(never)]
pub(super) fn pretty(
    reader: &Reader<'_>,
    object: Object<'_>,
    args: &[Expr],
) -> Result<Option<Expr>> {
    let [child] = args else {
        return Ok(None);
    };
    let text = match cast(reader, object, child, &DataType::String)? {
        Some(shown) => vec![shown, text::of("NULL")],
        None => return Ok(None),
    };
    let mut shown = call(Function::Coalesce, text, DataType::String);
    shown.nullable = false;
    Ok(Some(shown))
}
