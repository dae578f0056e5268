//! Queries that were made into RDDs of their rows, which other queries read: steps of recursive queries, batches of
//! streams.

use crate::error::{Result, Unsupported};
use crate::expr::{Attribute, Expr, ExprKind};
use crate::infer::of_query;
use crate::lineage::{Hint, Lineage, Tree};
use crate::object::Object;
use crate::output::plan_output;
use crate::plan::{Columns, Operator, OperatorKind};

impl<'g> Lineage<'_, 'g> {
    /// The rows of a query, under the names of whoever reads them.
    pub(crate) fn query(&mut self, rdd: Object<'g>, hint: Hint<'g>) -> Result<Tree> {
        // It has settings of its own for jobs that are no queries.
        if !self.reader.settings.in_query {
            return Err(Unsupported::of_use("rows of a query outside of queries"));
        }
        let rows = of_query(rdd)?;
        let output = match (hint.bare_plan(), hint.plan, hint.output) {
            (Some(plan), _, _) => plan_output(self.reader, plan)?,
            (None, Some(_), _) => return Err(Unsupported::of_use("a query of another plan")),
            (None, None, Some(output)) => output,
            (None, None, None) => return self.rdd(rows, Hint::default()),
        };
        let tree = self.rdd(rows, Hint::output(output.clone()))?;
        renamed(tree, output)
    }
}

/// The same rows, whose columns are those.
pub(crate) fn renamed(tree: Tree, output: Vec<Attribute>) -> Result<Tree> {
    let other = || Unsupported::of_use("a query of other columns");
    let columns = tree.operator.output.known().ok_or_else(other)?;
    if columns.len() != output.len() {
        return Err(other());
    }
    let pairs = || columns.iter().zip(&output);
    if pairs().any(|(column, name)| column.data_type != name.data_type) {
        return Err(other());
    }
    if pairs().all(|(column, name)| column.id == name.id) {
        return Ok(tree);
    }
    let list = pairs().map(|(column, name)| Expr {
        data_type: name.data_type.clone(),
        nullable: name.nullable,
        kind: ExprKind::Alias {
            child: Box::new(Expr::attribute(column.clone())),
            name: name.name.clone(),
            id: name.id,
        },
    });
    let list = list.collect();
    let operator = Operator {
        kind: OperatorKind::Project {
            list,
            child: Box::new(tree.operator),
        },
        output: Columns::Known(output),
        metrics: Vec::new(),
    };
    Ok(Tree {
        operator,
        inputs: tree.inputs,
    })
}
