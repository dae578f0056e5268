//! DataFusion's surroundings: an executor's directories and a task's memory.

use std::path::PathBuf;
use std::sync::Arc;

use datafusion_common::Result;
use datafusion_common::config::SpillCompression;
use datafusion_execution::TaskContext as DataFusionContext;
use datafusion_execution::config::SessionConfig;
use datafusion_execution::disk_manager::{DiskManager, DiskManagerBuilder, DiskManagerMode};
use datafusion_execution::memory_pool::MemoryPool;
use datafusion_execution::runtime_env::{RuntimeEnv, RuntimeEnvBuilder};

use crate::blocks::BlockEnv;

/// Rows of a batch.
const BATCH_SIZE: usize = 8192;

/// Bytes that a sort keeps for merging what it has spilled.
pub(super) const SORT_RESERVATION: usize = 256 << 10;

/// What the tasks of an executor have in common.
#[derive(Debug)]
pub(super) struct Engine {
    disks: Arc<DiskManager>,
    config: SessionConfig,
}

impl Engine {
    /// What does not fit into memory goes to the executor's directories, as far as something can be written there.
    ///
    /// # Errors
    /// Not seen.
    pub(super) fn new(env: &BlockEnv) -> Result<Self> {
        // What lies on disks is encrypted then, which DataFusion does not do.
        let mode = match env.io_encryption_key {
            Some(_) => DiskManagerMode::Disabled,
            None => directories(env.local_dirs.dirs()),
        };
        let disks = DiskManagerBuilder::default()
            .with_mode(mode)
            .with_max_temp_directory_size(u64::MAX)
            .build()?;
        let mut config = SessionConfig::new()
            .with_batch_size(BATCH_SIZE)
            .with_target_partitions(1)
            .with_repartition_joins(false)
            .with_repartition_aggregations(false)
            .with_repartition_sorts(false)
            .with_repartition_windows(false)
            .with_repartition_file_scans(false);
        let options = config.options_mut();
        options.execution.enable_file_stream_work_stealing = false;
        options.execution.sort_spill_reservation_bytes = SORT_RESERVATION;
        options.execution.spill_compression = SpillCompression::Lz4Frame;
        Ok(Self {
            disks: Arc::new(disks),
            config,
        })
    }

    /// For one attempt.
    ///
    /// # Errors
    /// Not seen.
    pub(super) fn task(
        &self,
        task_id: i64,
        memory: Arc<dyn MemoryPool>,
    ) -> Result<Arc<DataFusionContext>> {
        // Something else may have removed them, such as a cleaner of temporary files.
        for dir in self.disks.temp_dir_paths() {
            if !dir.exists() {
                std::fs::create_dir_all(dir)?;
            }
        }
        let mut runtime: RuntimeEnv = RuntimeEnvBuilder::new().with_memory_pool(memory).build()?;
        runtime.disk_manager = Arc::clone(&self.disks);
        Ok(Arc::new(DataFusionContext::new(
            Some(task_id.to_string()),
            String::new(),
            self.config.clone(),
            Default::default(),
            Default::default(),
            Default::default(),
            Default::default(),
            Arc::new(runtime),
        )))
    }
}

/// Those directories that can be written to.
fn directories(dirs: &[PathBuf]) -> DiskManagerMode {
    let usable = |dir: &&PathBuf| {
        let mode = DiskManagerMode::Directories(vec![dir.to_path_buf()]);
        let tried = DiskManagerBuilder::default().with_mode(mode).build();
        if let Err(error) = &tried {
            tracing::warn!("Nothing is spilled to {}: {error}", dir.display());
        }
        tried.is_ok()
    };
    let usable: Vec<PathBuf> = dirs.iter().filter(usable).cloned().collect();
    match usable.is_empty() {
        true => DiskManagerMode::Disabled,
        false => DiskManagerMode::Directories(usable),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_directories_that_can_be_written_to_are_used() {
        let good = tempfile::tempdir().unwrap();
        let bad = good.path().join("missing");
        std::fs::write(&bad, "a file").unwrap();
        let good = good.path().to_path_buf();
        match directories(&[bad.clone(), good.clone()]) {
            DiskManagerMode::Directories(found) => assert_eq!(found, [good]),
            other => panic!("{other:?}"),
        }
        assert!(matches!(directories(&[bad]), DiskManagerMode::Disabled));
    }
}
