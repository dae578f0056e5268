//! Frames of zstd.
#![no_main]

firesteel_fuzz::target!(firesteel::fuzzing::zstd);
