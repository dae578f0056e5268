//! Hadoop's settings as they come with a task.
#![no_main]

firesteel_fuzz::target!(firesteel::fuzzing::hadoop_conf);
