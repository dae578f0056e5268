//! `firesteel qualify`: how much of a job of plain Spark would run natively, by its event log.

mod lanes;
mod logs;

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use qualify::{Application, Columns, Log};
use serde::Serialize;

use self::lanes::Lanes;
use crate::assemble::time_zones;
use crate::launch::Jdk;

/// Exit code when a log could not be read, or has nothing of Spark's.
const UNREAD: u8 = 1;

/// What is asked.
#[derive(Debug, Args)]
pub(super) struct QualifyArgs {
    /// Event logs: files, directories of rolled logs (`eventlog_v2_…`), or directories with any of both. Also those
    /// that are still written, and compressed ones.
    #[arg(required = true, value_name = "EVENT-LOG")]
    logs: Vec<PathBuf>,
    /// As JSON, with every query and reason.
    #[arg(long)]
    json: bool,
    /// Give the reasons that remain without the jar on the driver.
    #[arg(long)]
    without_jar: bool,
    /// How many queries are shown, those that took most time.
    #[arg(long, value_name = "N", default_value_t = 20, conflicts_with = "json")]
    queries: usize,
}

/// An application with where it was found.
#[derive(Serialize)]
struct Found {
    log: String,
    #[serde(flatten)]
    application: Application,
}

/// Prints what is asked.
pub(super) fn main(args: &QualifyArgs) -> ExitCode {
    let lanes = Lanes {
        zones: time_zones(Jdk::find_on_this_machine()),
    };
    let mut out = io::stdout().lock();
    let mut all = Vec::new();
    let mut code = ExitCode::SUCCESS;
    for log in args.logs.iter().flat_map(|path| logs::in_path(path)) {
        let application = log.and_then(|log| Ok((log.path.clone(), read(&log, &lanes)?)));
        let (path, application) = match application {
            Ok(found) => found,
            Err(problem) => {
                eprintln!("firesteel: {problem}");
                code = UNREAD.into();
                continue;
            }
        };
        if args.json {
            all.push(Found {
                log: path.display().to_string(),
                application,
            });
            continue;
        }
        let columns = Columns {
            without_jar: args.without_jar,
            queries: args.queries,
        };
        let text = qualify::text(&application, columns);
        // Whoever closes the pipe has seen enough.
        if writeln!(out, "{text}").is_err() {
            return code;
        }
    }
    if args.json {
        let document = serde_json::json!({ "applications": all });
        let _ = writeln!(out, "{document:#}");
    }
    code
}

/// Reads a log to its end, or as far as it can be read.
fn read(log: &logs::EventLog, lanes: &Lanes) -> Result<Application, String> {
    let mut reading = Log::new(lanes);
    for file in &log.files {
        let problem = match file.open() {
            Ok(source) => reading.read(source).err(),
            Err(problem) => Some(problem),
        };
        let Some(problem) = problem else { continue };
        let name = file.path.file_name().unwrap_or_default();
        let name = Path::new(name).display();
        match problem.kind() {
            // What is written at the moment has no end.
            io::ErrorKind::UnexpectedEof => reading.note(format!(
                "{name} ends in the middle: it is still written, or was cut off."
            )),
            _ => reading.note(format!("{name} could not be read to its end: {problem}.")),
        }
    }
    if log.is_compacted {
        reading.note("The log was compacted: jobs that had ended by then are not in it.");
    }
    let application = reading.finish();
    if application.spark_version.is_empty() && application.queries.is_empty() {
        let notes = application.notes.join(" ");
        return Err(format!("{} is no event log. {notes}", log.path.display()));
    }
    Ok(application)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(bytes: &[u8], name: &str) -> Result<Application, String> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        let found: Vec<_> = logs::in_path(&path).collect();
        let [Ok(log)] = found.as_slice() else {
            panic!("{found:?}");
        };
        let zones = javatime::Zones::default();
        read(log, &Lanes { zones })
    }

    #[test]
    fn what_is_no_log_is_said_so() {
        assert!(
            log(b"x\ny\n", "app")
                .unwrap_err()
                .contains("is no event log")
        );
        let version = br#"{"Event":"SparkListenerLogStart","Spark Version":"4.3.0"}"#;
        assert_eq!(log(version, "app").unwrap().spark_version, "4.3.0");
    }

    #[test]
    fn logs_that_end_in_the_middle_count_as_far_as_they_go() {
        let log_of_plain = include_bytes!("../../../crates/qualify/tests/fixtures/4.3.0.jsonl.zst");
        let mut bytes = log_of_plain.to_vec();
        let whole = log(&bytes, "app.zstd").unwrap();
        assert!(whole.ended && whole.notes.is_empty() && whole.with_jar.tasks.native > 50);
        bytes.truncate(bytes.len() - 4);
        let application = log(&bytes, "app.zstd.inprogress").unwrap();
        assert!(
            application.notes[0].contains("ends in the middle"),
            "{:?}",
            application.notes
        );
        let read = application.lines.read;
        assert!(read > 0 && read <= whole.lines.read, "{read} lines");
    }
}
