//! Types of JSON texts, as Spark's `JsonInferSchema` finds them out.

use std::cmp::Ordering;
use std::collections::HashSet;

use arrow::array::RecordBatch;
use catalyst::{DataType, Decimal, JsonInference, Malformed, StructField};
use datafusion_common::{DataFusionError, Result};
use jiter::{Jiter, JiterError, Peek};
use rows::error::bail_out;

use super::jackson::{MAX_NAME, is_blank, is_end, no_json};
use super::texts_of;

/// Digits of the longest decimal.
const MAX_DIGITS: usize = 38;

/// A decimal that every `bigint` fits in.
const LONG: Type = Type::Decimal(20, 0);

/// Most columns, at every depth, that are looked for.
const MAX_FIELDS: usize = 1_000_000;

/// What a value may be.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Type {
    Null,
    Boolean,
    Long,
    Double,
    /// Digits, and those of them behind the point.
    Decimal(usize, usize),
    Text,
    List(Box<Self>),
    /// Fields in the order of their names.
    Struct(Vec<(String, Self)>),
}

/// Why a text has no type.
enum Stop {
    /// It is certainly no JSON.
    Broken,
    /// Spark has to say.
    Left(DataFusionError),
}

impl From<JiterError> for Stop {
    fn from(error: JiterError) -> Self {
        match is_end(&error) {
            true => Self::Broken,
            false => Self::Left(no_json(error)),
        }
    }
}

impl From<DataFusionError> for Stop {
    fn from(error: DataFusionError) -> Self {
        Self::Left(error)
    }
}

/// The type of all texts of a partition.
#[derive(Debug)]
pub struct JsonTypes<'a> {
    rules: Rules<'a>,
    of: Option<Type>,
}

impl<'a> JsonTypes<'a> {
    /// Of no text.
    #[must_use]
    pub fn new(inference: &'a JsonInference) -> Self {
        Self {
            rules: Rules(inference),
            of: None,
        }
    }

    /// More texts: rows of one column.
    ///
    /// # Errors
    /// Bail-outs: a text that Spark has to look at.
    pub fn push(&mut self, batch: &RecordBatch) -> Result<()> {
        let mut texts = texts_of(batch)?.iter().flatten();
        texts.try_for_each(|text| self.text(text))
    }

    fn text(&mut self, text: &str) -> Result<()> {
        let found = match self.rules.of_text(text.as_bytes()) {
            Ok(found) => found,
            Err(Stop::Left(error)) => return Err(error),
            Err(Stop::Broken) => match self.rules.0.malformed {
                Malformed::Null => {
                    Type::Struct(vec![(self.rules.0.corrupt_record.clone(), Type::Text)])
                }
                Malformed::Drop => return Ok(()),
                Malformed::Fail => return Err(bail_out("a malformed record")),
            },
        };
        self.of = Some(match self.of.take() {
            None => found,
            Some(known) => self.rules.root(known, found)?,
        });
        Ok(())
    }

    /// The columns.
    ///
    /// # Errors
    /// Bail-outs, as before.
    pub fn finish(self) -> Result<Vec<StructField>> {
        let nothing = Type::Struct(Vec::new());
        let of = match self.of {
            None => nothing,
            Some(of) => self.rules.root(nothing, of)?,
        };
        let mut left = MAX_FIELDS;
        match of.data_type(&mut left) {
            Some(DataType::Struct(fields)) => Ok(fields),
            _ => Err(bail_out("JSON of very many columns")),
        }
    }
}

/// How types are found out and put together.
#[derive(Debug, Clone, Copy)]
struct Rules<'a>(&'a JsonInference);

