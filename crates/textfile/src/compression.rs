//! What the names of files say about their compression.

use std::io::{self, BufRead, Read, Write};
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

    /// By the class of a codec of Hadoop's; `None` if it is not here.
    #[must_use]
    pub fn of_codec(class: &str) -> Option<Self> {
        match class.strip_prefix("org.apache.hadoop.io.compress.")? {
            "GzipCodec" => Some(Self::Gzip),
            "DefaultCodec" | "DeflateCodec" => Some(Self::Deflate),
            "BZip2Codec" => Some(Self::Bzip2),
            _ => None,
        }
    }

    /// The end of the names of such files, with its point.
    #[must_use]
    pub fn extension(self) -> &'static str {
        match self {
            Self::Gzip => ".gz",
            Self::Deflate => ".deflate",
            Self::Bzip2 => ".bz2",
            Self::None | Self::Unsupported => "",
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

/// A file that is packed while it is written.
pub struct Packed<W: Write>(Packing<W>);

enum Packing<W: Write> {
    None(W),
    Gzip(flate2::write::GzEncoder<W>),
    Deflate(flate2::write::ZlibEncoder<W>),
    Bzip2(bzip2::write::BzEncoder<W>),
}

impl<W: Write> Packed<W> {
    /// Packs what is given to `out`, as much as Hadoop does. For codecs that are not here it is given as it is.
    pub fn new(compression: Compression, out: W) -> Self {
        let level = flate2::Compression::default();
        Self(match compression {
            Compression::None | Compression::Unsupported => Packing::None(out),
            Compression::Gzip => Packing::Gzip(flate2::write::GzEncoder::new(out, level)),
            Compression::Deflate => Packing::Deflate(flate2::write::ZlibEncoder::new(out, level)),
            Compression::Bzip2 => {
                let best = bzip2::Compression::best();
                Packing::Bzip2(bzip2::write::BzEncoder::new(out, best))
            }
        })
    }

    /// Ends the file.
    ///
    /// # Errors
    /// Those of what it is written to.
    pub fn finish(self) -> io::Result<W> {
        match self.0 {
            Packing::None(out) => Ok(out),
            Packing::Gzip(out) => out.finish(),
            Packing::Deflate(out) => out.finish(),
            Packing::Bzip2(out) => out.finish(),
        }
    }
}

impl<W: Write> Write for Packed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.0 {
            Packing::None(out) => out.write(bytes),
            Packing::Gzip(out) => out.write(bytes),
            Packing::Deflate(out) => out.write(bytes),
            Packing::Bzip2(out) => out.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.0 {
            Packing::None(out) => out.flush(),
            Packing::Gzip(out) => out.flush(),
            Packing::Deflate(out) => out.flush(),
            Packing::Bzip2(out) => out.flush(),
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
    fn what_is_packed_is_unpacked() {
        for (codec, extension) in [
            ("GzipCodec", ".gz"),
            ("DefaultCodec", ".deflate"),
            ("BZip2Codec", ".bz2"),
        ] {
            let class = format!("org.apache.hadoop.io.compress.{codec}");
            let compression = Compression::of_codec(&class).unwrap();
            assert_eq!(compression.extension(), extension);
            let mut packed = Packed::new(compression, Vec::new());
            packed.write_all(&b"text ".repeat(1000)).unwrap();
            let packed = packed.finish().unwrap();
            assert!(packed.len() < 200);
            let mut text = String::new();
            let mut reader = compression.reader(packed.as_slice());
            reader.read_to_string(&mut text).unwrap();
            assert_eq!(text, "text ".repeat(1000));
        }
        let other = Compression::of_codec("org.apache.hadoop.io.compress.SnappyCodec");
        assert_eq!(other, None);
        assert_eq!(
            Packed::new(Compression::None, vec![1]).finish().unwrap(),
            [1]
        );
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
