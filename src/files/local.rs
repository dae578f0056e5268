//! A local file as Hadoop's `LocalFileSystem` reads it: held against the checksums in `.name.crc` beside it, if that is
//! there, and with the bytes of both counted as they are read, as much as Hadoop's buffers read ahead.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use std::sync::Arc;

use bytes::Buf;

/// How a file of checksums begins.
pub(super) const MAGIC: &[u8; 4] = b"crc\0";
/// Its length with the number of bytes in a chunk.
const HEAD: usize = 8;
/// Chunks whose checksums are read at a time.
const CHUNKS_PER_READ: usize = 32;
/// Bytes of a checksum.
const SUM: usize = 4;
/// Least size of the buffer for checksums: `file.stream-buffer-size`.
const SUMS_BUFFER: usize = 4096;
/// `file.bytes-per-checksum`: of files that are written, which decides the size of that buffer too.
const USUAL_CHUNK: usize = 512;
/// Chunks larger than this are not believed.
const MAX_CHUNK: u32 = 1 << 26;

/// Is told how many bytes were read of a file.
pub type OnRead = Arc<dyn Fn(usize) + Send + Sync>;

/// A file does not have the checksums that it should have: `org.apache.hadoop.fs.ChecksumException`.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ChecksumError(String);

impl ChecksumError {
    /// The text, if that is what an error is.
    #[must_use]
    pub fn of(error: &io::Error) -> Option<&str> {
        let inner: &Self = error.get_ref()?.downcast_ref()?;
        Some(&inner.0)
    }

    fn error(text: String) -> io::Error {
        io::Error::new(io::ErrorKind::InvalidData, Self(text))
    }
}

/// A file that is open for reading, at a position.
pub struct LocalFile {
    data: Buffered,
    sums: Option<Sums>,
}

struct Sums {
    file: Buffered,
    /// The name of the data for errors.
    name: String,
    /// Bytes that have one checksum.
    chunk: usize,
    /// What has been read of a chunk whose rest is not asked for yet.
    held: Vec<u8>,
    taken: usize,
    /// Where the next chunk begins.
    position: u64,
}

impl LocalFile {
    /// Opens a file. `name` is what errors call it, `buffer` Hadoop's `io.file.buffer.size`.
    ///
    /// # Errors
    /// It cannot be opened. That its checksums cannot is only logged.
    pub fn open(path: &Path, name: &str, buffer: usize, on_read: &OnRead) -> io::Result<Self> {
        let data = Buffered::open(path, buffer, on_read)?;
        let sums = match Sums::open(path, name, buffer, on_read) {
            Ok(sums) => Some(sums),
            Err(error) => {
                if error.kind() != io::ErrorKind::NotFound {
                    tracing::warn!(
                        "Problem opening checksum file: {name}. Ignoring exception: {error}"
                    );
                }
                None
            }
        };
        Ok(Self { data, sums })
    }

    /// Goes to a position.
    ///
    /// # Errors
    /// The chunk before it is damaged, or the file cannot be read.
    pub fn seek(&mut self, position: u64) -> io::Result<()> {
        let Some(sums) = &mut self.sums else {
            return self.data.seek(position);
        };
        let chunk = sums.chunk as u64;
        sums.held.clear();
        sums.taken = 0;
        sums.position = position / chunk * chunk;
        // Less than a chunk.
        let mut before = vec![0; (position % chunk) as usize];
        self.read_exact(&mut before)
            .or_else(|error| match error.kind() {
                io::ErrorKind::UnexpectedEof => Ok(()),
                _ => Err(error),
            })
    }
}

impl Read for LocalFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &mut self.sums {
            None => self.data.read_full(buffer),
            Some(sums) => sums.read(&mut self.data, buffer),
        }
    }
}

