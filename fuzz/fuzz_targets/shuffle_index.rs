//! Index files of shuffles.
#![no_main]

firesteel_fuzz::target!(firesteel::fuzzing::shuffle_index);
