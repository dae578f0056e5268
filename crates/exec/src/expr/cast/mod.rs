//! `Cast`, pair by pair.

pub(super) mod decimal;
pub(super) mod nested;
pub(super) mod numeric;
pub(super) mod parse;
pub(super) mod parts;
pub(super) mod text;
pub(super) mod time;
pub(super) mod time_of_day;
pub(super) mod timestamp;

use std::sync::Arc;

use arrow::array::{Array, ArrowPrimitiveType, BooleanArray, new_null_array};
use arrow::datatypes::DataType as ArrowType;
use datafusion_physical_expr::PhysicalExpr;

use super::kernel::{Kernel, Otherwise, one, single};
use super::variant;
use super::zone::zone_of;
use catalyst::DataType;
use catalyst::EvalMode;
use catalyst::Unsupported;
use javatime::{TimeZone, Zone};
use rows::types::ToArrow as _;

/// Why a value is bailed out of that the other type has no room for.
const OVERFLOW: &str = "a cast that overflows";

/// A cast to be lowered.
pub(super) struct Casting<'a> {
    pub(super) from: &'a DataType,
    pub(super) to: &'a DataType,
    /// As Spark's `Cast.ansiEnabled`: `try_cast` is ANSI's cast with nulls in place of errors.
    pub(super) mode: EvalMode,
    pub(super) zone: Option<&'a TimeZone>,
    pub(super) child: Arc<dyn PhysicalExpr>,
    /// Whether it is a text for `show`, as `ToPrettyString` makes it.
    pub(super) pretty: bool,
}

impl Casting<'_> {
    /// Whether values are checked as ANSI does.
    pub(super) fn ansi(&self) -> bool {
        self.mode != EvalMode::Legacy
    }

    pub(super) fn refuse(&self) -> Unsupported {
        Unsupported::of_use(format!("a cast from {} to {}", self.from, self.to))
    }

    pub(super) fn arrow(&self) -> Result<ArrowType, Unsupported> {
        self.to.to_arrow()
    }

    pub(super) fn name(&self) -> String {
        let Self {
            from,
            to,
            mode,
            zone,
            ..
        } = self;
        format!(
            "Cast[{from} {to} {mode} {}]",
            zone.map_or("-", TimeZone::id)
        )
    }

    /// A primitive result of each value.
    fn each<I: ArrowPrimitiveType, O: ArrowPrimitiveType>(
        &self,
        otherwise: Otherwise,
        f: impl Fn(I::Native) -> Option<O::Native> + Send + Sync + 'static,
    ) -> Result<Arc<dyn PhysicalExpr>, Unsupported> {
        let child = vec![Arc::clone(&self.child)];
        Ok(one::<I, O>(
            self.name(),
            &self.arrow()?,
            child,
            otherwise,
            f,
        ))
    }

    /// The session's time zone.
    pub(super) fn zone(&self) -> Result<Zone, Unsupported> {
        zone_of(self.zone)
    }
}

/// Whether there are times of a day in a type, whose digits Arrow's types do not say.
fn has_times(of: &DataType) -> bool {
    match of {
        DataType::Time(_) => true,
        DataType::Array { element, .. } => has_times(element),
        DataType::Map { key, value, .. } => has_times(key) || has_times(value),
        DataType::Struct(fields) => fields.iter().any(|field| has_times(&field.data_type)),
        _ => false,
    }
}

/// A conversion of `child`.
///
/// # Errors
/// The pair of types is not converted natively.
pub(super) fn lower(casting: &Casting<'_>) -> Result<Arc<dyn PhysicalExpr>, Unsupported> {
    use DataType as T;
    let (from, to) = (casting.from, casting.to);
    if from == to {
        return Ok(Arc::clone(&casting.child));
    }
    let to_arrow = casting.arrow()?;
    from.to_arrow()?;
    match (from, to) {
        // Fields may differ in names and nullability.
        (T::Struct(_), T::Struct(_))
        | (T::Array { .. }, T::Array { .. })
        | (T::Map { .. }, T::Map { .. })
            if from.to_arrow()? == to_arrow && !has_times(from) =>
        {
            Ok(Arc::clone(&casting.child))
        }
        (T::Struct(_) | T::Array { .. } | T::Map { .. }, T::String) => nested::lower(casting),
        (T::Struct(_), T::Struct(_))
        | (T::Array { .. }, T::Array { .. })
        | (T::Map { .. }, T::Map { .. }) => parts::lower(casting),
        (T::Struct(_) | T::Array { .. } | T::Map { .. }, _)
        | (_, T::Struct(_) | T::Array { .. } | T::Map { .. })
            if !matches!(from, T::Null | T::Variant) && *to != T::Variant =>
        {
            Err(casting.refuse())
        }
        (T::Null, _) => Ok(nulls(casting, to_arrow)),
        (T::Variant, _) => variant::cast_from(casting),
        (_, T::Variant) => variant::to_variant(from, Arc::clone(&casting.child)),
        // Hive has it so. ANSI does not allow it.
        (
            T::Date,
            T::Boolean
            | T::Byte
            | T::Short
            | T::Integer
            | T::Long
            | T::Float
            | T::Double
            | T::Decimal(_),
        ) => Ok(nulls(casting, to_arrow)),
        (T::Time(_) | T::Timestamp | T::TimestampNtz, T::Time(precision)) => {
            time_of_day::lower(casting, *precision)
        }
        (T::Time(_), T::Byte | T::Short | T::Integer | T::Long | T::Decimal(_)) => {
            time_of_day::lower_to_number(casting)
        }
        (T::String, T::Binary) => parse::to_binary(casting),
        (T::String, _) => parse::lower(casting),
        (_, T::String) => text::lower(casting),
        (T::Date | T::Timestamp | T::TimestampNtz, T::Date | T::Timestamp | T::TimestampNtz) => {
            time::lower(casting)
        }
        // Exact or through a double, by the version.
        (T::Timestamp, T::Decimal(_)) => Err(casting.refuse()),
        (T::Decimal(_), T::Timestamp) => decimal::lower(casting),
        (T::Byte | T::Short | T::Integer | T::Long, T::Binary) => numeric::to_binary(casting),
        (T::Timestamp, _) => time::lower_to_number(casting),
        (_, T::Timestamp) => time::lower_from_number(casting),
        (_, T::Decimal(_)) | (T::Decimal(_), _) => decimal::lower(casting),
        (_, _) if numeric::is_number(from) && numeric::is_number(to) => numeric::lower(casting),
        _ => Err(casting.refuse()),
    }
}

fn nulls(casting: &Casting<'_>, to: ArrowType) -> Arc<dyn PhysicalExpr> {
    let child = Arc::clone(&casting.child);
    let of = to.clone();
    Kernel::lenient(casting.name(), vec![child], to, move |_, rows| {
        Ok(new_null_array(&of, rows))
    })
}

/// Whether numbers are not zero. As Java compares: both zeros are zero, and NaN is not.
fn to_boolean<T: ArrowPrimitiveType>(casting: &Casting<'_>) -> Arc<dyn PhysicalExpr> {
    let child = Arc::clone(&casting.child);
    let to = ArrowType::Boolean;
    Kernel::strict(casting.name(), vec![child], to, |args, _| {
        let array = single(args)?.primitive::<T>()?;
        let zero = T::Native::default();
        let values = array.values().iter().map(|value| *value != zero);
        Ok(Arc::new(BooleanArray::new(
            values.collect(),
            array.nulls().cloned(),
        )))
    })
}
