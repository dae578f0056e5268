use std::fmt::{self, Debug, Formatter};
use std::sync::{Arc, PoisonError, RwLock};

use crate::abi::{
    FIRESTEEL_LOG_DEBUG, FIRESTEEL_LOG_ERROR, FIRESTEEL_LOG_INFO, FIRESTEEL_LOG_WARN,
    FIRESTEEL_STATUS_CANCELLED, FIRESTEEL_STATUS_NO_MEMORY, FIRESTEEL_STATUS_OK, firesteel_host,
    firesteel_log_level, firesteel_str, firesteel_task,
};
use crate::guest::Failure;
use crate::guest::raw;

/// The task that calls a function. Clones are the same task, may be kept and may be used by any thread; once the
/// instance is freed that was bound with it, the task counts as cancelled.
#[derive(Clone)]
pub struct Task(Arc<Inner>);

struct Inner {
    time_zone: String,
    ansi: bool,
    stage_id: Option<i32>,
    partition_id: Option<i32>,
    attempt_number: Option<i32>,
    task_attempt_id: Option<i64>,
    /// `None` from when the instance is freed on.
    caller: RwLock<Option<Caller>>,
}

struct Caller {
    task: *const firesteel_task,
    host: firesteel_host,
}

// SAFETY: the host's functions may be called by any thread.
unsafe impl Send for Caller {}
// SAFETY: as above.
unsafe impl Sync for Caller {}

impl Task {
    /// # Safety
    /// `task` and its host are as the interface says, until [`Task::end`] has been called.
    pub(crate) unsafe fn new(task: *const firesteel_task) -> Result<Self, Failure> {
        // SAFETY: as the caller promises; what is missing in a shorter struct is zero, which makes a NULL.
        let (read, host, time_zone) = unsafe {
            let read = raw::read("task", task)?;
            let host = raw::read("host", read.host)?;
            (read, host, raw::text(read.time_zone))
        };
        let known = |id: i32| (id >= 0).then_some(id);
        Ok(Self(Arc::new(Inner {
            time_zone: match time_zone.is_empty() {
                true => "UTC".into(),
                false => time_zone,
            },
            ansi: read.ansi != 0,
            stage_id: known(read.stage_id),
            partition_id: known(read.partition_id),
            attempt_number: known(read.attempt_number),
            task_attempt_id: (read.task_attempt_id >= 0).then_some(read.task_attempt_id),
            caller: RwLock::new(Some(Caller { task, host })),
        })))
    }

    /// Forgets the caller. Waits for threads that are calling it.
    pub(crate) fn end(&self) {
        let caller = &self.0.caller;
        *caller.write().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Whether it was made of this one.
    pub(crate) fn is(&self, task: *const firesteel_task) -> bool {
        self.with_caller(|caller| caller.task == task) == Some(true)
    }

    /// The session's time zone, such as `Europe/Paris`.
    #[must_use]
    pub fn time_zone(&self) -> &str {
        &self.0.time_zone
    }

    /// Whether `spark.sql.ansi.enabled` is on.
    #[must_use]
    pub fn ansi(&self) -> bool {
        self.0.ansi
    }

    /// The stage, if it is known.
    #[must_use]
    pub fn stage_id(&self) -> Option<i32> {
        self.0.stage_id
    }

    /// The partition, if it is known.
    #[must_use]
    pub fn partition_id(&self) -> Option<i32> {
        self.0.partition_id
    }

    /// How many attempts there were before this one, if it is known.
    #[must_use]
    pub fn attempt_number(&self) -> Option<i32> {
        self.0.attempt_number
    }

    /// Number of the attempt, unique in the application, if it is known.
    #[must_use]
    pub fn task_attempt_id(&self) -> Option<i64> {
        self.0.task_attempt_id
    }

    /// Whether the task was cancelled or has ended. A function that takes long asks now and then, and gives up with
    /// [`Failure::cancelled`].
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        let answer = self.with_caller(|caller| match caller.host.is_cancelled {
            // SAFETY: the task lives as long as there is a caller.
            Some(is_cancelled) => unsafe { is_cancelled(caller.task) != 0 },
            None => false,
        });
        answer.unwrap_or(true)
    }

