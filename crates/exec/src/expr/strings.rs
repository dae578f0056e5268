//! Functions of strings and binaries.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, BinaryViewArray, BinaryViewBuilder, BooleanArray, Int32Array, StringViewArray,
    StringViewBuilder,
};
use arrow::buffer::BooleanBuffer;
use arrow::datatypes::{DataType as ArrowType, Int32Type};
use datafusion_common::{Result as RunResult, ScalarValue};
use datafusion_physical_expr::PhysicalExpr;
use datafusion_physical_expr::expressions::Literal;
use memchr::memmem;

use super::kernel::{Arg, Kernel, nth, pair, single, union_nulls};
use super::like::Pattern;
use catalyst::Function;
use catalyst::Unsupported;
use rows::error::bail_out;

type Args = Vec<Arc<dyn PhysicalExpr>>;
type Lowered = Result<Arc<dyn PhysicalExpr>, Unsupported>;

/// The values of a string or binary argument as bytes.
enum Texts<'a> {
    String(&'a StringViewArray),
    Binary(&'a BinaryViewArray),
}

impl Texts<'_> {
    fn of(arg: &Arg) -> RunResult<Texts<'_>> {
        match arg.array.data_type() {
            ArrowType::BinaryView => arg.binary().map(Texts::Binary),
            _ => arg.string().map(Texts::String),
        }
    }

    #[inline]
    fn get(&self, row: usize) -> &[u8] {
        match self {
            Self::String(array) => array.value(row).as_bytes(),
            Self::Binary(array) => array.value(row),
        }
    }
}

/// Which functions strings have here, and binaries.
pub(super) fn lower(op: Function, types: &[ArrowType], to: &ArrowType, args: Args) -> Lowered {
    use Function as F;
    let refuse = || {
        let types: Vec<_> = types.iter().map(ToString::to_string).collect();
        Unsupported::of_use(format!("{}({})", op.name(), types.join(", ")))
    };
    let strings = types.iter().all(|of| *of == ArrowType::Utf8View);
    let binaries = types.iter().all(|of| *of == ArrowType::BinaryView);
    let padding = matches!(
        types,
        [ArrowType::Utf8View, ArrowType::Int32, ArrowType::Utf8View]
    );
    match op {
        F::StartsWith | F::EndsWith | F::Contains if strings || binaries => Ok(search(op, args)),
        F::Like { escape } if strings => like(escape, args),
        F::Upper | F::Lower if strings => Ok(case(op, args)),
        F::Length if strings || binaries => Ok(length(args)),
        F::Concat if (strings || binaries) && !types.is_empty() => Ok(concat(to, args)),
        F::ConcatWs if strings && !types.is_empty() => Ok(concat_ws(args)),
        F::Substring => match types {
            [
                ArrowType::Utf8View | ArrowType::BinaryView,
                ArrowType::Int32,
                ArrowType::Int32,
            ] => Ok(substring(to, args)),
            _ => Err(refuse()),
        },
        F::StringReplace if strings && types.len() == 3 => Ok(replace(args)),
        F::StringLPad | F::StringRPad if padding => Ok(pad(op, args)),
        F::StringLPad | F::StringRPad
            if *types
                == [
                    ArrowType::BinaryView,
                    ArrowType::Int32,
                    ArrowType::BinaryView,
                ] =>
        {
            Ok(super::codecs::pad(op, args))
        }
        F::StringTrim | F::StringTrimLeft | F::StringTrimRight if strings => Ok(trim(op, args)),
        _ => Err(refuse()),
    }
}

/// Texts of rows in which no argument is null.
pub(super) fn texts(
    args: &[&Arg],
    rows: usize,
    mut f: impl FnMut(usize, &mut String) -> RunResult<()>,
) -> RunResult<ArrayRef> {
    let nulls = union_nulls(args);
    let mut builder = StringViewBuilder::with_capacity(rows);
    let mut text = String::new();
    for row in 0..rows {
        if nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
            builder.append_null();
        } else {
            text.clear();
            f(row, &mut text)?;
            builder.append_value(&text);
        }
    }
    Ok(Arc::new(builder.finish()))
}

fn booleans(args: &[&Arg], rows: usize, f: impl FnMut(usize) -> bool) -> ArrayRef {
    let values = BooleanBuffer::collect_bool(rows, f);
    Arc::new(BooleanArray::new(values, union_nulls(args)))
}

