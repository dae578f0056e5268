//! Connections: frames and raw bytes that arrive in pieces.
#![no_main]

firesteel_fuzz::target!(firesteel::fuzzing::frame_reader);
