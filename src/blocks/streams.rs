//! Streams of chunks that peers have opened and not yet read to the end (Spark's `OneForOneStreamManager`).

use crate::transport::{Body, Held, Peer};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::fmt;
use std::io;
use tokio::sync::oneshot;
use wire::block_transfer::FetchShuffleBlocks;
use wire::ids::BlockId;

/// Streams that one connection may have open.
const MAX_STREAMS: usize = 1 << 14;
/// Chunks that the open streams of one connection may have.
const MAX_CHUNKS: usize = 1 << 20;

/// Chunks behind a wanted one that are read with it, if they are small.
const AHEAD: usize = 15;
/// Chunks of one connection that may have been read ahead.
const MAX_AHEAD: usize = 256;
/// Chunks of all connections that may have been read ahead.
const MAX_AHEAD_OF_ALL: usize = 4096;

/// A block that was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Block {
    /// A part of a map output.
    Shuffle(Segment),
    /// Any other block.
    Named(Box<BlockId>),
}

/// Reducers `start..end` of one map output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Segment {
    pub(super) shuffle_id: i32,
    pub(super) map_id: i64,
    pub(super) start: i32,
    pub(super) end: i32,
    /// Whether whoever asks takes columns.
    pub(super) columns: bool,
}

impl Segment {
    /// The id of a block of one reducer, or of a batch.
    pub(super) fn id(self) -> BlockId {
        let Self {
            shuffle_id,
            map_id,
            start,
            end,
            ..
        } = self;
        match end == start.saturating_add(1) {
            true => BlockId::Shuffle {
                shuffle_id,
                map_id,
                reduce_id: start,
            },
            false => BlockId::ShuffleBatch {
                shuffle_id,
                map_id,
                start_reduce_id: start,
                end_reduce_id: end,
            },
        }
    }

    fn of_one(shuffle_id: i32, map_id: i64, reduce_id: i32) -> Self {
        Self {
            shuffle_id,
            map_id,
            start: reduce_id,
            end: reduce_id.saturating_add(1),
            columns: false,
        }
    }
}

impl Block {
    /// Bytes that blocks take while they are open.
    pub(super) fn memory_of(blocks: &[Self]) -> usize {
        let boxed = blocks.iter().map(|block| match block {
            Self::Shuffle(_) => 0,
            // Names have at most 255 bytes, and mostly none outside of the id.
            Self::Named(_) => size_of::<BlockId>() + 64,
        });
        size_of_val(blocks) / size_of::<Self>() * size_of::<Slot>() + boxed.sum::<usize>()
    }

    /// The block of that name.
    pub(super) fn parse(name: &str) -> Result<Self, String> {
        Ok(
            match BlockId::parse(name).map_err(|error| error.to_string())? {
                BlockId::Shuffle {
                    shuffle_id,
                    map_id,
                    reduce_id,
                } => Self::Shuffle(Segment::of_one(shuffle_id, map_id, reduce_id)),
                BlockId::ShuffleBatch {
                    shuffle_id,
                    map_id,
                    start_reduce_id,
                    end_reduce_id,
                } => Self::Shuffle(Segment {
                    shuffle_id,
                    map_id,
                    start: start_reduce_id,
                    end: end_reduce_id,
                    columns: false,
                }),
                id => Self::Named(Box::new(id)),
            },
        )
    }

    /// The chunks of a fetch, in their order, for somebody who takes `columns` or not.
    pub(super) fn of_fetch(fetch: &FetchShuffleBlocks, columns: bool) -> Result<Vec<Self>, String> {
        let count: usize = fetch.reduce_ids.iter().map(Vec::len).sum();
        if count > MAX_CHUNKS {
            return Err(format!("{count} blocks are too many for one request."));
        }
        if fetch.map_ids.len() != fetch.reduce_ids.len() {
            return Err("The number of map ids differs from that of reduce id lists.".to_owned());
        }
        let shuffle_id = fetch.shuffle_id;
        let mut blocks = Vec::with_capacity(fetch.map_ids.len());
        for (&map_id, reduce_ids) in fetch.map_ids.iter().zip(&fetch.reduce_ids) {
            match (fetch.batch_fetch_enabled, reduce_ids.as_slice()) {
                (true, &[start, end]) => blocks.push(Self::Shuffle(Segment {
                    shuffle_id,
                    map_id,
                    start,
                    end,
                    columns,
                })),
                (true, _) => {
                    return Err(format!(
                        "Invalid shuffle fetch request when batch mode is enabled: {fetch:?}"
                    ));
                }
                (false, reduce_ids) => blocks.extend(reduce_ids.iter().map(|reduce_id| {
                    Self::Shuffle(Segment {
                        columns,
                        ..Segment::of_one(shuffle_id, map_id, *reduce_id)
                    })
                })),
            }
        }
        Ok(blocks)
    }
}

