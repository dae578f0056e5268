//! `firesteel conf`: the properties that Firesteel knows, and what it does with those of a job.

mod checks;
mod effects;
mod job;
mod properties_file;

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use wire::printable::write_shown;

use super::environment;
use super::page::{Format, Section, header, markdown, text};
use crate::config::declared::{self, Declaration, DefaultValue, KNOWN_VERSIONS, Owner, Version};
use crate::executor::distribution;
use crate::launch::class_path;
use crate::launch::executor_command::class_path_of;

/// Exit code when an executor of the job would not start, or the job's properties cannot be read.
const UNFIT: u8 = 1;
/// Characters of a name or message that are shown.
const MAX_LINE_CHARS: usize = 600;

/// What the page of Markdown begins with.
const INTRO: &str = "# Settings

Every Spark property that an executor of Firesteel reads. Written by `firesteel conf --format markdown` from the
declarations that the executor itself reads them by; a test holds this page against it. A default behind a version is that
of this version of Spark and later ones. `firesteel conf --properties-file spark-defaults.conf` says what becomes of the
properties of a job.

A property that is not here has no effect on native lanes; the JVM reads it when one runs.
";

/// What is asked.
#[derive(Debug, Default, Args)]
pub(super) struct ConfArgs {
    /// How the table of all properties is written; as text, if not given.
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// A file of the job's properties, as `spark-defaults.conf`.
    #[arg(long, value_name = "FILE")]
    properties_file: Option<PathBuf>,
    /// A property of the job, before those of the file.
    #[arg(short, long, value_name = "KEY=VALUE")]
    conf: Vec<String>,
    /// The Spark distribution that executors have; its version decides about defaults. If not given, `SPARK_HOME`.
    #[arg(long, value_name = "DIR", conflicts_with = "spark_version")]
    spark_home: Option<PathBuf>,
    /// The version of Spark that decides about defaults, as 4.1.
    #[arg(long, value_name = "X.Y")]
    spark_version: Option<String>,
}

/// Prints what is asked.
pub(super) fn main(args: &ConfArgs) -> ExitCode {
    let (out, code) = match answer(args) {
        Ok(answer) => answer,
        Err(problem) => {
            eprintln!("firesteel: {problem}");
            return UNFIT.into();
        }
    };
    // Whoever closes the pipe has seen enough.
    let _ = io::stdout().lock().write_all(out.as_bytes());
    code.into()
}

/// What is printed, and the exit code.
fn answer(args: &ConfArgs) -> Result<(String, u8), String> {
    let of_job = args.properties_file.is_some()
        || !args.conf.is_empty()
        || args.spark_home.is_some()
        || args.spark_version.is_some();
    if !of_job {
        let page = match args.format {
            Some(Format::Markdown) => markdown(INTRO, &sections()),
            Some(Format::Text) | None => text(&plain(sections())),
        };
        return Ok((page, 0));
    }
    if args.format == Some(Format::Markdown) {
        return Err("only the table of all properties can be written as Markdown".to_owned());
    }
    let (version, source) = version(args)?;
    let report = job::report(&properties(args)?, version, &source);
    Ok((report.text, if report.starts { 0 } else { UNFIT }))
}

/// One table for each owner.
fn sections() -> Vec<Section> {
    let owners = Owner::ALL.into_iter().map(|owner| Section {
        title: owner.title(),
        note: "",
        header: header([
            "setting",
            "value",
            "default",
            "what Firesteel does",
            "meaning",
        ]),
        rows: declared::all()
            .filter(|declaration| declaration.about().owner == owner)
            .map(row)
            .collect(),
    });
    owners.collect()
}

/// Without the marks of Markdown.
fn plain(mut sections: Vec<Section>) -> Vec<Section> {
    let rows = sections.iter_mut().flat_map(|section| &mut section.rows);
    for cell in rows.flatten() {
        *cell = cell.replace('`', "");
    }
    sections
}

