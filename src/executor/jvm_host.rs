//! The executor as its embedded JVM sees it.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use tracing::{info, warn};

use super::events::Input;
use super::jvm_messages::classify;
use super::shared::Shared;
use super::verified::verified;
use crate::lanes::jvm::{AfterExit, Bootstrap, JvmBlock, JvmHost};
use crate::rpc::FetchError;

/// Hands what the JVM says to the state machine.
pub(super) struct Host(pub(super) Arc<Shared>);

impl JvmHost for Host {
    fn tell(&self, envelope: Vec<u8>) {
        let envelope = verified(&self.0, envelope.into());
        let message = classify(&envelope);
        self.0.input(Input::Jvm {
            message,
            envelope,
            ask: None,
        });
    }

    fn ask(&self, id: i64, envelope: Vec<u8>) {
        let envelope = envelope.into();
        let message = classify(&envelope);
        self.0.input(Input::Jvm {
            message,
            envelope,
            ask: Some(id),
        });
    }

    fn reply(&self, request_id: i64, content: Result<Vec<u8>, String>) {
        let Some(reply) = self.0.replies.lock().remove(&request_id.cast_unsigned()) else {
            return;
        };
        match content {
            Ok(content) => reply.success(content.into()),
            Err(error) => reply.failure(error),
        }
    }

    fn block(&self, request_id: i64, body: JvmBlock) {
        if let Some(waiting) = self.0.blocks.lock().remove(&request_id) {
            // The peer that asked may be gone.
            let _ = waiting.send(body);
        }
    }

    fn uploaded(&self, request_id: i64, result: Result<Vec<u8>, String>) {
        if let Some(waiting) = self.0.uploads.lock().remove(&request_id) {
            // As above.
            let _ = waiting.send(result);
        }
    }

    fn open_stream(&self, uri: &str) -> Result<i64, String> {
        let stream =
            self.0
                .runtime
                .block_on(self.0.files.open(uri))
                .map_err(|error| match error {
                    // Spark's class loader for REPL classes matches the driver's whole text.
                    FetchError::Stream { error, .. } => error.to_string(),
                    other => other.to_string(),
                })?;
        let id = self.0.next_id();
        self.0.streams.lock().insert(id, Arc::new(stream));
        Ok(id)
    }

    fn read_stream(&self, handle: i64, buf: &mut [u8]) -> Result<usize, String> {
        let stream = self.0.streams.lock().get(&handle).cloned();
        stream
            .ok_or("the stream is closed")?
            .read(buf)
            .map_err(|error| error.to_string())
    }

    fn close_stream(&self, handle: i64) {
        self.0.streams.lock().remove(&handle);
    }

    fn bootstrap(&self) -> Bootstrap {
        self.0.jvm_launch.bootstrap(&self.0)
    }

    fn started(&self) {
        info!(target: "Firesteel", "Spark's environment exists in the embedded JVM");
    }

    fn failed(&self, message: String) {
        self.0.input(Input::JvmFailed(message));
    }

    fn exiting(&self, code: i32) -> AfterExit {
        // The process ends with the low byte, as the driver and the cluster manager see it.
        info!(target: "Firesteel", "The embedded JVM exits with {code}");
        self.0.finish(code);
        if self.0.own_process {
            return AfterExit::EndProcess;
        }
        self.0.exit(code);
        AfterExit::StopJvm
    }

    fn aborting(&self) {
        if !self.0.finished.load(Ordering::Acquire) {
            warn!(target: "Firesteel", "The embedded JVM aborts; its own message is above or in hs_err_pid*.log");
        }
        self.0.finish(134);
    }
}
