//! Files of reliable checkpoints.
#![no_main]

firesteel_fuzz::target!(firesteel::fuzzing::checkpoint);
