//! Bounds-checked reading and writing of `java.io.DataInput`-style values.
//!
//! All integers are big-endian. `utf` is Java's `writeUTF`: a 16-bit byte length and modified UTF-8;
//! `str32` and `bytes32` have a 32-bit length and hold plain UTF-8 or bytes.

use crate::WireError;

/// A cursor over a byte slice; every read is checked against what is left and never allocates more than that.
#[derive(Debug, Clone)]
pub struct Reader<'a> {
    rest: &'a [u8],
    len: usize,
}

impl<'a> Reader<'a> {
    /// Starts at the first byte.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self {
            rest: bytes,
            len: bytes.len(),
        }
    }

    /// Offset of the next byte.
    pub fn position(&self) -> usize {
        self.len - self.rest.len()
    }

    /// Bytes not yet read.
    pub fn remaining(&self) -> usize {
        self.rest.len()
    }

    /// Everything that is left; the cursor moves to the end.
    pub fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.rest)
    }

    /// Fails unless all bytes have been read.
    pub fn finish(&self, what: &'static str) -> Result<(), WireError> {
        match self.rest.len() {
            0 => Ok(()),
            count => Err(WireError::Trailing { what, count }),
        }
    }

    /// The next `n` bytes.
    pub fn take(&mut self, what: &'static str, n: usize) -> Result<&'a [u8], WireError> {
        match self.rest.split_at_checked(n) {
            Some((head, rest)) => {
                self.rest = rest;
                Ok(head)
            }
            None => Err(WireError::Truncated {
                what,
                need: n,
                have: self.rest.len(),
            }),
        }
    }

    fn array<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N], WireError> {
        match self.rest.split_first_chunk() {
            Some((head, rest)) => {
                self.rest = rest;
                Ok(*head)
            }
            None => Err(WireError::Truncated {
                what,
                need: N,
                have: self.rest.len(),
            }),
        }
    }

    /// An unsigned byte.
    pub fn u8(&mut self, what: &'static str) -> Result<u8, WireError> {
        Ok(u8::from_be_bytes(self.array(what)?))
    }

    /// `DataInput.readBoolean`: any byte but 0 is true.
    pub fn bool(&mut self, what: &'static str) -> Result<bool, WireError> {
        Ok(self.u8(what)? != 0)
    }

    /// A 32-bit integer.
    pub fn i32(&mut self, what: &'static str) -> Result<i32, WireError> {
        Ok(i32::from_be_bytes(self.array(what)?))
    }

    /// A 64-bit integer.
    pub fn i64(&mut self, what: &'static str) -> Result<i64, WireError> {
        Ok(i64::from_be_bytes(self.array(what)?))
    }

    /// A 32-bit count of items that take at least `item_len` bytes each, so that a count the rest of the
    /// bytes cannot hold is refused before anything is allocated for it.
    pub fn count(&mut self, what: &'static str, item_len: usize) -> Result<usize, WireError> {
        let n = self.i32(what)?;
        let max = self.rest.len() / item_len.max(1);
        match usize::try_from(n) {
            Ok(n) if n <= max => Ok(n),
            _ => Err(WireError::Length {
                what,
                len: n.into(),
                max: max as u64,
            }),
        }
    }

    /// `DataInput.readUTF`.
    pub fn utf(&mut self, what: &'static str) -> Result<String, WireError> {
        let len = usize::from(u16::from_be_bytes(self.array(what)?));
        let bytes = self.take(what, len)?;
        match simd_cesu8::mutf8::decode(bytes) {
            Ok(text) => Ok(text.into_owned()),
            Err(_) => Err(WireError::malformed(what, "not modified UTF-8")),
        }
    }

    /// A 32-bit length and plain UTF-8.
    pub fn str32(&mut self, what: &'static str) -> Result<String, WireError> {
        let bytes = self.bytes32(what)?;
        match std::str::from_utf8(bytes) {
            Ok(text) => Ok(text.to_owned()),
            Err(e) => Err(WireError::malformed(what, e)),
        }
    }

    /// A 32-bit length and that many bytes.
    pub fn bytes32(&mut self, what: &'static str) -> Result<&'a [u8], WireError> {
        let len = self.count(what, 1)?;
        self.take(what, len)
    }
}

