//! Shuffles: writing map outputs, knowing where they are, reading them.
//!
//! | module | what it holds |
//! |---|---|
//! | `writer` | records of a map task to segments of reducers |
//! | `output` | the files of a map output |
//! | `segment` | compression and encryption of segments |
//! | `frames` | batches of columns in segments |
//! | `columns` | map outputs that are columns, and rows made of them |
//! | `tracker` | who has which map outputs |
//! | `locations` | which blocks a reader wants from whom |
//! | `flight` | which of them may be on their way |
//! | `transfer` | what the network has to do |
//! | `network` | who does it |
//! | `reader` | blocks as they become readable |
//! | `stream` | the records of one block, and the cause of damage |

mod columns;
mod conf;
mod error;
mod flight;
mod frames;
mod locations;
mod network;
mod output;
mod reader;
mod segment;
mod stream;
mod tracker;
mod transfer;
mod writer;

pub use columns::{ColumnCounts, ColumnsWriter};
pub use conf::{ShuffleConf, ShuffleFormat};
pub use error::{FetchFailure, ShuffleError};
pub use frames::ColumnFrame;
pub use locations::{ReadRange, ShuffleBlock};
pub use network::{DriverBroadcasts, NetworkTransfer};
pub use reader::ShuffleBlocks;
pub use stream::ShuffleStream;
pub use tracker::{BroadcastValues, MapOutputTracker, MapStatuses};
pub use transfer::{BlockTransfer, DirsByExecutor, Told};
pub use writer::ShuffleWriter;

#[cfg(fuzzing)]
pub(super) use frames::fuzz_frames;
#[cfg(fuzzing)]
pub(super) use tracker::join_chunks;

use super::metrics::{ShuffleReadMetrics, ShuffleWriteMetrics, SpillMetrics};
use super::{BlockEnv, ShuffleFiles};
use crate::cancel::Cancellation;
use crate::config::SettingError;
use crate::memory::budget::ExecutionMemory;
use columns::ColumnOutputs;
use output::MapOutputs;
use reader::Shared;
use segment::SegmentFormat;
use std::io;
use std::ops::Deref;
use std::sync::Arc;
use wire::ids::BlockManagerId;
use writer::WriterRules;

/// An executor's shuffles.
pub struct Shuffle {
    shared: Arc<Shared>,
    rules: Arc<WriterRules>,
    rules_of_columns: Arc<WriterRules>,
    memory: ExecutionMemory,
}

impl std::fmt::Debug for Shuffle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shuffle")
            .field("tracker", &self.shared.tracker)
            .finish_non_exhaustive()
    }
}

impl Shuffle {
    /// For the executor of `env`; writers take their memory from `memory`.
    ///
    /// # Errors
    /// A setting of shuffles that is wrong.
    pub fn new(
        env: Arc<BlockEnv>,
        broadcasts: Arc<dyn BroadcastValues>,
        transfer: Arc<dyn BlockTransfer>,
        memory: ExecutionMemory,
    ) -> Result<Self, SettingError> {
        let conf = ShuffleConf::new(&env.properties)?;
        let format = SegmentFormat::new(&env.properties, env.io_encryption_key.as_deref())?;
        let outputs = MapOutputs::new(
            Arc::clone(&env.local_dirs),
            conf.checksum,
            conf.open_permissions,
            conf.sync,
        );
        let rules = |outputs, format| {
            Arc::new(WriterRules {
                outputs,
                format,
                location: server_id(&env.block_manager_id, &conf),
                map_status: conf.map_status,
                force_spill: conf.force_spill,
            })
        };
        let of_columns = MapOutputs::of_columns(Arc::clone(&env.local_dirs), conf.sync);
        let rules_of_columns = rules(of_columns, SegmentFormat::as_is()?);
        let rules = rules(outputs, format.clone());
        let files = ShuffleFiles::new(Arc::clone(&env.local_dirs));
        let columns = ColumnOutputs::new(
            conf.format,
            files.clone(),
            Arc::clone(&rules),
            memory.clone(),
        );
        let tracker = MapOutputTracker::new(Arc::clone(&env), broadcasts)?;
        Ok(Self {
            shared: Arc::new(Shared {
                files,
                columns: Arc::new(columns),
                neighbours: Default::default(),
                tracker: Arc::new(tracker),
                env,
                conf,
                format,
                transfer,
            }),
            rules,
            rules_of_columns,
            memory,
        })
    }

    /// Who has which map outputs.
    pub fn tracker(&self) -> &Arc<MapOutputTracker> {
        &self.shared.tracker
    }

    /// The settings.
    pub fn conf(&self) -> &ShuffleConf {
        &self.shared.conf
    }

    /// Who readers ask for this executor's map outputs: its block server, or the external shuffle service on its host.
    pub fn server_id(&self) -> &BlockManagerId {
        &self.rules.location
    }

    /// The id that a map task's output has: that of the attempt, or the map partition for the old protocol.
    pub fn map_id(&self, task_attempt_id: i64, partition_id: i32) -> i64 {
        match self.shared.conf.old_fetch_protocol {
            true => partition_id.into(),
            false => task_attempt_id,
        }
    }

