//! From Catalyst's objects to [`Expr`]s.

use javaser::arena::Value;
use javatime::TimeZone;

use super::call::{call, function};
use super::function::spec;
use super::{
    Attribute, EvalMode, Expr, ExprId, ExprKind, Function, SortOrder, attempt, draw, interval,
    json, jvm, lambda, native, nested, text,
};
use crate::error::{Result, Unsupported};
use crate::literal::Literal;
use crate::object::{Object, Reader, simple};
use crate::output::plan_output;
use crate::types::{DataType, StructField};

pub(super) const PACKAGE: &str = "org.apache.spark.sql.catalyst.expressions.";
pub(super) const NORMALIZE: &str = "org.apache.spark.sql.catalyst.optimizer.NormalizeNaNAndZero";
pub(super) const SCALAR_SUBQUERY: &str = "org.apache.spark.sql.execution.ScalarSubquery";

impl Expr {
    #[inline(never)]
    pub(crate) fn read(reader: &Reader<'_>, value: Value) -> Result<Self> {
        let object = reader.expect(value)?;
        match reader.settings.is_native {
            None => reader.nested(|| read_nested(reader, object)),
            Some(is_native) => jvm::read(reader, object, is_native),
        }
    }

    /// Expressions of a sequence.
    #[inline(never)]
    pub(crate) fn read_all(reader: &Reader<'_>, values: Vec<Value>) -> Result<Vec<Self>> {
        values
            .into_iter()
            .map(|value| Self::read(reader, value))
            .collect()
    }

    /// The expression in a Scala `Option`.
    pub(crate) fn read_option(reader: &Reader<'_>, value: Option<Value>) -> Result<Option<Self>> {
        value.map(|value| Self::read(reader, value)).transpose()
    }
}

// Each kind has a function of its own: what they have on the stack does not add up for every level of an expression.
pub(super) fn read_nested(reader: &Reader<'_>, object: Object<'_>) -> Result<Expr> {
    let class = object.class();
    let name = match class.strip_prefix(PACKAGE) {
        Some(name) => name,
        None if class == NORMALIZE => "NormalizeNaNAndZero",
        None if class == SCALAR_SUBQUERY => return scalar_subquery(reader, object),
        None => return Err(Unsupported::Class(simple(class).to_owned())),
    };
    match name {
        "AttributeReference" => attribute(reader, object).map(Expr::attribute),
        "BoundReference" => bound_reference(reader, object),
        "Literal" => literal(reader, object),
        "Alias" => alias(reader, object),
        "Cast" => cast(reader, object),
        "WindowExpression" => crate::window::reference(reader, object),
        "CaseWhen" => case_when(reader, object),
        "In" => in_list(reader, object),
        "InSet" => in_set(reader, object),
        "GetStructField" => struct_field(reader, object),
        "CreateNamedStruct" => named_struct(reader, object),
        "Like" => like(reader, object),
        "StructsToJson" => json::to_json(reader, object),
        "objects.Invoke" => json::invoke(reader, object),
        "JsonToStructs" => json::from_json(reader, object),
        "GetArrayStructFields" => fields_of_elements(reader, object),
        "ArraysZip" => nested::zipped(reader, object),
        "NamedLambdaVariable" => lambda::variable(reader, object).map(Expr::attribute),
        "Murmur3Hash" | "XxHash64" => hash(reader, object),
        "objects.StaticInvoke" => text::static_invoke(reader, object),
        "TypeOf" => text::type_of(reader, object),
        "TryEval" => attempt::caught(reader, object),
        "ApplyFunctionExpression" => native::applied(reader, object),
        "Empty2Null" => crate::write::empty_to_null(reader, object),
        "CheckOverflowInTableInsert" => checked_cast(reader, object),
        name => match spec(name.strip_prefix("variant.").unwrap_or(name)) {
            Some(spec) => function(reader, object, spec),
            None => lambda::named(reader, object)
                .or_else(|| draw::named(reader, object))
                .unwrap_or_else(|| Err(Unsupported::Class(name.to_owned()))),
        },
    }
}

#[inline(never)]
fn bound_reference(reader: &Reader<'_>, object: Object<'_>) -> Result<Expr> {
    object.only(&["ordinal", "dataType", "nullable", "accessor"])?;
    let ordinal = usize::try_from(object.int("ordinal")?).map_err(|_| object.missing("ordinal"))?;
    Ok(Expr {
        kind: ExprKind::BoundReference { ordinal },
        data_type: data_type(reader, object)?,
        nullable: object.bool("nullable")?,
    })
}

