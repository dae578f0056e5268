//! Cached tables: `InMemoryTableScanExec`, and the RDD of batches that it reads.
//!
//! ```text
//! rows of batches          DefaultCachedBatchSerializer.convertCachedBatchToInternalRow, or …ToColumnarBatch below
//! counted                  InMemoryTableScanExec
//! left out by statistics   SimpleMetricsCachedBatchSerializer.buildFilter, if the scan has predicates
//! kept                     CachedRDDBuilder.buildBuffers: the only one with a storage level
//! made                     DefaultCachedBatchSerializer.convertForCacheInternal
//! …                        the plan whose rows are cached
//! ```

use javaser::Closure;
use javaser::arena::{NodeId, Value};

use crate::closure::ClosureArgs as _;
use crate::error::{Result, Unsupported};
use crate::expr::{Attribute, Expr, read_attributes};
use crate::inputs::Inputs;
use crate::lineage::{Hint, Lineage, Tree};
use crate::literal::body;
use crate::metrics::Metric;
use crate::object::Object;
use crate::plan::{Columns, Operator, OperatorKind};

const SERIALIZER: &str = "sql.execution.columnar.DefaultCachedBatchSerializer";

/// Flag of a storage level: in memory outside the Java heap.
const OFF_HEAP: u8 = 2;

/// An `InMemoryTableScanExec`: some columns of the batches of a cached table.
#[derive(Debug, Clone, PartialEq)]
pub struct InMemoryTableScan {
    /// The table.
    pub table: CachedTable,
    /// Places of the columns among the table's.
    pub places: Vec<usize>,
    /// What must be true of a batch's statistics, or it is left out: five values of each column of the table, its least
    /// and its greatest value, the number of nulls, that of rows, and bytes.
    pub filters: Vec<Expr>,
    /// Whether the table is only to be made: nobody wants its rows.
    pub only_made: bool,
    /// Whether Spark takes columns out of it and makes rows of them, as generated code does.
    pub columnar: bool,
}

/// A table that is cached, by partitions, as blocks of an RDD.
#[derive(Debug, Clone, PartialEq)]
pub struct CachedTable {
    /// `RDD.id`
    pub rdd_id: i32,
    /// Flags and replication of the storage level, as `StorageLevel.writeExternal` writes them.
    pub storage_level: (u8, u8),
    /// `spark.sql.inMemoryColumnarStorage.batchSize`: rows of a batch at most.
    pub batch_size: i32,
    /// `spark.sql.inMemoryColumnarStorage.compressed`
    pub compressed: bool,
    /// What counts the batches that are made.
    pub counters: CachedTableCounters,
    /// Its rows.
    pub child: Box<Operator>,
}

/// Accumulators that the driver learns the size of a cached table from, in the stage's graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CachedTableCounters {
    /// `LongAccumulator`s, before Spark 4.2.
    Totals {
        /// Of bytes.
        size_in_bytes: NodeId,
        /// Of rows.
        row_count: NodeId,
        /// Of partitions.
        partitions: NodeId,
    },
    /// A `PartitionKeyedAccumulator` of pairs of rows and bytes. Spark believes them: a table of no rows is not read.
    ByPartition {
        /// The accumulator.
        node: NodeId,
        /// Whether the key is the partition of the task (4.2) and not that of the RDD.
        of_task: bool,
    },
}

