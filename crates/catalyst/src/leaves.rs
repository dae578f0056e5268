//! RDDs in which the lineage of a stage begins: shuffles, files, tables, ranges.

use javaser::Closure;
use javaser::arena::Value;

use crate::closure::ClosureArgs as _;
use crate::error::{Result, Unsupported};
use crate::expr::read_attributes;
use crate::inputs::Inputs;
use crate::lineage::{Hint, Lineage, Tree};
use crate::metrics::{Metric, of_operator, read_map};
use crate::object::Object;
use crate::output::plan_output;
use crate::plan::{Columns, LeafId, Operator, OperatorKind};
use crate::scan::{self, FileFormat, ScanInJvm};
use crate::shuffle;

impl<'g> Lineage<'_, 'g> {
    pub(crate) fn shuffle_read(&mut self, rdd: Object<'g>, hint: Hint<'g>) -> Result<Tree> {
        let shuffle = shuffle::read(rdd.object("dependency")?)?;
        let metrics = read_map(self.reader, rdd, "metrics")?;
        // Both sides of a join may have the same columns: the exchange's metrics tell whose shuffle it is.
        if let Some(exchange) = hint.plan.and_then(exchange_below) {
            let expected = read_map(self.reader, exchange, "readMetrics")?;
            if !expected.is_empty() && expected != metrics {
                return Err(Unsupported::of_use("a shuffle other than the plan's"));
            }
        }
        let fields = usize::try_from(shuffle.num_fields)
            .map_err(|_| Unsupported::of_use("a shuffle of other columns"))?;
        let output = match (hint.plan, hint.output) {
            (Some(plan), _) => Columns::Known(plan_output(self.reader, plan)?),
            (None, Some(output)) => Columns::Known(output),
            (None, None) => Columns::Opaque {
                num_fields: Some(fields),
            },
        };
        if output.known().is_some_and(|known| known.len() != fields) {
            return Err(Unsupported::of_use("a shuffle of other columns"));
        }
        let leaf = self.leaf();
        Ok(Tree {
            operator: Operator {
                kind: OperatorKind::ShuffleRead { leaf, shuffle },
                output,
                metrics,
            },
            inputs: Inputs::Leaf(leaf),
        })
    }

    pub(crate) fn scan(&mut self, plan: Object<'g>, rdd: Object<'g>) -> Result<Tree> {
        self.check_scan(rdd)?;
        let leaf = self.leaf();
        Ok(scan_tree(scan::read(self.reader, leaf, plan, rdd)?))
    }

    /// A scan by a format that makes rows as Spark keeps them. The closure has the metric for them only.
    pub(crate) fn scan_of_rows(
        &mut self,
        closure: &Closure,
        hint: Hint<'g>,
        rdd: Object<'g>,
    ) -> Result<Tree> {
        let found = self.found_scan(closure, hint, rdd)?;
        match found.0.format {
            FileFormat::Parquet(_) => {
                Err(Unsupported::of_use("Parquet without its vectorized reader"))
            }
            _ => Ok(scan_tree(found)),
        }
    }

    /// A scan by a format that makes columns.
    pub(crate) fn scan_of_columns(
        &mut self,
        closure: &Closure,
        hint: Hint<'g>,
        rdd: Object<'g>,
    ) -> Result<Tree> {
        Ok(scan_tree(self.found_scan(closure, hint, rdd)?))
    }

    /// A scan with its operator, or with what its closure has: metrics, which count rows or time.
    fn found_scan(
        &mut self,
        closure: &Closure,
        hint: Hint<'g>,
        rdd: Object<'g>,
    ) -> Result<scan::FoundScan> {
        self.check_scan(rdd)?;
        let leaf = self.leaf();
        match (hint.bare_plan(), hint.plan) {
            (Some(plan), _) => return scan::read(self.reader, leaf, plan, rdd),
            (None, Some(_)) => return Err(Unsupported::of_use("a scan of another plan")),
            (None, None) => {}
        }
        let metrics = closure.args.iter().map(|metric| {
            let name = match &*self.reader.expect(*metric)?.text("metricType")? {
                "sum" => "numOutputRows",
                "timing" => "scanTime",
                _ => return Err(closure.unsupported()),
            };
            Metric::read(self.reader, name, *metric)
        });
        let metrics = metrics.collect::<Result<_>>()?;
        scan::read_rows(self.reader, leaf, hint.output, metrics, rdd)
    }

    /// `BatchScanExec` of a table of Iceberg's. `rdd` counts the rows of the RDD below it, with the metric that
    /// `closure` has.
    pub(crate) fn scan_of_table(
        &mut self,
        closure: &Closure,
        rdd: Object<'g>,
        hint: &Hint<'g>,
    ) -> Result<Tree> {
        let source = rdd.object("prev")?;
        if source.name() != "DataSourceRDD" {
            return Err(Unsupported::Class(source.name().to_owned()));
        }
        let factory = source.object("partitionReaderFactory")?;
        let output = self.columns_of_rows(hint)?.require()?.to_vec();
        let rows = closure.args.first().copied().unwrap_or(Value::Null);
        let mut metrics = vec![Metric::read(self.reader, "numOutputRows", rows)?];
        metrics.extend(read_map(self.reader, source, "customMetrics")?);
        let leaf = self.leaf();
        let in_jvm = match self.reader.settings.scans_in_jvm {
            true => Some(ScanInJvm {
                objects: self.objects_of_scan(leaf, rdd, output.clone())?,
                counted: metrics.len(),
            }),
            false => None,
        };
        let scan = scan::read_iceberg(leaf, factory, &output, in_jvm)?;
        Ok(scan_tree((scan, output, metrics)))
    }

    fn check_scan(&self, rdd: Object<'g>) -> Result<()> {
        match rdd.name() {
            "FileScanRDD" => Ok(()),
            other => Err(Unsupported::Class(other.to_owned())),
        }
    }

    pub(crate) fn local_table(
        &mut self,
        closure: &Closure,
        rdd: Object<'g>,
        hint: &Hint<'g>,
    ) -> Result<Tree> {
        let output = self.columns_of_rows(hint)?;
        let metrics = match closure.args.first() {
            Some(metric) => vec![Metric::read(self.reader, "numOutputRows", *metric)?],
            None => Vec::new(),
        };
        self.local_rows(rdd, output, metrics)
    }

    /// What the operator above knows of the columns of rows that nobody names.
    pub(crate) fn columns_of_rows(&self, hint: &Hint<'g>) -> Result<Columns> {
        match (hint.bare_plan(), &hint.output) {
            (Some(plan), _) => Ok(Columns::Known(plan_output(self.reader, plan)?)),
            (None, Some(output)) => Ok(Columns::Known(output.clone())),
            // A plan was there, but is not understood.
            (None, None) if hint.plan.is_some() => {
                Err(Unsupported::of_use("a local table of another plan"))
            }
            // The rows themselves say how many columns they have.
            (None, None) => Ok(Columns::Opaque { num_fields: None }),
        }
    }

    /// Partitions without rows.
    pub(crate) fn empty(&mut self, output: Columns) -> Tree {
        let leaf = self.leaf();
        Tree {
            operator: Operator {
                kind: OperatorKind::LocalTableScan { leaf },
                output,
                metrics: Vec::new(),
            },
            inputs: Inputs::Leaf(leaf),
        }
    }

    /// Rows that lie in the tasks' partitions.
    pub(crate) fn local_rows(
        &mut self,
        rdd: Object<'g>,
        output: Columns,
        metrics: Vec<Metric>,
    ) -> Result<Tree> {
        self.collection(
            rdd,
            |leaf| OperatorKind::LocalTableScan { leaf },
            output,
            metrics,
        )
    }

    /// A leaf over what lies in the tasks' partitions.
    fn collection(
        &mut self,
        rdd: Object<'g>,
        kind: impl FnOnce(LeafId) -> OperatorKind,
        output: Columns,
        metrics: Vec<Metric>,
    ) -> Result<Tree> {
        if rdd.name() != "ParallelCollectionRDD" {
            return Err(Unsupported::Class(rdd.name().to_owned()));
        }
        let leaf = self.leaf();
        Ok(Tree {
            operator: Operator {
                kind: kind(leaf),
                output,
                metrics,
            },
            inputs: Inputs::Leaf(leaf),
        })
    }

    /// `OneRowRelationExec`, whose RDD makes a row of whatever lies in its only partition.
    pub(crate) fn one_row(&mut self, rdd: Object<'g>, metrics: Vec<Metric>) -> Result<Tree> {
        if rdd.name() != "MapPartitionsRDD" {
            return Err(Unsupported::Class(rdd.name().to_owned()));
        }
        let outer = Closure::in_field(rdd, "f")?;
        let inner = outer.inner(self.reader.graph);
        if inner.is_none_or(|f| f.name() != ("sql.execution.OneRowRelationExec", "rdd")) {
            return Err(outer.unsupported());
        }
        self.row_of_no_columns(rdd.object("prev")?, metrics)
    }

    /// A row of no columns, of which there is nothing to know.
    pub(crate) fn row_of_no_columns(
        &mut self,
        rdd: Object<'g>,
        metrics: Vec<Metric>,
    ) -> Result<Tree> {
        self.collection(
            rdd,
            |leaf| OperatorKind::OneRowRelation { leaf },
            Columns::Known(Vec::new()),
            metrics,
        )
    }

    pub(crate) fn range(&mut self, plan: Object<'g>) -> Result<Tree> {
        let leaf = self.leaf();
        Ok(Tree {
            operator: Operator {
                kind: OperatorKind::Range {
                    leaf,
                    start: plan.long("start")?,
                    step: plan.long("step")?,
                    end: plan.long("end")?,
                    num_slices: plan.int("numSlices")?,
                },
                output: Columns::Known(read_attributes(self.reader, plan.elements("output")?)?),
                metrics: of_operator(self.reader, plan)?,
            },
            inputs: Inputs::Leaf(leaf),
        })
    }
}

/// A leaf of files.
fn scan_tree((scan, output, metrics): scan::FoundScan) -> Tree {
    let leaf = scan.leaf;
    Tree {
        operator: Operator {
            kind: OperatorKind::FileSourceScan(Box::new(scan)),
            output: Columns::Known(output),
            metrics,
        },
        inputs: Inputs::Leaf(leaf),
    }
}

/// The exchange that a leaf of a stage reads.
fn exchange_below(plan: Object<'_>) -> Option<Object<'_>> {
    let mut plan = plan;
    // Some wrappers around it, never many.
    for _ in 0..10 {
        plan = match plan.name() {
            "InputAdapter" | "AQEShuffleReadExec" | "ReusedExchangeExec" => plan.maybe("child")?,
            "ShuffleQueryStageExec" => plan.maybe("plan")?,
            "ShuffleExchangeExec" | "OtherStage" => return Some(plan),
            _ => return None,
        };
    }
    None
}
