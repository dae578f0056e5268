//! Archives: what Spark's `Utils.unpack` and the `tar` program make of them. Entries that would leave their directory
//! are refused.

use std::cell::Cell;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, BufReader, Read, Seek};
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};

use flate2::read::MultiGzDecoder;
use tracing::warn;

use super::place::{Temp, check, copy_tree, swap_tree};
use crate::cancel::Cancellation;
use crate::task::TaskError;

const BUFFER: usize = 64 << 10;
/// Most that deflate makes of a byte. What grows by more has the same bytes in it again and again, or holes.
pub(super) const MOST_PER_BYTE: u64 = 1032;
/// Bytes that any archive may unpack to.
const ALWAYS_ROOM: u64 = 4096 * MOST_PER_BYTE;
/// What a process may not give to files it makes, if that cannot be found out.
const USUAL_UMASK: u32 = 0o022;

/// How the name of an archive says it is packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Packing {
    Jar,
    Zip,
    TarGz,
    Tar,
    Nothing,
}

fn packing(name: &str) -> Packing {
    let name = name.to_lowercase();
    let ends = |endings: &[&str]| endings.iter().any(|ending| name.ends_with(ending));
    if ends(&[".jar"]) {
        Packing::Jar
    } else if ends(&[".zip"]) {
        Packing::Zip
    } else if ends(&[".tar.gz", ".tgz"]) {
        Packing::TarGz
    } else if ends(&[".tar"]) {
        Packing::Tar
    } else {
        Packing::Nothing
    }
}

/// Unpacks `source` to `dest` in place of whatever is there. What is no archive by its `name` is copied.
///
/// As in Spark, entries of `.tar` lose their permissions and may not link to anything outside, and those of `.tar.gz`
/// and `.tgz` keep and may. Entries of zip files, not of jars, keep the permissions that they have, as since Hadoop
/// 3.4.
pub(super) fn unpack(
    name: &str,
    source: &Path,
    dest: &Path,
    scratch: &Path,
    cancellation: &Cancellation,
) -> Result<(), TaskError> {
    let new = Temp::in_dir(scratch);
    let file = || File::open(source).map(|file| BufReader::with_capacity(BUFFER, file));
    let entries = Entries {
        dir: new.path(),
        shown: dest,
        room: Cell::new(room(&fs::metadata(source)?)),
        cancellation,
    };
    match packing(name) {
        Packing::Nothing => {
            warn!(target: "Utils", "Cannot unpack {}, just copying it to {}.", source.display(), dest.display());
            copy_tree(source, new.path(), cancellation)?;
        }
        packing => {
            fs::create_dir(new.path())?;
            match packing {
                Packing::Jar => entries.unzip(file()?, false)?,
                Packing::Zip => entries.unzip(file()?, true)?,
                Packing::TarGz => entries.untar(MultiGzDecoder::new(file()?), Links::Any)?,
                _ => entries.untar(file()?, Links::Inside)?,
            }
        }
    }
    Ok(swap_tree(new, dest)?)
}

/// What Spark does to files of `addFile` whose names end with `.tar.gz`, `.tgz` or `.tar`: they are unpacked into
/// `dir`, where they are.
pub(super) fn untar_here(
    dir: &Path,
    name: &str,
    cancellation: &Cancellation,
) -> Result<(), TaskError> {
    // Only lower case, unlike the endings of archives.
    let zipped = name.ends_with(".tar.gz") || name.ends_with(".tgz");
    if !zipped && !name.ends_with(".tar") {
        return Ok(());
    }
    warn!(
        target: "Utils",
        "Untarring behavior will be deprecated at spark.files and SparkContext.addFile. Consider using spark.archives or SparkContext.addArchive instead."
    );
    let mut file = File::open(dir.join(name))?;
    let entries = Entries {
        dir,
        shown: dir,
        room: Cell::new(room(&file.metadata()?)),
        cancellation,
    };
    // `tar -xf` looks into the file, whatever its name says.
    let zipped = zipped || begins_with(&mut file, &[0x1f, 0x8b])?;
    let file = BufReader::with_capacity(BUFFER, file);
    match zipped {
        true => entries.untar(MultiGzDecoder::new(file), Links::Any),
        false => entries.untar(file, Links::Any),
    }
}

/// Bytes that an archive may unpack to.
fn room(archive: &fs::Metadata) -> u64 {
    let most = archive.len().saturating_mul(MOST_PER_BYTE);
    most.saturating_add(ALWAYS_ROOM)
}

fn begins_with(file: &mut File, magic: &[u8]) -> io::Result<bool> {
    let mut start = Vec::new();
    file.by_ref()
        .take(magic.len() as u64)
        .read_to_end(&mut start)?;
    file.rewind()?;
    Ok(start == magic)
}

/// Where links of an archive may lead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Links {
    /// Hadoop's Java code: below the directory, seen from there; permissions are not kept. (It also makes links
    /// absolute, which is not copied.)
    Inside,
    /// The `tar` program: anywhere (but nothing is written through them); permissions are kept.
    Any,
}

/// Entries go to `dir`, which will be `shown` when it is complete.
struct Entries<'a> {
    dir: &'a Path,
    shown: &'a Path,
    /// Bytes that they may still have.
    room: Cell<u64>,
    cancellation: &'a Cancellation,
}

