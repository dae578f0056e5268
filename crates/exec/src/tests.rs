//! Operators over rows in memory.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, BooleanArray, Int32Array, RecordBatch, StringViewArray};
use bytes::Bytes;

use super::testing::*;
use catalyst::DataType;
use catalyst::Metric;
use catalyst::*;
use catalyst::{AggregateStrategy, Columns, Operator, OperatorKind, ShuffleRead};
use catalyst::{Attribute, EvalMode, Expr, ExprId, ExprKind, SortOrder};
use catalyst::{Inputs, LeafInput, ShufflePartitionSpec, TaskInputs};
use rows::RowEncoder;

fn ints(values: &[Option<i32>]) -> ArrayRef {
    Arc::new(Int32Array::from(values.to_vec()))
}

#[test]
fn filters_leave_out_false_and_null() {
    let columns = [column(1, DataType::Integer), column(2, DataType::Boolean)];
    let filter = OperatorKind::Filter {
        condition: reference(&columns[1]),
        child: local(0, &columns),
    };
    let keep = BooleanArray::from(vec![Some(true), None, Some(false), Some(true)]);
    let values = ints(&[Some(1), Some(2), Some(3), None]);
    let root = operator(filter, columns.to_vec());
    let rows = run_rows(root, &columns, vec![values, Arc::new(keep)]);
    assert_eq!(rows, ["1 true", "null true"]);
}

#[test]
fn columns_that_nobody_needs_are_not_carried() {
    let columns = [column(1, DataType::Integer), column(2, DataType::Boolean)];
    let filter = OperatorKind::Filter {
        condition: reference(&columns[1]),
        child: local(0, &columns),
    };
    let project = OperatorKind::Project {
        list: vec![reference(&columns[0])],
        child: Box::new(operator(filter, columns.to_vec())),
    };
    let keep: ArrayRef = Arc::new(BooleanArray::from(vec![false, true]));
    let root = operator(project, columns[..1].to_vec());
    let rows = run_rows(root, &columns, vec![ints(&[Some(1), Some(2)]), keep]);
    assert_eq!(rows, ["2"]);
}

#[test]
fn limits_skip_and_count() {
    let columns = [column(1, DataType::Integer)];
    let values: Vec<_> = (0..200).map(Some).collect();
    let of = |limit, offset| {
        let child = local(0, &columns);
        let limit = OperatorKind::Limit {
            limit,
            offset,
            child,
        };
        let root = operator(limit, columns.to_vec());
        run_rows(root, &columns, vec![ints(&values)])
    };
    assert_eq!(of(101, 98), ["98", "99", "100"]);
    assert_eq!(of(3, 98).len(), 0);
    assert_eq!(of(3, 0), ["0", "1", "2"]);
    assert_eq!(of(0, 0).len(), 0);
    assert_eq!(of(-1, 150).len(), 50);
}

#[test]
fn sorts_and_their_first_rows() {
    let columns = [column(1, DataType::Integer)];
    let values = ints(&[Some(2), None, Some(3), Some(1)]);
    let of = |ascending, nulls_first, limit| {
        let order = vec![SortOrder {
            child: reference(&columns[0]),
            ascending,
            nulls_first,
        }];
        let child = local(0, &columns);
        let kind = match limit {
            None => OperatorKind::Sort {
                order,
                global: true,
                child,
            },
            Some(limit) => OperatorKind::TopK {
                limit,
                order,
                child,
            },
        };
        let root = operator(kind, columns.to_vec());
        run_rows(root, &columns, vec![Arc::clone(&values)])
    };
    assert_eq!(of(true, true, None), ["null", "1", "2", "3"]);
    assert_eq!(of(false, false, None), ["3", "2", "1", "null"]);
    assert_eq!(of(false, true, Some(2)), ["null", "3"]);
}

