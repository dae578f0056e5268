//! From the RDDs of a stage to its operators.
//!
//! Without generated code each operator is an RDD of its own, whose closure captured the operator or an evaluator
//! factory with its parameters. What a closure does not tell, as the columns of a shuffle, the operator above it knows:
//! that is handed down.

use javaser::arena::Value;

use crate::closure::ClosureArgs as _;
use crate::error::{Result, Unsupported};
use crate::expr::{Attribute, Expr, read_attributes};
use crate::inputs::Inputs;
use crate::jvm_scan::count_batches;
use crate::metrics::{Metric, of_operator};
use crate::object::{Object, Reader};
use crate::objects::{ObjectOperator, are_objects};
use crate::operators::{
    broadcast_join, broadcast_sides, left_is_streamed, sampled, shuffled_join, unary,
};
use crate::output::{plan_output, union_output};
use crate::plan::{AggregateStrategy, Columns, LeafId, Operator, OperatorKind};
use crate::python::over_columns;
use crate::scan::read_broadcast;
use javaser::Closure;

/// What the operator above knows of an RDD.
#[derive(Debug, Clone, Default)]
pub(crate) struct Hint<'g> {
    /// The operator object that the RDD was made from.
    pub(crate) plan: Option<Object<'g>>,
    /// Its columns.
    pub(crate) output: Option<Vec<Attribute>>,
}

impl<'g> Hint<'g> {
    pub(crate) fn plan(plan: Object<'g>) -> Self {
        Self {
            plan: Some(plan),
            output: None,
        }
    }

    pub(crate) fn output(output: Vec<Attribute>) -> Self {
        Self {
            plan: None,
            output: Some(output),
        }
    }

    /// The operator object, without those that only stand around it.
    pub(crate) fn bare_plan(&self) -> Option<Object<'g>> {
        let mut plan = self.plan?;
        // Each is the child of the one before in a tree that was made so: this ends, and if not, soon.
        for _ in 0..100 {
            plan = match plan.name() {
                "InputAdapter" => plan.maybe("child")?,
                "ResultQueryStageExec" => plan.maybe("plan")?,
                "AdaptiveSparkPlanExec" => plan.maybe("currentPhysicalPlan")?,
                _ => return Some(plan),
            };
        }
        None
    }
}

/// An operator and where its leaves get their partitions.
#[derive(Debug)]
pub(crate) struct Tree {
    pub(crate) operator: Operator,
    pub(crate) inputs: Inputs,
}

/// Walks down the RDDs of a stage.
#[derive(Debug)]
pub(crate) struct Lineage<'r, 'g> {
    pub(crate) reader: &'r Reader<'g>,
    /// Metrics of the writer of the stage's shuffle, if it writes one.
    pub(crate) write_metrics: Option<Vec<Metric>>,
    pub(crate) leaves: usize,
}

impl<'r, 'g> Lineage<'r, 'g> {
    pub(crate) fn new(reader: &'r Reader<'g>) -> Self {
        Self {
            reader,
            write_metrics: None,
            leaves: 0,
        }
    }

    pub(crate) fn leaf(&mut self) -> LeafId {
        self.leaves += 1;
        self.leaves - 1
    }

    pub(crate) fn rdd(&mut self, rdd: Object<'g>, hint: Hint<'g>) -> Result<Tree> {
        let reader = self.reader;
        reader.nested(|| self.native_or_scan(rdd, hint, |lineage, hint| lineage.nested(rdd, hint)))
    }

