//! What the names of files say about their compression.

use std::io::{self, BufRead, Read};
use std::path::Path;

/// What a file's name says about its compression. The names are those of Hadoop's codecs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// As it is.
    None,
    /// `.gz`
    Gzip,
    /// `.deflate`: zlib's format.
    Deflate,
    /// `.bz2`, of which Hadoop can read a part.
    Bzip2,
    /// Of a codec that is not here.
    Unsupported,
}

impl Compression {
    /// By the end of a file's name.
    #[must_use]
    pub fn of(name: &str) -> Self {
        let extension = Path::new(name).extension();
        match extension.and_then(|name| name.to_str()) {
            Some("gz") => Self::Gzip,
            Some("deflate") => Self::Deflate,
            Some("bz2") => Self::Bzip2,
            Some("lz4" | "snappy" | "zst" | "lzo") => Self::Unsupported,
            _ => Self::None,
        }
    }

    /// What is in a file, of which `input` gives all bytes. Files of codecs that are not here are given as they are.
    pub fn reader<'a>(self, input: impl Read + Send + 'a) -> Box<dyn Read + Send + 'a> {
        let input = io::BufReader::with_capacity(64 << 10, input);
        match self {
            Self::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(input)),
            Self::Deflate => Box::new(flate2::bufread::ZlibDecoder::new(input)),
            Self::Bzip2 => Box::new(AskedTwice {
                unpacked: bzip2::bufread::MultiBzDecoder::new(input),
                ended: false,
            }),
            Self::None | Self::Unsupported => Box::new(input),
        }
    }
}

/// What a file of bzip2 unpacks to. Hadoop's decoder meets the end of the file twice, which counts where checksums are
/// read.
struct AskedTwice<R: BufRead> {
    unpacked: bzip2::bufread::MultiBzDecoder<R>,
    ended: bool,
}

impl<R: BufRead> Read for AskedTwice<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.unpacked.read(buffer)?;
        if count == 0 && !buffer.is_empty() && !std::mem::replace(&mut self.ended, true) {
            self.unpacked.get_mut().fill_buf()?;
        }
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn names_say_how_files_are_packed() {
        assert_eq!(Compression::of("a.gz"), Compression::Gzip);
        assert_eq!(Compression::of("part-0.txt.bz2"), Compression::Bzip2);
        assert_eq!(Compression::of("a.zst"), Compression::Unsupported);
        assert_eq!(Compression::of("a.gz.txt"), Compression::None);
        assert_eq!(Compression::of("gz"), Compression::None);
        assert_eq!(Compression::of(".gz"), Compression::None);
    }

    #[test]
    fn packed_files_are_unpacked_all_of_their_members() {
        let mut packed = Vec::new();
        for text in ["first", "second"] {
            let mut member =
                flate2::write::GzEncoder::new(&mut packed, flate2::Compression::fast());
            member.write_all(text.as_bytes()).unwrap();
            member.finish().unwrap();
        }
        let mut text = String::new();
        let mut reader = Compression::Gzip.reader(packed.as_slice());
        reader.read_to_string(&mut text).unwrap();
        assert_eq!(text, "firstsecond");
    }
}
