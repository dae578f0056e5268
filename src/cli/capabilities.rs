//! `firesteel capabilities`: what runs without a JVM, as the code itself says.

use std::io::{self, Write};
use std::process::ExitCode;

use catalyst::{BuildSide, EvalMode, FILE_FORMATS};
use exec::capabilities as plans;
use exec::expr::{self, Capability, CastCapability};

use super::page::{Format, Section, header, markdown, text};
use crate::files;
use crate::lanes::python;

/// Modes of casts that are all three.
const ALL_MODES: &str = "all";
/// A cast that is left to the JVM.
const NO_MODE: &str = "·";

/// What the page of Markdown begins with.
const INTRO: &str = "# What runs natively\n\nWritten by `firesteel capabilities --format markdown`, which finds it out by trying; a test holds this page against it. Everything else runs in the JVM.\n";

/// Prints everything.
pub(super) fn main(format: Format) -> ExitCode {
    let text = match format {
        Format::Text => text(&sections()),
        Format::Markdown => markdown(INTRO, &sections()),
    };
    // Whoever closes the pipe has seen enough.
    let _ = io::stdout().lock().write_all(text.as_bytes());
    ExitCode::SUCCESS
}

fn sections() -> Vec<Section> {
    let casts = expr::casts();
    let types = cast_types(&casts);
    let written: Vec<_> = files::written_schemes().collect();
    vec![
        Section {
            title: "Operators of Spark SQL",
            note: "With spark.sql.codegen.wholeStage=false all of them are found in a stage; with generated code those that the code names.",
            header: header(["Spark's class"]),
            rows: plans::operators()
                .into_iter()
                .map(|name| vec![name.to_owned()])
                .collect(),
        },
        Section {
            title: "Joins",
            note: "Others of these operators are left to the JVM. NOT IN, a null-aware LeftAnti of a broadcast, has one key.",
            header: header(["Spark's class", "table of", "types"]),
            rows: plans::joins().into_iter().map(join).collect(),
        },
        Section {
            title: "Aggregate functions",
            note: "In partial, merging and final aggregations, with and without DISTINCT and FILTER. Types are those of the argument.",
            header: header(["Spark's class", "types"]),
            rows: plans::aggregates()
                .into_iter()
                .map(|function| vec![function.name.to_owned(), function.arguments.join(", ")])
                .collect(),
        },
        Section {
            title: "Functions of windows",
            note: "Besides the aggregate functions.",
            header: header(["Spark's class"]),
            rows: plans::window_functions()
                .into_iter()
                .map(|name| vec![name.to_owned()])
                .collect(),
        },
        Section {
            title: "Types",
            note: "What columns of a type can be. int stands for what arrays, maps and structs are of; shuffles are joined by sorting if both sides are large.",
            header: header([
                "type",
                "in files",
                "in rows",
                "sorted by",
                "grouped by",
                "joined by",
            ]),
            rows: plans::types_of_columns().into_iter().map(of_type).collect(),
        },
        Section {
            title: "Formats of files",
            note: "Read by FileSourceScanExec.",
            header: header(["format"]),
            rows: FILE_FORMATS
                .iter()
                .map(|(name, _)| vec![(*name).to_owned()])
                .collect(),
        },
        Section {
            title: "Formats of files that are written",
            note: "By the tasks of FileFormatWriter, to file systems of the schemes.",
            header: header(["format", "schemes"]),
            rows: exec::write::FORMATS
                .iter()
                .map(|name| vec![(*name).to_owned(), written.join(", ")])
                .collect(),
        },
        Section {
            title: "File systems",
            note: "Read by PySpark's RDDs, by scans of Spark SQL and for addFile. Settings that only Hadoop understands leave a task to the JVM.",
            header: header(["scheme", "file system"]),
            rows: files::schemes()
                .map(|(scheme, name)| header([scheme, name]))
                .collect(),
        },
        Section {
            title: "RDDs of PySpark",
            note: "",
            header: header(["Spark's class", "what of it"]),
            rows: python::recognised()
                .into_iter()
                .map(|(name, what)| vec![name, what])
                .collect(),
        },
        Section {
            title: "Expressions",
            note: "With the types of their arguments; T is one of the types behind the colon. decimal is one of any precision and scale. What takes any number of arguments is shown with as few as it takes.",
            header: header(["Spark's class", "arguments"]),
            rows: expressions(&expr::functions()),
        },
        Section {
            title: "Casts",
            note: "From the type of the line to the type of the column, in the modes legacy, ansi and try, in UTC. Texts that a cast does not know are left to the JVM one by one.",
            header: casts_header(&types),
            rows: casts_of(&casts, &types),
        },
    ]
}

fn join(join: plans::JoinCapability) -> Vec<String> {
    let side = match join.build_side {
        None => "either side, or none",
        Some(BuildSide::Left) => "the left side",
        Some(BuildSide::Right) => "the right side",
    };
    vec![
        join.operator.to_owned(),
        side.to_owned(),
        join.types.join(", "),
    ]
}

fn of_type(of: plans::TypeCapability) -> Vec<String> {
    let flags = [
        of.scanned,
        of.rows,
        of.sort_key,
        of.group_key,
        of.broadcast_key,
        of.shuffled_key,
    ];
    let flags = flags.map(|flag| if flag { "yes" } else { NO_MODE }.to_owned());
    std::iter::once(of.name).chain(flags).collect()
}

