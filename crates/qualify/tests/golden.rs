//! Logs of real applications of plain Spark (`tests/jobs/qualify.py`, captured by `scripts/capture`), judged against a
//! small table. `UPDATE_GOLDEN=1` writes the texts anew.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

use std::collections::BTreeMap;
use std::fs;
use std::io::BufReader;
use std::path::PathBuf;

use qualify::{Application, Cast, Columns, Function, Join, Log, Native, Off, Query, Table, Type};

/// What it says runs natively is made up.
struct Small;

const TYPES: [&str; 8] = [
    "boolean",
    "int",
    "bigint",
    "double",
    "decimal",
    "string",
    "date",
    "array<int>",
];

fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn functions(names: &[&str], arguments: &[&str]) -> Vec<Function> {
    let function = |name: &&str| Function {
        name: (*name).to_owned(),
        arguments: owned(arguments),
    };
    names.iter().map(function).collect()
}

fn of_type(name: &str) -> Type {
    Type {
        name: name.to_owned(),
        scanned: name != "array<int>",
        rows: name != "array<int>",
        sort_key: true,
        group_key: true,
        broadcast_key: true,
        shuffled_key: name != "double",
    }
}

impl Native for Small {
    fn table(&self, time_zone: &str) -> Table {
        let join = |operator: &str, side: Option<&str>| Join {
            operator: operator.to_owned(),
            build_side: side.map(str::to_owned),
            types: owned(&["Inner", "LeftOuter", "LeftSemi"]),
        };
        let zoned: &[&str] = match time_zone {
            "UTC" => &["Hour"],
            _ => &[],
        };
        let plain = [
            "Add",
            "Subtract",
            "Multiply",
            "Divide",
            "Remainder",
            "Substring",
            "Upper",
            "Length",
            "UnscaledValue",
            "MakeDecimal",
            "StartsWith",
            "IsNotNull",
        ];
        let casts = TYPES.iter().flat_map(|from| {
            TYPES.map(|to| Cast {
                from: (*from).to_owned(),
                to: to.to_owned(),
            })
        });
        Table {
            not_in_jvm: None,
            operators: owned(&[
                "FileSourceScanExec",
                "ShuffledRowRDD",
                "LocalTableScanExec",
                "FilterExec",
                "ProjectExec",
                "HashAggregateExec",
                "SortExec",
                "TakeOrderedAndProjectExec",
                "WindowExec",
                "RangeExec",
                "UnionExec",
                "SortMergeJoinExec",
                "BroadcastHashJoinExec",
                "ObjectHashAggregateExec",
                "LocalLimitExec",
            ]),
            joins: vec![
                join("SortMergeJoinExec", None),
                join("BroadcastHashJoinExec", Some("BuildRight")),
                join("BroadcastHashJoinExec", Some("BuildLeft")),
            ],
            aggregates: functions(&["Sum", "Average", "Count", "Max", "Min"], &TYPES),
            windows: owned(&["Rank"]),
            types: TYPES.iter().map(|name| of_type(name)).collect(),
            formats: owned(&["Parquet"]),
            schemes: owned(&["file"]),
            written_formats: owned(&["Parquet"]),
            written_schemes: owned(&["file"]),
            rdds: owned(&[
                "PythonRDD",
                "PairwiseRDD",
                "ParallelCollectionRDD",
                "ShuffledRDD",
                "UnionRDD",
                "CoalescedRDD",
                "HadoopRDD",
                "MapPartitionsRDD",
                "MapPartitionsRDD of PythonRDD.valueOfPair",
                "MapPartitionsRDD of RDD.coalesce",
                "MapPartitionsRDD of SparkContext.textFile",
            ]),
            expressions: [functions(&plain, &[]), functions(zoned, &["timestamp"])].concat(),
            casts: casts.collect(),
        }
    }

