//! Getting the pieces and the value.

use super::super::BlockEnv;
use super::super::fetch::BlockFetcher;
use super::super::master::BlockManagerMaster;
use super::super::serializer_manager::{PlainReader, SerializerManager};
use super::{BroadcastError, TorrentBroadcastRef};
use crate::config::{SettingError, declared};
use bytes::{Buf, Bytes};
use futures_util::{StreamExt, TryStreamExt};
use lru::LruCache;
use parking_lot::Mutex;
use std::collections::{HashMap, VecDeque};
use std::io::{self, Read};
use std::sync::{Arc, Weak};
use tokio::sync::OnceCell;
use wire::ids::{BlockId, BlockManagerId};

/// Pieces of one broadcast fetched at a time.
const CONCURRENT_PIECES: usize = 4;
/// Bytes of values that are kept though nobody uses them.
const MAX_KEPT: usize = 64 << 20;
/// Values larger than this are kept only while somebody uses them.
const MAX_KEPT_VALUE: usize = 8 << 20;

/// Where pieces are kept on this executor, for its own tasks and for others.
pub trait PieceStore: Send + Sync + 'static {
    /// A piece that is here. May block.
    ///
    /// # Errors
    /// Its file cannot be read.
    fn get_piece(&self, id: &BlockId) -> io::Result<Option<Bytes>>;

    /// Keeps a piece at `MEMORY_AND_DISK_SER` and tells the driver. May block.
    ///
    /// # Errors
    /// There is no room for it. The broadcast can be used nevertheless.
    fn put_piece(&self, id: &BlockId, data: Bytes) -> io::Result<()>;
}

/// Reads broadcasts, each once however many tasks want it.
pub struct Broadcasts {
    env: Arc<BlockEnv>,
    fetcher: Arc<BlockFetcher>,
    master: BlockManagerMaster,
    streams: SerializerManager,
    store: Arc<dyn PieceStore>,
    failures_before_refresh: usize,
    known: Mutex<Values>,
}

impl std::fmt::Debug for Broadcasts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let known = self.known.lock();
        f.debug_struct("Broadcasts")
            .field("kept", &known.kept.len())
            .field("kept_bytes", &known.kept_bytes)
            .finish_non_exhaustive()
    }
}

struct Values {
    /// Values in use or on their way.
    used: HashMap<i64, Used>,
    /// Values that are kept.
    kept: LruCache<i64, Arc<Bytes>>,
    kept_bytes: usize,
}

#[derive(Default)]
struct Used {
    value: Weak<Bytes>,
    /// Set while somebody gets the value.
    pending: Option<Arc<OnceCell<Arc<Bytes>>>>,
}

impl Default for Values {
    fn default() -> Self {
        Self {
            used: HashMap::new(),
            kept: LruCache::unbounded(),
            kept_bytes: 0,
        }
    }
}

impl Values {
    fn get(&mut self, id: i64) -> Option<Arc<Bytes>> {
        let value = self.used.get(&id)?.value.upgrade()?;
        self.kept.promote(&id);
        Some(value)
    }

    fn put(&mut self, id: i64, value: &Arc<Bytes>) {
        self.used
            .retain(|_, used| used.pending.is_some() || used.value.strong_count() > 0);
        let weak = Arc::downgrade(value);
        self.used.insert(
            id,
            Used {
                value: weak,
                pending: None,
            },
        );
        if value.len() > MAX_KEPT_VALUE {
            return;
        }
        self.kept_bytes += value.len();
        if let Some(old) = self.kept.put(id, value.clone()) {
            self.kept_bytes -= old.len();
        }
        while self.kept_bytes > MAX_KEPT
            && let Some((_, oldest)) = self.kept.pop_lru()
        {
            self.kept_bytes -= oldest.len();
        }
    }

    fn remove(&mut self, id: i64) {
        self.used.remove(&id);
        if let Some(old) = self.kept.pop(&id) {
            self.kept_bytes -= old.len();
        }
    }
}

/// The serialized value of a broadcast, unpacked while it is read.
pub type BroadcastReader = PlainReader<Pieces>;

/// Pieces one behind the other.
#[derive(Debug)]
pub struct Pieces(VecDeque<Bytes>);

impl Read for Pieces {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        while let Some(piece) = self.0.front_mut() {
            if piece.is_empty() {
                self.0.pop_front();
                continue;
            }
            let count = piece.len().min(buf.len());
            piece.copy_to_slice(buf.get_mut(..count).unwrap_or_default());
            return Ok(count);
        }
        Ok(0)
    }
}

