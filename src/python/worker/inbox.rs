//! Bytes that came from a worker, given out without copying them again.

use std::io::{self, Read};

use bytes::{Bytes, BytesMut};

/// What has been read and not yet been given out. All of `buffer` is initialised, so that reads go straight into it.
#[derive(Debug)]
pub(super) struct Inbox {
    buffer: BytesMut,
    filled: usize,
    chunk: usize,
}

impl Inbox {
    /// Reads `chunk` bytes at a time.
    pub(super) fn new(chunk: usize) -> Self {
        Self {
            buffer: BytesMut::new(),
            filled: 0,
            chunk: chunk.max(1),
        }
    }

    /// Bytes that can be taken.
    pub(super) fn len(&self) -> usize {
        self.filled
    }

    /// Reads once. `want` bytes are going to be taken together: the buffer grows towards that, but only as fast as
    /// bytes come in, whatever length a worker announces.
    pub(super) fn read_from(&mut self, mut from: impl Read, want: usize) -> io::Result<usize> {
        if self.filled == self.buffer.len() {
            let room = want.min(2 * self.filled).max(self.filled + self.chunk);
            let mut larger = BytesMut::zeroed(room);
            // Both have at least `filled` bytes.
            if let (Some(to), Some(old)) = (
                larger.get_mut(..self.filled),
                self.buffer.get(..self.filled),
            ) {
                to.copy_from_slice(old);
            }
            self.buffer = larger;
        }
        let room = self.buffer.get_mut(self.filled..).unwrap_or_default();
        let read = from.read(room)?;
        self.filled += read;
        Ok(read)
    }

    /// The next `n` bytes, if they are there.
    pub(super) fn take(&mut self, n: usize) -> Option<Bytes> {
        if self.filled < n {
            return None;
        }
        self.filled -= n;
        Some(self.buffer.split_to(n).freeze())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_out_as_they_went_in() {
        let data: Vec<u8> = (0..10_000u32).map(|at| (at % 251) as u8).collect();
        for chunk in [1, 7, 64, 65536] {
            let mut from = data.as_slice();
            let mut inbox = Inbox::new(chunk);
            let mut out = Vec::new();
            for size in [0, 1, 3, 4000, 2, 5994] {
                while inbox.len() < size {
                    assert!(inbox.read_from(&mut from, size).unwrap() > 0);
                }
                out.extend_from_slice(&inbox.take(size).unwrap());
            }
            assert_eq!(out, data);
            assert_eq!(inbox.len(), 0);
            assert_eq!(inbox.take(1), None);
        }
    }

    #[test]
    fn an_announced_length_takes_no_memory_before_its_bytes_come() {
        let mut inbox = Inbox::new(64);
        inbox.read_from([0u8; 64].as_slice(), 1 << 31).unwrap();
        inbox.read_from([0u8; 64].as_slice(), 1 << 31).unwrap();
        assert!(inbox.buffer.len() <= 256);
    }
}
