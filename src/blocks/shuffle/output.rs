//! The files of one map output, from temporary ones to their final names (Spark's `IndexShuffleBlockResolver`).

use super::super::checksum::Algorithm;
use super::super::{FileName, Form, LocalDirs, ShuffleFile};
use parking_lot::Mutex;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use uuid::Uuid;

/// Makes map outputs visible to readers.
#[derive(Debug)]
pub(super) struct MapOutputs {
    dirs: Arc<LocalDirs>,
    form: Form,
    checksum: Option<Algorithm>,
    open_permissions: bool,
    sync: bool,
    /// One commit at a time: two attempts may write the output of the same name.
    commit: Mutex<()>,
}

/// A file that is removed unless it gets its final name.
#[derive(Debug)]
pub(super) struct TempFile {
    path: PathBuf,
    pub(super) file: File,
}

impl Drop for TempFile {
    fn drop(&mut self) {
        // Gone already if it was renamed.
        let _ = std::fs::remove_file(&self.path);
    }
}

impl MapOutputs {
    pub(super) fn new(
        dirs: Arc<LocalDirs>,
        checksum: Option<Algorithm>,
        open_permissions: bool,
        sync: bool,
    ) -> Self {
        Self {
            dirs,
            form: Form::Rows,
            checksum,
            open_permissions,
            sync,
            commit: Mutex::new(()),
        }
    }

    /// Outputs that are columns, whose frames have checksums of their own. Nobody but this user reads them.
    pub(super) fn of_columns(dirs: Arc<LocalDirs>, sync: bool) -> Self {
        Self {
            form: Form::Columns,
            ..Self::new(dirs, None, false, sync)
        }
    }

    pub(super) fn checksum(&self) -> Option<Algorithm> {
        self.checksum
    }

    /// A file for what does not fit into memory; it has no name, so nothing is left of it.
    pub(super) fn spill_file(&self) -> io::Result<File> {
        let path = self.dirs.scratch();
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .open(&path)?;
        std::fs::remove_file(path)?;
        Ok(file)
    }

    /// A file beside the data file, which [`MapOutputs::commit`] renames.
    pub(super) fn data_file(&self, shuffle_id: i32, map_id: i64) -> io::Result<TempFile> {
        self.temp(&self.path(shuffle_id, map_id, self.form.data()))
    }

    /// Gives the files their names. `data` has segments of `lengths`, `None` if there is no record; `checksums` has one
    /// number for each, or none at all. If another attempt has already committed the same output, that one stays
    /// and `lengths` become its.
    ///
    /// # Errors
    /// The files cannot be written or renamed; nothing of this attempt is visible then but perhaps an index without
    /// data.
    pub(super) fn commit(
        &self,
        shuffle_id: i32,
        map_id: i64,
        lengths: &mut [u64],
        checksums: &[u32],
        data: Option<TempFile>,
    ) -> io::Result<()> {
        let index_path = self.path(shuffle_id, map_id, self.form.index());
        let data_path = self.path(shuffle_id, map_id, self.form.data());
        let _one = self.commit.lock();
        if let Some(committed) = committed(&index_path, &data_path, lengths.len()) {
            lengths.copy_from_slice(&committed);
            return Ok(());
        }
        let mut offset = 0u64;
        let offsets = std::iter::once(0).chain(lengths.iter().map(|length| {
            offset += length;
            offset
        }));
        let offsets: Vec<u8> = offsets.flat_map(u64::to_be_bytes).collect();
        self.write(&index_path, &offsets)?;
        match data {
            Some(data) => self.rename(data, &data_path)?,
            None => remove_stale(&data_path)?,
        }
        if let Some(algorithm) = self.checksum.filter(|_| !checksums.is_empty()) {
            let sums: Vec<u8> = checksums
                .iter()
                .flat_map(|sum| i64::from(*sum).to_be_bytes())
                .collect();
            let file = ShuffleFile::Checksum(algorithm);
            // Only needed to explain damage.
            if let Err(error) = self.write(&self.path(shuffle_id, map_id, file), &sums) {
                tracing::warn!(
                    "Cannot write the checksums of shuffle {shuffle_id} map {map_id}: {error}"
                );
            }
        }
        Ok(())
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let mut temp = self.temp(path)?;
        temp.file.write_all(bytes)?;
        self.rename(temp, path)
    }

    fn rename(&self, temp: TempFile, path: &Path) -> io::Result<()> {
        if self.sync {
            temp.file.sync_data()?;
        }
        std::fs::rename(&temp.path, path).map_err(|error| {
            io::Error::new(
                error.kind(),
                format!(
                    "fail to rename file {} to {}: {error}",
                    temp.path.display(),
                    path.display()
                ),
            )
        })
    }

    fn temp(&self, of: &Path) -> io::Result<TempFile> {
        let mut name = of.as_os_str().to_owned();
        name.push(format!(".{}", Uuid::new_v4()));
        let path = PathBuf::from(name);
        let file = match create(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.dirs.create_parent(of, self.open_permissions)?;
                create(&path)?
            }
            other => other?,
        };
        let temp = TempFile { path, file };
        if self.open_permissions {
            LocalDirs::make_world_readable(&temp.path)?;
        }
        Ok(temp)
    }

    fn path(&self, shuffle_id: i32, map_id: i64, file: ShuffleFile) -> PathBuf {
        self.dirs
            .path(&FileName::of_shuffle(shuffle_id, map_id, file))
    }
}

