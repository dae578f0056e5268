//! The settings of shuffles.

use super::super::checksum::Algorithm;
use crate::config::{SettingError, SparkProperties, declared};
use wire::map_status_rules::MapStatusRules;

/// How native lanes write rows of Spark SQL to shuffles: `spark.firesteel.shuffle.format`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShuffleFormat {
    /// As Spark does.
    Rows,
    /// As columns, until rows of a shuffle are wanted.
    Auto,
    /// As columns, also if rows of other outputs of a shuffle are wanted.
    Columns,
}

impl ShuffleFormat {
    /// What the setting says, if nobody but executors reads the files, and they read them as they lie there: rows where
    /// an external shuffle service serves them, blocks are asked for by name, or what lies on disks is encrypted.
    fn new(conf: &SparkProperties, plain_files: bool) -> Result<Self, SettingError> {
        let format = match conf.text(&declared::SHUFFLE_FORMAT).as_str() {
            "auto" => Self::Auto,
            "rows" => Self::Rows,
            "columns" => Self::Columns,
            other => {
                return Err(SettingError::Invalid {
                    key: declared::SHUFFLE_FORMAT.key.to_owned(),
                    value: other.to_owned(),
                    expected: "auto, rows or columns".to_owned(),
                });
            }
        };
        let encrypted = conf.switch(&declared::IO_ENCRYPTION_ENABLED)?;
        match plain_files && !encrypted {
            true => Ok(format),
            false => Ok(Self::Rows),
        }
    }
}

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
    /// How rows of Spark SQL are written.
    pub format: ShuffleFormat,
    /// Records after which a writer goes to disk, whatever memory there is:
    /// `spark.shuffle.spill.numElementsForceSpillThreshold`.
    pub force_spill: u64,
}

impl ShuffleConf {
    /// Reads the settings.
    ///
    /// # Errors
    /// A setting that cannot be understood.
    pub fn new(conf: &SparkProperties) -> Result<Self, SettingError> {
        let algorithm = conf.text(&declared::CHECKSUM_ALGORITHM).to_uppercase();
        let algorithm = Algorithm::parse(&algorithm).ok_or_else(|| SettingError::Invalid {
            key: declared::CHECKSUM_ALGORITHM.key.to_owned(),
            value: algorithm,
            expected: "ADLER32, CRC32 or CRC32C".to_owned(),
        })?;
        let service = conf.switch(&declared::SHUFFLE_SERVICE_ENABLED)?;
        let old_fetch_protocol = conf.switch(&declared::USE_OLD_FETCH_PROTOCOL)?;
        let service_acts = conf.switch(&declared::SHUFFLE_SERVICE_REMOVE_SHUFFLE)?
            || conf.switch(&declared::SHUFFLE_SERVICE_FETCH_RDD)?;
        Ok(Self {
            max_size_in_flight: conf.size(&declared::MAX_SIZE_IN_FLIGHT)?,
            max_reqs_in_flight: conf.number(&declared::MAX_REQS_IN_FLIGHT)?,
            max_blocks_per_address: conf.number(&declared::MAX_BLOCKS_IN_FLIGHT_PER_ADDRESS)?,
            max_request_in_memory: conf.size(&declared::MAX_REMOTE_BLOCK_IN_MEMORY)?,
            detect_corrupt: conf.switch(&declared::DETECT_CORRUPT)?,
            detect_corrupt_ahead: conf.switch(&declared::DETECT_CORRUPT_AHEAD)?,
            checksum: conf
                .switch(&declared::CHECKSUM_ENABLED)?
                .then_some(algorithm),
            read_host_local: conf.switch(&declared::READ_HOST_LOCAL_DISK)? && !old_fetch_protocol,
            old_fetch_protocol,
            external_service_port: match service {
                true => Some(conf.number(&declared::SHUFFLE_SERVICE_PORT)?),
                false => None,
            },
            open_permissions: service && service_acts,
            sub_directories: conf.number(&declared::SUB_DIRECTORIES)?,
            sync: conf.switch(&declared::SHUFFLE_SYNC)?,
            map_status: MapStatusRules {
                highly_compress_above: conf.number(&declared::HIGHLY_COMPRESS_ABOVE)?,
                accurate_block_threshold: i64::try_from(
                    conf.size(&declared::ACCURATE_BLOCK_THRESHOLD)?,
                )
                .unwrap_or(i64::MAX),
                accurate_block_skewed_factor: conf
                    .decimal(&declared::ACCURATE_BLOCK_SKEWED_FACTOR)?,
                max_accurate_skewed_blocks: conf.number(&declared::MAX_ACCURATE_SKEWED_BLOCKS)?,
            },
            format: ShuffleFormat::new(conf, !service && !old_fetch_protocol)?,
            force_spill: conf.number(&declared::FORCE_SPILL_THRESHOLD)?,
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
        assert_eq!(conf.format, ShuffleFormat::Auto);
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
    fn files_that_others_read_have_rows() {
        let format = |value, more| {
            let pairs = [("spark.firesteel.shuffle.format", value), more];
            conf(&pairs).unwrap().format
        };
        for (value, expected) in [
            ("auto", ShuffleFormat::Auto),
            ("rows", ShuffleFormat::Rows),
            ("columns", ShuffleFormat::Columns),
        ] {
            assert_eq!(format(value, ("spark.app.name", "x")), expected);
            for rows in [
                "spark.shuffle.service.enabled",
                "spark.shuffle.useOldFetchProtocol",
                "spark.io.encryption.enabled",
            ] {
                assert_eq!(format(value, (rows, "true")), ShuffleFormat::Rows, "{rows}");
            }
        }
    }

    #[test]
    fn nonsense_is_refused() {
        assert!(conf(&[("spark.firesteel.shuffle.format", "parquet")]).is_err());
        assert!(conf(&[("spark.shuffle.checksum.algorithm", "md5")]).is_err());
        assert!(conf(&[("spark.reducer.maxReqsInFlight", "0")]).is_err());
    }
}
