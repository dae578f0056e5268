//! Footers of Parquet files, kept for the next task that reads a part of the same file.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use datafusion_common::Result;
use parquet::file::metadata::ParquetMetaData;

use super::file::Chunks;
use catalyst::PartitionedFile;

/// Path, bytes and time of the last change: a file that is written anew is another one.
type Key = (String, i64, i64);

/// Most bytes of footers that are kept.
const MAX_BYTES: usize = 64 << 20;

#[derive(Debug, Default)]
struct Cache {
    footers: HashMap<Key, (Arc<ParquetMetaData>, u64)>,
    bytes: usize,
    /// Counts uses: what was not used for long is left out first.
    clock: u64,
}

static CACHE: LazyLock<Mutex<Cache>> = LazyLock::new(Mutex::default);

/// The footer of a file.
pub(super) fn footer(file: &PartitionedFile, chunks: &Chunks) -> Result<Arc<ParquetMetaData>> {
    let key = (file.path.clone(), file.file_size, file.modification_time);
    let lock = || CACHE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(footer) = lock().get(&key) {
        return Ok(footer);
    }
    // Another task may read it at the same time: that costs less than making all wait.
    let footer = Arc::new(super::footer_check::read(&chunks.with_end()?)?);
    lock().put(key, &footer);
    Ok(footer)
}

impl Cache {
    fn get(&mut self, key: &Key) -> Option<Arc<ParquetMetaData>> {
        self.clock += 1;
        let (footer, used) = self.footers.get_mut(key)?;
        *used = self.clock;
        Some(Arc::clone(footer))
    }

    fn put(&mut self, key: Key, footer: &Arc<ParquetMetaData>) {
        let bytes = footer.memory_size();
        if bytes > MAX_BYTES {
            return;
        }
        while self.bytes + bytes > MAX_BYTES {
            let oldest = self.footers.iter().min_by_key(|(_, (_, used))| *used);
            let Some(oldest) = oldest.map(|(key, _)| key.clone()) else {
                break;
            };
            if let Some((footer, _)) = self.footers.remove(&oldest) {
                self.bytes = self.bytes.saturating_sub(footer.memory_size());
            }
        }
        self.clock += 1;
        let entry = (Arc::clone(footer), self.clock);
        match self.footers.insert(key, entry) {
            Some(_) => {}
            None => self.bytes += bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_changed_is_another_one() {
        let mut cache = Cache::default();
        let key = ("a".to_owned(), 1, 1);
        assert!(cache.get(&key).is_none());
        cache.clock = 7;
        assert!(cache.get(&("a".to_owned(), 1, 2)).is_none());
        assert_eq!(cache.clock, 8);
    }
}
