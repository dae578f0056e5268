//! Tables of joins that do not fit into memory.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use arrow::array::{
    ArrayRef, BooleanArray, Int32Array, RecordBatch, StringViewArray, TimestampMicrosecondArray,
};
use datafusion_common::{Result, resources_datafusion_err};
use datafusion_execution::config::SessionConfig;
use datafusion_execution::disk_manager::{DiskManagerBuilder, DiskManagerMode};
use datafusion_execution::memory_pool::{
    FairSpillPool, MemoryConsumer, MemoryPool, MemoryReservation, UnboundedMemoryPool,
};
use datafusion_execution::runtime_env::RuntimeEnvBuilder;

use crate::testing::*;
use crate::{NativeStage, TaskPlan};
use catalyst::OperatorKind;
use catalyst::{Attribute, EvalMode, Expr, ExprKind, Function};
use catalyst::{BuildSide, EquiJoin, JoinType};
use catalyst::{DataType, StructField};
use catalyst::{Inputs, TaskInputs};
use rows::error::RunError;

const BATCH: usize = 64;

fn columns(first: i64) -> Vec<Attribute> {
    vec![
        column(first, DataType::Timestamp),
        column(first + 1, DataType::String),
        column(first + 2, DataType::Integer),
        column(first + 3, DataType::Boolean),
    ]
}

/// Rows whose keys are a moment, of which there are `keys`, or null, and a text.
fn side(columns: &[Attribute], rows: i32, keys: i32) -> RecordBatch {
    let rows = || 0..rows;
    let numbers = rows().map(|n| (n % 97 != 0).then_some(n.wrapping_mul(7919) % keys));
    let numbers: TimestampMicrosecondArray = numbers.map(|n| n.map(i64::from)).collect();
    let numbers = numbers.with_timezone("UTC");
    let texts = rows().map(|n| Some(format!("text {}", n % 2)));
    let texts: StringViewArray = texts.collect();
    let values: Int32Array = rows().map(Some).collect();
    let flags: BooleanArray = rows()
        .map(|n| (n % 11 != 0).then_some(n % 3 != 0))
        .collect();
    let arrays: [ArrayRef; 4] = [
        Arc::new(numbers),
        Arc::new(texts),
        Arc::new(values),
        Arc::new(flags),
    ];
    batch(columns, arrays.to_vec())
}

/// Conditions of either side and of both.
fn conditions() -> [Option<Expr>; 4] {
    let (left, right) = (columns(1), columns(11));
    let less = Expr {
        kind: ExprKind::Call {
            function: Function::LessThan,
            args: vec![reference(&left[2]), reference(&right[2])],
            mode: None,
            time_zone: None,
        },
        data_type: DataType::Boolean,
        nullable: true,
    };
    let (left, right) = (reference(&left[3]), reference(&right[3]));
    [None, Some(left), Some(right), Some(less)]
}

struct Joined {
    join_type: JoinType,
    condition: Option<Expr>,
    build_side: BuildSide,
    left: RecordBatch,
    right: RecordBatch,
    keys: fn(&[Attribute]) -> Vec<Expr>,
}

/// The first two columns.
fn in_two(columns: &[Attribute]) -> Vec<Expr> {
    columns[..2].iter().map(reference).collect()
}

/// A number that is a float, by which nothing is merged.
fn floats(columns: &[Attribute]) -> Vec<Expr> {
    let of_double = |kind| Expr {
        kind,
        data_type: DataType::Double,
        nullable: true,
    };
    let cast = ExprKind::Cast {
        child: Box::new(reference(&columns[2])),
        mode: EvalMode::Legacy,
        time_zone: None,
    };
    vec![of_double(ExprKind::Call {
        function: Function::KnownFloatingPointNormalized,
        args: vec![of_double(cast)],
        mode: None,
        time_zone: None,
    })]
}

/// The same as a struct, whose nulls are equal.
fn in_one(columns: &[Attribute]) -> Vec<Expr> {
    let parts = in_two(columns);
    let fields = columns[..2].iter().map(|column| StructField {
        name: column.name.clone(),
        data_type: column.data_type.clone(),
        nullable: true,
        field_id: None,
        exists_default: None,
    });
    vec![Expr {
        data_type: DataType::Struct(fields.collect()),
        kind: ExprKind::CreateNamedStruct(parts),
        nullable: false,
    }]
}

