//! `java.util.Random`, and Spark's `XORShiftRandom`, which is one with other bits.

use crate::murmur3;

/// Where the bits of random numbers come from.
pub trait Bits {
    /// The next bits, at most 32.
    fn next(&mut self, bits: u32) -> i32;
}

/// `java.util.Random` over some bits.
#[derive(Debug, Clone)]
pub struct Random<B>(B);

/// `java.util.Random` itself.
pub type JavaRandom = Random<Congruential>;

/// `XORShiftRandom`, which sampling and round robin draw from.
pub type XorShiftRandom = Random<XorShift>;

/// The bits of `java.util.Random`: the high ones of 48.
#[derive(Debug, Clone)]
pub struct Congruential(u64);

impl Congruential {
    const MULTIPLIER: u64 = 0x5_DEEC_E66D;
    const MASK: u64 = (1 << 48) - 1;
}

impl Bits for Congruential {
    fn next(&mut self, bits: u32) -> i32 {
        let next = self.0.wrapping_mul(Self::MULTIPLIER).wrapping_add(0xB);
        self.0 = next & Self::MASK;
        (self.0 >> (48 - bits)) as i32
    }
}

/// The bits of `XORShiftRandom`: the low ones of 64.
#[derive(Debug, Clone)]
pub struct XorShift(u64);

impl Bits for XorShift {
    fn next(&mut self, bits: u32) -> i32 {
        let mut next = self.0 ^ self.0 << 21;
        next ^= next >> 35;
        next ^= next << 4;
        self.0 = next;
        (next & ((1 << bits) - 1)) as i32
    }
}

impl JavaRandom {
    /// As `new java.util.Random(seed)`.
    #[must_use]
    pub fn new(seed: i64) -> Self {
        Self(Congruential(
            (seed.cast_unsigned() ^ Congruential::MULTIPLIER) & Congruential::MASK,
        ))
    }
}

impl XorShiftRandom {
    /// As `new XORShiftRandom(seed)`.
    #[must_use]
    pub fn new(seed: i64) -> Self {
        // Scala's MurmurHash3.bytesHash, which is the usual Murmur3: 8 bytes leave no tail, where Spark's differs.
        let bytes = seed.to_be_bytes();
        let low = murmur3::hash_bytes(&bytes, 0x3c07_4a61);
        let high = murmur3::hash_bytes(&bytes, low);
        Self(XorShift(u64::from(high) << 32 | u64::from(low)))
    }
}

impl<B: Bits> Random<B> {
    /// `Random.nextInt`: any of all integers.
    pub fn next_any(&mut self) -> i32 {
        self.0.next(32)
    }

    /// `Random.nextInt`: from 0 to below `bound`, which is at least 1.
    pub fn next_int(&mut self, bound: i32) -> i32 {
        let mut bits = self.0.next(31);
        let most = bound.wrapping_sub(1);
        if bound & most == 0 {
            // A power of two.
            return ((i64::from(bound) * i64::from(bits)) >> 31) as i32;
        }
        loop {
            let value = bits % bound;
            if bits.wrapping_sub(value).wrapping_add(most) >= 0 {
                return value;
            }
            bits = self.0.next(31);
        }
    }

    /// `Random.nextDouble`: from 0 to below 1.
    pub fn next_double(&mut self) -> f64 {
        let high = i64::from(self.0.next(26)) << 27;
        let low = i64::from(self.0.next(27));
        // 53 bits: exact.
        (high + low) as f64 * (1.0 / (1_u64 << 53) as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers that Spark 4.3.0 gave: `new XORShiftRandom(seed)`, then `nextInt` of these bounds.
    #[test]
    fn as_in_spark() {
        for (seed, expected) in [
            (0, [2, 5, 267, 1_080_921_330]),
            (1, [0, 4, 943, 696_436_261]),
            (7, [1, 3, 876, 524_501_683]),
        ] {
            let mut random = XorShiftRandom::new(seed);
            assert_eq!(
                [3, 8, 1000, i32::MAX].map(|bound| random.next_int(bound)),
                expected
            );
        }
    }

    /// Numbers that Java 17 gave.
    #[test]
    fn as_in_java() {
        let mut random = JavaRandom::new(31_183);
        assert_eq!(
            [0, 1, 2].map(|_| random.next_double()),
            [
                0.107_485_272_024_865_46,
                0.893_630_159_548_549,
                0.137_586_907_736_239_6,
            ]
        );
    }
}
