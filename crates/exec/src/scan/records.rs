//! Files of records in lines of text: CSV and JSON. A format turns a line into values of columns; which rows come of
//! them, and what malformed ones are, is here, as in Spark's `FailureSafeParser`.

use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, StringViewBuilder};
use arrow::compute::filter;
use catalyst::{
    Attribute, CsvOptions, DataType, FileSourceScan, JsonOptions, Malformed, PartitionedFile,
    RecordOptions, StructField, Unsupported,
};
use datafusion_common::Result as DataFusionResult;
use rows::error::bail_out;
use textfile::Lines;

use super::files::length;
use super::record_filters::Filters;
use super::text::{BATCH_BYTES, delimiter, failure, lines, open};
use super::{Batch, Files, FormatScan, PartReader, Wanted};
use crate::lower::Result;
use crate::records::{Became, Column, CsvRecords, JsonRecords, Records};

/// The formats.
#[derive(Debug)]
pub(super) enum Format {
    Csv(Box<CsvOptions>),
    Json(Box<JsonOptions>),
}

impl Format {
    fn records(&self) -> &RecordOptions {
        match self {
            Self::Csv(options) => &options.records,
            Self::Json(options) => &options.records,
        }
    }

    fn reader(&self, required: &[StructField], parsed: &[usize]) -> Result<Box<dyn Records>> {
        Ok(match self {
            Self::Csv(options) => Box::new(CsvRecords::new(options, required, parsed)?),
            Self::Json(options) => {
                let fields = parsed.iter().filter_map(|place| required.get(*place));
                let fields: Vec<_> = fields.cloned().collect();
                Box::new(JsonRecords::new(&options.form, &fields)?)
            }
        })
    }
}

/// A scan of files of records.
#[derive(Debug)]
pub(super) struct RecordScan {
    format: Format,
    /// The columns that Spark's reader reads, without that of malformed records.
    required: Vec<StructField>,
    /// Those of them that are read here.
    parsed: Vec<usize>,
    /// What is put out: columns by their places in [`Self::parsed`], or the text of malformed records.
    output: Vec<Source>,
    filters: Arc<Filters>,
}

/// Where a column that is put out comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    /// By its place.
    Parsed(usize),
    /// The text of a record that is malformed.
    Record,
}

impl RecordScan {
    /// Judges the scan.
    pub(super) fn new(scan: &FileSourceScan, format: Format, wanted: &Wanted<'_>) -> Result<Self> {
        let options = format.records();
        let is_record = |field: &&StructField| field.name == options.corrupt_record;
        let fields = scan.required_schema.iter();
        let required: Vec<_> = fields.filter(|field| !is_record(field)).cloned().collect();
        let has_record = required.len() < scan.required_schema.len();
        // Whether a record is malformed says each of its columns.
        let strict = has_record || options.malformed != Malformed::Null;
        let mut parsed: Vec<usize> = match strict {
            true => (0..required.len()).collect(),
            false => Vec::new(),
        };
        let mut output = Vec::new();
        for field in &wanted.fields {
            if is_record(&field) {
                if field.data_type != DataType::String || !field.nullable {
                    return Err(Unsupported::of_use("malformed records as no texts"));
                }
                output.push(Source::Record);
                continue;
            }
            let place = required.iter().position(|other| other.name == field.name);
            let place = place.ok_or_else(|| Unsupported::of_use("a scan of other columns"))?;
            let at = parsed.iter().position(|other| *other == place);
            output.push(Source::Parsed(at.unwrap_or_else(|| {
                parsed.push(place);
                parsed.len() - 1
            })));
        }
        format.reader(&required, &parsed)?;
        let column = |of: &Attribute| {
            let name = &(wanted.in_files)(of)?.name;
            let place = required.iter().position(|field| field.name == *name)?;
            parsed.iter().position(|other| *other == place)
        };
        let filters = Filters::new(&options.filters, wanted, &column)?;
        Ok(Self {
            filters: Arc::new(filters),
            format,
            required,
            parsed,
            output,
        })
    }
}

impl FormatScan for RecordScan {
    fn open(
        &self,
        part: &PartitionedFile,
        files: &Files<'_>,
        batch_size: usize,
    ) -> DataFusionResult<Box<dyn PartReader>> {
        let options = self.format.records();
        let delimiter = delimiter(options.line_separator.as_deref());
        let lines = lines(open(part, files, true)?, part, files, delimiter)?;
        let records = self.format.reader(&self.required, &self.parsed);
        let records = records.map_err(|why| bail_out(why.to_string()))?;
        let is_start = length(part.start)? == 0;
        Ok(Box::new(RecordReader {
            header: is_start && records.has_header(),
            lines,
            records,
            malformed: options.malformed,
            tells: self.output.contains(&Source::Record),
            output: self.output.clone(),
            filters: Arc::clone(&self.filters),
            batch_size,
            read: 0,
        }))
    }
}

