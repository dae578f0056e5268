//! Expressions as Catalyst prints them: which functions, conversions and operators they have.
//!
//! Texts in them are not quoted, so that what is found may be part of a text. Nothing is found where something is of
//! which a judge must know only if it is written in no known way.

use std::collections::BTreeMap;

/// Types of columns by their number: `a#12` is 12.
pub(crate) type Types = BTreeMap<i64, String>;

/// Longest text that is looked at.
const MAX_TEXT: usize = 1 << 20;
/// Deepest nesting that is looked at.
const MAX_DEPTH: usize = 300;

/// What an expression has in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Found {
    /// A function, as it is printed, with the types of its arguments where they are known.
    Call {
        name: String,
        arguments: Vec<Option<String>>,
    },
    /// A conversion.
    Cast { from: Option<String>, to: String },
    /// Spark's class of an operator that is printed as a sign.
    Sign(&'static str),
}

/// Signs with Spark's class; blanks are around those between two arguments.
const SIGNS: [(&str, &str); 18] = [
    (" + ", "Add"),
    (" - ", "Subtract"),
    (" * ", "Multiply"),
    (" / ", "Divide"),
    (" % ", "Remainder"),
    (" div ", "IntegralDivide"),
    (" & ", "BitwiseAnd"),
    (" | ", "BitwiseOr"),
    (" ^ ", "BitwiseXor"),
    (" << ", "ShiftLeft"),
    (" >> ", "ShiftRight"),
    (" >>> ", "ShiftRightUnsigned"),
    (" <=> ", "EqualNullSafe"),
    (" LIKE ", "Like"),
    (" IN (", "In"),
    (" INSET ", "InSet"),
    ("CASE WHEN ", "CaseWhen"),
    (" RLIKE ", "RLike"),
];

/// Types that are written with brackets.
const TYPES: [&str; 4] = ["decimal", "char", "varchar", "interval"];

struct Frame<'t> {
    name: &'t str,
    /// Where its last argument begins.
    argument: usize,
    arguments: Vec<Option<String>>,
    /// How much had been found before it.
    before: usize,
}

/// What a text has in it; `None` if it is too long or nested too deeply. Types of columns that the text gives names to
/// are added.
pub(crate) fn scan(text: &str, types: &mut Types) -> Option<Vec<Found>> {
    if text.len() > MAX_TEXT {
        return None;
    }
    let mut found = Vec::new();
    let mut open: Vec<Frame<'_>> = Vec::new();
    let mut word = 0;
    let between = |from: usize, to: usize| text.get(from..to).unwrap_or_default();
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'(' | b'[' => {
                let name = if byte == b'(' { between(word, at) } else { "[" };
                let before = found.len();
                if byte == b'[' && is_column(between(word, at)) {
                    // An element of a list, or of a map.
                    found.push(call("element", Vec::new()));
                }
                open.push(Frame {
                    name,
                    argument: at + 1,
                    arguments: Vec::new(),
                    before,
                });
                if open.len() > MAX_DEPTH {
                    return None;
                }
            }
            b',' => {
                if let Some(frame) = open.last_mut() {
                    let argument = between(frame.argument, at);
                    note_name(argument, types);
                    frame.arguments.push(type_of(argument, types));
                    frame.argument = at + 1;
                }
            }
            b')' | b']' => {
                if let Some(mut frame) = open.pop() {
                    let argument = between(frame.argument, at);
                    note_name(argument, types);
                    if text.as_bytes().get(at + 1) == Some(&b'#') {
                        // The name of a column: Spark calls it as it is computed.
                        found.truncate(frame.before);
                    } else if !frame.name.is_empty() && frame.name != "[" {
                        if !argument.trim().is_empty() {
                            frame.arguments.push(type_of(argument, types));
                        }
                        found.extend(closed(frame, argument, types));
                    }
                }
            }
            _ => {}
        }
        let in_word = byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'$' | b'#');
        if !in_word {
            word = at + 1;
        }
    }
    let signs = SIGNS.iter().filter(|(sign, _)| text.contains(sign));
    found.extend(signs.map(|(_, class)| Found::Sign(class)));
    Some(found)
}

fn call(name: &str, arguments: Vec<Option<String>>) -> Found {
    Found::Call {
        name: name.to_owned(),
        arguments,
    }
}

/// What was found with a closing bracket.
fn closed(frame: Frame<'_>, argument: &str, types: &Types) -> Option<Found> {
    let name = frame.name;
    if TYPES.contains(&name) {
        return None;
    }
    if matches!(name, "cast" | "try_cast" | "ansi_cast")
        && let Some((from, to)) = argument.rsplit_once(" as ")
    {
        return Some(Found::Cast {
            from: type_of(from, types),
            to: to.to_owned(),
        });
    }
    // Names begin with a letter.
    name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        .then(|| call(name, frame.arguments))
}

/// Whether a word is a column: `a#12` or `a#12L`.
fn is_column(word: &str) -> bool {
    number(word).is_some()
}

