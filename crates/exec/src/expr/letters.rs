//! Functions of the characters of texts.

use std::sync::Arc;

use arrow::array::{Array, BooleanArray, StringViewArray};
use arrow::datatypes::{DataType as ArrowType, Int32Type, Int64Type};
use datafusion_common::Result as RunResult;
use datafusion_physical_expr::PhysicalExpr;

use super::kernel::{Arg, Kernel, nth, pair, single};
use super::refused;
use super::search::integers;
use super::strings::{MAX_PADDED, bounds, characters, has_known_case, slice, texts};
use catalyst::Function;
use catalyst::Unsupported;
use rows::error::bail_out;

type Args = Vec<Arc<dyn PhysicalExpr>>;
type Lowered = Result<Arc<dyn PhysicalExpr>, Unsupported>;

/// Lowers a function of this module.
pub(super) fn lower(op: Function, types: &[ArrowType], args: Args) -> Lowered {
    use ArrowType as A;
    use Function as F;
    Ok(match (op, types) {
        (F::Chr, [A::Int64]) => chr(args),
        (F::Ascii, [A::Utf8View]) => number_of(op, args, |text| {
            text.chars()
                .next()
                .map_or(0, |first| u32::from(first).cast_signed())
        }),
        (F::OctetLength, [A::Utf8View | A::BinaryView]) => bytes(op, 1, args),
        (F::BitLength, [A::Utf8View | A::BinaryView]) => bytes(op, 8, args),
        (F::Levenshtein, [A::Utf8View, A::Utf8View]) => levenshtein(args),
        (F::SoundEx, [A::Utf8View]) => text_of(op, args, |text, out| {
            soundex(text, out);
            Ok(())
        }),
        (F::InitCap, [A::Utf8View]) => text_of(op, args, title),
        (F::StringRepeat, [A::Utf8View, A::Int32]) => repeat(args),
        (F::StringSpace, [A::Int32]) => space(args),
        (F::StringTranslate, [A::Utf8View, A::Utf8View, A::Utf8View]) => translate(args),
        (F::Overlay, [A::Utf8View, A::Utf8View, A::Int32, A::Int32]) => overlay(args),
        (F::CharTypeWriteSideCheck | F::VarcharTypeWriteSideCheck, [A::Utf8View, A::Int32]) => {
            fitted(op, args)
        }
        (F::ReadSidePadding, [A::Utf8View, A::Int32]) => fitted(op, args),
        (F::Luhncheck, [A::Utf8View]) => luhn(args),
        _ => return Err(refused(op, types)),
    })
}

fn text_of(
    op: Function,
    args: Args,
    f: impl Fn(&str, &mut String) -> RunResult<()> + Send + Sync + 'static,
) -> Arc<dyn PhysicalExpr> {
    Kernel::strict(op.name(), args, ArrowType::Utf8View, move |args, rows| {
        let arg = single(args)?;
        let source = arg.string()?;
        texts(&[arg], rows, |row, out| f(source.value(arg.at(row)), out))
    })
}

fn number_of(
    op: Function,
    args: Args,
    f: impl Fn(&str) -> i32 + Send + Sync + 'static,
) -> Arc<dyn PhysicalExpr> {
    Kernel::strict(op.name(), args, ArrowType::Int32, move |args, rows| {
        let arg = single(args)?;
        let source = arg.string()?;
        integers(&[arg], rows, |row| Ok(f(source.value(arg.at(row)))))
    })
}

/// The character of the lowest eight bits; nothing if the number is negative.
fn chr(args: Args) -> Arc<dyn PhysicalExpr> {
    Kernel::strict("Chr", args, ArrowType::Utf8View, |args, rows| {
        let arg = single(args)?;
        let numbers = arg.primitive::<Int64Type>()?;
        texts(&[arg], rows, |row, out| {
            let number = numbers.value(arg.at(row));
            let [lowest, ..] = number.to_le_bytes();
            if number >= 0 {
                out.push(char::from(lowest));
            }
            Ok(())
        })
    })
}

