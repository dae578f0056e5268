//! What comes beside calls: memory that functions of a process ask for, and that tasks were cancelled.

use std::collections::HashMap;
use std::io::{self, BufReader};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};

use parking_lot::Mutex;

use super::super::host::TaskMemory;
use super::message::{ToExecutor, ToProcess, read_message, write_message};
use crate::cancel::Cancellation;

/// What an instance keeps in its process, of its task's memory. Given back when nobody needs it any more.
#[derive(Debug)]
pub(super) struct KeptMemory {
    memory: Box<dyn TaskMemory>,
    reserved: AtomicUsize,
}

impl KeptMemory {
    pub(super) fn new(memory: Box<dyn TaskMemory>) -> Arc<Self> {
        Arc::new(Self {
            memory,
            reserved: AtomicUsize::new(0),
        })
    }

    fn reserve(&self, bytes: usize) -> bool {
        let reserved = self.memory.reserve(bytes);
        if reserved {
            self.reserved.fetch_add(bytes, Ordering::Relaxed);
        }
        reserved
    }

    /// A process that gives back more than it has gives back what it has.
    fn release(&self, bytes: usize) {
        let shrink = |held: usize| Some(held.saturating_sub(bytes));
        let held = self
            .reserved
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, shrink);
        self.memory.release(held.unwrap_or_default().min(bytes));
    }
}

impl Drop for KeptMemory {
    fn drop(&mut self) {
        self.release(usize::MAX);
    }
}

/// The executor's end.
#[derive(Debug)]
pub(super) struct ExecutorSide {
    socket: Mutex<UnixStream>,
    kept: Mutex<HashMap<u64, Arc<KeptMemory>>>,
}

impl ExecutorSide {
    /// Answers a process from now on, until it ends.
    ///
    /// # Errors
    /// The system has no threads.
    pub(super) fn start(socket: UnixStream) -> io::Result<Arc<Self>> {
        let reads = socket.try_clone()?;
        // Nobody waits for a process that does not listen.
        socket.set_nonblocking(false)?;
        socket.set_write_timeout(Some(super::worker::PATIENCE))?;
        let side = Arc::new(Self {
            socket: Mutex::new(socket),
            kept: Mutex::default(),
        });
        let answers = Arc::clone(&side);
        let thread = std::thread::Builder::new().name("isolated-functions".to_owned());
        thread.spawn(move || {
            let mut reads = BufReader::new(reads);
            while let Ok(Some((message, _))) = read_message(&mut reads) {
                if answers.answer(&message).is_err() {
                    break;
                }
            }
        })?;
        Ok(side)
    }

    fn answer(&self, message: &ToExecutor) -> io::Result<()> {
        let of = |instance| self.kept.lock().get(&instance).cloned();
        match *message {
            ToExecutor::Reserve { instance, bytes } => {
                let reserved = of(instance).is_some_and(|kept| kept.reserve(bytes));
                self.say(&ToProcess::Reserved(reserved))
            }
            ToExecutor::Release { instance, bytes } => {
                if let Some(kept) = of(instance) {
                    kept.release(bytes);
                }
                Ok(())
            }
        }
    }

    fn say(&self, message: &ToProcess) -> io::Result<()> {
        write_message(&mut *self.socket.lock(), message, 0)
    }

    /// An instance may keep memory from now on.
    pub(super) fn add(&self, instance: u64, kept: Arc<KeptMemory>) {
        self.kept.lock().insert(instance, kept);
    }

    /// It may not any more.
    pub(super) fn remove(&self, instance: u64) {
        // Not while others wait: memory is given back.
        let kept = self.kept.lock().remove(&instance);
        drop(kept);
    }

    /// Tells an instance that its task was cancelled.
    pub(super) fn cancel(&self, instance: u64) {
        // A process that does not listen is killed soon.
        let _ = self.say(&ToProcess::Cancelled { instance });
    }
}

/// The process's end.
#[derive(Debug)]
pub(super) struct ProcessSide {
    socket: Mutex<UnixStream>,
    /// Answers; locked by whoever waits for one.
    answers: Mutex<Receiver<bool>>,
    cancellations: Mutex<HashMap<u64, Cancellation>>,
}

