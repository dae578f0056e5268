//! Fuzz target of this room; see [`crate::fuzzing`].

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use super::unpack::{MOST_PER_BYTE, unpack, untar_here};
use crate::cancel::Cancellation;

/// Archives: nothing is made or changed outside of their directory, and they do not grow beyond all measure.
pub fn archive(data: &[u8]) {
    static ROOT: LazyLock<PathBuf> = LazyLock::new(|| {
        let root = crate::fuzzing::scratch();
        for dir in ["outside", "scratch"] {
            fs::create_dir(root.join(dir)).expect("room in memory");
        }
        let file = root.join("outside/file");
        fs::write(&file, "untouched").expect("room in memory");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).expect("our own file");
        root
    });
    let Some((kind, archive)) = data.split_first() else {
        return;
    };
    let name = ["x.jar", "x.zip", "x.tar", "x.tgz"][usize::from(kind % 4)];
    let (source, dest) = (ROOT.join(name), ROOT.join("scratch/here"));
    fs::write(&source, archive).expect("room in memory");
    let switch = Cancellation::default();
    let _ = unpack(name, &source, &dest, &ROOT.join("scratch"), &switch);
    check(&ROOT, &dest, archive.len());
    fs::create_dir_all(&dest).expect("room in memory");
    fs::copy(&source, dest.join(name)).expect("room in memory");
    let _ = untar_here(&dest, name, &switch);
    check(&ROOT, &dest, archive.len());
    fs::remove_file(&source).expect("it was written");
    // What an archive may forbid, root may still do.
    fs::remove_dir_all(ROOT.join("scratch")).expect("its own files");
    fs::create_dir(ROOT.join("scratch")).expect("room in memory");
}

fn check(root: &Path, dest: &Path, archive: usize) {
    let names = |dir: &Path| {
        let entries = fs::read_dir(dir).expect("it is still there");
        let names = entries.map(|entry| entry.expect("an entry").file_name());
        let mut names: Vec<_> = names.collect();
        names.sort();
        names
    };
    assert_eq!(names(root).len(), 3, "{:?}", names(root));
    assert_eq!(names(&root.join("outside")), ["file"]);
    let file = root.join("outside/file");
    assert_eq!(fs::read(&file).expect("it is still there"), b"untouched");
    let mode = |path: &Path| fs::metadata(path).map(|meta| meta.permissions().mode() & 0o7777);
    assert_eq!(mode(&file).ok(), Some(0o644));
    if dest.is_dir() {
        assert_eq!(mode(dest).unwrap_or_default() & 0o700, 0o700);
        // Unpacked twice, and beside itself.
        let most = 2 * (archive as u64 + 4096) * MOST_PER_BYTE + archive as u64;
        assert!(bytes_below(dest) <= most);
    }
    assert!(
        names(&root.join("scratch")).len() <= 1,
        "nothing is left over"
    );
}

fn bytes_below(dir: &Path) -> u64 {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    entries
        .map(|entry| match entry.metadata() {
            Ok(meta) if meta.is_dir() => bytes_below(&entry.path()),
            Ok(meta) => meta.len(),
            Err(_) => 0,
        })
        .sum()
}
