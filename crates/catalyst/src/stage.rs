//! Stages and tasks.

use javaser::arena::{Graph, NodeId, Value};
use javaser::kryo::KryoForm;
use javatime::Zones;

use crate::carried;
use crate::checkpoint::{CheckpointFiles, CheckpointScan};
use crate::closure::ClosureArgs as _;
use crate::error::{Result, Unsupported};
use crate::expr::{IsNative, SortOrder, read_attributes, read_sort_orders};
use crate::infer::{CSV_LINES, CsvInference, INFER, JsonInference};
use crate::inputs::{self, Inputs, TaskInputs};
use crate::lineage::{Hint, Lineage, Tree};
use crate::object::{Object, Reader};
use crate::objects::check_accumulators;
use crate::pickled::{ArrowBatches, PickledRows, PickledScan};
use crate::plan::{Operator, OperatorKind};
use crate::rest::JvmRest;
use crate::shuffle::{self, ShuffleWrite};
use crate::write::{Captured, FileWrite};
use javaser::Closure;

/// What a stage of Spark SQL computes.
#[derive(Debug, Clone, PartialEq)]
pub struct Stage {
    /// The last operator.
    pub root: Operator,
    /// How a task's partition reaches the leaves.
    pub inputs: Inputs,
    /// What is done with the rows.
    pub output: Output,
    /// How Kryo writes rows of partitions, if `spark.serializer` is Kryo.
    pub kryo: Option<KryoForm>,
}

/// What a stage does with its rows.
#[derive(Debug, Clone, PartialEq)]
pub enum Output {
    /// Writes a shuffle.
    ShuffleWrite(Box<ShuffleWrite>),
    /// `SparkPlan.getByteArrayRdd`: rows in compressed bytes, with their number.
    Collect {
        /// Most rows; all if negative.
        limit: i32,
        /// The last ones in place of the first.
        take_from_end: bool,
        /// What the driver gets of them.
        result: CollectResult,
    },
    /// `RDD.takeOrdered`: the rows of [`OperatorKind::TopK`], to be merged by the driver.
    TakeOrdered,
    /// None: a cached table is made.
    Unit,
    /// `RDD.count`: the number of rows.
    Count,
    /// Writes files.
    Files(Box<FileWrite>),
    /// Writes a file of a reliable checkpoint.
    Checkpoint(CheckpointFiles),
    /// `JsonInferSchema.infer`: the type of all texts of a partition.
    JsonTypes(Box<JsonInference>),
    /// `CSVInferSchema.infer`: the types of all lines of a partition.
    CsvTypes(Box<CsvInference>),
    /// `EvaluatePython.javaToPython`: rows for RDDs of PySpark.
    Pickled(Box<PickledRows>),
    /// `Dataset.toArrowBatchRdd`: rows for a driver.
    ArrowBatches(Box<ArrowBatches>),
    /// What is above the native operators is done in the JVM beside the task.
    Rest(Box<JvmRest>),
    /// `RangePartitioner.sketch`: a sample of keys and the number of rows.
    RangeSample {
        /// The keys.
        order: Vec<SortOrder>,
        /// `spark.sql.execution.rangeExchange.sampleSizePerPartition` for all partitions, made into one for each.
        sample_size: i32,
        /// Id of the RDD that is sampled: the seed is made of it and the partition.
        rdd_id: i32,
    },
}

/// Class of the result that [`Output::Collect`] sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CollectResult {
    /// `Tuple2[]` of the number of rows and the `ChunkedByteBuffer`: a collect.
    Array,
    /// Such a `Tuple2`, of 0 and no bytes if there is none: `executeTake`.
    Pair,
}

