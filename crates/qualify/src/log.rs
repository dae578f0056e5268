//! The events of an application as they come: tasks are added up by stage, stages are judged when their query has
//! ended.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::{self, BufRead};
use std::rc::Rc;

use crate::event::{Event, ExecutionStart, RddInfo, StageInfo, StageSubmitted, TaskEnd, Unread};
use crate::judge::{Judge, NO_OPERATORS, Verdict};
use crate::lines::{Line, MAX_LINE, next_line};
use crate::plan::{Plan, fragments};
use crate::rdd::rdds;
use crate::report::{Application, Lines, Query, Sums, Tasks};
use crate::sections::Sections;
use crate::table::{Native, Off};

/// Queries that are told apart; what comes after them counts as one.
const MAX_QUERIES: usize = 200_000;
/// Accumulators of a stage that are looked at.
const MAX_ACCUMULATORS: usize = 10_000;
/// Characters of a description.
const MAX_DESCRIPTION: usize = 200;
/// Time zones that a table is made for.
const MAX_ZONES: usize = 100;

/// What tasks belong to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Key {
    Sql(i64),
    Job(i64),
    Other,
}

/// What becomes of a stage, with the jar and without.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Outcome {
    with_jar: Verdict,
    without_jar: Verdict,
}

impl Outcome {
    fn same(verdict: Verdict) -> Self {
        Self {
            without_jar: verdict.clone(),
            with_jar: verdict,
        }
    }

    fn unknown(doubt: &str) -> Self {
        Self::same(Verdict::Unknown(vec![doubt.to_owned()]))
    }
}

/// A fragment of a plan, judged.
#[derive(Debug)]
struct Part {
    outcome: Outcome,
    /// Names of its operators.
    names: HashSet<String>,
    is_result: bool,
}

#[derive(Debug)]
struct QueryState {
    key: Key,
    description: String,
    /// The session's own settings.
    settings: BTreeMap<String, String>,
    /// Parts of its plans by the accumulators that their tasks only update.
    own: HashMap<i64, Rc<Part>>,
    /// The same for accumulators of several parts.
    shared: HashMap<i64, Rc<Part>>,
    /// The parts of the newest plan.
    parts: Vec<Rc<Part>>,
    /// Stages that were not judged yet, and how many of them still run.
    waiting: Vec<(i64, i64)>,
    running: usize,
    ended: bool,
    with_jar: Sums,
    without_jar: Sums,
}

/// A stage that was submitted.
#[derive(Debug)]
struct Stage {
    query: usize,
    tasks: Tasks,
    /// Once it is judged, tasks that come late are added to its query.
    outcome: Option<Rc<Outcome>>,
    completed: bool,
    name: String,
    rdds: Vec<RddInfo>,
    accumulators: HashSet<i64>,
}

/// An event log that is being read.
#[derive(Debug)]
pub struct Log<'n, N> {
    native: &'n N,
    lines: Lines,
    version: String,
    name: String,
    id: Option<String>,
    times: (Option<i64>, Option<i64>),
    properties: BTreeMap<String, String>,
    /// The JVM's own time zone.
    system_zone: String,
    off: Off,
    judges: HashMap<String, Rc<Judge>>,
    queries: Vec<QueryState>,
    by_key: HashMap<Key, usize>,
    stages: HashMap<(i64, i64), Stage>,
    /// The job that will submit a stage.
    jobs: HashMap<i64, i64>,
    job_stages: HashMap<i64, Vec<i64>>,
    has_python: bool,
    notes: Vec<String>,
}

fn short(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    line.chars().take(MAX_DESCRIPTION).collect()
}

impl<'n, N: Native> Log<'n, N> {
    /// The log of one application.
    pub fn new(native: &'n N) -> Self {
        Self {
            native,
            lines: Lines::default(),
            version: String::new(),
            name: String::new(),
            id: None,
            times: (None, None),
            properties: BTreeMap::new(),
            system_zone: String::new(),
            off: Off::default(),
            judges: HashMap::new(),
            queries: Vec::new(),
            by_key: HashMap::new(),
            stages: HashMap::new(),
            jobs: HashMap::new(),
            job_stages: HashMap::new(),
            has_python: false,
            notes: Vec::new(),
        }
    }

