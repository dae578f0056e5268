//! The objects that stand for broadcasts in tasks.
#![no_main]

firesteel_fuzz::target!(firesteel::fuzzing::torrent_broadcast);
