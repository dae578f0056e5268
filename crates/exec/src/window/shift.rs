//! The keys of rows with an offset: where ranges begin and end. `WindowEvaluatorFactoryBase.createBoundOrdering`.

use catalyst::{DataType, Decimal, EvalMode, Expr, ExprKind, Function};
use catalyst::{Literal, MAX_PRECISION, SortOrder, Unsupported};
use javatime::{TimeZone, Zones};

/// Microseconds of a day.
const DAY: i64 = 86_400_000_000;

/// The key of a row with an offset, in the direction of the order. Intervals are added to timestamps in a time zone.
pub(super) fn shifted(
    by: &SortOrder,
    offset: &Expr,
    zone: Option<&TimeZone>,
) -> Result<SortOrder, Unsupported> {
    let ExprKind::Literal(literal) = &offset.kind else {
        return Err(Unsupported::of_use(
            "a frame with an offset that is computed",
        ));
    };
    let key = &by.child;
    let shift = match (&key.data_type, &offset.data_type) {
        (DataType::Date, DataType::Integer) => Shift {
            function: if by.ascending {
                Function::DateAdd
            } else {
                Function::DateSub
            },
            offset: offset.clone(),
            data_type: DataType::Date,
            time_zone: None,
        },
        (DataType::Decimal(of), DataType::Decimal(by_digits)) if of.scale == by_digits.scale => {
            let wider = Decimal {
                precision: (of.precision.max(by_digits.precision) + 1).min(MAX_PRECISION),
                scale: of.scale,
            };
            Shift::sum(by, offset, DataType::Decimal(wider))
        }
        (
            DataType::Byte
            | DataType::Short
            | DataType::Integer
            | DataType::Long
            | DataType::Float
            | DataType::Double,
            of,
        ) if *of == key.data_type => Shift::sum(by, offset, of.clone()),
        (
            DataType::Date | DataType::Timestamp | DataType::TimestampNtz,
            DataType::YearMonthInterval | DataType::DayTimeInterval,
        ) => interval(by, offset, literal, zone)?,
        (key, offset) => {
            let text = format!("a range of {key} with offsets of {offset}");
            return Err(Unsupported::of_use(text));
        }
    };
    let child = Expr {
        kind: ExprKind::Call {
            function: shift.function,
            args: vec![key.clone(), shift.offset],
            // What overflows is bailed out of: Spark's frames are those of a wrapped number then.
            mode: Some(EvalMode::Ansi),
            time_zone: shift.time_zone,
        },
        data_type: shift.data_type,
        nullable: true,
    };
    Ok(SortOrder {
        child,
        ..by.clone()
    })
}

/// What is done with a key.
struct Shift {
    function: Function,
    offset: Expr,
    data_type: DataType,
    time_zone: Option<TimeZone>,
}

impl Shift {
    fn sum(by: &SortOrder, offset: &Expr, data_type: DataType) -> Self {
        Self {
            function: if by.ascending {
                Function::Add
            } else {
                Function::Subtract
            },
            offset: offset.clone(),
            data_type,
            time_zone: None,
        }
    }
}

/// An interval later, or earlier if the order is descending.
fn interval(
    by: &SortOrder,
    offset: &Expr,
    literal: &Literal,
    zone: Option<&TimeZone>,
) -> Result<Shift, Unsupported> {
    let unsupported = || Unsupported::of_use("a range by an interval that overflows");
    let of_key = by.child.data_type.clone();
    let turned = |literal| Expr {
        kind: ExprKind::Literal(literal),
        ..offset.clone()
    };
    match literal {
        Literal::Integer(months) => {
            let months = match by.ascending {
                true => Some(*months),
                false => months.checked_neg(),
            };
            Ok(Shift {
                function: match of_key {
                    DataType::Date => Function::DateAddYMInterval,
                    _ => Function::TimestampAddYMInterval,
                },
                offset: turned(Literal::Integer(months.ok_or_else(unsupported)?)),
                time_zone: zone_for(&of_key, true, zone)?,
                data_type: of_key,
            })
        }
        Literal::Long(micros) => {
            let micros = match by.ascending {
                true => Some(*micros),
                false => micros.checked_neg(),
            };
            let micros = micros.ok_or_else(unsupported)?;
            if of_key == DataType::Date {
                let days = i32::try_from(micros / DAY).map_err(|_| unsupported())?;
                return Ok(Shift {
                    function: Function::DateAdd,
                    offset: Expr {
                        kind: ExprKind::Literal(Literal::Integer(days)),
                        data_type: DataType::Integer,
                        nullable: false,
                    },
                    data_type: of_key,
                    time_zone: None,
                });
            }
            Ok(Shift {
                function: Function::TimestampAddInterval,
                offset: turned(Literal::Long(micros)),
                time_zone: zone_for(&of_key, micros / DAY != 0, zone)?,
                data_type: of_key,
            })
        }
        _ => Err(Unsupported::of_use("a range by no interval")),
    }
}

