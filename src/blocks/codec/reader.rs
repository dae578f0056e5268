use super::{lz4, lzf, snappy, zstd};
use std::io::{self, BufRead, Read};

/// What is left of one block's header and data.
#[derive(Debug)]
pub(super) enum Unpacker {
    Lz4(lz4::Unpacker),
    Lzf(lzf::Unpacker),
    Snappy(snappy::Unpacker),
    Zstd(zstd::Unpacker),
}

impl Unpacker {
    /// Replaces `block` by the next bytes that are not none, or says that the streams have ended.
    fn next(&mut self, source: &mut impl Read, block: &mut Vec<u8>) -> io::Result<bool> {
        match self {
            Self::Lz4(unpacker) => unpacker.next(source, block),
            Self::Lzf(unpacker) => unpacker.next(source, block),
            Self::Snappy(unpacker) => unpacker.next(source, block),
            Self::Zstd(unpacker) => unpacker.next(source, block),
        }
    }
}

/// Unpacks compressed streams that follow each other. Damage is an error of kind `InvalidData`, a stream that is cut
/// off one of kind `UnexpectedEof`. After an error nothing more can be read.
#[derive(Debug)]
pub struct CompressedReader<R> {
    source: R,
    unpacker: Unpacker,
    block: Vec<u8>,
    at: usize,
    ended: bool,
}

impl<R: Read> CompressedReader<R> {
    pub(super) fn new(source: R, unpacker: Unpacker) -> Self {
        Self {
            source,
            unpacker,
            block: Vec::new(),
            at: 0,
            ended: false,
        }
    }

    /// Where the packed bytes come from.
    pub fn get_ref(&self) -> &R {
        &self.source
    }

    /// Gives the source back. What was unpacked and not read is lost.
    pub fn into_inner(self) -> R {
        self.source
    }
}

impl<R: Read> BufRead for CompressedReader<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.at >= self.block.len() && !self.ended {
            self.at = 0;
            // Also after an error.
            self.ended = true;
            self.ended = !self.unpacker.next(&mut self.source, &mut self.block)?;
            if self.ended {
                self.block = Vec::new();
            }
        }
        Ok(self.block.get(self.at..).unwrap_or_default())
    }

    fn consume(&mut self, count: usize) {
        self.at = self.at.saturating_add(count).min(self.block.len());
    }
}

impl<R: Read> Read for CompressedReader<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let count = self.fill_buf()?.read(buf)?;
        self.consume(count);
        Ok(count)
    }
}
