//! Where Spark SQL meets PySpark: data frames that are made of pickled objects (`createDataFrame`, `toDF`), rows of
//! data frames that are pickled (`DataFrame.rdd`, `toLocalIterator`), and those that drivers get as Arrow batches
//! (`toPandas`, `toArrow`).

use javaser::Closure;
use javaser::arena::{Graph, NodeId};

use crate::carried;
use crate::closure::ClosureArgs as _;
use crate::error::{Result, Unsupported};
use crate::expr::{Attribute, ExprId};
use crate::infer::of_query;
use crate::inputs::Inputs;
use crate::lineage::{Hint, Lineage, Tree};
use crate::metrics::of_operator;
use crate::object::{Object, Reader};
use crate::output::plan_output;
use crate::plan::{Columns, LeafId, Operator, OperatorKind};
use crate::python::ArrowSession;
use crate::stage::{Output, Settings, Stage};
use crate::types::{DataType, StructField, read_fields};

/// Rows that are pickled for Python, as `Row`s of `pyspark.sql`.
#[derive(Debug, Clone, PartialEq)]
pub struct PickledRows {
    /// The data frame's columns.
    pub columns: Vec<StructField>,
    /// `spark.sql.execution.pyspark.binaryAsBytes` (4.1 and later): binary values are `bytes`, else `bytearray`s.
    pub binary_as_bytes: bool,
}

/// `Dataset.collectAsArrowToPython`, `collectAsArrowToR`, and what Spark Connect sends: rows in batches of Arrow's IPC
/// format.
#[derive(Debug, Clone, PartialEq)]
pub struct ArrowBatches {
    /// The data frame's columns.
    pub columns: Vec<StructField>,
    /// Time zone of timestamps, and how many rows a batch has.
    pub session: ArrowSession,
    /// For Spark Connect: each batch is a stream with its schema and of about so many bytes at most, and comes with its
    /// number of rows.
    pub streams: Option<i64>,
}

/// `RDDScanExec` over an RDD of PySpark: rows that Python pickled as lists or tuples.
#[derive(Debug, Clone, PartialEq)]
pub struct PickledScan {
    /// Where tasks have their partitions of `rdd`.
    pub leaf: LeafId,
    /// The RDD of `byte[]`, each a pickled list of rows, in the stage's graph.
    pub rdd: NodeId,
}

impl Stage {
    /// Reads an RDD that is made of a data frame's rows, pickled: `EvaluatePython.javaToPython`. `property` gives the
    /// properties of a task, `complete` adds to the settings what sessions do not say.
    ///
    /// # Errors
    /// [`Unsupported`] says why it is to be delegated.
    pub fn read_pickled<'a>(
        graph: &Graph,
        rdd: NodeId,
        property: impl Fn(&str) -> Option<&'a str>,
        complete: impl FnOnce(&mut Settings),
    ) -> std::result::Result<Self, Unsupported> {
        let graph = &*carried::unpacked(graph)?;
        let first = Reader::new(graph, Settings::default());
        let (rows, query) = rows_of(&first, first.object(rdd))?;
        let mut settings = match property(Settings::EXECUTION) {
            Some(_) => Settings::new(property),
            None => settings_of(query)?,
        };
        complete(&mut settings);
        let reader = Reader::new(graph, settings);
        let tree = Lineage::new(&reader).columns(of_query(query)?, &rows.columns)?;
        Ok(Self {
            root: tree.operator,
            inputs: tree.inputs,
            output: Output::Pickled(Box::new(rows)),
            kryo: reader.settings.kryo,
        })
    }
}

