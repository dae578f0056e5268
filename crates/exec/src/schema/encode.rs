//! Schemas as `JavaSerializer` writes them.

use javaser::arena::Value;
use javaser::types::ScalaModule;
use javaser::{Catalog, Error};
use serde::Serialize;

use catalyst::{DataType, StructField};
use rows::result::Writer;

const TYPES: &str = "org.apache.spark.sql.types";

/// The result of a task: the merged columns of its files, if it had any. They have no metadata.
///
/// # Errors
/// A class of the driver's Spark is not as it should be, or a column is of a type that [`super::read`] does not give.
pub fn result(catalog: &Catalog, schema: Option<&[StructField]>) -> Result<Vec<u8>, Error> {
    let mut types = Types::new(catalog);
    let schemas = schema.map(|columns| types.structure(columns)).transpose()?;
    let all = schemas.into_iter().collect();
    let root = types.writer.array(&format!("[L{TYPES}.StructType;"), all)?;
    types.writer.finish(root)
}

/// The result of a task: the columns of its texts.
///
/// # Errors
/// As those of [`result`].
pub fn inferred(catalog: &Catalog, columns: &[StructField]) -> Result<Vec<u8>, Error> {
    let mut types = Types::new(catalog);
    let root = types.structure(columns)?;
    types.writer.finish(root)
}

/// The result of a task: the types of the values of its lines.
///
/// # Errors
/// As those of [`result`].
pub fn types(catalog: &Catalog, of: &[DataType]) -> Result<Vec<u8>, Error> {
    let mut types = Types::new(catalog);
    let all = of.iter().map(|of| types.data_type(of));
    let all = all.collect::<Result<_, _>>()?;
    let root = types.writer.array(&format!("[L{TYPES}.DataType;"), all)?;
    types.writer.finish(root)
}

/// `Metadata.empty`
#[derive(Serialize)]
#[serde(rename = "org.apache.spark.sql.types.Metadata")]
struct Metadata {
    #[serde(rename = "_hashCode")]
    hash_code: i32,
    #[serde(rename = "bitmap$0")]
    bitmap: bool,
    map: ScalaModule,
}

struct Types<'c> {
    writer: Writer<'c>,
    catalog: &'c Catalog,
    /// Written once.
    metadata: Option<Value>,
}

impl<'c> Types<'c> {
    fn new(catalog: &'c Catalog) -> Self {
        Self {
            writer: Writer::new(catalog),
            catalog,
            metadata: None,
        }
    }

    fn metadata(&mut self) -> Result<Value, Error> {
        if let Some(known) = self.metadata {
            return Ok(known);
        }
        let empty = Metadata {
            hash_code: 0,
            bitmap: false,
            map: ScalaModule::new("scala.collection.immutable.Map$EmptyMap$"),
        };
        let value = self
            .writer
            .import(&javaser::to_vec(&empty, self.catalog)?)?;
        self.metadata = Some(value);
        Ok(value)
    }

    fn structure(&mut self, columns: &[StructField]) -> Result<Value, Error> {
        let mut fields = Vec::with_capacity(columns.len());
        for column in columns {
            let parts = [
                ("name", self.writer.text(&column.name)),
                ("dataType", self.data_type(&column.data_type)?),
                ("nullable", Value::Bool(column.nullable)),
                ("metadata", self.metadata()?),
            ];
            fields.push(
                self.writer
                    .object(&format!("{TYPES}.StructField"), &parts)?,
            );
        }
        let fields = self
            .writer
            .array(&format!("[L{TYPES}.StructField;"), fields)?;
        // Everything else in it is made when it is first asked for.
        self.writer
            .object(&format!("{TYPES}.StructType"), &[("fields", fields)])
    }

    fn data_type(&mut self, of: &DataType) -> Result<Value, Error> {
        if let Some(name) = of.object() {
            let module = ScalaModule::new(format!("{TYPES}.{name}$"));
            return self.writer.import(&javaser::to_vec(&module, self.catalog)?);
        }
        match of {
            DataType::Decimal(decimal) => {
                let fields = [
                    ("precision", Value::Int(decimal.precision.into())),
                    ("scale", Value::Int(decimal.scale.into())),
                ];
                self.writer.object(&format!("{TYPES}.DecimalType"), &fields)
            }
            DataType::Array {
                element,
                contains_null,
            } => {
                let fields = [
                    ("elementType", self.data_type(element)?),
                    ("containsNull", Value::Bool(*contains_null)),
                ];
                self.writer.object(&format!("{TYPES}.ArrayType"), &fields)
            }
            DataType::Map {
                key,
                value,
                value_contains_null,
            } => {
                let fields = [
                    ("keyType", self.data_type(key)?),
                    ("valueType", self.data_type(value)?),
                    ("valueContainsNull", Value::Bool(*value_contains_null)),
                ];
                self.writer.object(&format!("{TYPES}.MapType"), &fields)
            }
            DataType::Struct(columns) => self.structure(columns),
            other => Err(Error::WrongType {
                context: format!("{TYPES}.StructField.dataType"),
                why: format!("no type of Parquet columns: {other}"),
            }),
        }
    }
}
