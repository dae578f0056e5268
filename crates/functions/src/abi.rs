//! The module interface of `include/firesteel.h`, as C sees it: the header is generated from this file.
//!
//! Every struct that may grow starts with its size and grows only at its end. Whoever is given one reads no more than
//! its size says and takes what is missing for zero.

#![allow(non_camel_case_types)]

use std::ffi::{c_char, c_void};

/// The Arrow C Data interface's schema.
/// cbindgen:ignore
pub type ArrowSchema = arrow::ffi::FFI_ArrowSchema;
/// The Arrow C Data interface's array.
/// cbindgen:ignore
pub type ArrowArray = arrow::ffi::FFI_ArrowArray;
/// The Arrow C Stream interface.
/// cbindgen:ignore
pub type ArrowArrayStream = arrow::ffi_stream::FFI_ArrowArrayStream;

/// Major version of the module interface: host and library must have the same.
pub const FIRESTEEL_MODULE_MAJOR: u32 = 1;
/// Minor version of the module interface. It grows with fields at the ends of structs.
pub const FIRESTEEL_MODULE_MINOR: u32 = 0;

/// Text in UTF-8: `len` bytes at `data`, with no NUL at the end. `data` may be NULL if `len` is 0.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct firesteel_str {
    /// First byte.
    pub data: *const c_char,
    /// Number of bytes.
    pub len: usize,
}

impl firesteel_str {
    /// Borrows a text; whoever passes it on says how long it lives.
    #[must_use]
    pub const fn of(text: &str) -> Self {
        Self {
            data: text.as_ptr().cast(),
            len: text.len(),
        }
    }
}

/// What became of a call of a module's function: one of `FIRESTEEL_STATUS_…`. Whatever a host does not know is taken
/// for `FIRESTEEL_STATUS_INTERNAL`.
pub type firesteel_status = u32;
/// Done.
pub const FIRESTEEL_STATUS_OK: firesteel_status = 0;
/// `bind`: the function does not take these arguments. Nothing is wrong: the next signature is tried.
pub const FIRESTEEL_STATUS_NOT_APPLICABLE: firesteel_status = 1;
/// A value that the function cannot work with. Fails the task, as an exception of a user's function does.
pub const FIRESTEEL_STATUS_INVALID: firesteel_status = 2;
/// Memory that the function needs was refused, by the host or the machine.
pub const FIRESTEEL_STATUS_NO_MEMORY: firesteel_status = 3;
/// The task was cancelled, and the function noticed.
pub const FIRESTEEL_STATUS_CANCELLED: firesteel_status = 4;
/// A bug in the library.
pub const FIRESTEEL_STATUS_INTERNAL: firesteel_status = 5;

/// What a function is: one of `FIRESTEEL_KIND_…`.
pub type firesteel_kind = u32;
/// One value for each row.
pub const FIRESTEEL_KIND_SCALAR: firesteel_kind = 1;
/// One value for each group of rows.
pub const FIRESTEEL_KIND_AGGREGATE: firesteel_kind = 2;
/// Rows made of all rows of a partition: Spark's `mapInArrow`.
pub const FIRESTEEL_KIND_PARTITION: firesteel_kind = 3;
/// Rows made of the arguments of one call: a table function.
pub const FIRESTEEL_KIND_TABLE: firesteel_kind = 4;

/// How often a function may be called for the same values: one of `FIRESTEEL_VOLATILITY_…`.
pub type firesteel_volatility = u32;
/// The same arguments give the same result, always.
pub const FIRESTEEL_VOLATILITY_IMMUTABLE: firesteel_volatility = 1;
/// The same arguments give the same result within a query.
pub const FIRESTEEL_VOLATILITY_STABLE: firesteel_volatility = 2;
/// Every call may give another result: Spark's `asNondeterministic`.
pub const FIRESTEEL_VOLATILITY_VOLATILE: firesteel_volatility = 3;

/// What becomes of nulls among the arguments: one of `FIRESTEEL_NULLS_…`.
pub type firesteel_nulls = u32;
/// The function is given nulls.
pub const FIRESTEEL_NULLS_GIVEN: firesteel_nulls = 1;
/// A row with a null gives null (an aggregate leaves it out), and the function is not called for it.
pub const FIRESTEEL_NULLS_SKIPPED: firesteel_nulls = 2;

