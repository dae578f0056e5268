//! Arrow streams of what functions of Python return for rows.
#![no_main]

firesteel_fuzz::target!(|data: &[u8]| exec::fuzzing::python_stream(data));
