//! The splits of Hadoop's input formats, as `SerializableWritable` writes them.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

/// Longest path that is believed.
const MAX_PATH: usize = 64 << 10;

/// Most files of a split.
const MAX_FILES: usize = 1 << 24;

/// A part of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) struct FileRange {
    /// The path as Hadoop has it: `file:/tmp/a b.txt`.
    pub(in super::super) uri: String,
    /// Where the file is on this machine.
    pub(in super::super) path: PathBuf,
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
    let path = local_path(&uri)?;
    Ok(FileRange {
        uri,
        path,
        start,
        length,
    })
}

/// Where a path of Hadoop's is on this machine. It is not percent-encoded.
pub(super) fn local_path(uri: &str) -> Result<PathBuf, String> {
    let path = match uri.split_once(':') {
        Some(("file", path)) => path,
        Some((scheme, _)) if !scheme.contains('/') => return Err(format!("files of {scheme}:")),
        _ => uri,
    };
    let path = match path.strip_prefix("//") {
        Some(path) => path.trim_start_matches('/'),
        None => path.strip_prefix('/').unwrap_or(path),
    };
    Ok(PathBuf::from(OsString::from_vec(
        format!("/{path}").into_bytes(),
    )))
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

/// `WritableUtils.readVLong`
pub(in super::super) fn read_vlong(bytes: &[u8]) -> Option<(i64, &[u8])> {
    let (&first, rest) = bytes.split_first()?;
    let first = i8::from_be_bytes([first]);
    if first >= -112 {
        return Some((first.into(), rest));
    }
    let (negative, count) = if first < -120 {
        (true, -120 - i32::from(first))
    } else {
        (false, -112 - i32::from(first))
    };
    let (digits, rest) = rest.split_at_checked(usize::try_from(count).ok()?)?;
    let value = digits
        .iter()
        .fold(0_i64, |value, byte| (value << 8) | i64::from(*byte));
    Some((if negative { !value } else { value }, rest))
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
    fn numbers_of_every_width() {
        assert_eq!(read_vlong(&[26, 9]), Some((26, &[9][..])));
        assert_eq!(read_vlong(&[0x90]), Some((-112, &[][..])));
        // -113: one byte follows.
        assert_eq!(read_vlong(&[0x8f, 200]), Some((200, &[][..])));
        assert_eq!(read_vlong(&[0x8e, 1, 0]), Some((256, &[][..])));
        assert_eq!(read_vlong(&[0x87, 200]), Some((!200, &[][..])));
        assert_eq!(read_vlong(&[0x8e, 1]), None);
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
        assert_eq!(ranges[0].path, PathBuf::from("/tmp/a%20"));
        assert_eq!((ranges[0].start, ranges[0].length), (3, 4));
        bytes.pop();
        assert!(read_split(&bytes).is_err());
    }

    #[test]
    fn other_file_systems_are_named() {
        assert_eq!(
            range("hdfs://nn:8020/x".to_owned(), 0, 1),
            Err("files of hdfs:".to_owned())
        );
        assert_eq!(
            range("file:///x".to_owned(), 0, 1).unwrap().path,
            PathBuf::from("/x")
        );
    }
}
