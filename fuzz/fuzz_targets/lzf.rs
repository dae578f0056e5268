//! Streams of compress-lzf.
#![no_main]

firesteel_fuzz::target!(firesteel::fuzzing::lzf);
