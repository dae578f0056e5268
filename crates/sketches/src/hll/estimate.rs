//! Estimates of how many different values there were.

use datasketches::hll::HllSketch as Library;

use super::registers::{Beside, Registers};
use super::{HllSketch, Mode};
use crate::{Result, Unreadable};

/// The sum of the reciprocals of the first numbers, for this many numbers and less, is added up; others are computed.
const ADDED_UP: u32 = 24;

const EULER_MASCHERONI: f64 = 0.577_215_664_901_532_9;

/// How near, as a part of the number of registers, an estimate that took logarithms may come to where another last bit
/// of them would be seen.
const NEAR: f64 = 1e-12;

impl HllSketch {
    /// About how many different values there were, as `hll_sketch_estimate` gives it.
    ///
    /// # Errors
    /// The number depends on the last bit of a logarithm, which the libraries of JVMs and of Rust need not agree on.
    pub fn estimate(&self) -> Result<i64> {
        let estimate = match &self.mode {
            Mode::List(coupons) => of_coupons(coupons.len()),
            Mode::Set(coupons) => of_coupons(coupons.count()),
            Mode::Registers(registers) => match registers.beside.out_of_order {
                true => of_registers(registers)?,
                false => registers.beside.history,
            },
        };
        Ok(round(estimate))
    }
}

/// As `Math.round`.
// As Java, which has the nearest long for what is none.
#[allow(clippy::cast_possible_truncation)]
fn round(value: f64) -> i64 {
    let floor = value.floor();
    let up = value - floor >= 0.5;
    (if up { floor + 1.0 } else { floor }) as i64
}

/// The estimate for so many different coupons.
// There are at most 2^18.
#[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss)]
pub(super) fn of_coupons(count: usize) -> f64 {
    // The library asks for nothing but the number; so a set of any coupons does.
    let lg_places = (count + 1).next_power_of_two().trailing_zeros().max(5) as u8;
    let mut image = vec![3, 1, 7, 21, lg_places, 0, 0, 9];
    image.extend((count as u32).to_le_bytes());
    let coupons = (0..1_u32 << lg_places).map(|place| u32::from((place as usize) < count));
    image.extend(coupons.flat_map(u32::to_le_bytes));
    match Library::deserialize(&image) {
        Ok(sketch) => sketch.estimate(),
        // It reads such sets.
        Err(_) => count as f64,
    }
}

/// The estimate for registers whose history is not known.
fn of_registers(registers: &Registers) -> Result<f64> {
    let number = registers.values().len();
    let all = f64::from(u32::try_from(number).unwrap_or(u32::MAX));
    let by_sums = by_sums(number, &registers.beside)?;
    if by_sums <= 0.0 {
        return Err(Unreadable("an HLL sketch with the sums of no values"));
    }
    // Registers without a value say nothing where there are few of them.
    if by_sums > 3.0 * all {
        return Ok(by_sums);
    }
    let beside = &registers.beside;
    let free = match beside.minimum {
        0 => u32::try_from(beside.at_minimum).unwrap_or_default(),
        _ => 0,
    };
    let by_free = match free {
        0 => all * (all / 0.5).ln(),
        _ => all * (harmonic(u32::try_from(number).unwrap_or(u32::MAX)) - harmonic(free)),
    };
    let crossing = all
        * match number {
            16 => 0.718,
            32 => 0.672,
            _ => 0.64,
        };
    let average = f64::midpoint(by_sums, by_free);
    let near = NEAR * all;
    if (average - crossing).abs() <= near {
        return Err(Unreadable("an HLL estimate where two estimators meet"));
    }
    if average > crossing {
        return Ok(by_sums);
    }
    if (by_free - by_free.floor() - 0.5).abs() <= near {
        return Err(Unreadable("an HLL estimate halfway between two numbers"));
    }
    Ok(by_free)
}

/// The estimate by the sums beside registers, corrected by the library's tables. It prefers this to the one by free
/// registers when it is told that there are none.
fn by_sums(number: usize, beside: &Beside) -> Result<f64> {
    let lg_k = number.trailing_zeros().to_le_bytes()[0];
    let mut image = vec![10, 1, 7, lg_k, 0, 16, 0, 10];
    image.extend(0_f64.to_le_bytes());
    image.extend(beside.sums.into_iter().flat_map(f64::to_le_bytes));
    image.extend([0; 8]);
    image.resize(image.len() + number, 0);
    let sketch = Library::deserialize(&image);
    let sketch = sketch.map_err(|_| Unreadable("an HLL sketch without an estimate"))?;
    Ok(sketch.composite_estimate())
}

/// The sum of the reciprocals of so many numbers from 1 on.
fn harmonic(of: u32) -> f64 {
    if of <= ADDED_UP {
        return exact_harmonic(of);
    }
    let of = f64::from(of);
    let square = 1.0 / (of * of);
    let mut sum = of.ln() + EULER_MASCHERONI + 1.0 / (2.0 * of);
    let mut power = square;
    for (divisor, sign) in [(12.0, -1.0), (120.0, 1.0), (252.0, -1.0), (240.0, 1.0)] {
        sum += sign * (power * (1.0 / divisor));
        power *= square;
    }
    sum
}

/// The nearest number to such a sum.
// All are below 2^53.
#[allow(clippy::cast_precision_loss)]
fn exact_harmonic(of: u32) -> f64 {
    let (mut above, mut below) = (0_u64, 1_u64);
    for number in 1..=u64::from(of) {
        (above, below) = (above * number + below, below * number);
        let common = greatest_common_divisor(above, below);
        (above, below) = (above / common, below / common);
    }
    above as f64 / below as f64
}

fn greatest_common_divisor(mut left: u64, mut right: u64) -> u64 {
    while right != 0 {
        (left, right) = (right, left % right);
    }
    left
}
