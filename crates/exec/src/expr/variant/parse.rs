//! Variants of texts of JSON, as Spark's `VariantBuilder.parseJson` makes them with Jackson's parser.
//!
//! Jackson reads one value, and but for what follows a number or a word it does not look at what stands behind it.
//! Lengths and depths near its limits are not known here.

use std::borrow::Cow;

use super::build::{Builder, Fault};
use super::format::{MAX_DEPTH, digits};

/// Longest number: Jackson's limit is 1000 characters.
const MAX_NUMBER: usize = 900;

/// Longest name in bytes: Jackson's limit is 50000 characters.
const MAX_NAME: usize = 40_000;

/// Longest text to be parsed.
const MAX_TEXT: usize = 8 << 20;

/// How texts are read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rules {
    /// Whether the last of several fields of a name counts, instead of there being none.
    pub(super) repeated: bool,
    /// Whether halves of characters are an error.
    pub(super) unicode: bool,
}

type Parsed<T> = Result<T, Fault>;

/// Builds what a text says.
pub(super) fn parse(text: &str, rules: Rules, builder: &mut Builder) -> Parsed<Vec<u8>> {
    if text.len() > MAX_TEXT {
        return Err(Fault::Unknown);
    }
    builder.clear();
    let mut parser = Parser {
        text,
        at: 0,
        rules,
        builder,
        unknown: false,
    };
    let first = parser.token()?;
    parser.value(first, MAX_DEPTH, true)?;
    let unknown = parser.unknown;
    match unknown {
        true => Err(Fault::Unknown),
        false => builder.finish(),
    }
}

struct Parser<'t, 'b> {
    text: &'t str,
    at: usize,
    rules: Rules,
    builder: &'b mut Builder,
    /// Whether something was met whose value is not known, if the rest is JSON.
    unknown: bool,
}

