use super::super::tracker::BroadcastValues;
use super::super::transfer::DirsByExecutor;
use super::super::{FetchFailure, Shuffle};
use super::*;
use crate::blocks::fetch::FetchedBlock;
use crate::blocks::metrics::{ShuffleWriteMetrics, SpillMetrics};
use crate::blocks::{FileName, ShuffleFile};
use crate::config::SparkProperties;
use crate::memory::budget::FixedPool;
use crate::rpc::{DriverEndpoint, RpcConf};
use crate::transport::{Answer, Body, NoRequests, Server, TransportConf};
use bytes::Bytes;
use javaser::arena::{Graph, NodeId};
use std::io::Read;
use std::pin::Pin;
use wire::block_transfer::Cause;
use wire::envelope::RpcAddress;
use wire::map_status::MapStatus;
use wire::map_status_rules::MapStatusRules;

/// Answers from maps; what is in none never comes.
#[derive(Default)]
struct Network {
    /// What is sent for a block, one after the other; the last one again and again.
    blocks: Mutex<HashMap<String, VecDeque<Result<Bytes, String>>>>,
    dirs: HashMap<String, Vec<String>>,
    cause: Option<Cause>,
    asked: Mutex<Vec<String>>,
}

impl BlockTransfer for Network {
    fn fetch(
        &self,
        address: Arc<BlockManagerId>,
        blocks: Arc<[ShuffleBlock]>,
        to_disk: bool,
        _columns: bool,
        told: Told,
    ) -> Answer<()> {
        let mut known = self.blocks.lock();
        for (index, block) in blocks.iter().enumerate() {
            let to = if to_disk { " to disk" } else { "" };
            let asked = format!("{}: {block}{to}", address.executor_id);
            self.asked.lock().push(asked);
            let Some(answers) = known.get_mut(&block.to_string()) else {
                let told = told.clone();
                return Box::pin(async move {
                    let _told = told;
                    std::future::pending().await
                });
            };
            let next = match answers.len() {
                1 => answers.front().cloned(),
                _ => answers.pop_front(),
            };
            told.tell(index, next.unwrap().map(FetchedBlock::Memory));
        }
        Box::pin(async {})
    }

    fn local_dirs(
        &self,
        _host: String,
        _port: i32,
        executor_ids: Vec<String>,
    ) -> Answer<Result<DirsByExecutor, String>> {
        let found = executor_ids.into_iter().map(|id| {
            let dirs = self.dirs.get(&id).ok_or("no such executor")?;
            Ok((id, dirs.clone()))
        });
        let found: Result<Vec<_>, &str> = found.collect();
        Box::pin(async { found.map_err(str::to_owned) })
    }

    fn diagnose(
        &self,
        _address: Arc<BlockManagerId>,
        _block: ShuffleBlock,
        _checksum: i64,
        _algorithm: &'static str,
    ) -> Answer<Result<Cause, String>> {
        let cause = self.cause.ok_or("nobody there".to_owned());
        Box::pin(async move { cause })
    }
}

struct NoBroadcasts;

impl BroadcastValues for NoBroadcasts {
    fn value<'a>(
        &'a self,
        _graph: &'a Graph,
        _broadcast: NodeId,
    ) -> Pin<Box<dyn Future<Output = Result<Bytes, String>> + Send + 'a>> {
        Box::pin(async { Err("none".to_owned()) })
    }
}

struct Executor {
    _root: tempfile::TempDir,
    _driver: Server,
    _runtime: tokio::runtime::Runtime,
    shuffle: Shuffle,
    reads: ShuffleReadMetrics,
    kill: Cancellation,
}

fn address(executor: &str, host: &str) -> BlockManagerId {
    BlockManagerId {
        executor_id: executor.to_owned(),
        host: host.to_owned(),
        port: 7,
        topology_info: None,
    }
}

