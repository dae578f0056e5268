//! The types of signatures as text, in Spark's words: see [`crate::abi::firesteel_signature`].
//!
//! ```text
//! types   := nothing | type (',' type)…
//! columns := nothing | column (',' column)…
//! column  := name ':' type
//! type    := boolean | tinyint | smallint | int | bigint | float | double | string | binary
//!          | date | timestamp | timestamp_ntz | decimal '(' precision ',' scale ')'
//!          | array '<' type '>' | map '<' type ',' type '>' | struct '<' column (',' column)… '>'
//! name    := letters, digits and underscores of ASCII
//! ```
//! The words are written in any case, with any ASCII whitespace around them.

use std::collections::HashSet;
use std::fmt::{self, Display, Formatter};
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Fields, TimeUnit};

/// Bytes that a text may have.
pub const MAX_LENGTH: usize = 65_536;
/// Types that may be within each other.
pub const MAX_DEPTH: usize = 32;

const MAX_PRECISION: u8 = 38;
/// Bytes of a text that an error quotes.
const QUOTED: usize = 160;

/// Types such as `double, array<int>`. Timestamps have the time zone.
///
/// # Errors
/// The text is no list of types, is too long or nests too deeply.
pub fn types(text: &str, time_zone: &str) -> Result<Vec<DataType>, TypeError> {
    let mut parser = Parser::new(text, time_zone)?;
    if parser.is_at_end() {
        return Ok(Vec::new());
    }
    let mut types = vec![parser.data_type(1)?];
    while parser.takes(b',') {
        types.push(parser.data_type(1)?);
    }
    parser.end()?;
    Ok(types)
}

/// One type such as `array<int>`. Timestamps have the time zone.
///
/// # Errors
/// The text is no type, is too long or nests too deeply.
pub fn data_type(text: &str, time_zone: &str) -> Result<DataType, TypeError> {
    let mut parser = Parser::new(text, time_zone)?;
    let data_type = parser.data_type(1)?;
    parser.end()?;
    Ok(data_type)
}

/// Columns such as `name:string, sizes:array<int>`, all nullable. Timestamps have the time zone.
///
/// # Errors
/// The text is no list of columns, is too long, nests too deeply or has a name twice.
pub fn columns(text: &str, time_zone: &str) -> Result<Fields, TypeError> {
    let mut parser = Parser::new(text, time_zone)?;
    if parser.is_at_end() {
        return Ok(Fields::empty());
    }
    let columns = parser.columns(1)?;
    parser.end()?;
    Ok(columns)
}

/// The text of a type: the opposite of [`data_type`]. Types that have no word are named as Arrow names them.
#[must_use]
pub fn name(data_type: &DataType) -> String {
    match data_type {
        DataType::Decimal128(precision, scale) => format!("decimal({precision},{scale})"),
        DataType::Timestamp(TimeUnit::Microsecond, Some(_)) => "timestamp".into(),
        DataType::Timestamp(TimeUnit::Microsecond, None) => "timestamp_ntz".into(),
        DataType::List(element) => format!("array<{}>", name(element.data_type())),
        DataType::Map(entries, _) => match key_and_value(entries) {
            Some((key, value)) => {
                format!("map<{},{}>", name(key.data_type()), name(value.data_type()))
            }
            None => data_type.to_string(),
        },
        DataType::Struct(fields) => format!("struct<{}>", names(fields)),
        _ => match PLAIN.iter().find(|(_, plain)| plain == data_type) {
            Some((word, _)) => (*word).into(),
            None => data_type.to_string(),
        },
    }
}

/// The text of columns: the opposite of [`columns`].
#[must_use]
pub fn names(columns: &Fields) -> String {
    let columns = columns
        .iter()
        .map(|column| format!("{}:{}", column.name(), name(column.data_type())));
    columns.collect::<Vec<_>>().join(",")
}

