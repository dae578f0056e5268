use super::{lz4, lzf, snappy, zstd};
use std::io::{self, Write};

#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "one per stream")]
pub(super) enum Packer {
    Lz4(lz4::Packer),
    Lzf,
    Snappy(snappy::Packer),
    Zstd(zstd::Packer),
}

impl Packer {
    /// Appends a block that is not empty to `out`.
    fn pack(&mut self, block: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
        match self {
            Self::Lz4(packer) => packer.pack(block, out),
            Self::Lzf => {
                lzf::pack(block, out);
                Ok(())
            }
            Self::Snappy(packer) => packer.pack(block, out),
            Self::Zstd(packer) => packer.pack(block, out),
        }
    }

    /// Appends what ends a stream, and gets ready for the next one.
    fn end(&mut self, out: &mut Vec<u8>) -> io::Result<()> {
        match self {
            Self::Lz4(packer) => packer.end(out),
            Self::Lzf => {}
            Self::Snappy(packer) => packer.end(out),
            Self::Zstd(packer) => packer.end(out)?,
        }
        Ok(())
    }
}

/// Packs a stream. Its buffers serve one stream after another: see [`CompressedWriter::end_stream`].
///
/// Flushing leaves an unfinished block where it is, as in a JVM.
#[derive(Debug)]
pub struct CompressedWriter<W> {
    sink: W,
    packer: Packer,
    block_size: usize,
    pending: Vec<u8>,
    packed: Vec<u8>,
    /// Whether there is a stream to be ended. There is one from the beginning: no data make an empty stream.
    open: bool,
}

impl<W: Write> CompressedWriter<W> {
    pub(super) fn new(sink: W, packer: Packer, block_size: usize) -> Self {
        Self {
            sink,
            packer,
            block_size,
            pending: Vec::new(),
            packed: Vec::new(),
            open: true,
        }
    }

    /// Ends the stream: everything up to here has been given to the sink and can be read by itself. What is written
    /// from now on is another stream.
    ///
    /// # Errors
    /// Those of the sink.
    pub fn end_stream(&mut self) -> io::Result<()> {
        if !self.open {
            return Ok(());
        }
        if !self.pending.is_empty() {
            self.packer.pack(&self.pending, &mut self.packed)?;
            self.pending.clear();
        }
        self.packer.end(&mut self.packed)?;
        self.open = false;
        self.drain()
    }

    /// Ends the stream, unless [`CompressedWriter::end_stream`] has done so, and gives the sink back.
    ///
    /// # Errors
    /// Those of the sink.
    pub fn finish(mut self) -> io::Result<W> {
        self.end_stream()?;
        self.sink.flush()?;
        Ok(self.sink)
    }

    /// Where the packed bytes go.
    pub fn get_ref(&self) -> &W {
        &self.sink
    }

    /// Where the packed bytes go.
    pub fn get_mut(&mut self) -> &mut W {
        &mut self.sink
    }

    fn drain(&mut self) -> io::Result<()> {
        let written = self.sink.write_all(&self.packed);
        self.packed.clear();
        written
    }
}

impl<W: Write> Write for CompressedWriter<W> {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.open |= !buf.is_empty();
        if self.pending.is_empty()
            && let Some(block) = buf.get(..self.block_size)
        {
            self.packer.pack(block, &mut self.packed)?;
            self.drain()?;
            return Ok(block.len());
        }
        let room = self.block_size.saturating_sub(self.pending.len());
        let (now, _) = buf.split_at(room.min(buf.len()));
        self.pending.extend_from_slice(now);
        if self.pending.len() >= self.block_size {
            self.packer.pack(&self.pending, &mut self.packed)?;
            self.pending.clear();
            self.drain()?;
        }
        Ok(now.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.sink.flush()
    }
}
