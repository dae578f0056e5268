//! Starting interpreters.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use javaser::types::Throwable;
use parking_lot::Mutex;

use super::protocol::WorkerProtocol;
use super::settings::WorkerSettings;
use super::socket::Socket;
use super::wire::{MAX_HANDSHAKE_TEXT, authenticate_to_server, new_secret, read_i32, read_text};
use crate::launch::secret::keep_from;
use crate::task::TaskError;

/// How long a failed daemon may take to end.
const END_OF_FAILED: Duration = Duration::from_secs(10);
/// How long a daemon may take to fork a worker.
const FORK: Duration = Duration::from_secs(60);
/// Bytes of a daemon's error output that are kept while it starts.
const MAX_KEPT: usize = 1 << 20;

/// What to run.
#[derive(Debug)]
pub(super) struct Interpreter<'a> {
    /// The executable.
    pub(super) exec: &'a str,
    /// Environment on top of the executor's.
    pub(super) env: &'a BTreeMap<String, String>,
    /// `PYTHONPATH`
    pub(super) path: &'a str,
    /// Working directory, unless the executor's own.
    pub(super) dir: Option<&'a Path>,
    /// The program that prepares the interpreter before it runs a module, if there is one.
    pub(super) launcher: Option<&'a Path>,
}

impl Interpreter<'_> {
    /// A command that runs a module, with the arguments that follow its name.
    pub(super) fn command(&self, modules: &[&str]) -> Command {
        let mut command = Command::new(self.exec);
        match self.launcher {
            Some(launcher) => command.arg(launcher),
            None => command.arg("-m"),
        };
        keep_from(&mut command);
        command.args(modules).envs(self.env);
        command.env("PYTHONPATH", self.path);
        command.env("PYTHONUNBUFFERED", "YES");
        if let Some(dir) = self.dir {
            command.current_dir(dir);
        }
        command
    }

    /// Starts a command.
    ///
    /// # Errors
    /// As Java's `ProcessBuilder.start`.
    pub(super) fn spawn(&self, command: &mut Command) -> Result<Child, TaskError> {
        command.spawn().map_err(|error| {
            let dir = self.dir.map_or_else(String::new, |dir| {
                format!(" (in directory \"{}\")", dir.display())
            });
            let reason = match error.kind() {
                io::ErrorKind::NotFound => "error=2, No such file or directory".to_owned(),
                io::ErrorKind::PermissionDenied => "error=13, Permission denied".to_owned(),
                _ => error.to_string(),
            };
            TaskError::io(format!(
                "Cannot run program \"{}\"{dir}: {reason}",
                self.exec
            ))
            .caused_by(Throwable::new("java.io.IOException", reason))
        })
    }
}

/// Our own error output, for processes to inherit as theirs.
pub(super) fn our_stderr() -> Stdio {
    let own = io::stderr().as_fd().try_clone_to_owned();
    own.map_or_else(|_| Stdio::null(), Stdio::from)
}

#[derive(Debug)]
enum Address {
    Port(u16),
    Path(PathBuf),
}

/// A `pyspark.daemon`: forks a worker for each connection.
#[derive(Debug)]
pub(super) struct Daemon {
    child: Option<Child>,
    /// The daemon ends when this is closed. It kills the workers whose process ids are written here.
    stdin: Mutex<ChildStdin>,
    address: Address,
    secret: String,
    /// The daemon's process id.
    pub(super) pid: u32,
}

impl Daemon {
    /// Starts a daemon and waits until it listens.
    ///
    /// # Errors
    /// Spark's: with what the interpreter said, if it ended at once.
    pub(super) fn start(
        interpreter: &Interpreter<'_>,
        settings: &WorkerSettings,
        protocol: &WorkerProtocol,
    ) -> Result<Self, TaskError> {
        let module = settings.daemon_module.as_str();
        let socket_dir = settings.socket_dir.as_deref();
        let mut modules = vec![module];
        if protocol.daemon_knows_worker {
            modules.push(&settings.worker_module);
        }
        let mut command = interpreter.command(&modules);
        let secret = new_secret();
        match socket_dir {
            Some(dir) => command
                .env("PYTHON_WORKER_FACTORY_SOCK_DIR", dir)
                .env("PYTHON_UNIX_DOMAIN_ENABLED", "True"),
            None => command.env("PYTHON_WORKER_FACTORY_SECRET", &secret),
        };
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = interpreter.spawn(&mut command)?;
        let (Some(stdin), Some(mut stdout), Some(stderr)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(TaskError::io("a daemon has no pipes"));
        };
        let kept = Arc::new(Mutex::new(Some(Vec::new())));
        let forwarding = forward(stderr, Some(Arc::clone(&kept)));
        let address = match socket_dir {
            Some(_) => read_text(&mut stdout, MAX_HANDSHAKE_TEXT).map(|path| {
                let path = PathBuf::from(path);
                match path.exists() {
                    true => Ok(Address::Path(path)),
                    false => Err(path.to_string_lossy().into_owned()),
                }
            }),
            None => read_i32(&mut stdout).map(|port| match u16::try_from(port) {
                Ok(number) if number > 0 => Ok(Address::Port(number)),
                _ => Err(format!("{port} (0x{port:08x})")),
            }),
        };
        let failure = match address {
            Ok(Ok(address)) => {
                *kept.lock() = None;
                forward(stdout, None);
                return Ok(Self {
                    pid: child.id(),
                    child: Some(child),
                    stdin: Mutex::new(stdin),
                    address,
                    secret,
                });
            }
            Ok(Err(wrong)) => {
                let what = match protocol.settings_of_4_1 {
                    true => "port number/socket path",
                    false => "port number",
                };
                bad_data(interpreter, &modules, what, &wrong)
            }
            Err(_) => {
                let code = exit_code(&mut child, Duration::from_millis(200));
                let code = code.map_or_else(String::new, |code| {
                    format!(" and terminated with code: {code}.")
                });
                format!(
                    "EOFException occurred while reading the port number from {module}'s stdout{code}."
                )
            }
        };
        // The daemon ends when its input does.
        drop(stdin);
        let ended = exit_code(&mut child, END_OF_FAILED).is_some();
        if !ended {
            reap(child, true);
        }
        if let (true, Some(forwarding)) = (ended, forwarding) {
            // It has not panicked, and if it had, what was said would still be there.
            let _ = forwarding.join();
        }
        let said = match ended {
            true => kept.lock().take().unwrap_or_default(),
            false => Vec::new(),
        };
        let said = String::from_utf8_lossy(&said);
        let said = said.trim_end_matches('\n');
        if said.is_empty() {
            return Err(TaskError::spark(failure));
        }
        Err(TaskError::spark(format!(
            "\nError from python worker:\n  {}\nPYTHONPATH was:\n  {}\norg.apache.spark.SparkException: {failure}",
            said.replace('\n', "\n  "),
            interpreter.path
        )))
    }

