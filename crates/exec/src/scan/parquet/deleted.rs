//! Rows of files that are deleted: deletion vectors of Delta's tables, and of Iceberg's.
//!
//! Formats: "Deletion Vector Format" of Delta's protocol, and `DeletionVectorDescriptor.serializeToBase64` for what
//! tasks carry. What is not of these forms, or not what its checksum says, is a bail-out.

use std::io::Read;

use arrow::array::{BooleanArray, Int8Array};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use datafusion_common::Result;
use roaring::RoaringTreemap;
use uuid::Uuid;

use super::super::Files;
use catalyst::{DeletedRows, DeletionVector, RowIndexFilter};
use rows::error::bail_out;

/// Longest deletion vector that is read, in bytes: of some hundred million rows.
const MAX_BYTES: u32 = 64 << 20;

/// Characters of a UUID in Base85.
const UUID_LENGTH: usize = 20;

/// How a portable bitmap of 64 bits begins.
const PORTABLE: u32 = 1_681_511_377;

/// Which rows of a file are deleted.
#[derive(Debug)]
pub(super) enum Deleted {
    None,
    All,
    /// Those that are marked, or all others.
    Marked {
        rows: RoaringTreemap,
        filter: RowIndexFilter,
    },
}

impl Deleted {
    /// Of a file, by its deletion vector.
    pub(super) fn read(
        vector: Option<&DeletionVector>,
        of: &DeletedRows,
        files: &Files<'_>,
    ) -> Result<Self> {
        let Some(vector) = vector else {
            return Ok(Self::None);
        };
        let descriptor = Descriptor::parse(&vector.descriptor);
        let descriptor = descriptor.ok_or_else(|| bail_out("a deletion vector of another form"))?;
        if descriptor.rows == 0 {
            return Ok(match vector.filter {
                RowIndexFilter::DropMarked => Self::None,
                RowIndexFilter::KeepMarked => Self::All,
            });
        }
        let bytes = match descriptor.place {
            Place::Inline(bytes) => bytes,
            Place::File { path, offset } => {
                let url = path.url(&of.table);
                let url = url.ok_or_else(|| bail_out("a deletion vector at another place"))?;
                stored(files, &url, offset, descriptor.size)?
            }
        };
        let rows = bitmap(&bytes).ok_or_else(|| bail_out("a deletion vector of another form"))?;
        match rows.len() == descriptor.rows {
            true => Ok(Self::Marked {
                rows,
                filter: vector.filter,
            }),
            false => Err(bail_out("a deletion vector of other rows")),
        }
    }

    /// 1 for each row that is deleted, 0 for others, of so many rows from this place in the file on.
    pub(super) fn column(&self, first: u64, count: usize) -> Int8Array {
        let (rows, mark) = match self {
            Self::None => return Int8Array::from_value(0, count),
            Self::All => return Int8Array::from_value(1, count),
            Self::Marked { rows, filter } => match filter {
                RowIndexFilter::DropMarked => (rows, 1),
                RowIndexFilter::KeepMarked => (rows, 0),
            },
        };
        let mut column: Vec<i8> = vec![1 - mark; count];
        let mut rows = rows.iter();
        rows.advance_to(first);
        for row in rows {
            let place = usize::try_from(row - first).ok();
            let Some(value) = place.and_then(|place| column.get_mut(place)) else {
                break;
            };
            *value = mark;
        }
        column.into()
    }
}

impl Deleted {
    /// Of these rows.
    pub(super) fn of(rows: RoaringTreemap) -> Self {
        match rows.is_empty() {
            true => Self::None,
            false => Self::Marked {
                rows,
                filter: RowIndexFilter::DropMarked,
            },
        }
    }

    /// Whether each row is kept, of so many rows from this place in the file on; `None` if all are.
    pub(super) fn kept(&self, first: u64, count: usize) -> Option<BooleanArray> {
        let column = self.column(first, count);
        let deleted = column.values();
        let some = deleted.iter().any(|deleted| *deleted != 0);
        some.then(|| deleted.iter().map(|deleted| Some(*deleted == 0)).collect())
    }
}

/// A `deletion-vector-v1` of Iceberg's: so many bytes of a Puffin file, which mark so many rows.
pub(super) fn vector(
    files: &Files<'_>,
    url: &str,
    (offset, size): (i64, i64),
    rows: i64,
) -> Result<RoaringTreemap> {
    let number = |of: i64| u32::try_from(of).ok();
    // Its length and its checksum are of Delta's kind.
    let bytes = number(size).and_then(|size| size.checked_sub(8));
    let bytes = bytes.filter(|bytes| *bytes <= MAX_BYTES);
    let (Some(offset), Some(bytes)) = (number(offset), bytes) else {
        return Err(bail_out("a deletion vector of another size"));
    };
    let found = bitmap(&stored(files, url, offset, bytes)?);
    match found {
        Some(found) if i64::try_from(found.len()) == Ok(rows) => Ok(found),
        _ => Err(bail_out("a deletion vector of another form")),
    }
}

