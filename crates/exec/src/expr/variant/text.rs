//! Variants as JSON, as Spark's `Variant.toJson` writes them.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use datafusion_common::Result;
use javatime::Zone;
use javatime::calendar::{Civil, SECOND, split};
use rows::error::bail_out;

use super::format::{Left, MAX_BYTES, MAX_DEPTH, Malformed, Value, Variant};
use crate::expr::cast::text::{decimal, float};
use crate::expr::java::JavaDouble;
use crate::expr::json_text::{quote, separate};

/// Appends a variant's text.
pub(crate) fn write(of: Variant<'_>, zone: &Zone, out: &mut String) -> Result<()> {
    let most = out.len() + 4 * MAX_BYTES;
    let left = Left::of(of);
    Writer { zone, most, left }.value(of, MAX_DEPTH, out)
}

struct Writer<'z> {
    /// That of timestamps.
    zone: &'z Zone,
    /// Longest text: names may be in many places.
    most: usize,
    left: Left,
}

impl Writer<'_> {
    fn value(&mut self, of: Variant<'_>, depth: usize, out: &mut String) -> Result<()> {
        let depth = depth.checked_sub(1).ok_or(Malformed)?;
        self.left.take(of)?;
        if out.len() > self.most {
            return Err(Malformed.into());
        }
        match of.value()? {
            Value::Object(object) => {
                out.push('{');
                for (at, field) in object.fields().enumerate() {
                    let (name, value) = field?;
                    separate(at == 0, out);
                    quote(name, out);
                    out.push(':');
                    self.value(value, depth, out)?;
                }
                out.push('}');
            }
            Value::Array(array) => {
                out.push('[');
                for (at, element) in array.elements().enumerate() {
                    separate(at == 0, out);
                    self.value(element?, depth, out)?;
                }
                out.push(']');
            }
            other => self.plain(&other, out)?,
        }
        Ok(())
    }

    fn plain(&self, value: &Value<'_>, out: &mut String) -> Result<()> {
        match value {
            Value::Boolean(value) => out.push_str(if *value { "true" } else { "false" }),
            Value::Long(value) => {
                let _ = write!(out, "{value}");
            }
            Value::Double(value) => self.float(*value, out, || JavaDouble::of(*value))?,
            Value::Float(value) => {
                self.float((*value).into(), out, || JavaDouble::of_float(*value))?;
            }
            // Of at most 38 digits.
            Value::Decimal(of) => decimal(of.unscaled, of.scale as i8, true, out),
            Value::Text(text) => quote(text, out),
            Value::Binary(bytes) => {
                let _ = write!(out, "\"{}\"", STANDARD.encode(bytes));
            }
            Value::Date(days) => {
                out.push('"');
                date(*days, out)?;
                out.push('"');
            }
            Value::Timestamp(micros) => {
                out.push('"');
                let local = time(*micros, self.zone, out)?;
                offset(local - micros, out);
                out.push('"');
            }
            Value::TimestampNtz(micros) => {
                out.push('"');
                time(*micros, &Zone::UTC, out)?;
                out.push('"');
            }
            Value::Null | Value::Object(_) | Value::Array(_) => out.push_str("null"),
        }
        Ok(())
    }

    /// What is no number of JSON is a text.
    fn float(
        &self,
        value: f64,
        out: &mut String,
        digits: impl Fn() -> Option<JavaDouble>,
    ) -> Result<()> {
        if value.is_finite() {
            return float(value, out, digits);
        }
        out.push('"');
        float(value, out, digits)?;
        out.push('"');
        Ok(())
    }
}

fn date(days: i32, out: &mut String) -> Result<()> {
    let Civil { year, month, day } = Civil::of_days(days);
    if !(0..=9999).contains(&year) {
        return Err(bail_out("a date whose year has not four digits as text"));
    }
    let _ = write!(out, "{year:04}-{month:02}-{day:02}");
    Ok(())
}

/// Writes the local time of an instant, and gives it.
fn time(micros: i64, zone: &Zone, out: &mut String) -> Result<i64> {
    let local = zone.local(micros);
    let local = local.ok_or_else(|| bail_out("a timestamp that overflows"))?;
    let (days, of_day) = split(local);
    date(days, out)?;
    let (seconds, fraction) = (of_day / SECOND, of_day % SECOND);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    let _ = write!(out, " {hour:02}:{minute:02}:{second:02}");
    if fraction != 0 {
        let fraction = format!("{fraction:06}");
        let _ = write!(out, ".{}", fraction.trim_end_matches('0'));
    }
    Ok(local)
}

/// Hours and minutes of an offset in microseconds; its seconds are left out.
fn offset(micros: i64, out: &mut String) {
    let minutes = (micros / SECOND / 60).abs();
    let sign = if micros < 0 && minutes > 0 { '-' } else { '+' };
    let _ = write!(out, "{sign}{:02}:{:02}", minutes / 60, minutes % 60);
}
