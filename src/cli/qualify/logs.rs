//! Event logs as Spark writes them: a file for an application, or a directory of numbered files, compressed or not.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use crate::blocks::codec::Codec;
use crate::config::SparkProperties;
use crate::config::declared;

/// Names of compression codecs, as files end in them.
const CODECS: [&str; 4] = ["lz4", "lzf", "snappy", "zstd"];
/// Bytes that are read at a time.
const READ_AHEAD: usize = 1 << 18;

/// The log of one application.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct EventLog {
    /// What it was found as.
    pub(super) path: PathBuf,
    /// Its files, in order.
    pub(super) files: Vec<LogFile>,
    /// Whether Spark has left out what it was done with.
    pub(super) is_compacted: bool,
}

/// A file of a log.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct LogFile {
    pub(super) path: PathBuf,
    codec: Option<&'static str>,
}

impl LogFile {
    fn new(path: PathBuf) -> Self {
        let name = name_of(&path);
        let name = name.strip_suffix(".compact").unwrap_or(&name);
        let name = name.strip_suffix(".inprogress").unwrap_or(name);
        let end = name.rsplit_once('.').map_or("", |(_, end)| end);
        let codec = CODECS.into_iter().find(|codec| *codec == end);
        Self { path, codec }
    }

    /// Its lines.
    ///
    /// # Errors
    /// It cannot be opened.
    pub(super) fn open(&self) -> io::Result<Box<dyn BufRead>> {
        let file = BufReader::with_capacity(READ_AHEAD, File::open(&self.path)?);
        let Some(name) = self.codec else {
            return Ok(Box::new(file));
        };
        let codec = Codec::by_name(name, &declared::CODEC, &SparkProperties::default())
            .map_err(io::Error::other)?;
        Ok(Box::new(codec.reader(file)?))
    }
}

fn name_of(path: &Path) -> String {
    path.file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

/// The number of a file of a rolled log: `events_3_application…`.
fn number(path: &Path) -> Option<u64> {
    let name = name_of(path);
    let (number, _) = name.strip_prefix("events_")?.split_once('_')?;
    number.parse().ok()
}

/// All logs that a path leads to.
pub(super) fn in_path(path: &Path) -> impl Iterator<Item = Result<EventLog, String>> {
    let found = find(path, true).unwrap_or_else(|problem| vec![Err(problem)]);
    found.into_iter()
}

fn find(path: &Path, goes_down: bool) -> Result<Vec<Result<EventLog, String>>, String> {
    let cannot = |problem: io::Error| format!("cannot read {}: {problem}", path.display());
    if !fs::metadata(path).map_err(cannot)?.is_dir() {
        return Ok(vec![Ok(EventLog {
            path: path.to_owned(),
            files: vec![LogFile::new(path.to_owned())],
            is_compacted: false,
        })]);
    }
    let mut entries = Vec::new();
    for entry in fs::read_dir(path).map_err(cannot)? {
        let entry = entry.map_err(cannot)?.path();
        // Checksums of Hadoop's local files.
        if !name_of(&entry).starts_with('.') {
            entries.push(entry);
        }
    }
    entries.sort();
    if entries.iter().any(|entry| number(entry).is_some()) {
        return Ok(vec![Ok(rolled(path, entries))]);
    }
    if !goes_down || entries.is_empty() {
        return Err(format!("{} has no event log", path.display()));
    }
    let logs = entries.iter().flat_map(|entry| match find(entry, false) {
        Ok(found) => found,
        Err(problem) => vec![Err(problem)],
    });
    Ok(logs.collect())
}

/// A log of numbered files. What was compacted stands for the files up to its number.
fn rolled(path: &Path, entries: Vec<PathBuf>) -> EventLog {
    let is_compact = |path: &Path| name_of(path).ends_with(".compact");
    let mut numbered: Vec<(u64, PathBuf)> = entries
        .into_iter()
        .filter_map(|entry| Some((number(&entry)?, entry)))
        .collect();
    let compacted = numbered.iter().filter(|(_, path)| is_compact(path));
    let compacted = compacted.map(|(number, _)| *number).max();
    if let Some(last) = compacted {
        numbered.retain(|(number, path)| *number > last || (*number == last && is_compact(path)));
    }
    numbered.sort();
    EventLog {
        path: path.to_owned(),
        files: numbered
            .into_iter()
            .map(|(_, path)| LogFile::new(path))
            .collect(),
        is_compacted: compacted.is_some(),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};

    use super::*;

    fn names(log: &EventLog) -> Vec<String> {
        log.files.iter().map(|file| name_of(&file.path)).collect()
    }

    #[test]
    fn files_of_rolled_logs_are_in_order() {
        let dir = tempfile::tempdir().unwrap();
        let rolled = dir.path().join("eventlog_v2_app-1");
        fs::create_dir(&rolled).unwrap();
        for name in [
            "events_10_app-1.zstd",
            "events_9_app-1.zstd",
            "appstatus_app-1.inprogress",
            ".events_9_app-1.zstd.crc",
        ] {
            fs::write(rolled.join(name), "").unwrap();
        }
        fs::write(dir.path().join("app-2.lz4.inprogress"), "").unwrap();
        let found: Vec<_> = in_path(dir.path()).map(Result::unwrap).collect();
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].files[0].codec, Some("lz4"));
        assert_eq!(
            names(&found[1]),
            ["events_9_app-1.zstd", "events_10_app-1.zstd"]
        );
        assert!(!found[1].is_compacted);

        fs::write(rolled.join("events_9_app-1.zstd.compact"), "").unwrap();
        let found: Vec<_> = in_path(&rolled).map(Result::unwrap).collect();
        assert_eq!(
            names(&found[0]),
            ["events_9_app-1.zstd.compact", "events_10_app-1.zstd"]
        );
        assert!(found[0].is_compacted && found[0].files[0].codec == Some("zstd"));
    }

    #[test]
    fn every_codec_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let text = "{\"Event\":\"x\"}\n".repeat(1000);
        for name in CODECS {
            let path = dir.path().join(format!("app.{name}"));
            let codec =
                Codec::by_name(name, &declared::CODEC, &SparkProperties::default()).unwrap();
            let mut writer = codec.writer(File::create(&path).unwrap()).unwrap();
            writer.write_all(text.as_bytes()).unwrap();
            writer.finish().unwrap();
            let mut read = String::new();
            LogFile::new(path)
                .open()
                .unwrap()
                .read_to_string(&mut read)
                .unwrap();
            assert_eq!(read, text, "{name}");
        }
    }

    #[test]
    fn what_is_not_there_is_said() {
        let dir = tempfile::tempdir().unwrap();
        let problem = |path: &Path| in_path(path).next().unwrap().unwrap_err();
        assert!(problem(&dir.path().join("none")).starts_with("cannot read "));
        assert!(problem(dir.path()).ends_with("has no event log"));
    }
}
