//! The groups of an aggregation with their buffers.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::Schema;
use datafusion_common::Result;
use datafusion_expr::EmitTo;
use datafusion_physical_plan::aggregates::group_values::{GroupValues, new_group_values};
use datafusion_physical_plan::aggregates::order::GroupOrdering;

use super::accumulator::Accumulator;
use super::number_groups::number_groups;
use super::{Columns, Plan};
use crate::exec::batch_of;
use crate::filter::mask;
use crate::project::evaluate;
use rows::error::bail_out;
use rows::types::ToArrow as _;

pub(super) struct Table {
    plan: Arc<Plan>,
    /// `None` if there are no keys: then there is one group, even without rows.
    keys: Option<Box<dyn GroupValues>>,
    accumulators: Vec<Box<dyn Accumulator>>,
    /// Group of each row of the last batch.
    groups: Vec<usize>,
}

impl Table {
    pub(super) fn new(plan: Arc<Plan>) -> Result<Self> {
        let keys = match plan.keys.is_empty() {
            true => None,
            false => {
                let number = match &plan.key_schema.fields()[..] {
                    [key] => number_groups(key.data_type()),
                    _ => None,
                };
                Some(match number {
                    Some(keys) => keys,
                    None => new_group_values(Arc::clone(&plan.key_schema), &GroupOrdering::None)?,
                })
            }
        };
        let accumulators = plan.functions.iter();
        let accumulators = accumulators.map(|function| function.factory.accumulator());
        Ok(Self {
            accumulators: accumulators.collect::<Result<_>>()?,
            keys,
            plan,
            groups: Vec::new(),
        })
    }

    /// Finds the groups of rows. Gives the number of groups there are.
    fn intern(&mut self, keys: &[ArrayRef], rows: usize) -> Result<usize> {
        match &mut self.keys {
            Some(values) => {
                values.intern(keys, &mut self.groups)?;
                if self.groups.len() != rows {
                    return Err(bail_out("rows without a group"));
                }
                Ok(values.len())
            }
            None => {
                self.groups.clear();
                self.groups.resize(rows, 0);
                Ok(1)
            }
        }
    }

    /// Adds rows of the input, up to the one with which there are `most` groups. Gives how many.
    pub(super) fn add(&mut self, batch: &RecordBatch, most: Option<usize>) -> Result<usize> {
        let keys = evaluate(&self.plan.keys, batch)?;
        let total = self.intern(&keys, batch.num_rows())?;
        let last = match most {
            Some(most) if total >= most => self.groups.iter().position(|group| *group == most - 1),
            _ => None,
        };
        let Some(last) = last else {
            self.update(batch, total)?;
            return Ok(batch.num_rows());
        };
        // The groups of later rows are left over.
        self.groups.truncate(last + 1);
        self.update(&batch.slice(0, last + 1), most.unwrap_or(total))?;
        Ok(last + 1)
    }

    /// Whether there are so many groups.
    pub(super) fn has(&self, groups: usize) -> bool {
        self.keys.as_ref().is_some_and(|keys| keys.len() >= groups)
    }

    /// Adds rows whose groups were found.
    fn update(&mut self, batch: &RecordBatch, total: usize) -> Result<()> {
        let plan = Arc::clone(&self.plan);
        let all = match plan.common.is_empty() {
            true => evaluate(&plan.args, batch)?,
            false => evaluate(&plan.args, &with_common(&plan, batch)?)?,
        };
        for (function, accumulator) in plan.functions.iter().zip(&mut self.accumulators) {
            let args = function.args.iter().map(|place| all.get(*place).cloned());
            let args: Option<Vec<ArrayRef>> = args.collect();
            let args = args.ok_or_else(|| bail_out("an aggregate without argument"))?;
            if function.merges {
                accumulator.merge(&args, &self.groups, total)?;
                continue;
            }
            let filter = function.filter.as_ref();
            let filter = filter.map(|filter| mask(filter, batch)).transpose()?;
            accumulator.update(&args, &self.groups, filter.as_ref(), total)?;
        }
        Ok(())
    }

