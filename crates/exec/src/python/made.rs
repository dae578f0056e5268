//! Rows that a function of Python makes of many: what comes out is not of one row or another that went in, and nothing
//! waits for it. The worker sets the pace.

use std::sync::Arc;

use arrow::array::{Array as _, ArrayRef, RecordBatch};
use arrow::datatypes::SchemaRef;
use catalyst::Attribute;
use datafusion_common::Result;
use datafusion_physical_plan::metrics::{BaselineMetrics, Count, MetricBuilder};
use futures::Stream;
use rows::error::bail_out;

use super::DATA_RECEIVED;
use super::stream::ArrowDecoder;
use crate::exec::{Start, batch_of, from_fn};
use crate::lower::{Demand, places};
use crate::native_functions::NativeOutput;
use crate::sources::PythonFrames;

/// The columns that a function makes.
pub(super) struct Made {
    columns: Vec<Attribute>,
    /// Places of those that come out, if those are not all.
    places: Option<Vec<usize>>,
}

impl Made {
    /// Those that are asked for of all, and these.
    pub(super) fn new(columns: &[Attribute], demand: Demand<'_>) -> (Self, Vec<Attribute>) {
        let (places, attributes) = places(columns, demand);
        let columns = columns.to_vec();
        (Self { columns, places }, attributes)
    }

    /// The columns that come out, of those that came.
    ///
    /// # Errors
    /// Bail-out: nulls where Spark relies on there being none.
    fn output(&self, all: Vec<ArrayRef>) -> Result<Vec<ArrayRef>> {
        let mut columns = all.iter().zip(&self.columns);
        if columns.any(|(column, of)| !of.nullable && column.null_count() > 0) {
            return Err(bail_out("nulls of Python in a column without"));
        }
        let Some(places) = &self.places else {
            return Ok(all);
        };
        let columns = places.iter().map(|place| all.get(*place).cloned());
        let columns = columns.collect::<Option<_>>();
        columns.ok_or_else(|| bail_out("columns that are missing"))
    }

    /// The rows of a task. A worker is asked for when somebody asks for rows; no worker makes none.
    pub(super) fn rows<B>(
        self: &Arc<Self>,
        start: &Start<'_>,
        begin: B,
    ) -> impl Stream<Item = Result<RecordBatch>> + Send + 'static + use<B>
    where
        B: FnOnce() -> Result<Option<Maker>> + Send + 'static,
    {
        let (made, schema) = (Arc::clone(self), Arc::clone(start.schema));
        let received = MetricBuilder::new(start.metrics).counter(DATA_RECEIVED, 0);
        let baseline = start.baseline();
        let mut begin = Some(begin);
        let mut rows = None;
        from_fn(move || {
            if let Some(begin) = begin.take() {
                rows = begin()?.map(|maker| Rows {
                    made: Arc::clone(&made),
                    schema: Arc::clone(&schema),
                    maker,
                    received: received.clone(),
                    baseline: baseline.clone(),
                });
            }
            rows.as_mut().map_or(Ok(None), Rows::next)
        })
    }
}

/// Who makes rows.
pub(super) enum Maker {
    /// A worker.
    Worker(PythonFrames, Box<ArrowDecoder>),
    /// A native function.
    Native(NativeOutput),
}

/// Rows on their way out.
struct Rows {
    made: Arc<Made>,
    schema: SchemaRef,
    maker: Maker,
    received: Count,
    baseline: BaselineMetrics,
}

impl Rows {
    fn next(&mut self) -> Result<Option<RecordBatch>> {
        while let Some((columns, rows)) = self.portion()? {
            self.baseline.record_output(rows);
            if rows > 0 {
                return batch_of(&self.schema, self.made.output(columns)?, rows).map(Some);
            }
        }
        Ok(None)
    }

    /// All columns of the next rows.
    fn portion(&mut self) -> Result<Option<(Vec<ArrayRef>, usize)>> {
        match &mut self.maker {
            Maker::Worker(frames, decoder) => {
                for frame in frames {
                    if let Some((columns, rows, bytes)) = decoder.push(frame?)? {
                        self.received.add(bytes);
                        return Ok(Some((columns, rows)));
                    }
                }
                Ok(None)
            }
            Maker::Native(batches) => {
                let batch = batches.next().transpose()?;
                Ok(batch.map(|batch| (batch.columns().to_vec(), batch.num_rows())))
            }
        }
    }
}
