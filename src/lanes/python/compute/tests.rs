//! Steps over services that are played.

use std::fs;
use std::io::Write;
use std::path::PathBuf;

use bytes::Bytes;
use parking_lot::Mutex;

use super::*;
use crate::files::{Environment, FilePath};
use crate::lanes::python::plan::tests::task;
use crate::lanes::python::plan::{FileFormat, FileRange, Files, Step};
use crate::python::{Element, testing};

/// "Python" puts the partition's number before each element.
#[derive(Debug)]
struct Played {
    conf: HadoopConf,
    cached: Mutex<Vec<CachedPartition>>,
    files: Arc<FileSystems>,
}

impl Played {
    fn new(conf: HadoopConf) -> Self {
        let blocks = Arc::clone(&testing::context().blocks);
        let (runtime, properties) = (blocks.runtime.clone(), Arc::clone(&blocks.properties));
        Self {
            conf,
            cached: Mutex::default(),
            files: Arc::new(FileSystems::new(
                runtime,
                properties,
                Vec::new(),
                Environment::default(),
            )),
        }
    }
}

impl Services for Played {
    fn check_python(&self, _: &StageBinary, _: NodeId) -> Result<(), TaskError> {
        Ok(())
    }

    fn python(
        &self,
        _: &StageBinary,
        _: NodeId,
        split: i32,
        input: Elements<'static>,
        _: &Arc<TaskContext>,
    ) -> Result<Elements<'static>, TaskError> {
        Ok(Box::new(input.map(move |element| match element? {
            Element::Bytes(old) => {
                let text = format!("{split}{}", String::from_utf8_lossy(&old));
                Ok(Element::Bytes(Bytes::from(text)))
            }
            other => Ok(other),
        })))
    }

    fn shuffle(
        &self,
        input: &ShuffleInput,
        partition: i32,
        _: &TaskContext,
    ) -> Result<Elements<'static>, TaskError> {
        let pair = Element::Pair(input.shuffle_id.into(), Bytes::from(partition.to_string()));
        Ok(Box::new(std::iter::once(Ok(pair))))
    }

    fn cached(
        &self,
        partition: &CachedPartition,
        _: &TaskContext,
        make: Make,
    ) -> Result<Elements<'static>, TaskError> {
        self.cached.lock().push(partition.clone());
        make()
    }

    fn hadoop_conf(
        &self,
        _: &StageBinary,
        _: NodeId,
        _: &TaskContext,
    ) -> Result<Arc<HadoopConf>, TaskError> {
        Ok(Arc::new(self.conf.clone()))
    }

    fn checkpoint_codec(&self) -> Option<&Codec> {
        None
    }

    fn file_systems(&self) -> &Arc<FileSystems> {
        &self.files
    }

    fn write_shuffle(
        &self,
        _: &ShuffleOutput,
        _: Elements<'_>,
        _: &TaskContext,
    ) -> Result<MapStatus, TaskError> {
        Err(TaskError::spark("not played"))
    }
}

fn compute_with(services: Played, step: Step) -> Result<Vec<Element>, TaskError> {
    let stage = task("range_1").stage;
    let context = testing::context();
    let run = Run {
        services: Arc::new(services),
        stage,
        context,
    };
    let step = Arc::new(step);
    run.check(&step)?;
    let elements: Result<Vec<_>, _> = run.elements(&step)?.collect();
    let records = run.context.metrics.input.records_read.get();
    if let (Step::Files { .. }, Ok(elements)) = (&*step, &elements) {
        assert_eq!(records, i64::try_from(elements.len()).unwrap());
    }
    elements
}

fn compute(step: Step) -> Result<Vec<Element>, TaskError> {
    compute_with(Played::new(HadoopConf::default()), step)
}

fn bytes(text: &'static str) -> Element {
    Element::Bytes(Bytes::from_static(text.as_bytes()))
}

fn text(text: &'static str) -> Element {
    Element::Text(Bytes::from_static(text.as_bytes()))
}

