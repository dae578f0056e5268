//! The `java` command line, read as the launchers of JDK 17 and 21 read it.
//!
//! The launcher of the JDK stays the judge of anything unusual: whatever is not plainly "run this main class from the
//! class path" is [`JavaLaunch::Other`], and a command line with a mistake is a [`JavaCommandError`]; in both cases the
//! caller `exec`s the real launcher, which prints its own messages.

use std::path::PathBuf;

use thiserror::Error;

use super::{argfile, class_path};

/// Why a `java` command line cannot be read. The real launcher words these for the user; here they matter for the log
/// and for tests.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum JavaCommandError {
    /// An option that needs a value has none.
    #[error("option {option} of the java command line needs a value")]
    MissingValue {
        /// The option as typed.
        option: String,
    },
    /// An `@argfile` could not be read.
    #[error("cannot read the argument file {path}: {source}")]
    ArgFile {
        /// The file named after `@`.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// An `@argfile` is larger than any real one.
    #[error("the argument file {path} has {bytes} bytes, more than the limit of {limit}")]
    ArgFileTooLarge {
        /// The file named after `@`.
        path: PathBuf,
        /// Its size.
        bytes: u64,
        /// The largest size that is read.
        limit: u64,
    },
    /// `JDK_JAVA_OPTIONS` ends inside a quote.
    #[error("the environment variable JDK_JAVA_OPTIONS has an open quote")]
    OpenQuote,
    /// `JDK_JAVA_OPTIONS` holds something that chooses what is run.
    #[error("{option:?} is not allowed in the environment variable JDK_JAVA_OPTIONS")]
    NotInEnvironment {
        /// The word that is not allowed.
        option: String,
    },
}

/// A command line that runs a main class from the class path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JavaCommand {
    /// Options for `JNI_CreateJavaVM` in the order given, without those that only the launcher understands and without
    /// the class path.
    pub options: Vec<String>,
    /// The class path with wildcards expanded: `-cp`, else `CLASSPATH`, else `.`.
    pub class_path: String,
    /// The main class, with dots.
    pub main_class: String,
    /// What follows the main class.
    pub args: Vec<String>,
}

/// What a `java` command line asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JavaLaunch {
    /// Run a main class from the class path.
    Class(JavaCommand),
    /// Anything else (`-version`, `-jar`, a module, a source file, no main class at all, …), with the word that decided
    /// it.
    Other(String),
}

/// True for options whose value may be the following argument.
pub(super) fn takes_separate_value(arg: &str) -> bool {
    is_launcher_option(arg) || is_module_option(arg)
}

fn is_launcher_option(arg: &str) -> bool {
    is_class_path_option(arg)
        || matches!(
            arg,
            "--module" | "-m" | "--describe-module" | "-d" | "--source"
        )
}

fn is_class_path_option(arg: &str) -> bool {
    matches!(arg, "-cp" | "-classpath" | "--class-path")
}

/// Options of the module system, which reach the JVM in their `--long=value` form.
fn is_module_option(arg: &str) -> bool {
    matches!(
        arg,
        "--module-path"
            | "-p"
            | "--upgrade-module-path"
            | "--add-modules"
            | "--enable-native-access"
            | "--limit-modules"
            | "--add-exports"
            | "--add-opens"
            | "--add-reads"
            | "--patch-module"
    )
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Unknown,
    Class,
    Jar,
}

/// What one option does.
enum Step {
    /// Goes to the JVM.
    Jvm(String),
    /// Sets the class path.
    ClassPath(String),
    /// Switches to `-jar`.
    Jar,
    /// Concerns the launcher only and changes nothing for an embedded JVM.
    Drop,
    /// Ends the reading: this is not a plain run of a class.
    Other,
}

impl JavaCommand {
    /// Reads a `java` command line.
    ///
    /// * `args`: the arguments without the program's name.
    /// * `env`: looks up an environment variable (`JDK_JAVA_OPTIONS`, `CLASSPATH`).
    ///
    /// # Errors
    /// A mistake that the real launcher would report instead of starting; see [`JavaCommandError`].
    pub fn parse(
        args: &[String],
        env: impl Fn(&str) -> Option<String>,
    ) -> Result<JavaLaunch, JavaCommandError> {
        let args = argfile::expand(args, env("JDK_JAVA_OPTIONS").as_deref())?;
        let mut rest = args.as_slice();
        let mut options = Vec::new();
        let mut path = env("CLASSPATH").map(|path| class_path::expand_wildcards(&path));
        let mut mode = Mode::Unknown;
        while let [arg, tail @ ..] = rest
            && arg.starts_with('-')
        {
            let (step, used) = read_option(arg, tail)?;
            rest = tail.get(used..).unwrap_or_default();
            match step {
                Step::Jvm(option) => match option.strip_prefix("-Djava.class.path=") {
                    Some(value) => path = Some(value.to_owned()),
                    None => options.push(option),
                },
                Step::ClassPath(value) => {
                    path = Some(class_path::expand_wildcards(&value));
                    mode = Mode::Class;
                }
                Step::Jar => mode = Mode::Jar,
                Step::Drop => {}
                Step::Other => return Ok(JavaLaunch::Other(arg.clone())),
            }
        }
        let [main_class, args @ ..] = rest else {
            return Ok(JavaLaunch::Other("no main class".to_owned()));
        };
        if mode == Mode::Jar || main_class.ends_with(".java") {
            return Ok(JavaLaunch::Other(main_class.clone()));
        }
        Ok(JavaLaunch::Class(JavaCommand {
            options,
            class_path: path.unwrap_or_else(|| ".".to_owned()),
            main_class: main_class.replace('/', "."),
            args: args.to_vec(),
        }))
    }

