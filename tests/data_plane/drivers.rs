//! Real drivers of every version: what the block manager master answers, and broadcasts.

use bytes::Bytes;
use firesteel::blocks::broadcast::{
    Broadcasts, PieceStore, PythonBroadcastReader, TorrentBroadcastRef, java_byte_array,
};
use firesteel::blocks::fetch::BlockFetcher;
use firesteel::blocks::master::BlockManagerMaster;
use firesteel::blocks::{BlockEnv, LocalDirs};
use firesteel::cancel::Cancellation;
use firesteel::config::SparkProperties;
use firesteel::rpc::{DriverEndpoint, RpcConf};
use javaser::arena::{Graph, NodeId};
use javaser::kryo::KryoForm;
use javaser::{Catalog, Limits};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::io::{self, BufRead, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;
use testkit::{Distribution, NEWEST, VERSIONS, from_hex, of_series};
use wire::WireVersion;
use wire::envelope::RpcAddress;
use wire::ids::{BlockId, BlockManagerId, StorageLevel};
use wire::messages::BlockStatus;

/// Keeps what it gets, and counts.
#[derive(Default)]
struct Store {
    pieces: Mutex<HashMap<BlockId, Bytes>>,
    puts: Mutex<usize>,
}

impl PieceStore for Store {
    fn get_piece(&self, id: &BlockId) -> io::Result<Option<Bytes>> {
        Ok(self.pieces.lock().get(id).cloned())
    }

    fn put_piece(&self, id: &BlockId, data: Bytes) -> io::Result<()> {
        *self.puts.lock() += 1;
        self.pieces.lock().insert(id.clone(), data);
        Ok(())
    }
}

/// Ends with its standard input.
struct Driver {
    child: Child,
    says: serde_json::Value,
}

impl Driver {
    fn start(version: &str, settings: &[String]) -> Self {
        let distribution = Distribution::find(version);
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data_plane/driver.py");
        let mut command = Command::new(&distribution.python);
        command
            .arg(script)
            .args(settings)
            .env("SPARK_HOME", &distribution.home);
        command.env("PYTHONPATH", distribution.site_packages());
        command.env("SPARK_LOCAL_IP", "127.0.0.1");
        command.env("JAVA_HOME", testkit::jdk());
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("python runs");
        let stdout = io::BufReader::new(child.stdout.take().unwrap());
        let json = stdout
            .lines()
            .map(|line| line.unwrap())
            .find(|line| line.starts_with('{'))
            .unwrap_or_else(|| panic!("the driver of Spark {version} did not start"));
        Self {
            child,
            says: serde_json::from_str(&json).unwrap(),
        }
    }

    fn broadcast(&self, name: &str) -> TorrentBroadcastRef {
        let stream = from_hex(self.says[name].as_str().unwrap());
        let graph = Graph::parse(&stream, &Limits::default()).unwrap();
        let node: NodeId = graph.root().unwrap().node().unwrap();
        TorrentBroadcastRef::read(&graph, node).unwrap()
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        self.child.wait().unwrap();
    }
}

async fn env(version: &str, driver: &Driver, settings: &[String], root: &Path) -> Arc<BlockEnv> {
    let class_path = Distribution::find(version).class_path();
    let catalog = Catalog::from_class_path(&[class_path.into()]).unwrap();
    let mut properties = SparkProperties::default();
    for setting in settings {
        let (key, value) = setting.split_once('=').unwrap();
        properties.set(key, value);
    }
    let address = RpcAddress {
        host: "127.0.0.1".into(),
        port: driver.says["port"].as_i64().unwrap().try_into().unwrap(),
    };
    let conf = RpcConf::new(|_| None).unwrap();
    let (endpoint, _events) = DriverEndpoint::connect(address, &conf).await.unwrap();
    Arc::new(BlockEnv {
        app_id: driver.says["app_id"].as_str().unwrap().into(),
        block_manager_id: BlockManagerId {
            executor_id: "7".into(),
            host: "127.0.0.1".into(),
            port: 1,
            topology_info: None,
        },
        version: WireVersion::detect(&catalog).unwrap(),
        catalog: Arc::new(catalog),
        limits: Limits::default(),
        properties: Arc::new(properties),
        driver: endpoint.into(),
        ask_timeout: Duration::from_secs(60),
        local_dirs: Arc::new(LocalDirs::create(&[root.to_owned()], 64, false).unwrap()),
        runtime: tokio::runtime::Handle::current(),
        protection: Default::default(),
        io_encryption_key: None,
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn broadcasts_of_real_drivers_are_read() {
    let codecs = ["lz4", "zstd", "snappy", "lzf"];
    for (version, codec) in VERSIONS.into_iter().zip(codecs.into_iter().cycle()) {
        let kryo = (version == NEWEST).then(KryoForm::default);
        let mut settings = vec![
            format!("spark.io.compression.codec={codec}"),
            format!("spark.broadcast.compress={}", version != of_series("4.2")),
            format!("spark.broadcast.blockSize={}", "1m"),
        ];
        if kryo.is_some() {
            let class = "org.apache.spark.serializer.KryoSerializer";
            settings.push(format!("spark.serializer={class}"));
        }
        let driver = Driver::start(version, &settings);
        let root = tempfile::tempdir().unwrap();
        let env = env(version, &driver, &settings, root.path()).await;
        the_master_answers(version, &env, &driver).await;

        let store = Arc::new(Store::default());
        let fetcher = Arc::new(BlockFetcher::new(env.clone()).unwrap());
        let broadcasts = Broadcasts::new(env.clone(), fetcher, store.clone()).unwrap();
        let bytes = driver.broadcast("bytes");
        let value = broadcasts.value(&bytes).await.unwrap();
        let array = java_byte_array(&value, kryo).unwrap();
        assert!(array == b"bytes of a JVM ".repeat(1000), "Spark {version}");
        assert!(Arc::ptr_eq(
            &value,
            &broadcasts.value(&bytes).await.unwrap()
        ));

        // Large: five pieces or more, unpacked once for all who want it.
        let python = driver.broadcast("python");
        assert!(python.num_blocks >= 5, "{python:?}");
        assert_eq!(python.checksums.as_ref().unwrap().len(), python.num_blocks);
        let (one, other) = tokio::join!(broadcasts.value(&python), broadcasts.value(&python));
        let (one, other) = (one.unwrap(), other.unwrap());
        assert!(Arc::ptr_eq(&one, &other));
        let puts = bytes.num_blocks + python.num_blocks;
        assert_eq!(*store.puts.lock(), puts, "each piece once");
        drop((one, other));

        let reader = broadcasts.reader(&python).await.unwrap();
        let payload = tokio::task::spawn_blocking(move || {
            let mut reader = PythonBroadcastReader::new(io::BufReader::new(reader)).unwrap();
            let mut payload = Vec::new();
            reader.read_to_end(&mut payload).unwrap();
            (reader.broadcast_id(), payload)
        });
        let (_, payload) = payload.await.unwrap();
        assert_eq!(driver.says["pickle_len"], payload.len());
        assert_eq!(
            driver.says["pickle_adler32"],
            adler2::adler32_slice(&payload)
        );
        assert_eq!(*store.puts.lock(), puts, "pieces were here");
        refusals(&env, &broadcasts, &store, &python).await;
    }
}

/// Every question of ours.
async fn the_master_answers(version: &str, env: &Arc<BlockEnv>, driver: &Driver) {
    let master = BlockManagerMaster::new(env.clone());
    let piece = driver.broadcast("bytes").piece(0);
    let locations = master.get_locations(&piece).await.unwrap();
    assert_eq!(locations.len(), 1, "Spark {version}");
    assert_eq!(locations[0].executor_id, "driver");
    let nothing = BlockId::broadcast(99);
    assert_eq!(master.get_locations(&nothing).await, Ok(Vec::new()));
    let all = master.get_locations_of_all(vec![nothing.clone(), piece.clone()]);
    assert_eq!(all.await, Ok(vec![Vec::new(), locations.clone()]));
    let found = master.get_locations_and_status(&piece).await.unwrap();
    let found = found.unwrap();
    assert_eq!(found.locations, locations);
    assert!(found.status.mem_size > 0, "{found:?}");
    assert_eq!(master.get_locations_and_status(&nothing).await, Ok(None));
    assert_eq!(master.get_peers().await, Ok(Vec::new()));
    assert_eq!(master.is_executor_alive("driver").await, Ok(true));
    assert_eq!(master.is_executor_alive("7").await, Ok(false));
    let rdd = BlockId::Rdd {
        rdd_id: 1,
        split_index: 2,
    };
    // Unless spark.rdd.cache.visibilityTracking.enabled all are.
    assert_eq!(master.is_rdd_block_visible(&rdd).await, Ok(true));
    assert_eq!(master.update_rdd_block_task_info(&rdd, 5).await, Ok(()));
    assert_eq!(
        master.get_replicate_info_for_rdd_blocks().await,
        Ok(Vec::new())
    );
    assert_eq!(master.get_sealed_checksum(&rdd).await, Ok(None));
    let status = BlockStatus {
        storage_level: StorageLevel::MEMORY_AND_DISK_SER,
        mem_size: 5,
        disk_size: 0,
    };
    let known = master.update_block_info(&rdd, status, None).await;
    assert_eq!(known, Ok(false), "this executor has not registered");
}

async fn refusals(
    env: &Arc<BlockEnv>,
    broadcasts: &Broadcasts,
    store: &Store,
    python: &TorrentBroadcastRef,
) {
    let missing = TorrentBroadcastRef {
        id: 99,
        num_blocks: 1,
        checksums: None,
    };
    let error = format!("{:?}", broadcasts.value(&missing).await.unwrap_err());
    assert!(
        error.contains("Failed to get broadcast_99_piece0 of broadcast_99"),
        "{error}"
    );
    broadcasts.remove(python.id);
    store.pieces.lock().clear();
    let mut damaged = python.clone();
    damaged.checksums.as_mut().unwrap()[1] ^= 1;
    let error = format!("{:?}", broadcasts.value(&damaged).await.unwrap_err());
    assert!(error.contains("corrupt remote block"), "{error}");

    let killed = Cancellation::default();
    killed.cancel("why");
    let env = env.clone();
    tokio::task::block_in_place(|| {
        assert!(env.runtime.metrics().num_workers() > 0);
        let error = broadcasts.blocking_value(&missing, &killed).unwrap_err();
        assert!(format!("{error:?}").contains("Killed"), "{error:?}");
    });
}