    /// Has a worker forked. Gives the connection to it and its process id.
    ///
    /// # Errors
    /// Of kind `Other` if the daemon cannot fork; otherwise the daemon itself seems to be gone.
    pub(super) fn fork(&self) -> io::Result<(Socket, u32)> {
        let socket = match &self.address {
            Address::Port(port) => {
                let socket = TcpStream::connect((Ipv4Addr::LOCALHOST, *port))?;
                socket.set_nodelay(true)?;
                Socket::Tcp(socket)
            }
            Address::Path(path) => Socket::Unix(UnixStream::connect(path)?),
        };
        socket.set_read_timeout(Some(FORK))?;
        let pid = read_i32(&socket)?;
        let Some(pid) = u32::try_from(pid).ok().filter(|pid| *pid > 0) else {
            let text = format!("Python daemon failed to launch worker with code {pid}");
            return Err(io::Error::other(text));
        };
        if matches!(self.address, Address::Port(_)) {
            authenticate_to_server(&socket, &self.secret)?;
        }
        socket.set_read_timeout(None)?;
        socket.set_blocking(false)?;
        Ok((socket, pid))
    }

    /// Has a worker killed.
    pub(super) fn kill(&self, pid: u32) {
        // A daemon that is gone has taken its workers along.
        let _ = self.stdin.lock().write_all(&pid.to_be_bytes());
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        if let Some(child) = self.child.take() {
            terminate(self.pid);
            reap(child, false);
        }
    }
}

fn bad_data(interpreter: &Interpreter<'_>, modules: &[&str], what: &str, wrong: &str) -> String {
    let module = modules.first().copied().unwrap_or_default();
    let command = format!("{} -m {}", interpreter.exec, modules.join(" "));
    format!(
        "\nBad data in {module}'s standard output. Invalid {what}:\n  {wrong}\n\
         Python command to execute the daemon was:\n  {command}\n\
         Check that you don't have any unexpected modules or libraries in\nyour PYTHONPATH:\n  {}\n\
         Also, check if you have a sitecustomize.py module in your python path,\n\
         or in your python installation, that is printing to standard output",
        interpreter.path
    )
}

/// Asks a process to end.
pub(super) fn terminate(pid: u32) {
    let pid = i32::try_from(pid)
        .ok()
        .and_then(rustix::process::Pid::from_raw);
    if let Some(pid) = pid {
        // A process that has ended already is what is wanted.
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
    }
}

/// Waits for the end of a process on a thread of its own, so that no zombie is left.
pub(super) fn reap(mut child: Child, kill: bool) {
    if kill {
        let _ = child.kill();
    }
    let waiting = std::thread::Builder::new()
        .name("python-reaper".to_owned())
        .stack_size(64 << 10)
        .spawn(move || child.wait());
    if let Err(error) = waiting {
        tracing::warn!("An ended Python process stays a zombie: {error}");
    }
}

fn exit_code(child: &mut Child, timeout: Duration) -> Option<i32> {
    use std::os::unix::process::ExitStatusExt;
    let end = Instant::now() + timeout;
    loop {
        if let Ok(Some(status)) = child.try_wait() {
            // Java says 128 + signal.
            return status.code().or(status.signal().map(|signal| 128 + signal));
        }
        if Instant::now() >= end {
            return None;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

type Kept = Arc<Mutex<Option<Vec<u8>>>>;

/// Copies what a process prints to our error output until its end, and to `kept` as long as there is something in it.
fn forward(
    mut from: impl Read + Send + 'static,
    kept: Option<Kept>,
) -> Option<std::thread::JoinHandle<()>> {
    let thread = std::thread::Builder::new()
        .name("python-output".to_owned())
        .stack_size(128 << 10);
    let copying = thread.spawn(move || {
        let mut buffer = [0; 8 << 10];
        loop {
            let read = match from.read(&mut buffer) {
                Ok(0) => return,
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(_) => return,
            };
            let said = buffer.get(..read).unwrap_or_default();
            if let Some(kept) = &kept
                && let Some(kept) = kept.lock().as_mut()
            {
                kept.extend_from_slice(said);
                kept.truncate(MAX_KEPT);
            }
            // If our own output is closed there is nobody to tell.
            let _ = io::stderr().write_all(said);
        }
    });
    copying
        .inspect_err(|error| tracing::error!("Exception in redirecting streams: {error}"))
        .ok()
}
