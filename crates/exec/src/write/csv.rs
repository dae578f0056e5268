//! Lines of CSV, as the writer of the univocity parsers makes them with Spark's settings.

use arrow::array::{Array as _, ArrayRef};
use catalyst::{Attribute, CsvWrite, Unsupported};
use datafusion_common::Result;

use crate::expr::value_text::{Atom, TimeTexts};

/// Makes lines of rows.
#[derive(Debug)]
pub(super) struct CsvLines {
    options: CsvWrite,
    atoms: Vec<Atom>,
    times: TimeTexts,
    /// By ASCII character, whether a value that has it is quoted.
    triggers: [bool; 128],
    /// The line with the names of columns.
    header: Option<String>,
}

/// What a value is made of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Origin {
    /// Whether it stands for what is null or empty.
    stands_in: bool,
    /// Whether it is the first of its line.
    first: bool,
}

impl CsvLines {
    /// # Errors
    /// Columns, or names of them, are not written here.
    pub(super) fn new(
        options: &CsvWrite,
        columns: &[Attribute],
    ) -> std::result::Result<Self, Unsupported> {
        let atoms = columns.iter().map(|column| {
            Atom::of(&column.data_type).ok_or_else(|| {
                Unsupported::of_use(format!("a write of CSV with a {}", column.data_type))
            })
        });
        let atoms = atoms.collect::<std::result::Result<_, _>>()?;
        let types = columns.iter().map(|column| &column.data_type);
        let mut triggers = [false; 128];
        let ends = options.line_separator.iter();
        let quote = options.escape_quotes.then_some(&options.quote);
        for byte in ends.chain(b"\r\n").chain(quote) {
            if let Some(is_trigger) = triggers.get_mut(usize::from(*byte)) {
                *is_trigger = true;
            }
        }
        let mut lines = Self {
            times: TimeTexts::new(&options.times, types)?,
            options: options.clone(),
            atoms,
            triggers,
            header: None,
        };
        if options.header {
            lines.header = Some(lines.names(columns)?);
        }
        Ok(lines)
    }

    /// The line with names, which has an end.
    pub(super) fn header(&self) -> Option<&str> {
        self.header.as_deref()
    }

    fn names(&self, columns: &[Attribute]) -> std::result::Result<String, Unsupported> {
        let mut line = String::new();
        for (at, column) in columns.iter().enumerate() {
            let name = column.name.as_str();
            // The library has rules of its own for such names.
            if name.trim() != name || name.contains('\'') || name.contains(|c: char| c <= ' ') {
                return Err(Unsupported::of_use("a write of CSV with special names"));
            }
            self.value(at, Some(name), &mut line);
        }
        self.end(&mut line, 0);
        Ok(line)
    }

    /// Writes a row; one without a character is no line.
    ///
    /// # Errors
    /// Bail-outs: a value whose text is not sure.
    pub(super) fn write(&self, columns: &[&ArrayRef], row: usize, out: &mut String) -> Result<()> {
        let start = out.len();
        let mut text = String::new();
        for (at, (column, atom)) in columns.iter().zip(&self.atoms).enumerate() {
            text.clear();
            let is_null = column.is_null(row);
            if !is_null {
                self.times.write(*atom, column, row, &mut text)?;
            }
            self.value(at, (!is_null).then_some(text.as_str()), out);
        }
        self.end(out, start);
        Ok(())
    }

    /// Ends a line that begins at `start`.
    fn end(&self, out: &mut String, start: usize) {
        if out.len() > start {
            self.line_end(out);
        }
    }

    fn line_end(&self, out: &mut String) {
        // ASCII.
        out.extend(
            self.options
                .line_separator
                .iter()
                .map(|byte| char::from(*byte)),
        );
    }

    /// Writes a value: `CsvWriter.processRow`.
    fn value(&self, at: usize, text: Option<&str>, out: &mut String) {
        let options = &self.options;
        if at > 0 {
            out.push(char::from(options.delimiter));
        }
        let is_blank = |text: &str| options.trim_leading && text.bytes().all(|byte| byte <= b' ');
        let (element, stands_in) = match text {
            None => (options.null_value.as_str(), true),
            Some(text) if text.is_empty() || is_blank(text) => (options.empty_value.as_str(), true),
            Some(text) => (text, false),
        };
        let origin = Origin {
            stands_in,
            first: at == 0,
        };
        let mut value = String::new();
        let quoted = self.append(origin, options.quote_all, element, &mut value);
        let quote = char::from(options.quote);
        if quoted {
            out.push(quote);
        }
        out.push_str(&value);
        if quoted {
            out.push(quote);
        }
    }

