//! Batches of columns that native executors send each other.
#![no_main]

firesteel_fuzz::target!(columns::fuzzing::column_frames);
