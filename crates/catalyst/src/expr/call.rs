//! Calls of functions, by what [`Spec`] says of their classes.

use super::arithmetic::{decimal_result, integral, rounded};
use super::read::{data_type, eval_mode, zone};
use super::signature::{
    Args, Context, Nullable, Result as ResultType, SECONDS, SECONDS_OF_DAY, Spec, TIME, texts,
};
use super::{EvalMode, Expr, ExprKind, Function, interval, nested, text};
use crate::error::{Result, Unsupported};
use crate::literal::Literal;
use crate::object::{Object, Reader};
use crate::types::{DataType, Decimal};
use javatime::TimeZone;

pub(super) fn call(function: Function, args: Vec<Expr>, data_type: DataType) -> Expr {
    Expr {
        nullable: args.iter().any(|arg| arg.nullable),
        data_type,
        kind: ExprKind::Call {
            function,
            args,
            mode: None,
            time_zone: None,
        },
    }
}

/// What is read of the arguments of a function.
enum Arguments {
    All(Vec<Expr>),
    /// The class stands for another function.
    Whole(Expr),
}

/// The arguments. The fields that they are in are added to those that are known.
#[inline(never)]
fn arguments(
    reader: &Reader<'_>,
    object: Object<'_>,
    spec: &Spec,
    known: &mut Vec<&'static str>,
) -> Result<Arguments> {
    let mut args = match spec.args {
        Args::Fields(fields) => {
            known.extend(fields);
            let args = fields.iter().map(|field| match *field {
                "unit" => Ok(text::of(&object.text(field)?)),
                field => Expr::read(reader, object.value(field)?),
            });
            args.collect::<Result<_>>()?
        }
        Args::Children if object.get("patterns").is_some() => {
            known.extend(["child", "patterns"]);
            text::patterns(reader, object)?
        }
        Args::Children => {
            known.push("children");
            let mut args = Expr::read_all(reader, object.elements("children")?)?;
            if spec.function == Function::AtLeastNNonNulls {
                known.push("n");
                args.insert(0, text::integer(object.int("n")?));
            }
            args
        }
    };
    match more_arguments(reader, object, &mut args)? {
        Some(whole) => Ok(Arguments::Whole(whole)),
        None => Ok(Arguments::All(args)),
    }
}

/// Adds arguments that may be missing; or gives what the class stands for with them.
#[inline(never)]
fn more_arguments(
    reader: &Reader<'_>,
    object: Object<'_>,
    args: &mut Vec<Expr>,
) -> Result<Option<Expr>> {
    // The characters to trim are optional.
    if object.get("trimStr").is_some() {
        let characters = Expr::read_option(reader, object.option("trimStr")?)?;
        args.extend(characters);
    }
    if object.get("timezone").is_some() {
        args.extend(Expr::read_option(reader, object.option("timezone")?)?);
    }
    if object.get("stepOpt").is_some() {
        args.extend(Expr::read_option(reader, object.option("stepOpt")?)?);
    }
    for absent in ["nullReplacement", "defaultValueOutOfBound", "threshold"] {
        if object.get(absent).is_some() && !nested::is_absent(reader, object, absent)? {
            if let Some(part) = text::split_part(reader, object, args)? {
                return Ok(Some(part));
            }
            return Err(Unsupported::of_use(format!(
                "{} with {absent}",
                object.name()
            )));
        }
    }
    Ok(None)
}

/// What happens if there is no proper result. `loss`: whether decimals may lose digits, which the class may say.
#[inline(never)]
fn mode_of(
    object: Object<'_>,
    spec: &Spec,
    known: &mut Vec<&'static str>,
    loss: &mut bool,
) -> Result<Option<EvalMode>> {
    let flag = |name, yes, no| Ok(Some(if object.bool(name)? { yes } else { no }));
    Ok(match spec.context {
        Context::None => None,
        Context::EvalMode => {
            known.extend(["evalMode", "evalContext", "internalDataType"]);
            Some(eval_context(object, loss)?)
        }
        Context::Fails(name) => {
            known.push(name);
            flag(name, EvalMode::Ansi, EvalMode::Legacy)?
        }
        Context::MayFail(name) => {
            known.push(name);
            match object.get(name) {
                Some(_) => flag(name, EvalMode::Ansi, EvalMode::Legacy)?,
                None => Some(EvalMode::Legacy),
            }
        }
        Context::Nulls(name) => {
            known.push(name);
            flag(name, EvalMode::Legacy, EvalMode::Ansi)?
        }
        Context::Without(name) => {
            known.push(name);
            if object.bool(name)? {
                return Err(Unsupported::of_use(format!("{} with {name}", spec.class)));
            }
            None
        }
    })
}

