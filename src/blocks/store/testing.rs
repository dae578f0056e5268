//! A driver and other executors in memory, for the tests of this room.

use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::sync::Arc;

use bytes::{Buf, Bytes};
use javaser::Catalog;
use parking_lot::Mutex;
use wire::ids::{BlockId, BlockManagerId, StorageLevel};
use wire::messages::BlockStatus;

use super::StoreSettings;
use super::manager::{BlockManager, Parts};
use super::ports::{BlockLocations, FinishWrite, Master, Peers, RemoteBlock, Streams};
use crate::blocks::LocalDirs;
use crate::config::SparkProperties;
use crate::transport::{Answer, Body};

/// What the others know and have.
#[derive(Default)]
pub(super) struct World {
    /// Reports, in their order: block, flags of its level, bytes in memory, bytes on disk.
    pub(super) reports: Vec<(String, u8, i64, i64)>,
    pub(super) unknown: bool,
    pub(super) locations: HashMap<BlockId, (Vec<BlockManagerId>, BlockStatus)>,
    pub(super) remote: HashMap<(BlockManagerId, BlockId), Bytes>,
    pub(super) fetches: usize,
    pub(super) peers: Vec<BlockManagerId>,
    pub(super) uploads: Vec<(String, String, Bytes)>,
    pub(super) refuse_uploads: Vec<String>,
    pub(super) visible: Vec<BlockId>,
    pub(super) made: Vec<(BlockId, i64)>,
}

pub(super) struct Fixture {
    pub(super) world: Arc<Mutex<World>>,
    pub(super) manager: BlockManager,
    pub(super) dirs: Arc<LocalDirs>,
    pub(super) runtime: tokio::runtime::Runtime,
    _root: tempfile::TempDir,
}

pub(super) fn id_of(executor: i32) -> BlockManagerId {
    BlockManagerId {
        executor_id: executor.to_string(),
        host: "host".into(),
        port: 7000 + executor,
        topology_info: None,
    }
}

pub(super) fn status_in_memory(len: i64) -> BlockStatus {
    BlockStatus {
        storage_level: StorageLevel::MEMORY_ONLY_SER,
        mem_size: len,
        disk_size: 0,
    }
}

/// The classes of the newest distribution.
fn catalog() -> Catalog {
    let class_path = testkit::Distribution::find(testkit::NEWEST).class_path();
    Catalog::from_class_path(&[class_path.into()]).unwrap()
}

pub(super) const MEMORY_AND_DISK_SER: StorageLevel = StorageLevel::MEMORY_AND_DISK_SER;

impl Fixture {
    pub(super) fn new(max_memory: u64) -> Self {
        Self::with(max_memory, false, false)
    }

    pub(super) fn with(max_memory: u64, encrypts: bool, track_visibility: bool) -> Self {
        let settings = StoreSettings {
            track_visibility,
            ..settings()
        };
        Self::build(max_memory, Arc::new(Plain { encrypts }), settings)
    }

    /// With so much time between the rounds of a migration.
    pub(super) fn with_migration_interval(migration_interval: std::time::Duration) -> Self {
        let settings = StoreSettings {
            migration_interval,
            ..settings()
        };
        Self::build(100, Arc::new(Plain { encrypts: false }), settings)
    }

    /// With other streams, and plenty of memory.
    pub(super) fn of(streams: Arc<dyn Streams>) -> Self {
        Self::build(1 << 30, streams, settings())
    }

    fn build(max_memory: u64, streams: Arc<dyn Streams>, settings: StoreSettings) -> Self {
        let root = tempfile::tempdir().unwrap();
        let dirs = LocalDirs::create(&[root.path().join("a"), root.path().join("b")], 64, false);
        let dirs = Arc::new(dirs.unwrap());
        let world = Arc::new(Mutex::new(World::default()));
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let manager = BlockManager::new(Parts {
            block_manager_id: id_of(0),
            local_dirs: dirs.clone(),
            runtime: runtime.handle().clone(),
            master: Arc::new(Everyone(world.clone())),
            peers: Arc::new(Everyone(world.clone())),
            streams,
            max_memory,
            catalog: Arc::new(catalog()),
            settings,
        });
        Self {
            world,
            manager,
            dirs,
            runtime,
            _root: root,
        }
    }

    /// Reports since the last call.
    pub(super) fn reports(&self) -> Vec<(String, u8, i64, i64)> {
        std::mem::take(&mut self.world.lock().reports)
    }

    /// Names of all files, but for temporary ones at the top.
    pub(super) fn files(&self) -> Vec<String> {
        let mut names = Vec::new();
        self.manager
            .for_each_file(|name, _| names.push(name.to_owned()));
        names.sort();
        names
    }
}