/// How important a line of the log is: one of `FIRESTEEL_LOG_…`.
pub type firesteel_log_level = u32;
/// Something failed.
pub const FIRESTEEL_LOG_ERROR: firesteel_log_level = 1;
/// Something is odd.
pub const FIRESTEEL_LOG_WARN: firesteel_log_level = 2;
/// Something happened.
pub const FIRESTEEL_LOG_INFO: firesteel_log_level = 3;
/// For whoever looks for an error.
pub const FIRESTEEL_LOG_DEBUG: firesteel_log_level = 4;

/// Who calls the functions of a module. Lives as long as the process.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct firesteel_host {
    /// `sizeof(firesteel_host)` of the host.
    pub struct_size: usize,
    /// `FIRESTEEL_MODULE_MAJOR` of the host.
    pub abi_major: u32,
    /// `FIRESTEEL_MODULE_MINOR` of the host.
    pub abi_minor: u32,
    /// Name and version of the host, such as `firesteel 0.1.0`.
    pub name: firesteel_str,
    /// Writes a line to the executor's log. `task` may be NULL. Any thread.
    pub log: Option<
        unsafe extern "C" fn(
            task: *const firesteel_task,
            level: firesteel_log_level,
            message: firesteel_str,
        ),
    >,
    /// Whether the task was cancelled: not 0 if so. A function that takes long asks now and then, and gives up with
    /// `FIRESTEEL_STATUS_CANCELLED`. Any thread.
    pub is_cancelled: Option<unsafe extern "C" fn(task: *const firesteel_task) -> i32>,
    /// Asks for so many bytes of the task's memory for what a function keeps between calls. The function allocates it
    /// itself. `FIRESTEEL_STATUS_NO_MEMORY` if there are not so many: the function should fail with the same. Any
    /// thread.
    pub reserve:
        Option<unsafe extern "C" fn(task: *const firesteel_task, bytes: usize) -> firesteel_status>,
    /// Gives back so many bytes that were reserved. What is left when the task ends is given back by the host. Any
    /// thread.
    pub release: Option<unsafe extern "C" fn(task: *const firesteel_task, bytes: usize)>,
}

/// The task that calls a function. Lives as long as the instance that was bound with it; all calls of an instance are
/// given the task that it was bound with.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct firesteel_task {
    /// `sizeof(firesteel_task)` of the host.
    pub struct_size: usize,
    /// The host.
    pub host: *const firesteel_host,
    /// The host's own.
    pub handle: *mut c_void,
    /// The session's time zone, such as `Europe/Paris`.
    pub time_zone: firesteel_str,
    /// 1 if `spark.sql.ansi.enabled`, else 0.
    pub ansi: u32,
    /// The stage; -1 if it is not known.
    pub stage_id: i32,
    /// The partition; -1 if it is not known.
    pub partition_id: i32,
    /// How many attempts there were before this one; -1 if it is not known.
    pub attempt_number: i32,
    /// Number of the attempt, unique in the application; -1 if it is not known.
    pub task_attempt_id: i64,
}

/// Where a function says what went wrong: the caller's memory. A function that fails fills it in, others leave it.
#[repr(C)]
#[derive(Debug)]
pub struct firesteel_failure {
    /// `sizeof(firesteel_failure)` of the caller.
    pub struct_size: usize,
    /// Row of the batch at fault, from 0 on; -1 (as it is before the call) if it is none.
    pub row: i64,
    /// Five characters of SQLSTATE and a NUL, or empty (as it is before the call).
    pub sqlstate: [c_char; 8],
    /// Takes the message, in UTF-8.
    pub message: *mut c_char,
    /// How many bytes `message` has room for. A message that is longer is cut.
    pub message_capacity: usize,
    /// Takes the number of bytes of the message.
    pub message_len: usize,
}

