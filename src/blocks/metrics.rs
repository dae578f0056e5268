//! What reading and writing blocks counts for the task that does it.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

/// A number that only grows.
#[derive(Debug, Default)]
pub struct Counter(AtomicI64);

impl Counter {
    /// Adds `n`.
    pub fn add(&self, n: i64) {
        self.0.fetch_add(n, Ordering::Relaxed);
    }

    /// Adds a count of things in memory or on disk.
    pub fn add_len(&self, n: usize) {
        self.add(i64::try_from(n).unwrap_or(i64::MAX));
    }

    /// Adds a time in nanoseconds.
    pub fn add_nanos(&self, time: Duration) {
        self.add(i64::try_from(time.as_nanos()).unwrap_or(i64::MAX));
    }

    /// Its value.
    pub fn get(&self) -> i64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Sets the value.
    pub fn set(&self, value: i64) {
        self.0.store(value, Ordering::Relaxed);
    }
}

/// `org.apache.spark.executor.ShuffleReadMetrics`, without the parts for push-based shuffle.
#[derive(Debug, Default)]
pub struct ShuffleReadMetrics {
    /// Blocks from other executors.
    pub remote_blocks_fetched: Counter,
    /// Blocks from this executor or another one's directories on this host.
    pub local_blocks_fetched: Counter,
    /// Bytes from other executors.
    pub remote_bytes_read: Counter,
    /// Of those, bytes that went to disk first.
    pub remote_bytes_read_to_disk: Counter,
    /// Bytes from this host.
    pub local_bytes_read: Counter,
    /// Time that the task waited for blocks, in nanoseconds; sent in milliseconds.
    pub fetch_wait_time: Counter,
    /// Records read.
    pub records_read: Counter,
    /// Time that requests took, in milliseconds.
    pub remote_reqs_duration: Counter,
}

/// `org.apache.spark.executor.ShuffleWriteMetrics`
#[derive(Debug, Default)]
pub struct ShuffleWriteMetrics {
    /// Bytes in the data file.
    pub bytes_written: Counter,
    /// Records written.
    pub records_written: Counter,
    /// Time spent writing, in nanoseconds.
    pub write_time: Counter,
}

/// Memory that went to disk, of `org.apache.spark.executor.TaskMetrics`.
#[derive(Debug, Default)]
pub struct SpillMetrics {
    /// Bytes that it took in memory.
    pub memory_bytes_spilled: Counter,
    /// Bytes that it took on disk.
    pub disk_bytes_spilled: Counter,
    /// Most memory that shuffles, aggregations and joins took at a time, in bytes.
    pub peak_execution_memory: Counter,
}
