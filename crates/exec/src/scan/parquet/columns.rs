//! Which of a file's columns are Spark's, and how they are read.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, new_null_array};
use arrow::compute::{CastOptions, cast_with_options};
use arrow::datatypes::{
    DataType as ArrowType, Date32Type, Field, Schema, SchemaRef, TimeUnit, TimestampMicrosecondType,
};
use datafusion_common::Result;
use parquet::arrow::{ProjectionMask, parquet_to_arrow_schema};
use parquet::file::metadata::FileMetaData;

use catalyst::ParquetOptions;
use catalyst::Unsupported;
use catalyst::{DataType, StructField};
use rows::error::bail_out;
use rows::types::ToArrow as _;

/// Judges a column of the schema that is read.
pub(super) fn check(field: &StructField) -> std::result::Result<(), Unsupported> {
    if field.field_id.is_some() {
        return Err(Unsupported::of_use("columns of files by their ids"));
    }
    match field.data_type {
        DataType::Boolean
        | DataType::Byte
        | DataType::Short
        | DataType::Integer
        | DataType::Long
        | DataType::Float
        | DataType::Double
        | DataType::Decimal(_)
        | DataType::String
        | DataType::Binary
        | DataType::Date
        | DataType::Timestamp
        | DataType::TimestampNtz => Ok(()),
        _ => Err(Unsupported::of_use(format!(
            "a scan of {}",
            field.data_type
        ))),
    }
}

/// How the columns of a file are read.
#[derive(Debug)]
pub(super) struct Columns {
    /// Schema of the file, with the types that columns are read as.
    pub(super) schema: SchemaRef,
    /// The file's columns that are read.
    pub(super) mask: ProjectionMask,
    columns: Vec<Column>,
}

/// A column that is wanted.
#[derive(Debug)]
struct Column {
    /// Its place in the batches that are read; `None` if the file does not have it.
    place: Option<usize>,
    /// Type that it is to have.
    data_type: ArrowType,
    /// Values before this one may be of another calendar.
    oldest: Option<i64>,
}

/// 1582-10-15, since when both calendars are the same, in days.
const GREGORIAN_DAY: i64 = -141_427;
/// 1900-01-01, since when time zones are the same in both calendars, in microseconds.
const MODERN_MICROS: i64 = -2_208_988_800_000_000;

impl Columns {
    /// Finds the columns in a file. A file that Spark would read in another way than it is read here is a bail-out.
    pub(super) fn find(
        file: &FileMetaData,
        fields: &[StructField],
        options: &ParquetOptions,
    ) -> Result<Self> {
        let descriptor = file.schema_descr();
        let inferred = parquet_to_arrow_schema(descriptor, None)?;
        let mut types: Vec<Arc<Field>> = inferred.fields().iter().cloned().collect();
        let check_old = may_be_of_another_calendar(file, options);
        let mut found = Vec::new();
        for field in fields {
            let place = find_root(&inferred, &field.name, options.case_sensitive)?;
            if place.is_none() && field.exists_default.is_some() {
                return Err(bail_out("a file without a column that has a default"));
            }
            let data_type = field.data_type.to_arrow();
            let data_type = data_type.map_err(|reason| bail_out(reason.to_string()))?;
            if let Some(own) = place.and_then(|place| types.get_mut(place)) {
                let Some(read_as) = read_as(own.data_type(), &field.data_type) else {
                    let (own, field) = (own.data_type(), &field.data_type);
                    return Err(bail_out(format!("a column of {own} in Parquet as {field}")));
                };
                *own = Arc::new(own.as_ref().clone().with_data_type(read_as));
            }
            let oldest = match field.data_type {
                DataType::Date if check_old => Some(GREGORIAN_DAY),
                DataType::Timestamp | DataType::TimestampNtz if check_old => Some(MODERN_MICROS),
                _ => None,
            };
            found.push((place, data_type, oldest));
        }
        let mut roots: Vec<usize> = found.iter().filter_map(|(place, ..)| *place).collect();
        roots.sort_unstable();
        roots.dedup();
        let columns = found.into_iter().map(|(place, data_type, oldest)| Column {
            place: place.and_then(|place| roots.binary_search(&place).ok()),
            data_type,
            oldest,
        });
        Ok(Self {
            columns: columns.collect(),
            mask: ProjectionMask::roots(descriptor, roots.iter().copied()),
            schema: Arc::new(Schema::new(types)),
        })
    }