    /// `CsvWriter.append`: gives whether the value is to be quoted.
    fn append(&self, origin: Origin, quoted: bool, element: &str, value: &mut String) -> bool {
        let options = &self.options;
        let bytes = element.as_bytes();
        // What is blank is ASCII: a character begins behind it.
        let start = match options.trim_leading {
            true => bytes.iter().take_while(|byte| **byte <= b' ').count(),
            false => 0,
        };
        let begins = bytes.get(start);
        let is_comment =
            origin.first && begins.is_some() && bytes.first() == Some(&options.comment);
        if quoted || begins == Some(&options.quote) || is_comment {
            let is_whole = origin.stands_in
                && bytes.len() >= 2
                && bytes.first() == Some(&options.quote)
                && bytes.last() == Some(&options.quote);
            if is_whole {
                value.push_str(element);
                return false;
            }
            self.append_quoted(&element[start..], value);
            return true;
        }
        let is_special =
            |byte: u8| byte == options.quote || byte == options.escape || self.is_trigger(byte);
        let Some(at) = bytes.iter().skip(start).position(|byte| is_special(*byte)) else {
            value.push_str(&element[start..]);
            self.trim(value);
            return false;
        };
        // What is special is ASCII: a character begins there, and ends.
        let (before, rest) = element.split_at(start + at);
        value.push_str(&before[start..]);
        let is_quote = rest.starts_with([char::from(options.quote), char::from(options.escape)]);
        if !is_quote || rest.bytes().any(|byte| self.is_trigger(byte)) {
            self.append_quoted(rest, value);
            return true;
        }
        value.push_str(rest);
        self.trim(value);
        false
    }

    /// Whether a value that has it is quoted.
    fn is_trigger(&self, byte: u8) -> bool {
        let is_trigger = self.triggers.get(usize::from(byte));
        byte == self.options.delimiter || is_trigger.is_some_and(|is| *is)
    }

    /// `CsvWriter.appendQuoted`
    fn append_quoted(&self, element: &str, value: &mut String) {
        let options = &self.options;
        for c in element.chars() {
            let byte = u8::try_from(c).ok();
            if byte == Some(options.quote) {
                value.push(char::from(options.escape));
            } else if byte == Some(options.escape) && options.escape_of_escape != 0 {
                value.push(char::from(options.escape_of_escape));
            }
            match c {
                // Ends of lines of two characters stand for it.
                '\n' if options.line_separator.len() > 1 => self.line_end(value),
                c => value.push(c),
            }
        }
        self.trim(value);
    }

    /// Takes away what is blank at the end.
    fn trim(&self, value: &mut String) {
        if self.options.trim_trailing {
            let length = value.trim_end_matches(|c: char| c <= ' ').len();
            value.truncate(length);
        }
    }
}

#[cfg(test)]
mod tests {
    use catalyst::TimesText;
    use javatime::{TimeZone, Zones};

    use super::*;

    fn options() -> CsvWrite {
        CsvWrite {
            times: TimesText::new(TimeZone::new("UTC", &Zones::default())),
            delimiter: b',',
            quote: b'"',
            escape: b'\\',
            escape_of_escape: b'\\',
            comment: b'#',
            header: false,
            trim_leading: true,
            trim_trailing: true,
            null_value: String::new(),
            empty_value: "\"\"".to_owned(),
            quote_all: false,
            escape_quotes: true,
            line_separator: b"\n".to_vec(),
            extension: "csv".to_owned(),
        }
    }

    fn line(options: &CsvWrite, values: &[Option<&str>]) -> String {
        let lines = CsvLines::new(options, &[]).unwrap();
        let mut out = String::new();
        for (at, value) in values.iter().enumerate() {
            lines.value(at, *value, &mut out);
        }
        lines.end(&mut out, 0);
        out
    }

    #[test]
    fn values_are_quoted_where_they_must_be() {
        for (value, written) in [
            ("plain", "plain"),
            ("a,b", "\"a,b\""),
            ("a\"b", "\"a\\\"b\""),
            ("\"", "\"\\\"\""),
            ("a\\b", "a\\b"),
            ("a\\,b", "\"a\\\\,b\""),
            ("a\nb", "\"a\nb\""),
            ("  x ", "x"),
            ("   ", "\"\""),
            ("", "\"\""),
            ("#x", "\"#x\""),
            ("x#", "x#"),
            ("ä,\u{1f600}", "\"ä,\u{1f600}\""),
            (" a , b ", "\"a , b\""),
        ] {
            assert_eq!(line(&options(), &[Some(value)]), format!("{written}\n"));
        }
        assert_eq!(line(&options(), &[None]), "");
        assert_eq!(line(&options(), &[None, Some("#")]), ",#\n");
    }

    #[test]
    fn options_are_obeyed() {
        let all = CsvWrite {
            quote_all: true,
            null_value: "NULL".to_owned(),
            ..options()
        };
        assert_eq!(line(&all, &[None, Some("")]), "\"NULL\",\"\"\n");
        let kept = CsvWrite {
            trim_leading: false,
            trim_trailing: false,
            escape: b'"',
            escape_of_escape: 0,
            line_separator: b"\r\n".to_vec(),
            ..options()
        };
        assert_eq!(line(&kept, &[Some(" a\"\nb ")]), "\" a\"\"\r\nb \"\r\n");
        let unescaped = CsvWrite {
            escape_quotes: false,
            ..options()
        };
        assert_eq!(line(&unescaped, &[Some("a\"b")]), "a\"b\n");
        let short = CsvWrite {
            line_separator: b";".to_vec(),
            ..options()
        };
        assert_eq!(
            line(&short, &[Some("a\nb"), Some("c;")]),
            "\"a\nb\",\"c;\";"
        );
    }
}
