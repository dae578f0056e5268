//! The errors with which an executor of a job would not start, in its own words.

use std::collections::BTreeMap;

use super::{MAX_LINE_CHARS, printable};
use crate::blocks::codec::Codec;
use crate::blocks::kryo;
use crate::blocks::serializer_manager::SerializerManager;
use crate::blocks::shuffle::ShuffleConf;
use crate::blocks::store::StoreSettings;
use crate::config::declared::{self, Version};
use crate::config::{self, SettingError, Settings, SparkProperties};
use crate::lanes::sql;
use crate::launch::{HeapSize, Machine};
use crate::rpc::RpcConf;
use crate::transport::{ConfError, TransportConf};

/// Bytes of a key of AES.
const KEY: [u8; 16] = [0; 16];

/// A message for a terminal: the value in it may be of any length.
fn shown(message: &str) -> String {
    printable(message, MAX_LINE_CHARS)
}

/// A setting that stops an executor from starting.
struct Wrong {
    /// The property, if it is a single one.
    key: Option<String>,
    message: String,
}

impl From<SettingError> for Wrong {
    fn from(error: SettingError) -> Self {
        let message = shown(&error.to_string());
        let key = match error {
            SettingError::Invalid { key, .. } | SettingError::Unsupported { key, .. } => Some(key),
            SettingError::Conflict { .. } => None,
        };
        Self { key, message }
    }
}

impl From<ConfError> for Wrong {
    fn from(error: ConfError) -> Self {
        Self {
            message: shown(&error.to_string()),
            key: Some(error.key),
        }
    }
}

/// What is wrong with the job's properties.
#[derive(Debug, Default)]
pub(super) struct Errors {
    /// Messages by property.
    pub(super) of_properties: BTreeMap<String, String>,
    /// Messages about several properties at a time.
    pub(super) of_several: Vec<String>,
    /// The properties without those that are wrong.
    pub(super) right: SparkProperties,
}

impl Errors {
    /// All messages.
    pub(super) fn messages(&self) -> impl Iterator<Item = &String> {
        self.of_properties.values().chain(&self.of_several)
    }
}

/// A part of the executor's start that reads settings.
type Check = fn(&SparkProperties) -> Result<(), Wrong>;

/// In the order of the executor's start.
const CHECKS: [Check; 9] = [
    |conf| Ok(config::refuse_unsupported(conf)?),
    |conf| {
        RpcConf::new(|key| conf.get(key))?;
        Ok(())
    },
    |conf| {
        Settings::new(conf, heap(conf))?;
        Ok(())
    },
    |conf| {
        TransportConf::for_module("shuffle", |key| conf.get(key))?;
        Ok(())
    },
    |conf| {
        let encrypted = conf.switch(&declared::IO_ENCRYPTION_ENABLED)?;
        SerializerManager::new(conf, encrypted.then_some(&KEY))?;
        Ok(())
    },
    |conf| {
        StoreSettings::from_conf(conf)?;
        Ok(())
    },
    |conf| {
        ShuffleConf::new(conf)?;
        Ok(())
    },
    |conf| {
        Codec::of(&declared::MAP_STATUS_CODEC, conf)?;
        kryo::form_of_serializer(conf)?;
        Ok(())
    },
    |conf| {
        sql::verifies(conf)?;
        Ok(())
    },
];

/// Finds all errors: what a part finds first is taken away, until it finds nothing more.
pub(super) fn errors(properties: &SparkProperties, version: Version) -> Errors {
    let mut errors = Errors {
        right: properties.clone(),
        ..Errors::default()
    };
    config::forget_unknown(&mut errors.right, version);
    for check in CHECKS {
        while let Err(Wrong { key, message }) = check(&errors.right) {
            let removed = key.as_ref().is_some_and(|key| errors.right.remove(key));
            match key {
                Some(key) => {
                    errors.of_properties.entry(key).or_insert(message);
                }
                None => errors.of_several.push(message),
            }
            if !removed {
                break;
            }
        }
    }
    // Parts that are not made here, and settings that are read only together with others.
    for (key, _) in properties.iter() {
        let Some(declaration) = declared::find(key) else {
            continue;
        };
        let known = declaration
            .about()
            .since
            .is_none_or(|since| version >= since);
        if known && let Err(error) = declaration.check(properties, key) {
            errors.right.remove(key);
            let of_key = errors.of_properties.entry(key.to_owned());
            of_key.or_insert_with(|| shown(&error.to_string()));
        }
    }
    errors
}

