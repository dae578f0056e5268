//! The formats of files that are written, as the `OutputWriterFactory` of a write captured them.

use super::PACKAGE;
use crate::error::{Result, Unsupported};
use crate::expr::{JsonText, TimesText};
use crate::object::{Object, Reader};
use crate::scan::{MAX_SEPARATOR, check_locale, csv_character, csv_characters, option_text, zone};

/// Ends of CSV files' names that no codec has.
const EXTENSIONS: [&str; 3] = ["csv", "tsv", "txt"];

/// What files are written as.
#[derive(Debug, Clone, PartialEq)]
pub enum WrittenFormat {
    /// Parquet, as the job's settings say.
    Parquet,
    /// A line of each row, which has one text.
    Text {
        /// What ends a line.
        line_separator: Vec<u8>,
    },
    /// A line of values.
    Csv(Box<CsvWrite>),
    /// A line with an object.
    Json {
        /// How values are written.
        text: JsonText,
        /// What ends a line.
        line_separator: Vec<u8>,
    },
}

/// A `CSVOptions` of a write.
#[derive(Debug, Clone, PartialEq)]
pub struct CsvWrite {
    /// How dates and timestamps are written.
    pub times: TimesText,
    /// `sep`: what is between values, ASCII.
    pub delimiter: u8,
    /// `quote`, ASCII.
    pub quote: u8,
    /// `escape`: what a quote in a quoted value is written behind, ASCII.
    pub escape: u8,
    /// `charToEscapeQuoteEscaping`: what an escape in a quoted value is written behind; zero is nothing.
    pub escape_of_escape: u8,
    /// `comment`: the first value of a line that begins with it is quoted.
    pub comment: u8,
    /// `header`: the first line has names.
    pub header: bool,
    /// `ignoreLeadingWhiteSpace`
    pub trim_leading: bool,
    /// `ignoreTrailingWhiteSpace`
    pub trim_trailing: bool,
    /// `nullValue`: the text of what is null.
    pub null_value: String,
    /// `emptyValue`: the text of an empty text.
    pub empty_value: String,
    /// `quoteAll`
    pub quote_all: bool,
    /// `escapeQuotes`: values with quotes are quoted.
    pub escape_quotes: bool,
    /// What ends a line: one or two characters.
    pub line_separator: Vec<u8>,
    /// `extension`: the end of files' names.
    pub extension: String,
}

impl WrittenFormat {
    /// Of a `WriteJobDescription`.
    pub(super) fn read(reader: &Reader<'_>, description: Object<'_>) -> Result<Self> {
        let factory = description.object("outputWriterFactory")?;
        let class = factory.class().strip_prefix(PACKAGE);
        let Some((format, class)) = class.and_then(|class| class.split_once('.')) else {
            return Err(Unsupported::Class(factory.name().to_owned()));
        };
        // Names of the captured options differ between versions.
        let options = || {
            let mut fields = ["csvOptions$1", "parsedOptions$1", "textOptions$1"].iter();
            let found = fields.find_map(|field| factory.maybe(field));
            found.ok_or_else(|| Unsupported::Class(factory.name().to_owned()))
        };
        match class {
            _ if class.starts_with("ParquetUtils$$anon$") => Ok(Self::Parquet),
            "TextFileFormat$$anon$1" => text(options()?),
            "CSVFileFormat$$anon$1" => csv(reader, options()?),
            "JsonFileFormat$$anon$1" => {
                for column in description.elements("dataColumns")? {
                    check_default(reader, reader.expect(column)?)?;
                }
                json(reader, options()?)
            }
            _ => Err(Unsupported::of_use(format!("a write of {format} files"))),
        }
    }
}

fn text(options: Object<'_>) -> Result<WrittenFormat> {
    let missing = || options.missing("lineSeparatorInWrite");
    let bytes = options
        .graph
        .byte_array(options.value("lineSeparatorInWrite")?);
    let bytes = bytes.ok_or_else(missing)?;
    Ok(WrittenFormat::Text {
        line_separator: separator(bytes)?,
    })
}

