//! Files of reliable checkpoints: `ReliableCheckpointRDD`. A file is a partition's elements as `JavaSerializer` writes
//! a stream of objects, compressed if `spark.checkpoint.compress` says so.

use std::io::{self, BufReader, Read, Write};

use bytes::Bytes;
use javaser::stream::{
    BASE_HANDLE, HEADER, TC_ARRAY, TC_CLASSDESC, TC_LONGSTRING, TC_NULL, TC_REFERENCE, TC_RESET,
    TC_STRING,
};

use crate::blocks::codec::Codec;
use crate::blocks::serializer_manager::{PlainReader, PlainWriter};
use crate::files::{CheckpointFile, FileError, FileInput, FilePath, Output, Outputs};
use crate::python::{Element, Elements};
use crate::task::{TaskContext, TaskError};

/// The descriptor of `byte[]`.
const BYTES: &[u8] = b"\x72\x00\x02[B\xac\xf3\x17\xf8\x06\x08\x54\xe0\x02\x00\x00\x78\x70";

/// `spark.serializer.objectStreamReset`: after so many objects the stream forgets what it has written.
const OBJECTS_UNTIL_RESET: usize = 100;

/// Longest element that is believed.
const MAX_ELEMENT: u64 = i32::MAX as u64;

/// Bytes read and written at a time.
const BUFFER: usize = 64 << 10;

/// The elements in a partition's file.
pub(super) fn read(
    path: &FilePath,
    file: Result<FileInput, FileError>,
    codec: Option<&Codec>,
) -> Result<Elements<'static>, TaskError> {
    let file = file.map_err(|error| match error {
        FileError::NotFound(_) if path.scheme == "file" => TaskError::exception(
            "java.io.FileNotFoundException",
            format_args!("File {path} does not exist"),
        ),
        error => error.into(),
    })?;
    let file = BufReader::with_capacity(BUFFER, file);
    let file = match codec {
        Some(codec) => PlainReader::Compressed(codec.reader(file)?),
        None => PlainReader::Plain(file),
    };
    let mut reader = ObjectReader::new(BufReader::with_capacity(BUFFER, file))?;
    let mut done = false;
    Ok(Box::new(std::iter::from_fn(move || {
        if done {
            return None;
        }
        let element = reader.read().map_err(TaskError::from).transpose();
        done = !matches!(element, Some(Ok(_)));
        element
    })))
}

/// Writes a partition's file: under another name first, so that there is never a part of it. A file that is there is
/// kept: another attempt was faster.
pub(in super::super) fn write(
    outputs: &Outputs,
    dir: &FilePath,
    codec: Option<&Codec>,
    elements: Elements<'_>,
    context: &TaskContext,
) -> Result<(), TaskError> {
    let (file, output) = CheckpointFile::create(
        outputs,
        dir,
        context.partition_id,
        context.task_attempt_id,
        &context.cancellation,
    )?;
    write_elements(output, codec, elements, context)?;
    Ok(file.finish()?)
}

fn write_elements(
    file: Output,
    codec: Option<&Codec>,
    elements: Elements<'_>,
    context: &TaskContext,
) -> Result<(), TaskError> {
    let mut writer = ObjectWriter::new(match codec {
        Some(codec) => PlainWriter::Compressed(codec.writer(file)?),
        None => PlainWriter::Plain(file),
    })?;
    for element in elements {
        context.check()?;
        writer.write(&element?)?;
    }
    writer.output.finish()?.finish()?;
    Ok(())
}

struct ObjectWriter<W> {
    output: W,
    /// Objects since the last reset.
    count: usize,
    /// The descriptor of `byte[]` is in the stream, as the first thing since the last reset.
    described: bool,
}

impl<W: Write> ObjectWriter<W> {
    fn new(mut output: W) -> io::Result<Self> {
        output.write_all(&HEADER)?;
        Ok(Self {
            output,
            count: 0,
            described: false,
        })
    }

    fn write(&mut self, element: &Element) -> io::Result<()> {
        match element {
            Element::Bytes(bytes) => {
                self.output.write_all(&[TC_ARRAY])?;
                if self.described {
                    self.output.write_all(&[TC_REFERENCE])?;
                    self.output.write_all(&BASE_HANDLE.to_be_bytes())?;
                } else {
                    self.output.write_all(BYTES)?;
                    self.described = true;
                }
                let length = i32::try_from(bytes.len()).map_err(io::Error::other)?;
                self.output.write_all(&length.to_be_bytes())?;
                self.output.write_all(bytes)?;
            }
            Element::Null => self.output.write_all(&[TC_NULL])?,
            _ => {
                return Err(io::Error::other(
                    "a checkpoint of something else than byte[]",
                ));
            }
        }
        self.count += 1;
        if self.count == OBJECTS_UNTIL_RESET {
            self.output.write_all(&[TC_RESET])?;
            self.count = 0;
            self.described = false;
        }
        Ok(())
    }
}

/// Reads a stream of `byte[]` and strings.
struct ObjectReader<R> {
    input: R,
    /// What has a handle since the last reset: elements, and the descriptor of `byte[]`.
    handles: Vec<Option<Element>>,
}