/// What `Runtime.maxMemory()` will answer in an executor of this machine.
fn heap(conf: &SparkProperties) -> u64 {
    let memory = conf.size(&declared::EXECUTOR_MEMORY).ok();
    let memory = memory.or(declared::EXECUTOR_MEMORY.default_value());
    let options = [declared::DEFAULT_JAVA_OPTIONS, declared::EXTRA_JAVA_OPTIONS];
    let options = options.map(|property| conf.text(&property));
    let words = options.iter().flat_map(|text| text.split_whitespace());
    let heap = memory.map(|bytes| format!("-Xmx{bytes}"));
    let all: Vec<_> = heap.into_iter().chain(words.map(str::to_owned)).collect();
    HeapSize::of(&all, &Machine::detect(), |_| None).max_memory
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pairs: &[(&'static str, &'static str)]) -> Errors {
        errors(
            &SparkProperties::from_launch(pairs.iter().copied(), []),
            (4, 0),
        )
    }

    #[test]
    fn good_properties_have_no_errors() {
        assert_eq!(of(&[]).messages().count(), 0);
        let good = [
            ("spark.executor.memory", "4g"),
            ("spark.io.encryption.enabled", "true"),
            ("spark.serializer", declared::KRYO_SERIALIZER),
            ("spark.firesteel.verify", "both"),
            // Not known to this version.
            ("spark.python.worker.killOnIdleTimeout", "maybe"),
        ];
        assert_eq!(of(&good).messages().count(), 0);
    }

    #[test]
    fn all_errors_are_found_in_the_words_of_the_start() {
        let found = of(&[
            ("spark.ssl.rpc.enabled", "true"),
            ("spark.ssl.rpc.protocol", "SSLv3"),
            ("spark.network.timeout", "soon"),
            ("spark.shuffle.io.backLog", "x"),
            ("spark.rpc.message.maxSize", "4096"),
            ("spark.blockManager.port", "80"),
            ("spark.io.compression.codec", "brotli"),
            ("spark.shuffle.mapStatus.compression.codec", "brotli"),
            ("spark.shuffle.checksum.algorithm", "md5"),
            ("spark.files.overwrite", "perhaps"),
            ("spark.firesteel.lanes", "sql,gpu"),
            ("spark.firesteel.verify", "twice"),
            ("spark.executor.resource.gpu.amount", "-1"),
            ("spark.io.encryption.enabled", "true"),
            ("spark.io.crypto.cipher.transformation", "AES/GCM/NoPadding"),
        ]);
        let begins = [
            "spark.blockManager.port should be between 1024 and 65535 (inclusive), or 0 for a random free port, but was '80'",
            "spark.executor.resource.gpu.amount should be a number between 0 and 18446744073709551615, but was '-1'",
            "spark.files.overwrite should be true or false, but was 'perhaps'",
            "spark.firesteel.lanes should be a list of jvm, python, sql, but was 'gpu'",
            "spark.firesteel.verify should be none or both, but was 'twice'",
            "spark.io.compression.codec=brotli is not supported by Firesteel yet; use lz4, lzf, snappy or zstd",
            "spark.io.crypto.cipher.transformation=AES/GCM/NoPadding is not supported by Firesteel yet; use AES/CTR/NoPadding",
            "spark.network.timeout: 'soon' is not a time such as 120s",
            "spark.rpc.message.maxSize should be a number between 0 and 2047, but was '4096'",
            "spark.shuffle.checksum.algorithm should be ADLER32, CRC32 or CRC32C, but was 'MD5'",
            "spark.shuffle.io.backLog: 'x' is not a whole number",
            "spark.shuffle.mapStatus.compression.codec=brotli is not supported by Firesteel yet; use lz4, lzf, snappy or zstd",
            "spark.ssl.rpc.protocol=SSLv3 is not supported by Firesteel yet; use one of TLSv1.3, TLSv1.2, TLS",
        ];
        let messages: Vec<_> = found.of_properties.values().collect();
        assert_eq!(messages.len(), begins.len(), "{messages:#?}");
        for (message, begin) in messages.into_iter().zip(begins) {
            assert!(message.starts_with(begin), "{message}");
        }
        assert!(found.of_several.is_empty());
    }

    #[test]
    fn settings_that_contradict_each_other_are_found() {
        let found = of(&[
            ("spark.network.timeout", "5s"),
            ("spark.memory.offHeap.enabled", "true"),
            ("spark.files.overwrite", "perhaps"),
        ]);
        assert_eq!(
            found.of_several,
            [
                "The value of spark.network.timeout=5000ms must be greater than the value of spark.executor.heartbeatInterval=10000ms."
            ]
        );
        assert_eq!(found.of_properties.len(), 1);
        let small = of(&[("spark.executor.memory", "100m")]);
        assert!(
            small.of_several[0].starts_with("System memory "),
            "{small:?}"
        );
    }
}