impl Joined {
    fn plan(&self) -> TaskPlan {
        let (left, right) = (columns(1), columns(11));
        let join = EquiJoin {
            left_keys: (self.keys)(&left),
            right_keys: (self.keys)(&right),
            join_type: self.join_type.clone(),
            condition: self.condition.clone(),
        };
        let output = join.join_type.output(&left, &right);
        let kind = OperatorKind::ShuffledHashJoin {
            join,
            build_side: self.build_side,
            left: local(0, &left),
            right: local(1, &right),
        };
        let inputs = Inputs::Zip(vec![Inputs::Leaf(0), Inputs::Leaf(1)]);
        let stage = NativeStage::new(stage(operator(kind, output), inputs, false)).unwrap();
        let parts = |batch: &RecordBatch| {
            let rows = batch.num_rows();
            let parts = (0..rows).step_by(BATCH);
            let parts = parts.map(|from| batch.slice(from, BATCH.min(rows - from)));
            parts.collect::<Vec<_>>()
        };
        let inputs = TaskInputs::Zip(vec![
            TaskInputs::Leaf(0, rows(&left, &parts(&self.left))),
            TaskInputs::Leaf(1, rows(&right, &parts(&self.right))),
        ]);
        plan(&stage, &inputs, Given::default())
    }

    /// Rows, and bytes that went to disk.
    fn run(
        &self,
        pool: Arc<dyn MemoryPool>,
        disks: DiskManagerMode,
    ) -> std::result::Result<(Vec<String>, usize), RunError> {
        let plan = self.plan();
        let disks = DiskManagerBuilder::default()
            .with_mode(disks)
            // One sort's merge leaves something to the other sort.
            .with_max_spill_merge_fan_in(4);
        let runtime = RuntimeEnvBuilder::new()
            .with_memory_pool(pool)
            .with_disk_manager_builder(disks);
        let config = SessionConfig::new()
            .with_target_partitions(1)
            .with_batch_size(BATCH)
            .with_sort_spill_reservation_bytes(32 << 10);
        let batches = run_with(&plan, runtime, config)?;
        let found = sorted(text(&batches));
        assert_eq!(plan.metrics(), [(1, found.len() as i64)]);
        let spilled = plan.root.metrics().unwrap().spilled_bytes();
        Ok((found, spilled.unwrap_or(0)))
    }
}

/// Refuses a table's memory when it is asked for it so many times.
#[derive(Debug)]
struct Refusing {
    all: UnboundedMemoryPool,
    tables: AtomicUsize,
    refused: Range<usize>,
}

impl Refusing {
    fn new(refused: Range<usize>) -> Arc<Self> {
        Arc::new(Self {
            all: UnboundedMemoryPool::default(),
            tables: AtomicUsize::new(0),
            refused,
        })
    }
}

impl std::fmt::Display for Refusing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self:?}")
    }
}

impl MemoryPool for Refusing {
    fn name(&self) -> &str {
        "refusing"
    }

    fn register(&self, consumer: &MemoryConsumer) {
        self.all.register(consumer);
    }

    fn grow(&self, reservation: &MemoryReservation, additional: usize) {
        self.all.grow(reservation, additional);
    }

    fn shrink(&self, reservation: &MemoryReservation, shrink: usize) {
        self.all.shrink(reservation, shrink);
    }

    fn try_grow(&self, reservation: &MemoryReservation, additional: usize) -> Result<()> {
        if reservation.consumer().name() == "ShuffledHashJoinExec"
            && self
                .refused
                .contains(&self.tables.fetch_add(1, Ordering::Relaxed))
        {
            return Err(resources_datafusion_err!("no"));
        }
        self.all.try_grow(reservation, additional)
    }

    fn reserved(&self) -> usize {
        self.all.reserved()
    }
}

fn all_joins(rows: (i32, i32), keys: i32) -> impl Iterator<Item = Joined> {
    let (left, right) = (columns(1), columns(11));
    let (left, right) = (side(&left, rows.0, keys), side(&right, rows.1, keys));
    let all = JOINS.into_iter().flat_map(move |join_type| {
        conditions().into_iter().flat_map(move |condition| {
            [BuildSide::Left, BuildSide::Right]
                .map(|build_side| (join_type(), condition.clone(), build_side))
        })
    });
    all.map(move |(join_type, condition, build_side)| Joined {
        join_type,
        condition,
        build_side,
        left: left.clone(),
        right: right.clone(),
        keys: in_two,
    })
}

/// The same joins by structs.
fn nested_joins(rows: (i32, i32), keys: i32) -> impl Iterator<Item = Joined> {
    all_joins(rows, keys).map(|join| Joined {
        keys: in_one,
        ..join
    })
}