/// How many bytes there are, times a number.
fn bytes(op: Function, times: i32, args: Args) -> Arc<dyn PhysicalExpr> {
    Kernel::strict(op.name(), args, ArrowType::Int32, move |args, rows| {
        let arg = single(args)?;
        let binary = match arg.array.data_type() {
            ArrowType::BinaryView => Some(arg.binary()?),
            _ => None,
        };
        let string = if binary.is_none() {
            Some(arg.string()?)
        } else {
            None
        };
        integers(&[arg], rows, |row| {
            let at = arg.at(row);
            let length = match (binary, string) {
                (Some(binary), _) => binary.value(at).len(),
                (_, Some(string)) => string.value(at).len(),
                _ => 0,
            };
            // Ints of Java.
            Ok(i32::try_from(length)
                .unwrap_or(i32::MAX)
                .wrapping_mul(times))
        })
    })
}

/// Longest texts, in characters together, whose distance is computed. It takes time for each pair of them.
const MAX_DISTANCE: usize = 1 << 16;

fn distance(left: &str, right: &str) -> RunResult<i32> {
    let (left, right): (Vec<char>, Vec<char>) = (left.chars().collect(), right.chars().collect());
    if left.len() + right.len() > MAX_DISTANCE {
        return Err(bail_out("the distance of long texts"));
    }
    let mut row: Vec<i32> = (0..).take(right.len() + 1).collect();
    for (above, char) in (1..).zip(&left) {
        let mut last = above;
        let mut diagonal = above - 1;
        for (cell, other) in row.iter_mut().skip(1).zip(&right) {
            let replaced = diagonal + i32::from(char != other);
            diagonal = *cell;
            last = replaced.min(last + 1).min(*cell + 1);
            *cell = last;
        }
        if let Some(first) = row.first_mut() {
            *first = above;
        }
    }
    Ok(row.last().copied().unwrap_or(0))
}

fn levenshtein(args: Args) -> Arc<dyn PhysicalExpr> {
    Kernel::strict("Levenshtein", args, ArrowType::Int32, |args, rows| {
        let (left, right) = pair(args)?;
        let (lefts, rights) = (left.string()?, right.string()?);
        integers(&[left, right], rows, |row| {
            distance(lefts.value(left.at(row)), rights.value(right.at(row)))
        })
    })
}

/// Digits for the letters from A: 0 for vowels, 7 for those that are as if they were not there.
const SOUNDS: &[u8; 26] = b"01230127022455012623017202";

fn soundex(text: &str, out: &mut String) {
    let sound = |byte: u8| {
        let place = byte.to_ascii_uppercase().wrapping_sub(b'A');
        SOUNDS.get(usize::from(place)).copied()
    };
    let mut bytes = text.bytes();
    let Some((first, mut last)) = bytes.next().and_then(|byte| Some((byte, sound(byte)?))) else {
        out.push_str(text);
        return;
    };
    out.push(char::from(first.to_ascii_uppercase()));
    for byte in bytes {
        match sound(byte) {
            None => last = b'0',
            Some(b'7') => {}
            Some(code) => {
                if code != b'0' && code != last {
                    out.push(char::from(code));
                    if out.len() == 4 {
                        return;
                    }
                }
                last = code;
            }
        }
    }
    while out.len() < 4 {
        out.push('0');
    }
}

/// Lower case, but for what follows blanks.
fn title(text: &str, out: &mut String) -> RunResult<()> {
    let unknown = || bail_out("letters whose case depends on Java's Unicode");
    let mut first = true;
    for char in text.chars() {
        // One of the characters that become several, which versions of Spark do differently.
        if !has_known_case(char) || char == 'ß' {
            return Err(unknown());
        }
        if first {
            out.extend(char.to_uppercase());
        } else {
            out.extend(char.to_lowercase());
        }
        first = char == ' ';
    }
    Ok(())
}

/// The longest text that is made of many, in bytes. More is left to Spark.
const MAX_MADE: usize = MAX_PADDED.unsigned_abs() as usize;

fn repeat(args: Args) -> Arc<dyn PhysicalExpr> {
    Kernel::strict("StringRepeat", args, ArrowType::Utf8View, |args, rows| {
        let (text, times) = pair(args)?;
        let (source, numbers) = (text.string()?, times.primitive::<Int32Type>()?);
        texts(&[text, times], rows, |row, out| {
            let source = source.value(text.at(row));
            let times = usize::try_from(numbers.value(times.at(row))).unwrap_or(0);
            if source.len().saturating_mul(times) > MAX_MADE {
                return Err(bail_out("a long repetition"));
            }
            if !source.is_empty() {
                out.extend(std::iter::repeat_n(source, times));
            }
            Ok(())
        })
    })
}

