//! Aggregate functions of frames that are gathered as those of groups are: sets, percentiles and the like.
//!
//! Each frame that differs from the one before is a group. A frame that only grows is added to, where a function can
//! say what it has so far.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, RecordBatch, UInt32Array, UInt64Array};
use arrow::compute::{concat, take};
use datafusion_common::Result;
use datafusion_physical_expr::PhysicalExpr;

use super::column::{Column, Memory};
use super::value;
use crate::aggregate::{Factory, rows_args};
use crate::expr::lower;
use catalyst::{AggregateFunction, Attribute, Bound, Frame, Unsupported};
use rows::error::bail_out;

/// Rows that are given to a function at once.
const ROWS: usize = 8192;

/// Rows of all frames together, for each row of the partitions, from which on frames that grow are left to Spark if the
/// function cannot say what it has so far: Spark adds each row once.
const MOST_PER_ROW: usize = 64;
/// Rows of all frames together that are always few.
const FEW: usize = 4 << 20;

/// A function that was judged.
#[derive(Debug)]
pub(super) struct Gathered {
    factory: Factory,
    args: Vec<Arc<dyn PhysicalExpr>>,
    /// Whether frames begin with their partitions and end somewhere: Spark adds rows to what it has then, and computes
    /// all other frames anew.
    grows: bool,
}

/// Frames that differ from the one before, and which each row has.
struct Frames {
    frames: Vec<Range<usize>>,
    of_rows: Vec<u32>,
}

impl Frames {
    fn new(all: &[Range<usize>]) -> Result<Self> {
        let mut frames: Vec<Range<usize>> = Vec::new();
        let mut of_rows = Vec::with_capacity(all.len());
        for frame in all {
            if frames.last() != Some(frame) {
                frames.push(frame.clone());
            }
            let place = u32::try_from(frames.len() - 1);
            of_rows.push(place.map_err(|_| bail_out("too many frames"))?);
        }
        Ok(Self { frames, of_rows })
    }

    /// Where runs of frames begin that start with the same row and grow.
    fn runs(&self) -> Vec<Range<usize>> {
        let mut runs: Vec<Range<usize>> = Vec::new();
        for (place, frame) in self.frames.iter().enumerate() {
            let before = place
                .checked_sub(1)
                .and_then(|before| self.frames.get(before));
            let grows =
                |before: &Range<usize>| before.start == frame.start && before.end <= frame.end;
            match runs.last_mut() {
                Some(run) if before.is_some_and(grows) => run.end = place + 1,
                _ => runs.push(place..place + 1),
            }
        }
        runs
    }
}

impl Gathered {
    pub(super) fn new(
        function: &AggregateFunction,
        frame: &Frame,
        input: &[Attribute],
    ) -> std::result::Result<Self, Unsupported> {
        let args = rows_args(function);
        let args = args.iter().map(|arg| lower(arg, input));
        Ok(Self {
            factory: Factory::without_buffer(function)?,
            args: args.collect::<std::result::Result<_, _>>()?,
            grows: frame.lower == Bound::UnboundedPreceding && !frame.is_whole(),
        })
    }

    /// A value for each row, which is that of its frame.
    pub(super) fn column(
        &self,
        frames: &[Range<usize>],
        batch: &RecordBatch,
        memory: &mut Memory<'_>,
    ) -> Result<Column> {
        let args = self.args.iter().map(|arg| value(arg, batch));
        let args = args.collect::<Result<Vec<_>>>()?;
        let frames = Frames::new(frames)?;
        let all: usize = frames.frames.iter().map(ExactSizeIterator::len).sum();
        let values = match self.grows {
            true if all > 0 && self.factory.accumulator()?.so_far().is_some() => {
                self.grown(&args, &frames, memory)?
            }
            true if all > FEW + MOST_PER_ROW * batch.num_rows() => {
                return Err(bail_out("a window that grows over many rows"));
            }
            _ => self.apart(&args, &frames.frames, memory)?,
        };
        memory.keep(values.get_array_memory_size())?;
        Ok(Column::Shared {
            values,
            of_rows: UInt32Array::from(frames.of_rows),
        })
    }

    /// The values of frames, each computed by itself.
    fn apart(
        &self,
        args: &[ArrayRef],
        frames: &[Range<usize>],
        memory: &mut Memory<'_>,
    ) -> Result<ArrayRef> {
        let mut accumulator = self.factory.accumulator()?;
        let mut given = frames
            .iter()
            .enumerate()
            .flat_map(|(group, frame)| frame.clone().map(move |row| (row as u64, group)));
        loop {
            let (rows, groups): (Vec<_>, Vec<_>) = given.by_ref().take(ROWS).unzip();
            let rows = UInt64Array::from(rows);
            let args = args.iter().map(|arg| Ok(take(arg, &rows, None)?));
            let args = args.collect::<Result<Vec<_>>>()?;
            // Frames without rows are groups, too.
            accumulator.update(&args, &groups, None, frames.len())?;
            memory.need(accumulator.size())?;
            if groups.len() < ROWS {
                return accumulator.evaluate();
            }
        }
    }

