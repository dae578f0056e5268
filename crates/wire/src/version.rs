//! What a distribution's control messages look like, as far as versions differ.

/// The differences between versions that this crate's hand-written formats depend on.
///
/// Differences of Java classes (fields, `serialVersionUID`s) are not here: those the encoder takes from the
/// class catalog for each message.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct WireVersion {
    /// The version the distribution gives itself, for messages to people; `unknown` if it has none.
    pub spark_version: String,
    /// Objects are written as Scala 2.13 does (module and collection proxies) rather than as 2.12 does.
    pub scala_213: bool,
    /// `TaskDescription.cpus` is decimal text and `StatusUpdate.taskCpus` a `BigDecimal` (from 4.3).
    pub decimal_cpus: bool,
    /// Custom resources have an amount per address (from 4.0).
    pub resource_amounts: bool,
    /// `CompressedMapStatus` and `HighlyCompressedMapStatus` end with a checksum (from 4.1).
    pub map_status_checksum: bool,
    /// `UpdateBlockInfo` ends with an optional checksum (from 4.3).
    pub block_info_checksum: bool,
    /// How many of [`EXECUTOR_METRICS`] an `ExecutorMetrics` holds.
    pub executor_metrics: usize,
}

/// Names of the values of `ExecutorMetrics.metrics`, in their order. Spark 3.5 has the first 21.
pub const EXECUTOR_METRICS: [&str; 23] = [
    "JVMHeapMemory",
    "JVMOffHeapMemory",
    "OnHeapExecutionMemory",
    "OffHeapExecutionMemory",
    "OnHeapStorageMemory",
    "OffHeapStorageMemory",
    "OnHeapUnifiedMemory",
    "OffHeapUnifiedMemory",
    "DirectPoolMemory",
    "MappedPoolMemory",
    "ProcessTreeJVMVMemory",
    "ProcessTreeJVMRSSMemory",
    "ProcessTreePythonVMemory",
    "ProcessTreePythonRSSMemory",
    "ProcessTreeOtherVMemory",
    "ProcessTreeOtherRSSMemory",
    "MinorGCCount",
    "MinorGCTime",
    "MajorGCCount",
    "MajorGCTime",
    "TotalGCTime",
    "ConcurrentGCCount",
    "ConcurrentGCTime",
];

impl WireVersion {
    /// The formats of Spark 3.5, where no distribution is at hand: tests and decoding of captures.
    pub fn oldest() -> Self {
        Self {
            spark_version: "3.5".to_owned(),
            scala_213: false,
            decimal_cpus: false,
            resource_amounts: false,
            map_status_checksum: false,
            block_info_checksum: false,
            executor_metrics: 21,
        }
    }

    /// The formats of Spark 4.3, where no distribution is at hand: tests and decoding of captures.
    pub fn newest() -> Self {
        Self {
            spark_version: "4.3".to_owned(),
            scala_213: true,
            decimal_cpus: true,
            resource_amounts: true,
            map_status_checksum: true,
            block_info_checksum: true,
            executor_metrics: EXECUTOR_METRICS.len(),
        }
    }
}
