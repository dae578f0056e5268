//! What an executor gives to tasks: blocks, broadcasts and files.

use std::any::Any;
use std::fmt::Debug;
use std::io::Read;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use datafusion_common::Result;
use datafusion_physical_plan::metrics::Count;
use javaser::arena::NodeId;
use rows::Serializer;
use rows::cached::CachedBatch;
use rows::error::bail_out;

use crate::jvm_calls::JvmCall;
use crate::native_functions::{NativeCall, NativeFunction};
use crate::simple_functions::{SimpleCall, SimpleFunction};
use catalyst::ArrowSession;
use catalyst::LeafId;
use catalyst::ShufflePartitionSpec;
use catalyst::{Broadcast, CachedTable, CheckpointRows, DataType, ShuffleRead, TaskBroadcast};
use catalyst::{ObjectsAnswer, ObjectsCall, ObjectsInput};

/// Where Hadoop's settings for files are.
#[derive(Debug, Clone, Copy)]
pub enum HadoopSettings<'a> {
    /// In the broadcast of a `SerializableConfiguration` that is the stage's.
    Stage(&'a Broadcast),
    /// In the broadcast of a `FileIO` of Iceberg's that is the task's.
    Task(&'a TaskBroadcast),
}

/// Something that tasks share.
pub type Shared = Arc<dyn Any + Send + Sync>;

/// Memory of something that tasks share, given back when it is dropped.
pub trait SharedMemory: Debug + Send + Sync {
    /// Asks for so many bytes in place of those that there are. Fewer are always granted.
    ///
    /// # Errors
    /// Bail-out: there are not as many. Then nothing changes.
    fn resize(&mut self, bytes: usize) -> Result<()>;
}

/// Makes something that tasks share. Memory is to be asked for before it is used, and to be kept with the thing.
pub type Make<'a> = dyn FnMut(&[u8], Box<dyn SharedMemory>) -> Result<Shared> + 'a;

/// Where the leaves of a task's plan get their rows. All calls may block: a task has a thread of its own.
///
/// Errors are to be [`RunError`](rows::error::RunError)s.
pub trait Sources: Debug + Send + Sync {
    /// The blocks of a shuffle that a task reads, as rows or as columns.
    ///
    /// # Errors
    /// Where the blocks are is not known.
    fn shuffle(
        &self,
        _read: &ShuffleRead,
        _spec: ShufflePartitionSpec,
    ) -> Result<Box<dyn BlockStream>> {
        Err(bail_out("no shuffles"))
    }

    /// How many compressed bytes [`Sources::shuffle`] would read, by the map statuses. `None` if that is not known.
    fn shuffle_bytes(&self, _read: &ShuffleRead, _spec: ShufflePartitionSpec) -> Option<u64> {
        None
    }

    /// How values of broadcast variables are written.
    fn serializer(&self) -> Serializer {
        Serializer::Java
    }

    /// What `make` makes of a broadcast variable's value, the uncompressed bytes of a stream of objects. Made once per
    /// executor under this name, which says all that `make` depends on, and shared by tasks until the driver removes
    /// the variable. It may be made again if no task has it and memory is short.
    ///
    /// # Errors
    /// The variable cannot be fetched, or `make` fails.
    fn of_broadcast(
        &self,
        _broadcast: &Broadcast,
        _name: &str,
        _make: &mut Make<'_>,
    ) -> Result<Shared> {
        Err(bail_out("no broadcasts"))
    }

    /// A file, by its URL as Spark has it in a [`PartitionedFile`](catalyst::PartitionedFile).
    ///
    /// # Errors
    /// It is not there, or is not to be read natively.
    fn file(
        &self,
        _path: &str,
        _size: u64,
        _modification_time: i64,
        _conf: HadoopSettings<'_>,
    ) -> Result<Arc<dyn FileBytes>> {
        Err(bail_out("no files"))
    }

    /// The bytes of a part of a file, and on demand what is behind it, in order, as Hadoop's record readers get them: a
    /// local file is held against its checksums. What goes wrong while they are read is an
    /// [`io::Error`](std::io::Error), of a `DataFusionError` where it is more than that.
    ///
    /// # Errors
    /// As [`Sources::file`]
    fn stream(
        &self,
        _path: &str,
        _part: Range<u64>,
        _conf: HadoopSettings<'_>,
    ) -> Result<Box<dyn Read + Send>> {
        Err(bail_out("no files"))
    }

    /// A setting of Hadoop that says something: not missing, not blank.
    ///
    /// # Errors
    /// They cannot be had.
    fn hadoop_setting(&self, _conf: HadoopSettings<'_>, _key: &str) -> Result<Option<String>> {
        Err(bail_out("no settings of Hadoop"))
    }

    /// Batches of a partition of a cached table with columns of these types: those that somebody keeps, or else what
    /// `make` gives, which is kept from then on. Their statistics are read only if they are wanted.
    ///
    /// # Errors
    /// They can be neither read nor made.
    fn cached(
        &self,
        _table: &CachedTable,
        _types: &[DataType],
        _statistics: bool,
        _partition: i32,
        _make: MakeBatches,
    ) -> Result<CachedBatches> {
        Err(bail_out("no cached tables"))
    }

    /// Rows of a partition of a checkpoint, of so many columns: those that are there, or else what `make` gives, which
    /// is kept from then on.
    ///
    /// # Errors
    /// They can be neither read nor made.
    fn checkpoint(
        &self,
        _rows: &CheckpointRows,
        _num_fields: usize,
        _partition: i32,
        _make: Option<MakeRows>,
    ) -> Result<Box<dyn BlockStream>> {
        Err(bail_out("no checkpoints"))
    }

    /// What the task's session says of the Arrow streams of functions of Python.
    ///
    /// # Errors
    /// Bail-out: something that is not known.
    fn arrow_session(&self) -> Result<ArrowSession> {
        Err(bail_out("no Python workers"))
    }

    /// Calls functions of Python in a worker: gives what it returns for the frames of rows that it is given. It takes
    /// them as it can, while results are asked for.
    ///
    /// # Errors
    /// No worker is to be had.
    fn python(
        &self,
        _call: &PythonCall,
        _arguments: PythonArguments,
        _times: PythonTimes,
    ) -> Result<PythonFrames> {
        Err(bail_out("no Python workers"))
    }

    /// The results of an expression of Spark's for rows of the columns that it refers to: rows of one column. Both are
    /// streams of `UnsafeRow`s, each behind its size. Results may be those of the first rows only.
    ///
    /// # Errors
    /// Bail-out: there is no JVM, or the expression fails.
    fn jvm_rows(&self, _call: &JvmCall, _rows: &[u8]) -> Result<Bytes> {
        Err(bail_out("no JVM"))
    }

    /// Gives operators on objects rows of their inputs, or has them go on: gives the rows that they make, or says which
    /// input they want rows of.
    ///
    /// # Errors
    /// Bail-out: there is no JVM, or an operator fails.
    fn jvm_objects(&self, _call: &ObjectsCall, _input: ObjectsInput<'_>) -> Result<ObjectsAnswer> {
        Err(bail_out("no JVM"))
    }

    /// The native function that a function of Python stands for, if it stands for one that may be called here.
    ///
    /// # Errors
    /// It does not take the task.
    fn native_function(&self, _call: NativeCall<'_>) -> Result<Option<NativeFunction>> {
        Ok(None)
    }

    /// What functions of Python compute, of those that this process can compute: a value for each that is asked for.
    /// Counts the others by what is said or found of them.
    ///
    /// # Errors
    /// The task was killed.
    fn simple_functions(&self, asked: &[SimpleCall<'_>]) -> Result<Vec<Option<SimpleFunction>>> {
        Ok(asked.iter().map(|_| None).collect())
    }

    /// The session's time zone, if it is known.
    fn session_time_zone(&self) -> Option<String> {
        None
    }

    /// Major version of the JVM that would run tasks in place of this executor; 0 if it is not known.
    fn java_major(&self) -> u32 {
        0
    }

    /// What Python pickled: frames of a partition of the RDD of a [`PickledScan`](catalyst::PickledScan), a node of the
    /// task's graph.
    ///
    /// # Errors
    /// The partition cannot be computed.
    fn pickled(&self, _leaf: LeafId, _partition: NodeId) -> Result<PythonFrames> {
        Err(bail_out("no RDDs of Python"))
    }

    /// The number of the task's partition; `None` if it is not known.
    fn partition(&self) -> Option<i32> {
        None
    }

    /// Whether the task may go on; asked by leaves once for each batch.
    ///
    /// # Errors
    /// The task was killed.
    fn alive(&self) -> Result<()>;
}

/// Batches of a cached table.
pub type CachedBatches = Box<dyn Iterator<Item = Result<CachedBatch>> + Send>;

/// Makes batches of a cached table.
pub type MakeBatches = Box<dyn FnOnce() -> Result<CachedBatches> + Send>;

/// Rows as records of `UnsafeRowSerializer`, many at a time.
pub type RowRecords = Box<dyn Iterator<Item = Result<Bytes>> + Send>;

/// Makes rows that are to be kept.
pub type MakeRows = Box<dyn FnOnce() -> Result<RowRecords> + Send>;

/// Functions of Python that are called for every row of a partition.
#[derive(Debug, Clone, PartialEq)]
pub struct PythonCall {
    /// The functions: each gives a value.
    pub callees: Vec<PythonCallee>,
    /// Artifacts of which session the worker sees, if the session has its own.
    pub job_artifact_uuid: Option<String>,
    /// How rows are given to the functions.
    pub rows: PythonRows,
    /// If there is one function only, which is a class that makes rows, what workers have to know of it.
    pub table: Option<PythonTable>,
}

/// A class of Python that makes rows, besides its command and the arguments of its `eval`.
#[derive(Debug, Clone, PartialEq)]
pub struct PythonTable {
    /// Its name.
    pub name: String,
    /// The columns that it makes, as Spark's JSON.
    pub schema: String,
    /// What its `analyze` gave, pickled.
    pub analyzed: Option<Vec<u8>>,
    /// Places within the row of a table by whose values its rows are divided.
    pub partition_columns: Vec<usize>,
    /// Places among the values of a row of those that are rows of tables.
    pub table_arguments: Vec<usize>,
}

/// How rows get to functions of Python, and their results back.
#[derive(Debug, Clone, PartialEq)]
pub enum PythonRows {
    /// A frame is a pickle of many.
    Pickled,
    /// Frames are parts of a stream of Arrow's IPC format.
    Arrow {
        /// A `PythonEvalType`: what the functions take and give.
        eval_type: i32,
        /// What workers are told.
        settings: Vec<(String, String)>,
        /// The types of the arguments, as Spark's JSON.
        schema: String,
    },
}

impl PythonRows {
    /// A stream to functions whose workers are not told of its types.
    #[must_use]
    pub fn without_types(eval_type: i32, settings: Vec<(String, String)>) -> Self {
        Self::Arrow {
            eval_type,
            settings,
            schema: String::new(),
        }
    }
}

/// A function among several.
#[derive(Debug, Clone, PartialEq)]
pub struct PythonCallee {
    /// `PythonFunction`s in the stage's graph; each is given what the one before it returns.
    pub functions: Vec<NodeId>,
    /// Places of the first one's arguments among the values of a row, and the names of those that have one.
    pub arguments: Vec<(usize, Option<String>)>,
    /// By what profiles of it are kept.
    pub result_id: i64,
}

/// Frames of rows for a worker.
pub type PythonArguments = Box<dyn Iterator<Item = Result<Vec<u8>>> + Send>;

/// Frames of results.
pub type PythonFrames = Box<dyn Iterator<Item = Result<Bytes>> + Send>;

/// Counts how long workers took, for the operator that called them.
#[derive(Debug, Clone)]
pub struct PythonTimes([Count; 4]);

impl PythonTimes {
    /// Spark's names of the metrics.
    pub(crate) const NAMES: [&str; 4] = [
        "pythonBootTime",
        "pythonInitTime",
        "pythonTotalTime",
        "pythonProcessingTime",
    ];

    /// Counts with counters that are made by their names.
    pub(crate) fn new(counter: impl Fn(&'static str) -> Count) -> Self {
        Self(Self::NAMES.map(counter))
    }

    /// Adds times, in milliseconds: from the task's start until the worker ran, until it had read what it needs, from the
    /// start to the end, and in the functions, which workers before Spark 4.2 do not tell.
    pub fn add(&self, boot: i64, init: i64, total: i64, processing: Option<i64>) {
        let times = [boot, init, total, processing.unwrap_or(0)];
        for (counter, time) in self.0.iter().zip(times) {
            counter.add(usize::try_from(time).unwrap_or(0));
        }
    }
}

/// What shuffles hold, decompressed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Records {
    /// Whole records of one or more streams of `UnsafeRowSerializer`, one after the other.
    Rows(Bytes),
    /// A frame of the crate `columns`.
    Columns(Bytes),
}

/// Blocks of a shuffle, one after the other.
pub trait BlockStream: Send {
    /// The next records; `None` after the last.
    ///
    /// # Errors
    /// The block cannot be fetched or decompressed.
    fn next(&mut self) -> Result<Option<Records>>;
}

/// The bytes of a file.
pub trait FileBytes: Debug + Send + Sync {
    /// The bytes at this range, all of them.
    ///
    /// # Errors
    /// They cannot be read, or the file is shorter.
    fn read_at(&self, range: Range<u64>) -> Result<Bytes>;

    /// The bytes at each of these ranges; some at the same time, if that is sooner.
    ///
    /// # Errors
    /// As [`FileBytes::read_at`]
    fn read_ranges(&self, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        let read = ranges.iter().map(|range| self.read_at(range.clone()));
        read.collect()
    }

    /// Whether asking takes longer than reading some kilobytes.
    fn is_remote(&self) -> bool {
        false
    }
}

/// A file that is in memory.
impl FileBytes for Bytes {
    fn read_at(&self, range: Range<u64>) -> Result<Bytes> {
        let part = usize::try_from(range.start)
            .ok()
            .zip(usize::try_from(range.end).ok());
        match part {
            Some((start, end)) if start <= end && end <= self.len() => Ok(self.slice(start..end)),
            _ => Err(rows::error::bail_out("a file that cannot be read")),
        }
    }
}
