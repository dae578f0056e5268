//! The decoders of bytes from peers, workers and files as the fuzz targets see them. Each function takes any bytes and
//! asserts what holds for all of them. Compiled for `cargo fuzz` only.

pub use crate::blocks::fuzzing::{
    block_path, broadcast_value, chunks_of_statuses, kryo, lz4, lzf, shuffle_frames, shuffle_index,
    snappy, torrent_broadcast, zstd,
};
pub use crate::executor::dependencies::fuzzing::archive;
pub use crate::files::fuzzing::{hadoop_conf, hadoop_site};
pub use crate::lanes::python::fuzzing::{checkpoint, lines, python_stage};
pub use crate::lanes::sql::fuzzing::{result_rows, row_blocks};
pub use crate::launch::credentials::hadoop_credentials;
pub use crate::native_functions::fuzzing::{function_marker, function_types, isolated_replies};
pub use crate::python::worker::fuzzing::{python_compiled, python_handshake, python_output};
pub use crate::transport::fuzzing::frame_reader;

use std::io::{self, Read};
use std::path::PathBuf;

/// Gives at most `step` bytes at a time, as a slow connection does.
pub(crate) struct Trickle<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) step: usize,
}

impl Read for Trickle<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let count = self.step.min(buf.len());
        self.bytes.read(buf.get_mut(..count).unwrap_or_default())
    }
}

/// A new directory among the temporary files; whoever runs the targets removes those.
pub(crate) fn scratch() -> PathBuf {
    let dir = std::env::temp_dir().join(format!("firesteel-fuzz-{}", uuid::Uuid::new_v4()));
    std::fs::create_dir(&dir).expect("a file system with room");
    dir
}
