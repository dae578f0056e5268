//! Values of variants as values of types, as Spark's `VariantGet.cast` makes them: each by Spark's own cast from the
//! type that the variant says.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, BinaryViewArray, BooleanArray, Date32Array, Decimal128Array, Float32Array,
    Float64Array, Int64Array, LargeBinaryBuilder, ListArray, MapArray, StringViewArray,
    StructArray, TimestampMicrosecondArray, new_null_array,
};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::compute::interleave;
use arrow::datatypes::{DataType as ArrowType, FieldRef, Fields};
use catalyst::{DataType, Decimal, EvalMode, Unsupported};
use datafusion_common::Result;
use datafusion_physical_expr::expressions::Column;
use javatime::calendar::SECOND;
use javatime::{TimeZone, Zone};
use rows::error::bail_out;
use rows::types::ToArrow as _;

use super::build::{Builder, Fault};
use super::format::{Digits, Malformed, Value, Variant};
use crate::expr::cast::Casting;
use crate::expr::cast::parts::Part;
use crate::expr::zone::zone_of;

/// How values of variants become values of a type.
#[derive(Debug)]
pub(super) struct Caster {
    to: Target,
    /// Whether a value that is none of the type ends the attempt, instead of being null.
    fails: bool,
    zone: Zone,
    time_zone: TimeZone,
}

#[derive(Debug)]
enum Target {
    Variant,
    Plain(DataType, ArrowType),
    Array(Box<Self>, FieldRef),
    Map(Box<Self>, FieldRef, Fields),
    /// Names of fields and what they become.
    Struct(Vec<(String, Self)>, Fields),
}

/// A value that is there, or null.
type Found<'a> = Option<Variant<'a>>;

impl Caster {
    /// # Errors
    /// Spark does not cast variants to the type, or it is not known here how.
    pub(super) fn new(
        to: &DataType,
        fails: bool,
        zone: Option<&TimeZone>,
    ) -> std::result::Result<Self, Unsupported> {
        Ok(Self {
            to: Target::new(to)?,
            fails,
            zone: zone_of(zone)?,
            time_zone: zone
                .ok_or_else(|| Unsupported::of_use("no time zone"))?
                .clone(),
        })
    }

