//! What is lazy: `AND`, `OR` and `COALESCE` do not evaluate what does not count, for it might fail.

use std::fmt;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray};
use arrow::compute::kernels::boolean::{and_kleene, or_kleene};
use arrow::compute::kernels::zip::zip;
use arrow::datatypes::{DataType as ArrowType, Schema};
use arrow::record_batch::RecordBatch;
use datafusion_common::Result;
use datafusion_expr::ColumnarValue;
use datafusion_physical_expr::PhysicalExpr;

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