fn values(texts: &[&'static str]) -> Arc<Step> {
    Arc::new(Step::Values(texts.iter().map(|text| bytes(text)).collect()))
}

fn node() -> NodeId {
    task("range_1").stage.rdd
}

#[test]
fn steps_of_rdds_without_python() {
    let chain = Step::Chain(vec![values(&["a"]), values(&[]), values(&["b", "c"])]);
    assert_eq!(compute(chain), Ok(vec![bytes("a"), bytes("b"), bytes("c")]));
    let zip = Step::Zip(values(&["a", "b"]), values(&["c", "d"]));
    let pairs = vec![
        Element::tuple(bytes("a"), bytes("c")),
        Element::tuple(bytes("b"), bytes("d")),
    ];
    assert_eq!(compute(zip), Ok(pairs));
    let uneven = Step::Zip(values(&["a", "b"]), values(&["c"]));
    assert!(matches!(compute(uneven), Err(TaskError::Exception(_))));
    let product = Step::Cartesian(values(&["a", "b"]), values(&["c", "d"]));
    let found = compute(product).unwrap();
    assert_eq!(found.len(), 4);
    assert_eq!(found[1], Element::tuple(bytes("a"), bytes("d")));
}

#[test]
fn pairs_of_hash_and_batch() {
    let hash = "\0\0\0\0\0\0\x01\x02";
    let pairs = Step::Pairwise(values(&[hash, "batch"]));
    let pair = Element::Pair(258, Bytes::from_static(b"batch"));
    assert_eq!(compute(pairs), Ok(vec![pair]));
    for wrong in [&["short", "batch"][..], &[hash]] {
        let wrong = compute(Step::Pairwise(values(wrong)));
        assert!(matches!(wrong, Err(TaskError::Exception(_))));
    }
    let input = ShuffleInput {
        shuffle_id: 3,
        num_maps: 1,
        num_partitions: 1,
    };
    let shuffle = Arc::new(Step::Shuffle {
        input,
        partition: 5,
    });
    assert_eq!(compute(Step::Second(shuffle)), Ok(vec![bytes("5")]));
}

#[test]
fn repartition_sends_batches_where_spark_does() {
    let step = Step::Distribute {
        split: 1,
        partitions: 3,
        input: values(&["a", "b"]),
    };
    let pair = |at, text: &'static str| Element::Pair(at, Bytes::from_static(text.as_bytes()));
    assert_eq!(compute(step), Ok(vec![pair(1, "a"), pair(2, "b")]));
}

#[test]
fn python_and_cached_partitions_go_through_the_services() {
    let python = Arc::new(Step::Python {
        rdd: node(),
        split: 4,
        input: values(&["a"]),
    });
    let cached = Step::Cached {
        rdd: 9,
        split: 4,
        level: StorageLevel::MEMORY_ONLY_SER,
        text: false,
        input: python,
    };
    let services = Played::new(HadoopConf::default());
    assert_eq!(compute_with(services, cached), Ok(vec![bytes("4a")]));
    let lost = compute(Step::LocalCheckpoint { rdd: 1, split: 2 });
    let Err(TaskError::Exception(lost)) = lost else {
        panic!("{lost:?}")
    };
    assert!(lost.message.contains("rdd_1_2"));
}

struct Directory(tempfile::TempDir);

impl Directory {
    fn file(&self, name: &str, content: &[u8]) -> FileRange {
        let path = self.0.path().join(name);
        fs::write(&path, content).unwrap();
        range(path, content.len())
    }
}

fn range(path: PathBuf, length: usize) -> FileRange {
    let uri = format!("file:{}", path.display());
    FileRange {
        path: FilePath::parse(&uri),
        uri,
        start: 0,
        length: length as u64,
    }
}

fn files(format: FileFormat, ranges: &[FileRange]) -> Step {
    let files = Files {
        format,
        conf: node(),
        ignore_missing: false,
        ignore_corrupt: false,
    };
    let ranges = ranges.to_vec();
    Step::Files { files, ranges }
}

#[test]
fn lines_of_plain_and_compressed_files() {
    let dir = Directory(tempfile::tempdir().unwrap());
    let content = b"a b\n\xff\n\nc";
    let expected = Ok(vec![text("a b"), text("\u{fffd}"), text(""), text("c")]);
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(content).unwrap();
    let mut bzip2 = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    bzip2.write_all(content).unwrap();
    for range in [
        dir.file("a.txt", content),
        dir.file("a.gz", &gzip.finish().unwrap()),
        dir.file("a.bz2", &bzip2.finish().unwrap()),
    ] {
        assert_eq!(compute(files(FileFormat::Lines, &[range])), expected);
    }
}

#[test]
fn whole_files_and_records() {
    let dir = Directory(tempfile::tempdir().unwrap());
    let ranges = [dir.file("a", b"abcd"), dir.file("b", b"\xe4")];
    let path = |at: usize| Element::Text(Bytes::from(ranges[at].uri.clone()));
    assert_eq!(
        compute(files(FileFormat::WholeText, &ranges)),
        Ok(vec![
            Element::tuple(path(0), text("abcd")),
            Element::tuple(path(1), text("\u{fffd}"))
        ])
    );
    let binary = compute(files(FileFormat::Binary, &ranges)).unwrap();
    let content = Element::Bytes(Bytes::from_static(b"\xe4"));
    assert_eq!(binary[1], Element::tuple(path(1), content));
    let records = files(FileFormat::Records(2), &ranges[..1]);
    assert_eq!(compute(records), Ok(vec![bytes("ab"), bytes("cd")]));
    let records = compute(files(FileFormat::Records(3), &ranges[..1]));
    assert!(matches!(records, Err(TaskError::Exception(_))));
}

#[test]
fn a_file_that_is_gone_fails_the_task_unless_told_otherwise() {
    let gone = range("/nonexistent/file".into(), 3);
    let failed = compute(files(FileFormat::Lines, std::slice::from_ref(&gone)));
    let Err(TaskError::Exception(failed)) = failed else {
        panic!("{failed:?}")
    };
    assert_eq!(failed.class_name, "java.io.FileNotFoundException");
    assert_eq!(failed.message, "File file:/nonexistent/file does not exist");
    let mut ignored = files(FileFormat::Lines, &[gone]);
    if let Step::Files { files, .. } = &mut ignored {
        files.ignore_missing = true;
    }
    assert_eq!(compute(ignored), Ok(Vec::new()));
}

#[test]
fn settings_decide_how_files_are_read() {
    let dir = Directory(tempfile::tempdir().unwrap());
    let range = dir.file("a", b"a;b");
    let with = |settings: [(&str, &str); 1], range: &FileRange| {
        compute_with(
            Played::new(settings.into()),
            files(FileFormat::Lines, std::slice::from_ref(range)),
        )
    };
    let delimiter = [("textinputformat.record.delimiter", ";")];
    assert_eq!(with(delimiter, &range), Ok(vec![text("a"), text("b")]));
    let bail_out = |found| matches!(found, Err(TaskError::BailOut(_)));
    let max = [("mapreduce.input.linerecordreader.line.maxlength", "7")];
    assert!(bail_out(with(max, &range)));
    assert!(bail_out(with([("io.compression.codecs", "x")], &range)));
    assert!(bail_out(with([("x", "y")], &dir.file("a.lz4", b""))));
    let mut part = dir.file("a.bz2", b"1234");
    part.length = 2;
    assert!(bail_out(with([("x", "y")], &part)));
}
