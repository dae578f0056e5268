//! The `firesteel` command line: `executor`, `doctor`, `decode`.
