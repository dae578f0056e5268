//! Hadoop's token storage, of which one secret is wanted.
#![no_main]

firesteel_fuzz::target!(firesteel::fuzzing::hadoop_credentials);