#[test]
fn unions_take_one_input_and_coalesce_all_of_them() {
    let columns = [column(1, DataType::Integer)];
    let other = [column(2, DataType::Integer)];
    let union = OperatorKind::Union(vec![*local(0, &columns), *local(1, &other)]);
    let union = operator(union, columns.to_vec());
    let root = operator(OperatorKind::Coalesce(Box::new(union)), columns.to_vec());
    let inputs = Inputs::Union(vec![Inputs::Leaf(0), Inputs::Leaf(1)]);
    let inputs = Inputs::Coalesced(Box::new(inputs));
    let stage = super::NativeStage::new(stage(root, inputs, true)).unwrap();
    let input = |place: usize, value| {
        let rows = rows(&columns, &[batch(&columns, vec![ints(&[Some(value)])])]);
        TaskInputs::Union(place, Box::new(TaskInputs::Leaf(place, rows)))
    };
    let inputs = TaskInputs::Coalesced(vec![input(1, 7), input(0, 8), input(1, 9)]);
    let plan = plan(&stage, &inputs, Given::default());
    assert_eq!(text(&run(&plan)), ["7", "8", "9"]);
    // Of the union and of the coalesce.
    let rows = plan.metrics();
    assert_eq!(rows.iter().map(|(_, value)| value).sum::<i64>(), 6);
}

#[test]
fn expansions_give_a_row_for_each_projection() {
    let columns = [column(1, DataType::Integer), column(2, DataType::Integer)];
    let (a, b) = (reference(&columns[0]), reference(&columns[1]));
    let output = vec![column(3, DataType::Integer), column(4, DataType::Integer)];
    let expand = OperatorKind::Expand {
        projections: vec![vec![a.clone(), b.clone()], vec![b, a]],
        child: local(0, &columns),
    };
    let root = operator(expand, output);
    let rows = run_rows(root, &columns, vec![ints(&[Some(1)]), ints(&[Some(2)])]);
    assert_eq!(rows, ["1 2", "2 1"]);
}

#[test]
fn shuffles_are_read_block_by_block() {
    let columns = [column(1, DataType::Integer), column(2, DataType::String)];
    let text_of = |text| -> ArrayRef { Arc::new(StringViewArray::from(vec![text])) };
    let mut encoder = RowEncoder::new(columns.iter().map(|c| &c.data_type)).unwrap();
    let mut block = |value, text| {
        let batch = batch(&columns, vec![ints(&[value]), text_of(text)]);
        Bytes::copy_from_slice(encoder.encode(&batch).unwrap().bytes())
    };
    let blocks = vec![block(Some(1), Some("one")), block(None, None)];
    let shuffle = ShuffleRead {
        shuffle_id: 0,
        num_maps: 2,
        num_partitions: 1,
        num_fields: 2,
    };
    let judged = |output: &Columns| {
        let kind = OperatorKind::ShuffleRead { leaf: 0, shuffle };
        let limit = OperatorKind::Limit {
            limit: 2,
            offset: 0,
            child: Box::new(operator_of(kind, output.clone())),
        };
        let root = operator_of(limit, output.clone());
        super::NativeStage::new(stage(root, Inputs::Leaf(0), true))
    };
    let read = |output: Columns| {
        let stage = judged(&output).unwrap();
        let spec = LeafInput::Shuffle(ShufflePartitionSpec::Coalesced {
            start_reducer: 0,
            end_reducer: 1,
        });
        let sources = Given {
            blocks: blocks.clone(),
            ..Given::default()
        };
        let plan = plan(&stage, &TaskInputs::Leaf(0, spec), sources);
        (stage.raw_rows(), run(&plan))
    };
    let (raw, batches) = read(Columns::Known(columns.to_vec()));
    assert!(!raw);
    assert_eq!(text(&batches), ["1 one", "null null"]);
    let unknown = |num_fields| Columns::Opaque { num_fields };
    let (raw, batches) = read(unknown(Some(2)));
    assert!(raw);
    assert_eq!(text(&batches).len(), 2);
    for other in [
        Columns::Known(Vec::new()),
        unknown(Some(0)),
        unknown(Some(3)),
    ] {
        assert!(judged(&other).is_err(), "{other:?}");
    }
}

