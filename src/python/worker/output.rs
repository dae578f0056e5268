//! The data of one task: elements to a worker, what it makes of them back.
//!
//! All on the task's own thread, as Spark does from 4.0: whoever asks for output lets the input flow as far as the
//! worker takes it. So the input needs no thread of its own, ends with its consumer, and cannot fill memory.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bytes::{Buf, Bytes};
use javaser::types::Throwable;
use parking_lot::Mutex;

use super::WorkerPool;
use super::barrier::BarrierServer;
use super::factory::{Factory, Worker};
use super::framing::{Framing, MESSAGE_START, body_length, description_length};
use super::inbox::Inbox;
use super::outbox::Outbox;
use super::process::terminate;
use super::socket::Socket;
use super::wire::special;
use crate::cancel::HookGuard;
use crate::python::{Element, Elements};
use crate::task::{TaskContext, TaskError};

/// What a worker returns for its input: pickled batches, whatever the function's serializer writes, or the parts of an
/// Arrow stream.
///
/// Ends the worker if dropped before the end, as `take` does; a worker that has gone to the end serves another task.
pub struct PythonOutput<'a> {
    shared: Arc<WorkerPool>,
    factory: Arc<Factory>,
    context: Arc<TaskContext>,
    worker: Option<Worker>,
    /// The socket, as long as a cancellation may shut it down. Emptied before the worker serves another task.
    link: Arc<Mutex<Option<Arc<Socket>>>>,
    _hook: HookGuard,
    input: Option<Elements<'a>>,
    framing: Framing,
    outbox: Outbox,
    inbox: Inbox,
    accumulates: bool,
    started: SystemTime,
    terminated: bool,
    times: Option<WorkerTimes>,
    _barrier: Option<BarrierServer>,
}

/// How long a worker took for a task, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkerTimes {
    /// Until it ran.
    pub boot: i64,
    /// Until it had read what it needs.
    pub init: i64,
    /// From the start to the end.
    pub total: i64,
    /// In the user's functions; workers before Spark 4.2 do not tell.
    pub processing: Option<i64>,
}

impl std::fmt::Debug for PythonOutput<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PythonOutput")
            .field("worker", &self.worker)
            .finish_non_exhaustive()
    }
}

/// A worker with a task, of which nothing has been sent yet.
pub(super) struct Assignment<'a> {
    pub(super) shared: Arc<WorkerPool>,
    pub(super) factory: Arc<Factory>,
    pub(super) worker: Worker,
    pub(super) context: Arc<TaskContext>,
    pub(super) outbox: Outbox,
    pub(super) input: Elements<'a>,
    pub(super) framing: Framing,
    pub(super) accumulates: bool,
    pub(super) started: SystemTime,
    pub(super) barrier: Option<BarrierServer>,
}

impl<'a> PythonOutput<'a> {
    pub(super) fn new(assignment: Assignment<'a>) -> Self {
        let link = Arc::new(Mutex::new(Some(Arc::clone(&assignment.worker.socket))));
        let hook = {
            let link = Arc::clone(&link);
            assignment.context.cancellation.on_cancel(move |_| {
                if let Some(socket) = link.lock().as_ref() {
                    socket.shutdown();
                }
            })
        };
        Self {
            inbox: Inbox::new(assignment.shared.settings.buffer_size),
            shared: assignment.shared,
            factory: assignment.factory,
            context: assignment.context,
            worker: Some(assignment.worker),
            link,
            _hook: hook,
            input: Some(assignment.input),
            framing: assignment.framing,
            outbox: assignment.outbox,
            accumulates: assignment.accumulates,
            started: assignment.started,
            terminated: false,
            times: None,
            _barrier: assignment.barrier,
        }
    }

    /// How long the worker took, once it has told; given once.
    pub fn take_times(&mut self) -> Option<WorkerTimes> {
        self.times.take()
    }

