//! What a decommissioned executor does with its blocks: copies of cached partitions and files of shuffles go to others
//! (Spark's `BlockManagerDecommissioner`). The fallback storage is not served here.

use std::collections::{HashMap, HashSet, VecDeque};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::sync::{Notify, Semaphore};
use tokio::task::JoinSet;
use wire::ids::{BlockId, BlockManagerId, StorageLevel};
use wire::messages::BlockReplicationMetadata;

use super::locks::rdd_of;
use super::manager::BlockManager;
use crate::blocks::FileName;
use crate::transport::Body;

/// What a receiver says that is itself going away.
const TARGET_GOES_AWAY: &str = "BlockSavedOnDecommissionedBlockManagerException";

/// Moves blocks until it is dropped.
#[derive(Debug)]
pub struct Decommissioner {
    progress: Arc<Progress>,
    _tasks: JoinSet<()>,
}

#[derive(Debug)]
struct Progress {
    rdds: Part,
    shuffles: Part,
    /// What the rounds of `shuffles` have found.
    queue: Queue,
}

/// How far one kind of blocks is.
#[derive(Debug)]
struct Part {
    /// Not wanted, or given up.
    stopped: AtomicBool,
    /// When the last round began, and whether it left something to do.
    last: Mutex<(Option<Instant>, bool)>,
    /// The next round shall begin now.
    again: Notify,
}

impl Part {
    fn new(wanted: bool) -> Self {
        Self {
            stopped: AtomicBool::new(!wanted),
            last: Mutex::new((None, true)),
            again: Notify::new(),
        }
    }

    /// Until the next round.
    async fn pause(&self, interval: Duration) {
        // Whichever comes first.
        let _ = tokio::time::timeout(interval, self.again.notified()).await;
    }

    fn stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    fn done(&self) -> bool {
        self.stopped() || !self.last.lock().1
    }
}

/// A map output: shuffle and map task.
type MapOutput = (i32, i64);

/// The map outputs that have to go, and those that are on their way or gone.
#[derive(Debug, Default)]
struct Queue {
    waiting: Mutex<VecDeque<(MapOutput, u32)>>,
    more: Notify,
    known: Mutex<HashSet<MapOutput>>,
    /// How many of the known ones need nothing more.
    settled: Mutex<usize>,
}

impl Decommissioner {
    /// Takes no new blocks from now on, and begins to move those that are there, as the settings say. Files of shuffles
    /// are moved whoever wrote them, after `prepare` has put them there. Must be called on the runtime.
    pub fn start(manager: &BlockManager, prepare: impl FnOnce() + Send + 'static) -> Self {
        manager.set_decommissioning();
        let settings = &manager.inner.parts.settings;
        let progress = Arc::new(Progress {
            rdds: Part::new(settings.migrate_rdd_blocks),
            shuffles: Part::new(settings.migrate_shuffle_blocks),
            queue: Queue::default(),
        });
        let mut tasks = JoinSet::new();
        if settings.migrate_rdd_blocks {
            tasks.spawn(migrate_rdds(manager.clone(), progress.clone()));
        }
        if settings.migrate_shuffle_blocks {
            let (manager, progress) = (manager.clone(), progress.clone());
            tasks.spawn(async move {
                // A panic in it leaves files out, which are lost then as if nobody had taken them.
                let _ = tokio::task::spawn_blocking(prepare).await;
                migrate_shuffles(manager, progress).await;
            });
        }
        Self {
            progress,
            _tasks: tasks,
        }
    }

    /// When the last rounds began, the earlier one if both kinds are moved, and whether nothing is left to do. The time
    /// is `None` before the first round, and when nothing is moved any more. Blocks that tasks made after that time may
    /// still be there.
    pub fn last_migration_info(&self) -> (Option<Instant>, bool) {
        let Progress {
            rdds,
            shuffles,
            queue,
        } = &*self.progress;
        let active: Vec<_> = [rdds, shuffles]
            .into_iter()
            .filter(|part| !part.stopped())
            .map(|part| part.last.lock().0)
            .collect();
        // `None`, not yet, is before any time.
        let time = active.iter().min().copied().flatten();
        // A round only finds the files; they are moved beside it.
        let shuffles_done = shuffles.stopped() || (shuffles.done() && !queue.unsettled());
        (time, rdds.done() && shuffles_done)
    }

    /// Begins the next rounds at once: tasks have ended since the last ones.
    pub fn look_again(&self) {
        for part in [&self.progress.rdds, &self.progress.shuffles] {
            part.again.notify_one();
        }
    }

    /// Whether nothing is moved any more, because it is not wanted or there is nobody to take it.
    pub fn is_stopped(&self) -> bool {
        self.progress.rdds.stopped() && self.progress.shuffles.stopped()
    }
}

