//! A stand-in for an executor, for tests: it calls the functions of a module through the C interface.
//!
//! ```
//! # use functions::arrow::array::{ArrayRef, Int32Array};
//! # use functions::guest::{Declaration, Module, scalar};
//! # use functions::testing::Host;
//! # fn module() -> Module {
//! #     let declaration = Declaration::new("same").signature("int", "int");
//! #     Module::new("m", "1").scalar(scalar(declaration, |_, arguments| Ok(arguments.column(0).clone())))
//! # }
//! let host = Host::new(module);
//! let same = host.bind("same", "int").unwrap();
//! let numbers: ArrayRef = std::sync::Arc::new(Int32Array::from(vec![1, 2]));
//! assert_eq!(&same.execute(&[numbers.clone()]).unwrap(), &numbers);
//! ```
//!
//! It panics where an executor would fail, and so nothing but tests should use it.

#![expect(clippy::unwrap_used, reason = "only for tests, which may panic")]
#![expect(clippy::missing_panics_doc, reason = "as above")]

use std::cell::Cell;
use std::ffi::{c_char, c_void};
use std::ptr::{from_ref, null, null_mut};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use arrow::array::{Array, ArrayRef, RecordBatch, StructArray, make_array};
use arrow::datatypes::{DataType, Field, Fields, Schema};
use arrow::ffi::from_ffi_and_data_type;
use arrow::ffi_stream::ArrowArrayStreamReader;
use arrow::record_batch::RecordBatchIterator;

use crate::abi::*;
use crate::guest::{Export, Module, raw};
use crate::types;

const TIME_ZONE: &str = "Asia/Tokyo";

/// An executor with one task, of stage 3 and partition 4, in the time zone `Asia/Tokyo` and with 1000 bytes of memory.
pub struct Host {
    functions: &'static [*const firesteel_function],
    pub(crate) task: Box<firesteel_task>,
    #[cfg_attr(not(test), expect(dead_code, reason = "the task has a pointer to it"))]
    pub(crate) host: Box<firesteel_host>,
    pub(crate) state: Box<State>,
}

#[derive(Default)]
pub(crate) struct State {
    pub(crate) cancelled: AtomicBool,
    pub(crate) limit: AtomicUsize,
    pub(crate) reserved: AtomicUsize,
    pub(crate) log: Mutex<Vec<(firesteel_log_level, String)>>,
}

impl Host {
    /// An executor that has loaded a module.
    pub fn new(module: fn() -> Module) -> Self {
        let state = Box::new(State::default());
        state.limit.store(1000, Ordering::Relaxed);
        let host = Box::new(host());
        let task = Box::new(firesteel_task {
            struct_size: size_of::<firesteel_task>(),
            host: from_ref(host.as_ref()),
            handle: from_ref(state.as_ref()).cast_mut().cast(),
            time_zone: firesteel_str::of(TIME_ZONE),
            ansi: 1,
            stage_id: 3,
            partition_id: 4,
            attempt_number: -1,
            task_attempt_id: 77,
        });
        Self {
            functions: functions(module),
            task,
            host,
            state,
        }
    }

    /// Cancels the task.
    pub fn cancel(&self) {
        self.state.cancelled.store(true, Ordering::Relaxed);
    }

    /// Bytes that the task's functions have reserved.
    pub fn reserved(&self) -> usize {
        self.state.reserved.load(Ordering::Relaxed)
    }

    /// Lines of the log, with `FIRESTEEL_LOG_…`.
    pub fn logged(&self) -> Vec<(firesteel_log_level, String)> {
        self.state.log.lock().unwrap().clone()
    }

