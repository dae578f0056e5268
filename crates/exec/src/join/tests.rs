//! Joins against a look at all pairs.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, Int32Array, RecordBatch};

use crate::NativeStage;
use crate::testing::*;
use catalyst::Attribute;
use catalyst::OperatorKind;
use catalyst::{BuildSide, EquiJoin, JoinType};
use catalyst::{Inputs, TaskInputs};
use rows::error::RunError;
use rows::{RelationKind, RelationTable};

use super::probe::Build;
use catalyst::{DataType, Expr, ExprKind, Function, Literal, StructField};

/// Key, value, and whether pairs with the row meet the condition.
type Row = (Option<i32>, i32, bool);

fn columns(first: i64) -> Vec<Attribute> {
    vec![
        column(first, DataType::Integer),
        column(first + 1, DataType::Integer),
        column(first + 2, DataType::Boolean),
    ]
}

fn left() -> Vec<Row> {
    let some = (0..150).map(|n| (Some(n % 40), n, n % 3 != 0));
    some.chain([(None, 900, true), (Some(77), 901, false)])
        .collect()
}

fn right() -> Vec<Row> {
    let some = (0..100).map(|n| (Some(n % 25 * 2), 1000 + n, n % 5 != 0));
    some.chain([(None, 1900, true), (Some(-5), 1901, true)])
        .collect()
}

fn to_batch(columns: &[Attribute], rows: &[Row]) -> RecordBatch {
    let keys: ArrayRef = Arc::new(rows.iter().map(|row| row.0).collect::<Int32Array>());
    let values: ArrayRef = Arc::new(rows.iter().map(|row| Some(row.1)).collect::<Int32Array>());
    let flags: ArrayRef = Arc::new(rows.iter().map(|row| Some(row.2)).collect::<BooleanArray>());
    batch(columns, vec![keys, values, flags])
}

fn row_text(row: Option<&Row>) -> String {
    match row {
        Some((Some(key), value, flag)) => format!("{key} {value} {flag}"),
        Some((None, value, flag)) => format!("null {value} {flag}"),
        None => "null null null".to_owned(),
    }
}

/// What comes out, by a look at all pairs.
fn expected(join_type: &JoinType, matches: impl Fn(&Row, &Row) -> bool) -> Vec<String> {
    let (left, right) = (left(), right());
    let mut rows = Vec::new();
    let pair = |left, right| format!("{} {}", row_text(left), row_text(right));
    for l in &left {
        let found: Vec<_> = right.iter().filter(|r| matches(l, r)).collect();
        match join_type {
            JoinType::LeftSemi if !found.is_empty() => rows.push(row_text(Some(l))),
            JoinType::LeftAnti if found.is_empty() => rows.push(row_text(Some(l))),
            JoinType::Existence(_) => {
                rows.push(format!("{} {}", row_text(Some(l)), !found.is_empty()));
            }
            JoinType::LeftSemi | JoinType::LeftAnti => {}
            _ => {
                rows.extend(found.iter().map(|r| pair(Some(l), Some(r))));
                let outer = matches!(join_type, JoinType::LeftOuter | JoinType::FullOuter);
                if outer && found.is_empty() {
                    rows.push(pair(Some(l), None));
                }
            }
        }
    }
    if let JoinType::RightOuter | JoinType::FullOuter = join_type {
        let alone = right.iter().filter(|r| !left.iter().any(|l| matches(l, r)));
        rows.extend(alone.map(|r| pair(None, Some(r))));
    }
    sorted(rows)
}

fn equal(left: &Row, right: &Row) -> bool {
    left.0.is_some() && left.0 == right.0
}

fn equi(join_type: JoinType, condition: Option<&Attribute>) -> EquiJoin {
    EquiJoin {
        left_keys: vec![reference(&columns(1)[0])],
        right_keys: vec![reference(&columns(11)[0])],
        join_type,
        condition: condition.map(reference),
    }
}

/// A condition, and which pairs it holds of.
type OnPairs = (Option<Attribute>, fn(&Row, &Row) -> bool);

/// A condition of one side or none.
fn conditions() -> [OnPairs; 3] {
    [
        (None, |_, _| true),
        (Some(columns(1)[2].clone()), |left, _| left.2),
        (Some(columns(11)[2].clone()), |_, right| right.2),
    ]
}

