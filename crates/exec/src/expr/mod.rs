//! Catalyst's expressions as DataFusion's physical expressions, with Spark's semantics.
//!
//! What DataFusion computes as Spark does is DataFusion's: columns, literals, comparisons of what has a plain order,
//! `CASE`, `IN`. The rest are [`kernel::Kernel`]s. Nothing is approximated: what would not be equal to the last bit is
//! refused by [`lower`], or, where only some values are affected, bailed out of when such a value is met.

mod arithmetic;
mod bloom;
mod call;
pub(super) mod capabilities;
mod cast;
mod codecs;
mod date_format;
mod datetime;
mod decimal;
mod digits;
mod fdlibm;
mod format;
pub(crate) mod from_text;
mod hash;
mod interval_numbers;
mod interval_text;
mod intervals;
mod java;
mod json;
pub(crate) mod json_text;
mod kernel;
mod letters;
mod like;
mod literal;
mod logic;
mod moments;
mod nested;
mod numerals;
mod order;
mod parse_time;
mod reals;
mod regex;
mod search;
pub(crate) mod sketches;
mod spans;
mod strings;
mod time_bucket;
mod times;
mod to_number;
mod urls;
pub(crate) mod value_text;
pub(crate) mod variant;
mod zone;

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, StructArray};
use arrow::datatypes::{DataType as ArrowType, SchemaRef};
use datafusion_common::ScalarValue;
use datafusion_physical_expr::PhysicalExpr;
use datafusion_physical_expr::expressions::{Column, Literal as PhysicalLiteral, case};

use catalyst::DataType;
use catalyst::Literal;
use catalyst::Unsupported;
use catalyst::{Attribute, Expr, ExprId, ExprKind, Function, JvmExpression, NativeUdf};
use rows::error::bail_out;
use rows::types::ToArrow as _;
use rows::types::{column_name, schema_of};

use crate::jvm_calls::JvmRows;
use crate::native_calls::LibraryCall;

pub use capabilities::{Capability, CastCapability, casts, casts_in, functions, functions_in};
pub(crate) use cast::time_of_day::{cut, valid};
pub(crate) use hash::is_hashed;
pub(crate) use intervals::{Interval, half_up};
#[cfg(fuzzing)]
pub(crate) use json::at_some_paths;
pub(crate) use json::json_tuple;
pub use literal::scalar;
pub use order::lower_sort;
pub(crate) use order::order_key;

/// An expression over batches that have the columns `input`, in that order. Its results have exactly the Arrow type of
/// [`Expr::data_type`].
///
/// # Errors
/// Something in it is not computed natively, or an attribute is not among the input.
pub fn lower(expr: &Expr, input: &[Attribute]) -> Result<Arc<dyn PhysicalExpr>, Unsupported> {
    Lowering::new(input)?.expr(expr)
}

/// Whether an expression is computed natively if what it is made of is.
#[must_use]
pub fn is_native(expr: &Expr) -> bool {
    let mut shallow = match &expr.kind {
        ExprKind::Attribute(_)
        | ExprKind::BoundReference { .. }
        | ExprKind::Draw(_)
        | ExprKind::Jvm { .. }
        | ExprKind::Literal(_)
        | ExprKind::ScalarSubquery { .. } => return true,
        _ => expr.clone(),
    };
    let mut input = Vec::new();
    for child in shallow.children_mut() {
        match &child.kind {
            ExprKind::Literal(_) | ExprKind::ScalarSubquery { .. } => {}
            ExprKind::Attribute(column) => input.push(column.clone()),
            _ => {
                let column = Attribute {
                    name: String::new(),
                    data_type: child.data_type.clone(),
                    nullable: child.nullable,
                    // Of no column: ids are counted from 0.
                    id: ExprId {
                        id: -1 - i64::try_from(input.len()).unwrap_or(i64::MAX - 1),
                        jvm_id: 0,
                    },
                };
                input.push(column.clone());
                *child = Expr::attribute(column);
            }
        }
    }
    lower(&shallow, &input).is_ok()
}

struct Lowering<'a> {
    input: &'a [Attribute],
    schema: SchemaRef,
}

type Lowered = Result<Arc<dyn PhysicalExpr>, Unsupported>;

impl<'a> Lowering<'a> {
    fn new(input: &'a [Attribute]) -> Result<Self, Unsupported> {
        Ok(Self {
            input,
            schema: schema_of(input)?,
        })
    }

