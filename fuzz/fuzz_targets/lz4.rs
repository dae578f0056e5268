//! Streams of lz4-java.
#![no_main]

firesteel_fuzz::target!(firesteel::fuzzing::lz4);
