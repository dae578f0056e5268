//! Messages of segments sealed with AES-GCM (Spark's `GcmTransportCipher`, Tink's `AesGcmHkdfStreaming`).
//!
//! A message is its length in bytes (8 of them its own), a header (its length, a salt, a prefix of nonces), and
//! segments. Each message has a key of its own, derived with the salt; the length is in the derivation, so that it
//! cannot be changed. The nonce of a segment has its number and whether it is the last.

use bytes::{Buf, BytesMut};
use ring::aead::{AES_128_GCM, AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use ring::rand::{SecureRandom, SystemRandom};
use zeroize::Zeroizing;

use crate::engine::derive;
use crate::session::CipherError;

const LENGTH: usize = 8;
const PREFIX: usize = 7;
const TAG: usize = 16;
/// Bytes of a sealed segment; only the last one is shorter.
const SEGMENT: usize = 32 << 10;
const PLAIN_SEGMENT: usize = SEGMENT - TAG;
/// The longest message; segments are numbered with 31 bits.
const MAX_MESSAGE: i64 = 1 << 45;

type Key = Zeroizing<Vec<u8>>;

/// The key of one message.
fn message_key(key: &[u8], salt: &[u8], length: [u8; LENGTH]) -> Result<LessSafeKey, CipherError> {
    let mut derived = Zeroizing::new(vec![0; key.len()]);
    derive(key, salt, &[&length], &mut derived).map_err(|_| CipherError::NotSealed)?;
    let algorithm = match derived.len() {
        16 => &AES_128_GCM,
        _ => &AES_256_GCM,
    };
    let key = UnboundKey::new(algorithm, &derived).map_err(|_| CipherError::NotSealed)?;
    Ok(LessSafeKey::new(key))
}

fn nonce(prefix: [u8; PREFIX], segment: u32, last: bool) -> Nonce {
    let [a, b, c, d, e, f, g] = prefix;
    let [h, i, j, k] = segment.to_be_bytes();
    Nonce::assume_unique_for_key([a, b, c, d, e, f, g, h, i, j, k, u8::from(last)])
}

/// Seals messages.
pub(crate) struct Sealer {
    key: Key,
}

impl Sealer {
    pub(crate) fn new(key: &[u8]) -> Self {
        Self {
            key: Zeroizing::new(key.to_vec()),
        }
    }

    /// Makes one message of all of `plain`.
    pub(crate) fn seal(&self, plain: &[u8], sealed: &mut Vec<u8>) -> Result<(), CipherError> {
        sealed.clear();
        if plain.is_empty() {
            return Ok(());
        }
        let header = 1 + self.key.len() + PREFIX;
        let segments = plain.len().div_ceil(PLAIN_SEGMENT);
        let total = LENGTH + header + plain.len() + segments * TAG;
        let length = i64::try_from(total).map_err(|_| CipherError::Exhausted)?;
        let (mut salt, mut prefix) = (vec![0; self.key.len()], [0; PREFIX]);
        let random = SystemRandom::new();
        for bytes in [salt.as_mut_slice(), &mut prefix] {
            random.fill(bytes).map_err(|_| CipherError::Exhausted)?;
        }
        let key = message_key(&self.key, &salt, length.to_be_bytes())?;
        sealed.reserve(total);
        sealed.extend_from_slice(&length.to_be_bytes());
        sealed.push(u8::try_from(header).unwrap_or(u8::MAX));
        sealed.extend_from_slice(&salt);
        sealed.extend_from_slice(&prefix);
        for (number, segment) in plain.chunks(PLAIN_SEGMENT).enumerate() {
            let number = u32::try_from(number).map_err(|_| CipherError::Exhausted)?;
            let last = number as usize + 1 == segments;
            let start = sealed.len();
            sealed.extend_from_slice(segment);
            let bytes = sealed.get_mut(start..).unwrap_or_default();
            let tag = key
                .seal_in_place_separate_tag(nonce(prefix, number, last), Aad::empty(), bytes)
                .map_err(|_| CipherError::Exhausted)?;
            sealed.extend_from_slice(tag.as_ref());
        }
        Ok(())
    }
}

/// Opens messages as they arrive.
pub(crate) struct Opener {
    key: Key,
    message: Option<Message>,
}

/// A message that has begun.
struct Message {
    key: LessSafeKey,
    prefix: [u8; PREFIX],
    segment: u32,
    /// Bytes of sealed segments that are still to come.
    missing: u64,
}

impl Opener {
    pub(crate) fn new(key: &[u8]) -> Self {
        Self {
            key: Zeroizing::new(key.to_vec()),
            message: None,
        }
    }

    pub(crate) fn is_inside(&self) -> bool {
        self.message.is_some()
    }

    /// Appends the content of all whole segments.
    pub(crate) fn push(
        &mut self,
        arrived: &mut BytesMut,
        plain: &mut BytesMut,
    ) -> Result<(), CipherError> {
        loop {
            let Some(message) = &mut self.message else {
                self.message = self.begin(arrived)?;
                match self.message {
                    Some(_) => continue,
                    None => return Ok(()),
                }
            };
            let len = message.missing.min(SEGMENT as u64);
            let here = usize::try_from(len).unwrap_or(SEGMENT);
            if arrived.len() < here {
                return Ok(());
            }
            message.missing -= len;
            let last = message.missing == 0;
            let nonce = nonce(message.prefix, message.segment, last);
            let mut segment = arrived.split_to(here);
            let opened = message
                .key
                .open_in_place(nonce, Aad::empty(), &mut segment)
                .map_err(|_| CipherError::NotSealed)?;
            plain.extend_from_slice(opened);
            message.segment += 1;
            if last {
                self.message = None;
            }
        }
    }

    /// Reads length and header of a message, if they are here.
    fn begin(&self, arrived: &mut BytesMut) -> Result<Option<Message>, CipherError> {
        let header = 1 + self.key.len() + PREFIX;
        let Some(length) = arrived.first_chunk::<LENGTH>().copied() else {
            return Ok(None);
        };
        let number = i64::from_be_bytes(length);
        let missing = (number <= MAX_MESSAGE)
            .then(|| {
                u64::try_from(number)
                    .ok()?
                    .checked_sub((LENGTH + header) as u64)
            })
            .flatten()
            .filter(|missing| {
                let last = missing % SEGMENT as u64;
                *missing > 0 && (last == 0 || last > TAG as u64)
            })
            .ok_or(CipherError::Length(number))?;
        let Some(head) = arrived.get(LENGTH..LENGTH + header) else {
            return Ok(None);
        };
        let read = head.split_first().and_then(|(len, rest)| {
            let (salt, prefix) = rest.split_last_chunk::<PREFIX>()?;
            (usize::from(*len) == header).then_some((salt, *prefix))
        });
        let (salt, prefix) = read.ok_or(CipherError::Header)?;
        let key = message_key(&self.key, salt, length)?;
        arrived.advance(LENGTH + header);
        Ok(Some(Message {
            key,
            prefix,
            segment: 0,
            missing,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(len: usize) -> Vec<u8> {
        (0..len).map(|at| (at * 31 + at / 251) as u8).collect()
    }

    fn sealed(key: &[u8], plain: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        Sealer::new(key).seal(plain, &mut out).unwrap();
        out
    }

    #[test]
    fn messages_of_all_sizes_are_opened_however_they_are_cut() {
        for key in [&[3; 16][..], &[4; 32]] {
            let mut sent = Vec::new();
            let mut wire = Vec::new();
            for len in [
                1,
                100,
                PLAIN_SEGMENT - 1,
                PLAIN_SEGMENT,
                PLAIN_SEGMENT + 1,
                200_000,
            ] {
                sent.extend(pattern(len));
                let message = sealed(key, &pattern(len));
                let header = LENGTH + 1 + key.len() + PREFIX;
                assert_eq!(
                    message.len(),
                    header + len + TAG * len.div_ceil(PLAIN_SEGMENT)
                );
                wire.extend(message);
            }
            for cut in [1, 7, 4096, 100_000, wire.len()] {
                let mut opener = Opener::new(key);
                let (mut arrived, mut plain) = (BytesMut::new(), BytesMut::new());
                for piece in wire.chunks(cut) {
                    arrived.extend_from_slice(piece);
                    opener.push(&mut arrived, &mut plain).unwrap();
                    assert!(arrived.len() < SEGMENT);
                }
                assert!(plain == sent && arrived.is_empty() && !opener.is_inside());
            }
        }
    }

    fn opened(key: &[u8], wire: &[u8]) -> Result<BytesMut, CipherError> {
        let mut plain = BytesMut::new();
        Opener::new(key).push(&mut BytesMut::from(wire), &mut plain)?;
        Ok(plain)
    }

    #[test]
    fn whatever_was_changed_is_not_opened() {
        let key = [5; 16];
        let content = pattern(PLAIN_SEGMENT + 10);
        let wire = sealed(&key, &content);
        assert_eq!(opened(&key, &wire).unwrap(), content);
        assert!(opened(&[6; 16], &wire).is_err());
        for at in [0, 6, 7, 8, 9, 24, 25, 31, 32, 1000, wire.len() - 1] {
            let mut changed = wire.clone();
            changed[at] ^= 1;
            let result = opened(&key, &changed);
            assert!(
                result.as_ref().map_or(true, |plain| *plain != content),
                "{at}: {result:?}"
            );
        }
        // A message that ends early, with a length that says so.
        let header = LENGTH + 1 + 16 + PREFIX;
        let mut short = wire[..header + SEGMENT].to_vec();
        let len = short.len() as i64;
        short[..8].copy_from_slice(&len.to_be_bytes());
        assert_eq!(opened(&key, &short), Err(CipherError::NotSealed));
    }

    #[test]
    fn lengths_that_no_message_has_are_refused() {
        for length in [-1, 0, 8, 32, 33, 48, MAX_MESSAGE + 1, i64::MAX, i64::MIN] {
            assert_eq!(
                opened(&[5; 16], &length.to_be_bytes()),
                Err(CipherError::Length(length))
            );
        }
        let mut wire = sealed(&[5; 16], b"abc");
        wire[8] = 40;
        assert_eq!(opened(&[5; 16], &wire), Err(CipherError::Header));
    }
}
