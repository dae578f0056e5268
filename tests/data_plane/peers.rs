//! Our client with our block server.

use super::sample;
use bytes::Bytes;
use firesteel::blocks::fetch::{BlockFetchError, BlockFetcher, Destination, FetchedBlock};
use firesteel::blocks::{BlockEnv, BlockServer, BlockSource, LocalDirs, Upload};
use firesteel::config::SparkProperties;
use firesteel::rpc::{DriverEndpoint, RpcConf};
use firesteel::transport::{Answer, Body, Peer, Reply, RequestHandler, Server, TransportConf};
use javaser::{Catalog, Limits};
use parking_lot::Mutex;
use std::io::Read;
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use wire::WireVersion;
use wire::block_transfer::Cause;
use wire::envelope::{RequestEnvelope, RpcAddress};
use wire::ids::{BlockId, BlockManagerId, StorageLevel};
use wire::messages::{BlockReplicationMetadata, IsExecutorAlive, reply};

const APP: &str = "app-20260101000000-0000";

/// Keeps uploads.
#[derive(Default)]
struct Source {
    uploads: Mutex<Vec<(Upload, Bytes)>>,
}

impl BlockSource for Source {
    fn may_have(&self, _id: &BlockId) -> bool {
        false
    }

    fn stored_block(&self, _id: &BlockId) -> Option<Answer<Result<Body, String>>> {
        None
    }

    fn local_block(&self, id: BlockId) -> Answer<Result<Body, String>> {
        Box::pin(async move { Err(format!("Block {id} not found")) })
    }

    fn upload(&self, upload: Upload, data: Bytes) -> Answer<Result<Bytes, String>> {
        self.uploads.lock().push((upload, data));
        Box::pin(async { Ok(Bytes::new()) })
    }

    fn upload_stream(&self, upload: Upload, file: PathBuf) -> Answer<Result<Bytes, String>> {
        let data = std::fs::read(file).unwrap();
        self.uploads.lock().push((upload, data.into()));
        Box::pin(async { Ok(Bytes::new()) })
    }
}

struct Shared(Arc<Source>);

impl BlockSource for Shared {
    fn may_have(&self, id: &BlockId) -> bool {
        self.0.may_have(id)
    }

    fn stored_block(&self, id: &BlockId) -> Option<Answer<Result<Body, String>>> {
        self.0.stored_block(id)
    }

    fn local_block(&self, id: BlockId) -> Answer<Result<Body, String>> {
        self.0.local_block(id)
    }

    fn upload(&self, upload: Upload, data: Bytes) -> Answer<Result<Bytes, String>> {
        self.0.upload(upload, data)
    }

    fn upload_stream(&self, upload: Upload, file: PathBuf) -> Answer<Result<Bytes, String>> {
        self.0.upload_stream(upload, file)
    }
}

/// A driver that knows only whether executors are alive.
struct Driver {
    catalog: Arc<Catalog>,
    alive: Arc<AtomicBool>,
}

impl RequestHandler for Driver {
    fn on_rpc(&self, _peer: Peer, body: Bytes, answer: Reply) {
        let envelope = RequestEnvelope::read(&body).unwrap();
        assert_eq!(envelope.endpoint, "BlockManagerMaster");
        let asked = IsExecutorAlive::decode(&envelope.content).unwrap();
        assert_eq!(asked.executor_id, "7");
        let alive = self.alive.load(Ordering::SeqCst);
        answer.success(reply::boolean(alive, &self.catalog).unwrap().into());
    }
}

struct Fixture {
    root: tempfile::TempDir,
    _driver: Server,
    alive: Arc<AtomicBool>,
    source: Arc<Source>,
    dirs: Arc<LocalDirs>,
    server: Option<BlockServer>,
    peer: BlockManagerId,
    env: Arc<BlockEnv>,
    fetcher: BlockFetcher,
}

