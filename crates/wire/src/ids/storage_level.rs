use crate::WireError;
use crate::codec::Reader;
use crate::messages::java::{external, message};

/// `org.apache.spark.storage.StorageLevel`: where copies of a block may be.
///
/// Two bytes on the wire, in its external form and inside block transfer messages: flags
/// (8 disk, 4 memory, 2 off-heap, 1 deserialized) and replication. Unknown flags survive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct StorageLevel {
    /// The flag bits.
    pub flags: u8,
    /// Number of executors that shall hold the block; 0 in a report that a block was removed.
    pub replication: u8,
}

impl StorageLevel {
    /// Flag: on disk.
    pub const USE_DISK: u8 = 8;
    /// Flag: in memory.
    pub const USE_MEMORY: u8 = 4;
    /// Flag: in memory outside the Java heap.
    pub const USE_OFF_HEAP: u8 = 2;
    /// Flag: as Java objects rather than bytes.
    pub const DESERIALIZED: u8 = 1;

    /// No copy anywhere.
    pub const NONE: Self = Self {
        flags: 0,
        replication: 1,
    };
    /// One copy on disk.
    pub const DISK_ONLY: Self = Self {
        flags: 8,
        replication: 1,
    };
    /// One copy in memory as objects.
    pub const MEMORY_ONLY: Self = Self {
        flags: 5,
        replication: 1,
    };
    /// One copy in memory as bytes.
    pub const MEMORY_ONLY_SER: Self = Self {
        flags: 4,
        replication: 1,
    };
    /// One copy in memory as objects, or on disk.
    pub const MEMORY_AND_DISK: Self = Self {
        flags: 13,
        replication: 1,
    };
    /// One copy in memory as bytes, or on disk.
    pub const MEMORY_AND_DISK_SER: Self = Self {
        flags: 12,
        replication: 1,
    };

    /// Whether disk may be used.
    pub fn use_disk(self) -> bool {
        self.flags & Self::USE_DISK != 0
    }

    /// Whether memory may be used.
    pub fn use_memory(self) -> bool {
        self.flags & Self::USE_MEMORY != 0
    }

    /// Whether that memory is outside the Java heap.
    pub fn use_off_heap(self) -> bool {
        self.flags & Self::USE_OFF_HEAP != 0
    }

    /// Whether the block is kept as Java objects.
    pub fn deserialized(self) -> bool {
        self.flags & Self::DESERIALIZED != 0
    }

    /// Whether a block of this level exists at all: somewhere to be, and at least one copy.
    pub fn is_valid(self) -> bool {
        (self.use_disk() || self.use_memory()) && self.replication > 0
    }

    /// Reads the two bytes.
    ///
    /// # Errors
    /// [`WireError::Truncated`] if there are fewer.
    pub fn read(r: &mut Reader<'_>) -> Result<Self, WireError> {
        Ok(Self {
            flags: r.u8("StorageLevel.flags")?,
            replication: r.u8("StorageLevel.replication")?,
        })
    }

    /// Appends the two bytes.
    pub fn write(self, out: &mut Vec<u8>) {
        out.extend_from_slice(&[self.flags, self.replication]);
    }
}

external!(
    StorageLevel,
    "org.apache.spark.storage.StorageLevel",
    |level| {
        let mut block = Vec::new();
        level.write(&mut block);
        Ok(block)
    },
    |block| {
        let mut r = Reader::new(block);
        StorageLevel::read(&mut r).and_then(|level| r.finish(StorageLevel::CLASS).map(|()| level))
    }
);

message!(StorageLevel, "org.apache.spark.storage.StorageLevel");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn validity_is_sparks() {
        assert!(StorageLevel::MEMORY_ONLY_SER.is_valid());
        assert!(!StorageLevel::NONE.is_valid());
        // How a removed broadcast piece is reported.
        assert!(
            !StorageLevel {
                flags: 4,
                replication: 0
            }
            .is_valid()
        );
    }

    #[test]
    fn any_two_bytes_survive() {
        for bytes in [[0, 1], [13, 1], [12, 2], [255, 255]] {
            let level = StorageLevel::read(&mut Reader::new(&bytes)).unwrap();
            let mut out = Vec::new();
            level.write(&mut out);
            assert_eq!(out, bytes);
        }
    }
}
