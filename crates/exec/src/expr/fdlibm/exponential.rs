//! Powers of e.

use super::{HUGE, INV_LN2, LN2_HI, LN2_LO, TINY, high, low, of_high, scaled};

/// The largest value whose power is finite.
const OVERFLOW: f64 = 7.09782712893383973096e+02;

/// A value less a multiple of the logarithm of 2, in two parts, and which multiple. `hx` is the upper half of it, without
/// its sign.
#[inline]
fn without_ln2(x: f64, hx: i32) -> (f64, f64, i32) {
    let negative = high(x) < 0;
    if hx < 0x3ff0_a2b2 {
        return if negative {
            (x + LN2_HI, -LN2_LO, -1)
        } else {
            (x - LN2_HI, LN2_LO, 1)
        };
    }
    let k = (INV_LN2 * x + if negative { -0.5 } else { 0.5 }) as i32;
    let t = f64::from(k);
    (x - t * LN2_HI, t * LN2_LO, k)
}

/// `StrictMath.exp`
pub(in super::super) fn exp(x: f64) -> f64 {
    const UNDERFLOW: f64 = -7.45133219101941108420e+02;
    const TWO_M1000: f64 = 9.33263618503218878990e-302;
    const P1: f64 = 1.66666666666666019037e-01;
    const P2: f64 = -2.77777777770155933842e-03;
    const P3: f64 = 6.61375632143793436117e-05;
    const P4: f64 = -1.65339022054652515390e-06;
    const P5: f64 = 4.13813679705723846039e-08;
    let negative = high(x) < 0;
    let hx = high(x) & 0x7fff_ffff;
    if hx >= 0x4086_2e42 {
        if hx >= 0x7ff0_0000 {
            if x.is_nan() {
                return x + x;
            }
            return if negative { 0.0 } else { x };
        }
        if x > OVERFLOW {
            return HUGE * HUGE;
        }
        if x < UNDERFLOW {
            return TWO_M1000 * TWO_M1000;
        }
    }
    let (mut reduced, mut hi, mut lo, mut k) = (x, 0.0, 0.0, 0);
    if hx > 0x3fd6_2e42 {
        (hi, lo, k) = without_ln2(x, hx);
        reduced = hi - lo;
    } else if hx < 0x3e30_0000 {
        return 1.0 + x;
    }
    let x = reduced;
    let t = x * x;
    let c = x - t * (P1 + t * (P2 + t * (P3 + t * (P4 + t * P5))));
    if k == 0 {
        return 1.0 - ((x * c) / (c - 2.0) - x);
    }
    let y = 1.0 - ((lo - (x * c) / (2.0 - c)) - hi);
    if k >= -1021 {
        scaled(y, k)
    } else {
        scaled(y, k + 1000) * TWO_M1000
    }
}

/// `StrictMath.expm1`
pub(in super::super) fn expm1(x: f64) -> f64 {
    let negative = high(x) < 0;
    let hx = high(x) & 0x7fff_ffff;
    if hx >= 0x4043_687a {
        if hx >= 0x4086_2e42 {
            if hx >= 0x7ff0_0000 {
                if (hx & 0xf_ffff).cast_unsigned() | low(x) != 0 {
                    return x + x;
                }
                return if negative { -1.0 } else { x };
            }
            if x > OVERFLOW {
                return HUGE * HUGE;
            }
        }
        if negative {
            return TINY - 1.0;
        }
    }
    let (mut reduced, mut c, mut k) = (x, 0.0, 0);
    if hx > 0x3fd6_2e42 {
        let (hi, lo, multiple) = without_ln2(x, hx);
        k = multiple;
        reduced = hi - lo;
        c = (hi - reduced) - lo;
    } else if hx < 0x3c90_0000 {
        return x;
    }
    expm1_of_reduced(reduced, c, k)
}

/// Of `x + c` plus `k` times the logarithm of 2.
fn expm1_of_reduced(x: f64, c: f64, k: i32) -> f64 {
    const Q1: f64 = -3.33333333333331316428e-02;
    const Q2: f64 = 1.58730158725481460165e-03;
    const Q3: f64 = -7.93650757867487942473e-05;
    const Q4: f64 = 4.00821782732936239552e-06;
    const Q5: f64 = -2.01099218183624371326e-07;
    let hfx = 0.5 * x;
    let hxs = x * hfx;
    let r1 = 1.0 + hxs * (Q1 + hxs * (Q2 + hxs * (Q3 + hxs * (Q4 + hxs * Q5))));
    let t = 3.0 - r1 * hfx;
    let mut e = hxs * ((r1 - t) / (6.0 - x * t));
    if k == 0 {
        return x - (x * e - hxs);
    }
    e = x * (e - c) - c;
    e -= hxs;
    match k {
        -1 => 0.5 * (x - e) - 0.5,
        1 if x < -0.25 => -2.0 * (e - (x + 0.5)),
        1 => 1.0 + 2.0 * (x - e),
        ..=-2 | 57.. => {
            let y = 1.0 - (e - x);
            scaled(y, k) - 1.0
        }
        2..20 => {
            // 1 less 2 to the power of -k.
            let t = of_high(0x3ff0_0000 - (0x20_0000 >> k));
            scaled(t - (e - x), k)
        }
        _ => {
            // 2 to the power of -k.
            let t = of_high((0x3ff - k) << 20);
            let mut y = x - (e + t);
            y += 1.0;
            scaled(y, k)
        }
    }
}
