use super::{Accumulator, java, message};
use crate::WireError;
use crate::ids::BlockId;
use bytes::Bytes;
use javaser::Catalog;
use javaser::types::{Body, BodyItem, Raw};
use serde::{Deserialize, Serialize};

const DIRECT: &str = "org.apache.spark.scheduler.DirectTaskResult";

/// The result of a task, sent with it: `org.apache.spark.scheduler.DirectTaskResult`, the `data` of a
/// [`StatusUpdate`](super::StatusUpdate) with state `FINISHED`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirectTaskResult {
    /// The value in the form of `spark.serializer`.
    pub value: Bytes,
    /// Metrics and accumulators.
    pub accum_updates: Vec<Accumulator>,
    /// Peaks of the executor's metrics during the task, in the order of
    /// [`EXECUTOR_METRICS`](crate::version::EXECUTOR_METRICS).
    pub metric_peaks: Vec<i64>,
}

#[derive(Serialize)]
#[serde(rename = "org.apache.spark.scheduler.DirectTaskResult")]
struct Written<'a> {
    #[serde(rename = "$body")]
    body: Body<&'a Accumulator>,
}

#[derive(Deserialize)]
#[serde(rename = "org.apache.spark.scheduler.DirectTaskResult")]
struct Read {
    #[serde(rename = "$body")]
    body: Body<Raw>,
}

impl DirectTaskResult {
    /// The Java class.
    pub const CLASS: &str = DIRECT;

    /// The Java object stream, with the class descriptors of this distribution.
    ///
    /// # Errors
    /// [`WireError`] if the distribution's classes do not fit, or a part is longer than 2 GiB.
    pub fn encode(&self, catalog: &Catalog) -> Result<Vec<u8>, WireError> {
        // A `ChunkedByteBuffer` of one chunk (none, if there are no bytes), then counted accumulators, then counted
        // peaks.
        let mut body = Body::new();
        body = match self.value.len() {
            0 => body.i32(0),
            _ => body.i32(1).i32(len(self.value.len())?).bytes(&self.value),
        };
        body = body.i32(len(self.accum_updates.len())?);
        for accumulator in &self.accum_updates {
            body = body.object(accumulator);
        }
        body = body.i32(len(self.metric_peaks.len())?);
        for peak in &self.metric_peaks {
            body = body.i64(*peak);
        }
        java::encode(&Written { body }, DIRECT, catalog)
    }

    /// Value, accumulators (each as a stream of its own) and peaks of an encoded result.
    ///
    /// # Errors
    /// [`WireError`] if the stream is damaged or holds another class.
    pub fn decode(content: &[u8]) -> Result<Self, WireError> {
        let Read { body } = java::decode(content, DIRECT)?;
        let damaged = |error: javaser::Error| WireError::Decode {
            class: DIRECT.to_owned(),
            why: error.to_string(),
        };
        let objects: Vec<Accumulator> = body
            .items()
            .iter()
            .filter_map(|item| match item {
                BodyItem::Object(object) => Some(Accumulator::Raw(object.clone())),
                BodyItem::Block(_) => None,
            })
            .collect();
        let mut r = body.reader();
        let mut value = Vec::new();
        for _ in 0..r.i32().map_err(damaged)? {
            let n = usize::try_from(r.i32().map_err(damaged)?)
                .map_err(|_| WireError::malformed(DIRECT, "a chunk of negative length"))?;
            value.extend_from_slice(r.bytes(n).map_err(damaged)?);
        }
        let count = r.i32().map_err(damaged)?;
        if usize::try_from(count).ok() != Some(objects.len()) {
            return Err(WireError::malformed(
                DIRECT,
                format_args!("{count} accumulators announced, {} there", objects.len()),
            ));
        }
        for _ in &objects {
            r.object().map_err(damaged)?;
        }
        let mut metric_peaks = Vec::new();
        for _ in 0..r.i32().map_err(damaged)? {
            metric_peaks.push(r.i64().map_err(damaged)?);
        }
        Ok(Self {
            value: value.into(),
            accum_updates: objects,
            metric_peaks,
        })
    }
}

fn len(n: usize) -> Result<i32, WireError> {
    i32::try_from(n).map_err(|_| WireError::Unwritable {
        what: DIRECT,
        why: format!("{n} is more than Java can count"),
    })
}

/// The whereabouts of a result that is too large to be sent with the status:
/// `org.apache.spark.scheduler.IndirectTaskResult`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    rename = "org.apache.spark.scheduler.IndirectTaskResult",
    rename_all = "camelCase"
)]
pub struct IndirectTaskResult {
    /// A block `taskresult_N` of the executor, whose bytes are the encoded [`DirectTaskResult`].
    pub block_id: BlockId,
    /// Its size in bytes.
    pub size: i64,
}

message!(
    IndirectTaskResult,
    "org.apache.spark.scheduler.IndirectTaskResult"
);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::messages::{LongAccumulator, StatusUpdate};
    use crate::test_vectors::{catalog, samples};
    use testkit::VERSIONS;

    /// Results of real executors say the same after being written again.
    #[test]
    fn golden() {
        for version in VERSIONS {
            let mut seen = 0;
            for sample in samples(version) {
                if javaser::peek_class(&sample.content) != Some(StatusUpdate::CLASS) {
                    continue;
                }
                let update = StatusUpdate::decode(&sample.content).unwrap();
                if javaser::peek_class(&update.data) != Some(DIRECT) {
                    continue;
                }
                let result = DirectTaskResult::decode(&update.data).unwrap();
                assert!(!result.value.is_empty() && !result.accum_updates.is_empty());
                let again = result.encode(catalog(version)).unwrap();
                assert_eq!(DirectTaskResult::decode(&again).unwrap(), result);
                seen += 1;
            }
            assert!(seen > 0, "{version}");
        }
    }

    /// A metric that we write is what a real executor writes.
    #[test]
    fn metrics_are_written_as_a_jvm_does() {
        for version in VERSIONS {
            let update = samples(version)
                .into_iter()
                .filter(|s| javaser::peek_class(&s.content) == Some(StatusUpdate::CLASS))
                .map(|s| StatusUpdate::decode(&s.content).unwrap())
                .find(|u| javaser::peek_class(&u.data) == Some(DIRECT))
                .unwrap();
            let result = DirectTaskResult::decode(&update.data).unwrap();
            let metrics = result.accum_updates.iter().filter_map(|a| match a {
                Accumulator::Raw(raw) => LongAccumulator::decode(&raw.0).ok().map(|a| (raw, a)),
                Accumulator::Long(_) => None,
            });
            let mut seen = 0;
            for (raw, metric) in metrics {
                assert_eq!(metric.encode(catalog(version)).unwrap(), raw.0, "{version}");
                assert!(!metric.at_driver_side && metric.metadata.count_failed_values);
                assert_eq!(metric.metadata.name, None);
                seen += 1;
            }
            assert!(seen > 1, "{version}");
        }
    }

    #[test]
    fn empty_and_indirect_results() {
        for version in VERSIONS {
            let empty = DirectTaskResult {
                value: Bytes::new(),
                accum_updates: Vec::new(),
                metric_peaks: vec![1, -1],
            };
            let bytes = empty.encode(catalog(version)).unwrap();
            assert_eq!(DirectTaskResult::decode(&bytes).unwrap(), empty);
            let indirect = IndirectTaskResult {
                block_id: BlockId::parse("taskresult_7").unwrap(),
                size: 5,
            };
            let bytes = indirect.encode(catalog(version)).unwrap();
            assert_eq!(IndirectTaskResult::decode(&bytes).unwrap(), indirect);
        }
    }
}