fn row(declaration: &dyn Declaration) -> Vec<String> {
    let about = declaration.about();
    vec![
        format!("`{}`", declaration.title()),
        declaration.kind().to_owned(),
        default(declaration),
        effects::general(about.effect),
        about.meaning().to_owned(),
    ]
}

/// The default in all versions.
fn default(declaration: &dyn Declaration) -> String {
    let about = declaration.about();
    let value = |text: &str| match text {
        "" => "empty".to_owned(),
        text => format!("`{text}`"),
    };
    let mut default = match about.default {
        DefaultValue::Is(text) => value(text),
        DefaultValue::Changed(first, changes) => {
            let changes = changes
                .iter()
                .map(|(since, text)| format!("{}: {}", number(*since), value(text)));
            let all = std::iter::once(value(first)).chain(changes);
            all.collect::<Vec<_>>().join("; ")
        }
        DefaultValue::Own(text, sparks) => {
            format!("{}, not Spark's {}", value(text), value(sparks))
        }
        DefaultValue::Unset => "not set".to_owned(),
        DefaultValue::From(words) => words.to_owned(),
    };
    if let Some(since) = about.since {
        default += &format!(" (since {})", number(since));
    }
    default
}

fn number((major, minor): Version) -> String {
    format!("{major}.{minor}")
}

/// The version whose defaults hold, and where that is known from.
fn version(args: &ConfArgs) -> Result<(Version, String), String> {
    let home = args
        .spark_home
        .as_ref()
        .map(|dir| dir.display().to_string());
    let home = home.or_else(|| match args.spark_version {
        Some(_) => None,
        None => environment("SPARK_HOME"),
    });
    let (name, source) = match (&args.spark_version, home) {
        (Some(name), _) => (name.clone(), "--spark-version".to_owned()),
        (None, Some(home)) => {
            let class_path = class_path_of(&home, environment);
            let entries = class_path::entries(&class_path::expand_wildcards(&class_path));
            let catalog = distribution::open(&entries).map_err(|why| why.to_string())?;
            (
                catalog.spark_version().map_err(|why| why.to_string())?,
                home,
            )
        }
        (None, None) => {
            let [.., newest] = KNOWN_VERSIONS;
            return Ok((newest, "the newest; see --spark-version".to_owned()));
        }
    };
    let version = declared::version_of(&name);
    if !KNOWN_VERSIONS.contains(&version) {
        let known = KNOWN_VERSIONS.map(number).join(", ");
        return Err(format!(
            "the defaults of Spark {name} are not known, only those of {known}"
        ));
    }
    Ok((version, source))
}

/// The job's properties: of the file, and of the command line, which wins.
fn properties(args: &ConfArgs) -> Result<BTreeMap<String, String>, String> {
    let mut all = match &args.properties_file {
        Some(file) => properties_file::read(file)
            .map_err(|why| format!("cannot read {}: {why}", file.display()))?,
        None => BTreeMap::new(),
    };
    for pair in &args.conf {
        let (key, value) = pair
            .split_once('=')
            .ok_or_else(|| format!("--conf {pair} has no '='"))?;
        all.insert(key.to_owned(), value.to_owned());
    }
    Ok(all)
}

