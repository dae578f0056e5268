//! `MapInPandasExec`, `MapInArrowExec`: rows that a function of Python makes of all rows of a partition.
//!
//! The closure captured a `MapInBatchEvaluatorFactory`, which knows the input's columns by their places only.

use javaser::arena::{NodeId, Value};

use crate::error::{Result, Unsupported};
use crate::expr::{Attribute, ExprId, read_attributes};
use crate::lineage::{Hint, Lineage, Tree};
use crate::metrics::read_map;
use crate::object::{Object, Reader};
use crate::plan::{Columns, Operator, OperatorKind};
use crate::python::{only_function, text_option, texts};
use crate::types::{DataType, StructField, read_fields};

/// The operators, by their classes: that of Arrow had another name up to Spark 4.0.
pub(crate) const OPERATORS: [&str; 3] =
    ["MapInPandasExec", "MapInArrowExec", "PythonMapInArrowExec"];

/// What a function takes and gives that is called for a whole partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MapUdf {
    /// `SQL_MAP_PANDAS_ITER_UDF`: data frames.
    DataFrames,
    /// `SQL_MAP_ARROW_ITER_UDF`: record batches.
    Batches,
}

/// A `MapInBatchEvaluatorFactory`.
#[derive(Debug, Clone, PartialEq)]
pub struct MapInBatch {
    /// What the function takes and gives.
    pub kind: MapUdf,
    /// The `PythonFunction` in the stage's graph.
    pub function: NodeId,
    /// `resultId`, by which profiles are kept.
    pub result_id: i64,
    /// Columns of the input, as the function is told of them.
    pub input: Vec<StructField>,
    /// Columns that come out.
    pub output: Vec<Attribute>,
    /// Whether Spark looks at the type of what the function gives if the session says so (from 4.1 on).
    pub checked: bool,
    /// Time zone in which the function sees timestamps.
    pub time_zone: String,
    /// Most rows in a batch, if the plan says it (3.5); none if not positive.
    pub batch_size: Option<i32>,
    /// What workers are told.
    pub settings: Vec<(String, String)>,
    /// Artifacts of which session workers see, if the session has its own.
    pub job_artifact_uuid: Option<String>,
}

impl MapUdf {
    const ALL: [Self; 2] = [Self::DataFrames, Self::Batches];

    /// The number of its `PythonEvalType`.
    #[must_use]
    pub fn eval_type(self) -> i32 {
        match self {
            Self::DataFrames => 205,
            Self::Batches => 207,
        }
    }
}

impl MapInBatch {
    fn read(reader: &Reader<'_>, factory: Object<'_>) -> Result<Self> {
        factory.only(&[
            "output",
            "chainedFunc",
            "outputTypes",
            "inputSchema",
            "outputSchema",
            "batchSize",
            "pythonEvalType",
            "sessionLocalTimeZone",
            "largeVarTypes",
            "pythonRunnerConf",
            "pythonMetrics",
            "jobArtifactUUID",
            "sessionUUID",
            "profiler",
        ])?;
        let number = factory.int("pythonEvalType")?;
        let kind = MapUdf::ALL
            .into_iter()
            .find(|kind| kind.eval_type() == number);
        let kind = kind.ok_or_else(|| Unsupported::of_use("a Python function of another kind"))?;
        if factory.bool("largeVarTypes")? {
            return Err(Unsupported::of_use("Arrow streams with large texts"));
        }
        for (field, what) in [
            // A session with logs of its own for workers.
            ("sessionUUID", "logs of Python workers"),
            ("profiler", "a profiler of Python functions"),
        ] {
            if factory.get(field).is_some() && factory.option(field)?.is_some() {
                return Err(Unsupported::of_use(what));
            }
        }
        let checked = factory.get("outputSchema").is_some();
        let input = factory.object(if checked {
            "inputSchema"
        } else {
            "outputTypes"
        })?;
        if checked && has_metadata(reader, Value::Ref(input.node))? {
            // Spark 4.1 and later tell functions of it.
            return Err(Unsupported::of_use(
                "Python functions of columns with metadata",
            ));
        }
        let output = read_attributes(reader, factory.elements("output")?)?;
        if checked
            && !is_schema_of(
                &DataType::read(reader, factory.value("outputSchema")?)?,
                &output,
            )
        {
            return Err(Unsupported::of_use("a Python function to other columns"));
        }
        let (function, result_id) = only_function(reader, factory)?;
        let batch_size = factory.get("batchSize").map(|_| factory.int("batchSize"));
        Ok(Self {
            kind,
            function,
            result_id,
            input: read_fields(reader, input)?,
            output,
            checked,
            time_zone: factory.text("sessionLocalTimeZone")?.into_owned(),
            batch_size: batch_size.transpose()?,
            settings: texts(reader, factory, "pythonRunnerConf")?,
            job_artifact_uuid: text_option(reader, factory.option("jobArtifactUUID")?),
        })
    }

