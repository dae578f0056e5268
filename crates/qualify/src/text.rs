//! An application's report for a terminal.

use std::fmt::Write as _;

use crate::gain::SOURCE;
use crate::report::{Application, Query, Reason, Summary};

/// What is shown of an application.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Columns {
    /// Shows what happens without the jar on the driver first, with its reasons.
    pub without_jar: bool,
    /// How many queries are shown, those that took most time.
    pub queries: usize,
}

/// What event logs cannot tell, whatever is in them.
const NOT_TOLD: &str = "Not in event logs: values for which a native attempt is given up and runs again in the JVM \
(overflows, unusual dates, damaged files), memory and disk, types of columns that come from no file, patterns and formats \
inside of expressions.";

/// The report. Texts of the log are shown without control characters.
#[must_use]
pub fn text(application: &Application, columns: Columns) -> String {
    let mut out = String::new();
    // A String takes all that is written.
    let _ = write(application, columns, &mut out);
    out
}

fn write(of: &Application, columns: Columns, out: &mut String) -> std::fmt::Result {
    let id = of.id.as_deref().unwrap_or("without id");
    writeln!(
        out,
        "{} ({}), Spark {}",
        shown(&of.name, 80),
        shown(id, 80),
        shown(&of.spark_version, 20)
    )?;
    for note in &of.notes {
        writeln!(out, "  {}", shown(note, 300))?;
    }
    if !of.ended {
        writeln!(
            out,
            "  The log has no end: the application runs, or was killed."
        )?;
    }
    let bad = of.lines.malformed + of.lines.too_large + of.lines.cut_off;
    if bad > 0 {
        writeln!(
            out,
            "  {bad} of {} lines were left out: {} malformed, {} too large, {} cut off",
            of.lines.read, of.lines.malformed, of.lines.too_large, of.lines.cut_off
        )?;
    }
    let all = &of.with_jar;
    writeln!(
        out,
        "  {} tasks, {} of task time\n",
        all.tasks.all(),
        time(all.task_ms.all())
    )?;

    writeln!(
        out,
        "  {:<14}{:>9}{:>12}{:>10}{:>9}  expected gain",
        "task time", "native", "JVM", "unknown", "tasks"
    )?;
    for (name, summary) in [
        ("with the jar", &of.with_jar),
        ("without it", &of.without_jar),
    ] {
        total(name, summary, out)?;
    }
    writeln!(
        out,
        "  The gain is an estimate: {SOURCE}. Your job is another one.\n"
    )?;

    let chosen = if columns.without_jar {
        &of.without_jar
    } else {
        &of.with_jar
    };
    reasons("Left to the JVM", &chosen.reasons, chosen, out)?;
    reasons("Unknown", &chosen.unknown, chosen, out)?;
    queries(of, columns, out)?;
    writeln!(out, "  {NOT_TOLD}")
}

fn total(name: &str, summary: &Summary, out: &mut String) -> std::fmt::Result {
    let part = |of: u64| percent(of, summary.task_ms.all());
    let gain = summary.gain;
    writeln!(
        out,
        "  {name:<14}{:>9}{:>12}{:>10}{:>9}  {:.1} to {:.1} times",
        part(summary.task_ms.native),
        part(summary.task_ms.delegated),
        part(summary.task_ms.unknown),
        percent(summary.tasks.native, summary.tasks.all()),
        gain.low,
        gain.high
    )
}

fn reasons(title: &str, reasons: &[Reason], of: &Summary, out: &mut String) -> std::fmt::Result {
    const MOST: usize = 20;
    if reasons.is_empty() {
        return Ok(());
    }
    writeln!(
        out,
        "  {title} (a stage with several reasons counts for each)"
    )?;
    for reason in reasons.iter().take(MOST) {
        writeln!(
            out,
            "  {:>7}  {:>9}  {:>6} tasks  {}",
            percent(reason.task_ms, of.task_ms.all()),
            time(reason.task_ms),
            reason.tasks,
            shown(&reason.reason, 130)
        )?;
    }
    if reasons.len() > MOST {
        writeln!(out, "  and {} more, all in the JSON", reasons.len() - MOST)?;
    }
    writeln!(out)
}

fn queries(of: &Application, columns: Columns, out: &mut String) -> std::fmt::Result {
    let mut all: Vec<&Query> = of.queries.iter().collect();
    all.sort_by_key(|query| std::cmp::Reverse(query.with_jar.task_ms.all()));
    if all.len() > columns.queries {
        writeln!(
            out,
            "  The {} of {} queries and jobs with most time",
            columns.queries,
            all.len()
        )?;
    } else {
        writeln!(out, "  Queries and jobs, by time")?;
    }
    writeln!(
        out,
        "  {:>9}{:>7}{:>10}{:>9}{:>9}  what, and its first reason",
        "time", "tasks", "with jar", "without", "unknown"
    )?;
    for query in all.into_iter().take(columns.queries) {
        let (with, without) = (&query.with_jar, &query.without_jar);
        let chosen = if columns.without_jar { without } else { with };
        let first = chosen.reasons.first().or_else(|| chosen.unknown.first());
        let first = first.map_or_else(String::new, |first| {
            format!(": {}", shown(&first.reason, 60))
        });
        let number = match query.kind {
            "other" => "no query".to_owned(),
            kind => format!("{kind} {}", query.id),
        };
        writeln!(
            out,
            "  {:>9}{:>7}{:>10}{:>9}{:>9}  {number} {}{first}",
            time(with.task_ms.all()),
            with.tasks.all(),
            percent(with.task_ms.native, with.task_ms.all()),
            percent(without.task_ms.native, without.task_ms.all()),
            percent(chosen.task_ms.unknown, chosen.task_ms.all()),
            shown(&query.description, 50),
        )?;
    }
    writeln!(out)
}

/// A part of a whole; `-` of nothing.
fn percent(part: u64, all: u64) -> String {
    match all {
        0 => "-".to_owned(),
        all => format!("{:.1} %", part as f64 / all as f64 * 100.0),
    }
}

fn time(ms: u64) -> String {
    let seconds = ms as f64 / 1000.0;
    match ms {
        0..60_000 => format!("{seconds:.1} s"),
        60_000..3_600_000 => format!("{:.1} min", seconds / 60.0),
        _ => format!("{:.1} h", seconds / 3600.0),
    }
}

/// One line of at most so many characters, without what could be a command to a terminal.
fn shown(text: &str, most: usize) -> String {
    let mut chars = text.chars();
    let mut line: String = chars
        .by_ref()
        .take(most)
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    if chars.next().is_some() {
        line.push('…');
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        assert_eq!(
            (percent(1, 3), percent(0, 0)),
            ("33.3 %".to_owned(), "-".to_owned())
        );
        let times = [999, 90_000, 9_000_000].map(time);
        assert_eq!(times, ["1.0 s", "1.5 min", "2.5 h"]);
    }

    #[test]
    fn texts_of_logs_are_no_commands() {
        assert_eq!(shown("a\u{1b}[2J\nb", 10), "a [2J b");
        assert_eq!(shown("abcdef", 3), "abc…");
    }
}
