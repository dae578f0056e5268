//! Types of native functions, as their libraries write them.
#![no_main]

firesteel_fuzz::target!(firesteel::fuzzing::function_types);
