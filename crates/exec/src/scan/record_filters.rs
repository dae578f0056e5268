//! Conditions by which Spark's readers of records leave rows out before they are rows: `OrderedFilters` and
//! `JsonFilters`. The filter above the scan has the same conditions; these say how many rows the scan counts.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::array::{Array as _, ArrayRef};
use arrow::datatypes::SchemaRef;
use catalyst::{Attribute, DataType, Expr, ExprKind, Function, PushedFilter, Unsupported};
use datafusion_common::Result as DataFusionResult;
use datafusion_common::cast::as_boolean_array;
use datafusion_physical_expr::PhysicalExpr;
use rows::types::schema_of;

use super::Wanted;
use crate::exec::batch_of;
use crate::expr::lower;
use crate::lower::{Result, references};

/// The conditions.
#[derive(Debug, Default)]
pub(super) struct Filters(Vec<Filter>);

/// A condition.
#[derive(Debug)]
struct Filter {
    condition: Arc<dyn PhysicalExpr>,
    /// The columns that it is of, by their places.
    columns: Vec<usize>,
    /// What these columns are.
    schema: SchemaRef,
}

impl Filters {
    /// Finds what was pushed down among the conditions above the scan. `place` is where a column is read.
    ///
    /// # Errors
    /// A condition is not there.
    pub(super) fn new(
        pushed: &[PushedFilter],
        wanted: &Wanted<'_>,
        place: &dyn Fn(&Attribute) -> Option<usize>,
    ) -> Result<Self> {
        let mut conditions = Vec::new();
        if let Some(filter) = wanted.filter {
            conjuncts(filter, &mut conditions);
        }
        let mut found = Vec::new();
        for filter in pushed {
            let is = |condition: &&Expr| {
                let mut parts = Vec::new();
                let known = shape(condition, wanted, &mut parts).is_some();
                known && parts == filter.0
            };
            let at = conditions.iter().position(is);
            let missing = || Unsupported::of_use("conditions in a scan that are not above it");
            let condition = conditions.remove(at.ok_or_else(missing)?);
            found.push(Filter::new(condition, wanted.output, place)?);
        }
        Ok(Self(found))
    }

    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Notes which conditions a reader asks of a row, as `asks` says of their columns.
    pub(super) fn ask(&self, asked: &mut Vec<Vec<bool>>, asks: impl Fn(&[usize]) -> bool) {
        asked.resize_with(self.0.len(), Vec::new);
        for (filter, asked) in self.0.iter().zip(asked) {
            asked.push(asks(&filter.columns));
        }
    }

    /// The rows that all conditions let through that were asked; `None` if nothing is to be asked.
    pub(super) fn keep(
        &self,
        columns: &[ArrayRef],
        rows: usize,
        asked: &[Vec<bool>],
    ) -> DataFusionResult<Option<Vec<bool>>> {
        if self.0.is_empty() {
            return Ok(None);
        }
        let mut keep = vec![true; rows];
        for (filter, asked) in self.0.iter().zip(asked) {
            let values = filter.values(columns, rows)?;
            let values = as_boolean_array(&values)?;
            for (row, (keep, asked)) in keep.iter_mut().zip(asked).enumerate() {
                *keep &= !asked || (values.is_valid(row) && values.value(row));
            }
        }
        Ok(Some(keep))
    }
}

impl Filter {
    fn new(
        condition: &Expr,
        output: &[Attribute],
        place: &dyn Fn(&Attribute) -> Option<usize>,
    ) -> Result<Self> {
        let mut ids = HashSet::new();
        references(condition, &mut ids);
        let attributes = output
            .iter()
            .filter(|attribute| ids.contains(&attribute.id));
        let attributes: Vec<Attribute> = attributes.cloned().collect();
        let columns: Option<Vec<usize>> = attributes.iter().map(place).collect();
        let missing = || Unsupported::of_use("conditions in a scan of other columns");
        Ok(Self {
            condition: lower(condition, &attributes)?,
            columns: columns.ok_or_else(missing)?,
            schema: schema_of(&attributes)?,
        })
    }

    fn values(&self, columns: &[ArrayRef], rows: usize) -> DataFusionResult<ArrayRef> {
        let arrays = self.columns.iter();
        let arrays = arrays.filter_map(|column| columns.get(*column).cloned());
        let batch = batch_of(&self.schema, arrays.collect(), rows)?;
        self.condition.evaluate(&batch)?.into_array(rows)
    }
}

fn conjuncts<'a>(filter: &'a Expr, all: &mut Vec<&'a Expr>) {
    match &filter.kind {
        ExprKind::Call {
            function: Function::And,
            args,
            ..
        } => {
            args.iter().for_each(|arg| conjuncts(arg, all));
        }
        _ => all.push(filter),
    }
}

/// What Spark would push down of a condition, as [`PushedFilter`] has it.
fn shape(condition: &Expr, wanted: &Wanted<'_>, parts: &mut Vec<String>) -> Option<()> {
    let column = |of: &Expr| match &of.kind {
        ExprKind::Attribute(of) => (wanted.in_files)(of).map(|field| field.name.as_str()),
        _ => None,
    };
    let is_literal = |of: &Expr| matches!(of.kind, ExprKind::Literal(_));
    match &condition.kind {
        ExprKind::Call { function, args, .. } => {
            let (name, mirrored) = match function {
                Function::And | Function::Or | Function::Not => {
                    parts.push(function.name().to_owned());
                    return args.iter().try_for_each(|arg| shape(arg, wanted, parts));
                }
                Function::IsNull | Function::IsNotNull => {
                    let [arg] = args.as_slice() else { return None };
                    parts.push(format!("{} {}", function.name(), column(arg)?));
                    return Some(());
                }
                Function::EqualTo => ("EqualTo", Some("EqualTo")),
                Function::EqualNullSafe => ("EqualNullSafe", Some("EqualNullSafe")),
                Function::GreaterThan => ("GreaterThan", Some("LessThan")),
                Function::GreaterThanOrEqual => ("GreaterThanOrEqual", Some("LessThanOrEqual")),
                Function::LessThan => ("LessThan", Some("GreaterThan")),
                Function::LessThanOrEqual => ("LessThanOrEqual", Some("GreaterThanOrEqual")),
                Function::StartsWith => ("StringStartsWith", None),
                Function::EndsWith => ("StringEndsWith", None),
                Function::Contains => ("StringContains", None),
                _ => return None,
            };
            let [left, right] = args.as_slice() else {
                return None;
            };
            let (name, of) = match (column(left), column(right)) {
                (Some(of), None) if is_literal(right) => (name, of),
                (None, Some(of)) if is_literal(left) => (mirrored?, of),
                _ => return None,
            };
            parts.push(format!("{name} {of}"));
        }
        // A condition itself.
        ExprKind::Attribute(_) if condition.data_type == DataType::Boolean => {
            parts.push(format!("EqualTo {}", column(condition)?));
        }
        ExprKind::In { value, list, .. } if list.iter().all(is_literal) => {
            parts.push(format!("In {}", column(value)?));
        }
        ExprKind::InSet { value, .. } => parts.push(format!("In {}", column(value)?)),
        _ => return None,
    }
    Some(())
}
