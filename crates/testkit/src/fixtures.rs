//! Files that real drivers, executors and JVMs wrote. `scripts/capture` makes most of them, and names the others.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use crate::repository;

/// The directory of fixtures that tests of several crates read: `tests/fixtures`.
pub fn fixtures() -> PathBuf {
    repository().join("tests/fixtures")
}

/// Frames that a driver and an executor of that version exchanged (`tests/fixtures/vectors`): lines of JSON.
///
/// # Panics
///
/// If there are none of that version.
pub fn recorded_frames(version: &str) -> String {
    let path = fixtures().join(format!("vectors/{version}.jsonl"));
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Bytes of a hexadecimal text.
///
/// # Panics
///
/// If it is none.
pub fn from_hex(text: &str) -> Vec<u8> {
    let (pairs, []) = text.as_bytes().as_chunks::<2>() else {
        panic!("a hexadecimal text of odd length: {text:.60}");
    };
    let digit = |digit: u8| match char::from(digit).to_digit(16) {
        Some(value) => value.to_le_bytes()[0],
        None => panic!("no hexadecimal text: {text:.60}"),
    };
    pairs
        .iter()
        .map(|[high, low]| digit(*high) << 4 | digit(*low))
        .collect()
}

/// Bytes as a hexadecimal text in lower case.
pub fn to_hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::VERSIONS;

    #[test]
    fn every_version_has_frames() {
        for version in VERSIONS {
            assert!(recorded_frames(version).lines().count() > 40, "{version}");
        }
    }

    #[test]
    fn bytes_survive_a_round_trip() {
        let bytes: Vec<u8> = (0..=255).collect();
        assert_eq!(from_hex(&to_hex(&bytes)), bytes);
        assert_eq!(from_hex("aCeD"), [0xac, 0xed]);
    }

    #[test]
    #[should_panic(expected = "odd length")]
    fn half_a_byte_is_refused() {
        from_hex("abc");
    }
}
