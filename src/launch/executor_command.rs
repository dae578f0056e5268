//! An executor's whole launch: its arguments and the JVM command that tasks may need.

use thiserror::Error;

use super::environment::local_host_name;
use super::executor_args::{ArgumentsError, Backend, ExecutorArguments};
use super::java::{JavaCommand, JavaCommandError, JavaLaunch};

/// Everything that starts an executor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExecutorCommand {
    /// What the backend was told.
    pub arguments: ExecutorArguments,
    /// The JVM's options and class path.
    pub java: JavaCommand,
}

/// Why the arguments of `firesteel executor` cannot be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ExecutorCommandError {
    /// The backend's arguments.
    #[error(transparent)]
    Arguments(#[from] ArgumentsError),
    /// The JVM's options.
    #[error(transparent)]
    Java(#[from] JavaCommandError),
    /// A `--java-option` that is not an option of a JVM.
    #[error(
        "--java-option {option} does not fit: only options of the JVM are possible here, such as -Xmx4g or -Dspark.network.timeout=600s"
    )]
    NotAJvmOption {
        /// The word that ended the options.
        option: String,
    },
    /// An unknown kind of backend.
    #[error("--backend {name} is unknown: use coarse-grained, yarn or kubernetes")]
    Backend {
        /// What was given.
        name: String,
    },
    /// Neither a class path nor a place of Spark.
    #[error(
        "no class path: give --class-path (as the -cp of java), or set SPARK_HOME to a Spark distribution"
    )]
    NoClassPath,
}

