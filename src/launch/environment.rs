//! What an executor learns from its environment variables: log URLs, attributes, and the name of the local host.

use std::collections::BTreeMap;
use std::net::{IpAddr, ToSocketAddrs};

use super::executor_args::Backend;

const LOG_URL_PREFIX: &str = "SPARK_LOG_URL_";
const ATTRIBUTE_PREFIX: &str = "SPARK_EXECUTOR_ATTRIBUTE_";
/// Log files of a YARN container that the UI links to, and how much of their end it shows at first.
const YARN_LOGS: [&str; 2] = ["stdout", "stderr"];
const YARN_LOG_START: i32 = -4096;

/// Two maps of a `RegisterExecutor` message, in order of their keys.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExecutorDetails {
    /// Name of a log (`stdout`, `stderr`) to its URL.
    pub log_urls: BTreeMap<String, String>,
    /// Attributes that custom log URLs (`spark.ui.custom.executor.log.url`) refer to.
    pub attributes: BTreeMap<String, String>,
}

impl ExecutorDetails {
    /// Collects them from the environment variables `vars`.
    ///
    /// Standalone and Kubernetes pass them ready-made; on YARN they are put together from the container's variables and
    /// two settings of Hadoop (`yarn.http.policy`, `yarn.resourcemanager.cluster-id`), looked up with `hadoop`. A YARN
    /// executor outside a container has none, as in Spark.
    pub fn collect(
        backend: Backend,
        vars: impl IntoIterator<Item = (String, String)>,
        hadoop: impl Fn(&str) -> Option<String>,
    ) -> Self {
        let vars: BTreeMap<String, String> = vars.into_iter().collect();
        if backend == Backend::Yarn {
            return Self::of_container(&vars, hadoop).unwrap_or_default();
        }
        let with_prefix = |prefix: &'static str, rename: fn(&str) -> String| {
            vars.iter()
                .filter_map(move |(name, value)| {
                    Some((rename(name.strip_prefix(prefix)?), value.clone()))
                })
                .collect()
        };
        Self {
            log_urls: with_prefix(LOG_URL_PREFIX, str::to_lowercase),
            attributes: with_prefix(ATTRIBUTE_PREFIX, str::to_uppercase),
        }
    }

    fn of_container(
        vars: &BTreeMap<String, String>,
        hadoop: impl Fn(&str) -> Option<String>,
    ) -> Option<Self> {
        let var = |name: &str| vars.get(name).cloned().unwrap_or_default();
        let container = vars
            .get("CONTAINER_ID")
            .filter(|id| id.starts_with("container_"))?
            .clone();
        let scheme = if hadoop("yarn.http.policy").as_deref() == Some("HTTPS_ONLY") {
            "https://"
        } else {
            "http://"
        };
        let address = format!("{}:{}", var("NM_HOST"), var("NM_HTTP_PORT"));
        let user = user_name(|name| vars.get(name).cloned());
        let base = format!("{scheme}{address}/node/containerlogs/{container}/{user}");
        let urls = YARN_LOGS.map(|file| {
            (
                file.to_owned(),
                format!("{base}/{file}?start={YARN_LOG_START}"),
            )
        });
        let attributes = [
            ("HTTP_SCHEME", scheme.to_owned()),
            ("NM_HOST", var("NM_HOST")),
            ("NM_PORT", var("NM_PORT")),
            ("NM_HTTP_PORT", var("NM_HTTP_PORT")),
            ("NM_HTTP_ADDRESS", address),
            (
                "CLUSTER_ID",
                hadoop("yarn.resourcemanager.cluster-id").unwrap_or_default(),
            ),
            ("CONTAINER_ID", container),
            ("USER", user),
            ("LOG_FILES", "stderr,stdout".to_owned()),
        ];
        Some(Self {
            log_urls: urls.into(),
            attributes: attributes
                .map(|(name, value)| (name.to_owned(), value))
                .into(),
        })
    }
}

/// The environment variables of this process that are text; others are left out.
pub fn variables() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
}

/// The user to act as: `SPARK_USER`, else Hadoop's (`HADOOP_USER_NAME`), else the login name.
pub fn user_name(env: impl Fn(&str) -> Option<String>) -> String {
    ["SPARK_USER", "HADOOP_USER_NAME", "USER", "LOGNAME"]
        .into_iter()
        .find_map(|name| env(name).filter(|user| !user.is_empty()))
        .unwrap_or_default()
}

