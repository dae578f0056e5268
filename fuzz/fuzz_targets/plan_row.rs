//! Rows inside plans.
#![no_main]

firesteel_fuzz::target!(catalyst::fuzzing::plan_row);
