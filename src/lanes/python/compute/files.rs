//! Files of Hadoop's input formats.

use std::io::{self, Read};
use std::sync::Arc;

use bytes::Bytes;
use textfile::{Compression, Delimiter, Lines};

use crate::config::declared::FILES_IGNORE_CORRUPT;
use crate::files::{ChecksumError, FileError, FileInput, FileSystems, HadoopConf, LocalFile};
use crate::lanes::python::plan::{FileFormat, FileRange, Files};
use crate::python::{Element, Elements};
use crate::task::{TaskContext, TaskError};

/// Longest record of `binaryRecords` that is believed.
const MAX_RECORD: i32 = 1 << 30;

/// How lines are cut, from Hadoop's settings.
fn delimiter(conf: &HadoopConf) -> Delimiter {
    match conf.get("textinputformat.record.delimiter") {
        None => Delimiter::Newline,
        Some(text) if text.is_empty() => Delimiter::Newline,
        Some(text) => Delimiter::Bytes(Bytes::copy_from_slice(text.as_bytes())),
    }
}

/// Files of an input, and what reads them.
pub(super) struct Source {
    pub(super) files: Files,
    pub(super) conf: Arc<HadoopConf>,
    pub(super) systems: Arc<FileSystems>,
    pub(super) context: Arc<TaskContext>,
}

impl Source {
    /// Fails with [`TaskError::BailOut`] if the files cannot be read here. Nothing has been read then.
    pub(super) fn check(&self, ranges: &[FileRange]) -> Result<(), TaskError> {
        let (files, conf) = (&self.files, &self.conf);
        let no = |reason: &str| Err(TaskError::BailOut(reason.to_owned()));
        if files.ignore_corrupt {
            return no(FILES_IGNORE_CORRUPT.key);
        }
        for range in ranges {
            self.systems.of(&range.path, conf)?;
        }
        if matches!(files.format, FileFormat::Lines | FileFormat::WholeText) {
            if conf.text(textfile::CODECS).is_some() {
                return no(textfile::CODECS);
            }
            if ranges
                .iter()
                .any(|r| compression(r) == Compression::Unsupported)
            {
                return no("files of that compression");
            }
        }
        if files.format == FileFormat::Lines {
            let length = conf.get(textfile::LINE_LENGTH);
            if length.is_some_and(|length| textfile::limits_lines(&length)) {
                return no(textfile::LINE_LENGTH);
            }
            // Hadoop can begin within such a file.
            for range in ranges {
                if compression(range) == Compression::Bzip2
                    && (range.start > 0 || self.goes_on_behind(range)?)
                {
                    return no("a part of a bzip2 file");
                }
            }
        }
        if let FileFormat::Records(length) = files.format
            && (length > MAX_RECORD || ranges.iter().any(|r| compression(r) != Compression::None))
        {
            return no("binaryRecords of such files");
        }
        Ok(())
    }

    /// Whether the range is not all of its file. What cannot be asked now shows when it is read.
    fn goes_on_behind(&self, range: &FileRange) -> Result<bool, TaskError> {
        let file_system = self.systems.of(&range.path, &self.conf)?;
        let status = file_system.status(&range.path);
        match self.systems.wait(&self.context.cancellation, status) {
            Err(FileError::Cancelled(reason)) => Err(TaskError::Killed(reason)),
            status => Ok(status.is_ok_and(|status| status.length > range.length)),
        }
    }

    /// The elements in files that [`Source::check`] has passed.
    pub(super) fn read(self, ranges: Vec<FileRange>) -> Elements<'static> {
        let ignore_missing = self.files.ignore_missing;
        let metrics = Arc::clone(&self.context.metrics);
        let delimiter = delimiter(&self.conf);
        let buffer = textfile::buffer_size(self.conf.text(textfile::BUFFER_SIZE).as_deref());
        let elements =
            ranges
                .into_iter()
                .flat_map(move |range| match self.open(&range, &delimiter, buffer) {
                    Ok(elements) => elements,
                    Err(error) if ignore_missing && error.kind() == io::ErrorKind::NotFound => {
                        tracing::warn!("Skipped missing file: {}", range.uri);
                        Box::new(std::iter::empty()) as Elements<'static>
                    }
                    Err(error) => Box::new(std::iter::once(Err(failure(&range, &error)))),
                });
        Box::new(elements.inspect(move |element| {
            if element.is_ok() {
                metrics.input.records_read.add(1);
            }
        }))
    }

    fn open(
        &self,
        range: &FileRange,
        delimiter: &Delimiter,
        buffer: usize,
    ) -> io::Result<Elements<'static>> {
        let end = range.start.saturating_add(range.length);
        let part = match (self.files.format, compression(range)) {
            (FileFormat::Lines | FileFormat::Records(_), Compression::None) => range.start..end,
            // Compressed or not, all of it.
            _ => 0..end,
        };
        let mut input = match range.path.scheme.as_str() {
            "file" => {
                let path = range.path.local();
                let metrics = Arc::clone(&self.context.metrics);
                let on_read = Arc::new(move |count| metrics.input.bytes_read.add_len(count)) as _;
                let mut file = LocalFile::open(&path, &range.uri, buffer, &on_read)?;
                if part.start > 0 {
                    file.seek(part.start)?;
                }
                Input::Local(file)
            }
            _ => {
                let (conf, switch) = (&self.conf, &self.context.cancellation);
                let file = self.systems.input(&range.path, part, conf, switch)?;
                Input::Remote(file, Arc::clone(&self.context))
            }
        };
        match self.files.format {
            FileFormat::Lines => Ok(lines(input, range, delimiter.clone(), buffer)),
            FileFormat::WholeText => {
                let bytes = all(&mut compression(range).reader(input))?;
                let text = match String::from_utf8_lossy(&bytes) {
                    std::borrow::Cow::Borrowed(_) => Bytes::from(bytes),
                    std::borrow::Cow::Owned(text) => Bytes::from(text),
                };
                Ok(one(range, Element::Text(text)))
            }
            FileFormat::Binary => {
                let bytes = all(&mut input)?;
                Ok(one(range, Element::Bytes(bytes.into())))
            }
            FileFormat::Records(length) => Ok(records(input, range, length)),
        }
    }
}

