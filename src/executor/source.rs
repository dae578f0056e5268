//! Blocks that only the embedded JVM holds, for the block server.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock, Weak};

use bytes::Bytes;
use tokio::sync::oneshot;

use super::shared::Shared;
use crate::blocks::BlockSource;
use crate::lanes::jvm::{JvmBlock, JvmLane};
use crate::transport::{Answer, Body};

/// The JVM's block manager behind our block server. It is connected after registration; before that, and until a JVM runs tasks, there is no block.
#[derive(Default)]
pub(super) struct JvmBlocks {
    shared: OnceLock<Weak<Shared>>,
}

impl JvmBlocks {
    /// Connects the executor; a second call changes nothing.
    pub(super) fn connect(&self, shared: &Arc<Shared>) {
        // One executor has one block server.
        let _ = self.shared.set(Arc::downgrade(shared));
    }

    fn shared(&self) -> Option<Arc<Shared>> {
        self.shared.get()?.upgrade()
    }

    fn upload_with(&self, send: impl FnOnce(&JvmLane, i64)) -> Answer<Result<Bytes, String>> {
        let Some(shared) = self.shared() else {
            return Box::pin(async { Err(NOT_READY.to_owned()) });
        };
        let Some(lane) = shared.ready_lane() else {
            return Box::pin(async { Err(NOT_READY.to_owned()) });
        };
        let (sender, receiver) = oneshot::channel();
        let id = shared.next_id();
        shared.uploads.lock().insert(id, sender);
        send(lane, id);
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

impl BlockSource for JvmBlocks {
    fn local_block(&self, name: String) -> Answer<Result<Body, String>> {
        let not_found =
            format!("org.apache.spark.storage.BlockNotFoundException: Block {name} not found");
        let Some(shared) = self.shared() else {
            return Box::pin(async { Err(not_found) });
        };
        let Some(lane) = shared.ready_lane() else {
            return Box::pin(async { Err(not_found) });
        };
        let (sender, receiver) = oneshot::channel();
        let id = shared.next_id();
        shared.blocks.lock().insert(id, sender);
        lane.get_block(id, &name);
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

    fn upload(&self, body: Bytes) -> Answer<Result<Bytes, String>> {
        self.upload_with(|lane, id| lane.upload(id, body))
    }

    fn upload_stream(&self, header: Bytes, file: PathBuf) -> Answer<Result<Bytes, String>> {
        self.upload_with(|lane, id| lane.upload_stream(id, &header, &file))
    }
}
