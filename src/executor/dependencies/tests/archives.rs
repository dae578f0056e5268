//! Archives that would harm whoever unpacks them.

use super::super::unpack::unpack;
use super::*;

/// Unpacks an archive by itself; gives what came of it and the directory.
fn unpacked(name: &str, archive: &[u8]) -> (Result<(), TaskError>, tempfile::TempDir) {
    let root = tempfile::tempdir().unwrap();
    let source = root.path().join(name);
    fs::write(&source, archive).unwrap();
    let scratch = root.path().join("scratch");
    fs::create_dir(&scratch).unwrap();
    let dest = root.path().join("dest");
    let done = unpack(name, &source, &dest, &scratch, &Cancellation::default());
    assert_eq!(fs::read_dir(&scratch).unwrap().count(), 0);
    (done, root)
}

/// A tar file with a sparse file of five bytes behind a hole.
fn sparse(size: u64) -> Vec<u8> {
    let mut header = tar::Header::new_gnu();
    header.set_path("sparse").unwrap();
    header.set_mode(0o644);
    header.set_entry_type(tar::EntryType::GNUSparse);
    header.set_size(5);
    let gnu = header.as_gnu_mut().unwrap();
    let octal = |field: &mut [u8; 12], number: u64| {
        // Numbers that are too large for digits are binary, behind a set bit.
        field.fill(0);
        field[0] = 0x80;
        field[4..].copy_from_slice(&number.to_be_bytes());
    };
    octal(&mut gnu.sparse[0].offset, size - 5);
    octal(&mut gnu.sparse[0].numbytes, 5);
    octal(&mut gnu.realsize, size);
    header.set_cksum();
    let mut builder = tar::Builder::new(Vec::new());
    builder.append(&header, &b"bytes"[..]).unwrap();
    builder.into_inner().unwrap()
}

#[test]
fn holes_do_not_fill_the_disk() {
    let (done, root) = unpacked("small.tar", &sparse(100_000));
    done.unwrap();
    let content = fs::read(root.path().join("dest/sparse")).unwrap();
    assert_eq!(
        (content.len(), &content[99_995..]),
        (100_000, &b"bytes"[..])
    );
    for (name, archive) in [
        ("large.tar", sparse(1 << 50)),
        ("large.tgz", gz(&sparse(1 << 50))),
    ] {
        let (done, root) = unpacked(name, &archive);
        let error = exception(done);
        assert!(
            error.message.contains("more of it than compression"),
            "{error:?}"
        );
        assert!(!root.path().join("dest").exists());
    }
}

#[test]
fn the_same_bytes_are_not_unpacked_again_and_again() {
    let zeros = "\0".repeat(10 << 20);
    let archive = zip_of(&[("a", 0o644, &zeros)]);
    unpacked("once.zip", &archive).0.unwrap();
    // More entries in the directory at the end, all of them for the bytes at the beginning.
    let end = archive.len() - 22;
    let offset = |at: usize| u32::from_le_bytes(archive[at..at + 4].try_into().unwrap()) as usize;
    let (size, start) = (offset(end + 12), offset(end + 16));
    let mut bomb = archive[..start].to_vec();
    let entry = &archive[start..start + size];
    for name in b'a'..=b'z' {
        let from = bomb.len();
        bomb.extend_from_slice(entry);
        bomb[from + 46] = name;
    }
    bomb.extend_from_slice(&archive[end..]);
    let at = bomb.len() - 22;
    for place in [at + 8, at + 10] {
        bomb[place..place + 2].copy_from_slice(&26_u16.to_le_bytes());
    }
    bomb[at + 12..at + 16].copy_from_slice(&(26 * size as u32).to_le_bytes());
    for name in ["bomb.zip", "bomb.jar"] {
        let (done, root) = unpacked(name, &bomb);
        exception(done);
        assert!(!root.path().join("dest").exists());
    }
}

#[test]
fn a_file_without_a_name_changes_nothing() {
    let (done, root) = unpacked("x.tar", &tar_of(&[(".", 0o600, "x"), ("a", 0o600, "a")]));
    done.unwrap();
    let mode = fs::metadata(root.path().join("dest")).unwrap().mode();
    assert_eq!(mode & 0o700, 0o700, "{mode:o}");
    assert_eq!(fs::read(root.path().join("dest/a")).unwrap(), b"a");
}
