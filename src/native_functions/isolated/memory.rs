//! Memory that two processes have in common.

use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write as _};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt;

use arrow::buffer::Buffer;
use rustix::fs::{MemfdFlags, memfd_create};

/// Bytes that are kept for the next time; more are given back to the system.
const KEPT: u64 = 4 << 20;

/// Bytes that are written at once, unless there are more in one piece.
const PIECE: usize = 64 << 10;

/// A piece of memory without a name, which one side writes and the other reads: as a file, so that nothing that the one
/// does to it while the other reads can do worse than give wrong bytes.
#[derive(Debug)]
pub(super) struct SharedMemory(File);

impl SharedMemory {
    /// # Errors
    /// The system has none.
    pub(super) fn new() -> io::Result<Self> {
        let memory = memfd_create("firesteel-functions", MemfdFlags::CLOEXEC)?;
        Ok(Self(memory.into()))
    }

    /// Of the other side.
    pub(super) fn of(memory: OwnedFd) -> Self {
        Self(memory.into())
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }

    /// Puts bytes in the place of those that were there, and says how many there are.
    ///
    /// # Errors
    /// There is no memory, or what fills it in fails.
    pub(super) fn write<E: From<io::Error>>(
        &self,
        fill: impl FnOnce(&mut BufWriter<&File>) -> Result<(), E>,
    ) -> Result<u64, E> {
        let mut file = &self.0;
        file.seek(SeekFrom::Start(0))?;
        let mut writer = BufWriter::with_capacity(PIECE, file);
        fill(&mut writer)?;
        writer.flush()?;
        drop(writer);
        Ok(file.stream_position()?)
    }

    /// A copy of the first bytes, which the other side can change no more.
    ///
    /// # Errors
    /// There are not so many, or no memory.
    pub(super) fn read(&self, bytes: u64) -> io::Result<Buffer> {
        if bytes == 0 {
            return Ok(Buffer::default());
        }
        // Before memory is taken for them.
        if bytes > self.0.metadata()?.len() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let len = usize::try_from(bytes).map_err(io::Error::other)?;
        let mut copy = Vec::new();
        copy.try_reserve_exact(len).map_err(io::Error::other)?;
        copy.resize(len, 0);
        self.0.read_exact_at(&mut copy, 0)?;
        Ok(Buffer::from_vec(copy))
    }

    /// Gives memory back, if it is much.
    pub(super) fn shrink(&self) {
        if self.0.metadata().is_ok_and(|file| file.len() > KEPT) {
            // Else it stays until the next time.
            let _ = self.0.set_len(0);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn one_side_reads_what_the_other_wrote() {
        let ours = SharedMemory::new().unwrap();
        let theirs = SharedMemory::of(ours.fd().try_clone_to_owned().unwrap());
        let write = |bytes: &[u8]| ours.write(|to| to.write_all(bytes)).unwrap();
        assert_eq!(write(b"columns"), 7);
        assert_eq!(theirs.read(7).unwrap().as_slice(), b"columns");
        assert_eq!(write(b"less"), 4);
        assert_eq!(theirs.read(4).unwrap().as_slice(), b"less");
        // What is claimed and not there costs nothing.
        assert!(theirs.read(u64::MAX).is_err());
        write(&vec![1; 5 << 20]);
        theirs.shrink();
        assert!(theirs.read(1).is_err());
    }
}
