//! What a job's settings say of the files that it writes. Settings that change what is written are obeyed or refused
//! by their names; those that change only how fast it goes are not looked at.

use catalyst::{FileWrite, Unsupported, WrittenFormat};
use exec::write::{Codec, ParquetOptions, TimestampFormat};
use textfile::Compression;

use crate::config::declared::{self, Version};
use crate::files::{CommitAlgorithm, FileError, FilePath, HadoopConf, job_path, packed_by};

/// The columns of the files as Spark's JSON.
const COLUMNS: &str = "org.apache.spark.sql.parquet.row.attributes";

/// Settings of Parquet that writers obey.
const OBEYED: [&str; 3] = [CODEC, ROW_GROUP_BYTES, DICTIONARIES];
const CODEC: &str = "parquet.compression";
const ROW_GROUP_BYTES: &str = "parquet.block.size";
const DICTIONARIES: &str = "parquet.enable.dictionary";

/// Settings of Parquet that only readers, drivers or the memory of a JVM know, and those with one value that Spark
/// writes.
const NO_MATTER: [&str; 12] = [
    "parquet.dictionary.page.size",
    "parquet.enable.summary-metadata",
    "parquet.memory.min.chunk.size",
    "parquet.memory.pool.ratio",
    "parquet.page.row.count.limit",
    "parquet.page.size",
    "parquet.page.size.check.estimate",
    "parquet.page.size.row.check.max",
    "parquet.page.size.row.check.min",
    "parquet.page.value.count.threshold",
    "parquet.summary.metadata.level",
    "parquet.writer.max-padding",
];

/// Beginnings of the names of settings that only readers know.
const OF_READERS: [&str; 4] = [
    "parquet.filter.",
    "parquet.private.read.",
    "parquet.read.",
    "parquet.strict.",
];

/// Settings that have one of these values, or must not be set if there is none, and whether Spark always sets them.
type Expected<'a> = [(&'a str, bool, &'a [&'a str])];

/// Those of files of lines.
const EXPECTED_OF_LINES: &Expected<'_> = &[(declared::OUTPUT_COMMITTER.key, false, &[])];

/// Those of Parquet.
const EXPECTED_OF_PARQUET: &Expected<'_> = &[
    ("parquet.writer.version", false, &["PARQUET_1_0", "v1"]),
    (
        declared::OUTPUT_COMMITTER.key,
        true,
        &["org.apache.parquet.hadoop.ParquetOutputCommitter"],
    ),
    (declared::LEGACY_PARQUET.key, true, &["false"]),
    // Those of others write rows in another way, as Delta's for Iceberg's readers.
    (
        "parquet.write.support.class",
        true,
        &["org.apache.spark.sql.execution.datasources.parquet.ParquetWriteSupport"],
    ),
    (
        "org.apache.spark.sql.parquet.variant.shredding.attributes",
        false,
        &[],
    ),
];

/// `parquet.block.size` if it is not set.
const USUAL_ROW_GROUP_BYTES: usize = 128 << 20;

/// How the files of a write are written.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FileSettings {
    pub(super) format: FormatSettings,
    /// Where the job writes.
    pub(super) path: FilePath,
    /// How its tasks commit.
    pub(super) algorithm: CommitAlgorithm,
    /// All settings of Hadoop.
    pub(super) conf: HadoopConf,
}

/// What is in the files.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum FormatSettings {
    Parquet(Box<ParquetOptions>),
    /// Lines of text, which are packed.
    Lines(Compression),
}

impl FormatSettings {
    /// Bytes that a block of a file has at least, where there are blocks.
    pub(super) fn least_block(&self) -> u64 {
        match self {
            // A row group is not to be in two blocks.
            Self::Parquet(options) => options.row_group_bytes as u64,
            Self::Lines(_) => 0,
        }
    }
}

