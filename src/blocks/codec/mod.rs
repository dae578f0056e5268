//! Spark's compression codecs: streams that a JVM reads and writes byte for byte in the same framing.
//!
//! A stream may be followed by another one of the same codec; readers go on, as Spark's do. So segments can be glued
//! together without being unpacked.

mod lz4;
mod lzf;
mod reader;
mod snappy;
mod writer;
mod zstd;

pub use reader::CompressedReader;
pub use writer::CompressedWriter;

use crate::config::declared::{Property, Size, Text};
use crate::config::{SettingError, SparkProperties, declared};
use std::io::{self, Read, Write};

/// A codec with its settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Codec {
    kind: Algorithm,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Algorithm {
    Lz4 { block_size: usize },
    Lzf,
    Snappy { block_size: usize },
    Zstd(zstd::Settings),
}

/// Why a stream of known length cannot be unpacked.
fn corrupted(what: impl std::fmt::Display) -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        format!("Stream is corrupted: {what}"),
    )
}

/// The stream ends inside a block.
fn ended_early() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "Stream ended prematurely")
}

/// Replaces `into` by exactly `len` bytes of `source`. Memory grows with what arrives, not with what was announced.
fn read_block(source: &mut impl Read, len: usize, into: &mut Vec<u8>) -> io::Result<()> {
    into.clear();
    source.by_ref().take(len as u64).read_to_end(into)?;
    if into.len() < len {
        return Err(ended_early());
    }
    Ok(())
}

