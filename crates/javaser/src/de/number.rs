//! `BigInteger` and `BigDecimal` of both languages, as far as they fit an `i128`.

use std::fmt;

use crate::arena::{Graph, Value};

/// `unscaled * 10^-scale`
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Decimal {
    unscaled: i128,
    scale: i64,
}

pub(super) fn decimal(graph: &Graph, value: Value) -> Option<Decimal> {
    let id = value.node()?;
    match graph.class_name(value)? {
        "java.math.BigInteger" => {
            let magnitude = graph.byte_array(graph.field(id, "magnitude")?)?;
            let significant = magnitude.iter().skip_while(|b| **b == 0);
            let mut number: i128 = 0;
            for byte in significant {
                number = number.checked_mul(256)?.checked_add((*byte).into())?;
            }
            let signum = graph.int(graph.field(id, "signum")?)?;
            Some(Decimal {
                unscaled: number * i128::from(signum.signum()),
                scale: 0,
            })
        }
        "java.math.BigDecimal" => {
            let integer = graph.field(id, "intVal")?;
            if graph.class_name(integer)? != "java.math.BigInteger" {
                return None;
            }
            let scale = graph.int(graph.field(id, "scale")?)?;
            decimal(graph, integer).map(|d| Decimal { scale, ..d })
        }
        "scala.math.BigDecimal" => {
            let java = graph.field(id, "bigDecimal")?;
            if graph.class_name(java)? != "java.math.BigDecimal" {
                return None;
            }
            decimal(graph, java)
        }
        _ => None,
    }
}

impl Decimal {
    /// The value if it is an integer.
    pub(super) fn to_i64(self) -> Option<i64> {
        let mut number = self.unscaled;
        if number == 0 {
            return Some(0);
        }
        let step = |n: i128| {
            if self.scale > 0 {
                (n % 10 == 0).then_some(n / 10)
            } else {
                n.checked_mul(10)
            }
        };
        // 39 digits at most: a larger scale ends in `None` on the way.
        for _ in 0..self.scale.unsigned_abs() {
            number = step(number)?;
        }
        i64::try_from(number).ok()
    }

    pub(super) fn to_f64(self) -> Option<f64> {
        format!("{}e{}", self.unscaled, -self.scale).parse().ok()
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = self.unscaled.unsigned_abs().to_string();
        let sign = if self.unscaled < 0 { "-" } else { "" };
        match usize::try_from(self.scale) {
            Ok(0) => write!(f, "{sign}{digits}"),
            // Beyond the digits of an i128 zeros would only cost memory.
            Ok(scale) if scale <= 64 => {
                let digits = format!("{digits:0>width$}", width = scale + 1);
                let (whole, fraction) = digits.split_at(digits.len() - scale);
                write!(f, "{sign}{whole}.{fraction}")
            }
            _ => write!(f, "{sign}{digits}E{}", -self.scale),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_numbers_and_text() {
        let d = |unscaled, scale| Decimal { unscaled, scale };
        assert_eq!(d(1_000_000_000, 9).to_i64(), Some(1));
        assert_eq!(d(5, 1).to_i64(), None);
        assert_eq!(d(5, -2).to_i64(), Some(500));
        assert_eq!(d(5, -1_000_000_000_000).to_i64(), None);
        assert_eq!(d(0, i64::MAX).to_i64(), Some(0));
        assert_eq!(d(-5, 1).to_f64(), Some(-0.5));
        assert_eq!(d(-5, 1).to_string(), "-0.5");
        assert_eq!(d(1_500_000_000, 9).to_string(), "1.500000000");
        assert_eq!(d(7, 0).to_string(), "7");
        assert_eq!(d(7, 2_000_000_000).to_string(), "7E-2000000000");
    }
}