impl Fixture {
    async fn start(settings: &[(&str, &str)], key: Option<&[u8]>) -> Self {
        let class_path = testkit::Distribution::find(testkit::NEWEST).class_path();
        let catalog = Arc::new(Catalog::from_class_path(&[class_path.into()]).unwrap());
        let alive = Arc::new(AtomicBool::new(true));
        let handler = Driver {
            catalog: catalog.clone(),
            alive: alive.clone(),
        };
        let localhost = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let conf = TransportConf::default();
        let driver = Server::bind((localhost, 0), &conf, Arc::new(handler)).unwrap();
        let address = RpcAddress {
            host: "127.0.0.1".into(),
            port: driver.local_addr().port().into(),
        };
        let (endpoint, _events) =
            DriverEndpoint::connect(address, &RpcConf::new(|_| None).unwrap())
                .await
                .unwrap();
        let root = tempfile::tempdir().unwrap();
        let local_dirs =
            |name| Arc::new(LocalDirs::create(&[root.path().join(name)], 64, false).unwrap());
        let (dirs, source) = (local_dirs("theirs"), Arc::new(Source::default()));
        let shared = Arc::new(Shared(source.clone()));
        let server = BlockServer::bind(
            ("127.0.0.1", 0),
            APP,
            "7",
            dirs.clone(),
            shared,
            Default::default(),
            |_| None,
        )
        .unwrap();
        let id = |executor: &str, port: u16| BlockManagerId {
            executor_id: executor.into(),
            host: "127.0.0.1".into(),
            port: port.into(),
            topology_info: None,
        };
        let mut properties = SparkProperties::default();
        for (key, value) in settings {
            properties.set(*key, *value);
        }
        let env = Arc::new(BlockEnv {
            app_id: APP.into(),
            block_manager_id: id("8", 1),
            version: WireVersion::detect(&catalog).unwrap(),
            catalog,
            limits: Limits::default(),
            properties: Arc::new(properties),
            driver: endpoint.into(),
            ask_timeout: Duration::from_secs(20),
            local_dirs: local_dirs("ours"),
            runtime: tokio::runtime::Handle::current(),
            protection: Default::default(),
            io_encryption_key: key.map(<[u8]>::to_vec),
        });
        Self {
            peer: id("7", server.port()),
            server: Some(server),
            fetcher: BlockFetcher::new(env.clone()).unwrap(),
            env,
            dirs,
            source,
            alive,
            _driver: driver,
            root,
        }
    }

    fn write(&self, name: &str, bytes: &[u8]) {
        let path = self.dirs.path(&name.parse().unwrap());
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }

    /// Writes the files of map task `map` of shuffle 3, and gives its segments.
    fn map_output(&self, map: i64, sizes: &[usize]) -> Vec<Vec<u8>> {
        let segments: Vec<_> = (0..)
            .zip(sizes)
            .map(|(at, size)| sample(*size, at + map as u64 * 100))
            .collect();
        let mut index = 0u64.to_be_bytes().to_vec();
        let mut offset = 0;
        for size in sizes {
            offset += *size as u64;
            index.extend(offset.to_be_bytes());
        }
        self.write(&format!("shuffle_3_{map}_0.index"), &index);
        self.write(&format!("shuffle_3_{map}_0.data"), &segments.concat());
        segments
    }

    async fn fetch(
        &self,
        names: &[&str],
        destination: Destination,
    ) -> Vec<Result<FetchedBlock, BlockFetchError>> {
        let blocks: Vec<_> = names
            .iter()
            .map(|name| BlockId::parse(name).unwrap())
            .collect();
        let mut results: Vec<_> = blocks.iter().map(|_| None).collect();
        self.fetcher
            .fetch_blocks(&self.peer, &blocks, false, destination, |index, result| {
                assert!(results[index].replace(result).is_none(), "one result each");
            })
            .await;
        results.into_iter().map(|result| result.unwrap()).collect()
    }
}

fn bytes(result: &Result<FetchedBlock, BlockFetchError>) -> Vec<u8> {
    let mut bytes = Vec::new();
    match result.as_ref().unwrap() {
        FetchedBlock::Memory(data) => bytes.extend_from_slice(data),
        FetchedBlock::File(file) => {
            file.reader().unwrap().read_to_end(&mut bytes).unwrap();
            assert_eq!(file.len(), bytes.len() as u64);
        }
    }
    bytes
}

