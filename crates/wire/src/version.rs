//! What a distribution's control messages look like, as far as versions differ.

use crate::WireError;
use crate::messages::StatusUpdate;
use javaser::{Catalog, ScalaVersion};

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

/// What the distribution calls itself, for messages.
pub(crate) fn spark_version(catalog: &Catalog) -> String {
    catalog
        .spark_version()
        .unwrap_or_else(|_| "unknown".to_owned())
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
    /// Learns the formats from the classes of a distribution, not from its version number.
    ///
    /// # Errors
    /// [`WireError::Unsupported`] with the class that is missing or of an unknown form.
    pub fn detect(catalog: &Catalog) -> Result<Self, WireError> {
        let spark_version = spark_version(catalog);
        let unsupported = |class: &str, why: String| WireError::Unsupported {
            class: class.to_owned(),
            version: spark_version.clone(),
            why,
        };
        let status_update = catalog
            .lookup(StatusUpdate::CLASS)
            .map_err(|error| unsupported(StatusUpdate::CLASS, error.to_string()))?;
        let task_cpus = status_update
            .fields
            .iter()
            .find(|field| field.name == "taskCpus");
        let decimal_cpus = match task_cpus.map(|field| field.signature.as_str()) {
            Some("I") => false,
            Some("Lscala/math/BigDecimal;") => true,
            other => {
                let why = format!(
                    "field taskCpus has the type {}",
                    other.unwrap_or("of no field")
                );
                return Err(unsupported(StatusUpdate::CLASS, why));
            }
        };
        // The other formats are written by hand, so no descriptor tells them apart; but the names that the class
        // itself uses do.
        let mentions = |class: &str, word: &str| {
            let mentions = catalog.mentions(class, word);
            mentions.ok_or_else(|| unsupported(class, "it is missing".to_owned()))
        };
        let has_concurrent_gc = mentions(
            "org.apache.spark.metrics.GarbageCollectionMetrics$",
            "ConcurrentGCCount",
        )?;
        Ok(Self {
            scala_213: catalog.scala_version() == ScalaVersion::V2_13,
            decimal_cpus,
            resource_amounts: !mentions(
                "org.apache.spark.scheduler.TaskDescription",
                "ResourceInformation",
            )?,
            map_status_checksum: mentions(
                "org.apache.spark.scheduler.CompressedMapStatus",
                "checksum",
            )?,
            block_info_checksum: mentions(
                "org.apache.spark.storage.BlockManagerMessages$UpdateBlockInfo",
                "checksum",
            )?,
            executor_metrics: match has_concurrent_gc {
                true => EXECUTOR_METRICS.len(),
                false => EXECUTOR_METRICS.len() - 2,
            },
            spark_version,
        })
    }

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_vectors::catalog;
    use testkit::{NEWEST, OLDEST, VERSIONS, is_since};

    #[test]
    fn every_distribution_is_known() {
        let oldest = WireVersion {
            spark_version: OLDEST.into(),
            ..WireVersion::oldest()
        };
        let newest = WireVersion {
            spark_version: NEWEST.into(),
            ..WireVersion::newest()
        };
        assert_eq!(WireVersion::detect(catalog(OLDEST)).unwrap(), oldest);
        assert_eq!(WireVersion::detect(catalog(NEWEST)).unwrap(), newest);
        let [_, middle @ .., _] = VERSIONS;
        for version in middle {
            let between = WireVersion {
                spark_version: version.into(),
                decimal_cpus: is_since(version, "4.3"),
                block_info_checksum: is_since(version, "4.3"),
                map_status_checksum: is_since(version, "4.1"),
                ..WireVersion::newest()
            };
            assert_eq!(WireVersion::detect(catalog(version)).unwrap(), between);
        }
    }

    #[test]
    fn a_class_path_without_spark_is_an_error_that_names_the_class() {
        let empty = Catalog::from_class_path(&[]).unwrap();
        let error = WireVersion::detect(&empty).unwrap_err();
        assert!(
            matches!(&error, WireError::Unsupported { class, .. } if class == StatusUpdate::CLASS),
            "{error}"
        );
    }
}