impl Entries<'_> {
    fn untar(&self, source: impl Read, links: Links) -> Result<(), TaskError> {
        let mut archive = tar::Archive::new(source);
        archive.set_preserve_permissions(false);
        let umask = umask();
        // The `tar` program heeds it, unless it runs as root.
        let is_root = rustix::process::geteuid().is_root();
        archive.set_mask(if is_root { 0 } else { umask });
        let mut directories = Vec::new();
        let entries = archive.entries().map_err(bad)?;
        for entry in entries {
            check(self.cancellation)?;
            let mut entry = entry.map_err(bad)?;
            let path = entry.path().map_err(bad)?.into_owned();
            let Some(inside) = below(&path) else {
                return Err(self.outside("entry", &path));
            };
            let kind = entry.header().entry_type();
            if links == Links::Inside && (kind.is_symlink() || kind.is_hard_link()) {
                let target = entry.link_name().map_err(bad)?.unwrap_or_default();
                if target.is_absolute() || below(&target).is_none() {
                    return Err(self.outside("entry", &path));
                }
            }
            if kind.is_dir() {
                // Their permissions may forbid to write into them.
                directories.push(entry);
                continue;
            }
            if kind.is_hard_link() {
                self.make_way(&inside)?;
            }
            self.take_room(entry.size())?;
            entry.unpack_in(self.dir).map_err(bad)?;
            // A file without a name is passed over.
            if links == Links::Inside && kind.is_file() && inside != Path::new("") {
                set_mode(&self.dir.join(inside), 0o666 & !umask)?;
            }
        }
        // The innermost first.
        directories.sort_by(|a, b| b.path_bytes().cmp(&a.path_bytes()));
        for mut directory in directories {
            directory.unpack_in(self.dir).map_err(bad)?;
            if links == Links::Inside {
                let path = directory.path().map_err(bad)?;
                let inside = below(&path).unwrap_or_default();
                set_mode(&self.dir.join(inside), 0o777 & !umask)?;
            }
        }
        Ok(())
    }

    fn unzip(&self, source: impl Read + Seek, keep_modes: bool) -> Result<(), TaskError> {
        let bad_zip = |error: zip::result::ZipError| {
            TaskError::exception("java.util.zip.ZipException", error)
        };
        let mut archive = zip::ZipArchive::new(source).map_err(bad_zip)?;
        for index in 0..archive.len() {
            check(self.cancellation)?;
            let mut entry = archive.by_index(index).map_err(bad_zip)?;
            // Neither Hadoop's nor Java's code makes directories without files.
            if entry.is_dir() {
                continue;
            }
            let name = PathBuf::from(&*entry.name().map_err(bad_zip)?);
            let Some(inside) = below(&name).filter(|path| *path != Path::new("")) else {
                return Err(self.outside("file", &name));
            };
            let path = self.dir.join(inside);
            if let Some(parent) = path.parent() {
                fs::create_dir_all(parent)?;
            }
            // Nothing in `dir` is a link: symbolic links in zip files become plain files, as in Hadoop.
            let mut file = File::create(&path)?;
            let most = self.room.get().saturating_add(1);
            self.take_room(io::copy(&mut entry.by_ref().take(most), &mut file)?)?;
            let mode = entry
                .unix_mode()
                .filter(|_| keep_modes && entry.system() == zip::System::Unix);
            if let Some(mode) = mode.map(|mode| mode & 0o777).filter(|mode| *mode != 0) {
                file.set_permissions(fs::Permissions::from_mode(mode))?;
            }
        }
        Ok(())
    }

    /// Counts bytes of an entry.
    fn take_room(&self, bytes: u64) -> Result<(), TaskError> {
        let too_much = || {
            TaskError::io(format!(
                "expanding an archive into {} would make more of it than compression can save",
                self.shown.display()
            ))
        };
        let left = self.room.get().checked_sub(bytes).ok_or_else(too_much)?;
        self.room.set(left);
        Ok(())
    }

    /// Removes what a hard link replaces, but nothing that a link leads to.
    fn make_way(&self, inside: &Path) -> io::Result<()> {
        let path = self.dir.join(inside);
        let parent = path.parent().and_then(|parent| parent.canonicalize().ok());
        let is_file = fs::symlink_metadata(&path).is_ok_and(|meta| !meta.is_dir());
        match parent {
            Some(parent) if is_file && parent.starts_with(self.dir.canonicalize()?) => {
                fs::remove_file(path)
            }
            _ => Ok(()),
        }
    }

    fn outside(&self, what: &str, entry: &Path) -> TaskError {
        TaskError::io(format!(
            "expanding {} would create {what} outside of {}",
            entry.display(),
            self.shown.display()
        ))
    }
}

/// The path of an entry below the directory it is unpacked into; `None` if any part of it goes up. A leading slash does
/// not count.
fn below(path: &Path) -> Option<PathBuf> {
    let mut inside = PathBuf::new();
    for part in path.components() {
        match part {
            Component::Normal(name) => inside.push(name),
            Component::CurDir | Component::RootDir => {}
            Component::ParentDir | Component::Prefix(_) => return None,
        }
    }
    let nul =
        inside.as_os_str() != OsStr::new("") && inside.as_os_str().as_encoded_bytes().contains(&0);
    (!nul).then_some(inside)
}

/// An archive that cannot be read, with all that is known about it.
fn bad(error: io::Error) -> TaskError {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(&error);
    while let Some(inner) = cause {
        text = format!("{text}: {inner}");
        cause = inner.source();
    }
    TaskError::io(format!("Error untarring file: {text}"))
}

fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    fs::set_permissions(path, fs::Permissions::from_mode(mode))
}

/// Permissions that files made by this process do not get.
fn umask() -> u32 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    status
        .lines()
        .find_map(|line| line.strip_prefix("Umask:"))
        .and_then(|mask| u32::from_str_radix(mask.trim(), 8).ok())
        .unwrap_or(USUAL_UMASK)
}
