//! Running an executor: the threads and tasks around the state machine.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{mpsc, watch};
use tracing::{error, info, warn};
use wire::messages::{CheckExistence, reply};

use super::error::ExecutorError;
use super::events::{DriverCommand, Input, RequestId};
use super::inbound::{self, BLOCK_MANAGER, EXECUTOR, VERIFIER};
use super::registered::RegisteredExecutor;
use super::startup::{self, Options, Started};
use super::storage;
use crate::config::declared::DECOMMISSION_SIGNAL;
use crate::launch::DriverUrl;
use crate::logging::LevelHandle;
use crate::report::{Counters, Report};
use crate::rpc::{Event, Incoming};
use crate::transport::{Client, NoRequests, TransportConf};

/// How long last messages to the driver may take.
const FLUSH_PATIENCE: Duration = Duration::from_secs(1);

/// How long an embedded executor's threads may take to end.
const SHUTDOWN_PATIENCE: Duration = Duration::from_secs(5);

/// How long a process that cannot start lives at least. Cluster managers start a failed executor again at once; the
/// seconds that a JVM needs to fail are what keeps them from doing so a hundred times a second.
const LEAST_LIFE: Duration = Duration::from_secs(1);

/// An executor that runs on threads of its own.
pub struct ExecutorHandle {
    runtime: Option<tokio::runtime::Runtime>,
    executor: Arc<RegisteredExecutor>,
    exit: watch::Receiver<Option<i32>>,
}

impl std::fmt::Debug for ExecutorHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ExecutorHandle")
            .field("executor_id", &self.executor.driver.executor_id)
            .finish_non_exhaustive()
    }
}

impl ExecutorHandle {
    /// Starts an executor and returns when the driver has accepted it.
    ///
    /// # Errors
    /// See [`ExecutorError`].
    pub fn start(options: Options) -> Result<Self, ExecutorError> {
        Self::start_with(options, LevelHandle::inert(), false)
    }

    fn start_with(
        options: Options,
        level: LevelHandle,
        own_process: bool,
    ) -> Result<Self, ExecutorError> {
        let system = |what| move |why| ExecutorError::System { what, why };
        let threads = usize::try_from(options.arguments.cores)
            .unwrap_or(usize::MAX)
            .clamp(2, 8);
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(threads)
            .thread_name("firesteel-io")
            .enable_all()
            .build()
            .map_err(system("Cannot start the IO threads"))?;
        let report = Arc::new(Report::new(
            &options.arguments.executor_id,
            options.report.as_deref(),
        ));
        let worker_url = options.arguments.worker_url.clone();
        let started = runtime.block_on(startup::start(
            options,
            report,
            Arc::new(level),
            own_process,
        ))?;
        let Started {
            executor,
            events,
            exit,
            settings,
            block_server,
            protection,
        } = started;
        runtime.spawn(listen(Arc::clone(&executor), events));
        runtime.spawn(tick(Arc::clone(&executor)));
        if let Some(url) = worker_url {
            let conf = TransportConf {
                protection,
                ..TransportConf::default()
            };
            runtime.spawn(watch_worker(Arc::clone(&executor), url, conf));
        }
        if own_process {
            let decommission_signal = settings.decommission.signal.clone();
            let guard = runtime.enter();
            watch_signals(&executor, &decommission_signal)
                .map_err(system("Cannot watch for signals"))?;
            drop(guard);
        }
        if let Some(why) = settings.jvm_from_start {
            executor.input(Input::JvmWanted(why));
        }
        let mut until_exit = exit.clone();
        runtime.spawn(async move {
            // Serves blocks as long as the executor lives.
            let _serving = block_server;
            let _ = until_exit.wait_for(Option::is_some).await;
        });
        Ok(Self {
            runtime: Some(runtime),
            executor,
            exit,
        })
    }