    fn off(&self, _: &str, properties: &BTreeMap<String, String>) -> Off {
        Off {
            sql: properties.get("spark.serializer").cloned(),
            ..Off::default()
        }
    }
}

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests")
        .join(name)
}

fn bytes(version: &str) -> Vec<u8> {
    let packed = fs::File::open(path(&format!("fixtures/{version}.jsonl.zst"))).unwrap();
    zstd::decode_all(packed).unwrap()
}

fn read(log: &[u8]) -> Application {
    let mut reading = Log::new(&Small);
    reading.read(BufReader::new(log)).unwrap();
    reading.finish()
}

/// Without what differs from run to run.
fn timeless(mut application: Application) -> Application {
    let summaries = application
        .queries
        .iter_mut()
        .flat_map(|query| [&mut query.with_jar, &mut query.without_jar]);
    for summary in summaries.chain([&mut application.with_jar, &mut application.without_jar]) {
        let tasks = summary.tasks;
        summary.task_ms = qualify::Split {
            native: tasks.native * 10,
            delegated: tasks.delegated * 10,
            unknown: tasks.unknown * 10,
        };
        for reason in summary.reasons.iter_mut().chain(&mut summary.unknown) {
            reason.task_ms = reason.tasks * 10;
        }
        summary
            .reasons
            .sort_by(|a, b| (b.tasks, &a.reason).cmp(&(a.tasks, &b.reason)));
        summary.gain = qualify::Gain {
            low: 1.0,
            high: 2.0,
        };
    }
    application.id = Some("application".to_owned());
    application
}

fn golden(version: &str) {
    let application = read(&bytes(version));
    let columns = Columns {
        without_jar: false,
        queries: 100,
    };
    let text = qualify::text(&timeless(application), columns);
    let file = path(&format!("golden/{version}.txt"));
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&file, &text).unwrap();
    }
    assert_eq!(
        text,
        fs::read_to_string(&file).unwrap_or_default(),
        "{}",
        file.display()
    );
}

#[test]
fn the_oldest_version_s_log() {
    golden("3.5.9");
}

#[test]
fn the_newest_version_s_log() {
    golden("4.3.0");
}

fn query<'a>(application: &'a Application, name: &str) -> Vec<&'a Query> {
    let found: Vec<_> = application
        .queries
        .iter()
        .filter(|query| query.description == name)
        .collect();
    assert!(!found.is_empty(), "{name}");
    found
}

#[test]
fn stages_of_a_query_are_judged_one_by_one() {
    for version in ["3.5.9", "4.3.0"] {
        let application = read(&bytes(version));
        for name in [
            "aggregate",
            "no keys",
            "broadcast join",
            "merge join",
            "window",
            "without generated code",
            "many columns",
            "word count",
        ] {
            for query in query(&application, name) {
                let tasks = query.with_jar.tasks;
                assert_eq!(
                    tasks.native,
                    tasks.all(),
                    "{version}, {name}: {:?}",
                    query.with_jar
                );
            }
        }
        for (name, reason) in [
            ("regular expression", "expression regexp_extract"),
            ("in parts", "expression soundex"),
            ("nested", "expression collect_list"),
            (
                "columns of lists",
                "a column of type array<bigint> in files",
            ),
            ("text files", "files of csv"),
            ("written", "MapPartitionsRDD of saveAsTextFile"),
        ] {
            let reasons: Vec<_> = query(&application, name)
                .iter()
                .flat_map(|query| &query.with_jar.reasons)
                .collect();
            let has = |found: &&&qualify::Reason| found.reason.eq_ignore_ascii_case(reason);
            assert!(
                reasons.iter().any(|found| has(&found)),
                "{version}, {name}: {reasons:?}"
            );
        }
        let parts = query(&application, "in parts")[0];
        assert!(parts.with_jar.tasks.native > 0, "{parts:?}");
        // Without keys, generated code names none of its operators.
        let sums = query(&application, "no keys")[0];
        assert_eq!(sums.without_jar.tasks.native, 0);
        assert_eq!(
            sums.without_jar.reasons[0].reason,
            "generated code without operators"
        );
        let rows = query(&application, "without generated code")[0];
        assert_eq!(rows.without_jar, rows.with_jar);
    }
}