    /// The next frame; `None` after the last.
    fn next_frame(&mut self) -> Result<Option<Bytes>, TaskError> {
        loop {
            self.context.check()?;
            if let Some(part) = self.next_part()? {
                return Ok(Some(part));
            }
            let length = self.read_i32()?;
            if let (Framing::Lengths, Ok(length)) = (&self.framing, usize::try_from(length)) {
                return self.read(length).map(Some);
            }
            if length == special::START_ARROW_STREAM
                && let Framing::Arrow(parts) = &mut self.framing
            {
                parts.open = true;
                continue;
            }
            match length {
                special::TIMING_DATA => self.read_times()?,
                special::PYTHON_EXCEPTION_THROWN => {
                    let text = self.read_block()?;
                    let text = String::from_utf8_lossy(&text).into_owned();
                    return Err(TaskError::Python(text));
                }
                special::END_OF_DATA_SECTION => {
                    self.finish()?;
                    return Ok(None);
                }
                other => {
                    return Err(TaskError::spark(format!(
                        "A Python worker sent {other} where a length was expected"
                    )));
                }
            }
        }
    }

    /// The next part of an Arrow stream, if one has begun.
    fn next_part(&mut self) -> Result<Option<Bytes>, TaskError> {
        let Framing::Arrow(parts) = &mut self.framing else {
            return Ok(None);
        };
        if let Some(part) = parts.ready.pop_front() {
            return Ok(Some(part));
        }
        if !parts.open {
            return Ok(None);
        }
        let wrong = |what| TaskError::spark(format!("A Python worker sent {what}"));
        let start = self.read(MESSAGE_START)?;
        let length = description_length(&start).map_err(wrong)?;
        let mut following = Vec::new();
        if length > 0 {
            let description = self.read(length)?;
            let body = body_length(&description).map_err(wrong)?;
            following.push(description);
            if body > 0 {
                following.push(self.read(body)?);
            }
        }
        if let Framing::Arrow(parts) = &mut self.framing {
            parts.open = length > 0;
            parts.ready.extend(following);
        }
        Ok(Some(start))
    }

    fn read_times(&mut self) -> Result<(), TaskError> {
        let boot_time = self.read_i64()?;
        let init_time = self.read_i64()?;
        let finish_time = self.read_i64()?;
        let processing = match self.shared.protocol.processing_time {
            true => Some(self.read_i64()?),
            false => None,
        };
        let memory_spilled = self.read_i64()?;
        let disk_spilled = self.read_i64()?;
        let start = self.started.duration_since(UNIX_EPOCH).unwrap_or_default();
        let start = i64::try_from(start.as_millis()).unwrap_or(0);
        let times = WorkerTimes {
            boot: boot_time.wrapping_sub(start),
            init: init_time.wrapping_sub(boot_time),
            total: finish_time.wrapping_sub(start),
            processing,
        };
        tracing::info!(
            target: "PythonRunner",
            "Times: total = {}, boot = {}, init = {}, finish = {}",
            times.total,
            times.boot,
            times.init,
            finish_time.wrapping_sub(init_time),
        );
        self.times = Some(times);
        let spill = &self.context.metrics.spill;
        spill.memory_bytes_spilled.add(memory_spilled);
        spill.disk_bytes_spilled.add(disk_spilled);
        Ok(())
    }

    /// Reads what follows the data, and gives the worker back if it can be used again.
    fn finish(&mut self) -> Result<(), TaskError> {
        let updates = self.read_i32()?;
        for _ in 0..updates {
            let update = self.read_block()?;
            if self.accumulates {
                self.context.python_updates.lock().push(update.to_vec());
            }
        }
        let ready = self.read_i32()? == special::END_OF_STREAM;
        let clean = self.input.is_none() && self.outbox.len() == 0 && self.inbox.len() == 0;
        self.input = None;
        // From here on a cancellation does not reach the worker any more. One that has reached it shows as an end of
        // the connection when the worker is to be used again.
        let unlinked = self.link.lock().take();
        drop(unlinked);
        if let Some(worker) = self.worker.take()
            && ready
            && clean
            && self.shared.settings.reuse
        {
            self.factory.release(worker);
        }
        Ok(())
    }