impl Broadcasts {
    /// Reads broadcasts of the application of `env`; pieces go to `store`.
    ///
    /// # Errors
    /// A setting is wrong, or names a codec that is not Spark's own.
    pub fn new(
        env: Arc<BlockEnv>,
        fetcher: Arc<BlockFetcher>,
        store: Arc<dyn PieceStore>,
    ) -> Result<Self, SettingError> {
        let refresh = &declared::FAILURES_BEFORE_LOCATION_REFRESH;
        Ok(Self {
            master: BlockManagerMaster::new(env.clone()),
            streams: SerializerManager::new(&env.properties, None)?,
            failures_before_refresh: env.properties.number(refresh)?,
            env,
            fetcher,
            store,
            known: Mutex::default(),
        })
    }

    /// The value as it was serialized with `spark.serializer`. Tasks that want the same at the same time wait for one
    /// of them to get it. Small values are kept for later tasks, large ones while somebody has them.
    ///
    /// # Errors
    /// [`BroadcastError`]
    pub async fn value(
        &self,
        broadcast: &TorrentBroadcastRef,
    ) -> Result<Arc<Bytes>, BroadcastError> {
        let id = broadcast.id;
        let cell = {
            let mut known = self.known.lock();
            if let Some(value) = known.get(id) {
                return Ok(value);
            }
            let used = known.used.entry(id).or_default();
            Arc::clone(used.pending.get_or_insert_default())
        };
        let value = cell
            .get_or_try_init(|| async {
                let pieces = self.pieces(broadcast).await?;
                let packed: usize = pieces.iter().map(Bytes::len).sum();
                let mut reader = self.unpack(broadcast, pieces)?;
                let unpacked = tokio::task::spawn_blocking(move || {
                    let mut unpacked = Vec::with_capacity(packed);
                    reader.read_to_end(&mut unpacked).map(|_| unpacked)
                });
                let unpacked = unpacked.await.map_err(io::Error::other).flatten()?;
                let value = Arc::new(Bytes::from(unpacked));
                self.known.lock().put(id, &value);
                Ok::<_, BroadcastError>(value)
            })
            .await?;
        Ok(Arc::clone(value))
    }

    /// As [`Broadcasts::value`], for threads outside the runtime.
    ///
    /// # Errors
    /// As [`Broadcasts::value`]; [`BroadcastError::Killed`] if the task is told to stop meanwhile.
    pub fn blocking_value(
        &self,
        broadcast: &TorrentBroadcastRef,
        cancellation: &crate::cancel::Cancellation,
    ) -> Result<Arc<Bytes>, BroadcastError> {
        self.env.runtime.block_on(async {
            tokio::select! {
                biased;
                reason = cancellation.cancelled() => Err(BroadcastError::Killed(reason)),
                value = self.value(broadcast) => value,
            }
        })
    }

    /// The value as a stream, for values that need not be in memory as a whole.
    ///
    /// # Errors
    /// As [`Broadcasts::value`].
    pub async fn reader(
        &self,
        broadcast: &TorrentBroadcastRef,
    ) -> Result<BroadcastReader, BroadcastError> {
        let pieces = self.pieces(broadcast).await?;
        self.unpack(broadcast, pieces)
    }

    /// As [`Broadcasts::reader`], for threads outside the runtime.
    ///
    /// # Errors
    /// As [`Broadcasts::blocking_value`].
    pub fn blocking_reader(
        &self,
        broadcast: &TorrentBroadcastRef,
        cancellation: &crate::cancel::Cancellation,
    ) -> Result<BroadcastReader, BroadcastError> {
        self.env.runtime.block_on(async {
            tokio::select! {
                biased;
                reason = cancellation.cancelled() => Err(BroadcastError::Killed(reason)),
                reader = self.reader(broadcast) => reader,
            }
        })
    }

    /// Forgets a value that the driver removes. Its pieces are the store's.
    pub fn remove(&self, id: i64) {
        self.known.lock().remove(id);
    }

    fn unpack(
        &self,
        broadcast: &TorrentBroadcastRef,
        pieces: Vec<Bytes>,
    ) -> Result<BroadcastReader, BroadcastError> {
        let packed = Pieces(pieces.into());
        Ok(self.streams.decompress(&broadcast.block_id(), packed)?)
    }

