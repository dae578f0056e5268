//! Whether a stage of Spark SQL would run natively: its operators and expressions, looked up in the [`Table`].

use std::collections::BTreeSet;

use crate::expression::{Found, Types, columns, parts, scan};
use crate::names::Names;
use crate::plan::{Fragment, Plan, PlanNode, from_below};
use crate::sections::{Sections, is_cut};
use crate::table::{Off, Table, Type};

/// Who would run a stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Lane {
    /// Spark SQL.
    Sql,
    /// PySpark's RDDs.
    Python,
    /// Finding out the columns of files.
    Columns,
}

/// What is to be expected of a stage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
    Native(Lane),
    /// Left to the JVM, for all of these reasons.
    Delegated(Vec<String>),
    /// The log does not tell, for these reasons.
    Unknown(Vec<String>),
}

impl Verdict {
    /// The same with one more reason to be left to the JVM.
    pub(crate) fn and(self, reason: &str) -> Self {
        let mut reasons = match self {
            Self::Delegated(reasons) => reasons,
            Self::Native(_) | Self::Unknown(_) => Vec::new(),
        };
        reasons.push(reason.to_owned());
        Self::Delegated(reasons)
    }
}

/// The reason for which code is not native without a jar on the driver.
pub(crate) const NO_OPERATORS: &str = "generated code without operators";
/// Characters of a reason.
const MAX_REASON: usize = 120;

/// A judgement of one session's stages.
#[derive(Debug)]
pub(crate) struct Judge {
    pub(crate) table: Table,
    names: Names,
    /// In UTC, if the session's time zone is another one: what is only there is refused for the time zone.
    in_utc: Option<Table>,
    zone: String,
}

/// Operators that are none of the executor's: they are about plans, or part of another operator.
const NO_OPERATORS_OF_TASKS: [&str; 14] = [
    "AdaptiveSparkPlan",
    "AQEShuffleRead",
    "BroadcastExchange",
    "BroadcastQueryStage",
    "ColumnarToRow",
    "CommandResult",
    "InputAdapter",
    "ResultQueryStage",
    "ReusedExchange",
    "ReusedSubquery",
    "ShuffleQueryStage",
    "Subquery",
    "SubqueryBroadcast",
    // The command above it says what is written.
    "WriteFiles",
];

/// The command of writes of files.
const WRITE: &str = "Execute InsertIntoHadoopFsRelationCommand ";

/// What becomes of rows, and operators, that are left to Spark's own code above native operators.
const RESTS: [&str; 8] = [
    "AppendData",
    "CollectMetrics",
    "Execute InsertIntoHiveTable",
    "OverwriteByExpression",
    "OverwritePartitionsDynamic",
    "StateStoreRestore",
    "StateStoreSave",
    "WriteToDataSourceV2",
];

/// What the operators that are known have for scans that are left to Spark's own code, below native operators.
const ANY_OTHER_SCAN: &str = "any other scan";

/// What was found out about a stage.
#[derive(Default)]
pub(crate) struct Findings {
    reasons: BTreeSet<String>,
    doubts: BTreeSet<String>,
}

impl Findings {
    /// It is left to the JVM.
    pub(crate) fn refuse(&mut self, reason: impl Into<String>) {
        self.reasons.insert(cut(reason.into()));
    }

    /// The log does not tell.
    pub(crate) fn doubt(&mut self, doubt: impl Into<String>) {
        self.doubts.insert(cut(doubt.into()));
    }

    fn add(&mut self, other: Self) {
        self.reasons.extend(other.reasons);
        self.doubts.extend(other.doubts);
    }

    pub(crate) fn verdict(self, lane: Lane) -> Verdict {
        if !self.reasons.is_empty() {
            Verdict::Delegated(self.reasons.into_iter().collect())
        } else if !self.doubts.is_empty() {
            Verdict::Unknown(self.doubts.into_iter().collect())
        } else {
            Verdict::Native(lane)
        }
    }
}

