//! Arguments of Spark's executor backends, as `CoarseGrainedExecutorBackend.parseArguments` reads them (the same in
//! Spark 3.5 to 4.3).

use std::fmt;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use thiserror::Error;

use crate::config::declared::EXECUTOR_COMPONENT;

/// Main class of a Spark executor that Firesteel can stand for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Backend {
    /// Standalone and `local-cluster`.
    CoarseGrained,
    /// Hadoop YARN.
    Yarn,
    /// Kubernetes.
    Kubernetes,
}

impl Backend {
    /// All backends.
    pub const ALL: [Self; 3] = [Self::CoarseGrained, Self::Yarn, Self::Kubernetes];

    /// The Java class name.
    pub const fn class_name(self) -> &'static str {
        match self {
            Self::CoarseGrained => "org.apache.spark.executor.CoarseGrainedExecutorBackend",
            Self::Yarn => "org.apache.spark.executor.YarnCoarseGrainedExecutorBackend",
            Self::Kubernetes => "org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend",
        }
    }

    /// The backend with that Java class name, if it is one.
    pub fn from_class_name(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|backend| backend.class_name() == name)
    }
}

/// The arguments of an executor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExecutorArguments {
    /// Which backend was asked for.
    pub backend: Backend,
    /// `--driver-url`, for example `spark://CoarseGrainedScheduler@host:7078`; [`DriverUrl::parse`] takes it apart.
    pub driver_url: String,
    /// `--executor-id`. On Kubernetes it may be empty or `EXECID`: then the driver assigns one.
    pub executor_id: String,
    /// `--bind-address`, else the host name.
    pub bind_address: String,
    /// `--hostname`, else the local host's name or address. An IPv6 address is in brackets.
    pub hostname: String,
    /// `--cores`, at least 1.
    pub cores: u32,
    /// `--app-id`
    pub app_id: String,
    /// `--worker-url`: the Standalone Worker that started this executor.
    pub worker_url: Option<String>,
    /// `--resourcesFile`: JSON file with the allocated resources; see [`read_resources_file`].
    pub resources_file: Option<PathBuf>,
    /// `--resourceProfileId`, 0 (the default profile) if not given.
    pub resource_profile_id: i32,
    /// `--podName` (Kubernetes only).
    pub pod_name: Option<String>,
}

/// A mistake in the arguments. Its text is what goes to standard error; the exit code is 1.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ArgumentsError {
    /// An unknown option, or an option without its value.
    #[error("Unrecognized options: {}\n{}", .rest.join(" "), Usage(*.backend))]
    Unrecognized {
        /// Whose usage text is shown.
        backend: Backend,
        /// The option and everything after it.
        rest: Vec<String>,
    },
    /// A required option is missing or `--cores` is not positive.
    #[error("{}", Usage(*.backend))]
    Missing {
        /// Whose usage text is shown.
        backend: Backend,
    },
    /// A number was expected.
    #[error("The value of {option} is not an integer: {value:?}")]
    NotANumber {
        /// The option.
        option: &'static str,
        /// What was given.
        value: String,
    },
    /// A host that is neither a name nor an address as Spark writes it.
    #[error("Expected hostname or IPv6 IP enclosed in [] but got {host}")]
    Host {
        /// What was given.
        host: String,
    },
    /// The driver's address cannot be read.
    #[error("Invalid Spark URL: {url} (given as --driver-url; expected spark://NAME@HOST:PORT)")]
    DriverUrl {
        /// What was given.
        url: String,
    },
}

/// Spark's usage text.
struct Usage(Backend);

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const OPTIONS: [&str; 9] = [
            "--driver-url <driverUrl>",
            "--executor-id <executorId>",
            "--bind-address <bindAddress>",
            "--hostname <hostname>",
            "--cores <cores>",
            "--resourcesFile <fileWithJSONResourceInformation>",
            "--app-id <appid>",
            "--worker-url <workerUrl>",
            "--resourceProfileId <id>",
        ];
        write!(
            f,
            "\nUsage: {} [options]\n\n Options are:\n",
            self.0.class_name()
        )?;
        let pod = (self.0 == Backend::Kubernetes).then_some("--podName <podName>");
        OPTIONS
            .into_iter()
            .chain(pod)
            .try_for_each(|option| writeln!(f, "   {option}"))
    }
}

