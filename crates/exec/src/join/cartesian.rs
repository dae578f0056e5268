//! `CartesianProductExec`: all pairs of the rows of two inputs of a task.

use std::sync::Arc;

use super::Sides;
use super::hash::product;
use super::probe::{Emit, Plan};
use crate::lower::{Demand, Lowered, Lowering, Result, needed};
use catalyst::Expr;
use catalyst::Operator;
use catalyst::Unsupported;
use catalyst::{BuildSide, JoinType};
use catalyst::{Inputs, TaskInputs};
use rows::types::schema_of;

/// Lowers a product, of which only those pairs count that the condition is true of. Pairs come in Spark's order: each
/// left row with all right ones.
pub(crate) fn cartesian(
    lowering: &Lowering,
    condition: Option<&Expr>,
    (left, right): (&Operator, &Operator),
    inputs: &Inputs,
    demand: Demand<'_>,
) -> Result<Lowered> {
    let other = || Unsupported::of_use("inputs of another shape");
    let Inputs::Cartesian(inputs) = inputs else {
        return Err(other());
    };
    let [left_inputs, right_inputs] = &inputs[..] else {
        return Err(other());
    };
    let below = needed(demand, condition);
    let left = lowering.operator(left, left_inputs, demand.of(below.as_ref()))?;
    let right = lowering.operator(right, right_inputs, demand.of(below.as_ref()))?;
    let sides = Sides {
        join_type: &JoinType::Inner,
        build_side: BuildSide::Right,
        streamed: left.output()?,
        build: right.output()?,
    };
    let (output, columns) = sides.output(demand);
    let plan = Arc::new(Plan {
        emit: Emit::Pairs {
            streamed: false,
            build: false,
        },
        keys: Vec::new(),
        condition: sides.condition(condition)?,
        output: columns,
    });
    let schema = schema_of(&output)?;
    Lowered::new(
        output,
        Box::new(move |task, inputs| {
            let TaskInputs::Zip(inputs) = inputs else {
                return Err(other());
            };
            let [left_inputs, right_inputs] = &inputs[..] else {
                return Err(other());
            };
            let left = left.build(task, left_inputs)?;
            let right = right.build(task, right_inputs)?;
            let sources = Arc::clone(&task.sources);
            Ok(product(
                sources,
                Arc::clone(&plan),
                (left, right),
                Arc::clone(&schema),
            ))
        }),
    )
}