fn cut(text: String) -> String {
    match text.char_indices().nth(MAX_REASON) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
        None => text,
    }
}

/// An operator's name without what is in brackets behind it.
fn bare_name(node: &PlanNode) -> &str {
    node.name.split('(').next().unwrap_or_default().trim()
}

/// Whether Spark's own code may do with the rows of native operators what the node says.
fn is_rest(node: &PlanNode) -> bool {
    node.text.starts_with(WRITE) || RESTS.contains(&bare_name(node))
}

/// Whether operators of a stage are native below others for the sake of this one.
fn does_much(name: &str) -> bool {
    name.ends_with("Join")
        || name.ends_with("Aggregate")
        || [
            "Sort",
            "TakeOrderedAndProject",
            "Window",
            "WindowGroupLimit",
            "CartesianProduct",
        ]
        .contains(&name)
}

impl Judge {
    /// For sessions of a time zone; an empty text is one that is not known.
    pub(crate) fn new(table: Table, in_utc: Table, zone: &str) -> Self {
        let in_utc = (table != in_utc).then_some(in_utc);
        // Names are those of what runs anywhere.
        let names = Names::new(in_utc.as_ref().unwrap_or(&table));
        Self {
            table,
            names,
            in_utc,
            zone: zone.to_owned(),
        }
    }

    /// Types of the columns of a plan, as far as it tells.
    pub(crate) fn types(&self, plan: &Plan, sections: &Sections<'_>) -> Types {
        let mut types = Types::new();
        for node in from_below(plan) {
            let text = sections.whole(&node.name, &node.text);
            let text = text.as_deref().unwrap_or(&node.text);
            if node.text.starts_with("FileScan ") {
                columns_of_files(node, text, &mut types);
            } else if matches!(
                node.name.as_str(),
                "Project" | "HashAggregate" | "Window" | "Expand"
            ) {
                // Learns what conversions are given names.
                let _ = scan(text, &mut types);
            }
        }
        types
    }

    /// What becomes of the tasks of a fragment whose stages carry their operators.
    pub(crate) fn fragment(
        &self,
        fragment: &Fragment<'_>,
        sections: &Sections<'_>,
        types: &mut Types,
        off: &Off,
    ) -> Verdict {
        let mut findings = Findings::default();
        if let Some(reason) = off.refused.as_ref().or(off.sql.as_ref()) {
            findings.refuse(reason);
        }
        let rest_in_jvm = self.table.not_in_jvm.is_some()
            && fragment.nodes.iter().any(|node| does_much(bare_name(node)));
        for node in &fragment.nodes {
            let mut own = Findings::default();
            self.operator(node, sections, types, &mut own);
            match rest_in_jvm && is_rest(node) && !own.reasons.is_empty() {
                true => {
                    let what = own.reasons.into_iter().collect::<Vec<_>>().join(", ");
                    findings.doubt(format!("{what}, which the JVM does"));
                }
                false => findings.add(own),
            }
        }
        findings.verdict(Lane::Sql)
    }

