//! Deletion vectors of Delta's tables: what tasks carry of them, and bitmaps out of files.
#![no_main]

firesteel_fuzz::target!(|data: &[u8]| exec::fuzzing::deletion_vector(data));