impl<'t> Parser<'t, '_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn next(&mut self) -> Parsed<u8> {
        let next = self.peek().ok_or(Fault::None)?;
        self.at += 1;
        Ok(next)
    }

    fn slice(&self, start: usize) -> Parsed<&'t str> {
        self.text.get(start..self.at).ok_or(Fault::Unknown)
    }

    /// The next character but for blanks, which is passed over.
    fn token(&mut self) -> Parsed<u8> {
        loop {
            match self.next()? {
                b' ' | b'\t' | b'\n' | b'\r' => {}
                // Other control characters, and whatever else begins no value, are refused where they are met.
                other => return Ok(other),
            }
        }
    }

    /// A value that begins with this character, which was passed over.
    fn value(&mut self, first: u8, depth: usize, root: bool) -> Parsed<()> {
        match first {
            b'{' => self.object(depth.checked_sub(1).ok_or(Fault::Unknown)?),
            b'[' => self.array(depth.checked_sub(1).ok_or(Fault::Unknown)?),
            b'"' => {
                let text = self.string(false)?;
                self.builder.text(&text)
            }
            b't' => self.word("rue").map(|()| self.builder.boolean(true)),
            b'f' => self.word("alse").map(|()| self.builder.boolean(false)),
            b'n' => self.word("ull").map(|()| self.builder.null()),
            b'-' | b'0'..=b'9' => self.number(first, root),
            _ => Err(Fault::None),
        }
    }

    fn object(&mut self, depth: usize) -> Parsed<()> {
        let start = self.builder.position();
        let mut fields = Vec::new();
        let mut next = self.token()?;
        while next != b'}' {
            if !fields.is_empty() {
                if next != b',' {
                    return Err(Fault::None);
                }
                next = self.token()?;
            }
            if next != b'"' {
                return Err(Fault::None);
            }
            let name = self.string(true)?;
            if name.len() > MAX_NAME {
                return Err(Fault::Unknown);
            }
            if self.token()? != b':' {
                return Err(Fault::None);
            }
            fields.push(self.builder.field(start, name)?);
            let first = self.token()?;
            self.value(first, depth, false)?;
            next = self.token()?;
        }
        self.builder.object(start, fields, self.rules.repeated)
    }

    fn array(&mut self, depth: usize) -> Parsed<()> {
        let start = self.builder.position();
        let mut offsets = Vec::new();
        let mut next = self.token()?;
        while next != b']' {
            if !offsets.is_empty() {
                if next != b',' {
                    return Err(Fault::None);
                }
                next = self.token()?;
            }
            offsets.push(self.builder.position() - start);
            self.value(next, depth, false)?;
            next = self.token()?;
        }
        self.builder.array(start, &offsets)
    }

    /// The rest of a word. What follows must not look like more of it.
    fn word(&mut self, rest: &str) -> Parsed<()> {
        for byte in rest.bytes() {
            if self.next()? != byte {
                return Err(Fault::None);
            }
        }
        match self.peek() {
            None | Some(b']' | b'}' | ..b'0') => Ok(()),
            // `Character.isJavaIdentifierPart`
            Some(b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' | b'_' | 0x7f) => Err(Fault::None),
            Some(other) if other.is_ascii() => Ok(()),
            Some(_) => Err(Fault::Unknown),
        }
    }

    fn digits(&mut self) -> usize {
        let start = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        self.at - start
    }

    fn number(&mut self, first: u8, root: bool) -> Parsed<()> {
        let start = self.at - 1;
        if first == b'-' {
            match self.next()? {
                b'0'..=b'9' => {}
                _ => return Err(Fault::None),
            }
        }
        let zero = self.slice(start)?.ends_with('0');
        if self.digits() > 0 && zero {
            return Err(Fault::None);
        }
        let mut integer = true;
        if self.peek() == Some(b'.') {
            integer = false;
            self.at += 1;
            if self.digits() == 0 {
                return Err(Fault::None);
            }
        }
        if let Some(b'e' | b'E') = self.peek() {
            integer = false;
            self.at += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.at += 1;
            }
            if self.digits() == 0 {
                return Err(Fault::None);
            }
        }
        if root && !matches!(self.peek(), None | Some(b' ' | b'\t' | b'\n' | b'\r')) {
            return Err(Fault::None);
        }
        let text = self.slice(start)?;
        if text.len() > MAX_NUMBER {
            return Err(Fault::Unknown);
        }
        if integer && let Ok(long) = text.parse() {
            self.builder.long(long);
            return Ok(());
        }
        match decimal(text) {
            Some((unscaled, scale)) => self.builder.decimal(unscaled, scale),
            // As `Double.parseDouble`, which rounds to the nearest as well.
            None => {
                let double = text.parse().map_err(|_| Fault::Unknown)?;
                self.builder.double(double);
            }
        }
        Ok(())
    }

    /// A text in quotes, the first of which was passed over.
    fn string(&mut self, name: bool) -> Parsed<Cow<'t, str>> {
        let mut start = self.at;
        let mut unescaped = String::new();
        loop {
            match self.next()? {
                b'"' => {
                    let part = self.text.get(start..self.at - 1).ok_or(Fault::Unknown)?;
                    return Ok(match unescaped.is_empty() {
                        true => Cow::Borrowed(part),
                        false => Cow::Owned(unescaped + part),
                    });
                }
                b'\\' => {
                    let part = self.text.get(start..self.at - 1).ok_or(Fault::Unknown)?;
                    unescaped.push_str(part);
                    self.escape(name, &mut unescaped)?;
                    start = self.at;
                }
                ..b' ' => return Err(Fault::None),
                _ => {}
            }
        }
    }

    fn escape(&mut self, name: bool, out: &mut String) -> Parsed<()> {
        out.push(match self.next()? {
            b'b' => '\u{8}',
            b't' => '\t',
            b'n' => '\n',
            b'f' => '\u{c}',
            b'r' => '\r',
            of @ (b'"' | b'/' | b'\\') => char::from(of),
            b'u' => {
                let unit = self.unit()?;
                return self.unicode(unit, name, out);
            }
            _ => return Err(Fault::None),
        });
        Ok(())
    }

    /// Four digits, as Jackson reads them behind `\u`.
    fn unit(&mut self) -> Parsed<u16> {
        let mut unit = 0;
        for _ in 0..4 {
            let next = self.next()?;
            if !next.is_ascii() {
                // Jackson looks at the lower half of its unit only.
                return Err(Fault::Unknown);
            }
            let digit = char::from(next).to_digit(16).ok_or(Fault::None)?;
            // Four bits each.
            unit = unit << 4 | digit as u16;
        }
        Ok(unit)
    }

    /// A unit of UTF-16, which may be the first half of a character whose second half is the next.
    fn unicode(&mut self, unit: u16, name: bool, out: &mut String) -> Parsed<()> {
        let mut unit = unit;
        loop {
            if let Some(whole) = char::from_u32(unit.into()) {
                out.push(whole);
                return Ok(());
            }
            let rest = self.text.get(self.at..).unwrap_or("");
            let is_first = (0xd800..0xdc00).contains(&unit);
            if !is_first || !rest.starts_with("\\u") {
                return self.half(name, out);
            }
            self.at += 2;
            let next = self.unit()?;
            match char::decode_utf16([unit, next]).next() {
                Some(Ok(whole)) => {
                    out.push(whole);
                    return Ok(());
                }
                _ => {
                    self.half(name, out)?;
                    unit = next;
                }
            }
        }
    }

    /// Half a character: Java writes a question mark for it. Names are others with it than with the mark.
    fn half(&mut self, name: bool, out: &mut String) -> Parsed<()> {
        // Spark looks when the text is whole: there may be another error, but there is one.
        if self.rules.unicode {
            return Err(Fault::None);
        }
        self.unknown |= name;
        out.push('?');
        Ok(())
    }
}

/// As `new BigDecimal(text)`, of numbers without an exponent that fit into 38 digits, and as many behind the point.
fn decimal(text: &str) -> Option<(i128, u8)> {
    if text.contains(['e', 'E']) {
        return None;
    }
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let scale = u8::try_from(fraction.len()).ok().filter(|of| *of <= 38)?;
    // What has more digits than that does not fit: there are no zeros before others but for one.
    let unscaled: i128 = [whole, fraction].concat().parse().ok()?;
    (digits(unscaled) <= 38).then_some((unscaled, scale))
}
