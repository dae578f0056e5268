//! `MapInPandasExec`, `MapInArrowExec`: rows that a function of Python makes of all rows of a partition.

use std::sync::Arc;

use catalyst::{ArrowSession, Attribute, DataType, Inputs, MapInBatch, Operator, StructField};
use datafusion_common::Result as DataFusionResult;
use datafusion_execution::SendableRecordBatchStream;
use datafusion_execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion_physical_plan::metrics::{Count, MetricBuilder};
use futures::stream::StreamExt as _;
use rows::error::bail_out;

use super::DATA_SENT;
use super::conversion::type_for_python;
use super::frames::wait_for_next;
use super::made::{Made, Maker};
use super::native_rows::NativeMap;
use super::stream::{ArrowDecoder, ArrowEncoder, Part};
use crate::exec::{OperatorExec, Start};
use crate::lower::{Build, Demand, Lowered, Lowering, Result};
use crate::sources::{PythonCall, PythonCallee, PythonRows, PythonTimes, Sources};

/// Lowers a function of Python over the rows of an input.
pub(in super::super) fn map_in_batch(
    lowering: &Lowering,
    map: &MapInBatch,
    child: &Operator,
    inputs: &Inputs,
    demand: Demand<'_>,
) -> Result<Lowered> {
    // The function sees all columns, by their places, and the order of rows.
    let all = Demand {
        columns: None,
        ordered: true,
    };
    let child = lowering.operator(child, inputs, all)?;
    child.output()?;
    let zone = Arc::from(map.time_zone.as_str());
    for fields in [map.input.clone(), fields_of(&map.output)] {
        type_for_python(&DataType::Struct(fields), &zone)?;
    }
    let (made, attributes) = Made::new(&map.output, demand);
    let schema = rows::types::schema_of(&attributes)?;
    let (map, made) = (Arc::new(map.clone()), Arc::new(made));
    let build: Build = Box::new(move |task, inputs| {
        let input = child.build(task, inputs)?;
        let (map, made, sources) = (
            Arc::clone(&map),
            Arc::clone(&made),
            Arc::clone(&task.sources),
        );
        let start = move |start: &Start<'_>| {
            let begin = begin(&map, &sources, start)?;
            Ok(made.rows(start, begin).boxed())
        };
        Ok(Arc::new(OperatorExec::new(
            "MapInBatchExec",
            vec![input],
            Arc::clone(&schema),
            Arc::new(start),
        )))
    });
    Lowered::new(attributes, build)
}

pub(super) fn fields_of(columns: &[Attribute]) -> Vec<StructField> {
    let fields = columns.iter().map(|column| StructField {
        name: column.name.clone(),
        data_type: column.data_type.clone(),
        nullable: column.nullable,
        field_id: None,
        exists_default: None,
    });
    fields.collect()
}

/// What begins a task. A worker is asked for also if there are no rows to give it.
fn begin(
    map: &Arc<MapInBatch>,
    sources: &Arc<dyn Sources>,
    start: &Start<'_>,
) -> DataFusionResult<impl FnOnce() -> DataFusionResult<Option<Maker>> + use<>> {
    let counter = |name| MetricBuilder::new(start.metrics).counter(name, 0);
    let pool = start.context.memory_pool();
    let memory = MemoryConsumer::new("MapInBatchExec").register(pool);
    let of_native = MemoryConsumer::new("NativeFunction").register(pool);
    let (input, sent, times) = (
        start.input(0)?,
        counter(DATA_SENT),
        PythonTimes::new(counter),
    );
    let (map, sources) = (Arc::clone(map), Arc::clone(sources));
    Ok(move || {
        if let Some(native) = NativeMap::of(&map, &*sources, of_native)? {
            return Ok(Some(Maker::Native(native.open(input)?)));
        }
        let (call, encoder, decoder) = call(&map, &*sources)?;
        let frames = InputFrames {
            encoder,
            input: Some(input),
            memory,
            last: 0,
            sent,
        };
        let frames = sources.python(&call, Box::new(frames), times)?;
        Ok(Some(Maker::Worker(frames, Box::new(decoder))))
    })
}

/// For a task: the call, and what makes its frames and reads those of results.
fn call(
    map: &MapInBatch,
    sources: &dyn Sources,
) -> DataFusionResult<(PythonCall, ArrowEncoder, ArrowDecoder)> {
    let mut session = ArrowSession {
        time_zone: Some(map.time_zone.clone()),
        batch_size: map.batch_size.unwrap_or_default(),
        settings: map.settings.clone(),
        validates_schemas: false,
    };
    if map.batch_size.is_none() {
        let own = sources.arrow_session()?;
        session.batch_size = own.batch_size;
        session.validates_schemas = own.validates_schemas;
    }
    let encoder = ArrowEncoder::of_rows(&map.input, &session)?;
    let checked = map.checked && session.validates_schemas;
    let decoder = ArrowDecoder::of_rows(&map.output, checked)?;
    let callee = PythonCallee {
        functions: vec![map.function],
        arguments: vec![(0, None)],
        result_id: map.result_id,
    };
    let call = PythonCall {
        callees: vec![callee],
        job_artifact_uuid: map.job_artifact_uuid.clone(),
        table: None,
        rows: PythonRows::without_types(map.kind.eval_type(), session.settings),
    };
    Ok((call, encoder, decoder))
}

/// Frames of the rows of an input, made when they are asked for.
struct InputFrames {
    encoder: ArrowEncoder,
    input: Option<SendableRecordBatchStream>,
    /// Of rows that are in no frame yet.
    memory: MemoryReservation,
    /// Bytes of the last batch that was taken.
    last: usize,
    sent: Count,
}

impl InputFrames {
    fn frame(&mut self) -> DataFusionResult<Option<Vec<u8>>> {
        loop {
            match self.encoder.next()? {
                Part::Bytes(bytes, is_batch) => {
                    // What is left is of the last batch: more are taken only if a frame needs them.
                    let kept = if self.encoder.waiting() > 0 {
                        self.last
                    } else {
                        0
                    };
                    self.memory.shrink(self.memory.size().saturating_sub(kept));
                    // Spark counts batches only.
                    self.sent.add(if is_batch { bytes.len() } else { 0 });
                    return Ok(Some(bytes));
                }
                Part::Rows => self.take_rows()?,
                Part::End => return Ok(None),
            }
        }
    }

    /// Gives the encoder the rows of the next batch, or says that there is none.
    fn take_rows(&mut self) -> DataFusionResult<()> {
        let next = self.input.as_mut().and_then(wait_for_next);
        let Some(batch) = next.transpose()? else {
            self.input = None;
            self.encoder.finish();
            return Ok(());
        };
        let rows = batch.num_rows();
        if rows > 0 {
            self.last = batch.get_array_memory_size();
            self.memory.try_grow(self.last)?;
            let pushed = self.encoder.push(batch.columns().to_vec(), rows);
            pushed.ok_or_else(|| bail_out("too many rows for Python"))?;
        }
        Ok(())
    }
}

impl Iterator for InputFrames {
    type Item = DataFusionResult<Vec<u8>>;

    fn next(&mut self) -> Option<Self::Item> {
        self.frame().transpose()
    }
}
