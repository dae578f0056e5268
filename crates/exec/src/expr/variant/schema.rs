//! Types of variants, as Spark's `SchemaOfVariant` writes them.

use std::fmt::Write as _;

use super::format::{Left, MAX_DEPTH, Malformed, Read, Value, Variant, java_order};

/// Digits of a long as a decimal.
const LONG: (u8, u8) = (20, 0);

/// The type of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Schema<'a> {
    Null,
    Boolean,
    Long,
    Float,
    Double,
    Text,
    Binary,
    Date,
    Timestamp,
    TimestampNtz,
    /// Of any type.
    Variant,
    /// Precision and scale.
    Decimal(u8, u8),
    Array(Box<Self>),
    /// In the order of names.
    Object(Vec<(&'a str, Self)>),
}

/// Appends the type of a variant.
pub(super) fn write(of: Variant<'_>, out: &mut String) -> Read<()> {
    let schema = Schema::of(of, MAX_DEPTH, &mut Left::of(of))?;
    schema.write(out);
    Ok(())
}

impl<'a> Schema<'a> {
    fn of(of: Variant<'a>, depth: usize, left: &mut Left) -> Read<Self> {
        let depth = depth.checked_sub(1).ok_or(Malformed)?;
        left.take(of)?;
        Ok(match of.value()? {
            Value::Null => Self::Null,
            Value::Boolean(_) => Self::Boolean,
            Value::Long(_) => Self::Long,
            Value::Float(_) => Self::Float,
            Value::Double(_) => Self::Double,
            Value::Decimal(digits) => Self::Decimal(digits.precision(), digits.scale),
            Value::Date(_) => Self::Date,
            Value::Timestamp(_) => Self::Timestamp,
            Value::TimestampNtz(_) => Self::TimestampNtz,
            Value::Text(_) => Self::Text,
            Value::Binary(_) => Self::Binary,
            Value::Array(array) => {
                let mut element = Self::Null;
                for next in array.elements() {
                    element = element.merged(Self::of(next?, depth, left)?)?;
                }
                Self::Array(Box::new(element))
            }
            Value::Object(object) => {
                let mut fields: Vec<(&str, Self)> = Vec::new();
                for field in object.fields() {
                    let (name, value) = field?;
                    let last = fields.last();
                    if last.is_some_and(|(last, _)| java_order(last, name).is_ge()) {
                        return Err(Malformed);
                    }
                    fields.push((name, Self::of(value, depth, left)?));
                }
                Self::Object(fields)
            }
        })
    }

    /// The type of what is of either, as `JsonInferSchema.compatibleType` has it.
    fn merged(self, other: Self) -> Read<Self> {
        Ok(match (self, other) {
            (of, other) if of == other => of,
            (Self::Null, of) | (of, Self::Null) => of,
            (Self::Double, Self::Long | Self::Float | Self::Decimal(..))
            | (Self::Long | Self::Float | Self::Decimal(..), Self::Double) => Self::Double,
            (Self::Long, Self::Float) | (Self::Float, Self::Long) => Self::Float,
            // By the version.
            (Self::Float, Self::Decimal(..)) | (Self::Decimal(..), Self::Float) => {
                return Err(Malformed);
            }
            (Self::Long, Self::Decimal(precision, scale))
            | (Self::Decimal(precision, scale), Self::Long) => wider(LONG, (precision, scale)),
            (Self::Decimal(precision, scale), Self::Decimal(other, of)) => {
                wider((precision, scale), (other, of))
            }
            (Self::Timestamp, Self::Date | Self::TimestampNtz)
            | (Self::Date | Self::TimestampNtz, Self::Timestamp) => Self::Timestamp,
            (Self::Date, Self::TimestampNtz) | (Self::TimestampNtz, Self::Date) => {
                Self::TimestampNtz
            }
            (Self::Array(element), Self::Array(other)) => {
                Self::Array(Box::new(element.merged(*other)?))
            }
            (Self::Object(fields), Self::Object(others)) => Self::Object(all(fields, others)?),
            _ => Self::Variant,
        })
    }

    fn write(&self, out: &mut String) {
        out.push_str(match self {
            Self::Null => "VOID",
            Self::Boolean => "BOOLEAN",
            Self::Long => "BIGINT",
            Self::Float => "FLOAT",
            Self::Double => "DOUBLE",
            Self::Text => "STRING",
            Self::Binary => "BINARY",
            Self::Date => "DATE",
            Self::Timestamp => "TIMESTAMP",
            Self::TimestampNtz => "TIMESTAMP_NTZ",
            Self::Variant => "VARIANT",
            Self::Decimal(precision, scale) => {
                let _ = write!(out, "DECIMAL({precision},{scale})");
                return;
            }
            Self::Array(element) => {
                out.push_str("ARRAY<");
                element.write(out);
                out.push('>');
                return;
            }
            Self::Object(fields) => {
                out.push_str("OBJECT<");
                for (at, (name, of)) in fields.iter().enumerate() {
                    if at > 0 {
                        out.push_str(", ");
                    }
                    quote(name, out);
                    out.push_str(": ");
                    of.write(out);
                }
                out.push('>');
                return;
            }
        });
    }
}

/// A decimal that has the digits of both, or a double.
fn wider<'a>(left: (u8, u8), right: (u8, u8)) -> Schema<'a> {
    let scale = left.1.max(right.1);
    // Of neither there are more digits behind the point than there are.
    let before = left
        .0
        .saturating_sub(left.1)
        .max(right.0.saturating_sub(right.1));
    match before + scale {
        precision @ ..=38 => Schema::Decimal(precision, scale),
        _ => Schema::Double,
    }
}

/// The fields of both, each in the order of names.
fn all<'a>(
    fields: Vec<(&'a str, Schema<'a>)>,
    others: Vec<(&'a str, Schema<'a>)>,
) -> Read<Vec<(&'a str, Schema<'a>)>> {
    // Where the session does not look at the case of letters, such names are one to it.
    let alike =
        |(a, b): (&(&str, _), &(&str, _))| a.0 == b.0 || a.0.to_lowercase() != b.0.to_lowercase();
    if fields.len() == others.len() && !fields.iter().zip(&others).all(alike) {
        return Err(Malformed);
    }
    let mut made = Vec::new();
    let (mut left, mut right) = (fields.into_iter().peekable(), others.into_iter().peekable());
    while let (Some((a, _)), Some((b, _))) = (left.peek(), right.peek()) {
        match java_order(a, b) {
            std::cmp::Ordering::Less => made.extend(left.next()),
            std::cmp::Ordering::Greater => made.extend(right.next()),
            std::cmp::Ordering::Equal => {
                if let (Some((name, of)), Some((_, other))) = (left.next(), right.next()) {
                    made.push((name, of.merged(other)?));
                }
            }
        }
    }
    made.extend(left);
    made.extend(right);
    Ok(made)
}

/// A name as `QuotingUtils.quoteIfNeeded` writes it.
fn quote(name: &str, out: &mut String) {
    let is_plain = |(at, of): (usize, char)| {
        of.is_ascii_alphabetic() || of == '_' || (at > 0 && of.is_ascii_digit())
    };
    if !name.is_empty() && name.chars().enumerate().all(is_plain) {
        out.push_str(name);
        return;
    }
    let _ = write!(out, "`{}`", name.replace('`', "``"));
}