/// One line for each expression.
fn expressions(all: &[Capability]) -> Vec<Vec<String>> {
    let mut names: Vec<&str> = all.iter().map(|of| of.name).collect();
    names.sort_unstable();
    names.dedup();
    names
        .into_iter()
        .map(|name| {
            let of_name = all.iter().filter(|of| of.name == name);
            vec![name.to_owned(), signatures(&of_name.collect::<Vec<_>>())]
        })
        .collect()
}

/// The arguments of an expression: those that are alike but for a type are one.
fn signatures(all: &[&Capability]) -> String {
    let mut left: Vec<&Capability> = all.to_vec();
    let mut written = Vec::new();
    while let Some(first) = left.first() {
        let patterns = left.iter().flat_map(|of| patterns(of));
        let covered = |pattern: &Pattern| left.iter().filter(|of| pattern.of(of).is_some()).count();
        let counted = patterns.map(|pattern| {
            let count = covered(&pattern);
            (pattern, count)
        });
        // Of those that cover as many, the first.
        let best = counted.reduce(|best, next| if next.1 > best.1 { next } else { best });
        let (pattern, many) = match best {
            Some((pattern, count)) if count > 1 => (pattern, true),
            _ => (Pattern::exact(first), false),
        };
        let types: Vec<&str> = left.iter().filter_map(|of| pattern.of(of)).collect();
        written.push(match many {
            true => format!("{}: {}", pattern.text(), types.join(", ")),
            false => pattern.text(),
        });
        left.retain(|of| pattern.of(of).is_none());
    }
    written.join("; ")
}

/// Arguments, of which some are a type that is left open.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Pattern {
    /// `None` is the open type.
    arguments: Vec<Option<String>>,
    modes: Vec<EvalMode>,
}

/// Every pattern that an expression is one of.
fn patterns(of: &Capability) -> Vec<Pattern> {
    let mut types: Vec<&String> = of.arguments.iter().collect();
    types.sort_unstable();
    types.dedup();
    let open = types.into_iter().map(|open| Pattern {
        arguments: of
            .arguments
            .iter()
            .map(|of| (of != open).then(|| of.clone()))
            .collect(),
        modes: of.modes.clone(),
    });
    open.collect()
}

impl Pattern {
    fn exact(of: &Capability) -> Self {
        Self {
            arguments: of.arguments.iter().cloned().map(Some).collect(),
            modes: of.modes.clone(),
        }
    }

    /// The open type with which it is this expression; an empty text if none is open.
    fn of<'a>(&self, other: &'a Capability) -> Option<&'a str> {
        if self.modes != other.modes || self.arguments.len() != other.arguments.len() {
            return None;
        }
        let mut open = "";
        for (own, other) in self.arguments.iter().zip(&other.arguments) {
            match own {
                Some(own) if own == other => {}
                None if open.is_empty() || open == other => open = other,
                _ => return None,
            }
        }
        Some(open)
    }

    fn text(&self) -> String {
        let types = self.arguments.iter().map(|of| of.as_deref().unwrap_or("T"));
        let types = types.collect::<Vec<_>>().join(", ");
        match modes(&self.modes) {
            modes if modes == ALL_MODES => format!("({types})"),
            modes => format!("({types}) in mode {modes}"),
        }
    }
}

fn modes(of: &[EvalMode]) -> String {
    let name = |mode: &EvalMode| match mode {
        EvalMode::Legacy => "legacy",
        EvalMode::Ansi => "ansi",
        EvalMode::Try => "try",
    };
    match of {
        [] => NO_MODE.to_owned(),
        [_, _, _] => ALL_MODES.to_owned(),
        some => some.iter().map(name).collect::<Vec<_>>().join(" "),
    }
}

fn cast_types(all: &[CastCapability]) -> Vec<String> {
    let mut types: Vec<String> = Vec::new();
    for cast in all {
        if !types.contains(&cast.from) {
            types.push(cast.from.clone());
        }
    }
    types
}

fn casts_header(types: &[String]) -> Vec<String> {
    let from = std::iter::once("from".to_owned());
    from.chain(types.iter().cloned()).collect()
}

fn casts_of(all: &[CastCapability], types: &[String]) -> Vec<Vec<String>> {
    let line = |from: &String| {
        let cells = types.iter().map(|to| {
            let mut casts = all.iter();
            let cast = casts.find(|cast| cast.from == *from && cast.to == *to);
            // A type as itself is no cast.
            cast.map_or_else(|| "=".to_owned(), |cast| modes(&cast.modes))
        });
        std::iter::once(from.clone()).chain(cells).collect()
    };
    types.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::super::page::assert_page;
    use super::*;

    fn capability(arguments: &[&str], modes: &[EvalMode]) -> Capability {
        Capability {
            name: "F",
            arguments: arguments.iter().map(|of| (*of).to_owned()).collect(),
            modes: modes.to_vec(),
        }
    }

    #[test]
    fn arguments_that_are_alike_are_one() {
        let all = [EvalMode::Legacy, EvalMode::Ansi, EvalMode::Try];
        let of = [
            capability(&["boolean", "int", "int"], &all),
            capability(&["boolean", "date", "date"], &all),
            capability(&["string", "int", "binary"], &all),
            capability(&["double"], &all[..1]),
        ];
        assert_eq!(
            signatures(&of.iter().collect::<Vec<_>>()),
            "(boolean, T, T): int, date; (string, int, binary); (double) in mode legacy"
        );
    }

    #[test]
    fn the_page_in_the_docs_is_what_is_printed() {
        let page = markdown(INTRO, &sections());
        assert_page("capabilities.md", &page);
        for row in [
            "| FilterExec |",
            "| hdfs | HDFS |",
            "| Parquet |",
            "| PythonRDD |",
        ] {
            assert!(page.contains(row), "{row}");
        }
    }
}
