//! Unions of HLL sketches.

use super::{HllSketch, LG_K, Mode};

/// Where the library has what is added: it does not treat both alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// It is an object (`heapify`, or made by adding values).
    Object,
    /// It is still bytes (`wrap`).
    Bytes,
}

/// A `Union`.
#[derive(Debug, Clone, PartialEq)]
pub struct HllUnion {
    /// It has at most two to this registers.
    most_lg_k: u8,
    sum: HllSketch,
}

impl HllUnion {
    /// A union of nothing. `None` if there are none of that size.
    #[must_use]
    pub fn new(most_lg_k: u8) -> Option<Self> {
        LG_K.contains(&most_lg_k).then(|| Self::empty(most_lg_k))
    }

    fn empty(most_lg_k: u8) -> Self {
        Self {
            most_lg_k,
            sum: HllSketch::empty(most_lg_k),
        }
    }

    /// A union of a sketch, of its size, as `heapify` makes it of the bytes of a union.
    #[must_use]
    pub fn of(sketch: HllSketch) -> Self {
        let mut union = Self::empty(sketch.lg_k);
        union.add(sketch, Source::Object);
        union
    }

    /// Two to the power of this are the registers that it has by now, or would have.
    #[must_use]
    pub fn lg_k(&self) -> u8 {
        self.sum.lg_k
    }

    /// Whether it is of nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.sum.is_empty()
    }

    /// Adds a sketch.
    pub fn add(&mut self, sketch: HllSketch, source: Source) {
        if sketch.is_empty() {
            return;
        }
        let HllSketch { lg_k, mode } = sketch;
        let registers = match mode {
            Mode::List(coupons) => {
                coupons.into_iter().for_each(|coupon| self.sum.add(coupon));
                return;
            }
            Mode::Set(coupons) => {
                if source == Source::Object && self.is_empty() && lg_k == self.sum.lg_k {
                    self.sum.mode = Mode::Set(coupons);
                    return;
                }
                // The table of a set may be of another size, so where coupons end up depends on their order.
                let coupons = coupons.table().iter().filter(|coupon| **coupon != 0);
                coupons.for_each(|coupon| self.sum.add(*coupon));
                return;
            }
            Mode::Registers(registers) => registers,
        };
        if let Mode::Registers(sum) = &mut self.sum.mode {
            if lg_k < self.sum.lg_k {
                *sum = sum.folded(lg_k);
                self.sum.lg_k = lg_k;
            }
            sum.merge(&registers);
            return;
        }
        let mut sum = HllSketch {
            lg_k: lg_k.min(self.most_lg_k),
            mode: Mode::Registers(match lg_k > self.most_lg_k {
                true => registers.folded(self.most_lg_k),
                false => registers,
            }),
        };
        // What there was is added to what came.
        match &self.sum.mode {
            Mode::List(coupons) => coupons.iter().for_each(|coupon| sum.add(*coupon)),
            Mode::Set(coupons) => {
                let coupons = coupons.table().iter().filter(|coupon| **coupon != 0);
                coupons.for_each(|coupon| sum.add(*coupon));
            }
            Mode::Registers(_) => {}
        }
        self.sum = sum;
    }

    /// The sketch of all. A union that was asked for it may go on with other sums than one that was not.
    pub fn finish(&mut self) -> &HllSketch {
        if let Mode::Registers(registers) = &mut self.sum.mode {
            registers.refresh();
        }
        &self.sum
    }

    /// The sketch of all.
    #[must_use]
    pub fn into_sketch(mut self) -> HllSketch {
        self.finish();
        self.sum
    }

    /// Bytes in memory.
    #[must_use]
    pub fn size(&self) -> usize {
        self.sum.size()
    }
}
