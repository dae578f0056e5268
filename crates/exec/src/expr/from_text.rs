//! Texts as values, as Spark's readers of CSV and JSON take them: `UnivocityParser` and `JacksonParser`, which go by
//! Java's methods where casts of Spark SQL have their own.

use catalyst::{DataType, Decimal, RecordTimes, Unsupported};
use javatime::Zone;
use javatime::calendar::DAY;

pub(crate) use super::cast::parse::Parsed;

use super::cast::parse::parse_date;
use super::cast::timestamp;
use super::java::{Special, parse_decimal, parse_double};
use super::parse_time::{Format, is_nothing};
use super::zone::zone_of;

/// How texts are read as dates and timestamps.
#[derive(Debug)]
pub(crate) struct Times {
    zone: Zone,
    date: Option<Format>,
    timestamp: Option<Format>,
    timestamp_ntz: Option<Format>,
}

impl Times {
    /// For values of these types.
    ///
    /// # Errors
    /// A pattern or the time zone, if a value needs it, is not known here.
    pub(crate) fn new<'a>(
        options: &RecordTimes,
        types: impl Iterator<Item = &'a DataType>,
    ) -> Result<Self, Unsupported> {
        let of = TimeTypes::of(types);
        let format = |is_needed: bool, pattern: &Option<String>| {
            let Some(pattern) = pattern.as_ref().filter(|_| is_needed) else {
                return Ok(None);
            };
            let unknown = || Unsupported::of_use(format!("the date format {pattern} for reading"));
            Format::of_numbers(pattern).map(Some).ok_or_else(unknown)
        };
        Ok(Self {
            zone: match of.timestamp {
                true => zone_of(Some(&options.zone))?,
                false => Zone::UTC,
            },
            date: format(of.date, &options.date)?,
            timestamp: format(of.timestamp, &options.timestamp)?,
            timestamp_ntz: format(of.timestamp_ntz, &options.timestamp_ntz)?,
        })
    }

    /// Days since the epoch.
    pub(crate) fn date(&self, text: &str) -> Parsed<i32> {
        let days = match &self.date {
            None => parse_date(text.as_bytes()),
            Some(format) => {
                let local = format.read(text).map(|local| local.div_euclid(DAY));
                local.and_then(|days| i32::try_from(days).ok())
            }
        };
        otherwise(days, self.date.as_ref(), text)
    }

    /// Whether a text is a date, where it may be something else as well.
    pub(crate) fn is_date(&self, text: &str) -> Result<bool, ()> {
        match &self.date {
            None => Ok(parse_date(text.as_bytes()).is_some()),
            Some(format) if format.is_sure(text) => Ok(format.read(text).is_some()),
            Some(_) => Ok(self.date(text)?.is_some()),
        }
    }

    /// Whether a text is a timestamp, where it may be something else as well.
    pub(crate) fn is_timestamp(&self, text: &str) -> Result<bool, ()> {
        match &self.timestamp {
            None => Ok(timestamp::parse(text, &self.zone)?.is_some()),
            Some(_) => Ok(self.timestamp(text)?.is_some()),
        }
    }

    /// Microseconds since the epoch.
    pub(crate) fn timestamp(&self, text: &str) -> Parsed<i64> {
        let instant = match &self.timestamp {
            None => timestamp::parse(text, &self.zone)?,
            Some(format) => {
                let local = format.read(text);
                local.and_then(|local| self.zone.instant(local))
            }
        };
        otherwise(instant, self.timestamp.as_ref(), text)
    }

    /// Microseconds of a time without a zone.
    pub(crate) fn timestamp_ntz(&self, text: &str) -> Parsed<i64> {
        let local = match &self.timestamp_ntz {
            None if has_zone(text) => return Err(()),
            None => timestamp::parse_local(text)?,
            Some(format) => format.read(text),
        };
        otherwise(local, self.timestamp_ntz.as_ref(), text)
    }
}

