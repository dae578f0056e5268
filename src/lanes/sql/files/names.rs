//! Names of directories and files, as Spark and Hadoop make them.

use std::str::FromStr;

use arrow::array::{Array, AsArray, RecordBatch};
use catalyst::{FileWrite, PartitionColumn};

use crate::blocks::{FileName, NotAFileName};

/// The directory of rows whose value is null or empty: `ExternalCatalogUtils.DEFAULT_PARTITION_NAME`.
const DEFAULT_PARTITION: &str = "__HIVE_DEFAULT_PARTITION__";

/// Characters besides control characters that names of partitions do not have: `ExternalCatalogUtils.charToEscape`.
const ESCAPED: &str = "\"#%'*/:=?\\\x7f{[]^";

/// The name of a file among those of a task: `part-00007-<job>-c000.snappy.parquet`, in directories of partitions
/// with a dot before the last number, and before that dot with the bucket (`_00003`), if there is one.
///
/// # Errors
/// What the driver calls its job is no part of a name.
pub(super) fn file_name(
    write: &FileWrite,
    partition_id: i32,
    (bucket, number): (Option<i32>, u32),
    extension: &str,
) -> Result<FileName, NotAFileName> {
    let job = &write.job_id;
    let place = match bucket {
        Some(bucket) => format!("_{bucket:05}."),
        None if write.partitions.is_empty() => "-".to_owned(),
        None => ".".to_owned(),
    };
    let name = format!("part-{partition_id:05}-{job}{place}c{number:03}{extension}");
    FileName::from_str(&name)
}

/// The directory that a row of a batch belongs into, with slashes between levels. `None` if no file system takes it.
pub(super) fn directory(
    columns: &[PartitionColumn],
    batch: &RecordBatch,
    row: usize,
) -> Option<String> {
    let mut text = String::new();
    for column in columns {
        let values = batch.columns().get(column.text)?.as_string_view_opt()?;
        let value = (!values.is_null(row)).then(|| values.value(row));
        // Spark's strings are not checked.
        let value = value.map(|value| std::str::from_utf8(value.as_bytes()));
        let value = match value.transpose().ok()?.filter(|value| !value.is_empty()) {
            Some(value) => escaped(value),
            None => DEFAULT_PARTITION.to_owned(),
        };
        let name = format!("{}={value}", escaped(&column.attribute.name));
        if !text.is_empty() {
            text.push('/');
        }
        text.push_str(FileName::from_str(&name).ok()?.as_str());
    }
    Some(text)
}

/// `ExternalCatalogUtils.escapePathName`
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\x01'..='\x1f' => out.push_str(&format!("%{:02X}", u32::from(c))),
            c if ESCAPED.contains(c) => out.push_str(&format!("%{:02X}", u32::from(c))),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_escaped_as_hive_did() {
        assert_eq!(escaped("a b-é.}"), "a b-é.}");
        assert_eq!(escaped("a/b=c%\t"), "a%2Fb%3Dc%25%09");
        assert_eq!(escaped("{[^]}\x7f"), "%7B%5B%5E%5D}%7F");
    }
}
