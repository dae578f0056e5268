//! Functions of shared libraries, as tasks call them.

use arrow::array::{ArrayRef, RecordBatch, RecordBatchReader, UInt32Array};
use arrow::datatypes::{DataType as ArrowType, Field, Fields};
use catalyst::NativeUdf;
use datafusion_common::Result;
use datafusion_execution::memory_pool::MemoryReservation;
use javaser::arena::NodeId;

/// Which native function is called.
#[derive(Debug, Clone, Copy)]
pub enum NativeCallee<'a> {
    /// The one that a `PythonFunction` stands for, a node of the stage's graph.
    Python(NodeId),
    /// One that the query names. There is no other that could be called in its place.
    Library(&'a NativeUdf),
}

/// Who might call a native function.
#[derive(Debug)]
pub struct NativeCall<'a> {
    /// The function.
    pub function: NativeCallee<'a>,
    /// Types of what it is given: arguments, or the columns of its input.
    pub arguments: &'a [Field],
    /// For what it keeps.
    pub memory: MemoryReservation,
}

/// A native function, for one task.
pub enum NativeFunction {
    /// A value for each row.
    Scalar(Box<dyn NativeScalar>),
    /// A value for each group.
    Aggregate(Box<dyn NativeAggregate>),
    /// Rows of all rows.
    Partition(Box<dyn NativePartition>),
}

/// A native function that gives a value for each row.
pub trait NativeScalar: Send {
    /// The type of its values.
    fn result(&self) -> &ArrowType;

    /// Its values for rows.
    ///
    /// # Errors
    /// It fails, or notices that the task was killed.
    fn execute(&mut self, arguments: &[ArrayRef], rows: usize) -> Result<ArrayRef>;
}

/// A native function that gives a value for each group.
pub trait NativeAggregate: Send {
    /// The type of its values.
    fn result(&self) -> &ArrowType;

    /// Takes rows, with the number of the group of each, of so many groups.
    ///
    /// # Errors
    /// It fails, or there is no memory for what it keeps.
    fn update(&mut self, arguments: &[ArrayRef], groups: &UInt32Array, count: u32) -> Result<()>;

    /// The values of so many groups, which are forgotten.
    ///
    /// # Errors
    /// It fails.
    fn finish(&mut self, count: u32) -> Result<ArrayRef>;
}

/// Rows that a native function makes, of all rows of a partition.
pub trait NativePartition: Send {
    /// The columns of its rows.
    fn result(&self) -> &Fields;

    /// Rows for rows.
    ///
    /// # Errors
    /// It fails.
    fn open(self: Box<Self>, input: NativeInput) -> Result<NativeOutput>;
}

/// Rows for a native function.
pub type NativeInput = Box<dyn RecordBatchReader + Send>;

/// Rows of a native function.
pub type NativeOutput = Box<dyn Iterator<Item = Result<RecordBatch>> + Send>;
