//! `spark.firesteel.verify=both`: every attempt runs natively first, without leaving anything behind, and then in the
//! JVM. What the JVM's leaves behind is held against what the native one would have: all of it that Spark determines
//! ([`rules`]).

mod facts;
mod result;
mod rows;
mod rules;
mod sink;

use std::collections::HashMap;
use std::io::{self, Read};
use std::sync::Arc;

use parking_lot::Mutex;
use wire::messages::DirectTaskResult;

use self::result::ResultRows;
use self::rows::Digest;
pub(super) use self::rules::Rules;
pub(super) use self::sink::DigestSink;
use crate::blocks::codec::Codec;
use crate::blocks::shuffle::Shuffle;
use crate::config::declared::VERIFY;
use crate::report::Verification;
use crate::task::{TaskError, TaskValue};

/// Attempts of which the JVM's end is awaited; more are not remembered.
const MAX_EXPECTED: usize = 10_000;

/// Why attempts are given to the JVM that finished natively.
pub(super) fn reason() -> String {
    format!("{} is both", VERIFY.key)
}

/// What native attempts came to, until the JVM's have ended.
#[derive(Debug, Default)]
pub(super) struct Attempts(Mutex<HashMap<i64, Expected>>);

/// What an attempt came to, and how to look at it.
#[derive(Debug)]
pub(super) struct Expected {
    rules: Arc<Rules>,
    output: Output,
}

#[derive(Debug)]
enum Output {
    MapOutput {
        shuffle_id: i32,
        map_id: i64,
        num_partitions: i32,
        /// By reduce partition; only one if it is not determined which row goes where.
        digests: Vec<Digest>,
    },
    /// The bytes of a result.
    Result(Vec<u8>),
}

impl Attempts {
    /// Keeps what a native attempt came to, and gives the reason for which the JVM runs it too.
    pub(super) fn expect(&self, task_id: i64, expected: Expected) -> TaskError {
        let mut known = self.0.lock();
        if known.len() < MAX_EXPECTED {
            known.insert(task_id, expected);
        }
        TaskError::BailOut(reason())
    }

    /// Holds what the JVM's attempt came to against it; `data` are those of its status update. `None` if there was no
    /// native attempt that finished. To be called on a thread that may wait.
    pub(super) fn compare(
        &self,
        task_id: i64,
        data: &[u8],
        shuffle: &Shuffle,
        codec: &Codec,
    ) -> Option<Verification> {
        let expected = self.0.lock().remove(&task_id)?;
        let verdict = expected.compare(data, codec, |shuffle_id, map_id, partition| {
            shuffle.own_output(shuffle_id, map_id, partition)
        });
        Some(verdict.unwrap_or_else(Verification::Different))
    }

    /// The JVM's attempt failed, or was killed; `data` are those of its status update.
    pub(super) fn failed(&self, task_id: i64, data: &[u8]) -> Option<Verification> {
        self.0.lock().remove(&task_id)?;
        // A block that cannot be fetched or a kill may come at any time; what the task itself fails with has to come
        // from both.
        match javaser::peek_class(data) {
            Some("org.apache.spark.ExceptionFailure") => Some(Verification::Different(
                "the JVM's failed, the native one did not".to_owned(),
            )),
            _ => None,
        }
    }
}

impl Expected {
    /// Of what an attempt would send.
    pub(super) fn of(value: &TaskValue, rules: &Arc<Rules>) -> Option<Self> {
        match value {
            TaskValue::Result(bytes) => Some(Self {
                rules: Arc::clone(rules),
                output: Output::Result(bytes.clone()),
            }),
            TaskValue::MapStatus(_) => None,
        }
    }

    /// `map_output` opens the reduce partition of a map output of this executor, by ids of shuffle, map task and
    /// partition.
    ///
    /// # Errors
    /// What the JVM left behind cannot be read.
    fn compare<R: Read>(
        self,
        data: &[u8],
        codec: &Codec,
        map_output: impl Fn(i32, i64, i32) -> io::Result<R>,
    ) -> Result<Verification, String> {
        let Rules { view, nothing, .. } = &*self.rules;
        if let Some(why) = nothing {
            return Ok(Verification::Unverified((*why).to_owned()));
        }
        let incomplete = || Ok(Verification::Unverified("too many sums".to_owned()));
        match self.output {
            Output::MapOutput {
                shuffle_id,
                map_id,
                num_partitions,
                digests,
            } => {
                if digests.iter().any(Digest::is_incomplete) {
                    return incomplete();
                }
                let mut found = vec![Digest::default(); digests.len()];
                for partition in 0..num_partitions {
                    let at = match found.len() {
                        1 => 0,
                        _ => usize::try_from(partition).unwrap_or_default(),
                    };
                    let Some(digest) = found.get_mut(at) else {
                        return Err(format!("no reduce partition {partition}"));
                    };
                    map_output(shuffle_id, map_id, partition)
                        .and_then(|rows| digest.read(view, rows))
                        .map_err(|error| format!("the JVM's map output: {error}"))?;
                }
                let pairs = digests.iter().zip(&found).enumerate();
                let mut different = pairs.filter_map(|(partition, (native, jvm))| {
                    let what = native.difference(jvm, view)?;
                    Some(format!(
                        "reduce partition {partition} of shuffle {shuffle_id}: {what}"
                    ))
                });
                Ok(different
                    .next()
                    .map_or(Verification::Equal, Verification::Different))
            }
            Output::Result(native) => {
                let Ok(direct) = DirectTaskResult::decode(data) else {
                    let why = "a result that is not sent with its task";
                    return Ok(Verification::Unverified(why.to_owned()));
                };
                let native = ResultRows::read(&native, codec, view)?;
                let jvm = ResultRows::read(&direct.value, codec, view)?;
                if native.is_incomplete() {
                    return incomplete();
                }
                let different = native.difference(&jvm, view);
                Ok(match different {
                    Some(what) => Verification::Different(format!("a result: {what}")),
                    None => Verification::Equal,
                })
            }
        }
    }
}

/// Fuzz target of this room; see [`crate::fuzzing`].
#[cfg(fuzzing)]
pub(super) fn fuzz_result_rows(data: &[u8]) {
    use self::rows::{Column, Count, Determined, Sequence, Slot, View};
    let column = |slot, look| Column { slot, look };
    let columns = vec![
        column(Slot::Double, Determined::Near),
        column(Slot::Variable, Determined::Exact),
        column(Slot::Float, Determined::Near),
        column(Slot::Fixed, Determined::Free),
    ];
    let codec = Codec::from_conf(&Default::default()).expect("settings that nobody set");
    let ties = Count::First {
        keys: vec![0, 1],
        limit: 3,
    };
    for (count, sequence) in [
        (Count::All, Sequence::Rows),
        (ties, Sequence::Keys(vec![1, 2])),
        (Count::Number, Sequence::Nothing),
    ] {
        let view = View {
            columns: Some(columns.clone()),
            count,
            sequence,
        };
        // The rows of a stream, and an object with such streams in it.
        let _ = Digest::default().read(&view, data);
        if let Ok(rows) = ResultRows::read(data, &codec, &view) {
            assert_eq!(rows.difference(&rows, &view), None);
        }
    }
}

#[cfg(test)]
mod tests;
