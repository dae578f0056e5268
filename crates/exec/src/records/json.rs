//! Objects of JSON as Spark's `JacksonParser` reads them. What is no JSON, and what is not as the columns
//! want it within a value, is left to it.

use std::collections::HashSet;

use catalyst::{DataType, JsonForm, StructField, Unsupported};
use datafusion_common::Result as DataFusionResult;
use jiter::{Jiter, Peek};
use rows::error::bail_out;

use super::column::{Column, Fields, Values};
use super::jackson::{MAX_DEPTH, MAX_NAME, is_blank, is_end, no_json, skip};
use super::{Became, Records};
use crate::expr::from_text::{self, Parsed, Times};
use crate::lower::Result;

/// Reads objects.
pub(crate) struct JsonRecords {
    reader: ValueReader,
    fields: Fields,
    /// What the library unescapes in.
    tape: Vec<u8>,
}

/// How values are read.
struct ValueReader {
    form: JsonForm,
    times: Times,
}

/// What a value was.
enum Found {
    Value,
    /// Nothing that the column wants. It was passed over, and the column has nothing of it.
    Other,
}

impl JsonRecords {
    /// Judges the columns.
    pub(crate) fn new(form: &JsonForm, fields: &[StructField]) -> Result<Self> {
        Ok(Self {
            reader: ValueReader::new(form, fields.iter().map(|field| &field.data_type))?,
            fields: Fields::new(fields)?,
            tape: Vec::new(),
        })
    }

    fn object(&mut self, jiter: &mut Jiter<'_>) -> DataFusionResult<bool> {
        let mut well = true;
        self.fields.begin();
        let mut name = jiter.next_object().map_err(no_json)?;
        while let Some(key) = name {
            let place = find(&mut self.fields, key)?;
            let peek = jiter.peek().map_err(no_json)?;
            match place {
                None => skip(jiter, peek, self.reader.form.max_number)?,
                Some(place) => {
                    // Stays null.
                    if let Found::Other = self.reader.field(&mut self.fields, place, jiter, peek)? {
                        well = false;
                        if let Some(seen) = self.fields.seen.get_mut(place) {
                            *seen = false;
                        }
                    }
                }
            }
            name = jiter.next_key().map_err(no_json)?;
        }
        self.fields.end()?;
        Ok(well)
    }
}

impl Records for JsonRecords {
    fn read(&mut self, line: &[u8]) -> DataFusionResult<Became> {
        if is_blank(line) {
            return Ok(Became::Nothing);
        }
        if is_no_object(line) {
            let mut columns = self.fields.columns.iter_mut();
            columns.try_for_each(Column::push_null)?;
            // Nothing of it was there.
            self.fields.seen.fill(false);
            return Ok(Became::Broken);
        }
        let mut jiter = Jiter::with_tape(line, std::mem::take(&mut self.tape));
        let well = self.object(&mut jiter)?;
        jiter.finish().map_err(no_json)?;
        self.tape = jiter.into_tape();
        match well {
            true => Ok(Became::Row),
            false => Ok(Became::Malformed),
        }
    }

    fn asks(&self, columns: &[usize]) -> bool {
        // When it has read all, in whatever order they come.
        let mut seen = columns.iter().map(|column| self.fields.seen.get(*column));
        seen.all(|seen| seen.is_some_and(|seen| *seen))
    }

    fn columns(&mut self) -> &mut [Column] {
        &mut self.fields.columns
    }
}

/// Whether Jackson certainly finds no object in a text: it begins with a word, a number or a text, or it is an object
/// without its end. What else is none is for Jackson to say.
fn is_no_object(text: &[u8]) -> bool {
    let text = text.trim_ascii();
    // Jackson finds out encodings by zeros.
    if text.iter().take(4).any(|byte| *byte == 0) {
        return false;
    }
    match (text.first(), text.last()) {
        // Behind a name Jackson's parser goes on as if the text had ended well, and what came before may count.
        (Some(b'{'), Some(b'}' | b'"' | b':')) => false,
        (Some(b'{'), _) => {
            let mut jiter = Jiter::new(text);
            let peek = jiter.peek();
            let ended = peek.and_then(|peek| jiter.known_skip(peek));
            ended.is_err_and(|error| is_end(&error))
        }
        (Some(b'"' | b'-'), _) => true,
        (Some(first), _) => first.is_ascii_alphanumeric(),
        (None, _) => false,
    }
}

/// Reads values that are no objects of a struct: lists and maps.
pub(crate) struct JsonValues {
    reader: ValueReader,
    values: [Column; 1],
    tape: Vec<u8>,
}

impl JsonValues {
    /// Judges the type.
    pub(crate) fn new(form: &JsonForm, of: &DataType) -> Result<Self> {
        Ok(Self {
            reader: ValueReader::new(form, std::iter::once(of))?,
            values: [Column::new(of, true)?],
            tape: Vec::new(),
        })
    }
}

