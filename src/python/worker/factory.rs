//! The workers of one kind of function (`PythonWorkerFactory`): their daemon, and those that wait for another task.

use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rustix::event::PollFlags;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use super::listener::LocalListener;
use super::message::ServerAddress;
use super::process::{Daemon, Interpreter, our_stderr, reap};
use super::protocol::WorkerProtocol;
use super::settings::WorkerSettings;
use super::socket::{Socket, wait_for};
use super::wire::read_i32;
use crate::task::TaskError;

/// How long a worker without daemon may take to connect.
const CONNECT: Duration = Duration::from_secs(10);
/// Idle workers are stopped when none has been given back for so long.
const IDLE: Duration = Duration::from_secs(60);

/// What decides whether two functions can share workers.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct FactoryKey {
    /// The interpreter.
    pub(super) exec: String,
    /// Environment on top of the executor's.
    pub(super) env: BTreeMap<String, String>,
}

/// A worker that belongs to one task, or to nobody while it is idle.
#[derive(Debug)]
pub(super) struct Worker {
    /// Does not wait. Another thread may shut it down.
    pub(super) socket: Arc<Socket>,
    /// The worker's process id.
    pub(super) pid: u32,
    /// Broadcast variables that it has.
    pub(super) broadcasts: BTreeSet<i64>,
    /// Its process, if we have started it ourselves.
    child: Option<Child>,
    live: Arc<Mutex<HashSet<u32>>>,
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.live.lock().remove(&self.pid);
        if let Some(child) = self.child.take() {
            // It ends when its socket is closed, which happens now.
            reap(child, false);
        }
    }
}

/// A worker that has lost its task and is killed if it does not end by itself.
#[derive(Debug)]
pub(super) struct Condemned {
    pid: u32,
    /// Unlike its id, this cannot become another process.
    process: Option<OwnedFd>,
    factory: Arc<Factory>,
}

impl Condemned {
    /// Waits for the worker's end for so long, and kills it then.
    pub(super) fn end_within(self, timeout: Duration) {
        match self.process {
            Some(process) => {
                let ended = wait_for(process.as_fd(), PollFlags::IN, Some(timeout));
                if matches!(ended, Ok(false)) {
                    tracing::warn!("Attempting to kill Python Worker {}", self.pid);
                    // It may end by itself just now.
                    let _ = pidfd_send_signal(process, Signal::KILL);
                }
            }
            None => {
                if let Some(daemon) = self.factory.daemon.lock().as_ref() {
                    daemon.kill(self.pid);
                }
            }
        }
    }
}

#[derive(Debug, Default)]
struct Idle {
    workers: VecDeque<Worker>,
    last_release: Option<Instant>,
}

/// Workers of one interpreter and environment.
#[derive(Debug)]
pub(super) struct Factory {
    key: FactoryKey,
    settings: Arc<WorkerSettings>,
    protocol: Arc<WorkerProtocol>,
    python_path: String,
    dir: Option<PathBuf>,
    daemon: Mutex<Option<Arc<Daemon>>>,
    idle: Mutex<Idle>,
    live: Arc<Mutex<HashSet<u32>>>,
}

impl Factory {
    /// `python_path` is the workers' `PYTHONPATH`, `dir` their working directory unless the executor's own.
    pub(super) fn new(
        key: FactoryKey,
        settings: Arc<WorkerSettings>,
        protocol: Arc<WorkerProtocol>,
        python_path: String,
        dir: Option<PathBuf>,
    ) -> Self {
        Self {
            key,
            settings,
            protocol,
            python_path,
            dir,
            daemon: Mutex::default(),
            idle: Mutex::default(),
            live: Arc::default(),
        }
    }

    /// An idle worker, or a new one.
    ///
    /// # Errors
    /// None can be started; with Spark's text.
    pub(super) fn acquire(&self) -> Result<Worker, TaskError> {
        if !self.settings.use_daemon {
            return self.start_alone();
        }
        while let Some(worker) = self.take_idle() {
            if !worker.socket.is_readable() {
                return Ok(worker);
            }
            tracing::warn!(
                "Worker {} process from idle queue is dead, discarding.",
                worker.pid
            );
        }
        let daemon = self.daemon()?;
        let forked = daemon.fork().or_else(|error| {
            if error.kind() == io::ErrorKind::Other {
                return Err(TaskError::exception(
                    "java.lang.IllegalStateException",
                    error,
                ));
            }
            tracing::warn!("Failed to open socket to Python daemon: {error}");
            tracing::warn!("Assuming that daemon unexpectedly quit, attempting to restart");
            self.forget(&daemon);
            Ok(self.daemon()?.fork()?)
        });
        let (socket, pid) = forked?;
        Ok(self.worker(socket, pid, None))
    }

    fn take_idle(&self) -> Option<Worker> {
        self.idle.lock().workers.pop_front()
    }

    fn worker(&self, socket: Socket, pid: u32, child: Option<Child>) -> Worker {
        self.live.lock().insert(pid);
        Worker {
            socket: Arc::new(socket),
            pid,
            broadcasts: BTreeSet::new(),
            child,
            live: Arc::clone(&self.live),
        }
    }

