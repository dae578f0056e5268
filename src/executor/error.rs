//! Why an executor cannot start or go on, sorted by blame.

use std::path::PathBuf;

use super::exit_code;
use crate::launch::{ArgumentsError, JdkError};

/// Why an executor could not start. Each message names the setting, file or peer and what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExecutorError {
    /// The command line.
    #[error(transparent)]
    Arguments(#[from] ArgumentsError),
    /// No Spark on the class path.
    #[error(
        "No Spark distribution on the class path: {missing} is in none of its {entries} entries. Start the executor with -cp naming the jars of the \
         driver's Spark version (Spark's launchers do), or check SPARK_HOME on this machine"
    )]
    NoSpark {
        /// The class that was looked for.
        missing: String,
        /// How many entries the class path has.
        entries: usize,
    },
    /// Jars of different Spark versions.
    #[error(
        "The class path mixes Spark versions: {}. Remove all but the jars of the driver's version",
        found.iter().map(|(version, jar)| format!("{version} ({})", jar.display())).collect::<Vec<_>>().join(", ")
    )]
    MixedSpark {
        /// Versions with a jar of each.
        found: Vec<(String, PathBuf)>,
    },
    /// The distribution's classes do not fit what Firesteel writes.
    #[error("The Spark {version} on the class path does not fit this Firesteel: {why}")]
    Unsupported {
        /// The distribution's version.
        version: String,
        /// Class and field.
        why: String,
    },
    /// A setting of the application.
    #[error("{0}")]
    Setting(String),
    /// Custom resources could not be discovered.
    #[error(
        "Unable to create executor due to {why}. Custom resources are discovered by the plugins of {setting}; check that their classes are on the executor's \
         class path (spark.executor.extraClassPath)"
    )]
    Discovery {
        /// The setting that names the plugins.
        setting: String,
        /// What went wrong in the JVM.
        why: String,
    },
    /// Nobody answers at the driver's address.
    #[error(
        "Cannot connect to the driver at {driver}: {why}. Check that the driver runs and that spark.driver.host ({host}) and spark.driver.port are \
         reachable from this machine"
    )]
    DriverUnreachable {
        /// `host:port`
        driver: String,
        /// Its host.
        host: String,
        /// What the system says.
        why: String,
    },
    /// The driver is not who it should be, or thinks so of us.
    #[error("The driver at {driver} and this executor do not trust each other: {why}")]
    Authentication {
        /// `host:port`
        driver: String,
        /// Who refused, why, and which settings to look at.
        why: String,
    },
    /// The driver could not read our message, as one of another version cannot.
    #[error(
        "The driver at {driver} does not understand Spark {version}, the version on this executor's class path: {why}. Driver and executors must run the \
         same Spark version; check SPARK_HOME on this machine"
    )]
    DriverOfAnotherVersion {
        /// `host:port`
        driver: String,
        /// The distribution's version.
        version: String,
        /// The first line of the driver's answer.
        why: String,
    },
    /// The driver answered with a failure.
    #[error("The driver at {driver} refused {what}: {why}")]
    Refused {
        /// `host:port`
        driver: String,
        /// Which request.
        what: &'static str,
        /// The driver's words.
        why: String,
    },
    /// The driver did not answer, or with something else.
    #[error("The driver at {driver} did not answer {what}: {why}")]
    NoAnswer {
        /// `host:port`
        driver: String,
        /// Which request.
        what: &'static str,
        /// Why.
        why: String,
    },
    /// No directory for blocks.
    #[error("Failed to create any local dir: {0}")]
    NoLocalDir(String),
    /// The block server's port.
    #[error(
        "Cannot listen on {address} for block transfers: {why}. Set spark.blockManager.port to a free port, or 0 for any"
    )]
    Port {
        /// Host and ports that were tried.
        address: String,
        /// What the system says.
        why: String,
    },
    /// The external shuffle service of this host.
    #[error(
        "{why}. Check that an external shuffle service listens on {address} (for a Standalone worker: that it was started with spark.shuffle.service.enabled), or \
         set spark.shuffle.service.enabled=false for this application"
    )]
    ShuffleService {
        /// Host and port of the service.
        address: String,
        /// Spark's text.
        why: String,
    },
    /// No JDK.
    #[error(transparent)]
    Jdk(#[from] JdkError),
    /// The operating system.
    #[error("{what}: {why}")]
    System {
        /// What was tried.
        what: &'static str,
        /// What the system says.
        why: std::io::Error,
    },
}

impl ExecutorError {
    /// The exit code of the process.
    pub fn exit_code(&self) -> i32 {
        match self {
            Self::NoLocalDir(_) => exit_code::DISK_STORE_FAILED_TO_CREATE_DIR,
            _ => exit_code::FAILURE,
        }
    }

    /// A number that stays the same from version to version, for programs that embed an executor.
    pub fn code(&self) -> u32 {
        match self {
            Self::Arguments(_) => 100,
            Self::NoSpark { .. } => 101,
            Self::MixedSpark { .. } => 102,
            Self::Unsupported { .. } => 103,
            Self::Setting(_) => 104,
            Self::Jdk(_) => 105,
            Self::Discovery { .. } => 106,
            Self::DriverUnreachable { .. } => 200,
            Self::DriverOfAnotherVersion { .. } => 201,
            Self::Refused { .. } => 202,
            Self::NoAnswer { .. } => 203,
            Self::Authentication { .. } => 204,
            Self::NoLocalDir(_) => 300,
            Self::Port { .. } => 301,
            Self::System { .. } => 302,
            Self::ShuffleService { .. } => 303,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_name_the_culprit_and_the_cure() {
        let error = ExecutorError::MixedSpark {
            found: vec![
                ("3.5.9".into(), "/a/spark-core_2.12-3.5.9.jar".into()),
                ("4.3.0".into(), "/b/spark-core_2.13-4.3.0.jar".into()),
            ],
        };
        let text = error.to_string();
        assert!(
            text.contains("3.5.9 (/a/spark-core_2.12-3.5.9.jar), 4.3.0 (/b/"),
            "{text}"
        );
        assert_eq!((error.exit_code(), error.code()), (1, 102));
        assert_eq!(
            ExecutorError::NoLocalDir("/tmp: full".into()).exit_code(),
            53
        );
    }
}