    /// Starts the output of a map task; `task_attempt_id` says whose memory it takes.
    ///
    /// # Errors
    /// The codec cannot be set up.
    pub fn writer<'a>(
        &self,
        shuffle_id: i32,
        map_id: i64,
        task_attempt_id: i64,
        num_partitions: usize,
        metrics: &'a ShuffleWriteMetrics,
        spill_metrics: &'a SpillMetrics,
    ) -> io::Result<ShuffleWriter<'a>> {
        let output = (shuffle_id, map_id);
        self.writer_by(
            &self.rules,
            output,
            task_attempt_id,
            num_partitions,
            metrics,
            spill_metrics,
        )
    }

    fn writer_by<'a>(
        &self,
        rules: &Arc<WriterRules>,
        (shuffle_id, map_id): (i32, i64),
        task_attempt_id: i64,
        num_partitions: usize,
        metrics: &'a ShuffleWriteMetrics,
        spill_metrics: &'a SpillMetrics,
    ) -> io::Result<ShuffleWriter<'a>> {
        ShuffleWriter::new(
            Arc::clone(rules),
            shuffle_id,
            map_id,
            num_partitions,
            self.memory.of_task(task_attempt_id),
            metrics,
            spill_metrics,
        )
    }

    /// As [`Shuffle::writer`] for rows as columns; `None` if outputs of that shuffle are to be rows.
    ///
    /// # Errors
    /// Not seen.
    pub fn column_writer<'a>(
        &self,
        shuffle_id: i32,
        map_id: i64,
        task_attempt_id: i64,
        num_partitions: usize,
        metrics: &'a ShuffleWriteMetrics,
        spill_metrics: &'a SpillMetrics,
    ) -> io::Result<Option<ColumnsWriter<'a>>> {
        let outputs = &self.shared.columns;
        if !outputs.are_wanted(shuffle_id) {
            return Ok(None);
        }
        let output = (shuffle_id, map_id);
        let writer = self.writer_by(
            &self.rules_of_columns,
            output,
            task_attempt_id,
            num_partitions,
            metrics,
            spill_metrics,
        )?;
        Ok(Some(ColumnsWriter::new(writer, output, outputs)))
    }

    /// Whether a map output of this executor is columns and nothing else.
    pub fn lacks_rows(&self, shuffle_id: i32, map_id: i64) -> bool {
        self.shared.columns.lacks_rows(shuffle_id, map_id)
    }

    /// Makes rows of a map output of this executor for somebody who asks for it and takes no columns. Gives whether it
    /// was columns.
    ///
    /// # Errors
    /// They cannot be made.
    pub fn rows_of(&self, shuffle_id: i32, map_id: i64) -> io::Result<bool> {
        self.shared.columns.rows_of(shuffle_id, map_id)
    }

    /// Somebody is going to read Spark's files of a shuffle in this executor's directories: makes rows of all its
    /// outputs, and of those that are written from now on. What cannot be made is missing then, as are lost files.
    pub fn shuffle_is_read(&self, shuffle_id: i32) {
        self.shared.columns.shuffle_is_read(shuffle_id);
    }

    /// As [`Shuffle::shuffle_is_read`] for all shuffles.
    pub fn files_are_read(&self) {
        self.shared.columns.files_are_read();
    }

    /// The files of a shuffle were removed.
    pub fn removed(&self, shuffle_id: i32) {
        self.shared.columns.removed(shuffle_id);
    }

    /// Outputs that were columns so far.
    pub fn column_counts(&self) -> ColumnCounts {
        self.shared.columns.counts()
    }

    /// The records of a map output of this executor for one reducer.
    ///
    /// # Errors
    /// There is no such output, or it cannot be read.
    pub fn own_output(
        &self,
        shuffle_id: i32,
        map_id: i64,
        reducer: i32,
    ) -> io::Result<Box<dyn io::Read + Send>> {
        let files = &self.shared.files;
        let segment = files.segment(shuffle_id, map_id, reducer, reducer.saturating_add(1))?;
        match segment.is_empty() {
            true => Ok(Box::new(io::empty())),
            false => self
                .shared
                .format
                .reader(stream::Raw::Near(segment).reader()?),
        }
    }

    /// Reads a range of a shuffle. Blocks the thread, as does the result, until the task of `cancellation` is killed:
    /// both belong on a thread outside of the runtime.
    ///
    /// # Errors
    /// It is not known where the blocks are: see [`ShuffleError`].
    pub fn read<M: Deref<Target = ShuffleReadMetrics>>(
        &self,
        range: &ReadRange,
        metrics: M,
        cancellation: &Cancellation,
    ) -> Result<ShuffleBlocks<M>, ShuffleError> {
        ShuffleBlocks::new(Arc::clone(&self.shared), range, metrics, cancellation)
    }
}

fn server_id(me: &BlockManagerId, conf: &ShuffleConf) -> BlockManagerId {
    match conf.external_service_port {
        Some(port) => BlockManagerId {
            port: port.into(),
            topology_info: None,
            ..me.clone()
        },
        None => me.clone(),
    }
}
