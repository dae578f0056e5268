//! What readers of records in lines of text, of CSV and JSON, have in common.

use std::fmt;

use javaser::Closure;
use javaser::arena::Value;
use javatime::TimeZone;

use crate::closure::ClosureArgs as _;
use crate::error::{Result, Unsupported};
use crate::object::{Object, Reader, simple};
use crate::plan::Broadcast;
use crate::types::{StructField, read_fields};

/// Longest separator of lines that is believed. Spark itself checks that it is not empty.
pub(crate) const MAX_SEPARATOR: usize = 1024;

/// What readers of CSV and JSON took from the session and from the options of the read.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordOptions {
    /// Broadcast of the `SerializableConfiguration` for Hadoop.
    pub conf: Broadcast,
    /// `lineSep` in the files' encoding, never empty. `None` is any of `\n`, `\r\n` and `\r`.
    pub line_separator: Option<Vec<u8>>,
    /// `mode`
    pub malformed: Malformed,
    /// `columnNameOfCorruptRecord`: the column that has the text of malformed records, if it is read.
    pub corrupt_record: String,
    /// What the reader leaves rows out by. The filter above the scan sees to it too.
    pub filters: Vec<PushedFilter>,
}

/// What becomes of a record that is not as the columns want it: a Spark `ParseMode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Malformed {
    /// `PERMISSIVE`: what cannot be read is null.
    Null,
    /// `DROPMALFORMED`: it is left out.
    Drop,
    /// `FAILFAST`: the task fails.
    Fail,
}

/// How texts are read as dates and timestamps.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordTimes {
    /// `timeZone`, or that of the session.
    pub zone: TimeZone,
    /// The pattern of dates; `None` reads what a cast reads.
    pub date: Option<String>,
    /// The pattern of timestamps; `None` reads what a cast reads.
    pub timestamp: Option<String>,
    /// The pattern of timestamps without a time zone; `None` reads what a cast reads.
    pub timestamp_ntz: Option<String>,
}

/// A filter of a data source (`org.apache.spark.sql.sources.Filter`), as far as it tells which of the conditions above
/// the scan it is: names of its classes with their columns, from the outermost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PushedFilter(pub Vec<String>);

/// What a function that reads a file of records captured.
pub(super) struct Captured<'g> {
    conf: Broadcast,
    filters: Vec<PushedFilter>,
    /// `CSVOptions` or `JSONOptions`.
    pub(super) options: Object<'g>,
    /// Fields of the structs, in the order of the arguments.
    pub(super) schemas: Vec<Vec<StructField>>,
}

impl<'g> Captured<'g> {
    /// Reads arguments by their classes: the order differs between releases. `options` are classes of the options.
    pub(super) fn read(reader: &Reader<'g>, function: &Closure, options: &[&str]) -> Result<Self> {
        let unknown = || function.unsupported();
        let mut schemas = Vec::new();
        let (mut conf, mut filters, mut found) = (None, None, None);
        for arg in &function.args {
            let class = simple(reader.class(*arg));
            if class == "StructType" {
                schemas.push(read_fields(reader, reader.expect(*arg)?)?);
            } else if class == "TorrentBroadcast" {
                conf = Some(super::read_broadcast(reader, *arg)?);
            } else if options.contains(&class) {
                found = Some(reader.expect(*arg)?);
            } else if let Some(elements) = reader.graph.elements(*arg) {
                let elements = elements.into_iter();
                let read = |value| Ok(PushedFilter(pushed(reader, value)?));
                filters = Some(elements.map(read).collect::<Result<_>>()?);
            }
        }
        Ok(Self {
            conf: conf.ok_or_else(unknown)?,
            filters: filters.ok_or_else(unknown)?,
            options: found.ok_or_else(unknown)?,
            schemas,
        })
    }

    /// What both formats have. `applies` says whether filters are applied by the reader.
    pub(super) fn records(&self, applies: bool) -> Result<RecordOptions> {
        let options = self.options;
        if options.bool("multiLine")? {
            return Err(Unsupported::of_use("records of several lines"));
        }
        if options.flag("archiveFormatEnabled") {
            return Err(Unsupported::of_use("files in archives"));
        }
        check_one_row(options)?;
        check_locale(options)?;
        let malformed = malformed(options)?;
        let corrupt_record = options.text("columnNameOfCorruptRecord")?.into_owned();
        let filters = match applies {
            // Conditions on the text of malformed records are for above.
            true => self
                .filters
                .iter()
                .filter(|filter| !filter.has(&corrupt_record))
                .cloned()
                .collect(),
            false => Vec::new(),
        };
        Ok(RecordOptions {
            conf: self.conf,
            line_separator: separator(options, "lineSeparatorInRead")?,
            malformed,
            corrupt_record,
            filters,
        })
    }

    /// How texts are read as times.
    pub(super) fn times(&self, reader: &Reader<'_>) -> Result<RecordTimes> {
        times(reader, self.options)
    }
}

/// How `CSVOptions` or `JSONOptions` say that times are read.
pub(crate) fn times(reader: &Reader<'_>, options: Object<'_>) -> Result<RecordTimes> {
    if reader.settings.legacy_time_parser || has(options, "enableDateTimeParsingFallback")? {
        return Err(Unsupported::of_use("times as Spark 2 reads them"));
    }
    Ok(RecordTimes {
        zone: zone(reader, options)?,
        date: option_text(options, "dateFormatInRead")?,
        timestamp: option_text(options, "timestampFormatInRead")?,
        timestamp_ntz: option_text(options, "timestampNTZFormatInRead")?,
    })
}