#[test]
fn whenever_a_table_is_refused_both_sides_are_divided() {
    let mut joins = 0;
    let pairs = all_joins((700, 600), 300).map(|join| (join, true));
    // Where nulls are equal each row has a match.
    let nested = nested_joins((700, 600), 300).map(|join| (join, false));
    for (join, some) in pairs.chain(nested.step_by(5)) {
        let all = Arc::new(UnboundedMemoryPool::default());
        let expected = join.run(all, DiskManagerMode::OsTmpDirectory).unwrap();
        assert_eq!(expected.1, 0, "it fits");
        assert!(!some || !expected.0.is_empty());
        // Once, while parts are filled, and until nothing is left in memory.
        for (refused, some_stays) in [(0..1, true), (0..4, true), (2..6, true), (0..100, false)] {
            let pool = Refusing::new(refused.clone());
            let (found, spilled) = join.run(pool, DiskManagerMode::OsTmpDirectory).unwrap();
            let what = format!("{} {:?}: {refused:?}", join.join_type, join.condition);
            assert!(some_stays || spilled > 0, "{what}");
            assert!(found == expected.0, "{what}");
        }
        joins += 1;
    }
    assert_eq!(joins, 7 * 4 * 2 + 12);
}

#[test]
fn what_cannot_be_merged_is_divided_too() {
    for join in all_joins((3000, 2800), 300).step_by(3) {
        let join = Joined {
            keys: floats,
            ..join
        };
        let all = Arc::new(UnboundedMemoryPool::default());
        let expected = join.run(all, DiskManagerMode::OsTmpDirectory).unwrap();
        let little = Arc::new(FairSpillPool::new(200 << 10));
        let (found, spilled) = join.run(little, DiskManagerMode::OsTmpDirectory).unwrap();
        let what = format!("{} {:?}", join.join_type, join.condition);
        assert!(spilled > 0, "{what}");
        assert!(found == expected.0, "{what}");
    }
    let join = all_joins((90, 80), 30).next().unwrap();
    let join = Joined {
        keys: floats,
        ..join
    };
    match join.run(
        Refusing::new(0..usize::MAX),
        DiskManagerMode::OsTmpDirectory,
    ) {
        Err(RunError::BailOut(reason)) => assert_eq!(reason, "memory exhausted"),
        other => panic!("{:?}", other.map(|(rows, _)| rows.len())),
    }
}

#[test]
fn parts_that_never_fit_are_sorted_and_merged() {
    for join in all_joins((140, 120), 30).step_by(3) {
        let all = Arc::new(UnboundedMemoryPool::default());
        let expected = join.run(all, DiskManagerMode::OsTmpDirectory).unwrap();
        let never = Refusing::new(0..usize::MAX);
        let (found, spilled) = join.run(never, DiskManagerMode::OsTmpDirectory).unwrap();
        let what = format!("{} {:?}", join.join_type, join.condition);
        assert!(spilled > 0, "{what}");
        assert!(found == expected.0, "{what}");
    }
}

#[test]
fn both_sides_may_be_much_larger_than_memory() {
    let nested = nested_joins((9000, 8000), 3000).step_by(5);
    for join in all_joins((9000, 8000), 3000).chain(nested) {
        let all = Arc::new(UnboundedMemoryPool::default());
        let expected = join.run(all, DiskManagerMode::OsTmpDirectory).unwrap();
        let little = Arc::new(FairSpillPool::new(512 << 10));
        let (found, spilled) = join.run(little, DiskManagerMode::OsTmpDirectory).unwrap();
        let what = format!("{} {:?}", join.join_type, join.condition);
        assert!(spilled > 100 << 10, "{what}: {spilled} bytes");
        assert!(found == expected.0, "{what}");
    }
}

#[test]
fn rows_of_one_key_may_be_more_than_memory() {
    // One key only: all rows of a side are the other side's matches.
    for join in all_joins((1500, 40), 1) {
        let all = Arc::new(UnboundedMemoryPool::default());
        let expected = join.run(all, DiskManagerMode::OsTmpDirectory).unwrap();
        let little = Arc::new(FairSpillPool::new(96 << 10));
        let found = join.run(little, DiskManagerMode::OsTmpDirectory).unwrap();
        let what = format!("{} {:?}", join.join_type, join.condition);
        assert!(found.0 == expected.0, "{what}");
    }
}

#[test]
fn without_a_disk_it_is_the_jvms() {
    for join in all_joins((700, 600), 300).take(1) {
        let pool = Arc::new(FairSpillPool::new(20 << 10));
        match join.run(pool, DiskManagerMode::Disabled) {
            Err(RunError::BailOut(reason)) => assert_eq!(reason, "memory exhausted"),
            other => panic!("{:?}", other.map(|(rows, _)| rows.len())),
        }
    }
}
