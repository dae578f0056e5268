//! Files of Hadoop's input formats, on this machine's file systems.

use std::io::{self, Read};

use bytes::Bytes;

use super::conf::HadoopConf;
use super::lines::{Delimiter, Lines};
use super::local_file::{ChecksumError, LocalFile};
use crate::executor::task::{TaskContext, TaskError};
use crate::lanes::python::plan::{FileFormat, FileRange, Files};
use crate::lanes::python::{Element, Elements};

/// Longest record of `binaryRecords` that is believed.
const MAX_RECORD: i32 = 1 << 30;

/// What a file's name says about its compression. The names are those of Hadoop's codecs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Compression {
    None,
    Gzip,
    Deflate,
    Bzip2,
    Other,
}

impl Compression {
    fn of(range: &FileRange) -> Self {
        match range.path.extension().and_then(|name| name.to_str()) {
            Some("gz") => Self::Gzip,
            Some("deflate") => Self::Deflate,
            Some("bz2") => Self::Bzip2,
            Some("lz4" | "snappy" | "zst" | "lzo") => Self::Other,
            _ => Self::None,
        }
    }
}

/// How lines are cut, from Hadoop's settings.
fn delimiter(conf: &HadoopConf) -> Delimiter {
    match conf.get("textinputformat.record.delimiter") {
        None | Some("") => Delimiter::Newline,
        Some(text) => Delimiter::Bytes(Bytes::copy_from_slice(text.as_bytes())),
    }
}

/// Fails with [`TaskError::BailOut`] if the files cannot be read here. Nothing has been read then.
pub(super) fn check(
    files: &Files,
    ranges: &[FileRange],
    conf: &HadoopConf,
) -> Result<(), TaskError> {
    let no = |reason: &str| Err(TaskError::BailOut(reason.to_owned()));
    if files.ignore_corrupt {
        return no("spark.files.ignoreCorruptFiles");
    }
    if conf
        .get("fs.file.impl")
        .is_some_and(|class| class != "org.apache.hadoop.fs.LocalFileSystem")
    {
        return no("fs.file.impl");
    }
    if matches!(files.format, FileFormat::Lines | FileFormat::WholeText) {
        if conf
            .get("io.compression.codecs")
            .is_some_and(|codecs| !codecs.is_empty())
        {
            return no("io.compression.codecs");
        }
        if ranges
            .iter()
            .any(|r| Compression::of(r) == Compression::Other)
        {
            return no("files of that compression");
        }
    }
    if files.format == FileFormat::Lines {
        if conf
            .get("mapreduce.input.linerecordreader.line.maxlength")
            .is_some_and(|max| max != i32::MAX.to_string())
        {
            return no("mapreduce.input.linerecordreader.line.maxlength");
        }
        // Hadoop can begin within such a file.
        for range in ranges {
            if Compression::of(range) == Compression::Bzip2
                && (range.start > 0
                    || std::fs::metadata(&range.path).is_ok_and(|m| m.len() > range.length))
            {
                return no("a part of a bzip2 file");
            }
        }
    }
    if let FileFormat::Records(length) = files.format
        && (length > MAX_RECORD
            || ranges
                .iter()
                .any(|r| Compression::of(r) != Compression::None))
    {
        return no("binaryRecords of such files");
    }
    Ok(())
}

/// The elements in files that [`check`] has passed.
pub(super) fn read<'a>(
    files: &Files,
    ranges: &'a [FileRange],
    conf: &HadoopConf,
    context: &'a TaskContext,
) -> Elements<'a> {
    let format = files.format;
    let ignore_missing = files.ignore_missing;
    let delimiter = delimiter(conf);
    let buffer = buffer_size(conf);
    let elements = ranges.iter().flat_map(move |range| {
        let file = LocalFile::open(&range.path, &range.uri, buffer, &context.metrics);
        match file.and_then(|file| open(format, range, &delimiter, buffer, file)) {
            Ok(elements) => elements,
            Err(error) if ignore_missing && error.kind() == io::ErrorKind::NotFound => {
                tracing::warn!("Skipped missing file: {}", range.uri);
                Box::new(std::iter::empty()) as Elements<'_>
            }
            Err(error) => Box::new(std::iter::once(Err(failure(range, &error)))),
        }
    });
    Box::new(elements.inspect(move |element| {
        if element.is_ok() {
            context.metrics.input.records_read.add(1);
        }
    }))
}

