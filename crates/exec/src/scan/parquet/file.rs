//! Reads the row groups of a part of a Parquet file.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array};
use arrow::compute::filter;
use bytes::buf::Reader;
use bytes::{Buf, Bytes};
use datafusion_common::{DataFusionError, Result};
use datafusion_physical_expr::PhysicalExpr;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader,
    ParquetRecordBatchReaderBuilder,
};
use parquet::errors::ParquetError;
use parquet::file::metadata::RowGroupMetaData;
use parquet::file::reader::{ChunkReader, Length};

use super::super::{Batch, PartReader, constants};
use super::columns::Columns;
use super::deleted::Deleted;
use super::footer::footer;
use super::late::Late;
use super::lookup::Lookup;
use super::prune::may_match;
use super::{Ids, Made, ParquetScan};
use crate::sources::FileBytes;
use catalyst::ParquetOptions;
use catalyst::{PartitionedFile, ROW_INDEX, StructField};
use rows::error::bail_out;

/// A part of a file that is being read.
pub(super) struct FileReader {
    chunks: Chunks,
    metadata: ArrowReaderMetadata,
    columns: Columns,
    /// Columns that are made here, by their places among all.
    made: Vec<(usize, Made)>,
    deleted: Deleted,
    /// Whether rows that are deleted are left out here.
    drops: bool,
    /// Rows left out and not taken into account yet.
    dropped: usize,
    constants: Vec<Arc<dyn PhysicalExpr>>,
    row_groups: VecDeque<usize>,
    batch_size: usize,
    late: Option<Arc<Late>>,
    options: ParquetOptions,
    lookup: Lookup,
    open: Option<ParquetRecordBatchReader>,
    /// Whether the open row group gives only rows that pass the filter.
    is_late: bool,
    /// Rows read and not taken into account yet.
    rows: usize,
    /// Rows before the open row group.
    first_row: u64,
    /// Rows read of the open row group.
    group_rows: usize,
    /// Batches that Spark's reader would have made of the rows read, not taken into account yet.
    batches: usize,
}

/// What is known of a part of a file.
pub(super) struct OfPart {
    /// What ids of columns are for.
    pub(super) ids: Ids,
    /// Which rows are deleted.
    pub(super) deleted: Deleted,
    /// Values of columns that are the same for all rows.
    pub(super) constants: Vec<Arc<dyn PhysicalExpr>>,
}

impl FileReader {
    /// Opens a file, to read those of its row groups that are this part's.
    pub(super) fn open(
        scan: &ParquetScan,
        part: &PartitionedFile,
        bytes: Arc<dyn FileBytes>,
        batch_size: usize,
        of_part: OfPart,
    ) -> Result<Self> {
        let size = u64::try_from(part.file_size);
        let size = size.map_err(|_| bail_out("a file of unknown size"))?;
        let chunks = Chunks::new(bytes, size);
        let footer = footer(part, &chunks)?;
        let file = footer.file_metadata();
        let lookup = scan.lookup(of_part.ids, file)?;
        let columns = Columns::find(file, &scan.fields, &scan.options, lookup)?;
        if !scan.made.is_empty() && columns.schema.field_with_name(ROW_INDEX).is_ok() {
            return Err(bail_out("a file with a column that readers make"));
        }
        let options = ArrowReaderOptions::new().with_schema(Arc::clone(&columns.schema));
        let metadata = ArrowReaderMetadata::try_new(Arc::clone(&footer), options)?;
        // A filter that hides dates which Spark would refuse is not asked early.
        let late = scan.late.clone();
        let drops = scan.of_table && !matches!(of_part.deleted, Deleted::None);
        let late = late.filter(|late| !drops && !columns.checks_old(late.places()));
        let end = part.start.saturating_add(part.length);
        let own = footer.row_groups().iter().enumerate();
        let roots = file.schema_descr().root_schema().get_fields();
        // Of several columns with one name none is meant.
        let root = |column: &StructField| lookup.find(roots, column).ok().flatten();
        let own = own.filter(|(_, group)| {
            middle(group).is_some_and(|middle| (part.start..end).contains(&middle))
                && may_match(&scan.bounds, file, group, root)
        });
        Ok(Self {
            row_groups: own.map(|(index, _)| index).collect(),
            chunks,
            metadata,
            columns,
            made: scan.made.clone(),
            deleted: of_part.deleted,
            drops,
            dropped: 0,
            constants: of_part.constants,
            batch_size,
            late,
            options: scan.options.clone(),
            lookup,
            open: None,
            is_late: false,
            rows: 0,
            first_row: 0,
            group_rows: 0,
            batches: 0,
        })
    }

