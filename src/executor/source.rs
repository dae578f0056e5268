//! Blocks of the native lanes and of the embedded JVM, for the block server.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock, Weak};

use bytes::Bytes;
use tokio::sync::oneshot;

use super::shared::Shared;
use crate::blocks::BlockSource;
use crate::blocks::store::BlockManager;
use crate::lanes::jvm::{JvmBlock, JvmLane};
use crate::transport::{Answer, Body};

/// Both stores behind our block server: what the native lanes' does not have is the JVM's. It is connected after registration; before that there is no block.
#[derive(Default)]
pub(super) struct StoredBlocks {
    shared: OnceLock<Weak<Shared>>,
}

impl StoredBlocks {
    /// Connects the executor; a second call changes nothing.
    pub(super) fn connect(&self, shared: &Arc<Shared>) {
        // One executor has one block server.
        let _ = self.shared.set(Arc::downgrade(shared));
    }

    fn shared(&self) -> Option<Arc<Shared>> {
        self.shared.get()?.upgrade()
    }

    /// A replica goes to the JVM if there is one: it alone can store it as objects.
    fn upload_with(
        &self,
        send: impl FnOnce(&JvmLane, i64),
        keep: impl FnOnce(&BlockManager) -> Answer<Result<Bytes, String>>,
    ) -> Answer<Result<Bytes, String>> {
        let Some(shared) = self.shared() else {
            return Box::pin(async { Err(NOT_READY.to_owned()) });
        };
        let Some(lane) = shared.ready_lane() else {
            return keep(&shared.native.plane.blocks);
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

impl BlockSource for StoredBlocks {
    fn local_block(&self, name: String) -> Answer<Result<Body, String>> {
        let not_found =
            format!("org.apache.spark.storage.BlockNotFoundException: Block {name} not found");
        let Some(shared) = self.shared() else {
            return Box::pin(async { Err(not_found) });
        };
        if let Some(body) = shared.native.plane.blocks.local_body(&name) {
            return body;
        }
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
        let copy = body.clone();
        self.upload_with(
            |lane, id| lane.upload(id, copy),
            |blocks| blocks.upload(body),
        )
    }

    fn upload_stream(&self, header: Bytes, file: PathBuf) -> Answer<Result<Bytes, String>> {
        self.upload_with(
            |lane, id| lane.upload_stream(id, &header, &file),
            |blocks| blocks.upload_stream(header.clone(), file.clone()),
        )
    }
}