/// The segment's name.
impl fmt::Display for Segment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.id().fmt(f)
    }
}

/// A segment as it was read.
pub(super) type Read = io::Result<Body>;

/// A chunk that is wanted now.
#[derive(Debug)]
pub(super) enum Chunk {
    /// To be had from the block source.
    Named(BlockId),
    /// To be read. Those behind it should be read with it if that costs little; whoever does not drops their senders.
    Read(Segment, Vec<(Segment, oneshot::Sender<Read>)>),
    /// Being read together with an earlier one. If the sender is dropped it is to be read alone.
    Ahead(Segment, oneshot::Receiver<Read>),
}

/// The open streams of all connections. A stream belongs to the connection that opened it and goes with it.
#[derive(Debug)]
pub(super) struct Streams {
    state: Mutex<OpenStreams>,
}

#[derive(Debug)]
struct OpenStreams {
    next_id: i64,
    /// Chunks that are read before they were asked for.
    ahead: usize,
    connections: HashMap<u64, Connection>,
}

#[derive(Debug, Default)]
struct Connection {
    streams: HashMap<i64, Stream>,
    /// Chunks of all streams, asked for or not.
    chunks: usize,
    /// Chunks that are read before they were asked for.
    ahead: usize,
}

#[derive(Debug)]
struct Stream {
    /// Each chunk can be asked for once, in any order.
    chunks: Vec<Slot>,
    left: usize,
    /// The memory that `chunks` takes, unless it is little.
    _held: Option<Held>,
}

#[derive(Debug)]
enum Slot {
    Waiting(Block),
    Ahead(Segment, oneshot::Receiver<Read>),
    Taken,
}

impl Streams {
    /// `first_id` is the id of the first stream; ids that start at random help to tell executors' logs apart.
    pub(super) fn new(first_id: i64) -> Self {
        Self {
            state: Mutex::new(OpenStreams {
                next_id: first_id,
                ahead: 0,
                connections: HashMap::new(),
            }),
        }
    }

    /// Opens a stream and gives its id and the number of its chunks.
    pub(super) fn register(
        &self,
        peer: Peer,
        blocks: Vec<Block>,
        held: Option<Held>,
    ) -> Result<(i64, i32), String> {
        let mut state = self.state.lock();
        let stream_id = state.next_id;
        let connection = state.connections.entry(peer.connection).or_default();
        let chunks = connection.chunks.saturating_add(blocks.len());
        if chunks > MAX_CHUNKS || connection.streams.len() >= MAX_STREAMS {
            return Err(format!(
                "The connection already has {} streams with {} chunks open.",
                connection.streams.len(),
                connection.chunks
            ));
        }
        let count = blocks.len();
        // A stream without chunks has been read to its end.
        if count > 0 {
            connection.chunks = chunks;
            let chunks = blocks.into_iter().map(Slot::Waiting).collect();
            connection.streams.insert(
                stream_id,
                Stream {
                    chunks,
                    left: count,
                    _held: held,
                },
            );
        }
        state.next_id = stream_id.wrapping_add(1);
        // Bounded by MAX_CHUNKS.
        Ok((stream_id, count as i32))
    }

