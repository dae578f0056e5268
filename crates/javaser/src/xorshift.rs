//! Spark's `XORShiftRandom`, which sampling and round robin draw from.

use crate::murmur3;

/// A `java.util.Random` with Spark's generator.
#[derive(Debug, Clone)]
pub struct XorShiftRandom {
    seed: u64,
}

impl XorShiftRandom {
    /// As `new XORShiftRandom(seed)`.
    #[must_use]
    pub fn new(seed: i64) -> Self {
        // Scala's MurmurHash3.bytesHash, which is the usual Murmur3: 8 bytes leave no tail, where Spark's differs.
        let bytes = seed.to_be_bytes();
        let low = murmur3::hash_bytes(&bytes, 0x3c07_4a61);
        let high = murmur3::hash_bytes(&bytes, low);
        Self {
            seed: u64::from(high) << 32 | u64::from(low),
        }
    }

    /// The low bits, at most 32.
    fn next(&mut self, bits: u32) -> i32 {
        let mut next = self.seed ^ self.seed << 21;
        next ^= next >> 35;
        next ^= next << 4;
        self.seed = next;
        (next & ((1 << bits) - 1)) as i32
    }

    /// `Random.nextInt`: any of all integers.
    pub fn next_any(&mut self) -> i32 {
        self.next(32)
    }

    /// `Random.nextInt`: from 0 to below `bound`, which is at least 1.
    pub fn next_int(&mut self, bound: i32) -> i32 {
        let mut bits = self.next(31);
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
            bits = self.next(31);
        }
    }

    /// `Random.nextDouble`: from 0 to below 1.
    pub fn next_double(&mut self) -> f64 {
        let high = i64::from(self.next(26)) << 27;
        let low = i64::from(self.next(27));
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
}
