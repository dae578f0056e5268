//! What Python workers tell of pipelines of functions.
#![no_main]

firesteel_fuzz::target!(firesteel::fuzzing::python_compiled);
