//! Arithmetic on decimals: exact, then rounded half up to the type of the result.

use std::sync::Arc;

use arrow::datatypes::{DataType as ArrowType, Decimal128Type, Int64Type, i256};
use datafusion_physical_expr::PhysicalExpr;

use super::arithmetic::otherwise;
use super::kernel::{Kernel, Otherwise, binary, single, unary};
use catalyst::Unsupported;
use catalyst::{Decimal, MAX_LONG_DIGITS};
use catalyst::{EvalMode, Function};
use rows::error::bail_out;

type Args = Vec<Arc<dyn PhysicalExpr>>;

const OVERFLOW: &str = "decimal overflow";
const ZERO: &str = "division by zero";

/// 10 to the power of `exponent`, up to 38.
pub(super) const fn pow10(exponent: u32) -> i128 {
    10i128.pow(exponent)
}

/// Whether so many digits are enough.
#[inline]
pub(super) fn fits(digits: i128, precision: u8) -> bool {
    digits.unsigned_abs() < pow10(precision as u32).unsigned_abs()
}

/// Brings digits from one scale to another, half up. `None` if they do not fit the precision.
#[inline]
pub(super) fn rescale(digits: i128, from: i8, to: i8, precision: u8) -> Option<i128> {
    let shift = i32::from(to) - i32::from(from);
    let digits = if shift >= 0 {
        if shift > 38 {
            return (digits == 0).then_some(0);
        }
        digits.checked_mul(pow10(shift.unsigned_abs()))?
    } else {
        round_off(digits, shift.unsigned_abs())
    };
    fits(digits, precision).then_some(digits)
}

/// Digits without the last `drop`, half up: away from zero.
#[inline]
pub(super) fn round_off(digits: i128, drop: u32) -> i128 {
    if drop > 38 {
        // An i128 has 39 digits, none of which is above 1.
        return 0;
    }
    let unit = pow10(drop);
    let (quotient, rest) = (digits / unit, digits % unit);
    if rest.unsigned_abs() >= unit.unsigned_abs() - rest.unsigned_abs() {
        quotient + digits.signum()
    } else {
        quotient
    }
}

/// As [`round_off`], half to the even neighbour.
pub(super) fn round_off_even(digits: i128, drop: u32) -> i128 {
    if drop > 38 {
        return 0;
    }
    let unit = pow10(drop);
    let (quotient, rest) = (digits / unit, digits % unit);
    let above = unit.unsigned_abs() - rest.unsigned_abs();
    match rest.unsigned_abs().cmp(&above) {
        std::cmp::Ordering::Less => quotient,
        std::cmp::Ordering::Greater => quotient + digits.signum(),
        std::cmp::Ordering::Equal => quotient + (quotient % 2).abs() * digits.signum(),
    }
}

/// As [`rescale`] for what an i128 cannot hold.
fn rescale_wide(digits: i256, shift: i32, precision: u8) -> Option<i128> {
    let digits = if shift >= 0 {
        digits.checked_mul(pow10_wide(shift.unsigned_abs())?)?
    } else {
        let unit = pow10_wide(shift.unsigned_abs())?;
        let (quotient, rest) = (digits.checked_div(unit)?, digits.checked_rem(unit)?);
        let rest = rest.wrapping_abs();
        if rest >= unit.wrapping_sub(rest) {
            let sign = if digits.is_negative() { -1 } else { 1 };
            quotient.wrapping_add(i256::from_i128(sign))
        } else {
            quotient
        }
    };
    digits.to_i128().filter(|digits| fits(*digits, precision))
}

fn pow10_wide(exponent: u32) -> Option<i256> {
    let half = exponent / 2;
    let wide = |exponent: u32| (exponent <= 38).then(|| i256::from_i128(pow10(exponent)));
    wide(half)?.checked_mul(wide(exponent - half)?)
}

/// `left * right`.
fn multiply(left: i128, right: i128, shift: i32, precision: u8) -> Option<i128> {
    if shift == 0
        && let Some(product) = left.checked_mul(right)
    {
        return fits(product, precision).then_some(product);
    }
    let product = i256::from_i128(left).checked_mul(i256::from_i128(right))?;
    rescale_wide(product, shift, precision)
}

