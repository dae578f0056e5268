//! Angles.

use super::{TINY, high, undefined, upper, with_high};

const PI: f64 = 3.14159265358979311600e+00;
const PIO2_HI: f64 = 1.57079632679489655800e+00;
const PIO2_LO: f64 = 6.12323399573676603587e-17;
const PIO4_HI: f64 = 7.85398163397448278999e-01;

/// A quotient of polynomials that `acos` and `asin` have in common.
fn quotient(z: f64) -> f64 {
    const PS0: f64 = 1.66666666666666657415e-01;
    const PS1: f64 = -3.25565818622400915405e-01;
    const PS2: f64 = 2.01212532134862925881e-01;
    const PS3: f64 = -4.00555345006794114027e-02;
    const PS4: f64 = 7.91534994289814532176e-04;
    const PS5: f64 = 3.47933107596021167570e-05;
    const QS1: f64 = -2.40339491173441421878e+00;
    const QS2: f64 = 2.02094576023350569471e+00;
    const QS3: f64 = -6.88283971605453293030e-01;
    const QS4: f64 = 7.70381505559019352791e-02;
    let p = z * (PS0 + z * (PS1 + z * (PS2 + z * (PS3 + z * (PS4 + z * PS5)))));
    let q = 1.0 + z * (QS1 + z * (QS2 + z * (QS3 + z * QS4)));
    p / q
}

/// `StrictMath.acos`
pub(in super::super) fn acos(x: f64) -> f64 {
    let hx = high(x);
    let ix = hx & 0x7fff_ffff;
    if ix >= 0x3ff0_0000 {
        if x == 1.0 {
            return 0.0;
        }
        if x == -1.0 {
            return PI + 2.0 * PIO2_LO;
        }
        return undefined(x);
    }
    if ix < 0x3fe0_0000 {
        if ix <= 0x3c60_0000 {
            return PIO2_HI + PIO2_LO;
        }
        let r = quotient(x * x);
        return PIO2_HI - (x - (PIO2_LO - x * r));
    }
    if hx < 0 {
        let z = (1.0 + x) * 0.5;
        let s = z.sqrt();
        let w = quotient(z) * s - PIO2_LO;
        return PI - 2.0 * (s + w);
    }
    let z = (1.0 - x) * 0.5;
    let s = z.sqrt();
    let df = upper(s);
    let c = (z - df * df) / (s + df);
    let w = quotient(z) * s + c;
    2.0 * (df + w)
}

/// `StrictMath.asin`
pub(in super::super) fn asin(x: f64) -> f64 {
    let hx = high(x);
    let ix = hx & 0x7fff_ffff;
    if ix >= 0x3ff0_0000 {
        if x.abs() == 1.0 {
            return x * PIO2_HI + x * PIO2_LO;
        }
        return undefined(x);
    }
    if ix < 0x3fe0_0000 {
        if ix < 0x3e40_0000 {
            return x;
        }
        return x + x * quotient(x * x);
    }
    let t = (1.0 - x.abs()) * 0.5;
    let r = quotient(t);
    let s = t.sqrt();
    let t = if ix >= 0x3fef_3333 {
        PIO2_HI - (2.0 * (s + s * r) - PIO2_LO)
    } else {
        let w = upper(s);
        let c = (t - w * w) / (s + w);
        let p = 2.0 * s * r - (PIO2_LO - 2.0 * c);
        let q = PIO4_HI - 2.0 * w;
        PIO4_HI - (p - q)
    };
    if hx > 0 { t } else { -t }
}

