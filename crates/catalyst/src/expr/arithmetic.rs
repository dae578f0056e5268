//! Types of the results of arithmetic on decimals.

use super::Function;
use crate::types::{DataType, Decimal, MAX_PRECISION};

/// Type of `left op right` for decimals, as Spark's `BinaryArithmetic.resultDecimalType`.
pub(super) fn decimal_result(
    op: Function,
    left: Decimal,
    right: Decimal,
    loss: bool,
) -> Option<DataType> {
    let (p1, s1) = (i32::from(left.precision), i32::from(left.scale));
    let (p2, s2) = (i32::from(right.precision), i32::from(right.scale));
    let (precision, scale) = match op {
        Function::Add | Function::Subtract => {
            let scale = s1.max(s2);
            ((p1 - s1).max(p2 - s2) + scale + 1, scale)
        }
        Function::Multiply => (p1 + p2 + 1, s1 + s2),
        Function::Divide if loss => {
            let scale = 6.max(s1 + p2 + 1);
            (p1 - s1 + s2 + scale, scale)
        }
        Function::Divide => {
            let max = i32::from(MAX_PRECISION);
            let mut integral = max.min(p1 - s1 + s2);
            let mut scale = max.min(6.max(s1 + p2 + 1));
            let excess = integral + scale - max;
            if excess > 0 {
                scale -= excess / 2 + 1;
                integral = max - scale;
            }
            (integral + scale, scale)
        }
        Function::Remainder | Function::Pmod => {
            let scale = s1.max(s2);
            ((p1 - s1).min(p2 - s2) + scale, scale)
        }
        _ => return None,
    };
    Some(DataType::Decimal(Decimal::fit(precision, scale, loss)))
}

/// Type of a decimal rounded to so many digits behind the point, as `RoundBase.dataType`.
pub(super) fn rounded(of: Decimal, digits: i32) -> Decimal {
    // Rounding may need one digit more before the point.
    let integral = of.integral_digits() + 1;
    if digits < 0 {
        Decimal::fit(integral.max(-digits + 1), 0, false)
    } else {
        let scale = i32::from(of.scale).min(digits);
        Decimal::fit(integral + scale, scale, false)
    }
}

/// Type of `Ceil` and `Floor`.
pub(super) fn integral(of: &DataType) -> DataType {
    match of.decimal() {
        Some(of) if of.scale == 0 => DataType::Decimal(of),
        // Rounding up may need one digit more.
        Some(of) => DataType::Decimal(Decimal::fit(of.integral_digits() + 1, 0, false)),
        None => DataType::Long,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decimal(precision: u8, scale: i8) -> Decimal {
        Decimal { precision, scale }
    }

    /// Types that Spark's plans of TPC-H and TPC-DS show.
    #[test]
    fn types_of_results_are_sparks() {
        let of = |op, left, right| decimal_result(op, left, right, true);
        let is = |p, s| Some(DataType::Decimal(decimal(p, s)));
        assert_eq!(
            of(Function::Subtract, decimal(1, 0), decimal(15, 2)),
            is(16, 2)
        );
        assert_eq!(
            of(Function::Multiply, decimal(15, 2), decimal(16, 2)),
            is(32, 4)
        );
        assert_eq!(
            of(Function::Multiply, decimal(32, 4), decimal(16, 2)),
            is(38, 6)
        );
        assert_eq!(
            of(Function::Divide, decimal(28, 2), decimal(10, 0)),
            is(38, 12)
        );
        assert_eq!(
            of(Function::Remainder, decimal(15, 2), decimal(1, 0)),
            is(3, 2)
        );
        assert_eq!(rounded(decimal(15, 2), 1), decimal(15, 1));
        assert_eq!(rounded(decimal(15, 2), -3), decimal(14, 0));
        let exact = decimal_result(Function::Divide, decimal(38, 10), decimal(38, 10), false);
        assert_eq!(exact, is(38, 18));
    }
}