    /// The block of a chunk. A stream is closed when its last chunk is taken.
    pub(super) fn take(
        &self,
        peer: Peer,
        stream_id: i64,
        chunk_index: i32,
    ) -> Result<Chunk, String> {
        let closed =
            || format!("Requested chunk not available since streamId {stream_id} is closed");
        let state = &mut *self.state.lock();
        let connection = state
            .connections
            .get_mut(&peer.connection)
            .ok_or_else(closed)?;
        let stream = connection.streams.get_mut(&stream_id).ok_or_else(closed)?;
        let index = usize::try_from(chunk_index).unwrap_or(usize::MAX);
        let slot = stream.chunks.get_mut(index);
        let slot = slot.ok_or_else(|| format!("Requested chunk index beyond end {chunk_index}"))?;
        let chunk = match std::mem::replace(slot, Slot::Taken) {
            Slot::Waiting(Block::Named(id)) => Chunk::Named(*id),
            Slot::Waiting(Block::Shuffle(segment)) => {
                let count = AHEAD
                    .min(MAX_AHEAD.saturating_sub(connection.ahead))
                    .min(MAX_AHEAD_OF_ALL.saturating_sub(state.ahead));
                let ahead = stream.read_ahead(index + 1, count);
                connection.ahead += ahead.len();
                state.ahead += ahead.len();
                Chunk::Read(segment, ahead)
            }
            Slot::Ahead(segment, read) => {
                connection.ahead -= 1;
                state.ahead -= 1;
                Chunk::Ahead(segment, read)
            }
            Slot::Taken => return Err(format!("Chunk {chunk_index} was requested before")),
        };
        stream.left -= 1;
        if stream.left == 0 {
            connection.chunks -= stream.chunks.len();
            connection.streams.remove(&stream_id);
        }
        Ok(chunk)
    }

    /// Closes the streams of a connection.
    pub(super) fn forget(&self, peer: Peer) {
        let mut state = self.state.lock();
        if let Some(connection) = state.connections.remove(&peer.connection) {
            state.ahead -= connection.ahead;
        }
    }
}

