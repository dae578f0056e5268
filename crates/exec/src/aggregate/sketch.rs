//! Sketches: `hll_sketch_agg`, `hll_union_agg`, `count_min_sketch`. Buffer: the sketch, as it is written for results,
//! too; of a union without sketches nothing.

use std::mem::take;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BinaryViewArray, BinaryViewBuilder, BooleanArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType as ArrowType, Int64Type};
use datafusion_common::Result;
use sketches::hll::{HllSketch, HllUnion, Source};
use sketches::{CountMin, CountMinPlan};

use super::accumulator::{Accumulator, column};
use crate::expr::sketches::{count_min_plan, left, refused_sizes};
use catalyst::{Literal, Unsupported};
use rows::error::bail_out;

/// A value that is counted.
enum Value<'v> {
    Long(i64),
    Bytes(&'v [u8]),
}

/// Calls a function with the group and the value of each row that counts and is not null.
fn each(
    values: &ArrayRef,
    groups: &[usize],
    filter: Option<&BooleanArray>,
    mut of: impl FnMut(usize, Value<'_>),
) -> Result<()> {
    let rows = groups.iter().enumerate();
    let rows = rows
        .filter(|(row, _)| values.is_valid(*row) && filter.is_none_or(|filter| filter.value(*row)));
    match values.data_type() {
        ArrowType::Utf8View => {
            let texts = values.as_string_view();
            rows.for_each(|(row, group)| of(*group, Value::Bytes(texts.value(row).as_bytes())));
        }
        ArrowType::BinaryView => {
            let bytes = values.as_binary_view();
            rows.for_each(|(row, group)| of(*group, Value::Bytes(bytes.value(row))));
        }
        _ => {
            let longs = cast(values, &ArrowType::Int64)?;
            let longs = longs.as_primitive::<Int64Type>();
            rows.for_each(|(row, group)| of(*group, Value::Long(longs.value(row))));
        }
    }
    Ok(())
}

/// Calls a function with the group and the bytes of each buffer.
fn each_buffer(
    buffers: &[ArrayRef],
    groups: &[usize],
    mut of: impl FnMut(usize, &[u8]) -> Result<()>,
) -> Result<()> {
    let buffers = binary(buffers)?;
    for (buffer, group) in buffers.iter().zip(groups) {
        of(
            *group,
            buffer.ok_or_else(|| bail_out("a buffer that is null"))?,
        )?;
    }
    Ok(())
}

fn binary(columns: &[ArrayRef]) -> Result<&BinaryViewArray> {
    let column = column(columns, 0)?.as_binary_view_opt();
    column.ok_or_else(|| bail_out("sketches of another type"))
}

fn column_of(sketches: impl ExactSizeIterator<Item = Vec<u8>>) -> ArrayRef {
    let mut builder = BinaryViewBuilder::with_capacity(sketches.len());
    sketches.for_each(|bytes| builder.append_value(bytes));
    Arc::new(builder.finish())
}

/// A sketch for each group.
pub(super) struct HllSketches {
    empty: HllSketch,
    sketches: Vec<HllSketch>,
}

impl HllSketches {
    pub(super) fn new(lg_k: u8) -> Result<Self> {
        let empty = HllSketch::new(lg_k);
        Ok(Self {
            empty: empty.ok_or_else(|| bail_out("an HLL sketch of no size"))?,
            sketches: Vec::new(),
        })
    }
}

// Groups are smaller than `total`, to which the vector is resized.
#[allow(clippy::indexing_slicing)]
impl Accumulator for HllSketches {
    fn update(
        &mut self,
        args: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        total: usize,
    ) -> Result<()> {
        self.sketches.resize(total, self.empty.clone());
        each(column(args, 0)?, groups, filter, |group, value| {
            let sketch = &mut self.sketches[group];
            match value {
                Value::Long(value) => sketch.add_long(value),
                Value::Bytes(value) => sketch.add_bytes(value),
            }
        })
    }

    fn merge(&mut self, buffers: &[ArrayRef], groups: &[usize], total: usize) -> Result<()> {
        self.sketches.resize(total, self.empty.clone());
        each_buffer(buffers, groups, |group, buffer| {
            let other = HllSketch::read(buffer).map_err(left)?;
            let sketch = &mut self.sketches[group];
            let mut union = HllUnion::of(take(sketch));
            union.add(other, Source::Object);
            *sketch = union.into_sketch();
            Ok(())
        })
    }

    fn so_far(&mut self) -> Option<Result<ArrayRef>> {
        Some(Ok(column_of(self.sketches.iter().map(HllSketch::to_bytes))))
    }

    fn evaluate(&mut self) -> Result<ArrayRef> {
        let sketches = take(&mut self.sketches).into_iter();
        Ok(column_of(sketches.map(|sketch| sketch.to_bytes())))
    }

    fn size(&self) -> usize {
        self.sketches.iter().map(HllSketch::size).sum()
    }
}

/// A union for each group that has sketches.
pub(super) struct HllUnions {
    /// They may have different numbers of registers.
    any_size: bool,
    unions: Vec<Option<HllUnion>>,
}

impl HllUnions {
    pub(super) fn new(any_size: bool) -> Self {
        Self {
            any_size,
            unions: Vec::new(),
        }
    }

    fn bytes(&mut self, without: &[u8]) -> ArrayRef {
        let unions = self.unions.iter_mut().map(|union| match union {
            Some(union) => union.finish().to_bytes(),
            None => without.to_vec(),
        });
        column_of(unions)
    }
}

// Groups are smaller than `total`, to which the vector is resized.
#[allow(clippy::indexing_slicing)]
impl Accumulator for HllUnions {
    fn update(
        &mut self,
        args: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        total: usize,
    ) -> Result<()> {
        self.unions.resize(total, None);
        let sketches = binary(args)?;
        for (row, group) in groups.iter().enumerate() {
            if sketches.is_null(row) || filter.is_some_and(|filter| !filter.value(row)) {
                continue;
            }
            let sketch = HllSketch::read(sketches.value(row)).map_err(left)?;
            let union = &mut self.unions[*group];
            if union.is_none() {
                *union = HllUnion::new(sketch.lg_k());
            }
            if let Some(union) = union {
                let sizes = [union.lg_k(), sketch.lg_k()];
                refused_sizes(sizes, union.is_empty() || sketch.is_empty(), self.any_size)?;
                union.add(sketch, Source::Bytes);
            }
        }
        Ok(())
    }

    fn merge(&mut self, buffers: &[ArrayRef], groups: &[usize], total: usize) -> Result<()> {
        self.unions.resize(total, None);
        each_buffer(buffers, groups, |group, buffer| {
            if buffer.is_empty() {
                return Ok(());
            }
            let other = HllUnion::of(HllSketch::read(buffer).map_err(left)?);
            match &mut self.unions[group] {
                union @ None => *union = Some(other),
                Some(union) => {
                    let sizes = [union.lg_k(), other.lg_k()];
                    refused_sizes(sizes, union.is_empty() || other.is_empty(), self.any_size)?;
                    union.add(other.into_sketch(), Source::Object);
                }
            }
            Ok(())
        })
    }

    fn so_far(&mut self) -> Option<Result<ArrayRef>> {
        Some(Ok(self.bytes(&HllSketch::default().to_bytes())))
    }

    fn buffers(&mut self) -> Result<Vec<ArrayRef>> {
        let bytes = self.bytes(&[]);
        self.unions.clear();
        Ok(vec![bytes])
    }

    fn evaluate(&mut self) -> Result<ArrayRef> {
        let bytes = self.bytes(&HllSketch::default().to_bytes());
        self.unions.clear();
        Ok(bytes)
    }

    fn size(&self) -> usize {
        let unions = self.unions.iter();
        unions
            .map(|union| size_of::<Option<HllUnion>>() + union.as_ref().map_or(0, HllUnion::size))
            .sum()
    }
}

/// Error, confidence and seed that are tried where only types are asked about.
pub(super) fn example() -> Vec<Literal> {
    vec![
        Literal::Double(0.5),
        Literal::Double(0.5),
        Literal::Integer(1),
    ]
}

/// What count-min sketches of a function have in common.
pub(super) fn plan(constants: &[Literal]) -> std::result::Result<CountMinPlan, Unsupported> {
    let plan = match *constants {
        [
            Literal::Double(error),
            Literal::Double(confidence),
            Literal::Integer(seed),
        ] => count_min_plan(error, confidence, seed),
        _ => None,
    };
    plan.ok_or_else(|| Unsupported::of_use("CountMinSketchAgg of so many counters"))
}

/// A count-min sketch for each group.
pub(super) struct CountMins {
    plan: CountMinPlan,
    sketches: Vec<CountMin>,
}

impl CountMins {
    pub(super) fn new(constants: &[Literal]) -> Result<Self> {
        Ok(Self {
            plan: plan(constants).map_err(|reason| bail_out(reason.to_string()))?,
            sketches: Vec::new(),
        })
    }
}

// Groups are smaller than `total`, to which the vector is resized.
#[allow(clippy::indexing_slicing)]
impl Accumulator for CountMins {
    fn update(
        &mut self,
        args: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        total: usize,
    ) -> Result<()> {
        self.sketches
            .resize_with(total, || CountMin::new(&self.plan));
        each(column(args, 0)?, groups, filter, |group, value| {
            let sketch = &mut self.sketches[group];
            match value {
                Value::Long(value) => sketch.add_long(value),
                Value::Bytes(value) => sketch.add_bytes(value),
            }
        })
    }

    fn merge(&mut self, buffers: &[ArrayRef], groups: &[usize], total: usize) -> Result<()> {
        self.sketches
            .resize_with(total, || CountMin::new(&self.plan));
        each_buffer(buffers, groups, |group, buffer| {
            self.sketches[group].merge(buffer).map_err(left)
        })
    }

    fn so_far(&mut self) -> Option<Result<ArrayRef>> {
        Some(Ok(column_of(self.sketches.iter().map(CountMin::to_bytes))))
    }

    fn evaluate(&mut self) -> Result<ArrayRef> {
        let sketches = take(&mut self.sketches).into_iter();
        Ok(column_of(sketches.map(|sketch| sketch.to_bytes())))
    }

    fn size(&self) -> usize {
        self.sketches.iter().map(CountMin::size).sum()
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{Int64Array, StringViewArray};

    use super::*;

    fn values() -> ArrayRef {
        Arc::new(
            (0..3000_i64)
                .map(|value| (value % 7 != 0).then_some(value))
                .collect::<Int64Array>(),
        )
    }

    fn estimates(sketches: &ArrayRef) -> Vec<i64> {
        let sketches = sketches.as_binary_view().iter();
        let estimate = |bytes: Option<&[u8]>| HllSketch::read(bytes.unwrap()).unwrap().estimate();
        sketches.map(|bytes| estimate(bytes).unwrap()).collect()
    }

    #[test]
    fn sketches_go_through_buffers() {
        let groups: Vec<usize> = (0..3000).map(|row| row % 2).collect();
        let mut parts = HllSketches::new(12).unwrap();
        parts.update(&[values()], &groups, None, 3).unwrap();
        assert!(parts.size() > 0);
        let so_far = parts.so_far().unwrap().unwrap();
        let buffers = parts.buffers().unwrap();
        assert_eq!(&so_far, &buffers[0]);
        let mut whole = HllSketches::new(12).unwrap();
        whole.merge(&buffers, &[0, 0, 1], 2).unwrap();
        let sketches = whole.evaluate().unwrap();
        let found = estimates(&sketches);
        assert!((2500..2650).contains(&found[0]), "{found:?}");
        assert_eq!(found[1], 0);

        let mut unions = HllUnions::new(false);
        unions
            .update(&[Arc::clone(&buffers[0])], &[0, 0, 2], None, 3)
            .unwrap();
        let parts = unions.buffers().unwrap();
        assert!(parts[0].as_binary_view().value(1).is_empty());
        unions.merge(&parts, &[0, 1, 0], 2).unwrap();
        let united = unions.evaluate().unwrap();
        assert_eq!(estimates(&united)[1], 0);
        assert!((2500..2650).contains(&estimates(&united)[0]));
    }

    #[test]
    fn texts_without_characters_are_not_counted() {
        let texts: ArrayRef = Arc::new(StringViewArray::from(vec![Some(""), None, Some("a")]));
        let mut sketches = HllSketches::new(4).unwrap();
        sketches.update(&[texts], &[0, 0, 0], None, 1).unwrap();
        assert_eq!(estimates(&sketches.evaluate().unwrap()), [1]);
    }

    #[test]
    fn sketches_of_other_sizes_and_forms_are_left() {
        let of = |lg_k, values: &[i64]| {
            let mut sketch = HllSketch::new(lg_k).unwrap();
            values.iter().for_each(|value| sketch.add_long(*value));
            sketch.to_bytes()
        };
        let united = |any_size, sketches: &[Vec<u8>]| {
            let column: ArrayRef = Arc::new(BinaryViewArray::from_iter_values(sketches));
            let mut unions = HllUnions::new(any_size);
            unions.update(&[column], &vec![0; sketches.len()], None, 1)
        };
        let all = [of(12, &[1]), of(10, &[2])];
        united(true, &all).unwrap();
        united(false, &all).unwrap_err();
        united(true, &[of(12, &[1]), of(10, &[])]).unwrap_err();
        united(true, &[of(12, &[]), of(10, &[1])]).unwrap_err();
        united(true, &[b"no sketch".to_vec()]).unwrap_err();
    }

    #[test]
    fn counts_are_added_through_buffers() {
        let mut whole = CountMins::new(&example()).unwrap();
        whole.update(&[values()], &vec![0; 3000], None, 1).unwrap();
        let mut parts = CountMins::new(&example()).unwrap();
        let groups: Vec<usize> = (0..3000).map(|row| row % 3).collect();
        parts.update(&[values()], &groups, None, 3).unwrap();
        let buffers = parts.buffers().unwrap();
        parts.merge(&buffers, &[0, 0, 0], 1).unwrap();
        assert_eq!(&parts.evaluate().unwrap(), &whole.evaluate().unwrap());
        let broken: ArrayRef = Arc::new(BinaryViewArray::from_iter_values([b"no sketch"]));
        parts.merge(&[broken], &[0], 1).unwrap_err();
        assert!(plan(&[]).is_err());
    }
}
