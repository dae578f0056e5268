//! `ShuffledHashJoinExec` and `SortMergeJoinExec`: both sides are a task's own. The smaller one is made into a table,
//! whichever of the two Spark planned, unless their order is asked for: then they are sorted and merged.

use std::collections::HashSet;
use std::sync::Arc;

use super::hash::Hash;
use super::hybrid::InParts;
use super::merge::Merge;
use super::{Sides, comparable_keys};
use crate::lower::{Demand, Lowered, Lowering, Result, needed, without_sort};
use crate::plan::Task;
use catalyst::Attribute;
use catalyst::Unsupported;
use catalyst::{BuildSide, EquiJoin};
use catalyst::{Inputs, LeafInput, TaskInputs};
use catalyst::{LeafId, Operator, OperatorKind, ShuffleRead};
use rows::types::schema_of;

/// Lowers a join of two inputs. `build_side` is Spark's choice, if it makes a table.
pub(crate) fn shuffled(
    lowering: &Lowering,
    join: &EquiJoin,
    build_side: Option<BuildSide>,
    (left, right): (&Operator, &Operator),
    inputs: &Inputs,
    demand: Demand<'_>,
) -> Result<Lowered> {
    if join.left_keys.is_empty() {
        return Err(Unsupported::of_use("a join without keys"));
    }
    comparable_keys(Some(join))?;
    let (left, right) = match build_side {
        // Tables need no order, and what is merged is sorted here.
        None => (without_sort(left), without_sort(right)),
        Some(_) => (left, right),
    };
    let (left_leaves, right_leaves) = (leaves(left), leaves(right));
    let zip = Zip::new(inputs, &left_leaves, &right_leaves)?;
    let keys = join.left_keys.iter().chain(&join.right_keys);
    let below = needed(demand, keys.chain(&join.condition));
    let streamed_order = |side| demand.ordered && build_side == Some(side);
    let side = |child, input, side| {
        let demand = Demand {
            columns: below.as_ref(),
            ordered: streamed_order(side),
        };
        lowering.operator(child, input, demand)
    };
    let left = side(left, zip.left_inputs, BuildSide::Right)?;
    let right = side(right, zip.right_inputs, BuildSide::Left)?;
    let output = output(join, left.output()?, right.output()?, demand);
    let hash = |side| Hash::new(join, side, &left, &right, &output);
    let merged_order = demand.ordered && build_side.is_none();
    let tables: Vec<Hash> = match build_side {
        _ if merged_order => Vec::new(),
        // The order of the streamed side.
        Some(side) if demand.ordered => vec![hash(side)?],
        _ => {
            let sides = [BuildSide::Right, BuildSide::Left].into_iter();
            sides.filter_map(|side| hash(side).ok()).collect()
        }
    };
    let merge = Merge::new(join, &left, &right, &output);
    let merge = match merge {
        Ok(merge) => Some(Arc::new(merge)),
        Err(reason) if tables.is_empty() => return Err(reason),
        Err(_) => None,
    };
    let schema = schema_of(&output)?;
    let keeps_order = demand.ordered;
    let (left_place, right_place) = (zip.left, zip.right);
    Lowered::new(
        output,
        Box::new(move |task, inputs| {
            let TaskInputs::Zip(inputs) = inputs else {
                return Err(Unsupported::of_use("inputs of another shape"));
            };
            let of = |place: usize| {
                let input = inputs.get(place);
                input.ok_or_else(|| Unsupported::of_use("inputs of another shape"))
            };
            let (left_inputs, right_inputs) = (of(left_place)?, of(right_place)?);
            let left_bytes = bytes(task, left_inputs, &left_leaves);
            let right_bytes = bytes(task, right_inputs, &right_leaves);
            let left = left.build(task, left_inputs)?;
            let right = right.build(task, right_inputs)?;
            let size = |hash: &Hash| match hash.side {
                BuildSide::Left => left_bytes,
                BuildSide::Right => right_bytes,
            };
            let sides = (left, right);
            let known = tables.iter().filter_map(|hash| Some((size(hash)?, hash)));
            let smallest = known.min_by_key(|(size, _)| *size).map(|(_, hash)| hash);
            let planned = || tables.iter().find(|hash| Some(hash.side) == build_side);
            let hash = smallest.or_else(planned).or(tables.first());
            match (hash, &merge) {
                (Some(hash), merge) => {
                    // In parts, rows come in another order.
                    let in_parts = (!keeps_order).then(|| InParts {
                        side: hash.side,
                        merge: merge.clone(),
                    });
                    Ok(hash.exec(&task.sources, sides, Arc::clone(&schema), in_parts))
                }
                (None, Some(merge)) => merge.exec(sides.0, sides.1, Arc::clone(&schema)),
                (None, None) => Err(Unsupported::of_use("a join of two large sides")),
            }
        }),
    )
}

