//! The index file of a map output: where the segments of its data file lie.

use super::disk_wait::DiskWait;
use std::fs::File;
use std::io;

/// Index files that are shorter are held in memory: those of up to 510 reducers.
const SHORT: usize = 4 << 10;

/// Offsets of segments, big-endian.
#[derive(Debug)]
pub(super) enum Index {
    /// The whole content.
    InMemory(Box<[u8]>),
    OnDisk(File),
}

impl Index {
    /// Reads an index file if it is short.
    pub(super) fn new(file: File, wait: DiskWait) -> io::Result<Self> {
        let mut bytes = [0; SHORT];
        let count = wait.read_at(&file, &mut bytes, 0)?;
        // Some file systems give less than there is.
        if count == SHORT || file.metadata()?.len() != count as u64 {
            return Ok(Self::OnDisk(file));
        }
        Ok(Self::InMemory(bytes.iter().take(count).copied().collect()))
    }

    /// How many segments there are.
    pub(super) fn reducers(&self) -> io::Result<usize> {
        let bytes = match self {
            Self::InMemory(content) => content.len(),
            Self::OnDisk(file) => usize::try_from(file.metadata()?.len()).unwrap_or(0),
        };
        Ok((bytes / 8).saturating_sub(1))
    }

    /// The entries `first` and `last`; mostly they are neighbours.
    ///
    /// # Errors
    /// `UnexpectedEof` if the index ends before, `WouldBlock` if it cannot be had without waiting.
    pub(super) fn offsets(&self, first: u64, last: u64, wait: DiskWait) -> io::Result<(i64, i64)> {
        let mut bytes = [[0; 8]; 2];
        if last == first + 1 {
            self.read(bytes.as_flattened_mut(), first, wait)?;
        } else {
            for (bytes, at) in bytes.iter_mut().zip([first, last]) {
                self.read(bytes, at, wait)?;
            }
        }
        let [from, to] = bytes.map(i64::from_be_bytes);
        Ok((from, to))
    }

    fn read(&self, bytes: &mut [u8], entry: u64, wait: DiskWait) -> io::Result<()> {
        let at = entry * 8;
        match self {
            Self::InMemory(content) => {
                let rest = usize::try_from(at).ok().and_then(|at| content.get(at..));
                let found = rest.and_then(|rest| rest.get(..bytes.len()));
                bytes.copy_from_slice(found.ok_or(io::ErrorKind::UnexpectedEof)?);
                Ok(())
            }
            Self::OnDisk(file) => wait.read_exact_at(file, bytes, at),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn short_and_long_ones_give_the_same_offsets() {
        for (entries, short) in [(1, true), (511, true), (512, false), (3000, false)] {
            let mut file = tempfile::tempfile().unwrap();
            let content: Vec<u8> = (0..entries)
                .flat_map(|at: i64| (at * 7).to_be_bytes())
                .collect();
            file.write_all(&content).unwrap();
            let index = Index::new(file, DiskWait::Allowed).unwrap();
            assert_eq!(matches!(index, Index::InMemory(_)), short, "{entries}");
            assert_eq!(index.reducers().unwrap(), entries as usize - 1);
            let end = entries as u64;
            for (first, last) in [(0, 1), (0, end - 1), (end.saturating_sub(2), end - 1)] {
                match index.offsets(first, last, DiskWait::Allowed) {
                    Ok(offsets) => assert_eq!(offsets, (first as i64 * 7, last as i64 * 7)),
                    Err(error) => assert!(last >= end, "{first} {last}: {error}"),
                }
            }
            for (first, last) in [(end - 1, end), (0, end), (end, end + 5)] {
                let error = index.offsets(first, last, DiskWait::Allowed).unwrap_err();
                assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
            }
        }
    }
}
