//! Casts among dates and timestamps, and between timestamps and numbers.

use std::sync::Arc;

use arrow::array::{Array, ArrowPrimitiveType, PrimitiveArray};
use arrow::datatypes::{
    Date32Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    TimestampMicrosecondType,
};
use datafusion_physical_expr::PhysicalExpr;

use super::numeric::Number;
use super::{Casting, to_boolean};
use crate::expr::arithmetic::otherwise;
use crate::expr::kernel::{Kernel, Otherwise, single};
use catalyst::DataType;
use catalyst::EvalMode;
use catalyst::Unsupported;
use javatime::Zone;
use javatime::calendar::{SECOND, split};

const OVERFLOW: &str = "a timestamp that overflows";

type Micros = TimestampMicrosecondType;

/// A cast among dates and timestamps.
pub(super) fn lower(casting: &Casting<'_>) -> Result<Arc<dyn PhysicalExpr>, Unsupported> {
    use DataType as T;
    let fail = Otherwise::Fail(OVERFLOW);
    // Timestamps without time zone are as if they were in UTC.
    let zone = match (casting.from, casting.to) {
        (T::Timestamp, _) | (_, T::Timestamp) => casting.zone()?,
        _ => Zone::UTC,
    };
    match (casting.from, casting.to) {
        (T::Date, _) => {
            casting.each::<Date32Type, Micros>(fail, move |days| zone.start_of_day(days))
        }
        (_, T::Date) => casting
            .each::<Micros, Date32Type>(fail, move |micros| Some(split(zone.local(micros)?).0)),
        (T::Timestamp, _) => casting.each::<Micros, Micros>(fail, move |micros| zone.local(micros)),
        _ => casting.each::<Micros, Micros>(fail, move |micros| zone.instant(micros)),
    }
}

/// A cast from a timestamp to a number: seconds.
// Bounds were checked, or what is lost is lost in Java as well.
#[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss)]
pub(super) fn lower_to_number(casting: &Casting<'_>) -> Result<Arc<dyn PhysicalExpr>, Unsupported> {
    use DataType as T;
    // Spark 3 cuts off the high bits, later versions give null.
    let otherwise = match casting.mode {
        EvalMode::Legacy => Otherwise::Fail(OVERFLOW),
        mode => otherwise(Some(mode), OVERFLOW),
    };
    let seconds = |micros: i64| micros.div_euclid(SECOND);
    let double = |micros: i64| micros as f64 / SECOND as f64;
    match casting.to {
        T::Boolean => Ok(to_boolean::<Micros>(casting)),
        T::Byte => {
            casting.each::<Micros, Int8Type>(otherwise, move |v| i8::try_from(seconds(v)).ok())
        }
        T::Short => {
            casting.each::<Micros, Int16Type>(otherwise, move |v| i16::try_from(seconds(v)).ok())
        }
        T::Integer => {
            casting.each::<Micros, Int32Type>(otherwise, move |v| i32::try_from(seconds(v)).ok())
        }
        T::Long => casting.each::<Micros, Int64Type>(otherwise, move |v| Some(seconds(v))),
        T::Float => casting.each::<Micros, Float32Type>(otherwise, move |v| Some(double(v) as f32)),
        T::Double => casting.each::<Micros, Float64Type>(otherwise, move |v| Some(double(v))),
        _ => Err(casting.refuse()),
    }
}

/// A cast from a number, seconds, to a timestamp.
pub(super) fn lower_from_number(
    casting: &Casting<'_>,
) -> Result<Arc<dyn PhysicalExpr>, Unsupported> {
    use DataType as T;
    match casting.from {
        T::Boolean => {
            let of = casting.arrow()?;
            let child = vec![Arc::clone(&casting.child)];
            Ok(Kernel::strict(
                casting.name(),
                child,
                of.clone(),
                move |args, _| {
                    let array = single(args)?.boolean()?;
                    // One microsecond, not one second.
                    let values = array.values().iter().map(i64::from).collect::<Vec<_>>();
                    let array =
                        PrimitiveArray::<Micros>::try_new(values.into(), array.nulls().cloned())?;
                    Ok(Arc::new(array.with_data_type(of.clone())))
                },
            ))
        }
        T::Byte => from_integer::<Int8Type>(casting),
        T::Short => from_integer::<Int16Type>(casting),
        T::Integer => from_integer::<Int32Type>(casting),
        T::Long => from_integer::<Int64Type>(casting),
        T::Float => from_float::<Float32Type>(casting),
        T::Double => from_float::<Float64Type>(casting),
        _ => Err(casting.refuse()),
    }
}

fn from_integer<I: ArrowPrimitiveType<Native: Number>>(
    casting: &Casting<'_>,
) -> Result<Arc<dyn PhysicalExpr>, Unsupported> {
    // As `TimeUnit.toMicros`.
    casting.each::<I, Micros>(Otherwise::Null, |v| {
        Some(v.to_long().saturating_mul(SECOND))
    })
}

// As Java's cast, which saturates too.
#[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss)]
fn from_float<I: ArrowPrimitiveType<Native: Number>>(
    casting: &Casting<'_>,
) -> Result<Arc<dyn PhysicalExpr>, Unsupported> {
    let otherwise = otherwise(Some(casting.mode), OVERFLOW);
    let ansi = casting.ansi();
    casting.each::<I, Micros>(otherwise, move |v| {
        let seconds = v.to_double();
        let micros = seconds * SECOND as f64;
        if ansi {
            return micros.exact(i64::MIN, i64::MAX);
        }
        seconds.is_finite().then_some(micros as i64)
    })
}