fn compression(range: &FileRange) -> Compression {
    Compression::of(range.path.name())
}

fn failure(range: &FileRange, error: &io::Error) -> TaskError {
    if let Some(error) = FileError::of_io(error) {
        if let FileError::Failed { .. } = error {
            tracing::warn!("{}: {error}", range.uri);
        }
        return error.clone().into();
    }
    if let Some(text) = ChecksumError::of(error) {
        return TaskError::exception("org.apache.hadoop.fs.ChecksumException", text);
    }
    if error.kind() == io::ErrorKind::NotFound {
        return TaskError::exception(
            "java.io.FileNotFoundException",
            format_args!("File {} does not exist", range.uri),
        );
    }
    if error.kind() == io::ErrorKind::PermissionDenied {
        return TaskError::exception(
            "java.io.FileNotFoundException",
            format_args!("{} (Permission denied)", range.path.path),
        );
    }
    TaskError::io(format_args!("{}: {error}", range.uri))
}

fn one(range: &FileRange, value: Element) -> Elements<'static> {
    let path = Element::Text(Bytes::copy_from_slice(range.uri.as_bytes()));
    Box::new(std::iter::once(Ok(Element::tuple(path, value))))
}

fn all(input: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    input.read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn lines(
    input: Input,
    range: &FileRange,
    delimiter: Delimiter,
    buffer: usize,
) -> Elements<'static> {
    let (input, start, end): (Box<dyn Read + Send>, _, _) = match compression(range) {
        Compression::None => {
            let end = range.start.saturating_add(range.length);
            (Box::new(input), range.start, end)
        }
        _ => (compression(range).reader(input), 0, u64::MAX),
    };
    let mut lines = Lines::new(input, delimiter, start, end, buffer);
    let range = range.clone();
    let mut done = false;
    Box::new(std::iter::from_fn(move || {
        if done {
            return None;
        }
        match lines.next_line() {
            Ok(Some(line)) => Some(Ok(Element::Text(text(line)))),
            Ok(None) => None,
            Err(error) => {
                done = true;
                Some(Err(failure(&range, &error)))
            }
        }
    }))
}

/// What is not UTF-8 becomes U+FFFD, as in `Text.toString`.
fn text(line: Bytes) -> Bytes {
    match String::from_utf8_lossy(&line) {
        std::borrow::Cow::Borrowed(_) => line,
        std::borrow::Cow::Owned(text) => Bytes::from(text),
    }
}

fn records(input: Input, range: &FileRange, length: i32) -> Elements<'static> {
    let mut input: Box<dyn Read + Send> = match input {
        Input::Local(file) => Box::new(file),
        // Hadoop reads and counts record by record.
        input => Box::new(io::BufReader::with_capacity(
            256 << 10,
            input.take(range.length),
        )),
    };
    let mut position = range.start;
    let end = range.start.saturating_add(range.length);
    // Positive, as the plan knows.
    let length = usize::try_from(length).unwrap_or_default();
    let range = range.clone();
    Box::new(std::iter::from_fn(move || {
        if position >= end {
            return None;
        }
        let mut record = vec![0; length];
        match input.read_exact(&mut record) {
            Ok(()) => {
                position += length as u64;
                Some(Ok(Element::Bytes(record.into())))
            }
            Err(error) => {
                position = end;
                Some(Err(match error.kind() {
                    io::ErrorKind::UnexpectedEof => TaskError::exception(
                        "java.io.EOFException",
                        format_args!("the file ends within a record of {length} bytes"),
                    ),
                    _ => failure(&range, &error),
                }))
            }
        }
    }))
}

/// A file whose bytes are counted as the task's input.
enum Input {
    /// Counts by itself.
    Local(LocalFile),
    Remote(FileInput, Arc<TaskContext>),
}

impl Read for Input {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Local(file) => file.read(buf),
            Self::Remote(file, context) => {
                let count = file.read(buf)?;
                context.metrics.input.bytes_read.add_len(count);
                Ok(count)
            }
        }
    }
}
