//! Stages of PySpark with a task.
#![no_main]

firesteel_fuzz::target!(firesteel::fuzzing::python_stage);
