//! Functions that were bound for a task: in this process, or in one of their own.

use std::path::Path;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, RecordBatchReader, UInt32Array};
use arrow::datatypes::{DataType, Fields};

use super::error::FunctionError;
use super::host::TaskFacts;
use super::instance::Instance;
use super::isolated::{Isolated, IsolatedInstance, IsolatedRows, isolation};
use super::libraries::function_of;
use super::library::Kind;
use super::marker::Marker;
use super::stream::OutputStream;

/// A function that was bound. It is used by one thread at a time.
#[derive(Debug)]
pub struct BoundFunction(Where);

#[derive(Debug)]
enum Where {
    Here(Instance),
    Isolated(IsolatedInstance),
}

/// Rows that come out of a partition function.
pub struct FunctionRows(RowsOf);

enum RowsOf {
    Here(OutputStream),
    Isolated(IsolatedRows),
}

impl BoundFunction {
    /// Binds a function of a library's file, or says why it cannot be called. `input` are the columns of the rows that
    /// it is given, if it is one of partitions.
    ///
    /// # Errors
    /// It does not take its arguments, or fails.
    pub fn bind(
        path: &Path,
        marker: &Marker,
        input: Option<&Fields>,
        facts: TaskFacts,
    ) -> Result<Result<Self, String>, FunctionError> {
        if let Some(isolated) = isolation() {
            return isolated.bind(path, marker, input, facts);
        }
        let function = match function_of(path, marker) {
            Ok(function) => function,
            Err(why) => return Ok(Err(why)),
        };
        let input = input.filter(|_| function.kind == Kind::Partition);
        let bound = Instance::bind(&function, marker.signature, input, facts)?;
        Ok(Ok(Self(Where::Here(bound))))
    }

    /// What it is.
    pub fn kind(&self) -> Kind {
        match &self.0 {
            Where::Here(here) => here.function.kind,
            Where::Isolated(isolated) => isolated.kind,
        }
    }

    /// The columns that calls are given.
    pub fn arguments(&self) -> &Fields {
        match &self.0 {
            Where::Here(here) => here.arguments(),
            Where::Isolated(isolated) => &isolated.arguments,
        }
    }

    /// The type of results: of partition and table functions, a struct.
    pub fn result(&self) -> &DataType {
        match &self.0 {
            Where::Here(here) => here.result(),
            Where::Isolated(isolated) => &isolated.result,
        }
    }

    /// As [`Instance::execute`].
    ///
    /// # Errors
    /// The function fails, or gives something else.
    pub fn execute(
        &mut self,
        arguments: &[ArrayRef],
        rows: usize,
    ) -> Result<ArrayRef, FunctionError> {
        match &mut self.0 {
            Where::Here(here) => here.execute(arguments, rows),
            Where::Isolated(isolated) => isolated.execute(arguments, rows),
        }
    }

    /// As [`Instance::update`].
    ///
    /// # Errors
    /// The function fails, or there is no memory for what it keeps.
    pub fn update(
        &mut self,
        arguments: &[ArrayRef],
        of: &UInt32Array,
        groups: u32,
    ) -> Result<(), FunctionError> {
        match &mut self.0 {
            Where::Here(here) => here.update(arguments, of, groups),
            Where::Isolated(isolated) => isolated.update(arguments, of, groups),
        }
    }

    /// As [`Instance::finish`].
    ///
    /// # Errors
    /// The function fails, or gives something else.
    pub fn finish(&mut self, groups: u32) -> Result<ArrayRef, FunctionError> {
        match &mut self.0 {
            Where::Here(here) => here.finish(groups),
            Where::Isolated(isolated) => isolated.finish(groups),
        }
    }

    /// As [`Instance::open`].
    ///
    /// # Errors
    /// The function fails, or gives other columns.
    pub fn open(
        self,
        input: Box<dyn RecordBatchReader + Send>,
    ) -> Result<FunctionRows, FunctionError> {
        Ok(FunctionRows(match self.0 {
            Where::Here(here) => RowsOf::Here(here.open(input)?),
            Where::Isolated(isolated) => RowsOf::Isolated(isolated.open(input)?),
        }))
    }
}

impl Isolated {
    /// As [`BoundFunction::bind`], in a process.
    ///
    /// # Errors
    /// As there; or the process ends.
    pub fn bind(
        self: &Arc<Self>,
        path: &Path,
        marker: &Marker,
        input: Option<&Fields>,
        facts: TaskFacts,
    ) -> Result<Result<BoundFunction, String>, FunctionError> {
        let bound = IsolatedInstance::bind(self, (path, marker), input, facts)?;
        Ok(bound.map(|bound| BoundFunction(Where::Isolated(bound))))
    }
}

impl FunctionRows {
    /// As [`OutputStream::next_rows`].
    ///
    /// # Errors
    /// The function fails, or gives other columns.
    pub fn next_rows(&mut self) -> Result<Option<RecordBatch>, FunctionError> {
        match &mut self.0 {
            RowsOf::Here(here) => here.next_rows(),
            RowsOf::Isolated(isolated) => isolated.next_rows(),
        }
    }
}