fn space(args: Args) -> Arc<dyn PhysicalExpr> {
    Kernel::strict("StringSpace", args, ArrowType::Utf8View, |args, rows| {
        let arg = single(args)?;
        let numbers = arg.primitive::<Int32Type>()?;
        texts(&[arg], rows, |row, out| {
            let length = usize::try_from(numbers.value(arg.at(row))).unwrap_or(0);
            if length > MAX_MADE {
                return Err(bail_out("a long repetition"));
            }
            out.extend(std::iter::repeat_n(' ', length));
            Ok(())
        })
    })
}

/// Characters replaced by those at the same places; those that have none are left out.
fn translate(args: Args) -> Arc<dyn PhysicalExpr> {
    let to = ArrowType::Utf8View;
    Kernel::strict("StringTranslate", args, to, |args, rows| {
        let (text, from, by) = (nth(args, 0)?, nth(args, 1)?, nth(args, 2)?);
        let value = |of: &Arg, array: &StringViewArray, row| array.value(of.at(row)).to_owned();
        let (source, matching, replacing) = (text.string()?, from.string()?, by.string()?);
        texts(&[text, from, by], rows, |row, out| {
            let (matching, replacing) = (value(from, matching, row), value(by, replacing, row));
            if replacing.contains('\0') {
                // Some versions take it for a character, others for none.
                return Err(bail_out("characters that are replaced by U+0000"));
            }
            for char in source.value(text.at(row)).chars() {
                match matching.chars().position(|other| other == char) {
                    None => out.push(char),
                    Some(place) => {
                        out.extend(replacing.chars().nth(place));
                    }
                }
            }
            Ok(())
        })
    })
}

/// A text with another in the place of some of its characters; a negative length is the other's.
fn overlay(args: Args) -> Arc<dyn PhysicalExpr> {
    Kernel::strict("Overlay", args, ArrowType::Utf8View, |args, rows| {
        let (text, new) = (nth(args, 0)?, nth(args, 1)?);
        let (position, length) = (nth(args, 2)?, nth(args, 3)?);
        let (source, news) = (text.string()?, new.string()?);
        let positions = position.primitive::<Int32Type>()?;
        let lengths = length.primitive::<Int32Type>()?;
        texts(&[text, new, position, length], rows, |row, out| {
            let (source, new) = (source.value(text.at(row)), news.value(new.at(row)));
            let position = positions.value(position.at(row));
            let length = match lengths.value(length.at(row)) {
                length @ 0.. => length,
                _ => characters(new),
            };
            let part = |position: i32, length: i32| {
                let (start, end) = bounds(position, length, || characters(source));
                slice(source, start, end)
            };
            // Where an int of Java overflows, some versions wrap and others do not.
            let ends = position.checked_sub(1).zip(position.checked_add(length));
            let (before, behind) = ends.ok_or_else(|| bail_out("a place that overflows"))?;
            out.push_str(part(1, before));
            out.push_str(new);
            out.push_str(part(behind, i32::MAX));
            Ok(())
        })
    })
}

/// A text for a column of so many characters; `None` if it has more that are no blanks.
fn fit(op: Function, text: &str, limit: i32, out: &mut String) -> Option<()> {
    let missing = limit.checked_sub(characters(text))?;
    if missing >= 0 {
        out.push_str(text);
        if op != Function::VarcharTypeWriteSideCheck {
            out.extend(std::iter::repeat_n(' ', usize::try_from(missing).ok()?));
        }
        return Some(());
    }
    if op == Function::ReadSidePadding {
        out.push_str(text);
        return Some(());
    }
    let kept = slice(text, 0, limit);
    out.push_str(kept);
    let rest = text.get(kept.len()..)?;
    rest.bytes().all(|byte| byte == b' ').then_some(())
}

