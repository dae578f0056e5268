#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use arrow::array::AsArray;
use arrow::datatypes::{Float64Type, Int32Type, Int64Type};

use super::*;
use crate::NativeStage;
use crate::testing::{Given, column, local, operator, reference, run_within, stage};
use catalyst::{EvalMode, LeafInput, TaskInputs};

/// What Spark 4.3.0 gave for `rand(7), randn(7), monotonically_increasing_id(), rand(-9223372036854775808)` of a range
/// of 12 numbers in three partitions.
const SPARKS: [(f64, f64, i64, f64); 12] = [
    (
        0.28188121484885875,
        -1.773755556110447,
        0,
        0.18084965112285223,
    ),
    (
        0.45998819035056326,
        -0.32537852999017897,
        1,
        0.5968436565934606,
    ),
    (
        0.7690971666031955,
        1.1637571325924414,
        2,
        0.23269187154255977,
    ),
    (
        0.6631414615273216,
        0.7055334021927279,
        3,
        0.04207905504306231,
    ),
    (
        0.4836508543933039,
        -0.12108592338857035,
        8589934592,
        0.26172377596359453,
    ),
    (
        0.734216416644485,
        1.7346662488921807,
        8589934593,
        0.3359827365300605,
    ),
    (
        0.25330679322428096,
        -1.5758974095572422,
        8589934594,
        0.6252566830561157,
    ),
    (
        0.4312578829567928,
        -0.4391305524450846,
        8589934595,
        0.44161549362374697,
    ),
    (
        0.7145670158242735,
        1.8039683668407596,
        17179869184,
        0.21425448246854317,
    ),
    (
        0.46621774950712846,
        -0.2840236697878177,
        17179869185,
        0.04336222202736584,
    ),
    (
        0.029547784789351605,
        0.6603370350220075,
        17179869186,
        0.8326702858394923,
    ),
    (
        0.21474380201107057,
        1.1557333376295156,
        17179869187,
        0.5049301758724539,
    ),
];

fn draw(draw: Draw) -> Expr {
    draw.into()
}

fn alias(child: Expr, id: i64) -> Expr {
    Expr {
        data_type: child.data_type.clone(),
        nullable: child.nullable,
        kind: ExprKind::Alias {
            child: Box::new(child),
            name: format!("a{id}"),
            id: ExprId { id, jvm_id: 0 },
        },
    }
}

fn call(function: Function, args: Vec<Expr>, data_type: DataType) -> Expr {
    Expr {
        kind: ExprKind::Call {
            function,
            args,
            mode: Some(EvalMode::Legacy),
            time_zone: None,
        },
        data_type,
        nullable: true,
    }
}

fn number(value: f64) -> Expr {
    Expr {
        kind: ExprKind::Literal(Literal::Double(value)),
        data_type: DataType::Double,
        nullable: false,
    }
}

const SEVEN: Draw = Draw::Rand { seed: 7 };

fn project(list: Vec<Expr>, child: Operator) -> Operator {
    let output = list.iter().map(|expr| expr.to_attribute().unwrap());
    let output = output.collect();
    let child = Box::new(child);
    operator(OperatorKind::Project { list, child }, output)
}

/// Numbers from 0 in so many partitions.
fn range(end: i64, num_slices: i32) -> Operator {
    let kind = OperatorKind::Range {
        leaf: 0,
        start: 0,
        step: 1,
        end,
        num_slices,
    };
    operator(kind, vec![column(1, DataType::Long)])
}

fn run(root: Operator, partition: i32) -> Vec<RecordBatch> {
    let stage = NativeStage::new(stage(root, Inputs::Leaf(0), true)).unwrap();
    let inputs = TaskInputs::Leaf(0, LeafInput::Slice(partition));
    let sources = Given {
        partition,
        ..Given::default()
    };
    let plan = stage.task(&inputs, Arc::new(sources)).unwrap();
    run_within(&plan, 1 << 20).unwrap()
}

fn refusal(root: Operator, inputs: Inputs) -> String {
    let stage = NativeStage::new(stage(root, inputs, true));
    stage.unwrap_err().to_string()
}