/// Which times there are in some types.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct TimeTypes {
    pub(crate) date: bool,
    pub(crate) timestamp: bool,
    pub(crate) timestamp_ntz: bool,
}

impl TimeTypes {
    pub(crate) fn of<'a>(types: impl Iterator<Item = &'a DataType>) -> Self {
        let mut found = Self::default();
        types.for_each(|of| found.add(of));
        found
    }

    fn add(&mut self, of: &DataType) {
        match of {
            DataType::Date => self.date = true,
            DataType::Timestamp => self.timestamp = true,
            DataType::TimestampNtz => self.timestamp_ntz = true,
            DataType::Array { element, .. } => self.add(element),
            DataType::Map { key, value, .. } => {
                self.add(key);
                self.add(value);
            }
            DataType::Struct(fields) => {
                fields.iter().for_each(|field| self.add(&field.data_type));
            }
            _ => {}
        }
    }
}

/// What is no time for Spark 3 may be one for the lenient formatters of Spark 2, which is an error of its own, or
/// without the `GMT` that old versions wrote.
fn otherwise<T>(found: Option<T>, format: Option<&Format>, text: &str) -> Parsed<T> {
    let by_number = format.is_none_or(Format::begins_with_number);
    match found {
        Some(value) => Ok(Some(value)),
        None if by_number && is_nothing(text) && !text.contains("GMT") => Ok(None),
        None => Err(()),
    }
}

/// Whether there may be a zone behind a date and a time.
fn has_zone(text: &str) -> bool {
    let behind_date = text
        .bytes()
        .skip("yyyy-MM-dd".len())
        .filter(|byte| *byte != b'T');
    let mut behind_date = behind_date;
    behind_date.any(|byte| !byte.is_ascii() || byte.is_ascii_alphabetic() || b"+-".contains(&byte))
}

/// As `Long.parseLong` and its like.
pub(crate) fn integer(text: &str, min: i64, max: i64) -> Parsed<i64> {
    // Digits of other scripts count.
    if !text.is_ascii() {
        return Err(());
    }
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return Ok(None);
    }
    let value = text.parse().ok();
    Ok(value.filter(|value| (min..=max).contains(value)))
}

/// As `Double.parseDouble` and `Float.parseFloat`.
pub(crate) fn float<T: std::str::FromStr + Special>(text: &str) -> Parsed<T> {
    let trimmed = text.trim_matches(|c: char| c <= ' ');
    let unsigned = trimmed.strip_prefix(['+', '-']).unwrap_or(trimmed);
    // Casts know other words.
    let is_word = unsigned.starts_with(|first: char| first.is_ascii_alphabetic());
    if is_word && !["NaN", "Infinity"].contains(&unsigned) {
        return Ok(None);
    }
    parse_double(trimmed)
}

/// As `new BigDecimal(text)`, where commas are left out, at a scale. None if it has too many digits.
pub(crate) fn decimal(text: &str, of: Decimal) -> Parsed<i128> {
    let blank = |c: char| c <= ' ';
    let plain = match text.contains(',') {
        true => &text.replace(',', ""),
        false => text,
    };
    if plain.starts_with(blank) || plain.ends_with(blank) {
        return if plain.is_ascii() { Ok(None) } else { Err(()) };
    }
    parse_decimal(plain, of.scale, of.precision)
}

/// As `toBoolean` of Scala's strings.
pub(crate) fn boolean(text: &str) -> Parsed<bool> {
    if text.eq_ignore_ascii_case("true") {
        Ok(Some(true))
    } else if text.eq_ignore_ascii_case("false") {
        Ok(Some(false))
    } else if text.is_ascii() {
        Ok(None)
    } else {
        // Some letters are others in upper case.
        Err(())
    }
}

#[cfg(test)]
mod tests {
    use javatime::{TimeZone, Zones};

    use super::*;

