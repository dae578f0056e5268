//! What a native attempt returns.

use wire::map_status::MapStatus;

/// The value of an attempt that finished.
#[derive(Debug, Clone)]
pub enum TaskValue {
    /// What a result task returns, serialized as `spark.serializer` does.
    Result(Vec<u8>),
    /// What a shuffle map task wrote.
    MapStatus(MapStatus),
}
