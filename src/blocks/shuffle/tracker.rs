//! Where map outputs are: the executor's side of Spark's `MapOutputTracker`.

use super::error::{FetchFailure, ShuffleError};
use crate::blocks::BlockEnv;
use crate::blocks::codec::Codec;
use crate::blocks::kryo::{self, KryoReader};
use crate::config::{SettingError, declared};
use bytes::Bytes;
use javaser::arena::{Graph, NodeId};
use javaser::kryo::KryoForm;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use tokio::sync::OnceCell;
use wire::map_status::MapStatus;
use wire::messages::{GetMapOutputStatuses, MapOutputs, RpcFailure};

/// The driver's endpoint.
const ENDPOINT: &str = "MapOutputTracker";
/// How Java object streams begin.
const JAVA_STREAM: [u8; 2] = [0xac, 0xed];

/// Statuses by map partition; `None` where the driver knows of no output.
pub type MapStatuses = Arc<[Option<MapStatus>]>;

/// Reads broadcasts of the driver.
pub trait BroadcastValues: Send + Sync {
    /// The value of a `TorrentBroadcast` object, as the Java object stream that it was serialized to, uncompressed.
    fn value<'a>(
        &'a self,
        graph: &'a Graph,
        broadcast: NodeId,
    ) -> Pin<Box<dyn Future<Output = Result<Bytes, String>> + Send + 'a>>;
}

/// Asks the driver once per shuffle and epoch, whoever wants to know.
pub struct MapOutputTracker {
    env: Arc<BlockEnv>,
    broadcasts: Arc<dyn BroadcastValues>,
    codec: Codec,
    /// Set if `spark.serializer` is Kryo.
    kryo: Option<KryoForm>,
    known: Mutex<Outputs>,
}

#[derive(Default)]
struct Outputs {
    epoch: i64,
    shuffles: HashMap<i32, Arc<OnceCell<MapStatuses>>>,
}

impl std::fmt::Debug for MapOutputTracker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let known = self.known.lock();
        f.debug_struct("MapOutputTracker")
            .field("epoch", &known.epoch)
            .field("shuffles", &known.shuffles.len())
            .finish()
    }
}

impl MapOutputTracker {
    /// Asks the driver of `env`; large answers come through `broadcasts`.
    ///
    /// # Errors
    /// `spark.shuffle.mapStatus.compression.codec` is wrong.
    pub fn new(
        env: Arc<BlockEnv>,
        broadcasts: Arc<dyn BroadcastValues>,
    ) -> Result<Self, SettingError> {
        let kryo = kryo::form_of_serializer(&env.properties)?;
        Ok(Self {
            codec: Codec::of(&declared::MAP_STATUS_CODEC, &env.properties)?,
            env,
            broadcasts,
            kryo,
            known: Mutex::default(),
        })
    }

    /// Forgets everything if a task comes with a later epoch: outputs have been lost since.
    pub fn update_epoch(&self, epoch: i64) {
        let mut known = self.known.lock();
        if epoch > known.epoch {
            tracing::info!("Updating epoch to {epoch} and clearing cache");
            known.epoch = epoch;
            known.shuffles.clear();
        }
    }

    /// Forgets a shuffle that the driver removes.
    pub fn unregister_shuffle(&self, shuffle_id: i32) {
        self.known.lock().shuffles.remove(&shuffle_id);
    }

    /// Knows the statuses of a shuffle without asking.
    #[cfg(test)]
    pub(super) fn put(&self, shuffle_id: i32, statuses: Vec<Option<MapStatus>>) {
        let cell = Arc::new(OnceCell::new_with(Some(statuses.into())));
        self.known.lock().shuffles.insert(shuffle_id, cell);
    }

    /// Forgets everything, after something that was known turned out wrong.
    pub(super) fn clear(&self) {
        self.known.lock().shuffles.clear();
    }

