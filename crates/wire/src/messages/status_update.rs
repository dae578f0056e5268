use super::ResourceInformation;
use super::decimal::Decimal;
use super::java::{self, SerializableBuffer};
use crate::WireError;
use crate::ids::TaskState;
use crate::task_description::{TaskCpus, TaskResource};
use bytes::Bytes;
use indexmap::IndexMap;
use javaser::arena::Graph;
use javaser::types::ScalaEnumeration;
use javaser::{Catalog, Limits};
use serde::{Deserialize, Serialize};

/// Says how a task attempt fares. One-way to `CoarseGrainedScheduler`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatusUpdate {
    /// Who runs it.
    pub executor_id: String,
    /// The attempt.
    pub task_id: i64,
    /// How it fares.
    pub state: TaskState,
    /// Empty, or a Java object stream: the result (`FINISHED`), the reason of the failure
    /// (`FAILED`, `KILLED`).
    pub data: Bytes,
    /// Cores that the attempt occupied, as its task description said.
    pub task_cpus: TaskCpus,
    /// Custom resources that it occupied, as its task description said.
    pub resources: Vec<TaskResource>,
}

#[derive(Serialize, Deserialize)]
#[serde(
    rename = "org.apache.spark.scheduler.cluster.CoarseGrainedClusterMessages$StatusUpdate",
    rename_all = "camelCase"
)]
struct Java<Cpus> {
    executor_id: String,
    task_id: i64,
    state: ScalaEnumeration,
    data: SerializableBuffer,
    task_cpus: Cpus,
    resources: IndexMap<String, Addresses>,
}

/// `int` up to Spark 4.2, a `BigDecimal` from 4.3 on.
#[derive(Serialize)]
#[serde(untagged)]
enum WrittenCpus {
    Whole(i32),
    Decimal(Decimal),
}

/// A `BigDecimal` is read as text.
#[derive(Deserialize)]
#[serde(untagged)]
enum ReadCpus {
    Whole(i32),
    Decimal(String),
}

/// A `ResourceInformation` in Spark 3.5, amounts by address from 4.0 on.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Addresses {
    Whole(ResourceInformation),
    Amounts(IndexMap<String, i64>),
}

impl StatusUpdate {
    /// The Java class.
    pub const CLASS: &str =
        "org.apache.spark.scheduler.cluster.CoarseGrainedClusterMessages$StatusUpdate";

    /// The Java object stream, with the class descriptors of this distribution.
    ///
    /// # Errors
    /// [`WireError::Unsupported`] if the distribution's class does not fit; [`WireError::Unwritable`] for a part of a
    /// core in a version that has whole ones only.
    pub fn encode(&self, catalog: &Catalog) -> Result<Vec<u8>, WireError> {
        let whole_cpus = catalog.lookup(Self::CLASS).is_ok_and(|class| {
            class
                .fields
                .iter()
                .any(|field| field.name == "taskCpus" && field.signature == "I")
        });
        let task_cpus = match (whole_cpus, self.task_cpus.as_whole()) {
            (false, _) => WrittenCpus::Decimal(Decimal::new(self.task_cpus.nanos, TaskCpus::SCALE)),
            (true, Some(cores)) => WrittenCpus::Whole(cores),
            (true, None) => {
                return Err(WireError::Unwritable {
                    what: "StatusUpdate.taskCpus",
                    why: format!("this version has whole cores only, not {}", self.task_cpus),
                });
            }
        };
        let java = Java {
            executor_id: self.executor_id.clone(),
            task_id: self.task_id,
            state: ScalaEnumeration::new(TaskState::ENUMERATION, self.state.0),
            data: SerializableBuffer::new(&self.data)?,
            task_cpus,
            resources: self
                .resources
                .iter()
                .map(|r| (r.name.clone(), Addresses::of(r)))
                .collect(),
        };
        java::encode(&java, Self::CLASS, catalog)
    }

    /// Reads a Java object stream.
    ///
    /// # Errors
    /// [`WireError`] if the stream is damaged or holds another class.
    pub fn decode(content: &[u8]) -> Result<Self, WireError> {
        let java: Java<ReadCpus> = java::decode(content, Self::CLASS)?;
        let task_cpus = match java.task_cpus {
            ReadCpus::Whole(cores) => TaskCpus::whole(cores),
            ReadCpus::Decimal(text) => TaskCpus::parse(&text).ok_or_else(|| {
                WireError::malformed(
                    "StatusUpdate.taskCpus",
                    format_args!("{text:?} is not a number of cores"),
                )
            })?,
        };
        Ok(Self {
            executor_id: java.executor_id,
            task_id: java.task_id,
            state: TaskState(java.state.id),
            data: java.data.bytes()?,
            task_cpus,
            resources: java
                .resources
                .into_iter()
                .map(|(name, of)| of.named(name))
                .collect(),
        })
    }