/// Appends `DataOutput`-style values to a byte vector.
pub trait Write {
    /// A 32-bit integer.
    fn put_i32(&mut self, value: i32);
    /// A 64-bit integer.
    fn put_i64(&mut self, value: i64);
    /// A boolean as one byte.
    fn put_bool(&mut self, value: bool);
    /// A number of items as 32 bits; fails above `i32::MAX`.
    fn put_count(&mut self, what: &'static str, n: usize) -> Result<(), WireError>;
    /// `DataOutput.writeUTF`; fails above 65535 encoded bytes, as Java's does.
    fn put_utf(&mut self, what: &'static str, text: &str) -> Result<(), WireError>;
    /// A 32-bit length and the bytes.
    fn put_bytes32(&mut self, what: &'static str, bytes: &[u8]) -> Result<(), WireError>;
}

impl Write for Vec<u8> {
    fn put_i32(&mut self, value: i32) {
        self.extend_from_slice(&value.to_be_bytes());
    }

    fn put_i64(&mut self, value: i64) {
        self.extend_from_slice(&value.to_be_bytes());
    }

    fn put_bool(&mut self, value: bool) {
        self.push(value.into());
    }

    fn put_count(&mut self, what: &'static str, n: usize) -> Result<(), WireError> {
        match i32::try_from(n) {
            Ok(n) => {
                self.put_i32(n);
                Ok(())
            }
            Err(_) => Err(WireError::Length {
                what,
                len: i64::try_from(n).unwrap_or(i64::MAX),
                max: i32::MAX as u64,
            }),
        }
    }

    fn put_utf(&mut self, what: &'static str, text: &str) -> Result<(), WireError> {
        let bytes = simd_cesu8::mutf8::encode(text);
        match u16::try_from(bytes.len()) {
            Ok(len) => {
                self.extend_from_slice(&len.to_be_bytes());
                self.extend_from_slice(&bytes);
                Ok(())
            }
            Err(_) => Err(WireError::Length {
                what,
                len: i64::try_from(bytes.len()).unwrap_or(i64::MAX),
                max: u16::MAX.into(),
            }),
        }
    }

    fn put_bytes32(&mut self, what: &'static str, bytes: &[u8]) -> Result<(), WireError> {
        self.put_count(what, bytes.len())?;
        self.extend_from_slice(bytes);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_count_that_the_bytes_cannot_hold_is_refused() {
        let mut r = Reader::new(&[0x7f, 0xff, 0xff, 0xff, 1, 2]);
        assert_eq!(
            r.bytes32("x"),
            Err(WireError::Length {
                what: "x",
                len: 0x7fff_ffff,
                max: 2
            })
        );
        let mut r = Reader::new(&[0xff, 0xff, 0xff, 0xff]);
        assert_eq!(
            r.count("x", 4),
            Err(WireError::Length {
                what: "x",
                len: -1,
                max: 0
            })
        );
    }

    #[test]
    fn utf_is_modified_utf8() {
        let mut out = Vec::new();
        out.put_utf("x", "a\0\u{1f600}").unwrap();
        assert_eq!(
            out,
            [0, 9, b'a', 0xc0, 0x80, 0xed, 0xa0, 0xbd, 0xed, 0xb8, 0x80]
        );
        assert_eq!(Reader::new(&out).utf("x").unwrap(), "a\0\u{1f600}");
        assert!(matches!(
            out.put_utf("x", &"a".repeat(65536)),
            Err(WireError::Length {
                len: 65536,
                max: 65535,
                ..
            })
        ));
    }

    proptest! {
        #[test]
        fn strings_survive(s in ".{0,200}") {
            let mut out = Vec::new();
            out.put_utf("x", &s).unwrap();
            out.put_bytes32("x", s.as_bytes()).unwrap();
            let mut r = Reader::new(&out);
            prop_assert_eq!(r.utf("x").unwrap(), s.clone());
            prop_assert_eq!(r.str32("x").unwrap(), s);
            prop_assert_eq!(r.finish("x"), Ok(()));
        }
    }
}