impl Rules<'_> {
    fn of_text(&self, text: &[u8]) -> std::result::Result<Type, Stop> {
        if is_blank(text) {
            return Ok(Type::Null);
        }
        let first = text.trim_ascii().first();
        // Jackson finds out encodings by zeros.
        if text.iter().take(4).any(|byte| *byte == 0) {
            return Err(Stop::Left(bail_out("text that is no JSON")));
        }
        if first.is_some_and(|first| first.is_ascii_alphabetic() && !b"tfnNI".contains(first)) {
            return Err(Stop::Broken);
        }
        let mut jiter = Jiter::new(text);
        let peek = jiter.peek()?;
        let found = self.value(&mut jiter, peek)?;
        jiter.finish()?;
        Ok(found)
    }

    /// `inferField`
    fn value(&self, jiter: &mut Jiter<'_>, peek: Peek) -> std::result::Result<Type, Stop> {
        Ok(match peek {
            Peek::Null => {
                jiter.known_null()?;
                Type::Null
            }
            Peek::True | Peek::False => {
                jiter.known_bool(peek)?;
                match self.0.primitives_as_string {
                    true => Type::Text,
                    false => Type::Boolean,
                }
            }
            Peek::String => {
                let text = jiter.known_str()?;
                if text.len() > self.0.max_text {
                    return Err(Stop::Left(bail_out("JSON with long texts")));
                }
                match text.is_empty() {
                    true => Type::Null,
                    false => Type::Text,
                }
            }
            Peek::Array => {
                let mut element = Type::Null;
                let mut next = jiter.known_array()?;
                while let Some(peek) = next {
                    let found = self.value(jiter, peek)?;
                    element = self.compatible(element, found)?;
                    next = jiter.array_step()?;
                }
                Type::List(Box::new(element))
            }
            Peek::Object => {
                let mut fields = Vec::new();
                let mut names = HashSet::new();
                let mut next = jiter.known_object()?;
                while let Some(name) = next {
                    let name = name.to_owned();
                    if name.len() > MAX_NAME || !names.insert(name.clone()) {
                        return Err(Stop::Left(bail_out("JSON with long names or a name twice")));
                    }
                    let peek = jiter.peek()?;
                    fields.push((name, self.value(jiter, peek)?));
                    next = jiter.next_key()?;
                }
                fields.sort_by(|(one, _), (other, _)| compare(one, other));
                Type::Struct(fields)
            }
            peek => self.number(jiter, peek)?,
        })
    }

    fn number(&self, jiter: &mut Jiter<'_>, peek: Peek) -> std::result::Result<Type, Stop> {
        let number = jiter.known_number_bytes(peek)?;
        if number.len() > self.0.max_number {
            return Err(Stop::Left(bail_out("JSON with long numbers")));
        }
        // Others are words.
        if !number.iter().all(|byte| b"0123456789+-.eE".contains(byte)) {
            return Err(Stop::Left(bail_out("text that is no JSON")));
        }
        if self.0.primitives_as_string {
            return Ok(Type::Text);
        }
        let is_digit = |byte: &u8| byte.is_ascii_digit();
        let digits = number.strip_prefix(b"-").unwrap_or(number);
        if !digits.iter().all(is_digit) {
            return Ok(Type::Double);
        }
        let text = std::str::from_utf8(number);
        if text.is_ok_and(|text| text.parse::<i64>().is_ok()) {
            return Ok(Type::Long);
        }
        Ok(match digits.len() {
            digits @ ..=MAX_DIGITS => Type::Decimal(digits, 0),
            _ => Type::Double,
        })
    }

    /// `compatibleRootType`
    fn root(&self, one: Type, other: Type) -> Result<Type> {
        match (one, other) {
            (Type::List(one), other) => self.root(*one, other),
            (one, Type::List(other)) => self.root(one, *other),
            (fields @ Type::Struct(_), Type::Null) | (Type::Null, fields @ Type::Struct(_)) => {
                Ok(fields)
            }
            (one @ Type::Struct(_), other @ Type::Struct(_)) => self.compatible(one, other),
            (Type::Struct(fields), _) | (_, Type::Struct(fields)) => {
                self.with_corrupt_record(fields)
            }
            (one, other) => self.compatible(one, other),
        }
    }

    /// `withCorruptField`
    fn with_corrupt_record(&self, mut fields: Vec<(String, Type)>) -> Result<Type> {
        match self.0.malformed {
            Malformed::Null => {
                let name = &self.0.corrupt_record;
                if fields.iter().all(|(known, _)| known != name) {
                    fields.push((name.clone(), Type::Text));
                    fields.sort_by(|(one, _), (other, _)| compare(one, other));
                }
            }
            Malformed::Drop => {}
            Malformed::Fail => return Err(bail_out("a malformed record")),
        }
        Ok(Type::Struct(fields))
    }

    /// `compatibleType`
    fn compatible(&self, one: Type, other: Type) -> Result<Type> {
        if let Some(tightest) = self.tightest(&one, &other)? {
            return Ok(tightest);
        }
        Ok(match (one, other) {
            (Type::Double, Type::Decimal(..)) | (Type::Decimal(..), Type::Double) => Type::Double,
            (Type::Decimal(one, one_scale), Type::Decimal(other, other_scale)) => {
                let scale = one_scale.max(other_scale);
                let range = one.saturating_sub(one_scale);
                let range = range.max(other.saturating_sub(other_scale));
                match range + scale > MAX_DIGITS {
                    true => Type::Double,
                    false => Type::Decimal(range + scale, scale),
                }
            }
            (Type::Long, other @ Type::Decimal(..)) => self.compatible(LONG, other)?,
            (one @ Type::Decimal(..), Type::Long) => self.compatible(one, LONG)?,
            (Type::List(one), Type::List(other)) => {
                Type::List(Box::new(self.compatible(*one, *other)?))
            }
            (Type::Struct(one), Type::Struct(other)) => {
                let mut merged = Vec::with_capacity(one.len().max(other.len()));
                let (mut one, mut other) =
                    (one.into_iter().peekable(), other.into_iter().peekable());
                loop {
                    let order = match (one.peek(), other.peek()) {
                        (None, None) => break,
                        (Some(_), None) => Ordering::Less,
                        (None, Some(_)) => Ordering::Greater,
                        (Some((one, _)), Some((other, _))) => compare(one, other),
                    };
                    match order {
                        Ordering::Less => merged.extend(one.next()),
                        Ordering::Greater => merged.extend(other.next()),
                        Ordering::Equal => {
                            let both = one.next().zip(other.next());
                            if let Some(((name, one), (_, other))) = both {
                                merged.push((name, self.compatible(one, other)?));
                            }
                        }
                    }
                }
                Type::Struct(merged)
            }
            _ => Type::Text,
        })
    }

    /// `TypeCoercion.findTightestCommonType`
    fn tightest(&self, one: &Type, other: &Type) -> Result<Option<Type>> {
        Ok(match (one, other) {
            (one, other) if one == other => Some(one.clone()),
            (Type::Null, only) | (only, Type::Null) => Some(only.clone()),
            (Type::Long, Type::Decimal(digits, scale))
            | (Type::Decimal(digits, scale), Type::Long) => {
                let is_wider = digits.saturating_sub(*scale) >= 20;
                is_wider.then_some(Type::Decimal(*digits, *scale))
            }
            (Type::Long, Type::Double) | (Type::Double, Type::Long) => Some(Type::Double),
            (Type::List(one), Type::List(other)) => {
                let element = self.tightest(one, other)?;
                element.map(|element| Type::List(Box::new(element)))
            }
            (Type::Struct(one), Type::Struct(other)) if one.len() == other.len() => {
                let mut fields = Vec::with_capacity(one.len());
                for ((name, one), (other_name, other)) in one.iter().zip(other) {
                    if !self.is_same(name, other_name)? {
                        return Ok(None);
                    }
                    match self.tightest(one, other)? {
                        Some(of) => fields.push((name.clone(), of)),
                        None => return Ok(None),
                    }
                }
                Some(Type::Struct(fields))
            }
            _ => None,
        })
    }

    /// Whether two names are those of the same column.
    fn is_same(&self, one: &str, other: &str) -> Result<bool> {
        match one == other {
            false if self.0.case_sensitive => Ok(false),
            false if one.is_ascii() && other.is_ascii() => Ok(one.eq_ignore_ascii_case(other)),
            false if one.chars().count() != other.chars().count() => Ok(false),
            false => Err(bail_out("names of JSON in other letters")),
            true => Ok(true),
        }
    }
}