    fn read_i32(&mut self) -> Result<i32, TaskError> {
        self.read(4).map(|mut bytes| bytes.get_i32())
    }

    fn read_i64(&mut self) -> Result<i64, TaskError> {
        self.read(8).map(|mut bytes| bytes.get_i64())
    }

    /// Bytes behind their length.
    fn read_block(&mut self) -> Result<Bytes, TaskError> {
        let length = self.read_i32()?;
        let length = usize::try_from(length).map_err(|_| {
            TaskError::spark(format!("A Python worker sent a block of {length} bytes"))
        })?;
        self.read(length)
    }

    fn read(&mut self, n: usize) -> Result<Bytes, TaskError> {
        loop {
            if let Some(bytes) = self.inbox.take(n) {
                return Ok(bytes);
            }
            if let Some(why) = self.fill(n)? {
                return Err(self.died(why));
            }
        }
    }

    /// Lets data flow until something came in. At the end of the connection, gives what Java would throw.
    fn fill(&mut self, want: usize) -> Result<Option<Throwable>, TaskError> {
        let Some(socket) = self
            .worker
            .as_ref()
            .map(|worker| Arc::clone(&worker.socket))
        else {
            return Ok(Some(end_of_file()));
        };
        let mut quiet_since = Instant::now();
        loop {
            self.context.check()?;
            self.pump(&socket)?;
            match self.inbox.read_from(&*socket, want) {
                Ok(read) => return Ok((read == 0).then(end_of_file)),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    let timeout = self.shared.settings.idle_timeout;
                    let ready = socket.wait(self.outbox.len() > 0, timeout)?;
                    if let (false, Some(timeout)) = (ready, timeout) {
                        self.idle(timeout, quiet_since);
                        quiet_since = Instant::now();
                    }
                }
                Err(error) => {
                    tracing::debug!("Reading from a Python worker failed: {error}");
                    return Ok(Some(match error.kind() {
                        io::ErrorKind::ConnectionReset => {
                            Throwable::new("java.net.SocketException", "Connection reset")
                        }
                        _ => Throwable::new("java.io.IOException", error.to_string()),
                    }));
                }
            }
        }
    }

    /// Sends input as long as the worker takes it.
    fn pump(&mut self, socket: &Socket) -> Result<(), TaskError> {
        let most = self.shared.settings.buffer_size;
        loop {
            if self.outbox.len() > 0 {
                match self.outbox.write_to(socket) {
                    Ok(()) => {}
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                    Err(error) => {
                        // The worker may have said why before it closed: that is read now.
                        tracing::debug!("Writing to a Python worker failed: {error}");
                        self.outbox.clear();
                        self.input = None;
                        return Ok(());
                    }
                }
            }
            let Some(input) = &mut self.input else {
                return Ok(());
            };
            self.context.check()?;
            while self.outbox.len() < most {
                match (input.next(), &self.framing) {
                    (Some(element), Framing::Lengths) => self.outbox.put_element(element?)?,
                    (Some(element), Framing::Arrow(_)) => match element? {
                        Element::Bytes(part) => self.outbox.put_part(part),
                        _ => return Err(TaskError::BailOut("no part of a stream".to_owned())),
                    },
                    (None, framing) => {
                        // An Arrow stream says itself where it ends.
                        if matches!(framing, Framing::Lengths) {
                            self.outbox.put_i32(special::END_OF_DATA_SECTION);
                        }
                        self.outbox.put_i32(special::END_OF_STREAM);
                        self.input = None;
                        break;
                    }
                }
            }
        }
    }

    /// Nothing happened for `spark.python.worker.idleTimeoutSeconds`.
    fn idle(&mut self, timeout: Duration, since: Instant) {
        let seconds = timeout.as_secs();
        let task = self.task_name();
        if self.terminated {
            tracing::warn!(
                "Waiting for Python worker process to terminate after idle timeout: {task}"
            );
            return;
        }
        tracing::warn!(
            "Idle timeout reached for Python worker (timeout: {seconds} seconds). No data received from the worker process for {} seconds: \
             hasInputs = {} - {task}",
            since.elapsed().as_secs(),
            self.input.is_some() || self.outbox.len() > 0,
        );
        if let (true, Some(worker)) = (self.shared.settings.kill_on_idle_timeout, &self.worker) {
            tracing::warn!(
                "Terminating Python worker process due to idle timeout (timeout: {seconds} seconds) - {task}"
            );
            terminate(worker.pid);
            self.terminated = true;
        }
    }

    fn task_name(&self) -> String {
        let context = &self.context;
        format!(
            "task {}.{} in stage {} (TID {})",
            context.partition_id, context.attempt_number, context.stage_id, context.task_attempt_id
        )
    }

    /// Why the connection has ended early.
    fn died(&self, cause: Throwable) -> TaskError {
        if let Err(killed) = self.context.check() {
            return killed;
        }
        let settings = &self.shared.settings;
        let traceback = self.fault_traceback();
        if let (true, Some(timeout)) = (self.terminated, settings.idle_timeout) {
            let base = format!(
                "Python worker process terminated due to idle timeout (timeout: {} seconds)",
                timeout.as_secs()
            );
            return TaskError::exception(
                "org.apache.spark.api.python.PythonWorkerException",
                with_traceback(base, traceback),
            )
            .caused_by(cause);
        }
        let base = "Python worker exited unexpectedly (crashed)";
        if self.shared.protocol.advises_faulthandler && !settings.faulthandler {
            return TaskError::spark(format!(
                "{base}. Consider setting 'spark.sql.execution.pyspark.udf.faulthandler.enabled' or\
                 'spark.python.worker.faulthandler.enabled' configuration to 'true' for the better Python traceback."
            ))
            .caused_by(cause);
        }
        TaskError::spark(with_traceback(base.to_owned(), traceback)).caused_by(cause)
    }

    /// What Python's `faulthandler` left behind.
    fn fault_traceback(&self) -> Option<String> {
        let dir: &PathBuf = self.shared.faulthandler_dir.as_ref()?;
        let path = dir.join(self.worker.as_ref()?.pid.to_string());
        let content = std::fs::read(&path).ok()?;
        // It would be taken for that of another worker with the same process id.
        let _ = std::fs::remove_file(&path);
        let content = String::from_utf8_lossy(&content);
        let lines: Vec<&str> = content.lines().collect();
        Some(lines.join("\n") + "\n")
    }
}