#[test]
fn local_rows_are_passed_on_whole_where_nobody_names_their_columns() {
    let columns = [column(1, DataType::Integer), column(2, DataType::String)];
    let texts: ArrayRef = Arc::new(StringViewArray::from(vec![Some("x"), None]));
    let of = batch(&columns, vec![ints(&[Some(1), None]), texts]);
    let input = rows(&columns, &[of]);
    let LeafInput::Rows(sent) = &input else {
        panic!("{input:?}");
    };
    let run_as = |output: Columns| {
        let kind = OperatorKind::LocalTableScan { leaf: 0 };
        let stage = stage(operator_of(kind, output), Inputs::Leaf(0), true);
        let stage = super::NativeStage::new(stage).unwrap();
        let plan = plan(
            &stage,
            &TaskInputs::Leaf(0, input.clone()),
            Given::default(),
        );
        (stage.raw_rows(), run_within(&plan, 1 << 20))
    };
    let (raw, whole) = run_as(Columns::Opaque { num_fields: None });
    assert!(raw);
    let whole = whole.unwrap();
    let found: Vec<_> = whole
        .iter()
        .flat_map(|batch| batch.column(0).as_binary_view().iter())
        .map(|row| row.unwrap().to_vec())
        .collect();
    assert_eq!(&found, sent);
    // More columns were promised than the rows have.
    let promised = Columns::Opaque {
        num_fields: Some(9),
    };
    assert!(run_as(promised).1.is_err());
    let (raw, named) = run_as(Columns::Known(columns.to_vec()));
    assert!(!raw);
    assert_eq!(text(&named.unwrap()), ["1 x", "null null"]);
}

#[test]
fn what_looks_into_rows_has_to_know_their_columns() {
    let known = column(1, DataType::Integer);
    let unknown = || {
        let kind = OperatorKind::LocalTableScan { leaf: 0 };
        Box::new(operator_of(kind, Columns::Opaque { num_fields: None }))
    };
    let order = || {
        vec![SortOrder {
            child: reference(&known),
            ascending: true,
            nulls_first: true,
        }]
    };
    let filter = OperatorKind::Filter {
        condition: reference(&column(2, DataType::Boolean)),
        child: unknown(),
    };
    let project = OperatorKind::Project {
        list: Vec::new(),
        child: unknown(),
    };
    let sort = OperatorKind::Sort {
        order: order(),
        global: false,
        child: unknown(),
    };
    let first = OperatorKind::TopK {
        limit: 1,
        order: order(),
        child: unknown(),
    };
    for kind in [filter, project, sort, first] {
        let root = operator(kind, vec![known.clone()]);
        let judged = super::NativeStage::new(stage(root, Inputs::Leaf(0), true));
        let why = judged.unwrap_err().to_string();
        assert_eq!(why, "rows of unknown columns");
    }
}

#[test]
fn unions_take_unknown_columns_for_those_of_another_input() {
    let columns = [column(1, DataType::Integer)];
    let unknown = |leaf, num_fields| {
        let kind = OperatorKind::LocalTableScan { leaf };
        operator_of(kind, Columns::Opaque { num_fields })
    };
    let mut named = unknown(0, Some(1));
    named.name_columns(&columns).unwrap();
    assert_eq!(named.output, Columns::Known(columns.to_vec()));
    named.name_columns(&columns).unwrap();
    let other = [column(1, DataType::String)];
    assert!(named.name_columns(&other).is_err(), "they have other types");
    assert!(unknown(0, Some(2)).name_columns(&columns).is_err());
    // A union of unknown inputs passes whole rows on; one of both kinds does not exist.
    let inputs = || Inputs::Union(vec![Inputs::Leaf(0), Inputs::Leaf(1)]);
    let judged = |children, output| {
        let root = operator_of(OperatorKind::Union(children), output);
        super::NativeStage::new(stage(root, inputs(), true))
    };
    let opaque = Columns::Opaque { num_fields: None };
    let whole = judged(vec![unknown(0, None), unknown(1, None)], opaque.clone()).unwrap();
    assert!(whole.raw_rows());
    assert!(judged(vec![unknown(0, None), *local(1, &columns)], opaque).is_err());
}