fn search(op: Function, args: Args) -> Arc<dyn PhysicalExpr> {
    Kernel::strict(op.name(), args, ArrowType::Boolean, move |args, rows| {
        let (left, right) = pair(args)?;
        let (text, part) = (Texts::of(left)?, Texts::of(right)?);
        let both = [left, right];
        Ok(match op {
            Function::StartsWith => booleans(&both, rows, |row| {
                text.get(left.at(row)).starts_with(part.get(right.at(row)))
            }),
            Function::EndsWith => booleans(&both, rows, |row| {
                text.get(left.at(row)).ends_with(part.get(right.at(row)))
            }),
            _ if right.constant => {
                let finder = memmem::Finder::new(part.get(0));
                booleans(&both, rows, |row| {
                    finder.find(text.get(left.at(row))).is_some()
                })
            }
            _ => booleans(&both, rows, |row| {
                memmem::find(text.get(left.at(row)), part.get(right.at(row))).is_some()
            }),
        })
    })
}

fn like(escape: char, args: Args) -> Lowered {
    let name = format!("Like[{escape}]");
    // A pattern is usually known.
    let pattern = args
        .get(1)
        .and_then(|arg| (arg.as_ref() as &dyn std::any::Any).downcast_ref::<Literal>());
    if let Some(literal) = pattern
        && let ScalarValue::Utf8View(Some(text)) = literal.value()
    {
        let pattern = Pattern::new(text, escape);
        let pattern = pattern.ok_or_else(|| Unsupported::of_use("an invalid pattern"))?;
        return Ok(Kernel::strict(
            name,
            args,
            ArrowType::Boolean,
            move |args, rows| {
                let text = nth(args, 0)?;
                let texts = text.string()?;
                Ok(booleans(&[text], rows, |row| {
                    let at = text.at(row);
                    texts.is_valid(at) && pattern.matches(texts.value(at))
                }))
            },
        ));
    }
    Ok(Kernel::strict(
        name,
        args,
        ArrowType::Boolean,
        move |args, rows| {
            let (left, right) = pair(args)?;
            let (texts, patterns) = (left.string()?, right.string()?);
            let mut invalid = false;
            let result = booleans(&[left, right], rows, |row| {
                let (left, right) = (left.at(row), right.at(row));
                if texts.is_null(left) || patterns.is_null(right) {
                    return false;
                }
                match Pattern::new(patterns.value(right), escape) {
                    Some(pattern) => pattern.matches(texts.value(left)),
                    None => {
                        invalid = true;
                        false
                    }
                }
            });
            if invalid {
                return Err(bail_out("an invalid pattern"));
            }
            Ok(result)
        },
    ))
}

/// Characters of which all Javas and this know the cases: ASCII, Latin, Cyrillic and scripts and signs that have none.
/// Greek has rules of its own.
pub(super) fn has_known_case(char: char) -> bool {
    matches!(char,
        '\0'..='\u{7f}'
        | '\u{a0}'..='\u{12f}'
        | '\u{132}'..='\u{148}'
        | '\u{14a}'..='\u{17e}'
        | '\u{400}'..='\u{481}'
        | '\u{5d0}'..='\u{5ea}'
        | '\u{620}'..='\u{64a}'
        | '\u{e01}'..='\u{e3a}'
        | '\u{2010}'..='\u{2027}'
        | '\u{20a0}'..='\u{20bf}'
        | '\u{ac00}'..='\u{d7a3}'
        | '\u{1f300}'..='\u{1f64f}'
        | '\u{3000}'..='\u{9fff}')
}

fn case(op: Function, args: Args) -> Arc<dyn PhysicalExpr> {
    let upper = op == Function::Upper;
    Kernel::strict(op.name(), args, ArrowType::Utf8View, move |args, rows| {
        let arg = single(args)?;
        let array = arg.string()?;
        texts(&[arg], rows, |row, out| {
            let text = array.value(row);
            if text.is_ascii() {
                out.push_str(text);
                if upper {
                    out.make_ascii_uppercase();
                } else {
                    out.make_ascii_lowercase();
                }
            } else if text.chars().all(has_known_case) {
                out.push_str(&if upper {
                    text.to_uppercase()
                } else {
                    text.to_lowercase()
                });
            } else {
                return Err(bail_out("letters whose case depends on Java's Unicode"));
            }
            Ok(())
        })
    })
}

pub(super) fn characters(text: &str) -> i32 {
    let count = if text.is_ascii() {
        text.len()
    } else {
        text.chars().count()
    };
    i32::try_from(count).unwrap_or(i32::MAX)
}

fn length(args: Args) -> Arc<dyn PhysicalExpr> {
    Kernel::strict("Length", args, ArrowType::Int32, |args, _| {
        let arg = single(args)?;
        let lengths: Vec<i32> = match Texts::of(arg)? {
            Texts::String(array) => (0..array.len())
                .map(|row| characters(array.value(row)))
                .collect(),
            Texts::Binary(array) => (0..array.len())
                .map(|row| i32::try_from(array.value(row).len()).unwrap_or(i32::MAX))
                .collect(),
        };
        let nulls = arg.array.nulls().cloned();
        Ok(Arc::new(Int32Array::try_new(lengths.into(), nulls)?))
    })
}

