//! Which blocks are compressed and encrypted: what Spark's `SerializerManager` does with streams.

use super::codec::{Codec, CompressedReader, CompressedWriter};
use super::crypto::{DecryptingReader, EncryptingWriter, IoEncryption};
use crate::config::{SettingError, SparkProperties, declared};
use std::io::{self, Read, Write};
use wire::ids::BlockId;

/// Rules of one application.
#[derive(Clone, Debug)]
pub struct SerializerManager {
    codec: Codec,
    broadcast: bool,
    shuffle: bool,
    rdds: bool,
    shuffle_spill: bool,
    encryption: Option<IoEncryption>,
}

impl SerializerManager {
    /// `encryption_key` is the driver's, if `spark.io.encryption.enabled`.
    ///
    /// # Errors
    /// A setting is wrong, or names a codec or cipher that is not Spark's own.
    pub fn new(
        properties: &SparkProperties,
        encryption_key: Option<&[u8]>,
    ) -> Result<Self, SettingError> {
        Ok(Self {
            codec: Codec::from_conf(properties)?,
            broadcast: properties.switch(&declared::BROADCAST_COMPRESS)?,
            shuffle: properties.switch(&declared::SHUFFLE_COMPRESS)?,
            rdds: properties.switch(&declared::RDD_COMPRESS)?,
            shuffle_spill: properties.switch(&declared::SHUFFLE_SPILL_COMPRESS)?,
            encryption: encryption_key
                .map(|key| IoEncryption::new(key, properties))
                .transpose()?,
        })
    }

    /// The codec of everything that is compressed.
    pub fn codec(&self) -> &Codec {
        &self.codec
    }

    /// How files are encrypted, if they are.
    pub fn encryption(&self) -> Option<&IoEncryption> {
        self.encryption.as_ref()
    }

    /// Whether blocks of that kind are compressed.
    pub fn should_compress(&self, block_id: &BlockId) -> bool {
        match block_id {
            BlockId::Shuffle { .. }
            | BlockId::ShuffleBatch { .. }
            | BlockId::ShuffleChunk { .. }
            | BlockId::TempShuffle { .. } => self.shuffle,
            BlockId::Broadcast { .. } => self.broadcast,
            BlockId::Rdd { .. } => self.rdds,
            BlockId::TempLocal { .. } => self.shuffle_spill,
            _ => false,
        }
    }

    /// Decompresses a block of that kind, if it is compressed.
    ///
    /// # Errors
    /// The codec cannot be set up.
    pub fn decompress<R: Read>(&self, block_id: &BlockId, source: R) -> io::Result<PlainReader<R>> {
        Ok(match self.should_compress(block_id) {
            true => PlainReader::Compressed(self.codec.reader(source)?),
            false => PlainReader::Plain(source),
        })
    }

    /// Compresses a block of that kind, if it shall be.
    ///
    /// # Errors
    /// The codec cannot be set up.
    pub fn compress<W: Write>(&self, block_id: &BlockId, sink: W) -> io::Result<PlainWriter<W>> {
        Ok(match self.should_compress(block_id) {
            true => PlainWriter::Compressed(self.codec.writer(sink)?),
            false => PlainWriter::Plain(sink),
        })
    }

    /// Decrypts a file or a part of one that was encrypted by itself, if files are encrypted.
    ///
    /// # Errors
    /// The first bytes cannot be read.
    pub fn decrypt<R: Read>(&self, source: R) -> io::Result<FileReader<R>> {
        Ok(match &self.encryption {
            Some(encryption) => FileReader::Encrypted(encryption.reader(source)?),
            None => FileReader::Plain(source),
        })
    }

    /// Encrypts a file, if files are encrypted.
    ///
    /// # Errors
    /// The first bytes cannot be written.
    pub fn encrypt<W: Write>(&self, sink: W) -> io::Result<FileWriter<W>> {
        Ok(match &self.encryption {
            Some(encryption) => FileWriter::Encrypted(encryption.writer(sink)?),
            None => FileWriter::Plain(sink),
        })
    }

    /// Decrypts and decompresses (`SerializerManager.wrapStream`).
    ///
    /// # Errors
    /// The first bytes cannot be read, or the codec cannot be set up.
    pub fn wrap_reader<R: Read>(
        &self,
        block_id: &BlockId,
        source: R,
    ) -> io::Result<PlainReader<FileReader<R>>> {
        self.decompress(block_id, self.decrypt(source)?)
    }

    /// Compresses and encrypts (`SerializerManager.wrapStream`).
    ///
    /// # Errors
    /// The first bytes cannot be written, or the codec cannot be set up.
    pub fn wrap_writer<W: Write>(
        &self,
        block_id: &BlockId,
        sink: W,
    ) -> io::Result<PlainWriter<FileWriter<W>>> {
        self.compress(block_id, self.encrypt(sink)?)
    }
}