/// Executor 1 on host `here`.
fn executor(
    network: impl Into<Arc<Network>>,
    settings: &[(&'static str, &'static str)],
) -> Executor {
    let root = tempfile::tempdir().unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let conf = RpcConf::new(|_| None).unwrap();
    let transport = TransportConf::for_module("rpc", |_| None).unwrap();
    let (driver, endpoint) = runtime.block_on(async {
        let server = Server::bind(
            ("127.0.0.1".parse().unwrap(), 0),
            &transport,
            Arc::new(NoRequests),
        );
        let server = server.unwrap();
        let address = RpcAddress {
            host: "127.0.0.1".to_owned(),
            port: server.local_addr().port().into(),
        };
        let (endpoint, _) = DriverEndpoint::connect(address, &conf).await.unwrap();
        (server, endpoint)
    });
    let dirs = LocalDirs::create(&[root.path().to_owned()], 64, false).unwrap();
    let env = BlockEnv {
        app_id: "app".to_owned(),
        block_manager_id: address("1", "here"),
        catalog: Arc::new(javaser::Catalog::from_class_path(&[]).unwrap()),
        version: wire::WireVersion::newest(),
        limits: javaser::Limits::default(),
        properties: Arc::new(SparkProperties::from_launch(settings.iter().copied(), [])),
        driver: endpoint.into(),
        ask_timeout: Duration::from_secs(10),
        local_dirs: Arc::new(dirs),
        runtime: runtime.handle().clone(),
        protection: Default::default(),
        io_encryption_key: None,
    };
    Executor {
        shuffle: Shuffle::new(
            Arc::new(env),
            Arc::new(NoBroadcasts),
            network.into(),
            FixedPool::execution(1 << 30),
        )
        .unwrap(),
        _root: root,
        _driver: driver,
        _runtime: runtime,
        reads: ShuffleReadMetrics::default(),
        kill: Cancellation::default(),
    }
}

impl Executor {
    /// Writes a map output, one record for each reducer.
    fn write(&self, map_id: i64, records: &[&[u8]]) -> MapStatus {
        let (writes, spills) = (ShuffleWriteMetrics::default(), SpillMetrics::default());
        let count = records.len();
        let writer = self
            .shuffle
            .writer(3, map_id, map_id, count, &writes, &spills);
        let mut writer = writer.unwrap();
        for (reducer, record) in records.iter().enumerate() {
            if !record.is_empty() {
                writer.write(reducer, record).unwrap();
            }
        }
        writer.stop(0).unwrap()
    }

    /// Writes a map output as columns: for each reducer rows with these numbers.
    fn write_columns(&self, map_id: i64, numbers: &[&[i64]]) -> Option<MapStatus> {
        let (writes, spills) = (ShuffleWriteMetrics::default(), SpillMetrics::default());
        let writer = self
            .shuffle
            .column_writer(3, map_id, map_id, numbers.len(), &writes, &spills);
        let mut writer = writer.unwrap()?;
        for (reducer, numbers) in numbers.iter().enumerate() {
            for numbers in numbers.chunks(2) {
                writer
                    .write(reducer, numbers.len(), &frame_of(numbers))
                    .unwrap();
            }
        }
        Some(writer.stop(0).unwrap())
    }

    /// Blocks with columns, and how many rows their frames have.
    fn read_columns(
        &self,
        statuses: Vec<MapStatus>,
    ) -> Result<Vec<(String, Vec<u32>)>, ShuffleError> {
        let tracker = self.shuffle.tracker();
        tracker.put(3, statuses.into_iter().map(Some).collect());
        let range = ReadRange {
            shuffle_id: 3,
            maps: 0..usize::MAX,
            partitions: 0..2,
            batch: true,
            columns: true,
        };
        let blocks = self.shuffle.read(&range, &self.reads, &self.kill)?;
        let mut found = Vec::new();
        for stream in blocks {
            let mut stream = stream?;
            let mut rows = Vec::new();
            while stream.has_columns() {
                match stream.next_frame() {
                    Ok(Some(frame)) => rows.push(frame.rows),
                    Ok(None) => break,
                    Err(error) => return Err(ShuffleError::of_io(&error).unwrap().clone()),
                }
            }
            found.push((stream.block().to_string(), rows));
        }
        Ok(found)
    }

    fn segment(&self, map_id: i64, reducer: i32) -> Body {
        let files = &self.shuffle.shared.files;
        files.segment(3, map_id, reducer, reducer + 1).unwrap()
    }