/// The order of Java's texts: by their units of 16 bits.
fn compare(one: &str, other: &str) -> Ordering {
    one.encode_utf16().cmp(other.encode_utf16())
}

impl Type {
    /// `None` if there are more fields than `left`.
    fn data_type(&self, left: &mut usize) -> Option<DataType> {
        Some(match self {
            Self::Null => DataType::Null,
            Self::Boolean => DataType::Boolean,
            Self::Long => DataType::Long,
            Self::Double => DataType::Double,
            Self::Decimal(precision, scale) => DataType::Decimal(Decimal {
                precision: u8::try_from(*precision).ok()?,
                scale: i8::try_from(*scale).ok()?,
            }),
            Self::Text => DataType::String,
            Self::List(element) => DataType::Array {
                element: Box::new(element.data_type(left)?),
                contains_null: true,
            },
            Self::Struct(fields) => {
                let fields = fields.iter().map(|(name, of)| {
                    *left = left.checked_sub(1)?;
                    Some(StructField {
                        name: name.clone(),
                        data_type: of.data_type(left)?,
                        nullable: true,
                        field_id: None,
                        exists_default: None,
                    })
                });
                DataType::Struct(fields.collect::<Option<_>>()?)
            }
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{ArrayRef, StringViewArray};

    use super::*;

    fn inference() -> JsonInference {
        JsonInference {
            malformed: Malformed::Null,
            corrupt_record: "_corrupt_record".to_owned(),
            primitives_as_string: false,
            case_sensitive: false,
            max_number: 1000,
            max_text: 1000,
        }
    }

    fn found(inference: &JsonInference, texts: &[&str]) -> String {
        let column: ArrayRef = Arc::new(StringViewArray::from(texts.to_vec()));
        let batch = RecordBatch::try_from_iter([("value", column)]).unwrap();
        let mut types = JsonTypes::new(inference);
        match types.push(&batch).and_then(|()| types.finish()) {
            Ok(fields) => DataType::Struct(fields).to_string(),
            Err(_) => "left".to_owned(),
        }
    }

    #[test]
    fn types_of_texts_are_put_together() {
        for (texts, expected) in [
            (&[][..], "struct<>"),
            (&["", " "], "struct<>"),
            (
                &[r#"{"a":1}"#, r#"{"b":"x","a":2.5}"#],
                "struct<a:double,b:string>",
            ),
            (&[r#"{"a":null}"#], "struct<a:void>"),
            (&[r#"{"a":""}"#, r#"{"a":[]}"#], "struct<a:array<void>>"),
            (&[r#"{"a":[1,null,"x"]}"#], "struct<a:array<string>>"),
            (&[r#"{"a":9223372036854775808}"#], "struct<a:decimal(19,0)>"),
            (
                &[r#"{"a":9223372036854775808}"#, r#"{"a":1}"#],
                "struct<a:decimal(20,0)>",
            ),
            (
                &[r#"{"a":123456789012345678901}"#, r#"{"a":1}"#],
                "struct<a:decimal(21,0)>",
            ),
            (
                &[r#"{"a":9223372036854775808}"#, r#"{"a":1.5}"#],
                "struct<a:double>",
            ),
            (&[r#"{"a":true}"#, r#"{"a":1}"#], "struct<a:string>"),
            (
                &[r#"{"a":{"x":1}}"#, r#"{"a":{"y":1}}"#],
                "struct<a:struct<x:bigint,y:bigint>>",
            ),
            (&[r#"{"a":{"x":1}}"#, r#"{"a":1}"#], "struct<a:string>"),
            // Spark's merge of as many columns takes names in other letters for the same.
            (&[r#"{"A":1}"#, r#"{"a":2}"#], "struct<A:bigint>"),
            (
                &[r#"{"A":1}"#, r#"{"a":2,"b":1}"#],
                "struct<A:bigint,a:bigint,b:bigint>",
            ),
            (&[r#"[{"a":1},{"b":2}]"#], "struct<a:bigint,b:bigint>"),
            (&["1"], "struct<_corrupt_record:string>"),
            (
                &[r#"{"a":1}"#, "x"],
                "struct<_corrupt_record:string,a:bigint>",
            ),
            (&[r#"{"a":1"#], "struct<_corrupt_record:string>"),
            (&[r#"{"a":1,"a":2}"#], "left"),
            (&[r#"{"a":01}"#], "left"),
            (&[r#"{"a":NaN}"#], "left"),
            (&["{} {}"], "left"),
            (&["tru"], "struct<_corrupt_record:string>"),
        ] {
            assert_eq!(found(&inference(), texts), expected, "{texts:?}");
        }
    }

    #[test]
    fn options_are_obeyed() {
        let texts = [r#"{"a":1,"b":true}"#, "x"];
        let drops = JsonInference {
            malformed: Malformed::Drop,
            primitives_as_string: true,
            ..inference()
        };
        assert_eq!(found(&drops, &texts), "struct<a:string,b:string>");
        let fails = JsonInference {
            malformed: Malformed::Fail,
            ..inference()
        };
        assert_eq!(found(&fails, &texts), "left");
        let sensitive = JsonInference {
            case_sensitive: true,
            ..inference()
        };
        let texts = [r#"{"A":1}"#, r#"{"a":2}"#];
        assert_eq!(found(&sensitive, &texts), "struct<A:bigint,a:bigint>");
    }
}