#[test]
fn values_are_sparks() {
    let list = || {
        vec![
            alias(draw(SEVEN), 2),
            alias(draw(Draw::Randn { seed: 7 }), 3),
            alias(draw(Draw::MonotonicallyIncreasingID), 4),
            alias(draw(Draw::Rand { seed: i64::MIN }), 5),
            alias(draw(Draw::SparkPartitionID), 6),
            reference(&column(1, DataType::Long)),
        ]
    };
    for partition in 0..3 {
        let batches = run(project(list(), range(12, 3)), partition);
        assert_eq!(batches.len(), 1);
        let floats = |place: usize| batches[0].column(place).as_primitive::<Float64Type>();
        let longs = |place: usize| batches[0].column(place).as_primitive::<Int64Type>();
        for row in 0..4 {
            let (rand, randn, id, least) = SPARKS[partition as usize * 4 + row];
            let bits = [0, 1, 3].map(|place| floats(place).value(row).to_bits());
            assert_eq!(bits, [rand, randn, least].map(f64::to_bits));
            assert_eq!(longs(2).value(row), id);
            assert_eq!(longs(5).value(row), i64::from(partition) * 4 + row as i64);
            let own = batches[0].column(4).as_primitive::<Int32Type>();
            assert_eq!(own.value(row), partition);
        }
    }
}

#[test]
fn batches_go_on_where_the_one_before_ended() {
    let list = vec![
        alias(draw(Draw::Randn { seed: 3 }), 2),
        alias(draw(Draw::MonotonicallyIncreasingID), 3),
    ];
    let batches = run(project(list, range(1000, 1)), 0);
    assert!(batches.len() > 2);
    let mut generator = Generator::new(Draw::Randn { seed: 3 }, 0).unwrap();
    let all = generator.next(1000);
    let expected = all.as_primitive::<Float64Type>();
    let mut row = 0;
    for batch in batches {
        for at in 0..batch.num_rows() {
            let own = batch.column(0).as_primitive::<Float64Type>().value(at);
            assert_eq!(own.to_bits(), expected.value(row).to_bits());
            assert_eq!(
                batch.column(1).as_primitive::<Int64Type>().value(at),
                row as i64
            );
            row += 1;
        }
    }
    assert_eq!(row, 1000);
}

#[test]
fn filters_draw_for_every_row() {
    let condition = call(
        Function::LessThan,
        vec![draw(SEVEN), number(0.5)],
        DataType::Boolean,
    );
    let filter = |condition| {
        let child = Box::new(range(12, 3));
        operator(
            OperatorKind::Filter { condition, child },
            vec![column(1, DataType::Long)],
        )
    };
    for partition in 0..3 {
        let batches = run(filter(condition.clone()), partition);
        let found: Vec<i64> = batches
            .iter()
            .flat_map(|batch| {
                batch
                    .column(0)
                    .as_primitive::<Int64Type>()
                    .values()
                    .to_vec()
            })
            .collect();
        let first = partition as usize * 4;
        let expected = (first..first + 4).filter(|row| SPARKS[*row].0 < 0.5);
        let expected: Vec<i64> = expected.map(|row| row as i64).collect();
        assert_eq!(found, expected);
    }
    let both = call(
        Function::And,
        vec![
            call(
                Function::IsNotNull,
                vec![reference(&column(1, DataType::Long))],
                DataType::Boolean,
            ),
            condition,
        ],
        DataType::Boolean,
    );
    assert_eq!(
        refusal(filter(both), Inputs::Leaf(0)),
        "Rand for some rows only"
    );
}

#[test]
fn draws_for_some_rows_only_are_sparks() {
    let column = || {
        let column = column(1, DataType::Double);
        (local(0, std::slice::from_ref(&column)), reference(&column))
    };
    let (_, of) = column();
    let rand = || draw(SEVEN);
    let double = |function, args| call(function, args, DataType::Double);
    let holds = || {
        call(
            Function::LessThan,
            vec![rand(), number(0.5)],
            DataType::Boolean,
        )
    };
    let once = [
        double(Function::Add, vec![rand(), of.clone()]),
        double(Function::Multiply, vec![number(2.0), rand()]),
        double(Function::Divide, vec![rand(), number(2.0)]),
        double(Function::Divide, vec![number(0.0), rand()]),
        double(Function::Add, vec![rand(), rand()]),
        double(Function::If, vec![holds(), of.clone(), number(1.0)]),
    ];
    let not = [
        double(Function::Add, vec![of.clone(), rand()]),
        double(Function::Divide, vec![rand(), number(0.0)]),
        double(Function::Divide, vec![rand(), of.clone()]),
        double(Function::Coalesce, vec![of.clone(), rand()]),
        double(Function::If, vec![holds(), rand(), number(1.0)]),
    ];
    let concat = |args| call(Function::Concat, args, DataType::String);
    assert!(is_drawn_once(&concat(vec![rand(), rand(), of.clone()])));
    assert!(!is_drawn_once(&concat(vec![of.clone(), rand()])));
    for (exprs, expected) in [(&once[..], true), (&not[..], false)] {
        for expr in exprs {
            assert_eq!(is_drawn_once(expr), expected, "{expr}");
            let (child, _) = column();
            let root = project(vec![alias(expr.clone(), 2)], *child);
            let made = NativeStage::new(stage(root, Inputs::Leaf(0), true));
            assert_eq!(made.is_ok(), expected, "{expr}");
        }
    }
}

