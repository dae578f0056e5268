//! Rows in blocks of a shuffle.
#![no_main]

firesteel_fuzz::target!(firesteel::fuzzing::row_blocks);
