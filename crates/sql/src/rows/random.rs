//! Spark's `XORShiftRandom`, which sampling and round robin draw from.

use super::murmur3;

/// A `java.util.Random` with Spark's generator.
#[derive(Debug, Clone)]
pub(crate) struct XorShiftRandom {
    seed: u64,
}

impl XorShiftRandom {
    pub(crate) fn new(seed: i64) -> Self {
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

    /// `Random.nextInt`: from 0 to below `bound`, which is at least 1.
    pub(crate) fn next_int(&mut self, bound: i32) -> i32 {
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
    pub(crate) fn next_double(&mut self) -> f64 {
        let high = i64::from(self.next(26)) << 27;
        let low = i64::from(self.next(27));
        // 53 bits: exact.
        (high + low) as f64 * (1.0 / (1_u64 << 53) as f64)
    }
}
