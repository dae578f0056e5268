//! Rows in a JVM's results that are compared.
#![no_main]

firesteel_fuzz::target!(firesteel::fuzzing::result_rows);
