//! Files of this host as Hadoop's `LocalFileSystem` writes them: with checksums in `.name.crc` beside them, and with
//! the permissions that Hadoop's settings say.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::umask;
use crate::files::HadoopConf;
use crate::files::error::FileError;
use crate::files::local::{MAGIC, sums_of};

/// `file.bytes-per-checksum`
const CHUNK: &str = "file.bytes-per-checksum";
/// Its default.
const USUAL_CHUNK: u32 = 512;
/// Larger ones are no chunks.
const MAX_CHUNK: u32 = 1 << 26;
/// How files and directories are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LocalOutputs {
    /// Bytes that have one checksum.
    chunk: u32,
    /// Permissions that nothing gets.
    umask: u32,
}

/// A file that is written.
#[derive(Debug)]
pub struct LocalOutput {
    data: BufWriter<File>,
    sums: BufWriter<File>,
    chunk: usize,
    hasher: crc32fast::Hasher,
    /// Bytes that the hasher has of a chunk.
    in_chunk: usize,
    length: u64,
}

impl LocalOutputs {
    /// As a job's settings say.
    ///
    /// # Errors
    /// [`FileError::Unsupported`]
    pub(super) fn new(conf: &HadoopConf) -> Result<Self, FileError> {
        let chunk = match conf.text(CHUNK) {
            None => Some(USUAL_CHUNK),
            Some(chunk) => chunk
                .parse()
                .ok()
                .filter(|chunk| (1..=MAX_CHUNK).contains(chunk)),
        };
        let chunk = chunk.ok_or_else(|| FileError::unsupported(format!("{CHUNK} is set")))?;
        Ok(Self {
            chunk,
            umask: umask(conf)?,
        })
    }

    /// Makes a new file, and the directories above it that are not there.
    ///
    /// # Errors
    /// It is there already, or those of the operating system.
    pub(super) fn create(&self, path: &Path) -> io::Result<LocalOutput> {
        if let Some(dir) = path.parent() {
            self.create_dirs(dir)?;
        }
        Ok(LocalOutput {
            data: BufWriter::new(self.open(path)?),
            sums: {
                let mut sums = BufWriter::new(self.open(&sums_of(path))?);
                sums.write_all(MAGIC)?;
                sums.write_all(&self.chunk.to_be_bytes())?;
                sums
            },
            chunk: self.chunk as usize,
            hasher: crc32fast::Hasher::new(),
            in_chunk: 0,
            length: 0,
        })
    }

    /// Gives a file and its checksums another name, in the place of whatever is there, and makes the directories above
    /// it that are not.
    ///
    /// # Errors
    /// Those of the operating system.
    pub(super) fn replace(&self, from: &Path, to: &Path) -> io::Result<()> {
        if let Some(dir) = to.parent() {
            self.create_dirs(dir)?;
        }
        if to.is_dir() {
            fs::remove_dir_all(to)?;
        }
        rename(from, to)
    }

    fn open(&self, path: &Path) -> io::Result<File> {
        let file = OpenOptions::new().write(true).create_new(true).open(path)?;
        file.set_permissions(Permissions::from_mode(0o666 & !self.umask))?;
        Ok(file)
    }

    /// Makes a directory, and those above it that are not there.
    ///
    /// # Errors
    /// Those of the operating system.
    fn create_dirs(&self, dir: &Path) -> io::Result<()> {
        // As deep as the path is long, which systems limit.
        match fs::create_dir(dir) {
            Ok(()) => fs::set_permissions(dir, Permissions::from_mode(0o777 & !self.umask)),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let above = dir.parent().ok_or(error)?;
                self.create_dirs(above)?;
                self.create_dirs(dir)
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists && dir.is_dir() => Ok(()),
            Err(error) => Err(error),
        }
    }
}

/// Gives a file and its checksums another name.
///
/// # Errors
/// Those of the operating system.
pub(super) fn rename(from: &Path, to: &Path) -> io::Result<()> {
    // As Hadoop does it: a reader that finds no checksums reads without.
    fs::rename(from, to)?;
    fs::rename(sums_of(from), sums_of(to))
}