fn concat(to: &ArrowType, args: Args) -> Arc<dyn PhysicalExpr> {
    let binary = *to == ArrowType::BinaryView;
    Kernel::strict("Concat", args, to.clone(), move |args, rows| {
        let all: Vec<&Arg> = args.iter().collect();
        if binary {
            let nulls = union_nulls(&all);
            let mut builder = BinaryViewBuilder::with_capacity(rows);
            let mut bytes = Vec::new();
            for row in 0..rows {
                if nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
                    builder.append_null();
                    continue;
                }
                bytes.clear();
                for arg in args {
                    bytes.extend_from_slice(arg.binary()?.value(arg.at(row)));
                }
                builder.append_value(&bytes);
            }
            return Ok(Arc::new(builder.finish()));
        }
        let columns = args
            .iter()
            .map(Arg::string)
            .collect::<RunResult<Vec<_>>>()?;
        texts(&all, rows, |row, out| {
            for (arg, column) in args.iter().zip(&columns) {
                out.push_str(column.value(arg.at(row)));
            }
            Ok(())
        })
    })
}

/// Nulls are left out, but for the separator.
fn concat_ws(args: Args) -> Arc<dyn PhysicalExpr> {
    Kernel::lenient("ConcatWs", args, ArrowType::Utf8View, |args, rows| {
        let columns = args
            .iter()
            .map(Arg::string)
            .collect::<RunResult<Vec<_>>>()?;
        let all: Vec<_> = args.iter().zip(columns).collect();
        let Some(((first, separators), rest)) = all.split_first() else {
            return Err(bail_out("no separator"));
        };
        let mut builder = StringViewBuilder::with_capacity(rows);
        let mut text = String::new();
        for row in 0..rows {
            let at = first.at(row);
            if separators.is_null(at) {
                builder.append_null();
                continue;
            }
            text.clear();
            let mut any = false;
            for (arg, column) in rest {
                if column.is_valid(arg.at(row)) {
                    if any {
                        text.push_str(separators.value(at));
                    }
                    any = true;
                    text.push_str(column.value(arg.at(row)));
                }
            }
            builder.append_value(&text);
        }
        Ok(Arc::new(builder.finish()))
    })
}

/// Where a substring begins and ends, as `substringSQL`: places from 1, from the end if negative.
pub(super) fn bounds(position: i32, length: i32, of: impl Fn() -> i32) -> (i32, i32) {
    let start = match position {
        1.. => position - 1,
        0 => 0,
        // A length is not negative.
        _ => of() + position,
    };
    (start, start.saturating_add(length))
}

/// Characters of a string from one place to before another.
pub(super) fn slice(text: &str, start: i32, end: i32) -> &str {
    if end <= start || usize::try_from(start).is_ok_and(|start| start >= text.len()) {
        return "";
    }
    let (start, end) = (start.max(0), end.max(0));
    let (start, end) = (start.unsigned_abs() as usize, end.unsigned_abs() as usize);
    if text.is_ascii() {
        return text
            .get(start.min(text.len())..end.min(text.len()))
            .unwrap_or_default();
    }
    let mut places = text.char_indices().map(|(at, _)| at);
    let first = places.nth(start).unwrap_or(text.len());
    let last = if end > start {
        places.nth(end - start - 1).unwrap_or(text.len())
    } else {
        first
    };
    text.get(first..last).unwrap_or_default()
}

fn substring(to: &ArrowType, args: Args) -> Arc<dyn PhysicalExpr> {
    Kernel::strict("Substring", args, to.clone(), |args, rows| {
        let (text, position, length) = (nth(args, 0)?, nth(args, 1)?, nth(args, 2)?);
        let positions = position.primitive::<Int32Type>()?;
        let lengths = length.primitive::<Int32Type>()?;
        let nulls = union_nulls(&[text, position, length]);
        let valid = |row| nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row));
        let at = |row| {
            (
                positions.value(position.at(row)),
                lengths.value(length.at(row)),
            )
        };
        match Texts::of(text)? {
            Texts::String(array) => {
                let mut builder = StringViewBuilder::with_capacity(rows);
                for row in 0..rows {
                    if !valid(row) {
                        builder.append_null();
                        continue;
                    }
                    let value = array.value(text.at(row));
                    let (position, length) = at(row);
                    let (start, end) = bounds(position, length, || characters(value));
                    builder.append_value(slice(value, start, end));
                }
                Ok(Arc::new(builder.finish()))
            }
            Texts::Binary(array) => {
                let mut builder = BinaryViewBuilder::with_capacity(rows);
                for row in 0..rows {
                    if !valid(row) {
                        builder.append_null();
                        continue;
                    }
                    let value = array.value(text.at(row));
                    let (position, length) = at(row);
                    let size = i32::try_from(value.len()).unwrap_or(i32::MAX);
                    let (start, end) = bounds(position, length, || size);
                    // Spark's ints overflow, and it may fail.
                    if start.checked_add(length).is_none() || size.checked_sub(start).is_none() {
                        return Err(bail_out("a place that overflows"));
                    }
                    let place = |at: i32| usize::try_from(at.clamp(0, size)).unwrap_or(0);
                    let part = value.get(place(start)..place(end)).unwrap_or_default();
                    builder.append_value(part);
                }
                Ok(Arc::new(builder.finish()))
            }
        }
    })
}