    /// The class path entries, ready to be opened.
    pub fn class_path_entries(&self) -> Vec<PathBuf> {
        class_path::entries(&self.class_path)
    }

    /// The system properties that `-D` options set, in order; a later one of the same name wins in the JVM.
    pub fn system_properties(&self) -> impl Iterator<Item = (&str, &str)> {
        self.options
            .iter()
            .filter_map(|option| option.strip_prefix("-D"))
            .map(|text| text.split_once('=').unwrap_or((text, "")))
    }

    /// The value of one system property, if a `-D` option sets it.
    pub fn system_property(&self, name: &str) -> Option<&str> {
        self.system_properties()
            .filter(|(key, _)| *key == name)
            .map(|(_, value)| value)
            .last()
    }

    /// All options for `JNI_CreateJavaVM`, in the launcher's form: the options, the class path with `first` in front of
    /// it, and the property that makes `jps` and the JVM's own reports show the command.
    pub fn jvm_options(&self, first: &[PathBuf]) -> Vec<String> {
        let mut path: Vec<String> = first
            .iter()
            .map(|entry| entry.display().to_string())
            .collect();
        path.push(self.class_path.clone());
        let mut command = self.main_class.clone();
        for arg in &self.args {
            command.push(' ');
            command.push_str(arg);
        }
        let mut options = self.options.clone();
        options.push(format!("-Djava.class.path={}", path.join(":")));
        options.push(format!("-Dsun.java.command={command}"));
        options.push("-Dsun.java.launcher=SUN_STANDARD".to_owned());
        options
    }

    /// Stack size in bytes of the thread that creates the JVM and runs its main code: the last `-Xss`, else the JDK's
    /// default.
    pub fn main_thread_stack(&self) -> usize {
        const SMALLEST: u64 = 64 * 1024;
        let default = if cfg!(target_arch = "aarch64") {
            2 << 20
        } else {
            1 << 20
        };
        let asked = self
            .options
            .iter()
            .rev()
            .find_map(|option| super::heap::parse_size(option.strip_prefix("-Xss")?));
        match asked {
            None | Some(0) => default,
            Some(bytes) => usize::try_from(bytes.max(SMALLEST)).unwrap_or(default),
        }
    }
}

/// Reads one option; `tail` is what follows it. Returns what it does and how many arguments of `tail` it used.
fn read_option(arg: &str, tail: &[String]) -> Result<(Step, usize), JavaCommandError> {
    let missing = || JavaCommandError::MissingValue {
        option: arg.to_owned(),
    };
    if takes_separate_value(arg) {
        let value = tail.first().filter(|value| !value.starts_with('-'));
        if is_class_path_option(arg) {
            return Ok((Step::ClassPath(value.ok_or_else(missing)?.clone()), 1));
        }
        if is_module_option(arg) {
            let value = value
                .filter(|value| !value.is_empty())
                .ok_or_else(missing)?;
            let name = if arg == "-p" { "--module-path" } else { arg };
            return Ok((Step::Jvm(format!("{name}={value}")), 1));
        }
        return Ok((Step::Other, 0));
    }
    if let Some((name, value)) = arg.split_once('=').filter(|_| arg.starts_with("--")) {
        return match name {
            "--class-path" => Ok((Step::ClassPath(value.to_owned()), 0)),
            "--module" | "--describe-module" | "--source" => Ok((Step::Other, 0)),
            _ if value.is_empty() && name != "--add-opens" && is_module_option(name) => {
                Err(missing())
            }
            _ => Ok((Step::Jvm(arg.to_owned()), 0)),
        };
    }
    let jvm = |option: &str| Step::Jvm(option.to_owned());
    let step = match arg {
        "-jar" if tail.is_empty() => return Err(missing()),
        "-jar" => Step::Jar,
        "--list-modules" | "--validate-modules" | "--dry-run" | "-help" | "-h" | "-?"
        | "--help" | "-version" | "--version" | "-X" | "--help-extra" | "-fullversion"
        | "--full-version" => Step::Other,
        "-Xdiag" => jvm("-Dsun.java.launcher.diag=true"),
        "--show-module-resolution" => jvm("-Djdk.module.showModuleResolution=true"),
        "-verbosegc" => jvm("-verbose:gc"),
        "-t" => jvm("-Xt"),
        "-tm" => jvm("-Xtm"),
        "-debug" => jvm("-Xdebug"),
        "-noclassgc" => jvm("-Xnoclassgc"),
        "-Xfuture" | "-verify" => jvm("-Xverify:all"),
        "-verifyremote" => jvm("-Xverify:remote"),
        "-noverify" => jvm("-Xverify:none"),
        // Chosen from jvm.cfg by the launcher; there is one JVM in the supported JDKs.
        "-server" | "-client" => Step::Drop,
        // Print something on start or did so once; the task of an executor is the same without it.
        "-showversion"
        | "--show-version"
        | "--show-resolved-modules"
        | "-XshowSettings"
        | "-checksource"
        | "-cs"
        | "-noasyncgc"
        | "--disable-@files" => Step::Drop,
        _ if arg.starts_with("-XshowSettings:") || arg.starts_with("-splash:") => Step::Drop,
        // `--source 17` as one word, and a JVM of another build: for the real launcher to sort out.
        _ if arg.starts_with("--source ")
            || arg.starts_with("-XXaltjvm=")
            || arg.starts_with("-J") =>
        {
            Step::Other
        }
        _ if ["-ss", "-oss", "-ms", "-mx"]
            .iter()
            .any(|old| arg.starts_with(old)) =>
        {
            Step::Jvm(format!("-X{}", arg.trim_start_matches('-')))
        }
        _ => jvm(arg),
    };
    Ok((step, 0))
}

#[cfg(test)]
#[path = "java_tests.rs"]
mod tests;
