//! The messages of both protocols: a tag, who speaks, and what is said.

use thiserror::Error;

/// Tag of a [`Message`] of SASL.
pub(crate) const SASL: u8 = 0xEA;
/// Tag of an [`Exchange`].
pub(crate) const EXCHANGE: u8 = 0xFB;
/// Longest identity; application ids have some dozens of bytes.
const MAX_IDENTITY: usize = 1 << 10;
/// Longest payload of SASL; real ones have some hundred bytes.
const MAX_PAYLOAD: usize = 4 << 10;
/// Bytes of salt that Spark writes.
pub(crate) const SALT: usize = 16;
/// Nonce, public key and tag.
pub(crate) const SEALED_KEY: usize = 12 + 32 + 16;

/// Bytes that are no message of a handshake.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("it is no message of a handshake")]
pub(crate) struct Malformed;

/// One step of SASL by the client. The server's answers are bare payloads.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Sasl<'a> {
    pub(crate) identity: &'a str,
    pub(crate) payload: &'a [u8],
}

/// A public key, sealed with the secret: each end sends one.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Exchange<'a> {
    pub(crate) identity: &'a str,
    pub(crate) salt: &'a [u8; SALT],
    pub(crate) sealed_key: &'a [u8; SEALED_KEY],
}

/// What is left to read.
struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    fn take(&mut self, len: usize) -> Result<&'a [u8], Malformed> {
        let (taken, rest) = self.0.split_at_checked(len).ok_or(Malformed)?;
        self.0 = rest;
        Ok(taken)
    }

    fn tag(&mut self, tag: u8) -> Result<(), Malformed> {
        (self.take(1)? == [tag]).then_some(()).ok_or(Malformed)
    }

    /// A field with its length in front.
    fn field(&mut self, most: usize) -> Result<&'a [u8], Malformed> {
        let len = self.take(4)?.try_into().map_err(|_| Malformed)?;
        let len = usize::try_from(i32::from_be_bytes(len)).map_err(|_| Malformed)?;
        if len > most {
            return Err(Malformed);
        }
        self.take(len)
    }

    fn identity(&mut self) -> Result<&'a str, Malformed> {
        std::str::from_utf8(self.field(MAX_IDENTITY)?).map_err(|_| Malformed)
    }

    fn fixed<const N: usize>(&mut self) -> Result<&'a [u8; N], Malformed> {
        self.field(N)?.try_into().map_err(|_| Malformed)
    }

    fn end(self) -> Result<(), Malformed> {
        self.0.is_empty().then_some(()).ok_or(Malformed)
    }
}

/// Appends a field with its length in front. All fields that are written here are short.
fn put(out: &mut Vec<u8>, field: &[u8]) {
    let len = i32::try_from(field.len()).unwrap_or(i32::MAX);
    out.extend_from_slice(&len.to_be_bytes());
    out.extend_from_slice(field);
}

impl<'a> Sasl<'a> {
    pub(crate) fn read(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let mut rest = Rest(bytes);
        rest.tag(SASL)?;
        let message = Self {
            identity: rest.identity()?,
            payload: rest.field(MAX_PAYLOAD)?,
        };
        rest.end()?;
        Ok(message)
    }

    pub(crate) fn write(&self) -> Vec<u8> {
        let mut out = vec![SASL];
        put(&mut out, self.identity.as_bytes());
        put(&mut out, self.payload);
        out
    }
}

impl<'a> Exchange<'a> {
    pub(crate) fn read(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let mut rest = Rest(bytes);
        rest.tag(EXCHANGE)?;
        let message = Self {
            identity: rest.identity()?,
            salt: rest.fixed()?,
            sealed_key: rest.fixed()?,
        };
        rest.end()?;
        Ok(message)
    }

    pub(crate) fn write(&self) -> Vec<u8> {
        let mut out = vec![EXCHANGE];
        put(&mut out, self.identity.as_bytes());
        put(&mut out, self.salt);
        put(&mut out, self.sealed_key);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_read_as_they_are_written() {
        let sasl = Sasl {
            identity: "app-1",
            payload: b"abc",
        };
        let bytes = sasl.write();
        assert_eq!(bytes, b"\xea\0\0\0\x05app-1\0\0\0\x03abc");
        assert_eq!(Sasl::read(&bytes), Ok(sasl));
        let exchange = Exchange {
            identity: "",
            salt: &[7; SALT],
            sealed_key: &[9; SEALED_KEY],
        };
        let bytes = exchange.write();
        assert_eq!(bytes.len(), 1 + 4 + 4 + 16 + 4 + 60);
        assert_eq!(Exchange::read(&bytes), Ok(exchange));
    }

    #[test]
    fn nothing_else_is_read() {
        let good = Exchange {
            identity: "app",
            salt: &[7; SALT],
            sealed_key: &[9; SEALED_KEY],
        }
        .write();
        for len in 0..good.len() {
            assert_eq!(Exchange::read(&good[..len]), Err(Malformed));
        }
        let mut long = good.clone();
        long.push(0);
        assert_eq!(Exchange::read(&long), Err(Malformed));
        assert_eq!(Sasl::read(&good), Err(Malformed));
        for hostile in [
            &b"\xea\xff\xff\xff\xff"[..],
            b"\xea\x7f\xff\xff\xff",
            b"\xea\0\0\0\x01\xff\0\0\0\0",
            b"\xea\0\0\0\0\0\0\xff\xff",
            b"",
        ] {
            assert_eq!(Sasl::read(hostile), Err(Malformed));
        }
    }
}
