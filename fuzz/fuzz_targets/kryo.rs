//! Kryo's values.
#![no_main]

firesteel_fuzz::target!(firesteel::fuzzing::kryo);
