//! The JSON report written at exit.
