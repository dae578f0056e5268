//! Fuzz targets of this room; see [`crate::fuzzing`].

use std::io;

use exec::Records;

use super::row_blocks::{BlockRecords, RowBlocks, SharedMetrics};
use super::verify;
use crate::blocks::shuffle::ColumnFrame;
use crate::fuzzing::Trickle;

impl BlockRecords for Trickle<'_> {
    fn has_columns(&self) -> bool {
        false
    }

    fn next_frame(&mut self) -> io::Result<Option<ColumnFrame>> {
        Ok(None)
    }
}

/// Rows in blocks of a shuffle: pieces hold whole rows, all of them.
pub fn row_blocks(data: &[u8]) {
    let cut = data.first().map_or(0, |byte| usize::from(*byte));
    let data = data.get(1..).unwrap_or_default();
    let (one, two) = data.split_at(cut.min(data.len()));
    let blocks = [one, two].map(|bytes| Ok(Trickle { bytes, step: 7 }));
    let mut rows = RowBlocks::new(blocks.into_iter(), SharedMetrics(Default::default()));
    let mut read = Vec::new();
    let complete = loop {
        match rows.records() {
            Ok(Some(Records::Rows(piece) | Records::Columns(piece))) => {
                read.extend_from_slice(&piece);
            }
            Ok(None) => break true,
            Err(_) => break false,
        }
    };
    assert!(data.starts_with(&read));
    assert_eq!(complete, whole(one).is_ok() && whole(two).is_ok());
    assert!(!complete || read == data);
}

/// Whether a block ends where a row ends.
fn whole(mut block: &[u8]) -> io::Result<()> {
    while !block.is_empty() {
        let (size, rest) = block
            .split_first_chunk()
            .ok_or(io::ErrorKind::UnexpectedEof)?;
        let size = usize::try_from(i32::from_be_bytes(*size)).map_err(io::Error::other)?;
        block = rest.get(size..).ok_or(io::ErrorKind::UnexpectedEof)?;
    }
    Ok(())
}

/// Results of a JVM's attempt that are compared.
pub fn result_rows(data: &[u8]) {
    verify::fuzz_result_rows(data);
}
