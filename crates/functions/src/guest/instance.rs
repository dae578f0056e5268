//! What the caller of a library has pointers to.

use std::ffi::c_void;

use arrow::datatypes::{DataType, Fields};

use crate::abi::{
    ArrowArray, ArrowSchema, FIRESTEEL_KIND_AGGREGATE, FIRESTEEL_KIND_PARTITION,
    FIRESTEEL_KIND_SCALAR, FIRESTEEL_KIND_TABLE, firesteel_failure, firesteel_function,
    firesteel_kind, firesteel_status, firesteel_task,
};
use crate::guest::binding::{self, bad_type, check_arguments};
use crate::guest::failure::{answered, guarded};
use crate::guest::{
    Aggregate, AggregateInstance, Binding, Declaration, Failure, Partition, Scalar, ScalarInstance,
    StreamInstance, Table, Task, raw,
};
use crate::types;

/// A function of a module: `data` of its `firesteel_function`.
pub(crate) struct Registered {
    pub(crate) declaration: Declaration,
    /// Columns of an aggregate's state; others have none.
    pub(crate) state: String,
    pub(crate) kind: Kind,
}

pub(crate) enum Kind {
    Scalar(Box<dyn Scalar>),
    Aggregate(Box<dyn Aggregate>),
    Partition(Box<dyn Partition>),
    Table(Box<dyn Table>),
}

impl Kind {
    pub(crate) fn code(&self) -> firesteel_kind {
        match self {
            Self::Scalar(_) => FIRESTEEL_KIND_SCALAR,
            Self::Aggregate(_) => FIRESTEEL_KIND_AGGREGATE,
            Self::Partition(_) => FIRESTEEL_KIND_PARTITION,
            Self::Table(_) => FIRESTEEL_KIND_TABLE,
        }
    }

    /// Whether results are columns, rather than values of a type.
    fn gives_columns(&self) -> bool {
        matches!(self, Self::Partition(_) | Self::Table(_))
    }
}

impl Registered {
    /// Type of a signature's result; a struct if it is columns.
    pub(crate) fn result(&self, signature: usize, time_zone: &str) -> Result<DataType, Failure> {
        let text = &self.signature(signature)?.result;
        if !self.kind.gives_columns() {
            return types::data_type(text, time_zone).map_err(bad_type);
        }
        let columns = types::columns(text, time_zone).map_err(bad_type)?;
        match columns.is_empty() {
            true => Err(Failure::internal("a result without columns")),
            false => Ok(DataType::Struct(columns)),
        }
    }

    fn signature(&self, number: usize) -> Result<&super::declaration::Signature, Failure> {
        let signature = self.declaration.signatures.get(number);
        signature.ok_or_else(|| Failure::internal(format!("there is no signature {number}")))
    }
}

/// A bound function: what `bind` gives.
pub(crate) struct Instance {
    /// `None` after a failure that has ended it. Dropped before the task ends, so that what it has reserved is given
    /// back.
    pub(crate) bound: Option<Bound>,
    pub(crate) arguments: Fields,
    pub(crate) state: Fields,
    pub(crate) result: DataType,
    pub(crate) is_table: bool,
    task: EndsTask,
}

pub(crate) enum Bound {
    Scalar(Box<dyn ScalarInstance>),
    Aggregate(Box<dyn AggregateInstance>),
    Stream(Box<dyn StreamInstance>),
}

struct EndsTask(Task);

impl Drop for EndsTask {
    fn drop(&mut self) {
        self.0.end();
    }
}

impl Instance {
    /// The instance that a call is for, and its task.
    ///
    /// # Safety
    /// `instance` is NULL or was given by `bind`, is not freed and is used by nobody else.
    pub(crate) unsafe fn of<'a>(
        instance: *mut c_void,
        task: *const firesteel_task,
    ) -> Result<(&'a mut Self, Task), Failure> {
        let instance = instance.cast::<Self>();
        raw::present("instance", instance)?;
        // SAFETY: alive and not used by others, as the caller promises.
        let instance = unsafe { &mut *instance };
        let own = instance.task.0.clone();
        match own.is(task) {
            true => Ok((instance, own)),
            false => Err(Failure::internal(
                "the caller uses an instance for another task than it was bound for",
            )),
        }
    }

    /// What was bound, unless a failure has ended it.
    pub(crate) fn alive(bound: &mut Option<Bound>) -> Result<&mut Bound, Failure> {
        let bound = bound.as_mut();
        bound.ok_or_else(|| Failure::internal("the instance was ended by a failure"))
    }
}

pub(crate) fn wrong_kind() -> Failure {
    Failure::internal("the caller takes the function for one of another kind")
}

/// `firesteel_function.bind`
#[allow(clippy::too_many_arguments)]
pub(crate) unsafe extern "C" fn bind(
    function: *const firesteel_function,
    task: *const firesteel_task,
    signature: usize,
    arguments: *const ArrowSchema,
    constants: *const ArrowArray,
    is_constant: *const u8,
    instance: *mut *mut c_void,
    failure: *mut firesteel_failure,
) -> firesteel_status {
    let body = || {
        raw::present("function", function)?;
        raw::present("place for an instance", instance)?;
        // SAFETY: a function of this library, so `data` is what `module` has put there and lives for ever.
        let registered = unsafe { &*(*function).data.cast::<Registered>() };
        // SAFETY: the task lives until the instance is freed, which ends it, as does a failure.
        let task = EndsTask(unsafe { Task::new(task)? });
        let declared = registered.signature(signature)?;
        // SAFETY: a schema, and constants of its types, as the caller promises.
        let (arguments, constants) = unsafe {
            let arguments = binding::fields(arguments)?;
            let is_named = matches!(registered.kind, Kind::Partition(_));
            check_arguments(declared, &arguments, task.0.time_zone(), is_named)?;
            let constants = binding::constants(constants, is_constant, &arguments)?;
            (arguments, constants)
        };
        let binding = Binding {
            task: task.0.clone(),
            signature,
            arguments,
            constants,
            result: registered.result(signature, task.0.time_zone())?,
        };
        let bound = match &registered.kind {
            Kind::Scalar(function) => Bound::Scalar(function.bind(&binding)?),
            Kind::Aggregate(function) => Bound::Aggregate(function.bind(&binding)?),
            Kind::Partition(function) => Bound::Stream(function.bind(&binding)?),
            Kind::Table(function) => Bound::Stream(function.bind(&binding)?),
        };
        let bound = Instance {
            bound: Some(bound),
            state: types::columns(&registered.state, task.0.time_zone()).map_err(bad_type)?,
            is_table: matches!(registered.kind, Kind::Table(_)),
            arguments: binding.arguments,
            result: binding.result,
            task,
        };
        // SAFETY: not NULL and aligned, so it may be written, as the caller promises.
        unsafe { instance.write(Box::into_raw(Box::new(bound)).cast()) };
        Ok(())
    };
    // SAFETY: as the caller promises.
    unsafe { answered(failure, body) }
}

/// `firesteel_function.unbind`
pub(crate) unsafe extern "C" fn unbind(instance: *mut c_void) {
    if instance.is_null() {
        return;
    }
    // There is nobody to tell of a panic; the panic hook has printed it.
    let _ = guarded(|| {
        // SAFETY: given by `bind` and not freed before, as the caller promises.
        drop(unsafe { Box::from_raw(instance.cast::<Instance>()) });
        Ok(())
    });
}
