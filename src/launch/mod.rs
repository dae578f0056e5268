//! Command lines: the `java` launcher's syntax, executor arguments, the environment, the application's secret, keys of
//! TLS, and `exec` of the real JDK.

mod argfile;
pub mod class_path;
pub mod credentials;
pub mod environment;
pub mod executor_args;
pub mod executor_command;
pub mod hadoop;
pub mod heap;
pub mod java;
pub mod jdk;
pub mod machine;
pub mod secret;
pub mod tls;

use std::ffi::OsString;

pub use environment::ExecutorDetails;
pub use executor_args::{ArgumentsError, Backend, DriverUrl, ExecutorArguments};
pub use executor_command::{ExecutorCommand, ExecutorCommandError};
pub use heap::HeapSize;
pub use java::{JavaCommand, JavaCommandError, JavaLaunch};
pub use jdk::{Jdk, JdkError};
pub use machine::Machine;

/// What `bin/java` is to do with its command line.
#[derive(Debug)]
pub enum Launch {
    /// Become this executor.
    Executor {
        /// The backend that was asked for.
        backend: Backend,
        /// The whole command line.
        command: JavaCommand,
    },
    /// Hand everything to the real JDK, unchanged.
    RealJava {
        /// Why, for the log.
        reason: String,
    },
}

/// Decides what `bin/java` does. Only a command line that certainly runs one of Spark's executor backends from the
/// class path makes an executor; everything else, mistakes included, is the real launcher's.
///
/// `args` are the arguments without the program's name; `env` looks up an environment variable.
pub fn decide(args: &[OsString], env: impl Fn(&str) -> Option<String>) -> Launch {
    let mut text = Vec::with_capacity(args.len());
    for arg in args {
        match arg.to_str() {
            Some(arg) => text.push(arg.to_owned()),
            None => {
                return Launch::RealJava {
                    reason: format!("the argument {arg:?} is not UTF-8"),
                };
            }
        }
    }
    match JavaCommand::parse(&text, env) {
        Ok(JavaLaunch::Class(command)) => match Backend::from_class_name(&command.main_class) {
            Some(backend) => Launch::Executor { backend, command },
            None => Launch::RealJava {
                reason: format!("main class {}", command.main_class),
            },
        },
        Ok(JavaLaunch::Other(word)) => Launch::RealJava { reason: word },
        Err(error) => Launch::RealJava {
            reason: error.to_string(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::ffi::OsStringExt;

    fn decided(line: &str) -> Option<Backend> {
        let args: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        match decide(&args, |_| None) {
            Launch::Executor { backend, .. } => Some(backend),
            Launch::RealJava { .. } => None,
        }
    }

    #[test]
    fn the_three_backends_are_executors() {
        for backend in Backend::ALL {
            let name = backend.class_name();
            assert_eq!(
                decided(&format!("-cp x -Xmx1g {name} --driver-url y")),
                Some(backend)
            );
            assert_eq!(
                decided(&format!("-server {}", name.replace('.', "/"))),
                Some(backend)
            );
        }
    }

    #[test]
    fn nothing_else_is() {
        let name = Backend::CoarseGrained.class_name();
        for line in [
            String::new(),
            "-version".to_owned(),
            format!("-version {name}"),
            format!("--dry-run -cp x {name}"),
            format!("-cp {name}"),
            format!("-cp x Other {name}"),
            format!("-cp x {name}X"),
            format!("-cp x x.{name}"),
            format!("-cp x {}", name.to_lowercase()),
            format!("-jar {name}"),
            format!("-m {name}"),
            format!("-m x/{name}"),
            format!("--module={name}"),
            format!("--source 17 {name}"),
            format!("{name}.java"),
            format!("-Dmain={name}"),
            format!("@{name}"),
            "-cp x org.apache.spark.deploy.worker.Worker".to_owned(),
            "-cp x org.apache.spark.deploy.SparkSubmit --class X".to_owned(),
        ] {
            assert_eq!(decided(&line), None, "{line}");
        }
    }

    #[test]
    fn bytes_that_are_no_text_are_for_the_real_launcher() {
        let args = [
            OsString::from_vec(vec![b'-', b'D', 0xff]),
            OsString::from(Backend::CoarseGrained.class_name()),
        ];
        assert!(matches!(decide(&args, |_| None), Launch::RealJava { .. }));
    }
}
