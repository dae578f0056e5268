//! What classes have beside their arguments as arguments, and calls of Java's methods.

use super::call::call;
use super::{Expr, ExprKind, Function};
use crate::error::{Result, Unsupported};
use crate::literal::Literal;
use crate::object::{Object, Reader, simple};
use crate::types::DataType;

fn constant(value: Literal, data_type: DataType) -> Expr {
    Expr {
        nullable: value == Literal::Null,
        kind: ExprKind::Literal(value),
        data_type,
    }
}

/// A Java string as a constant.
pub(super) fn of(text: &str) -> Expr {
    constant(Literal::String(text.as_bytes().to_vec()), DataType::String)
}

/// An int of Java as a constant.
pub(super) fn integer(number: i32) -> Expr {
    constant(Literal::Integer(number), DataType::Integer)
}

/// The child, and the patterns that it is compared with, as constants.
#[inline(never)]
pub(super) fn patterns(reader: &Reader<'_>, object: Object<'_>) -> Result<Vec<Expr>> {
    let mut args = vec![Expr::read(reader, object.value("child")?)?];
    for pattern in object.elements("patterns")? {
        let value = Literal::read(reader, pattern, &DataType::String)?;
        args.push(constant(value, DataType::String));
    }
    Ok(args)
}

/// `split_part`, which is `element_at` of the parts with an empty text for those that are not there.
#[inline(never)]
pub(super) fn split_part(
    reader: &Reader<'_>,
    object: Object<'_>,
    args: &[Expr],
) -> Result<Option<Expr>> {
    let [parts, number] = args else {
        return Ok(None);
    };
    let of = match &parts.kind {
        ExprKind::Call { function, args, .. } if *function == Function::StringSplitSQL => args,
        _ => return Ok(None),
    };
    let default = Expr::read_option(reader, object.option("defaultValueOutOfBound")?)?;
    let empty = default.is_some_and(|default| {
        default.data_type == DataType::String
            && default.kind == ExprKind::Literal(Literal::String(Vec::new()))
    });
    if !empty || object.bool("failOnError")? {
        return Ok(None);
    }
    object.only(&[
        "left",
        "right",
        "failOnError",
        "LinearExecutor$module",
        "defaultValueOutOfBound",
    ])?;
    let args = of.iter().chain([number]).cloned().collect();
    Ok(Some(call(Function::SplitPart, args, DataType::String)))
}

/// A `StaticInvoke` of a method that is known: of its class, its name and the types of its arguments.
#[inline(never)]
pub(super) fn static_invoke(reader: &Reader<'_>, object: Object<'_>) -> Result<Expr> {
    object.only(&[
        "staticObject",
        "dataType",
        "functionName",
        "arguments",
        "inputTypes",
        "propagateNull",
        "returnNullable",
        "isDeterministic",
        "scalarFunction",
        "objectName",
        "cls",
        "argClasses",
        "needNullCheck",
        "needNullCheckForIndex",
        "evaluatedArgs",
        "boxingFn",
    ])?;
    let (class, method) = (object.text("objectName")?, object.text("functionName")?);
    let unknown = || {
        let class = simple(&class);
        Unsupported::of_use(format!("StaticInvoke of {class}.{method}"))
    };
    let package = "org.apache.spark.sql.catalyst.";
    let name = class.strip_prefix(package).ok_or_else(unknown)?;
    use DataType as T;
    let (function, types, to): (_, &[DataType], _) = match (name, method.as_ref()) {
        ("util.CharVarcharCodegenUtils", "charTypeWriteSideCheck") => (
            Function::CharTypeWriteSideCheck,
            &[T::String, T::Integer],
            T::String,
        ),
        ("util.CharVarcharCodegenUtils", "varcharTypeWriteSideCheck") => (
            Function::VarcharTypeWriteSideCheck,
            &[T::String, T::Integer],
            T::String,
        ),
        ("util.CharVarcharCodegenUtils", "readSidePadding") => (
            Function::ReadSidePadding,
            &[T::String, T::Integer],
            T::String,
        ),
        ("expressions.ExpressionImplUtils", "isLuhnNumber") => {
            (Function::Luhncheck, &[T::String], T::Boolean)
        }
        ("expressions.Base64", "encode") => (Function::Base64, &[T::Binary, T::Boolean], T::String),
        ("expressions.Encode", "encode") => (
            Function::Encode,
            &[T::String, T::String, T::Boolean, T::Boolean],
            T::Binary,
        ),
        ("expressions.StringDecode", "decode") => (
            Function::StringDecode,
            &[T::Binary, T::String, T::Boolean, T::Boolean],
            T::String,
        ),
        _ => return Err(unknown()),
    };
    let args = Expr::read_all(reader, object.elements("arguments")?)?;
    let data_type = DataType::read(reader, object.value("dataType")?)?;
    let same = args.iter().map(|arg| &arg.data_type).eq(types);
    if !same || data_type != to {
        return Err(unknown());
    }
    Ok(call(function, args, data_type))
}