async fn migrate_rdds(manager: BlockManager, progress: Arc<Progress>) {
    let parts = &manager.inner.parts;
    let part = &progress.rdds;
    tracing::info!(target: "BlockManagerDecommissioner", "Attempting to migrate all RDD blocks");
    loop {
        let began = Instant::now();
        if !matches!(parts.master.get_peers().await, Ok(peers) if !peers.is_empty()) {
            tracing::warn!(target: "BlockManagerDecommissioner", "No available peers to receive RDD blocks, stop migration.");
            part.stop();
            return;
        }
        tracing::info!(target: "BlockManagerDecommissioner", "Attempting to migrate all cached RDD blocks");
        let mut left = false;
        for id in manager.block_ids() {
            if rdd_of(&id).is_some() {
                left |= !migrate_rdd_block(&manager, &id).await;
            }
        }
        *part.last.lock() = (Some(began), left);
        part.pause(parts.settings.migration_interval).await;
    }
}

/// Makes one more copy of a block and removes this one.
async fn migrate_rdd_block(manager: &BlockManager, id: &BlockId) -> bool {
    let parts = &manager.inner.parts;
    let mut replicas = match parts.master.get_locations_and_status(id).await {
        Ok(found) => found.map(|found| found.locations).unwrap_or_default(),
        Err(error) => {
            tracing::warn!(target: "BlockManagerDecommissioner", "Cannot ask for the locations of {id}: {error}");
            return false;
        }
    };
    replicas.retain(|replica| *replica != parts.block_manager_id);
    let failures = Some(parts.settings.max_migration_failures);
    let copied = manager.replicate_block(id, &replicas, replicas.len() + 2, failures);
    if !copied.await {
        tracing::warn!(target: "BlockManagerDecommissioner", "Failed to migrate block {id}");
        return false;
    }
    tracing::info!(target: "BlockManagerDecommissioner", "Block {id} migrated successfully, Removing block {id} now");
    let (manager, id) = (manager.clone(), id.clone());
    // A panic in it would have been reported.
    let _ = tokio::task::spawn_blocking(move || manager.remove_block(&id, true)).await;
    true
}

async fn migrate_shuffles(manager: BlockManager, progress: Arc<Progress>) {
    let settings = &manager.inner.parts.settings;
    let part = &progress.shuffles;
    let threads = Arc::new(Semaphore::new(settings.migration_threads));
    let mut workers: HashMap<BlockManagerId, tokio::task::AbortHandle> = HashMap::new();
    let mut running = JoinSet::new();
    tracing::info!(target: "BlockManagerDecommissioner", "Attempting to migrate all shuffle blocks");
    loop {
        let began = Instant::now();
        progress.queue.add(stored_shuffles(&manager).await);
        let peers = match manager.inner.parts.master.get_peers().await {
            Ok(peers) => peers,
            Err(error) => {
                tracing::error!(target: "BlockManagerDecommissioner", "Error occurred during shuffle blocks migration: {error}");
                part.stop();
                return;
            }
        };
        for (peer, worker) in &workers {
            // It may be going away itself: nothing more for it, but what is on its way may arrive.
            if !peers.contains(peer) && !worker.is_finished() {
                tracing::info!(target: "BlockManagerDecommissioner", "{peer} takes no more shuffle blocks");
                worker.abort();
            }
        }
        for peer in peers {
            workers.entry(peer.clone()).or_insert_with(|| {
                running.spawn(give_shuffles(
                    manager.clone(),
                    progress.clone(),
                    peer,
                    threads.clone(),
                ))
            });
        }
        *part.last.lock() = (Some(began), false);
        if workers.values().all(tokio::task::AbortHandle::is_finished) {
            tracing::warn!(target: "BlockManagerDecommissioner", "No available peers to receive Shuffle blocks, stop migration.");
            part.stop();
            return;
        }
        part.pause(settings.migration_interval).await;
    }
}

impl Queue {
    /// Adds outputs that were not known.
    fn add(&self, found: Vec<MapOutput>) {
        let mut known = self.known.lock();
        let new: Vec<_> = found
            .into_iter()
            .filter(|output| known.insert(*output))
            .collect();
        self.waiting
            .lock()
            .extend(new.iter().map(|output| (*output, 0)));
        self.more.notify_waiters();
    }

    fn unsettled(&self) -> bool {
        *self.settled.lock() < self.known.lock().len()
    }

    fn settle(&self) {
        *self.settled.lock() += 1;
    }

    fn again(&self, output: MapOutput, failures: u32) {
        self.waiting.lock().push_back((output, failures));
        self.more.notify_waiters();
    }