/// Types that a function takes and gives, in Spark's words, separated by commas: `boolean`, `tinyint`, `smallint`,
/// `int`, `bigint`, `float`, `double`, `decimal(p,s)`, `string`, `binary`, `date`, `timestamp`, `timestamp_ntz`,
/// `array<…>`, `map<…,…>`, `struct<name:…,…>`.
///
/// They cross as the Arrow types that Spark gives Python: `string` as `utf8`, `binary` as `binary`, times in
/// microseconds, `timestamp` with the session's time zone, decimals with 128 bits, everything nullable.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct firesteel_signature {
    /// Types of the arguments: `double, double`; empty if there are none. For a partition function, the columns of its
    /// input as a struct has them, `name:type, …`; empty if it takes any.
    pub arguments: firesteel_str,
    /// Type of the result. For partition and table functions, the columns as `name:type, …`.
    pub result: firesteel_str,
}

/// A function. Lives as long as the process. What a kind does not use is NULL.
///
/// A function is asked for instances by `bind` and called through them. `bind` may be called by several threads at
/// once; an instance is used by one thread at a time, and freed by `unbind`.
///
/// Arguments are one struct array with a child for each argument (offset 0, no nulls of its own; its children may have
/// offsets). They are borrowed for the call: the function neither keeps nor releases them. Results are the caller's:
/// the function fills them in with a `release` of its own. A result may have an offset, as may its children; it never
/// shares memory with the arguments.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct firesteel_function {
    /// `sizeof(firesteel_function)` of the library.
    pub struct_size: usize,
    /// Its name in SQL: letters, digits and underscores.
    pub name: firesteel_str,
    /// What it does, for people: one line.
    pub description: firesteel_str,
    /// What it is.
    pub kind: firesteel_kind,
    /// How often it may be called.
    pub volatility: firesteel_volatility,
    /// What becomes of nulls. Partition functions are always given them.
    pub nulls: firesteel_nulls,
    /// Zero.
    pub reserved: u32,
    /// What it takes and gives. The first one is known to SQL by the function's name, others by that and their number:
    /// `twice`, `twice_1`, `twice_2`.
    pub signatures: *const firesteel_signature,
    /// How many.
    pub signature_count: usize,
    /// The library's own.
    pub data: *mut c_void,

    /// Makes an instance. NULL: calls are given NULL as instance.
    ///
    /// `signature` is the number of the signature; `arguments` is the schema of the arguments, one struct with a child
    /// for each, of just the types of the signature (or, of a partition function, of its input). `constants` is a
    /// struct array of one row with the values of arguments that are the same for all rows, where `is_constant` has a 1
    /// (else null); both may be NULL. All are borrowed for the call.
    pub bind: Option<
        unsafe extern "C" fn(
            function: *const firesteel_function,
            task: *const firesteel_task,
            signature: usize,
            arguments: *const ArrowSchema,
            constants: *const ArrowArray,
            is_constant: *const u8,
            instance: *mut *mut c_void,
            failure: *mut firesteel_failure,
        ) -> firesteel_status,
    >,
    /// Frees an instance that is not NULL. NULL: nothing is to be freed.
    pub unbind: Option<unsafe extern "C" fn(instance: *mut c_void)>,

    /// Scalar functions: gives an array of as many values as the arguments have rows.
    pub execute: Option<
        unsafe extern "C" fn(
            instance: *mut c_void,
            task: *const firesteel_task,
            arguments: *const ArrowArray,
            result: *mut ArrowArray,
            failure: *mut firesteel_failure,
        ) -> firesteel_status,
    >,

    /// Aggregates: the types of a state, as columns (`name:type, …`).
    pub state: firesteel_str,
    /// Aggregates: takes rows. `groups` has the number of each row's group, below `group_count`, which never shrinks:
    /// groups that the instance does not know yet begin here.
    pub update: Option<
        unsafe extern "C" fn(
            instance: *mut c_void,
            task: *const firesteel_task,
            arguments: *const ArrowArray,
            groups: *const u32,
            group_count: u32,
            failure: *mut firesteel_failure,
        ) -> firesteel_status,
    >,
    /// Aggregates: takes states (a struct array of `state`'s columns) that an instance gave, as `update` takes rows.
    pub merge: Option<
        unsafe extern "C" fn(
            instance: *mut c_void,
            task: *const firesteel_task,
            states: *const ArrowArray,
            groups: *const u32,
            group_count: u32,
            failure: *mut firesteel_failure,
        ) -> firesteel_status,
    >,
    /// Aggregates: gives the states of groups 0 to `group_count`, a struct array of `state`'s columns.
    pub states: Option<
        unsafe extern "C" fn(
            instance: *mut c_void,
            task: *const firesteel_task,
            group_count: u32,
            states: *mut ArrowArray,
            failure: *mut firesteel_failure,
        ) -> firesteel_status,
    >,
    /// Aggregates: gives the results of groups 0 to `group_count`, and forgets all groups.
    pub finish: Option<
        unsafe extern "C" fn(
            instance: *mut c_void,
            task: *const firesteel_task,
            group_count: u32,
            results: *mut ArrowArray,
            failure: *mut firesteel_failure,
        ) -> firesteel_status,
    >,
    /// Aggregates: bytes that the instance keeps. May be NULL: then it reserves itself what it keeps.
    pub size: Option<unsafe extern "C" fn(instance: *const c_void) -> usize>,

    /// Partition and table functions: takes a stream of struct arrays, and gives one of the result's columns. A
    /// function that takes `input` moves it to a place of its own, as the Arrow specification says (it sets
    /// `input->release` to NULL), and releases it later; else the host releases it. The output is read and released by
    /// the thread that calls `open`, before the instance is freed. A table function is given one batch with a row for
    /// each call, and gives struct arrays of two children: `call`, the row (int64, never falling), and `row`, a struct
    /// of the result's columns; neither has nulls of its own.
    ///
    /// An output that fails says so by its error number, and its message ends with the SQLSTATE if there is one:
    /// EINVAL is `FIRESTEEL_STATUS_INVALID`, ENOMEM is `FIRESTEEL_STATUS_NO_MEMORY`, ECANCELED is
    /// `FIRESTEEL_STATUS_CANCELLED`, and others are `FIRESTEEL_STATUS_INTERNAL`.
    pub open: Option<
        unsafe extern "C" fn(
            instance: *mut c_void,
            task: *const firesteel_task,
            input: *mut ArrowArrayStream,
            output: *mut ArrowArrayStream,
            failure: *mut firesteel_failure,
        ) -> firesteel_status,
    >,
}