/// What expressions do not say themselves: settings of the session, and rules of the executor's time zones.
#[derive(Debug, Clone)]
pub struct Settings {
    /// `spark.sql.decimalOperations.allowPrecisionLoss`
    pub allow_precision_loss: bool,
    /// Whether `spark.sql.legacy.timeParserPolicy` is `LEGACY`.
    pub legacy_time_parser: bool,
    /// `spark.sql.columnNameOfCorruptRecord`
    pub corrupt_record: String,
    /// `spark.sql.jsonGenerator.ignoreNullFields`
    pub ignore_null_fields: bool,
    /// `spark.sql.legacy.nullValueWrittenAsQuotedEmptyStringCsv`
    pub csv_nulls_are_empty: bool,
    /// `spark.sql.csv.filterPushdown.enabled`
    pub csv_filters: bool,
    /// `spark.sql.json.filterPushdown.enabled`
    pub json_filters: bool,
    /// `spark.sql.caseSensitive`
    pub case_sensitive: bool,
    /// `spark.sql.legacy.allowNegativeScaleOfDecimal`
    pub negative_scales: bool,
    /// Whether `spark.sql.execution.arrow.compression.codec` is one.
    pub arrow_compression: bool,
    /// `spark.sql.execution.pyspark.binaryAsBytes`, if it is set.
    pub binary_as_bytes: Option<bool>,
    /// `spark.sql.session.timeZone`, if it is set: else it is that of the driver's or the executors' machine.
    pub session_zone: Option<String>,
    /// Whether the task belongs to a query, whose session's settings it has.
    pub in_query: bool,
    /// Time zones besides those of fixed offsets.
    pub zones: Zones,
    /// The driver's version of Spark, major and minor, where plans of several look the same; zeros if it is not known.
    pub spark: (u32, u32),
    /// The version of Java that executors run; 0 if it is not known.
    pub java: u32,
    /// How Kryo writes, if `spark.serializer` is Kryo.
    pub kryo: Option<KryoForm>,
    /// Whether tasks may have the JVM read what is not read natively, where that shows in tasks only.
    pub scans_in_jvm: bool,
    /// What says whether an expression is computed natively, where the JVM evaluates those that are not.
    pub is_native: Option<IsNative>,
}

/// What executes plans for clients of Spark Connect.
const CONNECT: &str = "sql.connect.execution.SparkConnectPlanExecution";

impl Settings {
    /// Name of the property that [`Self::allow_precision_loss`] is read from.
    pub const ALLOW_PRECISION_LOSS: &str = "spark.sql.decimalOperations.allowPrecisionLoss";

    /// Name of the property that [`Self::legacy_time_parser`] is read from.
    pub const TIME_PARSER: &str = "spark.sql.legacy.timeParserPolicy";

    /// Name of the property that [`Self::corrupt_record`] is read from.
    pub const CORRUPT_RECORD: &str = "spark.sql.columnNameOfCorruptRecord";

    /// Name of the property that [`Self::ignore_null_fields`] is read from.
    pub const IGNORE_NULL_FIELDS: &str = "spark.sql.jsonGenerator.ignoreNullFields";

    /// Name of the property that [`Self::csv_nulls_are_empty`] is read from.
    pub const CSV_NULLS_ARE_EMPTY: &str = "spark.sql.legacy.nullValueWrittenAsQuotedEmptyStringCsv";

    /// Name of the property that [`Self::case_sensitive`] is read from.
    pub const CASE_SENSITIVE: &str = "spark.sql.caseSensitive";

    /// Name of the property that [`Self::negative_scales`] is read from.
    pub const NEGATIVE_SCALES: &str = "spark.sql.legacy.allowNegativeScaleOfDecimal";

    /// Name of the property that [`Self::arrow_compression`] is read from.
    pub const ARROW_COMPRESSION: &str = "spark.sql.execution.arrow.compression.codec";

    /// Name of the property that [`Self::binary_as_bytes`] is read from.
    pub const BINARY_AS_BYTES: &str = "spark.sql.execution.pyspark.binaryAsBytes";

    /// Name of the property that says which query a task belongs to: its session's settings are in the task's
    /// properties then.
    pub const EXECUTION: &str = "spark.sql.execution.id";

    /// Name of the property that [`Self::session_zone`] is read from.
    pub const SESSION_ZONE: &str = "spark.sql.session.timeZone";

    /// Name of the property that [`Self::csv_filters`] is read from.
    pub const CSV_FILTERS: &str = "spark.sql.csv.filterPushdown.enabled";