    fn read(
        &self,
        statuses: Vec<MapStatus>,
        batch: bool,
    ) -> Result<Vec<(String, Vec<u8>)>, ShuffleError> {
        let tracker = self.shuffle.tracker();
        tracker.put(3, statuses.into_iter().map(Some).collect());
        let range = ReadRange {
            shuffle_id: 3,
            maps: 0..usize::MAX,
            partitions: 0..2,
            batch,
            columns: false,
        };
        let blocks = self.shuffle.read(&range, &self.reads, &self.kill)?;
        let mut found = Vec::new();
        for stream in blocks {
            let mut stream = stream?;
            let mut records = Vec::new();
            if let Err(error) = stream.read_to_end(&mut records) {
                assert!(stream.read(&mut [0]).is_err(), "damage stays");
                return Err(ShuffleError::of_io(&error).unwrap().clone());
            }
            found.push((stream.block().to_string(), records));
        }
        found.sort();
        Ok(found)
    }
}

const NUMBERS: [catalyst::DataType; 1] = [catalyst::DataType::Long];

fn batch_of(numbers: &[i64]) -> arrow::array::RecordBatch {
    let numbers = arrow::array::Int64Array::from(numbers.to_vec());
    let schema = rows::types::schema_of_types(&NUMBERS).unwrap();
    arrow::array::RecordBatch::try_new(schema, vec![Arc::new(numbers)]).unwrap()
}

fn frame_of(numbers: &[i64]) -> Vec<u8> {
    let types = columns::ColumnTypes::new(&NUMBERS).unwrap();
    let mut scatter = columns::Scatter::new(types, 1, 0).unwrap();
    let places: Vec<u32> = (0..numbers.len() as u32).collect();
    scatter.append(0, &batch_of(numbers), &places).unwrap();
    let mut bytes = Vec::new();
    let taken = scatter.take(0, |frame, _| {
        bytes.extend_from_slice(frame);
        Ok::<_, ()>(())
    });
    taken.unwrap();
    bytes
}

/// The same as Spark's rows.
fn rows_of(numbers: &[i64]) -> Vec<u8> {
    let mut encoder = rows::RowEncoder::new(&NUMBERS).unwrap();
    let batch = batch_of(numbers);
    encoder.encode(&batch).unwrap().bytes().to_vec()
}

#[test]
fn columns_are_read_as_such_and_rows_are_made_for_others() {
    let executor = executor(Network::default(), &[]);
    let first = executor.write_columns(10, &[&[1, 2, 3], &[4]]).unwrap();
    let second = executor.write_columns(11, &[&[], &[5]]).unwrap();
    let rows = executor.write(12, &[&rows_of(&[6]), b""]);
    let all = vec![first, second, rows];
    let columns = |name: &str, rows: &[u32]| (name.to_owned(), rows.to_vec());
    let expected = [
        columns("shuffle_3_10_0_2", &[2, 1, 1]),
        columns("shuffle_3_11_1", &[1]),
        columns("shuffle_3_12_0", &[]),
    ];
    assert_eq!(executor.read_columns(all.clone()).unwrap(), expected);
    assert!(executor.shuffle.lacks_rows(3, 10) && !executor.shuffle.lacks_rows(3, 12));
    let found = executor.read(all.clone(), false).unwrap();
    let rows = |name: &str, numbers: &[i64]| (name.to_owned(), rows_of(numbers));
    let expected_rows = [
        rows("shuffle_3_10_0", &[1, 2, 3]),
        rows("shuffle_3_10_1", &[4]),
        rows("shuffle_3_11_1", &[5]),
        rows("shuffle_3_12_0", &[6]),
    ];
    assert_eq!(found, expected_rows);
    assert!(!executor.shuffle.lacks_rows(3, 10));
    // Both are there now.
    assert_eq!(executor.read_columns(all).unwrap(), expected);
    let counts = executor.shuffle.column_counts();
    assert_eq!((counts.written, counts.made_rows), (2, 2));
    assert!(
        executor.write_columns(13, &[&[7]]).is_none(),
        "rows from now on"
    );
}

