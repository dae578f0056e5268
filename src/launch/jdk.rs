//! Finding the real JDK, and handing a command line to it.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use thiserror::Error;

/// Major versions that Firesteel is tested with, best first.
const SUPPORTED: [u32; 2] = [21, 17];

/// Places where distributions, installers and images put JDKs: each is a JDK itself or holds some.
const USUAL_PLACES: [&str; 7] = [
    "/usr/lib/jvm",
    "/opt/java",
    "/opt/jdk",
    "/usr/java",
    "/usr/local/openjdk",
    "/usr/lib/java",
    "/opt",
];

/// A JDK (or JRE) with its JVM library.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Jdk {
    home: PathBuf,
    libjvm: PathBuf,
    version: String,
}

/// Why no JDK can be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum JdkError {
    /// The place the user named is not a JDK.
    #[error(
        "FIRESTEEL_JAVA_HOME is set to {home}, but {problem}; set it to the directory of a JDK 17 or 21"
    )]
    Named {
        /// The value of the variable.
        home: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// No JDK anywhere.
    #[error(
        "no JDK found (looked in {looked_in}); install JDK 17 or 21 and set FIRESTEEL_JAVA_HOME to its directory"
    )]
    NotFound {
        /// Where it was looked for, for the message.
        looked_in: String,
    },
    /// The real launcher could not be started.
    #[error(
        "cannot run {java}: {source}; set FIRESTEEL_JAVA_HOME to the directory of a JDK 17 or 21"
    )]
    Exec {
        /// The launcher.
        java: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
}

impl Jdk {
    /// Examines one directory.
    ///
    /// # Errors
    /// What is missing there, as a clause.
    pub fn at(home: &Path) -> Result<Self, String> {
        let java = home.join("bin/java");
        if !java.is_file() {
            return Err(format!("there is no {}", java.display()));
        }
        if is_firesteel(home) {
            return Err("that is Firesteel itself".to_owned());
        }
        // A JDK 8 has its JVM elsewhere; it is recognised so that the message can be about its version.
        let libjvm = [
            "lib/server/libjvm.so",
            "jre/lib/amd64/server/libjvm.so",
            "jre/lib/aarch64/server/libjvm.so",
        ]
        .iter()
        .map(|place| home.join(place))
        .find(|path| path.is_file())
        .ok_or_else(|| {
            format!(
                "there is no {}",
                home.join("lib/server/libjvm.so").display()
            )
        })?;
        let release = std::fs::read_to_string(home.join("release")).unwrap_or_default();
        let version = release
            .lines()
            .find_map(|line| line.strip_prefix("JAVA_VERSION="))
            .map(|text| text.trim_matches('"'));
        Ok(Self {
            home: home.to_owned(),
            libjvm,
            version: version.unwrap_or("unknown").to_owned(),
        })
    }

    /// Finds the JDK to use: `FIRESTEEL_JAVA_HOME`, the `jdk` directory beside our own `bin`, then `JAVA_HOME`, `java`
    /// on the `PATH` and the machine's usual places, of which the newest supported version wins.
    ///
    /// # Errors
    /// [`JdkError::Named`] or [`JdkError::NotFound`].
    pub fn find(env: impl Fn(&str) -> Option<OsString>) -> Result<Self, JdkError> {
        let own = own_dist();
        Self::find_among(env, own.as_deref(), &USUAL_PLACES.map(Path::new))
    }

    /// [`Jdk::find`] with this process's environment.
    ///
    /// # Errors
    /// As [`Jdk::find`].
    pub fn find_on_this_machine() -> Result<Self, JdkError> {
        Self::find(|name| std::env::var_os(name))
    }

    fn find_among(
        env: impl Fn(&str) -> Option<OsString>,
        own: Option<&Path>,
        usual: &[&Path],
    ) -> Result<Self, JdkError> {
        if let Some(home) = env("FIRESTEEL_JAVA_HOME")
            .filter(|home| !home.is_empty())
            .map(PathBuf::from)
        {
            return Self::at(&home).map_err(|problem| JdkError::Named { home, problem });
        }
        if let Some(jdk) = own.and_then(|dist| Self::at(&dist.join("jdk")).ok()) {
            return Ok(jdk);
        }
        let mut candidates: Vec<PathBuf> =
            env("JAVA_HOME").map(PathBuf::from).into_iter().collect();
        let path = env("PATH").unwrap_or_default();
        candidates.extend(std::env::split_paths(&path).filter_map(|dir| {
            let real = dir.join("java").canonicalize().ok()?;
            Some(real.parent()?.parent()?.to_owned())
        }));
        for place in usual {
            candidates.push((*place).to_owned());
            let mut inside: Vec<PathBuf> = std::fs::read_dir(place)
                .into_iter()
                .flatten()
                .filter_map(|entry| Some(entry.ok()?.path()))
                .collect();
            inside.sort();
            candidates.extend(inside);
        }
        let mut seen = HashSet::new();
        let mut best: Option<(u32, Self)> = None;
        for home in candidates {
            // Distributions link several names to one JDK; the real one is stable and says most.
            let home = home.canonicalize().unwrap_or(home);
            if !seen.insert(home.clone()) {
                continue;
            }
            let Ok(jdk) = Self::at(&home) else { continue };
            let rank = jdk.rank();
            if best.as_ref().is_none_or(|(other, _)| rank < *other) {
                best = Some((rank, jdk));
            }
        }
        best.map(|(_, jdk)| jdk).ok_or_else(|| JdkError::NotFound {
            looked_in: ["FIRESTEEL_JAVA_HOME", "JAVA_HOME", "PATH"]
                .into_iter()
                .map(str::to_owned)
                .chain(usual.iter().map(|place| place.display().to_string()))
                .collect::<Vec<_>>()
                .join(", "),
        })
    }