impl Records for JsonValues {
    fn read(&mut self, text: &[u8]) -> DataFusionResult<Became> {
        if is_blank(text) {
            return Ok(Became::Nothing);
        }
        let mut jiter = Jiter::with_tape(text, std::mem::take(&mut self.tape));
        let peek = jiter.peek().map_err(no_json)?;
        let [column] = &mut self.values;
        match (&column.values, peek) {
            (Values::List(..), Peek::Array) | (Values::Map(..), Peek::Object) => {
                self.reader.inner(column, &mut jiter, peek)?;
            }
            _ => return Err(bail_out("JSON that is not as columns want it")),
        }
        jiter.finish().map_err(no_json)?;
        self.tape = jiter.into_tape();
        Ok(Became::Row)
    }

    fn asks(&self, _columns: &[usize]) -> bool {
        true
    }

    fn columns(&mut self) -> &mut [Column] {
        &mut self.values
    }
}

/// The field of a name, which must not have come before.
fn find(fields: &mut Fields, name: &str) -> DataFusionResult<Option<usize>> {
    if name.len() > MAX_NAME {
        return Err(bail_out("JSON with long names"));
    }
    let Some(place) = fields.find(name) else {
        return Ok(None);
    };
    match fields.seen.get_mut(place) {
        Some(seen) if !*seen => *seen = true,
        _ => return Err(bail_out("JSON with a name twice")),
    }
    Ok(Some(place))
}

