//! Powers.

use super::{HUGE, TINY, high, of_high, undefined, upper, with_high};

/// Whether a number is an integer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Integral {
    No,
    Odd,
    Even,
}

fn integral(y: f64) -> Integral {
    let of = |odd: bool| if odd { Integral::Odd } else { Integral::Even };
    if y.abs() >= 9_007_199_254_740_992.0 {
        Integral::Even
    } else if y.trunc() == y {
        // Below 2^53 in magnitude.
        of((y as i64) & 1 != 0)
    } else {
        Integral::No
    }
}

/// Powers that need no logarithm.
fn simple(x: f64, y: f64, odd: Integral) -> Option<f64> {
    if y == 0.0 {
        return Some(1.0);
    }
    if x.is_nan() || y.is_nan() {
        return Some(x + y);
    }
    let of = x.abs();
    if y.is_infinite() {
        return Some(if of == 1.0 {
            y - y
        } else if of > 1.0 {
            if y > 0.0 { y } else { 0.0 }
        } else if y < 0.0 {
            -y
        } else {
            0.0
        });
    }
    if y == 1.0 {
        return Some(x);
    }
    if y == -1.0 {
        return Some(1.0 / x);
    }
    if y == 2.0 {
        return Some(x * x);
    }
    if y == 0.5 && high(x) >= 0 {
        return Some(x.sqrt());
    }
    if of.is_infinite() || of == 0.0 || of == 1.0 {
        let mut z = if y < 0.0 { 1.0 / of } else { of };
        if high(x) < 0 {
            if of == 1.0 && odd == Integral::No {
                z = undefined(z);
            } else if odd == Integral::Odd {
                z = -z;
            }
        }
        return Some(z);
    }
    if x < 0.0 && odd == Integral::No {
        return Some(undefined(x));
    }
    None
}

/// The logarithm to the base of 2 of a value near 1, in two parts, for large powers.
fn log2_near_one(of: f64) -> (f64, f64) {
    const IVLN2: f64 = 1.44269504088896338700e+00;
    const IVLN2_H: f64 = 1.44269502162933349609e+00;
    const IVLN2_L: f64 = 1.92596299112661746887e-08;
    let t = of - 1.0;
    let w = (t * t) * (0.5 - t * (0.3333333333333333333333 - t * 0.25));
    let u = IVLN2_H * t;
    let v = t * IVLN2_L - w * IVLN2;
    let t1 = upper(u + v);
    (t1, v - (t1 - u))
}

/// The logarithm to the base of 2, in two parts.
fn log2(of: f64) -> (f64, f64) {
    const L1: f64 = 5.99999999999994648725e-01;
    const L2: f64 = 4.28571428578550184252e-01;
    const L3: f64 = 3.33333329818377432918e-01;
    const L4: f64 = 2.72728123808534006489e-01;
    const L5: f64 = 2.30660745775561754067e-01;
    const L6: f64 = 2.06975017800338417784e-01;
    const CP: f64 = 9.61796693925975554329e-01;
    const CP_H: f64 = 9.61796700954437255859e-01;
    const CP_L: f64 = -7.02846165095275826516e-09;
    const TWO53: f64 = 9_007_199_254_740_992.0;
    let (mut ax, mut n) = (of, 0);
    if high(ax) < 0x0010_0000 {
        ax *= TWO53;
        n -= 53;
    }
    n += (high(ax) >> 20) - 0x3ff;
    let j = high(ax) & 0x000f_ffff;
    let mut ix = j | 0x3ff0_0000;
    let (k, bp, dp_h, dp_l);
    if j > 0x3_988e && j < 0xb_b67a {
        (k, bp) = (1, 1.5);
        (dp_h, dp_l) = (5.84962487220764160156e-01, 1.35003920212974897128e-08);
    } else {
        (k, bp, dp_h, dp_l) = (0, 1.0, 0.0, 0.0);
        if j > 0x3_988e {
            n += 1;
            ix -= 0x0010_0000;
        }
    }
    let ax = with_high(ax, ix);
    let u = ax - bp;
    let v = 1.0 / (ax + bp);
    let ss = u * v;
    let s_h = upper(ss);
    let t_h = of_high(((ix >> 1) | 0x2000_0000) + 0x0008_0000 + (k << 18));
    let t_l = ax - (t_h - bp);
    let s_l = v * ((u - s_h * t_h) - s_h * t_l);
    let s2 = ss * ss;
    let mut r = s2 * s2 * (L1 + s2 * (L2 + s2 * (L3 + s2 * (L4 + s2 * (L5 + s2 * L6)))));
    r += s_l * (s_h + ss);
    let s2 = s_h * s_h;
    let t_h = upper(3.0 + s2 + r);
    let t_l = r - ((t_h - 3.0) - s2);
    let u = s_h * t_h;
    let v = s_l * t_h + t_l * ss;
    let p_h = upper(u + v);
    let p_l = v - (p_h - u);
    let z_h = CP_H * p_h;
    let z_l = CP_L * p_h + p_l * CP + dp_l;
    let t = f64::from(n);
    let t1 = upper(((z_h + z_l) + dp_h) + t);
    (t1, z_l - (((t1 - t) - dp_h) - z_h))
}

