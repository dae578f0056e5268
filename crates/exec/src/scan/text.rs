//! Text files: a row for each line, or for each file.

use std::io::{self, Read};
use std::sync::Arc;

use arrow::array::{ArrayRef, StringViewBuilder};
use bytes::Bytes;
use catalyst::{DataType, PartitionedFile, TextOptions, Unsupported};
use datafusion_common::{DataFusionError, Result as DataFusionResult};
use rows::error::bail_out;
use textfile::{Compression, Delimiter, Lines};

use super::files::length;
use super::{Batch, Files, FormatScan, PartReader, Wanted};
use crate::lower::Result;

/// Bytes of text after which a batch is put out, however few rows it has.
pub(super) const BATCH_BYTES: usize = 8 << 20;

/// A scan of text files.
#[derive(Debug)]
pub(super) struct TextScan {
    delimiter: Delimiter,
    whole_text: bool,
    /// Whether the text is put out, or its rows are only counted.
    has_column: bool,
}

impl TextScan {
    /// Judges the scan.
    pub(super) fn new(options: &TextOptions, wanted: &Wanted<'_>) -> Result<Self> {
        let has_column = match wanted.fields.as_slice() {
            [] => false,
            [field] if field.data_type == DataType::String => true,
            _ => return Err(Unsupported::of_use("text of other columns than one")),
        };
        Ok(Self {
            delimiter: delimiter(options.line_separator.as_deref()),
            whole_text: options.whole_text,
            has_column,
        })
    }
}

/// What ends lines.
pub(super) fn delimiter(separator: Option<&[u8]>) -> Delimiter {
    match separator {
        None => Delimiter::Newline,
        Some(bytes) => Delimiter::Bytes(Bytes::copy_from_slice(bytes)),
    }
}

/// The bytes of a part of a file of text, unpacked.
pub(super) struct Input {
    pub(super) input: Box<dyn Read + Send>,
    pub(super) compression: Compression,
}

/// Opens a part of a file of text. `lines` says whether it is read in lines.
pub(super) fn open(
    part: &PartitionedFile,
    files: &Files<'_>,
    lines: bool,
) -> DataFusionResult<Input> {
    let compression = compression(part, files, lines)?;
    let start = length(part.start)?;
    let end = start.saturating_add(length(part.length)?);
    let input = files.stream(part, start..end)?;
    let input: Box<dyn Read + Send> = match compression {
        Compression::None => input,
        packed => packed.reader(input),
    };
    Ok(Input { input, compression })
}

/// The lines of a part of a file.
pub(super) fn lines(
    of: Input,
    part: &PartitionedFile,
    files: &Files<'_>,
    delimiter: Delimiter,
) -> DataFusionResult<Lines<Box<dyn Read + Send>>> {
    let buffer = files.hadoop_setting(textfile::BUFFER_SIZE)?;
    let buffer = textfile::buffer_size(buffer.as_deref());
    let start = length(part.start)?;
    let end = match of.compression {
        Compression::None => start.saturating_add(length(part.length)?),
        _ => u64::MAX,
    };
    Ok(Lines::new(of.input, delimiter, start, end, buffer))
}

/// How the file is packed.
fn compression(
    part: &PartitionedFile,
    files: &Files<'_>,
    lines: bool,
) -> DataFusionResult<Compression> {
    if files.hadoop_setting(textfile::CODECS)?.is_some() {
        return Err(bail_out(textfile::CODECS));
    }
    let limit = files.hadoop_setting(textfile::LINE_LENGTH)?;
    if lines && limit.is_some_and(|limit| textfile::limits_lines(&limit)) {
        return Err(bail_out(textfile::LINE_LENGTH));
    }
    let compression = Compression::of(&part.path);
    match compression {
        Compression::Unsupported => return Err(bail_out("files of that compression")),
        // Hadoop can begin within a file of bzip2. Of others Spark asks for no parts.
        Compression::Gzip | Compression::Deflate | Compression::Bzip2
            if part.start != 0 || part.length != part.file_size =>
        {
            return Err(bail_out("a part of a compressed file"));
        }
        _ => {}
    }
    Ok(compression)
}

impl FormatScan for TextScan {
    fn open(
        &self,
        part: &PartitionedFile,
        files: &Files<'_>,
        batch_size: usize,
    ) -> DataFusionResult<Box<dyn PartReader>> {
        let input = open(part, files, !self.whole_text)?;
        let rows = match self.whole_text {
            true => Rows::Whole(Some(input.input)),
            false => Rows::Lines(lines(input, part, files, self.delimiter.clone())?),
        };
        Ok(Box::new(TextReader {
            rows,
            has_column: self.has_column,
            batch_size,
            read: 0,
        }))
    }
}

/// Where the rows of a part come from.
enum Rows {
    Lines(Lines<Box<dyn Read + Send>>),
    /// One row, if it was not read yet.
    Whole(Option<Box<dyn Read + Send>>),
}

impl Rows {
    fn next(&mut self) -> io::Result<Option<bytes::Bytes>> {
        match self {
            Self::Lines(lines) => lines.next_line(),
            Self::Whole(input) => {
                let Some(mut input) = input.take() else {
                    return Ok(None);
                };
                let mut text = Vec::new();
                input.read_to_end(&mut text)?;
                Ok(Some(text.into()))
            }
        }
    }
}

/// Reads a part of a text file.
struct TextReader {
    rows: Rows,
    has_column: bool,
    batch_size: usize,
    /// Rows that nobody has asked for yet.
    read: usize,
}

impl PartReader for TextReader {
    fn next(&mut self) -> DataFusionResult<Option<Batch>> {
        let (mut rows, mut bytes) = (0, 0);
        let mut texts = StringViewBuilder::new();
        while rows < self.batch_size && bytes < BATCH_BYTES {
            let Some(text) = self.rows.next().map_err(failure)? else {
                break;
            };
            if self.has_column {
                let text = std::str::from_utf8(&text);
                let text = text.map_err(|_| bail_out("text that is not UTF-8"))?;
                texts.try_append_value(text)?;
            }
            bytes += text.len();
            rows += 1;
        }
        if rows == 0 {
            return Ok(None);
        }
        self.read += rows;
        let texts: ArrayRef = Arc::new(texts.finish());
        let arrays = self.has_column.then_some(texts).into_iter().collect();
        Ok(Some(Batch { arrays, rows }))
    }

    fn take_rows(&mut self) -> usize {
        std::mem::take(&mut self.read)
    }

    fn take_batches(&mut self) -> usize {
        // Spark reads text row by row.
        0
    }
}

/// What went wrong with the bytes of a file.
pub(super) fn failure(error: io::Error) -> DataFusionError {
    match error.downcast::<DataFusionError>() {
        Ok(error) => error,
        Err(_) => bail_out("a file that cannot be read"),
    }
}
