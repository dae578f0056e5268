//! Where frames begin and end in their partitions, as columns behind those of the input: for who computes values of
//! frames elsewhere.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int32Array};
use datafusion_common::Result as DataFusionResult;

use super::frame::{FrameSpec, Layout};
use super::{Function, Keys, Plan, run, sorted};
use crate::exec::{Start, pipe};
use crate::lower::{Lowered, Lowering, Result};
use catalyst::{Attribute, DataType, Expr, ExprId, Frame, Inputs, Operator, SortOrder};
use rows::error::bail_out;

/// Id of attributes of bounds: that of no driver.
const OWN_JVM: u128 = u128::MAX - 2;

/// Lowers an input with bounds of frames, of which each is there once: two columns for each frame that is not the whole
/// partition, of its first row and the one behind its last, counted from the partition's first.
///
/// Partitions come in one piece if there are bounds.
pub(in super::super) fn with_bounds(
    lowering: &Lowering,
    operator: (&[&Frame], &[Expr], &[SortOrder], &Operator),
    inputs: &Inputs,
    columns: Option<&std::collections::HashSet<ExprId>>,
) -> Result<(Lowered, Vec<Option<[Attribute; 2]>>)> {
    let (frames, partition, order, child) = operator;
    let child = sorted(lowering, child, inputs, columns)?;
    let input = child.output()?.to_vec();
    let mut plan = Plan {
        keys: Keys::new(partition, order, &input)?,
        frames: Vec::new(),
        functions: Vec::new(),
    };
    let (mut output, mut of_frames) = (input.clone(), Vec::new());
    for frame in frames {
        if frame.is_whole() {
            of_frames.push(None);
            continue;
        }
        let place = plan.frames.len();
        plan.frames.push(FrameSpec::new(frame, order, &input)?);
        for edge in [Edge::First, Edge::BehindLast] {
            plan.functions.push(Function::Bound { edge, frame: place });
        }
        let own = [bound(2 * place), bound(2 * place + 1)];
        output.extend_from_slice(&own);
        of_frames.push(Some(own));
    }
    if plan.functions.is_empty() {
        return Ok((child, of_frames));
    }
    let plan = Arc::new(plan);
    let start = move |start: &Start<'_>| {
        let windows = run::Windows::of_any_length(Arc::clone(&plan), start);
        Ok(pipe(windows, start.input(0)?, start.baseline()))
    };
    let lowered = Lowered::unary("WindowBoundsExec", output, child, Arc::new(start))?;
    Ok((lowered, of_frames))
}

/// The column of a bound, by its place among them.
fn bound(place: usize) -> Attribute {
    Attribute {
        name: "bound".to_owned(),
        data_type: DataType::Integer,
        nullable: false,
        id: ExprId {
            id: i64::try_from(place).unwrap_or(i64::MAX),
            jvm_id: OWN_JVM,
        },
    }
}

/// A bound of a frame.
#[derive(Debug, Clone, Copy)]
pub(super) enum Edge {
    /// Its first row.
    First,
    /// The row behind its last.
    BehindLast,
}

impl Edge {
    /// Of the frame of each row, counted from the first row of the partition.
    pub(super) fn column(
        self,
        layout: &Layout,
        frames: &[Range<usize>],
    ) -> DataFusionResult<ArrayRef> {
        let rows = layout.rows().zip(frames);
        let places = rows.map(|((_, partition, _), frame)| {
            let place = match self {
                Self::First => frame.start,
                Self::BehindLast => frame.end,
            };
            // Frames are parts of their partitions.
            i32::try_from(place.saturating_sub(partition.start))
        });
        let places = places.collect::<std::result::Result<Vec<i32>, _>>();
        let places = places.map_err(|_| bail_out("a partition of more than two billion rows"))?;
        Ok(Arc::new(Int32Array::from(places)))
    }
}

#[cfg(test)]
mod tests {
    use std::cmp::Ordering;

    use arrow::array::{AsArray as _, RecordBatch};
    use arrow::datatypes::Int32Type;

    use super::*;
    use crate::testing::{batch, column, reference};
    use catalyst::{Bound, ExprKind, FrameUnit, Literal};

    /// Rows of partitions, as the keys that they are sorted by.
    const PARTITIONS: [&[i32]; 4] = [
        &[1, 2, 2, 2, 5, 9, 9],
        &[3],
        &[0, 1],
        &[-4, -4, 0, 0, 7, 8, 9, 9],
    ];

    fn columns() -> [Attribute; 2] {
        [1, 2].map(|id| column(id, DataType::Integer))
    }