/// A text for a terminal, not longer than `most` characters: what could be a command to it is escaped.
fn printable(text: &str, most: usize) -> String {
    let mut chars = text.chars();
    let mut shown = String::new();
    for ch in chars.by_ref().take(most) {
        // A String takes all that is written.
        let _ = write_shown(&mut shown, ch);
    }
    if chars.next().is_some() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::super::page::assert_page;
    use super::*;

    fn args(conf: &[&str], version: &str) -> ConfArgs {
        ConfArgs {
            conf: conf.iter().map(|pair| (*pair).to_owned()).collect(),
            spark_version: Some(version.to_owned()),
            ..ConfArgs::default()
        }
    }

    #[test]
    fn the_page_in_the_docs_is_what_is_printed() {
        let page = markdown(INTRO, &sections());
        assert_page("settings.md", &page);
        for row in [
            "| `spark.authenticate` | switch | `false` | honoured natively |",
            "| `spark.authenticate.enableSaslEncryption` | switch | `false` | refused: `true` stops the executor from starting |",
            "| `spark.ssl.rpc.trustStoreReloadingEnabled` | switch | `false` (since 4.0) | honoured natively |",
            "| `spark.rdd.compress` | switch | `false`; 4.3: `true` | honoured natively |",
            "| `spark.hadoop.*` |",
            "the lanes python and sql delegate every task",
        ] {
            assert!(page.contains(row), "{row}");
        }
        for declaration in declared::all() {
            assert!(page.contains(&format!("| `{}` |", declaration.title())));
        }
    }

    #[test]
    fn without_a_job_all_properties_are_printed() {
        let (page, code) = answer(&ConfArgs::default()).unwrap();
        assert_eq!(code, 0);
        assert!(!page.contains('`'));
        let table = page
            .split("\n\n")
            .find(|table| table.starts_with("Network"));
        let columns = |line: &str| (line.find("time (s)"), line.find("value "));
        let lines: Vec<_> = table.unwrap().lines().collect();
        assert_eq!(columns(lines[1]).1, columns(lines[2]).0);
        let mut markdown_of_job = args(&[], "4.1");
        markdown_of_job.format = Some(Format::Markdown);
        assert!(answer(&markdown_of_job).is_err());
    }

    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        args: ConfArgs,
    }

    #[test]
    fn options_are_spark_submit_s_and_doctor_s() {
        let parse = |line: &str| Line::try_parse_from(line.split_whitespace()).map(|it| it.args);
        let args = parse("conf --properties-file f -c a=b --conf c=d --spark-version 4.1").unwrap();
        assert_eq!(args.conf, ["a=b", "c=d"]);
        assert_eq!(args.properties_file, Some(PathBuf::from("f")));
        assert_eq!(args.spark_version.as_deref(), Some("4.1"));
        assert_eq!(
            parse("conf --format markdown").unwrap().format,
            Some(Format::Markdown)
        );
        for wrong in [
            "conf --spark-version 4.1 --spark-home /s",
            "conf --format html",
            "conf file",
        ] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn distributions_must_be_there() {
        let dir = tempfile::tempdir().unwrap();
        let args = ConfArgs {
            spark_home: Some(dir.path().to_owned()),
            ..ConfArgs::default()
        };
        let problem = answer(&args).unwrap_err();
        assert!(problem.contains("Spark"), "{problem}");
    }

    #[test]
    fn the_command_line_wins_over_the_file() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("job.conf");
        std::fs::write(&file, "spark.a 1\nspark.b 2\n").unwrap();
        let mut args = args(&["spark.b=3=4"], "4.1");
        args.properties_file = Some(file);
        let all = properties(&args).unwrap();
        assert_eq!(
            (all["spark.a"].as_str(), all["spark.b"].as_str()),
            ("1", "3=4")
        );
        args.conf.push("spark.c".to_owned());
        assert_eq!(properties(&args).unwrap_err(), "--conf spark.c has no '='");
        args.properties_file = Some(dir.path().join("none.conf"));
        assert!(properties(&args).unwrap_err().starts_with("cannot read "));
    }

    #[test]
    fn versions_decide_about_defaults() {
        let line = |version: &str| {
            let (text, _) = answer(&args(&[], version)).unwrap();
            let line = text
                .lines()
                .find(|line| line.contains("spark.rdd.compress"));
            line.unwrap()
                .split_whitespace()
                .collect::<Vec<_>>()
                .join(" ")
        };
        assert_eq!(
            line("4.2.1"),
            "spark.rdd.compress false default of 4.2 honoured natively"
        );
        assert_eq!(
            line("4.3"),
            "spark.rdd.compress true default of 4.3 honoured natively"
        );
        for unknown in ["3.4", "5.0", "x", ""] {
            let problem = answer(&args(&[], unknown)).unwrap_err();
            assert!(problem.contains("are not known"), "{problem}");
        }
    }
}
