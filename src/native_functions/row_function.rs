//! Scalar functions that are called for one `UnsafeRow` at a time: from JVMs.

use std::path::Path;
use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::DataType as ArrowType;
use catalyst::DataType;
use datafusion_common::{DataFusionError, Result};
use exec::{NativeScalar, RowCall};
use rows::error::{RunError, bail_out};

use super::bound::BoundFunction;
use super::host::{TaskFacts, TaskMemory};
use super::library::{Function, Kind};
use super::marker::Marker;
use super::spark_types::spark_type;

/// A scalar function, bound for a task.
#[derive(Debug)]
pub struct RowFunction(RowCall);

/// Memory that nobody counts here: it is the JVM's to have room for it.
#[derive(Debug)]
pub struct UncountedMemory;

impl TaskMemory for UncountedMemory {
    fn reserve(&self, _: usize) -> bool {
        true
    }

    fn release(&self, _: usize) {}
}

impl RowFunction {
    /// Binds the function of a library's file to the types of its signature.
    ///
    /// # Errors
    /// The file has no such function, or it does not take them.
    pub fn bind(
        path: &Path,
        marker: &Marker,
        facts: TaskFacts,
    ) -> std::result::Result<Self, String> {
        let zone = facts.time_zone.clone();
        let bound = BoundFunction::bind(path, marker, None, facts);
        let bound = bound.map_err(|why| why.to_string())??;
        if bound.kind() != Kind::Scalar {
            return Err(format!("{} is no scalar function", marker.title()));
        }
        let odd = || format!("{} has odd types", marker.title());
        let arguments = bound
            .arguments()
            .iter()
            .map(|field| spark_type(field.data_type()));
        let arguments: Vec<_> = arguments.collect::<Option<_>>().ok_or_else(odd)?;
        let result = spark_type(bound.result()).ok_or_else(odd)?;
        let call = RowCall::new(&arguments, &result, &zone, Box::new(Scalar(bound)));
        call.map(Self).map_err(words)
    }

    /// The result for the bytes of a row: a row of one column, or none if it is null.
    ///
    /// # Errors
    /// The function fails, or the row is another.
    pub fn call(&mut self, row: &[u8]) -> std::result::Result<Option<Vec<u8>>, String> {
        self.0.call(row).map_err(words)
    }
}

/// Spark's types of what a function that is none of a partition takes and gives.
///
/// # Errors
/// It has no such signature.
pub fn types_of(
    function: &Arc<Function>,
    signature: usize,
    zone: &str,
) -> std::result::Result<(Vec<DataType>, DataType), String> {
    let odd = || format!("{} has odd types", function.title);
    let signature = function.signatures.get(signature).ok_or_else(odd)?;
    let of = |text| {
        let types = functions::types::types(text, zone).map_err(|why| why.to_string())?;
        let types: Option<Vec<_>> = types.iter().map(spark_type).collect();
        types.ok_or_else(odd)
    };
    let result = of(&signature.result)?.into_iter().next();
    Ok((of(&signature.arguments)?, result.ok_or_else(odd)?))
}

/// What an error says to users.
fn words(error: DataFusionError) -> String {
    RunError::of(error).to_string()
}

struct Scalar(BoundFunction);

impl NativeScalar for Scalar {
    fn result(&self) -> &ArrowType {
        self.0.result()
    }

    fn execute(&mut self, arguments: &[ArrayRef], rows: usize) -> Result<ArrayRef> {
        let results = self.0.execute(arguments, rows);
        results.map_err(|why| bail_out(why.to_string()))
    }
}
