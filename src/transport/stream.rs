//! A run of raw bytes that follows a frame, on its way from the reading task to its consumer.

use bytes::Bytes;
use std::io;
use tokio::sync::mpsc;

/// Pieces that may wait for the consumer; then the connection is not read on.
const PIECES: usize = 4;

/// Data that arrive while they are consumed. A slow consumer slows the other end down.
#[derive(Debug)]
pub struct Stream {
    len: u64,
    missing: u64,
    pieces: mpsc::Receiver<Bytes>,
}

impl Stream {
    /// A stream of `len` bytes and the end that fills it.
    pub(super) fn new(len: u64) -> (Self, mpsc::Sender<Bytes>) {
        let (sender, pieces) = mpsc::channel(PIECES);
        (
            Self {
                len,
                missing: len,
                pieces,
            },
            sender,
        )
    }

    /// Number of bytes of the whole stream.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether the stream has no bytes at all.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Whether all bytes have been taken.
    pub fn is_complete(&self) -> bool {
        self.missing == 0
    }

    /// The next bytes, or `None` at the end.
    ///
    /// # Errors
    /// `UnexpectedEof` if the connection was closed before the last byte.
    pub async fn next(&mut self) -> io::Result<Option<Bytes>> {
        if self.missing == 0 {
            return Ok(None);
        }
        let piece = self.pieces.recv().await;
        self.took(piece)
    }

    /// The next bytes, if they have arrived already.
    pub fn next_at_hand(&mut self) -> Option<Bytes> {
        let piece = self.pieces.try_recv().ok()?;
        self.missing = self.missing.saturating_sub(piece.len() as u64);
        Some(piece)
    }

    /// As [`Stream::next`], for threads outside the runtime.
    ///
    /// # Errors
    /// As [`Stream::next`].
    pub fn blocking_next(&mut self) -> io::Result<Option<Bytes>> {
        if self.missing == 0 {
            return Ok(None);
        }
        let piece = self.pieces.blocking_recv();
        self.took(piece)
    }

    fn took(&mut self, piece: Option<Bytes>) -> io::Result<Option<Bytes>> {
        let Some(piece) = piece else {
            let message = format!(
                "the connection was closed {} bytes before the end of the stream",
                self.missing
            );
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, message));
        };
        self.missing = self.missing.saturating_sub(piece.len() as u64);
        Ok(Some(piece))
    }
}
