//! Blocks of the native lanes and of the embedded JVM, for the block server.

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock, Weak};

use bytes::Bytes;
use tokio::sync::oneshot;
use wire::ids::BlockId;

use super::jvm_link::JvmLink;
use super::registered::RegisteredExecutor;
use crate::blocks::store::BlockManager;
use crate::blocks::{BlockSource, Upload};
use crate::task::jvm::{Jvm, JvmBlock};
use crate::transport::{Answer, Body};

/// Both stores behind our block server: what the native lanes' does not have is the JVM's. It is connected after
/// registration; before that there is no block.
#[derive(Default)]
pub(super) struct StoredBlocks {
    executor: OnceLock<Weak<RegisteredExecutor>>,
}

impl StoredBlocks {
    /// Connects the executor; a second call changes nothing.
    pub(super) fn connect(&self, executor: &Arc<RegisteredExecutor>) {
        // One executor has one block server.
        let _ = self.executor.set(Arc::downgrade(executor));
    }

    fn executor(&self) -> Option<Arc<RegisteredExecutor>> {
        self.executor.get()?.upgrade()
    }

    /// A replica goes to the JVM if there is one: it alone can store it as objects.
    fn upload_with(
        &self,
        send: impl FnOnce(&JvmLink, &dyn Jvm) -> oneshot::Receiver<Result<Vec<u8>, String>>,
        keep: impl FnOnce(&BlockManager) -> Answer<Result<Bytes, String>>,
    ) -> Answer<Result<Bytes, String>> {
        let Some(executor) = self.executor() else {
            return Box::pin(async { Err(NOT_READY.to_owned()) });
        };
        let Some(jvm) = executor.ready_jvm() else {
            return keep(&executor.native.plane.blocks);
        };
        let receiver = send(&executor.jvm, jvm);
        Box::pin(async move {
            receiver
                .await
                .map_err(|_| GONE.to_owned())?
                .map(Bytes::from)
        })
    }
}

const NOT_READY: &str = "This executor has no block store yet: no task has run on it.";
const GONE: &str = "The executor is shutting down.";

impl BlockSource for StoredBlocks {
    fn may_have(&self, id: &BlockId) -> bool {
        self.executor().is_some_and(|executor| {
            // The JVM would have to be waited for. What it does not have fails when it is read.
            executor.native.plane.blocks.is_ready(id) || executor.ready_jvm().is_some()
        })
    }

    fn stored_block(&self, id: &BlockId) -> Option<Answer<Result<Body, String>>> {
        let executor = self.executor()?;
        let blocks = &executor.native.plane.blocks;
        blocks.is_lent(id).then(|| blocks.local_body(id)).flatten()
    }

    fn local_block(&self, block: BlockId) -> Answer<Result<Body, String>> {
        let not_found =
            format!("org.apache.spark.storage.BlockNotFoundException: Block {block} not found");
        let Some(executor) = self.executor() else {
            return Box::pin(async { Err(not_found) });
        };
        if let Some(body) = executor.native.plane.blocks.local_body(&block) {
            return body;
        }
        let Some(jvm) = executor.ready_jvm() else {
            return Box::pin(async { Err(not_found) });
        };
        let receiver = executor.jvm.get_block(jvm, &block);
        Box::pin(async move {
            match receiver.await.map_err(|_| GONE.to_owned())? {
                JvmBlock::Bytes(bytes) => Ok(Body::Bytes(bytes.into())),
                JvmBlock::File { file, offset, len } => Ok(Body::File {
                    file: Arc::new(file),
                    offset,
                    len,
                }),
                JvmBlock::NotFound(why) => Err(why),
            }
        })
    }

    fn lacks_rows(&self, shuffle_id: i32, map_id: i64) -> bool {
        let executor = self.executor();
        executor.is_some_and(|executor| {
            let shuffle = &executor.native.plane.shuffle;
            shuffle.lacks_rows(shuffle_id, map_id)
        })
    }

    fn make_rows(&self, shuffle_id: i32, map_id: i64) -> io::Result<()> {
        match self.executor() {
            Some(executor) => {
                let made = executor.native.plane.shuffle.rows_of(shuffle_id, map_id);
                made.map(drop)
            }
            None => Ok(()),
        }
    }

    fn files_are_read(&self) {
        if let Some(executor) = self.executor() {
            executor.native.plane.shuffle.files_are_read();
        }
    }

    fn upload(&self, upload: Upload, data: Bytes) -> Answer<Result<Bytes, String>> {
        let message = upload.message.clone();
        self.upload_with(
            |link, jvm| link.upload(jvm, message),
            |blocks| blocks.upload(upload, data),
        )
    }

    fn upload_stream(&self, upload: Upload, file: PathBuf) -> Answer<Result<Bytes, String>> {
        let (header, path) = (upload.message.clone(), file.clone());
        self.upload_with(
            |link, jvm| link.upload_stream(jvm, &header, &path),
            |blocks| blocks.upload_stream(upload, file),
        )
    }
}
