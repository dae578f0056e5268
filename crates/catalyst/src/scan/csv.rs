//! What `CSVFileFormat` captured.

use javaser::Closure;
use javaser::arena::Value;

use super::records::{Captured, RecordOptions, RecordTimes, size};
use crate::closure::ClosureArgs as _;
use crate::error::{Result, Unsupported};
use crate::object::{Object, Reader};
use crate::types::StructField;

/// Spark's class.
pub(super) const CLASS: &str = "sql.execution.datasources.csv.CSVFileFormat";

/// What `CSVFileFormat` took from the session and from the options of the read.
#[derive(Debug, Clone, PartialEq)]
pub struct CsvOptions {
    /// What it has in common with JSON.
    pub records: RecordOptions,
    /// How texts are read as dates and timestamps.
    pub times: RecordTimes,
    /// The columns of a line, in their order.
    pub data_schema: Vec<StructField>,
    /// `columnPruning`: of a line only the columns that are read are looked at.
    pub column_pruning: bool,
    /// `enforceSchema`: the names say nothing.
    pub enforce_schema: bool,
    /// How lines are cut.
    pub syntax: CsvSyntax,
}

/// How lines of CSV are cut, and what their values stand for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CsvSyntax {
    /// `sep`: what is between values, ASCII.
    pub delimiter: u8,
    /// `quote`, ASCII; zero is none.
    pub quote: u8,
    /// `escape`: what a quote in a quoted value is written behind, ASCII; zero is none.
    pub escape: u8,
    /// `comment`: what lines begin with that are left out.
    pub comment: Option<u8>,
    /// `header`: the first line of a file that is not empty has names.
    pub header: bool,
    /// `ignoreLeadingWhiteSpace`
    pub trim_leading: bool,
    /// `ignoreTrailingWhiteSpace`
    pub trim_trailing: bool,
    /// `nullValue`: the text that is null.
    pub null_value: String,
    /// `emptyValue`: the text that an empty quoted value stands for.
    pub empty_value: String,
    /// `nanValue`
    pub nan: String,
    /// `positiveInf`
    pub infinity: String,
    /// `negativeInf`
    pub negative_infinity: String,
    /// `maxColumns`: most values of a line.
    pub max_columns: usize,
    /// `maxCharsPerColumn`: most characters of a value.
    pub max_chars: Option<usize>,
}

/// The function that reads a file.
pub(super) fn read(reader: &Reader<'_>, function: &Closure) -> Result<CsvOptions> {
    if function.name() != (CLASS, "buildReader") {
        return Err(function.unsupported());
    }
    let captured = Captured::read(reader, function, &["CSVOptions"])?;
    let options = captured.options;
    let records = captured.records(reader.settings.csv_filters)?;
    let [data, required] = captured.schemas.as_slice() else {
        return Err(function.unsupported());
    };
    if !required.iter().all(|field| data.contains(field)) {
        return Err(function.unsupported());
    }
    // Its name differs between versions. What columns have that a line lacks is found without it.
    let column_pruning = match options.get("isColumnPruningOptionEnabled") {
        Some(_) => options.bool("isColumnPruningOptionEnabled")?,
        None => options.bool("isColumnPruningEnabled")?,
    };
    let mut data_schema = data.clone();
    data_schema.retain(|field| field.name != records.corrupt_record);
    Ok(CsvOptions {
        data_schema,
        column_pruning,
        enforce_schema: options.bool("enforceSchema")?,
        syntax: syntax(reader, options)?,
        times: captured.times(reader)?,
        records,
    })
}

/// What `CSVOptions` say of how lines are cut.
pub(crate) fn syntax(reader: &Reader<'_>, options: Object<'_>) -> Result<CsvSyntax> {
    if !options.text("charset")?.eq_ignore_ascii_case("UTF-8") {
        return Err(Unsupported::of_use("CSV in another encoding than UTF-8"));
    }
    let (delimiter, quote, escape) = characters(options)?;
    // The default says that an escape escapes itself, where it is none of quotes.
    if let Some(other) = options.option("charToEscapeQuoteEscaping")? {
        let other = reader.expect(other)?.value("value")?;
        if other != Value::Char(escape.into()) || quote == escape {
            return Err(Unsupported::of_use("CSV with an escape of escapes"));
        }
    }
    let max_chars = match options.int("maxCharsPerColumn")? {
        -1 => None,
        _ => Some(size(options, "maxCharsPerColumn")?),
    };
    Ok(CsvSyntax {
        delimiter,
        quote,
        escape,
        comment: match options.bool("isCommentSet")? {
            true => Some(character(options, "comment")?),
            false => None,
        },
        header: options.bool("headerFlag")?,
        trim_leading: options.bool("ignoreLeadingWhiteSpaceInRead")?,
        trim_trailing: options.bool("ignoreTrailingWhiteSpaceInRead")?,
        null_value: options.text("nullValue")?.into_owned(),
        empty_value: options.text("emptyValueInRead")?.into_owned(),
        nan: options.text("nanValue")?.into_owned(),
        infinity: options.text("positiveInf")?.into_owned(),
        negative_infinity: options.text("negativeInf")?.into_owned(),
        max_columns: size(options, "maxColumns")?,
        max_chars,
    })
}

/// What is between values, what quotes them, and what escapes a quote in them.
pub(crate) fn characters(options: Object<'_>) -> Result<(u8, u8, u8)> {
    let delimiter = options.text("delimiter")?;
    let [delimiter] = delimiter.as_bytes() else {
        return Err(Unsupported::of_use(
            "CSV with separators of several characters",
        ));
    };
    let (quote, escape) = (character(options, "quote")?, character(options, "escape")?);
    let special = [b'\n', b'\r', 0, quote, escape];
    if !delimiter.is_ascii() || special.contains(delimiter) {
        return Err(Unsupported::of_use("CSV with special separators"));
    }
    Ok((*delimiter, quote, escape))
}

/// An ASCII character in a field.
pub(crate) fn character(options: Object<'_>, field: &str) -> Result<u8> {
    let Value::Char(unit) = options.value(field)? else {
        return Err(options.missing(field));
    };
    let character = u8::try_from(unit).ok().filter(u8::is_ascii);
    character.ok_or_else(|| Unsupported::of_use("CSV with quotes beyond ASCII"))
}