    /// The values of frames that only grow in their partitions.
    fn grown(
        &self,
        args: &[ArrayRef],
        frames: &Frames,
        memory: &mut Memory<'_>,
    ) -> Result<ArrayRef> {
        let mut bytes = 0;
        let mut values: Vec<ArrayRef> = Vec::with_capacity(frames.frames.len());
        for run in frames.runs() {
            let mut accumulator = self.factory.accumulator()?;
            let mut seen = None;
            for frame in frames.frames.get(run).unwrap_or_default() {
                let new = seen.unwrap_or(frame.start)..frame.end;
                let args: Vec<_> = args
                    .iter()
                    .map(|arg| arg.slice(new.start, new.len()))
                    .collect();
                accumulator.update(&args, &vec![0; new.len()], None, 1)?;
                let value = accumulator.so_far();
                let value =
                    value.ok_or_else(|| bail_out("a function without results so far"))??;
                bytes += value.get_array_memory_size();
                values.push(value);
                seen = Some(frame.end);
                if values.len().is_multiple_of(ROWS) {
                    memory.need(bytes)?;
                }
            }
        }
        let values: Vec<_> = values.iter().map(AsRef::as_ref).collect();
        Ok(concat(&values)?)
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{AsArray as _, Int64Array};
    use arrow::datatypes::Int64Type;
    use catalyst::{AggregateKind, BitOperation, DataType, FrameUnit};
    use datafusion_execution::memory_pool::{GreedyMemoryPool, MemoryConsumer, MemoryPool};

    use super::*;
    use crate::testing::{batch, column, reference};

    const NUMBERS: [Option<i64>; 7] = [Some(6), Some(3), None, Some(-9), Some(8), None, Some(2)];

    fn function(kind: AggregateKind) -> AggregateFunction {
        let number = reference(&column(1, DataType::Long));
        let data_type = match kind {
            AggregateKind::CollectList => DataType::Array {
                element: Box::new(DataType::Long),
                contains_null: false,
            },
            _ => DataType::Long,
        };
        AggregateFunction {
            kind,
            args: vec![number],
            percentages: Vec::new(),
            constants: Vec::new(),
            data_type,
            input_buffer: Vec::new(),
        }
    }

    /// All rows up to each.
    fn growing() -> Frame {
        Frame {
            unit: FrameUnit::Rows,
            lower: Bound::UnboundedPreceding,
            upper: Bound::CurrentRow,
            time_zone: None,
        }
    }

    /// The rest of the partition.
    fn shrinking() -> Frame {
        Frame {
            lower: Bound::CurrentRow,
            upper: Bound::UnboundedFollowing,
            ..growing()
        }
    }

    fn values(
        kind: AggregateKind,
        frame: &Frame,
        frames: &[Range<usize>],
        bytes: usize,
    ) -> Result<ArrayRef> {
        let columns = [column(1, DataType::Long)];
        let gathered = Gathered::new(&function(kind), frame, &columns).unwrap();
        let numbers: ArrayRef = Arc::new(Int64Array::from(NUMBERS.to_vec()));
        let pool: Arc<dyn MemoryPool> = Arc::new(GreedyMemoryPool::new(bytes));
        let reservation = MemoryConsumer::new("test").register(&pool);
        let mut memory = Memory::new(&reservation);
        let batch = batch(&columns, vec![numbers]);
        let column = gathered.column(frames, &batch, &mut memory)?;
        assert_eq!(reservation.size(), memory.kept());
        let parts: Vec<_> = (0..frames.len())
            .map(|row| column.part(row, 1).unwrap())
            .collect();
        let parts: Vec<_> = parts.iter().map(AsRef::as_ref).collect();
        Ok(concat(&parts).unwrap())
    }

    #[test]
    fn frames_that_are_apart() {
        let frames = [0..2, 0..2, 1..4, 4..4, 2..3, 3..7];
        let lists = values(AggregateKind::CollectList, &shrinking(), &frames, 1 << 20).unwrap();
        let lists = lists.as_list::<i32>();
        let found: Vec<_> = lists
            .iter()
            .map(|list| list.unwrap().as_primitive::<Int64Type>().values().to_vec())
            .collect();
        assert!(values(AggregateKind::CollectList, &shrinking(), &frames, 10).is_err());
        let expected =
            frames.map(|frame| -> Vec<i64> { NUMBERS[frame].iter().flatten().copied().collect() });
        assert_eq!(found, expected);
    }

    #[test]
    fn frames_that_grow_are_added_to() {
        let frames = [0..1, 0..2, 0..2, 0..5, 0..7, 2..3, 2..5, 2..6];
        assert_eq!(Frames::new(&frames).unwrap().runs(), [0..4, 4..7]);
        let bits = values(
            AggregateKind::Bits(BitOperation::Or),
            &growing(),
            &frames,
            1 << 20,
        )
        .unwrap();
        let expected = frames.map(|frame| {
            let numbers = NUMBERS[frame].iter().flatten();
            numbers.copied().reduce(|one, other| one | other)
        });
        assert_eq!(
            bits.as_primitive::<Int64Type>(),
            &Int64Array::from(expected.to_vec())
        );
    }

    #[test]
    fn no_rows_have_no_values() {
        let columns = [column(1, DataType::Long)];
        let gathered =
            Gathered::new(&function(AggregateKind::CollectList), &growing(), &columns).unwrap();
        let pool: Arc<dyn MemoryPool> = Arc::new(GreedyMemoryPool::new(1 << 20));
        let reservation = MemoryConsumer::new("test").register(&pool);
        let none: ArrayRef = Arc::new(Int64Array::from(Vec::<i64>::new()));
        let batch = batch(&columns, vec![none]);
        let column = gathered.column(&[], &batch, &mut Memory::new(&reservation));
        assert_eq!(column.unwrap().part(0, 0).unwrap().len(), 0);
    }
}