/// `left * 10^shift / right`, half up.
fn divide(left: i128, right: i128, shift: u32, precision: u8) -> Option<i128> {
    if right == 0 {
        return None;
    }
    let divisor = right.unsigned_abs();
    let (mut quotient, mut rest) = (left.unsigned_abs() / divisor, left.unsigned_abs() % divisor);
    let mut left_over = shift;
    // Digit by digit, as many at once as fit: the rest is less than the divisor.
    while left_over > 0 {
        let free = rest.leading_zeros();
        // 10^n has at most 3.33 n bits.
        let step = left_over.min((free * 3 / 10).clamp(0, 37));
        if step == 0 {
            return divide_wide(quotient, rest, divisor, left_over, left, right, precision);
        }
        let unit = pow10(step).unsigned_abs();
        let scaled = rest * unit;
        quotient = quotient.checked_mul(unit)?.checked_add(scaled / divisor)?;
        rest = scaled % divisor;
        left_over -= step;
    }
    finish(
        quotient,
        rest,
        divisor,
        (left < 0) != (right < 0),
        precision,
    )
}

fn divide_wide(
    quotient: u128,
    rest: u128,
    divisor: u128,
    shift: u32,
    left: i128,
    right: i128,
    precision: u8,
) -> Option<i128> {
    let wide = |value: u128| i256::from_parts(value, 0);
    let (mut quotient, mut rest, divisor_wide) = (wide(quotient), wide(rest), wide(divisor));
    let mut left_over = shift;
    while left_over > 0 {
        // A divisor has 38 digits at most: 76 fit.
        let step = left_over.min(38);
        let unit = i256::from_i128(pow10(step));
        let scaled = rest.checked_mul(unit)?;
        quotient = quotient
            .checked_mul(unit)?
            .checked_add(scaled.checked_div(divisor_wide)?)?;
        rest = scaled.checked_rem(divisor_wide)?;
        left_over -= step;
    }
    let quotient = quotient.to_i128()?.unsigned_abs();
    let rest = rest.to_i128()?.unsigned_abs();
    finish(
        quotient,
        rest,
        divisor,
        (left < 0) != (right < 0),
        precision,
    )
}

fn finish(
    quotient: u128,
    rest: u128,
    divisor: u128,
    negative: bool,
    precision: u8,
) -> Option<i128> {
    let quotient = i128::try_from(quotient).ok()?;
    let rounded = if rest >= divisor - rest {
        quotient.checked_add(1)?
    } else {
        quotient
    };
    let signed = if negative { -rounded } else { rounded };
    fits(signed, precision).then_some(signed)
}

/// `left op right` where the scales differ from the common one by these.
fn widened(left: i128, right: i128, by: (u32, u32)) -> Option<(i128, i128)> {
    Some((
        left.checked_mul(pow10(by.0))?,
        right.checked_mul(pow10(by.1))?,
    ))
}

