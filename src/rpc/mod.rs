//! NettyRpcEnv semantics: messages to the driver's endpoints, requests of the driver, files of its file server.
//!
//! An executor holds one connection to the driver for its whole life ([`DriverEndpoint`]): it sends its own messages on
//! it, and the driver's messages to the executor's endpoints come back on it. Files come over separate connections
//! ([`FileServer`]).

mod driver;
mod files;

pub use driver::{DriverEndpoint, Event, Incoming};
pub use files::{FetchError, FileServer, FileStream};

use crate::transport::{ConfError, TransportConf, parse_bytes, parse_time};
use std::time::Duration;

/// Settings of the control connection, under Spark's names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RpcConf {
    /// Settings of the module `rpc`.
    pub transport: TransportConf,
    /// Settings of the module `files`.
    pub files: TransportConf,
    /// `spark.rpc.askTimeout`, else `spark.network.timeout`: how long an ask waits for its answer.
    pub ask_timeout: Duration,
    /// `spark.rpc.lookupTimeout`, else `spark.network.timeout`: how long looking for an endpoint may take.
    pub lookup_timeout: Duration,
    /// `spark.rpc.message.maxSize` in bytes (the setting counts MiB): the largest message that is worth sending.
    pub max_message_size: usize,
}

impl RpcConf {
    /// Settings from Spark properties; what is not set has Spark's default.
    ///
    /// # Errors
    /// The setting that is no time or number.
    pub fn new(property: impl Fn(&str) -> Option<String>) -> Result<Self, ConfError> {
        let time = |keys: [&str; 2]| {
            let Some((key, value)) = keys.into_iter().find_map(|key| Some((key, property(key)?)))
            else {
                return Ok(Duration::from_secs(120));
            };
            parse_time(&value, Duration::from_secs(1)).ok_or_else(|| ConfError {
                key: key.to_owned(),
                value,
                expected: "a time such as 120s",
            })
        };
        let max = "spark.rpc.message.maxSize";
        let max_message_size = match property(max) {
            Some(value) => value
                .trim()
                .parse::<u32>()
                .ok()
                .and_then(|mib| usize::try_from(parse_bytes(&format!("{mib}m"))?).ok())
                .ok_or(ConfError {
                    key: max.to_owned(),
                    value,
                    expected: "a number of MiB",
                })?,
            None => 128 << 20,
        };
        Ok(Self {
            transport: TransportConf::for_module("rpc", &property)?,
            files: TransportConf::for_module("files", &property)?,
            ask_timeout: time(["spark.rpc.askTimeout", "spark.network.timeout"])?,
            lookup_timeout: time(["spark.rpc.lookupTimeout", "spark.network.timeout"])?,
            max_message_size,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timeouts_fall_back_as_in_spark() {
        let conf = |properties: &[(&str, &str)]| {
            RpcConf::new(|key| {
                properties
                    .iter()
                    .find(|(name, _)| *name == key)
                    .map(|(_, value)| (*value).to_owned())
            })
        };
        let secs = Duration::from_secs;
        let default = conf(&[]).unwrap();
        assert_eq!(
            (
                default.ask_timeout,
                default.lookup_timeout,
                default.max_message_size
            ),
            (secs(120), secs(120), 128 << 20)
        );
        let set = conf(&[
            ("spark.network.timeout", "60s"),
            ("spark.rpc.askTimeout", "1min"),
            ("spark.rpc.lookupTimeout", "5"),
            ("spark.rpc.message.maxSize", "512"),
        ])
        .unwrap();
        assert_eq!(
            (set.ask_timeout, set.lookup_timeout, set.max_message_size),
            (secs(60), secs(5), 512 << 20)
        );
        assert_eq!(set.transport.connection_timeout, secs(60));
        assert_eq!(
            conf(&[("spark.rpc.message.maxSize", "1g")])
                .unwrap_err()
                .key,
            "spark.rpc.message.maxSize"
        );
    }
}
