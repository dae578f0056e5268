//! Real stages of all versions: TPC-H and queries for what it lacks, with and without generated code.
//!
//! `tests/capture` says how they were captured. `UPDATE_GOLDEN=1` writes what is found anew.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use catalyst::{
    IsNative, Listing, OperatorKind, Output, SchemaFile, SchemaMerge, Settings, Stage, Unsupported,
};
use exec::NativeStage;
use exec::expr::is_native;
use javaser::Limits;
use javaser::arena::{Graph, NodeId, Value};
use proptest::prelude::*;
use proptest::sample::Index;
use testkit::{NEWEST, OLDEST};

/// A captured stage.
struct Captured {
    /// Setting and query: `off.q01`.
    name: String,
    settings: Settings,
    raw: Vec<u8>,
    binary: Graph,
    tasks: Vec<Graph>,
}

fn directory(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests")
        .join(name)
}

/// Stages without generated code, and with it.
fn captured(version: &str) -> Vec<Captured> {
    fixture(version)
}

/// Stages with generated code that carries their operators.
fn carried(version: &str) -> Vec<Captured> {
    fixture(&format!("carried-{version}"))
}

/// Stages that read CSV and JSON, in files and out of texts.
fn records(version: &str) -> Vec<Captured> {
    fixture(&format!("records-{version}"))
}

/// Stages that list files and look for columns in them.
fn files(version: &str) -> Vec<Captured> {
    fixture(&format!("files-{version}"))
}

/// Stages of data frames of Python's objects, and of RDDs of rows.
fn frames(version: &str) -> Vec<Captured> {
    fixture(&format!("frames-{version}"))
}

/// Stages of functions of Python over windows.
fn windows(version: &str) -> Vec<Captured> {
    of_version("windows", version)
}

/// Stages of classes of Python that make rows.
fn tables(version: &str) -> Vec<Captured> {
    of_version("tables", version)
}

/// Stages whose readers ask for the version.
fn of_version(kind: &str, version: &str) -> Vec<Captured> {
    let mut all = fixture(&format!("{kind}-{version}"));
    for stage in &mut all {
        let mut parts = version.split('.').map(|part| part.parse().unwrap());
        stage.settings.spark = (parts.next().unwrap(), parts.next().unwrap());
    }
    all
}

