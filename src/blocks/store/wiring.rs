//! The stores' connections to the rest of the block plane.

use std::io::{self, Read, Write};
use std::sync::Arc;

use bytes::Bytes;
use wire::ids::{BlockId, BlockManagerId, StorageLevel};
use wire::messages::BlockStatus;

use super::manager::{BlockManager, Parts};
use super::ports::{BlockLocations, FinishWrite, Master, Peers, RemoteBlock, Streams};
use super::settings::StoreSettings;
use crate::blocks::BlockEnv;
use crate::blocks::broadcast::PieceStore;
use crate::blocks::fetch::BlockFetcher;
use crate::blocks::master::BlockManagerMaster;
use crate::blocks::serializer_manager::{PlainWriter, SerializerManager};
use crate::config::SettingError;
use crate::transport::{Answer, Body};

impl BlockManager {
    /// The manager of an executor. `max_memory` is what its blocks may take in memory, in bytes.
    ///
    /// # Errors
    /// A setting that cannot be understood.
    pub fn of_executor(
        env: &Arc<BlockEnv>,
        fetcher: Arc<BlockFetcher>,
        serializer_manager: Arc<SerializerManager>,
        max_memory: u64,
    ) -> Result<Self, SettingError> {
        Ok(Self::new(Parts {
            block_manager_id: env.block_manager_id.clone(),
            local_dirs: env.local_dirs.clone(),
            runtime: env.runtime.clone(),
            master: Arc::new(BlockManagerMaster::new(env.clone())),
            peers: Arc::new(Fetcher(fetcher)),
            catalog: env.catalog.clone(),
            streams: Arc::new(Serializers(serializer_manager)),
            settings: StoreSettings::from_conf(&env.properties)?,
            max_memory,
        }))
    }
}

impl Master for BlockManagerMaster {
    fn update_block_info(
        &self,
        id: &BlockId,
        status: BlockStatus,
        checksum: Option<i64>,
    ) -> Answer<Result<bool, String>> {
        let (master, id) = (self.clone(), id.clone());
        Box::pin(async move {
            let told = Self::update_block_info(&master, &id, status, checksum).await;
            told.map_err(|error| error.to_string())
        })
    }

    fn get_locations_and_status(
        &self,
        id: &BlockId,
    ) -> Answer<Result<Option<BlockLocations>, String>> {
        let (master, id) = (self.clone(), id.clone());
        Box::pin(async move {
            let found = Self::get_locations_and_status(&master, &id).await;
            let found = found.map_err(|error| error.to_string())?;
            Ok(found.map(|found| BlockLocations {
                locations: found.locations,
                status: found.status,
            }))
        })
    }

    fn get_peers(&self) -> Answer<Result<Vec<BlockManagerId>, String>> {
        let master = self.clone();
        Box::pin(async move {
            let peers = Self::get_peers(&master).await;
            peers.map_err(|error| error.to_string())
        })
    }

    fn is_rdd_block_visible(&self, id: &BlockId) -> Answer<Result<bool, String>> {
        let (master, id) = (self.clone(), id.clone());
        Box::pin(async move {
            let visible = Self::is_rdd_block_visible(&master, &id).await;
            visible.map_err(|error| error.to_string())
        })
    }

    fn update_rdd_block_task_info(&self, id: &BlockId, task_id: i64) -> Answer<Result<(), String>> {
        let (master, id) = (self.clone(), id.clone());
        Box::pin(async move {
            let told = Self::update_rdd_block_task_info(&master, &id, task_id).await;
            told.map_err(|error| error.to_string())
        })
    }
}

struct Fetcher(Arc<BlockFetcher>);

impl Peers for Fetcher {
    fn fetch(
        &self,
        from: &BlockManagerId,
        id: &BlockId,
        size: u64,
    ) -> Answer<Result<RemoteBlock, String>> {
        let (fetcher, from, id) = (self.0.clone(), from.clone(), id.clone());
        Box::pin(async move {
            let block = fetcher.fetch_block(&from, &id, size).await;
            let block = block.map_err(|error| error.to_string())?;
            Ok(RemoteBlock {
                size: block.len(),
                reader: block.into_reader().map_err(|error| error.to_string())?,
            })
        })
    }

    fn upload(
        &self,
        to: &BlockManagerId,
        id: &BlockId,
        metadata: Bytes,
        body: Body,
    ) -> Answer<Result<(), String>> {
        let (fetcher, to, id) = (self.0.clone(), to.clone(), id.clone());
        Box::pin(async move {
            let sent = fetcher.upload_block(&to, &id, metadata, &body).await;
            sent.map_err(|error| error.to_string())
        })
    }
}

struct Serializers(Arc<SerializerManager>);

struct Finishing(PlainWriter<Box<dyn Write + Send>>);

