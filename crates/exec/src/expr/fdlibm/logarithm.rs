//! Logarithms.

use super::{LN2_HI, LN2_LO, TWO54, high, low, undefined, with_high};

/// A value as a number between 1 and 2, or what its logarithm is without one.
enum Normalized {
    /// The value, which is normal, and the power of 2 in it.
    Number(f64, i32),
    Known(f64),
}

/// What logarithms begin with.
fn normalized(x: f64) -> Normalized {
    let (mut x, mut k) = (x, 0);
    if high(x) < 0x0010_0000 {
        if (high(x) & 0x7fff_ffff).cast_unsigned() | low(x) == 0 {
            return Normalized::Known(f64::NEG_INFINITY);
        }
        if high(x) < 0 {
            return Normalized::Known((x - x) / 0.0);
        }
        k -= 54;
        x *= TWO54;
    }
    if high(x) >= 0x7ff0_0000 {
        return Normalized::Known(x + x);
    }
    Normalized::Number(x, k + (high(x) >> 20) - 1023)
}

/// `StrictMath.log`
pub(in super::super) fn log(x: f64) -> f64 {
    const LG1: f64 = 6.666666666666735130e-01;
    const LG2: f64 = 3.999999999940941908e-01;
    const LG3: f64 = 2.857142874366239149e-01;
    const LG4: f64 = 2.222219843214978396e-01;
    const LG5: f64 = 1.818357216161805012e-01;
    const LG6: f64 = 1.531383769920937332e-01;
    const LG7: f64 = 1.479819860511658591e-01;
    let (x, mut k) = match normalized(x) {
        Normalized::Number(x, k) => (x, k),
        Normalized::Known(value) => return value,
    };
    let hx = high(x) & 0x000f_ffff;
    let half = (hx + 0x9_5f64) & 0x10_0000;
    let x = with_high(x, hx | (half ^ 0x3ff0_0000));
    k += half >> 20;
    let f = x - 1.0;
    let dk = f64::from(k);
    if (0x000f_ffff & (2 + hx)) < 3 {
        if f == 0.0 {
            return if k == 0 {
                0.0
            } else {
                dk * LN2_HI + dk * LN2_LO
            };
        }
        let r = f * f * (0.5 - 0.33333333333333333 * f);
        return if k == 0 {
            f - r
        } else {
            dk * LN2_HI - ((r - dk * LN2_LO) - f)
        };
    }
    let s = f / (2.0 + f);
    let z = s * s;
    let w = z * z;
    let t1 = w * (LG2 + w * (LG4 + w * LG6));
    let t2 = z * (LG1 + w * (LG3 + w * (LG5 + w * LG7)));
    let r = t2 + t1;
    if ((hx - 0x6_147a) | (0x6_b851 - hx)) > 0 {
        let hfsq = 0.5 * f * f;
        if k == 0 {
            f - (hfsq - s * (hfsq + r))
        } else {
            dk * LN2_HI - ((hfsq - (s * (hfsq + r) + dk * LN2_LO)) - f)
        }
    } else if k == 0 {
        f - s * (f - r)
    } else {
        dk * LN2_HI - ((s * (f - r) - dk * LN2_LO) - f)
    }
}

/// `StrictMath.log10`
pub(in super::super) fn log10(x: f64) -> f64 {
    const IVLN10: f64 = 4.34294481903251816668e-01;
    const LOG10_2HI: f64 = 3.01029995663611771306e-01;
    const LOG10_2LO: f64 = 3.69423907715893078616e-13;
    let (x, k) = match normalized(x) {
        Normalized::Number(x, k) => (x, k),
        Normalized::Known(value) => return value,
    };
    let i = i32::from(k < 0);
    let y = f64::from(k + i);
    let x = with_high(x, (high(x) & 0x000f_ffff) | ((0x3ff - i) << 20));
    let z = y * LOG10_2LO + IVLN10 * log(x);
    z + y * LOG10_2HI
}

/// `StrictMath.log1p`
pub(in super::super) fn log1p(x: f64) -> f64 {
    let hx = high(x);
    let ax = hx & 0x7fff_ffff;
    if hx < 0x3fda_827a {
        if ax >= 0x3ff0_0000 {
            return if x == -1.0 {
                f64::NEG_INFINITY
            } else {
                undefined(x)
            };
        }
        if ax < 0x3e20_0000 {
            return if ax < 0x3c90_0000 { x } else { x - x * x * 0.5 };
        }
        if hx > 0 || hx <= 0xbfd2_bec3_u32.cast_signed() {
            return log1p_of_reduced(x, 0.0, 1, 0);
        }
    }
    if hx >= 0x7ff0_0000 {
        return x + x;
    }
    let (mut u, mut k, mut c);
    if hx < 0x4340_0000 {
        u = 1.0 + x;
        k = (high(u) >> 20) - 1023;
        c = if k > 0 { 1.0 - (u - x) } else { x - (u - 1.0) };
        c /= u;
    } else {
        u = x;
        k = (high(u) >> 20) - 1023;
        c = 0.0;
    }
    let mut hu = high(u) & 0x000f_ffff;
    if hu < 0x6_a09e {
        u = with_high(u, hu | 0x3ff0_0000);
    } else {
        k += 1;
        u = with_high(u, hu | 0x3fe0_0000);
        hu = (0x0010_0000 - hu) >> 2;
    }
    log1p_of_reduced(u - 1.0, c, hu, k)
}

/// Of `f`, plus `k` times the logarithm of 2; `c` is what was lost before.
fn log1p_of_reduced(f: f64, c: f64, hu: i32, k: i32) -> f64 {
    const LP1: f64 = 6.666666666666735130e-01;
    const LP2: f64 = 3.999999999940941908e-01;
    const LP3: f64 = 2.857142874366239149e-01;
    const LP4: f64 = 2.222219843214978396e-01;
    const LP5: f64 = 1.818357216161805012e-01;
    const LP6: f64 = 1.531383769920937332e-01;
    const LP7: f64 = 1.479819860511658591e-01;
    let dk = f64::from(k);
    let hfsq = 0.5 * f * f;
    if hu == 0 {
        if f == 0.0 {
            return if k == 0 {
                0.0
            } else {
                let c = c + dk * LN2_LO;
                dk * LN2_HI + c
            };
        }
        let r = hfsq * (1.0 - 0.66666666666666666 * f);
        return if k == 0 {
            f - r
        } else {
            dk * LN2_HI - ((r - (dk * LN2_LO + c)) - f)
        };
    }
    let s = f / (2.0 + f);
    let z = s * s;
    let r = z * (LP1 + z * (LP2 + z * (LP3 + z * (LP4 + z * (LP5 + z * (LP6 + z * LP7))))));
    if k == 0 {
        f - (hfsq - s * (hfsq + r))
    } else {
        dk * LN2_HI - ((hfsq - (s * (hfsq + r) + (dk * LN2_LO + c))) - f)
    }
}
