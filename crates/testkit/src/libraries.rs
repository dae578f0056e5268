//! Shared libraries of tests and examples.

use std::path::Path;
use std::process::Command;

/// Compiles a source in C or C++ to a shared library, with the headers of a directory.
pub fn shared_library(source: &Path, headers: &Path, library: &Path) {
    let (compiler, standard) = match source.extension() {
        Some(extension) if extension == "cpp" => ("g++", "-std=c++17"),
        _ => ("cc", "-std=c11"),
    };
    let mut command = Command::new(compiler);
    command.args([standard, "-O2", "-shared", "-fPIC", "-I"]);
    command
        .arg(headers)
        .arg(source)
        .args(["-lm", "-o"])
        .arg(library);
    let output = command.output().unwrap_or_else(|error| {
        panic!(
            "{compiler} cannot be started: {error}. Install it: apt-get install gcc g++ libc6-dev"
        )
    });
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{command:?}: {words}");
}
