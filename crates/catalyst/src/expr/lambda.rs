//! Functions of collections that take functions themselves.

use std::collections::HashSet;

use javaser::arena::Value;

use super::read::column;
use super::{Attribute, Expr, ExprId, ExprKind};
use crate::error::{Result, Unsupported};
use crate::object::{Object, Reader};
use crate::types::DataType;

/// A `HigherOrderFunction`. The names are Spark's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HigherOrder {
    /// Folds an array into a value: a start, a lambda for each element, and one for the end.
    ArrayAggregate,
    /// Whether a lambda is true for an element.
    ArrayExists {
        /// It is null if it is true for none and null for some, `spark.sql.legacy.followThreeValuedLogicInArrayExists`.
        three_valued: bool,
    },
    /// The elements for which a lambda is true.
    ArrayFilter,
    /// Whether a lambda is true for all elements.
    ArrayForAll,
    /// The elements in the order that a lambda says for two of them.
    ArraySort,
    /// What a lambda makes of each element.
    ArrayTransform,
    /// The entries for which a lambda is true.
    MapFilter,
    /// What a lambda makes of the values of two maps, key by key.
    MapZipWith,
    /// Maps with the keys that a lambda makes of each entry.
    TransformKeys,
    /// Maps with the values that a lambda makes of each entry.
    TransformValues,
    /// What a lambda makes of the elements of two arrays, side by side.
    ZipWith,
}

/// A `LambdaFunction`.
#[derive(Debug, Clone, PartialEq)]
pub struct Lambda {
    /// Its parameters; the body refers to them by their ids.
    pub parameters: Vec<Attribute>,
    /// What it computes.
    pub body: Expr,
}

impl HigherOrder {
    /// Spark's class.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::ArrayAggregate => "ArrayAggregate",
            Self::ArrayExists { .. } => "ArrayExists",
            Self::ArrayFilter => "ArrayFilter",
            Self::ArrayForAll => "ArrayForAll",
            Self::ArraySort => "ArraySort",
            Self::ArrayTransform => "ArrayTransform",
            Self::MapFilter => "MapFilter",
            Self::MapZipWith => "MapZipWith",
            Self::TransformKeys => "TransformKeys",
            Self::TransformValues => "TransformValues",
            Self::ZipWith => "ZipWith",
        }
    }
}

/// The function of a class, if it is one of these.
pub(super) fn named(reader: &Reader<'_>, object: Object<'_>) -> Option<Result<Expr>> {
    use HigherOrder as H;
    let (function, args, lambdas): (_, &[&str], &[&str]) = match object.name() {
        "ArrayAggregate" => (
            H::ArrayAggregate,
            &["argument", "zero"],
            &["merge", "finish"],
        ),
        "ArrayExists" => match object.bool("followThreeValuedLogic") {
            Ok(three_valued) => (
                H::ArrayExists { three_valued },
                &["argument"],
                &["function"],
            ),
            Err(missing) => return Some(Err(missing)),
        },
        "ArrayFilter" => (H::ArrayFilter, &["argument"], &["function"]),
        "ArrayForAll" => (H::ArrayForAll, &["argument"], &["function"]),
        // With it null means that two elements are equal.
        "ArraySort" => match object.bool("allowNullComparisonResult") {
            Ok(false) => (H::ArraySort, &["argument"], &["function"]),
            Ok(true) => {
                let why = "ArraySort with allowNullComparisonResult";
                return Some(Err(Unsupported::of_use(why)));
            }
            Err(missing) => return Some(Err(missing)),
        },
        "ArrayTransform" => (H::ArrayTransform, &["argument"], &["function"]),
        "MapFilter" => (H::MapFilter, &["argument"], &["function"]),
        "MapZipWith" => (H::MapZipWith, &["left", "right"], &["function"]),
        "TransformKeys" => (H::TransformKeys, &["argument"], &["function"]),
        "TransformValues" => (H::TransformValues, &["argument"], &["function"]),
        "ZipWith" => (H::ZipWith, &["left", "right"], &["function"]),
        _ => return None,
    };
    Some(read(reader, object, function, args, lambdas))
}

