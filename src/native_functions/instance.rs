//! A function that was bound to types, for one task.

#![allow(unsafe_code)]

use std::ffi::c_void;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BooleanArray, StructArray, UInt32Array};
use arrow::buffer::NullBuffer;
use arrow::compute::{filter, take};
use arrow::datatypes::{DataType, Field, Fields};
use arrow::ffi::FFI_ArrowSchema;
use functions::abi::{ArrowArray, firesteel_failure, firesteel_status, firesteel_task};
use functions::types::{TypeError, columns, fits, types};

use super::crash::Calling;
use super::error::FunctionError;
use super::host::{HostTask, NOTHING, TaskFacts};
use super::library::{Failure, Function, Kind, Nulls, Signature};
use super::raw;

/// A bound function. Used by one thread at a time; `execute`, `update` and the others are of its kind.
#[derive(Debug)]
pub struct Instance {
    pub(super) function: Arc<Function>,
    pub(super) task: HostTask,
    pub(super) pointer: *mut c_void,
    arguments: Fields,
    result: DataType,
    state: Fields,
    /// Bytes that an aggregate said it keeps, and that are taken from the task's memory.
    kept: usize,
}

// SAFETY: the interface lets an instance be used by one thread at a time, whichever it is.
unsafe impl Send for Instance {}

/// A call that fills in one array.
type Gives<'a> = &'a mut dyn FnMut(*mut ArrowArray, *mut firesteel_failure) -> firesteel_status;

impl Instance {
    /// Binds a function to the types of one of its signatures; `input` are the columns that a partition function is
    /// given.
    ///
    /// # Errors
    /// It has no such signature, does not take the input, or fails.
    pub fn bind(
        function: &Arc<Function>,
        signature: usize,
        input: Option<&Fields>,
        facts: TaskFacts,
    ) -> Result<Self, FunctionError> {
        let failed = |what: String| FunctionError::of(function.title, what);
        let types_of = function.signatures.get(signature);
        let types_of = types_of.ok_or_else(|| failed(format!("has no signature {signature}")))?;
        let zone = facts.time_zone.as_str();
        let title = function.title;
        let (arguments, result) = bound_types(function.kind, types_of, input, (title, zone))?;
        let state = columns(&function.state, zone);
        let mut instance = Self {
            state: state.map_err(|why| odd_types(title, why))?,
            task: HostTask::new(facts),
            function: Arc::clone(function),
            pointer: NOTHING,
            arguments,
            result,
            kept: 0,
        };
        instance.call_bind(signature)?;
        Ok(instance)
    }

    fn call_bind(&mut self, signature: usize) -> Result<(), FunctionError> {
        let Some(bind) = self.function.abi.bind else {
            return Ok(());
        };
        let title = self.function.title;
        let of = DataType::Struct(self.arguments.clone());
        let schema = FFI_ArrowSchema::try_from(&of);
        let schema = schema.map_err(|why| FunctionError::of(title, why))?;
        let (mut failure, mut pointer) = (Failure::new(), NOTHING);
        let status = {
            let _calling = Calling::new(self.function.last_words);
            // SAFETY: all are valid for the call, the task as long as the instance.
            unsafe {
                bind(
                    self.function.pointer,
                    self.task.abi(),
                    signature,
                    &raw const schema,
                    std::ptr::null(),
                    std::ptr::null(),
                    &raw mut pointer,
                    failure.abi(),
                )
            }
        };
        failure.check(status, title)?;
        self.pointer = pointer;
        Ok(())
    }

    /// The columns that calls are given.
    pub fn arguments(&self) -> &Fields {
        &self.arguments
    }

    /// The type of results: of partition and table functions, a struct.
    pub fn result(&self) -> &DataType {
        &self.result
    }

    /// The columns of an aggregate's state.
    pub fn state(&self) -> &Fields {
        &self.state
    }

