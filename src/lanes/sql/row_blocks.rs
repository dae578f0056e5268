//! Rows in blocks of a shuffle, as `UnsafeRowSerializer` wrote them: the length of a row as a big-endian `int`, then
//! the row.

use std::io::{self, Read};
use std::ops::Deref;
use std::sync::Arc;

use bytes::Bytes;
use datafusion_common::Result;
use exec::BlockStream;

use super::failure::of_source;
use crate::blocks::metrics::ShuffleReadMetrics;
use crate::blocks::shuffle::ShuffleError;
use crate::task::TaskError;

/// Bytes that are handed on at a time, unless a row is longer.
const PIECE: usize = 512 << 10;

/// Metrics that a reader shares with whoever sends them.
#[derive(Debug, Clone)]
pub(super) struct SharedMetrics(pub(super) Arc<ShuffleReadMetrics>);

impl Deref for SharedMetrics {
    type Target = ShuffleReadMetrics;

    fn deref(&self) -> &ShuffleReadMetrics {
        &self.0
    }
}

/// The rows of some blocks, in pieces that end where a row ends. Reading waits for blocks.
pub(super) struct RowBlocks<B, R> {
    blocks: B,
    current: Option<R>,
    /// The beginning of a row.
    begun: Vec<u8>,
    metrics: SharedMetrics,
}

impl<B, R> std::fmt::Debug for RowBlocks<B, R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RowBlocks")
            .field("begun", &self.begun.len())
            .finish_non_exhaustive()
    }
}

impl<B, R> RowBlocks<B, R>
where
    B: Iterator<Item = std::result::Result<R, ShuffleError>>,
    R: Read,
{
    /// `metrics` count the rows.
    pub(super) fn new(blocks: B, metrics: SharedMetrics) -> Self {
        Self {
            blocks,
            current: None,
            begun: Vec::new(),
            metrics,
        }
    }

    pub(super) fn piece(&mut self) -> std::result::Result<Option<Bytes>, TaskError> {
        let mut bytes = Vec::with_capacity(PIECE);
        bytes.append(&mut self.begun);
        let mut wanted = PIECE;
        let mut rows = WholeRows::default();
        loop {
            let stream = match &mut self.current {
                Some(stream) => stream,
                None => match self.blocks.next() {
                    Some(stream) => self.current.insert(stream?),
                    None if bytes.is_empty() => return Ok(None),
                    None => break,
                },
            };
            let missing = wanted.saturating_sub(bytes.len());
            let count = stream.take(missing as u64).read_to_end(&mut bytes)?;
            if count < missing {
                // A row does not go on in another block.
                rows.go_on(&bytes)?;
                if rows.length < bytes.len() {
                    return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
                }
                self.current = None;
                continue;
            }
            rows.go_on(&bytes)?;
            if rows.length > 0 {
                break;
            }
            wanted = rows.next.max(PIECE);
        }
        self.begun = bytes.split_off(rows.length);
        self.metrics.records_read.add(rows.count);
        Ok(Some(bytes.into()))
    }
}

impl<B, R> BlockStream for RowBlocks<B, R>
where
    B: Iterator<Item = std::result::Result<R, ShuffleError>> + Send,
    R: Read + Send,
{
    fn next(&mut self) -> Result<Option<Bytes>> {
        self.piece().map_err(of_source)
    }
}

/// The complete rows at the beginning of some bytes.
#[derive(Default)]
struct WholeRows {
    count: i64,
    /// Bytes that they take.
    length: usize,
    /// Bytes up to the end of the row behind them, as far as known.
    next: usize,
}

impl WholeRows {
    /// Counts the rows that have become complete; `bytes` are those of before and more.
    fn go_on(&mut self, bytes: &[u8]) -> io::Result<()> {
        while let Some(head) = bytes.get(self.length..).and_then(<[u8]>::first_chunk::<4>) {
            let size = usize::try_from(i32::from_be_bytes(*head)).map_err(|_| {
                io::Error::new(io::ErrorKind::InvalidData, "a row of negative length")
            })?;
            self.next = self.length + 4 + size;
            if self.next > bytes.len() {
                break;
            }
            self.length = self.next;
            self.count += 1;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(length: usize) -> Vec<u8> {
        let mut row = (length as i32).to_be_bytes().to_vec();
        row.extend((0..length).map(|at| at as u8));
        row
    }

    fn read(blocks: Vec<Vec<u8>>) -> (std::result::Result<Vec<Bytes>, TaskError>, i64) {
        let metrics = SharedMetrics(Arc::default());
        let blocks = blocks.into_iter().map(|block| Ok(io::Cursor::new(block)));
        let mut rows = RowBlocks::new(blocks, metrics.clone());
        let mut pieces = Vec::new();
        let result = loop {
            match rows.piece() {
                Ok(Some(piece)) => pieces.push(piece),
                Ok(None) => break Ok(pieces),
                Err(error) => break Err(error),
            }
        };
        (result, metrics.records_read.get())
    }

    #[test]
    fn pieces_end_where_rows_end() {
        let lengths = [16, PIECE - 1000, 992, 8, 3 * PIECE, 0, 24, PIECE, 40];
        let blocks: Vec<Vec<u8>> = lengths
            .chunks(4)
            .map(|of| of.iter().flat_map(|length| row(*length)).collect())
            .collect();
        let all = blocks.concat();
        let (pieces, records) = read(blocks);
        let pieces = pieces.unwrap();
        assert_eq!(records, 9);
        assert!(pieces.len() > 3);
        for piece in &pieces {
            let mut rows = WholeRows::default();
            rows.go_on(piece).unwrap();
            assert_eq!(rows.length, piece.len());
        }
        assert_eq!(pieces.concat(), all);
        let (none, records) = read(vec![Vec::new(), Vec::new()]);
        assert_eq!((none.unwrap().len(), records), (0, 0));
    }

    #[test]
    fn a_block_that_ends_within_a_row_is_an_error() {
        let mut short = row(40);
        short.truncate(30);
        assert!(read(vec![row(8), short, row(8)]).0.is_err());
        assert!(read(vec![vec![0, 0]]).0.is_err());
        assert!(read(vec![vec![0xff; 12]]).0.is_err());
    }
}