    /// Reads all lines of a file. Files of a log that was rolled are read in their order. Lines that cannot be
    /// understood are counted.
    ///
    /// # Errors
    /// The source cannot be read further; what was read before counts.
    pub fn read(&mut self, mut source: impl BufRead) -> io::Result<()> {
        let mut buffer = Vec::new();
        while let Some(line) = next_line(&mut source, &mut buffer, MAX_LINE)? {
            match line {
                Line::TooLong => {
                    self.lines.read += 1;
                    self.lines.too_large += 1;
                }
                Line::Whole(line) => self.line(line),
                // The last line of a log that is complete may lack its end.
                Line::CutOff(line) => match Event::read(line) {
                    Ok(_) => self.line(line),
                    Err(_) => {
                        self.lines.read += 1;
                        self.lines.cut_off += 1;
                    }
                },
            }
            // A single long line must not take memory to the end.
            if buffer.capacity() > 1 << 20 {
                buffer = Vec::new();
            }
        }
        Ok(())
    }

    /// Adds what is to be known about the numbers.
    pub fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    fn line(&mut self, line: &[u8]) {
        if line.iter().all(u8::is_ascii_whitespace) {
            return;
        }
        self.lines.read += 1;
        match Event::read(line) {
            Ok(event) => self.event(event),
            Err(Unread::Malformed) => self.lines.malformed += 1,
            Err(Unread::TooLarge) => self.lines.too_large += 1,
        }
    }

    fn event(&mut self, event: Event) {
        match event {
            Event::LogStart(start) => self.version = short(&start.version),
            Event::ApplicationStart(start) => {
                self.name = short(&start.name);
                self.id = start.id.as_deref().map(short);
                self.times.0 = Some(start.time);
            }
            Event::ApplicationEnd(end) => self.times.1 = Some(end.time),
            Event::Environment(environment) => {
                self.properties = environment.spark;
                let zone = environment.system.get("user.timezone");
                self.system_zone = zone.cloned().unwrap_or_default();
                self.off = self.native.off(&self.version, &self.properties);
            }
            Event::JobStart(start) => {
                for stage in &start.stages {
                    self.jobs.entry(*stage).or_insert(start.job);
                }
                self.job_stages.insert(start.job, start.stages);
            }
            Event::JobEnd(end) => {
                for stage in self.job_stages.remove(&end.job).unwrap_or_default() {
                    if self.jobs.get(&stage) == Some(&end.job) {
                        self.jobs.remove(&stage);
                    }
                }
            }
            Event::StageSubmitted(submitted) => self.submitted(submitted),
            Event::StageCompleted(completed) => self.completed(&completed.stage),
            Event::TaskEnd(task) => self.task(&task),
            Event::ExecutionStart(start) => self.execution(*start),
            Event::PlanUpdate(update) => {
                if let Some(query) = self.by_key.get(&Key::Sql(update.id)).copied() {
                    self.plan(query, &update.plan, &update.text);
                }
            }
            Event::ExecutionEnd(end) => {
                if let Some(query) = self.by_key.get(&Key::Sql(end.id)).copied() {
                    if let Some(state) = self.queries.get_mut(query) {
                        state.ended = true;
                    }
                    self.settle(query, false);
                }
            }
            Event::Other => {}
        }
    }

    /// The query of that key; it is made if there is none.
    fn query(&mut self, key: Key, description: &str) -> usize {
        let key = match self.queries.len() < MAX_QUERIES || self.by_key.contains_key(&key) {
            true => key,
            false => Key::Other,
        };
        if let Some(known) = self.by_key.get(&key) {
            return *known;
        }
        self.queries.push(QueryState {
            key,
            description: short(description),
            settings: BTreeMap::new(),
            own: HashMap::new(),
            shared: HashMap::new(),
            parts: Vec::new(),
            waiting: Vec::new(),
            running: 0,
            ended: false,
            with_jar: Sums::default(),
            without_jar: Sums::default(),
        });
        let index = self.queries.len() - 1;
        self.by_key.insert(key, index);
        index
    }