impl Sums {
    fn open(data: &Path, name: &str, buffer: usize, on_read: &OnRead) -> io::Result<Self> {
        let size = SUMS_BUFFER.max(buffer / USUAL_CHUNK);
        let mut file = Buffered::open(&sums_of(data), size, on_read)?;
        let mut head = [0; HEAD];
        if file.read_full(&mut head)? < HEAD {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let mut head = head.as_slice();
        let magic = head.get_u32();
        let chunk = head.get_u32();
        if magic.to_be_bytes() != *MAGIC || chunk == 0 || chunk > MAX_CHUNK {
            return Err(io::Error::other(format!("Not a checksum file: {name}")));
        }
        Ok(Self {
            file,
            name: name.to_owned(),
            chunk: chunk as usize,
            held: Vec::new(),
            taken: 0,
            position: 0,
        })
    }

    fn read(&mut self, data: &mut Buffered, buffer: &mut [u8]) -> io::Result<usize> {
        let mut done = 0;
        while let Some(room) = buffer.get_mut(done..).filter(|room| !room.is_empty()) {
            let rest = self.held.get(self.taken..).unwrap_or_default();
            let count = if !rest.is_empty() {
                let count = rest.len().min(room.len());
                room.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
                self.taken += count;
                count
            } else if room.len() >= self.chunk {
                self.read_chunks(data, room)?
            } else {
                let mut held = std::mem::take(&mut self.held);
                held.resize(self.chunk, 0);
                let count = self.read_chunks(data, &mut held)?;
                held.truncate(count);
                self.held = held;
                self.taken = 0;
                if count == 0 {
                    break;
                }
                continue;
            };
            if count == 0 {
                break;
            }
            done += count;
        }
        Ok(done)
    }

    /// Reads whole chunks, or up to the end of the file, and checks them.
    fn read_chunks(&mut self, data: &mut Buffered, buffer: &mut [u8]) -> io::Result<usize> {
        let wanted = (buffer.len() / self.chunk).min(CHUNKS_PER_READ);
        let mut sums = [0; SUM * CHUNKS_PER_READ];
        let sums = sums.get_mut(..SUM * wanted).unwrap_or_default();
        let (name, position) = (&self.name, self.position);
        let at = HEAD as u64 + SUM as u64 * (position / self.chunk as u64);
        self.file.seek(at)?;
        let read = self.file.read_full(sums)?;
        if read % SUM != 0 {
            return Err(ChecksumError::error(format!(
                "Checksum file not a length multiple of checksum size in {name} at {position} checksumpos: {at} sumLenread: {read}"
            )));
        }
        let most = match read {
            0 => buffer.len(),
            read => buffer.len().min(self.chunk * (read / SUM)),
        };
        data.seek(self.position)?;
        let count = data.read_full(buffer.get_mut(..most).unwrap_or_default())?;
        if read == 0 && count > 0 {
            return Err(ChecksumError::error(format!(
                "Checksum error: {name} at {position}"
            )));
        }
        let chunks = buffer.get(..count).unwrap_or_default().chunks(self.chunk);
        for (chunk, mut expected) in chunks.zip(sums.chunks(SUM)) {
            let (expected, got) = (expected.get_u32(), crc32fast::hash(chunk));
            if expected != got {
                return Err(ChecksumError::error(format!(
                    "Checksum error: {name} at {} exp: {} got: {}",
                    self.position,
                    expected.cast_signed(),
                    got.cast_signed()
                )));
            }
            self.position += chunk.len() as u64;
        }
        Ok(count)
    }
}

/// `ChecksumFileSystem.getChecksumFile`
pub(super) fn sums_of(data: &Path) -> PathBuf {
    let mut name = std::ffi::OsString::from(".");
    name.push(data.file_name().unwrap_or_default());
    name.push(".crc");
    data.with_file_name(name)
}

/// A file behind a buffer like Java's `BufferedInputStream`. Each read of the file is told.
struct Buffered {
    file: File,
    /// Where the file is.
    position: u64,
    buffer: Vec<u8>,
    taken: usize,
    /// Bytes that the buffer reads at a time.
    size: usize,
    on_read: OnRead,
}

impl Buffered {
    fn open(path: &Path, size: usize, on_read: &OnRead) -> io::Result<Self> {
        Ok(Self {
            file: File::open(path)?,
            position: 0,
            buffer: Vec::new(),
            taken: 0,
            size,
            on_read: Arc::clone(on_read),
        })
    }

    fn seek(&mut self, to: u64) -> io::Result<()> {
        if self.taken < self.buffer.len() {
            let begin = self.position - self.buffer.len() as u64;
            if (begin..self.position).contains(&to) {
                // Less than the buffer's length.
                self.taken = (to - begin) as usize;
                return Ok(());
            }
        } else if to == self.position {
            return Ok(());
        }
        self.buffer.clear();
        self.taken = 0;
        self.position = self.file.seek(SeekFrom::Start(to))?;
        Ok(())
    }

    /// Fills `room`, unless the file ends before that.
    fn read_full(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let mut done = 0;
        while let Some(room) = room.get_mut(done..).filter(|room| !room.is_empty()) {
            let rest = self.buffer.get(self.taken..).unwrap_or_default();
            let count = if !rest.is_empty() {
                let count = rest.len().min(room.len());
                let (Some(to), Some(from)) = (room.get_mut(..count), rest.get(..count)) else {
                    break;
                };
                to.copy_from_slice(from);
                self.taken += count;
                count
            } else if room.len() >= self.size {
                self.buffer.clear();
                self.taken = 0;
                self.read_file(room)?
            } else {
                let mut buffer = std::mem::take(&mut self.buffer);
                buffer.resize(self.size, 0);
                let count = self.read_file(&mut buffer)?;
                buffer.truncate(count);
                self.buffer = buffer;
                self.taken = 0;
                if count == 0 {
                    break;
                }
                continue;
            };
            if count == 0 {
                break;
            }
            done += count;
        }
        Ok(done)
    }