    /// An instance of a function, for arguments of such types; or the columns `name:type, …` of a partition.
    ///
    /// # Errors
    /// The function does not take them.
    pub fn bind(&self, name: &str, arguments: &str) -> Result<Bound<'_>, Failed> {
        self.bind_with(name, arguments, &[])
    }

    /// As [`Host::bind`], with arrays of one value for the arguments that are constant.
    ///
    /// # Errors
    /// The function does not take them.
    pub fn bind_with(
        &self,
        name: &str,
        arguments: &str,
        constants: &[Option<ArrayRef>],
    ) -> Result<Bound<'_>, Failed> {
        let fields = match self.find(name).kind {
            FIRESTEEL_KIND_PARTITION => types::columns(arguments, TIME_ZONE).unwrap(),
            _ => fields_of(&types::types(arguments, TIME_ZONE).unwrap()),
        };
        let signature = self.signature(name, &fields);
        let schema = ArrowSchema::try_from(&Schema::new(fields.clone())).unwrap();
        let is_constant: Vec<u8> = constants
            .iter()
            .map(|value| value.is_some().into())
            .collect();
        let values = fields.iter().zip(constants).map(|(field, value)| {
            let null = arrow::array::new_null_array(field.data_type(), 1);
            value.clone().unwrap_or(null)
        });
        let values = (!constants.is_empty())
            .then(|| StructArray::new(fields.clone(), values.collect(), None))
            .map(|values| ArrowArray::new(&values.to_data()));
        let mut instance = null_mut();
        let function = self.find(name);
        let task = from_ref(self.task.as_ref());
        call(|failure| {
            // SAFETY: all are alive.
            unsafe {
                function.bind.unwrap()(
                    function,
                    task,
                    signature,
                    &raw const schema,
                    values.as_ref().map_or(null(), from_ref),
                    is_constant.as_ptr(),
                    &raw mut instance,
                    failure,
                )
            }
        })?;
        // SAFETY: a text of the module, which lives for ever.
        let result = unsafe { (*function.signatures.add(signature)).result };
        Ok(Bound {
            host: self,
            function,
            instance,
            result: text(result),
            group_count: Cell::new(0),
        })
    }

    pub(crate) fn find(&self, name: &str) -> &'static firesteel_function {
        // SAFETY: functions live for ever.
        let mut functions = self.functions.iter().map(|function| unsafe { &**function });
        let function = functions.find(|function| text(function.name) == name);
        function.unwrap_or_else(|| panic!("no function `{name}`"))
    }

    /// The first signature that takes such arguments, as an executor finds it; else the first.
    fn signature(&self, name: &str, fields: &Fields) -> usize {
        let function = self.find(name);
        // SAFETY: the module's, which live for ever.
        let signatures =
            unsafe { std::slice::from_raw_parts(function.signatures, function.signature_count) };
        let fits = |signature: &firesteel_signature| {
            let types = types::types(&text(signature.arguments), TIME_ZONE).unwrap_or_default();
            types.len() == fields.len()
                && types
                    .iter()
                    .zip(fields)
                    .all(|(a, b)| types::fits(a, b.data_type()))
        };
        signatures.iter().position(fits).unwrap_or(0)
    }
}

pub(crate) fn host() -> firesteel_host {
    firesteel_host {
        struct_size: size_of::<firesteel_host>(),
        abi_major: FIRESTEEL_MODULE_MAJOR,
        abi_minor: FIRESTEEL_MODULE_MINOR,
        name: firesteel_str::of("test"),
        log: Some(log),
        is_cancelled: Some(is_cancelled),
        reserve: Some(reserve),
        release: Some(release),
    }
}

/// # Safety
/// `task` is a [`Host`]'s.
unsafe fn state<'a>(task: *const firesteel_task) -> &'a State {
    // SAFETY: `handle` is the state.
    unsafe { &*(*task).handle.cast::<State>() }
}

unsafe extern "C" fn log(task: *const firesteel_task, level: u32, message: firesteel_str) {
    // SAFETY: a task of a `Host`.
    let state = unsafe { state(task) };
    state.log.lock().unwrap().push((level, text(message)));
}

unsafe extern "C" fn is_cancelled(task: *const firesteel_task) -> i32 {
    // SAFETY: a task of a `Host`.
    unsafe { state(task) }
        .cancelled
        .load(Ordering::Relaxed)
        .into()
}

unsafe extern "C" fn reserve(task: *const firesteel_task, bytes: usize) -> firesteel_status {
    // SAFETY: a task of a `Host`.
    let state = unsafe { state(task) };
    let reserved = state.reserved.load(Ordering::Relaxed);
    if reserved.saturating_add(bytes) > state.limit.load(Ordering::Relaxed) {
        return FIRESTEEL_STATUS_NO_MEMORY;
    }
    state.reserved.fetch_add(bytes, Ordering::Relaxed);
    FIRESTEEL_STATUS_OK
}

unsafe extern "C" fn release(task: *const firesteel_task, bytes: usize) {
    // SAFETY: a task of a `Host`.
    unsafe { state(task) }
        .reserved
        .fetch_sub(bytes, Ordering::Relaxed);
}

