//! Files of Java properties, as `spark-submit` reads `spark-defaults.conf` (`java.util.Properties.load`, in UTF-8).

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::Path;

/// Largest file that is read, in bytes.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// Reads a file. A later line of a name wins.
///
/// # Errors
/// It cannot be read, has more than [`MAX_FILE_BYTES`], or an escape in it is malformed, which Java refuses too.
pub(super) fn read(file: &Path) -> io::Result<BTreeMap<String, String>> {
    let mut bytes = Vec::new();
    let limited = std::fs::File::open(file)?.take(MAX_FILE_BYTES + 1);
    { limited }.read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(io::Error::new(
            io::ErrorKind::FileTooLarge,
            format!("it has more than {} MiB", MAX_FILE_BYTES >> 20),
        ));
    }
    let text = String::from_utf8_lossy(&bytes);
    parse(&text).ok_or_else(|| {
        io::Error::new(
            io::ErrorKind::InvalidData,
            "malformed \\uxxxx encoding in it",
        )
    })
}

/// The properties of a text; `None` if an escape is malformed. Of blanks around values Spark removes what Java leaves.
fn parse(text: &str) -> Option<BTreeMap<String, String>> {
    let lines = logical_lines(text);
    let pairs = lines.iter().map(|line| {
        let (key, value) = split(line);
        Some((unescape(key)?, trim(&unescape(value)?).to_owned()))
    });
    pairs.collect()
}

const fn is_blank(ch: char) -> bool {
    matches!(ch, ' ' | '\t' | '\x0c')
}

const fn is_line_end(ch: char) -> bool {
    matches!(ch, '\n' | '\r')
}

/// Lines without comments, blanks in front and empty ones. One that ends with an odd number of backslashes goes on in
/// the next line.
fn logical_lines(text: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    let mut chars = text.chars().peekable();
    // Whether an empty line may be passed over, which is not so if the one before goes on here.
    let mut begins = true;
    loop {
        while chars
            .next_if(|ch| is_blank(*ch) || (begins && is_line_end(*ch)))
            .is_some()
        {}
        begins = true;
        if line.is_empty() && chars.next_if(|ch| matches!(ch, '#' | '!')).is_some() {
            while chars.next_if(|ch| !is_line_end(*ch)).is_some() {}
            continue;
        }
        let mut escaped = false;
        while let Some(ch) = chars.next_if(|ch| !is_line_end(*ch)) {
            escaped = ch == '\\' && !escaped;
            line.push(ch);
        }
        if escaped {
            line.pop();
        }
        let end = chars.next();
        if escaped && end.is_some() {
            if end == Some('\r') {
                chars.next_if_eq(&'\n');
            }
            begins = false;
            continue;
        }
        if !line.is_empty() {
            lines.push(std::mem::take(&mut line));
        }
        if end.is_none() {
            return lines;
        }
    }
}

/// Key and value: between them is `=`, `:` or a blank, with any number of blanks around it.
fn split(line: &str) -> (&str, &str) {
    let mut escaped = false;
    let end = line.find(|ch| {
        let ends = !escaped && (is_blank(ch) || matches!(ch, '=' | ':'));
        escaped = ch == '\\' && !escaped;
        ends
    });
    let (key, rest) = line.split_at(end.unwrap_or(line.len()));
    let rest = rest.trim_start_matches(is_blank);
    let value = rest.strip_prefix(['=', ':']).unwrap_or(rest);
    (key, value.trim_start_matches(is_blank))
}

/// The text without backslashes; `None` if four hexadecimal digits do not follow a `\u`.
fn unescape(text: &str) -> Option<String> {
    if !text.contains('\\') {
        return Some(text.to_owned());
    }
    // Escapes are units of UTF-16: two of them can be one character.
    let mut units = Vec::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(ch) = chars.next() {
        let ch = match ch {
            '\\' => match chars.next() {
                Some('u') => {
                    let digits: String = chars.by_ref().take(4).collect();
                    let hex = digits.len() == 4 && digits.chars().all(|ch| ch.is_ascii_hexdigit());
                    units.push(hex.then(|| u16::from_str_radix(&digits, 16).ok())??);
                    continue;
                }
                Some('t') => '\t',
                Some('n') => '\n',
                Some('r') => '\r',
                Some('f') => '\x0c',
                Some(other) => other,
                None => break,
            },
            other => other,
        };
        units.extend_from_slice(ch.encode_utf16(&mut [0; 2]));
    }
    Some(String::from_utf16_lossy(&units))
}

/// Spark's `trimExceptCRLF`: without what is not above the blank around it, but for ends of lines.
fn trim(value: &str) -> &str {
    value.trim_matches(|ch| ch <= ' ' && !is_line_end(ch))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(text: &str) -> Vec<(String, String)> {
        parse(text).unwrap().into_iter().collect()
    }

    #[test]
    fn keys_and_values_are_split_as_in_java() {
        for (line, key, value) in [
            ("spark.a b", "spark.a", "b"),
            ("spark.a=b", "spark.a", "b"),
            ("spark.a:b", "spark.a", "b"),
            ("  spark.a \t = \x0c b c  ", "spark.a", "b c"),
            ("spark.a = = b", "spark.a", "= b"),
            ("spark.a", "spark.a", ""),
            ("spark.a  ", "spark.a", ""),
            ("=b", "", "b"),
            ("a\\ b\\=c\\:d=e", "a b=c:d", "e"),
            ("a\\\\=b", "a\\", "b"),
            ("a = b\\tc\\nd\\qe\\\\", "a", "b\tc\ndqe\\"),
            ("a = \\u00e9\\ud83d\\ude00\\ud83d", "a", "é😀\u{fffd}"),
            ("a = b # c", "a", "b # c"),
            ("a = \\t b \\n", "a", "b \n"),
        ] {
            assert_eq!(pairs(line), [(key.to_owned(), value.to_owned())], "{line}");
        }
    }

    #[test]
    fn lines_are_those_of_java() {
        let text = "# comment \\\n! another\r\n\n \t\r a 1\rb = 2\\\n   3\\\r\n\t4\nc 5\\\\\nd 6\\\n\ne 7\\";
        let expected = [
            ("a", "1"),
            ("b", "234"),
            ("c", "5\\"),
            ("d", "6"),
            ("e", "7"),
        ];
        assert_eq!(
            pairs(text),
            expected.map(|(key, value)| (key.to_owned(), value.to_owned()))
        );
        assert_eq!(pairs("a 1\na 2"), [("a".to_owned(), "2".to_owned())]);
        // What follows is a comment only if nothing is before it.
        assert_eq!(
            pairs("\\\n# a\nb \\\n# c"),
            [("b".to_owned(), "# c".to_owned())]
        );
        for nothing in ["", "\n\r\n", "#", "\\", " ", "#\\\n"] {
            assert!(pairs(nothing).is_empty(), "{nothing:?}");
        }
    }

    #[test]
    fn malformed_escapes_are_refused() {
        for wrong in ["a \\u12", "a \\u12g4", "a \\u+123", "\\u b"] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn files_have_a_largest_size() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("spark-defaults.conf");
        std::fs::write(&file, b"spark.a \xff").unwrap();
        assert_eq!(read(&file).unwrap()["spark.a"], "\u{fffd}");
        std::fs::File::create(&file)
            .unwrap()
            .set_len(MAX_FILE_BYTES + 1)
            .unwrap();
        assert_eq!(
            read(&file).unwrap_err().to_string(),
            "it has more than 1 MiB"
        );
        assert!(read(dir.path()).is_err());
    }
}