fn fixture(name: &str) -> Vec<Captured> {
    let path = directory("fixtures").join(format!("{name}.jsonl.zst"));
    let text = zstd::decode_all(fs::File::open(path).unwrap()).unwrap();
    let text = std::str::from_utf8(&text).unwrap();
    text.lines()
        .map(|line| {
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            let graph = |hex: &serde_json::Value| {
                let (graph, _) = Graph::parse_first(&bytes(hex), &Limits::default()).unwrap();
                graph
            };
            Captured {
                name: line["name"].as_str().unwrap().to_owned(),
                settings: Settings::new(|name| line["properties"][name].as_str()),
                raw: bytes(&line["binary"]),
                binary: graph(&line["binary"]),
                tasks: line["tasks"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(graph)
                    .collect(),
            }
        })
        .collect()
}

fn bytes(hex: &serde_json::Value) -> Vec<u8> {
    testkit::from_hex(hex.as_str().unwrap())
}

/// The RDD and the target in a stage's binary.
fn parts(binary: &Graph) -> Option<(NodeId, NodeId)> {
    let pair = binary.tuple(binary.root()?)?;
    Some((pair.first()?.node()?, pair.get(1)?.node()?))
}

impl Captured {
    fn stage(&self) -> Result<Stage, Unsupported> {
        self.stage_with(None)
    }

    /// The same where the JVM evaluates expressions that are not native.
    fn stage_with(&self, is_native: Option<IsNative>) -> Result<Stage, Unsupported> {
        let (rdd, target) = parts(&self.binary).unwrap();
        let settings = Settings {
            is_native,
            ..self.settings.clone()
        };
        Stage::read(&self.binary, rdd, target, settings)
    }

    /// The stage and what its first and last task read, or why not.
    fn describe(&self) -> String {
        let describe = || -> Result<String, Unsupported> {
            let stage = self.stage()?;
            let mut text = stage.to_string();
            for task in &self.tasks {
                let node = task.root().unwrap().node().unwrap();
                let partition = task.field_node(node, "partition").unwrap();
                write!(text, "\n  task {}", stage.bind(task, partition)?).unwrap();
            }
            Ok(text)
        };
        match describe() {
            Ok(text) => renumbered(&text),
            Err(reason) => format!("no: {reason}"),
        }
    }
}

/// Ids in the order in which they are met: those of the driver depend on what it ran before.
fn renumbered(text: &str) -> String {
    let mut known = HashMap::new();
    let mut parts = text.split('#');
    let mut out = parts.next().unwrap().to_owned();
    for part in parts {
        let end = part
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(part.len());
        let (id, rest) = part.split_at(end);
        if id.is_empty() {
            write!(out, "#{part}").unwrap();
            continue;
        }
        let next = known.len() + 1;
        let id = known.entry(id.to_owned()).or_insert(next);
        write!(out, "#{id}{rest}").unwrap();
    }
    out
}

fn check(version: &str) {
    let mut text = String::new();
    let mut decoded: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    for stage in captured(version) {
        let found = stage.describe();
        let (of, all) = decoded.entry(stage.name.clone()).or_default();
        *all += 1;
        if !found.starts_with("no: ") {
            *of += 1;
        }
        writeln!(text, "== {}\n{found}", stage.name).unwrap();
    }
    let golden = directory("golden").join(format!("{version}.txt.zst"));
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::create_dir_all(golden.parent().unwrap()).unwrap();
        fs::write(&golden, zstd::encode_all(text.as_bytes(), 19).unwrap()).unwrap();
        if let Some(plain) = std::env::var_os("PLAIN_GOLDEN") {
            fs::write(Path::new(&plain).join(format!("{version}.txt")), &text).unwrap();
        }
    }
    let expected = zstd::decode_all(fs::File::open(&golden).unwrap()).unwrap();
    let expected = String::from_utf8(expected).unwrap();
    for (index, (found, expected)) in text.lines().zip(expected.lines()).enumerate() {
        assert_eq!(found, expected, "line {} of {version}", index + 1);
    }
    assert_eq!(text.len(), expected.len());
    // With one setting nothing of TPC-H is left to the JVM.
    for (name, (of, all)) in &decoded {
        let query = name.rsplit('.').next().unwrap();
        let is_tpch = query.starts_with('q') && query[1..].parse::<u8>().is_ok();
        if name.starts_with("off.") && is_tpch {
            assert_eq!(of, all, "{name} of {version}");
        }
    }
}

/// What is read of records, and why others are refused: options too.
fn check_records(version: &str) {
    check_judged(records(version), &format!("records-{version}"));
}

testkit::each_version!(records_of, super::check_records);

/// What is read of functions of Python over windows, without generated code and within it.
fn check_windows(version: &str) {
    check_judged(windows(version), &format!("windows-{version}"));
}

testkit::each_version!(windows_of, super::check_windows);

/// What is read of classes of Python that make rows, without generated code and within it.
fn check_tables(version: &str) {
    check_judged(tables(version), &format!("tables-{version}"));
}

testkit::each_version!(tables_of, super::check_tables);

/// What is read of stages, and why others are refused, as golden text of this name.
fn check_judged(stages: Vec<Captured>, name: &str) {
    let mut text = String::new();
    for stage in stages {
        let found = match stage.stage() {
            Ok(decoded) => match NativeStage::new(Arc::new(decoded)) {
                Ok(_) => stage.describe(),
                Err(reason) => format!("not native: {reason}\n{}", stage.describe()),
            },
            Err(reason) => format!("no: {reason}"),
        };
        writeln!(text, "== {}\n{found}", stage.name).unwrap();
    }
    let golden = directory("golden").join(format!("{name}.txt"));
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&golden, &text).unwrap();
    }
    assert_eq!(text, fs::read_to_string(&golden).unwrap());
}

