//! What is lazy: `AND`, `OR` and `COALESCE` do not evaluate what does not count, for it might fail.

use std::fmt;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray};
use arrow::compute::kernels::boolean::{and_kleene, or_kleene};
use arrow::compute::kernels::zip::zip;
use arrow::datatypes::{DataType as ArrowType, Float32Type, Float64Type, Schema};
use arrow::record_batch::RecordBatch;
use datafusion_common::{Result, ScalarValue};
use datafusion_expr::ColumnarValue;
use datafusion_physical_expr::PhysicalExpr;

use super::kernel::Kernel;
use catalyst::Unsupported;
use rows::error::bail_out;

/// `left AND right` or `left OR right`, where the right is not evaluated for rows that the left decides.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Lazy {
    /// Or else it is `OR`.
    pub(super) and: bool,
    /// The two.
    pub(super) args: Vec<Arc<dyn PhysicalExpr>>,
}

type Side<'a> = &'a Arc<dyn PhysicalExpr>;

impl Lazy {
    fn sides(&self) -> Result<(Side<'_>, Side<'_>)> {
        match self.args.as_slice() {
            [left, right] => Ok((left, right)),
            _ => Err(bail_out("another number of arguments")),
        }
    }
}

impl PhysicalExpr for Lazy {
    fn data_type(&self, _: &Schema) -> Result<ArrowType> {
        Ok(ArrowType::Boolean)
    }

    fn nullable(&self, _: &Schema) -> Result<bool> {
        Ok(true)
    }

    fn evaluate(&self, batch: &RecordBatch) -> Result<ColumnarValue> {
        let rows = batch.num_rows();
        let (left, right) = self.sides()?;
        let left = left.evaluate(batch)?.into_array(rows)?;
        let left = boolean(&left)?;
        let open: BooleanArray = left
            .iter()
            .map(|value| Some(value != Some(!self.and)))
            .collect();
        if !open.has_true() {
            return Ok(ColumnarValue::Array(Arc::new(left.clone())));
        }
        let right = right.evaluate_selection(batch, &open)?;
        let right = right.into_array(rows)?;
        let right = boolean(&right)?;
        let result = if self.and {
            and_kleene(left, right)?
        } else {
            or_kleene(left, right)?
        };
        Ok(ColumnarValue::Array(Arc::new(result)))
    }

    fn children(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        self.args.iter().collect()
    }

    fn with_new_children(
        self: Arc<Self>,
        args: Vec<Arc<dyn PhysicalExpr>>,
    ) -> Result<Arc<dyn PhysicalExpr>> {
        Ok(Arc::new(Self {
            and: self.and,
            args,
        }))
    }

    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl fmt::Display for Lazy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let op = if self.and { "AND" } else { "OR" };
        let args: Vec<_> = self.args.iter().map(ToString::to_string).collect();
        write!(f, "({})", args.join(&format!(" {op} ")))
    }
}

fn boolean(array: &ArrayRef) -> Result<&BooleanArray> {
    array
        .as_boolean_opt()
        .ok_or_else(|| bail_out("a condition of another type"))
}

/// The first argument that is not null.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Coalesce {
    pub(super) to: ArrowType,
    pub(super) args: Vec<Arc<dyn PhysicalExpr>>,
}

impl PhysicalExpr for Coalesce {
    fn data_type(&self, _: &Schema) -> Result<ArrowType> {
        Ok(self.to.clone())
    }

    fn nullable(&self, _: &Schema) -> Result<bool> {
        Ok(true)
    }

    fn evaluate(&self, batch: &RecordBatch) -> Result<ColumnarValue> {
        let rows = batch.num_rows();
        let mut best: Option<ArrayRef> = None;
        for arg in &self.args {
            best = Some(match best {
                None => arg.evaluate(batch)?.into_array(rows)?,
                Some(best) if best.logical_null_count() == 0 => {
                    return Ok(ColumnarValue::Array(best));
                }
                Some(best) => {
                    let missing = arrow::compute::is_null(&best)?;
                    let next = arg.evaluate_selection(batch, &missing)?;
                    zip(&missing, &next.into_array(rows)?, &best)?
                }
            });
        }
        best.map(ColumnarValue::Array)
            .ok_or_else(|| bail_out("no argument"))
    }

    fn children(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        self.args.iter().collect()
    }

    fn with_new_children(
        self: Arc<Self>,
        args: Vec<Arc<dyn PhysicalExpr>>,
    ) -> Result<Arc<dyn PhysicalExpr>> {
        Ok(Arc::new(Self {
            to: self.to.clone(),
            args,
        }))
    }

    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl fmt::Display for Coalesce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let args: Vec<_> = self.args.iter().map(ToString::to_string).collect();
        write!(f, "coalesce({})", args.join(", "))
    }
}

/// Whether at least as many of the other arguments as the first one says are neither null nor NaN.
pub(super) fn at_least(args: Vec<Arc<dyn PhysicalExpr>>) -> super::Lowered {
    let mut args = args.into_iter();
    let least = match args.next().as_ref().and_then(super::known) {
        Some(ScalarValue::Int32(Some(least))) => *least,
        _ => return Err(Unsupported::of_use("AtLeastNNonNulls of a variable number")),
    };
    let name = format!("AtLeastNNonNulls[{least}]");
    let to = ArrowType::Boolean;
    Ok(Kernel::lenient(
        name,
        args.collect(),
        to,
        move |args, rows| {
            let mut counts = vec![0_i32; rows];
            for arg in args {
                let nulls = arg.array.logical_nulls();
                let doubles = arg.array.as_primitive_opt::<Float64Type>();
                let floats = arg.array.as_primitive_opt::<Float32Type>();
                for (row, count) in counts.iter_mut().enumerate() {
                    let at = arg.at(row);
                    let is_there = nulls.as_ref().is_none_or(|nulls| nulls.is_valid(at))
                        && !doubles.is_some_and(|doubles| doubles.value(at).is_nan())
                        && !floats.is_some_and(|floats| floats.value(at).is_nan());
                    *count += i32::from(is_there);
                }
            }
            let enough = counts.into_iter().map(|count| Some(count >= least));
            Ok(Arc::new(enough.collect::<BooleanArray>()))
        },
    ))
}