    /// Lower is better: supported versions by preference, then newer ones, then older ones.
    fn rank(&self) -> u32 {
        let major = self.major();
        let preferred = SUPPORTED.iter().position(|version| *version == major);
        match preferred.and_then(|position| u32::try_from(position).ok()) {
            Some(position) => position,
            None if major > SUPPORTED[0] => 100 + major,
            None => 10_000 - major,
        }
    }

    /// The directory that `JAVA_HOME` would name.
    pub fn home(&self) -> &Path {
        &self.home
    }

    /// The launcher `bin/java`.
    pub fn java(&self) -> PathBuf {
        self.home.join("bin/java")
    }

    /// The JVM library for `dlopen`.
    pub fn libjvm(&self) -> &Path {
        &self.libjvm
    }

    /// The rules of its time zones, `tzdb.dat`.
    pub fn time_zones(&self) -> PathBuf {
        self.home.join("lib/tzdb.dat")
    }

    /// `JAVA_VERSION` of the `release` file, for example `17.0.15`; `unknown` if there is none.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// The feature version, for example 17; 0 if unknown.
    pub fn major(&self) -> u32 {
        let version = self.version.strip_prefix("1.").unwrap_or(&self.version);
        let digits = version.split(|ch: char| !ch.is_ascii_digit()).next();
        digits.and_then(|digits| digits.parse().ok()).unwrap_or(0)
    }

    /// True for the versions that Firesteel is tested with. Others are used with a warning.
    pub fn is_supported(&self) -> bool {
        SUPPORTED.contains(&self.major())
    }

    /// Replaces this process by the real `java` with the same arguments and environment. Returns only if that failed.
    ///
    /// `args` are the arguments without the program's name.
    pub fn exec(&self, args: impl IntoIterator<Item = OsString>) -> JdkError {
        let java = self.java();
        let source = Command::new(&java).args(args).exec();
        JdkError::Exec { java, source }
    }
}

/// The Firesteel directory that this code was loaded from: the one whose `bin` has the executable or, inside a host
/// program, whose `lib` has the library.
pub fn own_dist() -> Option<PathBuf> {
    let own = own_file().or_else(|| std::env::current_exe().ok())?;
    let own = own.canonicalize().ok()?;
    let folder = own
        .parent()
        .filter(|dir| dir.ends_with("bin") || dir.ends_with("lib"))?;
    folder.parent().map(Path::to_owned)
}

/// The file that this very function was loaded from; in a host program that is not the executable.
fn own_file() -> Option<PathBuf> {
    let address = own_file as *const () as usize;
    file_at(address, &std::fs::read("/proc/self/maps").ok()?)
}

/// The file mapped at `address`, from lines such as `55d0a000-55d0b000 r-xp 00001000 fe:01 1234  
/// /opt/firesteel/bin/java`.
fn file_at(address: usize, maps: &[u8]) -> Option<PathBuf> {
    let hex = |text| usize::from_str_radix(text, 16).ok();
    maps.split(|byte| *byte == b'\n').find_map(|line| {
        let range = line.split(|byte| *byte == b' ').next()?;
        let (start, end) = std::str::from_utf8(range).ok()?.split_once('-')?;
        if !(hex(start)?..hex(end)?).contains(&address) {
            return None;
        }
        // No field before the path contains a slash; memory without a file has none at all.
        let path = line.get(line.iter().position(|byte| *byte == b'/')?..)?;
        Some(PathBuf::from(OsStr::from_bytes(path)))
    })
}

