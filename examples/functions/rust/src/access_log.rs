//! `parse_access_log`: lines of a web server's access log as columns.
//!
//! Lines are of the Common Log Format, as Apache and nginx write it:
//!
//! ```text
//! 127.0.0.1 - frank [10/Oct/2000:13:55:36 -0700] "GET /apache_pb.gif HTTP/1.0" 200 2326
//! ```
//! What follows after a space, as in the Combined Log Format, is not looked at. A `-` for the bytes is null, and so is
//! a path if the request has only one word.
//!
//! Each line gives one row. A line that is not of this format gives a row of nulls, as does a null: its `host` is null,
//! which that of other lines never is, so that such rows can be told and counted. How many there were is logged.

use std::sync::Arc;

use functions::arrow::array::{
    ArrayRef, AsArray, Int32Builder, Int64Builder, RecordBatch, StringBuilder,
    TimestampMicrosecondBuilder,
};
use functions::arrow::datatypes::Fields;
use functions::arrow::ffi_stream::ArrowArrayStreamReader;
use functions::guest::{
    Batches, Binding, Declaration, Failure, Level, Partition, StreamInstance, Task, by_batch,
};

pub(crate) struct ParseAccessLog;

impl Partition for ParseAccessLog {
    fn declaration(&self) -> Declaration {
        let columns =
            "host:string, time:timestamp, method:string, path:string, status:int, bytes:bigint";
        Declaration::new("parse_access_log")
            .description("Lines of the Common Log Format as columns")
            .signature("value:string", columns)
    }

    fn bind(&self, binding: &Binding) -> Result<Box<dyn StreamInstance>, Failure> {
        Ok(Box::new(Instance {
            columns: binding.columns(),
        }))
    }
}

struct Instance {
    columns: Fields,
}

impl StreamInstance for Instance {
    fn open(&mut self, task: &Task, input: ArrowArrayStreamReader) -> Result<Batches, Failure> {
        let mut parser = Parser {
            task: task.clone(),
            bad_lines: 0,
        };
        Ok(by_batch(input, &self.columns, move |batch| {
            parser.batch(batch)
        }))
    }
}

struct Parser {
    task: Task,
    bad_lines: usize,
}

impl Parser {
    fn batch(&mut self, batch: &RecordBatch) -> Result<Vec<ArrayRef>, Failure> {
        self.task.check_cancelled()?;
        let mut hosts = StringBuilder::new();
        let mut times = TimestampMicrosecondBuilder::new().with_timezone(self.task.time_zone());
        let mut methods = StringBuilder::new();
        let mut paths = StringBuilder::new();
        let mut statuses = Int32Builder::new();
        let mut sizes = Int64Builder::new();
        for text in batch.column(0).as_string::<i32>() {
            let line = text.and_then(Line::parse);
            self.bad_lines += usize::from(text.is_some() && line.is_none());
            hosts.append_option(line.as_ref().map(|line| line.host));
            times.append_option(line.as_ref().map(|line| line.time));
            methods.append_option(line.as_ref().map(|line| line.method));
            paths.append_option(line.as_ref().and_then(|line| line.path));
            statuses.append_option(line.as_ref().map(|line| line.status));
            sizes.append_option(line.as_ref().and_then(|line| line.bytes));
        }
        Ok(vec![
            Arc::new(hosts.finish()),
            Arc::new(times.finish()),
            Arc::new(methods.finish()),
            Arc::new(paths.finish()),
            Arc::new(statuses.finish()),
            Arc::new(sizes.finish()),
        ])
    }
}

impl Drop for Parser {
    fn drop(&mut self) {
        if self.bad_lines > 0 {
            let message = format!("{} lines are not of the Common Log Format", self.bad_lines);
            self.task.log(Level::Warn, &message);
        }
    }
}

#[derive(Debug, PartialEq)]
struct Line<'l> {
    host: &'l str,
    /// Microseconds since 1970.
    time: i64,
    method: &'l str,
    path: Option<&'l str>,
    status: i32,
    bytes: Option<i64>,
}

