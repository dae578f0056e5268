//! The settings of shuffles.

use super::super::checksum::Algorithm;
use crate::config::units::SizeUnit;
use crate::config::{SettingError, SparkProperties};
use wire::map_status_rules::MapStatusRules;

/// What reading and writing shuffles obeys.
#[derive(Debug, Clone)]
pub struct ShuffleConf {
    /// Bytes that are on their way to one reader: `spark.reducer.maxSizeInFlight`.
    pub max_size_in_flight: u64,
    /// Requests of one reader that are open: `spark.reducer.maxReqsInFlight`.
    pub max_reqs_in_flight: usize,
    /// Blocks of one address that are asked for: `spark.reducer.maxBlocksInFlightPerAddress`.
    pub max_blocks_per_address: usize,
    /// Requests for more bytes go to disk: `spark.network.maxRemoteBlockSizeFetchToMem`.
    pub max_request_in_memory: u64,
    /// Whether damage is reported as a failed fetch: `spark.shuffle.detectCorrupt`.
    pub detect_corrupt: bool,
    /// Whether the beginning of every block is unpacked in advance: `spark.shuffle.detectCorrupt.useExtraMemory`.
    pub detect_corrupt_ahead: bool,
    /// Checksums of segments: `spark.shuffle.checksum.enabled` and `.algorithm`.
    pub checksum: Option<Algorithm>,
    /// Whether files of other executors on this host are read directly: `spark.shuffle.readHostLocalDisk`.
    pub read_host_local: bool,
    /// Whether blocks are asked for by name, and map ids are map partitions: `spark.shuffle.useOldFetchProtocol`.
    pub old_fetch_protocol: bool,
    /// Port of the external shuffle service on every host, if one serves the files.
    pub external_service_port: Option<u16>,
    /// Whether files may be removed or read by the external shuffle service, another user.
    pub open_permissions: bool,
    /// Subdirectories of local directories: `spark.diskStore.subDirectories`.
    pub sub_directories: u32,
    /// Whether written files are forced to disk: `spark.shuffle.sync`.
    pub sync: bool,
    /// How exact the sizes are that a map task reports.
    pub map_status: MapStatusRules,
    /// Records after which a writer goes to disk, whatever memory there is: `spark.shuffle.spill.numElementsForceSpillThreshold`.
    pub force_spill: u64,
}

impl ShuffleConf {
    /// Reads the settings.
    ///
    /// # Errors
    /// A setting that cannot be understood.
    pub fn new(conf: &SparkProperties) -> Result<Self, SettingError> {
        const ALGORITHM: &str = "spark.shuffle.checksum.algorithm";
        let most = usize::MAX >> 1;
        let rules = MapStatusRules::default();
        let algorithm = conf.text(ALGORITHM, "ADLER32").to_uppercase();
        let algorithm = Algorithm::parse(&algorithm).ok_or_else(|| SettingError::Invalid {
            key: ALGORITHM.to_owned(),
            value: algorithm,
            expected: "ADLER32, CRC32 or CRC32C".to_owned(),
        })?;
        let service = conf.switch("spark.shuffle.service.enabled", false)?;
        let old_fetch_protocol = conf.switch("spark.shuffle.useOldFetchProtocol", false)?;
        let service_acts = conf.switch("spark.shuffle.service.removeShuffle", false)?
            || conf.switch("spark.shuffle.service.fetch.rdd.enabled", false)?;
        Ok(Self {
            max_size_in_flight: conf.size(
                "spark.reducer.maxSizeInFlight",
                48 << 20,
                SizeUnit::Mib,
            )?,
            max_reqs_in_flight: conf.number("spark.reducer.maxReqsInFlight", most, 1, most)?,
            max_blocks_per_address: conf.number(
                "spark.reducer.maxBlocksInFlightPerAddress",
                most,
                1,
                most,
            )?,
            max_request_in_memory: conf.size(
                "spark.network.maxRemoteBlockSizeFetchToMem",
                200 << 20,
                SizeUnit::Bytes,
            )?,
            detect_corrupt: conf.switch("spark.shuffle.detectCorrupt", true)?,
            detect_corrupt_ahead: conf
                .switch("spark.shuffle.detectCorrupt.useExtraMemory", false)?,
            checksum: conf
                .switch("spark.shuffle.checksum.enabled", true)?
                .then_some(algorithm),
            read_host_local: conf.switch("spark.shuffle.readHostLocalDisk", true)?
                && !old_fetch_protocol,
            old_fetch_protocol,
            external_service_port: match service {
                true => Some(conf.number("spark.shuffle.service.port", 7337, 1, u16::MAX)?),
                false => None,
            },
            open_permissions: service && service_acts,
            sub_directories: conf.number("spark.diskStore.subDirectories", 64, 1, 1 << 16)?,
            sync: conf.switch("spark.shuffle.sync", false)?,
            map_status: MapStatusRules {
                highly_compress_above: conf.number(
                    "spark.shuffle.minNumPartitionsToHighlyCompress",
                    rules.highly_compress_above,
                    0,
                    most,
                )?,
                accurate_block_threshold: i64::try_from(conf.size(
                    "spark.shuffle.accurateBlockThreshold",
                    100 << 20,
                    SizeUnit::Bytes,
                )?)
                .unwrap_or(i64::MAX),
                accurate_block_skewed_factor: conf.number(
                    "spark.shuffle.accurateBlockSkewedFactor",
                    rules.accurate_block_skewed_factor,
                    f64::MIN,
                    f64::MAX,
                )?,
                max_accurate_skewed_blocks: conf.number(
                    "spark.shuffle.maxAccurateSkewedBlockNumber",
                    rules.max_accurate_skewed_blocks,
                    1,
                    most,
                )?,
            },
            force_spill: conf.number(
                "spark.shuffle.spill.numElementsForceSpillThreshold",
                i32::MAX as u64,
                1,
                i32::MAX as u64,
            )?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn conf(pairs: &[(&'static str, &'static str)]) -> Result<ShuffleConf, SettingError> {
        ShuffleConf::new(&SparkProperties::from_launch(pairs.iter().copied(), []))
    }

    #[test]
    fn defaults_are_sparks() {
        let conf = conf(&[]).unwrap();
        assert_eq!(conf.max_size_in_flight, 48 << 20);
        assert_eq!(conf.checksum, Some(Algorithm::Adler32));
        assert_eq!(conf.map_status, MapStatusRules::default());
        assert!(conf.read_host_local && !conf.open_permissions);
        assert_eq!(conf.external_service_port, None);
    }

    #[test]
    fn settings_are_read() {
        let conf = conf(&[
            ("spark.reducer.maxSizeInFlight", "1"),
            ("spark.shuffle.checksum.algorithm", "crc32c"),
            ("spark.shuffle.service.enabled", "true"),
            ("spark.shuffle.service.removeShuffle", "true"),
            ("spark.shuffle.useOldFetchProtocol", "true"),
        ])
        .unwrap();
        assert_eq!(conf.max_size_in_flight, 1 << 20);
        assert_eq!(conf.checksum, Some(Algorithm::Crc32c));
        assert_eq!(conf.external_service_port, Some(7337));
        assert!(conf.open_permissions && !conf.read_host_local);
    }

    #[test]
    fn nonsense_is_refused() {
        assert!(conf(&[("spark.shuffle.checksum.algorithm", "md5")]).is_err());
        assert!(conf(&[("spark.reducer.maxReqsInFlight", "0")]).is_err());
    }
}