    fn execution(&mut self, start: ExecutionStart) {
        let query = self.query(Key::Sql(start.id), &start.description);
        if let Some(state) = self.queries.get_mut(query)
            && state.key != Key::Other
        {
            state.settings = start.settings;
            if state.description.is_empty() {
                state.description = short(&start.description);
            }
        }
        self.plan(query, &start.plan, &start.text);
    }

    /// A plan of a query: the first one, or what adaptive execution made of it.
    fn plan(&mut self, query: usize, plan: &Plan, text: &str) {
        let Some(state) = self.queries.get(query) else {
            return;
        };
        let judge = self.judge(state.settings.get("spark.sql.session.timeZone").cloned());
        let sections = Sections::read(text);
        let mut types = judge.types(plan, &sections);
        let mut parts = Vec::new();
        let (mut own, mut shared) = (Vec::new(), Vec::new());
        for fragment in fragments(plan) {
            let verdict = judge.fragment(&fragment, &sections, &mut types, &self.off);
            let without_jar = match fragment.names_operators() {
                true => verdict.clone(),
                false => verdict.clone().and(NO_OPERATORS),
            };
            let part = Rc::new(Part {
                outcome: Outcome {
                    with_jar: verdict,
                    without_jar,
                },
                names: fragment
                    .nodes
                    .iter()
                    .map(|node| node.name.clone())
                    .collect(),
                is_result: fragment.is_result,
            });
            own.extend(fragment.own.into_iter().map(|id| (id, part.clone())));
            shared.extend(fragment.shared.into_iter().map(|id| (id, part.clone())));
            parts.push(part);
        }
        if let Some(state) = self.queries.get_mut(query)
            && state.key != Key::Other
        {
            state.own.extend(own);
            state.shared.extend(shared);
            state.parts = parts;
        }
    }

    /// The judge of sessions with that time zone, or with the application's.
    fn judge(&mut self, zone: Option<String>) -> Rc<Judge> {
        let of_application = || self.properties.get("spark.sql.session.timeZone").cloned();
        let zone = zone
            .or_else(of_application)
            .unwrap_or_else(|| self.system_zone.clone());
        let zone = match self.judges.len() < MAX_ZONES || self.judges.contains_key(&zone) {
            true => zone,
            false => String::new(),
        };
        if let Some(judge) = self.judges.get(&zone) {
            return judge.clone();
        }
        let judge = Judge::new(self.native.table(&zone), self.native.table("UTC"), &zone);
        let judge = Rc::new(judge);
        self.judges.insert(zone, judge.clone());
        judge
    }

    fn submitted(&mut self, submitted: StageSubmitted) {
        let stage = submitted.stage;
        let properties = submitted.properties.unwrap_or_default();
        let execution = properties.execution.and_then(|id| id.parse().ok());
        let of_python = |rdd: &RddInfo| rdd.name == "PythonRDD" || rdd.name == "PairwiseRDD";
        self.has_python |= execution.is_none() && stage.rdds.iter().any(of_python);
        let description = properties.description.as_deref();
        let query = match execution {
            Some(id) => self.query(Key::Sql(id), description.unwrap_or_default()),
            None => {
                let job = self.jobs.get(&stage.id).copied();
                let key = job.map_or(Key::Other, Key::Job);
                self.query(key, description.unwrap_or(&stage.name))
            }
        };
        let key = (stage.id, stage.attempt);
        let mut entry = Stage {
            query,
            tasks: Tasks::default(),
            outcome: None,
            completed: false,
            name: short(&stage.name),
            rdds: stage.rdds,
            accumulators: HashSet::new(),
        };
        if execution.is_none() {
            // All that there is to be known of it is here.
            let judge = self.judge(None);
            let verdict = rdds(
                &entry.name,
                &entry.rdds,
                &judge.table,
                &self.off,
                self.has_python,
            );
            entry.outcome = Some(Rc::new(Outcome::same(verdict)));
            entry.rdds = Vec::new();
        } else if let Some(state) = self.queries.get_mut(query) {
            state.waiting.push(key);
            state.running += 1;
        }
        self.stages.insert(key, entry);
    }