/// Why stages of a version that were decoded are not run natively, and how often.
fn refused(version: &str) -> (usize, BTreeMap<String, Vec<String>>) {
    let (mut native, mut refused) = (0, BTreeMap::<_, Vec<_>>::new());
    for captured in captured(version) {
        let Ok(stage) = captured.stage() else {
            continue;
        };
        match NativeStage::new(Arc::new(stage)) {
            Ok(_) => native += 1,
            Err(reason) => refused
                .entry(reason.to_string())
                .or_default()
                .push(captured.name),
        }
    }
    (native, refused)
}

/// With one setting every stage of TPC-H runs natively, and so do most others.
#[test]
fn stages_are_judged() {
    for version in [OLDEST, NEWEST] {
        let (native, refused) = refused(version);
        for (reason, stages) in &refused {
            println!("{version}: {reason}: {} {:?}", stages.len(), stages);
            let is_tpch = |name: &&String| {
                let query = name.rsplit('.').next().unwrap();
                query.starts_with('q') && query[1..].parse::<u8>().is_ok()
            };
            let tpch: Vec<_> = stages.iter().filter(is_tpch).collect();
            assert!(tpch.is_empty(), "{version}: {reason}: {tpch:?}");
        }
        println!("{version}: {native} native");
        assert!(native > 300);
    }
}

testkit::each_version!(stages_of, super::check);

/// What a stage computes, without what differs between the doors: metrics, and which input is the first of a join.
fn computed(stage: &Captured) -> Option<String> {
    let text = renumbered(&stage.stage().ok()?.to_string());
    let mut lines = Vec::new();
    for line in text.lines() {
        let word = line.trim_start().split(' ').next().unwrap();
        if !["metrics", "inputs"].contains(&word) {
            let line = line.split(" metrics ").next().unwrap();
            let words = line.split(' ').collect::<Vec<_>>();
            let leaf = words.iter().position(|word| *word == "leaf");
            let of_leaf = |at: usize| leaf.is_some_and(|leaf| at == leaf + 1);
            let words = words.iter().enumerate();
            let kept: Vec<_> = words
                .filter(|(at, _)| !of_leaf(*at))
                .map(|(_, w)| *w)
                .collect();
            lines.push(kept.join(" "));
        }
    }
    // Spark counts the names that it makes up, in all queries of an application.
    const MADE_UP: &str = "propagatedFilter_";
    let text = lines.join("\n");
    let mut parts = text.split(MADE_UP);
    let first = parts.next().unwrap_or_default().to_owned();
    Some(parts.fold(first, |text, part| {
        text + MADE_UP + part.trim_start_matches(|c: char| c.is_ascii_digit())
    }))
}

/// The same stages with and without generated code are the same operators.
fn doors(version: &str) -> usize {
    let mut without: HashMap<String, Vec<String>> = HashMap::new();
    let mut with = Vec::new();
    for stage in captured(version) {
        let Some(text) = computed(&stage) else {
            continue;
        };
        match stage.name.split_once('.').unwrap() {
            ("off", query) => without.entry(query.to_owned()).or_default().push(text),
            (_, query) => with.push((query.to_owned(), text)),
        }
    }
    for (query, text) in &with {
        let Some(others) = without.get(query) else {
            continue;
        };
        // Adaptive execution stops a query when a side of a join is empty: which stages ran before is a matter of time.
        if ["q02", "q17"].contains(&query.as_str()) {
            continue;
        }
        assert!(others.contains(text), "{query} of {version}:\n{text}");
    }
    with.len()
}

#[test]
fn both_doors_lead_to_the_same_tree() {
    for version in [OLDEST, NEWEST] {
        assert!(doors(version) > 100);
    }
}

