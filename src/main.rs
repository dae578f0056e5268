//! Entry point of `firesteel` and `bin/java`.
fn main() {}
