//! Leaves that only Spark's own code can compute: files of other formats, sources of others (`DataSource` V1 and V2,
//! Hive's tables, JDBC), RDDs of any objects. Their RDD goes to the JVM beside the task as it is, which gives its rows.

use crate::closure::ClosureArgs as _;
use crate::error::{Result, Unsupported};
use crate::expr::Attribute;
use crate::inputs::Inputs;
use crate::lineage::{Hint, Lineage, Tree};
use crate::metrics::Metric;
use crate::object::Object;
use crate::objects::{ObjectOperator, Objects};
use crate::output::plan_output;
use crate::plan::{Columns, LeafId, Operator, OperatorKind};

/// Operators without input whose RDD is all there is to know of them.
const LEAVES: [&str; 6] = [
    "BatchScanExec",
    "FileSourceScanExec",
    "HiveTableScanExec",
    "MicroBatchScanExec",
    "RDDScanExec",
    "RowDataSourceScanExec",
];

/// Where the closures of their RDDs are from, below `org.apache.spark`.
const CLOSURES: [&str; 5] = [
    "sql.execution.FileSourceScanExec",
    "sql.execution.RDDScanExec",
    "sql.execution.RowDataSourceScanExec",
    "sql.execution.datasources.v2.DataSourceV2ScanExecBase",
    "sql.hive.execution.HiveTableScanExec",
];

impl<'g> Lineage<'_, 'g> {
    /// What `read` makes of an RDD, or the RDD's rows as the JVM gives them, if it is that of a leaf and nothing else.
    pub(crate) fn native_or_scan(
        &mut self,
        rdd: Object<'g>,
        hint: Hint<'g>,
        read: impl FnOnce(&mut Self, Hint<'g>) -> Result<Tree>,
    ) -> Result<Tree> {
        let known = self.leaves;
        let found = read(self, hint.clone());
        if self.reader.settings.is_native.is_none() {
            return found;
        }
        found.and_then(as_spark).or_else(|why| {
            let Some(output) = self.output_of_leaf(rdd, &hint) else {
                return Err(why);
            };
            // What was read of it is not part of the stage.
            self.leaves = known;
            self.scan_in_jvm(rdd, output?, Vec::new())
        })
    }

    /// The columns of an RDD of a leaf; `None` if it may be more than that.
    fn output_of_leaf(&self, rdd: Object<'g>, hint: &Hint<'g>) -> Option<Result<Vec<Attribute>>> {
        let is_leaf = |plan: &Object<'g>| LEAVES.contains(&plan.name());
        if let Some(plan) = hint.bare_plan() {
            return is_leaf(&plan).then(|| plan_output(self.reader, plan));
        }
        let closure = self.closure_of(rdd).ok()?;
        if !CLOSURES.contains(&closure.name().0) {
            return None;
        }
        let plan = closure.arg(self.reader, 0).ok().filter(is_leaf);
        plan.map(|plan| plan_output(self.reader, plan))
            .or_else(|| hint.output.clone().map(Ok))
    }

    /// The rows of an RDD as the JVM gives them. `metrics` are those that the RDD itself does not count.
    pub(crate) fn scan_in_jvm(
        &mut self,
        rdd: Object<'g>,
        output: Vec<Attribute>,
        metrics: Vec<Metric>,
    ) -> Result<Tree> {
        let leaf = self.leaf();
        let objects = self.objects_of_scan(leaf, rdd, output.clone())?;
        Ok(tree(objects, leaf, Columns::Known(output), metrics))
    }

    /// What the JVM is told of an RDD whose rows it is to give.
    pub(crate) fn objects_of_scan(
        &self,
        leaf: LeafId,
        rdd: Object<'g>,
        output: Vec<Attribute>,
    ) -> Result<Objects> {
        let mut objects = Objects::of_rdd(ObjectOperator::Scan, leaf, rdd);
        objects.finish(self.reader, output)?;
        objects.filters = 1;
        Ok(objects)
    }

    /// The rows of an RDD that generated code takes as they are: it counts them itself.
    pub(crate) fn scan_in_code(&mut self, plan: Object<'g>, rdd: Object<'g>) -> Result<Tree> {
        let output = plan_output(self.reader, plan)?;
        if self.reader.settings.is_native.is_none() {
            return Err(Unsupported::Class(plan.name().to_owned()));
        }
        let metrics = crate::metrics::of_operator(self.reader, plan)?;
        let rows = |metric: &Metric| metric.name == "numOutputRows";
        self.scan_in_jvm(rdd, output, metrics.into_iter().filter(rows).collect())
    }

    /// `ExternalRDDScanExec`: objects of an RDD, for operators on objects.
    pub(crate) fn objects_of_rdd(&mut self, rdd: Object<'g>) -> Result<Tree> {
        let class = "ExternalRDDScanExec";
        if self.reader.settings.is_native.is_none() {
            return Err(Unsupported::Class(class.to_owned()));
        }
        let leaf = self.leaf();
        let objects = Objects::of_rdd(ObjectOperator::ExternalRDDScan, leaf, rdd);
        let output = Columns::Opaque {
            num_fields: Some(1),
        };
        Ok(tree(objects, leaf, output, Vec::new()))
    }
}

/// A leaf whose rows depend on who reads it is left to Spark's own code.
fn as_spark(tree: Tree) -> Result<Tree> {
    match &tree.operator.kind {
        // What is left of a file that is damaged.
        OperatorKind::FileSourceScan(scan) if scan.ignore_corrupt_files => {
            Err(Unsupported::of_use("a scan that ignores corrupt files"))
        }
        _ => Ok(tree),
    }
}

fn tree(objects: Objects, leaf: LeafId, output: Columns, metrics: Vec<Metric>) -> Tree {
    Tree {
        operator: Operator {
            kind: OperatorKind::Objects {
                objects: Box::new(objects),
                children: Vec::new(),
            },
            output,
            metrics,
        },
        inputs: Inputs::Leaf(leaf),
    }
}

/// Has the batches of a scan's columns counted where its rows are.
pub(crate) fn count_batches(operator: &mut Operator) {
    let OperatorKind::Objects { objects, .. } = &operator.kind else {
        return;
    };
    if objects.chain == [ObjectOperator::Scan] {
        for metric in &mut operator.metrics {
            if metric.name == "numInputBatches" {
                metric.name = Objects::passed(0);
            }
        }
    }
}
