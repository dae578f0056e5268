//! Properties of shuffles.

use super::super::LaneName::{Python, Sql};
use super::super::units::{SizeUnit, TimeUnit};
use super::DefaultValue::{Changed, Is};
use super::property::is;
use super::{
    Decimal, Effect, KnownValues, Property, Size, Switch, Text, Time, Whole, declarations,
};

/// The class of Spark's own shuffle manager.
pub const SORT_SHUFFLE_MANAGER: &str = "org.apache.spark.shuffle.sort.SortShuffleManager";
/// The class that keeps files of Spark's own shuffles on local disks.
pub const LOCAL_DISK_SHUFFLE: &str = "org.apache.spark.shuffle.sort.io.LocalDiskShuffleDataIO";
/// Short names of Spark's own shuffle manager.
pub const SORT_SHUFFLE_NAMES: [&str; 2] = ["sort", "tungsten-sort"];
const MANAGERS: &[&str] = &["sort", "tungsten-sort", SORT_SHUFFLE_MANAGER];
/// The largest number of anything in memory.
const MOST: i128 = (usize::MAX >> 1) as i128;

declarations! { Shuffle:
    /// What shuffles data between tasks.
    SHUFFLE_MANAGER: Property<Text> = Property::new("spark.shuffle.manager", Text, Is("sort"))
        .effect(Effect::KnownValues(&[
            KnownValues { lane: Python, values: MANAGERS, reason: is },
            KnownValues { lane: Sql, values: MANAGERS, reason: is },
        ]));

    /// What keeps files of shuffles.
    SHUFFLE_IO_PLUGIN: Property<Text> =
        Property::new("spark.shuffle.sort.io.plugin.class", Text, Is(LOCAL_DISK_SHUFFLE))
            .effect(Effect::KnownValues(&[
                KnownValues { lane: Python, values: &[LOCAL_DISK_SHUFFLE], reason: is },
                KnownValues { lane: Sql, values: &[LOCAL_DISK_SHUFFLE], reason: is },
            ]));

    /// Whether files of shuffles are compressed.
    SHUFFLE_COMPRESS: Property<Switch> = Property::new("spark.shuffle.compress", Switch, Is("true"));

    /// Whether what tasks spill is compressed.
    SHUFFLE_SPILL_COMPRESS: Property<Switch> =
        Property::new("spark.shuffle.spill.compress", Switch, Is("true"));

    /// Bytes that are on their way to one reader.
    MAX_SIZE_IN_FLIGHT: Property<Size> =
        Property::new("spark.reducer.maxSizeInFlight", Size(SizeUnit::Mib), Is("48m"));

    /// Requests of one reader that are open.
    MAX_REQS_IN_FLIGHT: Property<Whole> = Property::new(
        "spark.reducer.maxReqsInFlight",
        Whole { least: 1, most: MOST },
        Is("2147483647"),
    );

    /// Blocks of one address that one reader has asked for.
    MAX_BLOCKS_IN_FLIGHT_PER_ADDRESS: Property<Whole> = Property::new(
        "spark.reducer.maxBlocksInFlightPerAddress",
        Whole { least: 1, most: MOST },
        Is("2147483647"),
    );

    /// Whether damage in a fetched block is a failed fetch.
    DETECT_CORRUPT: Property<Switch> =
        Property::new("spark.shuffle.detectCorrupt", Switch, Is("true"));

    /// Whether the beginning of every fetched block is unpacked in advance.
    DETECT_CORRUPT_AHEAD: Property<Switch> =
        Property::new("spark.shuffle.detectCorrupt.useExtraMemory", Switch, Is("false"));

    /// Whether files of shuffles have checksums.
    CHECKSUM_ENABLED: Property<Switch> =
        Property::new("spark.shuffle.checksum.enabled", Switch, Is("true"));

    /// The checksums: `ADLER32`, `CRC32` or `CRC32C`.
    CHECKSUM_ALGORITHM: Property<Text> =
        Property::new("spark.shuffle.checksum.algorithm", Text, Is("ADLER32"))
            .effect(Effect::NativeBut("another one stops the executor from starting"));

    /// Whether files of other executors on the same host are read directly.
    READ_HOST_LOCAL_DISK: Property<Switch> =
        Property::new("spark.shuffle.readHostLocalDisk", Switch, Is("true"));

    /// Whether blocks are asked for by name, as before Spark 3.0.
    USE_OLD_FETCH_PROTOCOL: Property<Switch> =
        Property::new("spark.shuffle.useOldFetchProtocol", Switch, Is("false"));

    /// Whether written files are forced to disk.
    SHUFFLE_SYNC: Property<Switch> = Property::new("spark.shuffle.sync", Switch, Is("false"));

    /// Records after which a writer goes to disk, whatever memory there is.
    FORCE_SPILL_THRESHOLD: Property<Whole> = Property::new(
        "spark.shuffle.spill.numElementsForceSpillThreshold",
        Whole { least: 1, most: i32::MAX as i128 },
        Is("2147483647"),
    );

    /// Partitions above which a map task reports its sizes less exactly.
    HIGHLY_COMPRESS_ABOVE: Property<Whole> = Property::new(
        "spark.shuffle.minNumPartitionsToHighlyCompress",
        Whole { least: 0, most: MOST },
        Is("2000"),
    );

    /// Bytes above which the size of a block is reported all the same.
    ACCURATE_BLOCK_THRESHOLD: Property<Size> = Property::new(
        "spark.shuffle.accurateBlockThreshold",
        Size(SizeUnit::Bytes),
        Is("104857600b"),
    );

    /// Multiple of the median size above which the size of a block is reported all the same; -1 is off.
    ACCURATE_BLOCK_SKEWED_FACTOR: Property<Decimal> = Property::new(
        "spark.shuffle.accurateBlockSkewedFactor",
        Decimal { least: f64::MIN, most: f64::MAX },
        Is("-1.0"),
    );

    /// How many such sizes are reported at most.
    MAX_ACCURATE_SKEWED_BLOCKS: Property<Whole> = Property::new(
        "spark.shuffle.maxAccurateSkewedBlockNumber",
        Whole { least: 1, most: MOST },
        Is("100"),
    );

    /// The codec of map outputs that the driver sends.
    MAP_STATUS_CODEC: Property<Text> =
        Property::new("spark.shuffle.mapStatus.compression.codec", Text, Is("zstd"))
            .effect(Effect::NativeBut(super::serialization::CODECS));

    /// Whether the external shuffle service of the host serves files of shuffles.
    SHUFFLE_SERVICE_ENABLED: Property<Switch> =
        Property::new("spark.shuffle.service.enabled", Switch, Is("false"));

    /// The port of the external shuffle service; on YARN, where it is not set, that of `yarn-site.xml`.
    SHUFFLE_SERVICE_PORT: Property<Whole> = Property::new(
        "spark.shuffle.service.port",
        Whole { least: 1, most: u16::MAX as i128 },
        Is("7337"),
    );

    /// How long the external shuffle service may take to register an executor.
    SHUFFLE_REGISTRATION_TIMEOUT: Property<Time> = Property::new(
        "spark.shuffle.registration.timeout",
        Time(TimeUnit::Millis),
        Is("5000ms"),
    );

    /// How often an executor tries to register with the external shuffle service.
    SHUFFLE_REGISTRATION_MAX_ATTEMPTS: Property<Whole> = Property::new(
        "spark.shuffle.registration.maxAttempts",
        Whole { least: 1, most: i32::MAX as i128 },
        Is("3"),
    );

    /// Whether the external shuffle service serves cached partitions on disk.
    SHUFFLE_SERVICE_FETCH_RDD: Property<Switch> =
        Property::new("spark.shuffle.service.fetch.rdd.enabled", Switch, Is("false"));

    /// Whether the external shuffle service removes files of shuffles.
    SHUFFLE_SERVICE_REMOVE_SHUFFLE: Property<Switch> = Property::new(
        "spark.shuffle.service.removeShuffle",
        Switch,
        Changed("false", &[((4, 0), "true")]),
    );
}
