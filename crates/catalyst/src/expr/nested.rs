//! Types of what has parts: arrays, maps and structs.

use super::call::call;
use super::signature::Result as ResultType;
use super::{Expr, ExprKind, Function};
use crate::error::Result;
use crate::literal::Literal;
use crate::object::{Object, Reader};
use crate::types::{DataType, StructField};

/// Type of the result of a function of arguments of these types. Whether parts may be null is not looked at: they may.
pub(super) fn result_of(result: ResultType, args: &[DataType]) -> Option<DataType> {
    let array = |element: &DataType| DataType::Array {
        element: Box::new(element.clone()),
        contains_null: true,
    };
    let map = |key: &DataType, value: &DataType| DataType::Map {
        key: Box::new(key.clone()),
        value: Box::new(value.clone()),
        value_contains_null: true,
    };
    let first = args.first()?;
    Some(match (result, first) {
        (ResultType::ArrayOf, of) => array(of),
        (ResultType::MapOf, key) => map(key, args.get(1)?),
        (ResultType::SameElements, DataType::Array { element, .. }) => array(element),
        (ResultType::SameElements, DataType::Map { key, value, .. }) => map(key, value),
        (ResultType::MapOfArrays, DataType::Array { element: key, .. }) => match args.get(1)? {
            DataType::Array { element, .. } => map(key, element),
            _ => return None,
        },
        (ResultType::MapOfEntries, DataType::Array { element, .. }) => match &**element {
            DataType::Struct(fields) => match fields.as_slice() {
                [key, value] => map(&key.data_type, &value.data_type),
                _ => return None,
            },
            _ => return None,
        },
        (ResultType::Element, DataType::Array { element, .. }) => DataType::clone(element),
        (ResultType::Element | ResultType::Values, DataType::Map { value, .. }) => match result {
            ResultType::Values => array(value),
            _ => DataType::clone(value),
        },
        (ResultType::Keys, DataType::Map { key, .. }) => DataType::Array {
            element: key.clone(),
            contains_null: false,
        },
        (ResultType::Entries, DataType::Map { key, value, .. }) => {
            let field = |name: &str, of: &DataType| StructField {
                name: name.to_owned(),
                data_type: of.clone(),
                nullable: true,
                field_id: None,
                exists_default: None,
            };
            array(&DataType::Struct(vec![
                field("key", key),
                field("value", value),
            ]))
        }
        _ => return None,
    })
}

/// The array of a field of the structs in an array.
pub(super) fn field_of_elements(of: &DataType, ordinal: usize) -> Option<DataType> {
    let DataType::Array { element, .. } = of else {
        return None;
    };
    let DataType::Struct(fields) = &**element else {
        return None;
    };
    Some(DataType::Array {
        element: Box::new(fields.get(ordinal)?.data_type.clone()),
        contains_null: true,
    })
}

/// `ArraysZip`: an array of structs, whose fields have names of their own.
#[inline(never)]
pub(super) fn zipped(reader: &Reader<'_>, object: Object<'_>) -> Result<Expr> {
    object.only(&["children", "names"])?;
    let args = Expr::read_all(reader, object.elements("children")?)?;
    let names = Expr::read_all(reader, object.elements("names")?)?;
    let fields = args.iter().zip(&names).map(|(arg, name)| {
        let name = match &name.kind {
            ExprKind::Literal(Literal::String(name)) => String::from_utf8(name.clone()).ok(),
            _ => None,
        };
        match (&arg.data_type, name) {
            (DataType::Array { element, .. }, Some(name)) => Ok(StructField {
                name,
                data_type: DataType::clone(element),
                nullable: true,
                field_id: None,
                exists_default: None,
            }),
            _ => Err(object.missing("names")),
        }
    });
    let fields = fields.collect::<Result<Vec<_>>>()?;
    if fields.is_empty() || fields.len() != names.len() || fields.len() != args.len() {
        return Err(object.missing("children"));
    }
    let to = DataType::Array {
        element: Box::new(DataType::Struct(fields)),
        contains_null: false,
    };
    Ok(call(Function::ArraysZip, args, to))
}

/// Whether there is nothing in a field that is a Scala `Option` of an expression, or a null.
pub(super) fn is_absent(reader: &Reader<'_>, object: Object<'_>, field: &str) -> Result<bool> {
    let value = Expr::read_option(reader, object.option(field)?)?;
    Ok(value.is_none_or(|value| value.kind == ExprKind::Literal(Literal::Null)))
}
