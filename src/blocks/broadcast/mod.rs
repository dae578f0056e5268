//! Broadcast variables: Spark's `TorrentBroadcast`, as far as executors read it.
//!
//! A value is serialized with `spark.serializer`, compressed if `spark.broadcast.compress`, and cut into pieces of
//! `spark.broadcast.blockSize`. Each piece is a block `broadcast_<id>_piece<k>`, which every executor that has fetched
//! it offers to others.

mod error;
mod torrent;
mod value;

pub use error::BroadcastError;
pub use torrent::{BroadcastReader, Broadcasts, PieceStore};
pub use value::{PythonBroadcastReader, java_byte_array};

use javaser::arena::{Graph, NodeId, Value};
use wire::ids::BlockId;

/// Pieces that a broadcast may have; 4 TiB with pieces of Spark's default size.
const MAX_PIECES: usize = 1 << 20;

/// A `TorrentBroadcast` object: which broadcast it is, without its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TorrentBroadcastRef {
    /// Its id, unique in the application.
    pub id: i64,
    /// Number of pieces.
    pub num_blocks: usize,
    /// Adler-32 of each piece, if `spark.broadcast.checksum`.
    pub checksums: Option<Vec<u32>>,
}

/// Why an object is no usable broadcast.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a TorrentBroadcast: {0}")]
pub struct NotABroadcast(String);

impl TorrentBroadcastRef {
    /// The Java class.
    pub const CLASS: &str = "org.apache.spark.broadcast.TorrentBroadcast";

    /// Reads the object.
    ///
    /// # Errors
    /// It is of another class, or a field that counts is missing or makes no sense.
    pub fn read(graph: &Graph, node: NodeId) -> Result<Self, NotABroadcast> {
        let wrong = |what: String| Err(NotABroadcast(what));
        if !graph.is_instance(node, Self::CLASS) {
            let class = graph.class_name(Value::Ref(node)).unwrap_or("no object");
            return wrong(format!("it is a {class}"));
        }
        let number = |name: &str| graph.field(node, name).and_then(|value| graph.int(value));
        let Some(id) = number("id") else {
            return wrong("it has no id".to_owned());
        };
        let num_blocks = match number("numBlocks").map(usize::try_from) {
            Some(Ok(count)) if count <= MAX_PIECES => count,
            other => return wrong(format!("its numBlocks is {other:?}")),
        };
        let enabled = graph
            .field(node, "checksumEnabled")
            .and_then(|value| graph.bool(value));
        let checksums = match graph.field(node, "checksums") {
            Some(array) if enabled == Some(true) => {
                let sums = graph.array(array).unwrap_or_default();
                let sums: Vec<u32> = sums
                    .into_iter()
                    .filter_map(|sum| match sum {
                        Value::Int(sum) => Some(sum.cast_unsigned()),
                        _ => None,
                    })
                    .collect();
                if sums.len() != num_blocks {
                    return wrong(format!("{} checksums for {num_blocks} blocks", sums.len()));
                }
                Some(sums)
            }
            _ => None,
        };
        Ok(Self {
            id,
            num_blocks,
            checksums,
        })
    }

    /// The block of a piece.
    pub fn piece(&self, index: usize) -> BlockId {
        BlockId::Broadcast {
            broadcast_id: self.id,
            field: format!("piece{index}"),
        }
    }

    /// The block that the value would be.
    pub fn block_id(&self) -> BlockId {
        BlockId::broadcast(self.id)
    }
}

#[cfg(test)]
mod tests;