/// What is pickled, and the query whose rows they are.
fn rows_of<'g>(reader: &Reader<'g>, rdd: Object<'g>) -> Result<(PickledRows, Object<'g>)> {
    let lineage = Lineage::new(reader);
    let pickles = lineage.closure_of(rdd)?;
    if pickles.name() != ("sql.execution.python.EvaluatePython$", "javaToPython") {
        return Err(pickles.unsupported());
    }
    let objects = rdd.object("prev")?;
    let converts = lineage.closure_of(objects)?;
    let ("sql.Dataset" | "sql.classic.Dataset", "javaToPython") = converts.name() else {
        return Err(converts.unsupported());
    };
    let binary_as_bytes = match converts.args.get(1) {
        None => false,
        Some(flag) => reader
            .graph
            .bool(*flag)
            .ok_or_else(|| converts.unsupported())?,
    };
    let rows = PickledRows {
        columns: read_fields(reader, converts.arg(reader, 0)?)?,
        binary_as_bytes,
    };
    Ok((rows, objects.object("prev")?))
}

/// The settings that a query which became an RDD is computed with.
pub(crate) fn settings_of(query: Object<'_>) -> Result<Settings> {
    let graph = query.graph;
    let pairs = query.pairs("sqlConfigs")?;
    let pairs: Vec<_> = pairs
        .into_iter()
        .filter_map(|(key, value)| Some((graph.str(key)?, graph.str(value)?)))
        .collect();
    let property = |name: &str| {
        let mut pairs = pairs.iter();
        pairs
            .find(|(key, _)| key == name)
            .map(|(_, value)| &**value)
    };
    Ok(Settings::new(property))
}

/// Whether structs in it have fields of the same name: these get other ones, or fail.
fn has_twins(of: &DataType) -> bool {
    match of {
        DataType::Struct(fields) => {
            let twin = |(place, field): (usize, &StructField)| {
                let before = fields.iter().take(place);
                before.clone().any(|other| other.name == field.name) || has_twins(&field.data_type)
            };
            fields.iter().enumerate().any(twin)
        }
        DataType::Array { element, .. } => has_twins(element),
        DataType::Map { key, value, .. } => has_twins(key) || has_twins(value),
        _ => false,
    }
}

