//! Texts as parts of URLs, parts of URLs as `java.net.URI` finds them, and texts with letters masked.

use std::fmt::Write as _;
use std::sync::Arc;

use arrow::array::StringViewBuilder;
use arrow::datatypes::DataType as ArrowType;
use datafusion_common::{Result as RunResult, ScalarValue};
use datafusion_physical_expr::PhysicalExpr;

use super::kernel::{Arg, Kernel, single, union_nulls};
use super::strings::texts;
use super::{known, refused};
use catalyst::{Function, Unsupported};
use rows::error::bail_out;

type Args = Vec<Arc<dyn PhysicalExpr>>;
type Lowered = Result<Arc<dyn PhysicalExpr>, Unsupported>;

/// Lowers a function of this module.
pub(super) fn lower(op: Function, types: &[ArrowType], args: Args) -> Lowered {
    use ArrowType as A;
    use Function as F;
    match (op, types) {
        (F::UrlEncode, [A::Utf8View]) => Ok(each(op.name().to_owned(), args, |text, out| {
            encode(text, out);
            Ok(())
        })),
        (F::UrlDecode, [A::Utf8View]) => Ok(each(op.name().to_owned(), args, decode)),
        (F::ParseUrl, [A::Utf8View, A::Utf8View] | [A::Utf8View, A::Utf8View, A::Utf8View]) => {
            Ok(parse_url(args))
        }
        (F::Mask, [A::Utf8View, ..]) => mask(args),
        _ => Err(refused(op, types)),
    }
}

fn each(
    name: String,
    args: Args,
    f: impl Fn(&str, &mut String) -> RunResult<()> + Send + Sync + 'static,
) -> Arc<dyn PhysicalExpr> {
    Kernel::strict(name, args, ArrowType::Utf8View, move |args, rows| {
        let arg = single(args)?;
        let source = arg.string()?;
        texts(&[arg], rows, |row, out| f(source.value(arg.at(row)), out))
    })
}

/// As Java's `URLEncoder`, of UTF-8.
fn encode(text: &str, out: &mut String) {
    for byte in text.bytes() {
        match byte {
            b' ' => out.push('+'),
            b'-' | b'_' | b'.' | b'*' => out.push(byte.into()),
            _ if byte.is_ascii_alphanumeric() => out.push(byte.into()),
            _ => {
                // Writing to a string does not fail.
                let _ = write!(out, "%{byte:02X}");
            }
        }
    }
}

/// As Java's `URLDecoder`, of UTF-8. It takes signs for digits, too: that is left to it, and what it refuses.
fn decode(text: &str, out: &mut String) -> RunResult<()> {
    let wrong = || bail_out("an escape of a URL that is none");
    let mut bytes = text.bytes();
    let mut decoded = Vec::with_capacity(text.len());
    while let Some(byte) = bytes.next() {
        match byte {
            b'+' => decoded.push(b' '),
            b'%' => {
                let mut digit = || {
                    let digit = bytes.next().and_then(|next| char::from(next).to_digit(16));
                    digit
                        .and_then(|digit| u8::try_from(digit).ok())
                        .ok_or_else(wrong)
                };
                decoded.push(digit()? * 16 + digit()?);
            }
            other => decoded.push(other),
        }
    }
    out.push_str(std::str::from_utf8(&decoded).map_err(|_| wrong())?);
    Ok(())
}

/// `parse_url(url, part[, key])`
fn parse_url(args: Args) -> Arc<dyn PhysicalExpr> {
    Kernel::strict("ParseUrl", args, ArrowType::Utf8View, |args, rows| {
        let all: Vec<_> = args.iter().collect();
        let nulls = union_nulls(&all);
        let texts = args
            .iter()
            .map(Arg::string)
            .collect::<RunResult<Vec<_>>>()?;
        let mut found = StringViewBuilder::with_capacity(rows);
        for row in 0..rows {
            if nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
                found.append_null();
                continue;
            }
            let values = texts.iter().zip(args);
            let values: Vec<_> = values.map(|(of, arg)| of.value(arg.at(row))).collect();
            let part = match values.as_slice() {
                [url, "FILE"] => {
                    let url = Url::read(url)?;
                    match url.query {
                        Some(query) => found.try_append_value(format!("{}?{query}", url.path))?,
                        None => found.try_append_value(url.path)?,
                    }
                    continue;
                }
                [url, part] => Url::read(url)?.part(part),
                [url, "QUERY", key] => in_query(Url::read(url)?.query, key)?,
                [_, _, _] => None,
                _ => return Err(bail_out("another number of arguments")),
            };
            match part {
                Some(part) => found.try_append_value(part)?,
                None => found.append_null(),
            }
        }
        Ok(Arc::new(found.finish()))
    })
}

