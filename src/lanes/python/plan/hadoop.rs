//! The splits of Hadoop's input formats, as `SerializableWritable` writes them.

use crate::files::{FilePath, read_vlong};

/// Longest path that is believed.
const MAX_PATH: usize = 64 << 10;

/// File systems that are known here. Settings may make them those of somebody else, which is found when a task begins.
const SCHEMES: [&str; 10] = [
    "file", "hdfs", "s3a", "s3", "s3n", "gs", "abfs", "abfss", "wasb", "wasbs",
];

/// Most files of a split.
const MAX_FILES: usize = 1 << 24;

/// A part of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) struct FileRange {
    /// The path as Hadoop has it: `file:/tmp/a b.txt`.
    pub(in super::super) uri: String,
    /// The same, in parts.
    pub(in super::super) path: FilePath,
    /// Where the part starts.
    pub(in super::super) start: u64,
    /// Its length.
    pub(in super::super) length: u64,
}

/// Reads what `ObjectWritable` wrote: the class twice and the split.
pub(super) fn read_split(bytes: &[u8]) -> Result<Vec<FileRange>, String> {
    let mut reader = Reader(bytes);
    let damaged = || "a file split that cannot be read".to_owned();
    let _declared = reader.utf().ok_or_else(damaged)?;
    let class = reader.utf().ok_or_else(damaged)?;
    match class {
        "org.apache.hadoop.mapred.FileSplit"
        | "org.apache.hadoop.mapreduce.lib.input.FileSplit" => {
            let uri = reader.text().ok_or_else(damaged)?;
            let start = reader.long().ok_or_else(damaged)?;
            let length = reader.long().ok_or_else(damaged)?;
            Ok(vec![range(uri, start, length)?])
        }
        "org.apache.hadoop.mapreduce.lib.input.CombineFileSplit" => {
            let _total = reader.long().ok_or_else(damaged)?;
            let lengths = reader.longs().ok_or_else(damaged)?;
            let count = reader.count().ok_or_else(damaged)?;
            let uris = (0..count)
                .map(|_| reader.text())
                .collect::<Option<Vec<_>>>()
                .ok_or_else(damaged)?;
            let starts = reader.longs().ok_or_else(damaged)?;
            if lengths.len() != uris.len() || starts.len() != uris.len() {
                return Err(damaged());
            }
            uris.into_iter()
                .zip(starts)
                .zip(lengths)
                .map(|((uri, start), length)| range(uri, start, length))
                .collect()
        }
        other => Err(super::simple(other).to_owned()),
    }
}

fn range(uri: String, start: u64, length: u64) -> Result<FileRange, String> {
    let path = file_path(&uri)?;
    Ok(FileRange {
        uri,
        path,
        start,
        length,
    })
}

/// A path of Hadoop's on a file system that is known here.
pub(super) fn file_path(uri: &str) -> Result<FilePath, String> {
    let path = FilePath::parse(uri);
    match SCHEMES.contains(&path.scheme.as_str()) {
        true => Ok(path),
        false => Err(format!("files of {}:", path.scheme)),
    }
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    /// `DataOutput.writeUTF`
    fn utf(&mut self) -> Option<&'a str> {
        let length = u16::from_be_bytes(self.take(2)?.try_into().ok()?);
        std::str::from_utf8(self.take(length.into())?).ok()
    }

    /// `Text.writeString`
    fn text(&mut self) -> Option<String> {
        let length = usize::try_from(self.vlong()?).ok()?;
        if length > MAX_PATH {
            return None;
        }
        String::from_utf8(self.take(length)?.to_vec()).ok()
    }

    fn long(&mut self) -> Option<u64> {
        let value = i64::from_be_bytes(self.take(8)?.try_into().ok()?);
        u64::try_from(value).ok()
    }

    fn count(&mut self) -> Option<usize> {
        let count = i32::from_be_bytes(self.take(4)?.try_into().ok()?);
        usize::try_from(count).ok().filter(|c| *c <= MAX_FILES)
    }

    fn longs(&mut self) -> Option<Vec<u64>> {
        let count = self.count()?;
        (0..count).map(|_| self.long()).collect()
    }

    /// `WritableUtils.readVLong`: small numbers are one byte, others are a length and sign, then big-endian bytes.
    fn vlong(&mut self) -> Option<i64> {
        let (value, rest) = read_vlong(self.0)?;
        self.0 = rest;
        Some(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn utf(text: &str) -> Vec<u8> {
        let mut out = u16::try_from(text.len()).unwrap().to_be_bytes().to_vec();
        out.extend_from_slice(text.as_bytes());
        out
    }

    #[test]
    fn paths_are_not_percent_encoded() {
        let class = utf("org.apache.hadoop.mapred.FileSplit");
        let mut bytes = [class.clone(), class].concat();
        bytes.push(14);
        bytes.extend_from_slice(b"file:/tmp/a%20");
        bytes.extend_from_slice(&3_i64.to_be_bytes());
        bytes.extend_from_slice(&4_i64.to_be_bytes());
        let ranges = read_split(&bytes).unwrap();
        assert_eq!(ranges[0].path.path, "/tmp/a%20");
        assert_eq!((ranges[0].start, ranges[0].length), (3, 4));
        bytes.pop();
        assert!(read_split(&bytes).is_err());
    }

    #[test]
    fn other_file_systems_are_named() {
        let found = range("hdfs://nn:8020/x".to_owned(), 0, 1).unwrap();
        assert_eq!(found.path.authority, "nn:8020");
        assert_eq!(
            range("ftp://nn/x".to_owned(), 0, 1),
            Err("files of ftp:".to_owned())
        );
    }
}