    /// Name of the property that [`Self::json_filters`] is read from.
    pub const JSON_FILTERS: &str = "spark.sql.json.filterPushdown.enabled";

    /// From the properties of a task, without time zones.
    pub fn new<'a>(property: impl Fn(&str) -> Option<&'a str>) -> Self {
        let if_on = |name| property(name).is_some_and(|v| v.eq_ignore_ascii_case("true"));
        let unless_off = |name| property(name).is_none_or(|v| v.eq_ignore_ascii_case("true"));
        Self {
            allow_precision_loss: unless_off(Self::ALLOW_PRECISION_LOSS),
            corrupt_record: property(Self::CORRUPT_RECORD)
                .unwrap_or("_corrupt_record")
                .to_owned(),
            ignore_null_fields: unless_off(Self::IGNORE_NULL_FIELDS),
            csv_nulls_are_empty: if_on(Self::CSV_NULLS_ARE_EMPTY),
            case_sensitive: if_on(Self::CASE_SENSITIVE),
            negative_scales: if_on(Self::NEGATIVE_SCALES),
            arrow_compression: property(Self::ARROW_COMPRESSION)
                .is_some_and(|codec| !codec.eq_ignore_ascii_case("none")),
            binary_as_bytes: property(Self::BINARY_AS_BYTES)
                .map(|value| value.eq_ignore_ascii_case("true")),
            csv_filters: unless_off(Self::CSV_FILTERS),
            json_filters: unless_off(Self::JSON_FILTERS),
            legacy_time_parser: property(Self::TIME_PARSER)
                .is_some_and(|policy| policy.eq_ignore_ascii_case("LEGACY")),
            session_zone: property(Self::SESSION_ZONE).map(str::to_owned),
            in_query: property(Self::EXECUTION).is_some(),
            zones: Zones::default(),
            spark: (0, 0),
            java: 0,
            kryo: None,
            scans_in_jvm: false,
            is_native: None,
        }
    }
}

impl Settings {
    /// Whether functions of Python are given binary values as `bytes`.
    pub(crate) fn binary_as_bytes(&self) -> bool {
        self.binary_as_bytes.unwrap_or(self.spark >= (4, 1))
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self::new(|_| None)
    }
}

impl Stage {
    /// Reads the pair in a stage's binary: its RDD, and the function or `ShuffleDependency` that its partitions are
    /// given to.
    ///
    /// # Errors
    /// [`Unsupported`] says why the stage is to be delegated.
    pub fn read(
        graph: &Graph,
        rdd: NodeId,
        target: NodeId,
        settings: Settings,
    ) -> std::result::Result<Self, Unsupported> {
        let graph = &*carried::unpacked(graph)?;
        let reader = Reader::new(graph, settings);
        let target = reader.object(target);
        let rdd = reader.object(rdd);
        let mut lineage = Lineage::new(&reader);
        let (tree, output) = if target.class() == "org.apache.spark.ShuffleDependency" {
            let (write, rows) = shuffle::write(&reader, target, rdd)?;
            lineage.write_metrics = Some(shuffle::write_metrics(&reader, target)?);
            let tree = lineage.rdd(rows, Hint::output(write.output.clone()))?;
            (tree, Output::ShuffleWrite(Box::new(write)))
        } else {
            result(&mut lineage, target, rdd)?
        };
        let some = matches!(output, Output::Collect { limit: 0.., .. });
        check_accumulators(&tree.operator, some)?;
        Ok(Self {
            root: tree.operator,
            inputs: tree.inputs,
            output,
            kryo: reader.settings.kryo,
        })
    }

    /// The stage's leaves by their [`LeafId`](crate::LeafId)s.
    pub fn leaves(&self) -> Vec<&Operator> {
        let mut leaves = Vec::new();
        collect_leaves(&self.root, &mut leaves);
        leaves.sort_by_key(|(leaf, _)| *leaf);
        leaves.into_iter().map(|(_, operator)| operator).collect()
    }

