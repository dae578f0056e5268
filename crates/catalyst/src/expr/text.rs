//! What classes have beside their arguments as arguments, and calls of Java's methods.

use super::call::call;
use super::{Expr, ExprKind, Function, times};
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

/// `TypeOf`: the name of its argument's type.
#[inline(never)]
pub(super) fn type_of(reader: &Reader<'_>, object: Object<'_>) -> Result<Expr> {
    object.only(&["child"])?;
    let of = Expr::read(reader, object.value("child")?)?.data_type;
    match is_named(&of) {
        true => Ok(self::of(&of.to_string())),
        false => Err(Unsupported::of_use(format!("typeof of {of}"))),
    }
}

/// Whether a type says here what its name is: that of an interval has fields, and names in structs may be quoted.
fn is_named(of: &DataType) -> bool {
    match of {
        DataType::YearMonthInterval | DataType::DayTimeInterval | DataType::Struct(_) => false,
        DataType::Array { element, .. } => is_named(element),
        DataType::Map { key, value, .. } => is_named(key) && is_named(value),
        _ => true,
    }
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

/// `parse_url` of Spark 4, whose evaluator has constants of the arguments again.
#[inline(never)]
pub(super) fn parse_url(
    reader: &Reader<'_>,
    object: Object<'_>,
    evaluator: Object<'_>,
) -> Result<Expr> {
    evaluator.only(&[
        "url",
        "extractPart",
        "pattern",
        "failOnError",
        // Lazy, of those.
        "cachedUrl",
        "cachedExtractPartFunc",
        "cachedPattern",
    ])?;
    let args = Expr::read_all(reader, object.elements("arguments")?)?;
    let mut made = call(Function::ParseUrl, args, DataType::String);
    made.nullable = true;
    Ok(made)
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
    let name = match class.as_ref() {
        "org.apache.spark.unsafe.types.ByteArray" => "ByteArray",
        class => class.strip_prefix(package).ok_or_else(unknown)?,
    };
    let mut args = Expr::read_all(reader, object.elements("arguments")?)?;
    let data_type = DataType::read(reader, object.value("dataType")?)?;
    if name == "util.DateTimeUtils" {
        return times::call_of(&method, args, data_type).ok_or_else(unknown);
    }
    let function = method_of(name, &method, &args).ok_or_else(unknown)?;
    if function == Function::ParseJson && args.len() == 3 {
        // Before 4.2 texts may be anything.
        args.push(constant(Literal::Boolean(false), DataType::Boolean));
    }
    // The rest says how, and only one way is known.
    let count = match function {
        Function::UrlEncode | Function::UrlDecode | Function::LengthOfJsonArray => 1,
        Function::StringLPad | Function::StringRPad => 3,
        Function::Encode | Function::StringDecode | Function::ParseJson => 4,
        _ => 2,
    };
    let args: Vec<_> = args.into_iter().take(count).collect();
    let types: Vec<_> = args.iter().map(|arg| arg.data_type.clone()).collect();
    let own = function.result_of(&types);
    let same = match (&own, &data_type) {
        (Some(DataType::Array { element, .. }), DataType::Array { element: of, .. }) => {
            element == of
        }
        (own, of) => own.as_ref() == Some(of),
    };
    if !same {
        return Err(unknown());
    }
    let mut made = call(function, args, data_type);
    made.nullable |= matches!(
        function,
        Function::UrlDecode
            | Function::LengthOfJsonArray
            | Function::JsonObjectKeys
            | Function::ParseJson
    );
    if function == Function::IsVariantNull {
        made.nullable = false;
    }
    Ok(made)
}

/// The function that a method of Java computes of such arguments.
#[inline(never)]
fn method_of(class: &str, method: &str, args: &[Expr]) -> Option<Function> {
    use DataType as T;
    let types: Vec<_> = args.iter().map(|arg| &arg.data_type).collect();
    let is_utf8 = || {
        let encoding = args.get(1).map(|arg| &arg.kind);
        matches!(encoding, Some(ExprKind::Literal(Literal::String(name))) if name == b"UTF-8")
    };
    Some(match (class, method, types.as_slice()) {
        ("util.CharVarcharCodegenUtils", "charTypeWriteSideCheck", [T::String, T::Integer]) => {
            Function::CharTypeWriteSideCheck
        }
        ("util.CharVarcharCodegenUtils", "varcharTypeWriteSideCheck", [T::String, T::Integer]) => {
            Function::VarcharTypeWriteSideCheck
        }
        ("util.CharVarcharCodegenUtils", "readSidePadding", [T::String, T::Integer]) => {
            Function::ReadSidePadding
        }
        ("ByteArray", "lpad", [T::Binary, T::Integer, T::Binary]) => Function::StringLPad,
        ("ByteArray", "rpad", [T::Binary, T::Integer, T::Binary]) => Function::StringRPad,
        ("expressions.ExpressionImplUtils", "isLuhnNumber", [T::String]) => Function::Luhncheck,
        ("expressions.Base64", "encode", [T::Binary, T::Boolean]) => Function::Base64,
        ("expressions.Encode", "encode", [T::String, T::String, T::Boolean, T::Boolean]) => {
            Function::Encode
        }
        ("expressions.StringDecode", "decode", [T::Binary, T::String, T::Boolean, T::Boolean]) => {
            Function::StringDecode
        }
        ("expressions.json.JsonExpressionUtils", "lengthOfJsonArray", [T::String]) => {
            Function::LengthOfJsonArray
        }
        ("expressions.json.JsonExpressionUtils", "jsonObjectKeys", [T::String]) => {
            Function::JsonObjectKeys
        }
        (
            "expressions.variant.VariantExpressionEvalUtils",
            "parseJson",
            [T::String, T::Boolean, T::Boolean] | [T::String, T::Boolean, T::Boolean, T::Boolean],
        ) => Function::ParseJson,
        ("expressions.variant.VariantExpressionEvalUtils", "isVariantNull", [T::Variant]) => {
            Function::IsVariantNull
        }
        ("expressions.variant.SchemaOfVariant", "schemaOfVariant", [T::Variant]) => {
            Function::SchemaOfVariant
        }
        // Spark 3.5 names the encoding.
        ("expressions.UrlCodec", "encode", [T::String]) => Function::UrlEncode,
        ("expressions.UrlCodec", "encode", [T::String, T::String]) if is_utf8() => {
            Function::UrlEncode
        }
        // Whether it fails: what has no result is left to Java.
        ("expressions.UrlCodec", "decode", [T::String, T::Boolean]) => Function::UrlDecode,
        ("expressions.UrlCodec", "decode", [T::String, T::String]) if is_utf8() => {
            Function::UrlDecode
        }
        _ => return None,
    })
}
