//! Embedding: an executor inside another program.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::boundary::{boundary, out, present, quietly};
use super::code::firesteel_code;
use super::counters::firesteel_counters;
use super::error::firesteel_error;
use super::slice::{firesteel_text, slice, text};
use crate::executor::{ExecutorError, ExecutorHandle, Options};
use crate::launch::executor_command::ExecutorCommand;
use crate::report::Counters;
use functions::abi::firesteel_str;

/// An executor inside this process. All functions may be called from any thread and at the same time, except
/// `firesteel_executor_free`.
pub struct firesteel_executor {
    launch: Launch,
    state: Mutex<LaunchState>,
}

/// Starts the executor that the arguments describe.
type Launch = Box<dyn Fn() -> Result<Arc<dyn Engine>, firesteel_error> + Send + Sync>;

enum LaunchState {
    New,
    Starting,
    Started(Arc<dyn Engine>),
}

/// What this interface needs of a started executor.
trait Engine: Send + Sync {
    /// Waits for the end, for ever without `timeout`; the exit code.
    fn wait(&self, timeout: Option<Duration>) -> Option<i32>;
    fn stop(&self);
    fn counters(&self) -> Counters;
}

/// More arguments than any command line has.
const MAX_ARGUMENTS: usize = 1 << 16;

/// Reads the arguments of an executor, as `firesteel executor` takes them (without `firesteel executor` itself).
/// Nothing is started and nothing is connected to yet.
///
/// @param arguments `count` texts; copied.
/// @param count how many; may be 0, which is answered with the usage text.
/// @param executor takes the executor, which the caller frees; NULL after a failure.
/// @param error takes the error, which the caller frees; may be NULL.
/// @return `FIRESTEEL_OK`, `FIRESTEEL_INVALID_ARGUMENT` (the message is Spark's usage text, or names the argument),
///   `FIRESTEEL_NOT_UTF8`, `FIRESTEEL_NULL_ARGUMENT`.
///
/// # Safety
/// `arguments` points to `count` texts whose bytes are readable; `executor` and `error` are NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn firesteel_executor_new(
    arguments: *const firesteel_str,
    count: usize,
    executor: *mut *mut firesteel_executor,
    error: *mut *mut firesteel_error,
) -> firesteel_code {
    let body = || {
        // SAFETY: the caller's promise is passed on.
        let executor = unsafe { out("executor", executor, std::ptr::null_mut()) }?;
        if count > MAX_ARGUMENTS {
            return Err(firesteel_error::new(
                firesteel_code::FIRESTEEL_INVALID_ARGUMENT,
                format!("count is {count}; at most {MAX_ARGUMENTS} arguments are read"),
            ));
        }
        // SAFETY: the caller's promises are passed on.
        let arguments = unsafe { slice("arguments", arguments, count) }?
            .iter()
            .enumerate()
            // SAFETY: as above.
            .map(|(i, of)| unsafe { text(*of, &format!("arguments[{i}]")) }.map(str::to_owned))
            .collect::<Result<Vec<String>, _>>()?;
        let new = firesteel_executor::new(launcher(&arguments)?);
        *executor = Box::into_raw(Box::new(new));
        Ok(firesteel_code::FIRESTEEL_OK)
    };
    // SAFETY: `error` is the caller's promise.
    unsafe { boundary(error, body) }
}

/// Starts the executor on threads of its own. It connects to the driver and registers before the call returns. An
/// executor can be started once; if that fails, it can be tried again.
///
/// @param executor an executor.
/// @param error takes the error, which the caller frees; may be NULL.
/// @return `FIRESTEEL_OK`, `FIRESTEEL_ALREADY_STARTED`, `FIRESTEEL_NULL_ARGUMENT`, `FIRESTEEL_INVALID_ARGUMENT`,
///   `FIRESTEEL_INVALID_SETTING`, `FIRESTEEL_DRIVER_REFUSED`, `FIRESTEEL_UNSUPPORTED`, `FIRESTEEL_DRIVER_UNREACHABLE`,
///   `FIRESTEEL_LOCAL_RESOURCE`, `FIRESTEEL_CLASS_PATH`, `FIRESTEEL_JDK`.
///
/// # Safety
/// `executor` is NULL or an executor that has not been freed; `error` is NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn firesteel_executor_start(
    executor: *const firesteel_executor,
    error: *mut *mut firesteel_error,
) -> firesteel_code {
    // SAFETY: the caller's promises are passed on.
    unsafe {
        boundary(error, || {
            alive(executor)?.start()?;
            Ok(firesteel_code::FIRESTEEL_OK)
        })
    }
}

