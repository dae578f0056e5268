//! Sorts by nested keys.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::sync::Arc;

use arrow::array::{ArrayRef, Int32Array, ListArray};
use arrow::datatypes::{DataType as ArrowType, Int32Type};
use datafusion_execution::config::SessionConfig;
use datafusion_execution::memory_pool::FairSpillPool;
use datafusion_execution::runtime_env::RuntimeEnvBuilder;
use datafusion_physical_plan::ExecutionPlan;

use crate::NativeStage;
use crate::testing::*;
use catalyst::{DataType, Inputs, OperatorKind, SortOrder, TaskInputs};

fn ints(values: impl Iterator<Item = i32>) -> ArrayRef {
    Arc::new(Int32Array::from_iter_values(values))
}

#[test]
fn arrays_are_sorted_in_memory_or_not() {
    let columns = [
        column(
            1,
            DataType::Array {
                element: Box::new(DataType::Integer),
                contains_null: true,
            },
        ),
        column(2, DataType::Integer),
    ];
    let sort = |ascending| OperatorKind::Sort {
        order: vec![
            SortOrder {
                child: reference(&columns[0]),
                ascending,
                nulls_first: true,
            },
            SortOrder {
                child: reference(&columns[1]),
                ascending: true,
                nulls_first: true,
            },
        ],
        global: true,
        child: local(0, &columns),
    };
    let arrays = |values: &[Option<Vec<Option<i32>>>]| -> ArrayRef {
        let values = values.iter().cloned();
        let lists = ListArray::from_iter_primitive::<Int32Type, _, _>(values);
        let (_, offsets, elements, nulls) = lists.into_parts();
        let field = rows::types::list_field(ArrowType::Int32);
        Arc::new(ListArray::new(field, offsets, elements, nulls))
    };
    let few = arrays(&[
        Some(vec![Some(1), Some(2)]),
        None,
        Some(vec![Some(1)]),
        Some(vec![]),
        Some(vec![None, Some(7)]),
        Some(vec![Some(1), None]),
    ]);
    let numbers = ints(0..6);
    let of = |ascending| {
        let root = operator(sort(ascending), columns.to_vec());
        let found = run_rows(root, &columns, vec![few.clone(), numbers.clone()]);
        let numbers = found
            .iter()
            .map(|row| row.rsplit(' ').next().unwrap().to_owned());
        numbers.collect::<Vec<_>>().join("")
    };
    // Nulls within arrays are the smallest in either direction.
    assert_eq!(of(true), "134250");
    assert_eq!(of(false), "105243");
    let many: Vec<_> = (0..20_000_i32)
        .map(|n| {
            let length = n.wrapping_mul(31) % 4;
            let parts = (0..length).map(|at| (n + at) % 7 != 0).zip(n..);
            let parts = parts.map(|(some, n)| some.then_some(n.wrapping_mul(7919) % 50));
            (n % 11 != 0).then(|| parts.collect())
        })
        .collect();
    let many = vec![arrays(&many), ints(0..20_000)];
    let run = |memory| run_within(memory, sort(false), &columns, many.clone());
    let (expected, none) = run(1 << 30);
    let (found, bytes) = run(512 << 10);
    assert_eq!((expected.len(), none), (20_000, 0));
    assert!(bytes > 100 << 10, "{bytes}");
    assert!(found == expected);
}

#[test]
fn equal_rows_stay_in_their_order() {
    let columns = [column(1, DataType::Integer), column(2, DataType::Integer)];
    let order = |ascending| {
        vec![SortOrder {
            child: reference(&columns[0]),
            ascending,
            nulls_first: true,
        }]
    };
    let keys: Vec<i32> = (0..20_000).map(|n: i32| n.wrapping_mul(7919) % 5).collect();
    let input = || vec![ints(keys.iter().copied()), ints(0..20_000)];
    for ascending in [true, false] {
        let mut expected: Vec<_> = keys.iter().copied().zip(0..).collect();
        expected.sort_by_key(|(key, _)| if ascending { *key } else { -key });
        let expected: Vec<_> = expected
            .iter()
            .map(|(key, n)| format!("{key} {n}"))
            .collect();
        let sort = || OperatorKind::Sort {
            order: order(ascending),
            global: true,
            child: local(0, &columns),
        };
        let (found, none) = run_within(1 << 30, sort(), &columns, input());
        assert!(found == expected && none == 0);
        let (found, bytes) = run_within(256 << 10, sort(), &columns, input());
        assert!(found == expected && bytes > 100 << 10, "{bytes}");
        for limit in [1, 100, 5000] {
            let top = OperatorKind::TopK {
                limit,
                order: order(ascending),
                child: local(0, &columns),
            };
            let (found, _) = run_within(1 << 30, top, &columns, input());
            assert!(found == expected[..usize::try_from(limit).unwrap()]);
        }
    }
}

/// Rows of an operator over one local table with so much memory, and the bytes that went to disk.
fn run_within(
    memory: usize,
    kind: OperatorKind,
    columns: &[catalyst::Attribute],
    input: Vec<ArrayRef>,
) -> (Vec<String>, usize) {
    let input = TaskInputs::Leaf(0, rows(columns, &[batch(columns, input)]));
    let root = operator(kind, columns.to_vec());
    let stage = NativeStage::new(stage(root, Inputs::Leaf(0), false)).unwrap();
    let plan = plan(&stage, &input, Given::default());
    let runtime = RuntimeEnvBuilder::new().with_memory_pool(Arc::new(FairSpillPool::new(memory)));
    let config = SessionConfig::new()
        .with_target_partitions(1)
        .with_batch_size(64)
        .with_sort_spill_reservation_bytes(32 << 10);
    let found = text(&run_with(&plan, runtime, config).unwrap());
    (found, spilled(&plan.root))
}

/// Bytes that a plan's operators wrote to disk.
fn spilled(plan: &Arc<dyn ExecutionPlan>) -> usize {
    let own = plan.metrics().and_then(|metrics| metrics.spilled_bytes());
    let below = plan.children().into_iter().map(spilled);
    own.unwrap_or(0) + below.sum::<usize>()
}
