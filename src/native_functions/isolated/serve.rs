//! The process of isolated functions: does what its executor asks for, until that ends.

use std::collections::HashMap;
use std::io::{self, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray as _, RecordBatch, RecordBatchReader, UInt32Array};
use arrow::datatypes::{Fields, Schema, SchemaRef, UInt32Type};
use arrow::error::ArrowError;
use parking_lot::Mutex;
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
use rustix::process::{Signal, getpid, kill_process};

use super::super::error::FunctionError;
use super::super::host::TaskFacts;
use super::super::instance::Instance;
use super::super::libraries::function_of;
use super::super::library::Kind;
use super::super::stream::OutputStream;
use super::columns;
use super::instance::with_groups;
use super::memory::SharedMemory;
use super::message::{Binding, Reply, Request, read_message, write_message};
use super::side::ProcessSide;
use super::worker::{DESCRIPTORS, GREETING};

/// How readily the system ends this process where memory is short, and not the executor.
const FIRST_TO_GO: &str = "500";

/// Serves the executor whose socket is the standard input, to its end.
///
/// # Errors
/// The standard input is no such socket, or what comes from it is none of an executor's requests.
pub fn serve() -> io::Result<()> {
    let calls = taken_stdin()?;
    let [to, from, side] = descriptors(&calls)?;
    // Only less readily is for the system's administrators.
    let _ = std::fs::write("/proc/self/oom_score_adj", FIRST_TO_GO);
    // A function that never returns does not outlive its executor.
    let end = || {
        let _ = kill_process(getpid(), Signal::KILL);
    };
    let side = ProcessSide::start(side.into(), end)?;
    let channel = Channel {
        calls,
        requests: SharedMemory::of(to),
        replies: SharedMemory::of(from),
    };
    let mut process = Process {
        channel: Arc::new(Mutex::new(channel)),
        side,
        instances: HashMap::new(),
        streams: HashMap::new(),
    };
    process.run()
}

/// The socket, in whose place nothing is to be read: libraries may read the standard input.
fn taken_stdin() -> io::Result<UnixStream> {
    let socket = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3)?;
    let nothing = std::fs::File::open("/dev/null")?;
    rustix::stdio::dup2_stdin(&nothing)?;
    Ok(socket.into())
}

/// What the executor sends first.
fn descriptors(calls: &UnixStream) -> io::Result<[OwnedFd; DESCRIPTORS]> {
    let mut greeting = GREETING;
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS))];
    let mut received = RecvAncillaryBuffer::new(&mut space);
    recvmsg(
        calls,
        &mut [IoSliceMut::new(&mut greeting)],
        &mut received,
        RecvFlags::CMSG_CLOEXEC,
    )?;
    let messages = received.drain().map(|message| match message {
        RecvAncillaryMessage::ScmRights(descriptors) => descriptors.collect(),
        _ => Vec::new(),
    });
    let all: Vec<OwnedFd> = messages.flatten().collect();
    all.try_into()
        .map_err(|_| io::Error::other("nobody who has functions called"))
}

/// Where requests come from, and replies go to.
struct Channel {
    calls: UnixStream,
    requests: SharedMemory,
    replies: SharedMemory,
}

impl Channel {
    fn next(&mut self) -> io::Result<Option<(Request, u64)>> {
        read_message(&mut self.calls)
    }

    fn reply(&mut self, reply: &Reply) -> io::Result<()> {
        write_message(&mut self.calls, reply, 0)
    }

    fn reply_columns(&mut self, batch: &RecordBatch) -> io::Result<()> {
        let written = self.replies.write(|to| columns::write(to, batch));
        let bytes = written.map_err(io::Error::other)?;
        let reply = Reply::Columns {
            rows: batch.num_rows(),
        };
        write_message(&mut self.calls, &reply, bytes)
    }

    /// The columns that came with a request.
    fn columns(&self, of: &Fields, bytes: u64) -> io::Result<RecordBatch> {
        columns::read(self.requests.read(bytes)?, of).map_err(io::Error::other)
    }

    /// A reply, or the columns that are one.
    fn answer(&mut self, answer: Result<Answer, FunctionError>) -> io::Result<()> {
        match answer {
            Ok(Answer::Reply(reply)) => self.reply(&reply),
            Ok(Answer::Columns(batch)) => self.reply_columns(&batch),
            Err(error) => self.reply(&Reply::failure(error)),
        }
    }
}

/// What comes of a request.
enum Answer {
    Reply(Reply),
    Columns(RecordBatch),
}

impl Answer {
    fn column(column: ArrayRef) -> Result<Self, FunctionError> {
        let batch = columns::single(column);
        let batch = batch.map_err(|why| FunctionError::Failed(why.to_string()))?;
        Ok(Self::Columns(batch))
    }
}

struct Process {
    /// Not locked while a function is called: what reads the input of one uses it.
    channel: Arc<Mutex<Channel>>,
    side: Arc<ProcessSide>,
    instances: HashMap<u64, Instance>,
    streams: HashMap<u64, OutputStream>,
}

impl Process {
    fn run(&mut self) -> io::Result<()> {
        loop {
            let Some((request, bytes)) = self.channel.lock().next()? else {
                return Ok(());
            };
            let answer = self.answer(request, bytes)?;
            self.channel.lock().answer(answer)?;
        }
    }

