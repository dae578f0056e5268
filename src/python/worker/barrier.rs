//! The server that answers `BarrierTaskContext` of a worker (`BarrierTaskContextMessageProtocol`).

use std::io::{self, PipeReader, PipeWriter, Write};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

use bytes::{BufMut, BytesMut};
use wire::messages::{RequestToSync, RpcFailure, reply};

use super::listener::LocalListener;
use super::message::ServerAddress;
use super::settings::WorkerSettings;
use super::socket::Socket;
use super::wire::{length, put, read_i32, read_text, write_text};
use crate::blocks::BlockEnv;
use crate::cancel::Cancellation;
use crate::task::{TaskContext, TaskError};

/// The coordinator itself has a shorter time-out, `spark.barrier.sync.timeout`.
const TIMEOUT: Duration = Duration::from_secs(365 * 24 * 60 * 60);
/// Longest message of a task to the others, in bytes. Larger ones do not pass the driver either.
const MAX_MESSAGE: usize = 512 << 20;

const BARRIER: i32 = 1;
const ALL_GATHER: i32 = 2;

/// Serves one task of a barrier stage until dropped.
#[derive(Debug)]
pub(super) struct BarrierServer {
    address: ServerAddress,
    stop: Cancellation,
    /// The server's thread waits for the end of this.
    _wake: PipeWriter,
}

impl BarrierServer {
    /// Starts serving. `epoch` counts how often the task has waited, whichever of its functions did.
    ///
    /// # Errors
    /// There are no more ports, files or threads.
    pub(super) fn start(
        context: &TaskContext,
        settings: &WorkerSettings,
        epoch: Arc<AtomicI32>,
    ) -> Result<Self, TaskError> {
        let listener = LocalListener::bind(settings.socket_dir.as_deref())?;
        let (woken, wake) = io::pipe()?;
        let stop = Cancellation::default();
        let address = listener.address().clone();
        let task = BarrierTask {
            num_tasks: context.num_partitions,
            stage_id: context.stage_id,
            stage_attempt_id: context.stage_attempt,
            task_attempt_id: context.task_attempt_id,
            partition_id: context.partition_id,
            epoch,
            blocks: Arc::clone(&context.blocks),
            killed: context.cancellation.clone(),
            stop: stop.clone(),
        };
        std::thread::Builder::new()
            .name("python-barrier".to_owned())
            .spawn(move || task.serve(&listener, &woken))?;
        Ok(Self {
            address,
            stop,
            _wake: wake,
        })
    }

    /// Where the worker finds it.
    pub(super) fn address(&self) -> &ServerAddress {
        &self.address
    }
}

impl Drop for BarrierServer {
    fn drop(&mut self) {
        self.stop.cancel("the task has ended");
    }
}

struct BarrierTask {
    num_tasks: i32,
    stage_id: i32,
    stage_attempt_id: i32,
    task_attempt_id: i64,
    partition_id: i32,
    epoch: Arc<AtomicI32>,
    blocks: Arc<BlockEnv>,
    killed: Cancellation,
    stop: Cancellation,
}

impl BarrierTask {
    fn serve(&self, listener: &LocalListener, woken: &PipeReader) {
        while !self.stop.is_cancelled() {
            let answered = match listener.accept(None, Some(woken.as_fd())) {
                Ok(Some(socket)) => self.answer(&socket),
                Ok(None) => continue,
                Err(error) => Err(error),
            };
            if let Err(error) = answered {
                tracing::warn!("A call of BarrierTaskContext failed: {error}");
            }
        }
    }

    /// Answers one call; each comes on a connection of its own.
    fn answer(&self, socket: &Socket) -> io::Result<()> {
        let method = read_i32(socket)?;
        let message = match method {
            BARRIER => String::new(),
            ALL_GATHER => read_text(socket, MAX_MESSAGE)?,
            _ => return write_text(socket, "Not recognized function call from python side."),
        };
        let all_gather = method == ALL_GATHER;
        match self.synchronize(all_gather, message) {
            Ok(messages) => {
                let mut out = BytesMut::new();
                if all_gather {
                    out.put_i32(length(messages.len())?);
                    for message in &messages {
                        put(&mut out, message.as_bytes())?;
                    }
                } else {
                    out.put_i32(1);
                    put(&mut out, b"success")?;
                }
                let mut socket = socket;
                socket.write_all(&out)
            }
            // As in Spark: not in the form that the worker expects, which so raises an exception too.
            Err(Some(refusal)) => write_text(socket, &refusal),
            Err(None) => Ok(()),
        }
    }

    /// Waits for the other tasks. An error is what the coordinator says, or nothing if the task is to end.
    fn synchronize(
        &self,
        all_gather: bool,
        message: String,
    ) -> Result<Vec<String>, Option<String>> {
        let epoch = self.epoch.load(Ordering::Acquire);
        let task = format!(
            "Task {} from Stage {}(Attempt {})",
            self.task_attempt_id, self.stage_id, self.stage_attempt_id
        );
        tracing::info!("{task} has entered the global sync, current barrier epoch is {epoch}.");
        let request = RequestToSync {
            num_tasks: self.num_tasks,
            stage_id: self.stage_id,
            stage_attempt_id: self.stage_attempt_id,
            task_attempt_id: self.task_attempt_id,
            barrier_epoch: epoch,
            partition_id: self.partition_id,
            message,
            request_method: RequestToSync::request_method(all_gather),
        };
        let refused = |text: String| {
            tracing::info!(
                "{task} failed to perform global sync, current barrier epoch is {epoch}: {text}"
            );
            Some(text)
        };
        let request = request
            .encode(&self.blocks.catalog)
            .map_err(|error| refused(error.to_string()))?;
        let answer = self.blocks.runtime.block_on(async {
            tokio::select! {
                _ = self.killed.cancelled() => None,
                _ = self.stop.cancelled() => None,
                answer = self.blocks.driver.sync_barrier(request.into(), TIMEOUT) => Some(answer),
            }
        });
        let answer = answer
            .ok_or(None)?
            .map_err(|error| refused(error.to_string()))?;
        let messages = reply::read_strings(&answer).map_err(|error| {
            let failure = RpcFailure::decode(&answer).map(|failure| failure.error.message);
            refused(failure.ok().flatten().unwrap_or_else(|| error.to_string()))
        })?;
        self.epoch.store(epoch.wrapping_add(1), Ordering::Release);
        tracing::info!(
            "{task} finished global sync successfully, current barrier epoch is {}.",
            epoch.wrapping_add(1)
        );
        Ok(messages)
    }
}
