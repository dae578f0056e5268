//! Texts of bytes, and bytes of texts.

use std::sync::Arc;

use arrow::array::{Array, BinaryViewArray, BinaryViewBuilder, StringViewArray};
use arrow::datatypes::{DataType as ArrowType, Int32Type};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use datafusion_common::{Result as RunResult, ScalarValue};
use datafusion_physical_expr::PhysicalExpr;

use super::kernel::{Kernel, nth, pair, single, union_nulls};
use super::strings::MAX_PADDED;
use super::{known, refused};
use catalyst::{EvalMode, Function, Unsupported};
use rows::error::bail_out;

type Args = Vec<Arc<dyn PhysicalExpr>>;
type Lowered = Result<Arc<dyn PhysicalExpr>, Unsupported>;

/// Lowers a function of this module.
pub(super) fn lower(
    function: Function,
    mode: Option<EvalMode>,
    types: &[ArrowType],
    args: Args,
) -> Lowered {
    use ArrowType as A;
    Ok(match (function, types) {
        (Function::Base64, [A::BinaryView, A::Boolean]) => base64(args),
        (Function::UnBase64, [A::Utf8View]) => unbase64(mode == Some(EvalMode::Ansi), args),
        (Function::Encode, [A::Utf8View, A::Utf8View, flags @ ..]) if are_flags(flags) => {
            let charset = Charset::of(function, types, &args)?;
            let args = args.into_iter().take(1).collect();
            Kernel::strict(
                format!("Encode[{charset:?}]"),
                args,
                A::BinaryView,
                move |args, _| {
                    let texts = single(args)?.string()?.iter();
                    let all = texts.map(|text| text.map(|text| charset.encode(text)).transpose());
                    Ok(Arc::new(all.collect::<RunResult<BinaryViewArray>>()?))
                },
            )
        }
        (Function::StringDecode, [A::BinaryView, A::Utf8View, flags @ ..]) if are_flags(flags) => {
            let charset = Charset::of(function, types, &args)?;
            let args = args.into_iter().take(1).collect();
            Kernel::strict(
                format!("StringDecode[{charset:?}]"),
                args,
                A::Utf8View,
                move |args, _| {
                    let all = single(args)?.binary()?.iter();
                    let all = all.map(|bytes| bytes.map(|bytes| charset.decode(bytes)).transpose());
                    Ok(Arc::new(all.collect::<RunResult<StringViewArray>>()?))
                },
            )
        }
        _ => return Err(refused(function, types)),
    })
}

fn are_flags(types: &[ArrowType]) -> bool {
    matches!(types, [] | [ArrowType::Boolean, ArrowType::Boolean])
}

/// A line of bytes, as MIME has them.
const LINE: usize = 57;

fn base64(args: Args) -> Arc<dyn PhysicalExpr> {
    Kernel::strict("Base64", args, ArrowType::Utf8View, |args, rows| {
        let (bytes, lines) = pair(args)?;
        let (values, all) = (bytes.binary()?, lines.boolean()?);
        let texts = (0..rows).map(|row| {
            let (at, lines) = (bytes.at(row), lines.at(row));
            if values.is_null(at) || all.is_null(lines) {
                return None;
            }
            let bytes = values.value(at);
            if !all.value(lines) {
                return Some(STANDARD.encode(bytes));
            }
            let mut text = String::new();
            for (number, line) in bytes.chunks(LINE).enumerate() {
                if number > 0 {
                    text.push_str("\r\n");
                }
                STANDARD.encode_string(line, &mut text);
            }
            Some(text)
        });
        Ok(Arc::new(texts.collect::<StringViewArray>()))
    })
}

fn unbase64(fails: bool, args: Args) -> Arc<dyn PhysicalExpr> {
    let name = format!("UnBase64[{fails}]");
    Kernel::strict(name, args, ArrowType::BinaryView, move |args, _| {
        let texts = single(args)?.string()?.iter();
        let all = texts.map(|text| match text {
            None => Ok(None),
            Some(text) if fails && !is_proper(text) => Err(bail_out("a text that is not base 64")),
            Some(text) => decoded(text.as_bytes()).map(Some),
        });
        Ok(Arc::new(all.collect::<RunResult<BinaryViewArray>>()?))
    })
}