/// Waits until the executor has ended.
///
/// @param executor a started executor.
/// @param timeout_ms how long, in milliseconds; 0 only looks; a negative number waits for ever.
/// @param exit_code takes the code with which Spark's executor process would have ended: 0 after an orderly stop, 1 if
/// the driver
///   was lost, 56 if it stopped answering heartbeats, and so on. 0 while it runs. May be NULL.
/// @param error takes the error, which the caller frees; may be NULL.
/// @return `FIRESTEEL_OK` if it has ended, in whatever way; asked again, it gives the same answer.
/// `FIRESTEEL_TIMED_OUT` if it still
///   runs. `FIRESTEEL_NOT_STARTED`, `FIRESTEEL_NULL_ARGUMENT`.
///
/// # Safety
/// `executor` is NULL or an executor that is not freed before the call returns; `exit_code` and `error` are NULL or
/// writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn firesteel_executor_wait(
    executor: *const firesteel_executor,
    timeout_ms: i64,
    exit_code: *mut i32,
    error: *mut *mut firesteel_error,
) -> firesteel_code {
    let body = || {
        let mut ignored = 0;
        let exit_code = if exit_code.is_null() {
            &raw mut ignored
        } else {
            exit_code
        };
        // SAFETY: the caller's promises are passed on; `ignored` outlives its use.
        let (exit_code, executor) = unsafe { (out("exit_code", exit_code, 0)?, alive(executor)?) };
        let timeout = u64::try_from(timeout_ms).ok().map(Duration::from_millis);
        let Some(code) = executor.engine()?.wait(timeout) else {
            return Ok(firesteel_code::FIRESTEEL_TIMED_OUT);
        };
        *exit_code = code;
        Ok(firesteel_code::FIRESTEEL_OK)
    };
    // SAFETY: `error` is the caller's promise.
    unsafe { boundary(error, body) }
}

/// Asks the executor to stop, and returns at once; `firesteel_executor_wait` tells when it has. Asking again changes
/// nothing.
///
/// @param executor a started executor.
/// @param error takes the error, which the caller frees; may be NULL.
/// @return `FIRESTEEL_OK` (also if it has ended), `FIRESTEEL_NOT_STARTED`, `FIRESTEEL_NULL_ARGUMENT`.
///
/// # Safety
/// `executor` is NULL or an executor that has not been freed; `error` is NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn firesteel_executor_stop(
    executor: *const firesteel_executor,
    error: *mut *mut firesteel_error,
) -> firesteel_code {
    // SAFETY: the caller's promises are passed on.
    unsafe {
        boundary(error, || {
            alive(executor)?.engine()?.stop();
            Ok(firesteel_code::FIRESTEEL_OK)
        })
    }
}

/// Reads what the executor did so far, or did until it ended.
///
/// @param executor a started executor.
/// @param counters takes the numbers; its `struct_size` must be set to `sizeof(firesteel_counters)` before. Untouched
/// after a
///   failure.
/// @param error takes the error, which the caller frees; may be NULL.
/// @return `FIRESTEEL_OK`, `FIRESTEEL_NOT_STARTED`, `FIRESTEEL_INVALID_ARGUMENT` (for `struct_size`),
/// `FIRESTEEL_NULL_ARGUMENT`.
///
/// # Safety
/// `executor` is NULL or an executor that has not been freed; `counters` is NULL or as many writable bytes as its
/// `struct_size` says; `error` is NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn firesteel_executor_counters(
    executor: *const firesteel_executor,
    counters: *mut firesteel_counters,
    error: *mut *mut firesteel_error,
) -> firesteel_code {
    // SAFETY: the caller's promises are passed on.
    unsafe {
        boundary(error, || {
            let engine = alive(executor)?.engine()?;
            firesteel_counters::fill(counters, || Ok(firesteel_counters::of(&engine.counters())))?;
            Ok(firesteel_code::FIRESTEEL_OK)
        })
    }
}