#[inline(never)]
fn literal(reader: &Reader<'_>, object: Object<'_>) -> Result<Expr> {
    object.only(&["dataType", "value", "valueSizeInBytes"])?;
    let data_type = data_type(reader, object)?;
    let value = Literal::read(reader, object.value("value")?, &data_type)?;
    Ok(Expr {
        nullable: value == Literal::Null,
        kind: ExprKind::Literal(value),
        data_type,
    })
}

#[inline(never)]
fn alias(reader: &Reader<'_>, object: Object<'_>) -> Result<Expr> {
    object.only(&[
        "child",
        "name",
        "exprId",
        "explicitMetadata",
        "nonInheritableMetadataKeys",
        "qualifier",
    ])?;
    let child = Expr::read(reader, object.value("child")?)?;
    Ok(Expr {
        data_type: child.data_type.clone(),
        nullable: child.nullable,
        kind: ExprKind::Alias {
            child: Box::new(child),
            name: object.text("name")?.into_owned(),
            id: expr_id(object.object("exprId")?)?,
        },
    })
}

#[inline(never)]
fn in_list(reader: &Reader<'_>, object: Object<'_>) -> Result<Expr> {
    object.only(&[
        "value",
        "list",
        "inSetConvertible",
        "legacyNullInEmptyBehavior",
        "ordering",
    ])?;
    let value = Expr::read(reader, object.value("value")?)?;
    let list = Expr::read_all(reader, object.elements("list")?)?;
    Ok(Expr {
        nullable: value.nullable || list.iter().any(|item| item.nullable),
        data_type: DataType::Boolean,
        kind: ExprKind::In {
            value: Box::new(value),
            list,
            legacy_null_in_empty: object.flag("legacyNullInEmptyBehavior"),
        },
    })
}

#[inline(never)]
fn in_set(reader: &Reader<'_>, object: Object<'_>) -> Result<Expr> {
    object.only(&["child", "hset", "legacyNullInEmptyBehavior"])?;
    let value = Expr::read(reader, object.value("child")?)?;
    let set = object
        .elements("hset")?
        .into_iter()
        .map(|item| Literal::read(reader, item, &value.data_type))
        .collect::<Result<Vec<_>>>()?;
    Ok(Expr {
        nullable: value.nullable || set.contains(&Literal::Null),
        data_type: DataType::Boolean,
        kind: ExprKind::InSet {
            value: Box::new(value),
            set,
            legacy_null_in_empty: object.flag("legacyNullInEmptyBehavior"),
        },
    })
}

#[inline(never)]
fn like(reader: &Reader<'_>, object: Object<'_>) -> Result<Expr> {
    object.only(&["left", "right", "escapeChar", "collationId"])?;
    let escape = match object.value("escapeChar")? {
        Value::Char(unit) => char::from_u32(unit.into()),
        _ => None,
    };
    let escape = escape.ok_or_else(|| object.missing("escapeChar"))?;
    let args = vec![object.value("left")?, object.value("right")?];
    let args = Expr::read_all(reader, args)?;
    Ok(call(Function::Like { escape }, args, DataType::Boolean))
}

#[inline(never)]
fn fields_of_elements(reader: &Reader<'_>, object: Object<'_>) -> Result<Expr> {
    object.only(&["child", "field", "ordinal", "numFields", "containsNull"])?;
    let child = Expr::read(reader, object.value("child")?)?;
    let ordinal = usize::try_from(object.int("ordinal")?).map_err(|_| object.missing("ordinal"))?;
    let of = nested::field_of_elements(&child.data_type, ordinal);
    let of = of.ok_or_else(|| object.missing("ordinal"))?;
    Ok(call(
        Function::GetArrayStructFields { ordinal },
        vec![child],
        of,
    ))
}

#[inline(never)]
fn hash(reader: &Reader<'_>, object: Object<'_>) -> Result<Expr> {
    object.only(&["children", "seed"])?;
    let args = Expr::read_all(reader, object.elements("children")?)?;
    let mut hash = if object.name() == "XxHash64" {
        let seed = object.long("seed")?;
        call(Function::XxHash64 { seed }, args, DataType::Long)
    } else {
        let seed = object.int("seed")?;
        call(Function::Murmur3Hash { seed }, args, DataType::Integer)
    };
    hash.nullable = false;
    Ok(hash)
}

/// A constant of the enumeration `EvalMode` in the field of that name.
pub(crate) fn eval_mode(object: Object<'_>) -> Result<EvalMode> {
    match object.object("evalMode")?.int("i")? {
        0 => Ok(EvalMode::Legacy),
        1 => Ok(EvalMode::Ansi),
        2 => Ok(EvalMode::Try),
        _ => Err(object.missing("evalMode")),
    }
}