#[test]
fn both_sides_are_the_tasks() {
    let (left_columns, right_columns) = (columns(1), columns(11));
    for join_type in JOINS {
        for (condition, holds) in conditions() {
            let expected = expected(&join_type(), |l, r| equal(l, r) && holds(l, r));
            // In order: merged; else: a table, of which Spark says the side or not.
            for (ordered, planned) in [
                (true, None),
                (false, None),
                (false, Some(BuildSide::Left)),
                (true, Some(BuildSide::Right)),
            ] {
                let join = equi(join_type(), condition.as_ref());
                let output = join.join_type.output(&left_columns, &right_columns);
                let (left_side, right_side) = (local(0, &left_columns), local(1, &right_columns));
                let kind = match planned {
                    None => OperatorKind::SortMergeJoin {
                        join,
                        left: left_side,
                        right: right_side,
                    },
                    Some(build_side) => OperatorKind::ShuffledHashJoin {
                        join,
                        build_side,
                        left: left_side,
                        right: right_side,
                    },
                };
                let inputs = Inputs::Zip(vec![Inputs::Leaf(1), Inputs::Leaf(0)]);
                let stage = stage(operator(kind, output), inputs, ordered);
                let stage = NativeStage::new(stage).unwrap();
                let of =
                    |columns: &[Attribute], all: &[Row]| rows(columns, &[to_batch(columns, all)]);
                let inputs = TaskInputs::Zip(vec![
                    TaskInputs::Leaf(1, of(&right_columns, &right())),
                    TaskInputs::Leaf(0, of(&left_columns, &left())),
                ]);
                let plan = plan(&stage, &inputs, Given::default());
                let found = text(&run(&plan));
                let what = format!("{} {ordered} {planned:?} {condition:?}", join_type());
                assert_eq!(plan.metrics(), [(1, found.len() as i64)], "{what}");
                assert_eq!(sorted(found), expected, "{what}");
            }
        }
    }
}

#[test]
fn products_have_all_pairs_in_the_order_of_the_left_side() {
    let (left_columns, right_columns) = (columns(1), columns(11));
    for (condition, holds) in conditions() {
        for (left, right) in [
            (left(), right()),
            (left(), Vec::new()),
            (Vec::new(), right()),
        ] {
            let kind = OperatorKind::CartesianProduct {
                condition: condition.as_ref().map(reference),
                left: local(0, &left_columns),
                right: local(1, &right_columns),
            };
            let output = [left_columns.clone(), right_columns.clone()].concat();
            let inputs = Inputs::Cartesian(vec![Inputs::Leaf(0), Inputs::Leaf(1)]);
            let stage = NativeStage::new(stage(operator(kind, output), inputs, true)).unwrap();
            let of = |columns: &[Attribute], all: &[Row]| rows(columns, &[to_batch(columns, all)]);
            let inputs = TaskInputs::Zip(vec![
                TaskInputs::Leaf(0, of(&left_columns, &left)),
                TaskInputs::Leaf(1, of(&right_columns, &right)),
            ]);
            let plan = plan(&stage, &inputs, Given::default());
            let found = text(&run(&plan));
            let mut expected = Vec::new();
            for l in &left {
                let pairs = right.iter().filter(|r| holds(l, r));
                let pairs = pairs.map(|r| format!("{} {}", row_text(Some(l)), row_text(Some(r))));
                expected.extend(pairs);
            }
            assert_eq!(plan.metrics(), [(1, found.len() as i64)]);
            assert_eq!(found, expected);
        }
    }
}

fn broadcast_rows(kind: OperatorKind, output: Vec<Attribute>, build: Build) -> Option<Vec<String>> {
    let streamed = kind_streamed(&kind);
    let stage = stage(operator(kind, output), Inputs::Leaf(0), true);
    let stage = NativeStage::new(stage).ok()?;
    let (columns, all) = match streamed {
        BuildSide::Left => (columns(1), left()),
        BuildSide::Right => (columns(11), right()),
    };
    let input = TaskInputs::Leaf(0, rows(&columns, &[to_batch(&columns, &all)]));
    let mut sources = Given::default();
    sources.broadcasts.insert(5, Arc::new(build));
    let plan = plan(&stage, &input, sources);
    Some(sorted(text(&run(&plan))))
}

