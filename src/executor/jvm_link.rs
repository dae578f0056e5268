//! The executor's JVM, once there is one, and what is asked of it.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::sync::oneshot;
use wire::WireError;
use wire::ids::BlockId;

use super::discovery::EarlyJvm;
use super::evaluator::Exchanges;
use super::jvm_start::JvmLaunch;
use crate::rpc::FileStream;
use crate::task::jvm::{Jvm, JvmBlock};

/// A file of the driver's file server, for the JVM.
pub(super) enum DriverFile {
    /// It comes from the driver.
    Arriving(FileStream),
    /// The driver has it no more, but it was fetched before.
    Fetched(File),
}

impl DriverFile {
    fn read(&self, buf: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Arriving(stream) => stream.read(buf),
            Self::Fetched(file) => (&mut &*file).read(buf),
        }
    }
}

/// The JVM's answer to an upload: the response body, or a stack trace.
type UploadAnswer = Result<Vec<u8>, String>;

/// The way to the JVM.
pub(super) struct JvmLink {
    /// What it is created from.
    pub(super) launch: JvmLaunch,
    jvm: OnceLock<Arc<dyn Jvm>>,
    /// A JVM that was created before the registration, until the state machine asks for one.
    early: Mutex<Option<EarlyJvm>>,
    next_id: AtomicI64,
    blocks: Mutex<HashMap<i64, oneshot::Sender<JvmBlock>>>,
    uploads: Mutex<HashMap<i64, oneshot::Sender<UploadAnswer>>>,
    /// What its evaluators of expressions are asked.
    pub(super) exchanges: Exchanges,
    /// Files of the driver that the JVM reads.
    streams: Mutex<HashMap<i64, Arc<DriverFile>>>,
}

impl JvmLink {
    /// No JVM yet, or one that was needed before the registration.
    pub(super) fn new(launch: JvmLaunch, early: Option<EarlyJvm>) -> Self {
        Self {
            launch,
            jvm: OnceLock::new(),
            early: Mutex::new(early),
            next_id: AtomicI64::new(1),
            blocks: Mutex::default(),
            uploads: Mutex::default(),
            exchanges: Exchanges::default(),
            streams: Mutex::default(),
        }
    }

    /// The JVM. Only asked for after the state machine has asked for one, whose thread fills it in before the JVM can
    /// say anything that needs an answer.
    pub(super) fn get(&self) -> &dyn Jvm {
        &**self.jvm.wait()
    }

    /// The JVM, if one has been created.
    pub(super) fn if_created(&self) -> Option<&dyn Jvm> {
        self.jvm.get().map(|jvm| &**jvm)
    }

    /// Fills in the JVM that has been created: the state machine asks for one, so a second is never offered.
    pub(super) fn created(&self, jvm: Arc<dyn Jvm>) {
        let _ = self.jvm.set(jvm);
    }

    /// The JVM that was created before the registration, once.
    pub(super) fn take_early(&self) -> Option<EarlyJvm> {
        self.early.lock().take()
    }

    /// Answers an ask of the JVM, or says that it cannot be answered.
    pub(super) fn answer(&self, id: i64, answer: Result<Vec<u8>, WireError>) {
        match answer {
            Ok(bytes) => self.get().ask_reply(id, bytes.into()),
            Err(error) => self.get().ask_failure(id, &error.to_string()),
        }
    }

    /// Passes the driver's answer on to the JVM that asked.
    pub(super) fn pass_on<E: std::fmt::Display>(&self, id: i64, answer: Result<Bytes, E>) {
        match answer {
            Ok(body) => self.get().ask_reply(id, body),
            Err(error) => self.get().ask_failure(id, &error.to_string()),
        }
    }

    /// Asks the JVM for a block of its store.
    pub(super) fn get_block(&self, jvm: &dyn Jvm, block: &BlockId) -> oneshot::Receiver<JvmBlock> {
        let (id, receiver) = self.expect(&self.blocks);
        jvm.get_block(id, block);
        receiver
    }

    /// Gives the JVM a block that a peer has sent whole.
    pub(super) fn upload(&self, jvm: &dyn Jvm, message: Bytes) -> oneshot::Receiver<UploadAnswer> {
        let (id, receiver) = self.expect(&self.uploads);
        jvm.upload(id, message);
        receiver
    }

    /// Gives the JVM a block that a peer has sent into a file.
    pub(super) fn upload_stream(
        &self,
        jvm: &dyn Jvm,
        header: &[u8],
        file: &Path,
    ) -> oneshot::Receiver<UploadAnswer> {
        let (id, receiver) = self.expect(&self.uploads);
        jvm.upload_stream(id, header, file);
        receiver
    }

    fn expect<T>(
        &self,
        waiting: &Mutex<HashMap<i64, oneshot::Sender<T>>>,
    ) -> (i64, oneshot::Receiver<T>) {
        let (sender, receiver) = oneshot::channel();
        let id = self.next_id();
        waiting.lock().insert(id, sender);
        (id, receiver)
    }

    /// The JVM has read a block.
    pub(super) fn block_read(&self, id: i64, block: JvmBlock) {
        if let Some(waiting) = self.blocks.lock().remove(&id) {
            // The peer that asked may be gone.
            let _ = waiting.send(block);
        }
    }

    /// The JVM has taken a block, or has not.
    pub(super) fn uploaded(&self, id: i64, result: UploadAnswer) {
        if let Some(waiting) = self.uploads.lock().remove(&id) {
            // As above.
            let _ = waiting.send(result);
        }
    }

    /// Keeps a file of the driver for the JVM, which reads it by the number that this gives.
    pub(super) fn keep_stream(&self, stream: DriverFile) -> i64 {
        let id = self.next_id();
        self.streams.lock().insert(id, Arc::new(stream));
        id
    }

    /// Reads on in such a file.
    pub(super) fn read_stream(&self, id: i64, buf: &mut [u8]) -> Result<usize, String> {
        let stream = self.streams.lock().get(&id).cloned();
        stream
            .ok_or("the stream is closed")?
            .read(buf)
            .map_err(|error| error.to_string())
    }

    /// Forgets such a file.
    pub(super) fn close_stream(&self, id: i64) {
        self.streams.lock().remove(&id);
    }

    fn next_id(&self) -> i64 {
        self.next_id.fetch_add(1, Ordering::Relaxed)
    }
}
