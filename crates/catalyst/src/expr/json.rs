//! Functions of JSON.

use javatime::TimeZone;

use super::{Expr, ExprKind, text, times};
use crate::error::{Result, Unsupported};
use crate::object::{Object, Reader};
use crate::scan::{JsonForm, Malformed};
use crate::types::DataType;

/// How values are written as JSON.
#[derive(Debug, Clone, PartialEq)]
pub struct JsonText {
    /// How dates and timestamps are written.
    pub times: TimesText,
    /// Whether fields of structs that are null are left out.
    pub ignore_nulls: bool,
}

/// How dates and timestamps are written as texts.
#[derive(Debug, Clone, PartialEq)]
pub struct TimesText {
    /// The time zone of timestamps.
    pub zone: TimeZone,
    /// The pattern of dates.
    pub date: String,
    /// The pattern of timestamps.
    pub timestamp: String,
    /// The pattern of timestamps without a time zone.
    pub timestamp_ntz: String,
}

impl TimesText {
    /// The pattern of timestamps, if an option does not say another.
    pub const TIMESTAMP: &str = "yyyy-MM-dd'T'HH:mm:ss[.SSS][XXX]";

    /// The same from Spark 4.0 on. It differs where offsets have seconds.
    pub const NEW_TIMESTAMP: &str = "yyyy-MM-dd'T'HH:mm:ss[.SSS][XXXXX]";

    /// Without options, in a time zone.
    #[must_use]
    pub fn new(zone: TimeZone) -> Self {
        Self {
            zone,
            date: "yyyy-MM-dd".to_owned(),
            timestamp: Self::TIMESTAMP.to_owned(),
            timestamp_ntz: "yyyy-MM-dd'T'HH:mm:ss[.SSS]".to_owned(),
        }
    }
}

/// `from_json`
#[inline(never)]
pub(super) fn from_json(reader: &Reader<'_>, object: Object<'_>) -> Result<Expr> {
    object.only(&[
        "schema",
        "options",
        "child",
        "timeZoneId",
        "nullableSchema",
        "nameOfCorruptRecord",
        "variantAllowDuplicateKeys",
        "converter",
        "parser",
        "evaluator",
    ])?;
    let zone = zone(reader, object)?;
    let data_type = DataType::read(reader, object.value("nullableSchema")?)?;
    let corrupt_record = match object.get("nameOfCorruptRecord") {
        Some(_) => object.text("nameOfCorruptRecord")?.into_owned(),
        None => reader.settings.corrupt_record.clone(),
    };
    let (form, malformed) = options(reader, object, zone)?;
    Ok(Expr {
        kind: ExprKind::FromJson {
            child: Box::new(Expr::read(reader, object.value("child")?)?),
            form: Box::new(form),
            malformed,
            corrupt_record,
        },
        data_type,
        nullable: true,
    })
}

/// The time zone of a function whose times are as Spark 3 reads and writes them.
fn zone(reader: &Reader<'_>, object: Object<'_>) -> Result<TimeZone> {
    if reader.settings.legacy_time_parser {
        return Err(Unsupported::of_use("formats of Spark 2"));
    }
    let zone = super::read::zone(reader, object)?;
    zone.ok_or_else(|| object.missing("timeZoneId"))
}