    fn order(ascending: bool) -> SortOrder {
        SortOrder {
            child: reference(&columns()[1]),
            ascending,
            nulls_first: true,
        }
    }

    fn rows(ascending: bool) -> RecordBatch {
        let (mut partitions, mut keys) = (Vec::new(), Vec::new());
        for (partition, of) in (0..).zip(PARTITIONS) {
            partitions.extend(of.iter().map(|_| partition));
            keys.extend(sorted_keys(of, ascending));
        }
        let columns_of = [partitions, keys].map(|of| Arc::new(Int32Array::from(of)) as ArrayRef);
        batch(&columns(), columns_of.to_vec())
    }

    fn sorted_keys(keys: &[i32], ascending: bool) -> Vec<i32> {
        let mut keys = keys.to_vec();
        if !ascending {
            keys.reverse();
        }
        keys
    }

    fn bound(of: Option<i32>, unbounded: Bound) -> Bound {
        match of {
            None => unbounded,
            Some(0) => Bound::CurrentRow,
            Some(offset) => Bound::Offset(Expr {
                kind: ExprKind::Literal(Literal::Integer(offset)),
                data_type: DataType::Integer,
                nullable: false,
            }),
        }
    }

    /// As Spark's frames find their bounds, row by row of a partition. What is compared is the place or the key of a
    /// row with those of another and an offset.
    fn of_spark(of: &[i32], lower: Option<i32>, upper: Option<i32>) -> Vec<[i32; 2]> {
        let rows = of.len();
        let compare = |at: usize, row: usize, offset: i32| of[at].cmp(&(of[row] + offset));
        let (mut first, mut behind) = (0, 0);
        let bounds = (0..rows).map(|row| {
            match (lower, upper) {
                (None, None) => behind = rows,
                (None, Some(upper)) => {
                    while behind < rows && compare(behind, row, upper) != Ordering::Greater {
                        behind += 1;
                    }
                }
                (Some(lower), None) => {
                    behind = rows;
                    while first < rows && compare(first, row, lower) == Ordering::Less {
                        first += 1;
                    }
                }
                (Some(lower), Some(upper)) => {
                    while first < behind && compare(first, row, lower) == Ordering::Less {
                        first += 1;
                    }
                    while behind < rows && compare(behind, row, upper) != Ordering::Greater {
                        if first == behind && compare(behind, row, lower) == Ordering::Less {
                            first += 1;
                        }
                        behind += 1;
                    }
                }
            }
            [first, behind].map(|place| i32::try_from(place).unwrap())
        });
        bounds.collect()
    }

    #[test]
    fn bounds_are_where_spark_finds_them() {
        let offsets = [
            None,
            Some(-9),
            Some(-3),
            Some(-2),
            Some(-1),
            Some(0),
            Some(1),
            Some(2),
            Some(30),
        ];
        let input = columns();
        for unit in [FrameUnit::Rows, FrameUnit::Range] {
            for ascending in [true, false] {
                let order = [order(ascending)];
                let keys = Keys::new(&[reference(&input[0])], &order, &input).unwrap();
                let batch = rows(ascending);
                let layout = Layout::new(&keys, &batch).unwrap();
                for (lower, upper) in offsets
                    .iter()
                    .flat_map(|lower| offsets.map(|upper| (*lower, upper)))
                {
                    let frame = Frame {
                        unit,
                        lower: bound(lower, Bound::UnboundedPreceding),
                        upper: bound(upper, Bound::UnboundedFollowing),
                        time_zone: None,
                    };
                    let spec = FrameSpec::new(&frame, &order, &input).unwrap();
                    let frames = spec.of_rows(&layout, &batch).unwrap();
                    let found = [Edge::First, Edge::BehindLast].map(|edge| {
                        let column = edge.column(&layout, &frames).unwrap();
                        column.as_primitive::<Int32Type>().values().to_vec()
                    });
                    let found: Vec<_> = found[0]
                        .iter()
                        .zip(&found[1])
                        .map(|(first, behind)| [*first, *behind])
                        .collect();
                    let expected = PARTITIONS.iter().flat_map(|of| {
                        let keys = sorted_keys(of, ascending);
                        // Offsets are counted in the direction of the order.
                        let compared: Vec<i32> = match unit {
                            FrameUnit::Rows => (0..).take(of.len()).collect(),
                            FrameUnit::Range if ascending => keys,
                            FrameUnit::Range => keys.iter().map(|key| -key).collect(),
                        };
                        of_spark(&compared, lower, upper)
                    });
                    assert_eq!(found, expected.collect::<Vec<_>>(), "{frame} {ascending}");
                }
            }
        }
    }
}