impl<R: Read> ObjectReader<R> {
    fn new(mut input: R) -> io::Result<Self> {
        if array(&mut input)? != HEADER {
            return Err(damaged());
        }
        Ok(Self {
            input,
            handles: Vec::new(),
        })
    }

    fn read(&mut self) -> io::Result<Option<Element>> {
        loop {
            let mut code = [0];
            if self.input.read(&mut code)? == 0 {
                return Ok(None);
            }
            let element = match code {
                [TC_RESET] => {
                    self.handles.clear();
                    continue;
                }
                [TC_NULL] => return Ok(Some(Element::Null)),
                [TC_REFERENCE] => {
                    let known = self.reference()?.clone();
                    return known.map(Some).ok_or_else(damaged);
                }
                [TC_ARRAY] => {
                    match array(&mut self.input)? {
                        [TC_REFERENCE] => {
                            if self.reference()?.is_some() {
                                return Err(damaged());
                            }
                        }
                        [TC_CLASSDESC] => {
                            let mut rest = [0; BYTES.len() - 1];
                            self.input.read_exact(&mut rest)?;
                            if BYTES.get(1..) != Some(&rest[..]) {
                                return Err(damaged());
                            }
                            self.handles.push(None);
                        }
                        _ => return Err(damaged()),
                    }
                    let length = u32::from_be_bytes(array(&mut self.input)?);
                    Element::Bytes(self.take(length.into())?)
                }
                [TC_STRING] => {
                    let length = u16::from_be_bytes(array(&mut self.input)?);
                    self.text(length.into())?
                }
                [TC_LONGSTRING] => {
                    let length = u64::from_be_bytes(array(&mut self.input)?);
                    self.text(length)?
                }
                _ => return Err(damaged()),
            };
            self.handles.push(Some(element.clone()));
            return Ok(Some(element));
        }
    }

    fn reference(&mut self) -> io::Result<&Option<Element>> {
        let handle = u32::from_be_bytes(array(&mut self.input)?);
        handle
            .checked_sub(BASE_HANDLE)
            .and_then(|index| self.handles.get(usize::try_from(index).ok()?))
            .ok_or_else(damaged)
    }

    fn text(&mut self, length: u64) -> io::Result<Element> {
        let bytes = self.take(length)?;
        // Java's own UTF-8 differs in what these bytes begin.
        let plain = !bytes.iter().any(|byte| matches!(byte, 0xc0 | 0xed));
        match std::str::from_utf8(&bytes) {
            Ok(_) if plain => Ok(Element::Text(bytes)),
            _ => Ok(Element::Text(from_modified_utf8(&bytes)?.into())),
        }
    }

    fn take(&mut self, length: u64) -> io::Result<Bytes> {
        if length > MAX_ELEMENT {
            return Err(damaged());
        }
        let mut bytes = Vec::new();
        // Grows with what is there, not with what is announced.
        (&mut self.input).take(length).read_to_end(&mut bytes)?;
        if bytes.len() as u64 != length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(bytes.into())
    }
}

/// Surrogates are written one by one, as three bytes each, and U+0000 as two.
fn from_modified_utf8(bytes: &[u8]) -> io::Result<String> {
    let mut units = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some((&first, behind)) = rest.split_first() {
        let more = |count: usize| {
            let (taken, left) = behind.split_at_checked(count).ok_or_else(damaged)?;
            let bits = taken
                .iter()
                .fold(0_u16, |bits, byte| bits << 6 | u16::from(byte & 0x3f));
            Ok::<_, io::Error>((bits, left))
        };
        let first = u16::from(first);
        rest = match first {
            0..0x80 => {
                units.push(first);
                behind
            }
            0xc0..0xe0 => {
                let (bits, left) = more(1)?;
                units.push((first & 0x1f) << 6 | bits);
                left
            }
            0xe0..0xf0 => {
                let (bits, left) = more(2)?;
                units.push((first & 0x0f) << 12 | bits);
                left
            }
            _ => return Err(damaged()),
        };
    }
    Ok(String::from_utf16_lossy(&units))
}

fn array<const N: usize>(input: &mut impl Read) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    input.read_exact(&mut bytes)?;
    Ok(bytes)
}

fn damaged() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "a damaged checkpoint file")
}

/// What can be written is read back; see [`crate::fuzzing`].
#[cfg(fuzzing)]
pub(super) fn fuzz(data: &[u8]) {
    use crate::fuzzing::Trickle;
    let all = |step| {
        let mut elements = Vec::new();
        let mut reader = ObjectReader::new(Trickle { bytes: data, step })?;
        let end = loop {
            match reader.read() {
                Ok(Some(element)) => elements.push(element),
                Ok(None) => break true,
                Err(_) => break false,
            }
        };
        Ok::<_, io::Error>((elements, end))
    };
    let Ok(read) = all(usize::MAX) else {
        assert!(all(1).is_err());
        return;
    };
    assert_eq!(all(3).ok().as_ref(), Some(&read));
    let mut writer = ObjectWriter::new(Vec::new()).expect("room");
    let written: Vec<_> = read.0.iter().filter(|e| writer.write(e).is_ok()).collect();
    let mut reader = ObjectReader::new(&writer.output[..]).expect("a header");
    for element in written {
        assert_eq!(
            reader.read().expect("it was written here").as_ref(),
            Some(element)
        );
    }
    assert!(matches!(reader.read(), Ok(None)));
}

