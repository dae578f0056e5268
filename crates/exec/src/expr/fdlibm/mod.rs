//! The functions of Java's `StrictMath`: those of fdlibm 5.3, operation by operation, since the last bit depends on the
//! order of operations. Of `java.lang.Math` also those that JVMs do not replace by code of their own.
//!
//! Written after the C sources of fdlibm, whose files begin with:
//!
//! ```text
//! Copyright (C) 1993, 2004 by Sun Microsystems, Inc. All rights reserved.
//!
//! Permission to use, copy, modify, and distribute this
//! software is freely granted, provided that this notice
//! is preserved.
//! ```

// Constants are as fdlibm has them, and so are differences and quotients that are NaN.
#![allow(clippy::excessive_precision, clippy::approx_constant, clippy::eq_op)]

mod arcs;
mod exponential;
mod hyperbolic;
mod logarithm;
mod power;
mod roots;

pub(super) use arcs::{acos, asin, atan, atan2};
pub(super) use exponential::{exp, expm1};
pub(super) use hyperbolic::{cosh, sinh, tanh};
pub(super) use logarithm::{log, log1p, log10};
pub(super) use power::pow;
pub(super) use roots::{cbrt, hypot};

/// Parts of the logarithm of 2.
const LN2_HI: f64 = 6.93147180369123816490e-01;
const LN2_LO: f64 = 1.90821492927058770002e-10;
const INV_LN2: f64 = 1.44269504088896338700e+00;
/// Degrees of an angle of 1, and the angle of a degree, as `java.lang.Math` has them.
pub(super) const DEGREES: f64 = 57.295_779_513_082_32;
pub(super) const RADIANS: f64 = 0.017_453_292_519_943_295;
const HUGE: f64 = 1.0e300;
const TINY: f64 = 1.0e-300;
const TWO54: f64 = 1.801_439_850_948_198_4e16;

/// Sign, exponent, and the upper 20 bits of the fraction.
#[inline]
fn high(value: f64) -> i32 {
    ((value.to_bits() >> 32) as u32).cast_signed()
}

/// The lower 32 bits of the fraction.
#[inline]
fn low(value: f64) -> u32 {
    value.to_bits() as u32
}

#[inline]
fn with_high(value: f64, high: i32) -> f64 {
    f64::from_bits(u64::from(high.cast_unsigned()) << 32 | u64::from(low(value)))
}

/// Without the lower half of the fraction.
#[inline]
fn upper(value: f64) -> f64 {
    f64::from_bits(value.to_bits() & !0xffff_ffff)
}

/// A value of which the lower half of the fraction is 0.
#[inline]
fn of_high(high: i32) -> f64 {
    with_high(0.0, high)
}

/// Times 2 to the power of `by`, if that is a normal number.
#[inline]
fn scaled(value: f64, by: i32) -> f64 {
    with_high(value, high(value).wrapping_add(by.wrapping_shl(20)))
}

/// NaN, as a function makes it of what it is not defined for.
#[inline]
fn undefined(value: f64) -> f64 {
    (value - value) / (value - value)
}

#[cfg(test)]
mod tests;