    fn nested(&mut self, rdd: Object<'g>, hint: Hint<'g>) -> Result<Tree> {
        if rdd.option("checkpointData")?.is_some() {
            // Those of data frames are read by operators.
            return Err(Unsupported::of_use("a checkpoint"));
        }
        match rdd.class().strip_prefix("org.apache.spark.") {
            Some("rdd.MapPartitionsRDD") => self.map_partitions(rdd, hint),
            Some("rdd.MapPartitionsWithEvaluatorRDD") => {
                let factory = rdd.object("evaluatorFactory")?;
                self.evaluate(factory, rdd.object("prev")?, hint)
            }
            Some("rdd.ZippedPartitionsRDD2") => {
                let closure = Closure::in_field(rdd, "f")?;
                match closure.name() {
                    (
                        "sql.execution.joins.SortMergeJoinExec"
                        | "sql.execution.joins.ShuffledHashJoinExec",
                        "doExecute",
                    ) => self.zipped_join(closure.arg(self.reader, 0)?, rdd),
                    (
                        "sql.execution.python.FlatMapCoGroupsInPandasExec"
                        | "sql.execution.python.FlatMapCoGroupsInBatchExec",
                        "doExecute",
                    ) => self.map_cogroups(&closure, rdd),
                    ("sql.execution.CoGroupExec", "doExecute") => {
                        self.cogrouped_objects(&closure, rdd)
                    }
                    _ => Err(closure.unsupported()),
                }
            }
            Some("rdd.ZippedPartitionsWithEvaluatorRDD") => {
                self.zipped_join(rdd.object("evaluatorFactory")?, rdd)
            }
            Some("rdd.UnionRDD") => self.union(rdd, hint),
            // From Spark 4.1 on, of inputs that are divided alike: a task computes its partition of each.
            Some("rdd.SQLPartitioningAwareUnionRDD") => {
                Ok(one_after_another(self.union(rdd, hint)?))
            }
            Some("rdd.CoalescedRDD") => self.coalesced(rdd, hint),
            Some("sql.execution.SQLExecutionRDD") => self.query(rdd, hint),
            // Of `LIMIT 0`, or of inputs without partitions.
            Some("rdd.ParallelCollectionRDD") => match hint.bare_plan() {
                Some(plan) if plan.name() == "TakeOrderedAndProjectExec" => {
                    let output = plan_output(self.reader, plan)?;
                    self.local_rows(rdd, Columns::Known(output), Vec::new())
                }
                _ => Err(Unsupported::Class(rdd.name().to_owned())),
            },
            // What is left of an input without partitions if it is to have one.
            Some(
                "sql.execution.CoalesceExec$EmptyRDDWithPartitions"
                | "sql.execution.EmptyRDDWithPartitions",
            ) => {
                let output = self.columns_of_rows(&hint)?;
                Ok(self.empty(output))
            }
            Some("sql.execution.ShuffledRowRDD") => self.shuffle_read(rdd, hint),
            Some("sql.execution.datasources.FileScanRDD") => match hint.bare_plan() {
                Some(plan) => self.scan(plan, rdd),
                None => Err(Unsupported::of_use("a scan without its operator")),
            },
            Some(_) => Err(Unsupported::Class(rdd.name().to_owned())),
            None => Err(Unsupported::of_use("an RDD class of the user")),
        }
    }

    /// The closure of an operator in that of its RDD.
    pub(crate) fn closure_of(&self, rdd: Object<'g>) -> Result<Closure> {
        if rdd.name() != "MapPartitionsRDD" {
            return Err(Unsupported::Class(rdd.name().to_owned()));
        }
        let outer = Closure::in_field(rdd, "f")?;
        let inner = outer.inner(self.reader.graph);
        let inner = inner.filter(|_| outer.name().0 == "rdd.RDD");
        inner.ok_or_else(|| outer.unsupported())
    }

