//! Settings of the stores, under Spark's names.

use std::time::Duration;

use crate::config::{SettingError, SparkProperties, declared};

/// What a [`super::BlockManager`] and its [`super::Decommissioner`] are told by the application.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreSettings {
    /// `spark.storage.unrollMemoryThreshold`: bytes that are asked for before the first record of a block is made.
    pub unroll_threshold: u64,
    /// `spark.block.failures.beforeLocationRefresh`: after how many failures the driver is asked again who has a block.
    pub refresh_after: usize,
    /// `spark.rdd.cache.visibilityTracking.enabled`
    pub track_visibility: bool,
    /// `spark.storage.maxReplicationFailures`: refused copies of a block after which no more executors are tried.
    pub max_replication_failures: u32,
    /// `spark.storage.decommission.maxReplicationFailuresPerBlock`: the same for blocks that leave a decommissioned
    /// executor.
    pub max_migration_failures: u32,
    /// `spark.storage.decommission.replicationReattemptInterval`
    pub migration_interval: Duration,
    /// `spark.storage.decommission.rddBlocks.enabled`
    pub migrate_rdd_blocks: bool,
    /// `spark.storage.decommission.shuffleBlocks.enabled`
    pub migrate_shuffle_blocks: bool,
    /// `spark.storage.decommission.shuffleBlocks.maxThreads`: executors that are given shuffle files at a time.
    pub migration_threads: usize,
    /// `spark.storage.decommission.shuffleBlocks.maxDiskSize`: bytes of shuffle files above which none are taken from
    /// others.
    pub max_shuffle_disk: Option<u64>,
    /// Whether the external shuffle service reads files of blocks: `spark.shuffle.service.fetch.rdd.enabled`.
    pub service_reads: bool,
    /// Whether it removes files (that, or `spark.shuffle.service.removeShuffle`).
    pub service_removes: bool,
}

impl StoreSettings {
    /// Settings from Spark properties; what is not set has Spark's default.
    ///
    /// # Errors
    /// A setting that cannot be understood.
    pub fn from_conf(conf: &SparkProperties) -> Result<Self, SettingError> {
        let max_shuffle_disk = conf.optional(&declared::MAX_SHUFFLE_DISK)?;
        let service = conf.switch(&declared::SHUFFLE_SERVICE_ENABLED)?;
        let service_reads = service && conf.switch(&declared::SHUFFLE_SERVICE_FETCH_RDD)?;
        let service_removes = service && conf.switch(&declared::SHUFFLE_SERVICE_REMOVE_SHUFFLE)?;
        Ok(Self {
            unroll_threshold: conf.number(&declared::UNROLL_MEMORY_THRESHOLD)?,
            refresh_after: conf.number(&declared::FAILURES_BEFORE_LOCATION_REFRESH)?,
            track_visibility: conf.switch(&declared::RDD_VISIBILITY_TRACKING)?,
            max_replication_failures: conf.number(&declared::MAX_REPLICATION_FAILURES)?,
            max_migration_failures: conf.number(&declared::MAX_MIGRATION_FAILURES)?,
            migration_interval: conf.time(&declared::MIGRATION_INTERVAL)?,
            migrate_rdd_blocks: conf.switch(&declared::MIGRATE_RDD_BLOCKS)?,
            migrate_shuffle_blocks: conf.switch(&declared::MIGRATE_SHUFFLE_BLOCKS)?,
            migration_threads: conf.number(&declared::SHUFFLE_MIGRATION_THREADS)?,
            max_shuffle_disk,
            service_reads,
            service_removes: service_reads || service_removes,
        })
    }
}
