//! NettyRpcEnv semantics: messages to the driver's endpoints, requests of the driver, files of its file server.
//!
//! An executor holds one connection to the driver for its whole life ([`DriverEndpoint`]): it sends its own messages on
//! it, and the driver's messages to the executor's endpoints come back on it. Files come over separate connections
//! ([`FileServer`]).

mod driver;
mod files;

pub use driver::{DriverEndpoint, Event, Incoming};
pub use files::{FetchError, FileServer, FileStream};

use crate::config::declared::{self, Kind};
use crate::transport::{ConfError, Protection, TransportConf};
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
}

impl RpcConf {
    /// The same settings for connections that are protected in this way.
    #[must_use]
    pub fn protected(mut self, protection: &Protection) -> Self {
        for conf in [&mut self.transport, &mut self.files] {
            conf.protection = protection.clone();
        }
        self
    }

    /// Settings from Spark properties; what is not set has Spark's default.
    ///
    /// # Errors
    /// The setting that is no time or number.
    pub fn new(property: impl Fn(&str) -> Option<String>) -> Result<Self, ConfError> {
        let settings = [declared::ASK_TIMEOUT, declared::NETWORK_TIMEOUT];
        let mut set = settings.into_iter();
        let set = set.find_map(|setting| Some((setting, property(setting.key)?)));
        let ask_timeout = match set {
            Some((setting, value)) => setting.kind.parse(&value).ok_or_else(|| ConfError {
                key: setting.key.to_owned(),
                value,
                expected: "a time such as 120s",
            })?,
            None => declared::NETWORK_TIMEOUT
                .default_value()
                .unwrap_or_default(),
        };
        Ok(Self {
            transport: TransportConf::for_module("rpc", &property)?,
            files: TransportConf::for_module("files", &property)?,
            ask_timeout,
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
                let property = properties.iter().find(|(name, _)| *name == key);
                property.map(|(_, value)| (*value).to_owned())
            })
        };
        let secs = Duration::from_secs;
        assert_eq!(conf(&[]).unwrap().ask_timeout, secs(120));
        let network = ("spark.network.timeout", "60s");
        let set = conf(&[network]).unwrap();
        assert_eq!(
            (set.ask_timeout, set.transport.connection_timeout),
            (secs(60), secs(60))
        );
        assert_eq!(
            conf(&[network, ("spark.rpc.askTimeout", "5min")])
                .unwrap()
                .ask_timeout,
            secs(300)
        );
        assert_eq!(
            conf(&[("spark.rpc.askTimeout", "soon")]).unwrap_err().key,
            "spark.rpc.askTimeout"
        );
    }
}
