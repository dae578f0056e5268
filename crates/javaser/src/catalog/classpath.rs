//! Finding files on a class path without opening all of it.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::CatalogError;
use super::zip::Jar;

/// A class file or resource in a directory above this is not read.
const MAX_FILE: u64 = 64 << 20;

#[derive(Debug)]
pub(super) struct ClassPath {
    entries: Vec<Entry>,
}

#[derive(Debug)]
struct Entry {
    path: PathBuf,
    /// File name if it is not known to be a directory.
    name: String,
    /// Opened at first need; `None` if there is nothing.
    opened: OnceLock<Result<Option<Source>, CatalogError>>,
}

#[derive(Debug)]
enum Source {
    Jar(Jar),
    Directory,
}

impl ClassPath {
    pub(super) fn new(paths: &[PathBuf]) -> Result<Self, CatalogError> {
        let mut entries = Vec::new();
        for path in paths {
            match path
                .to_str()
                .and_then(|p| p.strip_suffix('*'))
                .filter(|p| p.is_empty() || p.ends_with('/'))
            {
                Some(directory) => {
                    let directory = if directory.is_empty() { "." } else { directory };
                    entries.extend(jars_of(Path::new(directory))?.into_iter().map(Entry::new));
                }
                None => entries.push(Entry::new(path.clone())),
            }
        }
        Ok(Self { entries })
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn paths(&self) -> impl Iterator<Item = &Path> {
        self.entries.iter().map(|e| e.path.as_path())
    }

    /// Reads a file of this one entry.
    pub(super) fn read_in(&self, path: &Path, file: &str) -> Result<Option<Vec<u8>>, CatalogError> {
        self.entries
            .iter()
            .find(|e| e.path == path)
            .map_or(Ok(None), |e| e.read(file))
    }

    /// The entry that provides `file`.
    pub(super) fn find(&self, file: &str) -> Result<Option<&Path>, CatalogError> {
        Ok(self.search(file)?.map(|e| e.path.as_path()))
    }

    /// The entry that provides `file`, and its content.
    pub(super) fn read(&self, file: &str) -> Result<Option<(&Path, Vec<u8>)>, CatalogError> {
        let Some(entry) = self.search(file)? else {
            return Ok(None);
        };
        Ok(entry
            .read(file)?
            .map(|content| (entry.path.as_path(), content)))
    }

    /// The first entry in class path order that has `file`.
    ///
    /// A distribution has hundreds of jars, whose directories are not worth reading for a class that bears the name
    /// of its jar. So likely jars are tried first; the others count only if they come before the hit and from another
    /// directory, which is where somebody would shadow a class of the distribution.
    ///
    /// Like the JVM, this passes over what is no jar; it is the answer only if nothing else has the file.
    fn search(&self, file: &str) -> Result<Option<&Entry>, CatalogError> {
        let mut damaged = None;
        let mut has = |entry: &Entry| {
            entry.contains(file).unwrap_or_else(|e| {
                damaged.get_or_insert(e);
                false
            })
        };
        let likely = likely_jars(file);
        let entries = || self.entries.iter().enumerate();
        let hit = likely
            .iter()
            .find_map(|p| entries().find(|(_, e)| e.name.starts_with(p) && has(e)));
        let (end, directory) = match hit {
            Some((index, entry)) => (index, entry.path.parent()),
            None => (self.entries.len(), None),
        };
        let may_shadow = |e: &Entry| directory.is_none() || e.path.parent() != directory;
        let earlier = self
            .entries
            .iter()
            .take(end)
            .find(|e| may_shadow(e) && has(e));
        match (earlier.or(hit.map(|(_, entry)| entry)), damaged) {
            (None, Some(error)) => Err(error),
            (found, _) => Ok(found),
        }
    }
}

impl Entry {
    fn new(path: PathBuf) -> Self {
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        Self {
            path,
            name,
            opened: OnceLock::new(),
        }
    }

    fn source(&self) -> Result<Option<&Source>, CatalogError> {
        let opened = self.opened.get_or_init(|| {
            let Ok(file) = File::open(&self.path) else {
                return Ok(None);
            };
            if file.metadata().is_ok_and(|m| m.is_dir()) {
                return Ok(Some(Source::Directory));
            }
            Jar::open(file)
                .map(|jar| Some(Source::Jar(jar)))
                .map_err(|e| self.error(&e))
        });
        opened.as_ref().map(Option::as_ref).map_err(Clone::clone)
    }

    fn contains(&self, file: &str) -> Result<bool, CatalogError> {
        Ok(match self.source()? {
            Some(Source::Jar(jar)) => jar.contains(file),
            Some(Source::Directory) => self.path.join(file).is_file(),
            None => false,
        })
    }

    fn read(&self, file: &str) -> Result<Option<Vec<u8>>, CatalogError> {
        match self.source()? {
            Some(Source::Jar(jar)) => jar.read(file).map_err(|e| self.error(&e)),
            Some(Source::Directory) => {
                let Ok(open) = File::open(self.path.join(file)) else {
                    return Ok(None);
                };
                let mut content = Vec::new();
                open.take(MAX_FILE)
                    .read_to_end(&mut content)
                    .map_err(|e| self.error(&e))?;
                Ok(Some(content))
            }
            None => Ok(None),
        }
    }

    fn error(&self, e: &std::io::Error) -> CatalogError {
        CatalogError::Jar {
            jar: self.path.display().to_string(),
            why: e.to_string(),
        }
    }
}

/// Jar name prefixes of the Spark and Scala jars that may hold the file, most likely first.
fn likely_jars(file: &str) -> &'static [&'static str] {
    if file.starts_with("scala/") {
        return &["scala-library"];
    }
    if file == "spark-version-info.properties" {
        return &["spark-core_", "spark-common-utils_"];
    }
    let Some(package) = file.strip_prefix("org/apache/spark/") else {
        return if file.starts_with("org/roaringbitmap/") {
            &["RoaringBitmap"]
        } else {
            &[]
        };
    };
    if package.starts_with("network/") {
        return &[
            "spark-network-common_",
            "spark-common-utils",
            "spark-network-shuffle_",
            "spark-core_",
        ];
    }
    if package.starts_with("sql/") {
        return &[
            "spark-sql_",
            "spark-catalyst_",
            "spark-sql-api_",
            "spark-common-utils",
            "spark-",
        ];
    }
    &[
        "spark-core_",
        "spark-common-utils",
        "spark-network-common_",
        "spark-",
    ]
}

/// The jars of a directory. The JVM takes them in the order of the directory; sorted here, to be the same on every
/// start.
fn jars_of(directory: &Path) -> Result<Vec<PathBuf>, CatalogError> {
    let list = match std::fs::read_dir(directory) {
        Ok(list) => list,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => {
            return Err(CatalogError::Jar {
                jar: directory.display().to_string(),
                why: e.to_string(),
            });
        }
    };
    let is_jar = |p: &PathBuf| p.extension().is_some_and(|e| e == "jar" || e == "JAR");
    let mut jars: Vec<_> = list.flatten().map(|e| e.path()).filter(is_jar).collect();
    jars.sort();
    Ok(jars)
}
