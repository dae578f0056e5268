//! `BloomFilterMightContain`.

use std::sync::Arc;

use arrow::array::BooleanArray;
use arrow::datatypes::{DataType as ArrowType, Int64Type};
use datafusion_common::ScalarValue;
use datafusion_physical_expr::PhysicalExpr;

use super::kernel::{Kernel, nth};
use super::{known, literal_of};
use catalyst::Unsupported;

/// A `BloomFilterImpl` or, since 4.1, a `BloomFilterImplV2`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct BloomFilter {
    hashes: u32,
    /// Of the newer one.
    seed: Option<i32>,
    words: Vec<u64>,
}

/// More hash functions than any filter has.
const MAX_HASHES: u32 = 1024;

impl BloomFilter {
    /// As `BloomFilter.readFrom`: numbers are big-endian.
    fn read(bytes: &[u8]) -> Option<Self> {
        let mut ints = bytes.chunks_exact(4).map(|int| {
            let int: [u8; 4] = int.try_into().unwrap_or_default();
            i32::from_be_bytes(int)
        });
        let version = ints.next()?;
        let hashes = u32::try_from(ints.next()?).ok()?;
        let (seed, header) = match version {
            1 => (None, 12),
            2 => (Some(ints.next()?), 16),
            _ => return None,
        };
        let count = usize::try_from(ints.next()?).ok()?;
        let words: Vec<u64> = bytes
            .get(header..)?
            .chunks_exact(8)
            .map(|word| u64::from_be_bytes(word.try_into().unwrap_or_default()))
            .collect();
        let whole = header + words.len() * 8 == bytes.len();
        (whole && words.len() == count && count > 0 && hashes <= MAX_HASHES).then_some(Self {
            hashes,
            seed,
            words,
        })
    }

    /// Whether the bit at the place of a hash is set. Negative hashes are flipped.
    #[inline]
    fn is_set(&self, hash: i64) -> bool {
        let index = (if hash < 0 { !hash } else { hash }).cast_unsigned();
        let bits = self.words.len() as u64 * 64;
        let index = index % bits;
        let word = usize::try_from(index / 64)
            .ok()
            .and_then(|at| self.words.get(at));
        word.is_some_and(|word| word >> (index % 64) & 1 == 1)
    }

    fn might_contain(&self, item: i64) -> bool {
        let first = murmur3_long(item, self.seed.unwrap_or(0));
        let second = murmur3_long(item, first);
        match self.seed {
            None => (1..=self.hashes.cast_signed()).all(|i| {
                let hash = first.wrapping_add(i.wrapping_mul(second));
                self.is_set((if hash < 0 { !hash } else { hash }).into())
            }),
            Some(_) => {
                let mut hash = i64::from(first).wrapping_mul(i32::MAX.into());
                (0..self.hashes).all(|_| {
                    hash = hash.wrapping_add(second.into());
                    self.is_set(hash)
                })
            }
        }
    }
}

/// Murmur3 of a long, in 32 bits.
fn murmur3_long(item: i64, seed: i32) -> i32 {
    let item = item.cast_unsigned();
    let mix = |hash: u32, word: u32| {
        let word = word
            .wrapping_mul(0xcc9e_2d51)
            .rotate_left(15)
            .wrapping_mul(0x1b87_3593);
        (hash ^ word)
            .rotate_left(13)
            .wrapping_mul(5)
            .wrapping_add(0xe654_6b64)
    };
    // The low word, then the high one.
    #[allow(clippy::cast_possible_truncation)]
    let (low, high) = (item as u32, (item >> 32) as u32);
    let mut hash = mix(mix(seed.cast_unsigned(), low), high) ^ 8;
    hash ^= hash >> 16;
    hash = hash.wrapping_mul(0x85eb_ca6b);
    hash ^= hash >> 13;
    hash = hash.wrapping_mul(0xc2b2_ae35);
    (hash ^ hash >> 16).cast_signed()
}

/// Whether a filter, which is a value, may have a number.
pub(super) fn might_contain(
    types: &[ArrowType],
    args: &[Arc<dyn PhysicalExpr>],
) -> Result<Arc<dyn PhysicalExpr>, Unsupported> {
    let refuse = |what: &str| Unsupported::of_use(format!("BloomFilterMightContain of {what}"));
    let (Some(filter), Some(value)) = (args.first(), args.get(1)) else {
        return Err(refuse("nothing"));
    };
    if types.get(1) != Some(&ArrowType::Int64) {
        return Err(refuse("another type"));
    }
    let filter = match known(filter) {
        Some(ScalarValue::BinaryView(Some(bytes))) => BloomFilter::read(bytes),
        Some(ScalarValue::BinaryView(None)) => {
            return Ok(literal_of(ScalarValue::Boolean(None)));
        }
        _ => return Err(refuse("a variable filter")),
    };
    let filter = Arc::new(filter.ok_or_else(|| refuse("an unknown filter"))?);
    let name = format!("BloomFilterMightContain[{:p}]", Arc::as_ptr(&filter));
    let args = vec![Arc::clone(value)];
    Ok(Kernel::strict(
        name,
        args,
        ArrowType::Boolean,
        move |args, _| {
            let array = nth(args, 0)?.primitive::<Int64Type>()?;
            let found = array.iter().map(|v| v.map(|v| filter.might_contain(v)));
            Ok(Arc::new(found.collect::<BooleanArray>()))
        },
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filter(seed: Option<i32>) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut int = |value: i32| bytes.extend(value.to_be_bytes());
        int(if seed.is_some() { 2 } else { 1 });
        int(3);
        seed.into_iter().for_each(&mut int);
        int(2);
        bytes.extend([0xff; 16]);
        bytes
    }

    #[test]
    fn filters_are_read_as_they_are_written() {
        for seed in [None, Some(7)] {
            let bytes = filter(seed);
            let mut read = BloomFilter::read(&bytes).unwrap();
            assert_eq!((read.hashes, read.words.len()), (3, 2));
            assert!(read.might_contain(42));
            read.words = vec![0, 0];
            assert!(!read.might_contain(42));
            assert!(BloomFilter::read(&bytes[..bytes.len() - 1]).is_none());
        }
    }

    /// From Spark: `Murmur3_x86_32.hashLong(1, 42)`, as `hash(1L)`.
    #[test]
    fn murmur3_is_sparks() {
        assert_eq!(murmur3_long(1, 42), -1_712_319_331);
    }
}