    /// Waits until the executor has stopped, at most `patience`, and says with which exit code. The last messages have
    /// then been sent and the report written.
    pub fn wait(&self, patience: Option<Duration>) -> Option<i32> {
        let runtime = self.runtime.as_ref()?;
        let mut exit = self.exit.clone();
        let code = runtime.block_on(async {
            let stopped = async {
                exit.wait_for(Option::is_some)
                    .await
                    .ok()
                    .and_then(|code| *code)
            };
            match patience {
                Some(patience) => tokio::time::timeout(patience, stopped).await.ok().flatten(),
                None => stopped.await,
            }
        })?;
        runtime.block_on(async {
            // A driver that does not read any more is not waited for.
            let _ =
                tokio::time::timeout(FLUSH_PATIENCE, self.executor.driver.endpoint.flush()).await;
        });
        self.executor.ending.finish(code);
        self.executor.driver.endpoint.close();
        Some(code)
    }

    /// Asks the executor to stop; [`ExecutorHandle::wait`] tells when it has.
    pub fn stop(&self) {
        self.executor.input(Input::Stop);
    }

    /// What it has done so far.
    pub fn counters(&self) -> Counters {
        self.executor.report.snapshot()
    }
}

impl Drop for ExecutorHandle {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            // A host program may unload the library next: no thread of ours may then be inside it.
            runtime.shutdown_timeout(SHUTDOWN_PATIENCE);
        }
    }
}

/// Runs an executor as this process and returns its exit code.
pub fn run(options: Options, level: LevelHandle) -> i32 {
    let process_start = options.process_start;
    let jvms = options.assembly.jvms;
    let pid = std::process::id();
    info!(target: "CoarseGrainedExecutorBackend", "Started daemon with process name: {pid}@{}", options.arguments.hostname);
    raise_file_limit();
    match ExecutorHandle::start_with(options, level, true) {
        Ok(handle) => {
            let code = handle.wait(None).unwrap_or(super::exit_code::FAILURE);
            if handle.executor.jvm.if_created().is_some() {
                // A JVM lives in this process, and is not to be destroyed under its threads.
                jvms.end_process(code);
            }
            // The process ends now: its threads are not waited for.
            std::mem::forget(handle);
            code
        }
        Err(why) => {
            error!(target: "CoarseGrainedExecutorBackend", "{why}");
            std::thread::sleep(LEAST_LIFE.saturating_sub(process_start.elapsed()));
            let code = why.exit_code();
            if jvms.exists() {
                jvms.end_process(code);
            }
            code
        }
    }
}

/// Lets this process have as many files open as the system allows it, as the JVM does by default.
fn raise_file_limit() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    if let Err(why) = setrlimit(Resource::Nofile, limit) {
        warn!(target: "Firesteel", "Cannot raise the limit of open files: {why}");
    }
}

/// When this process started, from the kernel; now, if the kernel does not tell.
pub fn process_start() -> Instant {
    let now = Instant::now();
    let age = || {
        let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
        // Fields after the command, which is in parentheses and may contain blanks; the 22nd of all is the start in
        // clock ticks after boot.
        let ticks: u64 = stat
            .rsplit_once(')')?
            .1
            .split_whitespace()
            .nth(19)?
            .parse()
            .ok()?;
        let started = Duration::from_millis(ticks * 1000 / rustix::param::clock_ticks_per_second());
        let boot = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
        let since_boot = Duration::new(boot.tv_sec.try_into().ok()?, boot.tv_nsec.try_into().ok()?);
        since_boot.checked_sub(started)
    };
    age().and_then(|age| now.checked_sub(age)).unwrap_or(now)
}

async fn listen(executor: Arc<RegisteredExecutor>, mut events: mpsc::UnboundedReceiver<Event>) {
    while let Some(event) = events.recv().await {
        match event {
            Event::Incoming(incoming) => receive(&executor, incoming),
            Event::Disconnected(why) => {
                if let Some(why) = why {
                    warn!(target: "CoarseGrainedExecutorBackend", "The connection to the driver broke: {why}");
                }
                executor.input(Input::DriverLost {
                    driver: executor.driver.endpoint.driver().to_string(),
                });
            }
        }
    }
}

