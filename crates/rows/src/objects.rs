//! Rows as Java objects, one after the other, as `JavaSerializer` writes the `UnsafeRow`s of checkpoints.

use std::io::{self, BufReader, Read};
use std::sync::Arc;

use bytes::Bytes;
use datafusion_common::Result;
use javaser::Catalog;
use javaser::stream::{
    BASE_HANDLE, HEADER, TC_BLOCKDATA, TC_BLOCKDATALONG, TC_ENDBLOCKDATA, TC_OBJECT, TC_REFERENCE,
    TC_RESET,
};

use crate::error::{bail_out, source_error};
use crate::result::Writer;

const UNSAFE_ROW: &str = "org.apache.spark.sql.catalyst.expressions.UnsafeRow";

/// `spark.serializer.objectStreamReset`: after so many objects a stream forgets what it has described.
const OBJECTS_UNTIL_RESET: usize = 100;

/// Bytes of a row before its own: how many those are, and its columns.
const NUMBERS: usize = 8;

/// Bytes that are read at a time.
const BUFFER: usize = 64 << 10;

/// How a distribution writes rows.
#[derive(Debug, Clone)]
pub struct RowObjects {
    /// The first object of a stream up to what it writes itself: the descriptions of its classes.
    described: Arc<[u8]>,
}

impl RowObjects {
    /// With the classes of a distribution.
    ///
    /// # Errors
    /// Bail-out: classes of Spark are missing or not as expected.
    pub fn new(catalog: &Catalog) -> Result<Self> {
        let mut writer = Writer::new(catalog);
        let written = writer
            .external(UNSAFE_ROW, &[0; NUMBERS])
            .and_then(|row| writer.finish(row));
        let written = written.map_err(|why| bail_out(format!("a row as an object: {why}")))?;
        let mut own = vec![TC_BLOCKDATA, NUMBERS as u8];
        own.extend([0; NUMBERS]);
        own.push(TC_ENDBLOCKDATA);
        let described = written
            .strip_prefix(&HEADER)
            .and_then(|object| object.strip_suffix(&own[..]))
            .ok_or_else(|| bail_out("a row that is written otherwise"))?;
        Ok(Self {
            described: described.into(),
        })
    }

    /// What stands before the rows.
    #[must_use]
    pub fn header() -> &'static [u8] {
        &HEADER
    }

    /// Writes rows of so many columns behind a header.
    #[must_use]
    pub fn writer(&self, num_fields: usize) -> RowObjectWriter {
        RowObjectWriter {
            described: Arc::clone(&self.described),
            // There are fewer columns.
            num_fields: num_fields as u32,
            count: 0,
        }
    }

    /// Reads rows of so many columns with the header before them, or nothing at all.
    #[must_use]
    pub fn reader<R: Read>(&self, stream: R, num_fields: usize) -> RowObjectReader<R> {
        RowObjectReader {
            described: Arc::clone(&self.described),
            num_fields: num_fields as u32,
            stream: BufReader::with_capacity(BUFFER, stream),
            begun: false,
            is_described: false,
        }
    }
}

/// Writes rows as objects.
#[derive(Debug)]
pub struct RowObjectWriter {
    described: Arc<[u8]>,
    num_fields: u32,
    /// Objects since the last reset.
    count: usize,
}

impl RowObjectWriter {
    /// Appends an `UnsafeRow`.
    pub fn write(&mut self, row: &[u8], out: &mut Vec<u8>) {
        match self.count {
            0 => out.extend_from_slice(&self.described),
            _ => {
                out.extend([TC_OBJECT, TC_REFERENCE]);
                out.extend(BASE_HANDLE.to_be_bytes());
            }
        }
        // A row is shorter than 2 GiB.
        let length = row.len() as u32;
        match u8::try_from(row.len() + NUMBERS) {
            Ok(length) => out.extend([TC_BLOCKDATA, length]),
            Err(_) => {
                out.push(TC_BLOCKDATALONG);
                out.extend((length + NUMBERS as u32).to_be_bytes());
            }
        }
        out.extend(length.to_be_bytes());
        out.extend(self.num_fields.to_be_bytes());
        out.extend_from_slice(row);
        out.push(TC_ENDBLOCKDATA);
        self.count += 1;
        if self.count == OBJECTS_UNTIL_RESET {
            out.push(TC_RESET);
            self.count = 0;
        }
    }
}

/// Reads rows that were written as objects.
#[derive(Debug)]
pub struct RowObjectReader<R> {
    described: Arc<[u8]>,
    num_fields: u32,
    stream: BufReader<R>,
    /// The header was read.
    begun: bool,
    /// The class has a handle.
    is_described: bool,
}