/// A `DeletionVectorDescriptor`.
#[derive(Debug, PartialEq, Eq)]
struct Descriptor {
    /// How many rows are marked.
    rows: u64,
    /// Bytes of the bitmap.
    size: u32,
    place: Place,
}

#[derive(Debug, PartialEq, Eq)]
enum Place {
    Inline(Vec<u8>),
    File { path: FilePath, offset: u32 },
}

#[derive(Debug, PartialEq, Eq)]
enum FilePath {
    /// Below the table's directory.
    Relative(String),
    /// An URL.
    Absolute(String),
}

impl FilePath {
    /// As Spark has it in a `PartitionedFile`: what would have to be escaped there is left to Spark.
    fn url(&self, table: &str) -> Option<String> {
        let url = match self {
            Self::Relative(path) => format!("{table}/{path}"),
            Self::Absolute(url) => url.clone(),
        };
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/:-_.~=,@+".contains(&byte);
        let is_right = url.contains(":/") && url.bytes().all(is_plain) && !url.contains("..");
        is_right.then_some(url)
    }
}

impl Descriptor {
    fn parse(encoded: &str) -> Option<Self> {
        let bytes = BASE64_STANDARD.decode(encoded).ok()?;
        let (rows, rest) = bytes.split_first_chunk::<8>()?;
        let (size, rest) = rest.split_first_chunk::<4>()?;
        let (kind, mut rest) = rest.split_first()?;
        let size = u32::try_from(i32::from_be_bytes(*size)).ok()?;
        if size > MAX_BYTES {
            return None;
        }
        let mut offset = 0;
        if matches!(kind, b'u' | b'p') {
            let (at, behind) = rest.split_first_chunk::<4>()?;
            offset = u32::try_from(i32::from_be_bytes(*at)).ok()?;
            rest = behind;
        }
        let (length, text) = rest.split_first_chunk::<2>()?;
        if usize::from(u16::from_be_bytes(*length)) != text.len() {
            return None;
        }
        let text = std::str::from_utf8(text)
            .ok()
            .filter(|text| text.is_ascii())?;
        let file = |path| Place::File { path, offset };
        let place = match kind {
            b'i' => {
                let mut bytes = z85::decode(text).ok()?;
                let size = usize::try_from(size).ok()?;
                if bytes.len() < size {
                    return None;
                }
                bytes.truncate(size);
                Place::Inline(bytes)
            }
            b'u' | b'U' => {
                let (prefix, id) = text.split_at_checked(text.len().checked_sub(UUID_LENGTH)?)?;
                let id = Uuid::from_slice(&z85::decode(id).ok()?).ok()?;
                let name = format!("deletion_vector_{}.bin", id.hyphenated());
                file(FilePath::Relative(match prefix {
                    "" => name,
                    prefix => format!("{prefix}/{name}"),
                }))
            }
            b'p' | b'P' => file(FilePath::Absolute(text.to_owned())),
            _ => return None,
        };
        Some(Self {
            rows: u64::try_from(i64::from_be_bytes(*rows)).ok()?,
            size,
            place,
        })
    }
}

/// The bytes of a bitmap in a file: behind their number and before their checksum.
fn stored(files: &Files<'_>, url: &str, offset: u32, size: u32) -> Result<Vec<u8>> {
    let start = u64::from(offset);
    let length = u64::from(size) + 8;
    let mut file = files.stream_of(url, start..start + length)?;
    let mut bytes = Vec::new();
    file.by_ref().take(length).read_to_end(&mut bytes)?;
    let parts = bytes.split_first_chunk::<4>().and_then(|(head, rest)| {
        let (bitmap, sum) = rest.split_last_chunk::<4>()?;
        let is_whole = u32::from_be_bytes(*head) == size
            && u32::from_be_bytes(*sum) == crc32fast::hash(bitmap)
            && bytes.len() as u64 == length;
        is_whole.then(|| bitmap.to_vec())
    });
    parts.ok_or_else(|| bail_out("a deletion vector that is damaged"))
}

/// A `RoaringBitmapArray` in its portable form.
fn bitmap(bytes: &[u8]) -> Option<RoaringTreemap> {
    let (magic, mut rest) = bytes.split_first_chunk::<4>()?;
    if u32::from_le_bytes(*magic) != PORTABLE {
        return None;
    }
    let rows = RoaringTreemap::deserialize_from(&mut rest).ok()?;
    rest.is_empty().then_some(rows)
}