#[test]
fn outputs_in_the_making_get_rows_when_somebody_reads_files() {
    for format in ["auto", "columns"] {
        let executor = executor(
            Network::default(),
            &[("spark.firesteel.shuffle.format", format)],
        );
        executor.write_columns(10, &[&[1]]).unwrap();
        let (writes, spills) = (ShuffleWriteMetrics::default(), SpillMetrics::default());
        let shuffle = &executor.shuffle;
        let writer = shuffle.column_writer(3, 11, 11, 1, &writes, &spills);
        let mut writer = writer.unwrap().unwrap();
        writer.write(0, 1, &frame_of(&[2])).unwrap();
        shuffle.shuffle_is_read(3);
        assert!(!shuffle.lacks_rows(3, 10));
        let status = writer.stop(0).unwrap();
        assert!(!shuffle.lacks_rows(3, 11));
        executor.segment(11, 0);
        let found = executor.read(vec![status], false).unwrap();
        assert_eq!(found, [("shuffle_3_11_0".to_owned(), rows_of(&[2]))]);
        let other = shuffle.column_writer(4, 12, 12, 1, &writes, &spills);
        drop(other.unwrap().unwrap());
        shuffle.files_are_read();
        assert!(
            shuffle
                .column_writer(4, 13, 13, 1, &writes, &spills)
                .unwrap()
                .is_none()
        );
        shuffle.removed(3);
        assert!(!shuffle.rows_of(3, 10).unwrap());
    }
}

#[test]
fn damaged_columns_are_failed_fetches_and_make_no_rows() {
    let executor = executor(Network::default(), &[]);
    let status = executor.write_columns(10, &[&[1, 2, 3], &[4]]).unwrap();
    let name = FileName::of_shuffle(3, 10, ShuffleFile::Columns);
    let path = executor.shuffle.shared.env.local_dirs.path(&name);
    let mut bytes = std::fs::read(&path).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let failed = failure(executor.read_columns(vec![status.clone()]).unwrap_err());
    assert!(
        failed
            .message
            .contains("is corrupted but the cause is unknown"),
        "{failed:?}"
    );
    let failed = failure(executor.read(vec![status], false).unwrap_err());
    assert!(failed.message.contains("checksum"), "{failed:?}");
    assert!(executor.shuffle.lacks_rows(3, 10));
}

#[test]
fn columns_that_arrive_damaged_are_asked_for_again() {
    let mut good = Vec::new();
    super::super::frames::put_frame(2, &frame_of(&[1, 2]), &mut good).unwrap();
    let mut damaged = good.clone();
    damaged[21] ^= 1;
    let blocks = [Ok(damaged.into()), Ok(good.into())];
    let network = answers(&[("shuffle_3_20_0", &blocks)]);
    let executor = executor(network, &[]);
    let found = executor.read_columns(vec![elsewhere("2", "there", 20)]);
    assert_eq!(found.unwrap(), [("shuffle_3_20_0".to_owned(), vec![2])]);
}

/// The status of a map output of another executor, with 100 bytes or so for reducer 0 only.
fn elsewhere(executor: &str, host: &str, map_id: i64) -> MapStatus {
    MapStatusRules::default().map_status(address(executor, host), &[100, 0], map_id, 0)
}

fn failure(error: ShuffleError) -> FetchFailure {
    match error {
        ShuffleError::FetchFailed(failure) => *failure,
        other => panic!("{other:?}"),
    }
}

fn answers(blocks: &[(&str, &[Result<Bytes, &str>])]) -> Network {
    let queue = |answers: &[Result<Bytes, &str>]| {
        let answers = answers.iter().cloned();
        answers
            .map(|answer| answer.map_err(str::to_owned))
            .collect()
    };
    let blocks = blocks
        .iter()
        .map(|(name, answers)| ((*name).to_owned(), queue(answers)));
    Network {
        blocks: Mutex::new(blocks.collect()),
        ..Network::default()
    }
}

fn bytes(bytes: &[u8]) -> Bytes {
    Bytes::copy_from_slice(bytes)
}