fn kind_streamed(kind: &OperatorKind) -> BuildSide {
    let (OperatorKind::BroadcastHashJoin { build_side, .. }
    | OperatorKind::BroadcastNestedLoopJoin { build_side, .. }) = kind
    else {
        panic!();
    };
    match build_side {
        BuildSide::Left => BuildSide::Right,
        BuildSide::Right => BuildSide::Left,
    }
}

fn relation(side: BuildSide, kind: RelationKind) -> Build {
    let (columns, mut rows) = match side {
        BuildSide::Left => (columns(1), left()),
        BuildSide::Right => (columns(11), right()),
    };
    match kind {
        RelationKind::Rows => {}
        RelationKind::Empty | RelationKind::AllNullKeys => rows.clear(),
        _ => rows.retain(|row| row.0.is_some()),
    }
    let batch = to_batch(&columns, &rows);
    let table = match kind {
        RelationKind::Rows => None,
        _ => Some(RelationTable::new(&batch.columns()[..1], rows.len()).unwrap()),
    };
    Build {
        kind,
        batch,
        table,
        memory: None,
    }
}

#[test]
fn one_side_was_broadcast() {
    for build_side in [BuildSide::Left, BuildSide::Right] {
        let (streamed, build) = match build_side {
            BuildSide::Left => (columns(11), columns(1)),
            BuildSide::Right => (columns(1), columns(11)),
        };
        let mut done = 0;
        for join_type in JOINS {
            for (condition, holds) in conditions() {
                let output = join_type().output(&columns(1), &columns(11));
                let hash = OperatorKind::BroadcastHashJoin {
                    join: equi(join_type(), condition.as_ref()),
                    build_side,
                    null_aware_anti: false,
                    broadcast: broadcast(),
                    build_output: build.clone(),
                    streamed: local(0, &streamed),
                };
                let nested = OperatorKind::BroadcastNestedLoopJoin {
                    join_type: join_type(),
                    condition: condition.as_ref().map(reference),
                    build_side,
                    broadcast: broadcast(),
                    build_output: build.clone(),
                    streamed: local(0, &streamed),
                };
                let what = format!("{} {build_side:?} {condition:?}", join_type());
                let of = relation(build_side, RelationKind::Long);
                if let Some(found) = broadcast_rows(hash, output.clone(), of) {
                    let expected = expected(&join_type(), |l, r| equal(l, r) && holds(l, r));
                    assert_eq!(found, expected, "{what}");
                    done += 1;
                }
                let of = relation(build_side, RelationKind::Rows);
                if let Some(found) = broadcast_rows(nested, output, of) {
                    assert_eq!(found, expected(&join_type(), holds), "nested {what}");
                    done += 1;
                }
            }
        }
        // Inner and the outer join of the streamed side; on the right also semi, anti and existence.
        let types = match build_side {
            BuildSide::Left => 2,
            BuildSide::Right => 5,
        };
        assert_eq!(done, types * 3 * 2);
    }
}

#[test]
fn not_in_knows_three_values() {
    let of = |kind| {
        let anti = OperatorKind::BroadcastHashJoin {
            join: equi(JoinType::LeftAnti, None),
            build_side: BuildSide::Right,
            null_aware_anti: true,
            broadcast: broadcast(),
            build_output: columns(11),
            streamed: local(0, &columns(1)),
        };
        broadcast_rows(anti, columns(1), relation(BuildSide::Right, kind)).unwrap()
    };
    let (left, right) = (left(), right());
    let all = left.iter().map(|row| row_text(Some(row))).collect();
    assert_eq!(of(RelationKind::Empty), sorted(all));
    assert!(of(RelationKind::AllNullKeys).is_empty());
    let alone = left
        .iter()
        .filter(|l| l.0.is_some() && !right.iter().any(|r| equal(l, r)));
    let alone = alone.map(|row| row_text(Some(row))).collect();
    assert_eq!(of(RelationKind::Long), sorted(alone));
}

