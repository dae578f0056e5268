//! Archives of any kind; the first byte says which.
#![no_main]

firesteel_fuzz::target!(firesteel::fuzzing::archive);