impl<R: Read> RowObjectReader<R> {
    /// The next rows, as records of `UnsafeRowSerializer` of `least` bytes or more if there are so many, and their
    /// number; `None` after the last.
    ///
    /// # Errors
    /// The stream fails; bail-out: it has something else than such rows.
    pub fn next_rows(&mut self, least: usize) -> Result<Option<(Bytes, usize)>> {
        let mut records = Vec::new();
        let mut count = 0;
        while records.len() < least && self.read_row(&mut records).map_err(of_stream)? {
            count += 1;
        }
        Ok((count > 0).then(|| (records.into(), count)))
    }

    /// Appends the next row as a record; `false` after the last.
    fn read_row(&mut self, records: &mut Vec<u8>) -> io::Result<bool> {
        if !self.begun {
            let Some(first) = self.code()? else {
                return Ok(false);
            };
            let mut header = [first; HEADER.len()];
            self.stream
                .read_exact(header.get_mut(1..).unwrap_or_default())?;
            if header != HEADER {
                return Err(other());
            }
            self.begun = true;
        }
        loop {
            match self.code()? {
                None => return Ok(false),
                Some(TC_RESET) => self.is_described = false,
                Some(TC_OBJECT) => break,
                Some(_) => return Err(other()),
            }
        }
        self.read_class()?;
        self.read_own(records)?;
        Ok(true)
    }

    /// The class of an object, which is described by the first one.
    fn read_class(&mut self) -> io::Result<()> {
        if self.is_described {
            let mut reference = [0; 5];
            self.stream.read_exact(&mut reference)?;
            let [TC_REFERENCE, handle @ ..] = reference else {
                return Err(other());
            };
            return match u32::from_be_bytes(handle) == BASE_HANDLE {
                true => Ok(()),
                false => Err(other()),
            };
        }
        let expected = self.described.get(1..).unwrap_or_default();
        let mut described = vec![0; expected.len()];
        self.stream.read_exact(&mut described)?;
        if described != expected {
            return Err(other());
        }
        self.is_described = true;
        Ok(())
    }

    /// What a row writes itself, which may be in pieces.
    fn read_own(&mut self, records: &mut Vec<u8>) -> io::Result<()> {
        let start = records.len();
        loop {
            let length = match self.code()? {
                Some(TC_BLOCKDATA) => self.code()?.map(u64::from),
                Some(TC_BLOCKDATALONG) => {
                    let mut length = [0; 4];
                    self.stream.read_exact(&mut length)?;
                    let length = u32::from_be_bytes(length);
                    (length <= i32::MAX as u32).then_some(length.into())
                }
                Some(TC_ENDBLOCKDATA) => break,
                _ => None,
            };
            let length = length.ok_or_else(other)?;
            // Grows with what is there, not with what is announced.
            let read = (&mut self.stream).take(length).read_to_end(records)?;
            if read as u64 != length || records.len() - start > i32::MAX as usize {
                return Err(other());
            }
        }
        // A record has the length before the row, and no number of columns.
        let own = records.get(start..).unwrap_or_default();
        let (numbers, row) = own.split_first_chunk::<NUMBERS>().ok_or_else(other)?;
        let number = |at: usize| {
            let bytes = numbers.get(at..).and_then(<[u8]>::first_chunk);
            bytes.map(|bytes| u32::from_be_bytes(*bytes))
        };
        let length = u32::try_from(row.len()).ok();
        if number(0) != length || number(4) != Some(self.num_fields) {
            return Err(other());
        }
        records.drain(start + 4..start + NUMBERS);
        Ok(())
    }