    /// The values of a scalar function for rows, of which there may be none. Those with nulls give null if the function
    /// is not to see them.
    ///
    /// # Errors
    /// The function fails, or gives something else.
    pub fn execute(
        &mut self,
        arguments: &[ArrayRef],
        rows: usize,
    ) -> Result<ArrayRef, FunctionError> {
        if self.function.nulls == Nulls::Given {
            return self.execute_all(arguments, rows, None);
        }
        match without_nulls(arguments, rows)? {
            None => self.execute_all(arguments, rows, None),
            Some((arguments, kept)) => {
                let results = self.execute_all(&arguments, kept.true_count(), Some(&kept))?;
                scattered(&results, &kept)
            }
        }
    }

    /// Of rows that were `kept` of others, if not all were.
    fn execute_all(
        &mut self,
        arguments: &[ArrayRef],
        rows: usize,
        kept: Option<&BooleanArray>,
    ) -> Result<ArrayRef, FunctionError> {
        match rows {
            0 => Ok(arrow::array::new_empty_array(&self.result)),
            _ => self.execute_always(arguments, rows, kept),
        }
    }

    /// As [`Instance::execute`], with nulls and also if there are no rows.
    pub(super) fn execute_always(
        &mut self,
        arguments: &[ArrayRef],
        rows: usize,
        kept: Option<&BooleanArray>,
    ) -> Result<ArrayRef, FunctionError> {
        let of = self.result.clone();
        let Some(execute) = self.function.abi.execute else {
            return Err(self.other_kind());
        };
        let arguments = exported(self.row(&self.arguments, arguments, rows)?);
        let (pointer, task) = (self.pointer, self.task.abi());
        self.given((&of, rows, kept), &mut |result, failure| {
            // SAFETY: all are valid for the call.
            unsafe { execute(pointer, task, &raw const arguments, result, failure) }
        })
    }

    /// Gives rows to an aggregate, with the number of the group of each. Rows with nulls are left out if the function
    /// is not to see them.
    ///
    /// # Errors
    /// The function fails, or there is no memory for what it keeps.
    pub fn update(
        &mut self,
        arguments: &[ArrayRef],
        groups: &UInt32Array,
        group_count: u32,
    ) -> Result<(), FunctionError> {
        let kept = match self.function.nulls {
            Nulls::Given => None,
            Nulls::Skipped => without_nulls(arguments, groups.len())?,
        };
        let Some(update) = self.function.abi.update else {
            return Err(self.other_kind());
        };
        match kept {
            None => self.push(
                update,
                &self.arguments.clone(),
                arguments,
                (groups, group_count, None),
            ),
            Some((arguments, kept)) => {
                let groups = filter(groups, &kept);
                let groups = groups.map_err(|why| FunctionError::of(self.function.title, why))?;
                let groups = UInt32Array::from(groups.to_data());
                self.push(
                    update,
                    &self.arguments.clone(),
                    &arguments,
                    (&groups, group_count, Some(&kept)),
                )
            }
        }
    }

    /// Gives states of groups to an aggregate.
    ///
    /// # Errors
    /// As of [`Instance::update`]
    pub fn merge(
        &mut self,
        states: &[ArrayRef],
        groups: &UInt32Array,
        group_count: u32,
    ) -> Result<(), FunctionError> {
        let Some(merge) = self.function.abi.merge else {
            return Err(self.other_kind());
        };
        self.push(
            merge,
            &self.state.clone(),
            states,
            (groups, group_count, None),
        )
    }

    fn push(
        &mut self,
        call: unsafe extern "C" fn(
            *mut c_void,
            *const firesteel_task,
            *const ArrowArray,
            *const u32,
            u32,
            *mut firesteel_failure,
        ) -> firesteel_status,
        fields: &Fields,
        columns: &[ArrayRef],
        (groups, group_count, kept): (&UInt32Array, u32, Option<&BooleanArray>),
    ) -> Result<(), FunctionError> {
        let columns = exported(self.row(fields, columns, groups.len())?);
        let mut failure = Failure::new();
        let status = {
            let _calling = Calling::new(self.function.last_words);
            // SAFETY: all are valid for the call, and there is a group for each row.
            unsafe {
                call(
                    self.pointer,
                    self.task.abi(),
                    &raw const columns,
                    groups.values().as_ptr(),
                    group_count,
                    failure.abi(),
                )
            }
        };
        failure.check_of(status, self.function.title, kept)?;
        self.account()
    }

