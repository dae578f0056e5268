use super::{ResourceProfile, message};
use javaser::types::JavaBytes;
use serde::{Deserialize, Serialize};

/// The configuration of the application: the driver's reply to
/// [`RetrieveSparkAppConfig`](super::RetrieveSparkAppConfig).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "Java", into = "Java")]
pub struct SparkAppConfig {
    /// Every setting of the driver whose name starts with `spark.`.
    pub spark_properties: Vec<(String, String)>,
    /// Key for files on local disks, if `spark.io.encryption.enabled`.
    pub io_encryption_key: Option<Vec<u8>>,
    /// Hadoop's token storage stream.
    pub hadoop_delegation_creds: Option<Vec<u8>>,
    /// The profile that was asked for.
    pub resource_profile: ResourceProfile,
    /// A Log4j level that `SparkContext.setLogLevel` has set (from Spark 4.0).
    pub log_level: Option<String>,
}

message!(
    SparkAppConfig,
    "org.apache.spark.scheduler.cluster.CoarseGrainedClusterMessages$SparkAppConfig"
);

#[derive(Serialize, Deserialize)]
#[serde(
    rename = "org.apache.spark.scheduler.cluster.CoarseGrainedClusterMessages$SparkAppConfig",
    rename_all = "camelCase"
)]
struct Java {
    spark_properties: Vec<(String, String)>,
    io_encryption_key: Option<JavaBytes>,
    hadoop_delegation_creds: Option<JavaBytes>,
    resource_profile: ResourceProfile,
    log_level: Option<String>,
}

impl From<Java> for SparkAppConfig {
    fn from(java: Java) -> Self {
        Self {
            spark_properties: java.spark_properties,
            io_encryption_key: java.io_encryption_key.map(|key| key.0),
            hadoop_delegation_creds: java.hadoop_delegation_creds.map(|creds| creds.0),
            resource_profile: java.resource_profile,
            log_level: java.log_level,
        }
    }
}

impl From<SparkAppConfig> for Java {
    fn from(config: SparkAppConfig) -> Self {
        Self {
            spark_properties: config.spark_properties,
            io_encryption_key: config.io_encryption_key.map(JavaBytes),
            hadoop_delegation_creds: config.hadoop_delegation_creds.map(JavaBytes),
            resource_profile: config.resource_profile,
            log_level: config.log_level,
        }
    }
}
