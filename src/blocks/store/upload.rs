//! Blocks that other executors send here: copies, and what a decommissioned executor leaves behind.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use wire::block_transfer::BlockTransferMessage as Message;
use wire::ids::{BlockId, StorageLevel};
use wire::messages::{BlockReplicationMetadata, BlockStatus};

use super::StoreError;
use super::manager::{ANY, BlockManager, Made};
use crate::blocks::LocalDirs;
use crate::transport::Answer;

impl BlockManager {
    /// Takes an `UploadBlock` message, type byte included. The answer is empty.
    pub fn upload(&self, body: Bytes) -> Answer<Result<Bytes, String>> {
        let manager = self.clone();
        blocking(move || {
            let Message::UploadBlock {
                block_id,
                metadata,
                block_data,
                ..
            } = Message::read(&body).map_err(|error| error.to_string())?
            else {
                return Err("Not an UploadBlock message".to_owned());
            };
            let id = BlockId::parse(&block_id);
            let metadata = decode(&metadata)?;
            let class_tag = metadata.class_tag.as_deref().unwrap_or(ANY);
            // The message is as long as the block, and more so is the frame that it may share.
            let data = Bytes::copy_from_slice(&block_data);
            let stored = manager.put_bytes_of(&id, metadata.level, class_tag, data, true);
            answer(&id, stored)
        })
    }

    /// Takes a block whose bytes are in `file`; `header` is an `UploadBlockStream` message, type byte included. The file may be moved away.
    pub fn upload_stream(&self, header: Bytes, file: PathBuf) -> Answer<Result<Bytes, String>> {
        let manager = self.clone();
        blocking(move || {
            let Message::UploadBlockStream { block_id, metadata } =
                Message::read(&header).map_err(|error| error.to_string())?
            else {
                return Err("Not an UploadBlockStream message".to_owned());
            };
            let id = BlockId::parse(&block_id);
            let stored = match id {
                BlockId::ShuffleData { .. } | BlockId::ShuffleIndex { .. } => {
                    manager.take_shuffle_file(&id, &file).map(|()| true)
                }
                _ => manager.take_file(&id, &decode(&metadata)?, &file),
            };
            answer(&id, stored)
        })
    }

    /// Files of shuffles are moved as they are: they are encrypted as a whole or not at all, with the application's key.
    fn take_shuffle_file(&self, id: &BlockId, file: &Path) -> Result<(), StoreError> {
        self.check_should_store(id)?;
        if let Some(max) = self.inner.parts.settings.max_shuffle_disk {
            let mut stored = 0;
            self.for_each_file(|name, path| {
                if name.starts_with("shuffle_") {
                    stored += fs::metadata(path).map_or(0, |metadata| metadata.len());
                }
            });
            if stored > max {
                return Err(StoreError::Spark(format!(
                    "Not storing remote shuffles ({stored} bytes) because the limit of {max} bytes is reached"
                )));
            }
        }
        let size = fs::metadata(file)?.len();
        let path = self.inner.parts.local_dirs.path(&id.to_string());
        let open = self.inner.parts.settings.service_removes;
        LocalDirs::create_parent(&path, open)?;
        if open {
            LocalDirs::make_world_readable(file)?;
        }
        move_file(file, &path)?;
        let status = BlockStatus {
            storage_level: StorageLevel::DISK_ONLY,
            mem_size: 0,
            disk_size: size.cast_signed(),
        };
        self.inner.report(id, status);
        Ok(())
    }

    fn take_file(
        &self,
        id: &BlockId,
        metadata: &BlockReplicationMetadata,
        file: &Path,
    ) -> Result<bool, StoreError> {
        self.check_should_store(id)?;
        let inner = &self.inner;
        let level = metadata.level;
        let class_tag = metadata.class_tag.as_deref().unwrap_or(ANY);
        let Some(lock) = inner.lock_new(id, level, class_tag, true, None)? else {
            return Ok(true);
        };
        let len = fs::metadata(file)?.len();
        if level.use_memory() && inner.reserve(Some(id), len)? {
            match fs::read(file) {
                Ok(bytes) if bytes.len() as u64 == len => {
                    lock.complete(Made::Memory(bytes.into()))?;
                    return Ok(true);
                }
                result => {
                    inner.state.lock().memory.release(len);
                    result?;
                    return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
                }
            }
        }
        if !level.use_disk() {
            return Ok(false);
        }
        lock.complete(Made::Disk(inner.disk.adopt(file)?))?;
        Ok(true)
    }
}

/// Moves a file, to another file system if need be, such that `to` is whole or not there.
fn move_file(from: &Path, to: &Path) -> io::Result<()> {
    match fs::rename(from, to) {
        Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
            let near = to.with_extension(format!("{}", uuid::Uuid::new_v4()));
            let copied = fs::copy(from, &near).and_then(|_| fs::rename(&near, to));
            if copied.is_err() {
                // What is left of it, if anything.
                let _ = fs::remove_file(&near);
            }
            copied
        }
        result => result,
    }
}

fn decode(metadata: &[u8]) -> Result<BlockReplicationMetadata, String> {
    BlockReplicationMetadata::decode(metadata).map_err(|error| error.to_string())
}

fn answer(id: &BlockId, stored: Result<bool, StoreError>) -> Result<Bytes, String> {
    match stored {
        Ok(true) => Ok(Bytes::new()),
        Ok(false) => Err(format!(
            "Upload block for {id} failed. This mostly happens when there is not sufficient space available to store the block."
        )),
        Err(error) => Err(error.to_string()),
    }
}

