//! Streams of chunks that peers have opened and not yet read to the end (Spark's `OneForOneStreamManager`).

use crate::transport::Peer;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::fmt;
use wire::block_transfer::FetchShuffleBlocks;
use wire::ids::BlockId;

/// Streams that one connection may have open.
const MAX_STREAMS: usize = 1 << 14;
/// Chunks that the open streams of one connection may have.
const MAX_CHUNKS: usize = 1 << 20;

/// A block that was asked for; nothing of it is read before its chunk is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Block {
    /// Reducers `start..end` of one map output.
    Shuffle {
        shuffle_id: i32,
        map_id: i64,
        start: i32,
        end: i32,
    },
    /// Any other block.
    Named(String),
}

impl Block {
    /// The block of that name.
    pub(super) fn parse(name: String) -> Self {
        match BlockId::parse(&name) {
            BlockId::Shuffle {
                shuffle_id,
                map_id,
                reduce_id,
            } => Self::Shuffle {
                shuffle_id,
                map_id,
                start: reduce_id,
                end: reduce_id.saturating_add(1),
            },
            BlockId::ShuffleBatch {
                shuffle_id,
                map_id,
                start_reduce_id,
                end_reduce_id,
            } => Self::Shuffle {
                shuffle_id,
                map_id,
                start: start_reduce_id,
                end: end_reduce_id,
            },
            _ => Self::Named(name),
        }
    }

    /// The chunks of a fetch, in their order.
    pub(super) fn of_fetch(fetch: &FetchShuffleBlocks) -> Result<Vec<Self>, String> {
        if fetch.map_ids.len() != fetch.reduce_ids.len() {
            return Err("The number of map ids differs from that of reduce id lists.".to_owned());
        }
        let shuffle_id = fetch.shuffle_id;
        let mut blocks = Vec::with_capacity(fetch.map_ids.len());
        for (map_id, reduce_ids) in fetch.map_ids.iter().zip(&fetch.reduce_ids) {
            let map_id = *map_id;
            match (fetch.batch_fetch_enabled, reduce_ids.as_slice()) {
                (true, &[start, end]) => blocks.push(Self::Shuffle {
                    shuffle_id,
                    map_id,
                    start,
                    end,
                }),
                (true, _) => {
                    return Err(format!(
                        "Invalid shuffle fetch request when batch mode is enabled: {fetch:?}"
                    ));
                }
                (false, reduce_ids) => {
                    blocks.extend(reduce_ids.iter().map(|reduce_id| Self::Shuffle {
                        shuffle_id,
                        map_id,
                        start: *reduce_id,
                        end: reduce_id.saturating_add(1),
                    }))
                }
            }
        }
        Ok(blocks)
    }
}

/// The block's name.
impl fmt::Display for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shuffle {
                shuffle_id,
                map_id,
                start,
                end,
            } if *end == start.saturating_add(1) => {
                write!(f, "shuffle_{shuffle_id}_{map_id}_{start}")
            }
            Self::Shuffle {
                shuffle_id,
                map_id,
                start,
                end,
            } => {
                write!(f, "shuffle_{shuffle_id}_{map_id}_{start}_{end}")
            }
            Self::Named(name) => f.write_str(name),
        }
    }
}

/// The open streams of all connections. A stream belongs to the connection that opened it and goes with it.
#[derive(Debug)]
pub(super) struct Streams {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    next_id: i64,
    connections: HashMap<u64, Connection>,
}

#[derive(Debug, Default)]
struct Connection {
    streams: HashMap<i64, Stream>,
    /// Chunks of all streams, asked for or not.
    chunks: usize,
}

#[derive(Debug)]
struct Stream {
    /// Each chunk can be asked for once, in any order.
    chunks: Vec<Option<Block>>,
    left: usize,
}

impl Streams {
    /// `first_id` is the id of the first stream; ids that start at random help to tell executors' logs apart.
    pub(super) fn new(first_id: i64) -> Self {
        Self {
            state: Mutex::new(State {
                next_id: first_id,
                connections: HashMap::new(),
            }),
        }
    }

