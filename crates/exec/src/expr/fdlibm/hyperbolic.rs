//! Hyperbolic functions.

use super::{HUGE, TINY, exp, expm1, high, low};

/// Whether half of the power of e overflows, for a value whose power itself does.
fn overflows(x: f64) -> bool {
    let ix = high(x) & 0x7fff_ffff;
    !(ix < 0x4086_33ce || (ix == 0x4086_33ce && low(x) <= 0x8fb9_f87d))
}

/// `StrictMath.cosh`
pub(in super::super) fn cosh(x: f64) -> f64 {
    let ix = high(x) & 0x7fff_ffff;
    if ix >= 0x7ff0_0000 {
        return x * x;
    }
    let of = x.abs();
    if ix < 0x3fd6_2e43 {
        let t = expm1(of);
        let w = 1.0 + t;
        if ix < 0x3c80_0000 {
            return w;
        }
        return 1.0 + (t * t) / (w + w);
    }
    if ix < 0x4036_0000 {
        let t = exp(of);
        return 0.5 * t + 0.5 / t;
    }
    if ix < 0x4086_2e42 {
        return 0.5 * exp(of);
    }
    if overflows(x) {
        return HUGE * HUGE;
    }
    let w = exp(0.5 * of);
    let t = 0.5 * w;
    t * w
}

/// `StrictMath.sinh`
pub(in super::super) fn sinh(x: f64) -> f64 {
    const SHUGE: f64 = 1.0e307;
    let ix = high(x) & 0x7fff_ffff;
    if ix >= 0x7ff0_0000 {
        return x + x;
    }
    let h = if high(x) < 0 { -0.5 } else { 0.5 };
    let of = x.abs();
    if ix < 0x4036_0000 {
        if ix < 0x3e30_0000 {
            return x;
        }
        let t = expm1(of);
        if ix < 0x3ff0_0000 {
            return h * (2.0 * t - t * t / (t + 1.0));
        }
        return h * (t + t / (t + 1.0));
    }
    if ix < 0x4086_2e42 {
        return h * exp(of);
    }
    if overflows(x) {
        return x * SHUGE;
    }
    let w = exp(0.5 * of);
    let t = h * w;
    t * w
}

/// `StrictMath.tanh`
pub(in super::super) fn tanh(x: f64) -> f64 {
    let negative = high(x) < 0;
    let ix = high(x) & 0x7fff_ffff;
    if ix >= 0x7ff0_0000 {
        return if negative {
            1.0 / x - 1.0
        } else {
            1.0 / x + 1.0
        };
    }
    let z = if ix < 0x4036_0000 {
        if ix < 0x3c80_0000 {
            return x * (1.0 + x);
        }
        if ix >= 0x3ff0_0000 {
            let t = expm1(2.0 * x.abs());
            1.0 - 2.0 / (t + 2.0)
        } else {
            let t = expm1(-2.0 * x.abs());
            -t / (t + 2.0)
        }
    } else {
        1.0 - TINY
    };
    if negative { -z } else { z }
}
