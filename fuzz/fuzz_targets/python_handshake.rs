//! What a Python worker says when it connects.
#![no_main]

firesteel_fuzz::target!(firesteel::fuzzing::python_handshake);