/// What a key has in a query. Spark takes the key for a regular expression.
fn in_query<'a>(query: Option<&'a str>, key: &str) -> RunResult<Option<&'a str>> {
    let Some(query) = query else {
        return Ok(None);
    };
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    if !key.bytes().all(plain) {
        return Err(bail_out("a key of a URL that may be a pattern"));
    }
    let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    Ok(pairs.find(|(name, _)| *name == key).map(|(_, value)| value))
}

/// The parts of a `java.net.URI`, as they are written.
#[derive(Debug, Default, PartialEq, Eq)]
struct Url<'a> {
    scheme: Option<&'a str>,
    authority: Option<&'a str>,
    user: Option<&'a str>,
    host: Option<&'a str>,
    path: &'a str,
    query: Option<&'a str>,
    fragment: Option<&'a str>,
}

/// Characters of a URI besides letters, digits and escapes.
const MARKS: &str = "-_.!~*'()";

impl<'a> Url<'a> {
    /// Fails for what Java refuses, and where more would have to be known of it.
    fn read(text: &'a str) -> RunResult<Self> {
        Self::parse(text).ok_or_else(|| bail_out("a URL that only Java reads"))
    }

    fn parse(text: &'a str) -> Option<Self> {
        let mut url = Self::default();
        let mut rest = text;
        if let Some((fragment_of, fragment)) = rest.split_once('#') {
            url.fragment = Some(proper(fragment, ";/?:@&=+$,[]")?);
            rest = fragment_of;
        }
        if let Some((path, query)) = rest.split_once('?') {
            url.query = Some(proper(query, ";/?:@&=+$,[]")?);
            rest = path;
        }
        let colon = rest.find([':', '/']);
        if let Some(at) = colon.filter(|at| rest.as_bytes().get(*at) == Some(&b':')) {
            let (scheme, behind) = rest.split_at(at);
            let sign = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
            let starts = scheme.starts_with(|first: char| first.is_ascii_alphabetic());
            (starts && scheme.bytes().all(sign)).then_some(())?;
            url.scheme = Some(scheme);
            rest = behind.strip_prefix(':')?;
            // What has no slash there has no parts but itself.
            rest.starts_with('/').then_some(())?;
        }
        if let Some(behind) = rest.strip_prefix("//") {
            let end = behind.find('/').unwrap_or(behind.len());
            let (authority, path) = behind.split_at(end);
            match authority.is_empty() {
                // Java takes none, if there is a path.
                true => (!path.is_empty()).then_some(())?,
                false => url.read_authority(authority)?,
            }
            rest = path;
        }
        url.path = proper(rest, ":@&=+$,;/")?;
        Some(url)
    }

    /// `[user@]host[:port]`. Java takes others as names that it knows nothing of.
    fn read_authority(&mut self, authority: &'a str) -> Option<()> {
        self.authority = Some(authority);
        let mut rest = authority;
        if let Some((user, behind)) = rest.split_once('@') {
            self.user = Some(proper(user, ";:&=+$,")?);
            rest = behind;
        }
        if let Some((host, port)) = rest.split_once(':') {
            (port.len() < 10 && port.bytes().all(|digit| digit.is_ascii_digit())).then_some(())?;
            rest = host;
        }
        self.host = is_host(rest).then_some(rest);
        self.host.map(|_| ())
    }

    fn part(&self, part: &str) -> Option<&'a str> {
        match part {
            "HOST" => self.host,
            "PATH" => Some(self.path),
            "QUERY" => self.query,
            "REF" => self.fragment,
            "PROTOCOL" => self.scheme,
            "AUTHORITY" => self.authority,
            "USERINFO" => self.user,
            _ => None,
        }
    }
}

/// The text, if it is of characters of URIs, and of these.
fn proper<'a>(text: &'a str, others: &str) -> Option<&'a str> {
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        let sign = char::from(byte);
        if byte == b'%' {
            let mut digit = || bytes.next().is_some_and(|digit| digit.is_ascii_hexdigit());
            (digit() && digit()).then_some(())?;
        } else if !byte.is_ascii_alphanumeric() && !MARKS.contains(sign) && !others.contains(sign) {
            return None;
        }
    }
    Some(text)
}