    /// Counts rows that were read, and those of them that come out. Spark's batches end with a row group.
    fn count(&mut self, rows: usize, kept: usize) {
        self.rows += kept;
        self.dropped += rows - kept;
        if let Some(size) = self.options.batch_rows {
            let batches = |rows: usize| rows.div_ceil(size);
            self.batches += batches(self.group_rows + rows) - batches(self.group_rows);
        }
        self.group_rows += rows;
    }

    /// The columns that are wanted, of those that were read next of a row group and are in the file.
    fn with_made(&self, mut arrays: Vec<ArrayRef>, rows: usize) -> Result<Vec<ArrayRef>> {
        for (place, made) in &self.made {
            let array: ArrayRef = match made {
                Made::RowIndex => Arc::new(self.indexes(rows)?),
                Made::Deleted => {
                    let first = self.first_row.saturating_add(self.group_rows as u64);
                    Arc::new(self.deleted.column(first, rows))
                }
                Made::Constant(place) => {
                    let constant = self.constants.get(*place);
                    let constant = constant.ok_or_else(|| bail_out("a column without a value"))?;
                    let values = constants(std::slice::from_ref(constant), rows)?;
                    let values = values.into_iter().next();
                    values.ok_or_else(|| bail_out("a column without a value"))?
                }
            };
            arrays.insert((*place).min(arrays.len()), array);
        }
        Ok(arrays)
    }

    /// Leaves out those of the rows read next that are deleted.
    fn without_deleted(
        &self,
        arrays: Vec<ArrayRef>,
        rows: usize,
    ) -> Result<(Vec<ArrayRef>, usize)> {
        if !self.drops {
            return Ok((arrays, rows));
        }
        let first = self.first_row.saturating_add(self.group_rows as u64);
        let Some(kept) = self.deleted.kept(first, rows) else {
            return Ok((arrays, rows));
        };
        let arrays = arrays.iter().map(|array| Ok(filter(array, &kept)?));
        Ok((arrays.collect::<Result<_>>()?, kept.true_count()))
    }

    /// The places in the file of the rows that were read next.
    fn indexes(&self, rows: usize) -> Result<Int64Array> {
        let index = |row: usize| i64::try_from(self.first_row.checked_add(row as u64)?).ok();
        let first = index(self.group_rows);
        let end = index(self.group_rows.saturating_add(rows));
        let (Some(first), Some(end)) = (first, end) else {
            return Err(bail_out("more rows than can be numbered"));
        };
        Ok(Int64Array::from_iter_values(first..end))
    }

    fn open_group(&mut self, index: usize) -> Result<ParquetRecordBatchReader> {
        let groups = self.metadata.metadata().row_groups();
        if !self.made.is_empty() || self.drops {
            let before = groups.iter().take(index).map(RowGroupMetaData::num_rows);
            let before = before.map(|rows| u64::try_from(rows).unwrap_or(0));
            self.first_row = before.fold(0, u64::saturating_add);
        }
        let group = groups.get(index);
        let group = group.ok_or_else(|| bail_out("a row group that is not there"))?;
        let leaves = group.columns().iter().enumerate();
        let leaves = leaves.filter(|(leaf, _)| self.columns.mask.leaf_included(*leaf));
        let ranges = leaves.map(|(_, column)| column.byte_range()).collect();
        let chunks = self.chunks.read_ahead(ranges)?;
        let rows = usize::try_from(group.num_rows()).unwrap_or(0);
        let mut builder =
            ParquetRecordBatchReaderBuilder::new_with_metadata(chunks, self.metadata.clone())
                .with_projection(self.columns.mask.clone())
                .with_row_groups(vec![index])
                .with_batch_size(self.batch_size);
        let late = self.late.as_ref().filter(|late| late.pays());
        self.is_late = late.is_some();
        if let Some(late) = late {
            let file = self.metadata.metadata().file_metadata();
            builder = builder.with_row_filter(late.row_filter(file, &self.options, self.lookup)?);
        }
        let reader = builder.build()?;
        if self.is_late {
            self.count(rows, rows);
        }
        Ok(reader)
    }
}

impl PartReader for FileReader {
    fn next(&mut self) -> Result<Option<Batch>> {
        loop {
            if let Some(open) = &mut self.open {
                match open.next().transpose()? {
                    Some(batch) => {
                        let rows = batch.num_rows();
                        let read = self.columns.arrange(batch.columns(), rows)?;
                        if !self.is_late
                            && let Some(late) = self.late.as_ref().filter(|l| l.is_curious())
                        {
                            late.sample(&read, rows)?;
                        }
                        let arrays = self.with_made(read, rows)?;
                        let (arrays, kept) = self.without_deleted(arrays, rows)?;
                        if !self.is_late {
                            self.count(rows, kept);
                        }
                        return Ok(Some(Batch { arrays, rows: kept }));
                    }
                    None => self.open = None,
                }
            }
            let Some(group) = self.row_groups.pop_front() else {
                return Ok(None);
            };
            self.group_rows = 0;
            self.open = Some(self.open_group(group)?);
        }
    }

