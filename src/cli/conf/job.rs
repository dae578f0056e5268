//! What becomes of the properties of a job.

use std::collections::BTreeMap;

use super::checks::{self, Errors};
use super::{MAX_LINE_CHARS, effects, number, printable};
use crate::cli::page::{Section, header, text};
use crate::config::declared::{self, Declaration, DefaultValue, Effect, Owner, Version};
use crate::config::{LaneName, Settings, SparkProperties, apply_version_defaults, unknown_part};
use crate::files::java_network;
use crate::launch::environment;

/// Characters of a value that are shown.
const MAX_VALUE_CHARS: usize = 80;
/// What is shown instead of a secret.
const REDACTED: &str = "(redacted)";
/// Words in names of properties whose values are not shown: those of Spark's `spark.redaction.regex`.
const SECRETS: [&str; 5] = ["secret", "password", "token", "access.key", "accesskey"];

/// What is printed of a job.
pub(super) struct Report {
    pub(super) text: String,
    /// Whether executors of the job start.
    pub(super) starts: bool,
}

/// Looks at the properties of a job whose executors have that version of Spark; `source` is where the version is from.
pub(super) fn report(pairs: &BTreeMap<String, String>, version: Version, source: &str) -> Report {
    let spark = |key: &str| key.starts_with(declared::PREFIX);
    let set = pairs
        .iter()
        .filter(|(key, _)| spark(key))
        .map(|(key, value)| (key.as_str(), value.as_str()));
    let mut properties = SparkProperties::from_launch(set, environment::variables());
    let given: Vec<String> = properties.iter().map(|(key, _)| key.to_owned()).collect();
    apply_version_defaults(&mut properties, &number(version));
    let errors = checks::errors(&properties, version);
    let mut unknown = Vec::new();
    let mut of_constants: BTreeMap<_, Vec<String>> = BTreeMap::new();
    for key in given {
        match declared::find(&key) {
            Some(found) => of_constants
                .entry(found.about().constant)
                .or_default()
                .push(key),
            None => unknown.push(key),
        }
    }
    let job = Job {
        properties,
        set: of_constants,
        version,
        errors,
    };

    let mut out = format!("Executors with Spark {} ({source})\n\n", number(version));
    out += &text(&job.tables());
    out += &job.lanes();
    out += &names(
        "Not read by executors natively (the JVM reads it when one runs)",
        &unknown,
    );
    out += &names(
        "Not given to executors, because the name does not begin with spark.",
        pairs.keys().filter(|key| !spark(key)),
    );
    out += &names("Wrong", job.errors.messages());
    Report {
        text: out,
        starts: job.errors.messages().next().is_none(),
    }
}

/// A paragraph with a line for each name; nothing if there is none.
fn names<'a>(title: &str, names: impl IntoIterator<Item = &'a String>) -> String {
    let lines: Vec<_> = names
        .into_iter()
        .map(|name| format!("  {}\n", printable(name, MAX_LINE_CHARS)))
        .collect();
    match lines.is_empty() {
        true => String::new(),
        false => format!("{title}\n{}\n", lines.concat()),
    }
}

/// A value for a terminal, if it is no secret.
fn shown(key: &str, value: &str) -> String {
    let key = key.to_lowercase();
    match SECRETS.iter().any(|word| key.contains(word)) {
        true => REDACTED.to_owned(),
        false => printable(value, MAX_VALUE_CHARS),
    }
}

struct Job {
    properties: SparkProperties,
    /// What the job sets, by the constant that declares it.
    set: BTreeMap<&'static str, Vec<String>>,
    version: Version,
    errors: Errors,
}

impl Job {
    /// The properties that Firesteel knows, one table for each owner.
    fn tables(&self) -> Vec<Section> {
        let tables = Owner::ALL.into_iter().map(|owner| Section {
            title: owner.title(),
            note: "",
            header: header(["setting", "value", "from", "what Firesteel does"]),
            rows: declared::all()
                .filter(|declaration| declaration.about().owner == owner)
                .flat_map(|declaration| self.rows(declaration))
                .collect(),
        });
        tables.filter(|table| !table.rows.is_empty()).collect()
    }

    /// A row for a property, one for each that is set of a family.
    fn rows(&self, declaration: &'static dyn Declaration) -> Vec<Vec<String>> {
        let Some(set) = self.set.get(declaration.about().constant) else {
            return self.default(declaration).into_iter().collect();
        };
        let rows = set.iter().map(|key| {
            let value = self.properties.raw(key).unwrap_or_default();
            vec![
                printable(key, MAX_LINE_CHARS),
                shown(key, value),
                "set".to_owned(),
                self.effect(declaration, key),
            ]
        });
        rows.collect()
    }