/// A library of functions. Lives as long as the process: libraries are never unloaded.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct firesteel_module {
    /// Before the call: `sizeof(firesteel_module)` of the host. The library fills in no more than that, and sets it to
    /// what it filled in.
    pub struct_size: usize,
    /// `FIRESTEEL_MODULE_MAJOR` of the library.
    pub abi_major: u32,
    /// `FIRESTEEL_MODULE_MINOR` of the library.
    pub abi_minor: u32,
    /// Its name.
    pub name: firesteel_str,
    /// Its version. Functions of another version are not taken for those that a job was written for.
    pub version: firesteel_str,
    /// The functions.
    pub functions: *const *const firesteel_function,
    /// How many.
    pub function_count: usize,
}

impl firesteel_module {
    /// What a host gives a library to fill in.
    #[must_use]
    pub const fn unfilled() -> Self {
        Self {
            struct_size: size_of::<Self>(),
            abi_major: 0,
            abi_minor: 0,
            name: firesteel_str::of(""),
            version: firesteel_str::of(""),
            functions: std::ptr::null(),
            function_count: 0,
        }
    }
}

/// The one symbol that a library exports: `firesteel_module_v1`. Called once in a process.
///
/// `host` is who calls, and lives as long as the process; `module` takes what the library has. Anything but
/// `FIRESTEEL_STATUS_OK` is an error.
pub type firesteel_module_function = Option<
    unsafe extern "C" fn(
        host: *const firesteel_host,
        module: *mut firesteel_module,
        failure: *mut firesteel_failure,
    ) -> firesteel_status,
>;

/// Name of the symbol.
pub const MODULE_SYMBOL: &str = "firesteel_module_v1";
