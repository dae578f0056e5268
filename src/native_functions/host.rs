//! What a library is given of its host, and of the task that calls it.

#![allow(unsafe_code)]

use std::ffi::c_void;
use std::fmt::Debug;
use std::sync::atomic::{AtomicUsize, Ordering};

use functions::abi::{
    FIRESTEEL_LOG_DEBUG, FIRESTEEL_LOG_ERROR, FIRESTEEL_LOG_WARN, FIRESTEEL_MODULE_MAJOR,
    FIRESTEEL_MODULE_MINOR, FIRESTEEL_STATUS_NO_MEMORY, FIRESTEEL_STATUS_OK, firesteel_host,
    firesteel_log_level, firesteel_status, firesteel_str, firesteel_task,
};

use super::library::text_of;
use crate::cancel::Cancellation;

/// Where the memory comes from that functions keep between calls.
pub trait TaskMemory: Debug + Send + Sync {
    /// Whether so many bytes more may be kept.
    fn reserve(&self, bytes: usize) -> bool;
    /// Gives back so many.
    fn release(&self, bytes: usize);
}

/// Who calls: what a `firesteel_task` says.
#[derive(Debug)]
pub struct TaskFacts {
    /// The session's time zone.
    pub time_zone: String,
    /// `spark.sql.ansi.enabled`
    pub ansi: bool,
    /// The stage, or -1.
    pub stage_id: i32,
    /// The partition, or -1.
    pub partition_id: i32,
    /// Attempt of the task from 0 on, or -1.
    pub attempt_number: i32,
    /// Id of the attempt, or -1.
    pub task_attempt_id: i64,
    /// Tells that the task was cancelled.
    pub cancellation: Cancellation,
    /// Of the task.
    pub memory: Box<dyn TaskMemory>,
}

/// A task as libraries see it, at an address that does not change.
#[derive(Debug)]
pub(super) struct HostTask(Box<Inner>);

#[derive(Debug)]
struct Inner {
    abi: firesteel_task,
    facts: TaskFacts,
    /// Bytes that were reserved and not given back.
    reserved: AtomicUsize,
}

// SAFETY: its pointers lead into itself, to what is static, and are not written through.
unsafe impl Send for HostTask {}
// SAFETY: as above; what changes is atomic or locks.
unsafe impl Sync for HostTask {}

impl HostTask {
    pub(super) fn new(facts: TaskFacts) -> Self {
        let mut inner = Box::new(Inner {
            abi: firesteel_task {
                struct_size: size_of::<firesteel_task>(),
                host: host(),
                handle: std::ptr::null_mut(),
                time_zone: firesteel_str::of(""),
                ansi: u32::from(facts.ansi),
                stage_id: facts.stage_id,
                partition_id: facts.partition_id,
                attempt_number: facts.attempt_number,
                task_attempt_id: facts.task_attempt_id,
            },
            facts,
            reserved: AtomicUsize::new(0),
        });
        // The text stays where it is while the box lives.
        inner.abi.time_zone = firesteel_str::of(&inner.facts.time_zone);
        inner.abi.handle = std::ptr::from_ref::<Inner>(&inner).cast_mut().cast();
        Self(inner)
    }

    pub(super) fn abi(&self) -> *const firesteel_task {
        &raw const self.0.abi
    }

    pub(super) fn facts(&self) -> &TaskFacts {
        &self.0.facts
    }
}

impl Drop for HostTask {
    fn drop(&mut self) {
        let left = self.0.reserved.swap(0, Ordering::Relaxed);
        if left > 0 {
            self.0.facts.memory.release(left);
        }
    }
}

/// The only host of this process.
struct Host(firesteel_host);

// SAFETY: it points to static texts and functions only.
unsafe impl Sync for Host {}

static HOST: Host = Host(firesteel_host {
    struct_size: size_of::<firesteel_host>(),
    abi_major: FIRESTEEL_MODULE_MAJOR,
    abi_minor: FIRESTEEL_MODULE_MINOR,
    name: firesteel_str::of(concat!("firesteel ", env!("CARGO_PKG_VERSION"))),
    log: Some(log),
    is_cancelled: Some(is_cancelled),
    reserve: Some(reserve),
    release: Some(release),
});

pub(super) fn host() -> *const firesteel_host {
    &raw const HOST.0
}

/// The task behind a pointer that a library gave back.
///
/// # Safety
/// NULL, or the pointer that the library was given, while its instance lives.
unsafe fn inner<'a>(task: *const firesteel_task) -> Option<&'a Inner> {
    // SAFETY: the caller's promise.
    let task = unsafe { task.as_ref() }?;
    // SAFETY: `handle` was set to the box that the task is in.
    unsafe { task.handle.cast::<Inner>().cast_const().as_ref() }
}

/// Keeps panics on this side.
fn caught<T>(otherwise: T, act: impl FnOnce() -> T) -> T {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(act)).unwrap_or(otherwise)
}

unsafe extern "C" fn log(
    task: *const firesteel_task,
    level: firesteel_log_level,
    message: firesteel_str,
) {
    caught((), || {
        // SAFETY: a pointer of ours, as the interface says.
        let task = unsafe { inner(task) }.map(|inner| inner.facts.task_attempt_id);
        // SAFETY: a text, as the interface says.
        let message = unsafe { text_of(message) }.unwrap_or_else(|why| why);
        let task = task.map_or_else(String::new, |id| format!(" (TID {id})"));
        match level {
            FIRESTEEL_LOG_ERROR => tracing::error!("Native function{task}: {message}"),
            FIRESTEEL_LOG_WARN => tracing::warn!("Native function{task}: {message}"),
            FIRESTEEL_LOG_DEBUG => tracing::debug!("Native function{task}: {message}"),
            _ => tracing::info!("Native function{task}: {message}"),
        }
    });
}

unsafe extern "C" fn is_cancelled(task: *const firesteel_task) -> i32 {
    caught(0, || {
        // SAFETY: a pointer of ours, as the interface says.
        let inner = unsafe { inner(task) };
        i32::from(inner.is_some_and(|inner| inner.facts.cancellation.is_cancelled()))
    })
}

unsafe extern "C" fn reserve(task: *const firesteel_task, bytes: usize) -> firesteel_status {
    caught(FIRESTEEL_STATUS_NO_MEMORY, || {
        // SAFETY: a pointer of ours, as the interface says.
        match unsafe { inner(task) } {
            Some(inner) if inner.facts.memory.reserve(bytes) => {
                inner.reserved.fetch_add(bytes, Ordering::Relaxed);
                FIRESTEEL_STATUS_OK
            }
            _ => FIRESTEEL_STATUS_NO_MEMORY,
        }
    })
}

unsafe extern "C" fn release(task: *const firesteel_task, bytes: usize) {
    caught((), || {
        // SAFETY: a pointer of ours, as the interface says.
        if let Some(inner) = unsafe { inner(task) } {
            // A library that gives back more than it has gives back what it has.
            let shrink = |held: usize| Some(held.saturating_sub(bytes));
            let held = inner
                .reserved
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, shrink);
            let held = held.unwrap_or_default();
            inner.facts.memory.release(held.min(bytes));
        }
    });
}

/// For calls that need no pointer.
pub(super) const NOTHING: *mut c_void = std::ptr::null_mut();