/// Reads a part of a file.
struct RecordReader {
    lines: Lines<Box<dyn std::io::Read + Send>>,
    records: Box<dyn Records>,
    malformed: Malformed,
    output: Vec<Source>,
    /// Whether texts of malformed records are put out.
    tells: bool,
    filters: Arc<Filters>,
    batch_size: usize,
    /// Whether the names of columns are still to come.
    header: bool,
    /// Rows that nobody has asked for yet.
    read: usize,
}

/// Rows of a batch that is being read.
#[derive(Default)]
struct Reading {
    rows: usize,
    bytes: usize,
    /// Rows that are to be left out.
    dropped: Vec<usize>,
    /// Texts of malformed records, if they are put out.
    texts: StringViewBuilder,
    /// Of each filter and row, whether the reader asks it.
    asked: Vec<Vec<bool>>,
}

impl RecordReader {
    fn read_line(&mut self, line: &[u8], reading: &mut Reading) -> DataFusionResult<()> {
        if self.header {
            self.header = !self.records.header(line)?;
            return Ok(());
        }
        let became = self.records.read(line)?;
        if became == Became::Nothing {
            return Ok(());
        }
        // Spark asks filters while it reads, and may leave the record out before it meets what is wrong.
        if became == Became::Broken && !self.filters.is_empty() {
            return Err(bail_out("text that is no JSON"));
        }
        if became.is_malformed() {
            match self.malformed {
                Malformed::Null => {}
                Malformed::Drop => reading.dropped.push(reading.rows),
                Malformed::Fail => return Err(bail_out("a malformed record")),
            }
        }
        if self.tells {
            match became.is_malformed() {
                true => {
                    let text = std::str::from_utf8(line);
                    let text = text.map_err(|_| bail_out("text that is not UTF-8"))?;
                    reading.texts.try_append_value(text)?;
                }
                false => reading.texts.append_null(),
            }
        }
        let records = &self.records;
        self.filters
            .ask(&mut reading.asked, |columns| records.asks(columns));
        reading.rows += 1;
        reading.bytes += line.len();
        Ok(())
    }

    /// The rows that were read, without those that are left out.
    fn batch(&mut self, mut reading: Reading) -> DataFusionResult<Batch> {
        let columns = self.records.columns().iter_mut().map(Column::finish);
        let columns: Vec<ArrayRef> = columns.collect::<DataFusionResult<_>>()?;
        let texts: ArrayRef = Arc::new(reading.texts.finish());
        let of = |source: &Source| match source {
            Source::Parsed(place) => columns.get(*place).cloned(),
            Source::Record => Some(Arc::clone(&texts)),
        };
        let arrays: Option<Vec<ArrayRef>> = self.output.iter().map(of).collect();
        let arrays = arrays.ok_or_else(|| bail_out("a column that is not there"))?;
        let mut keep = self.filters.keep(&columns, reading.rows, &reading.asked)?;
        if !reading.dropped.is_empty() {
            let kept = keep.get_or_insert_with(|| vec![true; reading.rows]);
            for row in reading.dropped {
                if let Some(kept) = kept.get_mut(row) {
                    *kept = false;
                }
            }
        }
        let Some(keep) = keep else {
            return Ok(Batch {
                arrays,
                rows: reading.rows,
            });
        };
        let keep = BooleanArray::from(keep);
        let arrays = arrays.iter().map(|array| Ok(filter(array, &keep)?));
        Ok(Batch {
            arrays: arrays.collect::<DataFusionResult<_>>()?,
            rows: keep.true_count(),
        })
    }
}

impl PartReader for RecordReader {
    fn next(&mut self) -> DataFusionResult<Option<Batch>> {
        loop {
            let mut reading = Reading::default();
            let mut ended = false;
            while reading.rows < self.batch_size && reading.bytes < BATCH_BYTES {
                let Some(line) = self.lines.next_line().map_err(failure)? else {
                    ended = true;
                    break;
                };
                self.read_line(&line, &mut reading)?;
            }
            if reading.rows == 0 {
                return Ok(None);
            }
            let batch = self.batch(reading)?;
            if batch.rows > 0 {
                self.read += batch.rows;
                return Ok(Some(batch));
            }
            if ended {
                return Ok(None);
            }
        }
    }

    fn take_rows(&mut self) -> usize {
        std::mem::take(&mut self.read)
    }

    fn take_batches(&mut self) -> usize {
        // Spark reads records row by row.
        0
    }
}
