//! Rows to a shuffle's map output, as columns.

use arrow::array::RecordBatch;
use columns::{ColumnTypes, Scatter};
use exec::Scattered;
use wire::map_status::MapStatus;

use super::failure::of_run;
use crate::blocks::shuffle::ColumnsWriter;
use crate::task::TaskError;

/// Memory for rows that wait until there are enough of them, if all reducers have as many.
const WAITING: usize = 32 << 20;
/// Bytes of one reducer that make a frame, before they are packed.
const LEAST_FRAME: usize = 16 << 10;
const LARGEST_FRAME: usize = 512 << 10;
/// Rows that are looked at before it is asked again whether there are enough.
const STEP: usize = 4096;

/// Writes the rows of one map task as columns.
pub(super) struct ColumnWriter<'a> {
    writer: ColumnsWriter<'a>,
    scatter: Scatter,
    partitions: usize,
    /// Bytes of one reducer that make a frame.
    frame: usize,
}

impl<'a> ColumnWriter<'a> {
    /// # Errors
    /// Bail-out: not seen.
    pub(super) fn new(
        writer: ColumnsWriter<'a>,
        types: &ColumnTypes,
        partitions: usize,
    ) -> Result<Self, TaskError> {
        let frame = WAITING / partitions.max(1);
        let frame = frame.clamp(LEAST_FRAME, LARGEST_FRAME);
        let scatter = Scatter::new(types.clone(), partitions, frame);
        Ok(Self {
            writer,
            scatter: scatter.map_err(|why| TaskError::BailOut(why.to_string()))?,
            partitions,
            frame,
        })
    }

    pub(super) fn num_partitions(&self) -> usize {
        self.partitions
    }

    /// Adds the rows of a batch, each to its reducer's.
    ///
    /// # Errors
    /// How the attempt ends.
    pub(super) fn write(
        &mut self,
        batch: &RecordBatch,
        scattered: &Scattered,
    ) -> Result<(), TaskError> {
        for (partition, bounds) in scattered.starts.windows(2).enumerate() {
            let &[start, end] = bounds else { continue };
            let rows = scattered.rows.get(start as usize..end as usize);
            for rows in rows.unwrap_or(&[]).chunks(STEP) {
                let waiting = self.scatter.append(partition, batch, rows);
                if waiting.map_err(of_run)? >= self.frame {
                    let writer = &mut self.writer;
                    self.scatter.take(partition, |frame, rows| {
                        writer.write(partition, rows, frame)
                    })?;
                }
            }
        }
        if !self.writer.hold(self.scatter.memory()) {
            self.flush()?;
            self.writer.spill()?;
            self.scatter.shrink();
            // Nothing is left.
            self.writer.hold(self.scatter.memory());
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), TaskError> {
        let writer = &mut self.writer;
        let taken = self
            .scatter
            .take_all(|partition, frame, rows| writer.write(partition, rows, frame));
        Ok(taken?)
    }

    /// As [`ColumnsWriter::stop`].
    ///
    /// # Errors
    /// How the attempt ends; nothing is visible then.
    pub(super) fn stop(mut self, checksum: i64) -> Result<MapStatus, TaskError> {
        self.flush()?;
        Ok(self.writer.stop(checksum)?)
    }
}