fn fitted(op: Function, args: Args) -> Arc<dyn PhysicalExpr> {
    Kernel::strict(op.name(), args, ArrowType::Utf8View, move |args, rows| {
        let (text, limit) = pair(args)?;
        let (source, limits) = (text.string()?, limit.primitive::<Int32Type>()?);
        texts(&[text, limit], rows, |row, out| {
            let limit = limits.value(limit.at(row));
            if !(0..=MAX_PADDED).contains(&limit) {
                return Err(bail_out("a long padding"));
            }
            let fit = fit(op, source.value(text.at(row)), limit, out);
            fit.ok_or_else(|| bail_out("a text that is too long for its column"))
        })
    })
}

/// Whether there are digits only, and every second from the last but one, doubled and with its own digits added, makes
/// with the others a multiple of ten.
fn is_luhn(text: &str) -> bool {
    let mut sum = 0u64;
    for (place, byte) in text.bytes().rev().enumerate() {
        if !byte.is_ascii_digit() {
            return false;
        }
        let digit = u64::from(byte - b'0');
        sum += match (place % 2, digit) {
            (0, digit) => digit,
            (_, 5..) => digit * 2 - 9,
            _ => digit * 2,
        };
    }
    !text.is_empty() && sum.is_multiple_of(10)
}

fn luhn(args: Args) -> Arc<dyn PhysicalExpr> {
    Kernel::strict("Luhncheck", args, ArrowType::Boolean, |args, rows| {
        let arg = single(args)?;
        let source = arg.string()?;
        let found = (0..rows).map(|row| {
            let at = arg.at(row);
            source.is_valid(at).then(|| is_luhn(source.value(at)))
        });
        Ok(Arc::new(found.collect::<BooleanArray>()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sounds_are_sparks() {
        let of = |text| {
            let mut out = String::new();
            soundex(text, &mut out);
            out
        };
        assert_eq!(of("Miller"), "M460");
        assert_eq!(of("ashcraft"), "A261");
        assert_eq!(of("Tymczak"), "T522");
        assert_eq!(of(""), "");
        assert_eq!(of("#x"), "#x");
        assert_eq!(of("ä"), "ä");
    }

    #[test]
    fn distances_are_of_characters() {
        let of = |left, right| distance(left, right).unwrap();
        assert_eq!(of("kitten", "sitting"), 3);
        assert_eq!(of("", "abc"), 3);
        assert_eq!(of("abc", ""), 3);
        assert_eq!(of("äb", "b"), 1);
        assert_eq!(of("", ""), 0);
        assert!(distance(&"a".repeat(MAX_DISTANCE + 1), "").is_err());
    }

    #[test]
    fn columns_have_their_width() {
        use Function as F;
        let of = |op, text, limit| {
            let mut out = String::new();
            fit(op, text, limit, &mut out).map(|()| out)
        };
        assert_eq!(
            of(F::CharTypeWriteSideCheck, "ä", 3).as_deref(),
            Some("ä  ")
        );
        assert_eq!(
            of(F::CharTypeWriteSideCheck, "ä    ", 3).as_deref(),
            Some("ä  ")
        );
        assert_eq!(of(F::CharTypeWriteSideCheck, "ä  b", 3), None);
        assert_eq!(
            of(F::VarcharTypeWriteSideCheck, "ä", 3).as_deref(),
            Some("ä")
        );
        assert_eq!(
            of(F::VarcharTypeWriteSideCheck, "äbc ", 3).as_deref(),
            Some("äbc")
        );
        assert_eq!(of(F::ReadSidePadding, "äbcd", 3).as_deref(), Some("äbcd"));
        assert_eq!(of(F::ReadSidePadding, "", 2).as_deref(), Some("  "));
        assert!(is_luhn("79927398713") && !is_luhn("79927398714") && !is_luhn(""));
        assert!(!is_luhn("1 8") && is_luhn("0"));
    }

    #[test]
    fn titles_of_unknown_letters_are_left_to_spark() {
        let of = |text| {
            let mut out = String::new();
            title(text, &mut out).map(|()| out).ok()
        };
        assert_eq!(of("sPark  sQL").as_deref(), Some("Spark  Sql"));
        assert_eq!(of("ünï жз").as_deref(), Some("Ünï Жз"));
        assert_eq!(of("straße"), None);
        assert_eq!(of("Σ"), None);
    }
}