    fn map_partitions(&mut self, rdd: Object<'g>, hint: Hint<'g>) -> Result<Tree> {
        let reader = self.reader;
        if rdd.flag("isFromBarrier") {
            return Err(Unsupported::of_use("a barrier"));
        }
        let closure = self.closure_of(rdd)?;
        let child = rdd.object("prev")?;
        let (class, method) = closure.name();
        if (class, method) == ("rdd.RDD", "randomSampleWithRange") {
            return self.sample(&closure, child, &hint);
        }
        let operator = class.strip_prefix("sql.execution.").unwrap_or_default();
        match (operator, method) {
            ("WholeStageCodegenExec", "doExecute") => {
                self.evaluate(closure.arg(reader, 0)?, child, hint)
            }
            ("FilterExec" | "ProjectExec", "doExecute") => {
                self.evaluate(closure.arg(reader, 0)?, child, hint)
            }
            // Spark 3.5's windows are closures of the operator, later ones have evaluators.
            ("window.WindowExec", "doExecute")
                if closure.arg(reader, 0)?.name() == "WindowEvaluatorFactory" =>
            {
                self.evaluate(closure.arg(reader, 0)?, child, hint)
            }
            ("window.WindowGroupLimitExec" | "python.MapInBatchExec", "doExecute") => {
                self.evaluate(closure.arg(reader, 0)?, child, hint)
            }
            ("python.WindowInPandasExec" | "python.ArrowWindowPythonExec", "doExecute") => {
                match closure.arg(reader, 0)? {
                    factory if factory.name().ends_with("EvaluatorFactory") => {
                        self.evaluate(factory, child, hint)
                    }
                    _ => self.window_python(&closure, child),
                }
            }
            (
                "python.FlatMapGroupsInPandasExec" | "python.FlatMapGroupsInBatchExec",
                "doExecute",
            ) => self.map_groups(&closure, child),
            ("python.AggregateInPandasExec" | "python.ArrowAggregatePythonExec", "doExecute") => {
                self.aggregate_python(&closure, child)
            }
            // Copies rows.
            ("python.EvalPythonExec" | "python.EvalPythonUDTFExec", "doExecute")
                if closure.args.is_empty() =>
            {
                self.rdd(child, hint)
            }
            // Takes rows out of batches of columns.
            ("python.ArrowEvalPythonExec", "doExecute") => self.rdd(child, hint),
            ("python.ArrowEvalPythonExec", "doExecuteColumnar") => {
                let plan = closure.arg(reader, 0)?;
                let child = self.rdd(child, Hint::plan(plan.object("child")?))?;
                let tree = self.over(plan, child)?;
                over_columns(&tree.operator)?;
                Ok(tree)
            }
            (
                "aggregate.HashAggregateExec"
                | "aggregate.SortAggregateExec"
                | "aggregate.ObjectHashAggregateExec"
                | "SortExec"
                | "ExpandExec"
                | "BaseLimitExec"
                | "GlobalLimitExec"
                | "GenerateExec"
                | "window.WindowExec"
                | "python.EvalPythonExec"
                | "python.EvalPythonUDTFExec",
                "doExecute",
            ) => {
                let plan = closure.arg(reader, 0)?;
                let child = self.rdd(child, Hint::plan(plan.object("child")?))?;
                let mut tree = self.over(plan, child)?;
                if let OperatorKind::Aggregate {
                    strategy: AggregateStrategy::ObjectHash { sorts_from },
                    ..
                } = &mut tree.operator.kind
                {
                    *sorts_from = closure.int(reader, 1)?;
                }
                Ok(tree)
            }
            ("FileSourceScanExec", "doExecute") => match closure.arg(reader, 0)? {
                rows if rows.name() == "SQLMetric" => self.scan_of_rows(&closure, hint, child),
                plan => self.scan(plan, child),
            },
            // Of generated code that is too long for the JVM to compile.
            ("ColumnarToRowExec", "doExecute") => {
                self.rows_of_columns(closure.arg(reader, 0)?, child, &hint)
            }
            ("FileSourceScanExec", "doExecuteColumnar") => {
                self.scan_of_columns(&closure, hint, child)
            }
            ("datasources.v2.DataSourceV2ScanExecBase", "doExecute" | "doExecuteColumnar") => {
                self.scan_of_table(&closure, rdd, &hint)
            }
            ("joins.BroadcastHashJoinExec", "doExecute") => self.broadcast_join(&closure, child),
            // The projection of what the closure below it joins.
            ("joins.BroadcastNestedLoopJoinExec", "doExecute") => self.rdd(child, hint),
            ("joins.BroadcastNestedLoopJoinExec", _) => self.broadcast_join(&closure, child),
            // Counts the rows of a sample, from Spark 4.2 on.
            ("SampleExec", "doExecute") => {
                let mut tree = self.rdd(child, hint)?;
                let metric = closure.args.first().copied().unwrap_or(Value::Null);
                let metric = Metric::read(reader, "numOutputRows", metric)?;
                tree.operator.metrics.push(metric);
                Ok(tree)
            }
            // Copies rows.
            ("TakeOrderedAndProjectExec", "executeCollect") => self.rdd(child, hint),
            ("joins.CartesianProductExec", "doExecute") => {
                self.cartesian(closure.arg(reader, 0)?, child)
            }
            ("TakeOrderedAndProjectExec", "doExecute") => self.take_ordered(&closure, child),
            ("CollectLimitExec", "doExecute") => self.collect_limit(&closure, child),
            ("LocalTableScanExec" | "CommandResultExec", "doExecute") => {
                self.local_table(&closure, child, &hint)
            }
            ("OneRowRelationExec", "doExecute") => {
                let metric = closure.args.first().copied().unwrap_or(Value::Null);
                let metrics = vec![Metric::read(reader, "numOutputRows", metric)?];
                self.one_row(child, metrics)
            }
            ("columnar.DefaultCachedBatchSerializer", "convertCachedBatchToInternalRow") => {
                self.cached_rows(&closure, child)
            }
            ("columnar.InMemoryTableScanExec", "columnarInputRDD" | "doExecuteColumnar") => {
                self.cached_columns(&closure, child)
            }
            ("RDDScanExec", "doExecute") => self.rdd_scan(closure.arg(reader, 0)?, child),
            ("RangeExec", "doExecute") => self.range(closure.arg(reader, 0)?),
            ("ExternalRDDScanExec", "doExecute") => self.objects_of_rdd(rdd),
            (operator, "doExecute") => match ObjectOperator::of(operator) {
                Some(operator) => self.objects(operator, &closure, child),
                None => Err(closure.unsupported()),
            },
            _ => Err(closure.unsupported()),
        }
    }

