//! HLL sketches: of few different values a list of coupons, of more a set of them, of many a register for each of some
//! parts of all hashes.
//!
//! ```text
//! list -- eighth coupon --> set (2^8 registers or more) -- more than it may grow to --> registers
//!   `------------------------ eighth coupon (fewer registers) ----------------------------^
//! ```
//!
//! A coupon is the hash of a value: 26 bits say where it counts, above them are 6 bits for the length of a run of
//! zeros. Where coupons are in a list or a set, and what of the order of values is kept beside registers, can be seen
//! in the bytes, so all is done in the order in which the library does it.

mod coupons;
mod estimate;
mod format;
mod registers;
#[cfg(test)]
mod tests;
mod union;

use self::coupons::{Added, CouponSet};
use self::registers::Registers;
use crate::murmur;

pub use self::union::{HllUnion, Source};

/// How many registers a sketch has: two to the power of these.
pub const LG_K: std::ops::RangeInclusive<u8> = 4..=21;

/// The size of sketches where nobody asks for another.
pub const DEFAULT_LG_K: u8 = 12;

/// Coupons of a full list.
const LIST: usize = 8;

/// Sketches of fewer registers have no sets.
const LEAST_LG_K_OF_SETS: u8 = 8;

const SEED: u64 = 9001;

/// Bits of a coupon that say where it counts.
const PLACE_BITS: u32 = 26;

/// An `HllSketch` of type `HLL_8`.
#[derive(Debug, Clone, PartialEq)]
pub struct HllSketch {
    lg_k: u8,
    mode: Mode,
}

#[derive(Debug, Clone, PartialEq)]
enum Mode {
    List(Vec<u32>),
    Set(CouponSet),
    Registers(Registers),
}

impl Default for HllSketch {
    /// A sketch of nothing, of the usual size.
    fn default() -> Self {
        Self::empty(DEFAULT_LG_K)
    }
}

impl HllSketch {
    /// A sketch of nothing. `None` if there are none of that size.
    #[must_use]
    pub fn new(lg_k: u8) -> Option<Self> {
        LG_K.contains(&lg_k).then(|| Self::empty(lg_k))
    }

    fn empty(lg_k: u8) -> Self {
        Self {
            lg_k,
            mode: Mode::List(Vec::new()),
        }
    }

    /// Two to the power of this are the registers that it has, or would have.
    #[must_use]
    pub fn lg_k(&self) -> u8 {
        self.lg_k
    }

    /// Whether it is of nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        matches!(&self.mode, Mode::List(coupons) if coupons.is_empty())
    }

    /// Counts a number.
    pub fn add_long(&mut self, value: i64) {
        self.add(coupon(&value.to_le_bytes()));
    }

    /// Counts bytes, or those of a text. No bytes do not count.
    pub fn add_bytes(&mut self, value: &[u8]) {
        if !value.is_empty() {
            self.add(coupon(value));
        }
    }

    fn add(&mut self, coupon: u32) {
        match &mut self.mode {
            Mode::List(coupons) => {
                if coupons.contains(&coupon) {
                    return;
                }
                coupons.push(coupon);
                if coupons.len() < LIST {
                    return;
                }
                self.mode = match self.lg_k {
                    LEAST_LG_K_OF_SETS.. => Mode::Set(CouponSet::of(coupons)),
                    _ => Mode::Registers(Registers::of(self.lg_k, coupons)),
                };
            }
            Mode::Set(coupons) => {
                if let Added::TooMany = coupons.add(coupon, self.lg_k) {
                    let registers = Registers::of(self.lg_k, coupons.table());
                    self.mode = Mode::Registers(registers);
                }
            }
            Mode::Registers(registers) => registers.add(coupon),
        }
    }

    /// Bytes in memory.
    #[must_use]
    pub fn size(&self) -> usize {
        size_of::<Self>()
            + match &self.mode {
                Mode::List(coupons) => size_of_val(coupons.as_slice()),
                Mode::Set(coupons) => size_of_val(coupons.table()),
                Mode::Registers(registers) => registers.values().len(),
            }
    }
}

/// The coupon of a value.
// Of the first half only the low bits are kept.
#[allow(clippy::cast_possible_truncation)]
fn coupon(value: &[u8]) -> u32 {
    let [place, zeros] = murmur::hash(value, SEED);
    let run = zeros.leading_zeros().min(62) + 1;
    run << PLACE_BITS | (place as u32 & ((1 << PLACE_BITS) - 1))
}
