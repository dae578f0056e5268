//! Frames of zstd.

use super::ended_early;
use crate::config::{SettingError, SparkProperties, declared};
use std::fmt;
use std::io::{self, Read};
use zstd::stream::raw::{CParameter, Decoder, Encoder, InBuffer, Operation, OutBuffer};
use zstd::zstd_safe::Strategy;

/// Packed bytes read at a time.
const INPUT: usize = 64 << 10;
/// Unpacked bytes handed out at a time: a block of zstd.
const OUTPUT: usize = 128 << 10;
const STRATEGIES: [Strategy; 9] = [
    Strategy::ZSTD_fast,
    Strategy::ZSTD_dfast,
    Strategy::ZSTD_greedy,
    Strategy::ZSTD_lazy,
    Strategy::ZSTD_lazy2,
    Strategy::ZSTD_btlazy2,
    Strategy::ZSTD_btopt,
    Strategy::ZSTD_btultra,
    Strategy::ZSTD_btultra2,
];

/// `spark.io.compression.zstd.*`, without what only concerns threads and buffers of a JVM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Settings {
    level: i32,
    /// Number of the strategy, from 1.
    strategy: Option<u8>,
    pub(super) buffer_size: usize,
}

impl Settings {
    pub(super) fn new(properties: &SparkProperties) -> Result<Self, SettingError> {
        let buffer_size = properties.size(&declared::ZSTD_BUFFER_SIZE)?;
        Ok(Self {
            level: properties.number(&declared::ZSTD_LEVEL)?,
            strategy: properties.optional_number(&declared::ZSTD_STRATEGY)?,
            buffer_size: usize::try_from(buffer_size)
                .unwrap_or(usize::MAX)
                .clamp(1 << 10, 1 << 30),
        })
    }
}

pub(super) struct Packer {
    encoder: Encoder<'static>,
}

impl fmt::Debug for Packer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Packer").finish_non_exhaustive()
    }
}

impl Packer {
    pub(super) fn new(settings: &Settings) -> io::Result<Self> {
        let mut encoder = Encoder::new(settings.level)?;
        let strategy = settings
            .strategy
            .and_then(|number| STRATEGIES.get(usize::from(number).checked_sub(1)?));
        if let Some(strategy) = strategy {
            encoder.set_parameter(CParameter::Strategy(*strategy))?;
        }
        Ok(Self { encoder })
    }

    pub(super) fn pack(&mut self, block: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
        let mut input = InBuffer::around(block);
        while input.pos() < block.len() {
            out.reserve(OUTPUT);
            let at = out.len();
            self.encoder
                .run(&mut input, &mut OutBuffer::around_pos(out, at))?;
        }
        Ok(())
    }

    pub(super) fn end(&mut self, out: &mut Vec<u8>) -> io::Result<()> {
        loop {
            out.reserve(OUTPUT);
            let at = out.len();
            let left = self
                .encoder
                .finish(&mut OutBuffer::around_pos(out, at), false)?;
            if left == 0 {
                return self.encoder.reinit();
            }
        }
    }
}

pub(super) struct Unpacker {
    decoder: Decoder<'static>,
    input: Vec<u8>,
    /// Part of `input` that is not unpacked yet.
    waiting: std::ops::Range<usize>,
    /// Whether a frame has begun and not ended.
    in_frame: bool,
    /// Whether the decoder may have output left that did not fit.
    full: bool,
}

impl fmt::Debug for Unpacker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Unpacker")
            .field("waiting", &self.waiting)
            .field("in_frame", &self.in_frame)
            .finish_non_exhaustive()
    }
}

impl Unpacker {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self {
            decoder: Decoder::new()?,
            input: vec![0; INPUT],
            waiting: 0..0,
            in_frame: false,
            full: false,
        })
    }

    pub(super) fn next(&mut self, source: &mut impl Read, block: &mut Vec<u8>) -> io::Result<bool> {
        block.clear();
        block.reserve(OUTPUT);
        loop {
            if self.waiting.is_empty() && !self.full {
                let count = source.read(&mut self.input);
                self.waiting = match count {
                    Ok(0) if self.in_frame => return Err(ended_early()),
                    Ok(0) => return Ok(false),
                    Ok(count) => 0..count,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    Err(error) => return Err(error),
                };
            }
            let mut input =
                InBuffer::around(self.input.get(self.waiting.clone()).unwrap_or_default());
            let mut output = OutBuffer::around(block);
            let hint = self
                .decoder
                .run(&mut input, &mut output)
                .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
            self.full = hint > 0 && output.pos() == output.capacity();
            let (read, written) = (input.pos(), output.pos());
            self.waiting.start += read;
            self.in_frame = hint > 0;
            if written > 0 {
                return Ok(true);
            }
        }
    }
}
