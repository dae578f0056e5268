//! The block server: what Spark's `NettyBlockRpcServer` does for other executors.

use super::disk_wait::DiskWait;
use super::open_outputs::OpenOutputs;
use super::streams::{Block, Chunk, Read, Segment, Streams};
use super::uploads::{Upload, Uploads};
use super::{BlockSource, LocalDirs, ShuffleFiles};
use crate::config::declared::{self, Kind};
use crate::transport::{
    Answer, Body, ConfError, Opening, Peer, Protection, Reply, RequestHandler, Server, Stream,
    TransportConf, complain,
};
use bytes::Bytes;
use std::fmt;
use std::io;
use std::net::ToSocketAddrs;
use std::sync::Arc;
use tokio::sync::{Semaphore, oneshot};
use tokio::task::AbortHandle;
use uuid::Uuid;
use wire::block_transfer::{BlockTransferMessage as Message, TAKES_COLUMNS};
use wire::frame::MAX_FRAME;
use wire::ids::BlockId;
use wire::printable::Printable;

/// What a frame may have besides the block that it carries.
const FRAME_OVERHEAD: u64 = 16 << 20;
/// Segments up to this size are read into memory.
const SMALL: u64 = 32 << 10;
/// Type byte of an `UploadBlock`.
const UPLOAD: u8 = 1;
/// Memory of a stream that is too little to be entered into the ledger.
const SMALL_STREAM: usize = 16 << 10;
/// Map outputs of one request that are looked up before it is answered from the thread that reads the connection.
const MAX_LOOKED_UP: usize = 256;
/// Damaged blocks that are read again at a time.
const MAX_DIAGNOSES: usize = 2;

/// Serves blocks until it is dropped.
#[derive(Debug)]
pub struct BlockServer {
    server: Server,
    closing: AbortHandle,
}

impl Drop for BlockServer {
    fn drop(&mut self) {
        self.closing.abort();
    }
}