/// The columns that come out, of left and right.
fn output(
    join: &EquiJoin,
    left: &[Attribute],
    right: &[Attribute],
    demand: Demand<'_>,
) -> Vec<Attribute> {
    let sides = Sides {
        join_type: &join.join_type,
        build_side: BuildSide::Right,
        streamed: left,
        build: right,
    };
    sides.output(demand).0
}

/// Which of the inputs belongs to which side.
struct Zip<'a> {
    left: usize,
    right: usize,
    left_inputs: &'a Inputs,
    right_inputs: &'a Inputs,
}

impl<'a> Zip<'a> {
    fn new(inputs: &'a Inputs, left: &[Leaf], right: &[Leaf]) -> Result<Self> {
        let other = || Unsupported::of_use("inputs of another shape");
        let Inputs::Zip(inputs) = inputs else {
            return Err(other());
        };
        let [_, _] = &inputs[..] else {
            return Err(other());
        };
        let of = |leaves: &[Leaf]| {
            let all = |input: &Inputs| {
                let mut ids = HashSet::new();
                input_leaves(input, &mut ids);
                leaves.iter().all(|leaf| ids.contains(&leaf.id))
            };
            let place = inputs.iter().position(all).ok_or_else(other)?;
            Ok((place, inputs.get(place).ok_or_else(other)?))
        };
        let (left, left_inputs) = of(left)?;
        let (right, right_inputs) = of(right)?;
        if left == right {
            return Err(other());
        }
        Ok(Self {
            left,
            right,
            left_inputs,
            right_inputs,
        })
    }
}

fn input_leaves(inputs: &Inputs, into: &mut HashSet<LeafId>) {
    match inputs {
        Inputs::Leaf(leaf) => {
            into.insert(*leaf);
        }
        Inputs::Zip(all) | Inputs::Cartesian(all) | Inputs::Union(all) => {
            all.iter().for_each(|inputs| input_leaves(inputs, into));
        }
        Inputs::Coalesced(inputs) | Inputs::Cached(inputs) => input_leaves(inputs, into),
    }
}

/// A leaf below a side.
#[derive(Debug, Clone, Copy)]
struct Leaf {
    id: LeafId,
    shuffle: Option<ShuffleRead>,
}

fn leaves(operator: &Operator) -> Vec<Leaf> {
    let leaf = match &operator.kind {
        OperatorKind::ShuffleRead { leaf, shuffle } => Some((*leaf, Some(*shuffle))),
        OperatorKind::FileSourceScan(scan) => Some((scan.leaf, None)),
        OperatorKind::LocalTableScan { leaf }
        | OperatorKind::OneRowRelation { leaf }
        | OperatorKind::Range { leaf, .. } => Some((*leaf, None)),
        OperatorKind::PickledScan(scan) => Some((scan.leaf, None)),
        OperatorKind::CheckpointScan(scan) => Some((scan.leaf, None)),
        _ => None,
    };
    let own = leaf.map(|(id, shuffle)| Leaf { id, shuffle });
    let below = operator.children().flat_map(leaves);
    own.into_iter().chain(below).collect()
}

/// How much a side reads; `None` if that is not known.
fn bytes(task: &Task, inputs: &TaskInputs, leaves: &[Leaf]) -> Option<u64> {
    match inputs {
        TaskInputs::Leaf(id, input) => {
            let leaf = leaves.iter().find(|leaf| leaf.id == *id)?;
            match input {
                LeafInput::Shuffle(spec) => task.sources.shuffle_bytes(&leaf.shuffle?, *spec),
                LeafInput::Files(files) => {
                    let lengths = files.iter().map(|file| u64::try_from(file.length).ok());
                    lengths.sum()
                }
                LeafInput::Rows(rows) => Some(rows.iter().map(|row| row.len() as u64).sum()),
                LeafInput::Slice(_) | LeafInput::Partition(_) | LeafInput::Object(_) => None,
            }
        }
        TaskInputs::Zip(all) | TaskInputs::Coalesced(all) => {
            all.iter().map(|inputs| bytes(task, inputs, leaves)).sum()
        }
        TaskInputs::Union(_, inputs) => bytes(task, inputs, leaves),
        // They may be read from a block.
        TaskInputs::Cached(..) => None,
    }
}