#[test]
fn settings_turn_spark_sql_off() {
    let log = String::from_utf8(bytes("4.3.0")).unwrap();
    let log = log.replace(
        r#""spark.app.name":"#,
        r#""spark.serializer":"kryo","spark.app.name":"#,
    );
    let application = read(log.as_bytes());
    for name in ["aggregate", "union"] {
        let tasks = query(&application, name)[0].with_jar.tasks;
        assert_eq!(tasks.native, 0);
    }
    assert!(query(&application, "word count")[0].with_jar.tasks.native > 0);
}

#[test]
fn time_zones_matter_where_times_are_looked_at() {
    let in_zone = |zone: &str| {
        let log = String::from_utf8(bytes("4.3.0")).unwrap();
        let log = log.replace(
            r#""spark.sql.session.timeZone":"UTC""#,
            &format!(r#""spark.sql.session.timeZone":"{zone}""#),
        );
        let log = log.replace("upper(name#", "hour(name#");
        let application = read(log.as_bytes());
        query(&application, "broadcast join")[0].with_jar.clone()
    };
    let utc = in_zone("UTC");
    assert_eq!(utc.reasons[0].reason, "expression Hour of string");
    let zoned = in_zone("Europe/Zurich");
    assert!(
        zoned.tasks.delegated > 0 && zoned.reasons[0].reason.contains("Hour"),
        "{zoned:?}"
    );
}

#[test]
fn what_is_cut_off_is_unknown() {
    let log = String::from_utf8(bytes("4.3.0")).unwrap();
    // As if plans were not formatted.
    let log = log
        .replace("== Physical Plan ==", "== Plan ==")
        .replace(r"\n(", r"\n");
    let application = read(log.as_bytes());
    let columns = query(&application, "many columns")[0];
    assert_eq!(columns.with_jar.tasks.native, 0);
    assert_eq!(
        columns.with_jar.unknown[0].reason,
        "a list of Project is cut off in the log"
    );
}

#[test]
fn damaged_lines_are_counted_and_left_out() {
    let log = bytes("4.3.0");
    let whole = read(&log);
    let mut damaged = log.clone();
    damaged
        .extend_from_slice(b"\n\x00\xff\n{\"Event\":\"SparkListenerTaskEnd\",\"Stage ID\":{}}\n");
    damaged.extend_from_slice(b"{\"Event\":\"SparkListenerJobEnd\",\"Jo");
    let application = read(&damaged);
    assert_eq!(application.queries, whole.queries);
    let lines = application.lines;
    assert_eq!((lines.malformed, lines.too_large, lines.cut_off), (2, 0, 1));
    assert_eq!(lines.read, whole.lines.read + 3);
}

#[test]
fn logs_that_are_still_written_count_as_far_as_they_go() {
    let log = bytes("4.3.0");
    let all = read(&log);
    let half = read(&log[..log.len() / 2]);
    assert!(all.ended && !half.ended);
    assert!(half.with_jar.tasks.all() > 10 && half.with_jar.tasks.all() < all.with_jar.tasks.all());
    // Stages that still ran are judged, too.
    let unknown = half.with_jar.tasks.unknown;
    assert!(unknown <= all.with_jar.tasks.unknown, "{:?}", half.with_jar);
}

#[test]
fn logs_without_a_beginning_are_unknown() {
    let log = String::from_utf8(bytes("4.3.0")).unwrap();
    let tasks: String = log
        .lines()
        .filter(|line| line.contains("SparkListenerTaskEnd"))
        .map(|line| format!("{line}\n"))
        .collect();
    let application = read(tasks.as_bytes());
    let all = application.with_jar.tasks;
    assert!(all.unknown > 100 && all.unknown == all.all());
}