/// Arithmetic on two decimals.
pub(super) fn lower_binary(
    op: Function,
    mode: Option<EvalMode>,
    left: Decimal,
    right: Decimal,
    to: &ArrowType,
    args: Args,
) -> Result<Arc<dyn PhysicalExpr>, Unsupported> {
    let refuse = || Unsupported::of_use(format!("{} of decimals with that result", op.name()));
    let (precision, scale) = match to {
        ArrowType::Decimal128(precision, scale) => (*precision, *scale),
        ArrowType::Int64 if op == Function::IntegralDivide => (MAX_LONG_DIGITS, 0),
        _ => return Err(refuse()),
    };
    if left.scale < 0 || right.scale < 0 {
        return Err(refuse());
    }
    let common = left.scale.max(right.scale);
    let by = (
        (common - left.scale).unsigned_abs().into(),
        (common - right.scale).unsigned_abs().into(),
    );
    let shift = i32::from(scale) - i32::from(common);
    let name = match mode {
        Some(mode) => format!("{}[{mode}]", op.name()),
        None => op.name().to_owned(),
    };
    let to = to.clone();
    let overflow = otherwise(mode, OVERFLOW);
    let zero = otherwise(mode, ZERO);
    macro_rules! kernel {
        ($otherwise:expr, $f:expr) => {{
            let of = to.clone();
            Kernel::strict(name, args, to, move |args, _| {
                binary::<Decimal128Type, Decimal128Type, Decimal128Type>(args, $otherwise, &of, $f)
            })
        }};
    }
    // Digits that an operand has once it was brought to the common scale.
    let digits = |of: Decimal| i32::from(of.precision) - i32::from(of.scale) + i32::from(common);
    let most = digits(left).max(digits(right)) + 1;
    let adding = matches!(op, Function::Add | Function::Subtract);
    Ok(match op {
        // No sum has more digits than the result.
        Function::Add if shift == 0 && most <= i32::from(precision) => {
            let (l, r) = (pow10(by.0), pow10(by.1));
            kernel!(overflow, |a, b| Some(
                a.wrapping_mul(l).wrapping_add(b.wrapping_mul(r))
            ))
        }
        Function::Subtract if shift == 0 && most <= i32::from(precision) => {
            let (l, r) = (pow10(by.0), pow10(by.1));
            kernel!(overflow, |a, b| Some(
                a.wrapping_mul(l).wrapping_sub(b.wrapping_mul(r))
            ))
        }
        Function::Add | Function::Subtract => {
            kernel!(overflow, |a, b| {
                let b = if adding && op == Function::Subtract {
                    b.wrapping_neg()
                } else {
                    b
                };
                let narrow = || {
                    let (a, b) = widened(a, b, by)?;
                    a.checked_add(b)
                };
                match narrow() {
                    Some(sum) => rescale(sum, 0, i8::try_from(shift).ok()?, precision),
                    None => {
                        let a = i256::from_i128(a).checked_mul(pow10_wide(by.0)?)?;
                        let b = i256::from_i128(b).checked_mul(pow10_wide(by.1)?)?;
                        rescale_wide(a.checked_add(b)?, shift, precision)
                    }
                }
            })
        }
        Function::Multiply => {
            let shift = i32::from(scale) - i32::from(left.scale) - i32::from(right.scale);
            let most = i32::from(left.precision) + i32::from(right.precision);
            if shift == 0 && most <= i32::from(precision) {
                kernel!(overflow, |a, b| Some(a.wrapping_mul(b)))
            } else {
                kernel!(overflow, |a, b| multiply(a, b, shift, precision))
            }
        }
        Function::Divide => {
            let shift = i32::from(scale) - i32::from(left.scale) + i32::from(right.scale);
            let shift = u32::try_from(shift).map_err(|_| refuse())?;
            kernel!(zero, |a, b| divide(a, b, shift, precision))
        }
        Function::Remainder | Function::Pmod => {
            let positive = op == Function::Pmod;
            let of = to.clone();
            Kernel::strict(name, args, to, move |args, _| {
                let large = std::cell::Cell::new(false);
                let rest = |a: i128, b: i128| {
                    if b == 0 {
                        return None;
                    }
                    if let Some((a, b)) = widened(a, b, by) {
                        let mut rest = a.wrapping_rem(b);
                        if positive && rest < 0 {
                            rest = rest.checked_add(b)?.wrapping_rem(b);
                        }
                        return rescale(rest, 0, i8::try_from(shift).ok()?, precision);
                    }
                    let a = i256::from_i128(a).checked_mul(pow10_wide(by.0)?)?;
                    let b = i256::from_i128(b).checked_mul(pow10_wide(by.1)?)?;
                    // Java computes no remainder of a quotient that has more than 39 digits.
                    let quotient = a.checked_div(b)?.to_i128();
                    large.set(large.get() || !quotient.is_some_and(|q| fits(q, 38)));
                    let mut rest = a.checked_rem(b)?;
                    if positive && rest.is_negative() {
                        rest = rest.checked_add(b)?.checked_rem(b)?;
                    }
                    rescale_wide(rest, shift, precision)
                };
                let result = binary::<Decimal128Type, Decimal128Type, Decimal128Type>(
                    args, zero, &of, rest,
                )?;
                if large.get() {
                    return Err(bail_out("a large quotient of decimals"));
                }
                Ok(result)
            })
        }
        Function::IntegralDivide => {
            let of = to.clone();
            // What does not fit a long is cut off or fails, in ways that are not copied here.
            let fail = Otherwise::Fail("division of decimals");
            let zero = if fail == zero { fail } else { zero };
            Kernel::strict(name, args, to, move |args, _| {
                let large = std::cell::Cell::new(false);
                let result = binary::<Decimal128Type, Decimal128Type, Int64Type>(
                    args,
                    zero,
                    &of,
                    |a, b| {
                        if b == 0 {
                            return None;
                        }
                        let quotient = widened(a, b, by)
                            .map(|(a, b)| a.wrapping_div(b))
                            .and_then(|quotient| i64::try_from(quotient).ok());
                        large.set(large.get() || quotient.is_none());
                        quotient
                    },
                )?;
                if large.get() {
                    return Err(bail_out("a large quotient of decimals"));
                }
                Ok(result)
            })
        }
        _ => return Err(refuse()),
    })
}