fn json(reader: &Reader<'_>, options: Object<'_>) -> Result<WrittenFormat> {
    let encoding = option_text(options, "encoding")?;
    if encoding.is_some_and(|encoding| !encoding.eq_ignore_ascii_case("UTF-8")) {
        return Err(Unsupported::of_use("a write of JSON in another encoding"));
    }
    for option in ["pretty", "writeNonAsciiCharacterAsCodePoint", "sortKeys"] {
        if options.flag(option) {
            return Err(Unsupported::of_use(format!(
                "a write of JSON with {option}"
            )));
        }
    }
    Ok(WrittenFormat::Json {
        text: JsonText {
            times: times(reader, options)?,
            ignore_nulls: options.bool("ignoreNullFields")?,
        },
        line_separator: separator(options.text("lineSeparatorInWrite")?.as_bytes())?,
    })
}

/// Nulls of columns with a default value are written, by another setting.
fn check_default(reader: &Reader<'_>, column: Object<'_>) -> Result<()> {
    let metadata = column.maybe("metadata").map(|of| of.pairs("map"));
    let metadata = metadata.transpose()?.unwrap_or_default();
    let mut keys = metadata
        .iter()
        .filter_map(|(key, _)| reader.graph.str(*key));
    match keys.any(|key| key == "EXISTS_DEFAULT") {
        true => Err(Unsupported::of_use("a write of JSON with default values")),
        false => Ok(()),
    }
}

fn csv(reader: &Reader<'_>, options: Object<'_>) -> Result<WrittenFormat> {
    if !options.text("charset")?.eq_ignore_ascii_case("UTF-8") {
        return Err(Unsupported::of_use("a write of CSV in another encoding"));
    }
    if reader.settings.csv_nulls_are_empty {
        return Err(Unsupported::of_use("a write of CSV as Spark 2 wrote nulls"));
    }
    let (delimiter, quote, escape) = csv_characters(options)?;
    let trim_leading = options.bool("ignoreLeadingWhiteSpaceFlagInWrite")?;
    let trim_trailing = options.bool("ignoreTrailingWhiteSpaceFlagInWrite")?;
    if trim_trailing && !trim_leading {
        // The library cuts pieces off blank values.
        return Err(Unsupported::of_use(
            "a write of CSV trimmed at the end only",
        ));
    }
    let escape_of_escape = match options.option("charToEscapeQuoteEscaping")? {
        Some(of) => csv_character(reader.expect(of)?, "value")?,
        None if quote == escape => 0,
        None => escape,
    };
    let comment = match options.bool("isCommentSet")? {
        true => csv_character(options, "comment")?,
        // The writer has its own.
        false => b'#',
    };
    let line_separator = option_text(options, "lineSeparatorInWrite")?;
    let line_separator = separator(line_separator.as_deref().unwrap_or("\n").as_bytes())?;
    let extension = match options.get("extension") {
        Some(_) => options.text("extension")?.into_owned(),
        None => "csv".to_owned(),
    };
    if !EXTENSIONS.contains(&extension.as_str()) {
        return Err(Unsupported::of_use("a write of CSV with such an extension"));
    }
    Ok(WrittenFormat::Csv(Box::new(CsvWrite {
        times: times(reader, options)?,
        delimiter,
        quote,
        escape,
        escape_of_escape,
        comment,
        header: options.bool("headerFlag")?,
        trim_leading,
        trim_trailing,
        null_value: options.text("nullValue")?.into_owned(),
        empty_value: options.text("emptyValueInWrite")?.into_owned(),
        quote_all: options.bool("quoteAll")?,
        escape_quotes: options.bool("escapeQuotes")?,
        line_separator,
        extension,
    })))
}

/// ASCII, so that lines can be cut without a look at what is in them.
fn separator(bytes: &[u8]) -> Result<Vec<u8>> {
    match (1..=MAX_SEPARATOR).contains(&bytes.len()) && bytes.is_ascii() {
        true => Ok(bytes.to_vec()),
        false => Err(Unsupported::of_use("a write with special ends of lines")),
    }
}

fn times(reader: &Reader<'_>, options: Object<'_>) -> Result<TimesText> {
    check_locale(options)?;
    if reader.settings.legacy_time_parser {
        return Err(Unsupported::of_use("times as Spark 2 writes them"));
    }
    Ok(TimesText {
        zone: zone(reader, options)?,
        date: options.text("dateFormatInWrite")?.into_owned(),
        timestamp: options.text("timestampFormatInWrite")?.into_owned(),
        timestamp_ntz: options.text("timestampNTZFormatInWrite")?.into_owned(),
    })
}
