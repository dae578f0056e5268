//! Directories and ports.

use std::fs;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// Root of the repository.
pub fn repository() -> &'static Path {
    const CRATE: &str = env!("CARGO_MANIFEST_DIR");
    // It is `crates/testkit` there.
    Path::new(CRATE)
        .ancestors()
        .nth(2)
        .unwrap_or(Path::new(CRATE))
}

/// The cache directory outside the clone: `FIRESTEEL_CACHE`, or `~/.cache/firesteel`.
///
/// # Panics
///
/// If neither that nor `HOME` is set.
pub fn cache_dir() -> PathBuf {
    if let Some(dir) = std::env::var_os("FIRESTEEL_CACHE") {
        return dir.into();
    }
    let Some(home) = std::env::var_os("HOME") else {
        panic!("neither FIRESTEEL_CACHE nor HOME is set: set one to a directory");
    };
    Path::new(&home).join(".cache/firesteel")
}

/// The built distribution of Firesteel: `FIRESTEEL_DIST`, or `dist/firesteel` of the repository. Executors have it as
/// `JAVA_HOME`.
///
/// # Panics
///
/// If it is not built, with what to do about it.
pub fn firesteel() -> PathBuf {
    let dist = std::env::var_os("FIRESTEEL_DIST")
        .map_or_else(|| repository().join("dist/firesteel"), PathBuf::from);
    let java = dist.join("bin/java");
    assert!(
        java.is_file(),
        "{} is missing: build the distribution first (scripts/test builds everything and runs all tests), or set \
         FIRESTEEL_DIST",
        java.display()
    );
    dist
}

/// A port of the loopback interface that nobody listens on.
///
/// # Panics
///
/// If there is none.
pub fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
    let address = listener.and_then(|listener| listener.local_addr());
    address
        .unwrap_or_else(|error| panic!("no free port: {error}"))
        .port()
}

/// An empty directory of that path, whatever was there; it stays after the test, for its logs.
///
/// # Panics
///
/// If it cannot be made.
pub fn fresh_dir(path: &Path) -> &Path {
    let made = match fs::remove_dir_all(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _ => fs::create_dir_all(path),
    };
    made.unwrap_or_else(|error| panic!("no directory {}: {error}", path.display()));
    path
}

/// An empty directory of its own that goes with the value.
///
/// # Panics
///
/// If it cannot be made.
pub fn temp_dir() -> TempDir {
    tempfile::tempdir().unwrap_or_else(|error| panic!("no temporary directory: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_repository_has_this_file() {
        assert!(repository().join("crates/testkit/src/places.rs").is_file());
    }

    #[test]
    fn a_fresh_directory_is_empty() {
        let parent = temp_dir();
        let path = parent.path().join("a/b");
        assert_eq!(fresh_dir(&path), path);
        fs::write(path.join("old"), "").unwrap();
        assert_eq!(fs::read_dir(fresh_dir(&path)).unwrap().count(), 0);
    }

    #[test]
    fn a_free_port_can_be_listened_on() {
        TcpListener::bind((Ipv4Addr::LOCALHOST, free_port())).unwrap();
    }
}