    fn completed(&mut self, info: &StageInfo) {
        let Some(stage) = self.stages.get_mut(&(info.id, info.attempt)) else {
            return;
        };
        let was_running = !std::mem::replace(&mut stage.completed, true);
        if stage.outcome.is_some() {
            return;
        }
        let updated = info.accumulables.iter().map(|it| it.id);
        stage.accumulators.extend(updated.take(MAX_ACCUMULATORS));
        let query = stage.query;
        if let Some(state) = self.queries.get_mut(query) {
            state.running = state.running.saturating_sub(usize::from(was_running));
            if state.ended {
                self.settle(query, false);
            }
        }
    }

    fn task(&mut self, task: &TaskEnd) {
        let tasks = Tasks {
            count: 1,
            ms: task.run_ms(),
            cpu_ns: task.cpu_ns(),
        };
        let Some(stage) = self.stages.get_mut(&(task.stage, task.attempt)) else {
            let query = self.query(Key::Other, "");
            let unknown = Outcome::unknown("the start of the stage is not in the log");
            self.add(query, &unknown, tasks);
            return;
        };
        if let Some(outcome) = stage.outcome.clone() {
            let query = stage.query;
            self.add(query, &outcome, tasks);
            return;
        }
        stage.tasks.add(tasks);
        // Those of a stage that does not complete are known from its tasks only.
        let room = MAX_ACCUMULATORS.saturating_sub(stage.accumulators.len());
        let updated = task.info.iter().flat_map(|info| &info.accumulables);
        stage
            .accumulators
            .extend(updated.map(|it| it.id).take(room));
    }

    fn add(&mut self, query: usize, outcome: &Outcome, tasks: Tasks) {
        if let Some(state) = self.queries.get_mut(query) {
            state.with_jar.add(&outcome.with_jar, tasks);
            state.without_jar.add(&outcome.without_jar, tasks);
        }
    }

    /// Judges the stages of a query that has ended, and forgets its plans. Waits for stages that still run, unless the
    /// log ends.
    fn settle(&mut self, query: usize, at_end: bool) {
        let Some(state) = self.queries.get_mut(query) else {
            return;
        };
        if state.running > 0 && !at_end {
            return;
        }
        let waiting = std::mem::take(&mut state.waiting);
        for key in waiting {
            let (Some(state), Some(stage)) = (self.queries.get(query), self.stages.get(&key))
            else {
                continue;
            };
            let outcome = Rc::new(self.outcome(state, stage));
            let Some(stage) = self.stages.get_mut(&key) else {
                continue;
            };
            let tasks = std::mem::take(&mut stage.tasks);
            (stage.rdds, stage.accumulators) = (Vec::new(), HashSet::new());
            stage.outcome = Some(outcome.clone());
            self.add(query, &outcome, tasks);
        }
        if let Some(state) = self.queries.get_mut(query) {
            (state.own, state.shared, state.parts) = Default::default();
            (state.settings, state.running) = Default::default();
        }
    }

    /// What becomes of a stage of a query.
    fn outcome(&self, query: &QueryState, stage: &Stage) -> Outcome {
        let Some(part) = part_of(query, stage) else {
            let zone = self.judges.values().next();
            if let Some(judge) = zone
                && let verdict @ Verdict::Native(_) =
                    rdds(&stage.name, &stage.rdds, &judge.table, &self.off, false)
            {
                return Outcome::same(verdict);
            }
            return Outcome::unknown(match query.parts.is_empty() {
                true => "the plan is not in the log",
                false => "which part of the plan a stage ran is not in the log",
            });
        };
        match self.arrow(query, stage, part) {
            Some(Verdict::Delegated(reasons)) => Outcome::same(Verdict::Delegated(reasons)),
            Some(doubt) if matches!(part.outcome.with_jar, Verdict::Native(_)) => Outcome {
                with_jar: doubt,
                without_jar: part.outcome.without_jar.clone(),
            },
            _ => part.outcome.clone(),
        }
    }