impl<'g> Lineage<'_, 'g> {
    /// Rows of batches.
    pub(crate) fn cached_rows(&mut self, closure: &Closure, rdd: Object<'g>) -> Result<Tree> {
        let reader = self.reader;
        let counted = self.closure_of(rdd)?;
        match counted.name() {
            ("sql.execution.columnar.InMemoryTableScanExec", "inputRDD" | "doExecute") => {}
            _ => return Err(counted.unsupported()),
        }
        let scan = counted.arg(reader, 0)?;
        if scan.flag("enableAccumulatorsForTest") {
            return Err(Unsupported::of_use(
                "cached tables with statistics for tests",
            ));
        }
        let metric = counted.args.get(1).copied().unwrap_or(Value::Null);
        let output = read_attributes(reader, scan.elements("attributes")?)?;
        let places = self.places(closure.elements(reader, 1)?, closure)?;
        self.cached_scan(rdd.object("prev")?, places, (output, false), metric)
    }

    /// Batches of columns, whose rows `closure` counts.
    pub(crate) fn cached_columns(&mut self, closure: &Closure, rdd: Object<'g>) -> Result<Tree> {
        let reader = self.reader;
        let columns = self.closure_of(rdd)?;
        if columns.name() != (SERIALIZER, "convertCachedBatchToColumnarBatch") {
            return Err(columns.unsupported());
        }
        let metric = closure.args.first().copied().unwrap_or(Value::Null);
        let output = read_attributes(reader, columns.elements(reader, 2)?)?;
        let places = self.places(columns.elements(reader, 3)?, &columns)?;
        self.cached_scan(rdd.object("prev")?, places, (output, true), metric)
    }

    /// A table that is only made: `TableCacheQueryStageExec`.
    pub(crate) fn cached_table(&mut self, rdd: Object<'g>) -> Result<Tree> {
        let (table, inputs) = self.batches(rdd)?;
        let scan = InMemoryTableScan {
            table,
            places: Vec::new(),
            filters: Vec::new(),
            only_made: true,
            columnar: false,
        };
        Ok(scan_tree(scan, Vec::new(), Vec::new(), inputs))
    }

    fn cached_scan(
        &mut self,
        batches: Object<'g>,
        places: Vec<usize>,
        (output, columnar): (Vec<Attribute>, bool),
        metric: Value,
    ) -> Result<Tree> {
        let reader = self.reader;
        let metric = Metric::read(reader, "numOutputRows", metric)?;
        let filter = self.closure_of(batches)?;
        let (filters, kept) = match filter.name() {
            ("sql.columnar.SimpleMetricsCachedBatchSerializer", "buildFilter") => {
                let filters = Expr::read_all(reader, filter.elements(reader, 1)?)?;
                (filters, batches.object("prev")?)
            }
            _ => (Vec::new(), batches),
        };
        let (table, inputs) = self.batches(kept)?;
        let columns = table.child.output.require()?;
        let same = |(place, column): (&usize, &Attribute)| {
            let of = columns.get(*place);
            of.is_some_and(|of| of.data_type == column.data_type)
        };
        if places.len() != output.len() || !places.iter().zip(&output).all(same) {
            return Err(Unsupported::of_use("a cached table of other columns"));
        }
        let scan = InMemoryTableScan {
            table,
            places,
            filters,
            only_made: false,
            columnar,
        };
        Ok(scan_tree(scan, output, vec![metric], inputs))
    }

    /// The RDD that keeps batches, and what it makes them of.
    fn batches(&mut self, rdd: Object<'g>) -> Result<(CachedTable, Inputs)> {
        let reader = self.reader;
        if rdd.name() != "MapPartitionsRDD" || rdd.option("checkpointData")?.is_some() {
            return Err(Unsupported::of_use("a cached table that is kept otherwise"));
        }
        let outer = Closure::in_field(rdd, "f")?;
        let kept = self.closure_of(rdd)?;
        if kept.name() != ("sql.execution.columnar.CachedRDDBuilder", "buildBuffers") {
            return Err(kept.unsupported());
        }
        let made_by = rdd.object("prev")?;
        let made = self.closure_of(made_by)?;
        if made.name() != (SERIALIZER, "convertForCacheInternal") {
            return Err(made.unsupported());
        }
        let columns = read_attributes(reader, made.elements(reader, 0)?)?;
        let child = self.rdd(made_by.object("prev")?, Hint::output(columns.clone()))?;
        let mut operator = child.operator;
        operator.name_columns(&columns)?;
        let compressed = made.args.get(2).and_then(|value| reader.graph.bool(*value));
        let table = CachedTable {
            rdd_id: rdd.int("id")?,
            storage_level: storage_level(rdd.object("storageLevel")?)?,
            batch_size: made.int(reader, 1)?,
            compressed: compressed.ok_or_else(|| made.unsupported())?,
            counters: counters(&outer, kept.arg(reader, 0)?)?,
            child: Box::new(operator),
        };
        Ok((table, Inputs::Cached(Box::new(child.inputs))))
    }

    fn places(&self, values: Vec<Value>, of: &Closure) -> Result<Vec<usize>> {
        let place = |value| {
            let place = self.reader.graph.int(value);
            place.and_then(|place| usize::try_from(place).ok())
        };
        let places: Option<_> = values.into_iter().map(place).collect();
        places.ok_or_else(|| of.unsupported())
    }
}

fn scan_tree(
    scan: InMemoryTableScan,
    output: Vec<Attribute>,
    metrics: Vec<Metric>,
    inputs: Inputs,
) -> Tree {
    Tree {
        operator: Operator {
            kind: OperatorKind::InMemoryTableScan(Box::new(scan)),
            output: Columns::Known(output),
            metrics,
        },
        inputs,
    }
}

pub(crate) fn storage_level(level: Object<'_>) -> Result<(u8, u8)> {
    match *body(level) {
        [flags, _] if flags & OFF_HEAP != 0 => {
            Err(Unsupported::of_use("rows that are cached off heap"))
        }
        [flags, replication] if flags != 0 => Ok((flags, replication)),
        _ => Err(Unsupported::of_use(
            "rows that are cached without storage level",
        )),
    }
}

/// `outer` is the closure of the RDD, `counted` what Spark's closure in it counts with.
fn counters(outer: &Closure, counted: Object<'_>) -> Result<CachedTableCounters> {
    match counted.name() {
        "CachedRDDBuilder" => Ok(CachedTableCounters::Totals {
            size_in_bytes: counted.object("sizeInBytesStats")?.node,
            row_count: counted.object("rowCountStats")?.node,
            partitions: counted.object("materializedPartitions")?.node,
        }),
        "PartitionKeyedAccumulator" => Ok(CachedTableCounters::ByPartition {
            node: counted.node,
            of_task: outer.name().1 != "mapPartitionsWithIndexInternal",
        }),
        other => Err(Unsupported::Class(other.to_owned())),
    }
}
