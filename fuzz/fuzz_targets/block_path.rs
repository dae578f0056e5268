//! Names of blocks down to the paths of their files.
#![no_main]

firesteel_fuzz::target!(firesteel::fuzzing::block_path);