/// As the fuzz target sees it: a descriptor or a bitmap.
#[cfg(fuzzing)]
pub fn fuzz(data: &[u8]) {
    if let Ok(text) = std::str::from_utf8(data)
        && let Some(descriptor) = Descriptor::parse(text)
    {
        if let Place::File { path, .. } = &descriptor.place {
            let url = path.url("file:/table");
            assert!(url.is_none_or(|url| !url.contains("..")));
        }
        return;
    }
    if let Some(rows) = bitmap(data) {
        let first = rows.min().unwrap_or(0);
        let deleted = Deleted::Marked {
            rows,
            filter: RowIndexFilter::DropMarked,
        };
        assert_eq!(deleted.column(first, 100).len(), 100);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn descriptor(kind: u8, offset: Option<i32>, text: &str, rows: i64, size: i32) -> String {
        let mut bytes = rows.to_be_bytes().to_vec();
        bytes.extend(size.to_be_bytes());
        bytes.push(kind);
        bytes.extend(offset.into_iter().flat_map(i32::to_be_bytes));
        bytes.extend(u16::try_from(text.len()).unwrap().to_be_bytes());
        bytes.extend(text.as_bytes());
        BASE64_STANDARD.encode(bytes)
    }

    fn url(encoded: &str) -> Option<String> {
        match Descriptor::parse(encoded)?.place {
            Place::File { path, .. } => path.url("s3a://bucket/a table".split(' ').next()?),
            Place::Inline(_) => None,
        }
    }

    #[test]
    fn descriptors_name_files() {
        // The example of Delta's protocol.
        let id = "ab^-aqEH.-t@S}K{vb[*k^";
        let found = url(&descriptor(b'u', Some(4), id, 6, 40));
        let name = "s3a://bucket/a/ab/deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin";
        assert_eq!(found.as_deref(), Some(name));
        let parsed = Descriptor::parse(&descriptor(b'U', None, id, 6, 40)).unwrap();
        assert!(matches!(parsed.place, Place::File { offset: 0, .. }));
        let absolute = |path: &str| url(&descriptor(b'p', Some(4), path, 6, 40));
        assert_eq!(absolute("file:/t/x.bin").as_deref(), Some("file:/t/x.bin"));
        for path in ["file:/t/../x", "file:/t/a b", "x.bin", "file:/t/%41"] {
            assert_eq!(absolute(path), None, "{path}");
        }
    }

    #[test]
    fn other_descriptors_are_refused() {
        let id = "^-aqEH.-t@S}K{vb[*k^";
        for wrong in [
            descriptor(b'x', Some(4), id, 6, 40),
            descriptor(b'r', Some(4), "a", 6, 40),
            descriptor(b'u', Some(-4), id, 6, 40),
            descriptor(b'u', Some(4), &id[1..], 6, 40),
            descriptor(b'u', Some(4), id, 6, -1),
            descriptor(b'u', Some(4), id, 6, i32::MAX),
            descriptor(b'u', Some(4), id, -6, 40),
            descriptor(b'i', None, "0rr91", 6, 40),
            "AAAA".to_owned(),
            "?".to_owned(),
        ] {
            assert_eq!(Descriptor::parse(&wrong), None, "{wrong}");
        }
    }

    #[test]
    fn inline_vectors_mark_rows() {
        // In the form in which Delta writes it: rows 3, 4, 7, 11, 18 and 29.
        let text = "^Bg9^0rr910000000000iXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L";
        let parsed = Descriptor::parse(&descriptor(b'i', None, text, 6, 44)).unwrap();
        // The example of Delta's protocol is in another form.
        let old = "wi5b=000010000siXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L";
        assert_eq!(bitmap(&z85::decode(old).unwrap()), None);
        let Place::Inline(bytes) = parsed.place else {
            panic!("{parsed:?}");
        };
        let rows = bitmap(&bytes).unwrap();
        assert_eq!(rows.iter().collect::<Vec<_>>(), [3, 4, 7, 11, 18, 29]);
        assert_eq!(bitmap(&bytes[1..]), None);
        assert_eq!(bitmap(&bytes[..bytes.len() - 1]), None);
        let column = |filter, first, count| {
            let rows = rows.clone();
            let column = Deleted::Marked { rows, filter }.column(first, count);
            column.values().to_vec()
        };
        assert_eq!(column(RowIndexFilter::DropMarked, 3, 5), [1, 1, 0, 0, 1]);
        assert_eq!(column(RowIndexFilter::KeepMarked, 28, 3), [1, 0, 1]);
        assert_eq!(column(RowIndexFilter::DropMarked, u64::MAX, 2), [0, 0]);
        assert_eq!(Deleted::All.column(5, 2).values().to_vec(), [1, 1]);
    }
}
