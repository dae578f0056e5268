//! Fuzz targets of this room; see [`crate::fuzzing`].

use std::io::Write;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, LazyLock};
use std::time::SystemTime;

use javaser::Catalog;

use super::compiled::Lines;
use super::factory::{Factory, FactoryKey};
use super::framing::{ArrowParts, Framing};
use super::outbox::Outbox;
use super::output::{Assignment, PythonOutput};
use super::socket::Socket;
use super::wire::{MAX_HANDSHAKE_TEXT, read_text};
use super::{PythonWorkers, WorkerPool};
use crate::config::SparkProperties;
use crate::fuzzing::Trickle;
use crate::python::testing;
use crate::report::PythonCompiled;

/// More than this may not fit a socket that nobody reads yet.
const MOST: usize = 64 << 10;

/// What a worker sends back for a task.
pub fn python_output(data: &[u8]) {
    static WORKERS: LazyLock<[(Arc<WorkerPool>, Arc<Factory>); 2]> =
        LazyLock::new(|| [workers(false), workers(true)]);
    let data = data.get(..MOST).unwrap_or(data);
    let framings = [
        || Framing::Lengths,
        || Framing::Arrow(ArrowParts::default()),
    ];
    for ((shared, factory), framing) in WORKERS.iter().zip(framings) {
        let (here, there) = UnixStream::pair().expect("a pair of sockets");
        here.set_nonblocking(true).expect("a socket");
        (&there).write_all(data).expect("room for it");
        there.shutdown(Shutdown::Write).expect("a connection");
        let context = testing::context();
        let output = PythonOutput::new(Assignment {
            shared: Arc::clone(shared),
            factory: Arc::clone(factory),
            worker: factory.adopt(Socket::Unix(here)),
            context: Arc::clone(&context),
            outbox: Outbox::default(),
            input: Box::new(std::iter::empty()),
            framing: framing(),
            accumulates: true,
            started: SystemTime::now(),
            barrier: None,
        });
        let mut frames = 0;
        for frame in output {
            frames += frame.map_or(0, |frame| frame.len());
        }
        let updates = context.python_updates.lock();
        let updates: usize = updates.iter().map(Vec::len).sum();
        assert!(frames + updates <= data.len());
    }
}

/// Workers that are never used again; of old and new versions.
fn workers(new: bool) -> (Arc<WorkerPool>, Arc<Factory>) {
    let mut properties = SparkProperties::default();
    properties.set("spark.python.worker.reuse", "false");
    properties.set("spark.buffer.size", "1024");
    let catalog = Catalog::from_class_path(&[]).expect("no directory to list");
    let workers = PythonWorkers::new(&properties, &catalog).expect("settings that Spark takes");
    let mut shared = Arc::into_inner(workers.0).expect("nobody else has it");
    let mut protocol = (*shared.protocol).clone();
    protocol.processing_time = new;
    shared.protocol = Arc::new(protocol);
    let key = FactoryKey {
        exec: "python3".to_owned(),
        env: Default::default(),
    };
    let (settings, protocol) = (Arc::clone(&shared.settings), Arc::clone(&shared.protocol));
    let factory = Factory::new(key, settings, protocol, String::new(), None);
    (Arc::new(shared), Arc::new(factory))
}

/// What workers tell of pipelines, the same in pieces of any size, and of functions.
pub fn python_compiled(data: &[u8]) {
    let read = |step| {
        let (mut lines, mut counts) = (Lines::default(), PythonCompiled::default());
        for piece in data.chunks(step) {
            lines.read(piece, &mut counts);
        }
        counts
    };
    let whole = read(data.len().max(1));
    assert_eq!(whole, read(1));
    assert!(whole.not_simple.len() <= data.len());
    let translated = |()| format!("{:?}", super::simple::read(data, 1, 2));
    assert_eq!(translated(()), translated(()));
}

/// What a worker says when it connects: secrets and paths behind their length.
pub fn python_handshake(data: &[u8]) {
    let read = |step| read_text(Trickle { bytes: data, step }, MAX_HANDSHAKE_TEXT).ok();
    let text = read(usize::MAX);
    assert_eq!(text, read(1));
    assert!(text.is_none_or(|text| text.len() + 4 <= data.len()));
}
