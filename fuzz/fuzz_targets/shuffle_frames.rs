//! Frames of columns in segments of map outputs.
#![no_main]

firesteel_fuzz::target!(firesteel::fuzzing::shuffle_frames);
