//! Texts as parts of URLs, and texts with letters masked.

use std::fmt::Write as _;
use std::sync::Arc;

use arrow::datatypes::DataType as ArrowType;
use datafusion_common::{Result as RunResult, ScalarValue};
use datafusion_physical_expr::PhysicalExpr;

use super::kernel::{Kernel, single};
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