/// The bits that a character stands for.
fn sextet(of: u8) -> Option<u32> {
    let bits = match of {
        b'A'..=b'Z' => of - b'A',
        b'a'..=b'z' => of - b'a' + 26,
        b'0'..=b'9' => of - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    };
    Some(bits.into())
}

/// What Java's decoder for MIME makes of a text: other characters than the 64 are passed over.
fn decoded(text: &[u8]) -> RunResult<Vec<u8>> {
    let wrong = || Err(bail_out("a text that is not base 64"));
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3 + 3);
    let (mut bits, mut count) = (0, 0);
    let mut rest = text.iter();
    while let Some(byte) = rest.next() {
        if *byte == b'=' {
            // Two characters need two of them, and the second right behind the first.
            if count == 0 || (count == 2 && rest.next() != Some(&b'=')) {
                return wrong();
            }
            break;
        }
        let Some(sextet) = sextet(*byte) else {
            continue;
        };
        bits = bits << 6 | sextet;
        count += 1;
        if count == 4 {
            let [_, a, b, c] = u32::to_be_bytes(bits);
            bytes.extend([a, b, c]);
            (bits, count) = (0, 0);
        }
    }
    match count {
        0 => {}
        2 => bytes.push((bits >> 4) as u8),
        3 => bytes.extend([(bits >> 10) as u8, (bits >> 2) as u8]),
        _ => return wrong(),
    }
    if rest.any(|byte| sextet(*byte).is_some()) {
        return wrong();
    }
    Ok(bytes)
}

/// Whether Spark takes a text for one of base 64. False also for some that have other blanks in them.
fn is_proper(text: &str) -> bool {
    let (mut count, mut padding) = (0, 0);
    for byte in text.bytes() {
        match byte {
            b'=' => {
                padding += 1;
                if padding > 2 || count % 4 < 2 {
                    return false;
                }
            }
            _ if padding > 0 => return false,
            b' ' | b'\t' | b'\n' | b'\r' => {}
            _ if sextet(byte).is_some() => count += 1,
            _ => return false,
        }
    }
    if padding > 0 {
        (count + padding) % 4 == 0
    } else {
        count % 4 != 1
    }
}

/// A character set, and whether a character that it does not have is replaced.
#[derive(Debug, Clone, Copy)]
struct Charset {
    set: Set,
    replaces: bool,
}

#[derive(Debug, Clone, Copy)]
enum Set {
    Ascii,
    Latin1,
    Utf8,
    /// The first byte is the upper one.
    Utf16Be,
    Utf16Le,
    /// With a mark of the order in front.
    Utf16,
}

impl Charset {
    /// By the arguments of a function: its name is a constant.
    fn of(function: Function, types: &[ArrowType], args: &Args) -> Result<Self, Unsupported> {
        let refuse = || refused(function, types);
        let name = match args.get(1).and_then(known) {
            Some(ScalarValue::Utf8View(Some(name))) => name.to_ascii_uppercase(),
            _ => return Err(refuse()),
        };
        let replaces = match args.get(3) {
            // Before 4.0 everything was replaced.
            None => true,
            Some(of) => match known(of) {
                Some(ScalarValue::Boolean(Some(replaces))) => *replaces,
                _ => return Err(refuse()),
            },
        };
        let set = match name.as_str() {
            "US-ASCII" => Set::Ascii,
            "ISO-8859-1" => Set::Latin1,
            "UTF-8" => Set::Utf8,
            "UTF-16BE" => Set::Utf16Be,
            "UTF-16LE" => Set::Utf16Le,
            "UTF-16" => Set::Utf16,
            _ => {
                let name = function.name();
                return Err(Unsupported::of_use(format!("{name} of such a charset")));
            }
        };
        Ok(Self { set, replaces })
    }

