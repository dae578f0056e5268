//! Which of a file's columns are Spark's, and how they are read.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, PrimitiveArray, new_null_array};
use arrow::compute::{CastOptions, cast_with_options};
use arrow::datatypes::{
    DataType as ArrowType, Date32Type, Field, Schema, SchemaRef, Time64MicrosecondType,
    Time64NanosecondType, TimeUnit, TimestampMicrosecondType,
};
use datafusion_common::Result;
use parquet::arrow::{ProjectionMask, parquet_to_arrow_schema};
use parquet::basic::Type as Physical;
use parquet::file::metadata::FileMetaData;
use parquet::schema::types::Type;

use super::lookup::Lookup;
use super::nested::{Finder, arranged, leaves_of};
use crate::expr::{cut, valid};
use catalyst::ParquetOptions;
use catalyst::Unsupported;
use catalyst::{DataType, StructField};
use rows::error::bail_out;
use rows::types::ToArrow as _;

/// Judges the type of a column of the schema that is read.
pub(super) fn check(of: &DataType) -> std::result::Result<(), Unsupported> {
    match of {
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
        | DataType::TimestampNtz
        | DataType::YearMonthInterval
        | DataType::DayTimeInterval
        | DataType::Time(_)
        | DataType::Variant => Ok(()),
        DataType::Array { element, .. } => check(element),
        DataType::Map { key, value, .. } => {
            check(key)?;
            check(value)
        }
        DataType::Struct(fields) if !fields.is_empty() => {
            fields.iter().try_for_each(|field| check(&field.data_type))
        }
        _ => Err(Unsupported::of_use(format!("a scan of {of}"))),
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
    parts: Parts,
}

/// What a column is made of.
#[derive(Debug)]
enum Parts {
    None(Leaf),
    /// A list, map or struct.
    Nested {
        /// With the names of the file.
        data_type: DataType,
        /// Whether dates and timestamps in it may be of another calendar.
        check_old: bool,
    },
}

/// A column without parts, or a part without parts of a column.
#[derive(Debug)]
pub(super) struct Leaf {
    /// Type that it is to have.
    data_type: ArrowType,
    /// Values before this one may be of another calendar.
    oldest: Option<i64>,
    /// Of times: digits behind the seconds.
    precision: Option<u8>,
}

impl Leaf {
    pub(super) fn of(of: &DataType, check_old: bool) -> Result<Self> {
        let data_type = of.to_arrow();
        Ok(Self {
            data_type: data_type.map_err(|reason| bail_out(reason.to_string()))?,
            oldest: match of {
                DataType::Date if check_old => Some(GREGORIAN_DAY),
                DataType::Timestamp | DataType::TimestampNtz if check_old => Some(MODERN_MICROS),
                _ => None,
            },
            precision: match of {
                DataType::Time(precision) => Some(*precision),
                _ => None,
            },
        })
    }

    /// What was read, with the type that it is to have.
    pub(super) fn arranged(&self, array: &ArrayRef) -> Result<ArrayRef> {
        if let Some(precision) = self.precision {
            return times(array, precision);
        }
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

fn is_nested(of: &DataType) -> bool {
    matches!(
        of,
        DataType::Array { .. } | DataType::Map { .. } | DataType::Struct(_) | DataType::Variant
    )
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
        lookup: Lookup,
    ) -> Result<Self> {
        let descriptor = file.schema_descr();
        let inferred = parquet_to_arrow_schema(descriptor, None)?;
        let mut types: Vec<Arc<Field>> = inferred.fields().iter().cloned().collect();
        let check_old = !lookup.of_table && may_be_of_another_calendar(file, options);
        let check_old_int96 = !lookup.of_table && int96_may_be_of_another_calendar(file, options);
        let mut physical = descriptor.columns().iter().map(|leaf| leaf.physical_type());
        if (options.timestamp_conversion || lookup.of_table)
            && physical.any(|of| of == Physical::INT96)
        {
            return Err(bail_out("timestamps that may be of the writer's time zone"));
        }
        let (mut found, mut leaves) = (Vec::new(), Vec::new());
        for field in fields {
            let roots = descriptor.root_schema().get_fields();
            let place = lookup.find(roots, field)?;
            if place.is_none() && field.exists_default.is_some() {
                return Err(bail_out("a file without a column that has a default"));
            }
            if place.is_none() && lookup.of_table && !field.nullable {
                return Err(bail_out("a file without a column that is never null"));
            }
            let own = place.and_then(|place| Some((place, types.get_mut(place)?)));
            let root = |place: usize| -> Result<&Type> {
                let root = roots.get(place).map(AsRef::as_ref);
                root.ok_or_else(|| bail_out("a column that is not there"))
            };
            let parts = if is_nested(&field.data_type) {
                let mut data_type = field.data_type.clone();
                if let Some((place, own)) = own {
                    let of = root(place)?;
                    data_type = lookup.named(of, &data_type)?;
                    let mut finder = Finder {
                        next: roots.iter().take(place).map(|part| leaves_of(part)).sum(),
                        leaves: Vec::new(),
                        may_grow: lookup.of_table,
                    };
                    let read_as = finder.find(of, own.data_type(), &data_type)?;
                    *own = Arc::new(own.as_ref().clone().with_data_type(read_as));
                    leaves.extend(finder.leaves);
                }
                Parts::Nested {
                    data_type,
                    check_old: check_old || check_old_int96,
                }
            } else {
                let mut check_old = check_old;
                if let Some((place, own)) = own {
                    let of = root(place)?;
                    if is_int96(of) {
                        check_old = check_old_int96;
                    }
                    let (type_of_file, wanted) = (own.data_type(), &field.data_type);
                    let grown = || {
                        let has_grown = lookup.of_table && has_grown(type_of_file, wanted);
                        has_grown.then(|| type_of_file.clone())
                    };
                    let Some(read_as) = read_as(of, type_of_file, wanted).or_else(grown) else {
                        let (own, field) = (own.data_type(), &field.data_type);
                        return Err(bail_out(format!("a column of {own} in Parquet as {field}")));
                    };
                    *own = Arc::new(own.as_ref().clone().with_data_type(read_as));
                    let all = 0..descriptor.num_columns();
                    leaves
                        .extend(all.filter(|leaf| descriptor.get_column_root_idx(*leaf) == place));
                }
                Parts::None(Leaf::of(&field.data_type, check_old)?)
            };
            found.push((place, parts));
        }
        let mut roots: Vec<usize> = found.iter().filter_map(|(place, _)| *place).collect();
        roots.sort_unstable();
        roots.dedup();
        let columns = found.into_iter().map(|(place, parts)| Column {
            place: place.and_then(|place| roots.binary_search(&place).ok()),
            parts,
        });
        Ok(Self {
            columns: columns.collect(),
            mask: ProjectionMask::leaves(descriptor, leaves),
            schema: Arc::new(Schema::new(types)),
        })
    }

    /// Whether values are looked at that may be of another calendar, in columns that are wanted but for these places.
    pub(super) fn checks_old(&self, but: &[usize]) -> bool {
        let mut columns = self.columns.iter().enumerate();
        columns.any(|(place, column)| {
            let checks = match &column.parts {
                Parts::None(leaf) => leaf.oldest.is_some(),
                Parts::Nested { check_old, .. } => *check_old,
            };
            column.place.is_some() && checks && !but.contains(&place)
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
            return Ok(new_null_array(&self.data_type()?, rows));
        };
        let Some(array) = read.get(place) else {
            return Err(bail_out("a column that was not read"));
        };
        match &self.parts {
            Parts::None(leaf) => leaf.arranged(array),
            Parts::Nested {
                data_type,
                check_old,
            } => arranged(array, data_type, *check_old),
        }
    }

    fn data_type(&self) -> Result<ArrowType> {
        match &self.parts {
            Parts::None(leaf) => Ok(leaf.data_type.clone()),
            Parts::Nested { data_type, .. } => {
                let arrow = data_type.to_arrow();
                arrow.map_err(|reason| bail_out(reason.to_string()))
            }
        }
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

/// Times of a day in nanoseconds. Those with more digits than their type has are cut by some versions of Spark only.
fn times(array: &ArrayRef, precision: u8) -> Result<ArrayRef> {
    let (values, nulls, unit) = match array.data_type() {
        ArrowType::Time64(TimeUnit::Microsecond) => {
            let micros = array.as_primitive::<Time64MicrosecondType>();
            (micros.values(), micros.nulls(), 1000)
        }
        ArrowType::Time64(TimeUnit::Nanosecond) => {
            let nanos = array.as_primitive::<Time64NanosecondType>();
            (nanos.values(), nanos.nulls(), 1)
        }
        other => return Err(bail_out(format!("times in {other}"))),
    };
    let nanos = values.iter().enumerate().map(|(row, value)| {
        if nulls.is_some_and(|nulls| nulls.is_null(row)) {
            return Some(0);
        }
        let nanos = valid(value.checked_mul(unit)?)?;
        (cut(nanos, precision) == nanos).then_some(nanos)
    });
    let nanos: Option<Vec<i64>> = nanos.collect();
    let nanos = nanos.ok_or_else(|| bail_out("a time that is none of its type"))?;
    let times = PrimitiveArray::<Time64NanosecondType>::try_new(nanos.into(), nulls.cloned())?;
    Ok(Arc::new(times))
}

/// Whether old dates and timestamps of a file have to be looked at: as `DataSourceUtils.datetimeRebaseSpec`.
fn may_be_of_another_calendar(file: &FileMetaData, options: &ParquetOptions) -> bool {
    match written(file, "version") {
        Some(version) => version < "3.0.0" || written(file, "legacyDateTime").is_some(),
        None => !options
            .datetime_rebase_mode
            .eq_ignore_ascii_case("CORRECTED"),
    }
}

/// The same of timestamps of 96 bits: as `DataSourceUtils.int96RebaseSpec`.
fn int96_may_be_of_another_calendar(file: &FileMetaData, options: &ParquetOptions) -> bool {
    match written(file, "version") {
        Some(version) => version < "3.1.0" || written(file, "legacyINT96").is_some(),
        None => !options.int96_rebase_mode.eq_ignore_ascii_case("CORRECTED"),
    }
}

/// What Spark wrote about a file.
fn written<'a>(file: &'a FileMetaData, what: &str) -> Option<&'a str> {
    let mut pairs = file.key_value_metadata().into_iter().flatten();
    let pair = pairs.find(|pair| pair.key.strip_prefix("org.apache.spark.") == Some(what))?;
    Some(pair.value.as_deref().unwrap_or(""))
}

fn is_int96(of: &Type) -> bool {
    of.is_primitive() && of.get_physical_type() == Physical::INT96
}

/// Whether a column of a table of Iceberg's may have got a type after a file was written, whose values it all has
/// ("Schema Evolution" of its specification).
pub(super) fn has_grown(own: &ArrowType, wanted: &DataType) -> bool {
    match (own, wanted) {
        (ArrowType::Int32, DataType::Long) | (ArrowType::Float32, DataType::Double) => true,
        (ArrowType::Decimal128(precision, scale), DataType::Decimal(decimal)) => {
            *precision < decimal.precision && *scale == decimal.scale
        }
        _ => false,
    }
}

/// What a column is to be read as: of the types that Arrow can read it as, the one from which Spark's type is had.
/// `None` if Spark refuses it, or converts it in a way that is not known here. `of` is the type in the file.
pub(super) fn read_as(of: &Type, own: &ArrowType, wanted: &DataType) -> Option<ArrowType> {
    let as_it_is = || Some(own.clone());
    match (own, wanted) {
        // Arrow, too, cuts nanoseconds of a day off to microseconds; what does not fit wraps around.
        (ArrowType::Timestamp(TimeUnit::Nanosecond, None), DataType::Timestamp) if is_int96(of) => {
            Some(ArrowType::Timestamp(
                TimeUnit::Microsecond,
                Some("UTC".into()),
            ))
        }
        (ArrowType::Boolean, DataType::Boolean)
        | (ArrowType::Int8, DataType::Byte | DataType::Integer)
        | (ArrowType::Int16, DataType::Short | DataType::Integer)
        | (ArrowType::Int32, DataType::Integer | DataType::YearMonthInterval)
        | (ArrowType::Int64, DataType::Long | DataType::DayTimeInterval)
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
        (ArrowType::Time64(TimeUnit::Microsecond), DataType::Time(_)) => as_it_is(),
        // Spark before 4.3 takes any time for one in microseconds.
        (ArrowType::Time64(TimeUnit::Nanosecond), DataType::Time(7..)) => as_it_is(),
        (ArrowType::Utf8 | ArrowType::Binary, DataType::String) => Some(ArrowType::Utf8View),
        (ArrowType::Binary, DataType::Binary) => Some(ArrowType::BinaryView),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{Time64MicrosecondArray, Time64NanosecondArray};

    #[test]
    fn times_are_in_a_day_and_have_the_digits_of_their_type() {
        let micros = |micros: Vec<Option<i64>>, precision| {
            let array: ArrayRef = Arc::new(Time64MicrosecondArray::from(micros));
            let found = times(&array, precision).ok()?;
            let found = found.as_primitive::<Time64NanosecondType>();
            Some(found.iter().collect::<Vec<_>>())
        };
        let last = 86_399_999_999;
        let found = Some(vec![Some(last * 1000), None, Some(0)]);
        assert_eq!(micros(vec![Some(last), None, Some(0)], 6), found);
        assert_eq!(micros(vec![Some(last)], 5), None);
        assert_eq!(micros(vec![Some(last + 1)], 6), None);
        assert_eq!(micros(vec![Some(-1)], 6), None);
        assert_eq!(micros(vec![Some(i64::MAX)], 6), None);
        let nanos: ArrayRef = Arc::new(Time64NanosecondArray::from(vec![1]));
        assert!(times(&nanos, 9).is_ok() && times(&nanos, 8).is_err());
    }
}
