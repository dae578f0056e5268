//! Streams of snappy-java.
#![no_main]

firesteel_fuzz::target!(firesteel::fuzzing::snappy);
