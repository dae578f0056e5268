//! Position delete files of Iceberg's: Parquet with the places of rows in other files.

use std::sync::Arc;

use arrow::array::{Array as _, ArrayRef, AsArray as _, RecordBatch};
use arrow::datatypes::{DataType as ArrowType, Int64Type};
use datafusion_common::Result;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder,
};
use parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};
use parquet::file::statistics::Statistics;
use roaring::RoaringTreemap;

use super::super::Files;
use super::deleted::{Deleted, vector};
use super::file::Chunks;
use super::footer_check;
use catalyst::{PositionDeletes, TableFile};
use rows::error::bail_out;

/// Ids of the columns: which file a row is in, and its place there.
const PATH: i32 = i32::MAX - 101;
const PLACE: i32 = i32::MAX - 102;

/// Rows that are read at once.
const BATCH_ROWS: usize = 8192;

/// The rows of a file that are deleted.
pub(super) fn deleted(file: &TableFile, files: &Files<'_>) -> Result<Deleted> {
    let mut rows = RoaringTreemap::new();
    for deletes in &file.deletes {
        match deletes {
            PositionDeletes::File { path, size } => {
                let size = super::super::files::length(*size)?;
                let bytes = files.bytes_of(&files.url(path)?, size)?;
                add(&Chunks::new(bytes, size), &file.location, &mut rows)?;
            }
            PositionDeletes::Vector {
                path,
                offset,
                size,
                rows: marked,
            } => rows |= vector(files, &files.url(path)?, (*offset, *size), *marked)?,
        }
    }
    Ok(Deleted::of(rows))
}

/// Adds the places that a file of deletes has of the file at `location`.
fn add(file: &Chunks, location: &str, rows: &mut RoaringTreemap) -> Result<()> {
    let file = file.with_end()?;
    let footer = Arc::new(footer_check::read(&file)?);
    let (path, place) = (leaf(&footer, PATH)?, leaf(&footer, PLACE)?);
    let groups = footer.row_groups().iter().enumerate();
    let groups = groups.filter(|(_, group)| may_name(group, path, location.as_bytes()));
    let groups: Vec<usize> = groups.map(|(number, _)| number).collect();
    if groups.is_empty() {
        return Ok(());
    }
    let mask = ProjectionMask::leaves(footer.file_metadata().schema_descr(), [path, place]);
    // Types are the file's own, whatever else wrote it.
    let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
    let metadata = ArrowReaderMetadata::try_new(footer, options)?;
    let reader = ParquetRecordBatchReaderBuilder::new_with_metadata(file, metadata)
        .with_projection(mask)
        .with_row_groups(groups)
        .with_batch_size(BATCH_ROWS)
        .build()?;
    for batch in reader {
        add_batch(&batch?, path < place, location.as_bytes(), rows)?;
    }
    Ok(())
}

/// The leaf of the column with this id.
fn leaf(footer: &ParquetMetaData, id: i32) -> Result<usize> {
    let leaves = footer.file_metadata().schema_descr().columns();
    let has_id = |info: &parquet::schema::types::BasicTypeInfo| info.has_id() && info.id() == id;
    let mut found = leaves
        .iter()
        .enumerate()
        .filter(|(_, leaf)| leaf.max_rep_level() == 0 && has_id(leaf.self_type().get_basic_info()));
    match (found.next(), found.next()) {
        (Some((leaf, _)), None) => Ok(leaf),
        _ => Err(bail_out("a file of deletes of another form")),
    }
}

/// Whether a row group may have rows about this file.
fn may_name(group: &RowGroupMetaData, path: usize, location: &[u8]) -> bool {
    let statistics = group
        .columns()
        .get(path)
        .and_then(|column| column.statistics());
    let Some(Statistics::ByteArray(of)) = statistics else {
        return true;
    };
    let (Some(least), Some(greatest)) = (of.min_opt(), of.max_opt()) else {
        return true;
    };
    let in_between = least.data() <= location && location <= greatest.data();
    statistics.is_some_and(Statistics::is_min_max_deprecated) || in_between
}

fn add_batch(
    batch: &RecordBatch,
    path_first: bool,
    location: &[u8],
    rows: &mut RoaringTreemap,
) -> Result<()> {
    let other = || bail_out("a file of deletes of another form");
    let (paths, places) = match (batch.columns(), path_first) {
        ([path, place], true) | ([place, path], false) => (path, place),
        _ => return Err(other()),
    };
    let places = places.as_primitive_opt::<Int64Type>().ok_or_else(other)?;
    if paths.null_count() > 0 || places.null_count() > 0 {
        return Err(other());
    }
    let names = names(paths, location).ok_or_else(other)?;
    for (place, _) in places
        .values()
        .iter()
        .zip(names)
        .filter(|(_, named)| *named)
    {
        rows.insert(u64::try_from(*place).map_err(|_| other())?);
    }
    Ok(())
}

/// Whether each path is that of this file.
fn names(paths: &ArrayRef, location: &[u8]) -> Option<Vec<bool>> {
    let is_it = |path: Option<&str>| path.is_some_and(|path| path.as_bytes() == location);
    match paths.data_type() {
        ArrowType::Utf8 => Some(paths.as_string::<i32>().iter().map(is_it).collect()),
        _ => None,
    }
}