fn blocking(
    work: impl FnOnce() -> Result<Bytes, String> + Send + 'static,
) -> Answer<Result<Bytes, String>> {
    Box::pin(async move {
        match tokio::task::spawn_blocking(work).await {
            Ok(result) => result,
            Err(error) => Err(error.to_string()),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::Fixture;
    use super::*;

    fn metadata(fixture: &Fixture, flags: u8) -> Bytes {
        let metadata = BlockReplicationMetadata {
            level: StorageLevel {
                flags,
                replication: 1,
            },
            class_tag: Some("[B".into()),
            checksum: None,
            verify_sealed_checksum: false,
        };
        metadata
            .encode(&fixture.manager.inner.parts.catalog)
            .unwrap()
            .into()
    }

    fn upload(
        fixture: &Fixture,
        name: &str,
        flags: u8,
        data: &'static [u8],
    ) -> Result<Bytes, String> {
        let message = Message::UploadBlock {
            app_id: "app".into(),
            exec_id: "0".into(),
            block_id: name.into(),
            metadata: metadata(fixture, flags),
            block_data: Bytes::from_static(data),
        };
        let answer = fixture.manager.upload(message.write().unwrap().into());
        fixture.runtime.block_on(answer)
    }

    fn upload_stream(
        fixture: &Fixture,
        name: &str,
        metadata: Bytes,
        data: &[u8],
    ) -> Result<Bytes, String> {
        let file = fixture.dirs.dirs()[0].join("upload");
        fs::write(&file, data).unwrap();
        let message = Message::UploadBlockStream {
            block_id: name.into(),
            metadata,
        };
        let answer = fixture
            .manager
            .upload_stream(message.write().unwrap().into(), file.clone());
        let result = fixture.runtime.block_on(answer);
        // What is not moved away is the server's to remove.
        let _ = fs::remove_file(file);
        result
    }

    fn bytes(fixture: &Fixture, name: &str) -> Bytes {
        let block = fixture
            .manager
            .get_local(&name.into(), None)
            .unwrap()
            .unwrap();
        block.data.bytes().unwrap()
    }

    #[test]
    fn copies_are_kept_as_their_level_says() {
        for encrypts in [false, true] {
            let fixture = Fixture::with(10, encrypts, false);
            assert_eq!(upload(&fixture, "rdd_1_0", 4, b"abc"), Ok(Bytes::new()));
            assert_eq!(
                upload_stream(&fixture, "rdd_1_1", metadata(&fixture, 12), b"defg"),
                Ok(Bytes::new())
            );
            assert_eq!(
                upload_stream(&fixture, "rdd_1_2", metadata(&fixture, 12), b"longer"),
                Ok(Bytes::new())
            );
            assert_eq!(
                upload_stream(&fixture, "rdd_1_3", metadata(&fixture, 8), b"d"),
                Ok(Bytes::new())
            );
            let error = upload(&fixture, "rdd_1_4", 4, b"more than is left").unwrap_err();
            assert!(error.contains("not sufficient space"), "{error}");
            assert_eq!(fixture.files(), ["rdd_1_2", "rdd_1_3"]);
            for (name, expected) in [
                ("rdd_1_0", "abc"),
                ("rdd_1_1", "defg"),
                ("rdd_1_2", "longer"),
                ("rdd_1_3", "d"),
            ] {
                assert_eq!(bytes(&fixture, name), expected);
            }
            let flags: Vec<_> = fixture
                .reports()
                .into_iter()
                .map(|(name, flags, ..)| (name, flags))
                .collect();
            let expected = [
                ("rdd_1_0", 4),
                ("rdd_1_1", 4),
                ("rdd_1_2", 8),
                ("rdd_1_3", 8),
            ];
            assert_eq!(
                flags,
                expected.map(|(name, flags)| (name.to_owned(), flags))
            );
        }
    }

    #[test]
    fn files_of_shuffles_go_to_their_place() {
        let mut fixture = Fixture::with(10, true, false);
        let data = upload_stream(&fixture, "shuffle_1_2_0.data", Bytes::new(), b"data");
        assert_eq!(data, Ok(Bytes::new()));
        assert_eq!(
            fs::read(fixture.dirs.path("shuffle_1_2_0.data")).unwrap(),
            b"data",
            "not encrypted twice"
        );
        assert_eq!(
            fixture.reports(),
            [("shuffle_1_2_0.data".to_owned(), 8, 0, 4)]
        );
        fixture = Fixture::new(0);
        fixture.manager.set_decommissioning();
        let error = upload_stream(&fixture, "shuffle_1_2_0.index", Bytes::new(), b"x").unwrap_err();
        assert!(
            error.contains("BlockSavedOnDecommissionedBlockManagerException"),
            "{error}"
        );
    }

    #[test]
    fn what_is_no_upload_is_refused() {
        let fixture = Fixture::new(10);
        let upload = |body: &'static [u8]| {
            fixture
                .runtime
                .block_on(fixture.manager.upload(body.into()))
        };
        assert!(upload(b"").is_err());
        assert!(upload(b"\x03\0\0\0\0\0\0\0\0\0\0\0\0").is_err());
        assert!(upload_stream(&fixture, "rdd_1_1", Bytes::from_static(b"x"), b"").is_err());
    }
}
