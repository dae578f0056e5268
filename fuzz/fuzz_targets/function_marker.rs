//! Commands of functions of Python, which may stand for native functions.
#![no_main]

firesteel_fuzz::target!(firesteel::fuzzing::function_marker);