/// Digits that Scala keeps of a decimal when it is negated: it rounds, or fails after having rounded up to one digit
/// more.
const NEGATED_DIGITS: u8 = 34;

/// A kernel from one decimal to another.
fn kernel(
    name: impl Into<String>,
    to: ArrowType,
    otherwise: Otherwise,
    args: Args,
    f: impl Fn(i128) -> Option<i128> + Send + Sync + 'static,
) -> Arc<dyn PhysicalExpr> {
    Kernel::strict(name, args, to.clone(), move |args, _| {
        unary::<Decimal128Type, Decimal128Type>(single(args)?, otherwise, &to, &f)
    })
}

/// `UnaryMinus` and `Abs`.
pub(super) fn lower_unary(
    op: Function,
    to: &ArrowType,
    args: Args,
) -> Result<Arc<dyn PhysicalExpr>, Unsupported> {
    let f: fn(i128) -> Option<i128> = match op {
        Function::UnaryMinus => |digits| fits(digits, NEGATED_DIGITS).then(|| -digits),
        Function::Abs => |digits| fits(digits, NEGATED_DIGITS).then(|| digits.abs()),
        _ => return Err(Unsupported::of_use(format!("{} of decimals", op.name()))),
    };
    let otherwise = Otherwise::Fail("negation of a decimal that is rounded");
    Ok(kernel(op.name(), to.clone(), otherwise, args, f))
}

/// Brings a decimal to another type; what does not fit is null or fails. Casts and `CheckOverflow`.
pub(super) fn lower_rescale(
    name: &str,
    mode: EvalMode,
    from: Decimal,
    to: Decimal,
    args: Args,
) -> Arc<dyn PhysicalExpr> {
    let arrow = ArrowType::Decimal128(to.precision, to.scale);
    let otherwise = otherwise(Some(mode), OVERFLOW);
    let wider = to.scale >= from.scale && to.integral_digits() >= from.integral_digits();
    let name = format!("{name}[{mode}]");
    if wider {
        let unit = pow10((to.scale - from.scale).unsigned_abs().into());
        return kernel(name, arrow, otherwise, args, move |digits| {
            Some(digits.wrapping_mul(unit))
        });
    }
    kernel(name, arrow, otherwise, args, move |digits| {
        rescale(digits, from.scale, to.scale, to.precision)
    })
}

/// Rounds a decimal to a type with `places` digits behind the point, which may be negative.
pub(super) fn lower_round(
    op: Function,
    mode: Option<EvalMode>,
    from: Decimal,
    places: i32,
    to: Decimal,
    args: Args,
) -> Arc<dyn PhysicalExpr> {
    let arrow = ArrowType::Decimal128(to.precision, to.scale);
    let of = arrow.clone();
    let round: fn(i128, u32) -> i128 = match op {
        Function::BRound => round_off_even,
        Function::RoundCeil => |digits, drop| next(digits, drop, true),
        Function::RoundFloor => |digits, drop| next(digits, drop, false),
        _ => round_off,
    };
    let otherwise = match op {
        // Without a mode they fail.
        Function::RoundCeil | Function::RoundFloor => Otherwise::Fail(OVERFLOW),
        _ => otherwise(mode, OVERFLOW),
    };
    let drop = (i32::from(from.scale) - places).max(0).unsigned_abs();
    // Zeros in place of the digits before the point that were dropped.
    let zeros = (-places).max(0).unsigned_abs();
    let name = format!("{}[{places} {mode:?}]", op.name());
    Kernel::strict(name, args, arrow, move |args, _| {
        unary::<Decimal128Type, Decimal128Type>(
            super::kernel::nth(args, 0)?,
            otherwise,
            &of,
            |digits| {
                let kept = round(digits, drop);
                let zeros = if kept == 0 { 0 } else { zeros };
                (zeros <= 38)
                    .then(|| kept.checked_mul(pow10(zeros)))?
                    .filter(|digits| fits(*digits, to.precision))
            },
        )
    })
}

