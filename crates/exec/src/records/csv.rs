//! Lines of CSV as Spark's `UnivocityParser` reads them. What its tokenizer repairs, such as quotes that are not
//! escaped, is left to it.

use std::borrow::Cow;

use catalyst::{CsvOptions, CsvSyntax, StructField, Unsupported};
use datafusion_common::Result as DataFusionResult;
use rows::error::bail_out;

use super::column::{Column, Values, check};
use super::{Became, Records};
use crate::expr::from_text::{self, Parsed, Times};
use crate::lower::Result;

/// Reads lines.
pub(crate) struct CsvRecords {
    options: CsvOptions,
    times: Times,
    columns: Vec<Column>,
    /// Of each place in a line, which column its value is for.
    places: Vec<Option<usize>>,
    /// How many values a line must have, if that matters.
    values: Option<usize>,
    /// Whether of a line without any column to read nothing is looked at.
    unread: bool,
    /// Of each column of the line at hand, whether its value could be read.
    read: Vec<bool>,
    /// A value without what escapes its quotes.
    unescaped: Vec<u8>,
}

/// A value of a line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Token<'a> {
    /// Nothing is between separators.
    Missing,
    /// Quotes with nothing between.
    Empty,
    Text(Cow<'a, [u8]>),
}

impl Token<'_> {
    /// The text that it stands for; `None` if that is null.
    pub(super) fn text<'t>(&'t self, of: &'t CsvSyntax) -> DataFusionResult<Option<&'t str>> {
        let text = match self {
            Self::Missing => return Ok(None),
            Self::Empty => of.empty_value.as_str(),
            Self::Text(text) => {
                let text = std::str::from_utf8(text);
                text.map_err(|_| bail_out("text that is not UTF-8"))?
            }
        };
        Ok(Some(text).filter(|text| *text != of.null_value))
    }
}

/// Whether a line is blank, or a comment: nobody looks for values there.
pub(super) fn is_nothing(line: &[u8], of: &CsvSyntax) -> bool {
    line.iter().all(|byte| *byte <= b' ')
        || line.first().is_some_and(|first| Some(*first) == of.comment)
}

impl CsvRecords {
    /// Judges the columns. `required` are those that Spark's reader reads, `parsed` those that are wanted here, by
    /// their places in it.
    pub(crate) fn new(
        options: &CsvOptions,
        required: &[StructField],
        parsed: &[usize],
    ) -> Result<Self> {
        let data = &options.data_schema;
        let pruned = options.column_pruning && required.len() < data.len();
        let mut places = vec![None; data.len()];
        let mut columns = Vec::new();
        let place_of = |field: &StructField| {
            let mut found = data
                .iter()
                .enumerate()
                .filter(|(_, of)| of.name == field.name);
            match (found.next(), found.next()) {
                (Some((place, _)), None) => Ok(place),
                _ => Err(Unsupported::of_use("CSV of other columns")),
            }
        };
        let all = required.iter().map(place_of).collect::<Result<Vec<_>>>()?;
        // Spark looks at whole lines then.
        if required.iter().any(|field| field.exists_default.is_some()) {
            return Err(Unsupported::of_use("records with default values"));
        }
        if !all.is_sorted() {
            return Err(Unsupported::of_use("CSV with columns in another order"));
        }
        let mut types = Vec::new();
        for (column, place) in parsed.iter().enumerate() {
            let unknown = || Unsupported::of_use("CSV of other columns");
            let field = required.get(*place).ok_or_else(unknown)?;
            check(field)?;
            columns.push(Column::new(&field.data_type, false)?);
            types.push(&field.data_type);
            let place = all.get(*place).and_then(|place| places.get_mut(*place));
            *place.ok_or_else(unknown)? = Some(column);
        }
        Ok(Self {
            times: Times::new(&options.times, types.into_iter())?,
            values: (!pruned).then_some(data.len()),
            unread: options.column_pruning && required.is_empty(),
            read: vec![true; columns.len()],
            columns,
            places,
            unescaped: Vec::new(),
            options: options.clone(),
        })
    }

    /// That the names of a file are those of the columns, if anybody wants that.
    fn check_header(&mut self, line: &[u8]) -> DataFusionResult<()> {
        if self.options.enforce_schema {
            return Ok(());
        }
        let other = || bail_out("names of CSV that are not those of columns");
        let mut tokens = Tokens::new(line, &self.options.syntax)?;
        let mut names = self.options.data_schema.iter().map(|field| &field.name);
        while let Some(token) = tokens.next(&mut self.unescaped)? {
            match (token, names.next()) {
                (Token::Text(text), Some(name)) if *text == *name.as_bytes() => {}
                _ => return Err(other()),
            }
        }
        match names.next() {
            None => Ok(()),
            Some(_) => Err(other()),
        }
    }

