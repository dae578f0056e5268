//! Checksums of shuffle segments (Spark's `ShuffleChecksumHelper`).

use std::io::{self, Read};

/// Bytes read at a time.
const READ_SIZE: usize = 256 << 10;

/// An algorithm of `spark.shuffle.checksum.algorithm`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// The default.
    Adler32,
    /// The CRC of gzip.
    Crc32,
    /// Castagnoli's CRC.
    Crc32c,
}

/// A checksum that is being computed.
#[derive(Clone, Debug)]
pub struct Hasher(Inner);

#[derive(Clone, Debug)]
enum Inner {
    Adler32(adler2::Adler32),
    Crc32(crc32fast::Hasher),
    Crc32c(u32),
}

impl Algorithm {
    /// The algorithm of that name.
    pub fn parse(name: &str) -> Option<Self> {
        [Self::Adler32, Self::Crc32, Self::Crc32c]
            .into_iter()
            .find(|algorithm| algorithm.name() == name)
    }

    /// Its name, which is also the end of the names of checksum files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Adler32 => "ADLER32",
            Self::Crc32 => "CRC32",
            Self::Crc32c => "CRC32C",
        }
    }

    /// Starts a checksum.
    pub fn hasher(self) -> Hasher {
        Hasher(match self {
            Self::Adler32 => Inner::Adler32(adler2::Adler32::new()),
            Self::Crc32 => Inner::Crc32(crc32fast::Hasher::new()),
            Self::Crc32c => Inner::Crc32c(0),
        })
    }

    /// The checksum of all that can be read.
    ///
    /// # Errors
    /// Those of reading.
    pub fn of(self, mut bytes: impl Read) -> io::Result<u32> {
        let mut hasher = self.hasher();
        let mut buffer = vec![0; READ_SIZE];
        loop {
            match bytes.read(&mut buffer) {
                Ok(0) => return Ok(hasher.value()),
                Ok(count) => hasher.update(buffer.get(..count).unwrap_or_default()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

impl Hasher {
    /// Goes on with more bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        match &mut self.0 {
            Inner::Adler32(sum) => sum.write_slice(bytes),
            Inner::Crc32(sum) => sum.update(bytes),
            Inner::Crc32c(sum) => *sum = crc32c::crc32c_append(*sum, bytes),
        }
    }

    /// The checksum so far.
    pub fn value(&self) -> u32 {
        match &self.0 {
            Inner::Adler32(sum) => sum.checksum(),
            Inner::Crc32(sum) => sum.clone().finalize(),
            Inner::Crc32c(sum) => *sum,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_values() {
        for (algorithm, name, value) in [
            (Algorithm::Adler32, "ADLER32", 0x091e_01de),
            (Algorithm::Crc32, "CRC32", 0xcbf4_3926),
            (Algorithm::Crc32c, "CRC32C", 0xe306_9283),
        ] {
            assert_eq!(algorithm.of(&b"123456789"[..]).unwrap(), value, "{name}");
            let mut hasher = algorithm.hasher();
            hasher.update(b"1234");
            hasher.update(b"56789");
            assert_eq!(hasher.value(), value, "{name}");
            assert_eq!(Algorithm::parse(name), Some(algorithm));
        }
        assert_eq!(Algorithm::parse("adler32"), None);
        assert_eq!(Algorithm::Adler32.hasher().value(), 1);
    }
}
