//! The executor's side of a process of isolated functions.

use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow::array::RecordBatch;
use arrow::buffer::Buffer;
use arrow::datatypes::Fields;
use arrow::error::ArrowError;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};

use super::columns;
use super::memory::SharedMemory;
use super::message::{Reply, Request, read_message, write_message};
use super::side::ExecutorSide;
use crate::cancel::Cancellation;
use crate::launch::secret::keep_from;

/// How long a process may go on after its task was cancelled, and may be in the middle of a message.
pub(super) const PATIENCE: Duration = Duration::from_secs(2);

/// How often a call that takes long looks whether its task was cancelled.
const LOOK: Duration = Duration::from_millis(50);

/// Most bytes of columns that a process gives at once: offsets of texts have 31 bits.
const MOST_BYTES: u64 = 2 << 30;

/// The byte that comes with the descriptors of a process.
pub(super) const GREETING: [u8; 1] = [1];

/// Descriptors that a process is given: memory that it reads, memory that it writes, the socket beside calls.
pub(super) const DESCRIPTORS: usize = 3;

/// What goes with a request.
pub(super) enum Columns<'a> {
    None,
    Batch(&'a RecordBatch),
    Schema(&'a Fields),
}

/// Why there is no answer. The process is not to be used any more.
#[derive(Debug)]
pub(super) enum Gone {
    /// It ended, or says what it should not: how.
    Crashed(String),
    /// It was killed, since its task was cancelled.
    Cancelled,
    /// The columns do not go to it.
    Columns(String),
}

impl From<io::Error> for Gone {
    fn from(error: io::Error) -> Self {
        Self::Columns(error.to_string())
    }
}

impl From<ArrowError> for Gone {
    fn from(error: ArrowError) -> Self {
        Self::Columns(error.to_string())
    }
}

/// A process, and what connects us.
#[derive(Debug)]
pub(super) struct Worker {
    process: Child,
    calls: UnixStream,
    to: SharedMemory,
    from: SharedMemory,
    pub(super) side: Arc<ExecutorSide>,
}

impl Worker {
    /// Starts `program`, which is this one.
    ///
    /// # Errors
    /// It cannot be started.
    pub(super) fn start(program: &Path) -> io::Result<Self> {
        let (calls, calls_theirs) = UnixStream::pair()?;
        let (side, side_theirs) = UnixStream::pair()?;
        let (to, from) = (SharedMemory::new()?, SharedMemory::new()?);
        // In the middle of a message; a call may take as long as it wants.
        calls.set_read_timeout(Some(PATIENCE))?;
        let side = ExecutorSide::start(side)?;
        let mut command = Command::new(program);
        command.args(["functions", "serve"]);
        keep_from(&mut command);
        command.stdin(Stdio::from(OwnedFd::from(calls_theirs)));
        let process = command.spawn().map_err(|why| {
            let program = program.display();
            io::Error::new(why.kind(), format!("cannot run {program}: {why}"))
        })?;
        // The process is ended if the rest fails.
        let worker = Self {
            process,
            calls,
            to,
            from,
            side,
        };
        worker.greet(side_theirs.as_fd())?;
        Ok(worker)
    }

    /// Gives the process what connects us.
    fn greet(&self, side: BorrowedFd<'_>) -> io::Result<()> {
        let given = [self.to.fd(), self.from.fd(), side];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS))];
        let mut descriptors = SendAncillaryBuffer::new(&mut space);
        descriptors.push(SendAncillaryMessage::ScmRights(&given));
        let greeting = [IoSlice::new(&GREETING)];
        sendmsg(
            &self.calls,
            &greeting,
            &mut descriptors,
            SendFlags::NOSIGNAL,
        )?;
        Ok(())
    }

    /// Asks for something and waits for what comes of it, no longer than until `limit` if there is one. The columns that
    /// come with it are copied before anybody else can ask: they are in memory that the next answer is written to.
    ///
    /// # Errors
    /// The process ended, or was ended because the task was cancelled.
    pub(super) fn call(
        &mut self,
        request: &Request,
        columns: &Columns<'_>,
        (cancellation, limit): (&Cancellation, Option<Duration>),
    ) -> Result<(Reply, Buffer), Gone> {
        let bytes = match columns {
            Columns::None => 0,
            Columns::Batch(batch) => self
                .to
                .write(|to| columns::write(to, batch).map_err(Gone::from))?,
            Columns::Schema(fields) => self
                .to
                .write(|to| columns::write_schema(to, fields).map_err(Gone::from))?,
        };
        if write_message(&mut self.calls, request, bytes).is_err() {
            return Err(self.ended());
        }
        let mut end = limit.map(|limit| Instant::now() + limit);
        loop {
            match readable(&self.calls, LOOK) {
                Ok(true) => break,
                Ok(false) if end.is_some_and(|end| Instant::now() >= end) => {
                    self.kill();
                    return Err(Gone::Cancelled);
                }
                Ok(false) => {}
                Err(_) => return Err(self.ended()),
            }
            if end.is_none() && cancellation.is_cancelled() {
                end = Some(Instant::now() + PATIENCE);
            }
        }
        let reply = read_message(&mut self.calls);
        if bytes > 0 {
            self.to.shrink();
        }
        let reply = match reply {
            Ok(Some((reply, bytes))) => self.columns(bytes).map(|columns| (reply, columns)),
            Ok(None) => return Err(self.ended()),
            Err(why) if why.kind() == io::ErrorKind::ConnectionReset => return Err(self.ended()),
            Err(why) => Err(why),
        };
        reply.map_err(|why| {
            self.kill();
            Gone::Crashed(format!("its process gave no answer: {why}"))
        })
    }

    /// The bytes that came with a reply, of which there may be none.
    ///
    /// # Errors
    /// There are not so many, or too many.
    fn columns(&self, bytes: u64) -> io::Result<Buffer> {
        if bytes > MOST_BYTES {
            return Err(io::Error::other(format!("{bytes} bytes at once")));
        }
        let columns = self.from.read(bytes)?;
        self.from.shrink();
        Ok(columns)
    }

    /// Whether the process has not ended.
    pub(super) fn lives(&mut self) -> bool {
        matches!(self.process.try_wait(), Ok(None))
    }

    /// How the process ended, which it has or is made to.
    fn ended(&mut self) -> Gone {
        let until = Instant::now() + PATIENCE;
        let status = loop {
            match self.process.try_wait() {
                Ok(Some(status)) => break Some(status),
                Ok(None) if Instant::now() < until => std::thread::sleep(LOOK / 10),
                Ok(None) | Err(_) => break None,
            }
        };
        let Some(status) = status else {
            self.kill();
            return Gone::Crashed("its process closed its connection".to_owned());
        };
        Gone::Crashed(match (status.signal(), status.code()) {
            (Some(signal), _) => format!("its process ended by {}", signal_name(signal)),
            (None, code) => format!("its process ended with exit code {}", code.unwrap_or(-1)),
        })
    }

    fn kill(&mut self) {
        // Either may say that it has ended, which is what is wanted.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Whether something came within that time, or the other side is gone.
fn readable(socket: &UnixStream, within: Duration) -> io::Result<bool> {
    let within = Timespec {
        tv_sec: i64::try_from(within.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: within.subsec_nanos().into(),
    };
    match poll(&mut [PollFd::new(socket, PollFlags::IN)], Some(&within)) {
        Ok(ready) => Ok(ready > 0),
        Err(rustix::io::Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// `signal 11 (SIGSEGV)`
fn signal_name(signal: i32) -> String {
    let name = match signal {
        libc::SIGSEGV => " (SIGSEGV)",
        libc::SIGBUS => " (SIGBUS)",
        libc::SIGFPE => " (SIGFPE)",
        libc::SIGILL => " (SIGILL)",
        libc::SIGABRT => " (SIGABRT)",
        libc::SIGKILL => " (SIGKILL, which is what the system does where memory is short)",
        _ => "",
    };
    format!("signal {signal}{name}")
}
