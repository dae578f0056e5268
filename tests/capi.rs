//! The C interface as C programs see it: the header, the exported names, and programs that run under valgrind.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Runs `command`; a program that is missing is named with the Debian package that has it.
fn run(command: &mut Command, package: &str) -> Output {
    let output = command.output().unwrap_or_else(|error| {
        panic!(
            "{} cannot be started: {error}. Install it: apt-get install {package}",
            command.get_program().display()
        )
    });
    assert!(
        output.status.success(),
        "{command:?}: {}\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    output
}

/// `libfiresteel.so` of this build: Cargo puts it beside the test's executable.
fn library_folder() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let folder = test.parent().unwrap();
    assert!(
        folder.join("libfiresteel.so").exists(),
        "no libfiresteel.so in {}",
        folder.display()
    );
    folder.to_owned()
}

fn compile(source: &str, folder: &Path) -> PathBuf {
    let program = folder.join(source).with_extension("");
    let library = library_folder();
    run(
        Command::new("cc")
            .args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-g", "-O1"])
            .arg("-I")
            .arg(root().join("include"))
            .arg(root().join("tests/c").join(source))
            .arg("-o")
            .arg(&program)
            .arg("-L")
            .arg(&library)
            .args(["-lfiresteel", "-lpthread"])
            .arg(format!("-Wl,-rpath,{}", library.display())),
        "gcc libc6-dev",
    );
    program
}

fn valgrind(program: &Path) -> Command {
    let mut command = Command::new("valgrind");
    command
        .args([
            "--quiet",
            "--error-exitcode=99",
            "--leak-check=full",
            "--errors-for-leak-kinds=definite",
        ])
        .arg(program);
    command
}

fn compile_and_run(source: &str, args: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let program = compile(source, folder.path());
    run(valgrind(&program).args(args), "valgrind");
}

#[test]
fn versions_and_absent_objects() {
    compile_and_run("version.c", &[]);
}

#[test]
fn every_c_program_is_run_by_a_test() {
    let tests = std::fs::read_to_string(root().join("tests/capi.rs")).unwrap();
    let sources = std::fs::read_dir(root().join("tests/c")).unwrap();
    let names: Vec<String> = sources
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".c"))
        .collect();
    assert!(!names.is_empty());
    for name in names {
        assert!(
            tests.contains(&format!("\"{name}\"")),
            "no test runs {name}"
        );
    }
}

/// The build rewrites an old header, so the working tree alone cannot tell that somebody forgot to commit it: the index is asked too.
#[test]
fn committed_header_is_the_generated_one() {
    let fresh = std::fs::read_to_string(env!("FIRESTEEL_FRESH_HEADER")).unwrap();
    let written = std::fs::read_to_string(root().join("include/firesteel.h")).unwrap();
    assert_eq!(
        written, fresh,
        "include/firesteel.h differs from src/capi: build again"
    );

    let index = Command::new("git")
        .current_dir(root())
        .args(["show", ":include/firesteel.h"])
        .output();
    // No git, no repository: a source archive, whose header is the committed one.
    if let Some(index) = index.ok().filter(|output| output.status.success()) {
        assert_eq!(
            String::from_utf8_lossy(&index.stdout),
            fresh,
            "the build has renewed include/firesteel.h: commit it"
        );
    }
}

#[test]
fn library_exports_what_the_header_declares_and_nothing_else() {
    let library = library_folder().join("libfiresteel.so");
    let symbols = run(
        Command::new("nm")
            .args(["-D", "--defined-only"])
            .arg(&library),
        "binutils",
    );
    let exported: BTreeSet<String> = String::from_utf8(symbols.stdout)
        .unwrap()
        .lines()
        .filter_map(|line| line.split_whitespace().last().map(str::to_owned))
        .collect();
    let header = std::fs::read_to_string(root().join("include/firesteel.h")).unwrap();
    let declared: BTreeSet<String> = header
        .split(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '('))
        .filter_map(|word| word.split_once('(').map(|(name, _)| name.to_owned()))
        .filter(|name| name.starts_with("firesteel_"))
        .collect();
    assert!(declared.len() > 5, "{declared:?}");
    assert_eq!(exported, declared);
}

/// A host program keeps its own allocator: mimalloc is the executable's affair.
#[test]
fn library_does_not_contain_the_executables_allocator() {
    let library = library_folder().join("libfiresteel.so");
    let symbols = run(Command::new("nm").arg(&library), "binutils");
    let symbols = String::from_utf8(symbols.stdout).unwrap();
    assert!(
        symbols.lines().count() > 100,
        "the library is stripped: nothing to look at"
    );
    let found: Vec<&str> = symbols
        .lines()
        .filter(|line| line.contains(" mi_"))
        .collect();
    assert_eq!(found, Vec::<&str>::new());
}

#[test]
fn header_is_valid_cplusplus() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("check.cc");
    std::fs::write(
        &source,
        "#include \"firesteel.h\"\nint main() { return firesteel_abi_version() == FIRESTEEL_ABI_VERSION ? 0 : 1; }\n",
    )
    .unwrap();
    run(
        Command::new("g++")
            .args([
                "-std=c++17",
                "-Wall",
                "-Wextra",
                "-Werror",
                "-fsyntax-only",
                "-I",
            ])
            .arg(root().join("include"))
            .arg(&source),
        "g++",
    );
}
