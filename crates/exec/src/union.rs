//! `UnionExec` and `CoalesceExec`.

use std::sync::Arc;

use arrow::datatypes::DataType as ArrowType;
use datafusion_physical_plan::ExecutionPlan;
use futures::stream::{self, StreamExt, TryStreamExt};

use super::exec::{OperatorExec, Start};
use super::lower::{Demand, Lowered, Lowering, Result};
use catalyst::Attribute;
use catalyst::Unsupported;
use catalyst::{Columns, Operator};
use catalyst::{Inputs, TaskInputs};
use rows::types::ToArrow as _;

fn other_shape() -> Unsupported {
    Unsupported::of_use("inputs of another shape")
}

/// Lowers a union: a task computes one of its inputs.
pub(super) fn union(
    lowering: &Lowering,
    children: &[Operator],
    output: &Columns,
    inputs: &Inputs,
    demand: Demand<'_>,
) -> Result<Lowered> {
    let Inputs::Union(inputs) = inputs else {
        return Err(other_shape());
    };
    if inputs.len() != children.len() {
        return Err(other_shape());
    }
    // Columns go by their places.
    let demand = demand.of(None);
    let children = children.iter().zip(inputs);
    let children = children.map(|(child, inputs)| lowering.operator(child, inputs, demand));
    let children = children.collect::<Result<Vec<_>>>()?;
    // Parts of columns may be null in one input only, and have other names.
    let types = |of: &[Attribute]| -> Result<Vec<ArrowType>> {
        of.iter()
            .map(|column| column.data_type.to_arrow())
            .collect()
    };
    let expected = output.known().map(types).transpose()?;
    for child in &children {
        let child = child.columns.known();
        let same = match (child, &expected) {
            (Some(child), Some(expected)) => types(child)? == *expected,
            (None, None) => true,
            _ => false,
        };
        if !same {
            return Err(Unsupported::of_use("a union of different columns"));
        }
    }
    Lowered::of(
        output.clone(),
        Box::new(move |task, inputs| {
            let TaskInputs::Union(place, inputs) = inputs else {
                return Err(other_shape());
            };
            let child = children.get(*place).ok_or_else(other_shape)?;
            child.build(task, inputs)
        }),
    )
}

/// Lowers a coalesce: a task computes several partitions of its input, one after the other.
pub(super) fn coalesce(
    lowering: &Lowering,
    child: &Operator,
    inputs: &Inputs,
    demand: Demand<'_>,
) -> Result<Lowered> {
    let Inputs::Coalesced(inputs) = inputs else {
        return Err(other_shape());
    };
    let child = lowering.operator(child, inputs, demand)?;
    let (columns, of) = (child.columns.clone(), Arc::clone(&child.schema));
    Lowered::of(
        columns,
        Box::new(move |task, inputs| {
            let TaskInputs::Coalesced(inputs) = inputs else {
                return Err(other_shape());
            };
            let plans = inputs.iter().map(|inputs| child.build(task, inputs));
            let plans = plans.collect::<Result<Vec<Arc<dyn ExecutionPlan>>>>()?;
            let start = |start: &Start<'_>| {
                let (plans, context) = (start.inputs.to_vec(), Arc::clone(start.context));
                let baseline = start.baseline();
                // Started one after the other: each may hold files and memory.
                let batches = stream::iter(plans).map(move |plan| {
                    let context = Arc::clone(&context);
                    plan.execute(0, context)
                });
                let batches = batches.try_flatten().inspect_ok(move |batch| {
                    baseline.record_output(batch.num_rows());
                });
                Ok(batches.boxed())
            };
            let schema = Arc::clone(&of);
            let exec = OperatorExec::new("CoalesceExec", plans, schema, Arc::new(start));
            Ok(Arc::new(exec) as Arc<dyn ExecutionPlan>)
        }),
    )
}
