//! Hadoop's site files.
#![no_main]

firesteel_fuzz::target!(firesteel::fuzzing::hadoop_site);
