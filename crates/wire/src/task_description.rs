//! The task as the driver sends it: the bytes inside `LaunchTask`.
//!
//! `TaskDescription` is written by hand with `DataOutput`, not by Java serialization; only its last part, the
//! serialized task, is a Java object stream.

use crate::codec::{Reader, Write};
use crate::{WireError, WireVersion};
use bytes::Bytes;
use std::fmt;

/// `org.apache.spark.scheduler.TaskDescription`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskDescription {
    /// Number of this attempt, unique in the application.
    pub task_id: i64,
    /// How many attempts of this task came before.
    pub attempt_number: i32,
    /// The executor that shall run it.
    pub executor_id: String,
    /// For logs: `task 0.0 in stage 0.0 (TID 0)`.
    pub name: String,
    /// Index of the task in its task set.
    pub index: i32,
    /// The partition it computes.
    pub partition_id: i32,
    /// Files the task needs.
    pub artifacts: JobArtifactSet,
    /// Local properties of the thread that ran the job, in the order of the wire.
    pub properties: Vec<(String, String)>,
    /// Cores the task occupies.
    pub cpus: TaskCpus,
    /// Custom resources given to the task, by resource name.
    pub resources: Vec<TaskResource>,
    /// The Java object stream of the `Task`.
    pub serialized_task: Bytes,
}

/// `org.apache.spark.JobArtifactSet`: URLs of files with the time they were added, in milliseconds since 1970.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct JobArtifactSet {
    /// Session of a Spark Connect client that these artifacts belong to.
    pub state: Option<JobArtifactState>,
    /// Jars for the class loader.
    pub jars: Vec<(String, i64)>,
    /// Files for the working directory.
    pub files: Vec<(String, i64)>,
    /// Archives to unpack into the working directory.
    pub archives: Vec<(String, i64)>,
}

/// `org.apache.spark.JobArtifactState`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobArtifactState {
    /// Name of the session's directories.
    pub uuid: String,
    /// Where classes defined in a shell are fetched from.
    pub repl_class_dir_uri: Option<String>,
}

/// A custom resource given to a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskResource {
    /// The resource, for example `gpu`.
    pub name: String,
    /// Addresses with the amount taken of each, in units of 10^-16 of a device; Spark 3.5 gives whole devices and no
    /// amounts.
    pub addresses: Vec<(String, Option<i64>)>,
}

/// Cores a task occupies, in thousand-millionths of a core.
///
/// Spark up to 4.2 knows whole cores only (a 32-bit integer); 4.3 has a decimal number of scale 9.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskCpus {
    /// Cores times 10^9.
    pub nanos: i64,
}

impl TaskCpus {
    const NANOS: i64 = 1_000_000_000;
    /// Digits behind the point.
    pub(crate) const SCALE: i32 = 9;

    /// That many whole cores.
    pub fn whole(cores: i32) -> Self {
        Self {
            nanos: i64::from(cores) * Self::NANOS,
        }
    }

    /// The number of cores if it is whole.
    pub fn as_whole(self) -> Option<i32> {
        (self.nanos % Self::NANOS == 0)
            .then(|| i32::try_from(self.nanos / Self::NANOS).ok())
            .flatten()
    }

    /// Reads plain decimal text such as `1` or `0.25`.
    pub fn parse(text: &str) -> Option<Self> {
        let (sign, digits) = match text.strip_prefix('-') {
            Some(digits) => (-1, digits),
            None => (1, text),
        };
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let is_digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
        if whole.is_empty() || fraction.len() > 9 || !is_digits(whole) || !is_digits(fraction) {
            return None;
        }
        let whole: i64 = whole.parse().ok()?;
        let fraction: i64 = format!("{fraction:0<9}").parse().ok()?;
        let nanos = whole
            .checked_mul(Self::NANOS)?
            .checked_add(fraction)?
            .checked_mul(sign)?;
        Some(Self { nanos })
    }
}

