//! Values that functions of shared libraries compute of groups of rows, in place of functions of Python.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, UInt32Array};
use arrow::datatypes::{DataType as ArrowType, Field};
use catalyst::{AggregatePython, DataType};
use datafusion_common::Result;
use datafusion_execution::SendableRecordBatchStream;
use datafusion_execution::memory_pool::{MemoryConsumer, MemoryPool};
use datafusion_physical_expr::PhysicalExpr;
use rows::error::bail_out;
use rows::types::ToArrow as _;

use super::conversion::{converted, type_for_python};
use super::frames::wait_for_next;
use super::group_frames::Beginnings;
use crate::groups::{GroupKeys, runs, same_keys};
use crate::native_functions::{NativeAggregate, NativeCall, NativeCallee, NativeFunction};
use crate::project::evaluate;
use crate::sources::Sources;

/// The functions of an operator, for one task.
pub(super) struct NativeGroups {
    functions: Vec<GroupFunction>,
    input: SendableRecordBatchStream,
    keys: Arc<GroupKeys>,
    given: Arc<[Arc<dyn PhysicalExpr>]>,
    /// The types of what is given, for functions.
    types: Vec<ArrowType>,
    beginnings: Beginnings,
    /// Keys of the group that the last row is of; the functions know it as their group 0.
    open: Option<Vec<ArrayRef>>,
}

/// A function, what it takes of what is given, and the type in the lane of what it gives.
struct GroupFunction {
    function: Box<dyn NativeAggregate>,
    arguments: Vec<usize>,
    result: ArrowType,
}

/// What functions are given, and who is told of groups.
pub(super) struct GroupInput {
    pub(super) input: SendableRecordBatchStream,
    pub(super) keys: Arc<GroupKeys>,
    pub(super) given: Arc<[Arc<dyn PhysicalExpr>]>,
    pub(super) beginnings: Beginnings,
}

/// The native functions of an operator, if all that it calls are native.
pub(super) struct GroupFunctions {
    functions: Vec<GroupFunction>,
    types: Vec<ArrowType>,
}

impl GroupFunctions {
    /// # Errors
    /// A function does not take the task.
    pub(super) fn of(
        aggregate: &AggregatePython,
        sources: &dyn Sources,
        pool: &Arc<dyn MemoryPool>,
    ) -> Result<Option<Self>> {
        let zone = Arc::from(aggregate.time_zone.as_str());
        let of = |data_type: &DataType| {
            type_for_python(data_type, &zone).map_err(|why| bail_out(why.to_string()))
        };
        let types = aggregate.given.iter().map(|expr| of(&expr.data_type));
        let types = types.collect::<Result<Vec<_>>>()?;
        let mut functions = Vec::new();
        for called in &aggregate.functions {
            let ([node], false) = (
                &called.functions[..],
                called.arguments.iter().any(|(_, name)| name.is_some()),
            ) else {
                return Ok(None);
            };
            let arguments: Vec<usize> = called.arguments.iter().map(|(place, _)| *place).collect();
            let given = arguments.iter().map(|place| types.get(*place).cloned());
            let given = given.map(|of| Some(Field::new("", of?, true)));
            let given = given.collect::<Option<Vec<_>>>();
            let given = given.ok_or_else(|| bail_out("an argument that is missing"))?;
            let call = NativeCall {
                function: NativeCallee::Python(*node),
                arguments: &given,
                memory: MemoryConsumer::new("NativeFunction").register(pool),
            };
            let Some(NativeFunction::Aggregate(function)) = sources.native_function(call)? else {
                return Ok(None);
            };
            let result = &called.column.data_type;
            if *function.result() != of(result)? {
                return Ok(None);
            }
            let result = result.to_arrow().map_err(|why| bail_out(why.to_string()))?;
            functions.push(GroupFunction {
                function,
                arguments,
                result,
            });
        }
        Ok(Some(Self { functions, types }))
    }

    /// The same over an input that is sorted by its keys.
    pub(super) fn over(self, input: GroupInput) -> NativeGroups {
        NativeGroups {
            functions: self.functions,
            types: self.types,
            input: input.input,
            keys: input.keys,
            given: input.given,
            beginnings: input.beginnings,
            open: None,
        }
    }
}

impl NativeGroups {
    /// Results of the next groups, in the order in which these begin; `None` if there are no more.
    ///
    /// # Errors
    /// A function fails.
    pub(super) fn next(&mut self) -> Result<Option<(Vec<ArrayRef>, usize)>> {
        loop {
            let Some(batch) = wait_for_next(&mut self.input).transpose()? else {
                return match self.open.take() {
                    Some(_) => self.finish(1).map(|results| Some((results, 1))),
                    None => Ok(None),
                };
            };
            if batch.num_rows() == 0 {
                continue;
            }
            let (ended, start) = self.take(&batch)?;
            let last = batch.slice(start, batch.num_rows() - start);
            let results = match ended {
                0 => None,
                ended => Some((self.finish(number(ended)?)?, ended)),
            };
            // The group that goes on is the functions' first from now on.
            self.update(&last, vec![0; last.num_rows()], 1)?;
            if results.is_some() {
                return Ok(results);
            }
        }
    }

    /// Gives the functions the rows of a batch that are of groups which end before its last one: how many groups have
    /// ended, and where the last one starts.
    fn take(&mut self, batch: &RecordBatch) -> Result<(usize, usize)> {
        let rows = batch.num_rows();
        let keys = self.keys.of(batch)?;
        let runs = runs(&keys, rows)?;
        let goes_on = match &self.open {
            Some(open) => same_keys(open, &keys)?,
            None => false,
        };
        let before = usize::from(self.open.is_some() && !goes_on);
        let Some((last, ended)) = runs.split_last() else {
            return Ok((0, 0));
        };
        let firsts = runs.iter().skip(usize::from(goes_on)).map(|run| run.start);
        self.beginnings.add(batch, firsts.collect())?;
        let ends = before + ended.len();
        let mut groups = Vec::with_capacity(last.start);
        for (place, run) in ended.iter().enumerate() {
            groups.extend(std::iter::repeat_n(number(before + place)?, run.len()));
        }
        if !groups.is_empty() {
            self.update(&batch.slice(0, last.start), groups, number(ends)?)?;
        }
        let of_last = keys.iter().map(|column| column.slice(last.start, 1));
        self.open = Some(of_last.collect());
        Ok((ends, last.start))
    }

    fn update(&mut self, batch: &RecordBatch, groups: Vec<u32>, count: u32) -> Result<()> {
        let groups = UInt32Array::from(groups);
        let given = evaluate(&self.given, batch)?;
        let given = given.iter().zip(&self.types);
        let given = given.map(|(column, of)| converted(column, of));
        let given = given.collect::<Result<Vec<_>>>()?;
        for of in &mut self.functions {
            let arguments = of.arguments.iter().map(|place| given.get(*place).cloned());
            let arguments = arguments.collect::<Option<Vec<_>>>();
            let arguments = arguments.ok_or_else(|| bail_out("an argument that is missing"))?;
            of.function.update(&arguments, &groups, count)?;
        }
        Ok(())
    }

    fn finish(&mut self, count: u32) -> Result<Vec<ArrayRef>> {
        let functions = self.functions.iter_mut();
        let results = functions.map(|of| converted(&of.function.finish(count)?, &of.result));
        results.collect()
    }
}

/// Number of a group in a batch, of which there are fewer than rows.
fn number(place: usize) -> Result<u32> {
    u32::try_from(place).map_err(|_| bail_out("a batch of too many groups"))
}