    fn read_file(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let count = loop {
            match self.file.read(room) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => break read?,
            }
        };
        self.position += count as u64;
        (self.on_read)(count);
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    struct Made {
        dir: tempfile::TempDir,
        bytes: Vec<u8>,
    }

    impl Made {
        /// A file of `size` bytes and its checksums by chunks of 512.
        fn new(size: usize) -> Self {
            let bytes: Vec<u8> = (0..size).map(|i| (i * 7 + i / 251) as u8).collect();
            let dir = tempfile::tempdir().unwrap();
            let mut sums = b"crc\0\0\0\x02\0".to_vec();
            for chunk in bytes.chunks(512) {
                sums.extend(crc32fast::hash(chunk).to_be_bytes());
            }
            std::fs::write(dir.path().join("data"), &bytes).unwrap();
            std::fs::write(dir.path().join(".data.crc"), sums).unwrap();
            Self { dir, bytes }
        }

        fn change(&self, name: &str, at: usize) {
            let path = self.dir.path().join(name);
            let mut bytes = std::fs::read(&path).unwrap();
            bytes[at] ^= 1;
            std::fs::write(path, bytes).unwrap();
        }

        /// What is read from `start` on in pieces of `step`, and how many bytes were read of the files.
        fn read(&self, start: u64, step: usize) -> io::Result<(Vec<u8>, usize)> {
            let counted = Arc::new(AtomicUsize::new(0));
            let count = Arc::clone(&counted);
            let on_read: OnRead = Arc::new(move |bytes| {
                count.fetch_add(bytes, Ordering::Relaxed);
            });
            let path = self.dir.path().join("data");
            let mut file = LocalFile::open(&path, "file:/data", 1 << 16, &on_read)?;
            file.seek(start)?;
            let mut all = Vec::new();
            let mut piece = vec![0; step];
            loop {
                let count = file.read(&mut piece)?;
                all.extend_from_slice(&piece[..count]);
                if count < step {
                    return Ok((all, counted.load(Ordering::Relaxed)));
                }
            }
        }
    }

    #[test]
    fn bytes_are_those_of_the_file_however_they_are_read() {
        for size in [0, 1, 511, 512, 513, 20_000, 200_001] {
            let made = Made::new(size);
            for start in [0, 1, 511, 512, 700, 16_384, 100_000] {
                let expected = made.bytes.get(start..).unwrap_or_default();
                for step in [1, 100, 512, 1000, 65_536, 300_000] {
                    if step == 1 && size > 1000 {
                        continue;
                    }
                    let (read, _) = made.read(start as u64, step).unwrap();
                    assert_eq!(read, expected, "{size} {start} {step}");
                }
            }
        }
    }

    #[test]
    fn checksums_count_as_input() {
        let made = Made::new(100_000);
        // At the end, the last one is read again, as Hadoop does.
        let sums = 8 + 4 * 196 + 4;
        assert_eq!(made.read(0, 65_536).unwrap().1, 100_000 + sums);
        std::fs::remove_file(made.dir.path().join(".data.crc")).unwrap();
        assert_eq!(made.read(0, 65_536).unwrap().1, 100_000);
        // The buffer reads more than it is asked for.
        assert_eq!(made.read(99_999, 10).unwrap().1, 1);
        assert_eq!(made.read(100_000, 10).unwrap().1, 0);
    }

    #[test]
    fn damage_is_found() {
        let made = Made::new(5000);
        made.change("data", 3000);
        let error = made.read(0, 65_536).unwrap_err();
        let text = ChecksumError::of(&error).unwrap();
        assert!(
            text.starts_with("Checksum error: file:/data at 2560 exp: "),
            "{text}"
        );
        // What is not read is not checked.
        made.read(3072, 65_536).unwrap();
        made.change("data", 3000);
        made.change(".data.crc", 8);
        assert!(made.read(0, 10).is_err());
        // A file that is no file of checksums is none.
        made.change(".data.crc", 0);
        assert_eq!(made.read(0, 65_536).unwrap().0, made.bytes);
    }

    #[test]
    fn data_without_checksum_is_damage() {
        let made = Made::new(1024);
        let sums = made.dir.path().join(".data.crc");
        let whole = std::fs::read(&sums).unwrap();
        std::fs::write(&sums, &whole[..12]).unwrap();
        let error = made.read(0, 512).unwrap_err();
        assert_eq!(
            ChecksumError::of(&error),
            Some("Checksum error: file:/data at 512")
        );
        std::fs::write(&sums, &whole[..14]).unwrap();
        assert!(ChecksumError::of(&made.read(0, 1024).unwrap_err()).is_some());
    }
}
