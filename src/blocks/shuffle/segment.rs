//! How the bytes of a segment are packed: records, compressed, then encrypted.

use crate::blocks::codec::CompressedWriter;
use crate::blocks::serializer_manager::{FileReader, FileWriter, SerializerManager};
use crate::config::{SettingError, SparkProperties, declared};
use std::io::{self, Read, Write};
use std::mem;
use wire::ids::BlockId;

/// What `SerializerManager.wrapStream` does with shuffle blocks.
#[derive(Debug, Clone)]
pub(super) struct SegmentFormat {
    manager: SerializerManager,
}

/// Any shuffle block: all are packed alike.
const BLOCK: BlockId = BlockId::Shuffle {
    shuffle_id: 0,
    map_id: 0,
    reduce_id: 0,
};

impl SegmentFormat {
    /// As the settings say; `key` is that of local files, if they are encrypted.
    pub(super) fn new(conf: &SparkProperties, key: Option<&[u8]>) -> Result<Self, SettingError> {
        SerializerManager::new(conf, key).map(|manager| Self { manager })
    }

    /// Records as they are.
    ///
    /// # Errors
    /// Not seen.
    pub(super) fn as_is() -> Result<Self, SettingError> {
        let conf = [(declared::SHUFFLE_COMPRESS.key, "false")];
        Self::new(&SparkProperties::from_launch(conf, []), None)
    }

    /// Whether a segment's bytes differ from its records'.
    pub(super) fn changes_bytes(&self) -> bool {
        self.manager.should_compress(&BLOCK) || self.manager.encryption().is_some()
    }

    /// A compressor for one segment after the other.
    pub(super) fn packer(&self) -> io::Result<Packer> {
        let compress = self.manager.should_compress(&BLOCK);
        let codec = compress.then(|| self.manager.codec());
        Ok(Packer {
            writer: codec.map(|codec| codec.writer(Vec::new())).transpose()?,
        })
    }

    /// Encrypts what is packed already. A segment is encrypted as a whole.
    pub(super) fn encrypt<W: Write>(&self, sink: W) -> io::Result<FileWriter<W>> {
        self.manager.encrypt(sink)
    }

    /// The packed bytes of what was encrypted as a whole.
    pub(super) fn decrypt<R: Read>(&self, source: R) -> io::Result<FileReader<R>> {
        self.manager.decrypt(source)
    }

    /// The records in a segment.
    pub(super) fn reader(&self, source: Box<dyn Read + Send>) -> io::Result<Box<dyn Read + Send>> {
        if !self.changes_bytes() {
            return Ok(source);
        }
        Ok(Box::new(self.manager.wrap_reader(&BLOCK, source)?))
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