impl fmt::Display for RecordOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "malformed {:?}", self.malformed)?;
        if let Some(separator) = &self.line_separator {
            write!(f, " lines to {separator:?}")?;
        }
        for PushedFilter(parts) in &self.filters {
            write!(f, " [{}]", parts.join(", "))?;
        }
        Ok(())
    }
}

impl fmt::Display for RecordTimes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "times of {}", self.zone)?;
        let patterns = [&self.date, &self.timestamp, &self.timestamp_ntz];
        patterns
            .iter()
            .try_for_each(|pattern| write!(f, " {}", pattern.as_deref().unwrap_or("-")))
    }
}

impl PushedFilter {
    fn has(&self, column: &str) -> bool {
        let parts = self.0.iter();
        let mut columns = parts.filter_map(|part| part.split_once(' '));
        columns.any(|(_, name)| name == column)
    }
}

/// Fails if a record is not a row with a column for each of its values.
pub(crate) fn check_one_row(options: Object<'_>) -> Result<()> {
    if has(options, "singleVariantColumn")? || has(options, "explodeEmbeddedArray")? {
        return Err(Unsupported::of_use("records as variants or in arrays"));
    }
    Ok(())
}

/// What becomes of malformed records: `parseMode`.
pub(crate) fn malformed(options: Object<'_>) -> Result<Malformed> {
    match options.name_of("parseMode")? {
        "PermissiveMode" => Ok(Malformed::Null),
        "DropMalformedMode" => Ok(Malformed::Drop),
        "FailFastMode" => Ok(Malformed::Fail),
        other => Err(Unsupported::Class(other.to_owned())),
    }
}

/// Fails if the locale is not `Locale.US`.
pub(crate) fn check_locale(options: Object<'_>) -> Result<()> {
    let locale = options.object("locale")?;
    if locale.text("language")? != "en" || locale.text("country")? != "US" {
        return Err(Unsupported::of_use("records of another locale"));
    }
    Ok(())
}

/// A size in a field.
pub(crate) fn size(options: Object<'_>, field: &str) -> Result<usize> {
    usize::try_from(options.int(field)?).map_err(|_| options.missing(field))
}

/// The separator of lines in a field, an `Option[Array[Byte]]`.
pub(super) fn separator(options: Object<'_>, field: &str) -> Result<Option<Vec<u8>>> {
    let Some(value) = options.option(field)? else {
        return Ok(None);
    };
    let bytes = options.graph.byte_array(value);
    let bytes = bytes.filter(|bytes| (1..=MAX_SEPARATOR).contains(&bytes.len()));
    match bytes {
        Some(bytes) => Ok(Some(bytes.to_vec())),
        None => Err(options.missing(field)),
    }
}

/// The text in a field, an `Option[String]`.
pub(crate) fn option_text(options: Object<'_>, field: &str) -> Result<Option<String>> {
    let Some(value) = options.option(field)? else {
        return Ok(None);
    };
    let text = options.graph.str(value);
    Ok(Some(
        text.ok_or_else(|| options.missing(field))?.into_owned(),
    ))
}

/// Whether an option that older versions do not have is there and says something.
pub(super) fn has(options: Object<'_>, field: &str) -> Result<bool> {
    match options.get(field) {
        None => Ok(false),
        Some(_) => Ok(options.option(field)?.is_some()),
    }
}

/// A `java.time.ZoneId` in the form of `java.time.Ser`.
pub(crate) fn zone(reader: &Reader<'_>, options: Object<'_>) -> Result<TimeZone> {
    let object = options.object("zoneId")?;
    let unknown = || options.missing("zoneId");
    let mut levels = object.graph.levels(object.node);
    let bytes = levels.next_back().map(|level| level.block_bytes());
    let bytes = bytes.ok_or_else(unknown)?;
    let id = match bytes.as_ref() {
        // ZONE_REGION_TYPE, and its id in modified UTF-8, of which ids use ASCII.
        [7, _, _, id @ ..] => std::str::from_utf8(id).map_err(|_| unknown())?.to_owned(),
        // ZONE_OFFSET_TYPE, in quarters of an hour.
        [8, quarters] => {
            let quarters = i8::from_ne_bytes([*quarters]);
            let (sign, quarters) = match quarters {
                // What follows would be seconds.
                127 => return Err(unknown()),
                quarters => (
                    if quarters < 0 { '-' } else { '+' },
                    quarters.unsigned_abs(),
                ),
            };
            format!("{sign}{:02}:{:02}", quarters / 4, quarters % 4 * 15)
        }
        _ => return Err(unknown()),
    };
    Ok(TimeZone::new(&id, &reader.settings.zones))
}

fn pushed(reader: &Reader<'_>, value: Value) -> Result<Vec<String>> {
    reader.nested(|| {
        let filter = reader.expect(value)?;
        let name = filter.name();
        let children: &[&str] = match name {
            "And" | "Or" => &["left", "right"],
            "Not" => &["child"],
            "IsNotNull" | "IsNull" | "EqualTo" | "EqualNullSafe" | "GreaterThan"
            | "GreaterThanOrEqual" | "LessThan" | "LessThanOrEqual" | "In" | "StringStartsWith"
            | "StringEndsWith" | "StringContains" => {
                return Ok(vec![format!("{name} {}", filter.text("attribute")?)]);
            }
            _ => return Err(Unsupported::Class(filter.class().to_owned())),
        };
        let mut parts = vec![name.to_owned()];
        for child in children {
            parts.extend(pushed(reader, filter.value(child)?)?);
        }
        Ok(parts)
    })
}
