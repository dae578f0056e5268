//! `TimeBucket`: where the interval begins that a timestamp is in, of intervals one after the other.

use std::sync::Arc;

use arrow::array::PrimitiveArray;
use arrow::datatypes::{DataType as ArrowType, DurationMicrosecondType, IntervalYearMonthType};
use datafusion_common::Result as RunResult;
use datafusion_physical_expr::PhysicalExpr;

use super::datetime::{Micros, add_duration};
use super::kernel::{Arg, Kernel, nth, union_nulls};
use super::moments::add_months;
use super::refused;
use super::zone::zone_of;
use catalyst::{Function, Unsupported};
use javatime::calendar::{Civil, DAY, split};
use javatime::{TimeZone, Zone};
use rows::error::bail_out;

/// Where Spark fails, or versions differ.
const UNKNOWN: &str = "an interval of time that may have no start";

/// Lowers it: of the length of the intervals, the timestamp, and where one of the intervals begins.
pub(super) fn lower(
    types: &[ArrowType],
    to: &ArrowType,
    zone: Option<&TimeZone>,
    args: Vec<Arc<dyn PhysicalExpr>>,
) -> Result<Arc<dyn PhysicalExpr>, Unsupported> {
    use ArrowType as A;
    let op = Function::TimeBucket;
    let [length, of @ A::Timestamp(..), origin] = types else {
        return Err(refused(op, types));
    };
    if of != origin || of != to {
        return Err(refused(op, types));
    }
    let name = format!("{}[{}]", op.name(), zone.map_or("-", TimeZone::id));
    let zone = match of {
        A::Timestamp(_, None) => Zone::UTC,
        _ => zone_of(zone)?,
    };
    let is_months = match length {
        A::Interval(_) => true,
        A::Duration(_) => false,
        _ => return Err(refused(op, types)),
    };
    let of = to.clone();
    Ok(Kernel::strict(name, args, to.clone(), move |args, rows| {
        let starts = match is_months {
            true => {
                let months = nth(args, 0)?.primitive::<IntervalYearMonthType>()?;
                starts(args, rows, |at, ts, origin| {
                    of_months(&zone, months.value(at), ts, origin)
                })?
            }
            false => {
                let micros = nth(args, 0)?.primitive::<DurationMicrosecondType>()?;
                starts(args, rows, |at, ts, origin| {
                    of_micros(&zone, micros.value(at), ts, origin)
                })?
            }
        };
        Ok(Arc::new(starts.with_data_type(of.clone())))
    }))
}

fn starts(
    args: &[Arg],
    rows: usize,
    start: impl Fn(usize, i64, i64) -> Option<i64>,
) -> RunResult<PrimitiveArray<Micros>> {
    let nulls = union_nulls(&args.iter().collect::<Vec<_>>());
    let (length, ts, origin) = (nth(args, 0)?, nth(args, 1)?, nth(args, 2)?);
    let (stamps, origins) = (ts.primitive::<Micros>()?, origin.primitive::<Micros>()?);
    let starts = (0..rows).map(|row| {
        if nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
            return Ok(None);
        }
        let (stamp, origin) = (stamps.value(ts.at(row)), origins.value(origin.at(row)));
        let start = start(length.at(row), stamp, origin);
        start.map(Some).ok_or_else(|| bail_out(UNKNOWN))
    });
    starts.collect()
}

/// As `timeBucketDTInterval`. Days are days of the calendar: intervals of days may begin some hours earlier or later
/// than so many times their length after the origin.
fn of_micros(zone: &Zone, length: i64, ts: i64, origin: i64) -> Option<i64> {
    let count = ts.checked_sub(origin)?.checked_div_euclid(length)?;
    let length = (length > 0).then_some(length)?;
    if length < DAY {
        return origin.checked_add(count.checked_mul(length)?);
    }
    let start = |count: i64| add_duration(zone, origin, count.checked_mul(length)?);
    let (before, own, behind) = (
        start(count.checked_sub(1)?)?,
        start(count)?,
        start(count + 1)?,
    );
    // Versions differ in how far they look for it.
    if own > ts {
        return (before <= ts).then_some(before);
    }
    match behind <= ts {
        true => (start(count.checked_add(2)?)? > ts).then_some(behind),
        false => Some(own),
    }
}

/// As `timeBucketYMInterval`.
fn of_months(zone: &Zone, length: i32, ts: i64, origin: i64) -> Option<i64> {
    let months = |micros: i64| {
        let date = Civil::of_days(split(zone.local(micros)?).0);
        Some(i64::from(date.year) * 12 + i64::from(date.month))
    };
    let length = (length > 0).then_some(i64::from(length))?;
    let count = (months(ts)? - months(origin)?).div_euclid(length);
    let start = |count: i64| {
        let months = i32::try_from(count.checked_mul(length)?).ok()?;
        add_months(zone, origin, months)
    };
    match start(count)? {
        late if late > ts => start(count - 1),
        start => Some(start),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use javatime::calendar::SECOND;

    const HOUR: i64 = 3600 * SECOND;

    #[test]
    fn intervals_begin_at_the_origin_and_before() {
        let of = |length, ts| of_micros(&Zone::UTC, length, ts, HOUR);
        assert_eq!(of(2 * HOUR, 4 * HOUR), Some(3 * HOUR));
        assert_eq!(of(2 * HOUR, HOUR - 1), Some(-HOUR));
        assert_eq!(of(3 * DAY, HOUR + 3 * DAY), Some(HOUR + 3 * DAY));
        assert_eq!(of(3 * DAY, HOUR + 3 * DAY - 1), Some(HOUR));
        assert_eq!(of(0, 0).or(of(-HOUR, 0)).or(of(HOUR, i64::MIN)), None);
    }

    #[test]
    fn months_are_those_of_the_calendar() {
        let day = |days: i64| days * DAY;
        // The last of January, and of February after it.
        let of = |ts| of_months(&Zone::UTC, 1, ts, day(30));
        assert_eq!(of(day(58)), Some(day(58)));
        assert_eq!(of(day(57)), Some(day(30)));
        assert_eq!(of(day(29)), Some(day(-1)));
        assert_eq!(of_months(&Zone::UTC, 0, 0, 0), None);
    }
}
