use super::java::{self, SerializableBuffer};
use crate::WireError;
use bytes::Bytes;
use javaser::Catalog;
use serde::{Deserialize, Serialize};

/// Gives the executor a task. One-way to `Executor`; acknowledged by a
/// [`StatusUpdate`](super::StatusUpdate) with state `RUNNING`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaunchTask {
    /// A [`TaskDescription`](crate::task_description::TaskDescription).
    pub data: Bytes,
}

#[derive(Serialize, Deserialize)]
#[serde(rename = "org.apache.spark.scheduler.cluster.CoarseGrainedClusterMessages$LaunchTask")]
struct Java {
    data: SerializableBuffer,
}

impl LaunchTask {
    /// The Java class.
    pub const CLASS: &str =
        "org.apache.spark.scheduler.cluster.CoarseGrainedClusterMessages$LaunchTask";

    /// The Java object stream, with the class descriptors of this distribution.
    ///
    /// # Errors
    /// [`WireError::Unsupported`] if the distribution's class does not fit.
    pub fn encode(&self, catalog: &Catalog) -> Result<Vec<u8>, WireError> {
        let java = Java {
            data: SerializableBuffer::new(&self.data)?,
        };
        java::encode(&java, Self::CLASS, catalog)
    }

    /// Reads a Java object stream.
    ///
    /// # Errors
    /// [`WireError`] if the stream is damaged or holds another class.
    pub fn decode(content: &[u8]) -> Result<Self, WireError> {
        let java: Java = java::decode(content, Self::CLASS)?;
        Ok(Self {
            data: java.data.bytes()?,
        })
    }
}
