//! Asks of the driver that have not been answered.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};

use javaser::Catalog;
use parking_lot::Mutex;
use tracing::error;
use wire::WireError;
use wire::messages::reply;

use super::events::{Reply, RequestId};
use crate::transport;

/// Handles for answers, by the number that the state machine names them by.
pub(super) struct Replies {
    waiting: Mutex<HashMap<RequestId, transport::Reply>>,
    /// Those of the driver begin at 1; see [`NOBODY_ASKS`].
    next: AtomicU64,
}

/// Names a request to the JVM whose answer nobody waits for.
pub(super) const NOBODY_ASKS: i64 = 0;

impl Default for Replies {
    fn default() -> Self {
        Self {
            waiting: Mutex::default(),
            next: AtomicU64::new(1),
        }
    }
}

impl Replies {
    /// Keeps a handle for the answer to an ask of the driver.
    pub(super) fn keep(&self, reply: transport::Reply) -> RequestId {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        self.waiting.lock().insert(id, reply);
        id
    }

    /// The handle, once.
    pub(super) fn take(&self, id: RequestId) -> Option<transport::Reply> {
        self.waiting.lock().remove(&id)
    }

    /// Answers an ask without the JVM.
    pub(super) fn answer(&self, id: RequestId, what: Reply, catalog: &Catalog) {
        let c = catalog;
        let content = match what {
            Reply::Boolean(value) => reply::boolean(value, c),
            Reply::Integer(n) => reply::integer(n, c),
            Reply::None => reply::none(c),
            Reply::EmptySeq => reply::empty_seq(c),
            Reply::NoStrings => reply::empty_array("java.lang.String", c),
            Reply::Unit => reply::unit(c),
            Reply::NoSuchEndpoint => {
                if let Some(handle) = self.take(id) {
                    handle.failure(
                        "org.apache.spark.SparkException: this executor has no such endpoint, or no JVM that knows this message",
                    );
                }
                return;
            }
        };
        self.send(id, content);
    }

    /// Sends an answer.
    pub(super) fn send(&self, id: RequestId, content: Result<Vec<u8>, WireError>) {
        let Some(handle) = self.take(id) else {
            return;
        };
        match content {
            Ok(content) => handle.success(content.into()),
            Err(error) => {
                error!(target: "CoarseGrainedExecutorBackend", "Cannot write a reply: {error}");
                handle.failure(error.to_string());
            }
        }
    }
}
