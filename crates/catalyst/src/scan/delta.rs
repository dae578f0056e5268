//! What the reader of Delta's tables with deletion vectors captured (`DeltaParquetFileFormat`): it reads Parquet, and
//! fills a column that says of each row whether it is deleted. Above the scan, a filter leaves those rows out.

use javaser::Closure;

use super::metadata::ROW_INDEX;
use super::parquet;
use crate::closure::ClosureArgs as _;
use crate::error::{Result, Unsupported};
use crate::inputs::{DeletionVector, RowIndexFilter};
use crate::object::{Object, Reader};
use crate::types::{DataType, StructField};

/// Delta's classes, below `org.apache.spark`.
pub(super) const CLASSES: [&str; 2] = [
    "sql.delta.DeltaParquetFileFormat",
    "sql.delta.DeltaParquetFileFormatBase",
];

/// The column that says whether a row is deleted: a byte.
const IS_ROW_DELETED: &str = "__delta_internal_is_row_deleted";

/// Names of what a part of a file says about its deletion vector.
const DESCRIPTOR: &str = "row_index_filter_id_encoded";
const FILTER: &str = "row_index_filter_type";

/// The columns of a scan that its reader fills from deletion vectors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeletedRows {
    /// The place among the columns of files of the byte that is 0 for rows to keep, and 1 for others.
    pub column: usize,
    /// Directory of the table, as Hadoop's `Path` prints it.
    pub table: String,
}

/// The function that reads a file of such a table.
pub(super) fn read(reader: &Reader<'_>, function: &Closure) -> Result<parquet::ReadFunction> {
    let graph = reader.graph;
    let unknown = || function.unsupported();
    let inner = function
        .args
        .iter()
        .find_map(|arg| Closure::read(graph, *arg));
    let inner = inner.filter(|inner| inner.name().0 == parquet::CLASS);
    let mut found = parquet::read(reader, &inner.ok_or_else(unknown)?)?;
    // The column of deleted rows, and that of rows' places.
    let columns = function.args.iter();
    let columns = columns.filter_map(|arg| graph.scala_option(*arg));
    let columns: Vec<_> = columns.collect();
    // useOffHeapBuffers, useMetadataRowIndex
    let flags = function.args.iter().filter_map(|arg| graph.bool(*arg));
    let flags: Vec<_> = flags.collect();
    let ([Some(deleted), Some(index)], [_, true]) = (&columns[..], &flags[..]) else {
        return Err(unknown());
    };
    let place = |column| -> Result<usize> {
        let place = reader.expect(column)?.int("index")?;
        usize::try_from(place).map_err(|_| unknown())
    };
    let (deleted, index) = (place(*deleted)?, place(*index)?);
    let is = |place: usize, name: &str, of: &DataType| {
        let field: Option<&StructField> = found.file_schema.get(place);
        field.is_some_and(|field| field.name == name && field.data_type == *of)
    };
    if !is(deleted, IS_ROW_DELETED, &DataType::Byte) || !is(index, ROW_INDEX, &DataType::Long) {
        return Err(unknown());
    }
    let table = function.arg(reader, 0)?.option("tablePath")?;
    let table = table.and_then(|table| graph.str(table));
    found.options.deleted_rows = Some(DeletedRows {
        column: deleted,
        table: table.ok_or_else(unknown)?.into_owned(),
    });
    Ok(found)
}

/// The deletion vector of a file.
pub(crate) fn deletion_vector(
    reader: &Reader<'_>,
    file: Object<'_>,
) -> Result<Option<DeletionVector>> {
    let graph = reader.graph;
    let (mut descriptor, mut filter) = (None, None);
    for (name, value) in file.pairs("otherConstantMetadataColumnValues")? {
        match graph.str(name).as_deref() {
            Some(DESCRIPTOR) => descriptor = graph.str(value),
            Some(FILTER) => filter = graph.enum_constant(value),
            _ => {}
        }
    }
    let filter = match filter.as_deref() {
        Some("IF_CONTAINED") => RowIndexFilter::DropMarked,
        Some("IF_NOT_CONTAINED") => RowIndexFilter::KeepMarked,
        Some(_) => return Err(Unsupported::of_use("another filter by places of rows")),
        None if descriptor.is_some() => {
            return Err(Unsupported::of_use("a deletion vector for nothing"));
        }
        None => return Ok(None),
    };
    let descriptor = descriptor.ok_or_else(|| Unsupported::of_use("no deletion vector"))?;
    Ok(Some(DeletionVector {
        descriptor: descriptor.into_owned(),
        filter,
    }))
}
