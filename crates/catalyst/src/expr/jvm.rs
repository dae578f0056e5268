//! Expressions without a native form: Spark's own code evaluates them, in the JVM beside the task, over the columns
//! that they refer to.

use std::sync::Arc;

use javaser::arena::Value;

use super::read::{NORMALIZE, PACKAGE, SCALAR_SUBQUERY, expr_id, read_attribute, read_nested};
use super::{Attribute, Expr, ExprId, ExprKind, lambda};
use crate::error::{Result, Unsupported};
use crate::literal::read_utf8;
use crate::object::{NOISE, Object, Reader, unmangled};
use crate::types::{DataType, StructField};

/// Expressions of packages other than [`PACKAGE`].
const OTHERS: &[&str] = &[
    NORMALIZE,
    SCALAR_SUBQUERY,
    "org.apache.spark.sql.hive.HiveGenericUDF",
    "org.apache.spark.sql.hive.HiveSimpleUDF",
];

/// Expressions that are not evaluated for a row by itself, in any order: what they give depends on the rows before, on
/// the partition or on chance, or they give rows, or they are evaluated by an operator of their own.
pub const NOT_OF_A_ROW: &[&str] = &[
    "BoundReference",
    "CallMethodViaReflection",
    "Collations",
    "CurrentBatchTimestamp",
    "Explode",
    "Inline",
    "InputFileBlockLength",
    "InputFileBlockStart",
    "InputFileName",
    "JsonTuple",
    "MonotonicallyIncreasingID",
    "OuterReference",
    "PosExplode",
    "PythonUDAF",
    "PythonUDF",
    "PythonUDTF",
    "Rand",
    "Randn",
    "RandStr",
    "ReplicateRows",
    "SQLKeywords",
    "Shuffle",
    "SparkPartitionID",
    "Stack",
    "TryReflect",
    "Uniform",
    "UserDefinedGenerator",
    "Uuid",
    "VariantExplode",
    "WindowExpression",
];

/// Fields that say whether an expression gives the same for the same.
const DETERMINISTIC: &[&str] = &["udfDeterministic", "isDeterministic"];

/// Classes whose objects send what was added to them to the driver when the task ends.
const ACCUMULATOR: &str = "org.apache.spark.util.AccumulatorV2";

/// Those that count for Spark's own operators.
const SQL_METRIC: &str = "org.apache.spark.sql.execution.metric.SQLMetric";

/// RDDs whose tasks may have to wait for each other.
const MAPPED_RDD: &str = "org.apache.spark.rdd.MapPartitionsRDD";

/// What carried operators have in place of other stages: a class of the driver's jar, which no executor need have.
const OTHER_STAGE: &str = "org.firesteel.OtherStage";

/// An expression of Spark's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JvmExpression {
    /// Its class, without its package.
    pub class: String,
    /// A stream of objects whose root it is.
    pub stream: Vec<u8>,
    /// The columns that it refers to, each once, as the stream has them, whatever they become around it.
    pub columns: Vec<ExprId>,
}

/// What says whether an expression is computed natively, if its arguments are.
pub type IsNative = fn(&Expr) -> bool;

/// An expression, or the same as one of Spark's, if only that can be computed.
#[inline(never)]
pub(super) fn read(reader: &Reader<'_>, object: Object<'_>, is_native: IsNative) -> Result<Expr> {
    let read = reader.nested(|| read_nested(reader, object));
    in_place_of(reader, object, read, is_native)
}

#[inline(never)]
fn in_place_of(
    reader: &Reader<'_>,
    object: Object<'_>,
    read: Result<Expr>,
    is_native: IsNative,
) -> Result<Expr> {
    if read.as_ref().is_ok_and(is_native) {
        return read;
    }
    let of = match &read {
        Ok(expr) => Some(expr.data_type.clone()),
        Err(_) => type_of(reader, object),
    };
    let Some(of) = of else {
        return read;
    };
    match (expression(reader, object, of), read) {
        (Ok(expr), _) => Ok(expr),
        // Why the JVM does not, where the class says all that is known otherwise.
        (Err(why), Err(Unsupported::Class(_))) => Err(why),
        (Err(_), read) => read,
    }
}