impl Write for Finishing {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.0.write(buf)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl FinishWrite for Finishing {
    fn finish(self: Box<Self>) -> io::Result<()> {
        self.0.finish()?.flush()
    }
}

impl Streams for Serializers {
    fn compress(
        &self,
        id: &BlockId,
        out: Box<dyn Write + Send>,
    ) -> io::Result<Box<dyn FinishWrite + Send>> {
        Ok(Box::new(Finishing(self.0.compress(id, out)?)))
    }

    fn decompress(
        &self,
        id: &BlockId,
        input: Box<dyn Read + Send>,
    ) -> io::Result<Box<dyn Read + Send>> {
        Ok(Box::new(self.0.decompress(
            id,
            io::BufReader::with_capacity(64 << 10, input),
        )?))
    }

    fn encrypts(&self) -> bool {
        self.0.encryption().is_some()
    }

    fn encrypt(&self, out: Box<dyn Write + Send>) -> io::Result<Box<dyn Write + Send>> {
        Ok(Box::new(self.0.encrypt(out)?))
    }

    fn decrypt(&self, input: Box<dyn Read + Send>) -> io::Result<Box<dyn Read + Send>> {
        Ok(Box::new(self.0.decrypt(input)?))
    }
}

impl PieceStore for BlockManager {
    fn get_piece(&self, id: &BlockId) -> io::Result<Option<Bytes>> {
        match self.get_local(id, None) {
            Ok(Some(block)) => block.data.bytes().map(Some),
            Ok(None) => Ok(None),
            Err(error) => Err(io::Error::other(error)),
        }
    }

    fn put_piece(&self, id: &BlockId, data: Bytes) -> io::Result<()> {
        match self.put_bytes(id, StorageLevel::MEMORY_AND_DISK_SER, data, true) {
            Ok(true) => Ok(()),
            Ok(false) => Err(io::Error::other(format!("There is no room for {id}"))),
            Err(error) => Err(io::Error::other(error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Fixture;
    use super::*;
    use crate::blocks::store::{CacheRequest, Cached, StoreError};
    use crate::cancel::Cancellation;
    use crate::config::SparkProperties;

    /// A partition through compression, an encrypted file and back.
    #[test]
    fn partitions_are_compressed_and_files_encrypted() {
        let mut properties = SparkProperties::default();
        properties.set("spark.rdd.compress", "true");
        let serializers = SerializerManager::new(&properties, Some(&[7; 16])).unwrap();
        let fixture = Fixture::of(Arc::new(Serializers(Arc::new(serializers))));
        let cancellation = Cancellation::default();
        for (name, level) in [
            ("rdd_1_0", StorageLevel::DISK_ONLY),
            ("rdd_1_1", StorageLevel::MEMORY_ONLY_SER),
        ] {
            let request = CacheRequest {
                id: name.parse().unwrap(),
                level,
                class_tag: "[B",
                header: &[],
                task_id: 1,
                cancellation: &cancellation,
            };
            let make = || Ok::<_, StoreError>((0..1000).map(|_| Ok(b"again and again ".to_vec())));
            let cached =
                fixture
                    .manager
                    .get_or_else_update(&request, make, |record: &Vec<u8>, out| out.extend(record));
            let Ok(Cached::Stored(mut reader)) = cached else {
                panic!("not stored")
            };
            let mut text = String::new();
            reader.read_to_string(&mut text).unwrap();
            assert_eq!(text, "again and again ".repeat(1000));
            assert!(reader.size() < 2000, "{reader:?}");
        }
        // What others get is compressed as it is in memory, and not encrypted.
        let served = |name: &str| {
            let block = fixture
                .manager
                .get_local(&name.parse().unwrap(), None)
                .unwrap()
                .unwrap();
            block.data.bytes().unwrap()
        };
        assert!(served("rdd_1_0").starts_with(b"LZ4Block"));
        assert_eq!(served("rdd_1_0"), served("rdd_1_1"));
        let file = std::fs::read(fixture.dirs.path(&"rdd_1_0".parse().unwrap())).unwrap();
        assert_eq!(file.len(), served("rdd_1_0").len() + 16);
        assert!(!file.windows(8).any(|bytes| bytes == b"LZ4Block"));
    }

    #[test]
    fn pieces_of_broadcasts_are_blocks() {
        let fixture = Fixture::new(10);
        let id = BlockId::parse("broadcast_3_piece0").unwrap();
        assert_eq!(fixture.manager.get_piece(&id).unwrap(), None);
        fixture
            .manager
            .put_piece(&id, Bytes::from_static(b"piece"))
            .unwrap();
        assert_eq!(
            fixture.manager.get_piece(&id).unwrap().as_deref(),
            Some(&b"piece"[..])
        );
        assert_eq!(fixture.reports(), [(id.to_string(), 4, 5, 0)]);
    }
}