/// Plain decimal text without trailing zeros, as Spark 4.3 writes it.
impl fmt::Display for TaskCpus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.nanos < 0 { "-" } else { "" };
        let nanos = self.nanos.unsigned_abs();
        let (whole, fraction) = (nanos / Self::NANOS as u64, nanos % Self::NANOS as u64);
        if fraction == 0 {
            return write!(f, "{sign}{whole}");
        }
        write!(
            f,
            "{sign}{whole}.{}",
            format!("{fraction:09}").trim_end_matches('0')
        )
    }
}

impl TaskDescription {
    /// Reads the bytes of `LaunchTask.data`; `serialized_task` shares their memory.
    ///
    /// # Errors
    /// [`WireError`] if the bytes end early, a count is larger than they can hold, or the driver is of a version with
    /// another layout.
    pub fn read(data: &Bytes, version: &WireVersion) -> Result<Self, WireError> {
        let mut r = Reader::new(data);
        let task_id = r.i64("TaskDescription.taskId")?;
        let attempt_number = r.i32("TaskDescription.attemptNumber")?;
        let executor_id = r.utf("TaskDescription.executorId")?;
        let name = r.utf("TaskDescription.name")?;
        let index = r.i32("TaskDescription.index")?;
        let partition_id = r.i32("TaskDescription.partitionId")?;
        let artifacts = JobArtifactSet::read(&mut r)?;
        let properties = read_list(&mut r, "TaskDescription.properties", 6, |r| {
            Ok((
                r.utf("TaskDescription.properties")?,
                r.str32("TaskDescription.properties")?,
            ))
        })?;
        let cpus = read_cpus(&mut r, version)?;
        let resources = read_list(&mut r, "TaskDescription.resources", 6, |r| {
            read_resource(r, version)
        })?;
        let serialized_task = data.slice(r.position()..);
        Ok(Self {
            task_id,
            attempt_number,
            executor_id,
            name,
            index,
            partition_id,
            artifacts,
            properties,
            cpus,
            resources,
            serialized_task,
        })
    }

    /// The bytes of `LaunchTask.data`.
    ///
    /// # Errors
    /// [`WireError`] if a string is longer than its format allows, or a value has no form in that version
    /// (part of a core before 4.3; amounts before 4.0).
    pub fn write(&self, version: &WireVersion) -> Result<Vec<u8>, WireError> {
        let mut out = Vec::with_capacity(self.serialized_task.len() + 1024);
        out.put_i64(self.task_id);
        out.put_i32(self.attempt_number);
        out.put_utf("TaskDescription.executorId", &self.executor_id)?;
        out.put_utf("TaskDescription.name", &self.name)?;
        out.put_i32(self.index);
        out.put_i32(self.partition_id);
        self.artifacts.write(&mut out)?;
        out.put_count("TaskDescription.properties", self.properties.len())?;
        for (key, value) in &self.properties {
            out.put_utf("TaskDescription.properties", key)?;
            out.put_bytes32("TaskDescription.properties", value.as_bytes())?;
        }
        write_cpus(&mut out, self.cpus, version)?;
        out.put_count("TaskDescription.resources", self.resources.len())?;
        for resource in &self.resources {
            write_resource(&mut out, resource, version)?;
        }
        out.extend_from_slice(&self.serialized_task);
        Ok(out)
    }

    /// The value of a local property.
    pub fn property(&self, name: &str) -> Option<&str> {
        self.properties
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.as_str())
    }
}

