//! Roots.

use super::{high, low, of_high, scaled, with_high};

/// `StrictMath.cbrt`
pub(in super::super) fn cbrt(x: f64) -> f64 {
    const B1: u32 = 715_094_163;
    const B2: u32 = 696_219_795;
    const C: f64 = 5.42857142857142815906e-01;
    const D: f64 = -7.05306122448979611050e-01;
    const E: f64 = 1.41428571428571436819e+00;
    const F: f64 = 1.60714285714285720630e+00;
    const G: f64 = 3.57142857142857150787e-01;
    if !x.is_finite() || x == 0.0 {
        return x;
    }
    let of = x.abs();
    let third =
        |value: f64, bias: u32| of_high((high(value).cast_unsigned() / 3 + bias).cast_signed());
    let mut t = if high(of) < 0x0010_0000 {
        let t = of_high(0x4350_0000) * of;
        let third = third(t, B2);
        with_high(t, high(third))
    } else {
        third(of, B1)
    };
    let r = t * t / of;
    let s = C + r * t;
    t *= G + F / (s + E + D / s);
    t = of_high(high(t).wrapping_add(1));
    let s = t * t;
    let r = of / s;
    let w = t + t;
    let r = (r - t) / (w + r);
    t += t * r;
    with_high(t, high(t) | (high(x) & i32::MIN))
}

/// `StrictMath.hypot`
pub(in super::super) fn hypot(x: f64, y: f64) -> f64 {
    let of = |value: f64| with_high(value, high(value) & 0x7fff_ffff);
    let (mut a, mut b) = (of(x), of(y));
    if high(b) > high(a) {
        (a, b) = (b, a);
    }
    let (mut ha, mut hb) = (high(a), high(b));
    if ha - hb > 0x03c0_0000 {
        return a + b;
    }
    let mut k = 0;
    if ha > 0x5f30_0000 {
        if ha >= 0x7ff0_0000 {
            if a.is_infinite() || b.is_infinite() {
                return f64::INFINITY;
            }
            return a + b;
        }
        ha -= 0x2580_0000;
        hb -= 0x2580_0000;
        k += 600;
        a = with_high(a, ha);
        b = with_high(b, hb);
    }
    if hb < 0x20b0_0000 {
        if hb <= 0x000f_ffff {
            if hb.cast_unsigned() | low(b) == 0 {
                return a;
            }
            let t1 = of_high(0x7fd0_0000);
            b *= t1;
            a *= t1;
            k -= 1022;
        } else {
            ha += 0x2580_0000;
            hb += 0x2580_0000;
            k -= 600;
            a = with_high(a, ha);
            b = with_high(b, hb);
        }
    }
    let mut w = a - b;
    if w > b {
        let t1 = of_high(ha);
        let t2 = a - t1;
        w = (t1 * t1 - (b * (-b) - t2 * (a + t1))).sqrt();
    } else {
        a += a;
        let y1 = of_high(hb);
        let y2 = b - y1;
        let t1 = of_high(ha + 0x0010_0000);
        let t2 = a - t1;
        w = (t1 * y1 - (w * (-w) - (t1 * y2 + t2 * b))).sqrt();
    }
    if k == 0 { w } else { scaled(1.0, k) * w }
}