    /// What an evaluator factory makes of an RDD.
    fn evaluate(&mut self, factory: Object<'g>, child: Object<'g>, hint: Hint<'g>) -> Result<Tree> {
        match factory.name() {
            "FilterEvaluatorFactory"
            | "ProjectEvaluatorFactory"
            | "WindowEvaluatorFactory"
            | "WindowGroupLimitEvaluatorFactory" => {
                let output = factory.elements("childOutput")?;
                let hint = match are_objects(self.reader, &output) {
                    true => Hint::default(),
                    false => Hint::output(read_attributes(self.reader, output)?),
                };
                let child = self.rdd(child, hint)?;
                self.over(factory, child)
            }
            "WindowInPandasEvaluatorFactory" | "ArrowWindowPythonEvaluatorFactory" => {
                let output = read_attributes(self.reader, factory.elements("childOutput")?)?;
                let child = self.rdd(child, Hint::output(output))?;
                self.window_python_evaluated(factory, child)
            }
            "ColumnarToRowEvaluatorFactory" => self.rows_of_columns(factory, child, &hint),
            "MapInBatchEvaluatorFactory" => self.map_in_batch(factory, child, &hint),
            "WholeStageCodegenEvaluatorFactory" => self.whole_stage(factory, child, &hint),
            other => Err(Unsupported::Class(other.to_owned())),
        }
    }

    /// Rows of batches of columns. What gives the columns counts for it: it has as many rows.
    fn rows_of_columns(
        &mut self,
        factory: Object<'g>,
        child: Object<'g>,
        hint: &Hint<'g>,
    ) -> Result<Tree> {
        let below = match hint.bare_plan() {
            Some(plan) if plan.name() == "ColumnarToRowExec" => Hint::plan(plan.object("child")?),
            _ => Hint::output(read_attributes(
                self.reader,
                factory.elements("childOutput")?,
            )?),
        };
        let mut tree = self.rdd(child, below)?;
        for name in ["numOutputRows", "numInputBatches"] {
            let metric = Metric::read(self.reader, name, factory.value(name)?)?;
            tree.operator.metrics.push(metric);
        }
        count_batches(&mut tree.operator);
        Ok(tree)
    }

    pub(crate) fn over(&self, plan: Object<'g>, child: Tree) -> Result<Tree> {
        Ok(Tree {
            operator: unary(self.reader, plan, child.operator)?,
            inputs: child.inputs,
        })
    }