impl JobArtifactSet {
    fn read(r: &mut Reader<'_>) -> Result<Self, WireError> {
        let state = match r.bool("JobArtifactSet.state")? {
            true => Some(JobArtifactState {
                uuid: r.utf("JobArtifactState.uuid")?,
                repl_class_dir_uri: match r.bool("JobArtifactState.replClassDirUri")? {
                    true => Some(r.utf("JobArtifactState.replClassDirUri")?),
                    false => None,
                },
            }),
            false => None,
        };
        let mut urls = |what| {
            read_list(r, what, 10, |r| {
                Ok((r.utf("artifact URL")?, r.i64("artifact time")?))
            })
        };
        Ok(Self {
            state,
            jars: urls("JobArtifactSet.jars")?,
            files: urls("JobArtifactSet.files")?,
            archives: urls("JobArtifactSet.archives")?,
        })
    }

    fn write(&self, out: &mut Vec<u8>) -> Result<(), WireError> {
        out.put_bool(self.state.is_some());
        if let Some(JobArtifactState {
            uuid,
            repl_class_dir_uri,
        }) = &self.state
        {
            out.put_utf("JobArtifactState.uuid", uuid)?;
            out.put_bool(repl_class_dir_uri.is_some());
            if let Some(uri) = repl_class_dir_uri {
                out.put_utf("JobArtifactState.replClassDirUri", uri)?;
            }
        }
        for urls in [&self.jars, &self.files, &self.archives] {
            out.put_count("JobArtifactSet", urls.len())?;
            for (url, timestamp) in urls {
                out.put_utf("artifact URL", url)?;
                out.put_i64(*timestamp);
            }
        }
        Ok(())
    }
}

fn read_list<'a, T>(
    r: &mut Reader<'a>,
    what: &'static str,
    item_len: usize,
    mut item: impl FnMut(&mut Reader<'a>) -> Result<T, WireError>,
) -> Result<Vec<T>, WireError> {
    let count = r.count(what, item_len)?;
    (0..count).map(|_| item(r)).collect()
}

fn read_cpus(r: &mut Reader<'_>, version: &WireVersion) -> Result<TaskCpus, WireError> {
    const WHAT: &str = "TaskDescription.cpus";
    if !version.decimal_cpus {
        return r.i32(WHAT).map(TaskCpus::whole);
    }
    let text = r.utf(WHAT)?;
    TaskCpus::parse(&text).ok_or_else(|| {
        WireError::malformed(WHAT, format_args!("{text:?} is not a number of cores"))
    })
}

fn write_cpus(out: &mut Vec<u8>, cpus: TaskCpus, version: &WireVersion) -> Result<(), WireError> {
    const WHAT: &str = "TaskDescription.cpus";
    if version.decimal_cpus {
        return out.put_utf(WHAT, &cpus.to_string());
    }
    match cpus.as_whole() {
        Some(cores) => {
            out.put_i32(cores);
            Ok(())
        }
        None => Err(WireError::Unwritable {
            what: WHAT,
            why: format!(
                "Spark {} has whole cores only, not {cpus}",
                version.spark_version
            ),
        }),
    }
}

fn read_resource(r: &mut Reader<'_>, version: &WireVersion) -> Result<TaskResource, WireError> {
    const WHAT: &str = "TaskDescription.resources";
    let name = r.utf(WHAT)?;
    // Without amounts the value is a ResourceInformation, which has the name once more.
    if !version.resource_amounts && r.utf(WHAT)? != name {
        return Err(WireError::malformed(
            WHAT,
            format_args!("{name:?} is also called something else"),
        ));
    }
    let addresses = read_list(r, "TaskDescription.resources", 2, |r| {
        let address = r.utf("resource address")?;
        let amount = match version.resource_amounts {
            true => Some(r.i64("resource amount")?),
            false => None,
        };
        Ok((address, amount))
    })?;
    Ok(TaskResource { name, addresses })
}

