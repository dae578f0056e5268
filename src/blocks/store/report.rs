//! What the driver is told of blocks.

use wire::ids::BlockId;
use wire::messages::BlockStatus;

use super::manager::{BlockManager, Inner};

impl Inner {
    /// Tells the driver and waits for its answer, so that whoever hears of the task's end knows of its blocks. Must not
    /// be called on a thread of the runtime.
    pub(super) fn report(&self, id: &BlockId, status: BlockStatus) {
        let told = self.parts.master.update_block_info(id, status, None);
        match self.parts.runtime.block_on(told) {
            Ok(true) => tracing::debug!(target: "BlockManager", "Told master about block {id}"),
            Ok(false) => {
                tracing::info!(target: "BlockManager", "Got told to re-register updating block {id}");
                if let Some(register_again) = self.unknown_to_master.get() {
                    register_again();
                }
            }
            Err(error) => {
                tracing::warn!(target: "BlockManager", "Failed to tell master about block {id}: {error}");
            }
        }
    }
}

impl BlockManager {
    /// `hook` is called when the driver says that it does not know this executor's block manager. It must not wait;
    /// what registers again calls [`BlockManager::report_all`] afterwards. Only the first hook counts.
    pub fn on_unknown_to_master(&self, hook: impl Fn() + Send + Sync + 'static) {
        // One executor wires it once.
        let _ = self.inner.unknown_to_master.set(Box::new(hook));
    }

    /// Tells the driver of all blocks, after the executor has registered again.
    pub async fn report_all(&self) {
        let blocks: Vec<_> = {
            let state = self.inner.state.lock();
            let told = state.blocks.iter().filter(|(_, info)| info.tell_master);
            told.filter_map(|(id, _)| Some((id.clone(), state.status(id)?)))
                .collect()
        };
        tracing::info!(target: "BlockManager", "Reporting {} blocks to the master.", blocks.len());
        for (id, status) in blocks {
            let told = self.inner.parts.master.update_block_info(&id, status, None);
            if !matches!(told.await, Ok(true)) {
                tracing::error!(target: "BlockManager", "Failed to report {id} to master; giving up.");
                return;
            }
        }
    }
}
