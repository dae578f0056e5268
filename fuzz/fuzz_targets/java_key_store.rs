//! Key stores in Java's own format.
#![no_main]

firesteel_fuzz::target!(tls::fuzzing::java_key_store);
