//! The jvm lane: the only code that names `jni`.
//!
//! One JVM per process, created on a thread of its own from the launch command's options. Inside it Spark's own
//! executor backend runs unmodified; only its RPC transport is replaced (see `jvm-bridge/`): every envelope that it
//! would write to the driver's socket is handed to a [`JvmHost`], and everything the driver sends is pushed into the
//! JVM through a [`JvmLane`]. Both are in [`crate::task::jvm`], which is all that the executor knows.
//!
//! ```text
//!   executor ──JvmLane──▶ event queues ──nextEvent()──▶ Java threads ──▶ Spark's Dispatcher, BlockManager
//!   executor ◀──JvmHost── native methods ◀──────────── Spark's Outbox, call contexts, backend
//! ```
mod evaluators;
mod functions;
mod natives;
mod partial;
mod queue;
mod vm;

use std::ffi::CString;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use bytes::{BufMut, Bytes, BytesMut};
use wire::ids::BlockId;

use crate::task::jvm::{Bootstrap, Jvm, JvmConfig, JvmError, JvmHost, Jvms};
use partial::PartialBlock;
use queue::{Event, EventKind, EventQueue};

/// Everything the native methods reach: one per process, as the JVM is.
pub(crate) struct Embedded {
    host: Arc<dyn JvmHost>,
    bootstrap: Bootstrap,
    messages: EventQueue,
    blocks: EventQueue,
    partial_blocks: parking_lot::Mutex<std::collections::HashMap<i64, PartialBlock>>,
}

static CLAIMED: AtomicBool = AtomicBool::new(false);
static EMBEDDED: OnceLock<Arc<Embedded>> = OnceLock::new();

/// JVMs of the JDK on this machine.
#[derive(Debug)]
pub struct HotSpot;

impl Jvms for HotSpot {
    fn start(&self, config: JvmConfig, host: Arc<dyn JvmHost>) -> Result<Arc<dyn Jvm>, JvmError> {
        Ok(Arc::new(JvmLane::start(config, host)?))
    }

    fn exists(&self) -> bool {
        CLAIMED.load(Ordering::Acquire)
    }

    fn end_process(&self, code: i32) -> ! {
        vm::end_process(code)
    }
}

/// A running (or starting) JVM. Cheap to clone; all methods queue and return at once.
#[derive(Clone)]
pub struct JvmLane {
    shared: Arc<Embedded>,
}

impl std::fmt::Debug for JvmLane {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("JvmLane").finish_non_exhaustive()
    }
}

impl JvmLane {
    /// Starts the JVM on a new thread and returns without waiting for it; [`JvmHost::started`] or
    /// [`JvmHost::failed`] follows. What is queued before then is delivered after.
    ///
    /// # Errors
    /// When a JVM was started before, the library or an option is unusable, or no thread can be had. Everything that
    /// goes wrong later is told to [`JvmHost::failed`].
    pub fn start(config: JvmConfig, host: Arc<dyn JvmHost>) -> Result<Self, JvmError> {
        if !config.libjvm.is_file() {
            return Err(JvmError::NoLibrary {
                path: config.libjvm,
            });
        }
        let options = config
            .options
            .into_iter()
            .map(|o| {
                CString::new(o).map_err(|e| {
                    JvmError::BadOption(String::from_utf8_lossy(&e.into_vec()).into_owned())
                })
            })
            .collect::<Result<Vec<_>, _>>()?;
        if CLAIMED.swap(true, Ordering::AcqRel) {
            return Err(JvmError::AlreadyStarted);
        }
        let bootstrap = host.bootstrap();
        let shared = Arc::clone(EMBEDDED.get_or_init(|| {
            Arc::new(Embedded {
                host,
                bootstrap,
                messages: EventQueue::default(),
                blocks: EventQueue::default(),
                partial_blocks: parking_lot::Mutex::default(),
            })
        }));
        vm::spawn(
            config.libjvm,
            options,
            config.stack_size,
            Arc::clone(&shared),
        )
        .map_err(JvmError::Thread)?;
        Ok(Self { shared })
    }

    fn message(&self, kind: EventKind, id: i64, payload: Bytes) {
        self.shared.messages.push(Event { kind, id, payload });
    }

    fn block(&self, kind: EventKind, id: i64, payload: Bytes) {
        self.shared.blocks.push(Event { kind, id, payload });
    }
}

impl Jvm for JvmLane {
    fn rpc_request(&self, id: i64, envelope: Bytes) {
        self.message(EventKind::RpcRequest, id, envelope);
    }

    fn one_way(&self, envelope: Bytes) {
        self.message(EventKind::OneWay, 0, envelope);
    }

    fn ask_reply(&self, id: i64, body: Bytes) {
        self.message(EventKind::AskReply, id, body);
    }

    fn ask_failure(&self, id: i64, message: &str) {
        self.message(
            EventKind::AskFailure,
            id,
            Bytes::copy_from_slice(message.as_bytes()),
        );
    }

    fn get_block(&self, id: i64, block: &BlockId) {
        self.block(EventKind::GetBlock, id, block.to_string().into());
    }