/// A packed segment with this record.
fn packed(record: &[u8]) -> Bytes {
    let executor = executor(Network::default(), &[]);
    executor.write(1, &[record]);
    let Body::File { file, offset, len } = executor.segment(1, 0) else {
        panic!("no file")
    };
    let mut bytes = vec![0; len as usize];
    std::os::unix::fs::FileExt::read_exact_at(&*file, &mut bytes, offset).unwrap();
    bytes.into()
}

#[test]
fn blocks_come_from_files_neighbours_and_the_network() {
    let neighbour = executor(Network::default(), &[]);
    neighbour.write(12, &[b"host local"]);
    let network = Network {
        dirs: HashMap::from([(
            "2".to_owned(),
            neighbour
                .shuffle
                .shared
                .env
                .local_dirs
                .dirs()
                .iter()
                .map(|dir| dir.to_string_lossy().into_owned())
                .collect(),
        )]),
        ..answers(&[
            ("shuffle_3_13_0", &[Ok(packed(b"remote"))]),
            ("shuffle_3_14_0", &[Ok(packed(b"silent neighbour"))]),
        ])
    };
    let executor = executor(network, &[]);
    let mine = executor.write(11, &[b"local", b"more"]);
    let statuses = vec![
        mine,
        elsewhere("2", "here", 12),
        elsewhere("3", "there", 13),
        elsewhere("4", "here", 14),
    ];
    let found = executor.read(statuses, false).unwrap();
    let expected: &[(&str, &[u8])] = &[
        ("shuffle_3_11_0", b"local"),
        ("shuffle_3_11_1", b"more"),
        ("shuffle_3_12_0", b"host local"),
        ("shuffle_3_13_0", b"remote"),
        ("shuffle_3_14_0", b"silent neighbour"),
    ];
    let expected = expected
        .iter()
        .map(|(name, records)| ((*name).to_owned(), records.to_vec()));
    assert_eq!(found, expected.collect::<Vec<_>>());
    assert_eq!(executor.reads.local_blocks_fetched.get(), 3);
    assert_eq!(executor.reads.remote_blocks_fetched.get(), 2);
    assert!(executor.reads.remote_bytes_read.get() > 40);
    assert_eq!(executor.reads.remote_bytes_read_to_disk.get(), 0);
}

#[test]
fn neighbouring_reducers_are_one_batch() {
    let executor = executor(Network::default(), &[]);
    let status = executor.write(11, &[b"a", b"b"]);
    let found = executor.read(vec![status], true).unwrap();
    assert_eq!(found, [("shuffle_3_11_0_2".to_owned(), b"ab".to_vec())]);
}

#[test]
fn a_block_that_does_not_come_is_a_failed_fetch() {
    let network = answers(&[("shuffle_3_13_0", &[Err("Failed to connect to /10.0.0.1:7")])]);
    let executor = executor(network, &[]);
    let failed = failure(
        executor
            .read(vec![elsewhere("3", "there", 13)], false)
            .unwrap_err(),
    );
    assert_eq!(failed.address, Some(address("3", "there")));
    assert_eq!(
        (failed.map_id, failed.map_index, failed.reduce_id),
        (13, 0, 0)
    );
    assert_eq!(
        failed.message,
        "org.apache.spark.shuffle.FetchFailedException: Failed to connect to /10.0.0.1:7"
    );
}

#[test]
fn files_that_are_gone_are_failed_fetches() {
    let executor = executor(Network::default(), &[]);
    let failed = failure(
        executor
            .read(vec![elsewhere("1", "here", 99)], false)
            .unwrap_err(),
    );
    assert!(
        failed
            .message
            .contains("java.nio.file.NoSuchFileException: "),
        "{failed:?}"
    );
}

#[test]
fn empty_blocks_are_not_believed() {
    let network = answers(&[("shuffle_3_13_0", &[Ok(bytes(b""))])]);
    let executor = executor(network, &[]);
    let failed = failure(
        executor
            .read(vec![elsewhere("3", "there", 13)], false)
            .unwrap_err(),
    );
    assert!(
        failed.message.ends_with("Received a zero-size buffer for block shuffle_3_13_0 from BlockManagerId(3, there, 7, None) (expectedApproxSize = 106, isNetworkReqDone=true)"),
        "{failed:?}"
    );
}

