//! Intervals as text, such as `INTERVAL '1 02:03' DAY TO MINUTE`, and without their smallest fields.

use std::fmt::Write as _;
use std::sync::Arc;

use arrow::array::{ArrowPrimitiveType, StringViewBuilder};
use arrow::datatypes::{
    DataType as ArrowType, DurationMicrosecondType as Micros, IntervalYearMonthType as Months,
};
use datafusion_common::Result as RunResult;
use datafusion_physical_expr::PhysicalExpr;

use super::datetime::OVERFLOW;
use super::kernel::{Kernel, single, unary};
use super::refused;
use catalyst::{Function, IntervalField, IntervalFields, Unsupported};
use javatime::calendar::{DAY, SECOND};
use rows::error::bail_out;

type Args = Vec<Arc<dyn PhysicalExpr>>;
type Lowered = Result<Arc<dyn PhysicalExpr>, Unsupported>;

const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;

/// Lowers a function of this module.
pub(super) fn lower(op: Function, types: &[ArrowType], to: &ArrowType, args: Args) -> Lowered {
    use ArrowType as A;
    use IntervalField as F;
    let of = to.clone();
    Ok(match (op, types) {
        (Function::IntervalText { fields }, [A::Interval(_)]) => {
            texts::<Months>(fields, args, move |months, text| {
                write_months(months, fields, text);
                Ok(())
            })
        }
        (Function::IntervalText { fields }, [A::Duration(_)]) => {
            texts::<Micros>(fields, args, move |micros, text| {
                write_micros(micros, fields, text)
            })
        }
        (Function::IntervalCut { last: F::Year }, [A::Interval(_)]) => {
            Kernel::strict("IntervalCut[Year]", args, to.clone(), move |args, _| {
                unary::<Months, Months>(single(args)?, OVERFLOW, &of, |months| {
                    Some(months - months % 12)
                })
            })
        }
        (
            Function::IntervalCut {
                last: last @ (F::Day | F::Hour | F::Minute),
            },
            [A::Duration(_)],
        ) => {
            let (name, unit) = (format!("IntervalCut[{last:?}]"), unit_of(last));
            Kernel::strict(name, args, to.clone(), move |args, _| {
                unary::<Micros, Micros>(single(args)?, OVERFLOW, &of, |micros| {
                    Some(micros - micros % unit)
                })
            })
        }
        _ => return Err(refused(op, types)),
    })
}

fn texts<T: ArrowPrimitiveType>(
    fields: IntervalFields,
    args: Args,
    write: impl Fn(T::Native, &mut String) -> RunResult<()> + Send + Sync + 'static,
) -> Arc<dyn PhysicalExpr> {
    let name = format!("IntervalText[{fields}]");
    Kernel::strict(name, args, ArrowType::Utf8View, move |args, _| {
        let intervals = single(args)?.primitive::<T>()?;
        let mut builder = StringViewBuilder::with_capacity(intervals.len());
        let mut text = String::new();
        for interval in intervals {
            match interval {
                None => builder.append_null(),
                Some(interval) => {
                    text.clear();
                    write(interval, &mut text)?;
                    builder.append_value(&text);
                }
            }
        }
        Ok(Arc::new(builder.finish()))
    })
}

/// Microseconds of a field.
pub(super) fn unit_of(field: IntervalField) -> i64 {
    match field {
        IntervalField::Day => DAY,
        IntervalField::Hour => HOUR,
        IntervalField::Minute => MINUTE,
        _ => SECOND,
    }
}

fn name_of(field: IntervalField) -> &'static str {
    match field {
        IntervalField::Year => "YEAR",
        IntervalField::Month => "MONTH",
        IntervalField::Day => "DAY",
        IntervalField::Hour => "HOUR",
        IntervalField::Minute => "MINUTE",
        IntervalField::Second => "SECOND",
    }
}

fn end(fields: IntervalFields, text: &mut String) {
    let (first, last) = (name_of(fields.first), name_of(fields.last));
    // Writing to a string does not fail.
    let _ = match fields.first == fields.last {
        true => write!(text, "' {first}"),
        false => write!(text, "' {first} TO {last}"),
    };
}

fn write_months(months: i32, fields: IntervalFields, text: &mut String) {
    let sign = if months < 0 { "-" } else { "" };
    let all = months.unsigned_abs();
    let (years, rest) = (all / 12, all % 12);
    let _ = match (fields.first, fields.last) {
        (IntervalField::Year, IntervalField::Year) => write!(text, "INTERVAL '{sign}{years}"),
        (IntervalField::Month, _) => write!(text, "INTERVAL '{months}"),
        _ => write!(text, "INTERVAL '{sign}{years}-{rest}"),
    };
    end(fields, text);
}