    /// Statuses of all maps of a shuffle.
    ///
    /// # Errors
    /// The driver does not answer ([`ShuffleError::Spark`]), or its broadcast cannot be read.
    pub async fn statuses(&self, shuffle_id: i32) -> Result<MapStatuses, ShuffleError> {
        let cell = Arc::clone(self.known.lock().shuffles.entry(shuffle_id).or_default());
        let statuses = cell.get_or_try_init(|| self.ask(shuffle_id)).await?;
        Ok(Arc::clone(statuses))
    }

    async fn ask(&self, shuffle_id: i32) -> Result<MapStatuses, ShuffleError> {
        tracing::info!("Don't have map outputs for shuffle {shuffle_id}, fetching them");
        let no_answer = |error: &dyn std::fmt::Display| {
            tracing::error!("Error communicating with MapOutputTracker: {error}");
            ShuffleError::Spark(format!(
                "Error communicating with MapOutputTracker: {error}"
            ))
        };
        let message = GetMapOutputStatuses { shuffle_id };
        let message = message
            .encode(&self.env.catalog)
            .map_err(|error| no_answer(&error))?;
        let reply = self
            .env
            .driver
            .ask(ENDPOINT, message.into(), self.env.ask_timeout)
            .await
            .map_err(|error| no_answer(&error))?;
        let reply = GetMapOutputStatuses::read_reply(&reply).map_err(|error| {
            match RpcFailure::decode(&reply) {
                Ok(failure) => no_answer(&failure.error),
                Err(_) => no_answer(&error),
            }
        })?;
        let statuses = self.read(shuffle_id, &reply).await?;
        tracing::info!(
            "Got the map output locations of shuffle {shuffle_id}: {} bytes for {} maps",
            reply.len(),
            statuses.len()
        );
        Ok(statuses.into())
    }

    async fn read(
        &self,
        shuffle_id: i32,
        bytes: &Bytes,
    ) -> Result<Vec<Option<MapStatus>>, ShuffleError> {
        let damaged = |error: &dyn std::fmt::Display| {
            ShuffleError::Spark(format!(
                "Unable to deserialize map statuses for shuffle {shuffle_id}: {error}"
            ))
        };
        let form = MapOutputs::read(bytes).map_err(|error| damaged(&error))?;
        let direct = match form {
            MapOutputs::Direct(packed) => packed,
            MapOutputs::Broadcast(packed) => {
                let stream = self.unpack(&packed).map_err(|error| damaged(&error))?;
                let value = self.broadcast(&stream).await.map_err(|error| {
                    let why = format!(
                        "Unable to deserialize broadcasted map statuses for shuffle {shuffle_id}: {error}"
                    );
                    ShuffleError::from(FetchFailure::metadata(shuffle_id, -1, &why))
                })?;
                let joined = match self.kryo {
                    Some(kryo) => KryoReader::new(kryo, &value[..], value.len())
                        .read_byte_arrays()
                        .map(|chunks| chunks.concat().into())
                        .map_err(|error| damaged(&error))?,
                    None if !value.starts_with(&JAVA_STREAM) => {
                        let why = "map output statuses in a broadcast of another serializer";
                        return Err(ShuffleError::Unsupported(why.to_owned()));
                    }
                    None => {
                        join_chunks(&value, &self.env.limits).map_err(|error| damaged(&error))?
                    }
                };
                match MapOutputs::read(&joined).map_err(|error| damaged(&error))? {
                    MapOutputs::Direct(packed) => packed,
                    MapOutputs::Broadcast(_) => {
                        return Err(damaged(&"a broadcast inside a broadcast"));
                    }
                }
            }
        };
        let stream = self.unpack(&direct).map_err(|error| damaged(&error))?;
        MapStatus::decode_array(&stream, &self.env.limits).map_err(|error| damaged(&error))
    }

    fn unpack(&self, packed: &[u8]) -> std::io::Result<Vec<u8>> {
        self.codec.decompress(packed, self.env.limits.max_total)
    }

    /// The value of the `TorrentBroadcast` in `stream`.
    async fn broadcast(&self, stream: &[u8]) -> Result<Bytes, String> {
        let graph = Graph::parse(stream, &self.env.limits).map_err(|error| error.to_string())?;
        let broadcast = graph.root().and_then(|root| root.node());
        let broadcast = broadcast.ok_or("there is no broadcast")?;
        self.broadcasts.value(&graph, broadcast).await
    }
}

