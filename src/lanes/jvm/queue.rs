//! Queues between the executor and the Java threads that wait in `Native.nextEvent`.
use std::collections::VecDeque;

use bytes::Bytes;
use parking_lot::{Condvar, Mutex};

/// What an event asks of the JVM. The numbers are known to `org.firesteel.bridge.Events`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i64)]
pub(crate) enum EventKind {
    /// Driver to endpoint, answer wanted.
    RpcRequest = 1,
    /// Driver to endpoint.
    OneWay = 2,
    /// Driver's answer to an ask of the JVM.
    AskReply = 3,
    /// An ask of the JVM failed.
    AskFailure = 4,
    /// The driver is gone.
    Disconnected = 5,
    /// End the process; the id is the exit code.
    Exit = 6,
    /// Read a block.
    GetBlock = 7,
    /// Store a block that came in one RPC body.
    Upload = 8,
    /// Store a block that came as a stream.
    UploadStream = 9,
    /// The backend's endpoint is there: what waited for it can be delivered.
    Started = 10,
    /// Start a task that evaluates expressions.
    StartEvaluator = 11,
    /// Make such a task stop.
    KillEvaluator = 12,
}

/// One thing for the JVM to do.
#[derive(Debug)]
pub(crate) struct Event {
    /// What to do.
    pub(crate) kind: EventKind,
    /// Names the answer.
    pub(crate) id: i64,
    /// Kind-specific bytes.
    pub(crate) payload: Bytes,
}

/// An unbounded queue: its producers have their own limits (frames in flight), and blocking one of them, a network
/// thread, would stop heartbeats.
#[derive(Debug, Default)]
pub(crate) struct EventQueue {
    events: Mutex<VecDeque<Event>>,
    ready: Condvar,
}

impl EventQueue {
    /// Adds an event and wakes one waiting thread.
    pub(crate) fn push(&self, event: Event) {
        self.events.lock().push_back(event);
        self.ready.notify_one();
    }

    /// Waits for the next event.
    pub(crate) fn pop(&self) -> Event {
        let mut events = self.events.lock();
        loop {
            if let Some(event) = events.pop_front() {
                return event;
            }
            self.ready.wait(&mut events);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn events_arrive_in_order_across_threads() {
        let queue = Arc::new(EventQueue::default());
        let producer = Arc::clone(&queue);
        let thread = std::thread::spawn(move || {
            for id in 0..1000 {
                producer.push(Event {
                    kind: EventKind::OneWay,
                    id,
                    payload: Bytes::new(),
                });
            }
        });
        for id in 0..1000 {
            assert_eq!(queue.pop().id, id);
        }
        thread.join().unwrap();
    }
}