    /// Reads what a task of this stage takes in, from the `Partition` in the task's own graph.
    ///
    /// # Errors
    /// [`Unsupported`] says why the task is to be delegated.
    pub fn bind(
        &self,
        graph: &Graph,
        partition: NodeId,
    ) -> std::result::Result<TaskInputs, Unsupported> {
        let settings = Settings {
            kryo: self.kryo,
            ..Settings::default()
        };
        let reader = Reader::new(graph, settings);
        inputs::bind(
            &reader,
            &self.inputs,
            &self.leaves(),
            reader.object(partition),
        )
    }
}

fn collect_leaves<'a>(operator: &'a Operator, leaves: &mut Vec<(usize, &'a Operator)>) {
    match &operator.kind {
        OperatorKind::FileSourceScan(scan) => leaves.push((scan.leaf, operator)),
        OperatorKind::ShuffleRead { leaf, .. }
        | OperatorKind::LocalTableScan { leaf }
        | OperatorKind::OneRowRelation { leaf }
        | OperatorKind::Range { leaf, .. }
        | OperatorKind::CheckpointScan(CheckpointScan { leaf, .. })
        | OperatorKind::PickledScan(PickledScan { leaf, .. }) => leaves.push((*leaf, operator)),
        OperatorKind::Objects { objects, .. } if objects.leaf.is_some() => {
            leaves.extend(objects.leaf.map(|leaf| (leaf, operator)));
        }
        _ => {
            for child in operator.children() {
                collect_leaves(child, leaves);
            }
        }
    }
}

fn result<'g>(
    lineage: &mut Lineage<'_, 'g>,
    function: Object<'g>,
    rdd: Object<'g>,
) -> Result<(Tree, Output)> {
    let reader = lineage.reader;
    let graph = reader.graph;
    let function = Closure::read(graph, Value::Ref(function.node))
        .ok_or_else(|| Unsupported::of_use("a result function that is no closure"))?;
    if let Some(captured) = Captured::of(reader, &function, rdd)? {
        let (tree, write) = lineage.file_write(&captured)?;
        return Ok((tree, Output::Files(Box::new(write))));
    }
    if let Some(checkpoint) = lineage.checkpoint_job(&function, rdd)? {
        return Ok(checkpoint);
    }
    // Nearly every action is wrapped: the wrapper forgets the task context.
    let inner = match function.name() {
        ("SparkContext", "runJob" | "submitJob") => function.inner(graph),
        _ => None,
    };
    let inner = inner.ok_or_else(|| function.unsupported())?;
    if inner.name() == ("sql.execution.adaptive.TableCacheQueryStageExec", "future") {
        return Ok((lineage.cached_table(rdd)?, Output::Unit));
    }
    // Of what was made of a query, such as a step of a recursive one.
    if inner.name() == ("rdd.RDD", "count") && rdd.name() == "SQLExecutionRDD" {
        return Ok((lineage.query(rdd, Hint::default())?, Output::Count));
    }
    let outer = Closure::in_field(rdd, "f")?;
    let last = outer.inner(graph).ok_or_else(|| outer.unsupported())?;
    match (inner.name(), last.name()) {
        (("rdd.RDD", "aggregate"), CSV_LINES) => {
            let (tree, inference) = lineage.csv_inference(&inner, &last, rdd)?;
            Ok((tree, Output::CsvTypes(Box::new(inference))))
        }
        (
            ("sql.Dataset" | "sql.classic.Dataset", "collectAsArrowToPython" | "collectAsArrowToR"),
            ("sql.Dataset" | "sql.classic.Dataset", "toArrowBatchRdd" | "toArrowBatchRddImpl"),
        ) => {
            let (tree, batches) = lineage.arrow_batches(&last, rdd)?;
            Ok((tree, Output::ArrowBatches(Box::new(batches))))
        }
        ((CONNECT, "processAsArrowBatches"), (CONNECT, "rowToArrowConverter")) => {
            let (tree, batches) = lineage.arrow_streams(&last, rdd)?;
            Ok((tree, Output::ArrowBatches(Box::new(batches))))
        }
        (INFER, INFER) => {
            let (tree, inference) = lineage.json_inference(&last, rdd)?;
            Ok((tree, Output::JsonTypes(Box::new(inference))))
        }
        (("rdd.RDD", "collect" | "toLocalIterator"), ("sql.execution.SparkPlan", _)) => {
            collect(lineage, &last, rdd, CollectResult::Array)
        }
        (("sql.execution.SparkPlan", "executeTake"), ("sql.execution.SparkPlan", _)) => {
            collect(lineage, &last, rdd, CollectResult::Pair)
        }
        (("rdd.RDD", "reduce"), ("rdd.RDD", "takeOrdered")) => {
            let merge = inner.inner(graph);
            if merge.is_none_or(|merge| merge.name() != ("rdd.RDD", "takeOrdered")) {
                return Err(inner.unsupported());
            }
            take_ordered(lineage, &last, rdd)
        }
        (("rdd.RDD", "collect"), ("RangePartitioner$", "sketch")) => {
            range_sample(lineage, &last, rdd)
        }
        (("rdd.RDD", _), _) => Err(last.unsupported()),
        _ => Err(inner.unsupported()),
    }
}