impl FileSettings {
    /// Of a write, with a session's properties.
    ///
    /// # Errors
    /// The setting that is not obeyed.
    pub(super) fn new<'a>(
        write: &FileWrite,
        session: impl Fn(&str) -> Option<&'a str>,
        spark_version: &str,
    ) -> Result<Self, Unsupported> {
        let conf = HadoopConf::read_settings(&write.hadoop);
        let conf = conf.ok_or_else(|| Unsupported::of_use("damaged settings of Hadoop"))?;
        let (path, algorithm) = job_path(&write.path, &conf).map_err(of_files)?;
        let format = match write.format {
            WrittenFormat::Parquet => {
                let options = parquet(&conf, session, spark_version)?;
                FormatSettings::Parquet(Box::new(options))
            }
            _ => {
                check(&conf, EXPECTED_OF_LINES)?;
                FormatSettings::Lines(packed_by(&conf).map_err(of_files)?)
            }
        };
        Ok(Self {
            format,
            path,
            algorithm,
            conf,
        })
    }
}

fn refused(key: &str) -> Unsupported {
    Unsupported::of_use(format!("a write with {key}"))
}

fn check(conf: &HadoopConf, expected: &Expected<'_>) -> Result<(), Unsupported> {
    for (key, is_always_set, values) in expected {
        let Some(value) = conf.text(key) else {
            match *is_always_set {
                true => return Err(refused(key)),
                false => continue,
            }
        };
        if !values
            .iter()
            .any(|known| known.eq_ignore_ascii_case(&value))
        {
            return Err(refused(key));
        }
    }
    Ok(())
}

/// Why the JVM has to write.
fn of_files(error: FileError) -> Unsupported {
    Unsupported::of_use(error.reason())
}

fn parquet<'a>(
    conf: &HadoopConf,
    session: impl Fn(&str) -> Option<&'a str>,
    spark_version: &str,
) -> Result<ParquetOptions, Unsupported> {
    check(conf, EXPECTED_OF_PARQUET)?;
    check_unknown(conf)?;
    let columns = conf.get(COLUMNS);
    let columns = columns.ok_or_else(|| refused(COLUMNS))?.into_owned();
    if columns.contains("\"parquet.field.id\"") {
        return Err(Unsupported::of_use("a write of columns with Parquet's ids"));
    }
    let version = declared::version_of(spark_version);
    Ok(ParquetOptions {
        codec: codec(conf)?,
        timestamps: timestamps(conf)?,
        refuses_ancient: refuses_ancient("datetime", &session, version)?,
        refuses_ancient_int96: refuses_ancient("int96", &session, version)?,
        dictionaries: conf.flag(DICTIONARIES, true),
        row_group_bytes: match conf.text(ROW_GROUP_BYTES) {
            None => USUAL_ROW_GROUP_BYTES,
            Some(bytes) => bytes.parse().map_err(|_| refused(ROW_GROUP_BYTES))?,
        },
        spark_version: short(spark_version)?.to_owned(),
        columns,
    })
}

/// Fails if Parquet has a setting that is not known.
fn check_unknown(conf: &HadoopConf) -> Result<(), Unsupported> {
    let is_known = |key: &str| {
        OBEYED.contains(&key)
            || NO_MATTER.contains(&key)
            || EXPECTED_OF_PARQUET.iter().any(|(known, ..)| *known == key)
            || OF_READERS.iter().any(|begin| key.starts_with(begin))
    };
    let mut unknown: Vec<_> = conf
        .keys()
        .filter(|key| key.starts_with("parquet.") && !is_known(key))
        .collect();
    unknown.sort_unstable();
    match unknown.first() {
        // Of settings of single columns, the part that is Parquet's.
        Some(key) => Err(refused(key.split('#').next().unwrap_or(key))),
        None => Ok(()),
    }
}

fn codec(conf: &HadoopConf) -> Result<Codec, Unsupported> {
    let name = conf.text(CODEC).ok_or_else(|| refused(CODEC))?;
    Codec::of(&name).ok_or_else(|| Unsupported::of_use(format!("a write with {CODEC} {name}")))
}