    fn operator(
        &self,
        node: &PlanNode,
        sections: &Sections<'_>,
        types: &mut Types,
        findings: &mut Findings,
    ) {
        let name = bare_name(node);
        if NO_OPERATORS_OF_TASKS.contains(&name) || name.starts_with("WholeStageCodegen") {
            return;
        }
        if node.text.starts_with("FileScan ") {
            self.scan_of_files(node, findings);
            return;
        }
        if let Some(arguments) = node.text.strip_prefix(WRITE) {
            self.write_of_files(arguments, findings);
            return;
        }
        let is_other = name.starts_with("Scan ") || name.starts_with("BatchScan");
        if is_other && name != "Scan OneRowRelation" {
            self.other_scan("a scan of another source", findings);
            return;
        }
        let class = match name {
            "Exchange" => "ShuffledRowRDD".to_owned(),
            "CollectLimit" => "LocalLimitExec".to_owned(),
            "Scan OneRowRelation" => "OneRowRelationExec".to_owned(),
            name => format!("{name}Exec"),
        };
        if !self.table.operators.contains(&class) {
            findings.refuse(format!("operator {name}"));
            return;
        }
        // They have columns, but no expressions.
        if matches!(name, "LocalTableScan" | "Range" | "Union" | "Coalesce") {
            return;
        }
        let Some(text) = sections.whole(&node.name, &node.text) else {
            findings.doubt(format!("a list of {name} is cut off in the log"));
            return;
        };
        let mut texts = vec![text.as_str()];
        let is_aggregate = name.ends_with("Aggregate");
        if is_aggregate {
            let results = sections.results(&node.name, &text);
            if results.is_empty() && !is_partial(&text) {
                findings.doubt("what is computed of groups is not in the log");
            }
            if results.iter().any(|results| is_cut(results)) {
                findings.doubt(format!("a list of {name} is cut off in the log"));
            }
            texts.extend(results);
        }
        self.keys(name, &text, types, findings);
        if name.ends_with("Join") {
            self.join(&class, &text, findings);
        }
        for text in texts {
            self.expressions(name, text, types, findings);
        }
    }

    /// A scan that only Spark's own code does: what is above it may be native, and gain as much or nothing.
    fn other_scan(&self, what: &str, findings: &mut Findings) {
        let is_known = self.table.operators.iter().any(|it| it == ANY_OTHER_SCAN);
        match is_known && self.table.not_in_jvm.is_some() {
            true => findings.doubt(format!("{what}, which the JVM reads")),
            false => findings.refuse(what),
        }
    }

    /// A write to `path, ifPartitionNotExists, [partitions], [buckets], format, [options], …`.
    fn write_of_files(&self, arguments: &str, findings: &mut Findings) {
        let path = arguments.split(", ").next().unwrap_or_default();
        let scheme = path.split_once(":/").map_or("", |(scheme, _)| scheme);
        let table = &self.table;
        if !table.written_schemes.iter().any(|known| known == scheme) {
            findings.refuse(format!("a write to {scheme}:"));
        }
        let mut words = arguments.split(", ");
        if !words.any(|word| table.written_formats.iter().any(|known| known == word)) {
            findings.refuse("a write of files of another format");
        }
        if arguments.contains("bucket columns: ") {
            findings.refuse("a write of buckets");
        }
    }

    fn scan_of_files(&self, node: &PlanNode, findings: &mut Findings) {
        let format = node.text.split(' ').nth(1).unwrap_or_default();
        if !self
            .table
            .operators
            .iter()
            .any(|it| it == "FileSourceScanExec")
        {
            findings.refuse("operator Scan");
        }
        let mut formats = self.table.formats.iter();
        if !formats.any(|known| known.eq_ignore_ascii_case(format)) {
            self.other_scan(&format!("files of {format}"), findings);
            return;
        }
        let location = node.metadata.get("Location").map_or("", String::as_str);
        if let Some((_, paths)) = location.split_once('[')
            && let Some((scheme, _)) = paths.split_once(":/")
            && !self.table.schemes.iter().any(|known| known == scheme)
        {
            findings.refuse(format!("files of {scheme}:"));
        }
        let Some(schema) = node.metadata.get("ReadSchema") else {
            findings.doubt("the columns of files are not in the log");
            return;
        };
        for (_, of) in fields(schema) {
            match self.table.of_type(of) {
                Some(known) if known.scanned => {}
                _ => findings.refuse(format!("a column of type {of} in files")),
            }
        }
    }