fn attribute_of(id: ExprId, data_type: DataType) -> Attribute {
    Attribute {
        name: "buffer".to_owned(),
        data_type,
        nullable: true,
        id,
    }
}

/// Count, sum and least of the second column by the first, partial and then final.
struct Aggregation {
    input: [Attribute; 2],
    key: Attribute,
    buffers: Vec<Attribute>,
    results: Vec<Attribute>,
}

impl Aggregation {
    fn new() -> Self {
        let input = [column(1, DataType::String), column(2, DataType::Integer)];
        let buffers = [DataType::Long, DataType::Long, DataType::Integer];
        let buffers = (10..).zip(buffers).map(|(id, of)| column(id, of)).collect();
        let results = [DataType::Long, DataType::Long, DataType::Integer];
        let results = (20..).zip(results).map(|(id, of)| column(id, of)).collect();
        Self {
            key: input[0].clone(),
            input,
            buffers,
            results,
        }
    }

    fn functions(&self, mode: AggregateMode) -> Vec<AggregateExpression> {
        let kinds = [
            AggregateKind::Count,
            AggregateKind::Sum {
                mode: EvalMode::Legacy,
            },
            AggregateKind::Min,
        ];
        let all = kinds.into_iter().zip(&self.buffers).zip(&self.results);
        all.map(|((kind, buffer), result)| AggregateExpression {
            function: AggregateFunction {
                kind,
                args: vec![reference(&self.input[1])],
                data_type: result.data_type.clone(),
                percentages: Vec::new(),
                constants: Vec::new(),
                input_buffer: vec![buffer.clone()],
            },
            mode,
            distinct: false,
            filter: None,
            result_id: result.id,
        })
        .collect()
    }

    fn operator(&self, mode: AggregateMode, grouped: bool) -> Operator {
        let keys = if grouped {
            vec![self.key.clone()]
        } else {
            vec![]
        };
        let ends = matches!(mode, AggregateMode::Final | AggregateMode::Complete);
        let columns = if ends { &self.results } else { &self.buffers };
        let output = [keys.clone(), columns.clone()].concat();
        let input = match mode.merges() {
            true => [keys.clone(), self.buffers.clone()].concat(),
            false => self.input.to_vec(),
        };
        let kind = OperatorKind::Aggregate {
            strategy: AggregateStrategy::Hash,
            grouping: keys.iter().map(reference).collect(),
            aggregates: self.functions(mode),
            aggregate_attributes: columns.clone(),
            result: output.iter().map(reference).collect(),
            initial_input_buffer_offset: keys.len(),
            child: local(0, &input),
        };
        operator(kind, output)
    }

    fn run(
        &self,
        mode: AggregateMode,
        grouped: bool,
        batches: &[RecordBatch],
        memory: usize,
    ) -> Vec<RecordBatch> {
        let root = self.operator(mode, grouped);
        let child = root.children().next().unwrap();
        let input = rows(child.output.require().unwrap(), batches);
        let input = TaskInputs::Leaf(0, input);
        let stage = stage(root, Inputs::Leaf(0), false);
        let stage = super::NativeStage::new(stage).unwrap();
        let plan = plan(&stage, &input, Given::default());
        run_within(&plan, memory).unwrap()
    }

    fn input(&self, keys: &[Option<&str>], values: &[Option<i32>]) -> RecordBatch {
        let keys: ArrayRef = Arc::new(StringViewArray::from(keys.to_vec()));
        batch(&self.input, vec![keys, ints(values)])
    }
}

