//! Blocks that other executors have.

use wire::ids::{BlockId, BlockManagerId};

use super::manager::BlockManager;
use super::ports::RemoteBlock;

impl BlockManager {
    /// A block as another executor stores it, or `None` if no executor that should have it gives it.
    pub fn get_remote(&self, id: &BlockId) -> Option<RemoteBlock> {
        self.inner.parts.runtime.block_on(self.fetch(id))
    }

    async fn fetch(&self, id: &BlockId) -> Option<RemoteBlock> {
        let parts = &self.inner.parts;
        tracing::debug!(target: "BlockManager", "Getting remote block {id}");
        let found = match parts.master.get_locations_and_status(id).await {
            Ok(found) => found?,
            Err(error) => {
                tracing::warn!(target: "BlockManager", "Cannot ask for the locations of block {id}: {error}");
                return None;
            }
        };
        let size = found.status.mem_size.max(found.status.disk_size);
        let size = u64::try_from(size).unwrap_or(0);
        let mut locations = sort_locations(found.locations, &parts.block_manager_id, shuffle);
        let mut failures = 0;
        // As often as there are locations; after some failures the driver may know better ones.
        let most = locations.len();
        let mut next = 0;
        while let Some(location) = locations.get(next) {
            match parts.peers.fetch(location, id, size).await {
                Ok(block) => return Some(block),
                Err(error) => {
                    failures += 1;
                    next += 1;
                    tracing::warn!(
                        target: "BlockManager",
                        "Failed to fetch remote block {id} from {location} (failed attempt {failures}): {error}"
                    );
                    if failures >= most {
                        break;
                    }
                    if failures % parts.settings.refresh_after.max(1) == 0
                        && let Ok(Some(found)) = parts.master.get_locations_and_status(id).await
                    {
                        locations =
                            sort_locations(found.locations, &parts.block_manager_id, shuffle);
                        next = 0;
                    }
                }
            }
        }
        None
    }
}

/// This host's first, then this rack's, then the others.
fn sort_locations(
    mut locations: Vec<BlockManagerId>,
    here: &BlockManagerId,
    shuffle: impl FnOnce(&mut [BlockManagerId]),
) -> Vec<BlockManagerId> {
    shuffle(&mut locations);
    locations.sort_by_key(|location| {
        let same_rack =
            here.topology_info.is_some() && location.topology_info == here.topology_info;
        match (location.host == here.host, same_rack) {
            (true, _) => 0,
            (false, true) => 1,
            (false, false) => 2,
        }
    });
    locations
}

/// A random order.
pub(super) fn shuffle<T>(items: &mut [T]) {
    for index in (1..items.len()).rev() {
        let other = uuid::Uuid::new_v4().as_u128() % (index as u128 + 1);
        items.swap(index, other as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Fixture, id_of, status_in_memory};
    use super::*;
    use std::io::Read;

    #[test]
    fn near_locations_come_first() {
        let on = |executor: &str, host: &str, rack: Option<&str>| BlockManagerId {
            executor_id: executor.into(),
            host: host.into(),
            port: 1,
            topology_info: rack.map(Into::into),
        };
        let here = on("0", "a", Some("/r"));
        let locations = vec![
            on("1", "b", None),
            on("2", "c", Some("/r")),
            on("3", "a", None),
            on("4", "d", Some("/s")),
        ];
        let sorted = sort_locations(locations, &here, |_| {});
        let order: Vec<_> = sorted
            .iter()
            .map(|location| location.executor_id.as_str())
            .collect();
        assert_eq!(order, ["3", "2", "1", "4"]);
    }

    #[test]
    fn every_order_happens() {
        let mut seen = std::collections::BTreeSet::new();
        for _ in 0..400 {
            let mut items = [1, 2, 3];
            shuffle(&mut items);
            seen.insert(items);
        }
        assert_eq!(seen.len(), 6);
    }

    #[test]
    fn locations_are_tried_until_one_has_it() {
        let fixture = Fixture::new(1 << 20);
        let id = BlockId::parse("rdd_1_2").unwrap();
        let get = || {
            let mut text = String::new();
            let mut block = fixture.manager.get_remote(&id)?;
            block.reader.read_to_string(&mut text).unwrap();
            Some((block.size, text))
        };
        assert_eq!(get(), None, "nobody has it");
        let at: Vec<_> = (1..4).map(id_of).collect();
        fixture
            .world
            .lock()
            .locations
            .insert(id.clone(), (at.clone(), status_in_memory(3)));
        assert_eq!(get(), None, "all lost it");
        assert_eq!(fixture.world.lock().fetches, 3);
        fixture
            .world
            .lock()
            .remote
            .insert((at[1].clone(), id.clone()), "abc".into());
        assert_eq!(get(), Some((3, "abc".to_owned())));
    }
}