    /// Types of keys, where they are known.
    fn keys(&self, name: &str, text: &str, types: &Types, findings: &mut Findings) {
        let (keys, what, allowed): (&str, &str, fn(&Type) -> bool) = match name {
            "Sort" | "TakeOrderedAndProject" => (text, "sorting", |of| of.sort_key),
            "HashAggregate" | "SortAggregate" | "ObjectHashAggregate" => {
                let keys = text.split(", functions=").next().unwrap_or_default();
                (keys, "grouping", |of| of.group_key)
            }
            "BroadcastHashJoin" => (text, "joining", |of| of.broadcast_key),
            "SortMergeJoin" | "ShuffledHashJoin" => (text, "joining", |of| of.shuffled_key),
            _ => return,
        };
        let keys = match name {
            // The first two lists, or the first one; a condition may be of other types.
            "HashAggregate" | "SortAggregate" | "ObjectHashAggregate" => keys.to_owned(),
            "TakeOrderedAndProject" => keys
                .split(", output=")
                .next()
                .unwrap_or_default()
                .to_owned(),
            "Sort" => parts(keys).first().copied().unwrap_or_default().to_owned(),
            _ => parts(keys)
                .into_iter()
                .take(2)
                .collect::<Vec<_>>()
                .join(" "),
        };
        for item in keys.split(['[', ']']).flat_map(parts) {
            let column = item.split(' ').next().unwrap_or_default();
            let column = columns(column).next().filter(|found| *found == column);
            let of = column.and_then(|column| crate::expression::type_of(column, types));
            if let Some(of) = of
                && let Some(known) = self.table.of_type(&of)
                && !allowed(known)
            {
                findings.refuse(format!("{what} by {of}"));
            }
        }
    }

    fn join(&self, class: &str, text: &str, findings: &mut Findings) {
        const TYPES: [&str; 7] = [
            "Inner",
            "LeftOuter",
            "RightOuter",
            "FullOuter",
            "LeftSemi",
            "LeftAnti",
            "LeftSingle",
        ];
        let words = parts(text);
        let words = words.iter().flat_map(|part| part.split(' '));
        let (mut side, mut of) = (None, None);
        for word in words {
            match word {
                "BuildLeft" | "BuildRight" => side = Some(word),
                "Cross" => of = of.or(Some("Inner")),
                _ if word.starts_with("ExistenceJoin") => of = of.or(Some("ExistenceJoin")),
                _ if TYPES.contains(&word) => of = of.or(Some(word)),
                _ => {}
            }
        }
        let Some(of) = of else {
            findings.doubt("the type of a join is not in the log");
            return;
        };
        let side = match class {
            "SortMergeJoinExec" => None,
            _ => side,
        };
        let mut joins = self.table.joins.iter();
        let is_known = joins.any(|join| {
            join.operator == class
                && join.build_side.as_deref() == side
                && join.types.iter().any(|known| known == of)
        });
        if !is_known {
            let side = side.map(|side| format!(", {side}")).unwrap_or_default();
            let operator = class.trim_end_matches("Exec");
            findings.refuse(format!("{operator} of type {of}{side}"));
        }
    }

    fn expressions(&self, name: &str, text: &str, types: &mut Types, findings: &mut Findings) {
        let text = text.strip_prefix(name).unwrap_or(text);
        let text = text.strip_prefix('(').unwrap_or(text);
        let Some(all) = scan(text, types) else {
            findings.doubt(format!("an expression of {name} is too long"));
            return;
        };
        for found in all {
            match found {
                Found::Sign(class) => {
                    if !self.table.has_function(class) && !self.table.leaves_to_jvm(name, class) {
                        findings.refuse(format!("expression {class}"));
                    }
                }
                Found::Cast { .. } if self.table.leaves_to_jvm(name, "Cast") => {}
                Found::Cast { from, to } => self.cast(from.as_deref(), &to, findings),
                Found::Call {
                    name: called,
                    arguments,
                } => self.call(name, &called, &arguments, findings),
            }
        }
    }