fn replace(args: Args) -> Arc<dyn PhysicalExpr> {
    Kernel::strict("StringReplace", args, ArrowType::Utf8View, |args, rows| {
        let (text, search, by) = (nth(args, 0)?, nth(args, 1)?, nth(args, 2)?);
        let (source, searched, new) = (text.string()?, search.string()?, by.string()?);
        texts(&[text, search, by], rows, |row, out| {
            let source = source.value(text.at(row));
            let searched = searched.value(search.at(row));
            if searched.is_empty() {
                out.push_str(source);
                return Ok(());
            }
            let mut parts = source.split(searched);
            out.push_str(parts.next().unwrap_or_default());
            for part in parts {
                out.push_str(new.value(by.at(row)));
                out.push_str(part);
            }
            Ok(())
        })
    })
}

/// The longest text that padding makes, in characters. More is left to Spark.
pub(super) const MAX_PADDED: i32 = 1 << 20;

fn pad(op: Function, args: Args) -> Arc<dyn PhysicalExpr> {
    let left = op == Function::StringLPad;
    Kernel::strict(op.name(), args, ArrowType::Utf8View, move |args, rows| {
        let (text, length, padding) = (nth(args, 0)?, nth(args, 1)?, nth(args, 2)?);
        let (source, lengths) = (text.string()?, length.primitive::<Int32Type>()?);
        let paddings = padding.string()?;
        texts(&[text, length, padding], rows, |row, out| {
            let source = source.value(text.at(row));
            let length = lengths.value(length.at(row));
            let padding = paddings.value(padding.at(row));
            if !(-MAX_PADDED..=MAX_PADDED).contains(&length) {
                return Err(bail_out("a long padding"));
            }
            let missing = length - characters(source);
            if missing <= 0 || padding.is_empty() {
                out.push_str(slice(source, 0, length));
                return Ok(());
            }
            let missing = usize::try_from(missing).unwrap_or(0);
            if !left {
                out.push_str(source);
            }
            out.extend(padding.chars().cycle().take(missing));
            if left {
                out.push_str(source);
            }
            Ok(())
        })
    })
}

fn trim(op: Function, args: Args) -> Arc<dyn PhysicalExpr> {
    let (left, right) = match op {
        Function::StringTrimLeft => (true, false),
        Function::StringTrimRight => (false, true),
        _ => (true, true),
    };
    Kernel::strict(op.name(), args, ArrowType::Utf8View, move |args, rows| {
        let text = nth(args, 0)?;
        let source = text.string()?;
        let characters = args.get(1);
        let sets = characters.map(Arg::string).transpose()?;
        let all: Vec<&Arg> = args.iter().collect();
        texts(&all, rows, |row, out| {
            let mut text = source.value(text.at(row));
            let set = match (characters, sets) {
                (Some(arg), Some(sets)) => sets.value(arg.at(row)),
                // Blanks, not white space.
                _ => " ",
            };
            let in_set = |char: char| set.contains(char);
            if left {
                text = text.trim_start_matches(in_set);
            }
            if right {
                text = text.trim_end_matches(in_set);
            }
            out.push_str(text);
            Ok(())
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn substrings_are_sparks() {
        let sub = |text: &'static str, position, length| {
            let (start, end) = bounds(position, length, || characters(text));
            slice(text, start, end)
        };
        assert_eq!(sub("Spark SQL", 5, i32::MAX), "k SQL");
        assert_eq!(sub("Spark SQL", -3, i32::MAX), "SQL");
        assert_eq!(sub("Spark SQL", 5, 1), "k");
        assert_eq!(sub("Spark SQL", 0, 2), "Sp");
        assert_eq!(sub("abc", -5, 3), "a");
        assert_eq!(sub("abc", -5, 2), "");
        assert_eq!(sub("abc", 10, 2), "");
        assert_eq!(sub("abc", 1, -1), "");
        assert_eq!(sub("äöü€", 2, 2), "öü");
        assert_eq!(sub("äöü€", -1, 5), "€");
        assert_eq!(sub("äöü€", i32::MIN, i32::MAX), "äöü");
    }
}