    /// Task attempt and state of an encoded update, without a copy of its data.
    ///
    /// # Errors
    /// [`WireError`] if the stream is damaged or holds another class.
    pub fn peek(content: &[u8]) -> Result<(i64, TaskState), WireError> {
        java::check_class(content, Self::CLASS)?;
        let damaged = |why: String| WireError::Decode {
            class: Self::CLASS.to_owned(),
            why,
        };
        let graph = Graph::parse(content, &Limits::default())
            .map_err(|error| damaged(error.to_string()))?;
        let update = graph.root().and_then(|root| root.node());
        let field = |name| update.and_then(|update| graph.field(update, name));
        let task_id = field("taskId").and_then(|id| graph.int(id));
        let state = field("state")
            .and_then(|state| graph.field(state.node()?, "i"))
            .and_then(|i| graph.int(i));
        match (task_id, state.and_then(|state| i32::try_from(state).ok())) {
            (Some(task_id), Some(state)) => Ok((task_id, TaskState(state))),
            _ => Err(damaged("it has no taskId or no state".to_owned())),
        }
    }
}

impl Addresses {
    fn of(resource: &TaskResource) -> Self {
        let amounts: Option<IndexMap<_, _>> = resource
            .addresses
            .iter()
            .map(|(address, amount)| Some((address.clone(), (*amount)?)))
            .collect();
        match amounts {
            Some(amounts) if !amounts.is_empty() => Self::Amounts(amounts),
            _ => Self::Whole(ResourceInformation {
                name: resource.name.clone(),
                addresses: resource
                    .addresses
                    .iter()
                    .map(|(address, _)| address.clone())
                    .collect(),
            }),
        }
    }

    fn named(self, name: String) -> TaskResource {
        let addresses = match self {
            Self::Whole(information) => information
                .addresses
                .into_iter()
                .map(|address| (address, None))
                .collect(),
            Self::Amounts(amounts) => amounts
                .into_iter()
                .map(|(address, amount)| (address, Some(amount)))
                .collect(),
        };
        TaskResource { name, addresses }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_vectors::{catalog, samples};
    use testkit::{NEWEST, VERSIONS, is_since, of_series};

    #[test]
    fn golden() {
        for version in VERSIONS {
            let samples = samples(version)
                .into_iter()
                .filter(|s| s.name.contains("frame"));
            let updates: Vec<_> = samples
                .filter(|s| javaser::peek_class(&s.content) == Some(StatusUpdate::CLASS))
                .collect();
            let states: Vec<_> = updates
                .iter()
                .map(|s| StatusUpdate::peek(&s.content).unwrap().1)
                .collect();
            assert_eq!(
                states,
                [
                    TaskState::RUNNING,
                    TaskState::FINISHED,
                    TaskState::FAILED,
                    TaskState::KILLED
                ]
            );
            for sample in &updates {
                let update = StatusUpdate::decode(&sample.content).unwrap();
                assert_eq!(
                    StatusUpdate::peek(&sample.content).unwrap(),
                    (update.task_id, update.state)
                );
                assert_eq!(update.task_cpus, TaskCpus::whole(1));
                let class = javaser::peek_class(&update.data);
                match update.state {
                    TaskState::RUNNING => assert!(update.data.is_empty()),
                    TaskState::FINISHED => {
                        assert_eq!(class, Some("org.apache.spark.scheduler.DirectTaskResult"))
                    }
                    TaskState::FAILED => {
                        let failure = super::super::ExceptionFailure::decode(&update.data).unwrap();
                        assert!(
                            failure
                                .full_stack_trace
                                .unwrap()
                                .starts_with(&failure.class_name)
                        );
                        assert!(!failure.stack_trace.is_empty() && !failure.accums.is_empty());
                    }
                    _ => assert!(
                        !super::super::TaskKilled::decode(&update.data)
                            .unwrap()
                            .reason
                            .is_empty()
                    ),
                }
            }
        }
    }

    #[test]
    fn resources_of_both_kinds() {
        for version in VERSIONS {
            let sample = samples(version)
                .into_iter()
                .find(|s| s.name.ends_with("StatusUpdate/resources"))
                .unwrap();
            let update = StatusUpdate::decode(&sample.content).unwrap();
            let amounts = if !is_since(version, "4.0") {
                [None; 2]
            } else {
                [Some(10_000_000_000_000_000), Some(5_000_000_000_000_000)]
            };
            let addresses = vec![("0".to_owned(), amounts[0]), ("1".to_owned(), amounts[1])];
            assert_eq!(
                update.resources,
                [TaskResource {
                    name: "gpu".into(),
                    addresses
                }]
            );
            let cpus = if is_since(version, "4.3") { "1.5" } else { "2" };
            assert_eq!(update.task_cpus, TaskCpus::parse(cpus).unwrap());
        }
    }

    #[test]
    fn a_part_of_a_core_needs_spark_4_3() {
        let update = StatusUpdate {
            executor_id: "1".into(),
            task_id: 7,
            state: TaskState::RUNNING,
            data: Bytes::new(),
            task_cpus: TaskCpus { nanos: 500_000_000 },
            resources: Vec::new(),
        };
        let error = update.encode(catalog(of_series("4.2"))).unwrap_err();
        assert!(
            matches!(
                error,
                WireError::Unwritable {
                    what: "StatusUpdate.taskCpus",
                    ..
                }
            ),
            "{error}"
        );
        let bytes = update.encode(catalog(NEWEST)).unwrap();
        assert_eq!(StatusUpdate::decode(&bytes).unwrap(), update);
    }
}
