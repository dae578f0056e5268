//! `org.apache.spark.unsafe.hash.Murmur3_x86_32` over single values: partitions, hash joins and seeds depend on it.

/// `hashInt`
#[inline]
#[must_use]
pub fn hash_int(value: u32, seed: u32) -> u32 {
    finish(mix(seed, value), 4)
}

/// `hashLong`
#[inline]
#[must_use]
pub fn hash_long(value: u64, seed: u32) -> u32 {
    // The low word first.
    let hash = mix(seed, value as u32);
    finish(mix(hash, (value >> 32) as u32), 8)
}

/// `hashUnsafeBytes`: what does not fill a word goes in byte by byte, each with its sign.
#[inline]
#[must_use]
pub fn hash_bytes(bytes: &[u8], seed: u32) -> u32 {
    let (words, tail) = bytes.as_chunks::<4>();
    let words = words.iter().map(|word| u32::from_le_bytes(*word));
    let hash = words.fold(seed, mix);
    let tail = tail.iter().map(|byte| i32::from(*byte as i8) as u32);
    finish(tail.fold(hash, mix), bytes.len() as u32)
}

#[inline]
fn mix(hash: u32, word: u32) -> u32 {
    let word = word.wrapping_mul(0xcc9e_2d51).rotate_left(15);
    let hash = hash ^ word.wrapping_mul(0x1b87_3593);
    hash.rotate_left(13)
        .wrapping_mul(5)
        .wrapping_add(0xe654_6b64)
}

#[inline]
fn finish(hash: u32, length: u32) -> u32 {
    let hash = hash ^ length;
    let hash = (hash ^ hash >> 16).wrapping_mul(0x85eb_ca6b);
    let hash = (hash ^ hash >> 13).wrapping_mul(0xc2b2_ae35);
    hash ^ hash >> 16
}