#[test]
fn sorts_that_are_left_out_send_their_metrics() {
    let of = Aggregation::new();
    let mut root = of.operator(AggregateMode::Partial, true);
    let OperatorKind::Aggregate { child, .. } = &mut root.kind else {
        panic!("{root:?}");
    };
    let kind = OperatorKind::Sort {
        order: vec![SortOrder {
            child: reference(&of.key),
            ascending: true,
            nulls_first: true,
        }],
        global: false,
        child: child.clone(),
    };
    let mut sort = operator(kind, of.input.to_vec());
    sort.metrics = ["peakMemory", "sortTime"]
        .into_iter()
        .zip([7, 8])
        .map(|(name, accumulator)| Metric {
            name: name.to_owned(),
            accumulator,
        })
        .collect();
    **child = sort;
    let input = of.input(&[Some("b"), Some("a")], &[Some(1), None]);
    let leaf = TaskInputs::Leaf(0, rows(&of.input, &[input]));
    let stage = stage(root, Inputs::Leaf(0), false);
    let stage = super::NativeStage::new(stage).unwrap();
    let plan = plan(&stage, &leaf, Given::default());
    run(&plan);
    assert_eq!(plan.metrics(), [(1, 2), (7, 0), (8, 0)]);
}

#[test]
fn aggregations_have_buffers_and_results() {
    let of = Aggregation::new();
    let input = of.input(
        &[
            Some("b"),
            None,
            Some("a longer key, not inline"),
            None,
            Some("b"),
        ],
        &[Some(1), Some(2), None, None, Some(5)],
    );
    let memory = 1 << 30;
    let buffers = of.run(
        AggregateMode::Partial,
        true,
        std::slice::from_ref(&input),
        memory,
    );
    let expected = [
        "a longer key, not inline 0 null null",
        "b 2 6 1",
        "null 1 2 2",
    ];
    assert_eq!(sorted(text(&buffers)), expected);
    let twice = [buffers.clone(), buffers].concat();
    let merged = of.run(AggregateMode::PartialMerge, true, &twice, memory);
    let result = of.run(AggregateMode::Final, true, &merged, memory);
    let expected = [
        "a longer key, not inline 0 null null",
        "b 4 12 1",
        "null 2 4 2",
    ];
    assert_eq!(sorted(text(&result)), expected);
    let complete = of.run(AggregateMode::Complete, true, &[input], memory);
    assert_eq!(complete.iter().map(RecordBatch::num_rows).sum::<usize>(), 3);
}

#[test]
fn groups_that_are_hardly_fewer_than_rows_go_out_at_once() {
    let of = Aggregation::new();
    let memory = 1 << 30;
    let input = |groups: i32, rows: i32| -> Vec<RecordBatch> {
        let rows: Vec<i32> = (0..rows).collect();
        let batches = rows.chunks(8192).map(|rows| {
            let keys: StringViewArray = rows
                .iter()
                .map(|row| (row % groups > 0).then(|| (row % groups).to_string()))
                .collect();
            let values: Vec<_> = rows
                .iter()
                .map(|row| (row % 5 > 0).then_some(*row))
                .collect();
            batch(&of.input, vec![Arc::new(keys), ints(&values)])
        });
        batches.collect()
    };
    let count =
        |batches: &[RecordBatch]| -> usize { batches.iter().map(RecordBatch::num_rows).sum() };
    // Few groups; many, but not that many; more, of which some come again.
    for (groups, rows, partial) in [
        (1_000, 200_000, 1_000),
        (100_000, 200_000, 100_000),
        (180_000, 260_000, 260_000),
    ] {
        let input = input(groups, rows);
        let buffers = of.run(AggregateMode::Partial, true, &input, memory);
        assert_eq!(count(&buffers), partial);
        // Groups that come once are added up before they go out.
        let merged = of.run(AggregateMode::PartialMerge, true, &buffers, memory);
        assert_eq!(count(&merged), groups as usize);
        let result = of.run(AggregateMode::Final, true, &buffers, memory);
        let complete = of.run(AggregateMode::Complete, true, &input, memory);
        assert!(sorted(text(&result)) == sorted(text(&complete)), "{groups}");
    }
}