impl ExecutorCommand {
    /// Takes apart what follows the main class on a `java` command line.
    ///
    /// # Errors
    /// See [`ArgumentsError`].
    pub fn of_java(
        backend: Backend,
        java: JavaCommand,
        env: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, ArgumentsError> {
        let arguments = ExecutorArguments::parse(backend, &java.args, || local_host_name(env))?;
        Ok(Self { arguments, java })
    }

    /// Reads the arguments of `firesteel executor`: the backend's own, and in front of or among them
    ///
    /// * `--class-path CP`: the JVM's class path, wildcards as for `java`; else `CLASSPATH`, else the jars and `conf`
    ///   of `SPARK_HOME`;
    /// * `--java-option OPTION`: one option of the JVM; may be repeated;
    /// * `--backend KIND`: `coarse-grained` (the default), `yarn` or `kubernetes`.
    ///
    /// # Errors
    /// See [`ExecutorCommandError`].
    pub fn parse(
        args: &[String],
        env: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, ExecutorCommandError> {
        let mut backend = Backend::CoarseGrained;
        let mut class_path = None;
        let mut java_args = Vec::new();
        let mut backend_args = Vec::new();
        let mut rest = args;
        while let [option, tail @ ..] = rest {
            let own = ["--class-path", "--java-option", "--backend"].contains(&option.as_str());
            let Some((value, after)) = tail.split_first().filter(|_| own) else {
                // The backend's options come in pairs; a value is never taken for one of ours.
                let pair = rest.get(..2).unwrap_or(rest);
                backend_args.extend_from_slice(pair);
                rest = rest.get(pair.len()..).unwrap_or_default();
                continue;
            };
            match option.as_str() {
                "--class-path" => class_path = Some(value.clone()),
                "--java-option" => java_args.push(value.clone()),
                _ => backend = backend_named(value)?,
            }
            rest = after;
        }
        let arguments = ExecutorArguments::parse(backend, &backend_args, || local_host_name(&env))?;
        let class_path = class_path
            .or_else(|| env("CLASSPATH"))
            .or_else(|| Some(class_path_of(&env("SPARK_HOME")?, &env)));
        let class_path = class_path.ok_or(ExecutorCommandError::NoClassPath)?;
        // In front, so that it does not undo a -jar among the options.
        java_args.splice(0..0, ["-cp".to_owned(), class_path]);
        java_args.push(backend.class_name().to_owned());
        java_args.extend(backend_args);
        match JavaCommand::parse(&java_args, env)? {
            JavaLaunch::Class(java) if java.main_class == backend.class_name() => {
                Ok(Self { arguments, java })
            }
            JavaLaunch::Class(java) => Err(ExecutorCommandError::NotAJvmOption {
                option: java.main_class,
            }),
            JavaLaunch::Other(option) => Err(ExecutorCommandError::NotAJvmOption { option }),
        }
    }
}

/// The class path that Spark's own launchers make of a distribution: its configuration, then its jars.
pub fn class_path_of(spark_home: &str, env: impl Fn(&str) -> Option<String>) -> String {
    let conf = env("SPARK_CONF_DIR").unwrap_or_else(|| format!("{spark_home}/conf"));
    format!("{conf}/:{spark_home}/jars/*")
}

fn backend_named(name: &str) -> Result<Backend, ExecutorCommandError> {
    match name {
        "coarse-grained" => Ok(Backend::CoarseGrained),
        "yarn" => Ok(Backend::Yarn),
        "kubernetes" => Ok(Backend::Kubernetes),
        _ => Err(ExecutorCommandError::Backend {
            name: name.to_owned(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEAST: &str = "--driver-url spark://CoarseGrainedScheduler@h:1 --executor-id 0 --hostname h --cores 1 --app-id a";

    fn parse(line: &str, vars: &[(&str, &str)]) -> Result<ExecutorCommand, ExecutorCommandError> {
        let args: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        ExecutorCommand::parse(&args, |name| {
            vars.iter()
                .find(|(key, _)| *key == name)
                .map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn own_options_stand_anywhere() -> Result<(), ExecutorCommandError> {
        let command = parse(
            &format!(
                "--java-option -Xmx2g {LEAST} --class-path a:b --java-option -Dspark.x=1 --backend kubernetes --podName p"
            ),
            &[],
        )?;
        assert_eq!(command.arguments.backend, Backend::Kubernetes);
        assert_eq!(command.arguments.pod_name.as_deref(), Some("p"));
        assert_eq!(command.java.options, ["-Xmx2g", "-Dspark.x=1"]);
        assert_eq!(command.java.class_path, "a:b");
        assert_eq!(command.java.main_class, Backend::Kubernetes.class_name());
        assert_eq!(
            command.java.args.first().map(String::as_str),
            Some("--driver-url")
        );
        Ok(())
    }

    #[test]
    fn the_class_path_can_come_from_the_environment() -> Result<(), ExecutorCommandError> {
        assert_eq!(
            parse(LEAST, &[("CLASSPATH", "c"), ("SPARK_HOME", "/s")])?
                .java
                .class_path,
            "c"
        );
        assert_eq!(
            parse(LEAST, &[("SPARK_HOME", "/s")])?.java.class_path,
            "/s/conf/:/s/jars/*"
        );
        assert_eq!(
            parse(LEAST, &[("SPARK_HOME", "/s"), ("SPARK_CONF_DIR", "/e")])?
                .java
                .class_path,
            "/e/:/s/jars/*"
        );
        assert!(matches!(
            parse(LEAST, &[]),
            Err(ExecutorCommandError::NoClassPath)
        ));
        Ok(())
    }

    #[test]
    fn mistakes_are_told_apart() {
        let mistake = |line: &str| parse(&format!("{line} {LEAST} --class-path c"), &[]);
        assert!(matches!(
            mistake("--bogus 1"),
            Err(ExecutorCommandError::Arguments(
                ArgumentsError::Unrecognized { .. }
            ))
        ));
        assert!(matches!(
            mistake("--backend mesos"),
            Err(ExecutorCommandError::Backend { .. })
        ));
        for option in ["-version", "Main", "-jar"] {
            let error = mistake(&format!("--java-option {option}"));
            assert!(
                matches!(error, Err(ExecutorCommandError::NotAJvmOption { .. })),
                "{option}: {error:?}"
            );
        }
        let usage = parse("", &[])
            .err()
            .map(|error| error.to_string())
            .unwrap_or_default();
        assert!(usage.contains("--driver-url <driverUrl>"), "{usage}");
        assert!(matches!(
            parse("--class-path", &[]),
            Err(ExecutorCommandError::Arguments(
                ArgumentsError::Unrecognized { .. }
            ))
        ));
    }
}
