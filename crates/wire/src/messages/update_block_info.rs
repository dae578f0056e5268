use super::java;
use crate::codec::{Reader, Write};
use crate::ids::{BlockId, BlockManagerId, StorageLevel};
use crate::{WireError, WireVersion};
use javaser::Catalog;
use javaser::types::Body;
use serde::{Deserialize, Serialize};

/// Says that a block was stored or removed. Ask to `BlockManagerMaster`; the reply is a Boolean,
/// false if the driver does not know the block manager.
///
/// Externalizable: `BlockManagerId | block name utf | StorageLevel | memSize i64 | diskSize i64`, from
/// Spark 4.3 followed by `bool [checksum i64]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpdateBlockInfo {
    /// Who has or had it.
    pub block_manager_id: BlockManagerId,
    /// Which.
    pub block_id: BlockId,
    /// Where it is; replication 0 says that it was removed.
    pub storage_level: StorageLevel,
    /// Bytes in memory.
    pub mem_size: i64,
    /// Bytes on disk.
    pub disk_size: i64,
    /// Checksum of its content (from Spark 4.3, if `spark.storage.rddBlockChecksum.enabled`).
    pub checksum: Option<i64>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename = "org.apache.spark.storage.BlockManagerMessages$UpdateBlockInfo")]
struct Java {
    #[serde(rename = "$body")]
    body: Body,
}

impl UpdateBlockInfo {
    /// The Java class.
    pub const CLASS: &str = "org.apache.spark.storage.BlockManagerMessages$UpdateBlockInfo";

    /// The Java object stream, with the class descriptors of this distribution, whose version is
    /// given.
    ///
    /// # Errors
    /// [`WireError::Unsupported`] if the distribution's class does not fit; [`WireError::Unwritable`] for a
    /// checksum in a version that has no place for it.
    pub fn encode(&self, catalog: &Catalog, version: &WireVersion) -> Result<Vec<u8>, WireError> {
        let mut block = Vec::new();
        self.block_manager_id.write(&mut block)?;
        block.put_utf("UpdateBlockInfo.blockId", &self.block_id.to_string())?;
        self.storage_level.write(&mut block);
        block.put_i64(self.mem_size);
        block.put_i64(self.disk_size);
        if version.block_info_checksum {
            block.put_bool(self.checksum.is_some());
            if let Some(checksum) = self.checksum {
                block.put_i64(checksum);
            }
        } else if self.checksum.is_some() {
            return Err(WireError::Unwritable {
                what: "UpdateBlockInfo.checksum",
                why: format!("Spark {} has no place for it", version.spark_version),
            });
        }
        java::encode(
            &Java {
                body: Body::new().bytes(&block),
            },
            Self::CLASS,
            catalog,
        )
    }

    /// Reads a Java object stream; whether there is a checksum is seen from its length.
    ///
    /// # Errors
    /// [`WireError`] if the stream is damaged or holds another class.
    pub fn decode(content: &[u8]) -> Result<Self, WireError> {
        let java: Java = java::decode(content, Self::CLASS)?;
        let block = java::block_of(&java.body, "UpdateBlockInfo")?;
        let mut r = Reader::new(&block);
        let update = Self {
            block_manager_id: BlockManagerId::read(&mut r)?,
            block_id: BlockId::parse(&r.utf("UpdateBlockInfo.blockId")?)
                .map_err(|error| WireError::malformed("UpdateBlockInfo.blockId", error))?,
            storage_level: StorageLevel::read(&mut r)?,
            mem_size: r.i64("UpdateBlockInfo.memSize")?,
            disk_size: r.i64("UpdateBlockInfo.diskSize")?,
            checksum: match r.remaining() > 0 && r.bool("UpdateBlockInfo.checksum")? {
                true => Some(r.i64("UpdateBlockInfo.checksum")?),
                false => None,
            },
        };
        r.finish("UpdateBlockInfo")?;
        Ok(update)
    }
}
