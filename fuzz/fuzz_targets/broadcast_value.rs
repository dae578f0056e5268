//! Values of broadcasts.
#![no_main]

firesteel_fuzz::target!(firesteel::fuzzing::broadcast_value);