impl<'l> Line<'l> {
    fn parse(line: &'l str) -> Option<Self> {
        let (host, rest) = line.split_once(' ')?;
        let (_identity, rest) = rest.split_once(' ')?;
        // Names of users may have spaces.
        let (_user, rest) = rest.split_once(" [")?;
        let (time, rest) = rest.split_once("] \"")?;
        let (request, rest) = rest.split_at_checked(end_of_quoted(rest)?)?;
        let rest = rest.strip_prefix("\" ")?;
        let mut rest = rest.trim_end_matches(['\r', '\n']).split(' ');
        let status = number(rest.next()?, 3)?;
        let bytes = match rest.next()? {
            "-" => None,
            bytes => Some(number(bytes, 18)?),
        };
        let (method, path) = match request.split_once(' ') {
            // The last word is the protocol; very old requests have none.
            Some((method, rest)) => match rest.rsplit_once(' ') {
                Some((path, _protocol)) => (method, Some(path)),
                None => (method, Some(rest)),
            },
            None => (request, None),
        };
        (!host.is_empty()).then_some(Self {
            host,
            time: instant(time)?,
            method,
            path,
            status: i32::try_from(status).ok()?,
            bytes,
        })
    }
}

/// Where a text ends that began with a quotation mark: at one without a backslash.
fn end_of_quoted(text: &str) -> Option<usize> {
    let mut escaped = false;
    text.bytes().position(|byte| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    })
}

/// `10/Oct/2000:13:55:36 -0700` as microseconds since 1970.
fn instant(text: &str) -> Option<i64> {
    const MONTHS: [&str; 12] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ];
    let (time, zone) = text.split_once(' ')?;
    let (date, time) = time.split_once(':')?;
    let [day, month, year] = three(date, '/')?;
    let [hour, minute, second] = three(time, ':')?;
    let month = MONTHS.iter().position(|name| *name == month)?;
    let (day, month, year) = (
        number(day, 2)?,
        i64::try_from(month).ok()? + 1,
        number(year, 4)?,
    );
    let (hour, minute, second) = (number(hour, 2)?, number(minute, 2)?, number(second, 2)?);
    // A leap second is the first of the next minute.
    if day == 0 || day > days_of_month(month, year) || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let seconds = (days(day, month, year) * 24 + hour) * 3600 + minute * 60 + second;
    Some((seconds - offset(zone)?) * 1_000_000)
}

/// `-0700` as seconds.
fn offset(zone: &str) -> Option<i64> {
    let (sign, zone) = zone.split_at_checked(1)?;
    let (hours, minutes) = zone.split_at_checked(2)?;
    let (hours, minutes) = (number(hours, 2)?, number(minutes, 2)?);
    let seconds = hours * 3600 + minutes * 60;
    match sign {
        _ if zone.len() != 4 || hours > 18 || minutes > 59 => None,
        "+" => Some(seconds),
        "-" => Some(-seconds),
        _ => None,
    }
}

fn three(text: &str, separator: char) -> Option<[&str; 3]> {
    let mut parts = text.split(separator);
    let three = [parts.next()?, parts.next()?, parts.next()?];
    parts.next().is_none().then_some(three)
}

/// Digits only, and not more than so many.
fn number(text: &str, digits: usize) -> Option<i64> {
    let is_number = text.len() <= digits && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().ok())?
}

fn days_of_month(month: i64, year: i64) -> i64 {
    days(1, month % 12 + 1, year + month / 12) - days(1, month, year)
}

/// Days since 1970 in the Gregorian calendar; years are counted from March on, so that leap days are the last.
fn days(day: i64, month: i64, year: i64) -> i64 {
    let year = if month > 2 { year } else { year - 1 };
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    year * 365 + leap_days + day_of_year - 719_468
}

#[cfg(test)]
mod tests {
    use functions::abi::FIRESTEEL_LOG_WARN;
    use functions::arrow::array::{Array, StringArray};
    use functions::arrow::datatypes::{Int32Type, Int64Type, TimestampMicrosecondType};
    use functions::testing::Host;

    use super::*;

    const EXAMPLE: &str =
        r#"127.0.0.1 - frank [10/Oct/2000:13:55:36 -0700] "GET /apache_pb.gif HTTP/1.0" 200 2326"#;

    fn strings(array: &ArrayRef) -> Vec<Option<String>> {
        let texts = array.as_string::<i32>().iter();
        texts.map(|text| text.map(str::to_owned)).collect()
    }