/// An instance of a function.
pub struct Bound<'h> {
    host: &'h Host,
    pub(crate) function: &'static firesteel_function,
    pub(crate) instance: *mut c_void,
    result: String,
    group_count: Cell<u32>,
}

impl Bound<'_> {
    pub(crate) fn task(&self) -> *const firesteel_task {
        from_ref(self.host.task.as_ref())
    }

    /// Gives a value for each row.
    ///
    /// # Errors
    /// The function fails.
    pub fn execute(&self, arguments: &[ArrayRef]) -> Result<ArrayRef, Failed> {
        let arguments = struct_of(arguments, arguments.first().map_or(0, |array| array.len()));
        self.execute_raw(&ArrowArray::new(&arguments.to_data()))
    }

    pub(crate) fn execute_raw(&self, arguments: &ArrowArray) -> Result<ArrayRef, Failed> {
        let (execute, task) = (self.function.execute.unwrap(), self.task());
        let mut result = ArrowArray::empty();
        call(|failure| {
            // SAFETY: all are alive.
            unsafe { execute(self.instance, task, arguments, &raw mut result, failure) }
        })?;
        assert!(!arguments.is_released());
        Ok(self.import(result, &types::data_type(&self.result, TIME_ZONE).unwrap()))
    }

    /// Gives an aggregate rows, each of the group of the same place.
    ///
    /// # Errors
    /// The function fails.
    pub fn update(&self, arguments: &[ArrayRef], groups: &[u32]) -> Result<(), Failed> {
        let count = self.count(groups);
        let arguments = ArrowArray::new(&struct_of(arguments, groups.len()).to_data());
        let (update, task) = (self.function.update.unwrap(), self.task());
        call(|failure| {
            // SAFETY: all are alive.
            unsafe {
                let groups = groups.as_ptr();
                update(
                    self.instance,
                    task,
                    &raw const arguments,
                    groups,
                    count,
                    failure,
                )
            }
        })
    }

    /// Gives an aggregate states.
    ///
    /// # Errors
    /// The function fails.
    pub fn merge(&self, states: &StructArray, groups: &[u32]) -> Result<(), Failed> {
        let count = self.count(groups);
        let states = ArrowArray::new(&states.to_data());
        let (merge, task) = (self.function.merge.unwrap(), self.task());
        call(|failure| {
            // SAFETY: all are alive.
            unsafe {
                let groups = groups.as_ptr();
                merge(
                    self.instance,
                    task,
                    &raw const states,
                    groups,
                    count,
                    failure,
                )
            }
        })
    }

    /// The states of so many groups.
    ///
    /// # Errors
    /// The function fails.
    pub fn states(&self, count: u32) -> Result<StructArray, Failed> {
        let mut result = ArrowArray::empty();
        let (states, task) = (self.function.states.unwrap(), self.task());
        call(|failure| {
            // SAFETY: all are alive.
            unsafe { states(self.instance, task, count, &raw mut result, failure) }
        })?;
        let fields = types::columns(&text(self.function.state), TIME_ZONE).unwrap();
        let states = self.import(result, &DataType::Struct(fields));
        Ok(StructArray::from(states.to_data()))
    }

    /// The results of so many groups.
    ///
    /// # Errors
    /// The function fails.
    pub fn finish(&self, count: u32) -> Result<ArrayRef, Failed> {
        let mut result = ArrowArray::empty();
        let (finish, task) = (self.function.finish.unwrap(), self.task());
        self.group_count.set(0);
        call(|failure| {
            // SAFETY: all are alive.
            unsafe { finish(self.instance, task, count, &raw mut result, failure) }
        })?;
        Ok(self.import(result, &types::data_type(&self.result, TIME_ZONE).unwrap()))
    }

    /// Bytes that an aggregate keeps.
    pub fn size(&self) -> usize {
        // SAFETY: alive.
        unsafe { self.function.size.unwrap()(self.instance) }
    }

    /// Starts a partition or table function with one batch of input or more. Types of its output are what the function
    /// says, and so are errors of it.
    ///
    /// # Errors
    /// The function fails to start.
    pub fn open(&self, batches: Vec<RecordBatch>) -> Result<ArrowArrayStreamReader, Failed> {
        let (output, _) = self.open_raw(batches);
        Ok(ArrowArrayStreamReader::try_new(output?).unwrap())
    }

    /// The output, and whether the input is left.
    pub(crate) fn open_raw(
        &self,
        batches: Vec<RecordBatch>,
    ) -> (Result<ArrowArrayStream, Failed>, bool) {
        let schema = batches.first().unwrap().schema();
        let batches = RecordBatchIterator::new(batches.into_iter().map(Ok), schema);
        let mut input = ArrowArrayStream::new(Box::new(batches));
        let mut output = ArrowArrayStream::empty();
        let (open, task) = (self.function.open.unwrap(), self.task());
        let opened = call(|failure| {
            let (input, output) = (&raw mut input, &raw mut output);
            // SAFETY: all are alive.
            unsafe { open(self.instance, task, input, output, failure) }
        });
        (opened.map(|()| output), input.release.is_some())
    }

    /// Groups that the instance knows after these: there are never fewer than before.
    fn count(&self, groups: &[u32]) -> u32 {
        let count = groups.iter().max().map_or(0, |group| group + 1);
        self.group_count.set(self.group_count.get().max(count));
        self.group_count.get()
    }

    fn import(&self, array: ArrowArray, data_type: &DataType) -> ArrayRef {
        // SAFETY: of the type that the function has declared.
        let data = unsafe { from_ffi_and_data_type(array, data_type.clone()) }.unwrap();
        data.validate_full().unwrap();
        make_array(data)
    }
}

