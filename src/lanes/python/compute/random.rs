//! `org.apache.spark.util.random.XORShiftRandom`, for what has to be as random as in Spark.

/// `scala.util.hashing.MurmurHash3.arraySeed`
const ARRAY_SEED: u32 = 0x3c07_4a61;

/// A generator that gives the numbers that Spark's gives for the same seed.
#[derive(Debug, Clone)]
pub(super) struct XorShiftRandom(i64);

impl XorShiftRandom {
    /// Starts with a seed.
    pub(super) fn new(seed: i64) -> Self {
        let bytes = seed.to_be_bytes();
        let low = murmur3(bytes, ARRAY_SEED);
        let high = murmur3(bytes, low);
        Self(((u64::from(high) << 32) | u64::from(low)).cast_signed())
    }

    fn next31(&mut self) -> i32 {
        let mut next = self.0 ^ (self.0 << 21);
        next ^= (next.cast_unsigned() >> 35).cast_signed();
        next ^= next << 4;
        self.0 = next;
        // 31 bits are left.
        (next & 0x7fff_ffff) as i32
    }

    /// `java.util.Random.nextInt`: from 0 to `bound`, exclusively. `bound` is positive.
    pub(super) fn next_int(&mut self, bound: i32) -> i32 {
        let mut bits = self.next31();
        if bound & (bound - 1) == 0 {
            return ((i64::from(bound) * i64::from(bits)) >> 31) as i32;
        }
        loop {
            let rest = bits % bound;
            // Overflow means that the numbers up to `i32::MAX` would not be equally likely.
            if bits.wrapping_sub(rest).wrapping_add(bound - 1) >= 0 {
                return rest;
            }
            bits = self.next31();
        }
    }
}

/// `scala.util.hashing.MurmurHash3.bytesHash` of eight bytes.
fn murmur3(bytes: [u8; 8], seed: u32) -> u32 {
    let mut hash = seed;
    for word in bytes.as_chunks::<4>().0 {
        let mixed = u32::from_le_bytes(*word)
            .wrapping_mul(0xcc9e_2d51)
            .rotate_left(15)
            .wrapping_mul(0x1b87_3593);
        hash = (hash ^ mixed)
            .rotate_left(13)
            .wrapping_mul(5)
            .wrapping_add(0xe654_6b64);
    }
    hash ^= 8;
    hash = (hash ^ (hash >> 16)).wrapping_mul(0x85eb_ca6b);
    hash = (hash ^ (hash >> 13)).wrapping_mul(0xc2b2_ae35);
    hash ^ (hash >> 16)
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
