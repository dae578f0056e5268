//! The column `_metadata` of files: what a scan says of the file that a row is from.

use javaser::Closure;

use crate::error::{Result, Unsupported};
use crate::expr::{Attribute, read_attributes};
use crate::inputs::PartitionedFile;
use crate::literal::Literal;
use crate::object::{Object, Reader};
use crate::types::{DataType, StructField};

/// Where the functions are that find those values out: the object `FileFormat` and what it calls them.
const EXTRACTORS: (&str, &str) = (
    "sql.execution.datasources.FileFormat$",
    "BASE_METADATA_EXTRACTORS",
);

/// What a reader of Parquet calls the column with the places of rows in their file (`row_index`).
pub const ROW_INDEX: &str = "_tmp_metadata_row_index";

/// How columns that readers make begin.
const MADE: &str = "_tmp_metadata_";

/// A field of `_metadata` that is the same for all rows of a part of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileMetadata {
    /// `file_path`: its URL.
    Path,
    /// `file_name`: the last part of it.
    Name,
    /// `file_size`, in bytes.
    Size,
    /// `file_block_start`: where the part starts.
    BlockStart,
    /// `file_block_length`: bytes of the part.
    BlockLength,
    /// `file_modification_time`
    ModificationTime,
}

impl FileMetadata {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Path,
        Self::Name,
        Self::Size,
        Self::BlockStart,
        Self::BlockLength,
        Self::ModificationTime,
    ];

    /// Spark's name of the field.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Path => "file_path",
            Self::Name => "file_name",
            Self::Size => "file_size",
            Self::BlockStart => "file_block_start",
            Self::BlockLength => "file_block_length",
            Self::ModificationTime => "file_modification_time",
        }
    }

    /// The type of its values.
    #[must_use]
    pub fn data_type(self) -> DataType {
        match self {
            Self::Path | Self::Name => DataType::String,
            Self::Size | Self::BlockStart | Self::BlockLength => DataType::Long,
            Self::ModificationTime => DataType::Timestamp,
        }
    }

    /// The value for a part of a file.
    ///
    /// # Errors
    ///
    /// Of a file whose URL Hadoop might write in another way.
    pub fn value(self, of: &PartitionedFile) -> Result<Literal> {
        let strange = || Unsupported::of_use("metadata of a file whose path is written unusually");
        let text = |text: String| Literal::String(text.into_bytes());
        Ok(match self {
            Self::Path => text(path(&of.path).ok_or_else(strange)?),
            Self::Name => {
                let path = path(&of.path).ok_or_else(strange)?;
                let name = path.rsplit('/').next().unwrap_or_default();
                text(name.to_owned())
            }
            Self::Size => Literal::Long(of.file_size),
            Self::BlockStart => Literal::Long(of.start),
            Self::BlockLength => Literal::Long(of.length),
            // Java's multiplication of milliseconds.
            Self::ModificationTime => Literal::Long(of.modification_time.wrapping_mul(1000)),
        })
    }
}

/// What `new Path(url.toPath.toString).toUri.toString` makes of a URL, if it is known: all but `file:///` stays as it
/// is where decoding it and encoding it again changes nothing.
fn path(url: &str) -> Option<String> {
    let (scheme, rest) = url.split_once(':')?;
    let word = |text: &str| {
        text.bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"+-._".contains(&b))
    };
    let (authority, path) = match rest.strip_prefix("//") {
        Some(rest) => rest.split_at(rest.find('/')?),
        None => ("", rest),
    };
    let host = |text: &str| {
        text.split(['@', ':'])
            .all(|part| !part.is_empty() && word(part))
    };
    let is_plain = path.starts_with('/')
        && (authority.is_empty() || host(authority))
        && word(scheme)
        && path
            .split('/')
            .skip(1)
            .all(|part| !matches!(part, "" | "." | ".."))
        && is_encoded_once(path);
    match authority {
        _ if !is_plain => None,
        "" => Some(format!("{scheme}:{path}")),
        _ => Some(url.to_owned()),
    }
}

