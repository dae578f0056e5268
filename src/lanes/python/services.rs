//! What steps need, from this executor's own parts.

use std::collections::HashMap;
use std::io::{self, Read};
use std::ops::Deref;
use std::sync::Arc;

use javaser::Limits;
use javaser::arena::NodeId;
use javaser::kryo::KryoForm;
use parking_lot::Mutex;
use wire::ids::BlockId;
use wire::map_status::MapStatus;

use super::compute::{CachedPartition, Make, Services};
use super::plan::{Key, ShuffleInput, ShuffleOutput};
use crate::blocks::LocalDirs;
use crate::blocks::broadcast::{Broadcasts, TorrentBroadcastRef};
use crate::blocks::codec::Codec;
use crate::blocks::kryo::{KryoError, KryoReader, KryoValue};
use crate::blocks::metrics::ShuffleReadMetrics;
use crate::blocks::shuffle::{ReadRange, Shuffle};
use crate::blocks::store::{BlockManager, CacheRequest, Cached};
use crate::files::{FileSystems, HadoopConf};
use crate::python::worker::PythonWorkers;
use crate::python::{Element, Elements, FetchedFile, PythonFunction, function_of_rdd};
use crate::task::{StageBinary, TaskContext, TaskError, TaskMetrics};

/// Longest value in a shuffle or cached block that is believed.
const MAX_VALUE: usize = i32::MAX as usize;

/// Configurations that are kept, parsed. Each takes about 100 KB.
const KEPT_CONFS: usize = 8;

/// The executor's parts that the lane works with.
#[derive(Debug, Clone)]
pub struct PythonParts {
    /// Python processes.
    pub workers: PythonWorkers,
    /// Where the values of broadcasts are laid down for workers.
    pub local_dirs: Arc<LocalDirs>,
    /// Values of broadcasts.
    pub broadcasts: Arc<Broadcasts>,
    /// Shuffles.
    pub shuffle: Arc<Shuffle>,
    /// Cached partitions.
    pub store: Arc<BlockManager>,
    /// Where files are read.
    pub files: Arc<FileSystems>,
}

/// [`Services`] of an executor.
#[derive(Debug)]
pub(super) struct ExecutorServices {
    parts: PythonParts,
    kryo: KryoForm,
    checkpoints: Option<Codec>,
    limits: Limits,
    confs: Mutex<HashMap<i64, Arc<HadoopConf>>>,
}

/// The functions of a stage that were read.
#[derive(Debug, Default)]
struct Functions(Mutex<HashMap<NodeId, Arc<PythonFunction>>>);

impl ExecutorServices {
    pub(super) fn new(
        parts: PythonParts,
        kryo: KryoForm,
        checkpoints: Option<Codec>,
        limits: Limits,
    ) -> Self {
        Self {
            parts,
            kryo,
            checkpoints,
            limits,
            confs: Mutex::default(),
        }
    }

    fn function(&self, stage: &StageBinary, rdd: NodeId) -> Result<Arc<PythonFunction>, TaskError> {
        let functions = stage.judged(|_| Functions::default());
        let mut known = functions.0.lock();
        if let Some(function) = known.get(&rdd) {
            return Ok(Arc::clone(function));
        }
        let function = function_of_rdd(&stage.graph, rdd, |broadcast| {
            Arc::new(FetchedFile {
                broadcast,
                broadcasts: Arc::clone(&self.parts.broadcasts),
            })
        })
        .map_err(TaskError::BailOut)?;
        let function = Arc::new(function);
        known.insert(rdd, Arc::clone(&function));
        Ok(function)
    }
}

impl Services for ExecutorServices {
    fn check_python(&self, stage: &StageBinary, rdd: NodeId) -> Result<(), TaskError> {
        self.function(stage, rdd).map(drop)
    }