    pub(super) fn cast(&self, found: &[Found<'_>]) -> Result<ArrayRef> {
        self.all(&self.to, found)
    }

    fn all(&self, to: &Target, found: &[Found<'_>]) -> Result<ArrayRef> {
        match to {
            Target::Variant => rebuilt(found),
            Target::Plain(to, arrow) => self.plain(to, arrow, found),
            Target::Array(element, field) => self.arrays(element, field, found),
            Target::Map(value, field, entry) => self.maps(value, field, entry, found),
            Target::Struct(parts, fields) => self.structs(parts, fields, found),
        }
    }

    /// A value that is none of the type.
    fn invalid(&self) -> Result<()> {
        match self.fails {
            true => Err(bail_out("a variant of another type")),
            false => Ok(()),
        }
    }

    fn arrays(&self, of: &Target, field: &FieldRef, found: &[Found<'_>]) -> Result<ArrayRef> {
        let (mut elements, mut lengths, mut valid) = (Vec::new(), Vec::new(), Vec::new());
        for found in found {
            let before = elements.len();
            let array = match found.map(|found| found.value()).transpose()? {
                Some(Value::Array(array)) => Some(array),
                None | Some(Value::Null) => None,
                Some(_) => {
                    self.invalid()?;
                    None
                }
            };
            if let Some(array) = array {
                for element in array.elements() {
                    elements.push(Some(element?));
                }
            }
            check_count(elements.len())?;
            lengths.push(elements.len() - before);
            valid.push(array.is_some());
        }
        let values = self.all(of, &elements)?;
        let offsets = OffsetBuffer::from_lengths(lengths);
        let nulls = Some(NullBuffer::from(valid));
        Ok(Arc::new(ListArray::try_new(
            Arc::clone(field),
            offsets,
            values,
            nulls,
        )?))
    }

    fn maps(
        &self,
        of: &Target,
        field: &FieldRef,
        entry: &Fields,
        found: &[Found<'_>],
    ) -> Result<ArrayRef> {
        let (mut names, mut values) = (Vec::new(), Vec::new());
        let (mut lengths, mut valid) = (Vec::new(), Vec::new());
        for found in found {
            let before = values.len();
            let object = self.object(*found)?;
            if let Some(object) = object {
                for field in object.fields() {
                    let (name, value) = field?;
                    names.push(name);
                    values.push(Some(value));
                }
            }
            check_count(values.len())?;
            lengths.push(values.len() - before);
            valid.push(object.is_some());
        }
        let keys = Arc::new(StringViewArray::from_iter_values(names));
        let columns = vec![keys as ArrayRef, self.all(of, &values)?];
        let entries = StructArray::try_new(entry.clone(), columns, None)?;
        let offsets = OffsetBuffer::from_lengths(lengths);
        let nulls = Some(NullBuffer::from(valid));
        Ok(Arc::new(MapArray::try_new(
            Arc::clone(field),
            offsets,
            entries,
            nulls,
            false,
        )?))
    }

    fn structs(
        &self,
        parts: &[(String, Target)],
        fields: &Fields,
        found: &[Found<'_>],
    ) -> Result<ArrayRef> {
        let mut columns: Vec<Vec<Found<'_>>> = vec![vec![None; found.len()]; parts.len()];
        let mut valid = Vec::new();
        for (row, found) in found.iter().enumerate() {
            let object = self.object(*found)?;
            valid.push(object.is_some());
            for field in object.into_iter().flat_map(|object| object.fields()) {
                let (name, value) = field?;
                let mut of_name = parts.iter().zip(&mut columns);
                let slot = of_name.find(|((own, _), _)| own == name);
                if let Some(slot) = slot.and_then(|(_, column)| column.get_mut(row)) {
                    if slot.is_some() {
                        return Err(Malformed.into());
                    }
                    *slot = Some(value);
                }
            }
        }
        let columns = parts.iter().zip(&columns);
        let columns = columns.map(|((_, of), column)| self.all(of, column));
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let nulls = Some(NullBuffer::from(valid));
        Ok(Arc::new(StructArray::try_new(
            fields.clone(),
            columns,
            nulls,
        )?))
    }

    fn object<'a>(&self, found: Found<'a>) -> Result<Option<super::format::Object<'a>>> {
        match found.map(|found| found.value()).transpose()? {
            Some(Value::Object(object)) => Ok(Some(object)),
            None | Some(Value::Null) => Ok(None),
            Some(_) => self.invalid().map(|()| None),
        }
    }

    fn plain(&self, to: &DataType, arrow: &ArrowType, found: &[Found<'_>]) -> Result<ArrayRef> {
        let mut sorted = Sorted::default();
        let mut places = Vec::with_capacity(found.len());
        for found in found {
            places.push(match found {
                None => NULL,
                Some(found) => self.sort(to, *found, &mut sorted)?,
            });
        }
        let mut arrays = vec![new_null_array(arrow, 1)];
        arrays.push(match to {
            DataType::String => Arc::new(StringViewArray::from_iter_values(&sorted.json)),
            _ => new_null_array(arrow, 0),
        });
        for kind in &sorted.kinds {
            let part = Part::new(
                &kind.of,
                to,
                &Casting {
                    from: &kind.of,
                    to,
                    mode: EvalMode::Try,
                    zone: Some(&self.time_zone),
                    child: Arc::new(Column::new("value", 0)),
                    pretty: false,
                },
            );
            let part = part.map_err(|why| bail_out(why.to_string()))?;
            let array = part.of(&kind.array()?)?;
            // What a cast has no result for is no value of the type.
            if array.null_count() > 0 {
                self.invalid()?;
            }
            arrays.push(array);
        }
        let arrays: Vec<&dyn Array> = arrays.iter().map(AsRef::as_ref).collect();
        Ok(interleave(&arrays, &places)?)
    }

    /// Puts a value among others of its type, and says where it is.
    fn sort<'a>(
        &self,
        to: &DataType,
        found: Variant<'a>,
        sorted: &mut Sorted<'a>,
    ) -> Result<(usize, usize)> {
        let value = found.value()?;
        let (of, value) = match (value, to) {
            (Value::Null, _) => return Ok(NULL),
            (Value::Object(_) | Value::Array(_), DataType::String) => {
                let mut text = String::new();
                super::text::write(found, &self.zone, &mut text)?;
                sorted.json.push(text);
                return Ok((JSON, sorted.json.len() - 1));
            }
            (Value::Long(seconds), DataType::Timestamp) => match seconds.checked_mul(SECOND) {
                Some(micros) => (DataType::Timestamp, Value::Timestamp(micros)),
                None => return self.invalid().map(|()| NULL),
            },
            (Value::Decimal(seconds), DataType::Timestamp) => match micros(seconds) {
                Some(micros) => (DataType::Timestamp, Value::Timestamp(micros)),
                None => return self.invalid().map(|()| NULL),
            },
            (value, to) => match type_of(&value).filter(|of| is_cast(of, to)) {
                Some(of) => (of, value),
                None => return self.invalid().map(|()| NULL),
            },
        };
        let place = sorted.kinds.iter().position(|kind| kind.of == of);
        let place = place.unwrap_or_else(|| {
            let values = Vec::new();
            sorted.kinds.push(Kind { of, values });
            sorted.kinds.len() - 1
        });
        let kind = sorted.kinds.get_mut(place).ok_or(Malformed)?;
        kind.values.push(value);
        Ok((FIRST_KIND + place, kind.values.len() - 1))
    }
}

/// The place of null among the arrays of a column.
const NULL: (usize, usize) = (0, 0);
/// The array of texts that are JSON.
const JSON: usize = 1;
/// The first array of values of one type.
const FIRST_KIND: usize = 2;

/// Values by their types.
#[derive(Debug, Default)]
struct Sorted<'a> {
    json: Vec<String>,
    kinds: Vec<Kind<'a>>,
}

/// Values of one type.
#[derive(Debug)]
struct Kind<'a> {
    of: DataType,
    values: Vec<Value<'a>>,
}

impl Kind<'_> {
    fn array(&self) -> Result<ArrayRef> {
        macro_rules! all {
            ($array:ty, $variant:ident, $value:ident => $of:expr) => {{
                let values = self.values.iter().map(|value| match value {
                    Value::$variant($value) => Some($of),
                    _ => None,
                });
                values.collect::<$array>()
            }};
        }
        Ok(match &self.of {
            DataType::Boolean => Arc::new(all!(BooleanArray, Boolean, value => *value)),
            DataType::Long => Arc::new(all!(Int64Array, Long, value => *value)),
            DataType::Double => Arc::new(all!(Float64Array, Double, value => *value)),
            DataType::Float => Arc::new(all!(Float32Array, Float, value => *value)),
            DataType::Date => Arc::new(all!(Date32Array, Date, value => *value)),
            DataType::String => Arc::new(all!(StringViewArray, Text, value => *value)),
            DataType::Binary => Arc::new(all!(BinaryViewArray, Binary, value => *value)),
            DataType::Decimal(of) => {
                let digits = all!(Decimal128Array, Decimal, value => value.unscaled);
                Arc::new(digits.with_precision_and_scale(of.precision, of.scale)?)
            }
            DataType::Timestamp => {
                let micros = all!(TimestampMicrosecondArray, Timestamp, value => *value);
                Arc::new(micros.with_data_type(rows::types::timestamp()))
            }
            DataType::TimestampNtz => {
                Arc::new(all!(TimestampMicrosecondArray, TimestampNtz, value => *value))
            }
            _ => return Err(bail_out("a variant of a type that is not known")),
        })
    }
}