    fn upload(&self, id: i64, body: Bytes) {
        self.block(EventKind::Upload, id, body);
    }

    fn upload_stream(&self, id: i64, header: &[u8], file: &Path) {
        let path = file.to_string_lossy();
        let mut payload = BytesMut::with_capacity(4 + header.len() + path.len());
        // A header is part of a frame, and frames are limited to 2 GiB.
        payload.put_i32(i32::try_from(header.len()).unwrap_or(i32::MAX));
        payload.put_slice(header);
        payload.put_slice(path.as_bytes());
        self.block(EventKind::UploadStream, id, payload.freeze());
    }

    fn start_evaluator(&self, id: i64, payload: Bytes) {
        self.message(EventKind::StartEvaluator, id, payload);
    }

    fn kill_evaluator(&self, id: i64, interrupts: bool, reason: &str) {
        let mut payload = BytesMut::with_capacity(1 + reason.len());
        payload.put_u8(interrupts.into());
        payload.put_slice(reason.as_bytes());
        self.message(EventKind::KillEvaluator, id, payload.freeze());
    }

    fn disconnected(&self) {
        self.message(EventKind::Disconnected, 0, Bytes::new());
    }

    fn exit(&self, code: i32) {
        self.message(EventKind::Exit, i64::from(code), Bytes::new());
    }
}

impl Embedded {
    /// The process-wide state, once [`JvmLane::start`] was called.
    pub(crate) fn get() -> Option<&'static Arc<Self>> {
        EMBEDDED.get()
    }
}

impl Bootstrap {
    /// The command line of the backend's main method. The worker URL is left out on purpose: the native side watches
    /// the worker, and one watcher per executor is enough.
    fn arguments(&self) -> Vec<String> {
        let mut args: Vec<String> = Vec::with_capacity(18);
        let mut add = |name: &str, value: &str| {
            args.push(name.to_owned());
            args.push(value.to_owned());
        };
        add("--driver-url", &self.driver_url);
        add("--executor-id", &self.executor_id);
        add("--bind-address", &self.bind_address);
        add("--hostname", &self.hostname);
        add("--cores", &self.cores.to_string());
        add("--app-id", &self.app_id);
        add("--resourceProfileId", &self.resource_profile_id.to_string());
        if let Some(file) = &self.resources_file {
            add("--resourcesFile", file);
        }
        if let Some(pod) = &self.pod_name {
            add("--podName", pod);
        }
        args
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::jvm::{AfterExit, JvmBlock};

    struct Nobody;

    impl JvmHost for Nobody {
        fn tell(&self, _: Vec<u8>) {}
        fn ask(&self, _: i64, _: Vec<u8>) {}
        fn reply(&self, _: i64, _: Result<Vec<u8>, String>) {}
        fn block(&self, _: i64, _: JvmBlock) {}
        fn uploaded(&self, _: i64, _: Result<Vec<u8>, String>) {}
        fn open_stream(&self, _: &str) -> Result<i64, String> {
            Ok(0)
        }
        fn read_stream(&self, _: i64, _: &mut [u8]) -> Result<usize, String> {
            Ok(0)
        }
        fn close_stream(&self, _: i64) {}
        fn next_rows(&self, _: i64) -> Option<Vec<u8>> {
            None
        }
        fn rows_done(&self, _: i64, _: Result<Vec<u8>, String>) {}
        fn evaluator_ended(&self, _: i64, _: Option<String>) {}
        fn bootstrap(&self) -> Bootstrap {
            panic!("refused before the host is asked")
        }
        fn started(&self) {}
        fn failed(&self, _: String) {}
        fn exiting(&self, _: i32) -> AfterExit {
            AfterExit::EndProcess
        }
    }

    #[test]
    fn what_cannot_work_is_refused_before_anything_starts() {
        let mut config = JvmConfig {
            libjvm: "/nonexistent/libjvm.so".into(),
            options: vec!["-Da=\0".into()],
            stack_size: 0,
        };
        assert!(matches!(
            JvmLane::start(config.clone(), Arc::new(Nobody)),
            Err(JvmError::NoLibrary { path }) if path == config.libjvm
        ));
        config.libjvm = std::env::current_exe().unwrap();
        assert!(matches!(
            JvmLane::start(config, Arc::new(Nobody)),
            Err(JvmError::BadOption(text)) if text == "-Da=\0"
        ));
    }

    #[test]
    fn arguments_are_sparks() {
        let bootstrap = Bootstrap {
            driver_url: "spark://CoarseGrainedScheduler@d:1".into(),
            executor_id: "3".into(),
            bind_address: "127.0.0.1".into(),
            hostname: "h".into(),
            cores: 2,
            app_id: "app-1".into(),
            pod_name: Some("p".into()),
            ..Bootstrap::default()
        };
        assert_eq!(
            bootstrap.arguments().join(" "),
            "--driver-url spark://CoarseGrainedScheduler@d:1 --executor-id 3 --bind-address 127.0.0.1 --hostname h \
             --cores 2 --app-id app-1 --resourceProfileId 0 --podName p"
        );
    }
}