    /// Whether a stage gives its rows to the driver as Arrow batches, which its plan does not say.
    fn arrow(&self, query: &QueryState, stage: &Stage, part: &Part) -> Option<Verdict> {
        const KEY: &str = "spark.sql.execution.arrow.pyspark.enabled";
        const REASON: &str = "results as Arrow batches";
        if !part.is_result {
            return None;
        }
        let delegated = || Verdict::Delegated(vec![REASON.to_owned()]);
        if stage.name.contains("SparkConnect") || stage.name.starts_with("toArrow at") {
            return Some(delegated());
        }
        if !stage.name.starts_with("toPandas at") {
            return None;
        }
        let setting = query.settings.get(KEY).or_else(|| self.properties.get(KEY));
        match setting.map(|value| value.to_lowercase()).as_deref() {
            Some("true") => Some(delegated()),
            Some(_) => None,
            // The default differs by version.
            None => Some(Verdict::Unknown(vec![format!(
                "whether there are {REASON}"
            )])),
        }
    }

    /// What became of the application.
    #[must_use]
    pub fn finish(mut self) -> Application {
        for query in 0..self.queries.len() {
            self.settle(query, true);
        }
        let (mut with_jar, mut without_jar) = (Sums::default(), Sums::default());
        let mut queries = Vec::new();
        for state in &self.queries {
            with_jar.add_all(&state.with_jar);
            without_jar.add_all(&state.without_jar);
            if state.with_jar.count() == 0 {
                continue;
            }
            let (kind, id) = match state.key {
                Key::Sql(id) => ("sql", id),
                Key::Job(id) => ("job", id),
                Key::Other => ("other", 0),
            };
            queries.push(Query {
                kind,
                id,
                description: state.description.clone(),
                with_jar: state.with_jar.summary(),
                without_jar: state.without_jar.summary(),
            });
        }
        let duration = match self.times {
            (Some(start), Some(end)) => u64::try_from(end.saturating_sub(start)).ok(),
            _ => None,
        };
        if let Some(reason) = &self.off.refused {
            self.notes
                .insert(0, format!("Executors would not start: {reason}"));
        }
        Application {
            id: self.id,
            name: self.name,
            spark_version: self.version,
            ended: self.times.1.is_some(),
            duration_ms: duration,
            with_jar: with_jar.summary(),
            without_jar: without_jar.summary(),
            queries,
            notes: self.notes,
            lines: self.lines,
        }
    }
}

/// The part of a query's plans that the tasks of a stage ran: that whose accumulators they updated, else that of the
/// names in its RDDs' scopes, else any if all come to the same.
fn part_of<'q>(query: &'q QueryState, stage: &Stage) -> Option<&'q Part> {
    for map in [&query.own, &query.shared] {
        let mut hits: Vec<(&Rc<Part>, usize)> = Vec::new();
        for part in stage.accumulators.iter().filter_map(|id| map.get(id)) {
            match hits.iter_mut().find(|(known, _)| Rc::ptr_eq(known, part)) {
                Some((_, count)) => *count += 1,
                None => hits.push((part, 1)),
            }
        }
        if let Some((part, _)) = hits.into_iter().max_by_key(|(_, count)| *count) {
            return Some(part);
        }
    }
    let scopes: Vec<String> = stage.rdds.iter().filter_map(RddInfo::scope).collect();
    let code = scopes
        .iter()
        .filter(|scope| scope.starts_with("WholeStageCodegen"));
    for scope in code {
        let mut with_code = query.parts.iter().filter(|part| part.names.contains(scope));
        if let (Some(part), None) = (with_code.next(), with_code.next()) {
            return Some(part);
        }
    }
    let (first, others) = query.parts.split_first()?;
    let is_same = others.iter().all(|part| part.outcome == first.outcome);
    is_same.then_some(first)
}