    fn all(&self, exprs: &[Expr]) -> Result<Vec<Arc<dyn PhysicalExpr>>, Unsupported> {
        exprs.iter().map(|expr| self.expr(expr)).collect()
    }

    fn column(&self, index: usize, of: &DataType) -> Lowered {
        let column = self.input.get(index);
        let column = column.ok_or_else(|| Unsupported::of_use("a column that is not there"))?;
        if column.data_type.to_arrow()? != of.to_arrow()? {
            return Err(Unsupported::of_use("a column of another type"));
        }
        Ok(Arc::new(Column::new(&column_name(index), index)))
    }

    fn expr(&self, expr: &Expr) -> Lowered {
        let to = expr.data_type.to_arrow()?;
        match &expr.kind {
            ExprKind::Alias { child, .. } => self.expr(child),
            ExprKind::Attribute(attribute) => {
                let index = self
                    .input
                    .iter()
                    .position(|column| column.id == attribute.id);
                let index =
                    index.ok_or_else(|| Unsupported::of_use("an attribute without input"))?;
                self.column(index, &expr.data_type)
            }
            ExprKind::BoundReference { ordinal } => self.column(*ordinal, &expr.data_type),
            ExprKind::Literal(value) | ExprKind::ScalarSubquery { value, .. } => {
                constant(value, &expr.data_type)
            }
            ExprKind::Cast {
                child,
                mode,
                time_zone,
            } => cast::lower(&cast::Casting {
                from: &child.data_type,
                to: &expr.data_type,
                mode: *mode,
                zone: time_zone.as_ref(),
                child: self.expr(child)?,
                pretty: false,
            }),
            ExprKind::CaseWhen {
                branches,
                otherwise,
            } => {
                let branches: Vec<_> = branches.iter().map(|(when, then)| (when, then)).collect();
                self.case(&branches, otherwise.as_deref(), &to)
            }
            ExprKind::In {
                value,
                list,
                legacy_null_in_empty,
            } => {
                let list = list
                    .iter()
                    .map(|item| {
                        same_type(&value.data_type, &item.data_type)?;
                        self.expr(item)
                    })
                    .collect::<Result<Vec<_>, _>>()?;
                self.in_list(value, list, *legacy_null_in_empty)
            }
            ExprKind::InSet {
                value,
                set,
                legacy_null_in_empty,
            } => {
                let list = set
                    .iter()
                    .map(|item| constant(item, &value.data_type))
                    .collect::<Result<Vec<_>, _>>()?;
                self.in_list(value, list, *legacy_null_in_empty)
            }
            ExprKind::GetStructField { child, ordinal } => {
                let ordinal = *ordinal;
                let args = vec![self.expr(child)?];
                let name = format!("GetStructField[{ordinal}]");
                Ok(kernel::Kernel::strict(name, args, to, move |args, _| {
                    field(&kernel::single(args)?.array, ordinal)
                }))
            }
            ExprKind::CreateNamedStruct(values) => {
                let args = self.all(values)?;
                let ArrowType::Struct(fields) = to.clone() else {
                    return Err(Unsupported::of_use("a struct of another type"));
                };
                Ok(kernel::Kernel::lenient(
                    "CreateNamedStruct",
                    args,
                    to,
                    move |args, rows| {
                        let columns = args
                            .iter()
                            .map(|arg| arg.column(rows))
                            .collect::<datafusion_common::Result<Vec<_>>>()?;
                        Ok(Arc::new(StructArray::try_new(
                            fields.clone(),
                            columns,
                            None,
                        )?))
                    },
                ))
            }
            // Projections and filters put columns in their place, where they can.
            ExprKind::Draw(draw) => Err(Unsupported::of_use(format!("{} there", draw.name()))),
            ExprKind::FromJson {
                child,
                form,
                malformed,
                corrupt_record,
            } => {
                let reader = json::Reader::new(form, *malformed, corrupt_record, &expr.data_type)?;
                json::from_json(self.expr(child)?, reader, to)
            }
            ExprKind::ToJson { child, form } => {
                json::to_json(self.expr(child)?, form, &child.data_type)
            }
            ExprKind::HigherOrder {
                function,
                args,
                lambdas,
                captured,
            } => {
                let mut inputs = self.all(args)?;
                inputs.extend(self.all(captured)?);
                let parts = nested::lambda::Parts {
                    function: *function,
                    args,
                    lambdas,
                    captured,
                    to: &to,
                };
                nested::lambda::lower(&parts, inputs)
            }
            ExprKind::Jvm {
                expression,
                columns,
            } => self.in_jvm(expression, columns, &expr.data_type),
            ExprKind::Native { function, args } => self.native(function, args, &expr.data_type),
            ExprKind::Call {
                function,
                args,
                mode,
                time_zone,
            } => self.call(*function, args, *mode, time_zone.as_ref(), expr),
        }
    }