fn write_resource(
    out: &mut Vec<u8>,
    resource: &TaskResource,
    version: &WireVersion,
) -> Result<(), WireError> {
    out.put_utf("TaskDescription.resources", &resource.name)?;
    if !version.resource_amounts {
        out.put_utf("TaskDescription.resources", &resource.name)?;
    }
    out.put_count("TaskDescription.resources", resource.addresses.len())?;
    for (address, amount) in &resource.addresses {
        out.put_utf("resource address", address)?;
        match (version.resource_amounts, amount) {
            (true, Some(amount)) => out.put_i64(*amount),
            (false, None) => {}
            (needed, _) => {
                return Err(WireError::Unwritable {
                    what: "resource amount",
                    why: format!(
                        "Spark {} {} amounts of resource addresses",
                        version.spark_version,
                        if needed { "needs" } else { "has no" }
                    ),
                });
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::messages::LaunchTask;
    use crate::test_vectors::{catalog, objects, samples};
    use proptest::prelude::*;
    use testkit::VERSIONS;

    #[test]
    fn cpus_text() {
        for (text, nanos) in [
            ("1", 1_000_000_000),
            ("0.5", 500_000_000),
            ("0.000000001", 1),
            ("-2.25", -2_250_000_000),
        ] {
            let cpus = TaskCpus::parse(text).unwrap();
            assert_eq!(cpus.nanos, nanos);
            assert_eq!(cpus.to_string(), text);
        }
        for text in ["", ".5", "1e3", "0.0000000001", "99999999999", "+1", "1.-1"] {
            assert_eq!(TaskCpus::parse(text), None, "{text}");
        }
        assert_eq!(TaskCpus::whole(4).as_whole(), Some(4));
        assert_eq!(TaskCpus { nanos: 1 }.as_whole(), None);
    }

    /// What drivers sent in `LaunchTask`, and what `TaskDescription.encode` gives for one with everything in it.
    #[test]
    fn golden() {
        for version in VERSIONS {
            let formats = WireVersion::detect(catalog(version)).unwrap();
            let launched = samples(version)
                .into_iter()
                .filter(|s| s.name.contains("frame"));
            let launched = launched.filter_map(|sample| LaunchTask::decode(&sample.content).ok());
            let mut descriptions: Vec<Bytes> = launched.map(|launch| launch.data).collect();
            assert!(!descriptions.is_empty());
            let (_, full) = objects(version)
                .into_iter()
                .find(|(name, _)| name == "TaskDescription")
                .unwrap();
            descriptions.push(full.into());
            for bytes in &descriptions {
                let description = TaskDescription::read(bytes, &formats).unwrap();
                assert!(description.write(&formats).unwrap() == *bytes, "{version}");
            }
            let of_driver = TaskDescription::read(&descriptions[0], &formats).unwrap();
            assert_eq!(of_driver.name, "task 0.0 in stage 0.0 (TID 0)");
            assert_eq!(of_driver.artifacts.jars.len(), 2);
            assert_eq!(of_driver.cpus, TaskCpus::whole(1));
            assert!(of_driver.serialized_task.starts_with(&[0xac, 0xed]));
            let full = TaskDescription::read(descriptions.last().unwrap(), &formats).unwrap();
            assert_eq!(full.property("k\u{e9}y"), Some("v\u{e4}lue \u{1f600}"));
            assert_eq!(
                full.artifacts.state.unwrap().repl_class_dir_uri.unwrap(),
                "spark://h:1/classes"
            );
            let amounts = match formats.resource_amounts {
                true => [Some(10_000_000_000_000_000), Some(5_000_000_000_000_000)],
                false => [None, None],
            };
            let addresses = vec![("0".to_owned(), amounts[0]), ("1".to_owned(), amounts[1])];
            assert_eq!(
                full.resources,
                [TaskResource {
                    name: "gpu".into(),
                    addresses
                }]
            );
            let cpus = if formats.decimal_cpus { "1.5" } else { "2" };
            assert_eq!(full.cpus.to_string(), cpus);
            assert_eq!(&full.serialized_task[..], [1, 2, 3]);
        }
    }

    #[test]
    fn a_fraction_of_a_core_has_no_form_before_4_3() {
        let error = write_cpus(
            &mut Vec::new(),
            TaskCpus { nanos: 1 },
            &WireVersion::oldest(),
        )
        .unwrap_err();
        assert!(matches!(
            error,
            WireError::Unwritable {
                what: "TaskDescription.cpus",
                ..
            }
        ));
    }

    #[test]
    fn a_claimed_list_of_two_billion_costs_nothing() {
        let mut data = Vec::new();
        data.put_i64(1);
        data.put_i32(0);
        data.put_utf("", "0").unwrap();
        data.put_utf("", "task").unwrap();
        data.put_i64(0);
        data.put_bool(false);
        data.put_i32(i32::MAX);
        let error = TaskDescription::read(&data.into(), &WireVersion::oldest()).unwrap_err();
        assert!(
            matches!(
                error,
                WireError::Length {
                    what: "JobArtifactSet.jars",
                    ..
                }
            ),
            "{error}"
        );
    }

    prop_compose! {
        fn urls()(urls in proptest::collection::vec((".{0,20}", any::<i64>()), 0..4)) -> Vec<(String, i64)> { urls }
    }

    fn description(version: WireVersion) -> impl Strategy<Value = TaskDescription> {
        let cpus = match version.decimal_cpus {
            true => any::<i64>().prop_map(|nanos| TaskCpus { nanos }).boxed(),
            false => any::<i32>().prop_map(TaskCpus::whole).boxed(),
        };
        let amount = match version.resource_amounts {
            true => any::<i64>().prop_map(Some).boxed(),
            false => Just(None).boxed(),
        };
        let resource = (
            ".{0,9}",
            proptest::collection::vec((".{0,9}", amount), 0..4),
        )
            .prop_map(|(name, addresses)| TaskResource { name, addresses });
        let state = proptest::option::of((".{0,9}", proptest::option::of(".{0,9}")).prop_map(
            |(uuid, repl_class_dir_uri)| JobArtifactState {
                uuid,
                repl_class_dir_uri,
            },
        ));
        let artifacts =
            (state, urls(), urls(), urls()).prop_map(|(state, jars, files, archives)| {
                JobArtifactSet {
                    state,
                    jars,
                    files,
                    archives,
                }
            });
        let head = (
            any::<i64>(),
            any::<i32>(),
            ".{0,9}",
            ".{0,9}",
            any::<i32>(),
            any::<i32>(),
        );
        let properties = proptest::collection::vec((".{0,9}", ".{0,9}"), 0..4);
        let task = proptest::collection::vec(any::<u8>(), 0..20);
        (
            head,
            artifacts,
            properties,
            cpus,
            proptest::collection::vec(resource, 0..3),
            task,
        )
            .prop_map(|(head, artifacts, properties, cpus, resources, task)| {
                TaskDescription {
                    task_id: head.0,
                    attempt_number: head.1,
                    executor_id: head.2,
                    name: head.3,
                    index: head.4,
                    partition_id: head.5,
                    artifacts,
                    properties,
                    cpus,
                    resources,
                    serialized_task: task.into(),
                }
            })
    }

    proptest! {
        #[test]
        fn written_descriptions_read_the_same_oldest(d in description(WireVersion::oldest())) {
            let bytes = Bytes::from(d.write(&WireVersion::oldest()).unwrap());
            prop_assert_eq!(TaskDescription::read(&bytes, &WireVersion::oldest()).unwrap(), d);
        }

        #[test]
        fn written_descriptions_read_the_same_newest(d in description(WireVersion::newest())) {
            let bytes = Bytes::from(d.write(&WireVersion::newest()).unwrap());
            prop_assert_eq!(TaskDescription::read(&bytes, &WireVersion::newest()).unwrap(), d);
        }

        #[test]
        fn any_bytes_are_a_description_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let bytes = Bytes::from(bytes);
            let _ = TaskDescription::read(&bytes, &WireVersion::oldest());
            let _ = TaskDescription::read(&bytes, &WireVersion::newest());
        }
    }
}