/// 2 to the power of a sum whose larger part has `high` bits, which is neither too large nor too small.
fn exp2(p_h: f64, p_l: f64, z: f64) -> f64 {
    const P1: f64 = 1.66666666666666019037e-01;
    const P2: f64 = -2.77777777770155933842e-03;
    const P3: f64 = 6.61375632143793436117e-05;
    const P4: f64 = -1.65339022054652515390e-06;
    const P5: f64 = 4.13813679705723846039e-08;
    const LG2: f64 = 6.93147180559945286227e-01;
    const LG2_H: f64 = 6.93147182464599609375e-01;
    const LG2_L: f64 = -1.90465429995776804525e-09;
    let (mut p_h, mut n) = (p_h, 0);
    let j = high(z);
    let i = j & 0x7fff_ffff;
    if i > 0x3fe0_0000 {
        n = j.wrapping_add(0x0010_0000 >> ((i >> 20) - 0x3ff + 1));
        let k = ((n & 0x7fff_ffff) >> 20) - 0x3ff;
        let t = of_high(n & !(0x000f_ffff >> k));
        n = ((n & 0x000f_ffff) | 0x0010_0000) >> (20 - k);
        if j < 0 {
            n = -n;
        }
        p_h -= t;
    }
    let t = upper(p_l + p_h);
    let u = t * LG2_H;
    let v = (p_l - (t - p_h)) * LG2 + t * LG2_L;
    let z = u + v;
    let w = v - (z - u);
    let t = z * z;
    let t1 = z - t * (P1 + t * (P2 + t * (P3 + t * (P4 + t * P5))));
    let r = (z * t1) / (t1 - 2.0) - (w + z * w);
    let z = 1.0 - (r - z);
    let j = high(z).wrapping_add(n << 20);
    if (j >> 20) <= 0 {
        subnormal(z, n)
    } else {
        with_high(z, j)
    }
}

/// Times 2 to the power of `by`, rounded once to what is not normal.
fn subnormal(z: f64, by: i32) -> f64 {
    // 2 to the power of -54.
    const TWO_M54: f64 = 5.55111512312578270212e-17;
    let k = (high(z) >> 20) + by;
    if k <= -54 {
        return TINY.copysign(z) * TINY;
    }
    with_high(
        z,
        (high(z) & 0x800f_ffff_u32.cast_signed()) | ((k + 54) << 20),
    ) * TWO_M54
}

/// `StrictMath.pow`
pub(in super::super) fn pow(x: f64, y: f64) -> f64 {
    const OVT: f64 = 8.0085662595372944372e-17;
    let odd = integral(y);
    if let Some(known) = simple(x, y, odd) {
        return known;
    }
    let of = x.abs();
    let s = if x < 0.0 && odd == Integral::Odd {
        -1.0
    } else {
        1.0
    };
    let overflow = s * HUGE * HUGE;
    let underflow = s * TINY * TINY;
    let (ix, iy) = (high(of), high(y) & 0x7fff_ffff);
    let (t1, t2);
    if iy > 0x41e0_0000 {
        if iy > 0x43f0_0000 {
            // Such powers are even integers: there is no sign.
            return match (ix <= 0x3fef_ffff, y < 0.0) {
                (true, true) | (false, false) => HUGE * HUGE,
                (true, false) | (false, true) => TINY * TINY,
            };
        }
        if ix < 0x3fef_ffff {
            return if y < 0.0 { overflow } else { underflow };
        }
        if ix > 0x3ff0_0000 {
            return if y > 0.0 { overflow } else { underflow };
        }
        (t1, t2) = log2_near_one(of);
    } else {
        (t1, t2) = log2(of);
    }
    let y1 = upper(y);
    let p_l = (y - y1) * t1 + y * t2;
    let p_h = y1 * t1;
    let z = p_l + p_h;
    let j = high(z);
    if j >= 0x4090_0000 {
        if z > 1024.0 || p_l + OVT > z - p_h {
            return overflow;
        }
    } else if (j & 0x7fff_ffff) >= 0x4090_cc00 && (z < -1075.0 || p_l <= z - p_h) {
        return underflow;
    }
    s * exp2(p_h, p_l, z)
}