/// Spark's, but for tests that are quick and small.
fn settings() -> StoreSettings {
    StoreSettings {
        unroll_threshold: 64,
        migration_interval: std::time::Duration::from_millis(20),
        track_visibility: false,
        ..StoreSettings::from_conf(&SparkProperties::default()).unwrap()
    }
}

struct Everyone(Arc<Mutex<World>>);

impl Master for Everyone {
    fn update_block_info(
        &self,
        id: &BlockId,
        status: BlockStatus,
        _checksum: Option<i64>,
    ) -> Answer<Result<bool, String>> {
        let mut world = self.0.lock();
        let flags = status.storage_level.flags;
        world
            .reports
            .push((id.to_string(), flags, status.mem_size, status.disk_size));
        let known = !world.unknown;
        Box::pin(async move { Ok(known) })
    }

    fn get_locations_and_status(
        &self,
        id: &BlockId,
    ) -> Answer<Result<Option<BlockLocations>, String>> {
        let found = self.0.lock().locations.get(id).cloned();
        Box::pin(async move {
            Ok(found.map(|(locations, status)| BlockLocations { locations, status }))
        })
    }

    fn get_peers(&self) -> Answer<Result<Vec<BlockManagerId>, String>> {
        let peers = self.0.lock().peers.clone();
        Box::pin(async move { Ok(peers) })
    }

    fn is_rdd_block_visible(&self, id: &BlockId) -> Answer<Result<bool, String>> {
        let visible = self.0.lock().visible.contains(id);
        Box::pin(async move { Ok(visible) })
    }

    fn update_rdd_block_task_info(&self, id: &BlockId, task_id: i64) -> Answer<Result<(), String>> {
        self.0.lock().made.push((id.clone(), task_id));
        Box::pin(async { Ok(()) })
    }
}

impl Peers for Everyone {
    fn fetch(
        &self,
        from: &BlockManagerId,
        id: &BlockId,
        _size: u64,
    ) -> Answer<Result<RemoteBlock, String>> {
        let mut world = self.0.lock();
        world.fetches += 1;
        let bytes = world.remote.get(&(from.clone(), id.clone())).cloned();
        Box::pin(async move {
            let bytes = bytes.ok_or_else(|| "no such block".to_owned())?;
            Ok(RemoteBlock {
                size: bytes.len() as u64,
                reader: Box::new(bytes.reader()),
            })
        })
    }

    fn upload(
        &self,
        to: &BlockManagerId,
        id: &BlockId,
        _metadata: Bytes,
        body: Body,
    ) -> Answer<Result<(), String>> {
        let bytes = match body {
            Body::Bytes(bytes) => bytes,
            Body::File { file, offset, len } => {
                let mut bytes = vec![0; len as usize];
                std::os::unix::fs::FileExt::read_exact_at(&*file, &mut bytes, offset).unwrap();
                bytes.into()
            }
        };
        let mut world = self.0.lock();
        let refused = world.refuse_uploads.contains(&to.executor_id);
        if !refused {
            world
                .uploads
                .push((to.executor_id.clone(), id.to_string(), bytes));
        }
        Box::pin(async move {
            if refused {
                Err("no room".to_owned())
            } else {
                Ok(())
            }
        })
    }
}

/// No compression; encryption turns the bits over.
struct Plain {
    encrypts: bool,
}

struct Through(Box<dyn Write + Send>);

impl Write for Through {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.0.write(buf)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl FinishWrite for Through {
    fn finish(mut self: Box<Self>) -> io::Result<()> {
        self.0.flush()
    }
}

struct Not<T>(T);

impl<W: Write> Write for Not<W> {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        let turned: Vec<u8> = buf.iter().map(|byte| !byte).collect();
        self.0.write_all(&turned)?;
        Ok(buf.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl<R: Read> Read for Not<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let count = self.0.read(buf)?;
        buf[..count].iter_mut().for_each(|byte| *byte = !*byte);
        Ok(count)
    }
}

impl Streams for Plain {
    fn compress(
        &self,
        _id: &BlockId,
        out: Box<dyn Write + Send>,
    ) -> io::Result<Box<dyn FinishWrite + Send>> {
        Ok(Box::new(Through(out)))
    }

    fn decompress(
        &self,
        _id: &BlockId,
        input: Box<dyn Read + Send>,
    ) -> io::Result<Box<dyn Read + Send>> {
        Ok(input)
    }

    fn encrypts(&self) -> bool {
        self.encrypts
    }

    fn encrypt(&self, out: Box<dyn Write + Send>) -> io::Result<Box<dyn Write + Send>> {
        Ok(if self.encrypts {
            Box::new(Not(out))
        } else {
            out
        })
    }

    fn decrypt(&self, input: Box<dyn Read + Send>) -> io::Result<Box<dyn Read + Send>> {
        Ok(if self.encrypts {
            Box::new(Not(input))
        } else {
            input
        })
    }
}