#[inline(never)]
fn read(
    reader: &Reader<'_>,
    object: Object<'_>,
    function: HigherOrder,
    args: &[&str],
    lambdas: &[&str],
) -> Result<Expr> {
    let known = [
        args,
        lambdas,
        &[
            "argumentsResolved",
            "followThreeValuedLogic",
            "allowNullComparisonResult",
            "mapBuilder",
            "normalizer",
        ],
    ]
    .concat();
    object.only(&known)?;
    let args = args.iter().map(|field| object.value(field));
    let args = Expr::read_all(reader, args.collect::<Result<_>>()?)?;
    let lambdas = lambdas
        .iter()
        .map(|field| lambda(reader, object.object(field)?))
        .collect::<Result<Vec<_>>>()?;
    let of = args.first().map(|arg| &arg.data_type);
    let body = lambdas.last().map(|lambda| &lambda.body);
    let (Some(of), Some(body)) = (of, body) else {
        return Err(object.missing("function"));
    };
    let data_type = match (function, of) {
        (HigherOrder::ArrayExists { .. } | HigherOrder::ArrayForAll, _) => DataType::Boolean,
        (HigherOrder::ArrayFilter | HigherOrder::ArraySort | HigherOrder::MapFilter, of) => {
            of.clone()
        }
        (HigherOrder::ArrayTransform | HigherOrder::ZipWith, _) => DataType::Array {
            element: Box::new(body.data_type.clone()),
            contains_null: true,
        },
        (HigherOrder::TransformKeys, DataType::Map { value, .. }) => DataType::Map {
            key: Box::new(body.data_type.clone()),
            value: value.clone(),
            value_contains_null: true,
        },
        (HigherOrder::TransformValues | HigherOrder::MapZipWith, DataType::Map { key, .. }) => {
            DataType::Map {
                key: key.clone(),
                value: Box::new(body.data_type.clone()),
                value_contains_null: true,
            }
        }
        (HigherOrder::TransformKeys | HigherOrder::TransformValues, _) => {
            return Err(object.missing("argument"));
        }
        (HigherOrder::MapZipWith, _) => return Err(object.missing("left")),
        (HigherOrder::ArrayAggregate, _) => body.data_type.clone(),
    };
    Ok(Expr {
        kind: ExprKind::HigherOrder {
            captured: captured(&lambdas)?,
            function,
            args,
            lambdas,
        },
        data_type,
        nullable: true,
    })
}

fn lambda(reader: &Reader<'_>, object: Object<'_>) -> Result<Lambda> {
    if object.name() != "LambdaFunction" {
        return Err(Unsupported::Class(object.name().to_owned()));
    }
    object.only(&["function", "arguments", "hidden", "bound"])?;
    let parameters = object.elements("arguments")?;
    let parameters = parameters.into_iter().map(|value: Value| {
        let variable = reader.expect(value)?;
        match variable.name() {
            "NamedLambdaVariable" => self::variable(reader, variable),
            other => Err(Unsupported::Class(other.to_owned())),
        }
    });
    Ok(Lambda {
        parameters: parameters.collect::<Result<_>>()?,
        body: Expr::read(reader, object.value("function")?)?,
    })
}

/// A `NamedLambdaVariable`: a parameter, where it is declared and where it is used.
#[inline(never)]
pub(super) fn variable(reader: &Reader<'_>, object: Object<'_>) -> Result<Attribute> {
    column(reader, object, &["value"])
}

/// References to what lambdas take from around them.
fn captured(lambdas: &[Lambda]) -> Result<Vec<Expr>> {
    fn collect(expr: &Expr, known: &mut HashSet<ExprId>, into: &mut Vec<Expr>) -> Result<()> {
        match &expr.kind {
            ExprKind::Attribute(attribute) => {
                if known.insert(attribute.id) {
                    into.push(expr.clone());
                }
                Ok(())
            }
            ExprKind::BoundReference { .. } => {
                Err(Unsupported::of_use("a lambda with columns by their places"))
            }
            // Of a lambda within, these are what it takes from around it.
            _ => expr
                .children()
                .try_for_each(|child| collect(child, known, into)),
        }
    }
    let parameters = lambdas.iter().flat_map(|lambda| &lambda.parameters);
    let mut known = parameters.map(|parameter| parameter.id).collect();
    let mut found = Vec::new();
    for lambda in lambdas {
        collect(&lambda.body, &mut known, &mut found)?;
    }
    Ok(found)
}
