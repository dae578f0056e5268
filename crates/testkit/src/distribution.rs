//! Distributions of Spark as PyPI ships them.

use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use crate::{VERSIONS, cache_dir};

/// A Spark distribution in a Python environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Distribution {
    /// One of [`VERSIONS`].
    pub version: &'static str,
    /// The `pyspark` package directory: `jars`, `bin`, `python`. It serves as `SPARK_HOME`.
    pub home: PathBuf,
    /// The Python interpreter that has the package.
    pub python: PathBuf,
}

/// Why there is no distribution; the text says what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotFound(String);

impl fmt::Display for NotFound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NotFound {}

impl Distribution {
    /// The distribution in the Python environment that `FIRESTEEL_SPARK_DIR_<VERSION>` names (dots as underscores), or
    /// in `spark-<version>` under [`cache_dir`].
    ///
    /// # Panics
    ///
    /// If there is none, with what to do about it.
    pub fn find(version: &str) -> Self {
        Self::try_find(version).unwrap_or_else(|missing| panic!("{missing}"))
    }

    /// The same where it may be missing.
    ///
    /// # Errors
    ///
    /// If there is none, or the version is none of [`VERSIONS`].
    pub fn try_find(version: &str) -> Result<Self, NotFound> {
        Self::find_with(version, |variable| std::env::var_os(variable))
    }

    fn find_with(
        version: &str,
        environment: impl Fn(&str) -> Option<OsString>,
    ) -> Result<Self, NotFound> {
        let Some(version) = VERSIONS.into_iter().find(|known| *known == version) else {
            return Err(NotFound(format!(
                "Spark {version} is none of the supported versions {VERSIONS:?}: crates/testkit/src/versions.rs has the \
                 list"
            )));
        };
        let variable = format!("FIRESTEEL_SPARK_DIR_{}", version.replace('.', "_"));
        let root = environment(&variable).map_or_else(
            || cache_dir().join(format!("spark-{version}")),
            PathBuf::from,
        );
        let home = package_in(&root).ok_or_else(|| {
            NotFound(format!(
                "no Spark {version} under {}/lib/python3*/site-packages (set {variable} to a Python environment with \
                 pyspark=={version}, or run scripts/test once, which installs it)",
                root.display()
            ))
        })?;
        Ok(Self {
            version,
            home,
            python: root.join("bin/python"),
        })
    }

    /// The version without its last number, such as `4.0`.
    pub fn series(&self) -> &'static str {
        self.version
            .rsplit_once('.')
            .map_or(self.version, |(series, _)| series)
    }

    /// The directory of the jars.
    pub fn jars(&self) -> PathBuf {
        self.home.join("jars")
    }

    /// Class path entry with all the jars.
    pub fn class_path(&self) -> String {
        format!("{}/*", self.jars().display())
    }

    /// The directory of the Python packages, `pyspark` among them.
    pub fn site_packages(&self) -> &Path {
        self.home.parent().unwrap_or(&self.home)
    }
}

/// The `pyspark` package of a Python environment: the first by name, as the scripts take it.
fn package_in(environment: &Path) -> Option<PathBuf> {
    let pythons = fs::read_dir(environment.join("lib")).ok()?;
    let packages = pythons
        .filter_map(Result::ok)
        .filter(|python| python.file_name().to_string_lossy().starts_with("python3"))
        .map(|python| python.path().join("site-packages/pyspark"));
    packages
        .filter(|package| package.join("jars").is_dir())
        .min()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{NEWEST, temp_dir};

    #[test]
    fn the_variable_names_a_python_environment() {
        let environment = temp_dir();
        let home = environment
            .path()
            .join("lib/python3.12/site-packages/pyspark");
        fs::create_dir_all(home.join("jars")).unwrap();
        fs::create_dir_all(environment.path().join("lib/python3.13/site-packages")).unwrap();
        let variable = format!("FIRESTEEL_SPARK_DIR_{}", NEWEST.replace('.', "_"));
        let found = Distribution::find_with(NEWEST, |name| {
            (name == variable).then(|| environment.path().into())
        })
        .unwrap();
        assert_eq!(found.version, NEWEST);
        assert!(NEWEST.starts_with(&format!("{}.", found.series())));
        assert_eq!(found.jars(), home.join("jars"));
        assert_eq!(found.class_path(), format!("{}/jars/*", home.display()));
        assert_eq!(found.site_packages(), home.parent().unwrap());
        assert_eq!(found.python, environment.path().join("bin/python"));
    }

    #[test]
    fn what_is_missing_is_named_with_what_to_do() {
        let missing =
            Distribution::find_with(NEWEST, |_| Some("/no/such/environment".into())).unwrap_err();
        let text = missing.to_string();
        for part in [
            "/no/such/environment",
            "FIRESTEEL_SPARK_DIR_",
            &format!("pyspark=={NEWEST}"),
            "scripts/test",
        ] {
            assert!(text.contains(part), "{part} is not in {text}");
        }
        let unknown = Distribution::try_find("2.4.8").unwrap_err().to_string();
        assert!(
            unknown.contains("2.4.8") && unknown.contains(NEWEST),
            "{unknown}"
        );
    }
}
