//! Stages of generated code: the operators that made it, found through those that the code refers to.
//!
//! `WholeStageCodegenExec` sends source text and an array of objects that the text refers to. Some operators are among
//! these: keyed hash aggregates, sorts, shuffled joins. Each has its whole tree below it, and a `parent` that leads up
//! to the root of the code. Where no operator is among them, one of a later stage of code in the same RDDs may have the
//! tree below its `InputAdapter`.

use std::vec::IntoIter;

use javaser::arena::Value;

use crate::carried;
use crate::closure::ClosureArgs as _;
use crate::error::{Result, Unsupported};
use crate::jvm_scan::count_batches;
use crate::lineage::{Hint, Lineage, Tree, union_tree};
use crate::metrics::{Metric, of_operator};
use crate::object::{Object, Reader};
use crate::operators::{broadcast_join, broadcast_sides, left_is_streamed};
use crate::output::plan_output;
use crate::plan::{Broadcast, Columns};
use crate::scan::read_broadcast;
use javaser::Closure;

/// Longest way up from an operator to the root of its code.
const MAX_PARENTS: usize = 1000;

/// What generated code takes in, in the order in which Spark asks for it.
#[derive(Debug)]
struct Sources<'g> {
    rdds: IntoIter<Object<'g>>,
    broadcasts: IntoIter<Broadcast>,
    /// How many broadcasts the code asks for that an operator hands each of its rows on to.
    above: usize,
}

impl<'g> Sources<'g> {
    fn next_rdd(&mut self) -> Result<Object<'g>> {
        let rdd = self.rdds.next();
        rdd.ok_or_else(|| Unsupported::of_use("generated code without input"))
    }

    /// The broadcasts of the joins above, if there are as many.
    fn peek_above(&self) -> Option<Vec<Broadcast>> {
        let next = self.broadcasts.as_slice().get(..self.above)?;
        Some(next.to_vec())
    }

    fn take_above(&mut self) -> Option<Vec<Broadcast>> {
        let next = self.peek_above()?;
        self.broadcasts.by_ref().take(self.above).for_each(drop);
        Some(next)
    }
}