impl ProcessSide {
    /// Listens from now on; calls `end` when the executor has ended.
    ///
    /// # Errors
    /// The system has no threads.
    pub(super) fn start(
        socket: UnixStream,
        end: impl FnOnce() + Send + 'static,
    ) -> io::Result<Arc<Self>> {
        let reads = socket.try_clone()?;
        let (answered, answers) = channel();
        let side = Arc::new(Self {
            socket: Mutex::new(socket),
            answers: Mutex::new(answers),
            cancellations: Mutex::default(),
        });
        let listens = Arc::clone(&side);
        let thread = std::thread::Builder::new().name("executor".to_owned());
        thread.spawn(move || {
            let mut reads = BufReader::new(reads);
            while let Ok(Some((message, _))) = read_message(&mut reads) {
                listens.hear(&message, &answered);
            }
            end();
        })?;
        Ok(side)
    }

    fn hear(&self, message: &ToProcess, answered: &Sender<bool>) {
        match *message {
            // Nobody is left who asked: then nobody misses it.
            ToProcess::Reserved(reserved) => drop(answered.send(reserved)),
            ToProcess::Cancelled { instance } => {
                let cancellation = self.cancellations.lock().get(&instance).cloned();
                if let Some(cancellation) = cancellation {
                    cancellation.cancel("cancelled");
                }
            }
        }
    }

    /// The switch of an instance's task.
    pub(super) fn add(&self, instance: u64) -> Cancellation {
        let mut cancellations = self.cancellations.lock();
        cancellations.entry(instance).or_default().clone()
    }

    pub(super) fn remove(&self, instance: u64) {
        self.cancellations.lock().remove(&instance);
    }

    /// The memory that an instance asks the executor for.
    pub(super) fn memory(self: &Arc<Self>, instance: u64) -> Box<dyn TaskMemory> {
        Box::new(AskedMemory {
            side: Arc::clone(self),
            instance,
        })
    }
}

/// Memory that the executor has.
#[derive(Debug)]
struct AskedMemory {
    side: Arc<ProcessSide>,
    instance: u64,
}

impl TaskMemory for AskedMemory {
    fn reserve(&self, bytes: usize) -> bool {
        let instance = self.instance;
        let answers = self.side.answers.lock();
        let asked = ToExecutor::Reserve { instance, bytes };
        let asked = write_message(&mut *self.side.socket.lock(), &asked, 0);
        asked.is_ok() && answers.recv().unwrap_or(false)
    }

    fn release(&self, bytes: usize) {
        let instance = self.instance;
        let given = ToExecutor::Release { instance, bytes };
        // An executor that is gone needs nothing back.
        let _ = write_message(&mut *self.side.socket.lock(), &given, 0);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Memory(Arc<AtomicUsize>);

    impl TaskMemory for Memory {
        fn reserve(&self, bytes: usize) -> bool {
            let take = |left: usize| left.checked_sub(bytes);
            let took = self
                .0
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, take);
            took.is_ok()
        }

        fn release(&self, bytes: usize) {
            self.0.fetch_add(bytes, Ordering::Relaxed);
        }
    }

    #[test]
    fn memory_is_the_executors_and_comes_back() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let executor = ExecutorSide::start(ours).unwrap();
        let (ended, end) = channel();
        let process = ProcessSide::start(theirs, move || ended.send(()).unwrap()).unwrap();
        let left = Arc::new(AtomicUsize::new(100));
        executor.add(1, KeptMemory::new(Box::new(Memory(Arc::clone(&left)))));
        let (memory, stranger) = (process.memory(1), process.memory(2));
        assert!(memory.reserve(60));
        assert!(!memory.reserve(60));
        assert!(!stranger.reserve(1));
        memory.release(10);
        assert!(memory.reserve(50));
        assert_eq!(left.load(Ordering::Relaxed), 0);
        stranger.release(1000);
        assert!(!memory.reserve(1));

        let cancellation = process.add(1);
        executor.cancel(2);
        executor.cancel(1);
        assert!(!memory.reserve(1));
        assert!(cancellation.is_cancelled());
        // What was not given back is, at the end.
        executor.remove(1);
        assert_eq!(left.load(Ordering::Relaxed), 100);
        assert!(!memory.reserve(1));
        executor
            .socket
            .lock()
            .shutdown(std::net::Shutdown::Both)
            .unwrap();
        end.recv().unwrap();
        assert!(!memory.reserve(1));
    }
}