/// Stages that are understood without generated code are understood with code that carries them, and are the same
/// operators, but for what adaptive execution decided otherwise in another application.
#[test]
fn carried_stages_are_the_same() {
    for version in [OLDEST, NEWEST] {
        // Spark says of the rows of a broadcast or a shuffle what its filters leave without nulls.
        let computed = |stage: &Captured| Some(computed(stage)?.replace('?', ""));
        let (mut understood, mut refused) = (BTreeSet::new(), BTreeSet::new());
        for stage in captured(version) {
            let Some(query) = stage.name.strip_prefix("off.") else {
                continue;
            };
            match computed(&stage) {
                Some(text) => understood.insert((query.to_owned(), text)),
                None => refused.insert((query.to_owned(), String::new())),
            };
        }
        let (mut all, mut same) = (0, 0);
        for stage in carried(version) {
            let query = stage.name.strip_prefix("carried.").unwrap().to_owned();
            let Some(text) = computed(&stage) else {
                // Its Bloom filter, the value of a subquery, is larger than all that is carried.
                let known = query == "bloom" || refused.contains(&(query.clone(), String::new()));
                assert!(known, "{query} of {version}: {:?}", stage.stage().err());
                continue;
            };
            all += 1;
            same += usize::from(understood.contains(&(query, text)));
        }
        assert!(all > 380, "{all} stages of {version}");
        assert!(same * 20 > all * 19, "{same} of {all} stages of {version}");
    }
}

/// Nothing that is native goes to the JVM, and there are stages that are native because something else does.
#[test]
fn expressions_go_to_the_jvm_that_are_not_native() {
    for version in [OLDEST, NEWEST] {
        let (mut same, mut more, mut of_jvm) = (0, BTreeSet::new(), 0);
        for captured in captured(version).into_iter().chain(carried(version)) {
            let native = |stage: Stage| NativeStage::new(Arc::new(stage)).is_ok();
            let text = |stage: &Stage| stage.to_string();
            let plain = captured.stage();
            let with = captured.stage_with(Some(is_native));
            match (plain, with) {
                (Ok(plain), Ok(with)) if native(plain.clone()) => {
                    assert_eq!(text(&plain), text(&with), "{} of {version}", captured.name);
                    same += 1;
                }
                (_, Ok(with)) if native(with.clone()) => {
                    let in_jvm = ["Jvm[", "Objects Scan"];
                    assert!(
                        in_jvm.iter().any(|part| text(&with).contains(part)),
                        "{} of {version}",
                        captured.name
                    );
                    more.insert(captured.name.clone());
                }
                _ => {}
            }
            // As if nothing was native: what cannot go there stays as it is.
            if let Ok(stage) = captured.stage_with(Some(|_| false)) {
                of_jvm += usize::from(text(&stage).contains("Jvm["));
            }
        }
        println!("{version}: {same} the same, {of_jvm} of the JVM, more: {more:?}");
        assert!(same > 600 && of_jvm > 50, "{version}: {same}, {of_jvm}");
    }
}

