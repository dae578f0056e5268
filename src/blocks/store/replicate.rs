//! Copies of blocks at other executors.

use std::collections::HashSet;

use wire::ids::{BlockId, BlockManagerId, StorageLevel};
use wire::messages::BlockReplicationMetadata;

use super::manager::{BlockManager, LocalBlock};
use super::remote::shuffle;

impl BlockManager {
    /// Copies a block that was just stored, if its level says so. That it does not work is no failure of whoever stored
    /// it.
    pub(super) fn replicate_new(&self, id: &BlockId, block: &LocalBlock) {
        if block.level.replication > 1 {
            let failures = self.inner.parts.settings.max_replication_failures;
            let copied = self.replicate(id, block, &[], block.level.replication.into(), failures);
            self.inner.parts.runtime.block_on(copied);
        }
    }

    /// `ReplicateBlock`: copies a block to others until there are `max_replicas` of it, this one included; `replicas`
    /// have it already. `false` if that did not work; a block that is not here is no failure. `max_failures` is
    /// `spark.storage.maxReplicationFailures` if not given.
    pub async fn replicate_block(
        &self,
        id: &BlockId,
        replicas: &[BlockManagerId],
        max_replicas: usize,
        max_failures: Option<u32>,
    ) -> bool {
        tracing::debug!(target: "BlockManager", "Using {} to pro-actively replicate {id}", self.inner.parts.block_manager_id);
        let (manager, block_id) = (self.clone(), id.clone());
        let read = tokio::task::spawn_blocking(move || manager.get_local(&block_id, None)).await;
        let block = match read {
            Ok(Ok(Some(block))) => block,
            Ok(Ok(None)) => return true,
            Ok(Err(error)) => {
                tracing::warn!(target: "BlockManager", "Cannot copy block {id}: {error}");
                return false;
            }
            Err(_) => return false,
        };
        let failures = max_failures.unwrap_or(self.inner.parts.settings.max_replication_failures);
        self.replicate(id, &block, replicas, max_replicas, failures)
            .await
    }

    async fn replicate(
        &self,
        id: &BlockId,
        block: &LocalBlock,
        replicas: &[BlockManagerId],
        max_replicas: usize,
        max_failures: u32,
    ) -> bool {
        let parts = &self.inner.parts;
        let wanted = max_replicas.saturating_sub(1);
        let metadata = BlockReplicationMetadata {
            level: StorageLevel {
                replication: 1,
                ..block.level
            },
            class_tag: Some(self.class_tag(id)),
            checksum: None,
            verify_sealed_checksum: false,
        };
        let metadata = match metadata.encode(&parts.catalog) {
            Ok(metadata) => bytes::Bytes::from(metadata),
            Err(error) => {
                tracing::error!(target: "BlockManager", "Cannot replicate {id}: {error}");
                return false;
            }
        };
        let data = block.data.clone();
        let body = match tokio::task::spawn_blocking(move || data.body()).await {
            Ok(Ok(body)) => body,
            Ok(Err(error)) => {
                tracing::warn!(target: "BlockManager", "Cannot replicate {id}: {error}");
                return false;
            }
            Err(_) => return false,
        };
        let mut have: HashSet<BlockManagerId> = replicas.iter().cloned().collect();
        let mut failed = HashSet::new();
        let mut failures = 0;
        let mut candidates = self.peers_without(&have, &failed).await;
        while failures <= max_failures && have.len() < wanted {
            let Some(peer) = candidates.pop() else {
                break;
            };
            match parts
                .peers
                .upload(&peer, id, metadata.clone(), body.clone())
                .await
            {
                Ok(()) => {
                    tracing::debug!(target: "BlockManager", "Replicated {id} to {peer}");
                    have.insert(peer);
                }
                Err(error) => {
                    failures += 1;
                    tracing::warn!(target: "BlockManager", "Failed to replicate {id} to {peer}, failure #{failures}: {error}");
                    failed.insert(peer);
                    candidates = self.peers_without(&have, &failed).await;
                }
            }
        }
        if have.len() < wanted {
            tracing::warn!(
                target: "BlockManager",
                "Block {id} replicated to only {} peer(s) instead of {wanted} peers", have.len()
            );
            return false;
        }
        true
    }

    fn class_tag(&self, id: &BlockId) -> String {
        let state = self.inner.state.lock();
        let info = state.blocks.get(id);
        info.map_or_else(
            || super::manager::ANY.to_owned(),
            |info| info.class_tag.clone(),
        )
    }

    /// The executors that could take a copy, in a random order.
    async fn peers_without(
        &self,
        have: &HashSet<BlockManagerId>,
        failed: &HashSet<BlockManagerId>,
    ) -> Vec<BlockManagerId> {
        let mut peers = match self.inner.parts.master.get_peers().await {
            Ok(peers) => peers,
            Err(error) => {
                tracing::warn!(target: "BlockManager", "Cannot ask for other executors: {error}");
                Vec::new()
            }
        };
        peers.retain(|peer| !have.contains(peer) && !failed.contains(peer));
        shuffle(&mut peers);
        peers
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Fixture, id_of};
    use super::*;
    use bytes::Bytes;

    fn put(fixture: &Fixture, flags: u8, replication: u8) {
        let level = StorageLevel { flags, replication };
        let bytes = Bytes::from_static(b"abc");
        assert!(
            fixture
                .manager
                .put_bytes(&"rdd_1_0".parse().unwrap(), level, bytes, true)
                .unwrap()
        );
    }

    #[test]
    fn a_level_of_two_makes_a_copy_elsewhere() {
        let fixture = Fixture::new(100);
        fixture.world.lock().peers = vec![id_of(1), id_of(2)];
        fixture.world.lock().refuse_uploads = vec!["1".into()];
        put(&fixture, 12, 2);
        let uploads = std::mem::take(&mut fixture.world.lock().uploads);
        assert_eq!(uploads, [("2".into(), "rdd_1_0".into(), "abc".into())]);
    }

    #[test]
    fn copies_of_files_and_their_limits() {
        let fixture = Fixture::with(0, true, false);
        put(&fixture, 8, 1);
        let replicate = |replicas: &[BlockManagerId], max| {
            let id = BlockId::parse("rdd_1_0").unwrap();
            fixture
                .runtime
                .block_on(fixture.manager.replicate_block(&id, replicas, max, None))
        };
        assert!(!replicate(&[], 2), "there is nobody");
        fixture.world.lock().peers = (1..6).map(id_of).collect();
        assert!(replicate(&[id_of(1), id_of(2)], 3), "there are enough");
        assert_eq!(fixture.world.lock().uploads.len(), 0);
        assert!(replicate(&[id_of(1), id_of(2)], 5));
        let uploads = std::mem::take(&mut fixture.world.lock().uploads);
        assert_eq!(uploads.len(), 2);
        assert!(
            uploads
                .iter()
                .all(|(to, _, bytes)| to != "1" && to != "2" && bytes == "abc")
        );
        fixture.world.lock().refuse_uploads = (1..6).map(|id| id.to_string()).collect();
        assert!(!replicate(&[], 2));
        let other = BlockId::parse("rdd_9_9").unwrap();
        let gone = fixture.manager.replicate_block(&other, &[], 2, None);
        assert!(fixture.runtime.block_on(gone));
    }
}
