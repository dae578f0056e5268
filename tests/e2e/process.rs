//! Child processes that cannot outlive their test: each has a deadline and its own process group.

use std::collections::HashSet;
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Condvar, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

static TURNS: RwLock<()> = RwLock::new(());

/// A Spark application may run while this is held. Its seconds go to `seconds.tsv` among the logs.
pub(crate) struct Turn {
    started: Instant,
    _turn: Beside,
}

#[expect(dead_code, reason = "they are held")]
enum Beside {
    Others(RwLockReadGuard<'static, ()>),
    Nobody(RwLockWriteGuard<'static, ()>),
}

impl Turn {
    fn new(turn: Beside) -> Self {
        Self {
            started: Instant::now(),
            _turn: turn,
        }
    }
}

/// Held while an application runs whose steps have deadlines of seconds: others beside it on a small machine would let
/// it miss them.
pub(crate) fn one_at_a_time() -> Turn {
    let turn = TURNS.write().unwrap_or_else(PoisonError::into_inner);
    Turn::new(Beside::Nobody(turn))
}

/// Held while an application runs that has minutes for all it does. While it waits, as for its JVMs, others run; as
/// many as tests run at a time.
pub(crate) fn beside_others() -> Turn {
    let turn = TURNS.read().unwrap_or_else(PoisonError::into_inner);
    Turn::new(Beside::Others(turn))
}

static NAMES: (Mutex<Option<HashSet<String>>>, Condvar) = (Mutex::new(None), Condvar::new());

/// Nobody else has this name.
pub(crate) struct Name(String);

/// Waits until nobody has a name, such as that of a directory of logs.
pub(crate) fn only_one(name: String) -> Name {
    let mut taken = NAMES.0.lock().unwrap_or_else(PoisonError::into_inner);
    while !taken.get_or_insert_default().insert(name.clone()) {
        taken = NAMES.1.wait(taken).unwrap_or_else(PoisonError::into_inner);
    }
    Name(name)
}

impl Drop for Name {
    fn drop(&mut self) {
        let mut taken = NAMES.0.lock().unwrap_or_else(PoisonError::into_inner);
        taken.get_or_insert_default().remove(&self.0);
        NAMES.1.notify_all();
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let seconds = self.started.elapsed().as_secs();
        let thread = std::thread::current();
        // Only for those who want to know what takes so long.
        let _ = OpenOptions::new()
            .create(true)
            .append(true)
            .open(crate::places::logs().join("seconds.tsv"))
            .and_then(|mut file| {
                let test = thread.name().unwrap_or_default();
                writeln!(file, "{seconds}\t{test}")
            });
    }
}

/// By how much all deadlines are longer on a slow or busy machine: `FIRESTEEL_E2E_PATIENCE`, a whole number.
pub(crate) fn patience() -> u64 {
    std::env::var("FIRESTEEL_E2E_PATIENCE")
        .ok()
        .and_then(|factor| factor.parse().ok())
        .unwrap_or(1)
}

/// Polls `condition` until it gives something, or fails with `what` at the deadline.
pub(crate) fn wait_for<T>(what: &str, seconds: u64, mut condition: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + Duration::from_secs(seconds * patience());
    loop {
        if let Some(value) = condition() {
            return value;
        }
        assert!(Instant::now() < deadline, "waited {seconds} s for {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A running child; dropping it kills its whole process group.
pub(crate) struct Running {
    pub(crate) child: Child,
    pub(crate) stdout: PathBuf,
    pub(crate) stderr: PathBuf,
    started: Instant,
}

impl Running {
    /// Starts `command` with its output in `<name>.out` and `<name>.err` of `dir`; `stdout` may be kept as a pipe.
    pub(crate) fn start(command: &mut Command, dir: &Path, name: &str, pipe_stdout: bool) -> Self {
        let stdout = dir.join(format!("{name}.out"));
        let stderr = dir.join(format!("{name}.err"));
        command
            .stdout(if pipe_stdout {
                Stdio::piped()
            } else {
                File::create(&stdout).unwrap().into()
            })
            .stderr(File::create(&stderr).unwrap())
            .process_group(0);
        let child = command
            .spawn()
            .unwrap_or_else(|error| panic!("{command:?}: {error}"));
        Self {
            child,
            stdout,
            stderr,
            started: Instant::now(),
        }
    }

    fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// Sends a signal to the process itself.
    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).unwrap();
    }

    /// The end of the process, which must come within `seconds`.
    pub(crate) fn wait(&mut self, seconds: u64) -> ExitStatus {
        let deadline = Instant::now() + Duration::from_secs(seconds * patience());
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(
                Instant::now() < deadline,
                "no end after {seconds} s; log: {}\n{}",
                self.stderr.display(),
                tail(&self.log(), 40)
            );
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Exit code in the shell's way: 128 + signal for a process that a signal ended.
    pub(crate) fn exit_code(&mut self, seconds: u64) -> i32 {
        use std::os::unix::process::ExitStatusExt;
        let status = self.wait(seconds);
        status
            .code()
            .unwrap_or_else(|| 128 + status.signal().unwrap_or_default())
    }

    pub(crate) fn is_running(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// Everything on standard error so far.
    pub(crate) fn log(&self) -> String {
        read_lossy(&self.stderr)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // The group may live on after its leader; a group that is gone is no error.
        let _ = kill_process_group(self.pid(), Signal::KILL);
        let _ = self.child.wait();
    }
}

/// A file's text, with whatever is not UTF-8 replaced; empty if there is no file.
pub(crate) fn read_lossy(path: &Path) -> String {
    String::from_utf8_lossy(&std::fs::read(path).unwrap_or_default()).into_owned()
}

/// The last `lines` lines.
pub(crate) fn tail(text: &str, lines: usize) -> String {
    let all: Vec<&str> = text.lines().collect();
    all[all.len().saturating_sub(lines)..].join("\n")
}
