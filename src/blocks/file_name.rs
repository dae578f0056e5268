//! Names of files in the local directories.

use super::checksum::Algorithm;
use std::fmt;
use std::io;
use std::str::FromStr;
use wire::ids::BlockId;
use wire::printable::Printable;

/// Bytes of the longest name that file systems take.
const MAX_LEN: usize = 255;

/// One normal component of a path. There is no other way to a path in [`super::LocalDirs`], so whatever a peer calls
/// its blocks, nothing outside of these directories can be read, written or removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileName(String);

/// A text that cannot name a file in a directory.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{}' is not the name of a file", Printable(.0))]
pub struct NotAFileName(String);

/// The files of a map output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShuffleFile {
    /// The segments of the reducers, one behind the other.
    Data,
    /// Where they begin.
    Index,
    /// Their checksums.
    Checksum(Algorithm),
    /// The segments as columns, which native executors read.
    Columns,
    /// Where those begin.
    ColumnsIndex,
}

/// How the records of a map output are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Form {
    /// As Spark writes rows, or other records.
    Rows,
    /// As batches of columns, in files of their own.
    Columns,
}

impl Form {
    /// The file of the segments.
    pub(super) fn data(self) -> ShuffleFile {
        match self {
            Self::Rows => ShuffleFile::Data,
            Self::Columns => ShuffleFile::Columns,
        }
    }

    /// The file that says where they begin.
    pub(super) fn index(self) -> ShuffleFile {
        match self {
            Self::Rows => ShuffleFile::Index,
            Self::Columns => ShuffleFile::ColumnsIndex,
        }
    }
}

impl FileName {
    /// The name of a file of a map output, which is that of the first reducer's block.
    pub fn of_shuffle(shuffle_id: i32, map_id: i64, file: ShuffleFile) -> Self {
        let start = format_args!("shuffle_{shuffle_id}_{map_id}_0").to_string();
        Self(match file {
            ShuffleFile::Data => start + ".data",
            ShuffleFile::Index => start + ".index",
            ShuffleFile::Checksum(algorithm) => start + ".checksum." + algorithm.name(),
            ShuffleFile::Columns => start + ".columns",
            ShuffleFile::ColumnsIndex => start + ".columns.index",
        })
    }

    /// The shuffle and the map output that a file belongs to, if it is one with columns.
    pub(super) fn columns_of(name: &str) -> Option<(i32, i64)> {
        let name = name.strip_suffix(".index").unwrap_or(name);
        let ids = name.strip_suffix("_0.columns")?.strip_prefix("shuffle_")?;
        let (shuffle_id, map_id) = ids.split_once('_')?;
        Some((shuffle_id.parse().ok()?, map_id.parse().ok()?))
    }

    /// The name of the file from which Python workers read a broadcast variable.
    pub fn of_python_broadcast(broadcast_id: i64) -> Self {
        Self(format!("broadcast_{broadcast_id}_python"))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for FileName {
    type Err = NotAFileName;

    fn from_str(name: &str) -> Result<Self, NotAFileName> {
        let is_component = !matches!(name, "" | "." | "..") && !name.contains(['/', '\0']);
        match is_component && name.len() <= MAX_LEN {
            true => Ok(Self(name.to_owned())),
            false => Err(NotAFileName(name.chars().take(MAX_LEN).collect())),
        }
    }
}

impl TryFrom<&BlockId> for FileName {
    type Error = NotAFileName;

    fn try_from(id: &BlockId) -> Result<Self, NotAFileName> {
        id.to_string().parse()
    }
}

impl fmt::Display for FileName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<NotAFileName> for io::Error {
    fn from(error: NotAFileName) -> Self {
        Self::new(io::ErrorKind::InvalidInput, error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_normal_component_is_a_name() {
        for name in [
            "",
            ".",
            "..",
            "/",
            "/a",
            "a/b",
            "../a",
            "a/",
            "a\0b",
            &"x".repeat(256),
        ] {
            assert!(name.parse::<FileName>().is_err(), "{name:?}");
        }
        for name in ["a", "...", "..a", "\u{e9}\n", &"x".repeat(255)] {
            assert_eq!(name.parse::<FileName>().unwrap().as_str(), name);
        }
        // What the code of this process makes, too.
        let id = BlockId::Test { id: "/../a".into() };
        assert!(FileName::try_from(&id).is_err());
        let names = [
            ShuffleFile::Data,
            ShuffleFile::Index,
            ShuffleFile::Checksum(Algorithm::Crc32),
            ShuffleFile::Columns,
            ShuffleFile::ColumnsIndex,
        ];
        let names = names.map(|file| FileName::of_shuffle(1, i64::MAX, file).to_string());
        let ends = [
            "data",
            "index",
            "checksum.CRC32",
            "columns",
            "columns.index",
        ];
        assert_eq!(
            names,
            ends.map(|end| format!("shuffle_1_{}_0.{end}", i64::MAX))
        );
        let columns = names.each_ref().map(|name| FileName::columns_of(name));
        let here = Some((1, i64::MAX));
        assert_eq!(columns, [None, None, None, here, here]);
        for name in [
            "shuffle_1_0.columns",
            "shuffle_1_x_0.columns",
            "rdd_1_1_0.columns",
        ] {
            assert_eq!(FileName::columns_of(name), None, "{name}");
        }
    }
}