impl ValueReader {
    fn new<'a>(form: &JsonForm, types: impl Iterator<Item = &'a DataType>) -> Result<Self> {
        if form.max_depth < MAX_DEPTH {
            return Err(Unsupported::of_use("JSON of little depth"));
        }
        Ok(Self {
            form: form.clone(),
            times: Times::new(&form.times, types)?,
        })
    }

    fn field(
        &self,
        fields: &mut Fields,
        place: usize,
        jiter: &mut Jiter<'_>,
        peek: Peek,
    ) -> DataFusionResult<Found> {
        match fields.columns.get_mut(place) {
            Some(column) => self.value(column, jiter, peek),
            None => Err(bail_out("a column that is not there")),
        }
    }

    /// A value within another, where what a column does not want makes more null than the value.
    fn inner(
        &self,
        column: &mut Column,
        jiter: &mut Jiter<'_>,
        peek: Peek,
    ) -> DataFusionResult<()> {
        match self.value(column, jiter, peek)? {
            Found::Value => Ok(()),
            Found::Other => Err(bail_out("JSON that is not as columns want it")),
        }
    }

    fn value(
        &self,
        column: &mut Column,
        jiter: &mut Jiter<'_>,
        peek: Peek,
    ) -> DataFusionResult<Found> {
        match (&mut column.values, peek) {
            (_, Peek::Null) => {
                jiter.known_null().map_err(no_json)?;
                column.push_null()?;
                return Ok(Found::Value);
            }
            (Values::List(ends, element), Peek::Array) => {
                let mut next = jiter.known_array().map_err(no_json)?;
                while let Some(peek) = next {
                    self.inner(element, jiter, peek)?;
                    next = jiter.array_step().map_err(no_json)?;
                }
                ends.push(element.len(), true)?;
                return Ok(Found::Value);
            }
            (Values::Map(ends, keys, values), Peek::Object) => {
                let mut here = HashSet::new();
                let mut name = jiter.known_object().map_err(no_json)?;
                while let Some(key) = name {
                    if key.len() > MAX_NAME || !here.insert(key.to_owned()) {
                        return Err(bail_out("JSON with long names or a name twice"));
                    }
                    keys.try_append_value(key)?;
                    let peek = jiter.peek().map_err(no_json)?;
                    self.inner(values, jiter, peek)?;
                    name = jiter.next_key().map_err(no_json)?;
                }
                ends.push(values.len(), true)?;
                return Ok(Found::Value);
            }
            (Values::Struct(valid, fields), Peek::Object) => {
                fields.begin();
                let mut name = jiter.known_object().map_err(no_json)?;
                while let Some(key) = name {
                    let place = find(fields, key)?;
                    let peek = jiter.peek().map_err(no_json)?;
                    match place.and_then(|place| fields.columns.get_mut(place)) {
                        None => skip(jiter, peek, self.form.max_number)?,
                        Some(column) => self.inner(column, jiter, peek)?,
                    }
                    name = jiter.next_key().map_err(no_json)?;
                }
                fields.end()?;
                valid.append_non_null();
                return Ok(Found::Value);
            }
            _ => {}
        }
        let well = match peek {
            Peek::String => {
                let text = jiter.known_str().map_err(no_json)?;
                if text.len() > self.form.max_text {
                    return Err(bail_out("JSON with long texts"));
                }
                self.text(column, text)?
            }
            Peek::True | Peek::False => {
                jiter.known_bool(peek).map_err(no_json)?;
                let is = peek == Peek::True;
                match &mut column.values {
                    Values::Boolean(values) => values.append_value(is),
                    Values::Text(values) => {
                        values.try_append_value(if is { "true" } else { "false" })?;
                    }
                    _ => return Ok(Found::Other),
                }
                true
            }
            Peek::Array | Peek::Object => {
                if matches!(column.values, Values::Text(_)) {
                    return Err(bail_out("JSON that is kept as text"));
                }
                skip(jiter, peek, self.form.max_number)?;
                false
            }
            peek if peek.is_num() => {
                let text = jiter.known_number_bytes(peek).map_err(no_json)?;
                if text.len() > self.form.max_number {
                    return Err(bail_out("JSON with long numbers"));
                }
                let text = std::str::from_utf8(text);
                number(
                    column,
                    text.map_err(|_| bail_out("text that is not UTF-8"))?,
                )?
            }
            _ => return Err(bail_out("text that is no JSON")),
        };
        Ok(if well { Found::Value } else { Found::Other })
    }

    /// A text. False if the column does not want it, and then has nothing of it.
    fn text(&self, column: &mut Column, text: &str) -> DataFusionResult<bool> {
        if let Values::Text(values) = &mut column.values {
            values.try_append_value(text)?;
            return Ok(true);
        }
        if text.is_empty() {
            return Err(bail_out("an empty text in JSON"));
        }
        match &mut column.values {
            Values::Float(values) => match self.special(text) {
                Some(value) => values.append_value(value as f32),
                None => return Ok(false),
            },
            Values::Double(values) => match self.special(text) {
                Some(value) => values.append_value(value),
                None => return Ok(false),
            },
            Values::Decimal(values, of) => {
                return put(from_text::decimal(text, *of), |v| values.append_value(v));
            }
            Values::Date(values) => return put(self.times.date(text), |v| values.append_value(v)),
            Values::Timestamp(values) => {
                return put(self.times.timestamp(text), |v| values.append_value(v));
            }
            Values::TimestampNtz(values) => {
                return put(self.times.timestamp_ntz(text), |v| values.append_value(v));
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// The number that a word stands for.
    fn special(&self, text: &str) -> Option<f64> {
        if !self.form.non_numeric_numbers {
            return None;
        }
        match text {
            "NaN" => Some(f64::NAN),
            "+INF" | "+Infinity" | "Infinity" => Some(f64::INFINITY),
            "-INF" | "-Infinity" => Some(f64::NEG_INFINITY),
            _ => None,
        }
    }
}

/// Gives a value on. False if there is none.
fn put<T>(found: Parsed<T>, append: impl FnOnce(T)) -> DataFusionResult<bool> {
    let found = found.map_err(|()| bail_out("a text that may be a value"))?;
    Ok(found.map(append).is_some())
}

/// A number. False if the column does not want it, and then has nothing of it.
fn number(column: &mut Column, text: &str) -> DataFusionResult<bool> {
    let is_integer = !text.contains(['.', 'e', 'E']);
    if is_integer && text == "-0" {
        return Err(bail_out("a negative zero in JSON"));
    }
    // What has more digits is wanted by floats and decimals only.
    let integer = || text.parse::<i64>().ok().filter(|_| is_integer);
    match &mut column.values {
        // Jackson's bytes may have no sign.
        #[allow(clippy::cast_possible_truncation)]
        Values::Byte(values) => match integer().filter(|value| (-128..=255).contains(value)) {
            Some(value) => values.append_value(value as i8),
            None => return Ok(false),
        },
        Values::Short(values) => match integer().and_then(|value| i16::try_from(value).ok()) {
            Some(value) => values.append_value(value),
            None => return Ok(false),
        },
        Values::Integer(values) => match integer().and_then(|value| i32::try_from(value).ok()) {
            Some(value) => values.append_value(value),
            None => return Ok(false),
        },
        Values::Long(values) => match integer() {
            Some(value) => values.append_value(value),
            None => return Ok(false),
        },
        Values::Float(values) => {
            // A number that is none of floats' is none of JSON's.
            let value = text.parse().map_err(|_| bail_out("a number of JSON"))?;
            values.append_value(value);
        }
        Values::Double(values) => {
            let value = text.parse().map_err(|_| bail_out("a number of JSON"))?;
            values.append_value(value);
        }
        Values::Decimal(values, of) => {
            return put(from_text::decimal(text, *of), |v| values.append_value(v));
        }
        Values::Timestamp(values) => match integer() {
            Some(seconds) => {
                let micros = seconds.checked_mul(1_000_000);
                values.append_value(micros.ok_or_else(|| bail_out("a time that overflows"))?);
            }
            None => return Ok(false),
        },
        Values::Text(values) => match integer() {
            Some(_) => values.try_append_value(text)?,
            None => return Err(bail_out("a number in JSON that is kept as text")),
        },
        _ => return Ok(false),
    }
    Ok(true)
}
