//! Murmur3 of 128 bits for machines of 64, as it is published: what sketches of Apache DataSketches hash by.

const C1: u64 = 0x87c3_7b91_1142_53d5;
const C2: u64 = 0x4cf5_ad43_2745_937f;

fn mix_first(word: u64) -> u64 {
    word.wrapping_mul(C1).rotate_left(31).wrapping_mul(C2)
}

fn mix_second(word: u64) -> u64 {
    word.wrapping_mul(C2).rotate_left(33).wrapping_mul(C1)
}

fn finish(mut word: u64) -> u64 {
    word ^= word >> 33;
    word = word.wrapping_mul(0xff51_afd7_ed55_8ccd);
    word ^= word >> 33;
    word = word.wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    word ^ (word >> 33)
}

/// A word of up to eight bytes, the first one lowest.
fn word(bytes: &[u8]) -> u64 {
    let bytes = bytes.iter().rev();
    bytes.fold(0, |word, byte| word << 8 | u64::from(*byte))
}

/// Both halves of the hash.
pub(crate) fn hash(bytes: &[u8], seed: u64) -> [u64; 2] {
    let (mut first, mut second) = (seed, seed);
    let (blocks, rest) = bytes.as_chunks::<16>();
    for block in blocks {
        let (low, high) = block.split_at(8);
        first ^= mix_first(word(low));
        first = first.rotate_left(27).wrapping_add(second);
        first = first.wrapping_mul(5).wrapping_add(0x52dc_e729);
        second ^= mix_second(word(high));
        second = second.rotate_left(31).wrapping_add(first);
        second = second.wrapping_mul(5).wrapping_add(0x3849_5ab5);
    }
    let (low, high) = rest.split_at(rest.len().min(8));
    first ^= mix_first(word(low));
    second ^= mix_second(word(high));
    let length = bytes.len() as u64;
    first ^= length;
    second ^= length;
    first = first.wrapping_add(second);
    second = second.wrapping_add(first);
    first = finish(first);
    second = finish(second);
    first = first.wrapping_add(second);
    [first, second.wrapping_add(first)]
}
