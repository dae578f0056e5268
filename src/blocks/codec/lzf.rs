//! The chunks of compress-lzf: `"ZV" | 0 | length u16 | bytes`, or `"ZV" | 1 | packed length u16 | length u16 | packed
//! bytes`, big-endian. Nothing begins or ends a stream.

use super::{corrupted, read_block, read_header};
use std::io::{self, Read};

const MAGIC: [u8; 2] = *b"ZV";
const RAW: u8 = 0;
const PACKED: u8 = 1;
/// Data in a chunk.
pub(super) const BLOCK_SIZE: usize = u16::MAX as usize;
/// Less is not worth the trouble.
const LEAST_TO_PACK: usize = 16;

/// Appends a chunk of at most [`BLOCK_SIZE`] bytes.
pub(super) fn pack(block: &[u8], out: &mut Vec<u8>) {
    let packed = (block.len() >= LEAST_TO_PACK)
        .then(|| lzf::compress(block).ok())
        .flatten()
        .filter(|packed| packed.len() + 2 < block.len());
    out.extend_from_slice(&MAGIC);
    // The packed bytes are fewer, and the block's fit.
    let length = |bytes: &[u8]| (bytes.len() as u16).to_be_bytes();
    match packed {
        Some(packed) => {
            out.push(PACKED);
            out.extend_from_slice(&length(&packed));
            out.extend_from_slice(&length(block));
            out.extend_from_slice(&packed);
        }
        None => {
            out.push(RAW);
            out.extend_from_slice(&length(block));
            out.extend_from_slice(block);
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct Unpacker {
    packed: Vec<u8>,
}

impl Unpacker {
    pub(super) fn next(&mut self, source: &mut impl Read, block: &mut Vec<u8>) -> io::Result<bool> {
        loop {
            let mut header = [0; 5];
            if !read_header(source, &mut header)? {
                return Ok(false);
            }
            let [z, v, kind, high, low] = header;
            if [z, v] != MAGIC {
                return Err(corrupted("a chunk does not begin with ZV"));
            }
            let len = usize::from(u16::from_be_bytes([high, low]));
            match kind {
                RAW => read_block(source, len, block)?,
                PACKED => {
                    let mut unpacked = [0; 2];
                    if !read_header(source, &mut unpacked)? {
                        return Err(super::ended_early());
                    }
                    let unpacked = usize::from(u16::from_be_bytes(unpacked));
                    read_block(source, len, &mut self.packed)?;
                    *block = lzf::decompress(&self.packed, unpacked)
                        .map_err(|error| corrupted(error.to_string()))?;
                    if block.len() != unpacked {
                        return Err(corrupted(format_args!(
                            "{} bytes instead of {unpacked}",
                            block.len()
                        )));
                    }
                }
                kind => return Err(corrupted(format_args!("a chunk of type {kind}"))),
            }
            if !block.is_empty() {
                return Ok(true);
            }
        }
    }
}
