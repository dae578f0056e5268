//! The libraries that a job may have loaded into the executor.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

use super::error::FunctionError;
use super::library::{Function, Library};
use super::marker::Marker;
use crate::config::{SparkProperties, declared};

/// What was loaded, or why it cannot be: by its file, and once in a process.
static LOADED: Mutex<BTreeMap<PathBuf, Result<Arc<Library>, FunctionError>>> =
    Mutex::new(BTreeMap::new());

/// The libraries that `spark.firesteel.functions` names.
#[derive(Debug, Clone, Default)]
pub struct Libraries {
    named: Arc<[PathBuf]>,
    /// Whether the driver knows functions by files of their own, which say what may be called.
    catalogued: bool,
}

impl Libraries {
    /// Those of a job.
    pub fn new(properties: &SparkProperties) -> Self {
        let named = properties.list(&declared::FUNCTIONS);
        Self {
            named: named.iter().map(PathBuf::from).collect(),
            catalogued: !properties.list(&declared::FUNCTIONS_CATALOG).is_empty(),
        }
    }

    /// Where the library of a function is that a function of Python stands for; `files` is where the files of `addFile`
    /// are.
    ///
    /// # Errors
    /// Why it is not called natively.
    pub fn of_python(&self, marker: &Marker, files: &Path) -> Result<PathBuf, String> {
        let library = &marker.library;
        let named = self.path(library);
        let named = named
            .ok_or_else(|| format!("{library} is not named in {}", declared::FUNCTIONS.key))?;
        place(named, files)
    }

    /// Where the library of a function is that a query names itself: the setting names it, or it is an added file.
    ///
    /// # Errors
    /// Why it is not called natively.
    pub fn of_query(&self, marker: &Marker, files: &Path) -> Result<PathBuf, String> {
        let library = Path::new(&marker.library);
        match self.path(&marker.library) {
            Some(named) => place(named, files),
            None if self.catalogued && !library.is_absolute() => place(library, files),
            None => self.of_python(marker, files),
        }
    }

    fn path(&self, library: &str) -> Option<&PathBuf> {
        let mut named = self.named.iter();
        named.find(|path| path.file_name().is_some_and(|name| name == library))
    }
}

/// The function of a library's file, if it is of the version that the job was written for.
///
/// # Errors
/// Why it cannot be called.
pub(super) fn function_of(path: &Path, marker: &Marker) -> Result<Arc<Function>, String> {
    let library = &marker.library;
    let loaded = loaded(path)?;
    if (&loaded.name, &loaded.version) != (&marker.module, &marker.version) {
        return Err(format!(
            "{library} is {} {}, and the job was written for {} {}",
            loaded.name, loaded.version, marker.module, marker.version
        ));
    }
    let function = loaded.function(&marker.function);
    let function = function.filter(|of| marker.signature < of.signatures.len());
    let function = function.ok_or_else(|| format!("{library} has no {}", marker.function))?;
    Ok(Arc::clone(function))
}

/// Where a library is: at an absolute path, or among added files, of which a name has no parts.
fn place(named: &Path, files: &Path) -> Result<PathBuf, String> {
    if named.is_absolute() {
        return Ok(named.to_owned());
    }
    let mut parts = named.components();
    match (parts.next(), parts.next()) {
        (Some(Component::Normal(name)), None) => Ok(files.join(name)),
        _ => Err(format!(
            "{} in {} is neither an absolute path nor the name of an added file",
            named.display(),
            declared::FUNCTIONS.key
        )),
    }
}

fn loaded(path: &Path) -> Result<Arc<Library>, String> {
    // The same file under two names is loaded once.
    let path = path.canonicalize();
    let path = path.map_err(|_| "a library that is not there".to_owned())?;
    // Held while it loads: a library is asked once.
    let mut all = LOADED.lock();
    let library = all
        .entry(path.clone())
        .or_insert_with(|| Library::load(&path).map(Arc::new));
    library.clone().map_err(|why| why.to_string())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn queries_name_libraries_among_added_files_if_there_is_a_catalog() {
        let marker = |library: &str| Marker {
            function: "f".to_owned(),
            library: library.to_owned(),
            module: "m".to_owned(),
            signature: 0,
            version: "1".to_owned(),
        };
        let files = tempfile::tempdir().unwrap();
        std::fs::write(files.path().join("liba.so"), b"no library").unwrap();
        let refused = |libraries: &Libraries, of: &str| {
            let marker = marker(of);
            let path = libraries.of_query(&marker, files.path());
            path.and_then(|path| function_of(&path, &marker))
                .unwrap_err()
        };
        let none = Libraries::default();
        assert_eq!(
            refused(&none, "liba.so"),
            "liba.so is not named in spark.firesteel.functions"
        );
        let catalogued = Libraries {
            catalogued: true,
            ..Libraries::default()
        };
        let loaded = refused(&catalogued, "liba.so");
        assert!(loaded.contains("liba.so cannot be loaded"), "{loaded}");
        assert_eq!(
            refused(&catalogued, "libb.so"),
            "a library that is not there"
        );
        // Names lead nowhere else.
        for outside in ["../liba.so", "/liba.so", "x/liba.so", ""] {
            let why = refused(&catalogued, outside);
            assert!(!why.contains("loaded"), "{outside}: {why}");
        }
        assert!(
            catalogued
                .of_python(&marker("liba.so"), files.path())
                .is_err()
        );
        let elsewhere = Libraries {
            named: [PathBuf::from("/nowhere/liba.so")].into(),
            catalogued: true,
        };
        assert_eq!(
            refused(&elsewhere, "liba.so"),
            "a library that is not there"
        );
    }
}