/// `Ceil` and `Floor` of a decimal with digits behind the point; `to` has none.
pub(super) fn integral(
    op: Function,
    from: Decimal,
    to: Decimal,
    args: Args,
) -> Arc<dyn PhysicalExpr> {
    let arrow = ArrowType::Decimal128(to.precision, to.scale);
    let unit = pow10(u32::from(from.scale.unsigned_abs()));
    let up = op == Function::Ceil;
    kernel(
        op.name(),
        arrow,
        Otherwise::Fail(OVERFLOW),
        args,
        move |digits| Some(whole(digits, unit, up)).filter(|digits| fits(*digits, to.precision)),
    )
}

/// Digits without so many of the last ones, rounded up or down.
fn next(digits: i128, drop: u32, up: bool) -> i128 {
    match drop {
        ..=38 => whole(digits, pow10(drop), up),
        // Less than one.
        _ if up => i128::from(digits > 0),
        _ => -i128::from(digits < 0),
    }
}

/// The next integer above or below so many of a unit's parts.
fn whole(digits: i128, unit: i128, up: bool) -> i128 {
    let more = up && digits.rem_euclid(unit) != 0;
    digits.div_euclid(unit) + i128::from(more)
}

/// `UnscaledValue`: the digits as a long.
pub(super) fn unscaled(args: Args) -> Arc<dyn PhysicalExpr> {
    Kernel::strict("UnscaledValue", args, ArrowType::Int64, |args, _| {
        unary::<Decimal128Type, Int64Type>(
            single(args)?,
            Otherwise::Fail("digits of a decimal that are no long"),
            &ArrowType::Int64,
            |digits| i64::try_from(digits).ok(),
        )
    })
}

/// `MakeDecimal`: a decimal of these digits.
pub(super) fn make(mode: Option<EvalMode>, to: Decimal, args: Args) -> Arc<dyn PhysicalExpr> {
    let arrow = ArrowType::Decimal128(to.precision, to.scale);
    let of = arrow.clone();
    let otherwise = otherwise(mode, OVERFLOW);
    let name = format!("MakeDecimal[{mode:?}]");
    Kernel::strict(name, args, arrow, move |args, _| {
        unary::<Int64Type, Decimal128Type>(single(args)?, otherwise, &of, |digits| {
            Some(i128::from(digits)).filter(|digits| fits(*digits, to.precision))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ceil_is_up_and_floor_is_down_on_both_sides_of_zero() {
        let digits = [-11, -10, -9, 0, 9, 10, 11];
        assert_eq!(
            digits.map(|digits| whole(digits, 10, true)),
            [-1, -1, 0, 0, 1, 1, 2]
        );
        assert_eq!(
            digits.map(|digits| whole(digits, 10, false)),
            [-2, -1, -1, 0, 0, 1, 1]
        );
    }

    #[test]
    fn half_is_rounded_away_from_zero() {
        assert_eq!(round_off(25, 1), 3);
        assert_eq!(round_off(-25, 1), -3);
        assert_eq!(round_off(24, 1), 2);
        assert_eq!(round_off_even(25, 1), 2);
        assert_eq!(round_off_even(-35, 1), -4);
        assert_eq!(round_off(i128::MAX, 38), 2);
        assert_eq!(rescale(99, 1, 0, 1), None);
        assert_eq!(rescale(94, 1, 0, 1), Some(9));
    }

    #[test]
    fn products_of_any_width_are_exact() {
        assert_eq!(multiply(150, 250, 0, 38), Some(37500));
        let (a, b) = (pow10(30), pow10(20) + 5);
        assert_eq!(multiply(a, b, -30, 38), Some(b));
        assert_eq!(multiply(a, b, -31, 38), Some((b + 5) / 10));
        assert_eq!(multiply(a, b, 0, 38), None);
        assert_eq!(multiply(-a, b, -12, 38), None);
        assert_eq!(multiply(-a, b, -13, 38), Some(-(b * pow10(17))));
    }

    #[test]
    fn quotients_of_any_width_are_exact() {
        assert_eq!(divide(1, 3, 6, 38), Some(333_333));
        assert_eq!(divide(2, 3, 6, 38), Some(666_667));
        assert_eq!(divide(-1, 8, 2, 38), Some(-13));
        let large = pow10(38) - 1;
        assert_eq!(divide(large, large, 37, 38), Some(pow10(37)));
        assert_eq!(
            divide(1, large, 76, 38),
            Some(pow10(38)).filter(|d| fits(*d, 38))
        );
        assert_eq!(divide(7, large, 75, 38), Some(7 * pow10(37) + 1));
        assert_eq!(divide(large, 1, 1, 38), None);
        assert_eq!(divide(1, 0, 1, 38), None);
    }
}