fn end_of_file() -> Throwable {
    Throwable {
        class: "java.io.EOFException".to_owned(),
        ..Throwable::default()
    }
}

fn with_traceback(base: String, traceback: Option<String>) -> String {
    match traceback {
        Some(traceback) => format!("{base}: {traceback}"),
        None => base,
    }
}

impl Iterator for PythonOutput<'_> {
    type Item = Result<Bytes, TaskError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.worker.as_ref()?;
        let next = self.next_frame();
        if next.is_err() {
            self.abandon();
        }
        next.transpose()
    }
}

impl PythonOutput<'_> {
    /// Ends a worker that is not at the end of its task.
    fn abandon(&mut self) {
        let unlinked = self.link.lock().take();
        drop(unlinked);
        self.input = None;
        let Some(worker) = self.worker.take() else {
            return;
        };
        let killed = self.context.cancellation.is_cancelled();
        let condemned = killed.then(|| self.factory.condemn(&worker));
        // Other holders of the socket would keep it open.
        worker.socket.shutdown();
        if let Some(condemned) = condemned {
            // It may be in the middle of something that does not look at its socket, and must not outlive its task.
            condemned.end_within(self.shared.settings.kill_timeout);
        }
    }
}

impl Drop for PythonOutput<'_> {
    fn drop(&mut self) {
        self.abandon();
    }
}
