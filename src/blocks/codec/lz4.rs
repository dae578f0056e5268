//! The block stream of lz4-java: `"LZ4Block" | token | packed length i32 | length i32 | checksum i32`, all
//! little-endian, then the packed bytes. The token is the method and the logarithm of the block size. An empty block
//! ends a stream.

use super::{corrupted, read_block, read_header};
use lz4_flex::block::{
    CompressTable, compress_into_with_table, decompress_into, get_maximum_output_size,
};
use std::fmt;
use std::io::{self, Read};
use std::ops::RangeInclusive;

const MAGIC: &[u8; 8] = b"LZ4Block";
const HEADER: usize = 21;
/// Methods, in the upper half of the token.
const RAW: u8 = 0x10;
const LZ4: u8 = 0x20;
/// Blocks of level 0 have 2^10 bytes.
const LEVEL_BASE: u32 = 10;
/// A byte of a packed block stands for at most so many.
const MAX_RATIO: u64 = 255;
const SEED: u32 = 0x9747_b28c;
/// The checksum has 28 bits.
const CHECKSUM_MASK: u32 = 0x0fff_ffff;

/// Block sizes that lz4-java takes.
pub(super) const BLOCK_SIZES: RangeInclusive<usize> = 64..=1 << 25;

fn checksum(data: &[u8]) -> u32 {
    twox_hash::XxHash32::oneshot(SEED, data) & CHECKSUM_MASK
}

pub(super) struct Packer {
    level: u8,
    table: CompressTable,
}

impl fmt::Debug for Packer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Packer")
            .field("level", &self.level)
            .finish()
    }
}

impl Packer {
    pub(super) fn new(block_size: usize) -> Self {
        let log = usize::BITS - block_size.saturating_sub(1).leading_zeros();
        Self {
            level: u8::try_from(log.saturating_sub(LEVEL_BASE)).unwrap_or(0x0f),
            table: CompressTable::default(),
        }
    }

    pub(super) fn pack(&mut self, block: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
        let start = out.len();
        let data = start + HEADER;
        out.resize(data + get_maximum_output_size(block.len()), 0);
        let room = out.get_mut(data..).unwrap_or_default();
        let packed =
            compress_into_with_table(block, room, &mut self.table).map_err(io::Error::other)?;
        let (method, len) = if packed < block.len() {
            (LZ4, packed)
        } else {
            room.get_mut(..block.len())
                .ok_or_else(|| io::Error::other("no room"))?
                .copy_from_slice(block);
            (RAW, block.len())
        };
        out.truncate(data + len);
        let header = self.header(method, len, block.len(), checksum(block));
        if let Some(place) = out.get_mut(start..data) {
            place.copy_from_slice(&header);
        }
        Ok(())
    }

    pub(super) fn end(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.header(RAW, 0, 0, 0));
    }

    /// Lengths are at most those of [`BLOCK_SIZES`].
    fn header(&self, method: u8, packed: usize, len: usize, checksum: u32) -> [u8; HEADER] {
        let mut header = [0; HEADER];
        let token = [method | self.level];
        let [packed, len] = [packed as u32, len as u32].map(u32::to_le_bytes);
        let fields = [&MAGIC[..], &token, &packed, &len, &checksum.to_le_bytes()];
        for (place, byte) in header.iter_mut().zip(fields.into_iter().flatten()) {
            *place = *byte;
        }
        header
    }
}

#[derive(Debug, Default)]
pub(super) struct Unpacker {
    packed: Vec<u8>,
}

impl Unpacker {
    pub(super) fn next(&mut self, source: &mut impl Read, block: &mut Vec<u8>) -> io::Result<bool> {
        loop {
            let mut header = [0; HEADER];
            if !read_header(source, &mut header)? {
                return Ok(false);
            }
            let Some((magic, rest)) = header.split_first_chunk::<8>() else {
                return Err(corrupted("no header"));
            };
            let &[token, ref numbers @ ..] = rest else {
                return Err(corrupted("no header"));
            };
            if magic != MAGIC {
                return Err(corrupted("a block does not begin with LZ4Block"));
            }
            let mut numbers = numbers
                .as_chunks::<4>()
                .0
                .iter()
                .map(|bytes| u32::from_le_bytes(*bytes));
            let mut number = || numbers.next().unwrap_or_default();
            let (packed, len, sum) = (number(), number(), number());
            let method = token & 0xf0;
            let most = 1u32 << (LEVEL_BASE + u32::from(token & 0x0f));
            let fits = match method {
                RAW => packed == len,
                LZ4 => (packed == 0) == (len == 0),
                _ => return Err(corrupted(format_args!("unknown method {method:#x}"))),
            };
            // A packed block is never longer than the data it stands for, and memory is taken for what that many
            // bytes can be.
            let claims = u64::from(len) > u64::from(packed) * MAX_RATIO;
            if len > most || packed > len || !fits || claims {
                return Err(corrupted(format_args!(
                    "a block of {packed} bytes for {len} of at most {most}"
                )));
            }
            if len == 0 {
                if sum != 0 {
                    return Err(corrupted("a checksum at the end"));
                }
                continue;
            }
            let (packed, len) = (packed as usize, len as usize);
            if method == RAW {
                read_block(source, packed, block)?;
            } else {
                read_block(source, packed, &mut self.packed)?;
                block.resize(len, 0);
                let unpacked = decompress_into(&self.packed, block).map_err(corrupted)?;
                if unpacked != len {
                    return Err(corrupted(format_args!("{unpacked} bytes instead of {len}")));
                }
            }
            if checksum(block) != sum {
                return Err(corrupted("the checksum differs"));
            }
            return Ok(true);
        }
    }
}
