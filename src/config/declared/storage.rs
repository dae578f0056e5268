//! Properties of blocks, broadcasts and decommissioning.

use super::super::units::{SizeUnit, TimeUnit};
use super::DefaultValue::{Changed, From, Is, Unset};
use super::{Effect, Property, Size, Switch, Text, Time, Whole, declarations};

declarations! { Storage:
    /// Directories below which an executor keeps its files, unless the cluster manager names others.
    LOCAL_DIR: Property<Text> = Property::new(
        "spark.local.dir",
        Text,
        From("the JVM's `java.io.tmpdir`, else `/tmp`"),
    );

    /// Subdirectories of each local directory.
    SUB_DIRECTORIES: Property<Whole> =
        Property::new("spark.diskStore.subDirectories", Whole { least: 1, most: 1 << 16 }, Is("64"));

    /// Bytes of memory that are asked for before the first record of a block is made.
    UNROLL_MEMORY_THRESHOLD: Property<Whole> = Property::new(
        "spark.storage.unrollMemoryThreshold",
        Whole { least: 1, most: i64::MAX as i128 },
        Is("1048576"),
    );

    /// Failed fetches of a block after which the driver is asked again who has it.
    FAILURES_BEFORE_LOCATION_REFRESH: Property<Whole> = Property::new(
        "spark.block.failures.beforeLocationRefresh",
        Whole { least: 1, most: i32::MAX as i128 },
        Is("5"),
    );

    /// Whether cached partitions are used only if the task that made them has succeeded.
    RDD_VISIBILITY_TRACKING: Property<Switch> =
        Property::new("spark.rdd.cache.visibilityTracking.enabled", Switch, Is("false"));

    /// Refused copies of a block after which no more executors are tried.
    MAX_REPLICATION_FAILURES: Property<Whole> = Property::new(
        "spark.storage.maxReplicationFailures",
        Whole { least: 0, most: u32::MAX as i128 },
        Is("1"),
    );

    /// Whether serialized cached partitions are compressed.
    RDD_COMPRESS: Property<Switch> =
        Property::new("spark.rdd.compress", Switch, Changed("false", &[((4, 3), "true")]));

    /// Whether broadcasts are compressed.
    BROADCAST_COMPRESS: Property<Switch> =
        Property::new("spark.broadcast.compress", Switch, Is("true"));

    /// Whether files of checkpoints are compressed.
    CHECKPOINT_COMPRESS: Property<Switch> =
        Property::new("spark.checkpoint.compress", Switch, Changed("false", &[((4, 1), "true")]));

    /// Whether a leaving executor moves its blocks to others.
    STORAGE_DECOMMISSION_ENABLED: Property<Switch> =
        Property::new("spark.storage.decommission.enabled", Switch, Is("false"));

    /// Whether a leaving executor moves cached partitions.
    MIGRATE_RDD_BLOCKS: Property<Switch> =
        Property::new("spark.storage.decommission.rddBlocks.enabled", Switch, Is("true"));

    /// Whether a leaving executor moves files of shuffles.
    MIGRATE_SHUFFLE_BLOCKS: Property<Switch> =
        Property::new("spark.storage.decommission.shuffleBlocks.enabled", Switch, Is("true"));

    /// Executors that are given files of shuffles at a time.
    SHUFFLE_MIGRATION_THREADS: Property<Whole> = Property::new(
        "spark.storage.decommission.shuffleBlocks.maxThreads",
        Whole { least: 1, most: 1000 },
        Is("8"),
    );

    /// Bytes of shuffle files above which none are taken from leaving executors.
    MAX_SHUFFLE_DISK: Property<Size> = Property::new(
        "spark.storage.decommission.shuffleBlocks.maxDiskSize",
        Size(SizeUnit::Bytes),
        Unset,
    );

    /// Refused copies of a block of a leaving executor after which no more executors are tried.
    MAX_MIGRATION_FAILURES: Property<Whole> = Property::new(
        "spark.storage.decommission.maxReplicationFailuresPerBlock",
        Whole { least: 0, most: u32::MAX as i128 },
        Is("3"),
    );

    /// Pause after which a leaving executor looks again for blocks to move.
    MIGRATION_INTERVAL: Property<Time> = Property::new(
        "spark.storage.decommission.replicationReattemptInterval",
        Time(TimeUnit::Millis),
        Is("30s"),
    );

    /// A directory of a file system of Hadoop's for blocks that no executor takes.
    FALLBACK_STORAGE_PATH: Property<Text> =
        Property::new("spark.storage.decommission.fallbackStorage.path", Text, Unset)
            .effect(Effect::Jvm("a leaving executor creates a JVM that moves the files of shuffles"));
}
