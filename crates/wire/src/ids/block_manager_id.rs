use crate::WireError;
use crate::codec::{Reader, Write};
use crate::messages::java::{external, message};
use std::fmt;

/// `org.apache.spark.storage.BlockManagerId`: where an executor's blocks are served.
///
/// Externalizable: `executorId utf | host utf | port i32 | bool [topology utf]`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct BlockManagerId {
    /// The executor, `driver`, `invalid` for a refused re-registration, or empty for an external shuffle service.
    pub executor_id: String,
    /// Host name or address of the block transfer server.
    pub host: String,
    /// Its TCP port.
    pub port: i32,
    /// Rack or zone, filled in by the driver if it has a topology mapper.
    pub topology_info: Option<String>,
}

impl BlockManagerId {
    /// Reads the external form.
    ///
    /// # Errors
    /// [`WireError`] if the bytes end early or a string is not modified UTF-8.
    pub fn read(r: &mut Reader<'_>) -> Result<Self, WireError> {
        let executor_id = r.utf("BlockManagerId.executorId")?;
        let host = r.utf("BlockManagerId.host")?;
        let port = r.i32("BlockManagerId.port")?;
        let topology_info = match r.bool("BlockManagerId.topologyInfo")? {
            true => Some(r.utf("BlockManagerId.topologyInfo")?),
            false => None,
        };
        Ok(Self {
            executor_id,
            host,
            port,
            topology_info,
        })
    }

    /// Appends the external form.
    ///
    /// # Errors
    /// [`WireError::Length`] if a string is longer than `writeUTF` allows.
    pub fn write(&self, out: &mut Vec<u8>) -> Result<(), WireError> {
        out.put_utf("BlockManagerId.executorId", &self.executor_id)?;
        out.put_utf("BlockManagerId.host", &self.host)?;
        out.put_i32(self.port);
        out.put_bool(self.topology_info.is_some());
        if let Some(topology_info) = &self.topology_info {
            out.put_utf("BlockManagerId.topologyInfo", topology_info)?;
        }
        Ok(())
    }
}

external!(
    BlockManagerId,
    "org.apache.spark.storage.BlockManagerId",
    |id| {
        let mut block = Vec::new();
        id.write(&mut block).map(|()| block)
    },
    |block| {
        let mut r = Reader::new(block);
        BlockManagerId::read(&mut r).and_then(|id| r.finish(BlockManagerId::CLASS).map(|()| id))
    }
);

message!(BlockManagerId, "org.apache.spark.storage.BlockManagerId");

/// Spark's own text: `BlockManagerId(0, 127.0.0.1, 42663, None)`.
impl fmt::Display for BlockManagerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            executor_id,
            host,
            port,
            topology_info,
        } = self;
        write!(f, "BlockManagerId({executor_id}, {host}, {port}, ")?;
        match topology_info {
            Some(topology) => write!(f, "Some({topology}))"),
            None => write!(f, "None)"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn golden() {
        // From the reply of a Spark 4.3.0 driver to RegisterBlockManager.
        let bytes = b"\0\x01\x30\0\x09127.0.0.1\0\0\xa6\xa7\0";
        let id = BlockManagerId::read(&mut Reader::new(bytes)).unwrap();
        assert_eq!(id.to_string(), "BlockManagerId(0, 127.0.0.1, 42663, None)");
        let mut out = Vec::new();
        id.write(&mut out).unwrap();
        assert_eq!(out, bytes);
    }

    #[test]
    fn topology_survives() {
        let id = BlockManagerId {
            executor_id: "7".into(),
            host: "h".into(),
            port: -1,
            topology_info: Some("/rack".into()),
        };
        let mut out = Vec::new();
        id.write(&mut out).unwrap();
        assert_eq!(BlockManagerId::read(&mut Reader::new(&out)).unwrap(), id);
        assert_eq!(id.to_string(), "BlockManagerId(7, h, -1, Some(/rack))");
    }
}