/// Reads what the executor did so far as JSON: the report that `FIRESTEEL_REPORT` would write.
///
/// @param executor a started executor.
/// @param json takes the JSON text, which the caller frees; NULL after a failure.
/// @param error takes the error, which the caller frees; may be NULL.
/// @return `FIRESTEEL_OK`, `FIRESTEEL_NOT_STARTED`, `FIRESTEEL_NULL_ARGUMENT`.
///
/// # Safety
/// `executor` is NULL or an executor that has not been freed; `json` and `error` are NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn firesteel_executor_counters_json(
    executor: *const firesteel_executor,
    json: *mut *mut firesteel_text,
    error: *mut *mut firesteel_error,
) -> firesteel_code {
    let body = || {
        // SAFETY: the caller's promises are passed on.
        let (json, executor) =
            unsafe { (out("json", json, std::ptr::null_mut())?, alive(executor)?) };
        let text = serde_json::to_string(&executor.engine()?.counters())
            .map_err(|e| firesteel_error::new(firesteel_code::FIRESTEEL_INTERNAL, e.to_string()))?;
        *json = firesteel_text::give(text);
        Ok(firesteel_code::FIRESTEEL_OK)
    };
    // SAFETY: `error` is the caller's promise.
    unsafe { boundary(error, body) }
}

/// Frees an executor; NULL is ignored. One that runs is stopped first, and the call returns when it has ended.
///
/// # Safety
/// `executor` is NULL or an executor that has not been freed; no other call with it is under way or follows.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn firesteel_executor_free(executor: *mut firesteel_executor) {
    if executor.is_null() {
        return;
    }
    quietly(|| {
        // SAFETY: made by `Box::into_raw` and not freed before, as the caller promises.
        let executor = unsafe { Box::from_raw(executor) };
        if let Ok(engine) = executor.engine() {
            engine.stop();
            engine.wait(None);
        }
    });
}

/// # Safety
/// `executor` is NULL or alive for the lifetime `'a`.
unsafe fn alive<'a>(
    executor: *const firesteel_executor,
) -> Result<&'a firesteel_executor, firesteel_error> {
    present("executor", executor)?;
    // SAFETY: not NULL, so alive, as the caller promises.
    Ok(unsafe { &*executor })
}

impl firesteel_executor {
    fn new(launch: Launch) -> Self {
        Self {
            launch,
            state: Mutex::new(LaunchState::New),
        }
    }

    fn start(&self) -> Result<(), firesteel_error> {
        // The lock is not held while the executor starts, so that others are told at once that it has not started yet.
        match &mut *self.state.lock() {
            state @ LaunchState::New => *state = LaunchState::Starting,
            LaunchState::Starting | LaunchState::Started(_) => {
                return Err(firesteel_error::new(
                    firesteel_code::FIRESTEEL_ALREADY_STARTED,
                    "the executor has been started before",
                ));
            }
        }
        let _attempt = Attempt(&self.state);
        let engine = (self.launch)()?;
        *self.state.lock() = LaunchState::Started(engine);
        Ok(())
    }

    fn engine(&self) -> Result<Arc<dyn Engine>, firesteel_error> {
        match &*self.state.lock() {
            LaunchState::Started(engine) => Ok(Arc::clone(engine)),
            LaunchState::New | LaunchState::Starting => Err(firesteel_error::new(
                firesteel_code::FIRESTEEL_NOT_STARTED,
                "the executor has not been started: call firesteel_executor_start first",
            )),
        }
    }
}

impl Engine for ExecutorHandle {
    fn wait(&self, timeout: Option<Duration>) -> Option<i32> {
        self.wait(timeout)
    }

    fn stop(&self) {
        self.stop();
    }

    fn counters(&self) -> Counters {
        // The end is noted when somebody looks for it.
        self.wait(Some(Duration::ZERO));
        self.counters()
    }
}