/// True if `home/bin/java` is this program: the very same file, or part of a Firesteel distribution.
fn is_firesteel(home: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let java = home.join("bin/java");
    let same_file = || -> Option<bool> {
        let (own, other) = (
            std::env::current_exe().ok()?.metadata().ok()?,
            java.metadata().ok()?,
        );
        Some((own.dev(), own.ino()) == (other.dev(), other.ino()))
    };
    let in_dist = java
        .canonicalize()
        .ok()
        .and_then(|real| Some(real.parent()?.join("firesteel").exists()));
    same_file().unwrap_or(false) || in_dist.unwrap_or(false) || home.join("bin/firesteel").exists()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    type TestResult = Result<(), Box<dyn std::error::Error>>;

    fn make_jdk(home: &Path, version: &str) -> std::io::Result<()> {
        for file in ["bin/java", "lib/server/libjvm.so"] {
            let file = home.join(file);
            fs::create_dir_all(file.parent().unwrap_or(home))?;
            fs::write(file, "")?;
        }
        fs::write(
            home.join("release"),
            format!("IMPLEMENTOR=\"X\"\nJAVA_VERSION=\"{version}\"\n"),
        )
    }

    fn find(env: &[(&str, &Path)], own: Option<&Path>, usual: &Path) -> Result<Jdk, JdkError> {
        let lookup = |name: &str| {
            env.iter()
                .find(|(key, _)| *key == name)
                .map(|(_, value)| value.as_os_str().to_owned())
        };
        Jdk::find_among(lookup, own, &[usual])
    }

    #[test]
    fn the_newest_supported_version_wins() -> TestResult {
        let root = tempfile::tempdir()?;
        let usual = root.path().canonicalize()?;
        for (name, version) in [
            ("jdk-11", "11.0.2"),
            ("jdk-17", "17.0.15"),
            ("jdk-21", "21.0.7"),
            ("jdk-25", "25.0.3"),
            ("jdk-8", "1.8.0_402"),
        ] {
            make_jdk(&usual.join(name), version)?;
        }
        let found = |expected: &str| -> TestResult {
            let jdk = find(&[], None, &usual)?;
            assert_eq!(jdk.home(), usual.join(expected));
            fs::remove_dir_all(jdk.home())?;
            Ok(())
        };
        found("jdk-21")?;
        found("jdk-17")?;
        found("jdk-25")?;
        found("jdk-11")?;
        let last = find(&[], None, &usual)?;
        assert_eq!(
            (last.major(), last.version(), last.is_supported()),
            (8, "1.8.0_402", false)
        );
        Ok(())
    }

    #[test]
    fn what_the_user_names_is_taken_or_refused() -> TestResult {
        let root = tempfile::tempdir()?;
        let (named, usual) = (root.path().join("named"), root.path().join("usual"));
        make_jdk(&usual.join("jdk-21"), "21.0.7")?;
        fs::create_dir_all(&named)?;
        let refused = find(&[("FIRESTEEL_JAVA_HOME", &named)], None, &usual)
            .map_err(|error| error.to_string());
        let message = refused.err().unwrap_or_default();
        assert!(
            message.starts_with("FIRESTEEL_JAVA_HOME is set to ") && message.contains("bin/java"),
            "{message}"
        );
        make_jdk(&named, "11.0.2")?;
        assert_eq!(
            find(&[("FIRESTEEL_JAVA_HOME", &named)], None, &usual)?.home(),
            named
        );
        Ok(())
    }

    #[test]
    fn our_own_distribution_is_never_the_jdk_but_may_hold_one() -> TestResult {
        let root = tempfile::tempdir()?;
        let (dist, usual) = (root.path().join("firesteel"), root.path().join("usual"));
        make_jdk(&dist, "17.0.1")?;
        fs::write(dist.join("bin/firesteel"), "")?;
        let none = find(
            &[("JAVA_HOME", &dist), ("PATH", &dist.join("bin"))],
            Some(&dist),
            &usual,
        );
        assert!(matches!(&none, Err(JdkError::NotFound { .. })), "{none:?}");
        assert!(none.is_err_and(|error| error.to_string().contains("FIRESTEEL_JAVA_HOME")));
        make_jdk(&dist.join("jdk"), "17.0.1")?;
        make_jdk(&usual.join("jdk-21"), "21.0.7")?;
        assert_eq!(find(&[], Some(&dist), &usual)?.home(), dist.join("jdk"));
        Ok(())
    }

    #[test]
    fn own_file_is_the_one_that_this_code_is_mapped_from() {
        assert_eq!(own_file(), std::env::current_exe().ok());
        let maps = b"00001000-00002000 r--p 00000000 fe:01 12   /opt/a b/bin/java\n\
            00002000-00003000 r-xp 00001000 fe:01 12         /usr/lib/x.so\n\
            00003000-00004000 rw-p 00000000 00:00 0 \n";
        let file = |address| file_at(address, maps);
        assert_eq!(file(0x1000), Some("/opt/a b/bin/java".into()));
        assert_eq!(file(0x2fff), Some("/usr/lib/x.so".into()));
        assert_eq!(
            (file(0xfff), file(0x3000), file(0x4000)),
            (None, None, None)
        );
    }

    #[test]
    fn this_machine_has_a_real_one() -> TestResult {
        let jdk = Jdk::find_on_this_machine()?;
        assert!(jdk.libjvm().is_file() && jdk.major() >= 17, "{jdk:?}");
        Ok(())
    }
}
