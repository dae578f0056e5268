//! The functions that the caller of a library has for scalar functions and aggregates.

use std::ffi::c_void;

use arrow::array::{Array, StructArray};

use crate::abi::{ArrowArray, firesteel_failure, firesteel_status, firesteel_task};
use crate::guest::aggregate::Groups;
use crate::guest::borrowed::lend;
use crate::guest::failure::{answered, guarded};
use crate::guest::instance::{Bound, Instance, wrong_kind};
use crate::guest::{AggregateInstance, Failure, raw, results};

/// `firesteel_function.execute`
pub(crate) unsafe extern "C" fn execute(
    instance: *mut c_void,
    task: *const firesteel_task,
    arguments: *const ArrowArray,
    result: *mut ArrowArray,
    failure: *mut firesteel_failure,
) -> firesteel_status {
    let body = || {
        raw::present("place for a result", result)?;
        // SAFETY: an instance that nobody else uses, as the caller promises.
        let (instance, task) = unsafe { Instance::of(instance, task)? };
        let declared = &instance.result;
        let call = |bound: &mut Bound, arguments: &StructArray| match bound {
            Bound::Scalar(function) => {
                let array = function.execute(&task, arguments)?;
                results::checked("result", array, declared, arguments.len())
            }
            _ => Err(wrong_kind()),
        };
        let arrays = (arguments, &instance.arguments);
        let copy = |array| Ok(results::copied(&array));
        // SAFETY: arguments of the types that the instance was bound with, as the caller promises.
        let array = unsafe { lend(&task, &mut instance.bound, arrays, call, copy)? };
        // SAFETY: not NULL and aligned, so it may be written, as the caller promises.
        unsafe { result.write(ArrowArray::new(&array.to_data())) };
        Ok(())
    };
    // SAFETY: as the caller promises.
    unsafe { answered(failure, body) }
}

/// `firesteel_function.update`
pub(crate) unsafe extern "C" fn update(
    instance: *mut c_void,
    task: *const firesteel_task,
    arguments: *const ArrowArray,
    groups: *const u32,
    group_count: u32,
    failure: *mut firesteel_failure,
) -> firesteel_status {
    let body = || {
        // SAFETY: an instance that nobody else uses, as the caller promises.
        let (instance, task) = unsafe { Instance::of(instance, task)? };
        let call = |bound: &mut Bound, arguments: &StructArray| {
            // SAFETY: a group for each row, as the caller promises.
            let groups = unsafe { groups_of(groups, arguments.len(), group_count)? };
            aggregate(bound)?.update(&task, arguments, groups)
        };
        let arrays = (arguments, &instance.arguments);
        // SAFETY: arguments of the types that the instance was bound with, as the caller promises.
        unsafe { lend(&task, &mut instance.bound, arrays, call, Ok) }
    };
    // SAFETY: as the caller promises.
    unsafe { answered(failure, body) }
}

/// `firesteel_function.merge`
pub(crate) unsafe extern "C" fn merge(
    instance: *mut c_void,
    task: *const firesteel_task,
    states: *const ArrowArray,
    groups: *const u32,
    group_count: u32,
    failure: *mut firesteel_failure,
) -> firesteel_status {
    let body = || {
        // SAFETY: an instance that nobody else uses, as the caller promises.
        let (instance, task) = unsafe { Instance::of(instance, task)? };
        let call = |bound: &mut Bound, states: &StructArray| {
            // SAFETY: a group for each row, as the caller promises.
            let groups = unsafe { groups_of(groups, states.len(), group_count)? };
            aggregate(bound)?.merge(&task, states, groups)
        };
        let arrays = (states, &instance.state);
        // SAFETY: states of the aggregate's columns, as the caller promises.
        unsafe { lend(&task, &mut instance.bound, arrays, call, Ok) }
    };
    // SAFETY: as the caller promises.
    unsafe { answered(failure, body) }
}

/// `firesteel_function.states`
pub(crate) unsafe extern "C" fn states(
    instance: *mut c_void,
    task: *const firesteel_task,
    group_count: u32,
    states: *mut ArrowArray,
    failure: *mut firesteel_failure,
) -> firesteel_status {
    let body = || {
        raw::present("place for states", states)?;
        // SAFETY: an instance that nobody else uses, as the caller promises.
        let (instance, task) = unsafe { Instance::of(instance, task)? };
        let (function, count) = (
            aggregate(Instance::alive(&mut instance.bound)?)?,
            group_count as usize,
        );
        let columns = function.states(&task, count)?;
        let array = results::states(columns, &instance.state, count)?;
        // SAFETY: not NULL and aligned, so it may be written, as the caller promises.
        unsafe { states.write(ArrowArray::new(&array.to_data())) };
        Ok(())
    };
    // SAFETY: as the caller promises.
    unsafe { answered(failure, body) }
}

/// `firesteel_function.finish`
pub(crate) unsafe extern "C" fn finish(
    instance: *mut c_void,
    task: *const firesteel_task,
    group_count: u32,
    results: *mut ArrowArray,
    failure: *mut firesteel_failure,
) -> firesteel_status {
    let body = || {
        raw::present("place for results", results)?;
        // SAFETY: an instance that nobody else uses, as the caller promises.
        let (instance, task) = unsafe { Instance::of(instance, task)? };
        let (function, count) = (
            aggregate(Instance::alive(&mut instance.bound)?)?,
            group_count as usize,
        );
        let array = function.finish(&task, count)?;
        let array = results::checked("result", array, &instance.result, count)?;
        // SAFETY: not NULL and aligned, so it may be written, as the caller promises.
        unsafe { results.write(ArrowArray::new(&array.to_data())) };
        Ok(())
    };
    // SAFETY: as the caller promises.
    unsafe { answered(failure, body) }
}

/// `firesteel_function.size`. 0 if it panics: there is nobody to tell.
pub(crate) unsafe extern "C" fn size(instance: *const c_void) -> usize {
    let instance = instance.cast::<Instance>();
    guarded(|| {
        raw::present("instance", instance)?;
        // SAFETY: an instance that nobody else uses, as the caller promises.
        match unsafe { &(*instance).bound } {
            Some(Bound::Aggregate(function)) => Ok(function.size()),
            _ => Ok(0),
        }
    })
    .unwrap_or(0)
}

/// # Safety
/// `groups` has a number for each row.
unsafe fn groups_of<'a>(
    groups: *const u32,
    rows: usize,
    group_count: u32,
) -> Result<Groups<'a>, Failure> {
    let of_rows = match rows {
        0 => &[],
        _ => {
            raw::present("list of groups", groups)?;
            // SAFETY: not NULL and aligned, with a number for each row, as the caller promises.
            unsafe { std::slice::from_raw_parts(groups, rows) }
        }
    };
    Ok(Groups {
        of_rows,
        count: group_count as usize,
    })
}

fn aggregate(bound: &mut Bound) -> Result<&mut dyn AggregateInstance, Failure> {
    match bound {
        Bound::Aggregate(function) => Ok(function.as_mut()),
        _ => Err(wrong_kind()),
    }
}