    fn encode(self, text: &str) -> RunResult<Vec<u8>> {
        let up_to = |last: u32| {
            let bytes = text
                .chars()
                .map(|char| match u8::try_from(u32::from(char)) {
                    Ok(byte) if u32::from(byte) <= last => Ok(byte),
                    _ if self.replaces => Ok(b'?'),
                    _ => Err(bail_out("a character that a charset does not have")),
                });
            bytes.collect::<RunResult<Vec<_>>>()
        };
        let units = |bytes: fn(u16) -> [u8; 2]| text.encode_utf16().flat_map(bytes);
        Ok(match self.set {
            Set::Ascii => return up_to(0x7f),
            Set::Latin1 => return up_to(0xff),
            Set::Utf8 => text.as_bytes().to_vec(),
            Set::Utf16Be => units(u16::to_be_bytes).collect(),
            Set::Utf16Le => units(u16::to_le_bytes).collect(),
            Set::Utf16 if text.is_empty() => Vec::new(),
            Set::Utf16 => [0xfe, 0xff]
                .into_iter()
                .chain(units(u16::to_be_bytes))
                .collect(),
        })
    }

    fn decode(self, bytes: &[u8]) -> RunResult<String> {
        let malformed = || bail_out("bytes that are no text in a charset");
        match self.set {
            Set::Ascii | Set::Utf8 => {
                if matches!(self.set, Set::Ascii) && !bytes.is_ascii() {
                    return Err(malformed());
                }
                let text = std::str::from_utf8(bytes).map_err(|_| malformed())?;
                Ok(text.to_owned())
            }
            Set::Latin1 => Ok(bytes.iter().copied().map(char::from).collect()),
            Set::Utf16Be => of_units(bytes, u16::from_be_bytes).ok_or_else(malformed),
            Set::Utf16Le => of_units(bytes, u16::from_le_bytes).ok_or_else(malformed),
            Set::Utf16 => match bytes {
                [0xff, 0xfe, rest @ ..] => of_units(rest, u16::from_le_bytes),
                [0xfe, 0xff, rest @ ..] => of_units(rest, u16::from_be_bytes),
                _ => of_units(bytes, u16::from_be_bytes),
            }
            .ok_or_else(malformed),
        }
    }
}

/// `None` if it is none. For Java a mark of the other order, which is no character, is none either.
fn of_units(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Option<String> {
    let (pairs, rest) = bytes.as_chunks::<2>();
    if !rest.is_empty() {
        return None;
    }
    let chars = char::decode_utf16(pairs.iter().map(|pair| unit(*pair)));
    let chars = chars.map(|char| char.ok().filter(|char| *char != '\u{fffe}'));
    chars.collect()
}

/// `lpad` and `rpad` of bytes.
pub(super) fn pad(op: Function, args: Args) -> Arc<dyn PhysicalExpr> {
    let left = op == Function::StringLPad;
    let name = format!("{}[bytes]", op.name());
    Kernel::strict(name, args, ArrowType::BinaryView, move |args, rows| {
        let (source, length, padding) = (nth(args, 0)?, nth(args, 1)?, nth(args, 2)?);
        let (sources, paddings) = (source.binary()?, padding.binary()?);
        let lengths = length.primitive::<Int32Type>()?;
        let nulls = union_nulls(&[source, length, padding]);
        let mut builder = BinaryViewBuilder::with_capacity(rows);
        let mut bytes = Vec::new();
        for row in 0..rows {
            if nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
                builder.append_null();
                continue;
            }
            let length = lengths.value(length.at(row));
            let (source, padding) = (
                sources.value(source.at(row)),
                paddings.value(padding.at(row)),
            );
            bytes.clear();
            padded(source, length, padding, left, &mut bytes)?;
            builder.append_value(&bytes);
        }
        Ok(Arc::new(builder.finish()))
    })
}

