use catalyst::{
    AggregateExpression, AggregateFunction, AggregateKind, AggregateMode, AggregateStrategy,
    CollectResult, Columns, DataType, EvalMode, Operator, OperatorKind, ShuffleRead, SortOrder,
};

use super::super::facts::{LIMITED, SUMS};
use super::super::rows::{Column, Slot};
use super::*;

fn attribute(id: i64, data_type: DataType) -> Attribute {
    Attribute {
        name: format!("c{id}"),
        data_type,
        nullable: true,
        id: ExprId { id, jvm_id: 1 },
    }
}

fn long(id: i64) -> Attribute {
    attribute(id, DataType::Long)
}

fn double(id: i64) -> Attribute {
    attribute(id, DataType::Double)
}

fn operator(kind: OperatorKind, output: &[Attribute]) -> Box<Operator> {
    Box::new(Operator {
        kind,
        output: Columns::Known(output.to_vec()),
        metrics: Vec::new(),
    })
}

fn numbers(output: &[Attribute]) -> Box<Operator> {
    operator(OperatorKind::LocalTableScan { leaf: 0 }, output)
}

fn shuffled(output: &[Attribute]) -> Box<Operator> {
    let shuffle = ShuffleRead {
        shuffle_id: 1,
        num_maps: 2,
        num_partitions: 2,
        num_fields: 2,
    };
    operator(OperatorKind::ShuffleRead { leaf: 0, shuffle }, output)
}

fn by(key: &Attribute) -> SortOrder {
    SortOrder {
        child: Expr::attribute(key.clone()),
        ascending: true,
        nulls_first: true,
    }
}

fn sorted(child: Box<Operator>, key: &Attribute) -> Box<Operator> {
    let output = child.output.require().unwrap().to_vec();
    let kind = OperatorKind::Sort {
        order: vec![by(key)],
        global: true,
        child,
    };
    operator(kind, &output)
}

fn limited(child: Box<Operator>, limit: i32) -> Box<Operator> {
    let output = child.output.require().unwrap().to_vec();
    let kind = OperatorKind::Limit {
        limit,
        offset: 0,
        child,
    };
    operator(kind, &output)
}

fn filtered(child: Box<Operator>, condition: &Attribute) -> Box<Operator> {
    let output = child.output.require().unwrap().to_vec();
    let kind = OperatorKind::Filter {
        condition: Expr::attribute(condition.clone()),
        child,
    };
    operator(kind, &output)
}

/// Sums of `of` by `key`.
fn sums(
    child: Box<Operator>,
    key: &Attribute,
    of: &Attribute,
    result: &Attribute,
) -> Box<Operator> {
    let kind = AggregateKind::Sum {
        mode: EvalMode::Legacy,
    };
    aggregated(kind, child, key, of, result)
}

/// An aggregate of `of` by `key`.
fn aggregated(
    kind: AggregateKind,
    child: Box<Operator>,
    key: &Attribute,
    of: &Attribute,
    result: &Attribute,
) -> Box<Operator> {
    let function = AggregateFunction {
        kind,
        args: vec![Expr::attribute(of.clone())],
        data_type: result.data_type.clone(),
        percentages: Vec::new(),
        constants: Vec::new(),
        input_buffer: Vec::new(),
    };
    let kind = OperatorKind::Aggregate {
        strategy: AggregateStrategy::Hash,
        grouping: vec![Expr::attribute(key.clone())],
        aggregates: vec![AggregateExpression {
            function,
            mode: AggregateMode::Complete,
            distinct: false,
            filter: None,
            result_id: result.id,
        }],
        aggregate_attributes: vec![result.clone()],
        result: vec![
            Expr::attribute(key.clone()),
            Expr::attribute(result.clone()),
        ],
        initial_input_buffer_offset: 0,
        child,
    };
    operator(kind, &[key.clone(), result.clone()])
}

fn collect(root: Box<Operator>, limit: i32) -> Rules {
    let output = Output::Collect {
        limit,
        take_from_end: false,
        result: CollectResult::Array,
    };
    rules(root, output)
}

fn rules(root: Box<Operator>, output: Output) -> Rules {
    Rules::new(&Stage {
        root: *root,
        inputs: catalyst::Inputs::Leaf(0),
        output,
        kryo: None,
    })
}

fn columns_of(rules: &Rules) -> &[Column] {
    rules.view.columns.as_deref().expect("known columns")
}

fn looks(rules: &Rules) -> Vec<Determined> {
    columns_of(rules).iter().map(|of| of.look).collect()
}

#[test]
fn rows_of_files_have_an_order_and_those_of_shuffles_have_none() {
    let columns = [long(1), double(2)];
    let rules = collect(numbers(&columns), -1);
    assert_eq!(rules.view.count, Count::All);
    assert_eq!(rules.view.sequence, Sequence::Rows);
    assert_eq!(columns_of(&rules)[1].slot, Slot::Double);
    assert_eq!(collect(numbers(&columns), 5).view.count, Count::All);

    let rules = collect(shuffled(&columns), -1);
    assert_eq!(rules.view.count, Count::All);
    assert_eq!(rules.view.sequence, Sequence::Nothing);
    assert_eq!(collect(shuffled(&columns), 5).view.count, Count::Number);
}

