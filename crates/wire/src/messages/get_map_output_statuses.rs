use super::{java, message};
use crate::WireError;
use bytes::Bytes;
use javaser::types::JavaBytes;
use serde::{Deserialize, Serialize};

/// Asks where the map outputs of a shuffle are. Ask to `MapOutputTracker`; the reply is a `byte[]`, see
/// [`GetMapOutputStatuses::read_reply`] and [`MapOutputs`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    rename = "org.apache.spark.GetMapOutputStatuses",
    rename_all = "camelCase"
)]
pub struct GetMapOutputStatuses {
    /// Which shuffle.
    pub shuffle_id: i32,
}

message!(
    GetMapOutputStatuses,
    "org.apache.spark.GetMapOutputStatuses"
);

/// The two forms of serialized map outputs (`MapOutputTracker.serializeOutputStatuses`): one byte for the form, then
/// a Java object stream in Zstandard frames.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MapOutputs {
    /// 0: the stream holds a `MapStatus[]`.
    Direct(Bytes),
    /// 1: the stream holds a `TorrentBroadcast` whose value is a `byte[][]`; its elements, joined, are the direct form.
    Broadcast(Bytes),
}

impl GetMapOutputStatuses {
    /// The `byte[]` in the answer's object stream.
    ///
    /// # Errors
    /// [`WireError`] if the answer is something else, such as an [`RpcFailure`](super::RpcFailure).
    pub fn read_reply(content: &[u8]) -> Result<Bytes, WireError> {
        java::decode::<JavaBytes>(content, "[B").map(|bytes| Bytes::from(bytes.0))
    }
}

impl MapOutputs {
    /// Tells the forms apart.
    ///
    /// # Errors
    /// [`WireError`] if there is no byte, or one that Spark does not write.
    pub fn read(bytes: &Bytes) -> Result<Self, WireError> {
        match bytes.first() {
            Some(0) => Ok(Self::Direct(bytes.slice(1..))),
            Some(1) => Ok(Self::Broadcast(bytes.slice(1..))),
            other => Err(WireError::malformed(
                "map output statuses",
                format!("their form is {other:?}"),
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms() {
        let read = |bytes: &'static [u8]| MapOutputs::read(&Bytes::from_static(bytes));
        assert_eq!(read(b"\0abc"), Ok(MapOutputs::Direct("abc".into())));
        assert_eq!(read(b"\x01abc"), Ok(MapOutputs::Broadcast("abc".into())));
        assert!(read(b"").is_err());
        assert!(read(b"\x02").is_err());
    }
}