    /// Takes what an aggregate keeps from the task's memory, or gives it back.
    fn account(&mut self) -> Result<(), FunctionError> {
        let Some(size) = self.function.abi.size else {
            return Ok(());
        };
        // SAFETY: the instance lives.
        let now = unsafe { size(self.pointer) };
        let memory = &self.task.facts().memory;
        match now.checked_sub(self.kept) {
            Some(more) if more > 0 && !memory.reserve(more) => {
                let title = self.function.title;
                return Err(FunctionError::Refused(format!(
                    "{title} has no memory for {now} bytes"
                )));
            }
            Some(_) => {}
            None => memory.release(self.kept - now),
        }
        self.kept = now;
        Ok(())
    }

    /// The states of groups 0 to `group_count`.
    ///
    /// # Errors
    /// The function fails, or gives something else.
    pub fn states(&mut self, group_count: u32) -> Result<ArrayRef, FunctionError> {
        let Some(states) = self.function.abi.states else {
            return Err(self.other_kind());
        };
        let (of, rows) = (DataType::Struct(self.state.clone()), group_count as usize);
        let (pointer, task) = (self.pointer, self.task.abi());
        self.given((&of, rows, None), &mut |result, failure| {
            // SAFETY: all are valid for the call.
            unsafe { states(pointer, task, group_count, result, failure) }
        })
    }

    /// The results of groups 0 to `group_count`, which are forgotten.
    ///
    /// # Errors
    /// As of [`Instance::states`]
    pub fn finish(&mut self, group_count: u32) -> Result<ArrayRef, FunctionError> {
        let Some(finish) = self.function.abi.finish else {
            return Err(self.other_kind());
        };
        let (of, rows) = (self.result.clone(), group_count as usize);
        let (pointer, task) = (self.pointer, self.task.abi());
        let results = self.given((&of, rows, None), &mut |result, failure| {
            // SAFETY: all are valid for the call.
            unsafe { finish(pointer, task, group_count, result, failure) }
        })?;
        self.account()?;
        Ok(results)
    }

    /// Lets a call fill in an array, which is to have this type and so many values.
    fn given(
        &self,
        (of, rows, kept): (&DataType, usize, Option<&BooleanArray>),
        call: Gives<'_>,
    ) -> Result<ArrayRef, FunctionError> {
        let title = self.function.title;
        let (mut failure, mut result) = (Failure::new(), ArrowArray::empty());
        let status = {
            let _calling = Calling::new(self.function.last_words);
            call(&raw mut result, failure.abi())
        };
        failure.check_of(status, title, kept)?;
        // SAFETY: it was zero and was filled in by the library.
        let result = unsafe { raw::import(result, of) };
        let result = result.map_err(|why| FunctionError::of(title, why))?;
        match result.len() == rows {
            true => Ok(result),
            false => Err(FunctionError::of(
                title,
                format!("gave {} values for {rows} rows", result.len()),
            )),
        }
    }

    /// One struct of columns.
    pub(super) fn row(
        &self,
        fields: &Fields,
        columns: &[ArrayRef],
        rows: usize,
    ) -> Result<StructArray, FunctionError> {
        let made = match fields.is_empty() {
            true => Ok(StructArray::new_empty_fields(rows, None)),
            false => StructArray::try_new_with_length(fields.clone(), columns.to_vec(), None, rows),
        };
        made.map_err(|why| {
            FunctionError::of(
                self.function.title,
                format!("is given other columns: {why}"),
            )
        })
    }

