//! Casts between intervals and numbers of their smallest field. What overflows is bailed out of.

use std::sync::Arc;

use arrow::array::ArrowPrimitiveType;
use arrow::datatypes::{
    DataType as ArrowType, Decimal128Type, DurationMicrosecondType as Micros, Int8Type, Int16Type,
    Int32Type, Int64Type, IntervalYearMonthType as Months,
};
use datafusion_physical_expr::PhysicalExpr;

use super::datetime::OVERFLOW;
use super::decimal::{pow10, rescale};
use super::interval_text::unit_of;
use super::intervals::half_up;
use super::kernel::one;
use super::refused;
use catalyst::{Function, IntervalField, Unsupported};

type Args = Vec<Arc<dyn PhysicalExpr>>;
type Lowered = Result<Arc<dyn PhysicalExpr>, Unsupported>;

/// Digits of microseconds behind the point.
const MICROS_SCALE: i8 = 6;

/// Lowers a function of this module.
pub(super) fn lower(op: Function, types: &[ArrowType], to: &ArrowType, args: Args) -> Lowered {
    let lowered = match (op, types) {
        (Function::IntervalOf { unit }, [from]) => interval(unit, from, to, args),
        (Function::IntervalIn { unit }, [from]) => number(unit, from, to, args),
        _ => None,
    };
    lowered.ok_or_else(|| refused(op, types))
}

/// What an interval counts, of one of a field: months or microseconds.
fn parts(field: IntervalField) -> i64 {
    match field {
        IntervalField::Year => 12,
        IntervalField::Month => 1,
        of_time => unit_of(of_time),
    }
}

fn interval(
    unit: IntervalField,
    from: &ArrowType,
    to: &ArrowType,
    args: Args,
) -> Option<Arc<dyn PhysicalExpr>> {
    match to {
        ArrowType::Interval(_) => interval_of::<Months>(unit, from, to, args),
        ArrowType::Duration(_) => interval_of::<Micros>(unit, from, to, args),
        _ => None,
    }
}

fn interval_of<O: ArrowPrimitiveType>(
    unit: IntervalField,
    from: &ArrowType,
    to: &ArrowType,
    args: Args,
) -> Option<Arc<dyn PhysicalExpr>>
where
    O::Native: TryFrom<i128>,
{
    let name = format!("IntervalOf[{unit:?}]");
    let parts = i128::from(parts(unit));
    macro_rules! whole {
        ($type:ty) => {
            one::<$type, O>(name, to, args, OVERFLOW, move |number| {
                O::Native::try_from(i128::from(number) * parts).ok()
            })
        };
    }
    Some(match *from {
        ArrowType::Int8 => whole!(Int8Type),
        ArrowType::Int16 => whole!(Int16Type),
        ArrowType::Int32 => whole!(Int32Type),
        ArrowType::Int64 => whole!(Int64Type),
        ArrowType::Decimal128(_, scale @ 0..) => {
            let by = pow10(u32::from(scale.unsigned_abs()));
            one::<Decimal128Type, O>(name, to, args, OVERFLOW, move |digits| {
                O::Native::try_from(half_up(digits.checked_mul(parts)?, by)).ok()
            })
        }
        _ => return None,
    })
}

fn number(
    unit: IntervalField,
    from: &ArrowType,
    to: &ArrowType,
    args: Args,
) -> Option<Arc<dyn PhysicalExpr>> {
    match from {
        ArrowType::Interval(_) => number_in::<Months>(unit, to, args),
        ArrowType::Duration(_) => number_in::<Micros>(unit, to, args),
        _ => None,
    }
}

