//! How the bytes of a segment are packed: records, compressed, then encrypted.

use super::super::codec::{Codec, CompressedWriter};
use crate::config::{SettingError, SparkProperties};
use std::io::{self, Read, Write};
use std::mem;

/// What `SerializerManager.wrapStream` does with shuffle blocks.
#[derive(Debug, Clone)]
pub(super) struct SegmentFormat {
    codec: Option<Codec>,
}

impl SegmentFormat {
    /// As the settings say.
    pub(super) fn new(conf: &SparkProperties, key: Option<&[u8]>) -> Result<Self, SettingError> {
        if key.is_some() {
            return Err(SettingError::Unsupported {
                key: "spark.io.encryption.enabled".to_owned(),
                value: "true".to_owned(),
                cure: "set it to false".to_owned(),
            });
        }
        let compress = conf.switch("spark.shuffle.compress", true)?;
        Ok(Self {
            codec: compress.then(|| Codec::from_conf(conf)).transpose()?,
        })
    }

    /// Whether a segment's bytes differ from its records'.
    pub(super) fn changes_bytes(&self) -> bool {
        self.codec.is_some()
    }

    /// A compressor for one segment after the other.
    pub(super) fn packer(&self) -> io::Result<Packer> {
        let codec = self.codec.as_ref();
        Ok(Packer {
            writer: codec.map(|codec| codec.writer(Vec::new())).transpose()?,
        })
    }

    /// The records in a segment.
    pub(super) fn reader(&self, source: Box<dyn Read + Send>) -> io::Result<Box<dyn Read + Send>> {
        Ok(match &self.codec {
            Some(codec) => Box::new(codec.reader(source)?),
            None => source,
        })
    }
}

/// Compresses; its tables serve all segments of a map output.
#[derive(Debug)]
pub(super) struct Packer {
    writer: Option<CompressedWriter<Vec<u8>>>,
}

impl Packer {
    /// Whether packing makes anything smaller.
    pub(super) fn compresses(&self) -> bool {
        self.writer.is_some()
    }

    /// Appends a complete stream with `records` to `out`. Streams that follow each other are read as one.
    pub(super) fn pack(&mut self, records: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
        let Some(writer) = &mut self.writer else {
            out.extend_from_slice(records);
            return Ok(());
        };
        mem::swap(writer.get_mut(), out);
        let packed = writer.write_all(records).and_then(|()| writer.end_stream());
        mem::swap(writer.get_mut(), out);
        packed
    }
}