/// The type of an expression that is not known but for its class.
fn type_of(reader: &Reader<'_>, object: Object<'_>) -> Option<DataType> {
    let field = |name: &str| DataType::read(reader, object.get(name)?).ok();
    // A constructor's parameter in place of the method of that name.
    if let Some(of) = field("dataType") {
        return Some(of);
    }
    let child = |name: &str| Some(Expr::read(reader, object.get(name)?).ok()?.data_type);
    let name = object.class().strip_prefix(PACKAGE)?;
    Some(match name {
        "ArrayInsert" => return child("srcArrayExpr"),
        "MapSort" => return child("base"),
        "CsvToStructs" | "XmlToStructs" => return field("schema"),
        "Contains" | "EndsWith" | "EqualNullSafe" | "EqualTo" | "GreaterThan"
        | "GreaterThanOrEqual" | "In" | "LessThan" | "LessThanOrEqual" | "Like" | "RLike"
        | "StartsWith" | "xml.XPathBoolean" => DataType::Boolean,
        "Length" | "Levenshtein" | "StringInstr" | "StringLocate" | "xml.XPathInt" => {
            DataType::Integer
        }
        "FormatString" | "RegExpReplace" | "SchemaOfCsv" | "SchemaOfXml" | "StructsToCsv"
        | "StructsToXml" | "ToCharacter" | "TypeOf" | "xml.XPathString" => DataType::String,
        "MakeInterval" => DataType::CalendarInterval,
        "xml.XPathShort" => DataType::Short,
        "xml.XPathLong" => DataType::Long,
        "xml.XPathFloat" => DataType::Float,
        "xml.XPathDouble" => DataType::Double,
        "xml.XPathList" => list_of(DataType::String),
        "Sentences" => list_of(list_of(DataType::String)),
        _ => return None,
    })
}

fn list_of(element: DataType) -> DataType {
    DataType::Array {
        element: Box::new(element),
        contains_null: true,
    }
}

fn expression(reader: &Reader<'_>, object: Object<'_>, data_type: DataType) -> Result<Expr> {
    let mut found = Found::default();
    found.gather(reader, object)?;
    let columns = found.columns();
    let (stream, accumulates) = runs_in_jvm(reader, &[Value::Ref(object.node)])?;
    if accumulates {
        // The same expression may be evaluated more often than in Spark, which knows those that are alike.
        return Err(Unsupported::of_use("a function with an accumulator"));
    }
    Ok(Expr {
        data_type,
        nullable: true,
        kind: ExprKind::Jvm {
            expression: Arc::new(JvmExpression {
                class: object.name().to_owned(),
                stream,
                columns: columns.iter().map(|column| column.id).collect(),
            }),
            columns: columns.into_iter().map(Expr::attribute).collect(),
        },
    })
}

/// A stream of values that Spark's own code works with in the JVM beside a task, and whether there are accumulators of
/// users among them.
///
/// # Errors
/// They have what no executor need have.
pub(crate) fn runs_in_jvm(reader: &Reader<'_>, values: &[Value]) -> Result<(Vec<u8>, bool)> {
    let (graph, stream) = reader.copied(values)?;
    let mut accumulates = false;
    for (node, _) in graph.nodes() {
        accumulates |= graph.is_instance(node, ACCUMULATOR) && !graph.is_instance(node, SQL_METRIC);
        let object = Object {
            graph: &graph,
            node,
        };
        if graph.is_instance(node, MAPPED_RDD) && object.flag("isFromBarrier") {
            return Err(Unsupported::of_use("a barrier"));
        }
        if graph.is_instance(node, OTHER_STAGE) {
            return Err(Unsupported::of_use("a subquery within an expression"));
        }
    }
    Ok((stream, accumulates))
}

/// The columns that an expression refers to, each once.
///
/// # Errors
/// It is none that is evaluated for a row by itself.
pub(crate) fn columns_in(reader: &Reader<'_>, expression: Value) -> Result<Vec<Attribute>> {
    let mut found = Found::default();
    found.gather(reader, reader.expect(expression)?)?;
    Ok(found.columns())
}

