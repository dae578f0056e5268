//! What becomes of a task's rows: a shuffle's map output, or a result for the driver.

use std::sync::Arc;

use arrow::array::RecordBatch;
use catalyst::{
    Columns, DataType, MAX_LONG_DIGITS, Operator, OperatorKind, Output, Stage, Unsupported,
};
use columns::ColumnTypes;
use exec::{ArrowResult, CsvTypes, NativeStage};
use exec::{Partitioner, RangeSampler};
use rows::RowEncoder;

use super::checkpoint::JudgedCheckpoint;
use super::files::{FilesSink, JudgedWrite};
use super::lane::Shared;
use super::partition::TaskRows;
use super::rest::RestSink;
use super::results::{
    Collected, Counted, ForDriver, Ordered, Sampled, Unit, csv_types, json_types,
};
use super::verify::{DigestSink, Rules};
use super::write::ShuffleSink;
use crate::files::FileSystems;
use crate::task::{TaskContext, TaskError, TaskValue};

/// Takes the batches of one attempt in their order. Nothing is visible to anybody before [`Sink::finish`], but of
/// [`RestSink`].
pub(super) trait Sink {
    /// Whether further rows make a difference.
    fn wants_more(&self) -> bool {
        true
    }

    /// More rows.
    fn take(&mut self, batch: &RecordBatch) -> Result<(), TaskError>;

    /// The last rows have been taken.
    fn end(&mut self) -> Result<(), TaskError> {
        Ok(())
    }

    /// What a failure behind [`Sink::end`] is to the task.
    fn too_late(&self, error: TaskError) -> TaskError {
        error
    }

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
    kind: OutputKind,
    rows: OutputRows,
    /// Types of the columns of rows for a shuffle, where they can be sent as columns.
    columns: Option<ColumnTypes>,
}

/// What is known of the rows that a stage puts out.
#[derive(Debug)]
enum OutputRows {
    /// Types of their columns, and whether they are rows of a cached table as Spark takes them out of it.
    Typed { types: Vec<DataType>, cached: bool },
    /// Nothing but perhaps the number of columns: they are passed on as they are.
    Whole { num_fields: Option<usize> },
}

impl OutputRows {
    /// # Errors
    /// Who reads the rows was promised others.
    fn of(stage: &Stage) -> Result<Self, Unsupported> {
        let other = || Unsupported::Use("rows of other columns".to_owned());
        let columns = match (&stage.root.output, &stage.output) {
            (
                Columns::Opaque { num_fields },
                Output::Collect { .. } | Output::Count | Output::Checkpoint(_),
            ) => {
                let num_fields = *num_fields;
                return Ok(Self::Whole { num_fields });
            }
            (Columns::Opaque { .. }, _) => stage.root.output.require()?,
            (Columns::Known(columns), Output::ShuffleWrite(write)) => {
                // The serializer that readers have was told how many columns there are.
                let promised = usize::try_from(write.shuffle.num_fields);
                if columns.len() != write.output.len() || promised != Ok(columns.len()) {
                    return Err(other());
                }
                &write.output
            }
            (Columns::Known(columns), _) => columns,
        };
        let types = columns.iter().map(|column| column.data_type.clone());
        let types: Vec<_> = types.collect();
        let is_wide = |of: &DataType| matches!(of, DataType::Decimal(decimal) if decimal.precision > MAX_LONG_DIGITS);
        // Others look the same.
        let cached = types.iter().any(is_wide) && is_cached(&stage.root)?;
        Ok(Self::Typed { types, cached })
    }

    fn encoder(&self) -> Result<RowEncoder, Unsupported> {
        match self {
            Self::Typed {
                types,
                cached: true,
            } => RowEncoder::of_cached(types),
            Self::Typed { types, .. } => RowEncoder::new(types),
            Self::Whole { num_fields } => Ok(RowEncoder::opaque(*num_fields)),
        }
    }

    /// Types of the columns, where Spark's rows can be made of them elsewhere, and they can be sent without.
    fn columns(&self) -> Option<ColumnTypes> {
        match self {
            Self::Typed {
                types,
                cached: false,
            } => ColumnTypes::new(types),
            Self::Typed { .. } | Self::Whole { .. } => None,
        }
    }

    /// Columns of the rows, where that is known.
    fn num_fields(&self) -> Option<usize> {
        match self {
            Self::Typed { types, .. } => Some(types.len()),
            Self::Whole { num_fields } => *num_fields,
        }
    }
}

/// Whether these are rows of a cached table, as Spark takes them out of it.
///
/// # Errors
/// They may be, or other rows.
fn is_cached(operator: &Operator) -> Result<bool, Unsupported> {
    // The operators are as deep as the decoder lets them be.
    match &operator.kind {
        OperatorKind::InMemoryTableScan(scan) => Ok(!scan.columnar),
        OperatorKind::Coalesce(child) => is_cached(child),
        // Generated code makes new rows, operators without it pass theirs on, and unions have both.
        OperatorKind::Filter { .. }
        | OperatorKind::Sort { .. }
        | OperatorKind::Limit { .. }
        | OperatorKind::TopK { .. }
        | OperatorKind::WindowGroupLimit { .. }
        | OperatorKind::Union(_) => {
            for child in operator.children() {
                if is_cached(child)? {
                    return Err(Unsupported::Use(
                        "rows of a cached table with decimals of more than 18 digits".to_owned(),
                    ));
                }
            }
            Ok(false)
        }
        _ => Ok(false),
    }
}

