//! Arrays of texts.

use std::sync::Arc;

use arrow::array::{Array, AsArray, StringViewArray, StringViewBuilder};
use arrow::buffer::NullBuffer;
use arrow::datatypes::DataType as ArrowType;
use datafusion_common::ScalarValue;
use datafusion_physical_expr::PhysicalExpr;

use super::super::kernel::{Kernel, nth, pair};
use super::super::known;
use super::{list, lists, other, range};

type Physical = Arc<dyn PhysicalExpr>;

/// Texts, with a text between them; those that are null are left out.
pub(super) fn joined(args: Vec<Physical>) -> Physical {
    Kernel::strict("ArrayJoin", args, ArrowType::Utf8View, |args, rows| {
        let (arrays, between) = pair(args)?;
        let arrays = list(arrays, rows)?;
        let texts = arrays.values().as_string_view_opt().ok_or_else(other)?;
        let betweens = between.string()?;
        let joined = (0..rows).map(|row| {
            let at = between.at(row);
            if arrays.is_null(row) || betweens.is_null(at) {
                return None;
            }
            let all = range(arrays.value_offsets(), row);
            let all = all.filter(|element| texts.is_valid(*element));
            let all: Vec<_> = all.map(|element| texts.value(element)).collect();
            Some(all.join(betweens.value(at)))
        });
        Ok(Arc::new(joined.collect::<StringViewArray>()) as _)
    })
}

/// What stands for something else than itself in Java's regular expressions.
const SPECIAL: &str = "\\^$.|?*+()[]{}";

/// The text that a regular expression matches, if it matches nothing else.
fn plain(regex: &str) -> Option<String> {
    let mut text = String::new();
    let mut characters = regex.chars();
    while let Some(character) = characters.next() {
        match character {
            // Letters and digits behind it mean something of their own.
            '\\' => text.push(characters.next().filter(|next| SPECIAL.contains(*next))?),
            _ if SPECIAL.contains(character) => return None,
            _ => text.push(character),
        }
    }
    (!text.is_empty()).then_some(text)
}

/// The parts of texts between one that is always the same, all of them; `None` for other ways to split.
pub(super) fn split(to: &ArrowType, args: Vec<Physical>) -> Option<Physical> {
    let between = match args.get(1).and_then(known)? {
        ScalarValue::Utf8View(Some(regex)) => plain(regex)?,
        _ => return None,
    };
    match args.get(2).and_then(known)? {
        ScalarValue::Int32(Some(..=0)) => {}
        _ => return None,
    }
    let of = to.clone();
    let kernel = Kernel::strict("StringSplit", args, to.clone(), move |args, rows| {
        let texts = nth(args, 0)?;
        let values = texts.string()?;
        let mut parts = StringViewBuilder::new();
        let (mut lengths, mut valid) = (Vec::with_capacity(rows), Vec::with_capacity(rows));
        for row in 0..rows {
            let at = texts.at(row);
            valid.push(values.is_valid(at));
            let mut length = 0;
            if values.is_valid(at) {
                for part in values.value(at).split(between.as_str()) {
                    parts.append_value(part);
                    length += 1;
                }
            }
            lengths.push(length);
        }
        let nulls = valid.contains(&false).then(|| NullBuffer::from(valid));
        lists(&of, lengths, Arc::new(parts.finish()), nulls)
    });
    Some(kernel)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_means_itself_is_split_by() {
        assert_eq!(plain(", "), Some(", ".to_owned()));
        assert_eq!(plain("\\|"), Some("|".to_owned()));
        for other in ["", ".", "a|b", "\\s", "\\", "[,]", "x+"] {
            assert_eq!(plain(other), None, "{other}");
        }
    }
}
