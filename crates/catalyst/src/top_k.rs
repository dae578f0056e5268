//! `TakeOrderedAndProjectExec` and `CollectLimitExec` inside of a plan: the first rows of each partition are gathered
//! in one, whose first rows are then taken, and projected.
//!
//! At the root of a plan the former is an action of its own, `RDD.takeOrdered`, which is not read here.

use javaser::Closure;

use crate::closure::ClosureArgs as _;
use crate::error::{Result, Unsupported};
use crate::expr::{Expr, ExprKind, read_sort_orders};
use crate::lineage::{Hint, Lineage, Tree};
use crate::metrics::read_map;
use crate::object::Object;
use crate::operators::attributes;
use crate::output::plan_output;
use crate::plan::{Columns, Operator, OperatorKind};

impl<'g> Lineage<'_, 'g> {
    /// What a closure of `TakeOrderedAndProjectExec.doExecute` makes of an RDD.
    pub(crate) fn take_ordered(&mut self, closure: &Closure, rdd: Object<'g>) -> Result<Tree> {
        let reader = self.reader;
        let plan = closure.arg(reader, 0)?;
        let (gathers, hint) = self.gathering(plan, rdd)?;
        let sorted = match closure.args.len() {
            // The operator only: what is below is sorted already.
            1 if gathers => true,
            2 => false,
            _ => return Err(closure.unsupported()),
        };
        let Tree { operator, inputs } = self.rdd(rdd, hint)?;
        operator.output.require()?;
        let limit = plan.int("limit")?;
        let operator = if sorted {
            limited(operator, limit, 0)
        } else {
            Operator {
                output: operator.output.clone(),
                kind: OperatorKind::TopK {
                    limit,
                    order: read_sort_orders(reader, plan.elements("sortOrder")?)?,
                    child: Box::new(operator),
                },
                metrics: Vec::new(),
            }
        };
        let operator = match gathers {
            true => operator,
            false => {
                let offset = plan.int("offset")?;
                let list = Expr::read_all(reader, plan.elements("projectList")?)?;
                // The offset counts within the limit.
                projected(
                    if offset > 0 {
                        limited(operator, -1, offset)
                    } else {
                        operator
                    },
                    list,
                )?
            }
        };
        Ok(Tree { operator, inputs })
    }

    /// What a closure of `CollectLimitExec.doExecute` makes of an RDD: the plan of a subquery ends with it.
    pub(crate) fn collect_limit(&mut self, closure: &Closure, rdd: Object<'g>) -> Result<Tree> {
        let plan = closure.arg(self.reader, 0)?;
        // The first rows of a partition and the first rows of all are the same closure, but for an offset.
        if plan.int("offset")? > 0 {
            return Err(Unsupported::of_use("a subquery with an offset"));
        }
        let (_, hint) = self.gathering(plan, rdd)?;
        let Tree { operator, inputs } = self.rdd(rdd, hint)?;
        let operator = limited(operator, plan.int("limit")?, 0);
        Ok(Tree { operator, inputs })
    }

    /// Whether an operator's closure stands below its own shuffle, and what is known of the RDD below the closure. Such
    /// a shuffle counts with the operator's metrics. What stands below it is the first rows of a partition, all else
    /// the first rows of all: Spark 3.5 has the same closure for both.
    fn gathering(&self, plan: Object<'g>, rdd: Object<'g>) -> Result<(bool, Hint<'g>)> {
        let reader = self.reader;
        let child = plan.object("child")?;
        let own = |field| read_map(reader, plan, field);
        let gathers = match &self.write_metrics {
            Some(metrics) => !metrics.is_empty() && *metrics == own("writeMetrics")?,
            None => false,
        };
        let gathered = rdd.name() == "ShuffledRowRDD"
            && read_map(reader, rdd, "metrics")? == own("readMetrics")?;
        let hint = match gathered && !gathers {
            true => Hint::output(plan_output(reader, child)?),
            false => Hint::plan(child),
        };
        Ok((gathers, hint))
    }
}

/// The first rows, all if the limit is negative.
fn limited(child: Operator, limit: i32, offset: i32) -> Operator {
    Operator {
        output: child.output.clone(),
        kind: OperatorKind::Limit {
            limit,
            offset,
            child: Box::new(child),
        },
        metrics: Vec::new(),
    }
}

/// A projection, where it is more than the columns themselves.
fn projected(child: Operator, list: Vec<Expr>) -> Result<Operator> {
    let columns = child.output.require()?;
    let same = list.len() == columns.len()
        && list.iter().zip(columns).all(|(expr, column)| {
            matches!(&expr.kind, ExprKind::Attribute(attribute) if attribute.id == column.id)
        });
    if same {
        return Ok(child);
    }
    Ok(Operator {
        output: Columns::Known(attributes(&list)?),
        kind: OperatorKind::Project {
            list,
            child: Box::new(child),
        },
        metrics: Vec::new(),
    })
}