/// The name this host announces, as Spark's `Utils.localHostName`: `SPARK_LOCAL_HOSTNAME`, else an address:
/// `SPARK_LOCAL_IP`, else that of the machine's own name, unless it is a loopback address and an interface has a better
/// one. An IPv6 address is in brackets.
pub fn local_host_name(env: impl Fn(&str) -> Option<String>) -> String {
    if let Some(name) = env("SPARK_LOCAL_HOSTNAME") {
        return name;
    }
    let address = match env("SPARK_LOCAL_IP") {
        Some(configured) => resolve(&configured),
        None => own_address(),
    };
    match address {
        Some(IpAddr::V6(address)) => format!("[{address}]"),
        Some(IpAddr::V4(address)) => address.to_string(),
        None => "localhost".to_owned(),
    }
}

fn resolve(host: &str) -> Option<IpAddr> {
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let found: Vec<IpAddr> = (host, 0)
        .to_socket_addrs()
        .ok()?
        .map(|address| address.ip())
        .collect();
    found
        .iter()
        .find(|address| address.is_ipv4())
        .or(found.first())
        .copied()
}

fn own_address() -> Option<IpAddr> {
    let system = rustix::system::uname();
    let own = system.nodename().to_str().ok().and_then(resolve);
    if own.is_some_and(|address| !address.is_loopback()) {
        return own;
    }
    // Last interfaces first: on Linux the first ones are the least likely to reach other machines.
    let mut interfaces = if_addrs::get_if_addrs().unwrap_or_default();
    interfaces.reverse();
    let usable: Vec<IpAddr> = interfaces
        .iter()
        .map(if_addrs::Interface::ip)
        .filter(|ip| !ip.is_loopback() && !is_link_local(*ip))
        .collect();
    usable
        .iter()
        .find(|address| address.is_ipv4())
        .or(usable.first())
        .copied()
        .or(own)
}

fn is_link_local(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vars(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect()
    }

    fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        vars(pairs).into_iter().collect()
    }

    #[test]
    fn standalone_passes_them_ready_made() {
        let details = ExecutorDetails::collect(
            Backend::CoarseGrained,
            vars(&[
                ("SPARK_LOG_URL_STDERR", "http://w/e"),
                ("SPARK_LOG_URL_STDOUT", "http://w/o"),
                ("SPARK_EXECUTOR_ATTRIBUTE_app_Id", "1"),
                ("HOME", "/"),
            ]),
            |_| None,
        );
        assert_eq!(
            details.log_urls,
            map(&[("stderr", "http://w/e"), ("stdout", "http://w/o")])
        );
        assert_eq!(details.attributes, map(&[("APP_ID", "1")]));
    }

    #[test]
    fn yarn_puts_them_together_from_the_container() {
        let container = vars(&[
            ("CONTAINER_ID", "container_1_0001_01_000002"),
            ("NM_HOST", "node"),
            ("NM_PORT", "45454"),
            ("NM_HTTP_PORT", "8042"),
            ("SPARK_USER", "ann"),
            ("SPARK_LOG_URL_STDERR", "ignored"),
        ]);
        let hadoop = |name: &str| (name == "yarn.http.policy").then(|| "HTTPS_ONLY".to_owned());
        let details = ExecutorDetails::collect(Backend::Yarn, container, hadoop);
        let base = "https://node:8042/node/containerlogs/container_1_0001_01_000002/ann";
        assert_eq!(
            details.log_urls,
            map(&[
                ("stderr", &format!("{base}/stderr?start=-4096")),
                ("stdout", &format!("{base}/stdout?start=-4096"))
            ])
        );
        assert_eq!(
            details.attributes,
            map(&[
                ("HTTP_SCHEME", "https://"),
                ("NM_HOST", "node"),
                ("NM_PORT", "45454"),
                ("NM_HTTP_PORT", "8042"),
                ("NM_HTTP_ADDRESS", "node:8042"),
                ("CLUSTER_ID", ""),
                ("CONTAINER_ID", "container_1_0001_01_000002"),
                ("USER", "ann"),
                ("LOG_FILES", "stderr,stdout"),
            ])
        );
        assert_eq!(
            ExecutorDetails::collect(Backend::Yarn, vars(&[]), |_| None),
            ExecutorDetails::default()
        );
    }

    #[test]
    fn the_local_host_can_be_configured() {
        let with = |name: &'static str, value: &'static str| {
            move |asked: &str| (asked == name).then(|| value.to_owned())
        };
        assert_eq!(
            local_host_name(with("SPARK_LOCAL_HOSTNAME", "me.example")),
            "me.example"
        );
        assert_eq!(
            local_host_name(with("SPARK_LOCAL_IP", "10.1.2.3")),
            "10.1.2.3"
        );
        assert_eq!(
            local_host_name(with("SPARK_LOCAL_IP", "fd00::1")),
            "[fd00::1]"
        );
        assert!(!local_host_name(|_| None).is_empty());
    }
}
