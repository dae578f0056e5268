//! Variants: `parse_json`, `variant_get`, casts from and to variants, and what else looks into them.
//!
//! A column of variants has each as it lies in rows (see [`catalyst::variant_bytes`]). Arrow's type of such columns is
//! `LargeBinary`, which no other columns have: what compares, sorts, groups or hashes values refuses it, as Spark
//! refuses to compare variants.

mod build;
mod cast;
mod format;
#[cfg(fuzzing)]
mod fuzzing;
mod make;
mod parse;
mod parts;
mod path;
mod schema;
#[cfg(test)]
mod tests;
mod text;

use std::sync::Arc;

use arrow::array::{
    Array as _, ArrayRef, AsArray as _, BooleanArray, Int32Builder, LargeBinaryArray,
    LargeBinaryBuilder, StringViewBuilder,
};
use arrow::datatypes::DataType as ArrowType;
use catalyst::{DataType, EvalMode, Function, Literal, Unsupported};
use catalyst::{Expr, ExprKind};
use datafusion_common::Result as RunResult;
use datafusion_physical_expr::PhysicalExpr;
use javatime::{TimeZone, Zone};
use rows::error::bail_out;
use rows::types::ToArrow as _;

use self::build::{Builder, Fault};
use self::cast::Caster;
use self::format::{Malformed, Value};
use self::parse::Rules;
use super::cast::Casting;
use super::kernel::{Arg, Kernel, nth, single};
use super::{Lowered, Lowering};

pub(crate) use self::format::Variant;
#[cfg(fuzzing)]
pub use self::fuzzing::read;
pub(crate) use self::parts::VariantParts;
pub(crate) use self::text::write as write_json;

/// Most bytes of the parts of a batch's variants.
const MOST_EXPLODED: usize = 256 << 20;

impl Arg {
    fn variants(&self) -> RunResult<&LargeBinaryArray> {
        let array = self.array.as_binary_opt::<i64>();
        array.ok_or_else(|| bail_out("an argument of another type"))
    }
}

impl Lowering<'_> {
    /// A function of variants.
    pub(super) fn variant(
        &self,
        function: Function,
        args: &[Expr],
        mode: Option<EvalMode>,
        zone: Option<&TimeZone>,
        to: &DataType,
    ) -> Lowered {
        let refuse = || {
            let types: Vec<_> = args.iter().map(|arg| arg.data_type.to_string()).collect();
            Unsupported::of_use(format!("{}({})", function.name(), types.join(", ")))
        };
        let (first, others) = args.split_first().ok_or_else(refuse)?;
        let child = || self.expr(first);
        let of = &first.data_type;
        match (function, of, others) {
            (Function::ParseJson, DataType::String, [repeated, fails, unicode]) => {
                let flag = |of: &Expr| match of.kind {
                    ExprKind::Literal(Literal::Boolean(flag)) => Ok(flag),
                    _ => Err(refuse()),
                };
                let rules = Rules {
                    repeated: flag(repeated)?,
                    unicode: flag(unicode)?,
                };
                Ok(parse_json(child()?, rules, flag(fails)?))
            }
            (Function::VariantGet, DataType::Variant, [path]) => {
                let path = match &path.kind {
                    ExprKind::Literal(Literal::String(path)) => std::str::from_utf8(path).ok(),
                    _ => return Err(Unsupported::of_use("a variable path in variants")),
                };
                let unknown = || Unsupported::of_use("such a path in variants");
                let steps = path::steps(path.ok_or_else(unknown)?).ok_or_else(unknown)?;
                let fails = mode == Some(EvalMode::Ansi);
                let caster = Caster::new(to, fails, zone)?;
                get(child()?, steps, caster, to)
            }
            (Function::IsVariantNull, DataType::Variant, []) => Ok(is_variant_null(child()?)),
            (Function::SchemaOfVariant, DataType::Variant, []) => Ok(schema_of(child()?)),
            (Function::ToVariantObject, _, []) => to_variant(of, child()?),
            _ => Err(refuse()),
        }
    }
}

fn parse_json(child: Arc<dyn PhysicalExpr>, rules: Rules, fails: bool) -> Arc<dyn PhysicalExpr> {
    let name = format!("ParseJson[{rules:?} {fails}]");
    let to = ArrowType::LargeBinary;
    Kernel::strict(name, vec![child], to, move |args, rows| {
        let arg = single(args)?;
        let texts = arg.string()?;
        let mut made = LargeBinaryBuilder::new();
        let mut builder = Builder::default();
        for row in 0..rows {
            let at = arg.at(row);
            if texts.is_null(at) {
                made.append_null();
                continue;
            }
            match parse::parse(texts.value(at), rules, &mut builder) {
                Ok(variant) => made.append_value(variant),
                Err(Fault::None) if !fails => made.append_null(),
                Err(Fault::None) => return Err(bail_out("text that is no JSON")),
                Err(Fault::Unknown) => {
                    return Err(bail_out("text that may be no JSON for a variant"));
                }
            }
        }
        Ok(Arc::new(made.finish()))
    })
}

fn get(
    child: Arc<dyn PhysicalExpr>,
    steps: Vec<path::Step>,
    caster: Caster,
    to: &DataType,
) -> Lowered {
    let name = format!("VariantGet[{steps:?} {caster:?}]");
    let arrow = to.to_arrow()?;
    Ok(Kernel::strict(
        name,
        vec![child],
        arrow,
        move |args, rows| {
            let arg = nth(args, 0)?;
            let variants = arg.variants()?;
            let found = (0..rows).map(|row| {
                let at = arg.at(row);
                match variants.is_null(at) {
                    true => Ok(None),
                    false => path::find(Variant::new(variants.value(at))?, &steps),
                }
            });
            let found = found.collect::<Result<Vec<_>, Malformed>>()?;
            caster.cast(&found)
        },
    ))
}