/// `StrictMath.atan`
pub(in super::super) fn atan(x: f64) -> f64 {
    const A0: f64 = 3.33333333333329318027e-01;
    const A1: f64 = -1.99999999998764832476e-01;
    const A2: f64 = 1.42857142725034663711e-01;
    const A3: f64 = -1.11111104054623557880e-01;
    const A4: f64 = 9.09088713343650656196e-02;
    const A5: f64 = -7.69187620504482999495e-02;
    const A6: f64 = 6.66107313738753120669e-02;
    const A7: f64 = -5.83357013379057348645e-02;
    const A8: f64 = 4.97687799461593236017e-02;
    const A9: f64 = -3.65315727442169155270e-02;
    const A10: f64 = 1.62858201153657823623e-02;
    /// Arcs of a half, 1 and one and a half.
    const HALF: (f64, f64) = (4.63647609000806093515e-01, 2.26987774529616870924e-17);
    const ONE: (f64, f64) = (PIO4_HI, 3.06161699786838301793e-17);
    const MORE: (f64, f64) = (9.82793723247329054082e-01, 1.39033110312309984516e-17);
    const ALL: (f64, f64) = (PIO2_HI, PIO2_LO);
    let hx = high(x);
    let ix = hx & 0x7fff_ffff;
    if ix >= 0x4410_0000 {
        if x.is_nan() {
            return x + x;
        }
        return if hx > 0 {
            PIO2_HI + PIO2_LO
        } else {
            -PIO2_HI - PIO2_LO
        };
    }
    let polynomial = |x: f64| {
        let z = x * x;
        let w = z * z;
        let s1 = z * (A0 + w * (A2 + w * (A4 + w * (A6 + w * (A8 + w * A10)))));
        let s2 = w * (A1 + w * (A3 + w * (A5 + w * (A7 + w * A9))));
        x * (s1 + s2)
    };
    if ix < 0x3fdc_0000 {
        if ix < 0x3e20_0000 {
            return x;
        }
        return x - polynomial(x);
    }
    let of = x.abs();
    let (x, (hi, lo)) = match ix {
        ..0x3fe6_0000 => ((2.0 * of - 1.0) / (2.0 + of), HALF),
        0x3fe6_0000..0x3ff3_0000 => ((of - 1.0) / (of + 1.0), ONE),
        0x3ff3_0000..0x4003_8000 => ((of - 1.5) / (1.0 + 1.5 * of), MORE),
        _ => (-1.0 / of, ALL),
    };
    let z = hi - ((polynomial(x) - lo) - x);
    if hx < 0 { -z } else { z }
}

/// `StrictMath.atan2`
pub(in super::super) fn atan2(y: f64, x: f64) -> f64 {
    const PI_LO: f64 = 1.2246467991473531772E-16;
    if x.is_nan() || y.is_nan() {
        return x + y;
    }
    if x == 1.0 {
        return atan(y);
    }
    let (hx, hy) = (high(x), high(y));
    let (ix, iy) = (hx & 0x7fff_ffff, hy & 0x7fff_ffff);
    let signs = (hx < 0, hy < 0);
    if y == 0.0 {
        return match signs {
            (false, _) => y,
            (true, false) => PI + TINY,
            (true, true) => -PI - TINY,
        };
    }
    let right = if hy < 0 {
        -PIO2_HI - TINY
    } else {
        PIO2_HI + TINY
    };
    if x == 0.0 {
        return right;
    }
    if x.is_infinite() {
        return match (y.is_infinite(), signs) {
            (true, (false, false)) => PIO4_HI + TINY,
            (true, (false, true)) => -PIO4_HI - TINY,
            (true, (true, false)) => 3.0 * PIO4_HI + TINY,
            (true, (true, true)) => -3.0 * PIO4_HI - TINY,
            (false, (false, false)) => 0.0,
            (false, (false, true)) => -0.0,
            (false, (true, false)) => PI + TINY,
            (false, (true, true)) => -PI - TINY,
        };
    }
    if y.is_infinite() {
        return right;
    }
    let k = (iy - ix) >> 20;
    let z = if k > 60 {
        PIO2_HI + 0.5 * PI_LO
    } else if hx < 0 && k < -60 {
        0.0
    } else {
        atan((y / x).abs())
    };
    match signs {
        (false, false) => z,
        (false, true) => with_high(z, high(z) ^ i32::MIN),
        (true, false) => PI - (z - PI_LO),
        (true, true) => (z - PI_LO) - PI,
    }
}
