//! The executor as its embedded JVM sees it.

use std::sync::Arc;

use tracing::{info, warn};

use super::events::{Input, JvmMessage};
use super::jvm_link::DriverFile;
use super::jvm_messages::classify;
use super::registered::RegisteredExecutor;
use super::verified::verified;
use crate::rpc::FetchError;
use crate::task::jvm::{AfterExit, Bootstrap, JvmBlock, JvmHost};

/// Hands what the JVM says to the state machine.
pub(super) struct Host(pub(super) Arc<RegisteredExecutor>);

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
        // It reads the files of this executor itself.
        let shuffle = &self.0.native.plane.shuffle;
        match message {
            JvmMessage::AskMapOutputs(Some(shuffle_id)) => shuffle.shuffle_is_read(shuffle_id),
            JvmMessage::AskMapOutputs(None) => shuffle.files_are_read(),
            _ => {}
        }
        self.0.input(Input::Jvm {
            message,
            envelope,
            ask: Some(id),
        });
    }

    fn reply(&self, request_id: i64, content: Result<Vec<u8>, String>) {
        let Some(reply) = self.0.replies.take(request_id.cast_unsigned()) else {
            return;
        };
        match content {
            Ok(content) => reply.success(content.into()),
            Err(error) => reply.failure(error),
        }
    }

    fn block(&self, request_id: i64, body: JvmBlock) {
        self.0.jvm.block_read(request_id, body);
    }

    fn uploaded(&self, request_id: i64, result: Result<Vec<u8>, String>) {
        self.0.jvm.uploaded(request_id, result);
    }

    fn open_stream(&self, uri: &str) -> Result<i64, String> {
        let opened = self.0.runtime.block_on(self.0.files.open(uri));
        let file = match opened {
            Ok(stream) => DriverFile::Arriving(stream),
            // Spark's class loader for REPL classes matches the driver's whole text.
            Err(FetchError::Stream { error, .. }) => self
                .0
                .native
                .dependencies
                .open_fetched(uri)
                .map(DriverFile::Fetched)
                .ok_or_else(|| error.to_string())?,
            Err(other) => return Err(other.to_string()),
        };
        Ok(self.0.jvm.keep_stream(file))
    }

    fn read_stream(&self, handle: i64, buf: &mut [u8]) -> Result<usize, String> {
        self.0.jvm.read_stream(handle, buf)
    }

    fn close_stream(&self, handle: i64) {
        self.0.jvm.close_stream(handle);
    }

    fn next_rows(&self, id: i64) -> Option<Vec<u8>> {
        self.0.jvm.exchanges.next(id)
    }

    fn rows_done(&self, id: i64, result: Result<Vec<u8>, String>) {
        self.0.jvm.exchanges.done(id, result);
    }

    fn evaluator_ended(&self, id: i64, failure: Option<String>) {
        self.0.jvm.exchanges.ended(id, failure);
    }

    fn bootstrap(&self) -> Bootstrap {
        let launch = &self.0.jvm.launch;
        launch.bootstrap(&self.0.driver.catalog, &self.0.local_dirs)
    }

    fn started(&self) {
        info!(target: "Firesteel", "Spark's environment exists in the embedded JVM");
    }

    fn failed(&self, message: String) {
        self.0.input(Input::JvmFailed(message));
    }

    fn shutting_down(&self) {
        self.0.ending.begin();
    }

    fn exiting(&self, code: i32) -> AfterExit {
        // The process ends with the low byte, as the driver and the cluster manager see it.
        info!(target: "Firesteel", "The embedded JVM exits with {code}");
        self.0.ending.finish(code);
        if self.0.ending.own_process {
            return AfterExit::EndProcess;
        }
        self.0.ending.exit(code);
        AfterExit::StopJvm
    }

    fn aborting(&self) {
        if !self.0.ending.is_finished() {
            warn!(target: "Firesteel", "The embedded JVM aborts; its own message is above or in hs_err_pid*.log");
            self.0.ending.finish(134);
        }
    }
}