fn number_in<I: ArrowPrimitiveType>(
    unit: IntervalField,
    to: &ArrowType,
    args: Args,
) -> Option<Arc<dyn PhysicalExpr>>
where
    I::Native: Into<i64>,
{
    let name = format!("IntervalIn[{unit:?}]");
    let parts = parts(unit);
    macro_rules! whole {
        ($type:ty) => {
            one::<I, $type>(name, to, args, OVERFLOW, move |interval| {
                <$type as ArrowPrimitiveType>::Native::try_from(interval.into() / parts).ok()
            })
        };
    }
    Some(match *to {
        ArrowType::Int8 => whole!(Int8Type),
        ArrowType::Int16 => whole!(Int16Type),
        ArrowType::Int32 => whole!(Int32Type),
        ArrowType::Int64 => whole!(Int64Type),
        ArrowType::Decimal128(precision, scale @ 0..) => {
            // Of seconds, and of no other field, it has fractions.
            let (parts, from) = match unit {
                IntervalField::Second => (1, MICROS_SCALE),
                _ => (parts, 0),
            };
            one::<I, Decimal128Type>(name, to, args, OVERFLOW, move |interval| {
                rescale((interval.into() / parts).into(), from, scale, precision)
            })
        }
        _ => return None,
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use arrow::array::{
        Array, ArrayRef, AsArray, Decimal128Array, DurationMicrosecondArray, Int64Array,
        IntervalYearMonthArray, RecordBatch,
    };
    use arrow::datatypes::{Field, IntervalUnit, Schema, TimeUnit};
    use datafusion_common::Result;
    use datafusion_physical_expr::expressions::Column;

    use super::*;

    const MICROS: ArrowType = ArrowType::Duration(TimeUnit::Microsecond);
    const MONTHS: ArrowType = ArrowType::Interval(IntervalUnit::YearMonth);

    fn cast(op: Function, array: ArrayRef, to: &ArrowType) -> Result<ArrayRef> {
        let from = array.data_type().clone();
        let schema = Arc::new(Schema::new(vec![Field::new("x", from.clone(), true)]));
        let lowered = lower(op, &[from], to, vec![Arc::new(Column::new("x", 0))]).unwrap();
        let batch = RecordBatch::try_new(schema, vec![array]).unwrap();
        lowered.evaluate(&batch)?.into_array(batch.num_rows())
    }

    fn of(unit: IntervalField) -> Function {
        Function::IntervalOf { unit }
    }

    fn within(unit: IntervalField) -> Function {
        Function::IntervalIn { unit }
    }

    fn decimals(values: Vec<Option<i128>>, scale: i8) -> ArrayRef {
        let array = Decimal128Array::from(values);
        Arc::new(array.with_precision_and_scale(38, scale).unwrap())
    }

    #[test]
    fn numbers_are_intervals_of_a_field() {
        let longs = |values: Vec<Option<i64>>| -> ArrayRef { Arc::new(Int64Array::from(values)) };
        let days = cast(of(IntervalField::Day), longs(vec![Some(-2), None]), &MICROS).unwrap();
        let expected = DurationMicrosecondArray::from(vec![Some(-172_800_000_000), None]);
        assert_eq!(days.as_primitive::<Micros>(), &expected);
        let years = cast(
            of(IntervalField::Year),
            longs(vec![Some(178_956_970)]),
            &MONTHS,
        )
        .unwrap();
        assert_eq!(years.as_primitive::<Months>().value(0), 2_147_483_640);
        assert!(
            cast(
                of(IntervalField::Year),
                longs(vec![Some(178_956_971)]),
                &MONTHS
            )
            .is_err()
        );
        assert!(
            cast(
                of(IntervalField::Day),
                longs(vec![Some(106_751_992)]),
                &MICROS
            )
            .is_err()
        );
        // 1.0000005 s, and the same below 0: half away from it.
        let halves = decimals(vec![Some(10_000_005), Some(-10_000_005), None], 7);
        let halves = cast(of(IntervalField::Second), halves, &MICROS).unwrap();
        let expected =
            DurationMicrosecondArray::from(vec![Some(1_000_001), Some(-1_000_001), None]);
        assert_eq!(halves.as_primitive::<Micros>(), &expected);
        let huge = decimals(vec![Some(i128::MAX)], 0);
        assert!(cast(of(IntervalField::Day), huge, &MICROS).is_err());
    }

    #[test]
    fn intervals_are_numbers_of_a_field() {
        let micros = |value: i64| -> ArrayRef {
            Arc::new(DurationMicrosecondArray::from(vec![Some(value), None]))
        };
        let hours = cast(
            within(IntervalField::Hour),
            micros(-7_199_999_999),
            &ArrowType::Int8,
        );
        let hours = hours.unwrap();
        assert_eq!(hours.as_primitive::<Int8Type>().value(0), -1);
        assert!(hours.is_null(1));
        assert!(
            cast(
                within(IntervalField::Second),
                micros(200_000_000),
                &ArrowType::Int8
            )
            .is_err()
        );
        for (unit, scale, digits) in [
            (IntervalField::Second, 3, 1_235),
            (IntervalField::Second, 8, 123_456_700),
            (IntervalField::Minute, 2, 0),
        ] {
            let to = ArrowType::Decimal128(18, scale);
            let seconds = cast(within(unit), micros(1_234_567), &to).unwrap();
            assert_eq!(seconds.as_primitive::<Decimal128Type>().value(0), digits);
        }
        let too_small = ArrowType::Decimal128(3, 3);
        assert!(cast(within(IntervalField::Second), micros(1_234_567), &too_small).is_err());
        let months: ArrayRef = Arc::new(IntervalYearMonthArray::from(vec![-25]));
        let years = cast(within(IntervalField::Year), months, &ArrowType::Int64).unwrap();
        assert_eq!(years.as_primitive::<Int64Type>().value(0), -2);
    }
}