#[test]
fn damage_is_diagnosed() {
    for (cause, words) in [
        (Some(Cause::DISK_ISSUE), "is corrupted due to DISK_ISSUE"),
        (
            Some(Cause::NETWORK_ISSUE),
            "is corrupted due to NETWORK_ISSUE",
        ),
        (
            Some(Cause::CHECKSUM_VERIFY_PASS),
            "is corrupted but checksum verification passed",
        ),
        (None, "is corrupted but the cause is unknown"),
    ] {
        let network = answers(&[("shuffle_3_13_0", &[Ok(bytes(b"no LZ4Block but something"))])]);
        let executor = executor(Network { cause, ..network }, &[]);
        let failed = failure(
            executor
                .read(vec![elsewhere("3", "there", 13)], false)
                .unwrap_err(),
        );
        let message = format!(
            "org.apache.spark.shuffle.FetchFailedException: Block shuffle_3_13_0 {words}\nCaused by: java.io.IOException: "
        );
        assert!(failed.message.starts_with(&message), "{failed:?}");
    }
}

#[test]
fn damage_in_our_own_files_is_a_disk_issue() {
    let executor = executor(Network::default(), &[]);
    let status = executor.write(11, &[b"some record", b""]);
    let path = executor
        .shuffle
        .shared
        .env
        .local_dirs
        .path(&"shuffle_3_11_0.data".parse().unwrap());
    let mut data = std::fs::read(&path).unwrap();
    data[30] ^= 1;
    std::fs::write(&path, data).unwrap();
    let failed = failure(executor.read(vec![status], false).unwrap_err());
    assert!(failed.message.contains("due to DISK_ISSUE"), "{failed:?}");
}

#[test]
fn damage_found_ahead_is_fetched_once_more() {
    let settings = [("spark.shuffle.detectCorrupt.useExtraMemory", "true")];
    let damaged = || Ok(bytes(b"no LZ4Block but something"));
    let network = answers(&[("shuffle_3_13_0", &[damaged(), Ok(packed(b"good"))])]);
    let first = executor(network, &settings);
    let found = first.read(vec![elsewhere("3", "there", 13)], false);
    assert_eq!(
        found.unwrap(),
        [("shuffle_3_13_0".to_owned(), b"good".to_vec())]
    );
    let network = answers(&[("shuffle_3_13_0", &[damaged(), damaged()])]);
    let second = executor(network, &settings);
    let failed = failure(
        second
            .read(vec![elsewhere("3", "there", 13)], false)
            .unwrap_err(),
    );
    assert!(
        failed.message.contains("the cause is unknown"),
        "{failed:?}"
    );
}

#[test]
fn a_killed_task_does_not_wait() {
    let executor = executor(Network::default(), &[]);
    let kill = executor.kill.clone();
    let thread = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(100));
        kill.cancel("stage cancelled");
    });
    let error = executor
        .read(vec![elsewhere("3", "there", 13)], false)
        .unwrap_err();
    assert_eq!(error, ShuffleError::Killed("stage cancelled".into()));
    thread.join().unwrap();
}

#[test]
fn missing_outputs_clear_what_is_known() {
    let executor = executor(Network::default(), &[]);
    let tracker = executor.shuffle.tracker();
    tracker.put(3, vec![None]);
    let range = ReadRange {
        shuffle_id: 3,
        maps: 0..1,
        partitions: 0..1,
        batch: false,
        columns: false,
    };
    let read = executor
        .shuffle
        .read(&range, &executor.reads, &executor.kill);
    assert_eq!(failure(read.unwrap_err()).map_index, -1);
    assert!(format!("{tracker:?}").contains("shuffles: 0"));
}

#[test]
fn large_requests_go_to_disk() {
    let settings = [("spark.network.maxRemoteBlockSizeFetchToMem", "50b")];
    let network = Arc::new(answers(&[("shuffle_3_13_0", &[Ok(packed(b"remote"))])]));
    let executor = executor(network.clone(), &settings);
    executor
        .read(vec![elsewhere("3", "there", 13)], false)
        .unwrap();
    assert_eq!(*network.asked.lock(), ["3: shuffle_3_13_0 to disk"]);
}