/// The type that a value is cast from.
fn type_of(value: &Value<'_>) -> Option<DataType> {
    Some(match value {
        Value::Boolean(_) => DataType::Boolean,
        Value::Long(_) => DataType::Long,
        Value::Double(_) => DataType::Double,
        Value::Float(_) => DataType::Float,
        Value::Decimal(digits) => DataType::Decimal(Decimal {
            precision: digits.precision(),
            // At most 38.
            scale: digits.scale as i8,
        }),
        Value::Date(_) => DataType::Date,
        Value::Timestamp(_) => DataType::Timestamp,
        Value::TimestampNtz(_) => DataType::TimestampNtz,
        Value::Text(_) => DataType::String,
        Value::Binary(_) => DataType::Binary,
        Value::Null | Value::Object(_) | Value::Array(_) => return None,
    })
}

fn is_numeric(of: &DataType) -> bool {
    use DataType as T;
    matches!(
        of,
        T::Byte | T::Short | T::Integer | T::Long | T::Float | T::Double | T::Decimal(_)
    )
}

/// `Cast.canAnsiCast` of the types that variants have.
fn is_cast(from: &DataType, to: &DataType) -> bool {
    use DataType as T;
    match (from, to) {
        (from, to) if from == to => true,
        (_, T::String) => true,
        (T::String, T::Binary | T::Boolean | T::Date | T::Timestamp | T::TimestampNtz) => true,
        (T::Date | T::TimestampNtz, T::Timestamp) => true,
        (T::Date | T::Timestamp, T::TimestampNtz) => true,
        (T::Timestamp | T::TimestampNtz, T::Date) => true,
        (T::String | T::Boolean | T::Timestamp, to) => is_numeric(to),
        (from, T::Boolean | T::Timestamp) => is_numeric(from),
        (from, to) => is_numeric(from) && is_numeric(to),
    }
}