    fn python(
        &self,
        stage: &StageBinary,
        rdd: NodeId,
        split: i32,
        input: Elements<'static>,
        context: &Arc<TaskContext>,
    ) -> Result<Elements<'static>, TaskError> {
        let function = self.function(stage, rdd)?;
        let output = self.parts.workers.run(&function, split, input, context)?;
        Ok(Box::new(output.map(|bytes| bytes.map(Element::Bytes))))
    }

    fn shuffle(
        &self,
        input: &ShuffleInput,
        partition: i32,
        context: &TaskContext,
    ) -> Result<Elements<'static>, TaskError> {
        let shuffle = &self.parts.shuffle;
        shuffle.tracker().update_epoch(context.epoch);
        let range = ReadRange {
            shuffle_id: input.shuffle_id,
            maps: 0..usize::MAX,
            partitions: partition..partition.saturating_add(1),
            batch: false,
            columns: false,
        };
        let metrics = ShuffleMetrics(Arc::clone(&context.metrics));
        let mut blocks = shuffle.read(&range, metrics.clone(), &context.cancellation)?;
        let kryo = self.kryo;
        let mut records = None;
        Ok(Box::new(std::iter::from_fn(move || {
            loop {
                let reader = match &mut records {
                    Some(reader) => reader,
                    None => match blocks.next()? {
                        Ok(stream) => records.insert(KryoReader::new(kryo, stream, MAX_VALUE)),
                        Err(error) => return Some(Err(error.into())),
                    },
                };
                match record(reader) {
                    Ok(None) => records = None,
                    Ok(Some(record)) => {
                        metrics.records_read.add(1);
                        return Some(Ok(record));
                    }
                    Err(error) => return Some(Err(error)),
                }
            }
        })))
    }

    fn cached(
        &self,
        partition: &CachedPartition,
        context: &TaskContext,
        make: Make,
    ) -> Result<Elements<'static>, TaskError> {
        let kryo = self.kryo;
        let request = CacheRequest {
            id: BlockId::Rdd {
                rdd_id: partition.rdd,
                split_index: partition.split,
            },
            level: partition.level,
            class_tag: if partition.text {
                "java.lang.String"
            } else {
                "[B"
            },
            header: &[],
            task_id: context.task_attempt_id,
            cancellation: &context.cancellation,
        };
        let encode = move |element: &Element, out: &mut Vec<u8>| match element {
            Element::Bytes(bytes) => kryo.write_bytes(out, bytes),
            Element::Text(text) => kryo.write_text(out, text),
            // The plan has nothing else in cached RDDs.
            Element::Null | Element::Pair(..) | Element::Tuple(_) => kryo.write_null(out),
        };
        let cached = self
            .parts
            .store
            .get_or_else_update(&request, make, encode)?;
        Ok(match cached {
            Cached::Found(reader) => {
                let input = &context.metrics.input;
                input
                    .bytes_read
                    .add(i64::try_from(reader.size()).unwrap_or(i64::MAX));
                elements(kryo, reader, Some(Arc::clone(&context.metrics)))
            }
            Cached::Stored(reader) => elements(kryo, reader, None),
            Cached::NotStored { begun, rest } => Box::new(elements(kryo, begun, None).chain(rest)),
        })
    }

    fn hadoop_conf(
        &self,
        stage: &StageBinary,
        conf: NodeId,
        context: &TaskContext,
    ) -> Result<Arc<HadoopConf>, TaskError> {
        let broadcast = TorrentBroadcastRef::read(&stage.graph, conf)
            .map_err(|error| TaskError::BailOut(error.to_string()))?;
        if let Some(conf) = self.confs.lock().get(&broadcast.id) {
            return Ok(Arc::clone(conf));
        }
        let value = self
            .parts
            .broadcasts
            .blocking_value(&broadcast, &context.cancellation)?;
        let conf = HadoopConf::read(&value, &self.limits).map_err(TaskError::BailOut)?;
        let conf = Arc::new(conf);
        let mut confs = self.confs.lock();
        if confs.len() >= KEPT_CONFS {
            confs.clear();
        }
        confs.insert(broadcast.id, Arc::clone(&conf));
        Ok(conf)
    }

    fn checkpoint_codec(&self) -> Option<&Codec> {
        self.checkpoints.as_ref()
    }

    fn file_systems(&self) -> &Arc<FileSystems> {
        &self.parts.files
    }

    fn write_shuffle(
        &self,
        output: &ShuffleOutput,
        records: Elements<'_>,
        context: &TaskContext,
    ) -> Result<MapStatus, TaskError> {
        let shuffle = &self.parts.shuffle;
        let map_id = shuffle.map_id(context.task_attempt_id, context.partition_id);
        let partitions = output.num_partitions;
        let mut writer = shuffle.writer(
            output.shuffle_id,
            map_id,
            context.task_attempt_id,
            usize::try_from(partitions).unwrap_or_default(),
            &context.metrics.shuffle_write,
            &context.metrics.spill,
        )?;
        let kryo = self.kryo;
        for record in records {
            context.check()?;
            let Element::Pair(key, value) = record? else {
                return Err(TaskError::spark("a shuffle record without key"));
            };
            // Both partitioners take the key's low half.
            let partition = (key as i32).rem_euclid(partitions);
            writer.write_with(usize::try_from(partition).unwrap_or_default(), |out| {
                match output.key {
                    Key::Long => kryo.write_long(out, key),
                    Key::Int => kryo.write_int(out, key as i32),
                }
                kryo.write_bytes(out, &value);
            })?;
        }
        Ok(writer.stop(0)?)
    }
}

