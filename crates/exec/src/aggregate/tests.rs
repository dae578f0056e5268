use std::sync::Arc;

use arrow::array::{ArrayRef, Int32Array, StringViewArray};
use catalyst::{
    AggregateExpression, AggregateFunction, AggregateKind, AggregateMode, AggregateStrategy,
    DataType, OperatorKind,
};

use crate::testing::{column, local, operator, reference, run_rows};

/// Lists of numbers by a text, of an operator that sorts what is left once it has so many groups.
fn lists(sorts_from: i32, rows: &[(&str, i32)]) -> Vec<String> {
    let input = [column(1, DataType::String), column(2, DataType::Integer)];
    let list = DataType::Array {
        element: Box::new(DataType::Integer),
        contains_null: false,
    };
    let result = column(3, list);
    let aggregate = AggregateExpression {
        function: AggregateFunction {
            kind: AggregateKind::CollectList,
            args: vec![reference(&input[1])],
            percentages: Vec::new(),
            constants: Vec::new(),
            data_type: result.data_type.clone(),
            input_buffer: Vec::new(),
        },
        mode: AggregateMode::Complete,
        distinct: false,
        filter: None,
        result_id: result.id,
    };
    let output = vec![input[0].clone(), result.clone()];
    let kind = OperatorKind::Aggregate {
        strategy: AggregateStrategy::ObjectHash { sorts_from },
        grouping: vec![reference(&input[0])],
        aggregates: vec![aggregate],
        aggregate_attributes: vec![result],
        result: output.iter().map(reference).collect(),
        initial_input_buffer_offset: 0,
        child: local(0, &input),
    };
    let keys: ArrayRef = Arc::new(
        rows.iter()
            .map(|row| Some(row.0))
            .collect::<StringViewArray>(),
    );
    let values: ArrayRef = Arc::new(rows.iter().map(|row| row.1).collect::<Int32Array>());
    run_rows(operator(kind, output), &input, vec![keys, values])
}

#[test]
fn buffers_of_many_groups_come_behind_those_of_later_rows() {
    let rows = [("b", 1), ("b", 2), ("c", 3), ("a", 4), ("b", 5), ("c", 6)];
    // The last group comes with the last row, or never: groups are as they were met.
    assert_eq!(lists(4, &rows), ["b [1, 2, 5]", "c [3, 6]", "a [4]"]);
    assert_eq!(lists(3, &rows[..4]), ["b [1, 2]", "c [3]", "a [4]"]);
    // Otherwise they are in order.
    assert_eq!(lists(3, &rows), ["a [4]", "b [5, 1, 2]", "c [6, 3]"]);
    assert_eq!(lists(2, &rows), ["a [4]", "b [5, 1, 2]", "c [6, 3]"]);
    assert_eq!(lists(1, &rows), ["a [4]", "b [2, 5, 1]", "c [3, 6]"]);
    assert_eq!(lists(0, &rows), ["a [4]", "b [2, 5, 1]", "c [3, 6]"]);
}
