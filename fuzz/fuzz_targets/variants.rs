//! Variants out of rows and files, read in all ways, and made of texts of JSON.
#![no_main]

firesteel_fuzz::target!(|data: &[u8]| exec::fuzzing::variant(data));