fn collect<'g>(
    lineage: &mut Lineage<'_, 'g>,
    packing: &Closure,
    rdd: Object<'g>,
    result: CollectResult,
) -> Result<(Tree, Output)> {
    let reader = lineage.reader;
    let [from_end, _] = packing.args[..] else {
        return Err(packing.unsupported());
    };
    if packing.name().1 != "getByteArrayRdd" {
        return Err(packing.unsupported());
    }
    let take_from_end = reader.graph.bool(from_end);
    let output = Output::Collect {
        limit: packing.int(reader, 1)?,
        take_from_end: take_from_end.ok_or_else(|| packing.unsupported())?,
        result,
    };
    let tree = lineage.rdd(rdd.object("prev")?, Hint::default())?;
    Ok((tree, output))
}

fn take_ordered<'g>(
    lineage: &mut Lineage<'_, 'g>,
    take: &Closure,
    rdd: Object<'g>,
) -> Result<(Tree, Output)> {
    let reader = lineage.reader;
    let limit = take.int(reader, 1)?;
    let ordering = take.arg(reader, 2)?;
    if ordering.name() != "LazilyGeneratedOrdering" {
        return Err(Unsupported::Class(ordering.name().to_owned()));
    }
    let order = read_sort_orders(reader, ordering.elements("ordering")?)?;
    let child = lineage.rdd(rdd.object("prev")?, Hint::default())?;
    let operator = Operator {
        output: child.operator.output.clone(),
        kind: OperatorKind::TopK {
            limit,
            order,
            child: Box::new(child.operator),
        },
        metrics: Vec::new(),
    };
    let inputs = child.inputs;
    Ok((Tree { operator, inputs }, Output::TakeOrdered))
}

fn range_sample<'g>(
    lineage: &mut Lineage<'_, 'g>,
    sketch: &Closure,
    rdd: Object<'g>,
) -> Result<(Tree, Output)> {
    let reader = lineage.reader;
    // Keys of pairs of a key and null.
    let keys = rdd.object("prev")?;
    let closure = Closure::in_field(keys, "f")?;
    let closure = closure
        .inner(reader.graph)
        .ok_or_else(|| closure.unsupported())?;
    if closure.name() != ("RangePartitioner", "rangeBounds") {
        return Err(closure.unsupported());
    }
    let rdd_id = keys.int("id")?;
    let pairs = keys.object("prev")?;
    let projection = shuffle::prepared(reader, pairs)?;
    let [_, _] = projection.args[..] else {
        return Err(projection.unsupported());
    };
    let numbers = [sketch.int(reader, 0)?, sketch.int(reader, 1)?];
    let sample_size = match numbers {
        [shift, size] if shift == rdd_id => size,
        [size, shift] if shift == rdd_id => size,
        _ => return Err(sketch.unsupported()),
    };
    let order = read_sort_orders(reader, projection.elements(reader, 0)?)?;
    let output = read_attributes(reader, projection.elements(reader, 1)?)?;
    let tree = lineage.rdd(pairs.object("prev")?, Hint::output(output))?;
    let output = Output::RangeSample {
        order,
        sample_size,
        rdd_id,
    };
    Ok((tree, output))
}
