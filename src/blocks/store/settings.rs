//! Settings of the stores, under Spark's names.

use std::time::Duration;

use crate::config::units::{SizeUnit, TimeUnit};
use crate::config::{SettingError, SparkProperties};

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
    /// `spark.storage.decommission.maxReplicationFailuresPerBlock`: the same for blocks that leave a decommissioned executor.
    pub max_migration_failures: u32,
    /// `spark.storage.decommission.replicationReattemptInterval`
    pub migration_interval: Duration,
    /// `spark.storage.decommission.rddBlocks.enabled`
    pub migrate_rdd_blocks: bool,
    /// `spark.storage.decommission.shuffleBlocks.enabled`
    pub migrate_shuffle_blocks: bool,
    /// `spark.storage.decommission.shuffleBlocks.maxThreads`: executors that are given shuffle files at a time.
    pub migration_threads: usize,
    /// `spark.storage.decommission.shuffleBlocks.maxDiskSize`: bytes of shuffle files above which none are taken from others.
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
        const MAX_DISK: &str = "spark.storage.decommission.shuffleBlocks.maxDiskSize";
        let max_shuffle_disk = match conf.contains(MAX_DISK) {
            true => Some(conf.size(MAX_DISK, 0, SizeUnit::Bytes)?),
            false => None,
        };
        let service = conf.switch("spark.shuffle.service.enabled", false)?;
        let service_reads =
            service && conf.switch("spark.shuffle.service.fetch.rdd.enabled", false)?;
        let service_removes =
            service && conf.switch("spark.shuffle.service.removeShuffle", false)?;
        Ok(Self {
            unroll_threshold: conf.number(
                "spark.storage.unrollMemoryThreshold",
                1 << 20,
                1,
                i64::MAX as u64,
            )?,
            refresh_after: conf.number(
                "spark.block.failures.beforeLocationRefresh",
                5,
                1,
                usize::MAX,
            )?,
            track_visibility: conf.switch("spark.rdd.cache.visibilityTracking.enabled", false)?,
            max_replication_failures: conf.number(
                "spark.storage.maxReplicationFailures",
                1,
                0,
                u32::MAX,
            )?,
            max_migration_failures: conf.number(
                "spark.storage.decommission.maxReplicationFailuresPerBlock",
                3,
                0,
                u32::MAX,
            )?,
            migration_interval: conf.time(
                "spark.storage.decommission.replicationReattemptInterval",
                Duration::from_secs(30),
                TimeUnit::Millis,
            )?,
            migrate_rdd_blocks: conf
                .switch("spark.storage.decommission.rddBlocks.enabled", true)?,
            migrate_shuffle_blocks: conf
                .switch("spark.storage.decommission.shuffleBlocks.enabled", true)?,
            migration_threads: conf.number(
                "spark.storage.decommission.shuffleBlocks.maxThreads",
                8,
                1,
                1000,
            )?,
            max_shuffle_disk,
            service_reads,
            service_removes: service_reads || service_removes,
        })
    }
}