impl<'g> Lineage<'_, 'g> {
    /// The operators of a `WholeStageCodegenEvaluatorFactory`.
    pub(crate) fn whole_stage(
        &mut self,
        factory: Object<'g>,
        child: Object<'g>,
        hint: &Hint<'g>,
    ) -> Result<Tree> {
        let references = factory.elements("references")?;
        let reader = self.reader;
        let broadcasts = references
            .iter()
            .filter(|value| reader.class(**value) == "org.apache.spark.broadcast.TorrentBroadcast")
            .map(|value| read_broadcast(reader, *value))
            .collect::<Result<Vec<_>>>()?;
        let root = references
            .iter()
            .find_map(|value| carried::plan(reader.graph, *value))
            .map(|plan| reader.expect(plan))
            .transpose()?
            .or_else(|| references.iter().find_map(|value| self.root_above(*value)))
            .or_else(|| {
                hint.bare_plan()
                    .filter(|plan| plan.name() == "WholeStageCodegenExec")
            });
        let Some(root) = root else {
            return Err(Unsupported::of_use("generated code without operators"));
        };
        let mut sources = Sources {
            rdds: self.inputs_of_code(child)?.into_iter(),
            broadcasts: broadcasts.into_iter(),
            above: 0,
        };
        let mut tree = self.code(root.object("child")?, &mut sources)?;
        if sources.rdds.next().is_some() || sources.broadcasts.next().is_some() {
            return Err(Unsupported::of_use("generated code with other inputs"));
        }
        // Its metric is the time that the whole code takes.
        if let Some(duration) = factory.get("durationMs") {
            let metric = Metric::read(reader, "pipelineTime", duration)?;
            tree.operator.metrics.push(metric);
        }
        Ok(tree)
    }

    /// The root of the code that an operator is in.
    fn root_above(&self, value: Value) -> Option<Object<'g>> {
        let class = self.reader.class(value);
        if !class.starts_with("org.apache.spark.sql.execution.") || !class.ends_with("Exec") {
            return None;
        }
        let mut operator = self.reader.expect(value).ok()?;
        for _ in 0..MAX_PARENTS {
            if operator.name() == "WholeStageCodegenExec" {
                return Some(operator);
            }
            operator = operator.maybe("parent")?;
        }
        None
    }

    /// The RDDs that generated code reads: one, or two that are zipped for it.
    fn inputs_of_code(&self, rdd: Object<'g>) -> Result<Vec<Object<'g>>> {
        if rdd.name() != "ZippedPartitionsRDD2" {
            return Ok(vec![rdd]);
        }
        let closure = Closure::in_field(rdd, "f")?;
        match closure.name() {
            ("sql.execution.WholeStageCodegenExec", "doExecute") => {
                Ok(vec![rdd.object("rdd1")?, rdd.object("rdd2")?])
            }
            // A join without generated code below.
            _ => Ok(vec![rdd]),
        }
    }

    fn code(&mut self, plan: Object<'g>, sources: &mut Sources<'g>) -> Result<Tree> {
        let reader = self.reader;
        reader.nested(|| self.code_of(plan, sources))
    }

    fn code_of(&mut self, plan: Object<'g>, sources: &mut Sources<'g>) -> Result<Tree> {
        let reader = self.reader;
        match plan.name() {
            "InputAdapter" => {
                let rdd = sources.next_rdd()?;
                self.rdd(rdd, Hint::plan(plan.object("child")?))
            }
            // Batches of Spark's reader become rows. The scan counts for it: it has as many rows.
            "ColumnarToRowExec" => {
                let mut tree = self.code(plan.object("child")?, sources)?;
                tree.operator.metrics.extend(of_operator(reader, plan)?);
                count_batches(&mut tree.operator);
                Ok(tree)
            }
            "BroadcastHashJoinExec" | "BroadcastNestedLoopJoinExec" => {
                let (_, streamed) = broadcast_sides(plan)?;
                sources.above += 1;
                let streamed = self.code(streamed, sources)?;
                sources.above -= 1;
                // Code is written from the input up: each join asks for its broadcast after those below it.
                let broadcast = sources.broadcasts.next();
                let broadcast = broadcast
                    .ok_or_else(|| Unsupported::of_use("generated code without broadcast"))?;
                Ok(Tree {
                    operator: broadcast_join(reader, plan, broadcast, streamed.operator)?,
                    inputs: streamed.inputs,
                })
            }
            "SortMergeJoinExec" | "ShuffledHashJoinExec" => {
                let left_first = left_is_streamed(reader, plan)?;
                let (first, second) = if left_first {
                    ("left", "right")
                } else {
                    ("right", "left")
                };
                let first = self.code(plan.object(first)?, sources)?;
                let second = self.code(plan.object(second)?, sources)?;
                self.join(plan, left_first, first, second)
            }
            "UnionExec" => self.union_of_code(plan, sources),
            "LocalTableScanExec" | "CommandResultExec" => {
                let rdd = sources.next_rdd()?;
                let output = Columns::Known(plan_output(reader, plan)?);
                self.local_rows(rdd, output, of_operator(reader, plan)?)
            }
            "OneRowRelationExec" => {
                let rdd = sources.next_rdd()?;
                self.one_row(rdd, of_operator(reader, plan)?)
            }
            "RDDScanExec" => {
                let rdd = sources.next_rdd()?;
                let leaves = self.leaves;
                self.rdd_scan(plan, rdd).or_else(|why| {
                    self.leaves = leaves;
                    self.scan_in_code(plan, rdd).map_err(|_| why)
                })
            }
            "RowDataSourceScanExec" => {
                let rdd = sources.next_rdd()?;
                self.scan_in_code(plan, rdd)
            }
            "RangeExec" => {
                numbers_of_range(reader, sources.next_rdd()?)?;
                self.range(plan)
            }
            // All others have one input; what is no operator of that kind is refused when it is read.
            _ => {
                let Some(child) = plan.maybe("child") else {
                    return Err(Unsupported::Class(plan.name().to_owned()));
                };
                let above = sources.above;
                // These keep their rows, and hand them on in code of its own.
                if matches!(
                    plan.name(),
                    "HashAggregateExec" | "SortAggregateExec" | "SortExec"
                ) {
                    sources.above = 0;
                }
                let child = self.code(child, sources)?;
                sources.above = above;
                self.over(plan, child)
            }
        }
    }

    /// A union within generated code (4.3): the code has a part for each input, whose RDDs are united for it. Parts are
    /// written one after the other, each with all that its rows are handed on to: the broadcasts of an input are
    /// followed by those of the joins above the union, which come again with the next input.
    fn union_of_code(&mut self, plan: Object<'g>, sources: &mut Sources<'g>) -> Result<Tree> {
        let other = || Unsupported::of_use("a union of other inputs");
        let rdd = sources.rdds.next().ok_or_else(other)?;
        if rdd.name() != "UnionRDD" {
            return Err(Unsupported::Class(rdd.name().to_owned()));
        }
        let (parents, plans) = (rdd.elements("rdds")?, plan.elements("children")?);
        if parents.len() != plans.len() {
            return Err(other());
        }
        let mut children = Vec::new();
        let mut above: Option<Vec<Broadcast>> = None;
        for (parent, child) in parents.into_iter().zip(plans) {
            // Those of the last input are left for the joins themselves.
            if let Some(above) = &above
                && sources.take_above().as_ref() != Some(above)
            {
                return Err(other());
            }
            let mut own = Sources {
                rdds: vec![self.reader.expect(parent)?].into_iter(),
                broadcasts: std::mem::take(&mut sources.broadcasts),
                above: sources.above,
            };
            children.push(self.code(self.reader.expect(child)?, &mut own)?);
            if own.rdds.next().is_some() {
                return Err(other());
            }
            sources.broadcasts = own.broadcasts;
            if above.is_none() {
                above = Some(sources.peek_above().ok_or_else(other)?);
            }
        }
        union_tree(children, of_operator(self.reader, plan)?)
    }
}

/// Fails if `rdd` is not what a `RangeExec` gives its code: the numbers of its partitions.
fn numbers_of_range(reader: &Reader<'_>, rdd: Object<'_>) -> Result<()> {
    if rdd.name() != "MapPartitionsRDD" {
        return Err(Unsupported::Class(rdd.name().to_owned()));
    }
    let outer = Closure::in_field(rdd, "f")?;
    match outer.inner(reader.graph) {
        Some(inner) if inner.name() == ("sql.execution.RangeExec", "inputRDDs") => Ok(()),
        _ => Err(outer.unsupported()),
    }
}
