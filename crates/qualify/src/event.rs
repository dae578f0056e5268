//! The events that are looked at, with the parts of them that are.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};

use crate::pieces::{Problem, cut_out};
use crate::plan::{Plan, PlanNode};

/// What is `null` counts as absent.
pub(crate) fn or_default<'de, D, T>(from: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Ok(Option::deserialize(from)?.unwrap_or_default())
}

/// An event of Spark's listeners.
#[derive(Debug)]
pub(crate) enum Event {
    LogStart(LogStart),
    ApplicationStart(ApplicationStart),
    ApplicationEnd(Ended),
    Environment(Environment),
    JobStart(JobStart),
    JobEnd(JobEnd),
    StageSubmitted(StageSubmitted),
    StageCompleted(StageCompleted),
    TaskEnd(Box<TaskEnd>),
    ExecutionStart(Box<ExecutionStart>),
    PlanUpdate(Box<PlanUpdate>),
    ExecutionEnd(ExecutionEnd),
    /// One that says nothing of interest.
    Other,
}

#[derive(Debug, Deserialize)]
pub(crate) struct LogStart {
    #[serde(rename = "Spark Version")]
    pub(crate) version: String,
}

#[derive(Debug, Deserialize)]
pub(crate) struct ApplicationStart {
    #[serde(rename = "App Name")]
    pub(crate) name: String,
    #[serde(rename = "App ID", default)]
    pub(crate) id: Option<String>,
    #[serde(rename = "Timestamp", default)]
    pub(crate) time: i64,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Ended {
    #[serde(rename = "Timestamp", default)]
    pub(crate) time: i64,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Environment {
    #[serde(rename = "Spark Properties", default, deserialize_with = "or_default")]
    pub(crate) spark: BTreeMap<String, String>,
    #[serde(rename = "System Properties", default, deserialize_with = "or_default")]
    pub(crate) system: BTreeMap<String, String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct JobStart {
    #[serde(rename = "Job ID")]
    pub(crate) job: i64,
    #[serde(rename = "Stage IDs", default, deserialize_with = "or_default")]
    pub(crate) stages: Vec<i64>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct JobEnd {
    #[serde(rename = "Job ID")]
    pub(crate) job: i64,
}

/// The properties of a job that are looked at.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct JobProperties {
    #[serde(rename = "spark.sql.execution.id", default)]
    pub(crate) execution: Option<String>,
    #[serde(rename = "spark.job.description", default)]
    pub(crate) description: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct StageSubmitted {
    #[serde(rename = "Stage Info")]
    pub(crate) stage: StageInfo,
    #[serde(rename = "Properties", default)]
    pub(crate) properties: Option<JobProperties>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct StageCompleted {
    #[serde(rename = "Stage Info")]
    pub(crate) stage: StageInfo,
}

#[derive(Debug, Deserialize)]
pub(crate) struct StageInfo {
    #[serde(rename = "Stage ID")]
    pub(crate) id: i64,
    #[serde(rename = "Stage Attempt ID", default)]
    pub(crate) attempt: i64,
    #[serde(rename = "Stage Name", default, deserialize_with = "or_default")]
    pub(crate) name: String,
    #[serde(rename = "RDD Info", default, deserialize_with = "or_default")]
    pub(crate) rdds: Vec<RddInfo>,
    #[serde(rename = "Accumulables", default, deserialize_with = "or_default")]
    pub(crate) accumulables: Vec<Accumulable>,
}

/// An RDD of a stage.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct RddInfo {
    /// The name of its class, or one that a program gave it.
    #[serde(rename = "Name", default, deserialize_with = "or_default")]
    pub(crate) name: String,
    /// JSON in JSON.
    #[serde(rename = "Scope", default)]
    scope: Option<String>,
    #[serde(rename = "Callsite", default, deserialize_with = "or_default")]
    pub(crate) call_site: String,
}

impl RddInfo {
    /// The method or operator that made it.
    pub(crate) fn scope(&self) -> Option<String> {
        #[derive(Deserialize)]
        struct Scope {
            name: String,
        }
        let scope = self.scope.as_deref()?;
        let scope: Scope = serde_json::from_str(scope).ok()?;
        Some(scope.name)
    }
}

#[derive(Debug, Deserialize)]
pub(crate) struct Accumulable {
    #[serde(rename = "ID")]
    pub(crate) id: i64,
}

#[derive(Debug, Deserialize)]
pub(crate) struct TaskEnd {
    #[serde(rename = "Stage ID")]
    pub(crate) stage: i64,
    #[serde(rename = "Stage Attempt ID", default)]
    pub(crate) attempt: i64,
    #[serde(rename = "Task Info", default)]
    pub(crate) info: Option<TaskInfo>,
    #[serde(rename = "Task Metrics", default)]
    pub(crate) metrics: Option<TaskMetrics>,
}

#[derive(Debug, Default, Deserialize)]
pub(crate) struct TaskInfo {
    #[serde(rename = "Launch Time", default)]
    launched: i64,
    #[serde(rename = "Finish Time", default)]
    finished: i64,
    #[serde(rename = "Accumulables", default, deserialize_with = "or_default")]
    pub(crate) accumulables: Vec<Accumulable>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct TaskMetrics {
    #[serde(rename = "Executor Run Time", default)]
    run: i64,
    #[serde(rename = "Executor CPU Time", default)]
    cpu: i64,
}

impl TaskEnd {
    /// Milliseconds that it ran on the executor. Of tasks that were killed Spark may know only when they began and
    /// ended.
    pub(crate) fn run_ms(&self) -> u64 {
        let metrics = self.metrics.as_ref().map_or(0, |metrics| metrics.run);
        let between = self
            .info
            .as_ref()
            .map_or(0, |info| info.finished.saturating_sub(info.launched));
        let run = if self.metrics.is_some() {
            metrics
        } else {
            between
        };
        u64::try_from(run).unwrap_or(0)
    }

    /// Nanoseconds of processor time.
    pub(crate) fn cpu_ns(&self) -> u64 {
        let cpu = self.metrics.as_ref().map_or(0, |metrics| metrics.cpu);
        u64::try_from(cpu).unwrap_or(0)
    }
}

#[derive(Debug, Deserialize)]
pub(crate) struct ExecutionStart {
    #[serde(rename = "executionId")]
    pub(crate) id: i64,
    #[serde(default, deserialize_with = "or_default")]
    pub(crate) description: String,
    #[serde(
        rename = "physicalPlanDescription",
        default,
        deserialize_with = "or_default"
    )]
    pub(crate) text: String,
    #[serde(rename = "sparkPlanInfo")]
    pub(crate) plan: Plan,
    #[serde(rename = "modifiedConfigs", default, deserialize_with = "or_default")]
    pub(crate) settings: BTreeMap<String, String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct PlanUpdate {
    #[serde(rename = "executionId")]
    pub(crate) id: i64,
    #[serde(
        rename = "physicalPlanDescription",
        default,
        deserialize_with = "or_default"
    )]
    pub(crate) text: String,
    #[serde(rename = "sparkPlanInfo")]
    pub(crate) plan: Plan,
}

#[derive(Debug, Deserialize)]
pub(crate) struct ExecutionEnd {
    #[serde(rename = "executionId")]
    pub(crate) id: i64,
}

/// The text behind `{"Event":"`, with which Spark begins every line.
fn name(line: &[u8]) -> Option<Cow<'_, str>> {
    #[derive(Deserialize)]
    struct Head<'a> {
        #[serde(rename = "Event", borrow)]
        event: Cow<'a, str>,
    }
    if let Some(rest) = line.strip_prefix(br#"{"Event":""#) {
        let end = rest.iter().position(|byte| matches!(byte, b'"' | b'\\'))?;
        if rest.get(end) == Some(&b'"') {
            let name = std::str::from_utf8(rest.get(..end)?).ok()?;
            return Some(Cow::Borrowed(name));
        }
    }
    serde_json::from_slice::<Head>(line)
        .ok()
        .map(|head| head.event)
}

