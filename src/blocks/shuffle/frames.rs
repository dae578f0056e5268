//! How batches of columns lie in a segment of a map output: each in a frame with a checksum.
//!
//! ```text
//! frame := F5 "COL" · rows: u32 · bytes of the columns: u32 · XXH64 of rows, bytes and columns: u64 · columns
//! ```
//! Numbers are little-endian; what the columns are is in the crate `columns`. No record of Spark's and no stream of its
//! codecs begins like that.

use std::io::{self, Read};

use bytes::Bytes;
use twox_hash::XxHash64;

/// The first bytes of every frame.
const MAGIC: [u8; 4] = [0xF5, b'C', b'O', b'L'];
/// Bytes before the columns.
const HEAD: usize = 20;
/// Bytes that are made room for before they have arrived.
const AHEAD: usize = 64 << 10;

/// Rows as columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnFrame {
    /// How many.
    pub rows: u32,
    /// What the crate `columns` reads.
    pub columns: Bytes,
}

fn checksum(rows: u32, columns: &[u8]) -> u64 {
    if cfg!(fuzzing) {
        // No fuzzer finds the right one.
        return 0;
    }
    // Frames have less than 4 GiB.
    XxHash64::oneshot(u64::from(rows) << 32 | columns.len() as u64, columns)
}

/// Appends a frame.
///
/// # Errors
/// It has 4 GiB or more, or as many rows.
pub(super) fn put_frame(rows: usize, columns: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
    let large = |_| io::Error::new(io::ErrorKind::InvalidInput, "a frame of more than 4 GiB");
    let rows = u32::try_from(rows).map_err(large)?;
    let length = u32::try_from(columns.len()).map_err(large)?;
    out.reserve(HEAD + columns.len());
    out.extend_from_slice(&MAGIC);
    out.extend_from_slice(&rows.to_le_bytes());
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(&checksum(rows, columns).to_le_bytes());
    out.extend_from_slice(columns);
    Ok(())
}

/// Whether a segment that begins so has columns.
pub(super) fn are_columns(start: &[u8]) -> bool {
    start.starts_with(&MAGIC)
}

/// The frames of a segment.
pub(super) enum Frames {
    /// In memory, of which frames are parts.
    Memory(Bytes),
    /// Anywhere else.
    Stream(Box<dyn Read + Send>),
}

impl Frames {
    /// The next frame; `None` at the end.
    ///
    /// # Errors
    /// `InvalidData` or `UnexpectedEof` if it is damaged, and what reading fails with.
    pub(super) fn next(&mut self) -> io::Result<Option<ColumnFrame>> {
        let head = self.take(HEAD)?;
        if head.is_empty() {
            return Ok(None);
        }
        let head: &[u8; HEAD] = head.first_chunk().ok_or(io::ErrorKind::UnexpectedEof)?;
        let ([magic, rows, length, low, high], _) = head.as_chunks::<4>() else {
            return Err(io::ErrorKind::UnexpectedEof.into());
        };
        if *magic != MAGIC {
            return Err(damaged("no frame of columns"));
        }
        let rows = u32::from_le_bytes(*rows);
        let length = u32::from_le_bytes(*length) as usize;
        let sum = u64::from(u32::from_le_bytes(*high)) << 32 | u64::from(u32::from_le_bytes(*low));
        let columns = self.take(length)?;
        if columns.len() < length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if checksum(rows, &columns) != sum {
            return Err(damaged("a frame of columns whose checksum is another"));
        }
        Ok(Some(ColumnFrame { rows, columns }))
    }

    /// Fails if something is damaged; reads all there is.
    pub(super) fn verify(mut self) -> io::Result<()> {
        while self.next()?.is_some() {}
        Ok(())
    }

    /// So many bytes, or fewer at the end.
    fn take(&mut self, count: usize) -> io::Result<Bytes> {
        match self {
            Self::Memory(bytes) => Ok(bytes.split_to(count.min(bytes.len()))),
            Self::Stream(stream) => {
                // What has not arrived takes no memory.
                let mut bytes = Vec::with_capacity(count.min(AHEAD));
                stream.take(count as u64).read_to_end(&mut bytes)?;
                Ok(bytes.into())
            }
        }
    }
}

fn damaged(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

/// See `fuzzing::shuffle_frames`.
#[cfg(fuzzing)]
pub(in crate::blocks) fn fuzz_frames(data: &[u8]) {
    let read = |mut frames: Frames| {
        let mut written = Vec::new();
        loop {
            match frames.next() {
                Ok(Some(ColumnFrame { rows, columns })) => {
                    put_frame(rows as usize, &columns, &mut written).expect("a frame");
                }
                Ok(None) => return (written, true),
                Err(_) => return (written, false),
            }
        }
    };
    let (written, whole) = read(Frames::Memory(Bytes::copy_from_slice(data)));
    assert!(data.starts_with(&written));
    assert!(!whole || written.len() == data.len());
    let stream = io::Cursor::new(data.to_vec());
    assert_eq!(read(Frames::Stream(Box::new(stream))), (written, whole));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment() -> Vec<u8> {
        let mut segment = Vec::new();
        put_frame(7, b"seven rows", &mut segment).unwrap();
        put_frame(1, b"", &mut segment).unwrap();
        put_frame(u32::MAX as usize, &[9; 300_000], &mut segment).unwrap();
        segment
    }

    fn both(segment: &[u8]) -> [Frames; 2] {
        let bytes = Bytes::copy_from_slice(segment);
        let stream = io::Cursor::new(bytes.clone());
        [Frames::Memory(bytes), Frames::Stream(Box::new(stream))]
    }

    #[test]
    fn frames_come_back() {
        assert!(are_columns(&segment()));
        for mut frames in both(&segment()) {
            let frame = |frames: &mut Frames| {
                let frame = frames.next().unwrap().unwrap();
                (frame.rows, frame.columns.len())
            };
            assert_eq!(frame(&mut frames), (7, 10));
            assert_eq!(frame(&mut frames), (1, 0));
            assert_eq!(frame(&mut frames), (u32::MAX, 300_000));
            assert_eq!(frames.next().unwrap(), None);
        }
    }

    #[test]
    fn damage_anywhere_is_seen() {
        let whole = segment();
        let places = (0..80).chain([200, 5_000, whole.len() - 1]);
        for at in places {
            let mut damaged = whole.clone();
            damaged[at] ^= 0x10;
            for frames in both(&damaged) {
                assert!(frames.verify().is_err(), "byte {at}");
            }
        }
        for length in [1, 4, HEAD - 1, HEAD, HEAD + 9, whole.len() - 1] {
            for frames in both(&whole[..length]) {
                assert!(frames.verify().is_err(), "{length} bytes");
            }
        }
        assert!(put_frame(1 << 33, b"", &mut Vec::new()).is_err());
    }
}
