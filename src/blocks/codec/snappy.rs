//! The stream of snappy-java: a header of 16 bytes, then blocks: `packed length i32 | raw snappy`, big-endian. There is
//! no end mark; another header may follow.

use super::{corrupted, read_block, read_header};
use std::fmt;
use std::io::{self, Read};
use std::ops::RangeInclusive;

/// Magic bytes, version 1, least version that can read it 1.
const HEADER: [u8; 16] = *b"\x82SNAPPY\0\0\0\0\x01\0\0\0\x01";
/// What the length would be where another stream begins.
const MAGIC_AS_LENGTH: [u8; 4] = *b"\x82SNA";
/// Packed bytes of a block, as many as snappy-java takes.
const MAX_BLOCK: usize = 512 << 20;
/// No input makes more output than this: three bytes copy up to 64.
const MAX_RATIO: usize = 32;

/// Block sizes that snappy-java takes; smaller ones become its least.
pub(super) const BLOCK_SIZES: RangeInclusive<usize> = 1 << 10..=MAX_BLOCK / 2;

pub(super) struct Packer {
    encoder: snap::raw::Encoder,
    started: bool,
}

impl Default for Packer {
    fn default() -> Self {
        Self {
            encoder: snap::raw::Encoder::new(),
            started: false,
        }
    }
}

impl fmt::Debug for Packer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Packer")
            .field("started", &self.started)
            .finish()
    }
}

impl Packer {
    fn start(&mut self, out: &mut Vec<u8>) {
        if !std::mem::replace(&mut self.started, true) {
            out.extend_from_slice(&HEADER);
        }
    }

    pub(super) fn pack(&mut self, block: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
        self.start(out);
        let start = out.len();
        let data = start + 4;
        out.resize(data + snap::raw::max_compress_len(block.len()), 0);
        let room = out.get_mut(data..).unwrap_or_default();
        let packed = self
            .encoder
            .compress(block, room)
            .map_err(io::Error::other)?;
        out.truncate(data + packed);
        let len = i32::try_from(packed).map_err(io::Error::other)?;
        if let Some(place) = out.get_mut(start..data) {
            place.copy_from_slice(&len.to_be_bytes());
        }
        Ok(())
    }

    pub(super) fn end(&mut self, out: &mut Vec<u8>) {
        self.start(out);
        self.started = false;
    }
}

#[derive(Debug, Default)]
pub(super) struct Unpacker {
    packed: Vec<u8>,
    started: bool,
}

impl Unpacker {
    pub(super) fn next(&mut self, source: &mut impl Read, block: &mut Vec<u8>) -> io::Result<bool> {
        loop {
            let mut len = [0; 4];
            if !read_header(source, &mut len)? {
                return Ok(false);
            }
            if len == MAGIC_AS_LENGTH {
                let mut rest = [0; 12];
                if !read_header(source, &mut rest)? {
                    return Err(super::ended_early());
                }
                // The versions may be others, as long as they are compatible.
                if !HEADER
                    .get(4..8)
                    .is_some_and(|magic| rest.starts_with(magic))
                {
                    return Err(corrupted("a header that is not snappy-java's"));
                }
                self.started = true;
                continue;
            }
            if !self.started {
                return Err(corrupted("it does not begin with snappy-java's header"));
            }
            let len = usize::try_from(i32::from_be_bytes(len))
                .ok()
                .filter(|len| *len <= MAX_BLOCK)
                .ok_or_else(|| corrupted("a block's length"))?;
            read_block(source, len, &mut self.packed)?;
            let unpacked = snap::raw::decompress_len(&self.packed).map_err(corrupted)?;
            if unpacked > len.saturating_mul(MAX_RATIO) {
                return Err(corrupted(format_args!(
                    "a block of {len} bytes for {unpacked}"
                )));
            }
            block.resize(unpacked, 0);
            snap::raw::Decoder::new()
                .decompress(&self.packed, block)
                .map_err(corrupted)?;
            if unpacked > 0 {
                return Ok(true);
            }
        }
    }
}