#[test]
fn without_keys_there_is_one_row_even_of_nothing() {
    let of = Aggregation::new();
    let nothing = of.input(&[], &[]);
    let memory = 1 << 30;
    let buffers = of.run(
        AggregateMode::Partial,
        false,
        std::slice::from_ref(&nothing),
        memory,
    );
    assert_eq!(text(&buffers), ["0 null null"]);
    let result = of.run(AggregateMode::Final, false, &buffers, memory);
    assert_eq!(text(&result), ["0 null null"]);
    let grouped = of.run(AggregateMode::Partial, true, &[nothing], memory);
    assert_eq!(text(&grouped).len(), 0);
}

#[test]
fn aggregations_that_do_not_fit_are_spilled() {
    let of = Aggregation::new();
    let keys: Vec<String> = (0..20_000)
        .map(|key| format!("key number {}", key % 10_000))
        .collect();
    let keys: Vec<Option<&str>> = keys.iter().map(|key| Some(&**key)).collect();
    let values: Vec<_> = (0..20_000).map(Some).collect();
    let input = of.input(&keys, &values);
    let all = of.run(
        AggregateMode::Complete,
        true,
        std::slice::from_ref(&input),
        1 << 30,
    );
    let spilled = of.run(AggregateMode::Complete, true, &[input], 700_000);
    assert_eq!(sorted(text(&spilled)), sorted(text(&all)));
    assert_eq!(text(&all).len(), 10_000);
}

#[test]
fn distinct_keys_alone() {
    let of = Aggregation::new();
    let kind = OperatorKind::Aggregate {
        strategy: AggregateStrategy::Hash,
        grouping: vec![reference(&of.input[1])],
        aggregates: Vec::new(),
        aggregate_attributes: Vec::new(),
        result: vec![reference(&of.input[1])],
        initial_input_buffer_offset: 0,
        child: local(0, &of.input),
    };
    let root = operator(kind, of.input[1..].to_vec());
    let keys: ArrayRef = Arc::new(StringViewArray::from(vec!["x"; 4]));
    let values = ints(&[Some(2), None, Some(2), None]);
    assert_eq!(run_rows(root, &of.input, vec![keys, values]), ["2", "null"]);
}

#[test]
fn results_are_expressions_of_keys_and_functions() {
    let of = Aggregation::new();
    let mut root = of.operator(AggregateMode::Complete, true);
    let OperatorKind::Aggregate { result, .. } = &mut root.kind else {
        panic!();
    };
    let alias = |child: Expr, id| Expr {
        data_type: child.data_type.clone(),
        nullable: true,
        kind: ExprKind::Alias {
            child: Box::new(child),
            name: "renamed".to_owned(),
            id: ExprId { id, jvm_id: 0 },
        },
    };
    *result = vec![alias(reference(&of.results[1]), 30), reference(&of.key)];
    root.output = Columns::Known(vec![
        attribute_of(ExprId { id: 30, jvm_id: 0 }, DataType::Long),
        of.key.clone(),
    ]);
    let keys: ArrayRef = Arc::new(StringViewArray::from(vec!["x"; 2]));
    let rows = run_rows(root, &of.input, vec![keys, ints(&[Some(2), Some(3)])]);
    assert_eq!(rows, ["5 x"]);
}

#[test]
fn what_is_not_known_is_refused() {
    let columns = [column(1, DataType::Integer)];
    let unknown = column(2, DataType::Integer);
    let project = OperatorKind::Project {
        list: vec![reference(&unknown)],
        child: local(0, &columns),
    };
    let root = operator(project, vec![unknown]);
    assert!(super::NativeStage::new(stage(root, Inputs::Leaf(0), true)).is_err());
}