#[derive(Debug)]
enum OutputKind {
    Shuffle(Partitioner),
    /// Everything else is in the stage.
    Collect,
    TakeOrdered,
    Unit,
    Count,
    Files(Box<JudgedWrite>),
    Checkpoint(Box<JudgedCheckpoint>),
    JsonTypes,
    CsvTypes,
    ArrowBatches,
    Rest,
    Sample(RangeSampler),
}

impl JudgedOutput {
    /// Judges the output of a stage, with the properties of its session and the driver's version.
    pub(super) fn new<'a>(
        stage: &Stage,
        session: impl Fn(&str) -> Option<&'a str>,
        spark_version: &str,
        systems: &FileSystems,
    ) -> Result<Self, Unsupported> {
        let rows = OutputRows::of(stage)?;
        let kind = match &stage.output {
            Output::ShuffleWrite(write) => OutputKind::Shuffle(Partitioner::new(write)?),
            Output::Collect { .. } => OutputKind::Collect,
            Output::TakeOrdered => OutputKind::TakeOrdered,
            Output::Unit => OutputKind::Unit,
            Output::Count => OutputKind::Count,
            Output::Checkpoint(files) => {
                let judged = JudgedCheckpoint::new(files, rows.num_fields())?;
                OutputKind::Checkpoint(Box::new(judged))
            }
            Output::Files(write) => {
                let write = JudgedWrite::new(write, session, spark_version, systems)?;
                OutputKind::Files(Box::new(write))
            }
            // Who asks for these is no stage.
            Output::Pickled(_) => return Err(Unsupported::of_use("rows for Python")),
            Output::ArrowBatches(batches) => {
                ArrowResult::new(batches)?;
                OutputKind::ArrowBatches
            }
            Output::Rest(_) => OutputKind::Rest,
            Output::JsonTypes(_) if stage.kryo.is_some() => {
                return Err(Unsupported::of_use("columns of JSON with spark.serializer"));
            }
            Output::JsonTypes(_) => OutputKind::JsonTypes,
            Output::CsvTypes(_) if stage.kryo.is_some() => {
                return Err(Unsupported::of_use("columns of CSV with spark.serializer"));
            }
            Output::CsvTypes(inference) => {
                CsvTypes::new(inference)?;
                OutputKind::CsvTypes
            }
            Output::RangeSample {
                order,
                sample_size,
                rdd_id,
            } => OutputKind::Sample(RangeSampler::new(
                order,
                *sample_size,
                *rdd_id,
                stage.root.output.require()?,
            )?),
        };
        rows.encoder()?;
        let columns = match kind {
            OutputKind::Shuffle(_) => rows.columns(),
            _ => None,
        };
        Ok(Self {
            kind,
            rows,
            columns,
        })
    }

    /// For one attempt.
    pub(super) fn sink<'a>(
        &'a self,
        native: &'a NativeStage,
        rules: Option<&Arc<Rules>>,
        lane: &'a Shared,
        rows: &TaskRows,
        context: &'a Arc<TaskContext>,
    ) -> Result<Box<dyn Sink + 'a>, TaskError> {
        let memory = &rows.memory();
        let stage = native.stage();
        let shuffle = &lane.parts.shuffle;
        let verified = rules.zip(lane.verifier.as_ref());
        let bail_out = |why: Unsupported| TaskError::BailOut(why.to_string());
        let encoder = self.rows.encoder().map_err(bail_out)?;
        let partition = context.partition_id;
        Ok(match (&self.kind, &stage.output) {
            (OutputKind::Shuffle(partitioner), Output::ShuffleWrite(write)) => match verified {
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
                    (encoder, self.columns.as_ref()),
                    memory,
                    context,
                )?),
            },
            (
                OutputKind::Collect,
                Output::Collect {
                    limit,
                    take_from_end,
                    result,
                },
            ) => {
                let rows = Collected::new(
                    (&lane.codec, lane.format),
                    *limit,
                    *take_from_end,
                    *result,
                    encoder,
                    context,
                );
                Box::new(rows?)
            }
            (OutputKind::TakeOrdered, _) => {
                let num_fields = self.rows.num_fields();
                let num_fields = num_fields
                    .ok_or_else(|| TaskError::BailOut("rows of unknown columns".to_owned()))?;
                Box::new(Ordered::new(
                    encoder,
                    num_fields,
                    memory,
                    lane.format,
                    context,
                ))
            }
            (OutputKind::Unit, _) => Box::new(Unit(lane.format, context)),
            (OutputKind::Count, _) => Box::new(Counted::new(lane.format, context)),
            (OutputKind::Checkpoint(judged), Output::Checkpoint(files)) => {
                let conf = rows.hadoop(&files.conf)?;
                Box::new(judged.sink(encoder, &conf, lane, context)?)
            }
            (OutputKind::Files(judged), Output::Files(write)) => {
                Box::new(FilesSink::new(judged, write, lane.format, memory, context)?)
            }
            (OutputKind::ArrowBatches, Output::ArrowBatches(batches)) => {
                Box::new(ForDriver::new(batches, lane.format, memory, context).map_err(bail_out)?)
            }
            (OutputKind::Rest, Output::Rest(rest)) => {
                Box::new(RestSink::new(rest, encoder, context)?)
            }
            (OutputKind::JsonTypes, Output::JsonTypes(inference)) => {
                Box::new(json_types(inference, context))
            }
            (OutputKind::CsvTypes, Output::CsvTypes(inference)) => {
                Box::new(csv_types(inference, context).map_err(bail_out)?)
            }
            (OutputKind::Sample(sampler), _) => {
                let sample = sampler.task(partition).map_err(bail_out)?;
                Box::new(Sampled::new(sample, lane.format, context))
            }
            _ => return Err(TaskError::BailOut("an output of another kind".to_owned())),
        })
    }
}
