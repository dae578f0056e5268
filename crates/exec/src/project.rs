//! `ProjectExec` and `ExpandExec`.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::SchemaRef;
use datafusion_common::Result as DataFusionResult;
use datafusion_physical_expr::PhysicalExpr;

use super::draws::{Drawn, Draws, file_facts};
use super::exec::{Pipe, Start, batch_of, pipe};
use super::expr::lower;
use super::lower::{Demand, Lowered, Lowering, Result, all_references};
use catalyst::Inputs;
use catalyst::Operator;
use catalyst::Unsupported;
use catalyst::{Attribute, Expr, ExprId};
use rows::types::ToArrow as _;

/// Lowers a projection. Columns that are not needed above are not computed.
pub(super) fn project(
    lowering: &Lowering,
    list: &[Expr],
    child: &Operator,
    inputs: &Inputs,
    demand: Demand<'_>,
) -> Result<Lowered> {
    // Of what is below: projections above ask for it as for columns.
    let facts = file_facts(demand).map(|fact| Expr::attribute(fact.attribute()));
    let facts: Vec<Expr> = facts.collect();
    let named = list.iter().chain(&facts);
    let named = named.map(|expr| match expr.to_attribute() {
        Some(attribute) => Ok((expr, attribute)),
        None => Err(Unsupported::of_use("an output without a name")),
    });
    let mut named: Vec<(&Expr, Attribute)> = named.collect::<Result<_>>()?;
    if let Some(required) = demand.columns {
        named.retain(|(_, attribute)| required.contains(&attribute.id));
    }
    let below = all_references(named.iter().map(|(expr, _)| *expr));
    if named.iter().any(|(expr, _)| expr.draws()) {
        return drawing(lowering, named, child, inputs);
    }
    let child = lowering.operator(child, inputs, demand.of(below.as_ref()))?;
    let input = child.output()?;
    let exprs = named
        .iter()
        .map(|(expr, _)| lower(expr, input))
        .collect::<Result<Arc<[_]>>>()?;
    let output = named.into_iter().map(|(_, attribute)| attribute).collect();
    let start = move |start: &Start<'_>| {
        let project = Expand::new(start, vec![Arc::clone(&exprs)]);
        Ok(pipe(project, start.input(0)?, start.baseline()))
    };
    Lowered::unary("ProjectExec", output, child, Arc::new(start))
}

/// A projection with values that are drawn.
fn drawing(
    lowering: &Lowering,
    named: Vec<(&Expr, Attribute)>,
    child: &Operator,
    inputs: &Inputs,
) -> Result<Lowered> {
    let (mut exprs, output): (Vec<Expr>, Vec<Attribute>) = named
        .into_iter()
        .map(|(expr, attribute)| (expr.clone(), attribute))
        .unzip();
    let draws = Draws::take(&mut exprs, child)?;
    // Also the columns that stand for what is known of files.
    let below = all_references(&exprs);
    let demand = Demand {
        columns: below.as_ref(),
        ordered: true,
    };
    let child = lowering.operator(child, inputs, demand)?;
    let input = draws.behind(child.output()?);
    let exprs = exprs.iter().map(|expr| lower(expr, &input));
    let exprs = exprs.collect::<Result<Arc<[_]>>>()?;
    let start = move |start: &Start<'_>, drawn| {
        let expand = Expand {
            drawn: Some(drawn),
            ..Expand::new(start, vec![Arc::clone(&exprs)])
        };
        Ok(pipe(expand, start.input(0)?, start.baseline()))
    };
    Lowered::drawing("ProjectExec", output, child, draws, Arc::new(start))
}

/// Lowers an expansion.
pub(super) fn expand(
    lowering: &Lowering,
    projections: &[Vec<Expr>],
    output: &[Attribute],
    child: &Operator,
    inputs: &Inputs,
    demand: Demand<'_>,
) -> Result<Lowered> {
    let below: Option<HashSet<ExprId>> = all_references(projections.iter().flatten());
    let child = lowering.operator(child, inputs, demand.of(below.as_ref()))?;
    let input = child.output()?;
    let mut lists = Vec::new();
    for projection in projections {
        let same = projection.iter().zip(output);
        let mut all_same = projection.len() == output.len();
        for (expr, column) in same {
            all_same &= expr.data_type.to_arrow()? == column.data_type.to_arrow()?;
        }
        if !all_same {
            return Err(Unsupported::of_use("an expansion to other types"));
        }
        let list = projection.iter().map(|expr| lower(expr, input));
        lists.push(list.collect::<Result<Arc<[_]>>>()?);
    }
    let start = move |start: &Start<'_>| {
        let expand = Expand::new(start, lists.clone());
        Ok(pipe(expand, start.input(0)?, start.baseline()))
    };
    Lowered::unary("ExpandExec", output.to_vec(), child, Arc::new(start))
}

/// Values of expressions for all rows of a batch.
pub(super) fn evaluate(
    exprs: &[Arc<dyn PhysicalExpr>],
    batch: &RecordBatch,
) -> DataFusionResult<Vec<ArrayRef>> {
    exprs
        .iter()
        .map(|expr| expr.evaluate(batch)?.into_array(batch.num_rows()))
        .collect()
}

/// One batch for each projection of each batch.
struct Expand {
    lists: Vec<Arc<[Arc<dyn PhysicalExpr>]>>,
    schema: SchemaRef,
    input: Option<RecordBatch>,
    next: usize,
    drawn: Option<Drawn>,
}

impl Expand {
    fn new(start: &Start<'_>, lists: Vec<Arc<[Arc<dyn PhysicalExpr>]>>) -> Self {
        Self {
            lists,
            schema: Arc::clone(start.schema),
            input: None,
            next: 0,
            drawn: None,
        }
    }
}

impl Pipe for Expand {
    fn push(&mut self, batch: RecordBatch) -> DataFusionResult<()> {
        self.input = Some(match &mut self.drawn {
            Some(drawn) => drawn.extend(&batch)?,
            None => batch,
        });
        self.next = 0;
        Ok(())
    }

    fn finish(&mut self) -> DataFusionResult<()> {
        Ok(())
    }

    fn pop(&mut self) -> DataFusionResult<Option<RecordBatch>> {
        let Some(batch) = &self.input else {
            return Ok(None);
        };
        let Some(list) = self.lists.get(self.next) else {
            self.input = None;
            return Ok(None);
        };
        self.next += 1;
        let columns = evaluate(list, batch)?;
        batch_of(&self.schema, columns, batch.num_rows()).map(Some)
    }
}
