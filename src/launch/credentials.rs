//! Hadoop's token storage (`HADOOP_TOKEN_FILE_LOCATION`): the secrets in it.
//!
//! `HDTS`, a version, tokens, and secrets by name. Version 0 is written with Hadoop's `WritableUtils`, and is what YARN
//! gives to its containers.

use std::fmt;

use zeroize::Zeroizing;

const MAGIC: &[u8; 4] = b"HDTS";
/// Tokens and secrets that there may be.
const MAX_ENTRIES: i64 = 10_000;
/// Bytes of the longest name, identifier or secret.
const MAX_FIELD: usize = 1 << 20;

/// Bytes that are no token storage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Malformed {
    /// It does not begin as one.
    Foreign,
    /// It is of another version.
    Version(u8),
    /// It ends too early, or has a length that cannot be.
    Damaged,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Foreign => f.write_str("it is no token storage of Hadoop"),
            Self::Version(version) => {
                write!(f, "it is of version {version}, and only 0 is known")
            }
            Self::Damaged => f.write_str("it is damaged"),
        }
    }
}

/// What is left to read.
struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    fn take(&mut self, len: usize) -> Result<&'a [u8], Malformed> {
        let (taken, rest) = self.0.split_at_checked(len).ok_or(Malformed::Damaged)?;
        self.0 = rest;
        Ok(taken)
    }

    /// A number of 1 to 9 bytes.
    fn number(&mut self) -> Result<i64, Malformed> {
        let first = self.take(1)?.first().copied().unwrap_or_default() as i8;
        let (len, negative) = match first {
            -112..=127 => return Ok(i64::from(first)),
            -120..=-113 => (-112 - i32::from(first), false),
            _ => (-120 - i32::from(first), true),
        };
        let bytes = self.take(usize::try_from(len).map_err(|_| Malformed::Damaged)?)?;
        let value = bytes
            .iter()
            .fold(0, |value, byte| value << 8 | i64::from(*byte));
        Ok(if negative { !value } else { value })
    }

    fn count(&mut self) -> Result<i64, Malformed> {
        let count = self.number()?;
        (0..=MAX_ENTRIES)
            .contains(&count)
            .then_some(count)
            .ok_or(Malformed::Damaged)
    }

    fn field(&mut self) -> Result<&'a [u8], Malformed> {
        let len = usize::try_from(self.number()?).ok();
        let len = len.filter(|len| *len <= MAX_FIELD);
        self.take(len.ok_or(Malformed::Damaged)?)
    }
}

/// The secret of that name in a token storage, if there is one.
///
/// # Errors
/// [`Malformed`]
pub fn secret(storage: &[u8], name: &str) -> Result<Option<Zeroizing<Vec<u8>>>, Malformed> {
    let mut rest = Rest(storage);
    if rest.take(MAGIC.len()).ok() != Some(MAGIC) {
        return Err(Malformed::Foreign);
    }
    match rest.take(1)? {
        [0] => {}
        other => {
            return Err(Malformed::Version(
                other.first().copied().unwrap_or_default(),
            ));
        }
    }
    for _ in 0..rest.count()? {
        // Alias, identifier, password, kind, service.
        for _ in 0..5 {
            rest.field()?;
        }
    }
    let mut found = None;
    for _ in 0..rest.count()? {
        let (key, value) = (rest.field()?, rest.field()?);
        if key == name.as_bytes() {
            found = Some(Zeroizing::new(value.to_vec()));
        }
    }
    Ok(found)
}

/// Fuzz target: nothing of a storage is larger than the storage.
#[cfg(fuzzing)]
pub fn hadoop_credentials(data: &[u8]) {
    for name in ["sparkCookie", ""] {
        if let Ok(Some(secret)) = secret(data, name) {
            assert!(secret.len() + MAGIC.len() < data.len());
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A storage with one token and these secrets.
    pub(in crate::launch) fn storage(secrets: &[(&str, &[u8])]) -> Vec<u8> {
        let mut bytes = b"HDTS\0\x01".to_vec();
        for field in ["alias", "identifier", "password", "YARN_AM_RM_TOKEN", ""] {
            bytes.push(field.len() as u8);
            bytes.extend_from_slice(field.as_bytes());
        }
        bytes.push(secrets.len() as u8);
        for (name, value) in secrets {
            bytes.push(name.len() as u8);
            bytes.extend_from_slice(name.as_bytes());
            // A length of two bytes.
            bytes.extend_from_slice(&[0x8e]);
            bytes.extend_from_slice(&(value.len() as u16).to_be_bytes());
            bytes.extend_from_slice(value);
        }
        bytes
    }

    #[test]
    fn the_secret_of_a_name_is_found() {
        let long = [b'x'; 300];
        let bytes = storage(&[("other", &long), ("sparkCookie", b"abc")]);
        let found = |name| secret(&bytes, name).map(|secret| secret.map(|bytes| bytes.to_vec()));
        assert_eq!(found("sparkCookie"), Ok(Some(b"abc".to_vec())));
        assert_eq!(found("other"), Ok(Some(long.to_vec())));
        assert_eq!(found("none"), Ok(None));
    }

    #[test]
    fn numbers_are_those_of_hadoop() {
        let number = |bytes: &[u8]| Rest(bytes).number();
        assert_eq!(number(&[127]), Ok(127));
        assert_eq!(number(&[0x90]), Ok(-112));
        assert_eq!(number(&[0x8f, 200]), Ok(200));
        assert_eq!(number(&[0x8e, 1, 44]), Ok(300));
        assert_eq!(number(&[0x87, 200]), Ok(!200));
        assert_eq!(
            number(&[0x88, 255, 255, 255, 255, 255, 255, 255, 255]),
            Ok(-1)
        );
        assert_eq!(number(&[0x8e, 1]), Err(Malformed::Damaged));
    }

    #[test]
    fn damage_is_seen() {
        let bytes = storage(&[("sparkCookie", b"abc")]);
        for len in 0..bytes.len() {
            assert!(secret(&bytes[..len], "sparkCookie").is_err(), "{len}");
        }
        assert_eq!(secret(b"HDFS\0\0\0", "x"), Err(Malformed::Foreign));
        assert_eq!(secret(b"HDTS\x01\0\0", "x"), Err(Malformed::Version(1)));
        // More tokens and bytes than there can be.
        for hostile in [
            &b"HDTS\0\x8c\x7f\xff\xff\xff"[..],
            b"HDTS\0\xff",
            b"HDTS\0\x01\x8c\x7f\xff\xff\xff",
        ] {
            assert_eq!(secret(hostile, "x"), Err(Malformed::Damaged));
        }
    }
}
