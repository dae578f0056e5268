//! Blocks that other executors send here: copies, and what a decommissioned executor leaves behind.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use wire::ids::{BlockId, StorageLevel};
use wire::messages::{BlockReplicationMetadata, BlockStatus};

use super::StoreError;
use super::manager::{ANY, BlockManager, MadeBlock};
use crate::blocks::{FileName, LocalDirs, Upload};
use crate::transport::Answer;

impl BlockManager {
    /// Takes a block with its bytes. The answer is empty.
    pub fn upload(&self, upload: Upload, block_data: Bytes) -> Answer<Result<Bytes, String>> {
        let manager = self.clone();
        blocking(move || {
            let Upload { id, metadata, .. } = upload;
            let class_tag = metadata.class_tag.as_deref().unwrap_or(ANY);
            // The message is as long as the block, and more so is the frame that it may share.
            let data = Bytes::copy_from_slice(&block_data);
            drop((block_data, upload.message));
            let stored = manager.put_bytes_of(&id, metadata.level, class_tag, data, true);
            answer(&id, stored)
        })
    }

    /// Takes a block whose bytes are in `file`, which may be moved away.
    pub fn upload_stream(&self, upload: Upload, file: PathBuf) -> Answer<Result<Bytes, String>> {
        let manager = self.clone();
        blocking(move || {
            let Upload { id, metadata, .. } = upload;
            let stored = match id {
                BlockId::ShuffleData { .. } | BlockId::ShuffleIndex { .. } => {
                    manager.take_shuffle_file(&id, &file).map(|()| true)
                }
                _ => manager.take_file(&id, &metadata, &file),
            };
            answer(&id, stored)
        })
    }

    /// Files of shuffles are moved as they are: they are encrypted as a whole or not at all, with the application's
    /// key.
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
        let dirs = &self.inner.parts.local_dirs;
        let path = dirs.path(&FileName::try_from(id).map_err(io::Error::from)?);
        let open = self.inner.parts.settings.service_removes;
        dirs.create_parent(&path, open)?;
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
                    lock.complete(MadeBlock::Memory(bytes.into()))?;
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
        lock.complete(MadeBlock::Disk(inner.disk.adopt(file)?))?;
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

    fn metadata(flags: u8) -> BlockReplicationMetadata {
        BlockReplicationMetadata {
            level: StorageLevel {
                flags,
                replication: 1,
            },
            class_tag: Some("[B".into()),
            checksum: None,
            verify_sealed_checksum: false,
        }
    }

    fn upload_of(name: &str, metadata: BlockReplicationMetadata) -> Upload {
        Upload {
            id: name.parse().unwrap(),
            metadata,
            // Only the JVM reads it.
            message: Bytes::new(),
        }
    }

    fn upload(
        fixture: &Fixture,
        name: &str,
        flags: u8,
        data: &'static [u8],
    ) -> Result<Bytes, String> {
        let upload = upload_of(name, metadata(flags));
        let answer = fixture.manager.upload(upload, Bytes::from_static(data));
        fixture.runtime.block_on(answer)
    }

    fn upload_stream(
        fixture: &Fixture,
        name: &str,
        metadata: BlockReplicationMetadata,
        data: &[u8],
    ) -> Result<Bytes, String> {
        let file = fixture.dirs.dirs()[0].join("upload");
        fs::write(&file, data).unwrap();
        let upload = upload_of(name, metadata);
        let answer = fixture.manager.upload_stream(upload, file.clone());
        let result = fixture.runtime.block_on(answer);
        // What is not moved away is the server's to remove.
        let _ = fs::remove_file(file);
        result
    }

    fn bytes(fixture: &Fixture, name: &str) -> Bytes {
        let block = fixture
            .manager
            .get_local(&name.parse().unwrap(), None)
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
                upload_stream(&fixture, "rdd_1_1", metadata(12), b"defg"),
                Ok(Bytes::new())
            );
            assert_eq!(
                upload_stream(&fixture, "rdd_1_2", metadata(12), b"longer"),
                Ok(Bytes::new())
            );
            assert_eq!(
                upload_stream(&fixture, "rdd_1_3", metadata(8), b"d"),
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
        let data = upload_stream(&fixture, "shuffle_1_2_0.data", metadata(8), b"data");
        assert_eq!(data, Ok(Bytes::new()));
        assert_eq!(
            fs::read(fixture.dirs.path(&"shuffle_1_2_0.data".parse().unwrap())).unwrap(),
            b"data",
            "not encrypted twice"
        );
        assert_eq!(
            fixture.reports(),
            [("shuffle_1_2_0.data".to_owned(), 8, 0, 4)]
        );
        fixture = Fixture::new(0);
        fixture.manager.set_decommissioning();
        let error = upload_stream(&fixture, "shuffle_1_2_0.index", metadata(8), b"x").unwrap_err();
        assert!(
            error.contains("BlockSavedOnDecommissionedBlockManagerException"),
            "{error}"
        );
    }

    /// No peer can send such an id. If one came from elsewhere, still no file outside of the directories would be
    /// touched.
    #[test]
    fn an_id_that_is_a_path_is_no_file() {
        let fixture = Fixture::new(0);
        let outside = fixture.dirs.dirs()[0].parent().unwrap().join("outside");
        fs::write(&outside, "mine").unwrap();
        for id in [outside.to_str().unwrap(), "/../../../outside", "/a"] {
            let upload = Upload {
                id: BlockId::Test { id: id.into() },
                metadata: metadata(8),
                message: Bytes::new(),
            };
            let answer = fixture
                .manager
                .upload(upload.clone(), Bytes::from_static(b"theirs"));
            let error = fixture.runtime.block_on(answer).unwrap_err();
            assert!(error.contains("is not the name of a file"), "{error}");
            let file = fixture.dirs.dirs()[0].join("upload");
            fs::write(&file, "theirs").unwrap();
            let answer = fixture.manager.upload_stream(upload.clone(), file);
            assert!(fixture.runtime.block_on(answer).is_err());
            fixture.manager.remove_block(&upload.id, true);
            assert_eq!(fs::read(&outside).unwrap(), b"mine");
        }
    }
}
