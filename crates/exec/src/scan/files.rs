//! Where a scan's files come from.

use std::io::Read;
use std::ops::Range;
use std::sync::Arc;

use catalyst::PartitionedFile;
use datafusion_common::Result;
use rows::error::bail_out;

use crate::sources::{FileBytes, HadoopSettings, Sources};

/// Hadoop's setting of the file system that paths without a scheme are on, and its default.
const DEFAULT_FS: &str = "fs.defaultFS";
const LOCAL: &str = "file:///";

/// The files of a scan.
pub(super) struct Files<'a> {
    sources: &'a dyn Sources,
    /// Settings of their file system.
    conf: HadoopSettings<'a>,
}

impl<'a> Files<'a> {
    pub(super) fn new(sources: &'a dyn Sources, conf: HadoopSettings<'a>) -> Self {
        Self { sources, conf }
    }

    /// The whole file of which this is a part, in any order.
    pub(super) fn bytes(&self, part: &PartitionedFile) -> Result<Arc<dyn FileBytes>> {
        let size = length(part.file_size)?;
        let (path, time) = (&part.path, part.modification_time);
        self.sources.file(path, size, time, self.conf)
    }

    /// A whole file that is never changed, by its URL, in any order.
    pub(super) fn bytes_of(&self, url: &str, size: u64) -> Result<Arc<dyn FileBytes>> {
        self.sources.file(url, size, 0, self.conf)
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

    /// The URL of a file that may be without a scheme: it is on the file system that Hadoop's settings name then.
    pub(super) fn url(&self, path: &str) -> Result<String> {
        // Asked in any case: it says whether the files are Hadoop's at all.
        let default = self.hadoop_setting(DEFAULT_FS)?;
        if !path.starts_with('/') {
            return Ok(path.to_owned());
        }
        let default = default.as_deref().unwrap_or(LOCAL);
        Ok(format!("{}{path}", default.trim_end_matches('/')))
    }
}

/// A place or a number of bytes in a file.
pub(super) fn length(of: i64) -> Result<u64> {
    u64::try_from(of).map_err(|_| bail_out("a file of unknown size"))
}
