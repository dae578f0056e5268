//! Files of lines: text, CSV and JSON as Spark's writers make them, packed or not.

use std::io::Write;

use arrow::array::{Array as _, ArrayRef, AsArray as _, RecordBatch};
use catalyst::{Attribute, DataType, StructField, Unsupported, WrittenFormat};
use datafusion_common::{DataFusionError, Result};
use rows::error::bail_out;
use textfile::{Compression, Packed};

use super::csv::CsvLines;
use crate::expr::json_text::JsonWriter;

/// Bytes of lines that are made before they are given to the file.
const ENOUGH: usize = 64 << 10;

/// What all files of a write have in common.
#[derive(Debug)]
pub struct LineFormat {
    form: Form,
    compression: Compression,
    line_separator: String,
    /// The end of files' names.
    extension: String,
}

/// What a line is made as.
#[derive(Debug)]
enum Form {
    Text,
    Csv(Box<CsvLines>),
    Json(Box<JsonWriter>),
}

impl LineFormat {
    /// Files with these columns.
    ///
    /// # Errors
    /// Columns of a type are not written, or the format has no lines.
    pub fn new(
        columns: &[Attribute],
        format: &WrittenFormat,
        compression: Compression,
    ) -> std::result::Result<Self, Unsupported> {
        let (form, line_separator, extension) = match format {
            WrittenFormat::Parquet => return Err(Unsupported::of_use("lines of Parquet")),
            WrittenFormat::Text { line_separator } => match columns {
                [column] if column.data_type == DataType::String => {
                    (Form::Text, line_separator.as_slice(), "txt")
                }
                _ => return Err(Unsupported::of_use("a write of text of other columns")),
            },
            WrittenFormat::Csv(options) => (
                Form::Csv(Box::new(CsvLines::new(options, columns)?)),
                options.line_separator.as_slice(),
                options.extension.as_str(),
            ),
            WrittenFormat::Json {
                text,
                line_separator,
            } => {
                let fields = columns.iter().map(|column| StructField {
                    name: column.name.clone(),
                    data_type: column.data_type.clone(),
                    nullable: column.nullable,
                    field_id: None,
                    exists_default: None,
                });
                let writer = JsonWriter::new(text, &DataType::Struct(fields.collect()))?;
                (
                    Form::Json(Box::new(writer)),
                    line_separator.as_slice(),
                    "json",
                )
            }
        };
        let line_separator = String::from_utf8(line_separator.to_vec());
        Ok(Self {
            form,
            compression,
            line_separator: line_separator
                .map_err(|_| Unsupported::of_use("a write with special ends of lines"))?,
            extension: format!(".{extension}{}", compression.extension()),
        })
    }

    /// The end of files' names: `.csv.gz`
    #[must_use]
    pub fn extension(&self) -> &str {
        &self.extension
    }

    /// A new file.
    pub fn writer<W: Write>(&self, out: W) -> LineWriter<'_, W> {
        let mut writer = LineWriter {
            format: self,
            out: Packed::new(self.compression, out),
            lines: String::new(),
        };
        if let Form::Csv(csv) = &self.form {
            writer.lines.push_str(csv.header().unwrap_or_default());
        }
        writer
    }
}

/// A file in the making.
pub struct LineWriter<'f, W: Write> {
    format: &'f LineFormat,
    out: Packed<W>,
    /// What is not yet given to it.
    lines: String,
}

impl<W: Write> LineWriter<'_, W> {
    /// More rows; `places` are those of the file's columns.
    ///
    /// # Errors
    /// Bail-outs: those of the file, or a value whose text is not sure.
    pub fn write(&mut self, batch: &RecordBatch, places: &[usize]) -> Result<()> {
        let columns = places.iter().map(|place| batch.columns().get(*place));
        let columns: Option<Vec<&ArrayRef>> = columns.collect();
        let columns = columns.ok_or_else(|| bail_out("a column that is not there"))?;
        for row in 0..batch.num_rows() {
            self.line(&columns, row)?;
            if self.lines.len() >= ENOUGH {
                self.give()?;
            }
        }
        Ok(())
    }

    fn line(&mut self, columns: &[&ArrayRef], row: usize) -> Result<()> {
        let Self { format, lines, .. } = self;
        match (&format.form, columns) {
            (Form::Csv(csv), _) => return csv.write(columns, row, lines),
            (Form::Text, [column]) => {
                if !column.is_null(row) {
                    lines.push_str(column.as_string_view().value(row));
                }
            }
            (Form::Text, _) => return Err(bail_out("a column that is not there")),
            (Form::Json(json), _) => json.write_row(columns, row, lines)?,
        }
        lines.push_str(&format.line_separator);
        Ok(())
    }

    fn give(&mut self) -> Result<()> {
        self.out.write_all(self.lines.as_bytes()).map_err(failed)?;
        self.lines.clear();
        Ok(())
    }

    /// Ends the file.
    ///
    /// # Errors
    /// Those of the file, as bail-outs.
    pub fn finish(mut self) -> Result<W> {
        self.give()?;
        self.out.finish().map_err(failed)
    }
}

/// The JVM may succeed, or has Spark's words for it.
fn failed(error: std::io::Error) -> DataFusionError {
    bail_out(format!("a file that cannot be written: {}", error.kind()))
}
