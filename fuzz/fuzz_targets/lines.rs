//! Lines of text files.
#![no_main]

firesteel_fuzz::target!(firesteel::fuzzing::lines);
