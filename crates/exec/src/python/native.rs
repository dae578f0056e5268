//! Columns that functions of shared libraries compute, which functions of Python stand for.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::{DataType as ArrowType, Field};
use catalyst::DataType;
use datafusion_common::Result;
use datafusion_execution::memory_pool::{MemoryConsumer, MemoryPool};
use datafusion_physical_expr::PhysicalExpr;
use rows::error::bail_out;
use rows::types::ToArrow as _;

use super::conversion::{converted, type_for_python};
use super::evaluation::argument;
use super::stream::known_zone;
use crate::native_functions::{NativeCall, NativeCallee, NativeFunction, NativeScalar};
use crate::sources::{PythonCallee, Sources};

/// A column of results: of functions of which each takes what the one before it gives.
pub(super) struct NativeColumn {
    /// Places of the first one's arguments, and their types for it.
    arguments: Vec<(usize, ArrowType)>,
    functions: Vec<Box<dyn NativeScalar>>,
    /// The type in the lane.
    result: ArrowType,
}

/// What may stand for native functions.
pub(super) struct Candidates<'a> {
    /// The functions, and the types of their results.
    pub(super) callees: &'a [PythonCallee],
    pub(super) results: &'a [DataType],
    /// Types of what they are given.
    pub(super) arguments: &'a [DataType],
}

/// The type of a column for a function, as Python would get it.
fn type_for(of: &DataType, zone: &Arc<str>) -> Result<ArrowType> {
    type_for_python(of, zone).map_err(|why| bail_out(why.to_string()))
}

/// A column without a name.
fn argument_of(of: ArrowType) -> Field {
    Field::new("", of, true)
}

impl Candidates<'_> {
    /// For each function the column that native functions compute in its place, if they do.
    ///
    /// # Errors
    /// A native function does not take the task.
    pub(super) fn native(
        &self,
        sources: &dyn Sources,
        pool: &Arc<dyn MemoryPool>,
    ) -> Result<Vec<Option<NativeColumn>>> {
        let all = self.arguments.iter().chain(self.results);
        let session = sources.session_time_zone();
        let Some(zone) = known_zone(session.as_deref(), all) else {
            return Ok(self.callees.iter().map(|_| None).collect());
        };
        let callees = self.callees.iter().zip(self.results);
        let columns =
            callees.map(|(callee, result)| self.column(callee, result, (sources, pool, &zone)));
        columns.collect()
    }

    fn column(
        &self,
        callee: &PythonCallee,
        result: &DataType,
        (sources, pool, zone): (&dyn Sources, &Arc<dyn MemoryPool>, &Arc<str>),
    ) -> Result<Option<NativeColumn>> {
        // What calls by name would mean is Python's to know.
        if callee.arguments.iter().any(|(_, name)| name.is_some()) {
            return Ok(None);
        }
        let mut arguments = Vec::new();
        for (place, _) in &callee.arguments {
            let of = self.arguments.get(*place);
            let of = of.ok_or_else(|| bail_out("an argument that is missing"))?;
            arguments.push((*place, type_for(of, zone)?));
        }
        let mut functions: Vec<Box<dyn NativeScalar>> = Vec::new();
        for node in &callee.functions {
            let given = match functions.last() {
                Some(before) => vec![before.result().clone()],
                None => arguments.iter().map(|(_, of)| of.clone()).collect(),
            };
            let given: Vec<Field> = given.into_iter().map(argument_of).collect();
            let call = NativeCall {
                function: NativeCallee::Python(*node),
                arguments: &given,
                memory: MemoryConsumer::new("NativeFunction").register(pool),
            };
            match sources.native_function(call)? {
                Some(NativeFunction::Scalar(function)) => functions.push(function),
                _ => return Ok(None),
            }
        }
        let gives = functions.last().map(|function| function.result());
        if gives != Some(&type_for(result, zone)?) {
            return Ok(None);
        }
        let result = result.to_arrow().map_err(|why| bail_out(why.to_string()))?;
        Ok(Some(NativeColumn {
            arguments,
            functions,
            result,
        }))
    }
}

impl NativeColumn {
    /// The results for rows.
    ///
    /// # Errors
    /// A function fails.
    pub(super) fn evaluate(
        &mut self,
        arguments: &[Arc<dyn PhysicalExpr>],
        batch: &RecordBatch,
    ) -> Result<ArrayRef> {
        let mut given = Vec::with_capacity(self.arguments.len());
        for (place, of) in &self.arguments {
            given.push(converted(&argument(arguments, *place, batch)?, of)?);
        }
        for function in &mut self.functions {
            given = vec![function.execute(&given, batch.num_rows())?];
        }
        let [result] = &given[..] else {
            return Err(bail_out("a native function without results"));
        };
        converted(result, &self.result)
    }
}