fn parse<T: DeserializeOwned>(line: &[u8]) -> Result<T, Unread> {
    serde_json::from_slice(line).map_err(|_| Unread::Malformed)
}

/// An event with a plan. Plans are nested deeper than a parser goes.
fn parse_plan<T: DeserializeOwned + HasPlan>(line: &[u8]) -> Result<Box<T>, Unread> {
    let pieces = cut_out(line).map_err(|problem| match problem {
        Problem::Malformed => Unread::Malformed,
        Problem::TooMany => Unread::TooLarge,
    })?;
    let mut event: T = parse(&pieces.root)?;
    let nodes = pieces.cut.iter().map(|piece| parse::<PlanNode>(piece));
    event.plan().below = nodes.collect::<Result<_, _>>()?;
    Ok(Box::new(event))
}

trait HasPlan {
    fn plan(&mut self) -> &mut Plan;
}

impl HasPlan for ExecutionStart {
    fn plan(&mut self) -> &mut Plan {
        &mut self.plan
    }
}

impl HasPlan for PlanUpdate {
    fn plan(&mut self) -> &mut Plan {
        &mut self.plan
    }
}

/// Why a line has no event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unread {
    Malformed,
    TooLarge,
}

impl Event {
    /// The event of a line.
    pub(crate) fn read(line: &[u8]) -> Result<Self, Unread> {
        let name = name(line).ok_or(Unread::Malformed)?;
        let simple = name.rsplit('.').next().unwrap_or_default();
        let event = match simple {
            "SparkListenerLogStart" => Self::LogStart(parse(line)?),
            "SparkListenerApplicationStart" => Self::ApplicationStart(parse(line)?),
            "SparkListenerApplicationEnd" => Self::ApplicationEnd(parse(line)?),
            "SparkListenerEnvironmentUpdate" => Self::Environment(parse(line)?),
            "SparkListenerJobStart" => Self::JobStart(parse(line)?),
            "SparkListenerJobEnd" => Self::JobEnd(parse(line)?),
            "SparkListenerStageSubmitted" => Self::StageSubmitted(parse(line)?),
            "SparkListenerStageCompleted" => Self::StageCompleted(parse(line)?),
            "SparkListenerTaskEnd" => Self::TaskEnd(parse(line)?),
            "SparkListenerSQLExecutionStart" => Self::ExecutionStart(parse_plan(line)?),
            "SparkListenerSQLAdaptiveExecutionUpdate" => Self::PlanUpdate(parse_plan(line)?),
            "SparkListenerSQLExecutionEnd" => Self::ExecutionEnd(parse(line)?),
            _ => Self::Other,
        };
        Ok(event)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_read_by_name() {
        let line = br#"{"Event":"SparkListenerTaskEnd","Stage ID":3,"Task Metrics":{"Executor Run Time":5,"Executor CPU Time":7}}"#;
        let Ok(Event::TaskEnd(task)) = Event::read(line) else {
            panic!("no task");
        };
        assert_eq!(
            (task.stage, task.attempt, task.run_ms(), task.cpu_ns()),
            (3, 0, 5, 7)
        );
        assert!(matches!(
            Event::read(br#"{"Timestamp":1,"Event":"SparkListenerApplicationEnd"}"#),
            Ok(Event::ApplicationEnd(Ended { time: 1 }))
        ));
        assert!(matches!(
            Event::read(br#"{"Event":"com.example.Other","x":"#),
            Ok(Event::Other)
        ));
        assert!(Event::read(br#"{"Event":"SparkListenerTaskEnd","Stage ID":"#).is_err());
        assert!(Event::read(b"").is_err() && Event::read(b"[]").is_err());
    }

    #[test]
    fn tasks_without_metrics_ran_between_their_ends() {
        let line = br#"{"Event":"SparkListenerTaskEnd","Stage ID":3,"Task Info":{"Launch Time":10,"Finish Time":30},"Task Metrics":null}"#;
        let Ok(Event::TaskEnd(task)) = Event::read(line) else {
            panic!("no task");
        };
        assert_eq!(task.run_ms(), 20);
    }
}