impl<'g> Lineage<'_, 'g> {
    /// What gives rows of these columns.
    fn columns(&mut self, rdd: Object<'g>, columns: &[StructField]) -> Result<Tree> {
        let attributes = columns.iter().zip(1..).map(|(column, number)| Attribute {
            name: column.name.clone(),
            data_type: column.data_type.clone(),
            nullable: column.nullable,
            // Ids of Spark's are not negative.
            id: ExprId {
                id: -number,
                jvm_id: 0,
            },
        });
        let tree = self.rdd(rdd, Hint::output(attributes.collect()))?;
        let found = tree.operator.output.require()?;
        let mut pairs = found.iter().zip(columns);
        let same = pairs.all(|(found, column)| found.data_type.is_like(&column.data_type));
        match same && found.len() == columns.len() {
            true => Ok(tree),
            false => Err(Unsupported::of_use("rows of other columns for Python")),
        }
    }

    /// The rows that a driver gets as Arrow batches, which `batches` makes.
    pub(crate) fn arrow_batches(
        &mut self,
        batches: &Closure,
        rdd: Object<'g>,
    ) -> Result<(Tree, ArrowBatches)> {
        let reader = self.reader;
        // Whether names of fields may be the same, and whether texts are large, are flags behind these.
        let time_zone = batches.args.get(2).and_then(|zone| reader.graph.str(*zone));
        let time_zone = time_zone.ok_or_else(|| batches.unsupported())?;
        let large = batches
            .args
            .get(4)
            .and_then(|flag| reader.graph.bool(*flag));
        if large == Some(true) {
            return Err(Unsupported::of_use("Arrow streams with large texts"));
        }
        if reader.settings.arrow_compression {
            return Err(Unsupported::of_use(Settings::ARROW_COMPRESSION));
        }
        self.batches_for_driver(batches, time_zone.into_owned(), None, rdd)
    }

    /// The rows that a client of Spark Connect gets as Arrow streams, which `converter` makes.
    pub(crate) fn arrow_streams(
        &mut self,
        converter: &Closure,
        rdd: Object<'g>,
    ) -> Result<(Tree, ArrowBatches)> {
        let reader = self.reader;
        let [_, _, bytes, time_zone, _, large] = converter.args[..] else {
            return Err(converter.unsupported());
        };
        let time_zone = reader.graph.str(time_zone);
        let time_zone = time_zone.ok_or_else(|| converter.unsupported())?;
        let bytes = reader.graph.int(bytes);
        let bytes = bytes.ok_or_else(|| converter.unsupported())?;
        if reader.graph.bool(large) != Some(false) {
            return Err(Unsupported::of_use("Arrow streams with large texts"));
        }
        self.batches_for_driver(converter, time_zone.into_owned(), Some(bytes), rdd)
    }

    /// `closure` begins with the columns and the number of rows of a batch.
    fn batches_for_driver(
        &mut self,
        closure: &Closure,
        time_zone: String,
        streams: Option<i64>,
        rdd: Object<'g>,
    ) -> Result<(Tree, ArrowBatches)> {
        let reader = self.reader;
        let columns = read_fields(reader, closure.arg(reader, 0)?)?;
        if columns.iter().any(|column| has_twins(&column.data_type)) {
            return Err(Unsupported::of_use("structs with fields of the same name"));
        }
        let session = ArrowSession {
            time_zone: Some(time_zone),
            batch_size: closure.int(reader, 1)?,
            settings: Vec::new(),
            validates_schemas: false,
        };
        let tree = self.columns(rdd.object("prev")?, &columns)?;
        let batches = ArrowBatches {
            columns,
            session,
            streams,
        };
        Ok((tree, batches))
    }

    /// `RDDScanExec`. Its rows are Java objects of any kind; those that PySpark makes are known.
    pub(crate) fn rdd_scan(&mut self, plan: Object<'g>, rdd: Object<'g>) -> Result<Tree> {
        let output = plan_output(self.reader, plan)?;
        let metrics = of_operator(self.reader, plan)?;
        if rdd.name() == "SQLExecutionRDD" {
            let mut tree = self.query(rdd, Hint::output(output))?;
            tree.operator.metrics.extend(metrics);
            return Ok(tree);
        }
        if self.is_checkpoint(rdd) {
            return self.checkpoint(rdd, output, metrics);
        }
        if output.is_empty() && rdd.name() == "ParallelCollectionRDD" {
            return self.row_of_no_columns(rdd, metrics);
        }
        let of_another_class = |_| Unsupported::Class(plan.name().to_owned());
        let schema = self.closure_of(rdd).map_err(of_another_class)?;
        let ("sql.SparkSession" | "sql.classic.SparkSession", "applySchemaToPythonRDD") =
            schema.name()
        else {
            return Err(schema.unsupported());
        };
        let columns = read_fields(self.reader, schema.arg(self.reader, 0)?)?;
        let columns = columns
            .iter()
            .map(|column| (&column.data_type, column.nullable));
        let expected = output
            .iter()
            .map(|column| (&column.data_type, column.nullable));
        if !columns.eq(expected) {
            return Err(Unsupported::of_use("rows of other columns from Python"));
        }
        let arrays = self.below(rdd, ("api.python.SerDeUtil$", "toJavaArray"))?;
        let objects = self.below(arrays, ("api.python.SerDeUtil$", "pythonToJava"))?;
        // Whether each element is a list of rows.
        let batched = self.closure_of(objects)?;
        if batched
            .args
            .first()
            .and_then(|flag| self.reader.graph.bool(*flag))
            != Some(true)
        {
            return Err(batched.unsupported());
        }
        let leaf = self.leaf();
        let scan = PickledScan {
            leaf,
            rdd: objects.object("prev")?.node,
        };
        Ok(Tree {
            operator: Operator {
                kind: OperatorKind::PickledScan(scan),
                output: Columns::Known(output),
                metrics,
            },
            inputs: Inputs::Leaf(leaf),
        })
    }

    /// The RDD that this one is made of, which is to have been made by that function.
    fn below(&self, rdd: Object<'g>, function: (&str, &str)) -> Result<Object<'g>> {
        let below = rdd.object("prev")?;
        let closure = self.closure_of(below)?;
        match closure.name() == function {
            true => Ok(below),
            false => Err(closure.unsupported()),
        }
    }
}
