//! Blocks that this executor keeps: in memory, in files, known to the driver, and at other executors' service.
//!
//! [`BlockManager`] is Spark's class of that name for native lanes. All blocks are bytes: a serialized, maybe
//! compressed stream of records, as Spark's serialized storage levels keep them; at a deserialized level the bytes are
//! what another executor would be sent. An embedded JVM has a block manager of its own behind the same `BlockManagerId`
//! and in the same directories: what the driver asks of this executor's blocks has to be answered for both.
//!
//! Methods may block, on disks and on the driver: they are for task threads and for the runtime's blocking threads.
//! Those that are `async` or give an [`Answer`](crate::transport::Answer) are for tasks of the runtime.

mod cache;
mod disk;
mod lend;
mod locks;
mod manager;
mod memory;
mod migrate;
mod ports;
mod remote;
mod remove;
mod replicate;
mod report;
mod settings;
#[cfg(test)]
mod testing;
mod upload;
mod wiring;

pub use cache::{BlockReader, CacheRequest, Cached};
pub use disk::DiskBlock;
pub use manager::{BlockManager, LocalBlock, Parts};
pub use migrate::Decommissioner;
pub use ports::{BlockLocations, FinishWrite, Master, Peers, RemoteBlock, Streams};
pub use settings::StoreSettings;

use std::io::{self, Read};
use std::sync::Arc;

use bytes::{Buf, Bytes};

use crate::transport::Body;

/// Why a block cannot be stored or read.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A disk is full or fails, or bytes are damaged.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// What Spark has an exception of its own for (`SparkException`); its text.
    #[error("{0}")]
    Spark(String),
    /// The task that waited for another one's block was told to stop.
    #[error("{0}")]
    Cancelled(Arc<str>),
}

/// The bytes of a block, where they are.
#[derive(Debug, Clone)]
pub enum BlockData {
    /// In memory.
    Memory(Bytes),
    /// In a file.
    Disk(DiskBlock),
}

impl BlockData {
    /// Number of bytes, without encryption of files.
    pub fn len(&self) -> u64 {
        match self {
            Self::Memory(bytes) => bytes.len() as u64,
            Self::Disk(file) => file.len(),
        }
    }

    /// Whether there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Reads from the beginning.
    ///
    /// # Errors
    /// The disk fails.
    pub fn reader(&self) -> io::Result<Box<dyn Read + Send>> {
        match self {
            Self::Memory(bytes) => Ok(Box::new(bytes.clone().reader())),
            Self::Disk(file) => file.reader(),
        }
    }

    /// All bytes, in memory.
    ///
    /// # Errors
    /// The disk fails.
    pub fn bytes(&self) -> io::Result<Bytes> {
        match self {
            Self::Memory(bytes) => Ok(bytes.clone()),
            Self::Disk(file) => file.bytes(),
        }
    }

    /// The bytes to be sent to another executor.
    ///
    /// # Errors
    /// The disk fails.
    pub fn body(&self) -> io::Result<Body> {
        match self {
            Self::Memory(bytes) => Ok(Body::Bytes(bytes.clone())),
            Self::Disk(file) => file.body(),
        }
    }
}