/// Spark compares the bits of zeros there: `NOT IN` may become a join behind the rule that makes one zero of them.
#[test]
fn joins_by_floats_that_may_be_two_zeros_are_refused() {
    let key = |id| {
        vec![Attribute {
            data_type: DataType::Double,
            ..columns(id).remove(0)
        }]
    };
    let keys = |id| vec![reference(&key(id)[0])];
    for null_aware_anti in [true, false] {
        let anti = OperatorKind::BroadcastHashJoin {
            join: EquiJoin {
                left_keys: keys(1),
                right_keys: keys(11),
                ..equi(JoinType::LeftAnti, None)
            },
            build_side: BuildSide::Right,
            null_aware_anti,
            broadcast: broadcast(),
            build_output: key(11),
            streamed: local(0, &key(1)),
        };
        let stage = stage(operator(anti, key(1)), Inputs::Leaf(0), true);
        let refused = NativeStage::new(stage).unwrap_err();
        assert_eq!(refused.to_string(), "a join by the bits of floats");
    }
}

#[test]
fn keys_of_floats_may_be_made_of_normalized_ones() {
    let of = |kind, data_type| Expr {
        kind,
        data_type,
        nullable: true,
    };
    let call = |function, args: Vec<Expr>| {
        let kind = ExprKind::Call {
            function,
            args,
            mode: None,
            time_zone: None,
        };
        of(kind, DataType::Double)
    };
    let literal = |value| of(ExprKind::Literal(Literal::Double(value)), DataType::Double);
    let bits = reference(&column(1, DataType::Double));
    let normal = || {
        let function = Function::KnownFloatingPointNormalized;
        call(function, vec![bits.clone()])
    };
    let in_struct = |parts: Vec<Expr>| {
        let field = |part: &Expr| StructField {
            name: "f".to_owned(),
            data_type: part.data_type.clone(),
            nullable: true,
            field_id: None,
            exists_default: None,
        };
        let data_type = DataType::Struct(parts.iter().map(field).collect());
        of(ExprKind::CreateNamedStruct(parts), data_type)
    };
    let int = || reference(&column(2, DataType::Integer));
    let coalesce = |args| call(Function::Coalesce, args);
    for (key, is_it) in [
        (int(), true),
        (bits.clone(), false),
        (normal(), true),
        (in_struct(vec![int(), normal()]), true),
        (in_struct(vec![normal(), bits.clone()]), false),
        (coalesce(vec![normal(), literal(0.0)]), true),
        (coalesce(vec![normal(), literal(-0.0)]), false),
        (coalesce(vec![normal(), literal(f64::NAN)]), false),
        (
            call(Function::If, vec![bits.clone(), normal(), normal()]),
            true,
        ),
        (call(Function::Add, vec![normal(), normal()]), false),
    ] {
        assert_eq!(super::is_one_of_bits(&key), is_it, "{key}");
    }
}

#[test]
fn a_killed_task_does_not_look_at_all_pairs() {
    let never = OperatorKind::BroadcastNestedLoopJoin {
        join_type: JoinType::Inner,
        // Pairs that do not come out.
        condition: Some(reference(&columns(11)[2])),
        build_side: BuildSide::Right,
        broadcast: broadcast(),
        build_output: columns(11),
        streamed: local(0, &columns(1)),
    };
    let output = JoinType::Inner.output(&columns(1), &columns(11));
    let stage = stage(operator(never, output), Inputs::Leaf(0), true);
    let stage = NativeStage::new(stage).unwrap();
    let all: Vec<Row> = (0..1000).map(|n| (Some(n), n, false)).collect();
    let build = Build {
        kind: RelationKind::Rows,
        batch: to_batch(&columns(11), &all),
        table: None,
        memory: None,
    };
    let input = rows(&columns(1), &[to_batch(&columns(1), &all)]);
    let mut sources = Given {
        life: 20,
        ..Given::default()
    };
    sources.broadcasts.insert(5, Arc::new(build));
    let plan = plan(&stage, &TaskInputs::Leaf(0, input), sources);
    let end = run_within(&plan, 1 << 30);
    assert!(matches!(end, Err(RunError::Killed)), "{end:?}");
}