    fn take_batches(&mut self) -> usize {
        std::mem::take(&mut self.batches)
    }

    fn take_rows(&mut self) -> usize {
        std::mem::take(&mut self.rows)
    }

    fn take_dropped(&mut self) -> usize {
        std::mem::take(&mut self.dropped)
    }
}

/// By which a row group belongs to a part of the file: as `ParquetMetadataConverter.filterFileMetaDataByMidpoint`.
fn middle(group: &RowGroupMetaData) -> Option<i64> {
    let first = group.columns().first()?;
    let data = first.data_page_offset();
    let start = match first.dictionary_page_offset() {
        Some(dictionary) => dictionary.min(data),
        None => data,
    };
    Some(start + group.compressed_size() / 2)
}

/// Gaps between ranges that are read with them.
const MAX_GAP: u64 = 1 << 20;

/// Bytes of a file's end that are read at once: most footers are there.
const END: u64 = 64 << 10;

/// The bytes of a file, some of which are in memory.
#[derive(Debug, Clone)]
pub(super) struct Chunks {
    file: Arc<dyn FileBytes>,
    size: u64,
    /// By where they start.
    ahead: Vec<(u64, Bytes)>,
}

impl Chunks {
    /// Of a file of so many bytes, none of which is in memory.
    pub(super) fn new(file: Arc<dyn FileBytes>, size: u64) -> Self {
        Self {
            file,
            size,
            ahead: Vec::new(),
        }
    }

    /// Reads ranges (start and length), near ones at once.
    fn read_ahead(&self, mut ranges: Vec<(u64, u64)>) -> Result<Self> {
        ranges.sort_unstable();
        let mut merged: Vec<std::ops::Range<u64>> = Vec::new();
        for (start, length) in ranges {
            let end = start.saturating_add(length);
            match merged.last_mut() {
                Some(last) if start <= last.end.saturating_add(MAX_GAP) => {
                    last.end = last.end.max(end);
                }
                _ => merged.push(start..end),
            }
        }
        if merged.last().is_some_and(|last| last.end > self.size) {
            return Err(bail_out("a column behind the end of its file"));
        }
        let read = self.file.read_ranges(&merged)?;
        let starts = merged.into_iter().map(|range| range.start);
        Ok(Self {
            file: Arc::clone(&self.file),
            size: self.size,
            ahead: starts.zip(read).collect(),
        })
    }

    /// With the end of the file, where the footer is, if that is sooner read than asked for piece by piece.
    pub(super) fn with_end(&self) -> Result<Self> {
        match self.file.is_remote() {
            true => {
                let length = self.size.min(END);
                self.read_ahead(vec![(self.size - length, length)])
            }
            false => Ok(self.clone()),
        }
    }

    /// What is in memory from here on.
    fn in_memory(&self, start: u64) -> Option<Bytes> {
        let at = self.ahead.partition_point(|(begin, _)| *begin <= start);
        let (begin, bytes) = self.ahead.get(at.checked_sub(1)?)?;
        let skip = usize::try_from(start - begin).ok()?;
        (skip < bytes.len()).then(|| bytes.slice(skip..))
    }

    fn read(&self, start: u64, length: usize) -> parquet::errors::Result<Bytes> {
        let end = start.saturating_add(length as u64);
        let read = self.file.read_at(start..end);
        read.map_err(|error: DataFusionError| ParquetError::External(Box::new(error)))
    }
}

impl Length for Chunks {
    fn len(&self) -> u64 {
        self.size
    }
}

impl ChunkReader for Chunks {
    type T = Reader<Bytes>;

    fn get_read(&self, start: u64) -> parquet::errors::Result<Self::T> {
        if let Some(bytes) = self.in_memory(start) {
            return Ok(bytes.reader());
        }
        let rest = usize::try_from(self.size.saturating_sub(start)).unwrap_or(usize::MAX);
        Ok(self.read(start, rest)?.reader())
    }

    fn get_bytes(&self, start: u64, length: usize) -> parquet::errors::Result<Bytes> {
        match self.in_memory(start) {
            Some(bytes) if bytes.len() >= length => Ok(bytes.slice(..length)),
            _ => self.read(start, length),
        }
    }
}
