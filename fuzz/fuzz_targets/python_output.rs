//! What a Python worker sends back for a task.
#![no_main]

firesteel_fuzz::target!(firesteel::fuzzing::python_output);
