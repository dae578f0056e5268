//! Partition and table functions: rows in, rows out.

#![allow(unsafe_code)]

use std::ffi::CStr;

use arrow::array::{Array as _, AsArray, RecordBatch, RecordBatchReader, StructArray};
use arrow::datatypes::{DataType, Field, Fields, Schema};
use arrow::ffi::FFI_ArrowSchema;
use functions::abi::{ArrowArray, ArrowArrayStream};

use super::crash::Calling;
use super::error::FunctionError;
use super::instance::Instance;
use super::library::{Failure, Kind};
use super::raw;
use functions::types::fits;

/// Rows that come out of a function.
#[derive(Debug)]
pub struct OutputStream {
    /// Released before the instance is freed.
    stream: ArrowArrayStream,
    instance: Instance,
    of: DataType,
}

// SAFETY: the interface has it read by one thread at a time; see `Instance`.
unsafe impl Send for OutputStream {}

impl Instance {
    /// The type of the rows that a partition or table function gives.
    pub(super) fn row_type(&self) -> DataType {
        match self.function.kind {
            Kind::Table => DataType::Struct(Fields::from(vec![
                Field::new("call", DataType::Int64, true),
                Field::new("row", self.result().clone(), true),
            ])),
            _ => self.result().clone(),
        }
    }

    /// Lets a partition or table function take rows.
    ///
    /// # Errors
    /// The function fails, or gives other columns.
    pub fn open(
        self,
        input: Box<dyn RecordBatchReader + Send>,
    ) -> Result<OutputStream, FunctionError> {
        let Some(open) = self.function.abi.open else {
            return Err(self.other_kind());
        };
        let of = self.row_type();
        let mut input = ArrowArrayStream::new(input);
        let (mut failure, mut stream) = (Failure::new(), ArrowArrayStream::empty());
        let status = {
            let _calling = Calling::new(self.function.last_words);
            // SAFETY: all are valid for the call. Of the input, `release` is NULL afterwards if it was taken; else it
            // is released here.
            unsafe {
                open(
                    self.pointer,
                    self.task.abi(),
                    &raw mut input,
                    &raw mut stream,
                    failure.abi(),
                )
            }
        };
        failure.check(status, self.function.title)?;
        let mut output = OutputStream {
            stream,
            instance: self,
            of,
        };
        output.check_schema()?;
        Ok(output)
    }
}

impl OutputStream {
    /// A failure of the function.
    pub(super) fn failed(&self, what: impl std::fmt::Display) -> FunctionError {
        FunctionError::of(self.instance.function.title, what)
    }

    fn check_schema(&mut self) -> Result<(), FunctionError> {
        let (Some(get_schema), Some(_)) = (self.stream.get_schema, self.stream.release) else {
            return Err(self.failed("gave no stream, or one without a release callback"));
        };
        let mut schema = FFI_ArrowSchema::empty();
        let code = {
            let _calling = Calling::new(self.instance.function.last_words);
            // SAFETY: the stream is alive, and the schema is written.
            unsafe { get_schema(&raw mut self.stream, &raw mut schema) }
        };
        if code != 0 {
            return Err(self.error(code));
        }
        let schema = Schema::try_from(&schema);
        let schema = schema.map_err(|why| self.failed(format!("gave an odd schema: {why}")))?;
        let given = DataType::Struct(schema.fields);
        match fits(&self.of, &given) {
            true => Ok(()),
            false => Err(self.failed(format!("gives {given}, and said {}", self.of))),
        }
    }

    /// What the stream says of its last error.
    fn error(&mut self, code: i32) -> FunctionError {
        let words = self.stream.get_last_error.map(|get_last_error| {
            // SAFETY: the stream is alive.
            let words = unsafe { get_last_error(&raw mut self.stream) };
            match words.is_null() {
                true => String::new(),
                // SAFETY: a text that ends with a NUL, as the specification says.
                false => unsafe { CStr::from_ptr(words) }
                    .to_string_lossy()
                    .into_owned(),
            }
        });
        let title = self.instance.function.title;
        let colon = words
            .as_ref()
            .map_or("", |words| if words.is_empty() { "" } else { ": " });
        let words = words.unwrap_or_default();
        match code {
            libc::EINVAL => FunctionError::Refused(format!("{title} failed{colon}{words}")),
            libc::ENOMEM => FunctionError::Refused(format!("{title} has no memory{colon}{words}")),
            libc::ECANCELED => FunctionError::Cancelled(title.to_owned()),
            code => self.failed(format!("has a bug (error {code}){colon}{words}")),
        }
    }

    /// The next rows; `None` at the end. Of a table function, with the number of the call in a column before them.
    ///
    /// # Errors
    /// The function fails, or gives other columns.
    pub fn next_rows(&mut self) -> Result<Option<RecordBatch>, FunctionError> {
        let Some(get_next) = self.stream.get_next else {
            return Err(self.failed("gave a stream that cannot be read"));
        };
        let mut array = ArrowArray::empty();
        let code = {
            let _calling = Calling::new(self.instance.function.last_words);
            // SAFETY: the stream is alive, and the array is written.
            unsafe { get_next(&raw mut self.stream, &raw mut array) }
        };
        if code != 0 {
            return Err(self.error(code));
        }
        // The end.
        if array.is_released() {
            return Ok(None);
        }
        // SAFETY: it was zero and was filled in by the library.
        let rows = unsafe { raw::import(array, &self.of) };
        let rows = rows.map_err(|why| self.failed(why))?;
        let rows: &StructArray = rows.as_struct();
        if rows.null_count() > 0 {
            return Err(self.failed("gave rows that are null"));
        }
        Ok(Some(RecordBatch::from(rows)))
    }
}

impl Drop for OutputStream {
    fn drop(&mut self) {
        let _calling = Calling::new(self.instance.function.last_words);
        drop(std::mem::replace(
            &mut self.stream,
            ArrowArrayStream::empty(),
        ));
    }
}
