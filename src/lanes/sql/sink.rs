//! What becomes of a task's rows: a shuffle's map output, or a result for the driver.

use std::sync::Arc;

use arrow::array::RecordBatch;
use datafusion_execution::memory_pool::MemoryPool;
use sql::native::NativeStage;
use sql::rows::{Partitioner, RangeSampler, RowEncoder};
use sql::{DataType, Output, Stage, Unsupported};

use super::lane::Shared;
use super::results::{Collected, Ordered, Sampled};
use super::verify::{DigestSink, Rules};
use super::write::ShuffleSink;
use crate::executor::task::{TaskContext, TaskError, TaskValue};

/// Takes the batches of one attempt in their order. Nothing is visible to anybody before [`Sink::finish`].
pub(super) trait Sink {
    /// Whether further rows make a difference.
    fn wants_more(&self) -> bool {
        true
    }

    /// More rows.
    fn take(&mut self, batch: &RecordBatch) -> Result<(), TaskError>;

    /// The end.
    fn finish(self: Box<Self>) -> Result<Finished, TaskError>;
}

/// What an attempt comes to.
#[derive(Debug)]
pub(super) struct Finished {
    pub(super) value: TaskValue,
    /// By accumulator, what writing measured.
    pub(super) metrics: Vec<(i64, i64)>,
}

impl Finished {
    /// A result of these bytes.
    pub(super) fn result(bytes: Vec<u8>) -> Self {
        Self {
            value: TaskValue::Result(bytes),
            metrics: Vec::new(),
        }
    }
}

/// The output of a stage, judged once.
#[derive(Debug)]
pub(super) struct JudgedOutput {
    kind: Kind,
    /// Types of the rows; `None` if they are passed on as they are.
    types: Option<Vec<DataType>>,
}

#[derive(Debug)]
enum Kind {
    Shuffle(Partitioner),
    /// Everything else is in the stage.
    Collect,
    TakeOrdered,
    Sample(RangeSampler),
}

impl JudgedOutput {
    /// Judges the output of a stage whose rows are passed on as they are if `opaque`.
    pub(super) fn new(stage: &Stage, opaque: bool) -> Result<Self, Unsupported> {
        let columns = match &stage.output {
            Output::ShuffleWrite(write) => &write.output,
            _ => &stage.root.output,
        };
        let types: Vec<DataType> = columns.iter().map(|of| of.data_type.clone()).collect();
        let kind = match &stage.output {
            Output::ShuffleWrite(write) => Kind::Shuffle(Partitioner::new(write)?),
            Output::Collect { .. } => Kind::Collect,
            Output::TakeOrdered => Kind::TakeOrdered,
            Output::RangeSample {
                order,
                sample_size,
                rdd_id,
            } => Kind::Sample(RangeSampler::new(
                order,
                *sample_size,
                *rdd_id,
                &stage.root.output,
            )?),
        };
        if opaque && !matches!(kind, Kind::Collect) {
            return Err(Unsupported::Use("rows of unknown columns".to_owned()));
        }
        if !opaque {
            if types.len() != stage.root.output.len() {
                return Err(Unsupported::Use("rows of other columns".to_owned()));
            }
            RowEncoder::new(&types)?;
        }
        let types = (!opaque).then_some(types);
        Ok(Self { kind, types })
    }

    /// For one attempt.
    pub(super) fn sink<'a>(
        &'a self,
        native: &'a NativeStage,
        rules: Option<&Arc<Rules>>,
        lane: &'a Shared,
        memory: &Arc<dyn MemoryPool>,
        context: &'a Arc<TaskContext>,
    ) -> Result<Box<dyn Sink + 'a>, TaskError> {
        let stage = native.stage();
        let shuffle = &lane.parts.shuffle;
        let verified = rules.zip(lane.verifier.as_ref());
        let bail_out = |why: Unsupported| TaskError::BailOut(why.to_string());
        let encoder = match &self.types {
            Some(types) => RowEncoder::new(types).map_err(bail_out)?,
            None => RowEncoder::opaque(),
        };
        let partition = context.partition_id;
        Ok(match (&self.kind, &stage.output) {
            (Kind::Shuffle(partitioner), Output::ShuffleWrite(write)) => match verified {
                Some(verified) => {
                    let map_id = shuffle.map_id(context.task_attempt_id, partition);
                    let output = (write.shuffle.shuffle_id, map_id);
                    Box::new(DigestSink::new(
                        partitioner,
                        encoder,
                        output,
                        verified,
                        memory,
                        context,
                    ))
                }
                None => Box::new(ShuffleSink::new(
                    shuffle,
                    write,
                    partitioner,
                    encoder,
                    memory,
                    context,
                )?),
            },
            (
                Kind::Collect,
                Output::Collect {
                    limit,
                    take_from_end,
                    result,
                },
            ) => {
                let rows = Collected::new(
                    &lane.codec,
                    *limit,
                    *take_from_end,
                    *result,
                    encoder,
                    context,
                );
                Box::new(rows?)
            }
            (Kind::TakeOrdered, _) => Box::new(Ordered::new(
                encoder,
                stage.root.output.len(),
                memory,
                context,
            )),
            (Kind::Sample(sampler), _) => {
                let sample = sampler.task(partition).map_err(bail_out)?;
                Box::new(Sampled::new(sample, context))
            }
            _ => return Err(TaskError::BailOut("an output of another kind".to_owned())),
        })
    }
}