/// Data that may have been compressed.
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "one per stream")]
pub enum PlainReader<R> {
    /// They are.
    Compressed(CompressedReader<R>),
    /// They are as they are.
    Plain(R),
}

impl<R: Read> Read for PlainReader<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Compressed(reader) => reader.read(buf),
            Self::Plain(reader) => reader.read(buf),
        }
    }
}

/// Data that may be compressed. The end is written by [`PlainWriter::finish`] only.
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "one per stream")]
pub enum PlainWriter<W> {
    /// They are.
    Compressed(CompressedWriter<W>),
    /// They stay as they are.
    Plain(W),
}

impl<W: Write> PlainWriter<W> {
    /// Writes the end and gives the sink back.
    ///
    /// # Errors
    /// Those of the sink.
    pub fn finish(self) -> io::Result<W> {
        match self {
            Self::Compressed(writer) => writer.finish(),
            Self::Plain(mut sink) => sink.flush().map(|()| sink),
        }
    }
}

impl<W: Write> Write for PlainWriter<W> {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        match self {
            Self::Compressed(writer) => writer.write(buf),
            Self::Plain(writer) => writer.write(buf),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Compressed(writer) => writer.flush(),
            Self::Plain(writer) => writer.flush(),
        }
    }
}

/// A file that may have been encrypted.
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "one per file")]
pub enum FileReader<R> {
    /// It is.
    Encrypted(DecryptingReader<R>),
    /// It is as it is.
    Plain(R),
}

impl<R: Read> Read for FileReader<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Encrypted(reader) => reader.read(buf),
            Self::Plain(reader) => reader.read(buf),
        }
    }
}

/// A file that may be encrypted.
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "one per file")]
pub enum FileWriter<W> {
    /// It is.
    Encrypted(EncryptingWriter<W>),
    /// It stays as it is.
    Plain(W),
}

impl<W: Write> FileWriter<W> {
    /// Gives the sink back.
    pub fn into_inner(self) -> W {
        match self {
            Self::Encrypted(writer) => writer.into_inner(),
            Self::Plain(sink) => sink,
        }
    }
}

impl<W: Write> Write for FileWriter<W> {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        match self {
            Self::Encrypted(writer) => writer.write(buf),
            Self::Plain(writer) => writer.write(buf),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Encrypted(writer) => writer.flush(),
            Self::Plain(writer) => writer.flush(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_have_their_settings() {
        let names = [
            "shuffle_1_2_3",
            "shuffle_1_2_3_5",
            "shuffleChunk_1_2_3_4",
            "temp_shuffle_00000000-0000-0001-8000-000000000002",
            "broadcast_1_piece0",
            "rdd_1_2",
            "temp_local_00000000-0000-0001-8000-000000000002",
            "taskresult_1",
            "shuffle_1_2_0.data",
        ];
        let compressed = |settings: &[&str]| {
            let mut properties = SparkProperties::default();
            for (index, key) in settings.iter().enumerate() {
                properties.set(*key, if index == 0 { "false" } else { "true" });
            }
            let manager = SerializerManager::new(&properties, None).unwrap();
            names.map(|name| u8::from(manager.should_compress(&BlockId::parse(name).unwrap())))
        };
        assert_eq!(compressed(&[]), [1, 1, 1, 1, 1, 0, 1, 0, 0]);
        assert_eq!(
            compressed(&["spark.shuffle.compress", "spark.rdd.compress"]),
            [0, 0, 0, 0, 1, 1, 1, 0, 0]
        );
        assert_eq!(
            compressed(&["spark.broadcast.compress"]),
            [1, 1, 1, 1, 0, 0, 1, 0, 0]
        );
        assert_eq!(
            compressed(&["spark.shuffle.spill.compress"]),
            [1, 1, 1, 1, 1, 0, 0, 0, 0]
        );
    }

    #[test]
    fn streams_are_compressed_and_then_encrypted() {
        let properties = SparkProperties::default();
        let manager = SerializerManager::new(&properties, Some(&[7; 32])).unwrap();
        let without = SerializerManager::new(&properties, None).unwrap();
        let data = b"some data ".repeat(1000);
        for name in ["shuffle_1_2_3", "taskresult_1"] {
            let block_id = BlockId::parse(name).unwrap();
            let mut writer = manager.wrap_writer(&block_id, Vec::new()).unwrap();
            writer.write_all(&data).unwrap();
            let packed = writer.finish().unwrap().into_inner();
            let mut unpacked = Vec::new();
            let mut reader = manager.wrap_reader(&block_id, &packed[..]).unwrap();
            reader.read_to_end(&mut unpacked).unwrap();
            assert!(unpacked == data);
            let mut compressed = Vec::new();
            let mut reader = manager.decrypt(&packed[..]).unwrap();
            reader.read_to_end(&mut compressed).unwrap();
            let mut reader = without.wrap_reader(&block_id, &compressed[..]).unwrap();
            unpacked.clear();
            reader.read_to_end(&mut unpacked).unwrap();
            assert!(unpacked == data);
        }
    }
}
