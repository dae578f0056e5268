//! `top_k(value, k)`: the `k` largest values of a group, the largest first.
//!
//! Values are compared as Spark does: NaN is equal to itself and larger than all others, and `-0.0` is equal to `0.0`.
//! Rows with a null are left out; a group without other rows gives null. `k` is the same for all rows of a group.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::sync::Arc;

use functions::arrow::array::{
    ArrayRef, AsArray, Float64Array, Int32Array, ListBuilder, StructArray,
};
use functions::arrow::datatypes::{Float64Type, Int32Type};
use functions::guest::{
    Aggregate, AggregateInstance, Binding, Declaration, Failure, Groups, Nulls, Task,
};

/// As many values as a result has at most.
const MOST: i32 = 1_000_000;
/// SQLSTATE of a numeric value out of range.
const OUT_OF_RANGE: &str = "22003";
/// SQLSTATE of an argument that makes no sense.
const INVALID_ARGUMENT: &str = "22023";

pub(crate) struct TopK;

impl Aggregate for TopK {
    fn declaration(&self) -> Declaration {
        Declaration::new("top_k")
            .description("The k largest values, the largest first")
            .signature("double, int", "array<double>")
            .nulls(Nulls::Skipped)
    }

    fn state(&self) -> String {
        "values:array<double>, k:int".into()
    }

    fn bind(&self, _binding: &Binding) -> Result<Box<dyn AggregateInstance>, Failure> {
        Ok(Box::new(Instance::default()))
    }
}

#[derive(Default)]
struct Instance {
    groups: Vec<Group>,
    /// Values of all groups.
    values: usize,
}

/// The largest values so far; the smallest of them is on top.
#[derive(Default, Clone)]
struct Group {
    /// `None` as long as there are no rows.
    k: Option<i32>,
    values: BinaryHeap<Reverse<Value>>,
}

impl Group {
    /// Takes a value, and gives how many more there are.
    fn insert(&mut self, value: f64, k: i32) -> usize {
        let value = Reverse(Value(value));
        if self.values.len() < usize::try_from(k).unwrap_or_default() {
            self.values.push(value);
            return 1;
        }
        if let Some(mut smallest) = self.values.peek_mut()
            && value < *smallest
        {
            *smallest = value;
        }
        0
    }

    fn sorted(self) -> Vec<f64> {
        let values = self.values.into_sorted_vec().into_iter();
        values.map(|Reverse(Value(value))| value).collect()
    }
}

impl Instance {
    fn grow(&mut self, groups: Groups<'_>) {
        self.groups.resize(groups.count(), Group::default());
    }

    /// The group of a row, once its `k` is known to be the group's.
    fn group(&mut self, number: usize, k: i32, row: usize) -> Result<&mut Group, Failure> {
        if !(1..=MOST).contains(&k) {
            let failure = Failure::invalid(format!("k {k} is not from 1 to {MOST}"));
            return Err(failure.with_sqlstate(OUT_OF_RANGE).at_row(row));
        }
        let group = self.groups.get_mut(number);
        let group = group.ok_or_else(|| Failure::internal(format!("no group {number}")))?;
        match group.k.replace(k) {
            Some(other) if other != k => {
                let failure = Failure::invalid(format!("k is {other} and {k} in the same group"));
                Err(failure.with_sqlstate(INVALID_ARGUMENT).at_row(row))
            }
            _ => Ok(group),
        }
    }
}

impl AggregateInstance for Instance {
    fn update(
        &mut self,
        _task: &Task,
        arguments: &StructArray,
        groups: Groups<'_>,
    ) -> Result<(), Failure> {
        self.grow(groups);
        let values = arguments.column(0).as_primitive::<Float64Type>().values();
        let ks = arguments.column(1).as_primitive::<Int32Type>().values();
        let rows = values.iter().zip(ks).zip(groups.indices());
        for (row, ((value, k), group)) in rows.enumerate() {
            self.values += self.group(group, *k, row)?.insert(*value, *k);
        }
        Ok(())
    }

    fn merge(
        &mut self,
        _task: &Task,
        states: &StructArray,
        groups: Groups<'_>,
    ) -> Result<(), Failure> {
        self.grow(groups);
        let lists = states.column(0).as_list::<i32>();
        let ks = states.column(1).as_primitive::<Int32Type>();
        let rows = lists.iter().zip(ks).zip(groups.indices());
        for (row, ((list, k), group)) in rows.enumerate() {
            // The state of a group without rows.
            let (Some(list), Some(k)) = (list, k) else {
                continue;
            };
            let mut more = 0;
            let group = self.group(group, k, row)?;
            for value in list.as_primitive::<Float64Type>().values() {
                more += group.insert(*value, k);
            }
            self.values += more;
        }
        Ok(())
    }

    fn states(&mut self, _task: &Task, count: usize) -> Result<Vec<ArrayRef>, Failure> {
        self.groups.resize(count, Group::default());
        let ks: Int32Array = self.groups.iter().map(|group| group.k).collect();
        Ok(vec![lists(self.groups.iter().cloned()), Arc::new(ks)])
    }

