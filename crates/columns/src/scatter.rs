//! Rows that wait for their reducers' frames.

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use catalyst::Unsupported;
use datafusion_common::Result;
use rows::error::bail_out;
use rows::types::schema_of_types;

use crate::column::{Compression, Waiting};
use crate::frame::most_rows;
use crate::input::put_varint;
use crate::types::{ColumnTypes, put_type};

/// Rows of one map task by reducer, until there are enough of them for a frame.
#[derive(Debug)]
pub struct Scatter {
    types: ColumnTypes,
    schema: SchemaRef,
    parts: Vec<Part>,
    /// By column.
    compressions: Vec<Compression>,
    frame: Vec<u8>,
    /// Bytes of memory that parts have.
    memory: usize,
    /// Memory of a part that is kept for its next rows.
    kept: usize,
}

/// The rows of one reducer.
#[derive(Debug)]
struct Part {
    columns: Box<[Waiting]>,
    rows: usize,
    memory: usize,
}

impl Part {
    fn new(types: &ColumnTypes) -> Self {
        Self {
            columns: types.types().iter().map(Waiting::new).collect(),
            rows: 0,
            memory: 0,
        }
    }

    fn len(&self) -> usize {
        self.rows + self.columns.iter().map(Waiting::len).sum::<usize>()
    }
}

impl Scatter {
    /// For so many reducers; of the memory of each at most `kept` bytes are kept from one frame to the next.
    ///
    /// # Errors
    /// Not seen: all these types are Arrow's, too.
    pub fn new(
        types: ColumnTypes,
        partitions: usize,
        kept: usize,
    ) -> std::result::Result<Self, Unsupported> {
        let compressions = types.types().iter().map(Compression::new);
        Ok(Self {
            schema: schema_of_types(types.types())?,
            compressions: compressions.collect(),
            parts: (0..partitions).map(|_| Part::new(&types)).collect(),
            frame: Vec::new(),
            memory: 0,
            kept: kept / types.types().len().max(1),
            types,
        })
    }

    /// Bytes of memory in use.
    #[must_use]
    pub fn memory(&self) -> usize {
        let compressions = self.compressions.iter().map(Compression::memory);
        self.memory + self.frame.capacity() + compressions.sum::<usize>()
    }

    /// Gives back the memory of what was taken, as it is short.
    pub fn shrink(&mut self) {
        for part in self.parts.iter_mut().filter(|part| part.rows == 0) {
            part.columns.iter_mut().for_each(|waiting| waiting.clear(0));
            self.memory = self.memory.saturating_sub(part.memory);
            part.memory = 0;
        }
        self.compressions.iter_mut().for_each(Compression::shrink);
        self.frame = Vec::new();
    }

    /// Adds rows of a batch, by their places, to a reducer's. Gives how many bytes wait there now.
    ///
    /// # Errors
    /// Bail-outs: the batch has other columns, a row is not there, or text of more than 4 GiB waits.
    pub fn append(&mut self, partition: usize, batch: &RecordBatch, rows: &[u32]) -> Result<usize> {
        let types = self.types.types();
        let declared = self.schema.fields().iter().map(|field| field.data_type());
        if !declared.eq(batch.columns().iter().map(|column| column.data_type())) {
            return Err(bail_out("columns of other types than declared"));
        }
        if rows.iter().any(|row| *row as usize >= batch.num_rows()) {
            return Err(bail_out("a row that is not there"));
        }
        let part = self.parts.get_mut(partition);
        let part = part.ok_or_else(|| bail_out("a reducer that is not there"))?;
        let columns = part.columns.iter_mut().zip(types);
        for ((waiting, of), array) in columns.zip(batch.columns()) {
            waiting.append(of, array, rows)?;
        }
        part.rows += rows.len();
        let memory: usize = part.columns.iter().map(Waiting::memory).sum();
        self.memory = (self.memory + memory).saturating_sub(part.memory);
        part.memory = memory;
        Ok(part.len())
    }

    /// Makes frames of what waits for a reducer and hands each to `frame`, with the number of its rows.
    ///
    /// # Errors
    /// What `frame` fails with.
    pub fn take<E>(
        &mut self,
        partition: usize,
        mut frame: impl FnMut(&[u8], usize) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        let Some(part) = self.parts.get_mut(partition) else {
            return Ok(());
        };
        let step = most_rows(part.columns.len());
        let mut start = 0;
        while start < part.rows {
            let end = part.rows.min(start + step);
            self.frame.clear();
            put_varint((end - start) as u64, &mut self.frame);
            put_varint(part.columns.len() as u64, &mut self.frame);
            let columns = self.types.types().iter().zip(&part.columns);
            for ((of, waiting), compression) in columns.zip(&mut self.compressions) {
                put_type(of, &mut self.frame);
                waiting.encode(start..end, compression, &mut self.frame);
            }
            frame(&self.frame, end - start)?;
            start = end;
        }
        part.rows = 0;
        for waiting in &mut part.columns {
            waiting.clear(self.kept);
        }
        let memory: usize = part.columns.iter().map(Waiting::memory).sum();
        self.memory = (self.memory + memory).saturating_sub(part.memory);
        part.memory = memory;
        Ok(())
    }

    /// As [`Scatter::take`] for every reducer, in their order; `frame` is told which.
    ///
    /// # Errors
    /// What `frame` fails with.
    pub fn take_all<E>(
        &mut self,
        mut frame: impl FnMut(usize, &[u8], usize) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        for partition in 0..self.parts.len() {
            self.take(partition, |bytes, rows| frame(partition, bytes, rows))?;
        }
        Ok(())
    }
}