/// Whether an array of one type can be taken for one of the declared type: its values are laid out alike and mean the
/// same. Names within lists and maps, nullability, metadata and which time zone it is are of no matter.
#[must_use]
pub fn fits(declared: &DataType, given: &DataType) -> bool {
    match (declared, given) {
        (DataType::List(declared), DataType::List(given)) => {
            fits(declared.data_type(), given.data_type())
        }
        (DataType::Map(declared, _), DataType::Map(given, _)) => {
            match (key_and_value(declared), key_and_value(given)) {
                (Some((key, value)), Some((given_key, given_value))) => {
                    fits(key.data_type(), given_key.data_type())
                        && fits(value.data_type(), given_value.data_type())
                }
                _ => false,
            }
        }
        (DataType::Struct(declared), DataType::Struct(given)) => columns_fit(declared, given),
        (DataType::Timestamp(declared, zone), DataType::Timestamp(given, given_zone)) => {
            declared == given && zone.is_some() == given_zone.is_some()
        }
        _ => declared == given,
    }
}

/// As [`fits`], for columns: they have the same names in the same order.
#[must_use]
pub fn columns_fit(declared: &Fields, given: &Fields) -> bool {
    declared.len() == given.len()
        && declared.iter().zip(given).all(|(declared, given)| {
            declared.name() == given.name() && fits(declared.data_type(), given.data_type())
        })
}

/// A text that is no type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypeError {
    text: String,
    place: usize,
    reason: String,
}

impl TypeError {
    fn new(text: &str, place: usize, reason: impl Into<String>) -> Self {
        Self {
            text: quoted(text, place),
            place,
            reason: reason.into(),
        }
    }

    /// The byte at which reading ended, from 0 on.
    #[must_use]
    pub fn place(&self) -> usize {
        self.place
    }
}

impl Display for TypeError {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let Self {
            text,
            place,
            reason,
        } = self;
        write!(
            out,
            "cannot read the types `{text}`: {reason} at byte {place}"
        )
    }
}

impl std::error::Error for TypeError {}

/// A text, or what is around a place of it if it is long.
fn quoted(text: &str, place: usize) -> String {
    if text.len() <= QUOTED {
        return text.into();
    }
    let begin = text.floor_char_boundary(place.saturating_sub(QUOTED / 2));
    let end = text.floor_char_boundary(begin + QUOTED);
    let part = text.get(begin..end).unwrap_or_default();
    let before = if begin > 0 { "…" } else { "" };
    let behind = if end < text.len() { "…" } else { "" };
    format!("{before}{part}{behind}")
}

/// Types of one word.
const PLAIN: [(&str, DataType); 11] = [
    ("boolean", DataType::Boolean),
    ("tinyint", DataType::Int8),
    ("smallint", DataType::Int16),
    ("int", DataType::Int32),
    ("bigint", DataType::Int64),
    ("float", DataType::Float32),
    ("double", DataType::Float64),
    ("string", DataType::Utf8),
    ("binary", DataType::Binary),
    ("date", DataType::Date32),
    (
        "timestamp_ntz",
        DataType::Timestamp(TimeUnit::Microsecond, None),
    ),
];

fn key_and_value(entries: &Field) -> Option<(&Field, &Field)> {
    match entries.data_type() {
        DataType::Struct(fields) => match fields.as_ref() {
            [key, value] => Some((key, value)),
            _ => None,
        },
        _ => None,
    }
}

struct Parser<'t> {
    text: &'t str,
    place: usize,
    time_zone: Arc<str>,
}

impl<'t> Parser<'t> {
    fn new(text: &'t str, time_zone: &str) -> Result<Self, TypeError> {
        if text.len() > MAX_LENGTH {
            let reason = format!("more than {MAX_LENGTH} bytes, which is too long,");
            return Err(TypeError::new(text, MAX_LENGTH, reason));
        }
        Ok(Self {
            text,
            place: 0,
            time_zone: time_zone.into(),
        })
    }

    fn data_type(&mut self, depth: usize) -> Result<DataType, TypeError> {
        let (begin, word) = self.word("a type")?;
        if depth > MAX_DEPTH {
            let reason = format!("more than {MAX_DEPTH} types within each other");
            return Err(TypeError::new(self.text, begin, reason));
        }
        match word.to_ascii_lowercase().as_str() {
            "timestamp" => Ok(DataType::Timestamp(
                TimeUnit::Microsecond,
                Some(self.time_zone.clone()),
            )),
            "decimal" => self.decimal(),
            "array" => {
                self.expect(b'<')?;
                let element = self.data_type(depth + 1)?;
                self.expect(b'>')?;
                let element = Field::new("element", element, true);
                Ok(DataType::List(Arc::new(element)))
            }
            "map" => self.map(depth),
            "struct" => {
                self.expect(b'<')?;
                let fields = self.columns(depth + 1)?;
                self.expect(b'>')?;
                Ok(DataType::Struct(fields))
            }
            word => match PLAIN.iter().find(|(plain, _)| *plain == word) {
                Some((_, plain)) => Ok(plain.clone()),
                None => {
                    let reason = format!("no type is named `{}`", quoted(word, 0));
                    Err(TypeError::new(self.text, begin, reason))
                }
            },
        }
    }