    fn code(&mut self) -> io::Result<Option<u8>> {
        let mut code = [0];
        match self.stream.read_exact(&mut code) {
            Ok(()) => Ok(code.first().copied()),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// Something else than rows.
#[derive(Debug, thiserror::Error)]
#[error("other objects than rows of these columns")]
struct Other;

fn other() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, Other)
}

fn of_stream(error: io::Error) -> datafusion_common::DataFusionError {
    let is_other = error.get_ref().is_some_and(|error| error.is::<Other>());
    match is_other || error.kind() == io::ErrorKind::UnexpectedEof {
        true => bail_out(format!("a checkpoint of {Other}")),
        false => source_error(error),
    }
}

/// As Spark's classes are described, with other numbers of their versions.
#[cfg(any(test, fuzzing))]
fn described() -> RowObjects {
    let class = |name: &str, flags: u8| {
        let mut class = vec![0x72, 0, name.len() as u8];
        class.extend(name.bytes());
        class.extend([0, 1, 2, 3, 4, 5, 6, 7, flags, 0, 0, TC_ENDBLOCKDATA]);
        class
    };
    let mut described = vec![TC_OBJECT];
    described.extend(class(UNSAFE_ROW, 0x0c));
    described.extend(class("org.apache.spark.sql.catalyst.InternalRow", 0x02));
    described.push(0x70);
    RowObjects {
        described: described.into(),
    }
}

/// What is read is written so that it is read again; see [`crate::fuzzing`].
#[cfg(fuzzing)]
pub fn fuzz_row_objects(data: &[u8]) {
    let objects = described();
    let read = |stream: &[u8], least| {
        let mut reader = objects.reader(stream, 2);
        let mut records = Vec::new();
        while let Some((some, count)) = reader.next_rows(least)? {
            assert!(count > 0 && some.len() >= 4 * count);
            records.extend_from_slice(&some);
        }
        Ok::<_, datafusion_common::DataFusionError>(records)
    };
    let Ok(records) = read(data, 1) else {
        assert!(read(data, usize::MAX).is_err());
        return;
    };
    let mut writer = objects.writer(2);
    let mut written = HEADER.to_vec();
    let mut rest = &records[..];
    while let Some((length, behind)) = rest.split_first_chunk::<4>() {
        let (row, behind) = behind.split_at(u32::from_be_bytes(*length) as usize);
        writer.write(row, &mut written);
        rest = behind;
    }
    assert_eq!(read(&written, 1000).expect("it was written here"), records);
}

#[cfg(test)]
mod tests {
    use super::*;
    use javaser::Limits;
    use javaser::arena::Graph;

    /// Rows of two columns and other bytes.
    fn rows(count: usize) -> Vec<Vec<u8>> {
        let row = |n: usize| (0..24 + n * 37 % 3000).map(|at| (at * n) as u8).collect();
        (0..count).map(row).collect()
    }

    fn stream(objects: &RowObjects, rows: &[Vec<u8>]) -> Vec<u8> {
        let mut writer = objects.writer(2);
        let mut out = RowObjects::header().to_vec();
        rows.iter().for_each(|row| writer.write(row, &mut out));
        out
    }

    fn read(objects: &RowObjects, stream: &[u8], fields: usize) -> Result<Vec<Vec<u8>>> {
        let mut reader = objects.reader(stream, fields);
        let mut rows = Vec::new();
        while let Some((records, count)) = reader.next_rows(5000)? {
            let before = rows.len();
            let mut rest = &records[..];
            while let Some((length, behind)) = rest.split_first_chunk::<4>() {
                let (row, behind) = behind.split_at(u32::from_be_bytes(*length) as usize);
                rows.push(row.to_vec());
                rest = behind;
            }
            assert_eq!(rows.len() - before, count);
        }
        Ok(rows)
    }

    #[test]
    fn rows_come_back() {
        let objects = described();
        for count in [0, 1, 2, 99, 100, 101, 350] {
            let rows = rows(count);
            let stream = stream(&objects, &rows);
            assert_eq!(read(&objects, &stream, 2).unwrap(), rows);
            // Java's own format, which anybody reads.
            let graph = Graph::parse(&stream, &Limits::default()).unwrap();
            assert_eq!(graph.root_values().count(), count);
            for value in graph.root_values() {
                assert_eq!(graph.class_name(value), Some(UNSAFE_ROW));
            }
        }
        assert_eq!(read(&objects, &[], 2).unwrap(), rows(0));
    }

    #[test]
    fn java_s_pieces_are_put_together() {
        let objects = described();
        let row: Vec<u8> = (0..2500).map(|at| at as u8).collect();
        let mut own = (row.len() as u32).to_be_bytes().to_vec();
        own.extend(2_u32.to_be_bytes());
        own.extend(&row);
        let mut stream = RowObjects::header().to_vec();
        stream.extend_from_slice(&objects.described);
        for piece in own.chunks(1024) {
            match u8::try_from(piece.len()) {
                Ok(length) => stream.extend([TC_BLOCKDATA, length]),
                Err(_) => {
                    stream.push(TC_BLOCKDATALONG);
                    stream.extend((piece.len() as u32).to_be_bytes());
                }
            }
            stream.extend(piece);
        }
        stream.push(TC_ENDBLOCKDATA);
        assert_eq!(read(&objects, &stream, 2).unwrap(), [row]);
    }

    #[test]
    fn whatever_is_no_row_is_refused() {
        let objects = described();
        let good = stream(&objects, &rows(3));
        assert!(read(&objects, &good, 3).is_err(), "other columns");
        for cut in 1..good.len() {
            let Ok(rows) = read(&objects, &good[..cut], 2) else {
                continue;
            };
            assert!(rows.len() < 3, "{cut}");
        }
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 0x55;
            // Bytes of rows may be anything.
            let _ = read(&objects, &bad, 2);
        }
    }
}
