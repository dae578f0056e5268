//! Blocks that come out of the JVM in pieces.

/// Most bytes that are allocated before the first of a block has come.
const FIRST_ROOM: usize = 1 << 20;

/// A block of an announced size. Memory is taken for bytes that come, not for those that were announced.
#[derive(Debug)]
pub(super) struct PartialBlock {
    bytes: Vec<u8>,
    size: usize,
}

impl PartialBlock {
    /// An empty one.
    pub(super) fn new(size: usize) -> Self {
        Self {
            bytes: Vec::with_capacity(size.min(FIRST_ROOM)),
            size,
        }
    }

    /// Its bytes, with room for `len` more.
    ///
    /// # Errors
    /// There would be more than announced, or there is no memory for them.
    pub(super) fn room_for(&mut self, len: usize) -> Result<&mut Vec<u8>, String> {
        let have = self.bytes.len();
        if len > self.size - have {
            return Err(format!(
                "a block of {} bytes has {have} and gets {len} more",
                self.size
            ));
        }
        if len > self.bytes.capacity() - have {
            // At least twice as much, so that what is there is not copied for each piece; never more than the block
            // will have.
            let wanted = (have + len).max(have.saturating_mul(2)).min(self.size);
            self.bytes
                .try_reserve_exact(wanted - have)
                .map_err(|error| format!("no memory for a block of {wanted} bytes: {error}"))?;
        }
        Ok(&mut self.bytes)
    }

    /// The whole block.
    ///
    /// # Errors
    /// Bytes are missing.
    pub(super) fn finish(self) -> Result<Vec<u8>, String> {
        match self.bytes.len() == self.size {
            true => Ok(self.bytes),
            false => Err(format!(
                "a block of {} bytes ends after {}",
                self.size,
                self.bytes.len()
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_has_the_size_that_was_announced() {
        let mut block = PartialBlock::new(5);
        block.room_for(3).unwrap().extend_from_slice(b"abc");
        assert!(block.room_for(3).unwrap_err().contains("gets 3 more"));
        block.room_for(2).unwrap().extend_from_slice(b"de");
        assert_eq!(block.finish().unwrap(), b"abcde");
        let mut short = PartialBlock::new(2);
        short.room_for(1).unwrap().push(1);
        assert!(short.finish().unwrap_err().contains("ends after 1"));
        assert_eq!(PartialBlock::new(0).finish().unwrap(), b"");
    }

    #[test]
    fn memory_follows_the_bytes_and_not_the_announcement() {
        let mut block = PartialBlock::new(usize::MAX);
        let piece = vec![7; FIRST_ROOM];
        let mut grown = 0;
        for _ in 0..9 {
            let before = block.bytes.capacity();
            let bytes = block.room_for(piece.len()).unwrap();
            bytes.extend_from_slice(&piece);
            let (len, capacity) = (bytes.len(), bytes.capacity());
            assert!(capacity <= 2 * len, "{capacity} for {len}");
            grown += usize::from(capacity != before);
        }
        assert!(grown <= 4, "{grown} times");
        assert!(
            block
                .room_for(usize::MAX / 2)
                .unwrap_err()
                .contains("no memory")
        );
        // A block whose size is true takes no more than that.
        let mut block = PartialBlock::new(3 * FIRST_ROOM);
        for _ in 0..3 {
            block
                .room_for(piece.len())
                .unwrap()
                .extend_from_slice(&piece);
        }
        assert_eq!(block.finish().unwrap().capacity(), 3 * FIRST_ROOM);
    }
}