#[test]
fn a_limit_keeps_the_first_of_sorted_rows() {
    let (key, other) = (long(1), long(2));
    let sort = || sorted(shuffled(&[other.clone(), key.clone()]), &key);
    let rules = collect(sort(), -1);
    assert_eq!(rules.view.count, Count::All);
    assert_eq!(rules.view.sequence, Sequence::Keys(vec![1]));
    let first = Count::First {
        keys: vec![1],
        limit: 5,
    };
    for rules in [collect(sort(), 5), collect(limited(sort(), 5), -1)] {
        assert_eq!(rules.view.count, first);
        assert_eq!(rules.view.sequence, Sequence::Keys(vec![1]));
        assert_eq!(rules.nothing, None);
    }
    // Rows that may be others make other rows.
    let rules = collect(filtered(limited(sort(), 5), &key), -1);
    assert_eq!(rules.nothing, Some(LIMITED));
    // The key is gone.
    let project = OperatorKind::Project {
        list: vec![Expr::attribute(other.clone())],
        child: limited(sort(), 5),
    };
    let rules = collect(operator(project, std::slice::from_ref(&other)), -1);
    assert_eq!(rules.view.count, Count::Number);
    assert_eq!(rules.view.sequence, Sequence::Nothing);
}

#[test]
fn sums_of_floating_point_numbers_are_known_but_for_their_last_digits() {
    let (key, value) = (long(1), double(2));
    let sum = double(3);
    let aggregate = || sums(shuffled(&[key.clone(), value.clone()]), &key, &value, &sum);
    let rules = collect(aggregate(), -1);
    assert_eq!(looks(&rules), [Determined::Exact, Determined::Near]);
    assert_eq!(rules.view.count, Count::All);
    // What is decided by one is not determined.
    let rules = collect(filtered(aggregate(), &sum), -1);
    assert_eq!(rules.nothing, Some(SUMS));
    let rules = collect(limited(sorted(aggregate(), &sum), 3), -1);
    assert_eq!(rules.view.count, Count::Number);
    assert_eq!(rules.view.sequence, Sequence::Nothing);
    // Sums of integers are exact.
    let exact = long(3);
    let aggregate = sums(shuffled(&[key.clone(), long(2)]), &key, &long(2), &exact);
    assert_eq!(
        looks(&collect(aggregate, -1)),
        [Determined::Exact, Determined::Exact]
    );
}

#[test]
fn arrays_of_floats_may_be_others_that_are_equal() {
    let array = |id, element| {
        let element = Box::new(element);
        let contains_null = true;
        attribute(
            id,
            DataType::Array {
                element,
                contains_null,
            },
        )
    };
    let key = long(1);
    let greatest = |of: DataType| {
        let (value, most) = (array(2, of.clone()), array(3, of));
        let child = shuffled(&[key.clone(), value.clone()]);
        aggregated(AggregateKind::Max, child, &key, &value, &most)
    };
    let rules = collect(greatest(DataType::Double), -1);
    assert_eq!(looks(&rules), [Determined::Exact, Determined::Free]);
    let rules = collect(greatest(DataType::String), -1);
    assert_eq!(looks(&rules), [Determined::Exact, Determined::Exact]);
    // Of equal keys any may come first.
    let by = |of: DataType| {
        let value = array(2, of);
        sorted(shuffled(&[key.clone(), value.clone()]), &value)
    };
    let rules = collect(by(DataType::Long), 5);
    assert_eq!(rules.view.sequence, Sequence::Keys(vec![1]));
    let rules = collect(by(DataType::Double), 5);
    assert_eq!(rules.view.sequence, Sequence::Nothing);
    assert_eq!(rules.view.count, Count::Number);
}

#[test]
fn partitions_are_determined_by_what_is() {
    let (key, value, sum) = (long(1), double(2), double(3));
    let write = |root: Box<Operator>, partitioning| {
        let write = catalyst::ShuffleWrite {
            shuffle: ShuffleRead {
                shuffle_id: 2,
                num_maps: 1,
                num_partitions: 4,
                num_fields: 2,
            },
            partitioning,
            output: root.output.require().unwrap().to_vec(),
            row_checksums: false,
            metrics: Vec::new(),
            dependency: javaser::arena::Graph::default().new_string("none"),
        };
        rules(root, Output::ShuffleWrite(Box::new(write)))
    };
    let hash = |of: &Attribute| Partitioning::Hash(vec![Expr::attribute(of.clone())]);
    let columns = [key.clone(), value.clone()];
    let aggregate = || sums(shuffled(&columns), &key, &value, &sum);
    assert!(write(aggregate(), hash(&key)).partitions);
    assert!(!write(aggregate(), hash(&sum)).partitions);
    let round_robin = |sorted| Partitioning::RoundRobin { sorted };
    assert!(write(shuffled(&columns), round_robin(true)).partitions);
    assert!(!write(shuffled(&columns), round_robin(false)).partitions);
    assert!(write(numbers(&columns), round_robin(false)).partitions);
    let rules = write(limited(shuffled(&columns), 3), hash(&key));
    assert_eq!((rules.view.count, rules.partitions), (Count::Number, false));
}