    async fn next(&self) -> (MapOutput, u32) {
        loop {
            let more = self.more.notified();
            tokio::pin!(more);
            // From here on no notice is missed.
            more.as_mut().enable();
            if let Some(next) = self.waiting.lock().pop_front() {
                return next;
            }
            more.await;
        }
    }
}

/// An output that a worker has taken; goes back into the queue if the worker is stopped.
struct Taken<'a> {
    queue: &'a Queue,
    output: Option<(MapOutput, u32)>,
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        if let Some((output, failures)) = self.output.take() {
            self.queue.again(output, failures);
        }
    }
}

/// Gives map outputs to one executor, until one does not arrive there.
async fn give_shuffles(
    manager: BlockManager,
    progress: Arc<Progress>,
    peer: BlockManagerId,
    threads: Arc<Semaphore>,
) {
    let queue = &progress.queue;
    // Never closed.
    let Ok(_thread) = threads.acquire_owned().await else {
        return;
    };
    tracing::info!(target: "BlockManagerDecommissioner", "Starting shuffle block migration thread for {peer}");
    let most = manager.inner.parts.settings.max_migration_failures;
    loop {
        let (output, failures) = queue.next().await;
        let mut taken = Taken {
            queue,
            output: Some((output, failures)),
        };
        let (shuffle_id, map_id) = output;
        let result = give_shuffle(&manager, output, &peer).await;
        taken.output = None;
        match result {
            Ok(()) => queue.settle(),
            Err(error) => {
                let failures = failures + u32::from(!error.contains(TARGET_GOES_AWAY));
                tracing::warn!(
                    target: "BlockManagerDecommissioner",
                    "Error occurred during migrating shuffle {shuffle_id} map {map_id}, stop migrating shuffle blocks to {peer}: {error}"
                );
                if failures < most {
                    queue.again(output, failures);
                } else {
                    tracing::warn!(
                        target: "BlockManagerDecommissioner",
                        "Give up migrating shuffle {shuffle_id} map {map_id} since it's been failed for {most} times"
                    );
                    queue.settle();
                }
                return;
            }
        }
    }
}

/// Index last: the driver learns of the new place from it.
async fn give_shuffle(
    manager: &BlockManager,
    (shuffle_id, map_id): MapOutput,
    peer: &BlockManagerId,
) -> Result<(), String> {
    let index = BlockId::ShuffleIndex {
        shuffle_id,
        map_id,
        reduce_id: 0,
    };
    let data = BlockId::ShuffleData {
        shuffle_id,
        map_id,
        reduce_id: 0,
    };
    let parts = &manager.inner.parts;
    let metadata = BlockReplicationMetadata {
        level: StorageLevel::DISK_ONLY,
        class_tag: None,
        checksum: None,
        verify_sealed_checksum: false,
    };
    let metadata = metadata
        .encode(&parts.catalog)
        .map_err(|error| error.to_string())?;
    let metadata = Bytes::from(metadata);
    for id in [data, index] {
        let Some(body) = open(manager, &id)
            .await
            .map_err(|error| error.to_string())?
        else {
            // Removed meanwhile, or an output without records.
            tracing::debug!(target: "BlockManagerDecommissioner", "There is no {id}");
            continue;
        };
        let sent = parts.peers.upload(peer, &id, metadata.clone(), body).await;
        if let Err(error) = sent {
            // A file that went while it was sent is no failure.
            if matches!(open(manager, &id).await, Ok(None)) {
                return Ok(());
            }
            return Err(error);
        }
    }
    tracing::info!(target: "BlockManagerDecommissioner", "Migrated shuffle {shuffle_id} map {map_id} to {peer}");
    Ok(())
}

