//! Which Spark and Scala the class path has.

use std::path::{Path, PathBuf};

use super::{Catalog, CatalogError};

/// Binary version of the Scala library.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum ScalaVersion {
    /// 2.12: Spark 3.5
    V2_12,
    /// 2.13: Spark 4
    V2_13,
}

/// Maven's classifiers of jars that stand beside a module's own, behind its version: they hold no part of a
/// distribution.
const CLASSIFIERS: [&str; 4] = ["-tests", "-test-sources", "-sources", "-javadoc"];

/// Written into a jar of every Spark distribution: spark-core up to 3.x, spark-common-utils from 3.5 on.
const VERSION_INFO: &str = "spark-version-info.properties";

impl Catalog {
    /// Version of Scala that decides the form of collections and `object`s. [`ScalaVersion::V2_13`] if there is no
    /// Scala library at all; looking up any class of it fails then.
    #[must_use]
    pub fn scala_version(&self) -> ScalaVersion {
        *self.scala.get_or_init(|| {
            let of_name = self.path.paths().find_map(|p| {
                let version = jar_name(p).strip_prefix("scala-library-")?;
                [
                    ("2.12.", ScalaVersion::V2_12),
                    ("2.13.", ScalaVersion::V2_13),
                ]
                .into_iter()
                .find(|(v, _)| version.starts_with(v))
                .map(|(_, v)| v)
            });
            of_name.unwrap_or_else(|| {
                if self.contains("scala.runtime.ModuleSerializationProxy")
                    || !self.contains("scala.Option")
                {
                    ScalaVersion::V2_13
                } else {
                    ScalaVersion::V2_12
                }
            })
        })
    }

    /// Spark's version as its own `spark-version-info.properties` says.
    ///
    /// # Errors
    /// [`CatalogError::Version`] if there is none; [`CatalogError::Jar`] if the jar cannot be read.
    pub fn spark_version(&self) -> Result<String, CatalogError> {
        if let Some((_, content)) = self.path.read(VERSION_INFO)?
            && let Some(version) = version_property(&content)
        {
            return Ok(version);
        }
        match self.spark_versions_found().into_iter().next() {
            Some((version, _)) => Ok(version),
            None => Err(CatalogError::Version(format!(
                "no Spark on the class path: none of its {} entries has {VERSION_INFO}",
                self.path.len()
            ))),
        }
    }

    /// Version and path of every spark-core and spark-common-utils jar, not of their tests and sources. More than one
    /// version means that distributions are mixed.
    #[must_use]
    pub fn spark_versions_found(&self) -> Vec<(String, PathBuf)> {
        let mut found = Vec::new();
        for path in self.path.paths() {
            let name = jar_name(path);
            let Some(rest) = ["spark-core_", "spark-common-utils_"]
                .iter()
                .find_map(|p| name.strip_prefix(p))
            else {
                continue;
            };
            let rest = rest.strip_suffix(".jar");
            if rest.is_some_and(|r| CLASSIFIERS.iter().any(|c| r.ends_with(c))) {
                continue;
            }
            let of_name = rest
                .and_then(|r| r.split_once('-'))
                .map(|(_scala, version)| version.to_owned());
            let of_content = || {
                self.path
                    .read_in(path, VERSION_INFO)
                    .ok()
                    .flatten()
                    .and_then(|c| version_property(&c))
            };
            found.extend(
                of_name
                    .or_else(of_content)
                    .map(|version| (version, path.to_owned())),
            );
        }
        found
    }
}

fn jar_name(path: &Path) -> &str {
    path.file_name()
        .and_then(|n| n.to_str())
        .unwrap_or_default()
}

fn version_property(content: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(content);
    text.lines()
        .find_map(|l| l.trim().strip_prefix("version="))
        .map(|v| v.trim().to_owned())
}