    fn cast(&self, from: Option<&str>, to: &str, findings: &mut Findings) {
        // What follows the type is not part of it.
        let of = |from: Option<&str>| from.map_or_else(String::new, |from| format!(" from {from}"));
        if !self.table.converts(from, to) {
            let zoned = self
                .in_utc
                .as_ref()
                .is_some_and(|utc| utc.converts(from, to));
            self.refuse(zoned, format!("cast{} to {to}", of(from)), findings);
        } else if from.is_none()
            && let Some(utc) = &self.in_utc
            && utc
                .casts
                .iter()
                .any(|cast| cast.to == to && !self.table.casts.contains(cast))
        {
            findings.doubt(format!(
                "whether a cast to {to} needs the time zone {}",
                self.zone()
            ));
        }
    }

    fn call(
        &self,
        operator: &str,
        name: &str,
        arguments: &[Option<String>],
        findings: &mut Findings,
    ) {
        if let Some(class) = self.names.aggregate(name)
            && let Some(known) = self.table.aggregates.iter().find(|it| it.name == class)
        {
            let of = arguments.first().cloned().flatten();
            let takes = |of: &String| {
                let mut types = known.arguments.iter();
                types.any(|known| crate::table::shape(known) == crate::table::shape(of))
            };
            if let Some(of) = of.filter(|of| !takes(of)) {
                findings.refuse(format!("aggregate {class} of {of}"));
            }
            return;
        }
        // What an aggregation does in parts has one name.
        let Some(class) = self.names.aggregate(name) else {
            return;
        };
        let is_window = self.table.windows.iter().any(|known| known == class);
        if is_window || self.table.computes(class, arguments) {
            return;
        }
        let is_element = class == "GetArrayItem" && self.table.has_function("GetMapValue");
        if is_element || self.table.leaves_to_jvm(operator, class) {
            return;
        }
        let zoned = self
            .in_utc
            .as_ref()
            .is_some_and(|utc| utc.computes(class, arguments));
        let what = match arguments.iter().flatten().next() {
            Some(of) if self.table.has_function(class) => format!("expression {class} of {of}"),
            _ => format!("expression {class}"),
        };
        self.refuse(zoned, what, findings);
    }

    /// What is refused, or not known, for the session's time zone only.
    fn refuse(&self, zoned: bool, what: String, findings: &mut Findings) {
        match (zoned, self.zone.is_empty()) {
            (false, _) => findings.refuse(what),
            (true, false) => findings.refuse(format!("{what} in time zone {}", self.zone)),
            (true, true) => findings.doubt(format!("{what}: the time zone is not in the log")),
        }
    }

    fn zone(&self) -> &str {
        match self.zone.as_str() {
            "" => "(not in the log)",
            zone => zone,
        }
    }
}

/// Whether an aggregate gives its buffers to others, and computes nothing of them.
fn is_partial(text: &str) -> bool {
    let functions = text.split(", functions=").nth(1).unwrap_or_default();
    functions.contains("partial_") || functions.contains("merge_")
}

/// The columns of `struct<a:int,b:decimal(10,2)>` with their types.
fn fields(schema: &str) -> Vec<(&str, &str)> {
    let inner = schema
        .strip_prefix("struct<")
        .and_then(|rest| rest.strip_suffix('>'));
    let inner = inner.unwrap_or_default();
    if inner.is_empty() {
        return Vec::new();
    }
    let fields = parts(inner);
    fields
        .into_iter()
        .filter_map(|field| field.split_once(':'))
        .collect()
}

/// Learns the types of what a scan gives out.
fn columns_of_files(node: &PlanNode, text: &str, types: &mut Types) {
    let Some(schema) = node.metadata.get("ReadSchema") else {
        return;
    };
    let schema = fields(schema);
    let Some((_, rest)) = text.split_once('[') else {
        return;
    };
    let list = rest.split(']').next().unwrap_or_default();
    for column in list.split(',') {
        let Some((name, number)) = column.trim().rsplit_once('#') else {
            continue;
        };
        let of = schema.iter().find(|(field, _)| *field == name);
        if let (Some((_, of)), Ok(number)) = (of, number.trim_end_matches('L').parse()) {
            types.insert(number, (*of).to_owned());
        }
    }
}