pub(super) fn zone(reader: &Reader<'_>, object: Object<'_>) -> Result<Option<TimeZone>> {
    let zone = object.option("timeZoneId")?;
    let id = zone.and_then(|zone| object.graph.str(zone));
    Ok(id.map(|id| TimeZone::new(&id, &reader.settings.zones)))
}

pub(super) fn data_type(reader: &Reader<'_>, object: Object<'_>) -> Result<DataType> {
    DataType::read(reader, object.value("dataType")?)
}

pub(crate) fn expr_id(object: Object<'_>) -> Result<ExprId> {
    let uuid = object.object("jvmId")?;
    let half = |name| Ok::<_, Unsupported>(u128::from(uuid.long(name)?.cast_unsigned()));
    Ok(ExprId {
        id: object.long("id")?,
        jvm_id: half("mostSigBits")? << 64 | half("leastSigBits")?,
    })
}

#[inline(never)]
fn attribute(reader: &Reader<'_>, object: Object<'_>) -> Result<Attribute> {
    column(reader, object, &["metadata", "qualifier"])
}

/// What has a name, a type and an id, with fields beside these that say nothing more.
pub(super) fn column(
    reader: &Reader<'_>,
    object: Object<'_>,
    ignored: &[&str],
) -> Result<Attribute> {
    object.only(&[&["name", "dataType", "nullable", "exprId"], ignored].concat())?;
    Ok(Attribute {
        name: object.text("name")?.into_owned(),
        data_type: data_type(reader, object)?,
        nullable: object.bool("nullable")?,
        id: expr_id(object.object("exprId")?)?,
    })
}

/// An `AttributeReference`.
pub(crate) fn read_attribute(reader: &Reader<'_>, value: Value) -> Result<Attribute> {
    match Expr::read(reader, value)?.kind {
        ExprKind::Attribute(attribute) => Ok(attribute),
        _ => Err(Unsupported::of_use("an output that is no attribute")),
    }
}

/// `AttributeReference`s of a sequence.
pub(crate) fn read_attributes(reader: &Reader<'_>, values: Vec<Value>) -> Result<Vec<Attribute>> {
    values
        .into_iter()
        .map(|value| read_attribute(reader, value))
        .collect()
}

/// `SortOrder`s of a sequence.
pub(crate) fn read_sort_orders(reader: &Reader<'_>, values: Vec<Value>) -> Result<Vec<SortOrder>> {
    values
        .into_iter()
        .map(|value| {
            let object = reader.expect(value)?;
            object.only(&["child", "direction", "nullOrdering", "sameOrderExpressions"])?;
            let ascending = match object.name_of("direction")? {
                "Ascending" => true,
                "Descending" => false,
                other => return Err(Unsupported::Class(other.to_owned())),
            };
            let nulls_first = match object.name_of("nullOrdering")? {
                "NullsFirst" => true,
                "NullsLast" => false,
                other => return Err(Unsupported::Class(other.to_owned())),
            };
            Ok(SortOrder {
                child: Expr::read(reader, object.value("child")?)?,
                ascending,
                nulls_first,
            })
        })
        .collect()
}

#[inline(never)]
fn cast(reader: &Reader<'_>, object: Object<'_>) -> Result<Expr> {
    object.only(&[
        "child",
        "dataType",
        "evalMode",
        "timeZoneId",
        "canUseLegacyCastForTryCast",
        "legacyCastToStr",
        "binaryFormatter",
        "cast",
        "castArgs",
        "leftBracket",
        "rightBracket",
        "dateFormatter",
        "timeFormatter",
        "timestampFormatter",
        "timestampNTZFormatter",
        "ansiEnabled",
        "castInternal",
        "zoneId",
    ])?;
    cast_of(reader, object, Expr::read(reader, object.value("child")?)?)
}

/// What [`cast`] has to do when nothing is read below it any more.
#[inline(never)]
fn cast_of(reader: &Reader<'_>, object: Object<'_>, child: Expr) -> Result<Expr> {
    let to = data_type(reader, object)?;
    let parts = matches!(
        child.data_type,
        DataType::Array { .. } | DataType::Map { .. } | DataType::Struct(_)
    );
    if parts && to == DataType::String && object.bool("legacyCastToStr")? {
        return Err(Unsupported::of_use(
            "texts of arrays, maps and structs of Spark 3.0",
        ));
    }
    if let Some(interval) = interval::cast(reader, object, &child, &to)? {
        return Ok(interval);
    }
    if let (DataType::String, DataType::Time(precision)) = (&child.data_type, &to)
        && *precision != 6
        && reader.settings.spark < (4, 3)
    {
        // It has more digits than its type.
        return Err(Unsupported::of_use(format!(
            "a cast from string to {to} of Spark before 4.3"
        )));
    }
    let mode = eval_mode(object)?;
    let may_fail = match (&child.data_type, &to) {
        (DataType::String, to) => !matches!(to, DataType::String | DataType::Binary),
        (from, to) => {
            to.decimal().is_some() || from.decimal().is_some() || {
                matches!(
                    from,
                    DataType::Float | DataType::Double | DataType::Timestamp | DataType::Time(_)
                )
            }
        }
    };
    Ok(Expr {
        nullable: child.nullable
            || child.data_type == DataType::Variant
            || (mode != EvalMode::Ansi && may_fail)
            || mode == EvalMode::Try,
        data_type: to,
        kind: ExprKind::Cast {
            child: Box::new(child),
            mode,
            time_zone: zone(reader, object)?,
        },
    })
}