    /// Takes a connection for one to a worker.
    #[cfg(fuzzing)]
    pub(super) fn adopt(&self, socket: Socket) -> Worker {
        self.worker(socket, std::process::id(), None)
    }

    fn interpreter(&self) -> Interpreter<'_> {
        if let Some(dir) = &self.dir {
            // If it cannot be made, starting says so.
            let _ = std::fs::create_dir_all(dir);
        }
        Interpreter {
            exec: &self.key.exec,
            env: &self.key.env,
            path: &self.python_path,
            dir: self.dir.as_deref(),
            launcher: self.settings.launcher.as_deref(),
        }
    }

    fn daemon(&self) -> Result<Arc<Daemon>, TaskError> {
        // Held while the daemon starts: others would have to wait for the same.
        let mut daemon = self.daemon.lock();
        if let Some(daemon) = daemon.as_ref() {
            return Ok(Arc::clone(daemon));
        }
        let started = Daemon::start(&self.interpreter(), &self.settings, &self.protocol)?;
        let started = Arc::new(started);
        *daemon = Some(Arc::clone(&started));
        Ok(started)
    }

    /// Stops a daemon, and with it its idle workers.
    fn forget(&self, lost: &Arc<Daemon>) {
        let mut daemon = self.daemon.lock();
        if daemon
            .as_ref()
            .is_some_and(|daemon| Arc::ptr_eq(daemon, lost))
        {
            self.idle.lock().workers.clear();
            *daemon = None;
        }
    }

    /// Starts a worker without daemon and lets it connect to us.
    fn start_alone(&self) -> Result<Worker, TaskError> {
        let interpreter = self.interpreter();
        let mut command = interpreter.command(&[&self.settings.worker_module]);
        command
            .stdin(Stdio::null())
            .stdout(our_stderr())
            .stderr(our_stderr());
        let listener = LocalListener::bind(self.settings.socket_dir.as_deref())?;
        match listener.address() {
            ServerAddress::Path(path) => command
                .env("PYTHON_WORKER_FACTORY_SOCK_PATH", path)
                .env("PYTHON_UNIX_DOMAIN_ENABLED", "True"),
            ServerAddress::Port(port, secret) => command
                .env("PYTHON_WORKER_FACTORY_PORT", port.to_string())
                .env("PYTHON_WORKER_FACTORY_SECRET", secret),
        };
        let child = interpreter.spawn(&mut command)?;
        match accept(&listener) {
            Ok((socket, pid)) => Ok(self.worker(socket, pid, Some(child))),
            Err(error) => {
                tracing::error!("{error}");
                reap(child, true);
                Err(TaskError::spark("Python worker failed to connect back."))
            }
        }
    }

    /// Takes a worker back that is ready for another task.
    pub(super) fn release(&self, worker: Worker) {
        if !self.settings.use_daemon {
            return;
        }
        let evicted = {
            let mut idle = self.idle.lock();
            idle.last_release = Some(Instant::now());
            idle.workers.push_back(worker);
            match self.settings.max_idle_workers {
                Some(most) if idle.workers.len() > most => idle.workers.pop_front(),
                _ => None,
            }
        };
        drop(evicted);
    }

    /// Prepares a worker to be killed later. Its socket may be closed then.
    pub(super) fn condemn(self: &Arc<Self>, worker: &Worker) -> Condemned {
        let pid = i32::try_from(worker.pid).ok().and_then(Pid::from_raw);
        Condemned {
            pid: worker.pid,
            process: pid.and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok()),
            factory: Arc::clone(self),
        }
    }

    /// Stops idle workers if none has been given back for long.
    pub(super) fn stop_idle(&self) {
        let idle = {
            let mut idle = self.idle.lock();
            if idle.last_release.is_some_and(|last| last.elapsed() <= IDLE) {
                return;
            }
            std::mem::take(&mut idle.workers)
        };
        drop(idle);
    }

    /// Process ids of the daemon and of all workers.
    pub(super) fn process_ids(&self) -> Vec<u32> {
        let mut pids: Vec<u32> = self.live.lock().iter().copied().collect();
        // Not waited for: while a daemon starts there is nothing to count.
        if let Some(daemon) = self.daemon.try_lock() {
            pids.extend(daemon.as_ref().map(|daemon| daemon.pid));
        }
        pids
    }
}

/// Waits for a worker to connect and to tell its process id.
fn accept(listener: &LocalListener) -> io::Result<(Socket, u32)> {
    let Some(socket) = listener.accept(Some(CONNECT), None)? else {
        let text = "Timed out while waiting for the Python worker to connect back";
        return Err(io::Error::new(io::ErrorKind::TimedOut, text));
    };
    let pid = read_i32(&socket)?;
    let Some(pid) = u32::try_from(pid).ok().filter(|pid| *pid > 0) else {
        let text = format!("Python failed to launch worker with code {pid}");
        return Err(io::Error::other(text));
    };
    socket.set_read_timeout(None)?;
    socket.set_blocking(false)?;
    Ok((socket, pid))
}
