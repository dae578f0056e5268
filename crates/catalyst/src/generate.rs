//! `GenerateExec`: several rows of each row.

use std::fmt;

use crate::error::{Result, Unsupported};
use crate::expr::{Attribute, Expr, ExprKind, list, read_attributes};
use crate::literal::Literal;
use crate::metrics::of_operator;
use crate::object::{Object, Reader};
use crate::plan::{Columns, Operator, OperatorKind};
use crate::types::DataType;

/// Most rows of a `stack`.
const MAX_ROWS: i32 = 10_000;

/// A `Generator`: what rows are made of a row.
#[derive(Debug, Clone, PartialEq)]
pub enum Generator {
    /// `Explode` and `PosExplode`: the elements of an array, or keys and values of a map.
    Explode {
        /// The array or map.
        child: Expr,
        /// Whether the place of each, from 0, comes first.
        position: bool,
    },
    /// `Inline`: the fields of the structs in an array.
    Inline(Expr),
    /// `Stack`: the values, so many rows of them; the last may lack some.
    Stack {
        /// How many rows.
        rows: usize,
        /// The values, row by row.
        values: Vec<Expr>,
    },
    /// `JsonTuple`: what a text of JSON has at names, in one row.
    JsonTuple {
        /// The text.
        json: Expr,
        /// The names.
        names: Vec<Expr>,
    },
    /// `VariantExplode`: places, names and values of what a variant has.
    VariantExplode(Expr),
    /// `ReplicateRows`: the same values again and again.
    ReplicateRows {
        /// How often.
        count: Expr,
        /// The values.
        values: Vec<Expr>,
    },
}

impl Generator {
    fn read(reader: &Reader<'_>, object: Object<'_>) -> Result<Self> {
        let child = || Expr::read(reader, object.value("child")?);
        let children = || Expr::read_all(reader, object.elements("children")?);
        let empty = || object.missing("children");
        Ok(match object.name() {
            "Explode" | "PosExplode" => {
                object.only(&["child", "position"])?;
                Self::Explode {
                    child: child()?,
                    position: object.name() == "PosExplode",
                }
            }
            "Inline" => {
                object.only(&[
                    "child",
                    "inline",
                    "position",
                    "numFields",
                    "generatorNullRow",
                ])?;
                Self::Inline(child()?)
            }
            "Stack" => {
                object.only(&["children", "numRows", "numFields"])?;
                let mut values = children()?.into_iter();
                let rows = match values.next().ok_or_else(empty)?.kind {
                    ExprKind::Literal(Literal::Integer(rows @ 1..=MAX_ROWS)) => rows,
                    _ => return Err(Unsupported::of_use("a stack of another number of rows")),
                };
                Self::Stack {
                    rows: usize::try_from(rows).map_err(|_| empty())?,
                    values: values.collect(),
                }
            }
            "JsonTuple" => {
                object.only(&["children"])?;
                let mut all = children()?.into_iter();
                Self::JsonTuple {
                    json: all.next().ok_or_else(empty)?,
                    names: all.collect(),
                }
            }
            "VariantExplode" => {
                object.only(&["child"])?;
                Self::VariantExplode(child()?)
            }
            "ReplicateRows" => {
                object.only(&["children", "numColumns"])?;
                let mut values = children()?.into_iter();
                Self::ReplicateRows {
                    count: values.next().ok_or_else(empty)?,
                    values: values.collect(),
                }
            }
            other => return Err(Unsupported::Class(other.to_owned())),
        })
    }

    /// What it is made of.
    pub fn args(&self) -> Vec<&Expr> {
        match self {
            Self::Explode { child, .. } | Self::Inline(child) | Self::VariantExplode(child) => {
                vec![child]
            }
            Self::Stack { values, .. } => values.iter().collect(),
            Self::ReplicateRows {
                count: first,
                values: others,
            }
            | Self::JsonTuple {
                json: first,
                names: others,
            } => std::iter::once(first).chain(others).collect(),
        }
    }

    /// Types of the columns that it makes.
    ///
    /// # Errors
    /// Its arguments have other types than it takes.
    pub fn types(&self) -> Result<Vec<DataType>> {
        let wrong = || Unsupported::of_use("a generator of another type");
        Ok(match self {
            Self::Explode { child, position } => {
                let place = position.then_some(DataType::Integer);
                let own = match &child.data_type {
                    DataType::Array { element, .. } => vec![DataType::clone(element)],
                    DataType::Map { key, value, .. } => vec![(**key).clone(), (**value).clone()],
                    _ => return Err(wrong()),
                };
                place.into_iter().chain(own).collect()
            }
            Self::Inline(child) => match &child.data_type {
                DataType::Array { element, .. } => match &**element {
                    DataType::Struct(fields) => {
                        fields.iter().map(|field| field.data_type.clone()).collect()
                    }
                    _ => return Err(wrong()),
                },
                _ => return Err(wrong()),
            },
            Self::Stack { rows, values } => {
                let columns = values.len().div_ceil(*rows);
                let first = values.iter().take(columns);
                first.map(|value| value.data_type.clone()).collect()
            }
            Self::JsonTuple { names, .. } => vec![DataType::String; names.len()],
            Self::VariantExplode(child) if child.data_type == DataType::Variant => {
                vec![DataType::Integer, DataType::String, DataType::Variant]
            }
            Self::VariantExplode(_) => return Err(wrong()),
            Self::ReplicateRows { values, .. } => {
                values.iter().map(|value| value.data_type.clone()).collect()
            }
        })
    }
}

impl fmt::Display for Generator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Explode { child, position } => {
                let name = if *position { "PosExplode" } else { "Explode" };
                write!(f, "{name}({child})")
            }
            Self::Inline(child) => write!(f, "Inline({child})"),
            Self::VariantExplode(child) => write!(f, "VariantExplode({child})"),
            Self::Stack { rows, values } => write!(f, "Stack[{rows}]({})", list(values)),
            Self::JsonTuple { json, names } => write!(f, "JsonTuple({json}; {})", list(names)),
            Self::ReplicateRows { count, values } => {
                write!(f, "ReplicateRows({count}; {})", list(values))
            }
        }
    }
}

/// A `GenerateExec` over its input.
pub(crate) fn generate(reader: &Reader<'_>, plan: Object<'_>, child: Operator) -> Result<Operator> {
    child.output.require()?;
    let generator = Generator::read(reader, plan.object("generator")?)?;
    let required = read_attributes(reader, plan.elements("requiredChildOutput")?)?;
    let generated = read_attributes(reader, plan.elements("generatorOutput")?)?;
    let output: Vec<Attribute> = required.iter().chain(&generated).cloned().collect();
    Ok(Operator {
        kind: OperatorKind::Generate {
            generator,
            outer: plan.bool("outer")?,
            required,
            generated,
            child: Box::new(child),
        },
        output: Columns::Known(output),
        metrics: of_operator(reader, plan)?,
    })
}
