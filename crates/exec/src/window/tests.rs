//! Windows over partitions that are longer than a batch.

use arrow::array::Int32Array;

use super::*;
use crate::testing::{
    Given, batch, column, local, operator, plan, reference, rows, run, run_rows, run_within,
    simple, text,
};
use catalyst::{AggregateExpression, AggregateFunction, AggregateKind, AggregateMode, DataType};
use catalyst::{EvalMode, ExprKind, Frame, FrameUnit, Literal, OperatorKind, TaskInputs};
use rows::error::RunError;

/// Partitions of 90 rows, two peers each; values 0, 1, ...
const ROWS: i32 = 200;

fn columns() -> [Attribute; 3] {
    [1, 2, 3].map(|id| column(id, DataType::Integer))
}

fn table() -> Vec<ArrayRef> {
    let of = |value: fn(i32) -> i32| -> ArrayRef {
        Arc::new((0..ROWS).map(value).map(Some).collect::<Int32Array>())
    };
    vec![of(|row| row / 90), of(|row| row / 2), of(|row| row)]
}

fn spec() -> (Vec<Expr>, Vec<SortOrder>) {
    let [partition, order, _] = columns();
    let order = SortOrder {
        child: reference(&order),
        ascending: true,
        nulls_first: true,
    };
    (vec![reference(&partition)], vec![order])
}

fn frame(unit: FrameUnit, lower: Bound, upper: Bound) -> Frame {
    Frame {
        unit,
        lower,
        upper,
        time_zone: None,
    }
}

fn offset(rows: i32) -> Bound {
    Bound::Offset(Expr {
        kind: ExprKind::Literal(Literal::Integer(rows)),
        data_type: DataType::Integer,
        nullable: false,
    })
}

fn sum() -> WindowFunction {
    let [.., value] = columns();
    WindowFunction::Aggregate(AggregateExpression {
        function: AggregateFunction {
            kind: AggregateKind::Sum {
                mode: EvalMode::Ansi,
            },
            args: vec![reference(&value)],
            data_type: DataType::Long,
            percentages: Vec::new(),
            constants: Vec::new(),
            input_buffer: Vec::new(),
        },
        mode: AggregateMode::Complete,
        distinct: false,
        filter: None,
        result_id: column(99, DataType::Long).id,
    })
}

/// What comes out for each row, behind its value.
fn windows(of: Vec<(WindowFunction, Frame)>) -> Operator {
    let expressions = of.into_iter().zip(10..);
    let expressions: Vec<_> = expressions
        .map(|((function, frame), id)| WindowExpression {
            output: column(id, function.data_type()),
            function,
            frame,
        })
        .collect();
    let own = expressions.iter().map(|of| of.output.clone());
    let output: Vec<Attribute> = columns().into_iter().chain(own).collect();
    let (partition, order) = spec();
    let kind = OperatorKind::Window {
        expressions,
        partition,
        order,
        child: local(0, &columns()),
    };
    operator(kind, output)
}

fn up_to_row() -> Frame {
    frame(
        FrameUnit::Rows,
        Bound::UnboundedPreceding,
        Bound::CurrentRow,
    )
}

#[test]
fn frames_do_not_end_with_batches() {
    let whole = frame(
        FrameUnit::Rows,
        Bound::UnboundedPreceding,
        Bound::UnboundedFollowing,
    );
    let peers = frame(FrameUnit::Range, Bound::CurrentRow, Bound::CurrentRow);
    let near = frame(FrameUnit::Range, offset(-1), offset(1));
    let root = windows(vec![
        (WindowFunction::RowNumber, up_to_row()),
        (WindowFunction::DenseRank, up_to_row()),
        (sum(), whole),
        (sum(), peers),
        (sum(), near),
    ]);
    let expected: Vec<String> = (0..ROWS)
        .map(|row| {
            let start = row / 90 * 90;
            let partition = start..(start + 90).min(ROWS);
            let of = |rows: std::ops::Range<i32>| -> i32 {
                rows.filter(|row| partition.contains(row)).sum()
            };
            let peer = row / 2 * 2;
            let (number, rank) = (row - start + 1, (peer - start) / 2 + 1);
            let sums = (of(0..ROWS), of(peer..peer + 2), of(peer - 2..peer + 4));
            let keys = (row / 90, row / 2, row);
            format!(
                "{} {} {} {number} {rank} {} {} {}",
                keys.0, keys.1, keys.2, sums.0, sums.1, sums.2
            )
        })
        .collect();
    assert_eq!(run_rows(root, &columns(), table()), expected);
}

#[test]
fn no_rows_have_no_windows() {
    let root = windows(vec![(WindowFunction::RowNumber, up_to_row())]);
    let none = table().iter().map(|column| column.slice(0, 0)).collect();
    assert_eq!(run_rows(root, &columns(), none).len(), 0);
}

#[test]
fn the_first_of_each_partition() {
    let (partition, order) = spec();
    let limit = OperatorKind::WindowGroupLimit {
        partition,
        order,
        rank: RankLike::Rank,
        limit: 3,
        child: local(0, &columns()),
    };
    let root = operator(limit, columns().to_vec());
    let rows = run_rows(root, &columns(), table());
    let values: Vec<_> = rows
        .iter()
        .filter_map(|row| row.split(' ').nth(2))
        .collect();
    let expected = [0, 1, 2, 3, 90, 91, 92, 93, 180, 181, 182, 183];
    assert_eq!(values, expected.map(|value| value.to_string()));
}

#[test]
fn a_partition_without_room_is_an_error() {
    let stage = simple(windows(vec![(WindowFunction::RowNumber, up_to_row())]));
    let input = || TaskInputs::Leaf(0, rows(&columns(), &[batch(&columns(), table())]));
    let of = || plan(&stage, &input(), Given::default());
    assert_eq!(text(&run(&of())).len(), ROWS as usize);
    let end = run_within(&of(), 2000);
    assert!(matches!(end, Err(RunError::BailOut(_))), "{end:?}");
}