    /// The row of a property that is not set, if its version has it.
    fn default(&self, declaration: &dyn Declaration) -> Option<Vec<String>> {
        let (key, about) = (declaration.key()?, declaration.about());
        if about.since.is_some_and(|since| self.version < since) {
            return None;
        }
        let value = match about.default {
            DefaultValue::Is(text) | DefaultValue::Own(text, _) => text.to_owned(),
            DefaultValue::Changed(first, _) => {
                let changed = about.default.changed(self.version);
                changed.unwrap_or(first).to_owned()
            }
            DefaultValue::Unset => "-".to_owned(),
            DefaultValue::From(words) => format!("({})", words.replace('`', "")),
        };
        let own = about.owner == Owner::Firesteel || matches!(about.default, DefaultValue::Own(..));
        let source = match own {
            true => "default of Firesteel".to_owned(),
            false => format!("default of {}", number(self.version)),
        };
        Some(vec![
            key.to_owned(),
            value,
            source,
            self.effect(declaration, key),
        ])
    }

    fn effect(&self, declaration: &dyn Declaration, key: &str) -> String {
        if self.errors.of_properties.contains_key(key) {
            let what = match declaration.about().effect {
                Effect::Refused => "refused",
                _ => "wrong",
            };
            return format!("{what}: see below");
        }
        let effect = effects::of_job(declaration, &self.properties);
        let effect = printable(&effect, MAX_LINE_CHARS);
        match declaration.about().since {
            Some(since) if self.version < since => {
                format!("{effect}; Spark knows it since {}", number(since))
            }
            _ => effect,
        }
    }

    /// What the properties together make of lanes and the JVM.
    fn lanes(&self) -> String {
        let mut lines = Vec::new();
        // The size of the heap decides about no lane.
        let properties = &self.errors.right;
        let settings = Settings::new(properties, u64::MAX / 2).ok();
        let named = settings.as_ref().map(|settings| &settings.native_lanes);
        for lane in [LaneName::Python, LaneName::Sql] {
            let off = named.is_some_and(|named| !named.contains(&lane));
            let sql = properties.switch(&declared::SQL_ENABLED);
            let text = if off {
                format!("off: {}", declared::LANES.key)
            } else if lane == LaneName::Sql && sql == Ok(false) {
                format!("off: {}", declared::SQL_ENABLED.key)
            } else {
                unknown_part(properties, lane).map_or_else(
                    || "runs what it can".to_owned(),
                    |reason| format!("delegates every task: {reason}"),
                )
            };
            lines.push(format!("lane {}: {text}", lane.name()));
        }
        if let Some(settings) = settings {
            lines.push(match settings.jvm_from_start {
                Some(setting) => format!("JVM: created at the start: {setting}"),
                None => "JVM: created when it is needed first".to_owned(),
            });
        }
        if let Some(option) = java_network(properties) {
            lines.push(format!(
                "files of other machines: read by the JVM, because of its option {option}"
            ));
        }
        names("Lanes", &lines)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pairs: &[(&str, &str)], version: Version) -> Report {
        let pairs = pairs
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        report(&pairs.collect(), version, "test")
    }

    /// The line of that beginning, with single blanks.
    fn line(report: &Report, begin: &str) -> String {
        let mut lines = report.text.lines().map(|line| {
            let words: Vec<_> = line.split_whitespace().collect();
            words.join(" ")
        });
        let found = lines.find(|line| line.starts_with(begin));
        found.unwrap_or_else(|| panic!("no {begin} in {}", report.text))
    }

    #[test]
    fn values_have_a_source_and_an_effect() {
        let report = of(
            &[
                ("spark.network.timeout", "300s"),
                ("spark.hadoop.fs.s3a.endpoint", "http://minio:9000"),
                ("spark.hadoop.fs.s3a.secret.key", "hidden"),
                ("spark.plugins", "a.B"),
            ],
            (4, 1),
        );
        assert!(report.starts);
        for expected in [
            "Executors with Spark 4.1 (test)",
            "spark.network.timeout 300s set honoured natively",
            "spark.rpc.askTimeout (spark.network.timeout) default of 4.1 honoured natively",
            "spark.checkpoint.compress true default of 4.1 honoured natively",
            "spark.hadoop.fs.s3a.endpoint http://minio:9000 set honoured natively; files",
            "spark.hadoop.fs.s3a.secret.key (redacted) set",
            "spark.plugins a.B set the JVM's: with plugins",
            "spark.authenticate false default of 4.1 honoured natively",
            "lane python: runs what it can",
            "JVM: created at the start: spark.plugins=a.B",
        ] {
            assert!(line(&report, expected).starts_with(expected));
        }
        assert!(!report.text.contains("hidden"));
        assert!(!report.text.contains("Wrong"));
    }