/// Bytes of a length: cut off, or with as much of a padding as is missing.
fn padded(
    source: &[u8],
    length: i32,
    padding: &[u8],
    left: bool,
    out: &mut Vec<u8>,
) -> RunResult<()> {
    if length > MAX_PADDED {
        return Err(bail_out("a long padding"));
    }
    // Spark 3.5 fails.
    let length = usize::try_from(length).map_err(|_| bail_out("a negative length"))?;
    let missing = length.saturating_sub(source.len());
    if missing > 0 && padding.is_empty() {
        return Err(bail_out("a padding of nothing"));
    }
    let kept = source.get(..length).unwrap_or(source);
    if !left {
        out.extend_from_slice(kept);
    }
    out.extend(padding.iter().cycle().take(missing));
    if left {
        out.extend_from_slice(kept);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_padded() {
        let of = |source: &[u8], length, padding: &[u8], left| {
            let mut out = Vec::new();
            padded(source, length, padding, left, &mut out).map(|()| out)
        };
        let abc = [0xaa, 0xbb, 0xcc];
        assert_eq!(
            of(&[1, 2], 5, &abc, true).unwrap(),
            [0xaa, 0xbb, 0xcc, 1, 2]
        );
        assert_eq!(
            of(&[1, 2], 6, &abc, false).unwrap(),
            [1, 2, 0xaa, 0xbb, 0xcc, 0xaa]
        );
        assert_eq!(of(&[1, 2, 3], 2, &[9], true).unwrap(), [1, 2]);
        assert_eq!(of(&[1, 2, 3], 2, &[], false).unwrap(), [1, 2]);
        assert!(of(&[1], 0, &[], true).unwrap().is_empty());
        assert_eq!(of(&[], 3, &[9, 8], true).unwrap(), [9, 8, 9]);
        of(&[1], -3, &[9], true).unwrap_err();
        of(&[1], 3, &[], true).unwrap_err();
    }

    #[test]
    fn texts_are_decoded_as_in_java() {
        let of = |text: &str| decoded(text.as_bytes()).ok();
        assert_eq!(of("U3BhcmsgU1FM").unwrap(), b"Spark SQL");
        assert_eq!(of("U3 Bh\r\ncm-sgU1F?M").unwrap(), b"Spark SQL");
        for (text, bytes) in [
            ("", ""),
            ("?", ""),
            ("YQ", "a"),
            ("YWI", "ab"),
            ("YQ==", "a"),
            ("YWI=", "ab"),
            ("YWI=?", "ab"),
        ] {
            assert_eq!(of(text).unwrap(), bytes.as_bytes(), "{text}");
        }
        for text in ["A", "=", "YWJj=", "YQ=", "YQ=x", "YQ==YQ==", "A=="] {
            assert_eq!(of(text), None, "{text}");
        }
    }

    #[test]
    fn proper_texts_have_whole_groups() {
        for text in ["", "abcd", "abc d", "abcdAE", "abcdAE==", "abcdAEI="] {
            assert!(is_proper(text), "{text}");
        }
        for text in ["abc?", "abcdA", "abcdAE=", "ab==tm+1", "=", "abcd="] {
            assert!(!is_proper(text), "{text}");
        }
    }

    #[test]
    fn charsets_have_bytes_for_characters() {
        let of = |set, replaces| Charset { set, replaces };
        assert_eq!(of(Set::Latin1, true).encode("aé本😀").unwrap(), b"a\xe9??");
        assert!(of(Set::Latin1, false).encode("本").is_err());
        assert_eq!(of(Set::Ascii, true).encode("é").unwrap(), b"?");
        assert_eq!(of(Set::Utf16, false).encode("a").unwrap(), b"\xfe\xff\0a");
        assert_eq!(of(Set::Utf16, false).encode("").unwrap(), b"");
        assert_eq!(of(Set::Utf16, false).decode(b"\xff\xfea\0").unwrap(), "a");
        for bytes in [&b"a"[..], b"\xd8\0", b"\xff\xfe\xfe\xff", b"\xdc\0\0a"] {
            assert!(of(Set::Utf16, true).decode(bytes).is_err(), "{bytes:?}");
        }
        assert!(of(Set::Utf8, true).decode(b"\xff").is_err());
    }
}