    /// Does what is asked for.
    ///
    /// # Errors
    /// It is no request; within, the function fails.
    fn answer(
        &mut self,
        request: Request,
        bytes: u64,
    ) -> io::Result<Result<Answer, FunctionError>> {
        let done = |done: Result<(), FunctionError>| Ok(done.map(|()| Answer::Reply(Reply::Done)));
        match request {
            Request::Bind(binding) => {
                let input = self.channel.lock().requests.read(bytes)?;
                let input = columns::read_schema(input).map_err(io::Error::other)?;
                Ok(self.bind(&binding, &input).map(Answer::Reply))
            }
            Request::Execute { instance, rows } => {
                let bound = bound(&mut self.instances, instance)?;
                let batch = self.channel.lock().columns(bound.arguments(), bytes)?;
                let column = bound.execute(batch.columns(), rows);
                Ok(column.and_then(Answer::column))
            }
            Request::Update {
                instance, groups, ..
            } => {
                let bound = bound(&mut self.instances, instance)?;
                let fields = with_groups(bound.arguments());
                let batch = self.channel.lock().columns(&fields, bytes)?;
                let (of, arguments) = rows_of_groups(&batch)?;
                done(bound.update(arguments, &of, groups))
            }
            Request::Finish { instance, groups } => {
                let column = bound(&mut self.instances, instance)?.finish(groups);
                Ok(column.and_then(Answer::column))
            }
            Request::Open { instance } => {
                let bound = self.instances.remove(&instance).ok_or_else(unknown)?;
                let input = AskedRows {
                    channel: Arc::clone(&self.channel),
                    schema: Arc::new(Schema::new(bound.arguments().clone())),
                };
                let opened = bound.open(Box::new(input));
                done(opened.map(|stream| drop(self.streams.insert(instance, stream))))
            }
            Request::Next { instance } => {
                let stream = self.streams.get_mut(&instance).ok_or_else(unknown)?;
                let rows = stream.next_rows();
                Ok(rows.map(|rows| rows.map_or(Answer::Reply(Reply::End), Answer::Columns)))
            }
            Request::Unbind { instance } => {
                drop(self.instances.remove(&instance));
                drop(self.streams.remove(&instance));
                self.side.remove(instance);
                done(Ok(()))
            }
            Request::Rows { .. } | Request::NoMoreRows | Request::RowsFailed { .. } => {
                Err(io::Error::other("rows that nobody asked for"))
            }
        }
    }

    fn bind(&mut self, binding: &Binding, input: &Fields) -> Result<Reply, FunctionError> {
        let function = match function_of(Path::new(&binding.library), &binding.marker) {
            Ok(function) => function,
            Err(why) => return Ok(Reply::Left { why }),
        };
        let instance = binding.instance;
        let facts = TaskFacts {
            time_zone: binding.time_zone.clone(),
            ansi: binding.ansi,
            stage_id: binding.stage_id,
            partition_id: binding.partition_id,
            attempt_number: binding.attempt_number,
            task_attempt_id: binding.task_attempt_id,
            cancellation: self.side.add(instance),
            memory: self.side.memory(instance),
        };
        let signature = binding.marker.signature;
        let input = (function.kind == Kind::Partition).then_some(input);
        let bound = Instance::bind(&function, signature, input, facts)?;
        self.instances.insert(instance, bound);
        let of = function.signatures.get(signature);
        let of = of.ok_or_else(|| FunctionError::of(function.title, "has no such signature"))?;
        Ok(Reply::Bound {
            kind: function.kind,
            signature: of.clone(),
            title: function.title.to_owned(),
        })
    }
}

fn unknown() -> io::Error {
    io::Error::other("a function that is not bound")
}

fn bound(instances: &mut HashMap<u64, Instance>, instance: u64) -> io::Result<&mut Instance> {
    instances.get_mut(&instance).ok_or_else(unknown)
}

/// The number of each row's group, and its arguments.
fn rows_of_groups(batch: &RecordBatch) -> io::Result<(UInt32Array, &[ArrayRef])> {
    let (groups, arguments) = batch.columns().split_last().ok_or_else(unknown)?;
    let groups = groups
        .as_primitive_opt::<UInt32Type>()
        .ok_or_else(unknown)?;
    Ok((groups.clone(), arguments))
}

/// Rows of a partition function's input, which the executor has.
struct AskedRows {
    channel: Arc<Mutex<Channel>>,
    schema: SchemaRef,
}

impl Iterator for AskedRows {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let failed = |why: String| Some(Err(ArrowError::ExternalError(why.into())));
        let mut channel = self.channel.lock();
        let asked = channel
            .reply(&Reply::NeedRows)
            .and_then(|()| channel.next());
        match asked {
            Ok(Some((Request::Rows { .. }, bytes))) => {
                let batch = channel.columns(self.schema.fields(), bytes);
                batch.map_or_else(|why| failed(why.to_string()), |batch| Some(Ok(batch)))
            }
            Ok(Some((Request::NoMoreRows, _))) => None,
            Ok(Some((Request::RowsFailed { why }, _))) => failed(why),
            Ok(_) => failed("the executor has ended".to_owned()),
            Err(why) => failed(why.to_string()),
        }
    }
}

impl RecordBatchReader for AskedRows {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}
