//! Rows in blocks of a shuffle, as `UnsafeRowSerializer` wrote them: the length of a row as a big-endian `int`, then
//! the row; or frames of columns.

use std::io::{self, Read};
use std::ops::Deref;
use std::sync::Arc;

use bytes::Bytes;
use datafusion_common::Result;
use exec::{BlockStream, Records};

use super::failure::of_source;
use crate::blocks::metrics::ShuffleReadMetrics;
use crate::blocks::shuffle::{ColumnFrame, ShuffleError, ShuffleStream};
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

/// A block: bytes of rows, or frames of columns.
pub(super) trait BlockRecords: Read {
    /// Whether there are frames, and no bytes.
    fn has_columns(&self) -> bool;

    /// The next frame; `None` after the last.
    fn next_frame(&mut self) -> io::Result<Option<ColumnFrame>>;
}

impl BlockRecords for ShuffleStream {
    fn has_columns(&self) -> bool {
        Self::has_columns(self)
    }

    fn next_frame(&mut self) -> io::Result<Option<ColumnFrame>> {
        Self::next_frame(self)
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
    R: BlockRecords,
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

    pub(super) fn records(&mut self) -> std::result::Result<Option<Records>, TaskError> {
        loop {
            let block = match &mut self.current {
                Some(block) => block,
                None => match self.blocks.next() {
                    Some(block) => self.current.insert(block?),
                    None => return Ok(None),
                },
            };
            if !block.has_columns() {
                match self.piece()? {
                    Some(rows) => return Ok(Some(Records::Rows(rows))),
                    None => continue,
                }
            }
            match block.next_frame()? {
                Some(frame) => {
                    self.metrics.records_read.add(frame.rows.into());
                    return Ok(Some(Records::Columns(frame.columns)));
                }
                None => self.current = None,
            }
        }
    }

    /// Rows from the present block on, up to the first with columns; `None` if there are none.
    fn piece(&mut self) -> std::result::Result<Option<Bytes>, TaskError> {
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
            if stream.has_columns() {
                match bytes.is_empty() {
                    true => return Ok(None),
                    false => break,
                }
            }
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
    R: BlockRecords + Send,
{
    fn next(&mut self) -> Result<Option<Records>> {
        self.records().map_err(of_source)
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

    enum Block {
        Rows(io::Cursor<Vec<u8>>),
        Columns(std::vec::IntoIter<ColumnFrame>),
    }

    impl Read for Block {
        fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
            match self {
                Self::Rows(rows) => rows.read(buf),
                Self::Columns(_) => panic!("bytes of columns"),
            }
        }
    }

    impl BlockRecords for Block {
        fn has_columns(&self) -> bool {
            matches!(self, Self::Columns(_))
        }

        fn next_frame(&mut self) -> io::Result<Option<ColumnFrame>> {
            match self {
                Self::Rows(_) => panic!("frames of rows"),
                Self::Columns(frames) => Ok(frames.next()),
            }
        }
    }

    fn read_all(blocks: Vec<Block>) -> (std::result::Result<Vec<Records>, TaskError>, i64) {
        let metrics = SharedMetrics(Arc::default());
        let mut rows = RowBlocks::new(blocks.into_iter().map(Ok), metrics.clone());
        let mut found = Vec::new();
        let result = loop {
            match rows.records() {
                Ok(Some(records)) => found.push(records),
                Ok(None) => break Ok(found),
                Err(error) => break Err(error),
            }
        };
        (result, metrics.records_read.get())
    }

    fn read(blocks: Vec<Vec<u8>>) -> (std::result::Result<Vec<Bytes>, TaskError>, i64) {
        let blocks = blocks
            .into_iter()
            .map(|rows| Block::Rows(io::Cursor::new(rows)));
        let (found, records) = read_all(blocks.collect());
        let pieces = found.map(|found| {
            let pieces = found.into_iter().map(|records| match records {
                Records::Rows(piece) => piece,
                Records::Columns(_) => panic!("columns"),
            });
            pieces.collect()
        });
        (pieces, records)
    }

    #[test]
    fn columns_stand_between_rows() {
        let frame = |rows: u32| ColumnFrame {
            rows,
            columns: vec![rows as u8; 9].into(),
        };
        let rows = |lengths: &[usize]| {
            let rows = lengths.iter().flat_map(|length| row(*length));
            Block::Rows(io::Cursor::new(rows.collect()))
        };
        let columns = |of: &[u32]| {
            Block::Columns(
                of.iter()
                    .map(|rows| frame(*rows))
                    .collect::<Vec<_>>()
                    .into_iter(),
            )
        };
        let blocks = vec![
            rows(&[]),
            columns(&[3, 4]),
            rows(&[8]),
            rows(&[16]),
            columns(&[]),
            rows(&[]),
            columns(&[1]),
            rows(&[24]),
        ];
        let (found, records) = read_all(blocks);
        let rows = |lengths: &[usize]| {
            let rows = lengths.iter().flat_map(|length| row(*length));
            Records::Rows(rows.collect())
        };
        let columns = |rows| Records::Columns(frame(rows).columns);
        let expected = [
            columns(3),
            columns(4),
            rows(&[8, 16]),
            columns(1),
            rows(&[24]),
        ];
        assert_eq!(found.unwrap(), expected);
        assert_eq!(records, 3 + 4 + 2 + 1 + 1);
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
