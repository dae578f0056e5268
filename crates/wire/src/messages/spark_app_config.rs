use super::ResourceProfile;

/// The configuration of the application: the driver's reply to
/// [`RetrieveSparkAppConfig`](super::RetrieveSparkAppConfig).
#[derive(Debug, Clone, PartialEq)]
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