/// The type of an expression that makes a column of an object or of a part of it.
pub(crate) fn type_in_jvm(reader: &Reader<'_>, object: Object<'_>) -> Option<DataType> {
    let of = |field: &str| {
        let inner = object.maybe(field)?;
        reader.nested(|| Ok(type_in_jvm(reader, inner))).ok()?
    };
    Some(match object.class().strip_prefix(PACKAGE)? {
        "If" => return of("trueValue"),
        "KnownNotNull" | "objects.AssertNotNull" | "AssertNotNull" => return of("child"),
        "IsNull" => DataType::Boolean,
        "objects.EncodeUsingSerializer" => DataType::Binary,
        "objects.MapObjects" => list_of(of("lambdaFunction")?),
        "objects.ExternalMapToCatalyst" => DataType::Map {
            key: Box::new(of("keyConverter")?),
            value: Box::new(of("valueConverter")?),
            value_contains_null: true,
        },
        "CreateNamedStruct" => {
            let mut fields = Vec::new();
            for pair in object.elements("children").ok()?.chunks_exact(2) {
                let [name, value] = pair else {
                    return None;
                };
                let name = reader.expect(*name).ok()?;
                let value = reader.expect(*value).ok()?;
                fields.push(StructField {
                    name: String::from_utf8(read_utf8(name.object("value").ok()?).ok()?).ok()?,
                    data_type: reader.nested(|| Ok(type_in_jvm(reader, value))).ok()??,
                    nullable: true,
                    field_id: None,
                    exists_default: None,
                });
            }
            DataType::Struct(fields)
        }
        _ => return DataType::read(reader, object.get("dataType")?).ok(),
    })
}

/// What an expression is made of.
#[derive(Default)]
struct Found {
    /// Columns and variables of lambdas that it refers to, each once.
    used: Vec<Attribute>,
    /// Variables of the lambdas in it.
    made: Vec<ExprId>,
}

impl Found {
    /// What it refers to from around it: where it is in a lambda, the lambda's variables are columns to it.
    fn columns(self) -> Vec<Attribute> {
        let Self { mut used, made } = self;
        used.retain(|column| !made.contains(&column.id));
        used
    }

    fn add(&mut self, column: Attribute) {
        if self.used.iter().all(|known| known.id != column.id) {
            self.used.push(column);
        }
    }

    fn gather(&mut self, reader: &Reader<'_>, object: Object<'_>) -> Result<()> {
        reader.nested(|| self.gather_nested(reader, object))
    }

    fn gather_nested(&mut self, reader: &Reader<'_>, object: Object<'_>) -> Result<()> {
        let name = object.class();
        let name = name.strip_prefix(PACKAGE).unwrap_or(name);
        if NOT_OF_A_ROW.contains(&object.name()) || name.starts_with("aggregate.") {
            return Err(Unsupported::Class(object.name().to_owned()));
        }
        let varies = |field: &&str| {
            object.get(field).and_then(|value| object.graph.bool(value)) == Some(false)
        };
        if DETERMINISTIC.iter().any(varies) {
            return Err(Unsupported::of_use("a function that is not deterministic"));
        }
        match name {
            // Its value may be any object, with expressions that are none of this one.
            "Literal" => return Ok(()),
            "AttributeReference" => {
                self.add(read_attribute(reader, Value::Ref(object.node))?);
                return Ok(());
            }
            "NamedLambdaVariable" => {
                self.add(lambda::variable(reader, object)?);
                return Ok(());
            }
            "LambdaFunction" => {
                for variable in object.elements("arguments")? {
                    let variable = reader.expect(variable)?;
                    self.made.push(expr_id(variable.object("exprId")?)?);
                }
            }
            _ => {}
        }
        for level in object.graph.levels(object.node) {
            for (field, value) in level.iter() {
                let field = unmangled(field.name());
                if !NOISE.contains(&field) {
                    self.gather_value(reader, value)?;
                }
            }
        }
        Ok(())
    }

    /// Expressions that a field has, by itself or in a collection.
    fn gather_value(&mut self, reader: &Reader<'_>, value: Value) -> Result<()> {
        let Some(node) = value.node() else {
            return Ok(());
        };
        let graph = reader.graph;
        if is_expression(reader.class(value)) {
            return self.gather(reader, reader.object(node));
        }
        let option = || {
            graph
                .scala_option(value)
                .map(|inner| inner.into_iter().collect())
        };
        let parts = graph.tuple(value).or_else(option);
        let Some(parts) = parts.or_else(|| graph.elements(value)) else {
            return Ok(());
        };
        reader.nested(|| {
            let mut parts = parts.into_iter();
            parts.try_for_each(|part| self.gather_value(reader, part))
        })
    }
}

/// Classes within others are closures and what expressions keep for themselves, and may refer to them again.
fn is_expression(class: &str) -> bool {
    class.starts_with(PACKAGE) && !class.contains('$') || OTHERS.contains(&class)
}