    pub(super) fn other_kind(&self) -> FunctionError {
        FunctionError::of(self.function.title, "is of another kind")
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        if let Some(unbind) = self.function.abi.unbind
            && !self.pointer.is_null()
        {
            let _calling = Calling::new(self.function.last_words);
            // SAFETY: the instance was bound, is unbound once, and nobody uses it any more.
            unsafe { unbind(self.pointer) };
        }
        if self.kept > 0 {
            self.task.facts().memory.release(self.kept);
        }
    }
}

fn odd_types(title: &str, why: TypeError) -> FunctionError {
    FunctionError::of(title, format!("has odd types: {why}"))
}

/// What a function of a kind is given and gives by one of its signatures; `input` are the columns that a partition
/// function is given.
///
/// # Errors
/// It does not take them, or the signature has no types.
pub(super) fn bound_types(
    kind: Kind,
    signature: &Signature,
    input: Option<&Fields>,
    (title, zone): (&str, &str),
) -> Result<(Fields, DataType), FunctionError> {
    let odd = |why| odd_types(title, why);
    if kind == Kind::Partition {
        let own = columns(&signature.arguments, zone).map_err(odd)?;
        let given = input.cloned().unwrap_or_else(|| own.clone());
        // Columns are known by their places; a function that names none takes any.
        let mut pairs = own.iter().zip(&given);
        let same = own.len() == given.len()
            && pairs.all(|(own, given)| fits(own.data_type(), given.data_type()));
        if !own.is_empty() && !same {
            return Err(FunctionError::NotApplicable(title.to_owned()));
        }
        let result = columns(&signature.result, zone).map_err(odd)?;
        return Ok((given, DataType::Struct(result)));
    }
    let own = types(&signature.arguments, zone).map_err(odd)?;
    let fields = own.into_iter().enumerate();
    let fields = fields.map(|(place, of)| Field::new(format!("_{place}"), of, true));
    let result = match kind {
        Kind::Table => DataType::Struct(columns(&signature.result, zone).map_err(odd)?),
        _ => {
            let results = types(&signature.result, zone).map_err(odd)?;
            let first = results.into_iter().next();
            first.ok_or_else(|| FunctionError::of(title, "gives nothing"))?
        }
    };
    Ok((fields.collect(), result))
}

/// For a call that borrows it.
fn exported(rows: StructArray) -> ArrowArray {
    ArrowArray::new(&rows.into())
}

/// Columns of the rows that have no null in any of them, and which rows these are; `None` if these are all.
///
/// # Errors
/// None that is known.
fn without_nulls(
    columns: &[ArrayRef],
    rows: usize,
) -> Result<Option<(Vec<ArrayRef>, BooleanArray)>, FunctionError> {
    let mut nulls: Option<NullBuffer> = None;
    for column in columns {
        nulls = NullBuffer::union(nulls.as_ref(), column.logical_nulls().as_ref());
    }
    let Some(nulls) = nulls.filter(|nulls| nulls.null_count() > 0 && nulls.len() == rows) else {
        return Ok(None);
    };
    let kept = BooleanArray::new(nulls.into_inner(), None);
    let columns = columns.iter().map(|column| filter(column, &kept));
    let columns = columns.collect::<Result<_, _>>();
    let columns = columns.map_err(|why| FunctionError::Failed(why.to_string()))?;
    Ok(Some((columns, kept)))
}

/// Values at the rows that were kept, and nulls at the others.
///
/// # Errors
/// There are other many.
fn scattered(values: &ArrayRef, kept: &BooleanArray) -> Result<ArrayRef, FunctionError> {
    let mut next = 0_u32;
    let places = kept.values().iter().map(|kept| {
        let place = kept.then_some(next);
        next += u32::from(kept);
        place
    });
    let places: UInt32Array = places.collect();
    take(values, &places, None).map_err(|why| FunctionError::Failed(why.to_string()))
}
