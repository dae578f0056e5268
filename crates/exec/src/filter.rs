//! `FilterExec`, with the projection to the columns that are needed above.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::array::{Array, AsArray, BooleanArray, RecordBatch};
use arrow::compute::{BatchCoalescer, prep_null_mask_filter};
use arrow::datatypes::SchemaRef;
use datafusion_common::Result as DataFusionResult;
use datafusion_physical_expr::PhysicalExpr;

use super::draws::{Drawn, Draws, file_facts};
use super::exec::{Pipe, Start, batch_of, pipe};
use super::expr::lower;
use super::lower::{Demand, Lowered, Lowering, Result, all_references, needed, places};
use catalyst::Inputs;
use catalyst::Operator;
use catalyst::{Expr, ExprId};
use rows::error::bail_out;

/// Lowers a filter.
pub(super) fn filter(
    lowering: &Lowering,
    condition: &Expr,
    child: &Operator,
    inputs: &Inputs,
    demand: Demand<'_>,
) -> Result<Lowered> {
    let below = needed(demand, [condition]);
    if condition.draws() {
        return drawing(lowering, condition, child, inputs, demand);
    }
    let child = lowering.below_filter(child, condition, inputs, demand.of(below.as_ref()))?;
    let predicate = lower(condition, child.output()?)?;
    let (projection, output) = places(child.output()?, demand);
    let start = move |start: &Start<'_>| {
        let filter = Filter {
            predicate: Arc::clone(&predicate),
            drawn: None,
            projection: projection.clone(),
            coalescer: coalescer(Arc::clone(start.schema), start.batch_size()),
        };
        Ok(pipe(filter, start.input(0)?, start.baseline()))
    };
    Lowered::unary("FilterExec", output, child, Arc::new(start))
}

/// A filter by values that are drawn.
fn drawing(
    lowering: &Lowering,
    condition: &Expr,
    child: &Operator,
    inputs: &Inputs,
    demand: Demand<'_>,
) -> Result<Lowered> {
    let mut condition = [condition.clone()];
    let draws = Draws::take(&mut condition, child)?;
    // What is known of files is no column of the operator below: nobody has it who asks for all.
    let all: HashSet<ExprId>;
    let demand = match demand.columns {
        None if file_facts_of(&condition) => {
            let columns = child.output.require()?.iter();
            all = columns.map(|column| column.id).collect();
            demand.of(Some(&all))
        }
        _ => demand,
    };
    let below = needed(demand, &condition);
    let ordered = Demand {
        columns: below.as_ref(),
        ordered: true,
    };
    let child = lowering.operator(child, inputs, ordered)?;
    let [condition] = condition;
    let predicate = lower(&condition, &draws.behind(child.output()?))?;
    let (projection, output) = places(child.output()?, demand);
    // Without what was drawn.
    let projection = projection.unwrap_or_else(|| (0..output.len()).collect());
    let start = move |start: &Start<'_>, drawn| {
        let filter = Filter {
            predicate: Arc::clone(&predicate),
            drawn: Some(drawn),
            projection: Some(projection.clone()),
            coalescer: coalescer(Arc::clone(start.schema), start.batch_size()),
        };
        Ok(pipe(filter, start.input(0)?, start.baseline()))
    };
    Lowered::drawing("FilterExec", output, child, draws, Arc::new(start))
}

/// Whether an expression refers to what is known of files.
fn file_facts_of(exprs: &[Expr]) -> bool {
    let columns = all_references(exprs);
    let demand = Demand::unordered(columns.as_ref());
    file_facts(demand).next().is_some()
}

/// Gathers rows into batches of the size wanted.
pub(super) fn coalescer(schema: SchemaRef, batch_size: usize) -> BatchCoalescer {
    // Batches that are large enough are passed on without a copy.
    let copied = Some(batch_size / 2);
    BatchCoalescer::new(schema, batch_size).with_biggest_coalesce_batch_size(copied)
}

/// The rows that a predicate is true of, as a mask without nulls.
pub(super) fn mask(
    predicate: &Arc<dyn PhysicalExpr>,
    batch: &RecordBatch,
) -> DataFusionResult<BooleanArray> {
    let mask = predicate.evaluate(batch)?.into_array(batch.num_rows())?;
    let Some(mask) = mask.as_boolean_opt() else {
        return Err(bail_out("a condition that is not boolean"));
    };
    Ok(match mask.null_count() {
        0 => mask.clone(),
        _ => prep_null_mask_filter(mask),
    })
}

struct Filter {
    predicate: Arc<dyn PhysicalExpr>,
    drawn: Option<Drawn>,
    projection: Option<Vec<usize>>,
    coalescer: BatchCoalescer,
}

impl Pipe for Filter {
    fn push(&mut self, batch: RecordBatch) -> DataFusionResult<()> {
        let batch = match &mut self.drawn {
            Some(drawn) => drawn.extend(&batch)?,
            None => batch,
        };
        let mask = mask(&self.predicate, &batch)?;
        let count = mask.true_count();
        if count == 0 {
            return Ok(());
        }
        let all = count == batch.num_rows();
        let batch = match &self.projection {
            Some(places) => batch.project(places)?,
            None => batch,
        };
        let schema = self.coalescer.schema();
        let batch = batch_of(&schema, batch.columns().to_vec(), batch.num_rows())?;
        if all {
            self.coalescer.push_batch(batch)?;
        } else {
            self.coalescer.push_batch_with_filter(batch, &mask)?;
        }
        Ok(())
    }

    fn finish(&mut self) -> DataFusionResult<()> {
        Ok(self.coalescer.finish_buffered_batch()?)
    }

    fn pop(&mut self) -> DataFusionResult<Option<RecordBatch>> {
        Ok(self.coalescer.next_completed_batch())
    }
}