impl Stream {
    /// Marks up to `count` segments from chunk `from` on as being read, up to the first that is something else.
    fn read_ahead(&mut self, from: usize, count: usize) -> Vec<(Segment, oneshot::Sender<Read>)> {
        let mut segments = Vec::new();
        for slot in self.chunks.iter_mut().skip(from).take(count) {
            let Slot::Waiting(Block::Shuffle(segment)) = *slot else {
                break;
            };
            let (sender, read) = oneshot::channel();
            *slot = Slot::Ahead(segment, read);
            segments.push((segment, sender));
        }
        segments
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(connection: u64) -> Peer {
        Peer {
            connection,
            addr: ([127, 0, 0, 1], 1).into(),
        }
    }

    fn named(names: &[&str]) -> Vec<Block> {
        names
            .iter()
            .map(|name| Block::parse(name).unwrap())
            .collect()
    }

    /// What was taken, in short.
    fn take(
        streams: &Streams,
        peer: Peer,
        stream_id: i64,
        chunk_index: i32,
    ) -> Result<String, String> {
        streams
            .take(peer, stream_id, chunk_index)
            .map(|chunk| match chunk {
                Chunk::Named(id) => id.to_string(),
                Chunk::Read(segment, ahead) => format!("{segment} and {}", ahead.len()),
                Chunk::Ahead(segment, _) => format!("{segment} ahead"),
            })
    }

    #[test]
    fn chunks_are_taken_once_and_in_any_order() {
        let streams = Streams::new(5000);
        let (id, count) = streams
            .register(
                peer(1),
                named(&["rdd_1_1", "shuffle_1_2_3", "broadcast_1"]),
                None,
            )
            .unwrap();
        assert_eq!((id, count), (5000, 3));
        let taken = |connection, index| take(&streams, peer(connection), id, index);
        assert_eq!(taken(1, 2), Ok("broadcast_1".into()));
        assert_eq!(taken(1, 2).unwrap_err(), "Chunk 2 was requested before");
        assert_eq!(
            taken(1, 3).unwrap_err(),
            "Requested chunk index beyond end 3"
        );
        assert_eq!(
            taken(1, -1).unwrap_err(),
            "Requested chunk index beyond end -1"
        );
        let closed = format!("Requested chunk not available since streamId {id} is closed");
        assert_eq!(
            taken(2, 0),
            Err(closed.clone()),
            "another connection's stream"
        );
        assert_eq!(taken(1, 0), Ok("rdd_1_1".into()));
        assert_eq!(taken(1, 1), Ok("shuffle_1_2_3 and 0".into()));
        assert_eq!(taken(1, 1), Err(closed));
        assert_eq!(streams.register(peer(1), vec![], None), Ok((5001, 0)));
        let (id, _) = streams
            .register(peer(1), named(&["rdd_1_1"]), None)
            .unwrap();
        streams.forget(peer(1));
        assert!(
            take(&streams, peer(1), id, 0)
                .unwrap_err()
                .ends_with("is closed")
        );
        assert!(streams.state.lock().connections.is_empty());
    }

    #[test]
    fn segments_behind_a_wanted_one_are_read_ahead_up_to_a_limit() {
        let streams = Streams::new(0);
        let segments: Vec<_> = (0..40)
            .map(|reducer| Block::parse(&format!("shuffle_1_2_{reducer}")).unwrap())
            .collect();
        let mut blocks = segments.clone();
        blocks.insert(20, Block::parse("rdd_1_1").unwrap());
        let (id, _) = streams.register(peer(1), blocks, None).unwrap();
        assert_eq!(
            take(&streams, peer(1), id, 0),
            Ok("shuffle_1_2_0 and 15".into())
        );
        assert_eq!(
            take(&streams, peer(1), id, 5),
            Ok("shuffle_1_2_5 ahead".into())
        );
        assert_eq!(
            take(&streams, peer(1), id, 16),
            Ok("shuffle_1_2_16 and 3".into())
        );
        assert_eq!(streams.state.lock().connections[&1].ahead, 17);
        let mut last = String::new();
        for _ in 0..20 {
            let (id, _) = streams.register(peer(1), segments.clone(), None).unwrap();
            last = take(&streams, peer(1), id, 0).unwrap();
        }
        assert_eq!(
            last, "shuffle_1_2_0 and 0",
            "too much is read ahead already"
        );
        assert_eq!(streams.state.lock().connections[&1].ahead, MAX_AHEAD);
    }

    #[test]
    fn a_connection_cannot_open_streams_without_end() {
        let streams = Streams::new(0);
        for _ in 0..MAX_STREAMS {
            streams
                .register(peer(1), named(&["rdd_1_1"]), None)
                .unwrap();
        }
        let error = streams
            .register(peer(1), named(&["rdd_1_1"]), None)
            .unwrap_err();
        assert_eq!(
            error,
            "The connection already has 16384 streams with 16384 chunks open."
        );
        assert!(streams.register(peer(2), named(&["rdd_1_1"]), None).is_ok());
        streams.take(peer(1), 0, 0).unwrap();
        assert!(streams.register(peer(1), named(&["rdd_1_1"]), None).is_ok());
        assert!(
            streams
                .register(
                    peer(3),
                    vec![Block::parse("rdd_1_1").unwrap(); MAX_CHUNKS + 1],
                    None
                )
                .is_err()
        );
    }

    #[test]
    fn a_fetch_names_its_chunks_in_order() {
        let mut fetch = FetchShuffleBlocks {
            app_id: "a".into(),
            exec_id: "1".into(),
            shuffle_id: 9,
            map_ids: vec![5, 6],
            reduce_ids: vec![vec![0, 3], vec![1]],
            batch_fetch_enabled: false,
        };
        let names = |fetch: &FetchShuffleBlocks| {
            let name = |block| match block {
                Block::Shuffle(segment) => segment.to_string(),
                Block::Named(id) => id.to_string(),
            };
            Block::of_fetch(fetch, false)
                .map(|blocks| blocks.into_iter().map(name).collect::<Vec<_>>())
        };
        assert_eq!(
            names(&fetch).unwrap(),
            ["shuffle_9_5_0", "shuffle_9_5_3", "shuffle_9_6_1"]
        );
        fetch.batch_fetch_enabled = true;
        assert!(
            names(&fetch)
                .unwrap_err()
                .starts_with("Invalid shuffle fetch request when batch mode is enabled")
        );
        fetch.reduce_ids[1].push(7);
        assert_eq!(
            names(&fetch).unwrap(),
            ["shuffle_9_5_0_3", "shuffle_9_6_1_7"]
        );
        fetch.map_ids.push(1);
        assert!(names(&fetch).is_err());
    }
}