    fn decimal(&mut self) -> Result<DataType, TypeError> {
        self.expect(b'(')?;
        let precision = self.number(1, MAX_PRECISION)?;
        self.expect(b',')?;
        let scale = self.number(0, precision)?;
        self.expect(b')')?;
        // At most 38.
        Ok(DataType::Decimal128(precision, scale.cast_signed()))
    }

    fn map(&mut self, depth: usize) -> Result<DataType, TypeError> {
        self.expect(b'<')?;
        let key = self.data_type(depth + 1)?;
        self.expect(b',')?;
        let value = self.data_type(depth + 1)?;
        self.expect(b'>')?;
        let entries = Fields::from(vec![
            Field::new("key", key, false),
            Field::new("value", value, true),
        ]);
        let entries = Field::new("entries", DataType::Struct(entries), false);
        Ok(DataType::Map(Arc::new(entries), false))
    }

    /// One column or more.
    fn columns(&mut self, depth: usize) -> Result<Fields, TypeError> {
        let mut known = HashSet::new();
        let mut columns = Vec::new();
        loop {
            let (begin, name) = self.word("a name")?;
            if !known.insert(name) {
                let reason = format!("the name `{}` a second time", quoted(name, 0));
                return Err(TypeError::new(self.text, begin, reason));
            }
            self.expect(b':')?;
            columns.push(Field::new(name, self.data_type(depth)?, true));
            if !self.takes(b',') {
                return Ok(columns.into());
            }
        }
    }

    fn number(&mut self, least: u8, most: u8) -> Result<u8, TypeError> {
        let (begin, digits) = self.word("a number")?;
        // `parse` takes a sign too, which is no part of a word.
        let number = digits.parse().ok();
        number
            .filter(|number| (least..=most).contains(number))
            .ok_or_else(|| {
                let digits = quoted(digits, 0);
                let reason = format!("`{digits}` is no number from {least} to {most}");
                TypeError::new(self.text, begin, reason)
            })
    }

    /// Letters, digits and underscores, and where they begin.
    fn word(&mut self, what: &str) -> Result<(usize, &'t str), TypeError> {
        self.skip_whitespace();
        let begin = self.place;
        let rest = self.rest();
        let end = rest
            .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
            .unwrap_or(rest.len());
        match rest.get(..end) {
            Some(word) if !word.is_empty() => {
                self.place += end;
                Ok((begin, word))
            }
            _ => Err(self.unexpected(what)),
        }
    }

    /// Whether a character came next; then it is behind us.
    fn takes(&mut self, character: u8) -> bool {
        self.skip_whitespace();
        let taken = self.rest().as_bytes().first() == Some(&character);
        self.place += usize::from(taken);
        taken
    }

    fn expect(&mut self, character: u8) -> Result<(), TypeError> {
        match self.takes(character) {
            true => Ok(()),
            false => Err(self.unexpected(&format!("`{}`", char::from(character)))),
        }
    }

    fn end(&mut self) -> Result<(), TypeError> {
        match self.is_at_end() {
            true => Ok(()),
            false => Err(self.unexpected("`,` or the end")),
        }
    }

    fn is_at_end(&mut self) -> bool {
        self.skip_whitespace();
        self.rest().is_empty()
    }

    fn skip_whitespace(&mut self) {
        let rest = self.rest();
        let kept = rest.trim_ascii_start();
        self.place += rest.len() - kept.len();
    }

    fn rest(&self) -> &'t str {
        self.text.get(self.place..).unwrap_or_default()
    }

    fn unexpected(&self, expected: &str) -> TypeError {
        let reason = match self.rest().chars().next() {
            Some(found) => format!("{expected} expected, `{found}` found"),
            None => format!("{expected} expected, the end found"),
        };
        TypeError::new(self.text, self.place, reason)
    }
}

#[cfg(test)]
#[path = "types_tests.rs"]
mod tests;