    /// Opens a stream and gives its id and the number of its chunks.
    pub(super) fn register(&self, peer: Peer, blocks: Vec<Block>) -> Result<(i64, i32), String> {
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
            let chunks = blocks.into_iter().map(Some).collect();
            connection.streams.insert(
                stream_id,
                Stream {
                    chunks,
                    left: count,
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
    ) -> Result<Block, String> {
        let mut state = self.state.lock();
        let connection = state.connections.get_mut(&peer.connection);
        let Some((connection, stream)) = connection.and_then(|connection| {
            let Connection { streams, chunks } = connection;
            Some((chunks, streams.get_mut(&stream_id)?))
        }) else {
            return Err(format!(
                "Requested chunk not available since streamId {stream_id} is closed"
            ));
        };
        let chunk = usize::try_from(chunk_index)
            .ok()
            .and_then(|index| stream.chunks.get_mut(index));
        let chunk =
            chunk.ok_or_else(|| format!("Requested chunk index beyond end {chunk_index}"))?;
        let block = chunk
            .take()
            .ok_or_else(|| format!("Chunk {chunk_index} was requested before"))?;
        stream.left -= 1;
        if stream.left == 0 {
            *connection -= stream.chunks.len();
            if let Some(connection) = state.connections.get_mut(&peer.connection) {
                connection.streams.remove(&stream_id);
            }
        }
        Ok(block)
    }

    /// Closes the streams of a connection.
    pub(super) fn forget(&self, peer: Peer) {
        self.state.lock().connections.remove(&peer.connection);
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
            .map(|name| Block::parse((*name).to_owned()))
            .collect()
    }

    #[test]
    fn chunks_are_taken_once_and_in_any_order() {
        let streams = Streams::new(5000);
        let (id, count) = streams
            .register(peer(1), named(&["rdd_1_1", "shuffle_1_2_3", "broadcast_1"]))
            .unwrap();
        assert_eq!((id, count), (5000, 3));
        assert_eq!(
            streams.take(peer(1), id, 2),
            Ok(Block::Named("broadcast_1".into()))
        );
        assert_eq!(
            streams.take(peer(1), id, 2).unwrap_err(),
            "Chunk 2 was requested before"
        );
        assert_eq!(
            streams.take(peer(1), id, 3).unwrap_err(),
            "Requested chunk index beyond end 3"
        );
        assert_eq!(
            streams.take(peer(1), id, -1).unwrap_err(),
            "Requested chunk index beyond end -1"
        );
        let closed = format!("Requested chunk not available since streamId {id} is closed");
        assert_eq!(
            streams.take(peer(2), id, 0),
            Err(closed.clone()),
            "another connection's stream"
        );
        assert_eq!(
            streams.take(peer(1), id, 0),
            Ok(Block::Named("rdd_1_1".into()))
        );
        assert_eq!(
            streams.take(peer(1), id, 1),
            Ok(Block::Shuffle {
                shuffle_id: 1,
                map_id: 2,
                start: 3,
                end: 4
            })
        );
        assert_eq!(streams.take(peer(1), id, 1), Err(closed));
        assert_eq!(streams.register(peer(1), vec![]), Ok((5001, 0)));
        let (id, _) = streams.register(peer(1), named(&["x"])).unwrap();
        streams.forget(peer(1));
        assert!(
            streams
                .take(peer(1), id, 0)
                .unwrap_err()
                .ends_with("is closed")
        );
        assert!(streams.state.lock().connections.is_empty());
    }

    #[test]
    fn a_connection_cannot_open_streams_without_end() {
        let streams = Streams::new(0);
        for _ in 0..MAX_STREAMS {
            streams.register(peer(1), named(&["x"])).unwrap();
        }
        let error = streams.register(peer(1), named(&["x"])).unwrap_err();
        assert_eq!(
            error,
            "The connection already has 16384 streams with 16384 chunks open."
        );
        assert!(streams.register(peer(2), named(&["x"])).is_ok());
        streams.take(peer(1), 0, 0).unwrap();
        assert!(streams.register(peer(1), named(&["x"])).is_ok());
        assert!(
            streams
                .register(peer(3), vec![Block::Named(String::new()); MAX_CHUNKS + 1])
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
            Block::of_fetch(fetch)
                .map(|blocks| blocks.iter().map(Block::to_string).collect::<Vec<_>>())
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
