//! Partitions of cached RDDs (`BlockManager.getOrElseUpdateRDDBlock`).

use std::io::{self, Read, Write};
use std::sync::Arc;

use bytes::{Buf, Bytes};
use parking_lot::Mutex;
use wire::ids::{BlockId, StorageLevel};

use super::StoreError;
use super::disk::DiskWriter;
use super::manager::{BlockManager, Inner, LocalBlock, MadeBlock, WriteLock};
use crate::cancel::Cancellation;

/// Bytes of records that are gathered before they are compressed.
const GATHER: usize = 32 << 10;

/// Which block is wanted, and for whom.
#[derive(Debug, Clone)]
pub struct CacheRequest<'a> {
    /// `rdd_<rdd>_<partition>`
    pub id: BlockId,
    /// The RDD's storage level.
    pub level: StorageLevel,
    /// Class of the RDD's elements, as `Class.getName` gives it: `[B`, `java.lang.String`. Other executors that get a
    /// copy have to know.
    pub class_tag: &'a str,
    /// What stands before the records, even if there are none.
    pub header: &'static [u8],
    /// Id of the task attempt.
    pub task_id: i64,
    /// Stops waiting for another task that makes the same block.
    pub cancellation: &'a Cancellation,
}

/// Where the records of a partition come from. Readers give the serialized stream of records, decompressed.
pub enum Cached<I> {
    /// A block that was there, here or at another executor. A task counts its bytes and records as input.
    Found(BlockReader),
    /// The block that was made now.
    Stored(BlockReader),
    /// There was no room for all of it: first the records that have been taken from the iterator, then what is left in
    /// it.
    NotStored {
        /// The records that were taken.
        begun: BlockReader,
        /// The others.
        rest: I,
    },
}

/// Reads a block's stream of records.
pub struct BlockReader {
    stream: Box<dyn Read + Send>,
    size: u64,
    _held: Option<Held>,
}

/// What has to live as long as a reader.
enum Held {
    Block { _block: LocalBlock },
    Memory { _reserved: Reserved },
}

/// Memory that is given back when this is dropped.
struct Reserved {
    inner: Arc<Inner>,
    bytes: u64,
}

impl Drop for Reserved {
    fn drop(&mut self) {
        self.inner.state.lock().memory.release(self.bytes);
        self.inner.changed.notify_all();
    }
}

impl BlockReader {
    /// Bytes of the block as stored.
    pub fn size(&self) -> u64 {
        self.size
    }
}

impl Read for BlockReader {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.stream.read(buf)
    }
}

impl std::fmt::Debug for BlockReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BlockReader")
            .field("size", &self.size)
            .finish_non_exhaustive()
    }
}

/// Where the bytes of a block go while it is made: into memory as long as there is some, then into a file if the level
/// allows it.
struct Sink {
    inner: Arc<Inner>,
    id: BlockId,
    use_disk: bool,
    bytes: Vec<u8>,
    reserved: u64,
    file: Option<DiskWriter>,
    /// Neither memory nor file: what still comes is kept without a promise, and no more records shall be made.
    full: bool,
}

impl Sink {
    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        if let Some(file) = &mut self.file {
            return file.write_all(bytes);
        }
        let needed = (self.bytes.len() + bytes.len()) as u64;
        if needed > self.reserved && !self.full {
            let least = needed - self.reserved;
            // Half as much again, as Spark grows; at least the threshold the first time.
            let more = least.max(self.reserved / 2);
            let more = match self.reserved {
                0 => more.max(self.inner.parts.settings.unroll_threshold),
                _ => more,
            };
            if self.reserve(more)? || (more > least && self.reserve(least)?) {
                let room = usize::try_from(self.reserved).unwrap_or(usize::MAX);
                self.bytes
                    .reserve_exact(room.saturating_sub(self.bytes.len()));
            } else if self.use_disk {
                return self.go_to_disk(bytes);
            } else {
                self.full = true;
            }
        }
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }

    fn reserve(&mut self, bytes: u64) -> io::Result<bool> {
        let promised = self.inner.reserve(Some(&self.id), bytes)?;
        if promised {
            self.reserved += bytes;
        }
        Ok(promised)
    }

    fn go_to_disk(&mut self, bytes: &[u8]) -> io::Result<()> {
        tracing::warn!(target: "BlockManager", "Persisting block {} to disk instead.", self.id);
        let mut file = self.inner.disk.create()?;
        file.write_all(&std::mem::take(&mut self.bytes))?;
        self.give_back(0);
        file.write_all(bytes)?;
        self.file = Some(file);
        Ok(())
    }

    /// Keeps only `left` of what was promised.
    fn give_back(&mut self, left: u64) {
        let inner = &self.inner;
        inner
            .state
            .lock()
            .memory
            .release(self.reserved.saturating_sub(left));
        inner.changed.notify_all();
        self.reserved = self.reserved.min(left);
    }
}