/// Below what the JVM does of a stage: the stage's binary has the rows of native operators in place of what makes them,
/// and nothing of that.
#[test]
fn what_is_above_native_operators_goes_to_the_jvm() {
    const NATIVE: &str = "org.firesteel.bridge.NativeRows";
    const RDD: &str = "org.apache.spark.rdd.RDD";
    let mut found = 0;
    let stages = captured(NEWEST).into_iter().chain(windows(NEWEST));
    for captured in stages.chain(carried(NEWEST)) {
        let ids = parts(&captured.binary).unwrap();
        let settings = captured.settings.clone();
        let judge = |stage: Stage| {
            let judged = NativeStage::new(Arc::new(stage.clone()));
            judged.ok().map(|_| stage)
        };
        let below = Stage::below_rest(&captured.binary, ids, settings, |_| (), judge);
        let Some(stage) = below else {
            continue;
        };
        found += 1;
        let Output::Rest(rest) = &stage.output else {
            panic!("{}", stage.output);
        };
        assert_eq!(rest.num_fields, stage.root.output.require().unwrap().len());
        let binary = Graph::parse(&rest.binary, &Limits::default()).unwrap();
        assert!(rest.binary.len() < captured.raw.len(), "{}", captured.name);
        let (rdd, target) = parts(&binary).unwrap();
        let class = |graph: &Graph, node| graph.class_name(Value::Ref(node)).map(str::to_owned);
        assert_eq!(class(&binary, target), class(&captured.binary, ids.1));
        let mut native = binary
            .nodes()
            .filter(|(node, _)| class(&binary, *node).is_some_and(|class| class == NATIVE));
        let (rows, _) = native.next().unwrap();
        assert!(native.all(|(node, _)| binary.object(node).is_none()));
        assert!(binary.is_instance(rows, RDD));
        let fields = |graph: &Graph, node| {
            let level = graph.level(node, RDD).unwrap();
            level.field("id").zip(level.field("dependencies_"))
        };
        let (id, dependencies) = fields(&binary, rows).unwrap();
        assert_eq!(dependencies, Value::Null);
        // It has the place of one of the driver's RDDs, with all that any RDD has.
        let same = |node| fields(&captured.binary, node).is_some_and(|(other, _)| other == id);
        let mut rdds = captured.binary.nodes().map(|(node, _)| node);
        assert!(rdds.any(|node| captured.binary.is_instance(node, RDD) && same(node)));
        assert!(rdd == rows || binary.is_instance(rdd, RDD));
    }
    assert!(found > 50, "{found}");
}

/// A stage with a byte changed is another stage or none, and never a panic.
#[test]
fn changed_bytes_do_no_harm() {
    let mut stages = captured(NEWEST);
    stages.extend(carried(NEWEST));
    stages.extend(records(NEWEST));
    stages.extend(windows(NEWEST));
    stages.extend(tables(NEWEST));
    stages.retain(|stage| stage.raw.len() < 60_000);
    assert!(stages.len() > 100);
    let config = ProptestConfig::with_cases(2000);
    proptest!(config, |(stage in any::<Index>(), at in any::<Index>(), byte: u8)| {
        let stage = stage.get(&stages);
        let mut raw = stage.raw.clone();
        let at = at.index(raw.len());
        raw[at] = byte;
        if let Ok((graph, _)) = Graph::parse_first(&raw, &Limits::default())
            && let Some((rdd, target)) = parts(&graph)
        {
            for is_native in [None, Some((|_| false) as IsNative)] {
                let settings = Settings { is_native, ..stage.settings.clone() };
                if let Ok(stage) = Stage::read(&graph, rdd, target, settings.clone()) {
                    prop_assert!(!stage.to_string().is_empty());
                }
                Stage::below_rest(&graph, (rdd, target), settings, |_| (), |_| None::<()>);
            }
        }
    });
}