fn files_in(dir: &Path) -> usize {
    std::fs::read_dir(dir).unwrap().count()
}

const NAMES: [&str; 4] = [
    "shuffle_3_10_2",
    "shuffle_3_11_0",
    "shuffle_3_10_0",
    "shuffle_3_10_1",
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn shuffle_blocks_come_in_whatever_order_they_are_named() {
    for old in ["false", "true"] {
        let settings = [("spark.shuffle.useOldFetchProtocol", old)];
        let fixture = Fixture::start(&settings, None).await;
        let one = fixture.map_output(10, &[100, 0, 3 << 20]);
        let other = fixture.map_output(11, &[50_000]);
        for destination in [Destination::Memory, Destination::Disk] {
            let results = fixture.fetch(&NAMES, destination).await;
            let expected = [&one[2], &other[0], &one[0], &one[1]];
            for (result, expected) in results.iter().zip(expected) {
                assert!(&bytes(result) == expected);
                let on_disk = matches!(result, Ok(FetchedBlock::File(_)));
                assert_eq!(on_disk, destination == Destination::Disk);
            }
            let batches = ["shuffle_3_10_0_3", "shuffle_3_11_0_1"];
            let results = fixture.fetch(&batches, destination).await;
            assert!(bytes(&results[0]) == one.concat());
            assert!(bytes(&results[1]) == other.concat());
        }
        let ours = &fixture.env.local_dirs.dirs()[0];
        assert_eq!(files_in(ours), 0, "files go with their blocks");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_block_that_is_not_there_fails_its_request_as_in_spark() {
    let fixture = Fixture::start(&[], None).await;
    let one = fixture.map_output(10, &[100, 0, 3000]);
    // This one is found out when it is read.
    let unreadable = ["shuffle_3_10_0", "shuffle_3_10_7", "shuffle_3_10_2"];
    let absent = ["shuffle_3_10_0", "shuffle_3_12_0", "shuffle_3_10_2"];
    for destination in [Destination::Memory, Destination::Disk] {
        let results = fixture.fetch(&unreadable, destination).await;
        assert!(bytes(&results[0]) == one[0] && bytes(&results[2]) == one[2]);
        let Err(BlockFetchError::Remote(why)) = &results[1] else {
            panic!("{:?}", results[1])
        };
        assert!(why.contains("has no reducers 7 to 8"), "{why}");
        for result in fixture.fetch(&absent, destination).await {
            let Err(BlockFetchError::Remote(why)) = &result else {
                panic!("{result:?}")
            };
            assert!(why.contains("shuffle_3_12_0"), "{why}");
        }
    }
    let results = fixture.fetch(&["rdd_1_1"], Destination::Memory).await;
    assert!(matches!(&results[0], Err(BlockFetchError::Remote(why)) if why.contains("rdd_1_1")));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn downloads_are_encrypted_if_files_are() {
    let fixture = Fixture::start(&[], Some(&[7; 16])).await;
    let one = fixture.map_output(10, &[3 << 20]);
    let results = fixture.fetch(&["shuffle_3_10_0"], Destination::Disk).await;
    assert!(bytes(&results[0]) == one[0]);
    let Ok(FetchedBlock::File(file)) = &results[0] else {
        panic!("{results:?}")
    };
    assert!(file.is_encrypted());
    let raw = std::fs::read(file.path()).unwrap();
    assert!(raw.len() == one[0].len() + 16 && raw[16..] != one[0][..]);
    let path = file.path().to_owned();
    let result = results.into_iter().next().unwrap().unwrap();
    let mut read = Vec::new();
    let mut reader = result.into_reader().unwrap();
    reader.read_to_end(&mut read).unwrap();
    assert!(read == one[0] && path.exists());
    drop(reader);
    assert!(!path.exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn uploads_arrive_in_one_piece_or_as_streams() {
    let settings = [("spark.network.maxRemoteBlockSizeFetchToMem", "1m")];
    let fixture = Fixture::start(&settings, None).await;
    let catalog = &fixture.env.catalog;
    let metadata = BlockReplicationMetadata {
        level: StorageLevel::DISK_ONLY,
        class_tag: None,
        checksum: None,
        verify_sealed_checksum: false,
    };
    let encoded = Bytes::from(metadata.encode(catalog).unwrap());
    let large = sample(5 << 20, 3);
    let path = fixture.root.path().join("file");
    std::fs::write(&path, &large).unwrap();
    let file = Body::File {
        file: Arc::new(std::fs::File::open(&path).unwrap()),
        offset: 1,
        len: 100,
    };
    let bodies = [
        ("rdd_1_1", Body::Bytes(Bytes::from_static(b"small"))),
        ("rdd_1_2", Body::Bytes(large.clone().into())),
        ("shuffle_3_9_0.data", file),
    ];
    for (name, body) in &bodies {
        let id = BlockId::parse(name).unwrap();
        let stored = fixture
            .fetcher
            .upload_block(&fixture.peer, &id, encoded.clone(), body);
        stored.await.unwrap();
    }
    let uploads = fixture.source.uploads.lock();
    let expected = [&b"small"[..], &large, &large[1..101]];
    assert_eq!(uploads.len(), 3);
    for ((upload, data), ((name, _), expected)) in uploads.iter().zip(bodies.iter().zip(expected)) {
        assert_eq!(
            (&*upload.id.to_string(), &upload.metadata),
            (*name, &metadata)
        );
        assert!(data == expected);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn servers_tell_directories_and_causes() {
    let fixture = Fixture::start(&[], None).await;
    fixture.map_output(10, &[100]);
    let port = u16::try_from(fixture.peer.port).unwrap();
    let dirs = fixture
        .fetcher
        .get_host_local_dirs("127.0.0.1", port, vec!["7".into()])
        .await
        .unwrap();
    let expected = fixture.dirs.dirs()[0].to_str().unwrap().to_owned();
    assert_eq!(dirs, [("7".to_owned(), vec![expected])]);
    let cause = fixture
        .fetcher
        .diagnose_corruption(&fixture.peer, (3, 10, 0), 5, "ADLER32")
        .await;
    assert_eq!(cause, Ok(Cause::UNKNOWN_ISSUE), "there is no checksum file");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_fails_with_the_connection_is_tried_again() {
    let settings = [
        ("spark.shuffle.io.retryWait", "1s"),
        ("spark.shuffle.io.maxRetries", "20"),
    ];
    let mut fixture = Fixture::start(&settings, None).await;
    let one = fixture.map_output(10, &[100, 0, 3000]);
    let port = fixture.server.take().unwrap().port();
    // Gone, but the driver does not know yet.
    let (dirs, shared) = (fixture.dirs.clone(), Shared(fixture.source.clone()));
    let again = tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(300)).await;
        loop {
            let (dirs, shared) = (dirs.clone(), Shared(shared.0.clone()));
            let bound = BlockServer::bind(
                ("127.0.0.1", port),
                APP,
                "7",
                dirs,
                Arc::new(shared),
                Default::default(),
                |_| None,
            );
            if let Ok(server) = bound {
                return server;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    });
    let results = fixture
        .fetch(&["shuffle_3_10_2"], Destination::Memory)
        .await;
    assert!(bytes(&results[0]) == one[2]);
    drop(again.await.unwrap());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_waits_for_the_dead() {
    let settings = [("spark.shuffle.io.retryWait", "1h")];
    let mut fixture = Fixture::start(&settings, None).await;
    drop(fixture.server.take());
    fixture.alive.store(false, Ordering::SeqCst);
    let results = fixture.fetch(&NAMES, Destination::Memory).await;
    for result in results {
        let error = result.unwrap_err();
        assert_eq!(
            error.to_string(),
            "The relative remote executor(Id: 7), which maintains the block data to fetch is dead."
        );
    }
}