/// What the options say, as `JSONOptions` reads them.
fn options(
    reader: &Reader<'_>,
    object: Object<'_>,
    zone: TimeZone,
) -> Result<(JsonForm, Malformed)> {
    let mut form = JsonForm::new(zone);
    let mut malformed = Malformed::Null;
    for (key, value) in given(reader, object)? {
        match key.as_str() {
            "mode" if value.eq_ignore_ascii_case("PERMISSIVE") => malformed = Malformed::Null,
            "mode" if value.eq_ignore_ascii_case("FAILFAST") => malformed = Malformed::Fail,
            "dateformat" => form.times.date = Some(value),
            "timestampformat" => form.times.timestamp = Some(value),
            "timestampntzformat" => form.times.timestamp_ntz = Some(value),
            "allownonnumericnumbers" => {
                form.non_numeric_numbers = value.eq_ignore_ascii_case("true");
            }
            // They let in what is no JSON, which is not read here.
            "allowcomments"
            | "allowunquotedfieldnames"
            | "allowsinglequotes"
            | "allownumericleadingzeros"
            | "allowbackslashescapinganycharacter"
            | "allowunquotedcontrolchars" => {}
            other => return Err(Unsupported::of_use(format!("from_json with {other}"))),
        }
    }
    Ok((form, malformed))
}

/// Options that were given, by their names in lower case.
fn given(reader: &Reader<'_>, object: Object<'_>) -> Result<Vec<(String, String)>> {
    let read = |of| {
        reader
            .graph
            .str(of)
            .ok_or_else(|| object.missing("options"))
    };
    let pairs = object.pairs("options")?.into_iter();
    pairs
        .map(|(key, value)| Ok((read(key)?.to_ascii_lowercase(), read(value)?.into_owned())))
        .collect()
}

/// `to_json` of Spark 3.
#[inline(never)]
pub(super) fn to_json(reader: &Reader<'_>, object: Object<'_>) -> Result<Expr> {
    object.only(&[
        "options",
        "child",
        "timeZoneId",
        "writer",
        "gen",
        "inputSchema",
        "converter",
    ])?;
    let child = Expr::read(reader, object.value("child")?)?;
    written(reader, object, child)
}

/// `to_json` and `parse_url` of Spark 4: a method of an object that has the options.
#[inline(never)]
pub(super) fn invoke(reader: &Reader<'_>, object: Object<'_>) -> Result<Expr> {
    let target = object.object("targetObject")?;
    let literal = target.name() == "Literal";
    let evaluator = literal.then(|| target.object("value")).transpose()?;
    let method = object.text("functionName")?;
    let Some(evaluator) = evaluator.filter(|_| method == "evaluate" || method == "parse") else {
        return Err(Unsupported::Class("Invoke".to_owned()));
    };
    match evaluator.name() {
        "ToTimeParser" if method == "parse" => return times::to_time(reader, object, evaluator),
        _ if method == "parse" => return Err(Unsupported::Class("Invoke".to_owned())),
        "StructsToJsonEvaluator" => {}
        "ParseUrlEvaluator" => return text::parse_url(reader, object, evaluator),
        name => return Err(Unsupported::of_use(format!("Invoke of {name}"))),
    }
    evaluator.only(&[
        "options",
        "inputSchema",
        "timeZoneId",
        "writer",
        "gen",
        "converter",
    ])?;
    let arguments = object.elements("arguments")?;
    let [child] = arguments.as_slice() else {
        return Err(object.missing("arguments"));
    };
    let child = Expr::read(reader, *child)?;
    written(reader, evaluator, child)
}

/// A value as the options of an object say.
#[inline(never)]
fn written(reader: &Reader<'_>, object: Object<'_>, child: Expr) -> Result<Expr> {
    let mut form = JsonText {
        times: TimesText::new(zone(reader, object)?),
        ignore_nulls: reader.settings.ignore_null_fields,
    };
    for (key, value) in given(reader, object)? {
        match key.as_str() {
            "dateformat" => form.times.date = value,
            "timestampformat" => form.times.timestamp = value,
            "timestampntzformat" => form.times.timestamp_ntz = value,
            "ignorenullfields" => form.ignore_nulls = value.eq_ignore_ascii_case("true"),
            other => return Err(Unsupported::of_use(format!("to_json with {other}"))),
        }
    }
    Ok(Expr {
        kind: ExprKind::ToJson {
            child: Box::new(child),
            form: Box::new(form),
        },
        data_type: DataType::String,
        nullable: true,
    })
}