fn receive(executor: &Arc<RegisteredExecutor>, incoming: Incoming) {
    let Incoming {
        endpoint,
        envelope,
        content,
        reply,
    } = incoming;
    match endpoint.as_str() {
        EXECUTOR => {
            let request = reply.map(|reply| executor.replies.keep(reply));
            let has_native_lanes = executor.native.has_lanes();
            let command =
                inbound::executor_message(&content, &executor.driver.version, has_native_lanes);
            if let DriverCommand::LaunchTask { .. } = command {
                // The embedded JVM does not look whether they are still there.
                executor.local_dirs.restore();
            }
            executor.input(Input::Driver {
                command,
                envelope,
                request,
            });
        }
        VERIFIER => {
            let Some(handle) = reply else { return };
            let known = CheckExistence::decode(&content).is_ok_and(|check| {
                [EXECUTOR, BLOCK_MANAGER, VERIFIER].contains(&check.name.as_str())
            });
            match reply::boolean(known, &executor.driver.catalog) {
                Ok(answer) => handle.success(answer.into()),
                Err(error) => handle.failure(error.to_string()),
            }
        }
        BLOCK_MANAGER => storage::receive(executor, content, envelope, reply),
        _ => {
            let request: Option<RequestId> = reply.map(|reply| executor.replies.keep(reply));
            executor.input(Input::Endpoint {
                without_jvm: super::events::Reply::NoSuchEndpoint,
                envelope,
                request,
            });
        }
    }
}

async fn tick(executor: Arc<RegisteredExecutor>) {
    loop {
        let Some(due) = executor.core.lock().next_tick() else {
            return;
        };
        let wait = due.saturating_sub(executor.now());
        tokio::select! {
            () = tokio::time::sleep(wait) => executor.input(Input::Tick),
            () = executor.rearm.notified() => {}
        }
    }
}

/// A standalone Worker that goes takes its executors with it: `org.apache.spark.deploy.worker.WorkerWatcher`.
async fn watch_worker(executor: Arc<RegisteredExecutor>, url: String, conf: TransportConf) {
    let connected = match DriverUrl::parse(&url) {
        Ok(parsed) => {
            info!(target: "WorkerWatcher", "Connecting to worker {url}");
            Client::connect(
                parsed.socket_host(),
                parsed.port,
                &conf,
                Arc::new(NoRequests),
            )
            .await
            .map_err(|e| e.to_string())
        }
        Err(why) => Err(why.to_string()),
    };
    match connected {
        Ok(client) => {
            info!(target: "WorkerWatcher", "Successfully connected to {url}");
            client.closed().await;
        }
        Err(why) => {
            error!(target: "WorkerWatcher", "Could not initialize connection to worker {url}. Exiting. {why}")
        }
    }
    executor.input(Input::WorkerLost { url });
}

fn watch_signals(executor: &Arc<RegisteredExecutor>, decommission: &str) -> std::io::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let for_terminate = Arc::clone(executor);
    executor.runtime.spawn(async move {
        while terminate.recv().await.is_some() {
            for_terminate.input(Input::Terminate);
        }
    });
    let kind = match decommission {
        "PWR" => SignalKind::from_raw(rustix::process::Signal::POWER.as_raw()),
        "USR1" => SignalKind::user_defined1(),
        "USR2" => SignalKind::user_defined2(),
        "HUP" => SignalKind::hangup(),
        "TERM" => return Ok(()),
        other => {
            warn!(
                target: "CoarseGrainedExecutorBackend",
                "{}={other}: only PWR, USR1, USR2 and HUP are watched before a JVM runs",
                DECOMMISSION_SIGNAL.key
            );
            return Ok(());
        }
    };
    let mut decommission = signal(kind)?;
    let for_decommission = Arc::clone(executor);
    executor.runtime.spawn(async move {
        while decommission.recv().await.is_some() {
            for_decommission.input(Input::DecommissionSignal);
        }
    });
    Ok(())
}