    fn broadcast_join(&mut self, closure: &Closure, child: Object<'g>) -> Result<Tree> {
        let plan = closure.arg(self.reader, 0)?;
        let broadcast = closure.args.get(1).copied().unwrap_or(Value::Null);
        let broadcast = read_broadcast(self.reader, broadcast)?;
        let (_, streamed) = broadcast_sides(plan)?;
        let streamed = self.rdd(child, Hint::plan(streamed))?;
        Ok(Tree {
            operator: broadcast_join(self.reader, plan, broadcast, streamed.operator)?,
            inputs: streamed.inputs,
        })
    }

    fn zipped_join(&mut self, plan: Object<'g>, rdd: Object<'g>) -> Result<Tree> {
        // What the factory is made for is zipped as it is written.
        let left_first = match plan.name() {
            "SortMergeJoinEvaluatorFactory" => true,
            _ => left_is_streamed(self.reader, plan)?,
        };
        let hint = |side| Ok::<_, Unsupported>(Hint::plan(plan.object(side)?));
        let sides = if left_first {
            ["left", "right"]
        } else {
            ["right", "left"]
        };
        let first = self.rdd(rdd.object("rdd1")?, hint(sides[0])?)?;
        let second = self.rdd(rdd.object("rdd2")?, hint(sides[1])?)?;
        self.join(plan, left_first, first, second)
    }

    /// A join of two inputs in the order of their partitions.
    pub(crate) fn join(
        &self,
        plan: Object<'g>,
        left_first: bool,
        first: Tree,
        second: Tree,
    ) -> Result<Tree> {
        let inputs = Inputs::Zip(vec![first.inputs, second.inputs]);
        let (left, right) = if left_first {
            (first.operator, second.operator)
        } else {
            (second.operator, first.operator)
        };
        Ok(Tree {
            operator: shuffled_join(self.reader, plan, left, right)?,
            inputs,
        })
    }

    /// The rows of a `SampleExec`, which takes them as an RDD.
    fn sample(&mut self, closure: &Closure, child: Object<'g>, hint: &Hint<'g>) -> Result<Tree> {
        let graph = self.reader.graph;
        let bound = |at: usize| graph.double(*closure.args.get(at)?);
        let seed = closure.args.get(2).and_then(|seed| graph.int(*seed));
        let (Some(lower), Some(upper), Some(seed)) = (bound(0), bound(1), seed) else {
            return Err(closure.unsupported());
        };
        let below = match hint.bare_plan() {
            Some(plan) if plan.name() == "SampleExec" => Hint::plan(plan.object("child")?),
            Some(_) => return Err(Unsupported::of_use("a sample of an RDD")),
            None => hint.clone(),
        };
        let child = self.rdd(child, below)?;
        let output = child.operator.output.clone();
        output.require()?;
        Ok(Tree {
            operator: Operator {
                output,
                kind: OperatorKind::Filter {
                    condition: sampled(lower, upper, seed),
                    child: Box::new(child.operator),
                },
                metrics: Vec::new(),
            },
            inputs: child.inputs,
        })
    }

    fn cartesian(&mut self, plan: Object<'g>, rdd: Object<'g>) -> Result<Tree> {
        if rdd.name() != "UnsafeCartesianRDD" {
            return Err(Unsupported::Class(rdd.name().to_owned()));
        }
        let mut side = |of: &str, side: &str| {
            let tree = self.rdd(rdd.object(of)?, Hint::plan(plan.object(side)?))?;
            let columns = tree.operator.output.require()?.to_vec();
            Ok::<_, Unsupported>((tree, columns))
        };
        let (left, left_columns) = side("rdd1", "left")?;
        let (right, right_columns) = side("rdd2", "right")?;
        Ok(Tree {
            operator: Operator {
                output: Columns::Known([left_columns, right_columns].concat()),
                kind: OperatorKind::CartesianProduct {
                    condition: Expr::read_option(self.reader, plan.option("condition")?)?,
                    left: Box::new(left.operator),
                    right: Box::new(right.operator),
                },
                metrics: of_operator(self.reader, plan)?,
            },
            inputs: Inputs::Cartesian(vec![left.inputs, right.inputs]),
        })
    }