/// A cast for a column of a table, which fails in other words than others: whoever computes it leaves what fails to
/// Spark.
#[inline(never)]
fn checked_cast(reader: &Reader<'_>, object: Object<'_>) -> Result<Expr> {
    object.only(&["child", "columnName"])?;
    Expr::read(reader, object.value("child")?)
}

#[inline(never)]
fn case_when(reader: &Reader<'_>, object: Object<'_>) -> Result<Expr> {
    object.only(&["branches", "elseValue", "internalDataType"])?;
    let mut branches = Vec::new();
    for branch in object.elements("branches")? {
        match reader.graph.tuple(branch).as_deref() {
            Some([condition, value]) => {
                branches.push((Expr::read(reader, *condition)?, Expr::read(reader, *value)?))
            }
            _ => return Err(object.missing("branches")),
        }
    }
    let otherwise = Expr::read_option(reader, object.option("elseValue")?)?;
    let data_type = match branches.first() {
        Some((_, value)) => value.data_type.clone(),
        None => return Err(object.missing("branches")),
    };
    let nullable = branches.iter().any(|(_, value)| value.nullable)
        || otherwise.as_ref().is_none_or(|value| value.nullable);
    Ok(Expr {
        kind: ExprKind::CaseWhen {
            branches,
            otherwise: otherwise.map(Box::new),
        },
        data_type,
        nullable,
    })
}

#[inline(never)]
fn struct_field(reader: &Reader<'_>, object: Object<'_>) -> Result<Expr> {
    object.only(&["child", "ordinal", "name", "childSchema"])?;
    let child = Expr::read(reader, object.value("child")?)?;
    let ordinal = usize::try_from(object.int("ordinal")?).map_err(|_| object.missing("ordinal"))?;
    let field = match &child.data_type {
        DataType::Struct(fields) => fields.get(ordinal),
        _ => None,
    };
    let field = field.ok_or_else(|| object.missing("ordinal"))?;
    Ok(Expr {
        data_type: field.data_type.clone(),
        nullable: child.nullable || field.nullable,
        kind: ExprKind::GetStructField {
            child: Box::new(child),
            ordinal,
        },
    })
}

#[inline(never)]
fn named_struct(reader: &Reader<'_>, object: Object<'_>) -> Result<Expr> {
    object.only(&["children", "dataType", "nameExprs", "names", "valExprs"])?;
    let children = Expr::read_all(reader, object.elements("children")?)?;
    let mut fields = Vec::new();
    let mut values = Vec::new();
    let mut children = children.into_iter();
    while let (Some(name), Some(value)) = (children.next(), children.next()) {
        let name = match name.kind {
            ExprKind::Literal(Literal::String(name)) => String::from_utf8(name).ok(),
            _ => None,
        };
        fields.push(StructField {
            name: name.ok_or_else(|| object.missing("names"))?,
            data_type: value.data_type.clone(),
            nullable: value.nullable,
            field_id: None,
            exists_default: None,
        });
        values.push(value);
    }
    Ok(Expr {
        kind: ExprKind::CreateNamedStruct(values),
        data_type: DataType::Struct(fields),
        nullable: false,
    })
}

#[inline(never)]
fn scalar_subquery(reader: &Reader<'_>, object: Object<'_>) -> Result<Expr> {
    object.only(&["plan", "exprId", "updated", "result"])?;
    if !object.bool("updated")? {
        return Err(Unsupported::of_use("a scalar subquery without result"));
    }
    let output = plan_output(reader, object.object("plan")?)?;
    let data_type = match output.into_iter().next() {
        Some(first) => first.data_type,
        None => return Err(object.missing("plan")),
    };
    let value = Literal::read(reader, object.value("result")?, &data_type)?;
    Ok(Expr {
        nullable: value == Literal::Null,
        data_type,
        kind: ExprKind::ScalarSubquery {
            id: expr_id(object.object("exprId")?)?,
            value,
        },
    })
}

#[cfg(test)]
#[path = "read_tests.rs"]
mod tests;