impl Drop for Sink {
    fn drop(&mut self) {
        self.give_back(0);
    }
}

/// The end of the compressing writer, which owns its output.
struct SinkWriter(Arc<Mutex<Sink>>);

impl Write for SinkWriter {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.0.lock().put(buf)?;
        Ok(buf.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// How the making of a block ended.
enum Outcome {
    MadeBlock(LocalBlock),
    Full(BlockReader),
}

impl BlockManager {
    /// Gives the records of a cached partition: from this executor, from another one, or from `make`, in which case
    /// they are stored. `encode` appends one record in its serialized form. A task that finds another one making the
    /// same block waits for it.
    ///
    /// # Errors
    /// Those of `make` and of its records; [`StoreError`] if a disk fails or the task is told to stop while it waits.
    pub fn get_or_else_update<I, T, E>(
        &self,
        request: &CacheRequest<'_>,
        make: impl FnOnce() -> Result<I, E>,
        encode: impl FnMut(&T, &mut Vec<u8>),
    ) -> Result<Cached<I>, E>
    where
        I: Iterator<Item = Result<T, E>>,
        E: From<StoreError>,
    {
        let id = &request.id;
        let visible = self.is_rdd_block_visible(id);
        if visible && let Some(found) = self.get(id, Some(request.cancellation))? {
            return Ok(Cached::Found(found));
        }
        if self.check_should_store(id).is_err() {
            // This executor is going away: the block would go with it.
            return Ok(Cached::NotStored {
                begun: BlockReader::empty(),
                rest: make()?,
            });
        }
        let lock = self.inner.lock_new(
            id,
            request.level,
            request.class_tag,
            true,
            Some(request.cancellation),
        )?;
        let Some(lock) = lock else {
            if !visible {
                // Nobody may rely on what another attempt has counted before that succeeds.
                make()?.try_for_each(|record| record.map(drop))?;
            }
            let block = self.get_local(id, Some(request.cancellation))?;
            let block = block.ok_or_else(|| lost(id))?;
            if !visible {
                self.tell_who_made(id, request.task_id)?;
            }
            return Ok(Cached::Found(self.block_reader(id, block)?));
        };
        let mut records = make()?;
        let outcome = self.unroll(lock, request, &mut records, encode)?;
        let cached = match outcome {
            Outcome::MadeBlock(block) => {
                self.replicate_new(id, &block);
                Cached::Stored(self.block_reader(id, block)?)
            }
            Outcome::Full(begun) => Cached::NotStored {
                begun,
                rest: records,
            },
        };
        if !visible && matches!(cached, Cached::Stored(_)) {
            self.tell_who_made(id, request.task_id)?;
        }
        Ok(cached)
    }

    fn unroll<I, T, E>(
        &self,
        lock: WriteLock,
        request: &CacheRequest<'_>,
        records: &mut I,
        mut encode: impl FnMut(&T, &mut Vec<u8>),
    ) -> Result<Outcome, E>
    where
        I: Iterator<Item = Result<T, E>>,
        E: From<StoreError>,
    {
        let inner = &self.inner;
        let io = |error: io::Error| E::from(StoreError::Io(error));
        let mut sink = Sink {
            inner: inner.clone(),
            id: request.id.clone(),
            use_disk: request.level.use_disk(),
            bytes: Vec::new(),
            reserved: 0,
            file: None,
            full: false,
        };
        if !request.level.use_memory() {
            sink.file = Some(inner.disk.create().map_err(io)?);
        }
        let sink = Arc::new(Mutex::new(sink));
        let mut out = inner
            .parts
            .streams
            .compress(&request.id, Box::new(SinkWriter(sink.clone())))
            .map_err(io)?;
        let mut gathered = Vec::with_capacity(GATHER * 2);
        gathered.extend_from_slice(request.header);
        for record in records.by_ref() {
            encode(&record?, &mut gathered);
            if gathered.len() >= GATHER {
                out.write_all(&gathered).map_err(io)?;
                gathered.clear();
                if sink.lock().full {
                    break;
                }
            }
        }
        out.write_all(&gathered).map_err(io)?;
        out.finish().map_err(io)?;
        let mut sink = sink.lock();
        if let Some(file) = sink.file.take() {
            let written = file.finish().map_err(io)?;
            return Ok(Outcome::MadeBlock(
                lock.complete(MadeBlock::Disk(written)).map_err(io)?,
            ));
        }
        let mut bytes = std::mem::take(&mut sink.bytes);
        if sink.full {
            tracing::warn!(
                target: "MemoryStore",
                "Not enough space to cache {} in memory! (computed {} bytes so far)", request.id, bytes.len()
            );
            return self
                .not_stored(&request.id, &mut sink, bytes)
                .map(Outcome::Full)
                .map_err(io);
        }
        bytes.shrink_to_fit();
        sink.give_back(bytes.len() as u64);
        // From here on the promise is the block's.
        sink.reserved = 0;
        let made = MadeBlock::Memory(bytes.into());
        Ok(Outcome::MadeBlock(lock.complete(made).map_err(io)?))
    }

    fn not_stored(&self, id: &BlockId, sink: &mut Sink, bytes: Vec<u8>) -> io::Result<BlockReader> {
        let reserved = Reserved {
            inner: self.inner.clone(),
            bytes: std::mem::take(&mut sink.reserved),
        };
        let size = bytes.len() as u64;
        let bytes = Box::new(Bytes::from(bytes).reader());
        Ok(BlockReader {
            stream: self.inner.parts.streams.decompress(id, bytes)?,
            size,
            _held: Some(Held::Memory {
                _reserved: reserved,
            }),
        })
    }

    /// A block of this executor or another one, decompressed.
    ///
    /// # Errors
    /// [`StoreError`] if its file cannot be read, or the task is told to stop while it waits. What goes wrong with
    /// other executors only means that they do not have it.
    pub fn get(
        &self,
        id: &BlockId,
        cancellation: Option<&Cancellation>,
    ) -> Result<Option<BlockReader>, StoreError> {
        if let Some(block) = self.get_local(id, cancellation)? {
            return self.block_reader(id, block).map(Some);
        }
        let Some(block) = self.get_remote(id) else {
            return Ok(None);
        };
        Ok(Some(BlockReader {
            stream: self.inner.parts.streams.decompress(id, block.reader)?,
            size: block.size,
            _held: None,
        }))
    }

    fn block_reader(&self, id: &BlockId, block: LocalBlock) -> Result<BlockReader, StoreError> {
        let stream = block.data.reader()?;
        Ok(BlockReader {
            stream: self.inner.parts.streams.decompress(id, stream)?,
            size: block.data.len(),
            _held: Some(Held::Block { _block: block }),
        })
    }

    /// Whether a task may use the block of another one. Without tracking it always may.
    fn is_rdd_block_visible(&self, id: &BlockId) -> bool {
        if !self.inner.parts.settings.track_visibility {
            return true;
        }
        let known = {
            let state = self.inner.state.lock();
            state.blocks.get(id).is_some_and(|info| info.visible)
        };
        if known {
            return true;
        }
        let asked = self.inner.parts.master.is_rdd_block_visible(id);
        let visible = self.inner.parts.runtime.block_on(asked).unwrap_or_else(|error| {
            tracing::warn!(target: "BlockManager", "Cannot ask whether block {id} is visible: {error}");
            false
        });
        if visible {
            self.mark_rdd_block_as_visible(id);
        }
        visible
    }

    fn tell_who_made(&self, id: &BlockId, task_id: i64) -> Result<(), StoreError> {
        let told = self
            .inner
            .parts
            .master
            .update_rdd_block_task_info(id, task_id);
        self.inner
            .parts
            .runtime
            .block_on(told)
            .map_err(StoreError::Spark)
    }
}

impl BlockReader {
    fn empty() -> Self {
        Self {
            stream: Box::new(io::empty()),
            size: 0,
            _held: None,
        }
    }
}

/// The block went between two looks at it.
fn lost(id: &BlockId) -> StoreError {
    StoreError::Spark(format!(
        "get() failed for block {id} even though we held a lock"
    ))
}

#[cfg(test)]
#[path = "cache_tests.rs"]
mod tests;
