//! What a process of isolated functions says, and columns that it gives.
#![no_main]

firesteel_fuzz::target!(firesteel::fuzzing::isolated_replies);