    /// A function of a shared library.
    fn native(&self, function: &NativeUdf, args: &[Expr], of: &DataType) -> Lowered {
        let types = args.iter().map(|arg| arg.data_type.clone());
        let call = LibraryCall::new(function, types.collect(), of)?;
        let args = self.all(args)?;
        let to = of.to_arrow()?;
        let name = function.to_string();
        Ok(kernel::Kernel::lenient(
            name,
            args,
            to,
            move |args, rows| {
                let columns = args.iter().map(|arg| arg.column(rows));
                let columns = columns.collect::<datafusion_common::Result<Vec<_>>>()?;
                call.evaluate(&columns, rows)
            },
        ))
    }

    /// What the JVM beside the task evaluates.
    fn in_jvm(&self, expression: &Arc<JvmExpression>, columns: &[Expr], of: &DataType) -> Lowered {
        let types = columns.iter().map(|column| &column.data_type);
        let call = JvmRows::new(expression, types.collect(), of)?;
        let name = format!("Jvm[{}]", expression.class);
        let args = self.all(columns)?;
        Ok(kernel::Kernel::lenient(
            name,
            args,
            of.to_arrow()?,
            move |args, rows| {
                let columns = args.iter().map(|arg| arg.column(rows));
                let columns = columns.collect::<datafusion_common::Result<Vec<_>>>()?;
                call.evaluate(columns, rows)
            },
        ))
    }

    /// `CASE`: only the branch that is taken is evaluated.
    fn case(
        &self,
        branches: &[(&Expr, &Expr)],
        otherwise: Option<&Expr>,
        to: &ArrowType,
    ) -> Lowered {
        let value = |of: &Expr| {
            if of.data_type.to_arrow()? == *to {
                self.expr(of)
            } else {
                Err(Unsupported::of_use("branches of different types"))
            }
        };
        let branches = branches
            .iter()
            .map(|(when, then)| Ok((self.expr(when)?, value(then)?)))
            .collect::<Result<Vec<_>, Unsupported>>()?;
        let otherwise = otherwise.map(value).transpose()?;
        case(None, branches, otherwise).map_err(|_| Unsupported::of_use("such a CASE"))
    }
}

/// `StrictMath.log`
pub(crate) fn strict_log(of: f64) -> f64 {
    fdlibm::log(of)
}

/// What is said of a function of arguments that it is not computed for.
fn refused(function: Function, types: &[ArrowType]) -> Unsupported {
    let types: Vec<_> = types.iter().map(ToString::to_string).collect();
    Unsupported::of_use(format!("{}({})", function.name(), types.join(", ")))
}

/// The value of a literal.
fn known(expr: &Arc<dyn PhysicalExpr>) -> Option<&ScalarValue> {
    let any: &dyn std::any::Any = expr.as_ref();
    any.downcast_ref::<PhysicalLiteral>()
        .map(PhysicalLiteral::value)
}

fn literal_of(value: ScalarValue) -> Arc<dyn PhysicalExpr> {
    Arc::new(PhysicalLiteral::new(value))
}

fn constant(value: &Literal, of: &DataType) -> Lowered {
    Ok(literal_of(scalar(value, of)?))
}

/// Types that are compared must be the same.
fn same_type(left: &DataType, right: &DataType) -> Result<ArrowType, Unsupported> {
    let of = left.to_arrow()?;
    if of == right.to_arrow()? {
        Ok(of)
    } else {
        Err(Unsupported::of_use(format!("{left} compared with {right}")))
    }
}

/// A field of structs, which is null where they are.
pub(super) fn field(array: &ArrayRef, ordinal: usize) -> datafusion_common::Result<ArrayRef> {
    let structs = array.as_struct_opt();
    let structs = structs.ok_or_else(|| bail_out("a struct of another type"))?;
    let field = structs.columns().get(ordinal);
    let field = field.ok_or_else(|| bail_out("a struct without that field"))?;
    if structs.null_count() == 0 {
        return Ok(Arc::clone(field));
    }
    let missing = arrow::compute::is_null(structs)?;
    Ok(arrow::compute::nullif(field, &missing)?)
}

#[cfg(test)]
#[path = "lower_tests.rs"]
mod tests;