/// `Cast` from a variant.
pub(super) fn cast_from(casting: &Casting<'_>) -> Lowered {
    let fails = casting.mode != EvalMode::Try;
    let caster = Caster::new(casting.to, fails, casting.zone)?;
    get(Arc::clone(&casting.child), Vec::new(), caster, casting.to)
}

/// `Cast` to a variant.
pub(super) fn to_variant(of: &DataType, child: Arc<dyn PhysicalExpr>) -> Lowered {
    make::check(of)?;
    let name = format!("ToVariant[{of}]");
    let of = of.clone();
    let to = ArrowType::LargeBinary;
    Ok(Kernel::strict(name, vec![child], to, move |args, rows| {
        let arg = single(args)?;
        let mut made = LargeBinaryBuilder::new();
        let mut builder = Builder::default();
        for row in 0..rows {
            let at = arg.at(row);
            if of == DataType::Null || arg.array.is_null(at) {
                made.append_null();
                continue;
            }
            builder.clear();
            let appended = make::append(&of, &arg.array, at, &mut builder);
            let variant = appended.and_then(|()| builder.finish());
            let variant = variant.map_err(|_| bail_out("a value that may be no variant"))?;
            made.append_value(variant);
        }
        Ok(Arc::new(made.finish()))
    }))
}

/// Spark looks at the first byte only.
fn is_variant_null(child: Arc<dyn PhysicalExpr>) -> Arc<dyn PhysicalExpr> {
    let to = ArrowType::Boolean;
    Kernel::lenient("IsVariantNull", vec![child], to, |args, rows| {
        let arg = single(args)?;
        let variants = arg.variants()?;
        let nulls = (0..rows).map(|row| {
            let at = arg.at(row);
            if variants.is_null(at) {
                return Ok(Some(false));
            }
            let (value, _) = format::split(variants.value(at))?;
            let first = value.first().ok_or(Malformed)?;
            Ok(Some(*first == 0))
        });
        let nulls = nulls.collect::<Result<BooleanArray, Malformed>>()?;
        Ok(Arc::new(nulls))
    })
}

fn schema_of(child: Arc<dyn PhysicalExpr>) -> Arc<dyn PhysicalExpr> {
    let to = ArrowType::Utf8View;
    Kernel::strict("SchemaOfVariant", vec![child], to, |args, rows| {
        texts(args, rows, |variant, text| {
            Ok(schema::write(variant, text)?)
        })
    })
}

/// The text of a variant within other values that are written as texts.
pub(super) fn value_text(child: Arc<dyn PhysicalExpr>) -> Arc<dyn PhysicalExpr> {
    let to = ArrowType::Utf8View;
    Kernel::strict("VariantText", vec![child], to, |args, rows| {
        texts(args, rows, |variant, text| {
            text::write(variant, &Zone::UTC, text)
        })
    })
}

fn texts(
    args: &[Arg],
    rows: usize,
    write: impl Fn(Variant<'_>, &mut String) -> RunResult<()>,
) -> RunResult<ArrayRef> {
    let arg = single(args)?;
    let variants = arg.variants()?;
    let mut texts = StringViewBuilder::with_capacity(rows);
    let mut text = String::new();
    for row in 0..rows {
        let at = arg.at(row);
        if variants.is_null(at) {
            texts.append_null();
            continue;
        }
        text.clear();
        write(Variant::new(variants.value(at))?, &mut text)?;
        texts.try_append_value(&text)?;
    }
    Ok(Arc::new(texts.finish()))
}

/// What `variant_explode` makes of variants: for each how many rows, and columns of places, names and values.
pub(crate) fn exploded(variants: &ArrayRef) -> RunResult<(Vec<u32>, Vec<ArrayRef>)> {
    let variants = variants.as_binary_opt::<i64>();
    let variants = variants.ok_or_else(|| bail_out("an argument of another type"))?;
    let mut counts = Vec::with_capacity(variants.len());
    let (mut places, mut names) = (Int32Builder::new(), StringViewBuilder::new());
    let mut values = LargeBinaryBuilder::new();
    let mut left = MOST_EXPLODED;
    let mut push = |place: usize, name: Option<&str>, value: Variant<'_>| -> RunResult<()> {
        let too_many = |_| bail_out("too many parts of a variant");
        places.append_value(i32::try_from(place).map_err(too_many)?);
        match name {
            Some(name) => names.try_append_value(name)?,
            None => names.append_null(),
        }
        let own = catalyst::variant_bytes(value.copied_bytes()?, value.metadata());
        let own = own.ok_or(Malformed)?;
        // Each has all names.
        left = left
            .checked_sub(own.len())
            .ok_or_else(|| bail_out("too many parts of variants"))?;
        values.append_value(own);
        Ok(())
    };
    for row in 0..variants.len() {
        let mut count = 0;
        if variants.is_valid(row) {
            match Variant::new(variants.value(row))?.value()? {
                Value::Object(object) => {
                    count = object.len();
                    for (place, field) in object.fields().enumerate() {
                        let (name, value) = field?;
                        push(place, Some(name), value)?;
                    }
                }
                Value::Array(array) => {
                    count = array.len();
                    for (place, element) in array.elements().enumerate() {
                        push(place, None, element?)?;
                    }
                }
                _ => {}
            }
        }
        counts.push(u32::try_from(count).map_err(|_| Malformed)?);
    }
    let columns: Vec<ArrayRef> = vec![
        Arc::new(places.finish()),
        Arc::new(names.finish()),
        Arc::new(values.finish()),
    ];
    Ok((counts, columns))
}