/// Whether exactly those bytes of a path are encoded that `java.net.URI` encodes, all of them ASCII.
fn is_encoded_once(path: &str) -> bool {
    let is_legal = |b: u8| b.is_ascii_alphanumeric() || b"_-!.~'():@&=+$,;/*".contains(&b);
    let mut bytes = path.bytes();
    while let Some(byte) = bytes.next() {
        let is_right = match byte {
            b'%' => {
                let mut digit = || match bytes.next()? {
                    digit @ b'0'..=b'9' => Some(digit - b'0'),
                    digit @ b'A'..=b'F' => Some(digit - b'A' + 10),
                    _ => None,
                };
                let byte = digit().and_then(|high| Some(high << 4 | digit()?));
                byte.is_some_and(|byte| byte.is_ascii() && !is_legal(byte))
            }
            byte => is_legal(byte),
        };
        if !is_right {
            return false;
        }
    }
    true
}

/// The fields of `_metadata` that a `FileScanRDD` puts behind all other columns, and their attributes.
pub(super) fn read(
    reader: &Reader<'_>,
    rdd: Object<'_>,
) -> Result<(Vec<FileMetadata>, Vec<Attribute>)> {
    let attributes = read_attributes(reader, rdd.elements("metadataColumns")?)?;
    if attributes.is_empty() {
        return Ok((Vec::new(), attributes));
    }
    let unknown = || Unsupported::of_use("metadata columns of files");
    let extractors = rdd.pairs("metadataExtractors")?;
    let fields = attributes.iter().map(|attribute| {
        let known = |field: &FileMetadata| field.name() == attribute.name;
        let field = FileMetadata::ALL
            .into_iter()
            .find(known)
            .ok_or_else(unknown)?;
        let found = extractors.iter().find_map(|(name, extractor)| {
            let name = reader.graph.str(*name)?;
            let own = name == field.name();
            own.then(|| Closure::read(reader.graph, *extractor))
                .flatten()
        });
        let is_known = found.is_some_and(|found| found.name() == EXTRACTORS);
        match is_known && field.data_type() == attribute.data_type {
            true => Ok(field),
            false => Err(unknown()),
        }
    });
    let fields = fields.collect::<Result<_>>()?;
    Ok((fields, attributes))
}

/// Fails if a column that a reader makes is not known. Only readers of Parquet make the one that is.
pub(super) fn check_made(fields: &[StructField], is_parquet: bool) -> Result<()> {
    let unknown = |field: &StructField| {
        let is_row_index = field.name == ROW_INDEX && field.data_type == DataType::Long;
        field.name.starts_with(MADE) && !(is_parquet && is_row_index)
    };
    match fields.iter().any(unknown) {
        true => Err(Unsupported::of_use("metadata columns of files")),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::path;

    #[test]
    fn urls_that_stay_as_they_are() {
        let same = |url: &str| assert_eq!(path(url).as_deref(), Some(url), "{url}");
        same("file:/tmp/t/part-0.parquet");
        same("s3a://bucket/a%20b/k=1%2525/x+y,z@(1).parquet");
        same("hdfs://user@host:8020/data/_temporary/~x");
        assert_eq!(path("file:///tmp/x").as_deref(), Some("file:/tmp/x"));
    }

    #[test]
    fn others_are_left_to_spark() {
        for url in [
            "/tmp/x",
            "file:tmp/x",
            "file:/tmp//x",
            "file:/tmp/x/",
            "file:/tmp/../x",
            "file:/tmp/a b",
            "file:/tmp/%C3%A9",
            "file:/tmp/é",
            "file:/tmp/%2F",
            "file:/tmp/%5b",
            "file:/tmp/%5",
            "file:/tmp/x?y",
            "file:/tmp/x#y",
            "s3a://bucket",
            "s3a://[::1]/x",
        ] {
            assert_eq!(path(url), None, "{url}");
        }
    }
}