    fn read_values(&mut self, line: &[u8]) -> DataFusionResult<bool> {
        let mut tokens = Tokens::new(line, &self.options.syntax)?;
        let mut count = 0;
        let mut well = true;
        self.read.fill(false);
        loop {
            let column = self.places.get(count).copied().flatten();
            tokens.skipped = column.is_none() && self.values.is_none();
            let Some(token) = tokens.next(&mut self.unescaped)? else {
                break;
            };
            if count == self.options.syntax.max_columns {
                return Err(bail_out("lines with too many columns"));
            }
            if let Some(column) = column {
                let of = self.columns.get_mut(column);
                let of = of.ok_or_else(|| bail_out("a column that is not there"))?;
                let read = value(of, &token, &self.options.syntax, &self.times)?;
                well &= read;
                if let Some(of) = self.read.get_mut(column) {
                    *of = read;
                }
            }
            count += 1;
        }
        // What the line does not have is null. Of a line that may be shorter that is a value as any other.
        let missing = self.places.get(count..).unwrap_or_default();
        for column in missing.iter().flatten() {
            if let Some(of) = self.columns.get_mut(*column) {
                of.push_null()?;
            }
            if let Some(read) = self.read.get_mut(*column) {
                *read = self.values.is_none();
            }
        }
        Ok(well && self.values.is_none_or(|values| values == count))
    }
}

impl Records for CsvRecords {
    fn header(&mut self, line: &[u8]) -> DataFusionResult<bool> {
        if is_nothing(line, &self.options.syntax) {
            return Ok(false);
        }
        self.check_header(line)?;
        Ok(true)
    }

    fn has_header(&self) -> bool {
        self.options.syntax.header
    }

    fn read(&mut self, line: &[u8]) -> DataFusionResult<Became> {
        if is_nothing(line, &self.options.syntax) {
            return Ok(Became::Nothing);
        }
        if self.unread {
            return Ok(Became::Row);
        }
        match self.read_values(line)? {
            true => Ok(Became::Row),
            false => Ok(Became::Malformed),
        }
    }

    fn asks(&self, columns: &[usize]) -> bool {
        // It reads from left to right, and asks when it has read the last.
        let last = columns.iter().max().and_then(|last| self.read.get(*last));
        last.is_some_and(|read| *read)
    }

    fn columns(&mut self) -> &mut [Column] {
        &mut self.columns
    }
}

/// Puts a value into a column. False if it is none; then there is a null.
fn value(
    column: &mut Column,
    token: &Token<'_>,
    options: &CsvSyntax,
    times: &Times,
) -> DataFusionResult<bool> {
    let Some(text) = token.text(options)? else {
        column.push_null()?;
        return Ok(true);
    };
    // Bounds were given.
    #[allow(clippy::cast_possible_truncation)]
    let well = match &mut column.values {
        Values::Text(values) => {
            values.try_append_value(text)?;
            true
        }
        Values::Boolean(values) => put(from_text::boolean(text), |v| values.append_option(v))?,
        Values::Byte(values) => {
            let found = from_text::integer(text, i8::MIN.into(), i8::MAX.into());
            put(found, |v| values.append_option(v.map(|v| v as i8)))?
        }
        Values::Short(values) => {
            let found = from_text::integer(text, i16::MIN.into(), i16::MAX.into());
            put(found, |v| values.append_option(v.map(|v| v as i16)))?
        }
        Values::Integer(values) => {
            let found = from_text::integer(text, i32::MIN.into(), i32::MAX.into());
            put(found, |v| values.append_option(v.map(|v| v as i32)))?
        }
        Values::Long(values) => {
            let found = from_text::integer(text, i64::MIN, i64::MAX);
            put(found, |v| values.append_option(v))?
        }
        Values::Float(values) => {
            let found = match special(text, options) {
                Some(value) => Ok(Some(value as f32)),
                None => from_text::float(text),
            };
            put(found, |v| values.append_option(v))?
        }
        Values::Double(values) => {
            let found = match special(text, options) {
                Some(value) => Ok(Some(value)),
                None => from_text::float(text),
            };
            put(found, |v| values.append_option(v))?
        }
        Values::Decimal(values, of) => {
            put(from_text::decimal(text, *of), |v| values.append_option(v))?
        }
        Values::Date(values) => put(times.date(text), |v| values.append_option(v))?,
        Values::Timestamp(values) => put(times.timestamp(text), |v| values.append_option(v))?,
        Values::TimestampNtz(values) => {
            put(times.timestamp_ntz(text), |v| values.append_option(v))?
        }
        Values::List(..) | Values::Map(..) | Values::Struct(..) => {
            return Err(bail_out("CSV with nested values"));
        }
    };
    Ok(well)
}

/// The number that a word stands for.
pub(super) fn special(text: &str, options: &CsvSyntax) -> Option<f64> {
    if text == options.nan {
        Some(f64::NAN)
    } else if text == options.negative_infinity {
        Some(f64::NEG_INFINITY)
    } else if text == options.infinity {
        Some(f64::INFINITY)
    } else {
        None
    }
}