/// Microseconds of seconds; what is less is cut off. `None` if they are too many.
fn micros(seconds: Digits) -> Option<i64> {
    let scale = u32::from(seconds.scale);
    let micros = match scale.checked_sub(6) {
        None => seconds.unscaled.checked_mul(10_i128.pow(6 - scale))?,
        // At most 32.
        Some(less) => seconds.unscaled / 10_i128.pow(less),
    };
    micros.try_into().ok()
}

impl Target {
    fn new(to: &DataType) -> std::result::Result<Self, Unsupported> {
        let refuse = || Unsupported::of_use(format!("a variant as {to}"));
        let part = |of: &DataType| Self::new(of).map(Box::new);
        Ok(match (to, to.to_arrow()?) {
            (DataType::Variant, _) => Self::Variant,
            (DataType::Array { element, .. }, ArrowType::List(field)) => {
                Self::Array(part(element)?, field)
            }
            (DataType::Map { key, value, .. }, ArrowType::Map(field, _))
                if **key == DataType::String =>
            {
                let ArrowType::Struct(entry) = field.data_type() else {
                    return Err(refuse());
                };
                let entry = entry.clone();
                Self::Map(part(value)?, field, entry)
            }
            (DataType::Struct(fields), ArrowType::Struct(arrow)) => {
                let mut names = std::collections::HashSet::new();
                let mut parts = Vec::new();
                for field in fields {
                    // Which of them gets the value depends on the version.
                    if !names.insert(&field.name) {
                        return Err(refuse());
                    }
                    parts.push((field.name.clone(), Self::new(&field.data_type)?));
                }
                Self::Struct(parts, arrow)
            }
            (to, arrow) if is_numeric(to) || is_plain(to) => Self::Plain(to.clone(), arrow),
            _ => return Err(refuse()),
        })
    }
}

fn is_plain(of: &DataType) -> bool {
    use DataType as T;
    matches!(
        of,
        T::Boolean | T::String | T::Binary | T::Date | T::Timestamp | T::TimestampNtz
    )
}

/// Offsets of lists are 32 bits wide.
fn check_count(elements: usize) -> Result<()> {
    match i32::try_from(elements) {
        Ok(_) => Ok(()),
        Err(_) => Err(bail_out("too many elements of variants")),
    }
}

/// Variants of their own, with no names but theirs.
fn rebuilt(found: &[Found<'_>]) -> Result<ArrayRef> {
    let mut made = LargeBinaryBuilder::new();
    let mut builder = Builder::default();
    for found in found {
        match found {
            None => made.append_null(),
            Some(found) => {
                builder.clear();
                let bytes = builder.variant(*found).and_then(|()| builder.finish());
                made.append_value(bytes.map_err(|_: Fault| Malformed)?);
            }
        }
    }
    Ok(Arc::new(made.finish()))
}