impl ExecutorArguments {
    /// Reads the arguments of `backend`. `local_host` gives the name to announce when `--hostname` is missing.
    ///
    /// # Errors
    /// See [`ArgumentsError`].
    pub fn parse(
        backend: Backend,
        args: &[String],
        local_host: impl FnOnce() -> String,
    ) -> Result<Self, ArgumentsError> {
        let mut driver_url = None;
        let mut executor_id = None;
        let mut bind_address = None;
        let mut hostname = None;
        let mut cores = 0;
        let mut app_id = None;
        let mut worker_url = None;
        let mut resources_file = None;
        let mut resource_profile_id = 0;
        let mut pod_name = None;
        let mut rest = args;
        while !rest.is_empty() {
            let unrecognized = || ArgumentsError::Unrecognized {
                backend,
                rest: rest.to_vec(),
            };
            let [option, value, tail @ ..] = rest else {
                return Err(unrecognized());
            };
            let text = value.clone();
            match option.as_str() {
                "--driver-url" => driver_url = Some(text),
                "--executor-id" => executor_id = Some(text),
                "--bind-address" => bind_address = Some(text),
                "--hostname" => hostname = Some(text),
                "--cores" => cores = integer("--cores", &text)?,
                "--resourcesFile" => resources_file = Some(PathBuf::from(text)),
                "--app-id" => app_id = Some(text),
                "--worker-url" => worker_url = Some(text),
                "--resourceProfileId" => {
                    resource_profile_id = integer("--resourceProfileId", &text)?
                }
                "--podName" if backend == Backend::Kubernetes => pod_name = Some(text),
                _ => return Err(unrecognized()),
            }
            rest = tail;
        }
        let missing = || ArgumentsError::Missing { backend };
        let cores = u32::try_from(cores)
            .ok()
            .filter(|cores| *cores > 0)
            .ok_or_else(missing)?;
        let (Some(driver_url), Some(executor_id), Some(app_id)) = (driver_url, executor_id, app_id)
        else {
            return Err(missing());
        };
        let hostname = hostname.unwrap_or_else(local_host);
        check_host(&hostname)?;
        let bind_address = bind_address.unwrap_or_else(|| hostname.clone());
        DriverUrl::parse(&driver_url)?;
        Ok(Self {
            backend,
            driver_url,
            executor_id,
            bind_address,
            hostname,
            cores,
            app_id,
            worker_url,
            resources_file,
            resource_profile_id,
            pod_name,
        })
    }
}

fn integer(option: &'static str, value: &str) -> Result<i32, ArgumentsError> {
    value.parse().map_err(|_| ArgumentsError::NotANumber {
        option,
        value: value.to_owned(),
    })
}

/// Spark's `Utils.checkHost`: a name or address, and an IPv6 address only in brackets.
fn check_host(host: &str) -> Result<(), ArgumentsError> {
    let fits = match host.matches(':').count() {
        0 => !host.is_empty(),
        1 => false,
        _ => host.starts_with('[') && host.ends_with(']'),
    };
    if fits {
        Ok(())
    } else {
        Err(ArgumentsError::Host {
            host: host.to_owned(),
        })
    }
}

/// Address of an endpoint, `spark://NAME@HOST:PORT`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DriverUrl {
    /// The endpoint's name, usually `CoarseGrainedScheduler`.
    pub endpoint: String,
    /// Host name or address; an IPv6 address is in brackets.
    pub host: String,
    /// TCP port.
    pub port: u16,
}

impl DriverUrl {
    /// Takes a URL apart as Spark's `RpcEndpointAddress` does.
    ///
    /// # Errors
    /// [`ArgumentsError::DriverUrl`].
    pub fn parse(url: &str) -> Result<Self, ArgumentsError> {
        let parts = || {
            let (endpoint, address) = url.strip_prefix("spark://")?.split_once('@')?;
            let (host, port) = address.rsplit_once(':')?;
            let port = port.parse().ok()?;
            (!endpoint.is_empty()
                && !address.contains(['/', '?', '#', '@'])
                && check_host(host).is_ok())
            .then(|| Self {
                endpoint: endpoint.to_owned(),
                host: host.to_owned(),
                port,
            })
        };
        parts().ok_or_else(|| ArgumentsError::DriverUrl {
            url: url.to_owned(),
        })
    }