fn timestamps(conf: &HadoopConf) -> Result<TimestampFormat, Unsupported> {
    let key = declared::WRITTEN_TIMESTAMPS.key;
    match conf.text(key).as_deref() {
        Some("INT96") => Ok(TimestampFormat::Int96),
        Some("TIMESTAMP_MICROS") => Ok(TimestampFormat::Micros),
        Some("TIMESTAMP_MILLIS") => Ok(TimestampFormat::Millis),
        _ => Err(refused(key)),
    }
}

/// Whether what is of times when there were two calendars is left to Spark.
fn refuses_ancient<'a>(
    what: &str,
    session: impl Fn(&str) -> Option<&'a str>,
    version: Version,
) -> Result<bool, Unsupported> {
    let key = declared::CALENDAR_IN_WRITE.key(what);
    let old = declared::OLD_CALENDAR_IN_WRITE.key(what);
    let default = declared::CALENDAR_IN_WRITE.about.default;
    let default = default.changed(version).or(default.first());
    let mode = session(&key).or_else(|| session(&old)).or(default);
    match mode.map(str::to_ascii_uppercase).as_deref() {
        Some("EXCEPTION") => Ok(true),
        Some("CORRECTED") => Ok(false),
        _ => Err(refused(&key)),
    }
}

/// `SPARK_VERSION_SHORT`: three numbers.
fn short(version: &str) -> Result<&str, Unsupported> {
    let unknown = || Unsupported::of_use("a write by an unknown version of Spark");
    let end = version.find(|c: char| !c.is_ascii_digit() && c != '.');
    let numbers = version
        .get(..end.unwrap_or(version.len()))
        .ok_or_else(unknown)?;
    match numbers.split('.').filter(|part| !part.is_empty()).count() {
        3 => Ok(numbers.trim_end_matches('.')),
        _ => Err(unknown()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes_of(settings: &[(&str, &str)]) -> Vec<u8> {
        let mut bytes = vec![u8::try_from(settings.len()).unwrap()];
        let mut text = |text: &str| {
            // Longer ones have their length in two bytes.
            match i8::try_from(text.len()) {
                Ok(length) => bytes.push(length.cast_unsigned()),
                Err(_) => bytes.extend([0x8f, u8::try_from(text.len()).unwrap()]),
            }
            bytes.extend_from_slice(text.as_bytes());
        };
        for (key, value) in settings {
            text(key);
            text(value);
        }
        bytes
    }

    /// Settings as Spark gives them, with others.
    fn settings(more: &[(&str, &str)]) -> Result<FileSettings, Unsupported> {
        settings_at("file:/tmp/x", more)
    }

    fn settings_at(path: &str, more: &[(&str, &str)]) -> Result<FileSettings, Unsupported> {
        let mut all = vec![
            (CODEC, "SNAPPY"),
            ("spark.sql.parquet.outputTimestampType", "INT96"),
            ("spark.sql.parquet.writeLegacyFormat", "false"),
            (
                "spark.sql.sources.outputCommitterClass",
                "org.apache.parquet.hadoop.ParquetOutputCommitter",
            ),
            (
                "parquet.write.support.class",
                "org.apache.spark.sql.execution.datasources.parquet.ParquetWriteSupport",
            ),
            ("mapreduce.fileoutputcommitter.algorithm.version", "1"),
            (COLUMNS, "{}"),
        ];
        all.retain(|(key, _)| more.iter().all(|(other, _)| other != key));
        all.extend(more.iter().filter(|(_, value)| !value.is_empty()));
        let mut hadoop = Vec::new();
        let with_sources = bytes_of(&all);
        hadoop.push(with_sources[0]);
        let mut rest = &with_sources[1..];
        for _ in &all {
            for _ in 0..2 {
                let (length, behind) = crate::files::read_vlong(rest).unwrap();
                let end = rest.len() - behind.len() + usize::try_from(length).unwrap();
                hadoop.extend_from_slice(&rest[..end]);
                rest = &rest[end..];
            }
            hadoop.extend([0xff; 4]);
        }
        let write = FileWrite {
            format: WrittenFormat::Parquet,
            job_id: "job".to_owned(),
            path: path.to_owned(),
            dynamic_overwrite: false,
            tracker_id: "1".to_owned(),
            data: Vec::new(),
            partitions: Vec::new(),
            bucket: None,
            max_records: None,
            hadoop,
            commit_time: 1,
        };
        FileSettings::new(&write, |_| None, "4.0.5-SNAPSHOT")
    }

    #[test]
    fn spark_s_own_settings_are_taken() {
        let parquet = |settings: FileSettings| match settings.format {
            FormatSettings::Parquet(options) => options,
            FormatSettings::Lines(_) => panic!("lines"),
        };
        let usual = parquet(settings(&[]).unwrap());
        assert_eq!(usual.codec, Codec::Snappy);
        assert_eq!(usual.timestamps, TimestampFormat::Int96);
        assert_eq!(usual.spark_version, "4.0.5");
        assert!(!usual.refuses_ancient);
        let algorithm = |version| {
            let key = "mapreduce.fileoutputcommitter.algorithm.version";
            settings(&[(key, version)]).unwrap().algorithm
        };
        assert_eq!(algorithm("1"), CommitAlgorithm::Rename);
        assert_eq!(algorithm("2"), CommitAlgorithm::Merge);
        let other = [
            ("parquet.block.size", "1000"),
            (CODEC, "zstd"),
            (DICTIONARIES, "false"),
        ];
        let other = parquet(settings(&other).unwrap());
        assert_eq!((other.row_group_bytes, other.codec), (1000, Codec::Zstd));
        assert!(!other.dictionaries);
        settings(&[
            ("parquet.read.support.class", "x"),
            ("parquet.page.size", "1"),
        ])
        .unwrap();
    }

    #[test]
    fn what_is_not_obeyed_is_named() {
        let refused = [
            (
                "parquet.bloom.filter.enabled#a",
                "true",
                "a write with parquet.bloom.filter.enabled",
            ),
            (
                "parquet.crypto.factory.class",
                "x",
                "a write with parquet.crypto.factory.class",
            ),
            (CODEC, "LZO", "a write with parquet.compression LZO"),
            (
                "parquet.writer.version",
                "v2",
                "a write with parquet.writer.version",
            ),
            (
                "parquet.write.support.class",
                "org.apache.spark.sql.delta.DeltaParquetWriteSupport",
                "a write with parquet.write.support.class",
            ),
            (
                "mapreduce.fileoutputcommitter.algorithm.version",
                "3",
                "a write with mapreduce.fileoutputcommitter.algorithm.version",
            ),
            (
                "spark.sql.sources.outputCommitterClass",
                "",
                "a write with spark.sql.sources.outputCommitterClass",
            ),
            (
                COLUMNS,
                "{\"parquet.field.id\":1}",
                "a write of columns with Parquet's ids",
            ),
            (
                "mapreduce.outputcommitter.factory.class",
                "x.Y",
                "a write with mapreduce.outputcommitter.factory.class",
            ),
            (
                "mapreduce.outputcommitter.factory.scheme.file",
                "x.Y",
                "a write with mapreduce.outputcommitter.factory.scheme.file",
            ),
        ];
        for (key, value, why) in refused {
            assert_eq!(settings(&[(key, value)]).unwrap_err().to_string(), why);
        }
        for (path, why) in [
            ("/tmp/x", "a write to :"),
            ("gs://bucket/x", "a write to gs:"),
            ("hdfs://host/x", ""),
        ] {
            let refused = settings_at(path, &[]).err().map(|why| why.to_string());
            assert_eq!(refused.unwrap_or_default(), why);
        }
    }
}