/// Jobs over values of the driver: which files there are, and which columns they have.
fn jobs_of_files(version: &'static str) {
    let mut found = BTreeMap::new();
    for captured in files(version) {
        let (rdd, function) = parts(&captured.binary).unwrap();
        let of_partitions = |paths: &dyn Fn(&Graph, NodeId) -> Vec<String>| {
            let tasks = captured.tasks.iter().flat_map(|task| {
                let node = task.root().unwrap().node().unwrap();
                paths(task, task.field_node(node, "partition").unwrap())
            });
            tasks.collect::<BTreeSet<String>>()
        };
        let listing = Listing::read(&captured.binary, rdd, function).unwrap();
        let merge = SchemaMerge::read(&captured.binary, rdd, function).unwrap();
        match (listing, merge) {
            (Some(listing), None) => {
                let paths = of_partitions(&|task, node| listing.paths(task, node).unwrap());
                let places = paths.iter().filter_map(|path| path.rsplit_once("/table/"));
                let places: Vec<&str> = places.map(|(_, name)| name).collect();
                assert_eq!(places, ["p=0", "p=1", "p=2", "p=3"]);
                let flags = [
                    listing.ignore_missing,
                    listing.ignore_locality,
                    listing.of_roots,
                ];
                found.insert(captured.name.clone(), flags);
                let class = captured
                    .binary
                    .class_name(Value::Ref(listing.conf))
                    .unwrap();
                assert_eq!(class, "org.apache.spark.util.SerializableConfiguration");
            }
            (None, Some(merge)) => {
                let files = of_partitions(&|task, node| {
                    let files = merge.files(task, node).unwrap();
                    let path = |SchemaFile { path, size }| {
                        assert!(size > 0);
                        path
                    };
                    files.into_iter().map(path).collect()
                });
                assert_eq!(files.len(), 1, "{files:?}");
                assert!(files.iter().all(|path| path.ends_with(".parquet")));
            }
            (None, None) => assert_eq!(captured.name, "null", "the write of the table"),
            both => panic!("{both:?}"),
        }
    }
    let expected = [
        ("listing", [false, false, false]),
        ("listing.missing", [true, false, false]),
        ("listing.places", [false, true, false]),
    ];
    let expected = expected.map(|(name, flags)| (name.to_owned(), flags));
    assert_eq!(found, BTreeMap::from(expected));
}

testkit::each_version!(jobs_of_files_are_read, super::jobs_of_files);

/// Data frames of Python's objects, and rows of data frames for Python.
fn jobs_of_frames(version: &'static str) {
    let (mut scans, mut rows) = (BTreeSet::new(), BTreeMap::new());
    for captured in frames(version) {
        let (rdd, target) = parts(&captured.binary).unwrap();
        let settings = captured.settings.clone();
        if let Ok(stage) = Stage::read(&captured.binary, rdd, target, settings) {
            NativeStage::new(Arc::new(stage.clone())).unwrap();
            for leaf in stage.leaves() {
                let OperatorKind::PickledScan(scan) = &leaf.kind else {
                    continue;
                };
                let class = captured.binary.class_name(Value::Ref(scan.rdd)).unwrap();
                assert_eq!(class, "org.apache.spark.api.python.PythonRDD");
                for task in &captured.tasks {
                    let node = task.root().unwrap().node().unwrap();
                    let partition = task.field_node(node, "partition").unwrap();
                    stage.bind(task, partition).unwrap();
                }
                scans.insert(captured.name.clone());
            }
        }
        // The RDD is somewhere below those of Python.
        for (node, _) in captured.binary.nodes() {
            let class = captured.binary.class_name(Value::Ref(node));
            if class != Some("org.apache.spark.rdd.MapPartitionsRDD") {
                continue;
            }
            let Ok(stage) = Stage::read_pickled(&captured.binary, node, |_| None, |_| ()) else {
                continue;
            };
            NativeStage::new(Arc::new(stage.clone())).unwrap();
            rows.insert(captured.name.clone(), stage.output.to_string());
        }
    }
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let expected: BTreeSet<String> = names(&[
        "inferred.collect",
        "local.collect",
        "local.count",
        "local.filter",
        "local.group",
        "local.join",
        "local.pruned",
        "pipeline.collect",
        "shuffled.collect",
        "single.collect",
    ]);
    assert_eq!(scans, expected);
    let text: &[&str] = &["rdd.text"];
    let found: BTreeSet<String> = rows.keys().cloned().collect();
    let expected = [
        "frame.iterator",
        "rdd.collect",
        "rdd.count",
        "rdd.foreach",
        "rdd.iterator",
        "rdd.map",
        "rdd.shuffle",
        "rdd.take",
    ];
    assert_eq!(found, names(&[&expected, text].concat()));
    let as_bytes = if version >= "4.1" { " with bytes" } else { "" };
    assert_eq!(rows["rdd.text"], format!("Pickled value{as_bytes}"));
    assert_eq!(rows["rdd.map"], format!("Pickled id, s, d{as_bytes}"));
}

testkit::each_version!(jobs_of_frames_are_read, super::jobs_of_frames);