/// The number of a column.
fn number(word: &str) -> Option<i64> {
    let (_, number) = word.rsplit_once('#')?;
    number.trim_end_matches('L').parse().ok()
}

/// All columns that a text names.
pub(crate) fn columns(text: &str) -> impl Iterator<Item = &str> {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '#');
    text.split(move |c| !is_part(c))
        .filter(|word| is_column(word))
}

/// The type of an argument, if it says it: a column, or a conversion.
pub(crate) fn type_of(argument: &str, types: &Types) -> Option<String> {
    let argument = argument.trim();
    let argument = argument.strip_prefix("distinct ").unwrap_or(argument);
    if let Some(rest) = argument.strip_prefix("cast(")
        && let Some(inner) = rest.strip_suffix(')')
    {
        let (from, to) = inner.rsplit_once(" as ")?;
        // One conversion, and not the first of several arguments.
        return (balance(from) == Some(0)).then(|| to.to_owned());
    }
    if argument.len() > 200 || argument.contains([' ', '(', '[']) {
        return None;
    }
    let number = number(argument)?;
    match types.get(&number) {
        Some(known) => Some(known.clone()),
        None => argument.ends_with('L').then(|| "bigint".to_owned()),
    }
}

/// Brackets that are left open; `None` if one is closed that was not opened.
fn balance(text: &str) -> Option<usize> {
    text.bytes().try_fold(0usize, |open, byte| match byte {
        b'(' => Some(open + 1),
        b')' => open.checked_sub(1),
        _ => Some(open),
    })
}

/// Learns the type of `cast(a#1 as string) AS b#2`.
fn note_name(item: &str, types: &mut Types) {
    if let Some((expression, name)) = item.rsplit_once(" AS ")
        && let Some(number) = number(name)
        && let Some(known) = type_of(expression, types)
    {
        types.insert(number, known);
    }
}

/// The parts of a text between the commas that are in no brackets.
pub(crate) fn parts(text: &str) -> Vec<&str> {
    let (mut depth, mut start, mut all) = (0usize, 0, Vec::new());
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'(' | b'[' | b'<' => depth += 1,
            b')' | b']' | b'>' => depth = depth.saturating_sub(1),
            b',' if depth == 0 => {
                all.push(text.get(start..at).unwrap_or_default().trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    all.push(text.get(start..).unwrap_or_default().trim());
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<Found> {
        scan(text, &mut Types::from([(1, "date".to_owned())])).unwrap()
    }

    #[test]
    fn functions_have_types_where_columns_have() {
        assert_eq!(
            found("Project [year(a#1) AS y#2, substring(b#3, 1, 2) AS s#4]"),
            [
                call("year", vec![Some("date".to_owned())]),
                call("substring", vec![None, None, None])
            ]
        );
        assert_eq!(
            found("abs(v#7L)"),
            [call("abs", vec![Some("bigint".to_owned())])]
        );
    }

    #[test]
    fn conversions_have_types() {
        let cast = |from: Option<&str>, to: &str| Found::Cast {
            from: from.map(str::to_owned),
            to: to.to_owned(),
        };
        assert_eq!(found("cast(a#1 as string)"), [cast(Some("date"), "string")]);
        assert_eq!(
            found("cast(cast(b#9 as decimal(10,2)) as double)"),
            [
                cast(None, "decimal(10,2)"),
                cast(Some("decimal(10,2)"), "double")
            ]
        );
        let mut types = Types::new();
        scan("[cast(a#1 as string) AS b#2, c#3]", &mut types).unwrap();
        assert_eq!(types.get(&2).map(String::as_str), Some("string"));
    }

    #[test]
    fn names_of_columns_are_no_functions() {
        assert!(
            found("Project [sum(v)#3L, (v#1 % 10)#4 AS x#5]")
                .iter()
                .all(|it| matches!(it, Found::Sign(_)))
        );
        assert_eq!(
            found("upper(n#2) AS upper(n)#3"),
            [call("upper", vec![None])]
        );
    }

    #[test]
    fn signs_and_elements_are_found() {
        assert_eq!(found("(a#1 + 2)"), [Found::Sign("Add")]);
        assert_eq!(found("list#3[0]"), [call("element", Vec::new())]);
        assert_eq!(found("Sort [a#1 ASC NULLS FIRST], true, 0"), []);
    }

    #[test]
    fn anything_can_be_scanned() {
        for text in [
            ")))",
            "(((",
            "[,(",
            "cast( as )",
            "a#",
            "#1[",
            "é(ü#1)",
            "f(x",
        ] {
            assert!(scan(text, &mut Types::new()).is_some(), "{text}");
        }
        assert!(scan(&"(".repeat(1000), &mut Types::new()).is_none());
    }

    #[test]
    fn parts_are_between_commas() {
        assert_eq!(
            parts("[a, b], f(x, y), Inner"),
            ["[a, b]", "f(x, y)", "Inner"]
        );
        assert_eq!(
            columns("[a#1, b_c#22L], x").collect::<Vec<_>>(),
            ["a#1", "b_c#22L"]
        );
    }
}