/// `io.file.buffer.size`, in bytes, which Spark sets to `spark.buffer.size`.
fn buffer_size(conf: &HadoopConf) -> usize {
    let size = conf.get("io.file.buffer.size");
    let size = size.and_then(|size| size.trim().parse().ok());
    size.unwrap_or(64 << 10).clamp(512, 16 << 20)
}

fn failure(range: &FileRange, error: &io::Error) -> TaskError {
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
            format_args!("{} (Permission denied)", range.path.display()),
        );
    }
    TaskError::io(format_args!("{}: {error}", range.uri))
}

fn open<'a>(
    format: FileFormat,
    range: &'a FileRange,
    delimiter: &Delimiter,
    buffer: usize,
    mut file: LocalFile,
) -> io::Result<Elements<'a>> {
    match format {
        FileFormat::Lines => lines(file, range, delimiter.clone(), buffer),
        FileFormat::WholeText => {
            let bytes = all(&mut decompress(file, range))?;
            let text = match String::from_utf8_lossy(&bytes) {
                std::borrow::Cow::Borrowed(_) => Bytes::from(bytes),
                std::borrow::Cow::Owned(text) => Bytes::from(text),
            };
            Ok(one(range, Element::Text(text)))
        }
        FileFormat::Binary => {
            let bytes = all(&mut file)?;
            Ok(one(range, Element::Bytes(bytes.into())))
        }
        FileFormat::Records(length) => records(file, range, length),
    }
}

fn one(range: &FileRange, value: Element) -> Elements<'_> {
    let path = Element::Text(Bytes::copy_from_slice(range.uri.as_bytes()));
    Box::new(std::iter::once(Ok(Element::tuple(path, value))))
}

fn all(input: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    input.read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn lines(
    mut file: LocalFile,
    range: &FileRange,
    delimiter: Delimiter,
    buffer: usize,
) -> io::Result<Elements<'_>> {
    let (input, start, end): (Box<dyn Read + Send>, _, _) = match Compression::of(range) {
        Compression::None => {
            file.seek(range.start)?;
            let end = range.start.saturating_add(range.length);
            (Box::new(file), range.start, end)
        }
        _ => (decompress(file, range), 0, u64::MAX),
    };
    let mut lines = Lines::new(input, delimiter, start, end, buffer);
    let mut done = false;
    Ok(Box::new(std::iter::from_fn(move || {
        if done {
            return None;
        }
        match lines.next_line() {
            Ok(Some(line)) => Some(Ok(Element::Text(text(line)))),
            Ok(None) => None,
            Err(error) => {
                done = true;
                Some(Err(failure(range, &error)))
            }
        }
    })))
}

/// What is not UTF-8 becomes U+FFFD, as in `Text.toString`.
fn text(line: Bytes) -> Bytes {
    match String::from_utf8_lossy(&line) {
        std::borrow::Cow::Borrowed(_) => line,
        std::borrow::Cow::Owned(text) => Bytes::from(text),
    }
}

fn records(mut input: LocalFile, range: &FileRange, length: i32) -> io::Result<Elements<'_>> {
    input.seek(range.start)?;
    let mut position = range.start;
    let end = range.start.saturating_add(range.length);
    // Positive, as the plan knows.
    let length = usize::try_from(length).unwrap_or_default();
    Ok(Box::new(std::iter::from_fn(move || {
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
                    _ => failure(range, &error),
                }))
            }
        }
    })))
}

fn decompress(file: LocalFile, range: &FileRange) -> Box<dyn Read + Send> {
    let input = io::BufReader::with_capacity(64 << 10, file);
    match Compression::of(range) {
        Compression::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(input)),
        Compression::Deflate => Box::new(flate2::bufread::ZlibDecoder::new(input)),
        Compression::Bzip2 => Box::new(bzip2::bufread::MultiBzDecoder::new(input)),
        Compression::None | Compression::Other => Box::new(input),
    }
}
