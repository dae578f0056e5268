//! What tests share: the supported Spark versions, where their distributions and the JDK are, fixtures, ports and
//! directories.
//!
//! Tests fail without what they need, so functions here panic, with a message that says what to do about it.

#![forbid(unsafe_code)]

mod distribution;
mod fixtures;
mod jdk;
mod libraries;
mod places;
mod versions;

pub use tempfile::TempDir;

pub use distribution::{Distribution, NotFound};
pub use fixtures::{fixtures, from_hex, recorded_frames, to_hex};
pub use jdk::jdk;
pub use libraries::shared_library;
pub use places::{cache_dir, firesteel, free_port, fresh_dir, repository, temp_dir};
pub use versions::{NEWEST, OLDEST, VERSIONS, is_since, of_series};