    const ALL: [DataType; 3] = [DataType::Date, DataType::Timestamp, DataType::TimestampNtz];

    fn times(pattern: Option<&str>) -> Times {
        let pattern = pattern.map(str::to_owned);
        let options = RecordTimes {
            zone: TimeZone::new("+01:00", &Zones::default()),
            date: pattern.clone(),
            timestamp: pattern.clone(),
            timestamp_ntz: pattern,
        };
        Times::new(&options, ALL.iter()).unwrap()
    }

    #[test]
    fn numbers_are_javas() {
        assert_eq!(integer("+7", i64::MIN, i64::MAX), Ok(Some(7)));
        assert_eq!(integer("-128", -128, 127), Ok(Some(-128)));
        assert_eq!(integer("128", -128, 127), Ok(None));
        for text in ["", " 7", "7.0", "-", "0x7", "9223372036854775808"] {
            assert_eq!(integer(text, i64::MIN, i64::MAX), Ok(None), "{text}");
        }
        assert_eq!(integer("٣", i64::MIN, i64::MAX), Err(()));
        assert_eq!(float(" 1.5d "), Ok(Some(1.5)));
        assert_eq!(float("-Infinity"), Ok(Some(f64::NEG_INFINITY)));
        assert!(float::<f64>("-NaN").unwrap().unwrap().is_nan());
        assert_eq!(float::<f64>("inf"), Ok(None));
        assert_eq!(float::<f64>("nan"), Ok(None));
        assert_eq!(float::<f64>("0x1p3"), Err(()));
        let of = Decimal {
            precision: 5,
            scale: 2,
        };
        assert_eq!(decimal("1,234.565", of), Ok(None));
        assert_eq!(decimal("1,23.565", of), Ok(Some(12_357)));
        assert_eq!(decimal(" 1", of), Ok(None));
        assert_eq!(boolean("True"), Ok(Some(true)));
        assert_eq!(boolean("t"), Ok(None));
        assert_eq!(boolean("falſe"), Err(()));
    }

    #[test]
    fn times_without_a_pattern_are_those_of_casts() {
        let times = times(None);
        assert_eq!(times.date("1970-1-2"), Ok(Some(1)));
        assert_eq!(times.date("abc"), Ok(None));
        assert_eq!(times.date("70"), Err(()));
        assert_eq!(times.timestamp("1970-01-01 01:00:00"), Ok(Some(0)));
        assert_eq!(times.timestamp("1970-01-01T00:00:00Z"), Ok(Some(0)));
        assert_eq!(times.timestamp("GMT1970"), Err(()));
        assert_eq!(
            times.timestamp_ntz("1970-01-01 00:00:01"),
            Ok(Some(1_000_000))
        );
        assert_eq!(
            times.timestamp_ntz("1970-01-01T00:00:01"),
            Ok(Some(1_000_000))
        );
        assert_eq!(times.timestamp_ntz("1970-01-01 00:00:01Z"), Err(()));
        assert_eq!(times.timestamp_ntz("1970-01-01 00:00:01+01"), Err(()));
    }

    #[test]
    fn times_by_a_pattern_are_as_wide_as_it() {
        let times = times(Some("yyyy-MM-dd"));
        assert_eq!(times.date("1970-01-02"), Ok(Some(1)));
        assert_eq!(times.date("1970-1-2"), Err(()));
        assert_eq!(times.date("x"), Ok(None));
        assert_eq!(times.timestamp("1970-01-02"), Ok(Some(23 * 3_600_000_000)));
        let unknown = RecordTimes {
            zone: TimeZone::new("UTC", &Zones::default()),
            date: None,
            timestamp: Some("yyyy-MM-dd'T'HH:mm:ssXXX".to_owned()),
            timestamp_ntz: None,
        };
        assert!(Times::new(&unknown, ALL.iter()).is_err());
        assert!(Times::new(&unknown, ALL[..1].iter()).is_ok());
    }
}