impl Drop for Bound<'_> {
    fn drop(&mut self) {
        // SAFETY: not freed before.
        unsafe { self.function.unbind.unwrap()(self.instance) };
    }
}

/// A failure as an executor reads it.
#[derive(Debug, PartialEq)]
pub struct Failed {
    /// `FIRESTEEL_STATUS_…`
    pub status: firesteel_status,
    /// What people are told.
    pub message: String,
    /// Row of the batch, or -1.
    pub row: i64,
    /// SQLSTATE, or nothing.
    pub sqlstate: String,
}

/// Calls a function with room for what went wrong.
pub(crate) fn call(
    body: impl FnOnce(*mut firesteel_failure) -> firesteel_status,
) -> Result<(), Failed> {
    call_with(512, size_of::<firesteel_failure>(), body)
}

pub(crate) fn call_with(
    room: usize,
    struct_size: usize,
    body: impl FnOnce(*mut firesteel_failure) -> firesteel_status,
) -> Result<(), Failed> {
    let mut message = vec![0xFF_u8; 1024];
    let mut failure = firesteel_failure {
        struct_size,
        row: -1,
        sqlstate: [0; 8],
        message: message.as_mut_ptr().cast::<c_char>(),
        message_capacity: room,
        message_len: 0,
    };
    let status = body(&raw mut failure);
    assert!(message.iter().skip(room).all(|byte| *byte == 0xFF));
    if status == FIRESTEEL_STATUS_OK {
        return Ok(());
    }
    let bytes: Vec<u8> = failure.sqlstate.iter().map(|byte| *byte as u8).collect();
    let sqlstate = String::from_utf8(bytes).unwrap();
    message.truncate(failure.message_len);
    Err(Failed {
        status,
        message: String::from_utf8(message).unwrap(),
        row: failure.row,
        sqlstate: sqlstate.trim_end_matches('\0').into(),
    })
}

fn functions(build: fn() -> Module) -> &'static [*const firesteel_function] {
    let export: &'static Export = Box::leak(Box::new(Export::new()));
    let host: &'static firesteel_host = Box::leak(Box::new(host()));
    let mut module = firesteel_module::unfilled();
    // SAFETY: all are alive, and what the module fills in lives for ever.
    unsafe {
        call(|failure| export.load(build, host, &raw mut module, failure)).unwrap();
        std::slice::from_raw_parts(module.functions, module.function_count)
    }
}

pub(crate) fn text(text: firesteel_str) -> String {
    // SAFETY: the tests' texts are all alive.
    unsafe { raw::text(text) }
}

pub(crate) fn struct_of(arrays: &[ArrayRef], rows: usize) -> StructArray {
    let types: Vec<_> = arrays
        .iter()
        .map(|array| array.data_type().clone())
        .collect();
    let data = StructArray::try_new_with_length(fields_of(&types), arrays.to_vec(), None, rows);
    data.unwrap()
}

fn fields_of(types: &[DataType]) -> Fields {
    let field = |(number, data_type): (usize, &DataType)| {
        Field::new(format!("_{number}"), data_type.clone(), true)
    };
    types.iter().enumerate().map(field).collect()
}