#[cfg(test)]
mod tests {
    use javaser::Limits;
    use javaser::arena::Graph;

    use super::*;
    use std::path::Path;

    use tokio::runtime::Runtime;

    use crate::config::SparkProperties;
    use crate::files::{FileSystems, HadoopConf, checkpoint_part};
    use crate::python::testing;

    fn read_local(path: &FilePath, codec: Option<&Codec>) -> Result<Elements<'static>, TaskError> {
        let file = FileInput::local(&path.local(), 0);
        read(
            path,
            file.map_err(|_| FileError::NotFound("x".into())),
            codec,
        )
    }

    fn write_local(
        dir: &Path,
        codec: Option<&Codec>,
        elements: Elements<'_>,
    ) -> Result<FilePath, TaskError> {
        let runtime = Runtime::new().unwrap();
        let systems = FileSystems::of_test(&runtime);
        let dir = FilePath::parse(&format!("file:{}", dir.display()));
        let outputs = systems.outputs(&dir, &HadoopConf::default(), 0).unwrap();
        write(&outputs, &dir, codec, elements, &testing::context())?;
        Ok(checkpoint_part(&dir, 0))
    }

    fn batches(count: usize) -> Vec<Element> {
        (0..count)
            .map(|n| match n % 7 {
                3 => Element::Null,
                _ => Element::Bytes(Bytes::from(vec![n as u8; n])),
            })
            .collect()
    }

    #[test]
    fn what_is_written_can_be_read() {
        let dir = tempfile::tempdir().unwrap();
        let lz4 = Codec::from_conf(&SparkProperties::default()).unwrap();
        for (count, codec) in [0, 1, 99, 100, 101, 250]
            .into_iter()
            .flat_map(|count| [(count, None), (count, Some(&lz4))])
        {
            let sub = dir.path().join(format!("{count}-{}", codec.is_some()));
            let elements = batches(count);
            let input: Elements<'_> = Box::new(elements.clone().into_iter().map(Ok));
            let path = write_local(&sub, codec, input).unwrap();
            assert_eq!(path.name(), "part-00000");
            let found: Result<Vec<_>, _> = read_local(&path, codec).unwrap().collect();
            assert_eq!(found.unwrap(), elements);
            // Java's own format.
            let mut bytes = std::fs::read(path.local()).unwrap();
            if let Some(codec) = codec {
                assert!(read_local(&path, None).is_err());
                bytes = codec.decompress(&bytes, 1 << 20).unwrap();
            }
            let graph = Graph::parse(&bytes, &Limits::default()).unwrap();
            assert_eq!(graph.root_values().count(), count);
            assert_eq!(graph.to_bytes(), bytes);
            // The file and its checksums.
            assert_eq!(std::fs::read_dir(&sub).unwrap().count(), 2);
        }
    }

    #[test]
    fn a_failed_attempt_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let input: Elements<'_> =
            Box::new([Ok(Element::Null), Err(TaskError::Python("x".into()))].into_iter());
        assert!(write_local(dir.path(), None, input).is_err());
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
        let missing = FilePath::parse(&format!("file:{}/part-00001", dir.path().display()));
        let missing = read_local(&missing, None).err().unwrap();
        assert!(matches!(missing, TaskError::Exception(e) if e.message.contains("part-00001")));
    }

    #[test]
    fn the_file_of_a_faster_attempt_is_kept() {
        let dir = tempfile::tempdir().unwrap();
        for count in [3, 5] {
            let input: Elements<'_> = Box::new(batches(count).into_iter().map(Ok));
            let path = write_local(dir.path(), None, input).unwrap();
            assert_eq!(read_local(&path, None).unwrap().count(), 3);
            assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 2);
        }
    }

    #[test]
    fn strings_and_what_was_written_before() {
        let stream = b"\xac\xed\0\x05\x74\0\x03a\xc0\x80\x71\0\x7e\0\0\x79\x74\0\x06\xed\xa0\xbe\xed\xb6\x80";
        let mut reader = ObjectReader::new(&stream[..]).unwrap();
        let text = |text: &'static str| Some(Element::Text(Bytes::from(text)));
        assert_eq!(reader.read().unwrap(), text("a\0"));
        assert_eq!(reader.read().unwrap(), text("a\0"));
        assert_eq!(reader.read().unwrap(), text("\u{1f980}"));
        assert_eq!(reader.read().unwrap(), None);
        let mut cut = ObjectReader::new(&stream[..8]).unwrap();
        assert!(cut.read().is_err());
        assert!(ObjectReader::new(&b"nothing"[..]).is_err());
    }
}
