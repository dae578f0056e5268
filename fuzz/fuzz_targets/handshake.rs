//! Two messages to each end of a handshake: whoever does not have the secret is not let in.
#![no_main]

firesteel_fuzz::target!(auth::fuzzing::handshake);
