//! Files that are read only if nobody has to wait for a disk: what is in the system's caches can be had by the tasks
//! that move bytes.

use std::fs::File;
use std::io::{self, IoSliceMut};
use std::os::unix::fs::FileExt;
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags};
use rustix::io::{Errno, ReadWriteFlags};

/// Whether the caller may be made to wait for a disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DiskWait {
    /// It may.
    Allowed,
    /// It may not: what cannot be had at once is an error of kind `WouldBlock`.
    Forbidden,
}

impl DiskWait {
    /// Opens a file for reading.
    pub(super) fn open(self, path: &Path) -> io::Result<File> {
        if self == Self::Allowed {
            return File::open(path);
        }
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        rustix::fs::openat2(CWD, path, flags, Mode::empty(), ResolveFlags::CACHED)
            .map(File::from)
            .map_err(known)
    }

    /// Reads so many bytes at an offset.
    pub(super) fn read_exact_at(self, file: &File, buffer: &mut [u8], at: u64) -> io::Result<()> {
        if self == Self::Allowed {
            return file.read_exact_at(buffer, at);
        }
        let len = buffer.len();
        match self.read_at(file, buffer, at)? {
            count if count == len => Ok(()),
            // The rest is not there, or not at once.
            _ => Err(io::ErrorKind::WouldBlock.into()),
        }
    }

    /// Reads bytes at an offset and gives their number: fewer than there is room for at the end of the file, or where
    /// the rest is on another page than the first and cannot be had at once.
    pub(super) fn read_at(self, file: &File, buffer: &mut [u8], at: u64) -> io::Result<usize> {
        if self == Self::Allowed {
            return file.read_at(buffer, at);
        }
        let mut slices = [IoSliceMut::new(buffer)];
        rustix::io::preadv2(file, &mut slices, at, ReadWriteFlags::NOWAIT).map_err(known)
    }
}

/// Systems and file systems that cannot tell would make the caller wait.
fn known(error: Errno) -> io::Error {
    match error {
        Errno::NOSYS | Errno::OPNOTSUPP | Errno::INVAL | Errno::PERM => {
            io::ErrorKind::WouldBlock.into()
        }
        error => error.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_cached_is_had_at_once() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        std::fs::write(&path, b"0123456789").unwrap();
        for wait in [DiskWait::Allowed, DiskWait::Forbidden] {
            let file = match wait.open(&path) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    assert_eq!(wait, DiskWait::Forbidden);
                    continue;
                }
                file => file.unwrap(),
            };
            let mut bytes = [0; 4];
            match wait.read_exact_at(&file, &mut bytes, 3) {
                Err(error) => assert_eq!(
                    (error.kind(), wait),
                    (io::ErrorKind::WouldBlock, DiskWait::Forbidden)
                ),
                Ok(()) => assert_eq!(&bytes, b"3456"),
            }
            assert!(wait.read_exact_at(&file, &mut bytes, 8).is_err());
        }
    }

    #[test]
    fn a_missing_file_is_never_there() {
        let dir = tempfile::tempdir().unwrap();
        for wait in [DiskWait::Allowed, DiskWait::Forbidden] {
            let error = wait.open(&dir.path().join("none")).unwrap_err();
            let kinds = [io::ErrorKind::NotFound, io::ErrorKind::WouldBlock];
            assert!(kinds.contains(&error.kind()), "{error}");
        }
    }
}
