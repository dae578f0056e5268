//! Types of the values of lines of CSV, as Spark's `CSVInferSchema` finds them out.

use arrow::array::RecordBatch;
use catalyst::{CsvInference, DataType, Decimal, MAX_PRECISION, Unsupported};
use datafusion_common::Result;
use rows::error::bail_out;

use super::csv::{Tokens, is_nothing, special};
use super::texts_of;
use crate::expr::from_text::{self, Times};

/// What the values of a column may be so far. What a value is tried as goes on with what comes behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Type {
    Null,
    Integer,
    Long,
    /// Whole numbers of so many digits.
    Decimal(u8),
    Double,
    Date,
    Timestamp,
    Boolean,
    Text,
}

/// The types of all lines of a partition.
#[derive(Debug)]
pub struct CsvTypes<'a> {
    rules: &'a CsvInference,
    times: Times,
    columns: Vec<Type>,
    /// Whether dates among timestamps are timestamps, too.
    dates_are_timestamps: bool,
    unescaped: Vec<u8>,
}

/// Patterns of dates that are timestamps to a cast.
const DATES_OF_CASTS: [&str; 7] = [
    "yyyy-MM-dd",
    "yyyy-M-d",
    "yyyy-M-dd",
    "yyyy-MM-d",
    "yyyy-MM",
    "yyyy-M",
    "yyyy",
];

impl<'a> CsvTypes<'a> {
    /// Of no line.
    ///
    /// # Errors
    /// A pattern or the time zone is not known here.
    pub fn new(rules: &'a CsvInference) -> std::result::Result<Self, Unsupported> {
        let types = [DataType::Date, DataType::Timestamp];
        Ok(Self {
            rules,
            times: Times::new(&rules.times, types.iter())?,
            columns: vec![Type::Null; rules.columns],
            dates_are_timestamps: match rules.times.date.as_deref() {
                None => true,
                Some(pattern) => DATES_OF_CASTS.contains(&pattern),
            },
            unescaped: Vec::new(),
        })
    }

    /// More lines: rows of one column.
    ///
    /// # Errors
    /// Bail-outs: a line that Spark has to look at.
    pub fn push(&mut self, batch: &RecordBatch) -> Result<()> {
        let mut lines = texts_of(batch)?.iter().flatten();
        lines.try_for_each(|line| self.line(line))
    }

    /// The type of each column; `NullType` if it has no value.
    #[must_use]
    pub fn finish(self) -> Vec<DataType> {
        let types = self.columns.into_iter();
        types.map(Type::data_type).collect()
    }

    fn line(&mut self, line: &str) -> Result<()> {
        let syntax = &self.rules.syntax;
        if is_nothing(line.as_bytes(), syntax) || (syntax.header && line == self.rules.first_line) {
            return Ok(());
        }
        let mut tokens = Tokens::new(line.as_bytes(), syntax)?;
        let mut count = 0;
        while let Some(token) = tokens.next(&mut self.unescaped)? {
            if count == syntax.max_columns {
                return Err(bail_out("lines with too many columns"));
            }
            if let Some(column) = self.columns.get_mut(count)
                && let Some(text) = token.text(syntax)?.filter(|text| !text.is_empty())
            {
                let found = found(*column, text, self.rules, &self.times);
                let found = found.map_err(|()| bail_out("a text that may be a value"))?;
                *column = column.with(found, self.dates_are_timestamps);
            }
            count += 1;
        }
        Ok(())
    }
}