    /// Names for the columns of the input, where nothing else names them. No driver's JVM has such an id.
    fn input_columns(&self) -> Vec<Attribute> {
        let columns = self.input.iter().zip(0..);
        let columns = columns.map(|(field, place)| Attribute {
            name: field.name.clone(),
            data_type: field.data_type.clone(),
            nullable: field.nullable,
            id: ExprId {
                id: place,
                jvm_id: self.function.index() as u128,
            },
        });
        columns.collect()
    }
}

fn is_schema_of(of: &DataType, columns: &[Attribute]) -> bool {
    let DataType::Struct(fields) = of else {
        return false;
    };
    let same = |field: &StructField, column: &Attribute| {
        (&field.name, &field.data_type, field.nullable)
            == (&column.name, &column.data_type, column.nullable)
    };
    let mut pairs = fields.iter().zip(columns);
    fields.len() == columns.len() && pairs.all(|(field, column)| same(field, column))
}

/// Whether a field or a column has metadata, or some field of its type.
pub(crate) fn is_described(reader: &Reader<'_>, field: Object<'_>) -> Result<bool> {
    let known = match field.maybe("metadata") {
        Some(metadata) => metadata.pairs("map")?,
        None => Vec::new(),
    };
    Ok(!known.is_empty() || has_metadata(reader, field.value("dataType")?)?)
}

/// Whether some field of a type has metadata.
fn has_metadata(reader: &Reader<'_>, of: Value) -> Result<bool> {
    reader.nested(|| {
        let of = reader.expect(of)?;
        let inner = |field| has_metadata(reader, of.value(field)?);
        match of.name() {
            "ArrayType" => inner("elementType"),
            "MapType" => Ok(inner("keyType")? || inner("valueType")?),
            "StructType" => {
                for field in of.elements("fields")? {
                    if is_described(reader, reader.expect(field)?)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            _ => Ok(false),
        }
    })
}

impl<'g> Lineage<'_, 'g> {
    /// What the function of a `MapInBatchEvaluatorFactory` makes of an RDD.
    pub(crate) fn map_in_batch(
        &mut self,
        factory: Object<'g>,
        child: Object<'g>,
        hint: &Hint<'g>,
    ) -> Result<Tree> {
        let map = MapInBatch::read(self.reader, factory)?;
        let columns = map.input_columns();
        let below = match self.plan_of(&map, hint)? {
            Some(plan) => Hint::plan(plan.object("child")?),
            None => Hint::output(columns.clone()),
        };
        let mut child = self.rdd(child, below)?;
        // By their places: fails if they have other types.
        child.operator.name_columns(&columns)?;
        Ok(Tree {
            operator: Operator {
                output: Columns::Known(map.output.clone()),
                metrics: read_map(self.reader, factory, "pythonMetrics")?,
                kind: OperatorKind::MapInBatch {
                    map: Box::new(map),
                    child: Box::new(child.operator),
                },
            },
            inputs: child.inputs,
        })
    }

    /// The operator that the factory is of, if the one above knows it.
    fn plan_of(&self, map: &MapInBatch, hint: &Hint<'g>) -> Result<Option<Object<'g>>> {
        let Some(plan) = hint.bare_plan() else {
            return Ok(None);
        };
        if !OPERATORS.contains(&plan.name()) {
            return Ok(None);
        }
        let output = read_attributes(self.reader, plan.elements("output")?)?;
        Ok((output == map.output).then_some(plan))
    }
}