#[inline(never)]
pub(super) fn function(reader: &Reader<'_>, object: Object<'_>, spec: &Spec) -> Result<Expr> {
    let mut known = spec.ignored.to_vec();
    match arguments(reader, object, spec, &mut known)? {
        Arguments::All(args) => with_arguments(reader, object, spec, args, known),
        Arguments::Whole(expr) => Ok(expr),
    }
}

/// What [`function`] has to do when nothing is read below it any more: depth does not cost its part of the stack.
#[inline(never)]
fn with_arguments(
    reader: &Reader<'_>,
    object: Object<'_>,
    spec: &Spec,
    args: Vec<Expr>,
    mut known: Vec<&'static str>,
) -> Result<Expr> {
    let mut loss = reader.settings.allow_precision_loss;
    let mode = mode_of(object, spec, &mut known, &mut loss)?;
    if spec.zoned {
        known.push("timeZoneId");
    }
    let time_zone = match spec.zoned && !has_own_zone(spec.function, &args) {
        true => zone(reader, object)?,
        false => zone_argument(reader, spec.function, &args),
    };
    let formatted = matches!(
        spec.function,
        Function::DateFormatClass
            | Function::FromUnixTime
            | Function::UnixTimestamp
            | Function::ToUnixTimestamp
            | Function::GetTimestamp
    );
    if formatted && reader.settings.legacy_time_parser {
        return Err(Unsupported::of_use("formats of Spark 2"));
    }
    is_known(reader, spec.function)?;
    if let ResultType::MakeDecimal = spec.result {
        known.extend(["precision", "scale"]);
    }
    object.only(&known)?;
    if spec.function == Function::ToPrettyString
        && let Some(interval) = interval::pretty(reader, object, &args)?
    {
        return Ok(interval);
    }
    let data_type = result_type(reader, object, spec, &args, loss)?;
    let any = args.iter().any(|arg| arg.nullable);
    let nullable = match spec.nullable {
        Nullable::Any => any,
        Nullable::All => args.iter().all(|arg| arg.nullable),
        Nullable::Never => false,
        Nullable::Always => true,
        Nullable::Overflow => {
            let decimal = data_type.decimal().is_some() && mode != Some(EvalMode::Ansi);
            any || decimal || mode == Some(EvalMode::Try)
        }
    };
    Ok(Expr {
        kind: ExprKind::Call {
            function: spec.function,
            args,
            mode,
            time_zone,
        },
        data_type,
        nullable,
    })
}

/// Whether it is known what a function is in the driver's version of Spark and on the executors' Java.
#[inline(never)]
fn is_known(reader: &Reader<'_>, function: Function) -> Result<()> {
    use Function as F;
    let settings = &reader.settings;
    let unknown = match function {
        // Releases of 3.5 to 4.1 have different ones.
        F::Acosh | F::Asinh if settings.spark < (4, 2) => "Spark before 4.2",
        // Newer JVMs have code of their own for them, whose last digit may be another one.
        F::Cbrt | F::Sinh | F::Tanh if !(17..=23).contains(&settings.java) => "another Java",
        _ => return Ok(()),
    };
    let name = function.name();
    Err(Unsupported::of_use(format!("{name} of {unknown}")))
}