/// What a value is, tried from what its column is so far. `Err` if only Java knows.
fn found(
    so_far: Type,
    text: &str,
    rules: &CsvInference,
    times: &Times,
) -> std::result::Result<Type, ()> {
    if so_far == Type::Text {
        return Ok(Type::Text);
    }
    // Digits of other scripts are some to Java, and a letter is an `s` in upper case.
    let foreign = |c: char| !c.is_ascii() && (c.is_numeric() || c == '\u{17f}');
    if text.contains(foreign) {
        return Err(());
    }
    if text.is_ascii() {
        if matches!(so_far, Type::Null | Type::Integer)
            && from_text::integer(text, i32::MIN.into(), i32::MAX.into())?.is_some()
        {
            return Ok(Type::Integer);
        }
        if matches!(so_far, Type::Null | Type::Integer | Type::Long)
            && from_text::integer(text, i64::MIN, i64::MAX)?.is_some()
        {
            return Ok(Type::Long);
        }
        let whole = matches!(
            so_far,
            Type::Null | Type::Integer | Type::Long | Type::Decimal(_)
        );
        if whole && let Some(digits) = whole_digits(text) {
            return Ok(Type::Decimal(digits));
        }
    }
    let number = !matches!(so_far, Type::Date | Type::Timestamp | Type::Boolean);
    let is_double = || match text.is_ascii() {
        true => Ok(from_text::float::<f64>(text)?.is_some()),
        false => Ok::<_, ()>(false),
    };
    if number && (special(text, &rules.syntax).is_some() || is_double()?) {
        return Ok(Type::Double);
    }
    if (number && rules.prefers_date || so_far == Type::Date) && times.is_date(text)? {
        return Ok(Type::Date);
    }
    if so_far != Type::Boolean && times.is_timestamp(text)? {
        return Ok(Type::Timestamp);
    }
    let is_boolean = text.eq_ignore_ascii_case("true") || text.eq_ignore_ascii_case("false");
    Ok(if is_boolean {
        Type::Boolean
    } else {
        Type::Text
    })
}

/// The digits of a `BigDecimal` that is a whole number without an exponent of its own: `12345678901234567890`, but
/// also `1.5e1`. `None` if it is none, or too long for a decimal.
fn whole_digits(text: &str) -> Option<u8> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (number, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((number, exponent)) => {
            let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
            if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
                return None;
            }
            // Longer ones belong to numbers that are too long.
            (number, exponent.parse::<i32>().ok()?)
        }
        None => (unsigned, 0),
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits = || whole.bytes().chain(fraction.bytes());
    if digits().next().is_none() || !digits().all(|b| b.is_ascii_digit()) {
        return None;
    }
    if i64::try_from(fraction.len()).ok()? != i64::from(exponent) {
        return None;
    }
    let precision = digits().skip_while(|digit| *digit == b'0').count().max(1);
    u8::try_from(precision).ok().filter(|p| *p <= MAX_PRECISION)
}

impl Type {
    /// `CSVInferSchema.compatibleType`
    fn with(self, other: Self, dates_are_timestamps: bool) -> Self {
        use Type::{Boolean, Date, Decimal, Double, Integer, Long, Null, Text, Timestamp};
        /// Digits of `DecimalType.forType`.
        const OF_INTEGER: u8 = 10;
        const OF_LONG: u8 = 20;
        match (self, other) {
            (a, b) if a == b => a,
            (Null, of) | (of, Null) => of,
            (Integer, Long) | (Long, Integer) => Long,
            (Integer, Decimal(digits)) | (Decimal(digits), Integer) => {
                Decimal(digits.max(OF_INTEGER))
            }
            (Long, Decimal(digits)) | (Decimal(digits), Long) => Decimal(digits.max(OF_LONG)),
            (Decimal(a), Decimal(b)) => Decimal(a.max(b)),
            (Double, Integer | Long | Decimal(_)) | (Integer | Long | Decimal(_), Double) => Double,
            (Date, Timestamp) | (Timestamp, Date) if dates_are_timestamps => Timestamp,
            (Boolean | Date | Timestamp | Text | Integer | Long | Decimal(_) | Double, _) => Text,
        }
    }

    fn data_type(self) -> DataType {
        match self {
            Self::Null => DataType::Null,
            Self::Integer => DataType::Integer,
            Self::Long => DataType::Long,
            Self::Decimal(precision) => DataType::Decimal(Decimal {
                precision,
                scale: 0,
            }),
            Self::Double => DataType::Double,
            Self::Date => DataType::Date,
            Self::Timestamp => DataType::Timestamp,
            Self::Boolean => DataType::Boolean,
            Self::Text => DataType::String,
        }
    }
}