    fn union(&mut self, rdd: Object<'g>, hint: Hint<'g>) -> Result<Tree> {
        let plan = hint.bare_plan().filter(|plan| plan.name() == "UnionExec");
        let parents = rdd.elements("rdds")?;
        let (plans, output) = match plan {
            Some(plan) => match plan.elements("children")? {
                plans if plans.len() == parents.len() => (plans, None),
                // Inputs without partitions are left out: whose RDDs these are is not known.
                _ => (Vec::new(), Some(plan_output(self.reader, plan)?)),
            },
            None => (Vec::new(), hint.output),
        };
        let mut children = Vec::new();
        for (index, parent) in parents.into_iter().enumerate() {
            let hint = match (plans.get(index), &output) {
                (Some(plan), _) => Hint::plan(self.reader.expect(*plan)?),
                // The union's columns have the ids of the first input, and types that are those of all. One that the
                // first has without nulls may have some in another.
                (None, Some(output)) => Hint::output(nullable(output)),
                (None, None) => Hint::default(),
            };
            children.push(self.rdd(self.reader.expect(parent)?, hint)?);
        }
        union_tree(children, Vec::new())
    }

    fn coalesced(&mut self, rdd: Object<'g>, hint: Hint<'g>) -> Result<Tree> {
        let plan = hint
            .bare_plan()
            .filter(|plan| plan.name() == "CoalesceExec");
        let hint = match plan {
            Some(plan) => Hint::plan(plan.object("child")?),
            None => hint,
        };
        let [dependency] = rdd.elements("dependencies_")?[..] else {
            return Err(Unsupported::of_use("a coalesced RDD without parent"));
        };
        let parent = self.reader.expect(dependency)?.object("_rdd")?;
        Ok(one_after_another(self.rdd(parent, hint)?))
    }
}

/// Several partitions of an input in one task.
fn one_after_another(child: Tree) -> Tree {
    Tree {
        operator: Operator {
            output: child.operator.output.clone(),
            kind: OperatorKind::Coalesce(Box::new(child.operator)),
            metrics: Vec::new(),
        },
        inputs: Inputs::Coalesced(Box::new(child.inputs)),
    }
}

/// The same columns, which may be null.
fn nullable(columns: &[Attribute]) -> Vec<Attribute> {
    let columns = columns.iter().cloned();
    let nullable = |column| Attribute {
        nullable: true,
        ..column
    };
    columns.map(nullable).collect()
}

/// A union of these inputs. Where an input's columns are not known they are those of another input: Spark unites
/// equal types only.
pub(crate) fn union_tree(mut children: Vec<Tree>, metrics: Vec<Metric>) -> Result<Tree> {
    let different = || Unsupported::of_use("a union of different columns");
    let known = children
        .iter()
        .find_map(|child| child.operator.output.known());
    let output = match known.map(nullable) {
        Some(named) => {
            let mut outputs = Vec::new();
            for child in &mut children {
                if child.operator.output.known().is_none() {
                    child.operator.name_columns(&named)?;
                }
                outputs.push(child.operator.output.require()?.to_vec());
            }
            let output = union_output(&outputs);
            if outputs.iter().any(|child| child.len() != output.len()) {
                return Err(different());
            }
            Columns::Known(output)
        }
        None => {
            let fields = |child: &Tree| match child.operator.output {
                Columns::Opaque { num_fields } => num_fields,
                Columns::Known(_) => None,
            };
            let mut known = children.iter().filter_map(fields);
            let num_fields = known.next();
            if known.any(|fields| Some(fields) != num_fields) {
                return Err(different());
            }
            Columns::Opaque { num_fields }
        }
    };
    let children = children.into_iter();
    let (operators, inputs) = children.map(|child| (child.operator, child.inputs)).unzip();
    Ok(Tree {
        operator: Operator {
            kind: OperatorKind::Union(operators),
            output,
            metrics,
        },
        inputs: Inputs::Union(inputs),
    })
}
