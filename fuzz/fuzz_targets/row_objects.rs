//! Blocks and files of checkpoints: streams of rows as objects.
#![no_main]

firesteel_fuzz::target!(rows::fuzzing::row_objects);
