//! Settings of a connection, under Spark's names.

use super::Protection;
use crate::config::declared::{self, Family, Kind};
use std::time::Duration;
use wire::frame::MAX_FRAME;

/// Settings of the connections of one module: `rpc` (control), `files` (downloads), `shuffle` (blocks).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransportConf {
    /// `spark.<module>.io.connectionTimeout`, else `spark.network.timeout`: how long a connection may be silent while
    /// this end waits for an answer. 0 means for ever.
    pub connection_timeout: Duration,
    /// `spark.<module>.io.connectionCreationTimeout`, else the connection timeout. 0 means as long as the system tries.
    pub connection_creation_timeout: Duration,
    /// `spark.<module>.io.sendBuffer` in bytes; `None` leaves it to the system.
    pub send_buffer: Option<usize>,
    /// `spark.<module>.io.receiveBuffer` in bytes; `None` leaves it to the system.
    pub receive_buffer: Option<usize>,
    /// `spark.<module>.io.backLog`: connections that wait to be accepted.
    pub back_log: u32,
    /// Whether a connection is closed when it was silent for the connection timeout though nothing is outstanding.
    pub close_idle_connections: bool,
    /// The largest frame taken, in bytes without its length field.
    pub max_frame: usize,
    /// Bytes queued for sending (files not counted) from which on senders wait and, on a server, requests are no longer
    /// read.
    pub max_outgoing_bytes: usize,
    /// Bytes that all peers of a server may make it hold together; those from one address half of it.
    pub max_held_bytes: usize,
    /// Connections a server holds at a time; beyond that the one goes that was idle for the longest time.
    pub max_connections: usize,
    /// Time in which a peer must send 1 MiB of the frame or stream that it has begun, or finish it.
    pub progress_window: Duration,
    /// TLS and authentication before anything else is said on connections.
    pub protection: Protection,
}

/// A setting that cannot be understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key}: '{value}' is not {expected}")]
pub struct ConfError {
    /// Name of the setting.
    pub key: String,
    /// Its value.
    pub value: String,
    /// What it should be.
    pub expected: &'static str,
}

/// As long as any process lives.
const FOR_EVER: Duration = Duration::from_secs(100 * 365 * 24 * 60 * 60);

const TIME: &str = "a time such as 120s or 500ms";
const NUMBER: &str = "a whole number";

impl Default for TransportConf {
    fn default() -> Self {
        Self {
            connection_timeout: Duration::from_secs(120),
            connection_creation_timeout: Duration::from_secs(120),
            send_buffer: None,
            receive_buffer: None,
            back_log: 4096,
            close_idle_connections: false,
            max_frame: MAX_FRAME,
            max_outgoing_bytes: 16 << 20,
            max_held_bytes: 512 << 20,
            max_connections: 8192,
            progress_window: Duration::from_secs(60),
            protection: Protection::default(),
        }
    }
}

impl TransportConf {
    /// Settings of `module`; `property` looks up a Spark property. What is not set has Spark's default.
    /// The module `files` inherits the settings of `rpc` that it does not have itself, and its idle connections are
    /// closed.
    ///
    /// # Errors
    /// The setting that is no time or number.
    pub fn for_module(
        module: &str,
        property: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, ConfError> {
        let files = module == "files";
        let network = declared::NETWORK_TIMEOUT;
        let io = |setting: &dyn Fn(&str) -> String| {
            let modules = [Some(module), files.then_some("rpc")];
            let keys = modules.into_iter().flatten().map(setting);
            keys.into_iter()
                .find_map(|key| property(&key).map(|value| (key, value)))
        };
        let time = |found: Option<(String, String)>, default: Duration| match found {
            Some((key, value)) => network.kind.parse(&value).ok_or(ConfError {
                key,
                value,
                expected: TIME,
            }),
            None => Ok(default),
        };
        let number = |setting: Family<declared::Whole>| match io(&|module| setting.key(module)) {
            Some((key, value)) => match value.trim().parse::<i64>() {
                Ok(number) => Ok(usize::try_from(number).ok()),
                Err(_) => Err(ConfError {
                    key,
                    value,
                    expected: NUMBER,
                }),
            },
            None => Ok(None),
        };
        let unlimited = |time: Duration| if time.is_zero() { FOR_EVER } else { time };
        let default = Self::default();
        let network_timeout = time(
            property(network.key).map(|value| (network.key.to_owned(), value)),
            default.connection_timeout,
        )?;
        let connection_timeout = time(
            io(&|module| declared::IO_CONNECTION_TIMEOUT.key(module)),
            network_timeout,
        )?;
        let creation_timeout = time(
            io(&|module| declared::IO_CONNECTION_CREATION_TIMEOUT.key(module)),
            connection_timeout,
        )?;
        Ok(Self {
            connection_timeout: unlimited(connection_timeout),
            connection_creation_timeout: unlimited(creation_timeout),
            send_buffer: number(declared::IO_SEND_BUFFER)?.filter(|size| *size > 0),
            receive_buffer: number(declared::IO_RECEIVE_BUFFER)?.filter(|size| *size > 0),
            back_log: number(declared::IO_BACK_LOG)?
                .and_then(|size| u32::try_from(size).ok())
                .filter(|size| *size > 0)
                .unwrap_or(default.back_log),
            close_idle_connections: files,
            ..default
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn conf(module: &str, properties: &[(&str, &str)]) -> Result<TransportConf, ConfError> {
        TransportConf::for_module(module, |key| {
            properties
                .iter()
                .find(|(name, _)| *name == key)
                .map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn a_module_falls_back_to_the_network_timeout() {
        let secs = Duration::from_secs;
        assert_eq!(
            declared::NETWORK_TIMEOUT.default_value(),
            Some(TransportConf::default().connection_timeout)
        );
        assert_eq!(conf("rpc", &[]).unwrap(), TransportConf::default());
        assert_eq!(
            conf("rpc", &[("spark.network.timeout", "30s")])
                .unwrap()
                .connection_creation_timeout,
            secs(30)
        );
        let properties = [
            ("spark.network.timeout", "30s"),
            ("spark.rpc.io.connectionTimeout", "7"),
        ];
        assert_eq!(
            conf("rpc", &properties).unwrap().connection_timeout,
            secs(7)
        );
        assert_eq!(
            conf("shuffle", &properties).unwrap().connection_timeout,
            secs(30)
        );
        let files = conf("files", &properties).unwrap();
        assert_eq!(
            (files.connection_timeout, files.close_idle_connections),
            (secs(7), true)
        );
    }

    #[test]
    fn a_wrong_setting_is_named() {
        let error = conf("rpc", &[("spark.rpc.io.backLog", "many")]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "spark.rpc.io.backLog: 'many' is not a whole number"
        );
        let error = conf("rpc", &[("spark.network.timeout", "soon")]).unwrap_err();
        assert_eq!(
            (error.key.as_str(), error.value.as_str()),
            ("spark.network.timeout", "soon")
        );
    }
}