    /// The host as the operating system takes it, without brackets.
    pub fn socket_host(&self) -> &str {
        self.host.trim_start_matches('[').trim_end_matches(']')
    }
}

/// One resource that was allocated to this executor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllocatedResource {
    /// Its name, for example `gpu`.
    pub name: String,
    /// Its addresses, for example `0` and `1`.
    pub addresses: Vec<String>,
}

/// Why a `--resourcesFile` cannot be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ResourcesFileError {
    /// It could not be read.
    #[error("cannot read {path}, given as --resourcesFile: {source}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// It is not the JSON that Spark writes.
    #[error("error parsing resources file {path}, given as --resourcesFile: {source}")]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: serde_json::Error,
    },
}

/// Reads a `--resourcesFile`: a JSON array of `{"id":{"componentName":…,"resourceName":…},"addresses":[…]}`. Only what
/// is meant for executors is returned.
///
/// # Errors
/// See [`ResourcesFileError`].
pub fn read_resources_file(path: &Path) -> Result<Vec<AllocatedResource>, ResourcesFileError> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Id {
        component_name: String,
        resource_name: String,
    }
    #[derive(Deserialize)]
    struct Allocation {
        id: Id,
        addresses: Vec<String>,
    }
    let bytes = std::fs::read(path).map_err(|source| ResourcesFileError::Unreadable {
        path: path.to_owned(),
        source,
    })?;
    let allocations: Vec<Allocation> =
        serde_json::from_slice(&bytes).map_err(|source| ResourcesFileError::Malformed {
            path: path.to_owned(),
            source,
        })?;
    let own = allocations
        .into_iter()
        .filter(|allocation| allocation.id.component_name == EXECUTOR_COMPONENT);
    Ok(own
        .map(|allocation| AllocatedResource {
            name: allocation.id.resource_name,
            addresses: allocation.addresses,
        })
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(line: &str) -> Vec<String> {
        line.split(' ')
            .filter(|word| !word.is_empty())
            .map(str::to_owned)
            .collect()
    }

    fn parse(backend: Backend, line: &str) -> Result<ExecutorArguments, ArgumentsError> {
        ExecutorArguments::parse(backend, &args(line), || "here".to_owned())
    }

    const LEAST: &str = "--driver-url spark://CoarseGrainedScheduler@host:7078 --executor-id 3 --cores 2 --app-id app-1";

    #[test]
    fn all_options_arrive() -> Result<(), ArgumentsError> {
        let line = format!(
            "{LEAST} --bind-address 10.0.0.1 --hostname h --worker-url spark://Worker@w:1 --resourcesFile /r.json --resourceProfileId 4 --podName p"
        );
        let parsed = parse(Backend::Kubernetes, &line)?;
        assert_eq!(
            parsed,
            ExecutorArguments {
                backend: Backend::Kubernetes,
                driver_url: "spark://CoarseGrainedScheduler@host:7078".into(),
                executor_id: "3".into(),
                bind_address: "10.0.0.1".into(),
                hostname: "h".into(),
                cores: 2,
                app_id: "app-1".into(),
                worker_url: Some("spark://Worker@w:1".into()),
                resources_file: Some("/r.json".into()),
                resource_profile_id: 4,
                pod_name: Some("p".into()),
            }
        );
        Ok(())
    }

    #[test]
    fn host_and_bind_address_have_defaults() -> Result<(), ArgumentsError> {
        let parsed = parse(Backend::CoarseGrained, LEAST)?;
        assert_eq!(
            (
                parsed.hostname.as_str(),
                parsed.bind_address.as_str(),
                parsed.resource_profile_id
            ),
            ("here", "here", 0)
        );
        let parsed = parse(Backend::CoarseGrained, &format!("{LEAST} --hostname [::1]"))?;
        assert_eq!(parsed.bind_address, "[::1]");
        Ok(())
    }

    #[test]
    fn unknown_options_show_sparks_usage() {
        let text = |backend| {
            parse(backend, "--cores 1 --bogus x y")
                .err()
                .map(|error| format!("{error}\n"))
        };
        assert_eq!(
            text(Backend::CoarseGrained).as_deref(),
            Some(include_str!("usage/coarse_grained.txt"))
        );
        assert_eq!(
            text(Backend::Yarn).as_deref(),
            Some(include_str!("usage/yarn.txt"))
        );
        assert_eq!(
            text(Backend::Kubernetes).as_deref(),
            Some(include_str!("usage/kubernetes.txt"))
        );
        for line in ["--podName p", "--driver-url", "--hostname h --cores"] {
            let error = parse(Backend::CoarseGrained, line);
            assert!(
                matches!(error, Err(ArgumentsError::Unrecognized { .. })),
                "{line}: {error:?}"
            );
        }
    }

    #[test]
    fn what_is_required_is_missed() {
        let missing = Err(ArgumentsError::Missing {
            backend: Backend::CoarseGrained,
        });
        assert_eq!(parse(Backend::CoarseGrained, ""), missing);
        for option in ["--driver-url", "--executor-id", "--cores", "--app-id"] {
            let mut words = args(LEAST);
            if let Some(at) = words.iter().position(|word| word == option) {
                words.drain(at..at + 2);
            }
            assert_eq!(
                parse(Backend::CoarseGrained, &words.join(" ")),
                missing,
                "{option}"
            );
        }
        assert_eq!(
            parse(Backend::CoarseGrained, &format!("{LEAST} --cores 0")),
            missing
        );
        let number = parse(Backend::CoarseGrained, &format!("{LEAST} --cores many"));
        assert_eq!(
            number,
            Err(ArgumentsError::NotANumber {
                option: "--cores",
                value: "many".into()
            })
        );
    }

    #[test]
    fn hosts_are_checked_as_spark_does() {
        for host in ["::1", "a:1", "[::1"] {
            let error = parse(
                Backend::CoarseGrained,
                &format!("{LEAST} --hostname {host}"),
            );
            assert_eq!(
                error,
                Err(ArgumentsError::Host {
                    host: host.to_owned()
                })
            );
        }
    }

    #[test]
    fn driver_urls_are_taken_apart() -> Result<(), ArgumentsError> {
        let url = DriverUrl::parse("spark://CoarseGrainedScheduler@[fe80::1]:7078")?;
        assert_eq!(
            (
                url.endpoint.as_str(),
                url.host.as_str(),
                url.socket_host(),
                url.port
            ),
            ("CoarseGrainedScheduler", "[fe80::1]", "fe80::1", 7078)
        );
        for wrong in [
            "spark://host:1",
            "http://a@b:1",
            "spark://@b:1",
            "spark://a@b",
            "spark://a@b:x",
            "spark://a@b:70000",
            "spark://a@b:1/c",
            "",
        ] {
            assert_eq!(
                DriverUrl::parse(wrong),
                Err(ArgumentsError::DriverUrl {
                    url: wrong.to_owned()
                })
            );
        }
        Ok(())
    }

    #[test]
    fn resources_come_from_sparks_json() -> Result<(), Box<dyn std::error::Error>> {
        let dir = tempfile::tempdir()?;
        let file = dir.path().join("resources.json");
        std::fs::write(
            &file,
            r#"[{"id":{"componentName":"spark.executor","resourceName":"gpu"},"addresses":["0","1"]},
                {"id":{"componentName":"spark.driver","resourceName":"fpga"},"addresses":["f"]}]"#,
        )?;
        let expected = AllocatedResource {
            name: "gpu".into(),
            addresses: vec!["0".into(), "1".into()],
        };
        assert_eq!(read_resources_file(&file)?, [expected]);
        std::fs::write(&file, "{}")?;
        let malformed = read_resources_file(&file)
            .err()
            .map(|error| error.to_string())
            .unwrap_or_default();
        assert!(
            malformed.contains("--resourcesFile") && malformed.contains("resources.json"),
            "{malformed}"
        );
        Ok(())
    }
}