fn write_micros(micros: i64, fields: IntervalFields, text: &mut String) -> RunResult<()> {
    use IntervalField as F;
    let all = micros
        .checked_abs()
        .ok_or_else(|| bail_out("the least interval as text"))?;
    let sign = if micros < 0 { "-" } else { "" };
    let _ = write!(text, "INTERVAL '{sign}");
    let mut rest = all;
    for field in [F::Day, F::Hour, F::Minute, F::Second] {
        if !(fields.first..=fields.last).contains(&field) {
            continue;
        }
        let unit = unit_of(field);
        let (count, is_first) = (rest / unit, field == fields.first);
        rest %= unit;
        let _ = match (field, is_first) {
            (F::Day, _) => write!(text, "{count}"),
            (_, true) => write!(text, "{count:02}"),
            (F::Hour, false) => write!(text, " {count:02}"),
            (_, false) => write!(text, ":{count:02}"),
        };
    }
    if fields.last == F::Second && rest != 0 {
        let digits = format!("{rest:06}");
        let _ = write!(text, ".{}", digits.trim_end_matches('0'));
    }
    end(fields, text);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn micros(of: i64, first: IntervalField, last: IntervalField) -> String {
        let mut text = String::new();
        write_micros(of, IntervalFields { first, last }, &mut text).unwrap();
        text
    }

    /// What Spark 3.5.9 and 4.3.0 say.
    #[test]
    fn microseconds_are_written_by_their_fields() {
        use IntervalField as F;
        let value = -93_784_005_006;
        for (first, last, expected) in [
            (F::Day, F::Hour, "INTERVAL '-1 02' DAY TO HOUR"),
            (F::Day, F::Minute, "INTERVAL '-1 02:03' DAY TO MINUTE"),
            (
                F::Day,
                F::Second,
                "INTERVAL '-1 02:03:04.005006' DAY TO SECOND",
            ),
            (F::Hour, F::Minute, "INTERVAL '-26:03' HOUR TO MINUTE"),
            (
                F::Hour,
                F::Second,
                "INTERVAL '-26:03:04.005006' HOUR TO SECOND",
            ),
            (
                F::Minute,
                F::Second,
                "INTERVAL '-1563:04.005006' MINUTE TO SECOND",
            ),
            (F::Second, F::Second, "INTERVAL '-93784.005006' SECOND"),
        ] {
            assert_eq!(micros(value, first, last), expected);
        }
        assert_eq!(micros(DAY, F::Day, F::Day), "INTERVAL '1' DAY");
        assert_eq!(micros(HOUR, F::Hour, F::Hour), "INTERVAL '01' HOUR");
        assert_eq!(micros(0, F::Minute, F::Minute), "INTERVAL '00' MINUTE");
        assert_eq!(
            micros(1, F::Second, F::Second),
            "INTERVAL '00.000001' SECOND"
        );
        let second = micros(-1, F::Day, F::Second);
        assert_eq!(second, "INTERVAL '-0 00:00:00.000001' DAY TO SECOND");
        let half = micros(93_784_500_000, F::Day, F::Second);
        assert_eq!(half, "INTERVAL '1 02:03:04.5' DAY TO SECOND");
        let last = micros(i64::MAX, F::Hour, F::Second);
        assert_eq!(last, "INTERVAL '2562047788:00:54.775807' HOUR TO SECOND");
        let fields = IntervalFields {
            first: F::Day,
            last: F::Second,
        };
        write_micros(i64::MIN, fields, &mut String::new()).unwrap_err();
    }

    #[test]
    fn months_are_written_by_their_fields() {
        use IntervalField as F;
        let of = |months, first, last| {
            let mut text = String::new();
            write_months(months, IntervalFields { first, last }, &mut text);
            text
        };
        assert_eq!(of(-13, F::Year, F::Year), "INTERVAL '-1' YEAR");
        assert_eq!(of(-13, F::Month, F::Month), "INTERVAL '-13' MONTH");
        assert_eq!(of(-1, F::Year, F::Month), "INTERVAL '-0-1' YEAR TO MONTH");
        let least = of(i32::MIN, F::Year, F::Month);
        assert_eq!(least, "INTERVAL '-178956970-8' YEAR TO MONTH");
    }
}
