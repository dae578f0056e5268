//! What a native task counts: `org.apache.spark.executor.TaskMetrics`.

use std::time::Duration;

use crate::blocks::metrics::{Counter, ShuffleReadMetrics, ShuffleWriteMetrics, SpillMetrics};

/// Bytes and records that came from outside.
#[derive(Debug, Default)]
pub struct InputMetrics {
    /// Bytes read.
    pub bytes_read: Counter,
    /// Records read.
    pub records_read: Counter,
}

/// Bytes and records that went outside.
#[derive(Debug, Default)]
pub struct OutputMetrics {
    /// Bytes written.
    pub bytes_written: Counter,
    /// Records written.
    pub records_written: Counter,
}

/// The numbers of one attempt. Times are taken by the executor; lanes fill in the rest.
#[derive(Debug, Default)]
pub struct TaskMetrics {
    /// Time from launch to the start of work, in milliseconds.
    pub executor_deserialize_time: Counter,
    /// CPU time for it, in nanoseconds.
    pub executor_deserialize_cpu_time: Counter,
    /// Time of work, in milliseconds.
    pub executor_run_time: Counter,
    /// CPU time of work, in nanoseconds.
    pub executor_cpu_time: Counter,
    /// Time to write the result, in milliseconds.
    pub result_serialization_time: Counter,
    /// What spilled.
    pub spill: SpillMetrics,
    /// What was read from shuffles.
    pub shuffle_read: ShuffleReadMetrics,
    /// What was written for a shuffle.
    pub shuffle_write: ShuffleWriteMetrics,
    /// What was read from files and cached blocks.
    pub input: InputMetrics,
    /// What was written to files.
    pub output: OutputMetrics,
}

impl TaskMetrics {
    /// Adds a number of Spark's, by its name among the accumulators, if it is one of what tasks read, write and spill.
    pub fn add(&self, name: &str, count: i64) {
        let read = &self.shuffle_read;
        let counter = match name.strip_prefix("internal.metrics.").unwrap_or_default() {
            "memoryBytesSpilled" => &self.spill.memory_bytes_spilled,
            "diskBytesSpilled" => &self.spill.disk_bytes_spilled,
            "peakExecutionMemory" => &self.spill.peak_execution_memory,
            "input.bytesRead" => &self.input.bytes_read,
            "input.recordsRead" => &self.input.records_read,
            "output.bytesWritten" => &self.output.bytes_written,
            "output.recordsWritten" => &self.output.records_written,
            "shuffle.write.bytesWritten" => &self.shuffle_write.bytes_written,
            "shuffle.write.recordsWritten" => &self.shuffle_write.records_written,
            "shuffle.write.writeTime" => &self.shuffle_write.write_time,
            "shuffle.read.remoteBlocksFetched" => &read.remote_blocks_fetched,
            "shuffle.read.localBlocksFetched" => &read.local_blocks_fetched,
            "shuffle.read.remoteBytesRead" => &read.remote_bytes_read,
            "shuffle.read.remoteBytesReadToDisk" => &read.remote_bytes_read_to_disk,
            "shuffle.read.localBytesRead" => &read.local_bytes_read,
            "shuffle.read.fetchWaitTime" => {
                read.fetch_wait_time.add(count.saturating_mul(1_000_000));
                return;
            }
            "shuffle.read.recordsRead" => &read.records_read,
            "shuffle.read.remoteReqsDuration" => &read.remote_reqs_duration,
            _ => return,
        };
        counter.add(count);
    }
}

/// Processor time of this thread.
#[must_use]
pub fn thread_cpu() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(
        u64::try_from(time.tv_sec).unwrap_or_default(),
        u32::try_from(time.tv_nsec).unwrap_or_default(),
    )
}
