use super::*;
use crate::blocks::checksum::Algorithm;
use crate::blocks::{LocalDirs, ShuffleFiles};
use crate::config::SparkProperties;
use crate::memory::budget::FixedPool;
use crate::transport::Body;
use proptest::prelude::*;
use std::os::unix::fs::FileExt;
use wire::block_transfer::Cause;

struct Executor {
    _root: tempfile::TempDir,
    dirs: Arc<LocalDirs>,
    files: ShuffleFiles,
    rules: Arc<WriterRules>,
    writes: ShuffleWriteMetrics,
    spills: SpillMetrics,
}

fn executor(pairs: &[(&'static str, &'static str)]) -> Executor {
    executor_with(pairs, None)
}

fn executor_with(pairs: &[(&'static str, &'static str)], key: Option<&[u8]>) -> Executor {
    let root = tempfile::tempdir().unwrap();
    let roots = [root.path().join("a"), root.path().join("b")];
    let dirs = Arc::new(LocalDirs::create(&roots, 64, false).unwrap());
    let conf = SparkProperties::from_launch(pairs.iter().copied(), []);
    let rules = WriterRules {
        outputs: MapOutputs::new(dirs.clone(), Some(Algorithm::Adler32), false, false),
        format: SegmentFormat::new(&conf, key).unwrap(),
        location: BlockManagerId {
            executor_id: "1".into(),
            host: "h".into(),
            port: 7,
            topology_info: None,
        },
        map_status: MapStatusRules::default(),
        force_spill: u64::MAX,
    };
    Executor {
        _root: root,
        files: ShuffleFiles::new(dirs.clone()),
        dirs,
        rules: Arc::new(rules),
        writes: ShuffleWriteMetrics::default(),
        spills: SpillMetrics::default(),
    }
}

impl Executor {
    fn writer(&self, map_id: i64, partitions: usize, memory: usize) -> ShuffleWriter<'_> {
        let rules = Arc::clone(&self.rules);
        ShuffleWriter::new(
            rules,
            3,
            map_id,
            partitions,
            FixedPool::execution(memory as u64).of_task(map_id),
            &self.writes,
            &self.spills,
        )
        .unwrap()
    }

    /// Bytes of a segment as they are in the file.
    fn raw(&self, map_id: i64, reducer: i32) -> Vec<u8> {
        match self.files.segment(3, map_id, reducer, reducer + 1).unwrap() {
            Body::Bytes(bytes) => bytes.to_vec(),
            Body::File { file, offset, len } => {
                let mut bytes = vec![0; len as usize];
                file.read_exact_at(&mut bytes, offset).unwrap();
                bytes
            }
        }
    }

    fn records(&self, map_id: i64, reducer: i32) -> Vec<u8> {
        let raw = std::io::Cursor::new(self.raw(map_id, reducer));
        let mut records = Vec::new();
        let mut reader = self.rules.format.reader(Box::new(raw)).unwrap();
        reader.read_to_end(&mut records).unwrap();
        records
    }
}

#[test]
fn records_come_back_in_order() {
    let executor = executor(&[]);
    let mut writer = executor.writer(5, 3, 1 << 20);
    writer.write(2, b"first").unwrap();
    writer.write(0, b"zero").unwrap();
    writer
        .write_with(2, |out| out.extend_from_slice(b"second"))
        .unwrap();
    assert!(writer.write(3, b"x").is_err());
    let status = writer.stop(0).unwrap();
    assert_eq!(executor.records(5, 0), b"zero");
    assert_eq!(executor.raw(5, 1), b"");
    assert_eq!(executor.records(5, 2), b"firstsecond");
    assert_eq!(status.map_id(), 5);
    assert_eq!(status.size_for_block(1), 0);
    assert!(status.size_for_block(2) > 20);
    assert_eq!(executor.writes.records_written.get(), 3);
    let size = executor.raw(5, 0).len() + executor.raw(5, 2).len();
    assert_eq!(executor.writes.bytes_written.get(), size as i64);
    assert_eq!(executor.spills.disk_bytes_spilled.get(), 0);
    let sum = |reducer| i64::from(adler2::adler32_slice(&executor.raw(5, reducer)));
    for reducer in 0..3 {
        let cause = executor
            .files
            .diagnose(3, 5, reducer, sum(reducer), "ADLER32");
        assert_eq!(cause, Cause::CHECKSUM_VERIFY_PASS);
    }
}

#[test]
fn nothing_is_left_of_a_writer_that_does_not_stop() {
    let executor = executor(&[]);
    let mut writer = executor.writer(5, 3, 100);
    writer.write(2, &[7; 1000]).unwrap();
    assert_eq!(writer.memory_used(), 0, "it spilled");
    drop(writer);
    let root = executor._root.path();
    for dir in ["a", "b"] {
        let manager = std::fs::read_dir(root.join(dir)).unwrap().next().unwrap();
        let mut files = std::fs::read_dir(manager.unwrap().path()).unwrap();
        assert!(files.next().is_none());
    }
}