async fn open(manager: &BlockManager, id: &BlockId) -> io::Result<Option<Body>> {
    let name = FileName::try_from(id)?;
    let path = manager.inner.parts.local_dirs.path(&name);
    let opened = tokio::task::spawn_blocking(move || {
        let file = std::fs::File::open(path)?;
        let len = file.metadata()?.len();
        Ok::<_, io::Error>(Body::File {
            file: Arc::new(file),
            offset: 0,
            len,
        })
    });
    match opened.await.map_err(io::Error::other)? {
        Ok(body) => Ok(Some(body)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// The map outputs that have an index file, whichever lane wrote them.
async fn stored_shuffles(manager: &BlockManager) -> Vec<MapOutput> {
    let manager = manager.clone();
    let found = tokio::task::spawn_blocking(move || {
        let mut found = Vec::new();
        manager.for_each_file(|name, _| {
            if let Ok(BlockId::ShuffleIndex {
                shuffle_id, map_id, ..
            }) = BlockId::parse(name)
            {
                found.push((shuffle_id, map_id));
            }
        });
        found.sort_unstable();
        found
    });
    found.await.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Fixture, id_of};
    use super::*;
    fn shuffle_file(fixture: &Fixture, name: &str) {
        let path = fixture.dirs.path(&name.parse().unwrap());
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, name).unwrap();
    }

    fn wait_until(what: impl Fn() -> bool) {
        let began = Instant::now();
        while !what() {
            assert!(began.elapsed() < Duration::from_secs(20), "in vain");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn start(fixture: &Fixture) -> Decommissioner {
        let _guard = fixture.runtime.enter();
        Decommissioner::start(&fixture.manager, || {})
    }

    #[test]
    fn blocks_and_shuffles_go_to_others() {
        let fixture = Fixture::new(100);
        let level = StorageLevel::MEMORY_ONLY_SER;
        for name in ["rdd_1_0", "rdd_1_1", "broadcast_1_piece0"] {
            fixture
                .manager
                .put_bytes(&name.parse().unwrap(), level, "abc".into(), true)
                .unwrap();
        }
        for name in [
            "shuffle_1_7_0.index",
            "shuffle_1_7_0.data",
            "shuffle_1_8_0.index",
        ] {
            shuffle_file(&fixture, name);
        }
        fixture.world.lock().peers = vec![id_of(1), id_of(2), id_of(3)];
        fixture.world.lock().refuse_uploads = vec!["2".into()];
        let moving = start(&fixture);
        wait_until(|| moving.last_migration_info().1);
        assert!(moving.last_migration_info().0.is_some() && !moving.is_stopped());
        let mut uploads: Vec<_> = fixture
            .world
            .lock()
            .uploads
            .iter()
            .map(|(_, id, _)| id.clone())
            .collect();
        let place = |name: &str| uploads.iter().position(|id| id == name);
        assert!(place("shuffle_1_7_0.data") < place("shuffle_1_7_0.index"));
        uploads.sort();
        assert_eq!(
            uploads,
            [
                "rdd_1_0",
                "rdd_1_1",
                "shuffle_1_7_0.data",
                "shuffle_1_7_0.index",
                "shuffle_1_8_0.index"
            ]
        );
        assert_eq!(
            fixture.manager.block_ids(),
            [BlockId::parse("broadcast_1_piece0").unwrap()]
        );
        // What a running task still writes goes in the next round.
        shuffle_file(&fixture, "shuffle_2_9_0.index");
        wait_until(|| {
            fixture
                .world
                .lock()
                .uploads
                .iter()
                .any(|(_, id, _)| id == "shuffle_2_9_0.index")
        });
        wait_until(|| moving.last_migration_info().1);
    }

    /// Not a round later, which may be half a minute: an executor that leaves waits for it.
    #[test]
    fn a_round_is_over_when_its_files_have_arrived() {
        let fixture = Fixture::with_migration_interval(Duration::from_secs(3600));
        fixture.world.lock().peers = vec![id_of(1)];
        shuffle_file(&fixture, "shuffle_1_7_0.index");
        let moving = start(&fixture);
        wait_until(|| moving.last_migration_info().1);
        let uploaded = |name: &str| {
            let world = fixture.world.lock();
            world.uploads.iter().any(|(_, id, _)| id == name)
        };
        assert!(uploaded("shuffle_1_7_0.index"));
        // Tasks that have ended since may have left something.
        shuffle_file(&fixture, "shuffle_2_9_0.index");
        let ended = Instant::now();
        moving.look_again();
        // What an executor asks that leaves: have all rounds begun since its last task ended, and are they over?
        wait_until(|| {
            let (began, done) = moving.last_migration_info();
            began.is_some_and(|began| began > ended) && done
        });
        assert!(uploaded("shuffle_2_9_0.index"));
    }

    #[test]
    fn without_anybody_to_take_them_it_stops() {
        let fixture = Fixture::new(100);
        shuffle_file(&fixture, "shuffle_1_7_0.index");
        let moving = start(&fixture);
        wait_until(|| moving.is_stopped());
        assert_eq!(moving.last_migration_info(), (None, true));
    }

    #[test]
    fn what_everybody_refuses_is_given_up() {
        let fixture = Fixture::new(100);
        fixture.world.lock().peers = (1..9).map(id_of).collect();
        fixture.world.lock().refuse_uploads = (1..9).map(|id| id.to_string()).collect();
        shuffle_file(&fixture, "shuffle_1_7_0.index");
        let moving = start(&fixture);
        wait_until(|| moving.last_migration_info().1);
        assert_eq!(fixture.world.lock().uploads, []);
    }
}