/// Removes a file and its checksums.
///
/// # Errors
/// Those of the operating system.
pub(super) fn remove(path: &Path) -> io::Result<()> {
    fs::remove_file(path)?;
    fs::remove_file(sums_of(path))
}

impl LocalOutput {
    /// Ends the file, and gives its length in bytes.
    ///
    /// # Errors
    /// Those of the operating system.
    pub fn finish(mut self) -> io::Result<u64> {
        if self.in_chunk > 0 {
            self.end_chunk()?;
        }
        self.data.flush()?;
        self.sums.flush()?;
        Ok(self.length)
    }

    fn end_chunk(&mut self) -> io::Result<()> {
        let hasher = std::mem::take(&mut self.hasher);
        self.in_chunk = 0;
        self.sums.write_all(&hasher.finalize().to_be_bytes())
    }
}

impl Write for LocalOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.data.write(bytes)?;
        let mut rest = bytes.get(..count).unwrap_or(bytes);
        self.length += count as u64;
        while !rest.is_empty() {
            let (now, later) = rest.split_at(rest.len().min(self.chunk - self.in_chunk));
            self.hasher.update(now);
            self.in_chunk += now.len();
            if self.in_chunk == self.chunk {
                self.end_chunk()?;
            }
            rest = later;
        }
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.data.flush()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::sync::Arc;

    use super::super::UMASK;
    use super::*;
    use crate::files::{LocalFile, OnRead};

    fn outputs(settings: &[(&str, &str)]) -> Result<LocalOutputs, FileError> {
        let conf: HadoopConf = match settings {
            [] => HadoopConf::from([]),
            [pair] => HadoopConf::from([*pair]),
            [first, second, ..] => HadoopConf::from([*first, *second]),
        };
        LocalOutputs::new(&conf)
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn files_have_the_checksums_that_readers_hold_them_against() {
        let dir = tempfile::tempdir().unwrap();
        for size in [0, 1, 511, 512, 513, 5000] {
            let path = dir.path().join(format!("a/b/{size}"));
            let bytes: Vec<u8> = (0..size).map(|at| (at * 7) as u8).collect();
            let mut out = outputs(&[]).unwrap().create(&path).unwrap();
            for piece in bytes.chunks(100) {
                out.write_all(piece).unwrap();
            }
            assert_eq!(out.finish().unwrap(), size as u64);
            let sums = fs::read(path.with_file_name(format!(".{size}.crc"))).unwrap();
            assert_eq!(sums.len(), 8 + 4 * bytes.chunks(512).count());
            let on_read: OnRead = Arc::new(|_| {});
            let mut file = LocalFile::open(&path, "file:/x", 4096, &on_read).unwrap();
            let mut read = Vec::new();
            file.read_to_end(&mut read).unwrap();
            assert_eq!(read, bytes);
        }
    }

    #[test]
    fn permissions_are_hadoop_s_and_not_those_of_the_process() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x/y/z");
        let settings = [(UMASK, "077"), (CHUNK, "16")];
        let made = outputs(&settings).unwrap();
        made.create(&path).unwrap().finish().unwrap();
        assert_eq!(mode(&path), 0o600);
        assert_eq!(mode(&dir.path().join("x")), 0o700);
        let usual = outputs(&[]).unwrap();
        let other = dir.path().join("v/w");
        usual.create(&other).unwrap().finish().unwrap();
        assert_eq!(mode(&other), 0o644);
        assert_eq!(mode(&dir.path().join("v")), 0o755);
        // Nothing is written over.
        assert_eq!(
            usual.create(&other).unwrap_err().kind(),
            ErrorKind::AlreadyExists
        );
    }

    #[test]
    fn settings_that_are_not_understood_are_refused() {
        for setting in [
            (UMASK, "u=rwx"),
            (UMASK, "1777"),
            (CHUNK, "0"),
            (CHUNK, "-1"),
        ] {
            let refused = outputs(&[setting]).unwrap_err();
            assert!(matches!(refused, FileError::Unsupported(_)), "{setting:?}");
        }
    }
}