#[inline(never)]
fn result_type(
    reader: &Reader<'_>,
    object: Object<'_>,
    spec: &Spec,
    args: &[Expr],
    loss: bool,
) -> Result<DataType> {
    let no_argument = || object.missing("children");
    let arg = |index: usize| args.get(index).ok_or_else(no_argument);
    Ok(match spec.result {
        ResultType::Boolean => DataType::Boolean,
        ResultType::Byte => DataType::Byte,
        ResultType::Integer => DataType::Integer,
        ResultType::Long => DataType::Long,
        ResultType::Double => DataType::Double,
        ResultType::String => DataType::String,
        ResultType::Binary => DataType::Binary,
        ResultType::Date => DataType::Date,
        ResultType::Timestamp => DataType::Timestamp,
        ResultType::DayTimeInterval => DataType::DayTimeInterval,
        ResultType::Seconds => SECONDS,
        ResultType::SecondsOfDay => SECONDS_OF_DAY,
        ResultType::Time => TIME,
        ResultType::TimestampNtz => DataType::TimestampNtz,
        ResultType::Arg(index) => arg(index)?.data_type.clone(),
        ResultType::YearMonthInterval => DataType::YearMonthInterval,
        ResultType::Variant => DataType::Variant,
        ResultType::Texts => texts(),
        ResultType::Field => data_type(reader, object)?,
        ResultType::Target => DataType::read(reader, object.value("toType")?)?,
        ResultType::Wanted => DataType::read(reader, object.value("targetType")?)?,
        ResultType::Arithmetic => {
            let (left, right) = (&arg(0)?.data_type, &arg(1)?.data_type);
            match (left.decimal(), right.decimal()) {
                (Some(a), Some(b)) => decimal_result(spec.function, a, b, loss)
                    .ok_or_else(|| object.missing("dataType"))?,
                _ => left.clone(),
            }
        }
        ResultType::Rounded => match (&arg(0)?.data_type, &arg(1)?.kind) {
            (DataType::Decimal(of), ExprKind::Literal(Literal::Integer(digits))) => {
                DataType::Decimal(rounded(*of, *digits))
            }
            (DataType::Decimal(_), _) => {
                return Err(Unsupported::of_use("a decimal rounded to a variable scale"));
            }
            (other, _) => other.clone(),
        },
        ResultType::Integral => integral(&arg(0)?.data_type),
        of @ (ResultType::ArrayOf
        | ResultType::MapOf
        | ResultType::SameElements
        | ResultType::MapOfArrays
        | ResultType::MapOfEntries
        | ResultType::Element
        | ResultType::Keys
        | ResultType::Values
        | ResultType::Entries) => {
            let types: Vec<_> = args.iter().map(|arg| arg.data_type.clone()).collect();
            nested::result_of(of, &types).ok_or_else(no_argument)?
        }
        ResultType::ByFormat => match &arg(1)?.kind {
            ExprKind::Literal(Literal::String(format)) => of_digits(format),
            _ => return Err(Unsupported::of_use("a variable format of numbers")),
        },
        ResultType::MakeDecimal => DataType::Decimal(Decimal {
            precision: u8::try_from(object.int("precision")?)
                .map_err(|_| object.missing("precision"))?,
            scale: i8::try_from(object.int("scale")?).map_err(|_| object.missing("scale"))?,
        }),
    })
}

/// A decimal of as many digits before and behind the point as a format of numbers has.
fn of_digits(format: &[u8]) -> DataType {
    let point = format.iter().position(|sign| matches!(sign, b'.' | b'D'));
    let (_, behind) = format.split_at(point.unwrap_or(format.len()));
    let digits = |of: &[u8]| of.iter().filter(|sign| matches!(sign, b'0' | b'9')).count();
    // Analysis lets in no more than 38 digits.
    DataType::Decimal(Decimal {
        precision: u8::try_from(digits(format)).unwrap_or(u8::MAX),
        scale: i8::try_from(digits(behind)).unwrap_or(i8::MAX),
    })
}

/// `evalMode`, or `evalContext` around it, which newer versions have.
pub(crate) fn eval_context(object: Object<'_>, loss: &mut bool) -> Result<EvalMode> {
    match object.maybe("evalContext") {
        Some(context) => {
            context.only(&["evalMode", "allowDecimalPrecisionLoss"])?;
            *loss = context.bool("allowDecimalPrecisionLoss")?;
            eval_mode(context)
        }
        None => eval_mode(object),
    }
}

/// Whether an argument names a zone instead of the session's.
fn has_own_zone(function: Function, args: &[Expr]) -> bool {
    function == Function::MakeTimestamp && args.len() > 6
}

/// The zone that an argument names.
#[inline(never)]
fn zone_argument(reader: &Reader<'_>, function: Function, args: &[Expr]) -> Option<TimeZone> {
    match (function, args) {
        (Function::FromUTCTimestamp | Function::ToUTCTimestamp, [_, id])
        | (Function::MakeTimestamp, [_, _, _, _, _, _, id]) => match &id.kind {
            ExprKind::Literal(Literal::String(id)) => {
                let id = std::str::from_utf8(id).ok()?;
                Some(TimeZone::new(id, &reader.settings.zones))
            }
            _ => None,
        },
        _ => None,
    }
}
