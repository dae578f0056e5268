//! Sealed messages of a connection that were not sealed with its key, cut anywhere.
#![no_main]

firesteel_fuzz::target!(auth::fuzzing::sealed_messages);
