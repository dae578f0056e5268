//! Where a scan's files come from.

use std::io::Read;
use std::ops::Range;
use std::sync::Arc;

use catalyst::{Broadcast, PartitionedFile};
use datafusion_common::Result;
use rows::error::bail_out;

use crate::sources::{FileBytes, Sources};

/// The files of a scan.
pub(super) struct Files<'a> {
    sources: &'a dyn Sources,
    /// Configuration of their file system.
    conf: &'a Broadcast,
}

impl<'a> Files<'a> {
    pub(super) fn new(sources: &'a dyn Sources, conf: &'a Broadcast) -> Self {
        Self { sources, conf }
    }

    /// The whole file of which this is a part, in any order.
    pub(super) fn bytes(&self, part: &PartitionedFile) -> Result<Arc<dyn FileBytes>> {
        let size = length(part.file_size)?;
        let (path, time) = (&part.path, part.modification_time);
        self.sources.file(path, size, time, self.conf)
    }

    /// A range of the file of which this is a part, and what is behind it, in order.
    pub(super) fn stream(
        &self,
        part: &PartitionedFile,
        range: Range<u64>,
    ) -> Result<Box<dyn Read + Send>> {
        self.stream_of(&part.path, range)
    }

    /// The same of another file, by its URL.
    pub(super) fn stream_of(&self, url: &str, range: Range<u64>) -> Result<Box<dyn Read + Send>> {
        self.sources.stream(url, range, self.conf)
    }

    /// A setting of Hadoop that says something: not missing, not blank.
    pub(super) fn hadoop_setting(&self, key: &str) -> Result<Option<String>> {
        self.sources.hadoop_setting(self.conf, key)
    }
}

/// A place or a number of bytes in a file.
pub(super) fn length(of: i64) -> Result<u64> {
    u64::try_from(of).map_err(|_| bail_out("a file of unknown size"))
}