#[test]
fn no_records_make_an_empty_output() {
    let executor = executor(&[]);
    let status = executor.writer(5, 2, 100).stop(0).unwrap();
    assert_eq!(status.size_for_block(0), 0);
    assert_eq!(executor.raw(5, 1), b"");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Whatever spills and is packed in between, with every codec.
    #[test]
    fn segments_hold_what_was_written(
        codec in 0usize..5,
        encrypt: bool,
        memory in prop_oneof![Just(1usize), Just(3000), Just(60_000), Just(1 << 20)],
        records in proptest::collection::vec((0usize..4, 0usize..9000, any::<u8>()), 0..200),
    ) {
        let conf: &[(&str, &str)] = match codec {
            0 => &[("spark.shuffle.compress", "false")],
            1 => &[("spark.io.compression.codec", "zstd")],
            2 => &[("spark.io.compression.codec", "snappy")],
            3 => &[("spark.io.compression.codec", "lzf")],
            _ => &[],
        };
        let executor = executor_with(conf, encrypt.then_some(b"0123456789abcdef"));
        let mut writer = executor.writer(9, 4, memory);
        let mut expected = vec![Vec::new(); 4];
        for (partition, len, byte) in &records {
            let record: Vec<u8> = (0..*len).map(|i| byte.wrapping_add((i / 7) as u8)).collect();
            writer.write(*partition, &record).unwrap();
            expected[*partition].extend_from_slice(&record);
        }
        writer.stop(0).unwrap();
        for (reducer, expected) in (0..).zip(&expected) {
            if expected.is_empty() {
                prop_assert!(executor.raw(9, reducer).is_empty());
            } else {
                prop_assert_eq!(&executor.records(9, reducer), expected);
                let plain = codec == 0 && !encrypt;
                prop_assert_eq!(plain, &executor.raw(9, reducer) == expected);
            }
        }
    }
}

/// Files of a PySpark job with two maps of pairs and four reducers, of which the last gets nothing: the output of the
/// first map.
fn spark_s(name: &str) -> Executor {
    let fixture =
        |file: &str| std::fs::read(testkit::fixtures().join("shuffle").join(name).join(file)).ok();
    let key =
        fixture("key").map(|hex| testkit::from_hex(std::str::from_utf8(&hex).unwrap().trim()));
    let conf: &[(&str, &str)] = match name.split('-').nth(1).unwrap() {
        "none" => &[("spark.shuffle.compress", "false")],
        "zstd" => &[("spark.io.compression.codec", "zstd")],
        "snappy" => &[("spark.io.compression.codec", "snappy")],
        "lzf" => &[("spark.io.compression.codec", "lzf")],
        _ => &[],
    };
    let executor = executor_with(conf, key.as_deref());
    for kind in ["data", "index", "checksum.ADLER32", "checksum.CRC32C"] {
        if let Some(bytes) = fixture(&format!("shuffle_0_0_0.{kind}")) {
            let path = executor
                .dirs
                .path(&format!("shuffle_3_0_0.{kind}").parse().unwrap());
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, bytes).unwrap();
        }
    }
    executor
}

#[test]
fn files_of_spark_are_read() {
    let plain = spark_s("3.5.9-none");
    for name in [
        "3.5.9-zstd-encrypted",
        "4.3.0-none",
        "4.3.0-lz4",
        "4.3.0-snappy",
        "4.3.0-lzf-crc32c",
    ] {
        let packed = spark_s(name);
        for reducer in 0..3 {
            let expected = plain.raw(0, reducer);
            assert!(expected.starts_with(&[9]), "a Kryo pair");
            assert!(packed.records(0, reducer) == expected, "{name} {reducer}");
            let algorithm = match name.ends_with("crc32c") {
                true => Algorithm::Crc32c,
                false => Algorithm::Adler32,
            };
            let sum = algorithm.of(&packed.raw(0, reducer)[..]).unwrap();
            let files = &packed.files;
            let cause = files.diagnose(3, 0, reducer, sum.into(), algorithm.name());
            assert_eq!(cause, Cause::CHECKSUM_VERIFY_PASS, "{name} {reducer}");
        }
        assert_eq!(packed.raw(0, 3), b"");
    }
}

#[test]
fn files_are_those_of_spark() {
    let theirs = spark_s("4.3.0-none");
    let ours = executor(&[("spark.shuffle.compress", "false")]);
    let mut writer = ours.writer(0, 4, 1 << 20);
    // In another order than that of the file.
    for reducer in [2, 0, 1] {
        let segment = theirs.raw(0, reducer);
        let (first, second) = segment.split_at(9);
        writer.write(reducer as usize, first).unwrap();
        writer.write(reducer as usize, second).unwrap();
    }
    writer.stop(0).unwrap();
    for kind in ["data", "index", "checksum.ADLER32"] {
        let name = format!("shuffle_3_0_0.{kind}");
        let [theirs, ours] =
            [&theirs, &ours].map(|of| std::fs::read(of.dirs.path(&name.parse().unwrap())).unwrap());
        assert!(theirs == ours, "{kind}");
    }
}