/// Whether it is a name, or an address of four numbers.
fn is_host(host: &str) -> bool {
    let numbers: Vec<_> = host.split('.').collect();
    let is_byte = |of: &&str| {
        let plain = of.bytes().all(|digit| digit.is_ascii_digit());
        plain && of.len() <= 3 && of.parse::<u8>().is_ok()
    };
    if numbers.len() == 4 && numbers.iter().all(is_byte) {
        return true;
    }
    let is_label = |label: &str| {
        let sign = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        !label.is_empty()
            && label.bytes().all(sign)
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    let last = numbers.last().copied().unwrap_or_default();
    let named = last.starts_with(|first: char| first.is_ascii_alphabetic());
    named && numbers.iter().all(|label| is_label(label))
}

/// What stands for a capital, a small letter, a digit, and anything else; themselves without it.
fn mask(args: Args) -> Lowered {
    let mut masks = [None; 4];
    for (place, mask) in masks.iter_mut().enumerate() {
        *mask = match args.get(place + 1).and_then(known) {
            Some(ScalarValue::Utf8View(Some(one))) => {
                let mut chars = one.chars();
                match (chars.next(), chars.next()) {
                    (Some(one), None) if one.len_utf16() == 1 => Some(one),
                    _ => return Err(Unsupported::of_use("such a mask")),
                }
            }
            Some(value) if value.is_null() => None,
            _ => return Err(Unsupported::of_use("a variable mask")),
        };
    }
    let [upper, lower, digit, other] = masks;
    let args = args.into_iter().take(1).collect();
    Ok(each(format!("Mask[{masks:?}]"), args, move |text, out| {
        // Versions of Java know other letters, and a mask stands for each half of a large character.
        if !text.is_ascii() {
            return Err(bail_out("a mask over other letters than ASCII"));
        }
        for character in text.chars() {
            let mask = match character {
                'A'..='Z' => upper,
                'a'..='z' => lower,
                '0'..='9' => digit,
                _ => other,
            };
            out.push(mask.unwrap_or(character));
        }
        Ok(())
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_have_the_parts_that_java_finds() {
        let of = |url: &str, part: &str| match Url::parse(url) {
            Some(url) => url.part(part).unwrap_or("null").to_owned(),
            None => "left".to_owned(),
        };
        let url = "http://user:pw@spark.apache.org:80/path/p.html;v=1?query=1&k=%20b#Ref/?";
        for (part, expected) in [
            ("HOST", "spark.apache.org"),
            ("PATH", "/path/p.html;v=1"),
            ("QUERY", "query=1&k=%20b"),
            ("REF", "Ref/?"),
            ("PROTOCOL", "http"),
            ("AUTHORITY", "user:pw@spark.apache.org:80"),
            ("USERINFO", "user:pw"),
            ("host", "null"),
        ] {
            assert_eq!(of(url, part), expected);
        }
        for (url, host, path) in [
            ("", "null", ""),
            ("a/b", "null", "a/b"),
            ("file:///tmp/x", "null", "/tmp/x"),
            ("http://a.b", "a.b", ""),
            ("http://a.b?x", "a.b", ""),
            ("http://1.2.3.4:/x", "1.2.3.4", "/x"),
            ("//h/p:q", "h", "/p:q"),
            ("http://1.2.3", "left", "left"),
            ("http://a_b/", "left", "left"),
            ("http://a b/", "left", "left"),
            ("http://", "left", "left"),
            ("http://ä/", "left", "left"),
            ("http://x/%zz", "left", "left"),
            ("mailto:a@b.c", "left", "left"),
            (":a", "left", "left"),
            ("http://[::1]/", "left", "left"),
            ("http://a@b@c/", "left", "left"),
        ] {
            assert_eq!(
                (of(url, "HOST"), of(url, "PATH")),
                (host.to_owned(), path.to_owned()),
                "{url}"
            );
        }
    }

    #[test]
    fn keys_of_queries_are_found_at_the_start_of_pairs() {
        let of = |query, key| in_query(Some(query), key).ok().flatten();
        assert_eq!(of("a=1&b=2&a=3", "a"), Some("1"));
        assert_eq!(of("xa=1&a=&b", "a"), Some(""));
        assert_eq!(of("a=b=c", "a"), Some("b=c"));
        assert_eq!(of("a", "a"), None);
        assert_eq!(of("=1", ""), Some("1"));
        assert!(in_query(Some("a=1"), "a.*").is_err());
    }

    #[test]
    fn escapes_are_those_of_java() {
        let mut out = String::new();
        encode("a b-_.*~/é😀", &mut out);
        assert_eq!(out, "a+b-_.*%7E%2F%C3%A9%F0%9F%98%80");
        let mut back = String::new();
        decode(&out, &mut back).unwrap();
        assert_eq!(back, "a b-_.*~/é😀");
        for wrong in ["%", "%4", "%zz", "%+1", "%C3", "%C3x"] {
            assert!(decode(wrong, &mut String::new()).is_err(), "{wrong}");
        }
    }
}
