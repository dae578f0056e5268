//! Functions of times of a day: calls of methods of `DateTimeUtils`, which their classes stand for.

use super::call::call;
use super::{Expr, ExprKind, Function, text};
use crate::error::{Result, Unsupported};
use crate::literal::Literal;
use crate::object::{Object, Reader};
use crate::types::{DataType, Decimal};

/// The function that a method computes of such arguments, of which some say only what others do.
#[inline(never)]
pub(super) fn call_of(method: &str, mut args: Vec<Expr>, to: DataType) -> Option<Expr> {
    use DataType as T;
    use Function as F;
    let types: Vec<_> = args.iter().map(|arg| &arg.data_type).collect();
    let function = match (method, types.as_slice(), &to) {
        ("getHoursOfTime", [T::Time(_)], T::Integer) => F::HoursOfTime,
        ("getMinutesOfTime", [T::Time(_)], T::Integer) => F::MinutesOfTime,
        ("getSecondsOfTime", [T::Time(_)], T::Integer) => F::SecondsOfTime,
        ("getSecondsOfTimeWithFraction", [T::Time(_), T::Integer], T::Decimal(_)) => {
            F::SecondsOfTimeWithFraction
        }
        (
            "makeTime",
            [T::Integer, T::Integer, T::Decimal(Decimal { scale: 6, .. })],
            T::Time(6),
        ) => F::MakeTime,
        // With the precision of the time, the last field of the interval, and the precision of the result.
        (
            "timeAddInterval",
            [
                T::Time(_),
                T::Integer,
                T::DayTimeInterval,
                T::Byte,
                T::Integer,
            ],
            T::Time(precision),
        ) if integer(args.get(4)?) == Some(i32::from(*precision)) => F::TimeAddInterval,
        ("subtractTimes", [T::Time(_), T::Time(_)], T::DayTimeInterval) => F::SubtractTimes,
        ("timeDiff", [T::String, T::Time(_), T::Time(_)], T::Long) => F::TimeDiff,
        ("timeTrunc", [T::String, of @ T::Time(_)], to) if *of == to => F::TimeTrunc,
        ("timeFromSeconds", [_], T::Time(6)) => F::TimeFromSeconds,
        ("timeFromMillis", [_], T::Time(6)) => F::TimeFromMillis,
        ("timeFromMicros", [_], T::Time(6)) => F::TimeFromMicros,
        ("timeToSeconds", [T::Time(_)], T::Decimal(Decimal { scale: 6, .. })) => F::TimeToSeconds,
        ("timeToMillis", [T::Time(_)], T::Long) => F::TimeToMillis,
        ("timeToMicros", [T::Time(_)], T::Long) => F::TimeToMicros,
        ("makeTimestampNTZ", [T::Date, T::Time(_)], T::TimestampNtz) => F::MakeTimestampNTZ,
        _ => return None,
    };
    if function == F::TimeAddInterval {
        let mut all = args.into_iter();
        let time = all.next()?;
        args = vec![time, all.nth(1)?];
    }
    Some(call(function, args, to))
}

fn integer(expr: &Expr) -> Option<i32> {
    match expr.kind {
        ExprKind::Literal(Literal::Integer(value)) => Some(value),
        _ => None,
    }
}

/// `to_time`: the method `parse` of an object that has the pattern, if there is one.
#[inline(never)]
pub(super) fn to_time(reader: &Reader<'_>, object: Object<'_>, parser: Object<'_>) -> Result<Expr> {
    // The other is lazy.
    parser.only(&["fmt", "formatter"])?;
    let pattern = parser.option("fmt")?;
    let pattern = pattern.map(|pattern| {
        reader
            .graph
            .str(pattern)
            .ok_or_else(|| parser.missing("fmt"))
    });
    let mut args = Expr::read_all(reader, object.elements("arguments")?)?;
    if args.len() != 1 {
        return Err(Unsupported::of_use("a variable format of times"));
    }
    args.push(match pattern.transpose()? {
        Some(pattern) => text::of(&pattern),
        // More than the type of the result has.
        None if reader.settings.spark >= (4, 3) => text::integer(9),
        None => text::integer(6),
    });
    let to = DataType::read(reader, object.value("dataType")?)?;
    match to {
        DataType::Time(6) => Ok(call(Function::ToTime, args, to)),
        other => Err(Unsupported::of_use(format!("to_time to {other}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use DataType as T;

    fn of(data_type: DataType) -> Expr {
        Expr {
            kind: ExprKind::BoundReference { ordinal: 0 },
            data_type,
            nullable: true,
        }
    }

    #[test]
    fn methods_are_known_by_all_types() {
        let name = |method, args: Vec<Expr>, to| match call_of(method, args, to)?.kind {
            ExprKind::Call { function, args, .. } => Some((function, args.len())),
            _ => None,
        };
        let hour = name("getHoursOfTime", vec![of(T::Time(3))], T::Integer);
        assert_eq!(hour, Some((Function::HoursOfTime, 1)));
        assert_eq!(name("getHoursOfTime", vec![of(T::Long)], T::Integer), None);
        let add = |target| {
            let args = vec![
                of(T::Time(6)),
                text::integer(6),
                of(T::DayTimeInterval),
                of(T::Byte),
                text::integer(target),
            ];
            name("timeAddInterval", args, T::Time(6))
        };
        assert_eq!(add(6), Some((Function::TimeAddInterval, 2)));
        assert_eq!(add(3), None);
    }
}
