//! Blocks of others: our clients with our servers, with real drivers, and our streams with Spark's classes.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

mod drivers;
mod peers;
mod streams;

use std::path::PathBuf;

fn java() -> PathBuf {
    testkit::jdk().join("bin/java")
}

/// Data as they come: runs, text, noise.
fn sample(len: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(2).wrapping_add(1);
    let mut noise = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    let mut data = Vec::with_capacity(len + 1000);
    while data.len() < len {
        match noise() % 3 {
            0 => data.extend(std::iter::repeat_n(noise(), 2 * usize::from(noise()))),
            1 => data.extend_from_slice(b"the quick brown fox jumps over the lazy dog "),
            _ => data.extend((0..300).map(|_| noise())),
        }
    }
    data.truncate(len);
    data
}