/// Fills `header`, or says that the source has ended before its first byte.
fn read_header(source: &mut impl Read, header: &mut [u8]) -> io::Result<bool> {
    let mut rest = header;
    let whole = rest.len();
    while !rest.is_empty() {
        match source.read(rest) {
            Ok(0) if rest.len() == whole => return Ok(false),
            Ok(0) => return Err(ended_early()),
            Ok(count) => rest = rest.get_mut(count..).unwrap_or_default(),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}

impl Codec {
    /// The codec of that name, short (`lz4`, in any case) or of its class, with the settings of `properties`.
    /// `property` is where the name comes from.
    ///
    /// # Errors
    /// The name is none of Spark's own codecs, or a setting of the codec is wrong.
    pub fn by_name(
        name: &str,
        property: &Property<Text>,
        properties: &SparkProperties,
    ) -> Result<Self, SettingError> {
        const PACKAGE: &str = "org.apache.spark.io.";
        let short = name.to_lowercase();
        let class = name.strip_prefix(PACKAGE);
        let is = |short_name: &str, class_name: &str| {
            short == short_name || class.is_some_and(|class| class == class_name)
        };
        let kind = if is("lz4", "LZ4CompressionCodec") {
            Algorithm::Lz4 {
                block_size: block_size(properties, &declared::LZ4_BLOCK_SIZE, lz4::BLOCK_SIZES)?,
            }
        } else if is("lzf", "LZFCompressionCodec") {
            Algorithm::Lzf
        } else if is("snappy", "SnappyCompressionCodec") {
            Algorithm::Snappy {
                block_size: block_size(
                    properties,
                    &declared::SNAPPY_BLOCK_SIZE,
                    snappy::BLOCK_SIZES,
                )?,
            }
        } else if is("zstd", "ZStdCompressionCodec") {
            Algorithm::Zstd(zstd::Settings::new(properties)?)
        } else {
            return Err(SettingError::Unsupported {
                key: property.key.to_owned(),
                value: name.to_owned(),
                cure: "use lz4, lzf, snappy or zstd".to_owned(),
            });
        };
        Ok(Self { kind })
    }

    /// The codec that a property names.
    ///
    /// # Errors
    /// As [`Codec::by_name`].
    pub fn of(
        property: &Property<Text>,
        properties: &SparkProperties,
    ) -> Result<Self, SettingError> {
        Self::by_name(&properties.text(property), property, properties)
    }

    /// The codec of shuffles, broadcasts and cached blocks.
    ///
    /// # Errors
    /// As [`Codec::by_name`].
    pub fn from_conf(properties: &SparkProperties) -> Result<Self, SettingError> {
        Self::of(&declared::CODEC, properties)
    }

    /// Its short name.
    pub fn name(&self) -> &'static str {
        match self.kind {
            Algorithm::Lz4 { .. } => "lz4",
            Algorithm::Lzf => "lzf",
            Algorithm::Snappy { .. } => "snappy",
            Algorithm::Zstd(_) => "zstd",
        }
    }

    /// Unpacks what `source` has, to its end. A source that costs something per read should be buffered: lengths and
    /// blocks are read one by one.
    ///
    /// # Errors
    /// zstd could not allocate.
    pub fn reader<R: Read>(&self, source: R) -> io::Result<CompressedReader<R>> {
        let unpacker = match self.kind {
            Algorithm::Lz4 { .. } => reader::Unpacker::Lz4(lz4::Unpacker::default()),
            Algorithm::Lzf => reader::Unpacker::Lzf(lzf::Unpacker::default()),
            Algorithm::Snappy { .. } => reader::Unpacker::Snappy(snappy::Unpacker::default()),
            Algorithm::Zstd(_) => reader::Unpacker::Zstd(zstd::Unpacker::new()?),
        };
        Ok(CompressedReader::new(source, unpacker))
    }

    /// Packs into `sink`. The stream is complete after [`CompressedWriter::finish`] or [`CompressedWriter::end_stream`]
    /// only.
    ///
    /// # Errors
    /// zstd refuses its settings.
    pub fn writer<W: Write>(&self, sink: W) -> io::Result<CompressedWriter<W>> {
        let (packer, block_size) = match &self.kind {
            Algorithm::Lz4 { block_size } => (
                writer::Packer::Lz4(lz4::Packer::new(*block_size)),
                *block_size,
            ),
            Algorithm::Lzf => (writer::Packer::Lzf, lzf::BLOCK_SIZE),
            Algorithm::Snappy { block_size } => (
                writer::Packer::Snappy(snappy::Packer::default()),
                *block_size,
            ),
            Algorithm::Zstd(settings) => (
                writer::Packer::Zstd(zstd::Packer::new(settings)?),
                settings.buffer_size,
            ),
        };
        Ok(CompressedWriter::new(sink, packer, block_size))
    }

    /// One stream with `data`.
    ///
    /// # Errors
    /// zstd refuses its settings.
    pub fn compress(&self, data: &[u8]) -> io::Result<Vec<u8>> {
        let mut writer = self.writer(Vec::new())?;
        writer.write_all(data)?;
        writer.finish()
    }

    /// What the streams in `data` hold, if that is no more than `limit` bytes.
    ///
    /// # Errors
    /// The streams are damaged or hold more.
    pub fn decompress(&self, data: &[u8], limit: usize) -> io::Result<Vec<u8>> {
        let mut unpacked = Vec::new();
        let limit = limit as u64;
        self.reader(data)?
            .take(limit.saturating_add(1))
            .read_to_end(&mut unpacked)?;
        if unpacked.len() as u64 > limit {
            return Err(corrupted(format_args!("it holds more than {limit} bytes")));
        }
        Ok(unpacked)
    }
}

fn block_size(
    properties: &SparkProperties,
    property: &Property<Size>,
    allowed: std::ops::RangeInclusive<usize>,
) -> Result<usize, SettingError> {
    let size = properties.size(property)?;
    usize::try_from(size)
        .ok()
        .filter(|size| allowed.contains(size))
        .ok_or_else(|| SettingError::Invalid {
            key: property.key.to_owned(),
            value: properties.get(property).unwrap_or_default(),
            expected: format!("between {} and {} bytes", allowed.start(), allowed.end()),
        })
}

#[cfg(test)]
mod tests;
