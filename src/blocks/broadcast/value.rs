//! Values of broadcasts that native lanes look into: `byte[]` and `PythonBroadcast`.

use super::super::kryo::{KryoReader, KryoValue};
use bytes::{Buf, Bytes};
use javaser::kryo::KryoForm;
use javaser::stream::HEADER;
use std::io::{self, Read};

/// `TC_ARRAY`, and the class descriptor of `byte[]` with its `serialVersionUID`, which is the same everywhere.
const BYTE_ARRAY: [u8; 19] =
    *b"\x75\x72\x00\x02[B\xac\xf3\x17\xf8\x06\x08\x54\xe0\x02\x00\x00\x78\x70";

fn malformed(what: &str) -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        format!("a broadcast value {what}"),
    )
}

/// The content of a serialized `byte[]`. `kryo` is given if `spark.serializer` is Kryo. A Java stream's content shares
/// the memory of `value`.
///
/// # Errors
/// The value is something else.
pub fn java_byte_array(value: &Bytes, kryo: Option<KryoForm>) -> io::Result<Bytes> {
    if let Some(kryo) = kryo {
        return match KryoReader::new(kryo, &value[..], value.len()).read()? {
            Some(KryoValue::Bytes(bytes)) => Ok(bytes),
            _ => Err(malformed("is no byte[] of Kryo")),
        };
    }
    let mut rest = value.clone();
    let not = || malformed("is no byte[] of Java");
    for expected in [&HEADER[..], &BYTE_ARRAY] {
        if !rest.starts_with(expected) {
            return Err(not());
        }
        rest.advance(expected.len());
    }
    let len = rest.try_get_i32().map_err(|_| not())?;
    match usize::try_from(len) {
        Ok(len) if len <= rest.remaining() => Ok(rest.split_to(len)),
        _ => Err(malformed("ends within a byte[]")),
    }
}

mod tc {
    pub(super) const NULL: u8 = 0x70;
    pub(super) const REFERENCE: u8 = 0x71;
    pub(super) const CLASSDESC: u8 = 0x72;
    pub(super) const OBJECT: u8 = 0x73;
    pub(super) const STRING: u8 = 0x74;
    pub(super) const BLOCKDATA: u8 = 0x77;
    pub(super) const ENDBLOCKDATA: u8 = 0x78;
    pub(super) const BLOCKDATALONG: u8 = 0x7a;
}

/// The pickled bytes in a serialized `org.apache.spark.api.python.PythonBroadcast`, which is what a Python program's
/// broadcasts are. The object writes the broadcast's id and then the bytes as block data; its fields are declared and
/// not written.
#[derive(Debug)]
pub struct PythonBroadcastReader<R> {
    source: R,
    broadcast_id: i64,
    /// Bytes left of the current block.
    left: usize,
    ended: bool,
}

const PYTHON_BROADCAST: &str = "org.apache.spark.api.python.PythonBroadcast";
/// Bytes that Kryo may write in front of the Java stream: class id and reference.
const MAX_KRYO_PREFIX: usize = 6;

impl<R: Read> PythonBroadcastReader<R> {
    /// Reads the beginning. With Kryo as `spark.serializer` the object is a Java stream too, with a few bytes in front
    /// of it. Reads are small: the source should be in memory or buffered.
    ///
    /// # Errors
    /// Those of the source; the value is something else.
    pub fn new(mut source: R) -> io::Result<Self> {
        let mut window: [u8; 4] = array(&mut source)?;
        for _ in 0..MAX_KRYO_PREFIX {
            if window == HEADER {
                break;
            }
            window.rotate_left(1);
            if let Some(last) = window.last_mut() {
                [*last] = array(&mut source)?;
            }
        }
        if window != HEADER {
            return Err(malformed("is no Java object"));
        }
        expect(&mut source, tc::OBJECT)?;
        expect(&mut source, tc::CLASSDESC)?;
        if text(&mut source)? != PYTHON_BROADCAST.as_bytes() {
            return Err(malformed("is no PythonBroadcast"));
        }
        // serialVersionUID and flags
        array::<9>(&mut source)?;
        for _ in 0..u16::from_be_bytes(array(&mut source)?) {
            let [kind] = array(&mut source)?;
            text(&mut source)?;
            if matches!(kind, b'L' | b'[') {
                match array(&mut source)? {
                    [tc::STRING] => text(&mut source).map(|_| ())?,
                    [tc::REFERENCE] => array::<4>(&mut source).map(|_| ())?,
                    _ => return Err(malformed("has a field without a type")),
                }
            }
        }
        expect(&mut source, tc::ENDBLOCKDATA)?;
        expect(&mut source, tc::NULL)?;
        let mut reader = Self {
            source,
            broadcast_id: 0,
            left: 0,
            ended: false,
        };
        reader.broadcast_id = i64::from_be_bytes(array(&mut reader)?);
        Ok(reader)
    }

    /// Id of the broadcast.
    pub fn broadcast_id(&self) -> i64 {
        self.broadcast_id
    }

    fn next_block(&mut self) -> io::Result<()> {
        while self.left == 0 && !self.ended {
            match array(&mut self.source)? {
                [tc::BLOCKDATA] => {
                    let [len] = array(&mut self.source)?;
                    self.left = len.into();
                }
                [tc::BLOCKDATALONG] => {
                    self.left = usize::try_from(i32::from_be_bytes(array(&mut self.source)?))
                        .map_err(|_| malformed("has a block of negative length"))?;
                }
                [tc::ENDBLOCKDATA] => self.ended = true,
                _ => return Err(malformed("has something else than bytes")),
            }
        }
        Ok(())
    }
}

impl<R: Read> Read for PythonBroadcastReader<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if buf.is_empty() {
            return Ok(0);
        }
        self.next_block()?;
        let most = self.left.min(buf.len());
        let count = self.source.read(buf.get_mut(..most).unwrap_or_default())?;
        if count == 0 && most > 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.left -= count;
        Ok(count)
    }
}

fn array<const N: usize>(source: &mut impl Read) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    source.read_exact(&mut bytes).map(|()| bytes)
}

fn expect(source: &mut impl Read, expected: u8) -> io::Result<()> {
    match array(source)? {
        [found] if found == expected => Ok(()),
        _ => Err(malformed("is no PythonBroadcast")),
    }
}

fn text(source: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut text = vec![0; usize::from(u16::from_be_bytes(array(source)?))];
    source.read_exact(&mut text).map(|()| text)
}