fn create(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).open(path)
}

fn remove_stale(path: &Path) -> io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Lengths of the segments of an output that is complete: its index has as many and fits the data file.
fn committed(index: &Path, data: &Path, count: usize) -> Option<Vec<u64>> {
    let mut file = File::open(index).ok()?;
    let expected = (count as u64 + 1) * 8;
    if file.metadata().ok()?.len() != expected {
        return None;
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).ok()?;
    let offsets = bytes.as_chunks::<8>().0.iter();
    let offsets: Vec<u64> = offsets.map(|bytes| u64::from_be_bytes(*bytes)).collect();
    if offsets.first() != Some(&0) {
        return None;
    }
    let mut lengths = Vec::with_capacity(count);
    for (from, to) in offsets.iter().zip(offsets.iter().skip(1)) {
        lengths.push(to.checked_sub(*from)?);
    }
    let size = match std::fs::metadata(data) {
        Ok(metadata) => metadata.len(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
        Err(_) => return None,
    };
    (offsets.last() == Some(&size)).then_some(lengths)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn outputs(root: &Path, checksum: Option<Algorithm>, open_permissions: bool) -> MapOutputs {
        let dirs = LocalDirs::create(&[root.to_owned()], 64, false).unwrap();
        MapOutputs::new(Arc::new(dirs), checksum, open_permissions, true)
    }

    fn write(outputs: &MapOutputs, map_id: i64, bytes: &[u8], lengths: &mut [u64]) {
        let mut data = outputs.data_file(3, map_id).unwrap();
        data.file.write_all(bytes).unwrap();
        let sums = vec![7; lengths.len()];
        outputs
            .commit(3, map_id, lengths, &sums, Some(data))
            .unwrap();
    }

    fn names(outputs: &MapOutputs) -> Vec<String> {
        let mut names = Vec::new();
        for dir in std::fs::read_dir(&outputs.dirs.dirs()[0]).unwrap() {
            for file in std::fs::read_dir(dir.unwrap().path()).unwrap() {
                names.push(file.unwrap().file_name().into_string().unwrap());
            }
        }
        names.sort();
        names
    }

    #[test]
    fn files_are_sparks_and_nothing_else_is_left() {
        let root = tempfile::tempdir().unwrap();
        let outputs = outputs(root.path(), Some(Algorithm::Crc32), false);
        write(&outputs, 9, b"aabbb", &mut [2, 0, 3]);
        assert_eq!(
            names(&outputs),
            [
                "shuffle_3_9_0.checksum.CRC32",
                "shuffle_3_9_0.data",
                "shuffle_3_9_0.index"
            ]
        );
        let index = std::fs::read(outputs.path(3, 9, ShuffleFile::Index)).unwrap();
        assert_eq!(index, [0u64, 2, 2, 5].map(u64::to_be_bytes).as_flattened());
        let sums =
            std::fs::read(outputs.path(3, 9, ShuffleFile::Checksum(Algorithm::Crc32))).unwrap();
        assert_eq!(sums, [7u64, 7, 7].map(u64::to_be_bytes).as_flattened());
        drop(outputs.data_file(3, 10).unwrap());
        outputs.spill_file().unwrap();
        assert_eq!(names(&outputs).len(), 3);
    }

    #[test]
    fn no_records_leave_an_index_only() {
        let root = tempfile::tempdir().unwrap();
        let outputs = outputs(root.path(), Some(Algorithm::Adler32), false);
        outputs.commit(1, 2, &mut [0, 0], &[], None).unwrap();
        assert_eq!(names(&outputs), ["shuffle_1_2_0.index"]);
    }

    #[test]
    fn columns_have_files_of_their_own() {
        let root = tempfile::tempdir().unwrap();
        let dirs = LocalDirs::create(&[root.path().to_owned()], 64, false).unwrap();
        let outputs = MapOutputs::of_columns(Arc::new(dirs), false);
        let data = outputs.data_file(3, 9).unwrap();
        outputs.commit(3, 9, &mut [0], &[], Some(data)).unwrap();
        let expected = ["shuffle_3_9_0.columns", "shuffle_3_9_0.columns.index"];
        assert_eq!(names(&outputs), expected);
    }

    #[test]
    fn the_first_attempt_stays() {
        let root = tempfile::tempdir().unwrap();
        let outputs = outputs(root.path(), None, false);
        write(&outputs, 9, b"aabbb", &mut [2, 3]);
        let mut lengths = [1, 1];
        write(&outputs, 9, b"xy", &mut lengths);
        assert_eq!(lengths, [2, 3]);
        let data = outputs.path(3, 9, ShuffleFile::Data);
        assert_eq!(std::fs::read(&data).unwrap(), b"aabbb");
        std::fs::write(&data, b"aabb").unwrap();
        write(&outputs, 9, b"xy", &mut [1, 1]);
        assert_eq!(
            std::fs::read(&data).unwrap(),
            b"xy",
            "damaged outputs are replaced"
        );
        assert_eq!(names(&outputs).len(), 2);
    }

    #[test]
    fn another_user_s_service_may_read_and_remove() {
        let root = tempfile::tempdir().unwrap();
        let outputs = outputs(root.path(), None, true);
        write(&outputs, 9, b"a", &mut [1]);
        let data = outputs.path(3, 9, ShuffleFile::Data);
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode(&data) & 0o004, 0o004);
        assert_eq!(mode(data.parent().unwrap()) & 0o020, 0o020);
    }
}