/// What a task counts of shuffles that it reads.
#[derive(Debug, Clone)]
struct ShuffleMetrics(Arc<TaskMetrics>);

impl Deref for ShuffleMetrics {
    type Target = ShuffleReadMetrics;

    fn deref(&self) -> &ShuffleReadMetrics {
        &self.0.shuffle_read
    }
}

/// The next record of a block of a shuffle.
fn record<R: Read>(reader: &mut KryoReader<R>) -> Result<Option<Element>, TaskError> {
    let key = match reader.read().map_err(of_kryo)? {
        None => return Ok(None),
        Some(KryoValue::Long(key)) => key,
        Some(KryoValue::Int(key)) => key.into(),
        Some(_) => return Err(TaskError::io("a shuffle record with another key")),
    };
    match reader.read().map_err(of_kryo)? {
        Some(KryoValue::Bytes(value)) => Ok(Some(Element::Pair(key, value))),
        Some(_) => Err(TaskError::io("a shuffle record with another value")),
        None => Err(TaskError::io("a shuffle record without value")),
    }
}

/// The elements in a cached block, counted as the task's input if they are.
fn elements(
    kryo: KryoForm,
    block: impl Read + Send + 'static,
    count: Option<Arc<TaskMetrics>>,
) -> Elements<'static> {
    let mut reader = KryoReader::new(kryo, block, MAX_VALUE);
    let mut done = false;
    Box::new(std::iter::from_fn(move || {
        if done {
            return None;
        }
        let element = match reader.read() {
            Ok(None) => return None,
            Ok(Some(KryoValue::Bytes(bytes))) => Ok(Element::Bytes(bytes)),
            Ok(Some(KryoValue::Text(text))) => Ok(Element::Text(text.into())),
            Ok(Some(KryoValue::Null)) => Ok(Element::Null),
            Ok(Some(_)) => Err(TaskError::io("a cached block of other elements")),
            Err(error) => Err(of_kryo(error)),
        };
        done = element.is_err();
        if let (Some(metrics), false) = (&count, done) {
            metrics.input.records_read.add(1);
        }
        Some(element)
    }))
}

fn of_kryo(error: KryoError) -> TaskError {
    io::Error::from(error).into()
}