    #[test]
    fn lanes_say_why_they_delegate() {
        let report = of(
            &[
                ("spark.serializer", "org.example.Other"),
                ("spark.executor.extraJavaOptions", "-Dhttps.proxyHost=p"),
            ],
            (4, 3),
        );
        let reason = "spark.serializer is org.example.Other";
        assert!(
            line(&report, "spark.serializer")
                .contains(&format!("the lane sql delegates every task: {reason}"))
        );
        assert_eq!(
            line(&report, "lane sql:"),
            format!("lane sql: delegates every task: {reason}")
        );
        assert_eq!(
            line(&report, "lane python:"),
            "lane python: delegates every task: a result of spark.serializer org.example.Other"
        );
        line(
            &report,
            "files of other machines: read by the JVM, because of its option proxyHost",
        );

        let off = of(
            &[
                ("spark.firesteel.lanes", "sql"),
                ("spark.firesteel.sql.enabled", "false"),
            ],
            (4, 3),
        );
        line(&off, "lane python: off: spark.firesteel.lanes");
        line(&off, "lane sql: off: spark.firesteel.sql.enabled");
    }

    #[test]
    fn what_is_unknown_is_listed() {
        let report = of(
            &[("spark.sql.shuffle.partitions", "10"), ("other.key", "1")],
            (3, 5),
        );
        let text = &report.text;
        assert!(text.contains(
            "Not read by executors natively (the JVM reads it when one runs)\n  spark.sql.shuffle.partitions\n"
        ));
        assert!(text.contains("does not begin with spark.\n  other.key\n"));
        assert!(report.starts);
    }

    #[test]
    fn wrong_values_are_reported() {
        let report = of(
            &[
                ("spark.authenticate.enableSaslEncryption", "true"),
                ("spark.rpc.message.maxSize", "\u{1b}[2J"),
            ],
            (3, 5),
        );
        assert!(!report.starts);
        assert_eq!(
            line(&report, "spark.authenticate.enableSaslEncryption true"),
            "spark.authenticate.enableSaslEncryption true set refused: see below"
        );
        line(
            &report,
            "spark.authenticate.enableSaslEncryption=true is not supported by Firesteel yet;",
        );
        line(
            &report,
            "spark.rpc.message.maxSize should be a number between 0 and 2047, but was '\\u{1b}[2J'",
        );
        assert!(!report.text.contains('\u{1b}'));
    }

    #[test]
    fn values_without_end_are_cut() {
        let doubled = (0..16).map(|level| {
            let next = format!("${{spark.n{}}}", level + 1);
            (format!("spark.n{level}"), next.repeat(100))
        });
        let hostile = [
            "spark.serializer",
            "spark.shuffle.manager",
            "spark.task.cpus",
        ];
        let fixed = hostile.map(|key| (key.to_owned(), "${spark.n0}".to_owned()));
        let wrong = (0..100).map(|gpu| {
            let key = format!("spark.executor.resource.{gpu}\u{1b}.amount");
            (key, "${spark.n0}".to_owned())
        });
        let leaf = ("spark.n16".to_owned(), "\u{1b}[2J".repeat(100));
        let pairs = doubled.chain(fixed).chain(wrong).chain([leaf]).collect();
        let report = report(&pairs, (4, 3), "test");
        assert!(!report.text.contains('\u{1b}'));
        assert!(
            !report.starts && report.text.len() < 1 << 20,
            "{}",
            report.text.len()
        );
    }

    #[test]
    fn versions_know_different_properties() {
        let key = "spark.python.worker.killOnIdleTimeout";
        assert!(!of(&[], (4, 0)).text.contains(key));
        assert!(of(&[], (4, 1)).text.contains(key));
        let set = of(&[(key, "true")], (4, 0));
        assert_eq!(
            line(&set, key),
            format!("{key} true set honoured natively; Spark knows it since 4.1")
        );
    }

    #[test]
    fn long_values_are_cut() {
        let value = "é".repeat(100);
        assert_eq!(
            shown("spark.x", &value).chars().count(),
            MAX_VALUE_CHARS + 1
        );
        assert_eq!(shown("spark.x", "a"), "a");
    }
}