    /// All pieces in their order, asked for in random order as by Spark so that executors find different ones at each
    /// other.
    async fn pieces(&self, broadcast: &TorrentBroadcastRef) -> Result<Vec<Bytes>, BroadcastError> {
        let mut order: Vec<usize> = (0..broadcast.num_blocks).collect();
        fastrand::shuffle(&mut order);
        let mut pieces = vec![Bytes::new(); broadcast.num_blocks];
        let mut arriving = futures_util::stream::iter(order)
            .map(async |index| {
                Ok::<_, BroadcastError>((index, self.piece(broadcast, index).await?))
            })
            .buffer_unordered(CONCURRENT_PIECES);
        while let Some((index, piece)) = arriving.try_next().await? {
            if let Some(place) = pieces.get_mut(index) {
                *place = piece;
            }
        }
        Ok(pieces)
    }

    async fn piece(
        &self,
        broadcast: &TorrentBroadcastRef,
        index: usize,
    ) -> Result<Bytes, BroadcastError> {
        let id = broadcast.piece(index);
        if let Some(piece) = self
            .with_store(&id, |store, id| store.get_piece(id))
            .await?
        {
            return Ok(piece);
        }
        let missing =
            || BroadcastError::spark(format!("Failed to get {id} of {}", broadcast.block_id()));
        let piece = self.fetch(&id).await?.ok_or_else(missing)?;
        let expected = broadcast
            .checksums
            .as_ref()
            .and_then(|sums| sums.get(index));
        if expected.is_some_and(|sum| *sum != adler2::adler32_slice(&piece)) {
            return Err(BroadcastError::spark(format!(
                "corrupt remote block {id} of {}: the checksum of its {} bytes differs",
                broadcast.block_id(),
                piece.len()
            )));
        }
        let kept = piece.clone();
        let stored = self.with_store(&id, move |store, id| store.put_piece(id, kept));
        if let Err(error) = stored.await {
            tracing::warn!("{id} is not kept: {error}");
        }
        Ok(piece)
    }

    async fn with_store<T: Send + 'static>(
        &self,
        id: &BlockId,
        work: impl FnOnce(&dyn PieceStore, &BlockId) -> io::Result<T> + Send + 'static,
    ) -> io::Result<T> {
        let (store, id) = (self.store.clone(), id.clone());
        let done = tokio::task::spawn_blocking(move || work(&*store, &id));
        done.await.map_err(io::Error::other).flatten()
    }

    /// Fetches a block from whoever has it (`BlockManager.getRemoteBytes`).
    async fn fetch(&self, id: &BlockId) -> Result<Option<Bytes>, BroadcastError> {
        let master = |error: super::super::master::MasterError| BroadcastError::spark(error);
        let found = self.master.get_locations_and_status(id).await;
        let Some(found) = found.map_err(master)? else {
            return Ok(None);
        };
        let size = found.status.mem_size.max(found.status.disk_size);
        let size = u64::try_from(size).unwrap_or(0);
        let mut locations = VecDeque::from(self.sorted(found.locations));
        let most = locations.len();
        let mut failures = 0;
        while let Some(location) = locations.pop_front() {
            let error = match self.fetcher.fetch_block(&location, id, size).await {
                Ok(block) if size > 0 && block.is_empty() => "it is empty".to_owned(),
                Ok(block) => return Ok(Some(block.into_bytes()?)),
                Err(error) => error.to_string(),
            };
            failures += 1;
            tracing::warn!(
                "Failed to fetch remote block {id} from {location} (failed attempt {failures}): {error}"
            );
            if failures >= most {
                break;
            }
            if failures % self.failures_before_refresh == 0 {
                let fresh = self.master.get_locations(id).await.map_err(master)?;
                locations = self.sorted(fresh).into();
            }
        }
        Ok(None)
    }

    /// In random order, but those on this host first, then those in its rack (`BlockManager.sortLocations`).
    fn sorted(&self, mut locations: Vec<BlockManagerId>) -> Vec<BlockManagerId> {
        fastrand::shuffle(&mut locations);
        let here = &self.env.block_manager_id;
        locations.retain(|location| location.executor_id != here.executor_id);
        locations.sort_by_key(|location| {
            let same_rack =
                here.topology_info.is_some() && here.topology_info == location.topology_info;
            match location.host == here.host {
                true => 0,
                false if same_rack => 1,
                false => 2,
            }
        });
        locations
    }
}
