//! Checksums over the rows of a shuffle, `RowBasedChecksum`.

use twox_hash::XxHash64;

/// A checksum for each reduce partition that does not depend on the order of its rows.
#[derive(Debug, Clone)]
pub struct RowChecksums {
    partitions: Vec<Checksum>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Checksum {
    xor: u64,
    sum: u64,
}

impl RowChecksums {
    /// For so many reduce partitions.
    #[must_use]
    pub fn new(partitions: usize) -> Self {
        Self {
            partitions: vec![Checksum::default(); partitions],
        }
    }

    /// Adds a row, without its size, to a reduce partition.
    pub fn update(&mut self, partition: usize, row: &[u8]) {
        self.update_hashed(partition, XxHash64::oneshot(0, row));
    }

    /// Adds a row by the XXH64 of its bytes ([`crate::RowHasher`]).
    #[inline]
    pub fn update_hashed(&mut self, partition: usize, hash: u64) {
        if let Some(checksum) = self.partitions.get_mut(partition) {
            checksum.xor ^= hash;
            checksum.sum = checksum.sum.wrapping_add(hash);
        }
    }

    /// `MapStatus.checksumValue`, over all reduce partitions.
    #[must_use]
    pub fn value(&self) -> i64 {
        let values = self
            .partitions
            .iter()
            .map(|checksum| checksum.xor ^ checksum.sum.rotate_left(27));
        values.fold(0_u64, |all, value| all.wrapping_mul(31).wrapping_add(value)) as i64
    }
}