/// Why a block server cannot start.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// A setting cannot be understood.
    #[error(transparent)]
    Setting(#[from] ConfError),
    /// The address or port cannot be used.
    #[error("{0}")]
    Address(#[from] io::Error),
}

impl BlockServer {
    /// Listens on the name or address and the port (0 for a free one) of `address`, and serves the shuffle files in
    /// `dirs` and the blocks of `source` to whoever speaks for the application, as `protection` finds out.
    /// `property` looks up a Spark property; those of the module `shuffle` count. Must be called on the runtime.
    ///
    /// # Errors
    /// [`BindError`]
    pub fn bind(
        address: (&str, u16),
        app_id: &str,
        executor_id: &str,
        dirs: Arc<LocalDirs>,
        source: Arc<dyn BlockSource>,
        protection: Protection,
        property: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, BindError> {
        let conf = TransportConf {
            max_frame: max_frame(&property)?,
            protection,
            ..TransportConf::for_module("shuffle", &property)?
        };
        let (bind_address, port) = address;
        let bare = bind_address
            .strip_prefix('[')
            .and_then(|address| address.strip_suffix(']'));
        let bare = bare.unwrap_or(bind_address);
        let address = (bare, port).to_socket_addrs()?.next();
        let address = address.ok_or_else(|| {
            io::Error::new(
                io::ErrorKind::AddrNotAvailable,
                format!("{bind_address} has no address"),
            )
        })?;
        // Ids start at random, as Spark's do, to tell the streams of different executors apart.
        let first_stream = i64::from(Uuid::new_v4().as_fields().0 >> 1) * 1000;
        let files = ShuffleFiles::new(dirs.clone());
        let outputs = OpenOutputs::new(files.clone(), source.clone());
        let handler = Handler {
            app_id: app_id.into(),
            executor_id: executor_id.into(),
            files,
            outputs: outputs.clone(),
            uploads: Uploads::new(dirs.clone()),
            dirs,
            source,
            streams: Arc::new(Streams::new(first_stream)),
            diagnoses: Arc::new(Semaphore::new(MAX_DIAGNOSES)),
        };
        let server = Server::bind((address.ip(), port), &conf, Arc::new(handler))?;
        let closing = tokio::spawn(outputs.close_unused()).abort_handle();
        Ok(Self { server, closing })
    }

    /// The port that is listened on.
    pub fn port(&self) -> u16 {
        self.server.local_addr().port()
    }
}

/// Bytes of a block that every peer may send in one piece: the default of
/// `spark.network.maxRemoteBlockSizeFetchToMem` wherever peers have not set it.
const LEAST_BLOCK: u64 = 200 << 20;

/// The largest frame: a block as large as peers may send in one piece. Larger ones come as streams.
fn max_frame(property: impl Fn(&str) -> Option<String>) -> Result<usize, ConfError> {
    let setting = &declared::MAX_REMOTE_BLOCK_IN_MEMORY;
    let block = match property(setting.key) {
        Some(value) => setting.kind.parse(&value).ok_or(ConfError {
            key: setting.key.to_owned(),
            value,
            expected: "a size such as 200m",
        })?,
        None => setting.default_value().unwrap_or(LEAST_BLOCK),
    };
    // Peers may have a lower or higher limit than this executor; the default is the least that is expected of it.
    let frame = block.max(LEAST_BLOCK).saturating_add(FRAME_OVERHEAD);
    Ok(usize::try_from(frame).unwrap_or(MAX_FRAME).min(MAX_FRAME))
}

/// Clones are the same.
#[derive(Clone)]
struct Handler {
    app_id: Arc<str>,
    executor_id: Arc<str>,
    dirs: Arc<LocalDirs>,
    files: ShuffleFiles,
    outputs: OpenOutputs,
    source: Arc<dyn BlockSource>,
    streams: Arc<Streams>,
    uploads: Uploads,
    diagnoses: Arc<Semaphore>,
}

impl Handler {
    /// Opens blocks, all of which must be here.
    fn open(&self, peer: Peer, blocks: Result<Vec<Block>, String>, reply: Reply) {
        let blocks = match blocks {
            Ok(blocks) => blocks,
            Err(error) => return reply.failure(error),
        };
        match self.find(&blocks, DiskWait::Forbidden) {
            Ok(()) => return self.register(peer, blocks, reply),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return refuse(peer, reply, &error),
        }
        let handler = self.clone();
        tokio::task::spawn_blocking(move || match handler.find(&blocks, DiskWait::Allowed) {
            Ok(()) => handler.register(peer, blocks, reply),
            Err(error) => refuse(peer, reply, &error),
        });
    }

    fn register(&self, peer: Peer, blocks: Vec<Block>, reply: Reply) {
        let memory = Block::memory_of(&blocks);
        let held = (memory > SMALL_STREAM).then(|| reply.keep(memory));
        if held.as_ref().is_some_and(Option::is_none) {
            return reply.failure(format!(
                "{} blocks are too many to be open now.",
                blocks.len()
            ));
        }
        match self.streams.register(peer, blocks, held.flatten()) {
            Ok((stream_id, num_chunks)) => answer(
                reply,
                &Message::StreamHandle {
                    stream_id,
                    num_chunks,
                },
            ),
            Err(error) => reply.failure(error),
        }
    }

    /// Fails with `NotFound` if one of the blocks is not here, and with `WouldBlock` if that cannot be found out with
    /// that `wait`.
    fn find(&self, blocks: &[Block], wait: DiskWait) -> io::Result<()> {
        let (mut last, mut looked_up) = (None, 0);
        for block in blocks {
            let found = match block {
                Block::Named(id) if self.source.may_have(id) => Ok(()),
                Block::Named(id) => Err(not_found(id)),
                Block::Shuffle(segment) => {
                    let output = (segment.shuffle_id, segment.map_id);
                    if last.replace(output) == Some(output) {
                        continue;
                    }
                    looked_up += 1;
                    if looked_up > MAX_LOOKED_UP && wait == DiskWait::Forbidden {
                        return Err(io::ErrorKind::WouldBlock.into());
                    }
                    self.outputs.find(*segment, wait)
                }
            };
            match (found, block) {
                // Another shuffle manager's, or of the fallback storage.
                (Err(error), Block::Shuffle(segment))
                    if error.kind() == io::ErrorKind::NotFound
                        && self.source.may_have(&segment.id()) => {}
                (found, _) => found?,
            }
        }
        Ok(())
    }

    /// The message, if it is about this application.
    fn of_this_application(&self, message: Message) -> Result<Message, String> {
        let app_id = match &message {
            Message::OpenBlocks { app_id, .. }
            | Message::UploadBlock { app_id, .. }
            | Message::DiagnoseCorruption { app_id, .. } => app_id,
            Message::FetchShuffleBlocks(fetch) => &fetch.app_id,
            _ => return Ok(message),
        };
        match **app_id == *self.app_id {
            true => Ok(message),
            false => Err(format!(
                "java.lang.SecurityException: This executor has no blocks of application {}.",
                Printable(app_id)
            )),
        }
    }

    /// Whoever takes no columns is going to read Spark's files: there is to be everything in them.
    fn local_dirs(&self, app_id: &str, exec_ids: &[String], columns: bool, reply: Reply) {
        let wrong_app = *app_id != *self.app_id;
        let [exec_id] = exec_ids else {
            return reply.failure(format!(
                "Invalid GetLocalDirsForExecutors request: {}incorrect executor number: {} (expected 1);",
                if wrong_app { format!("incorrect application id: {};", Printable(app_id)) } else { String::new() },
                exec_ids.len()
            ));
        };
        if wrong_app {
            let error = format!(
                "Invalid GetLocalDirsForExecutors request: incorrect application id: {};",
                Printable(app_id)
            );
            return reply.failure(error);
        }
        if **exec_id != *self.executor_id {
            return reply.failure(format!(
                "Invalid executor id: {}, expected {}.",
                Printable(exec_id),
                self.executor_id
            ));
        }
        let dirs = self
            .dirs
            .dirs()
            .iter()
            .map(|dir| dir.to_string_lossy().into_owned())
            .collect();
        let message = Message::LocalDirsForExecutors {
            local_dirs_by_exec: vec![(exec_id.clone(), dirs)],
        };
        if columns {
            return answer(reply, &message);
        }
        let source = self.source.clone();
        tokio::task::spawn_blocking(move || {
            source.files_are_read();
            answer(reply, &message);
        });
    }

    /// The data of a chunk. Shuffle blocks that this process has no files of may come from elsewhere: another shuffle
    /// manager or the fallback storage of a decommissioned executor.
    fn read(&self, peer: Peer, chunk: Result<Chunk, String>) -> Opening {
        let (outputs, source) = (self.outputs.clone(), self.source.clone());
        let (segment, read) = match chunk {
            Err(error) => return Opening::failed(error),
            Ok(Chunk::Named(id)) => return self.read_named(peer, id),
            // Those behind it will be had at once, too.
            Ok(Chunk::Read(segment, ahead)) => match read_at_once(&outputs, segment) {
                Some(Ok(body)) => return Opening::Begun(Box::pin(std::future::ready(Ok(body)))),
                _ => (segment, read(outputs.clone(), segment, ahead)),
            },
            Ok(Chunk::Ahead(segment, read)) => (segment, read),
        };
        Opening::Begun(Box::pin(async move {
            let body = match read.await {
                Ok(body) => body,
                // Too large to be read ahead, or there was no need to.
                Err(_) => match read_at_once(&outputs, segment) {
                    Some(Ok(body)) => Ok(body),
                    _ => self::read(outputs, segment, Vec::new())
                        .await
                        .map_err(io::Error::other)
                        .flatten(),
                },
            };
            let result = match body {
                Ok(body) => Ok(body),
                Err(error) if error.kind() == io::ErrorKind::NotFound => source
                    .local_block(segment.id())
                    .await
                    .map_err(|_| error.to_string()),
                Err(error) => Err(error.to_string()),
            };
            result.inspect_err(|error| log_failure(peer, &segment, error))
        }))
    }

    fn read_named(&self, peer: Peer, id: BlockId) -> Opening {
        if let Some(block) = self.source.stored_block(&id) {
            return Opening::Begun(logged(peer, id, block));
        }
        let source = self.source.clone();
        Opening::Waiting(Box::new(move || {
            let block = source.local_block(id.clone());
            logged(peer, id, block)
        }))
    }
}

/// A block, or the reason why there is none, which the log has then, too.
fn logged(
    peer: Peer,
    id: BlockId,
    block: Answer<Result<Body, String>>,
) -> Answer<Result<Body, String>> {
    Box::pin(async move {
        let failed = |error: &String| log_failure(peer, &id, error);
        block.await.inspect_err(failed)
    })
}

fn log_failure(peer: Peer, block: &dyn fmt::Display, error: &str) {
    complain(peer.addr.ip(), || {
        tracing::error!(
            "Error opening block {block} for request from {}: {error}",
            peer.addr
        );
    });
}

fn refuse(peer: Peer, reply: Reply, error: &io::Error) {
    complain(peer.addr.ip(), || {
        tracing::error!(
            "Error opening blocks for request from {}: {error}",
            peer.addr
        );
    });
    reply.failure(error.to_string());
}

fn refuse_upload(peer: Peer, reply: Reply, error: String) {
    complain(peer.addr.ip(), || {
        tracing::warn!(
            "Refused an upload from {}: {}",
            peer.addr,
            Printable(&error)
        );
    });
    reply.failure(error);
}

fn not_found(id: &BlockId) -> io::Error {
    let message = format!("org.apache.spark.storage.BlockNotFoundException: Block {id} not found");
    io::Error::new(io::ErrorKind::NotFound, message)
}

impl RequestHandler for Handler {
    fn on_rpc(&self, peer: Peer, body: Bytes, reply: Reply) {
        // What is kept of a small message should not keep the buffer that it arrived in.
        let body = match body.len() {
            len if len <= SMALL as usize && body.first() == Some(&UPLOAD) => {
                Bytes::copy_from_slice(&body)
            }
            _ => body,
        };
        let message = Message::read(&body).map_err(|error| error.to_string());
        let columns = body.ends_with(TAKES_COLUMNS);
        match message.and_then(|message| self.of_this_application(message)) {
            Ok(Message::OpenBlocks { block_ids, .. }) => {
                let blocks = block_ids.iter().map(|name| Block::parse(name)).collect();
                self.open(peer, blocks, reply);
            }
            Ok(Message::FetchShuffleBlocks(fetch)) => {
                self.open(peer, Block::of_fetch(&fetch, columns), reply)
            }
            Ok(Message::UploadBlock {
                block_id,
                metadata,
                block_data,
                ..
            }) => match Upload::new(&block_id, &metadata, body) {
                Ok(upload) => {
                    let result = self.source.upload(upload, block_data);
                    tokio::spawn(async move { answer_with(reply, result.await) });
                }
                Err(error) => refuse_upload(peer, reply, error),
            },
            Ok(Message::GetLocalDirsForExecutors { app_id, exec_ids }) => {
                self.local_dirs(&app_id, &exec_ids, columns, reply)
            }
            Ok(Message::DiagnoseCorruption {
                shuffle_id,
                map_id,
                reduce_id,
                checksum,
                algorithm,
                ..
            }) => {
                let (files, diagnoses) = (self.files.clone(), self.diagnoses.clone());
                tokio::spawn(async move {
                    let _permit = diagnoses.acquire().await;
                    let cause = tokio::task::spawn_blocking(move || {
                        files.diagnose(shuffle_id, map_id, reduce_id, checksum, &algorithm)
                    });
                    match cause.await {
                        Ok(cause) => answer(reply, &Message::CorruptionCause { cause }),
                        Err(error) => reply.failure(error.to_string()),
                    }
                });
            }
            Ok(_) => reply.failure("This block transfer message is not for an executor."),
            Err(error) => {
                complain(peer.addr.ip(), || {
                    tracing::warn!(
                        "Ignored an RPC message of {} bytes from {}: {}",
                        body.len(),
                        peer.addr,
                        Printable(&error)
                    );
                });
                reply.failure(error);
            }
        }
    }

    fn open_chunk(&self, peer: Peer, stream_id: i64, chunk_index: i32) -> Opening {
        self.read(peer, self.streams.take(peer, stream_id, chunk_index))
    }

    /// A chunk as a stream: `<stream id>_<chunk index>`.
    fn open_stream(&self, peer: Peer, stream_id: String) -> Opening {
        let chunk = stream_id
            .split_once('_')
            .and_then(|(id, index)| Some((id.parse().ok()?, index.parse().ok()?)));
        let chunk = match chunk {
            Some((id, index)) => self.streams.take(peer, id, index),
            None => Err(format!(
                "Stream id and chunk index should be specified, not '{}'.",
                Printable(&stream_id)
            )),
        };
        self.read(peer, chunk)
    }

    fn on_upload(&self, peer: Peer, meta: Bytes, data: Stream, reply: Reply) -> Answer<()> {
        // It should not keep the buffer that it arrived in.
        let upload = match Upload::of_stream(Bytes::copy_from_slice(&meta)) {
            Ok(upload) => upload,
            Err(error) => {
                refuse_upload(peer, reply, error);
                return Box::pin(async {});
            }
        };
        let (uploads, source) = (self.uploads.clone(), self.source.clone());
        Box::pin(async move {
            match uploads.spool(data).await {
                Ok(spooled) => {
                    let result = source.upload_stream(upload, spooled.path().to_owned());
                    // Whoever stores the block has the file until it is done, even if the peer goes away.
                    tokio::spawn(async move {
                        let result = result.await;
                        drop(spooled);
                        answer_with(reply, result);
                    });
                }
                Err(error) => {
                    complain(peer.addr.ip(), || {
                        tracing::error!("Cannot take an upload from {}: {error}", peer.addr);
                    });
                    reply.failure(format!("Destination failed while reading stream: {error}"));
                }
            }
        })
    }

    fn on_close(&self, peer: Peer, _error: Option<&str>) {
        self.streams.forget(peer);
    }
}

fn answer(reply: Reply, message: &Message) {
    answer_with(
        reply,
        message
            .write()
            .map(Bytes::from)
            .map_err(|error| error.to_string()),
    );
}

fn answer_with(reply: Reply, result: Result<Bytes, String>) {
    match result {
        Ok(body) => reply.success(body),
        Err(error) => reply.failure(error),
    }
}

/// A segment, if it can be had without waiting for a disk.
fn read_at_once(outputs: &OpenOutputs, segment: Segment) -> Option<Read> {
    match read_segment(outputs, segment, DiskWait::Forbidden) {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => None,
        read => Some(read),
    }
}

/// Reads a segment, and behind it those of `ahead` that are small, on a thread that may wait for disks.
fn read(
    outputs: OpenOutputs,
    segment: Segment,
    ahead: Vec<(Segment, oneshot::Sender<Read>)>,
) -> oneshot::Receiver<Read> {
    let (sender, read) = oneshot::channel();
    tokio::task::spawn_blocking(move || {
        // Nobody waits for the chunks of a connection that is gone.
        let _ = sender.send(read_segment(&outputs, segment, DiskWait::Allowed));
        for (segment, sender) in ahead {
            match read_segment(&outputs, segment, DiskWait::Allowed) {
                Ok(Body::File { .. }) => {}
                result => {
                    let _ = sender.send(result);
                }
            }
        }
    });
    read
}

/// Small segments are read into memory, which is cheaper than to hand their file to the socket.
fn read_segment(outputs: &OpenOutputs, segment: Segment, wait: DiskWait) -> Read {
    match outputs.segment(segment, wait)? {
        Body::File { file, offset, len } if len <= SMALL => {
            let mut bytes = vec![0; len as usize];
            wait.read_exact_at(&file, &mut bytes, offset)?;
            Ok(Body::Bytes(bytes.into()))
        }
        body => Ok(body),
    }
}