    /// Whether values are looked at that may be of another calendar, in columns that are wanted but for these places.
    pub(super) fn checks_old(&self, but: &[usize]) -> bool {
        let mut columns = self.columns.iter().enumerate();
        columns.any(|(place, column)| {
            column.place.is_some() && column.oldest.is_some() && !but.contains(&place)
        })
    }

    /// The columns that are wanted, of a batch that was read.
    pub(super) fn arrange(&self, read: &[ArrayRef], rows: usize) -> Result<Vec<ArrayRef>> {
        let columns = self.columns.iter();
        columns.map(|column| column.of(read, rows)).collect()
    }
}

impl Column {
    fn of(&self, read: &[ArrayRef], rows: usize) -> Result<ArrayRef> {
        let Some(place) = self.place else {
            return Ok(new_null_array(&self.data_type, rows));
        };
        let Some(array) = read.get(place) else {
            return Err(bail_out("a column that was not read"));
        };
        let array = if array.data_type() == &self.data_type {
            Arc::clone(array)
        } else {
            let options = CastOptions {
                safe: false,
                ..CastOptions::default()
            };
            cast_with_options(array, &self.data_type, &options)?
        };
        if let Some(oldest) = self.oldest
            && is_older(&array, oldest)
        {
            return Err(bail_out("a date or timestamp of another calendar"));
        }
        Ok(array)
    }
}

fn is_older(array: &ArrayRef, oldest: i64) -> bool {
    if let Some(days) = array.as_primitive_opt::<Date32Type>() {
        return days.iter().flatten().any(|day| i64::from(day) < oldest);
    }
    match array.as_primitive_opt::<TimestampMicrosecondType>() {
        Some(micros) => micros.iter().flatten().any(|micro| micro < oldest),
        None => true,
    }
}

/// Whether old dates and timestamps of a file have to be looked at: as `DataSourceUtils.datetimeRebaseSpec`.
fn may_be_of_another_calendar(file: &FileMetaData, options: &ParquetOptions) -> bool {
    let of = |key: &str| {
        let pairs = file.key_value_metadata().into_iter().flatten();
        let mut pairs = pairs.filter(|pair| pair.key == key);
        pairs.next().map(|pair| pair.value.as_deref().unwrap_or(""))
    };
    match of("org.apache.spark.version") {
        Some(version) => version < "3.0.0" || of("org.apache.spark.legacyDateTime").is_some(),
        None => !options
            .datetime_rebase_mode
            .eq_ignore_ascii_case("CORRECTED"),
    }
}

pub(super) fn find_root(
    schema: &Schema,
    name: &str,
    case_sensitive: bool,
) -> Result<Option<usize>> {
    let lower = name.to_lowercase();
    let is_it = |own: &str| match case_sensitive {
        true => own == name,
        false => own.to_lowercase() == lower,
    };
    let fields = schema.fields().iter().enumerate();
    let mut found = fields.filter(|(_, field)| is_it(field.name()));
    let first = found.next().map(|(place, _)| place);
    match found.next() {
        Some(_) => Err(bail_out("several columns of a file with one name")),
        None => Ok(first),
    }
}

/// What a column is to be read as: of the types that Arrow can read it as, the one from which Spark's type is had.
/// `None` if Spark refuses it, or converts it in a way that is not known here.
fn read_as(own: &ArrowType, wanted: &DataType) -> Option<ArrowType> {
    let as_it_is = || Some(own.clone());
    match (own, wanted) {
        (ArrowType::Boolean, DataType::Boolean)
        | (ArrowType::Int8, DataType::Byte | DataType::Integer)
        | (ArrowType::Int16, DataType::Short | DataType::Integer)
        | (ArrowType::Int32, DataType::Integer)
        | (ArrowType::Int64, DataType::Long)
        | (ArrowType::Float32, DataType::Float)
        | (ArrowType::Float64, DataType::Double)
        | (ArrowType::Date32, DataType::Date)
        | (
            ArrowType::Timestamp(TimeUnit::Millisecond | TimeUnit::Microsecond, Some(_)),
            DataType::Timestamp,
        )
        | (
            ArrowType::Timestamp(TimeUnit::Millisecond | TimeUnit::Microsecond, None),
            DataType::TimestampNtz,
        ) => as_it_is(),
        (ArrowType::Decimal128(precision, scale), DataType::Decimal(decimal))
            if *precision == decimal.precision && *scale == decimal.scale =>
        {
            as_it_is()
        }
        (ArrowType::Utf8 | ArrowType::Binary, DataType::String) => Some(ArrowType::Utf8View),
        (ArrowType::Binary, DataType::Binary) => Some(ArrowType::BinaryView),
        _ => None,
    }
}