/// The time zone in which an interval is added; less than a day is the same everywhere.
fn zone_for(
    key: &DataType,
    by_days: bool,
    zone: Option<&TimeZone>,
) -> Result<Option<TimeZone>, Unsupported> {
    match (key, zone) {
        (DataType::Timestamp, Some(zone)) => Ok(Some(zone.clone())),
        (DataType::Timestamp, None) if by_days => Err(Unsupported::of_use(
            "a range of timestamps in a session without a time zone",
        )),
        (DataType::Timestamp, None) => Ok(Some(TimeZone::new("UTC", &Zones::default()))),
        _ => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{ArrayRef, AsArray, TimestampMicrosecondArray};
    use arrow::datatypes::TimestampMicrosecondType;
    use std::sync::Arc;

    use super::*;
    use crate::expr::lower_sort;
    use crate::testing::{batch, column, reference};

    const HOUR: i64 = 3_600_000_000;

    /// A timestamp with an interval, in a zone.
    fn bound(
        start: i64,
        ascending: bool,
        (literal, of): (Literal, DataType),
        zone: Option<&TimeZone>,
    ) -> Result<i64, Unsupported> {
        let key = column(1, DataType::Timestamp);
        let by = SortOrder {
            child: reference(&key),
            ascending,
            nulls_first: true,
        };
        let offset = Expr {
            kind: ExprKind::Literal(literal),
            data_type: of,
            nullable: false,
        };
        let shifted = shifted(&by, &offset, zone)?;
        let shifted = lower_sort(&shifted, std::slice::from_ref(&key))?;
        let times = TimestampMicrosecondArray::from(vec![start]).with_timezone("UTC");
        let times: ArrayRef = Arc::new(times);
        let found = shifted.expr.evaluate(&batch(&[key], vec![times])).unwrap();
        let found = found.into_array(1).unwrap();
        Ok(found.as_primitive::<TimestampMicrosecondType>().value(0))
    }

    #[test]
    fn intervals_are_added_in_the_direction_of_the_order() {
        let utc = TimeZone::new("UTC", &Zones::default());
        let days = || (Literal::Long(2 * DAY + HOUR), DataType::DayTimeInterval);
        let found = bound(10 * DAY, true, days(), Some(&utc));
        assert_eq!(found, Ok(12 * DAY + HOUR));
        assert_eq!(
            bound(10 * DAY, false, days(), Some(&utc)),
            Ok(8 * DAY - HOUR)
        );
        let months = || (Literal::Integer(1), DataType::YearMonthInterval);
        // 1970-01-31 and a month.
        assert_eq!(bound(30 * DAY, true, months(), Some(&utc)), Ok(58 * DAY));
        assert_eq!(bound(58 * DAY, false, months(), Some(&utc)), Ok(27 * DAY));
    }

    #[test]
    fn less_than_a_day_needs_no_zone() {
        let of = |micros| (Literal::Long(micros), DataType::DayTimeInterval);
        assert_eq!(bound(0, true, of(DAY - 1), None), Ok(DAY - 1));
        assert_eq!(bound(0, false, of(HOUR), None), Ok(-HOUR));
        assert!(bound(0, true, of(DAY), None).is_err());
        assert!(bound(0, false, of(i64::MIN), None).is_err());
        let months = (Literal::Integer(1), DataType::YearMonthInterval);
        assert!(bound(0, true, months, None).is_err());
    }
}
