//! What `JsonFileFormat` captured.

use javaser::Closure;
use javatime::TimeZone;

use super::records::{Captured, RecordOptions, RecordTimes, option_text, size};
use crate::closure::ClosureArgs as _;
use crate::error::{Result, Unsupported};
use crate::object::{Object, Reader};

/// Spark's class.
pub(super) const CLASS: &str = "sql.execution.datasources.json.JsonFileFormat";

/// What `JsonFileFormat` took from the session and from the options of the read.
#[derive(Debug, Clone, PartialEq)]
pub struct JsonOptions {
    /// What it has in common with CSV.
    pub records: RecordOptions,
    /// How objects are read.
    pub form: JsonForm,
}

/// How JSON is read. What else texts may have that are no JSON (`allowComments` and others) does not matter: such texts
/// are not read here.
#[derive(Debug, Clone, PartialEq)]
pub struct JsonForm {
    /// How texts are read as dates and timestamps.
    pub times: RecordTimes,
    /// `allowNonNumericNumbers`: whether some texts are NaN and infinite.
    pub non_numeric_numbers: bool,
    /// `maxNestingDepth`
    pub max_depth: usize,
    /// `maxNumLen`: most characters of a number.
    pub max_number: usize,
    /// `maxStringLen`: most characters of a text.
    pub max_text: usize,
}

impl JsonForm {
    /// Without options, in a time zone.
    #[must_use]
    pub fn new(zone: TimeZone) -> Self {
        Self {
            times: RecordTimes {
                zone,
                date: None,
                timestamp: None,
                timestamp_ntz: None,
            },
            non_numeric_numbers: true,
            // `StreamReadConstraints` of Jackson.
            max_depth: 1000,
            max_number: 1000,
            max_text: 20_000_000,
        }
    }
}

/// The function that reads a file.
pub(super) fn read(reader: &Reader<'_>, function: &Closure) -> Result<JsonOptions> {
    if function.name() != (CLASS, "buildReader") {
        return Err(function.unsupported());
    }
    let captured = Captured::read(reader, function, &["JSONOptionsInRead", "JSONOptions"])?;
    let options = captured.options;
    check_encoding(options)?;
    Ok(JsonOptions {
        records: captured.records(reader.settings.json_filters)?,
        form: JsonForm {
            times: captured.times(reader)?,
            non_numeric_numbers: options.bool("allowNonNumericNumbers")?,
            max_depth: size(options, "maxNestingDepth")?,
            max_number: size(options, "maxNumLen")?,
            max_text: size(options, "maxStringLen")?,
        },
    })
}

/// Fails if texts of JSON are read in another encoding than UTF-8.
pub(crate) fn check_encoding(options: Object<'_>) -> Result<()> {
    let encoding = option_text(options, "encoding")?;
    match encoding.is_none_or(|encoding| encoding.eq_ignore_ascii_case("UTF-8")) {
        true => Ok(()),
        false => Err(Unsupported::of_use("JSON in another encoding than UTF-8")),
    }
}