fn launcher(arguments: &[String]) -> Result<Launch, firesteel_error> {
    let env = |name: &str| std::env::var(name).ok();
    let command = ExecutorCommand::parse(arguments, env).map_err(|e| {
        firesteel_error::new(firesteel_code::FIRESTEEL_INVALID_ARGUMENT, e.to_string())
    })?;
    Ok(Box::new(move || {
        let options = Options {
            assembly: crate::assemble::ASSEMBLY,
            command: command.java.clone(),
            arguments: command.arguments.clone(),
            report: env("FIRESTEEL_REPORT"),
            process_start: Instant::now(),
        };
        match ExecutorHandle::start(options) {
            Ok(handle) => Ok(Arc::new(handle)),
            Err(error) => Err(failure(&error)),
        }
    }))
}

/// Tells the caller who is to blame.
fn failure(error: &ExecutorError) -> firesteel_error {
    let code = match error {
        ExecutorError::Arguments(_) => firesteel_code::FIRESTEEL_INVALID_ARGUMENT,
        ExecutorError::Setting(_) | ExecutorError::Discovery { .. } => {
            firesteel_code::FIRESTEEL_INVALID_SETTING
        }
        ExecutorError::Refused { .. } | ExecutorError::Authentication { .. } => {
            firesteel_code::FIRESTEEL_DRIVER_REFUSED
        }
        ExecutorError::Unsupported { .. } | ExecutorError::DriverOfAnotherVersion { .. } => {
            firesteel_code::FIRESTEEL_UNSUPPORTED
        }
        ExecutorError::DriverUnreachable { .. } | ExecutorError::NoAnswer { .. } => {
            firesteel_code::FIRESTEEL_DRIVER_UNREACHABLE
        }
        ExecutorError::NoSpark { .. } | ExecutorError::MixedSpark { .. } => {
            firesteel_code::FIRESTEEL_CLASS_PATH
        }
        ExecutorError::Jdk(_) => firesteel_code::FIRESTEEL_JDK,
        ExecutorError::NoLocalDir(_)
        | ExecutorError::Port { .. }
        | ExecutorError::ShuffleService { .. }
        | ExecutorError::System { .. } => firesteel_code::FIRESTEEL_LOCAL_RESOURCE,
    };
    firesteel_error::new(code, error.to_string())
}

/// A start under way: if it fails or panics, the executor can be started again.
struct Attempt<'a>(&'a Mutex<LaunchState>);