    fn finish(&mut self, _task: &Task, count: usize) -> Result<ArrayRef, Failure> {
        self.groups.resize(count, Group::default());
        self.values = 0;
        Ok(lists(std::mem::take(&mut self.groups).into_iter()))
    }

    fn size(&self) -> usize {
        // A heap grows to twice of what it has.
        self.groups.capacity() * size_of::<Group>() + self.values * 2 * size_of::<f64>()
    }
}

fn lists(groups: impl Iterator<Item = Group>) -> ArrayRef {
    let mut lists = ListBuilder::new(Float64Array::builder(0));
    for group in groups {
        let has_rows = group.k.is_some();
        lists.values().append_slice(&group.sorted());
        lists.append(has_rows);
    }
    Arc::new(lists.finish())
}

/// A number in Spark's order.
#[derive(Clone, Copy)]
struct Value(f64);

impl Ord for Value {
    fn cmp(&self, other: &Self) -> Ordering {
        let order = self.0.partial_cmp(&other.0);
        order.unwrap_or_else(|| self.0.is_nan().cmp(&other.0.is_nan()))
    }
}

impl PartialOrd for Value {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Value {}

#[cfg(test)]
mod tests {
    use functions::abi::FIRESTEEL_STATUS_INVALID;
    use functions::testing::Host;

    use super::*;

    fn rows(values: &[f64], k: i32) -> [ArrayRef; 2] {
        [
            Arc::new(Float64Array::from(values.to_vec())),
            Arc::new(Int32Array::from(vec![k; values.len()])),
        ]
    }

    /// NaN is written as text: it is not equal to itself.
    fn read(lists: &ArrayRef) -> Vec<String> {
        let lists = lists.as_list::<i32>().iter();
        let list = lists.map(|list| match list {
            Some(list) => format!("{:?}", &list.as_primitive::<Float64Type>().values()[..]),
            None => "null".into(),
        });
        list.collect()
    }

    #[test]
    fn the_largest_values_are_kept() {
        let host = Host::new(crate::module);
        let top = host.bind("top_k", "double, int").unwrap();
        top.update(&rows(&[1.0, 5.0, 3.0, 2.0, 4.0], 3), &[0, 0, 0, 0, 0])
            .unwrap();
        top.update(
            &rows(&[f64::NEG_INFINITY, f64::NAN, 9.0, 7.0], 2),
            &[2, 2, 2, 2],
        )
        .unwrap();
        top.update(&rows(&[6.0, 0.0], 3), &[0, 0]).unwrap();
        top.update(&rows(&[], 3), &[]).unwrap();
        assert!(top.size() >= 5 * size_of::<f64>());
        assert_eq!(
            read(&top.finish(4).unwrap()),
            ["[6.0, 5.0, 4.0]", "null", "[NaN, 9.0]", "null"]
        );
        // It has forgotten them.
        top.update(&rows(&[1.0], 3), &[0]).unwrap();
        assert_eq!(read(&top.finish(1).unwrap()), ["[1.0]"]);
    }

    #[test]
    fn states_are_merged() {
        let parts = [
            (vec![1.0, 8.0, f64::NAN, 2.0], vec![0, 0, 1, 1]),
            (vec![5.0, 4.0, 3.0, f64::NAN], vec![0, 0, 1, 1]),
        ];
        let host = Host::new(crate::module);
        let whole = host.bind("top_k", "double, int").unwrap();
        for (values, groups) in parts {
            let host = Host::new(crate::module);
            let part = host.bind("top_k", "double, int").unwrap();
            part.update(&rows(&values, 3), &groups).unwrap();
            // The third group has no rows.
            let states = part.states(3).unwrap();
            assert_eq!(states, part.states(3).unwrap());
            whole.merge(&states, &[1, 0, 2]).unwrap();
        }
        assert_eq!(
            read(&whole.finish(3).unwrap()),
            ["[NaN, NaN, 3.0]", "[8.0, 5.0, 4.0]", "null"]
        );
    }

    #[test]
    fn k_is_one_number_in_range() {
        for (k, message) in [
            (0, "k 0 is not from 1 to 1000000"),
            (-1, "k -1 is not from 1 to 1000000"),
        ] {
            let host = Host::new(crate::module);
            let top = host.bind("top_k", "double, int").unwrap();
            let failed = top.update(&rows(&[1.0], k), &[0]).unwrap_err();
            assert_eq!(failed.status, FIRESTEEL_STATUS_INVALID);
            assert_eq!(failed.message, message);
            assert_eq!(failed.sqlstate, "22003");
        }
        let host = Host::new(crate::module);
        let top = host.bind("top_k", "double, int").unwrap();
        let values: ArrayRef = Arc::new(Float64Array::from(vec![1.0, 2.0, 3.0]));
        let ks: ArrayRef = Arc::new(Int32Array::from(vec![1, 2, 3]));
        let failed = top.update(&[values, ks], &[0, 1, 0]).unwrap_err();
        assert_eq!(failed.message, "k is 1 and 3 in the same group");
        assert_eq!((failed.row, failed.sqlstate.as_str()), (2, "22023"));
    }
}