/// Joins the elements of a serialized `byte[][]`.
pub(in crate::blocks) fn join_chunks(
    stream: &[u8],
    limits: &javaser::Limits,
) -> Result<Bytes, String> {
    let (graph, _) = Graph::parse_first(stream, limits).map_err(|error| error.to_string())?;
    let chunks = graph.root().and_then(|root| graph.array(root));
    let chunks = chunks.ok_or("the broadcast value is no array")?;
    let mut joined = Vec::new();
    for chunk in chunks {
        let chunk = graph.byte_array(chunk);
        let chunk = chunk.ok_or("the broadcast value is no byte[][]")?;
        // A chunk that is referred to again and again would be more than was sent.
        if joined.len() + chunk.len() > stream.len() {
            return Err("the chunks of the broadcast value repeat".to_owned());
        }
        joined.extend_from_slice(chunk);
    }
    Ok(joined.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_of_a_broadcast_are_joined() {
        let stream = b"\xac\xed\0\x05ur\0\x03[[BK\xfd\x19\x15gg\xdb7\x02\0\0xp\0\0\0\x02ur\0\x02[B\xac\xf3\x17\xf8\x06\x08T\xe0\x02\0\0xp\0\0\0\x02abuq\0~\0\x02\0\0\0\x01c";
        let limits = javaser::Limits::default();
        assert_eq!(join_chunks(stream, &limits).unwrap(), "abc");
        assert!(join_chunks(b"\xac\xed\0\x05t\0\x01x", &limits).is_err());
        // The second chunk is the first one again, and so are a hundred more.
        let mut again = stream[..24].to_vec();
        again.extend_from_slice(&102_i32.to_be_bytes());
        again.extend_from_slice(&stream[28..47]);
        again.extend_from_slice(&100_i32.to_be_bytes());
        again.extend_from_slice(&[b'a'; 100]);
        again.extend_from_slice(&b"q\0~\0\x03".repeat(101));
        let refused = join_chunks(&again, &limits).unwrap_err();
        assert!(refused.contains("repeat"), "{refused}");
        assert!(join_chunks(b"", &limits).is_err());
    }

    /// The reply in a frame that a driver sent, for four maps and three reducers.
    fn captured_reply(version: &str) -> Bytes {
        let text = testkit::recorded_frames(version);
        let mut frames = text
            .lines()
            .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
        let frame = frames
            .find(|frame| frame["reply_to"] == "org.apache.spark.GetMapOutputStatuses")
            .unwrap();
        let bytes = testkit::from_hex(frame["hex"].as_str().unwrap());
        let mut bytes = bytes::BytesMut::from(&bytes[..]);
        match wire::frame::Frame::decode(&mut bytes, 1 << 20).unwrap() {
            Some(wire::frame::Frame::RpcResponse { body, .. }) => body,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn replies_of_real_drivers() {
        let properties = crate::config::SparkProperties::default();
        let codec = Codec::of(&declared::MAP_STATUS_CODEC, &properties).unwrap();
        for version in testkit::VERSIONS {
            let reply = GetMapOutputStatuses::read_reply(&captured_reply(version)).unwrap();
            let MapOutputs::Direct(packed) = MapOutputs::read(&reply).unwrap() else {
                panic!("{version}")
            };
            let stream = codec.decompress(&packed, 1 << 20).unwrap();
            let statuses = MapStatus::decode_array(&stream, &javaser::Limits::default()).unwrap();
            let statuses: Vec<_> = statuses.into_iter().map(Option::unwrap).collect();
            let ids: Vec<_> = statuses.iter().map(MapStatus::map_id).collect();
            assert_eq!(ids, [6, 7, 8, 9], "{version}");
            for status in &statuses {
                assert_eq!(status.location().host, "127.0.0.1");
                let sizes = [0, 1, 2, 3].map(|reducer| status.size_for_block(reducer));
                assert_eq!(sizes, [54, 54, 54, 0], "{version}");
            }
        }
    }
}