    #[test]
    fn lines_of_the_format() {
        let line = Line {
            host: "127.0.0.1",
            time: 971_211_336_000_000,
            method: "GET",
            path: Some("/apache_pb.gif"),
            status: 200,
            bytes: Some(2326),
        };
        assert_eq!(Line::parse(EXAMPLE).as_ref(), Some(&line));
        assert_eq!(Line::parse(&format!("{EXAMPLE}\r\n")), Some(line));
        let combined = format!(r#"{EXAMPLE} "http://example.org/" "Mozilla/5.0 (X11)""#);
        assert_eq!(Line::parse(&combined), Line::parse(EXAMPLE));

        let odd = r#"::1 - a user [29/Feb/2024:23:59:60 +0530] "GET /a b?q=\"x\" HTTP/2" 304 -"#;
        let odd = Line::parse(odd).unwrap();
        assert_eq!(odd.path, Some(r#"/a b?q=\"x\""#));
        assert_eq!(odd.bytes, None);
        assert_eq!(odd.time, 1_709_231_400_000_000);

        let old = r#"h - - [01/Jan/1970:00:00:00 +0000] "GET /" 200 0"#;
        let old = Line::parse(old).unwrap();
        assert_eq!((old.method, old.path, old.time), ("GET", Some("/"), 0));
        let short = r#"h - - [01/Jan/1970:00:00:00 +0000] "-" 408 -"#;
        let short = Line::parse(short).unwrap();
        assert_eq!((short.method, short.path), ("-", None));
    }

    #[test]
    fn lines_of_no_format() {
        let replaced = |from: &str, to: &str| {
            assert!(EXAMPLE.contains(from));
            EXAMPLE.replace(from, to)
        };
        for line in [
            String::new(),
            "hello".into(),
            replaced("127.0.0.1", ""),
            replaced("10/Oct", "32/Oct"),
            replaced("10/Oct", "00/Oct"),
            replaced("10/Oct", "31/Sep"),
            replaced("10/Oct/2000", "29/Feb/2001"),
            replaced("Oct", "Okt"),
            replaced("13:55", "24:55"),
            replaced("13:55:36", "13:55"),
            replaced("-0700", "0700"),
            replaced("-0700", "-07é"),
            replaced("-0700", "-+7+0"),
            replaced(" -0700", ""),
            replaced("HTTP/1.0\"", "HTTP/1.0"),
            replaced("HTTP/1.0\"", "HTTP/1.0\\\""),
            replaced("200", "+20"),
            replaced("200", "2000"),
            replaced("2326", "2,326"),
            replaced("2326", "99999999999999999999"),
            replaced(" 2326", ""),
        ] {
            assert_eq!(Line::parse(&line), None, "{line}");
        }
        // Cut anywhere, it is no line and nothing panics.
        let whole = EXAMPLE.len() - "326".len();
        for end in 0..whole {
            assert_eq!(Line::parse(&EXAMPLE[..end]), None);
        }
    }

    #[test]
    fn days_are_counted() {
        for (day, month, year, expected) in [
            (1, 1, 1970, 0),
            (31, 12, 1969, -1),
            (1, 3, 2000, 11_017),
            (29, 2, 2000, 11_016),
            (1, 1, 1900, -25_567),
            (1, 1, 2100, 47_482),
        ] {
            assert_eq!(days(day, month, year), expected);
        }
        assert_eq!(days_of_month(12, 2023), 31);
        assert_eq!(days_of_month(2, 1900), 28);
        assert_eq!(days_of_month(2, 2000), 29);
    }

    #[test]
    fn each_line_is_a_row() {
        let host = Host::new(crate::module);
        let parse = host.bind("parse_access_log", "value:string").unwrap();
        let lines: ArrayRef = Arc::new(StringArray::from(vec![
            Some(EXAMPLE),
            Some("no line"),
            None,
            Some(r#"h - - [01/Jan/1970:00:00:00 +0000] "-" 408 -"#),
        ]));
        let lines = RecordBatch::try_from_iter([("value", lines)]).unwrap();
        let batches = vec![lines.slice(0, 1), lines.slice(1, 3), lines.slice(0, 0)];
        let output: Vec<_> = parse.open(batches).unwrap().map(Result::unwrap).collect();
        let rows: Vec<_> = output.iter().map(RecordBatch::num_rows).collect();
        assert_eq!(rows, [1, 3, 0]);
        let first = output.first().unwrap();
        let time = first.column(1).as_primitive::<TimestampMicrosecondType>();
        assert_eq!(time.value(0), 971_211_336_000_000);
        assert_eq!(first.column(5).as_primitive::<Int64Type>().value(0), 2326);
        let others = &output[1];
        assert_eq!(
            strings(others.column(0)),
            [None, None, Some("h".to_owned())]
        );
        assert_eq!(strings(others.column(3)), [None, None, None]);
        let status = others.column(4).as_primitive::<Int32Type>();
        assert!(status.is_null(0) && status.is_null(1) && status.value(2) == 408);
        let message = "1 lines are not of the Common Log Format".to_owned();
        assert_eq!(host.logged(), [(FIRESTEEL_LOG_WARN, message)]);
    }
}