    /// Adds keys and buffers that were spilled.
    pub(super) fn add_spilled(&mut self, batch: &RecordBatch) -> Result<()> {
        let plan = Arc::clone(&self.plan);
        let columns = batch.columns();
        let short = || bail_out("a spilled batch that is too narrow");
        let keys = columns.get(..plan.keys.len()).ok_or_else(short)?;
        let total = self.intern(keys, batch.num_rows())?;
        let mut at = plan.keys.len();
        for (function, accumulator) in plan.functions.iter().zip(&mut self.accumulators) {
            let end = at + function.factory.buffer.len();
            let buffers = columns.get(at..end).ok_or_else(short)?;
            accumulator.merge(buffers, &self.groups, total)?;
            at = end;
        }
        Ok(())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.keys.as_ref().is_some_and(|keys| keys.is_empty())
    }

    pub(super) fn size(&self) -> usize {
        let keys = self.keys.as_ref().map_or(0, |keys| keys.size());
        let buffers = self.accumulators.iter().map(|one| one.size());
        keys + buffers.sum::<usize>() + self.groups.capacity() * size_of::<usize>()
    }

    /// Takes keys and buffers of all groups, and their number.
    pub(super) fn take_buffers(&mut self) -> Result<(Columns, usize)> {
        let total = self.len();
        self.take_first_buffers(total)
    }

    /// Takes keys and buffers of the first groups, and their number. There are no buffers of others.
    pub(super) fn take_first_buffers(&mut self, groups: usize) -> Result<(Columns, usize)> {
        self.take(groups, |accumulator, into| {
            into.extend(accumulator.buffers()?);
            Ok(())
        })
    }

    /// Number of groups.
    pub(super) fn len(&self) -> usize {
        match &self.keys {
            Some(keys) => keys.len(),
            None => 1,
        }
    }

    /// Takes keys and results of all groups, and their number.
    pub(super) fn take_results(&mut self) -> Result<(Columns, usize)> {
        let total = self.len();
        self.take(total, |accumulator, into| {
            into.push(accumulator.evaluate()?);
            Ok(())
        })
    }

    fn take(
        &mut self,
        total: usize,
        of: impl Fn(&mut Box<dyn Accumulator>, &mut Columns) -> Result<()>,
    ) -> Result<(Columns, usize)> {
        if total == 0 {
            return Ok((Vec::new(), 0));
        }
        // Groups that no row of a function was met for have no buffer yet: an empty batch makes them.
        let plan = Arc::clone(&self.plan);
        for (function, accumulator) in plan.functions.iter().zip(&mut self.accumulators) {
            let types = function.factory.buffer.iter().map(|of| of.to_arrow());
            let none = types
                .map(|of| match of {
                    Ok(of) => Ok(arrow::array::new_empty_array(&of)),
                    Err(reason) => Err(bail_out(reason.to_string())),
                })
                .collect::<Result<Vec<_>>>()?;
            accumulator.merge(&none, &[], total)?;
        }
        let mut columns = match &mut self.keys {
            Some(keys) if keys.len() > total => keys.emit(EmitTo::First(total))?,
            Some(keys) => keys.emit(EmitTo::All)?,
            None => Vec::new(),
        };
        for accumulator in &mut self.accumulators {
            of(accumulator, &mut columns)?;
        }
        if columns.iter().any(|column| column.len() != total) {
            return Err(bail_out("groups without a buffer"));
        }
        Ok((columns, total))
    }
}

/// The input, with what arguments have in common as further columns.
fn with_common(plan: &Plan, batch: &RecordBatch) -> Result<RecordBatch> {
    let rows = batch.num_rows();
    let mut columns = batch.columns().to_vec();
    for expr in &plan.common {
        let fields = plan
            .input_schema
            .fields()
            .iter()
            .take(columns.len())
            .cloned();
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let batch = batch_of(&schema, columns, rows)?;
        let value = expr.evaluate(&batch)?.into_array(rows)?;
        columns = batch.columns().to_vec();
        columns.push(value);
    }
    batch_of(&plan.input_schema, columns, rows)
}
