//! Modified UTF-8 (Java Virtual Machine Specification 4.4.7): NUL takes two bytes, characters above U+FFFF are two
//! surrogates of three bytes each, and surrogates may stand alone.

use std::borrow::Cow;

use simd_cesu8::mutf8;

/// Whether the bytes are what `java.io.ObjectInputStream` accepts as a string.
pub(crate) fn is_valid(bytes: &[u8]) -> bool {
    if bytes.is_ascii() {
        return true;
    }
    let mut rest = bytes;
    loop {
        match rest {
            [] => return true,
            [0x00..=0x7F, tail @ ..] => rest = tail,
            [0xC0..=0xDF, 0x80..=0xBF, tail @ ..] => rest = tail,
            [0xE0..=0xEF, 0x80..=0xBF, 0x80..=0xBF, tail @ ..] => rest = tail,
            _ => return false,
        }
    }
}

/// Decodes; `None` if the bytes are not the one canonical form of a sequence of Unicode scalar values, so that
/// [`encode`] gives the same bytes back.
pub(crate) fn decode_exact(bytes: &[u8]) -> Option<String> {
    let s = decode_lossy(bytes);
    (*encode(&s) == *bytes).then(|| s.into_owned())
}

/// Decodes; what is not a Unicode scalar value (a lone surrogate) becomes U+FFFD.
pub(crate) fn decode_lossy(bytes: &[u8]) -> Cow<'_, str> {
    match mutf8::decode(bytes) {
        Ok(text) => text,
        Err(_) => Cow::Owned(decode_units(bytes)),
    }
}

/// Java's strings may hold any UTF-16 code units, and its readers take more than one form of a character.
fn decode_units(bytes: &[u8]) -> String {
    let mut units = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    loop {
        match rest {
            [] => break,
            [a @ 0x00..=0x7F, tail @ ..] => {
                units.push(u16::from(*a));
                rest = tail;
            }
            [a @ 0xC0..=0xDF, b @ 0x80..=0xBF, tail @ ..] => {
                units.push(u16::from(a & 0x1F) << 6 | u16::from(b & 0x3F));
                rest = tail;
            }
            [a @ 0xE0..=0xEF, b @ 0x80..=0xBF, c @ 0x80..=0xBF, tail @ ..] => {
                units.push(
                    u16::from(a & 0x0F) << 12 | u16::from(b & 0x3F) << 6 | u16::from(c & 0x3F),
                );
                rest = tail;
            }
            [_, tail @ ..] => {
                units.push(0xFFFD);
                rest = tail;
            }
        }
    }
    String::from_utf16_lossy(&units)
}

/// Encodes.
pub(crate) fn encode(text: &str) -> Cow<'_, [u8]> {
    mutf8::encode(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scalar_value_round_trips() {
        for c in (0..=0x10_FFFFu32).filter_map(char::from_u32) {
            let s = c.to_string();
            let bytes = encode(&s);
            assert!(is_valid(&bytes), "{c:?}");
            assert_eq!(decode_exact(&bytes).as_deref(), Some(s.as_str()), "{c:?}");
        }
    }

    #[test]
    fn nul_and_supplementary_characters_have_java_s_form() {
        assert_eq!(*encode("a\0b"), [b'a', 0xC0, 0x80, b'b']);
        assert_eq!(*encode("😀"), [0xED, 0xA0, 0xBD, 0xED, 0xB8, 0x80]);
    }

    #[test]
    fn lone_surrogates_are_valid_but_lossy() {
        let lone = [0xED, 0xA0, 0xBD];
        assert!(is_valid(&lone));
        assert_eq!(decode_lossy(&lone), "\u{FFFD}");
        assert_eq!(decode_exact(&lone), None);
    }

    #[test]
    fn standard_utf8_of_four_bytes_is_refused() {
        assert!(!is_valid("😀".as_bytes()));
        assert!(!is_valid(&[0xC3]));
        assert!(!is_valid(&[0x80]));
    }
}