#[test]
fn samples_have_the_rows_whose_numbers_are_in_their_share() {
    for (lower, upper) in [(0.0, 0.5), (0.25, 0.7), (0.0, 1.0), (0.3, 0.3)] {
        let share = Share::new(lower, upper);
        for partition in 0..3_i32 {
            let sampled = Draw::Sampled { seed: 7, share };
            let mut generator = Generator::new(sampled, partition).unwrap();
            let kept = generator.next(4);
            let numbers = SPARKS.iter().skip(partition as usize * 4).take(4);
            let expected: Vec<bool> = numbers
                .map(|(number, ..)| (lower..upper).contains(number))
                .collect();
            let kept = kept.as_boolean().values().iter();
            assert!(kept.eq(expected), "{lower} to {upper}, {partition}");
        }
    }
}

#[test]
fn random_texts_are_those_of_spark() {
    // Of 4.3.0, two rows in each of three partitions.
    let expected = [
        (
            Draw::Uuid { seed: 7 },
            [
                "cee40aac-b68a-440d-b75a-41718652cb36",
                "50fe06d6-e030-43ea-9ff6-ff3a773b207a",
                "6c186627-616a-45dd-85c2-ac0fd2cf712d",
                "57eb05c8-7dfb-4f3c-8c90-54cb6d4902b1",
                "60503cd5-aaf1-4b40-9188-7f75ac224932",
                "728c8ea9-e5db-4d5a-bf35-e017c7c4292b",
            ],
        ),
        (
            Draw::Uuid { seed: i64::MIN },
            [
                "444b2d95-8a54-40b5-950e-9ef88de5a4fd",
                "e3ff5c8a-242c-467f-b1d3-ca6b6acb483d",
                "daabde94-beb1-4e4d-8716-41414e10c32d",
                "1d4b498a-9ed4-4964-a8e3-81cf0ebbb82d",
                "36927cb5-297e-4f61-ad99-1ceb3ffb4672",
                "b15c8e9c-39c5-4472-b523-fe39f1bfa1e7",
            ],
        ),
        (
            Draw::RandStr { seed: 7, length: 5 },
            ["6Ogz5", "9i3TI", "NZVf9", "0IK39", "gNZkq", "3YQh3"],
        ),
        (Draw::RandStr { seed: 1, length: 0 }, [""; 6]),
    ];
    for (draw, expected) in expected {
        for partition in 0..3_usize {
            let mut generator = Generator::new(draw, partition as i32).unwrap();
            let texts = generator.next(2);
            let texts = texts.as_string_view().iter().flatten();
            assert!(
                texts.eq(expected[partition * 2..][..2].iter().copied()),
                "{draw:?}"
            );
        }
    }
}

#[test]
fn files_are_known_of_rows_that_come_from_a_scan() {
    let name = || vec![alias(draw(Draw::File(FileFact::Name)), 2)];
    let over_a_range = project(name(), range(10, 1));
    let made = NativeStage::new(stage(over_a_range, Inputs::Leaf(0), true));
    let why = made.unwrap_err().to_string();
    assert!(
        why.contains("InputFileName of rows that do not come from a scan"),
        "{why}"
    );
}

#[test]
fn rows_and_partitions_have_to_be_known() {
    let id = || vec![alias(draw(Draw::MonotonicallyIncreasingID), 2)];
    let sorted = |by: Expr| {
        let order = vec![SortOrder {
            child: by,
            ascending: true,
            nulls_first: true,
        }];
        let kind = OperatorKind::Sort {
            order,
            global: false,
            child: Box::new(range(4, 1)),
        };
        operator(kind, vec![column(1, DataType::Long)])
    };
    assert_eq!(
        refusal(project(id(), sorted(number(1.0))), Inputs::Leaf(0)),
        "MonotonicallyIncreasingID of rows in no fixed order"
    );
    // Rows that are equal are the same.
    let by_all = sorted(reference(&column(1, DataType::Long)));
    let root = project(id(), by_all);
    assert!(NativeStage::new(stage(root, Inputs::Leaf(0), true)).is_ok());
    let partition = vec![alias(draw(Draw::SparkPartitionID), 2)];
    let root = project(partition, sorted(number(1.0)));
    assert!(NativeStage::new(stage(root, Inputs::Leaf(0), true)).is_ok());
    let coalesced = Inputs::Coalesced(Box::new(Inputs::Leaf(0)));
    assert_eq!(
        refusal(project(id(), range(4, 1)), coalesced),
        "draws in partitions of other partitions"
    );
}
