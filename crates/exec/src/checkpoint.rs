//! Rows of checkpoints: kept, and read.

use std::sync::Arc;

use bytes::Bytes;
use catalyst::{
    CheckpointRows, CheckpointScan, Columns, Inputs, KeptRows, LeafInput, Operator, TaskInputs,
    Unsupported,
};
use datafusion_common::Result as DataFusionResult;
use datafusion_execution::SendableRecordBatchStream;
use futures::StreamExt as _;
use rows::RowEncoder;
use rows::error::bail_out;

use super::exec::{OperatorExec, Start};
use super::leaves::leaf_exec;
use super::lower::{Demand, Lowered, Lowering, Result, leaf_input, schema_of_columns};
use super::shuffle_read::{RowsRead, batches};
use super::sources::{MakeRows, RowRecords};

/// Lowers the scan of a checkpoint.
pub(super) fn scan(scan: &CheckpointScan, output: &Columns, demand: Demand<'_>) -> Result<Lowered> {
    let num_fields = num_fields(output)?;
    let (rows, columns) = RowsRead::new(output, demand)?;
    let schema = schema_of_columns(&columns)?;
    let CheckpointScan { leaf, rows: from } = scan.clone();
    Lowered::of(
        columns,
        Box::new(move |task, inputs| {
            let LeafInput::Slice(partition) = *leaf_input(leaf, inputs)? else {
                return Err(Unsupported::of_use("a checkpoint without partition"));
            };
            let (rows, from, sources) = (rows.clone(), from.clone(), Arc::clone(&task.sources));
            let start = move |start: &Start<'_>| {
                let (from, of_checkpoint) = (from.clone(), Arc::clone(&sources));
                let open = move || of_checkpoint.checkpoint(&from, num_fields, partition, None);
                batches(start, &rows, Arc::clone(&sources), open)
            };
            Ok(leaf_exec("RDDScanExec", &schema, start))
        }),
    )
}

/// Lowers rows that are kept.
pub(super) fn keep(
    lowering: &Lowering,
    kept: KeptRows,
    child: &Operator,
    inputs: &Inputs,
    demand: Demand<'_>,
) -> Result<Lowered> {
    let Inputs::Cached(below) = inputs else {
        return Err(Unsupported::of_use("inputs of another shape"));
    };
    let num_fields = num_fields(&child.output)?;
    let (rows, columns) = RowsRead::new(&child.output, demand)?;
    let encoded = Encoded(child.output.clone());
    // Judged here, made by tasks.
    encoded.encoder()?;
    // Whoever reads them may rely on their order.
    let all = Demand {
        columns: None,
        ordered: true,
    };
    let child = lowering.operator(child, below, all)?;
    let schema = schema_of_columns(&columns)?;
    Lowered::of(
        columns,
        Box::new(move |task, inputs| {
            let TaskInputs::Cached(partition, below) = inputs else {
                return Err(Unsupported::of_use("inputs of another shape"));
            };
            let (input, partition) = (child.build(task, below)?, *partition);
            let (rows, encoded) = (rows.clone(), encoded.clone());
            let sources = Arc::clone(&task.sources);
            let start = move |start: &Start<'_>| {
                let input = start.inputs.first().map(Arc::clone);
                let input = input.ok_or_else(|| bail_out("rows to be kept of nothing"))?;
                let (encoded, context) = (encoded.clone(), Arc::clone(start.context));
                let make: MakeRows = Box::new(move || {
                    let encoder = encoded.encoder();
                    Ok(Box::new(MadeRows {
                        rows: Some(input.execute(0, context)?),
                        encoder: encoder.map_err(|why| bail_out(why.to_string()))?,
                    }) as RowRecords)
                });
                let of_checkpoint = Arc::clone(&sources);
                let kept = CheckpointRows::Kept(kept);
                let open =
                    move || of_checkpoint.checkpoint(&kept, num_fields, partition, Some(make));
                batches(start, &rows, Arc::clone(&sources), open)
            };
            Ok(Arc::new(OperatorExec::new(
                "LocalCheckpointRDD",
                vec![input],
                Arc::clone(&schema),
                Arc::new(start),
            )))
        }),
    )
}

fn num_fields(columns: &Columns) -> Result<usize> {
    let known = columns.num_fields();
    known.ok_or_else(|| Unsupported::of_use("a checkpoint of unknown columns"))
}

/// Columns of rows that are kept.
#[derive(Clone)]
struct Encoded(Columns);

impl Encoded {
    fn encoder(&self) -> Result<RowEncoder> {
        match &self.0 {
            Columns::Known(columns) => RowEncoder::new(columns.iter().map(|of| &of.data_type)),
            Columns::Opaque { num_fields } => Ok(RowEncoder::opaque(*num_fields)),
        }
    }
}

/// Rows of the plan below.
struct MadeRows {
    rows: Option<SendableRecordBatchStream>,
    encoder: RowEncoder,
}

impl Iterator for MadeRows {
    type Item = DataFusionResult<Bytes>;

    fn next(&mut self) -> Option<Self::Item> {
        // The task's thread runs the stream of the rows that are kept, which waits here for that of the plan below.
        let batch = pollster::block_on(self.rows.as_mut()?.next())?;
        let rows = batch.and_then(|batch| {
            let rows = self.encoder.encode(&batch)?;
            Ok(Bytes::copy_from_slice(rows.bytes()))
        });
        if rows.is_err() {
            self.rows = None;
        }
        Some(rows)
    }
}