/// Gives a value on, or a null.
fn put<T>(found: Parsed<T>, append: impl FnOnce(Option<T>)) -> DataFusionResult<bool> {
    let found = found.map_err(|()| bail_out("a text that may be a value"))?;
    let well = found.is_some();
    append(found);
    Ok(well)
}

/// The values of a line, one after the other.
pub(super) struct Tokens<'a> {
    rest: &'a [u8],
    options: &'a CsvSyntax,
    /// A separator was there, and a value follows.
    open: bool,
    /// Spark's tokenizer passes over the next value.
    skipped: bool,
}

impl<'a> Tokens<'a> {
    pub(super) fn new(line: &'a [u8], options: &'a CsvSyntax) -> DataFusionResult<Self> {
        if memchr::memchr3(0, b'\n', b'\r', line).is_some() {
            return Err(bail_out("lines with control characters"));
        }
        Ok(Self {
            rest: line,
            options,
            open: true,
            skipped: false,
        })
    }

    /// The next value. What has escapes is unescaped in `buffer`.
    pub(super) fn next(&mut self, buffer: &mut Vec<u8>) -> DataFusionResult<Option<Token<'a>>> {
        if !self.open {
            return Ok(None);
        }
        let options = self.options;
        if options.trim_leading {
            let blank =
                |byte: &u8| *byte <= b' ' && ![options.delimiter, options.quote].contains(byte);
            let blanks = self.rest.iter().take_while(|byte| blank(byte)).count();
            self.rest = self.rest.get(blanks..).unwrap_or_default();
        }
        let token = match self.rest.split_first() {
            Some((first, rest)) if *first == options.quote => self.quoted(rest, buffer)?,
            _ => self.plain(),
        };
        if let (Token::Text(text), Some(most)) = (&token, options.max_chars)
            && text.len() > most
        {
            return Err(bail_out("values with many characters"));
        }
        Ok(Some(token))
    }

    fn plain(&mut self) -> Token<'a> {
        let mut text = match memchr::memchr(self.options.delimiter, self.rest) {
            Some(end) => {
                let text = self.rest.get(..end).unwrap_or_default();
                self.rest = self.rest.get(end + 1..).unwrap_or_default();
                text
            }
            None => {
                self.open = false;
                self.rest
            }
        };
        if self.options.trim_trailing {
            let blanks = text.iter().rev().take_while(|byte| **byte <= b' ').count();
            text = text.get(..text.len() - blanks).unwrap_or_default();
        }
        match text.is_empty() {
            true => Token::Missing,
            false => Token::Text(Cow::Borrowed(text)),
        }
    }

    /// A value behind a quote.
    fn quoted(&mut self, text: &'a [u8], buffer: &mut Vec<u8>) -> DataFusionResult<Token<'a>> {
        let (quote, escape) = (self.options.quote, self.options.escape);
        let odd = || bail_out("quotes of CSV that are not escaped");
        buffer.clear();
        // What of the value is in the buffer already.
        let mut copied = 0;
        let mut at = 0;
        let end = loop {
            let rest = text.get(at..).unwrap_or_default();
            let found = at + memchr::memchr2(quote, escape, rest).ok_or_else(odd)?;
            let next = text.get(found + 1).copied();
            let is_escape = text.get(found) == Some(&escape) && escape != 0;
            match next {
                // A quote, or what escapes an escape, which does not before the end.
                Some(escaped)
                    if is_escape
                        && (escaped == quote || (escape != quote && escaped == escape)) =>
                {
                    if escaped != quote && text.get(found + 2) == Some(&quote) {
                        return Err(odd());
                    }
                    buffer.extend(text.get(copied..found).unwrap_or_default());
                    buffer.push(escaped);
                    at = found + 2;
                    copied = at;
                }
                _ if text.get(found) != Some(&quote) => at = found + 1,
                None => {
                    self.open = false;
                    break found;
                }
                Some(next) if next == self.options.delimiter => {
                    self.rest = text.get(found + 2..).unwrap_or_default();
                    break found;
                }
                Some(_) => return Err(odd()),
            }
        };
        let last = text.get(copied..end).unwrap_or_default();
        // Passing over it, Spark's tokenizer takes the last quote for an escaped one.
        let quotes_end = end
            .checked_sub(1)
            .is_none_or(|last| text.get(last) == Some(&quote));
        if self.skipped && escape == quote && quotes_end {
            return Err(odd());
        }
        // Without an escape, a quote at the very start stands behind what it takes for one.
        if escape == 0 && end == 0 {
            return Err(odd());
        }
        Ok(match (copied, last.is_empty()) {
            (0, true) => Token::Empty,
            (0, false) => Token::Text(Cow::Borrowed(last)),
            _ => {
                buffer.extend(last);
                Token::Text(Cow::Owned(std::mem::take(buffer)))
            }
        })
    }
}