impl Drop for Attempt<'_> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        if matches!(*state, LaunchState::Starting) {
            *state = LaunchState::New;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::ptr::{null, null_mut};
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::super::slice::firesteel_text_free;
    use super::*;

    /// Ends when it is stopped, and then panics when it is asked anything but its end.
    #[derive(Default)]
    struct Scripted {
        stopped: Mutex<bool>,
        stops: AtomicU32,
    }

    impl Engine for Scripted {
        fn wait(&self, timeout: Option<Duration>) -> Option<i32> {
            assert_ne!(timeout, None, "would hang");
            self.stopped.lock().then_some(56)
        }

        fn stop(&self) {
            self.stops.fetch_add(1, Ordering::Relaxed);
            *self.stopped.lock() = true;
        }

        fn counters(&self) -> Counters {
            assert!(!*self.stopped.lock(), "asked after the end");
            Counters::default()
        }
    }

    fn scripted() -> (firesteel_executor, Arc<Scripted>) {
        let engine = Arc::new(Scripted::default());
        let shared = Arc::clone(&engine);
        (
            firesteel_executor::new(Box::new(move || Ok(Arc::clone(&shared) as Arc<dyn Engine>))),
            engine,
        )
    }

    #[test]
    fn nothing_works_before_the_start() {
        let (executor, _) = scripted();
        let mut json = null_mut();
        // SAFETY: the executor is alive; other pointers are NULL or local variables.
        unsafe {
            let before = firesteel_code::FIRESTEEL_NOT_STARTED;
            assert_eq!(
                firesteel_executor_stop(&raw const executor, null_mut()),
                before
            );
            assert_eq!(
                firesteel_executor_wait(&raw const executor, -1, null_mut(), null_mut()),
                before
            );
            assert_eq!(
                firesteel_executor_counters_json(&raw const executor, &raw mut json, null_mut()),
                before
            );
            assert_eq!(
                firesteel_executor_counters(&raw const executor, null_mut(), null_mut()),
                before
            );
        }
    }

    #[test]
    fn end_is_reported_as_often_as_asked() {
        let (executor, engine) = scripted();
        let executor = &raw const executor;
        let (mut exit_code, mut error) = (7, null_mut());
        // SAFETY: the executor is alive; other pointers are NULL or local variables.
        unsafe {
            assert_eq!(
                firesteel_executor_start(executor, null_mut()),
                firesteel_code::FIRESTEEL_OK
            );
            assert_eq!(
                firesteel_executor_start(executor, null_mut()),
                firesteel_code::FIRESTEEL_ALREADY_STARTED
            );
            assert_eq!(
                firesteel_executor_wait(executor, 0, &raw mut exit_code, &raw mut error),
                firesteel_code::FIRESTEEL_TIMED_OUT
            );
            assert_eq!((exit_code, error), (0, null_mut()));
            for _ in 0..2 {
                assert_eq!(
                    firesteel_executor_stop(executor, null_mut()),
                    firesteel_code::FIRESTEEL_OK
                );
                assert_eq!(
                    firesteel_executor_wait(executor, 0, &raw mut exit_code, &raw mut error),
                    firesteel_code::FIRESTEEL_OK
                );
                assert_eq!((exit_code, error), (56, null_mut()));
            }
        }
        assert_eq!(engine.stops.load(Ordering::Relaxed), 2);
    }

    #[test]
    fn panic_in_the_executor_stays_inside() {
        let (executor, _) = scripted();
        let executor = &raw const executor;
        let mut json = null_mut();
        // SAFETY: the executor is alive; other pointers are NULL or local variables.
        unsafe {
            firesteel_executor_start(executor, null_mut());
            let mut read = || firesteel_executor_counters_json(executor, &raw mut json, null_mut());
            assert_eq!(read(), firesteel_code::FIRESTEEL_OK);
            firesteel_text_free(json);
            firesteel_executor_stop(executor, null_mut());
            assert_eq!(
                firesteel_executor_counters_json(executor, &raw mut json, null_mut()),
                firesteel_code::FIRESTEEL_INTERNAL
            );
            assert!(json.is_null());
            // Waits without a time limit, at which the scripted executor panics.
            let (freed, _) = scripted();
            let freed = Box::into_raw(Box::new(freed));
            firesteel_executor_start(freed, null_mut());
            firesteel_executor_free(freed);
            firesteel_executor_free(null_mut());
        }
    }

    #[test]
    fn failed_start_can_be_repeated() {
        let (calls, engine) = (AtomicU32::new(0), Arc::new(Scripted::default()));
        let executor = firesteel_executor::new(Box::new(move || {
            match calls.fetch_add(1, Ordering::Relaxed) {
                0 => Err(firesteel_error::new(
                    firesteel_code::FIRESTEEL_LOCAL_RESOURCE,
                    "no port",
                )),
                1 => panic!("at the start"),
                _ => Ok(Arc::clone(&engine) as Arc<dyn Engine>),
            }
        }));
        let codes = [(); 4].map(|()| {
            // SAFETY: the executor is alive.
            unsafe { firesteel_executor_start(&raw const executor, null_mut()) }
        });
        use firesteel_code::*;
        assert_eq!(
            codes,
            [
                FIRESTEEL_LOCAL_RESOURCE,
                FIRESTEEL_INTERNAL,
                FIRESTEEL_OK,
                FIRESTEEL_ALREADY_STARTED
            ]
        );
    }

    #[test]
    fn null_executor_is_refused_by_every_function() {
        let code = firesteel_code::FIRESTEEL_NULL_ARGUMENT;
        let mut json = null_mut();
        // SAFETY: NULL is allowed everywhere here.
        unsafe {
            assert_eq!(firesteel_executor_start(null(), null_mut()), code);
            assert_eq!(
                firesteel_executor_wait(null(), 0, null_mut(), null_mut()),
                code
            );
            assert_eq!(firesteel_executor_stop(null(), null_mut()), code);
            assert_eq!(
                firesteel_executor_counters(null(), null_mut(), null_mut()),
                code
            );
            assert_eq!(
                firesteel_executor_counters_json(null(), &raw mut json, null_mut()),
                code
            );
            assert_eq!(
                firesteel_executor_new(null(), 0, null_mut(), null_mut()),
                code
            );
        }
    }
}