    /// Fails if the task was cancelled.
    ///
    /// # Errors
    /// It was.
    pub fn check_cancelled(&self) -> Result<(), Failure> {
        match self.is_cancelled() {
            true => Err(Failure::cancelled()),
            false => Ok(()),
        }
    }

    /// Writes a line to the executor's log.
    pub fn log(&self, level: Level, message: &str) {
        self.with_caller(|caller| {
            if let Some(log) = caller.host.log {
                // SAFETY: the task lives as long as there is a caller, and the message as long as the call.
                unsafe { log(caller.task, level.code(), firesteel_str::of(message)) };
            }
        });
    }

    /// Asks for memory that a function keeps between calls, and allocates itself. Given back when it is dropped.
    ///
    /// # Errors
    /// There is not so much: the function should fail with this.
    pub fn reserve(&self, bytes: usize) -> Result<Reservation, Failure> {
        let mut reservation = Reservation {
            task: self.clone(),
            bytes: 0,
        };
        reservation.grow(bytes)?;
        Ok(reservation)
    }

    fn with_caller<T>(&self, call: impl FnOnce(&Caller) -> T) -> Option<T> {
        let caller = self.0.caller.read();
        let caller = caller.unwrap_or_else(PoisonError::into_inner);
        caller.as_ref().map(call)
    }
}

impl Debug for Task {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        out.debug_struct("Task")
            .field("stage_id", &self.0.stage_id)
            .field("partition_id", &self.0.partition_id)
            .field("attempt_number", &self.0.attempt_number)
            .finish_non_exhaustive()
    }
}

/// Memory of a task. Given back when it is dropped.
#[derive(Debug)]
pub struct Reservation {
    task: Task,
    bytes: usize,
}

impl Reservation {
    /// How much it is.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Asks for more or gives some back, until there are so many bytes.
    ///
    /// # Errors
    /// There is not so much. Nothing has changed then.
    pub fn resize(&mut self, bytes: usize) -> Result<(), Failure> {
        match bytes.checked_sub(self.bytes) {
            Some(more) => self.grow(more),
            None => {
                self.shrink(self.bytes - bytes);
                Ok(())
            }
        }
    }

    /// Asks for so many bytes more.
    ///
    /// # Errors
    /// There are not so many. Nothing has changed then.
    pub fn grow(&mut self, bytes: usize) -> Result<(), Failure> {
        let too_many = || Failure::no_memory(format!("{bytes} bytes of memory were refused"));
        let sum = self.bytes.checked_add(bytes).ok_or_else(too_many)?;
        if bytes > 0 {
            let status = self.task.with_caller(|caller| match caller.host.reserve {
                // SAFETY: the task lives as long as there is a caller.
                Some(reserve) => unsafe { reserve(caller.task, bytes) },
                None => FIRESTEEL_STATUS_OK,
            });
            match status {
                Some(FIRESTEEL_STATUS_OK) => {}
                Some(FIRESTEEL_STATUS_NO_MEMORY) => return Err(too_many()),
                Some(FIRESTEEL_STATUS_CANCELLED) | None => return Err(Failure::cancelled()),
                Some(status) => {
                    let message = format!("the executor has no memory to give: status {status}");
                    return Err(Failure::internal(message));
                }
            }
        }
        self.bytes = sum;
        Ok(())
    }

    /// Gives so many bytes back, or all if there are fewer.
    pub fn shrink(&mut self, bytes: usize) {
        let bytes = bytes.min(self.bytes);
        self.bytes -= bytes;
        if bytes == 0 {
            return;
        }
        // If the instance is freed, the host has taken back what was left, or will.
        self.task.with_caller(|caller| {
            if let Some(release) = caller.host.release {
                // SAFETY: the task lives as long as there is a caller.
                unsafe { release(caller.task, bytes) };
            }
        });
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.shrink(self.bytes);
    }
}

/// How important a line of the log is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// Something failed.
    Error,
    /// Something is odd.
    Warn,
    /// Something happened.
    Info,
    /// For whoever looks for an error.
    Debug,
}

impl Level {
    fn code(self) -> firesteel_log_level {
        match self {
            Self::Error => FIRESTEEL_LOG_ERROR,
            Self::Warn => FIRESTEEL_LOG_WARN,
            Self::Info => FIRESTEEL_LOG_INFO,
            Self::Debug => FIRESTEEL_LOG_DEBUG,
        }
    }
}
