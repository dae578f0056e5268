//! Libraries of native functions in C and C++: compiled as their authors do, and called by `host.c`, a small host in C,
//! under valgrind and with sanitizers.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

const SOURCES: &str = "tests/c/functions";
const SANITIZERS: [&str; 3] = [
    "-fsanitize=address,undefined",
    "-fno-sanitize-recover=all",
    "-fno-omit-frame-pointer",
];
/// Of valgrind and the sanitizers, unlike any of `host.c`'s.
const FAULT: &str = "99";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Runs a program; one that is missing is named with the Debian package that has it.
fn output_of(command: &mut Command, package: &str) -> Output {
    command.output().unwrap_or_else(|error| {
        panic!(
            "{} cannot be started: {error}. Install it: apt-get install {package}",
            command.get_program().display()
        )
    })
}

fn run(command: &mut Command, package: &str) {
    let output = output_of(command, package);
    assert!(
        output.status.success(),
        "{command:?}: {}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
}

/// What a run of `host` said.
struct Said {
    code: Option<i32>,
    text: String,
}

impl Said {
    #[track_caller]
    fn has(&self, part: &str) -> &Self {
        assert!(self.text.contains(part), "no {part:?} in:\n{}", self.text);
        self
    }

    #[track_caller]
    fn ends_with(&self, code: i32) -> &Self {
        assert_eq!(self.code, Some(code), "{}", self.text);
        self
    }
}

/// A directory with the host and libraries, all of them with sanitizers or none.
struct Built {
    folder: TempDir,
    sanitized: bool,
}

impl Built {
    fn new(sanitized: bool) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let built = Self { folder, sanitized };
        built.compile(&format!("{SOURCES}/host.c"), "host", &["-ldl"]);
        built
    }

    /// Compiles a source in C or C++.
    fn compile(&self, source: &str, name: &str, flags: &[&str]) -> PathBuf {
        let product = self.folder.path().join(name);
        let mut command = if source.ends_with(".cpp") {
            let mut command = Command::new("g++");
            command.args(["-std=c++17", "-fvisibility=hidden"]);
            command
        } else {
            let mut command = Command::new("cc");
            command.arg("-std=c11");
            command
        };
        command
            .current_dir(root())
            .args(["-Wall", "-Wextra", "-Werror", "-g", "-O1", source, "-o"])
            .arg(&product)
            .args(flags);
        if !flags.iter().any(|flag| flag.starts_with("-I")) {
            command.arg("-Iinclude");
        }
        if self.sanitized {
            command.args(SANITIZERS);
        }
        run(&mut command, "gcc g++ libc6-dev");
        product
    }

    /// A library of `tests/c/functions`, or of the examples.
    fn library(&self, source: &str) -> PathBuf {
        let path = if source.contains('/') {
            format!("examples/functions/{source}")
        } else {
            format!("{SOURCES}/{source}")
        };
        let name = source.rsplit('/').next().unwrap();
        self.compile(
            &path,
            &format!("lib{name}.so"),
            &["-shared", "-fPIC", "-lm"],
        )
    }

    fn host(&self) -> Command {
        let host = self.folder.path().join("host");
        if self.sanitized {
            let mut command = Command::new(host);
            command
                .env("ASAN_OPTIONS", format!("exitcode={FAULT}"))
                .env("UBSAN_OPTIONS", format!("exitcode={FAULT}"));
            return command;
        }
        let mut command = Command::new("valgrind");
        command
            .args(["--quiet", "--leak-check=full"])
            .arg(format!("--error-exitcode={FAULT}"))
            .arg(host);
        command
    }

    fn ask(&self, arguments: &[&str], library: &Path, functions: &[&str]) -> Said {
        let mut command = self.host();
        command.args(arguments).arg(library).args(functions);
        let output = output_of(&mut command, "valgrind");
        // Valgrind and the sanitizers write there, the host does not.
        let complaints = String::from_utf8_lossy(&output.stderr);
        assert!(complaints.is_empty(), "{command:?}:\n{complaints}");
        Said {
            code: output.status.code(),
            text: String::from_utf8_lossy(&output.stdout).into_owned(),
        }
    }

    fn say(&self, source: &str) -> Said {
        self.ask(&[], &self.library(source), &[])
    }
}

fn examples(built: &Built) {
    built
        .say("c/haversine.c")
        .ends_with(0)
        .has("haversine(double, double, double, double) -> double\n  rows: 5837.248967, 9792.554445, null")
        .has("rows: 3627.098319, 6084.811179, null");
    built
        .say("c/lines.c")
        .ends_with(0)
        .has(r#"{"the quick brown fox", null, 1} {"a", "1", 3} {"b", "2", 3}"#)
        .has(r#"{"k2", "v=2", 7} {"the quick brown fox", null, 8} 8 rows in 3 batches"#)
        .has("{2, {1}} {2, {2}} {2, {3}} {2, {4}} {3, {1}}")
        .has("{6, {4096}} … {6, {6990}} 7055 rows in 6 batches");
    built
        .say("cpp/text.cpp")
        .ends_with(0)
        .has("rows: 4, 0, 1, 3, 1, null, 1, 4")
        .has(r#"rows: "fox brown quick the", "", "a=1;b=2", "x café naïve", "k=v", null"#)
        .has(r#"["the", "quick", "brown", "fox"], [], ["a=1;b=2"], ["naïve", "café", "x"], ["k=v"], []"#)
        .has(r#"rows: "the quick brown fox", "the quick brown fox", null"#);
}

/// Some functions fail on purpose.
fn everything(built: &Built) {
    let said = built.say("everything.c");
    said.ends_with(1);
    for line in [
        "same_boolean(boolean) -> boolean\n  rows: false, true, false, true, false, null",
        "same_tinyint(tinyint) -> tinyint\n  rows: -10, -3, 4, 11, 18, null, 32, 39",
        "same_float(float) -> float\n  rows: 48.8566, 2.3522, 40.7128",
        "same_decimal(decimal(20,2)) -> decimal(20,2)\n  rows: -10, -3, 4, 11, 18, null, 32, 39",
        "same_timestamp(timestamp) -> timestamp\n  rows: -10, -3, 4, 11, 18, null, 32, 39",
        "same_array(array<int>) -> array<int>\n  rows: [], [-3], [4, 18], [], [18], null, [], [39]",
        r#"rows: [], [{"", 4}], [{"a=1;b=2", 11}, {"k=v", null}], [], [{"k=v", null}], null"#,
        r#"rows: {-10, ""}, {-3, "a=1;b=2"}, {4, "naïve café  x"}, {11, "k=v"}, {18, null}, null"#,
        "answer() -> int\n  rows: 42, 42, 42, 42, 42, 42, 42, 42\n  no rows: \n",
        "counter() -> bigint\n  rows: 1, 2, 3, 4, 5, 6, 7, 8",
        "twice(double) -> double\n  rows: 97.7132, 4.7044",
        "rows: CANCELLED, row 5: cancelled while waiting",
        r#"constant: [log 1: a=1;b=2] [log 2: a=1;b=2] [log 3: of no task] "a=1;b=2", "a=1;b=2""#,
        "rows: NO_MEMORY: refused after 64 MiB",
        "rows: INVALID, row 0, 22003: -10 bytes",
        r#""stage=4 partition=7 attempt=0 id=42 zone=Europe/Paris ansi=1""#,
        r#"rows: "any, any", "any, any""#,
        r#"constant: "4, any", "4, any""#,
        "rows: INVALID, row 0, 22023: -10 is negative",
        "sum_of(bigint) -> bigint\n  rows: 44, 47, null\n  no rows: null, null, null",
        "count_all() -> bigint\n  rows: 4, 4, 0\n  no rows: 0, 0, 0",
        r#"rows: {-10, ""} {-3, "a=1;b=2"} {4, "naïve café  x"} {11, "k=v"} {18, null} {null, "lazy=dog;k2=v=2;"}"#,
    ] {
        said.has(line);
    }
    assert!(!said.text.contains("bad result"), "{}", said.text);
    assert!(!said.text.contains("with offsets"), "{}", said.text);
}

/// What the C++ header has, and what it makes of exceptions.
fn wrapped(built: &Built) {
    built
        .say("wrapped.cpp")
        .ends_with(1) // `picky` is not applicable
        .has("types(boolean) -> boolean\n  rows: true, false, true, false, true, null")
        .has("types(tinyint) -> tinyint\n  rows: -10, -3, 4, 11, 18, null, 32, 39")
        .has("types(string) -> string")
        .has(r#"no_arguments() -> string
  rows: "none", "none""#)
        .has("count_up() -> bigint\n  rows: 1, 2, 3, 4, 5, 6, 7, 8")
        .has("null_if_negative(int) -> int\n  rows: null, null, 4, 11, 18, null, 32, 39")
        .has("or_zero(int, int) -> int\n  rows: -13, 1, 15, 29, null, 32, 71, 85")
        .has("reversed(array<int>) -> array<int>\n  rows: [], [-3], [18, 4], [], [18], null, [], [39]")
        .has("rows: [false, true], [true, false]")
        .has(r#"[log 3: asked] "Europe/Paris ansi", "Europe/Paris ansi""#)
        .has("sum_of_items(array<int>, bigint) -> bigint\n  rows: -1, -4, 21, -1, 17, null, -1, 38")
        .has("constant: 21, 21")
        .has("NOT_APPLICABLE: the function does not take these arguments")
        .has("numbered(value:string) -> number:bigint, value:string, list:array<bigint>")
        .has(r#"{6, null, [6, null]} {7, "lazy=dog;k2=v=2;", [7, null]}"#)
        .has(r#"letters(string) -> letter:string
  rows: {0, {"t"}} {0, {"h"}} {0, {"e"}}"#);
    built
        .say("throws.cpp")
        .ends_with(1)
        .has("throws(int) -> int\n  rows: INTERNAL: thrown on purpose")
        .has("INTERNAL: an exception of an unknown type")
        .has("NO_MEMORY: no memory")
        .has("INVALID, row 3, 22023: 11 is more than 10")
        .has("CANCELLED: the task was cancelled")
        .has("INTERNAL: the function gave 0 values for 8 rows")
        .has("INTERNAL: a column has another type than the function reads")
        .has("INVALID: cannot be made")
        .has("{-10} {-3} {4} error Input/output error: thrown by a stream")
        .has("INTERNAL: thrown by an aggregate");
}

fn modules(built: &Built) {
    built
        .say("bad_symbol.c")
        .ends_with(1)
        .has("no firesteel_module_v1");
    built
        .say("bad_major.c")
        .ends_with(1)
        .has("a module of version 2");
    built
        .say("bad_init.c")
        .ends_with(1)
        .has("INVALID: no licence for the model of 2019");
    built
        .say("bad_signature.c")
        .ends_with(1)
        .has("a signature that cannot be read");
    built
        .say("older_library.c")
        .ends_with(0)
        .has("one(int) -> int\n  rows: 1, 1");
    let newer = built.library("newer_library.c");
    built
        .ask(&[], &newer, &[])
        .ends_with(0)
        .has("module newer 1.0, version 1.7");
    for library in [
        newer,
        built.library("c/lines.c"),
        built.library("cpp/text.cpp"),
    ] {
        built
            .ask(&["--major", "7"], &library, &[])
            .ends_with(1)
            .has("is for version 1 of the module interface, the host has version 7");
        // An older host has less room.
        built
            .ask(&["--module-size", "24"], &library, &[])
            .ends_with(0)
            .has("filled 24 bytes");
    }
}

/// The functions of `bad_calls.c` after which the process lives on.
fn calls(built: &Built) {
    let library = built.library("bad_calls.c");
    for (function, code, text) in [
        ("too_few", 1, "another number of rows"),
        ("too_many", 1, "another number of rows"),
        ("wrong_buffers", 1, "buffers of another type"),
        ("no_release", 1, "no release"),
        ("with_offset", 0, "rows: 1, 1, 1, 1, 1, 1, 1, 1"),
        ("negative_length", 1, "negative length"),
        ("dictionary_set", 1, "a dictionary"),
        ("untouched", 1, "no release"),
        ("status_99", 1, "unknown status"),
        ("long_message", 1, "INVALID, row 13, ZZZZZ: "),
        (
            "failed_with_result",
            1,
            "INVALID, row 0: failed, and gave a result",
        ),
        ("wrong_groups", 1, "another number of groups"),
        (
            "stream_fails",
            1,
            "error Invalid argument: the third wheel came off",
        ),
        ("stream_other_schema", 1, "another schema than declared"),
        ("stream_other_rows", 1, "buffers of another type"),
        ("stream_endless", 1, "a stream that does not end"),
        ("stream_untouched", 1, "no stream"),
        ("stream_drops_input", 0, "0 rows in 0 batches"),
        ("stream_drops_and_fails", 1, "INVALID: dropped its input"),
    ] {
        built
            .ask(&[], &library, &[function])
            .ends_with(code)
            .has(text);
    }
}

#[test]
fn examples_under_valgrind() {
    examples(&Built::new(false));
}

#[test]
fn everything_under_valgrind() {
    everything(&Built::new(false));
}

#[test]
fn wrapped_functions_under_valgrind() {
    wrapped(&Built::new(false));
}

#[test]
fn bad_libraries_under_valgrind() {
    let built = Built::new(false);
    modules(&built);
    calls(&built);
}

#[test]
fn all_libraries_with_sanitizers() {
    let built = Built::new(true);
    examples(&built);
    everything(&built);
    wrapped(&built);
    modules(&built);
    calls(&built);
}

#[test]
fn functions_that_end_the_process() {
    let built = Built::new(false);
    let library = built.library("bad_calls.c");
    for (function, signal) in [("crash", 11), ("abort_me", 6)] {
        let mut host = Command::new(built.folder.path().join("host"));
        let output = output_of(host.arg(&library).arg(function), "libc6-dev");
        let ended_by = std::os::unix::process::ExitStatusExt::signal(&output.status);
        assert_eq!(ended_by, Some(signal), "{function}");
    }
    // Nobody but the clock ends this one.
    let mut clock = Command::new("timeout");
    clock.arg("1").arg(built.folder.path().join("host"));
    let output = output_of(clock.arg(&library).arg("spin"), "coreutils");
    assert_eq!(output.status.code(), Some(124));
}

#[test]
fn helpers_of_the_c_header() {
    let built = Built::new(false);
    let program = built.compile(&format!("{SOURCES}/helpers.c"), "helpers", &[]);
    let mut command = Command::new("valgrind");
    command
        .args(["--quiet", "--leak-check=full"])
        .arg(format!("--error-exitcode={FAULT}"))
        .arg(program);
    run(&mut command, "valgrind");
}

/// Each example says how it is compiled, and just that works.
#[test]
fn examples_compile_as_they_say() {
    let folder = tempfile::tempdir().unwrap();
    for example in ["c/haversine.c", "c/lines.c", "cpp/text.cpp"] {
        let text =
            std::fs::read_to_string(root().join("examples/functions").join(example)).unwrap();
        let said = text
            .lines()
            .map(|line| line.trim_start_matches(['/', '*', ' ']))
            .find(|line| line.starts_with("cc ") || line.starts_with("g++ "))
            .unwrap_or_else(|| panic!("{example} does not say how it is compiled"));
        let (command, product) = said.split_once(" -o ").unwrap();
        let words: Vec<&str> = command.split_whitespace().collect();
        let product = folder.path().join(product);
        run(
            Command::new(words[0])
                .current_dir(root())
                .args(&words[1..])
                .args(["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-o"])
                .arg(&product),
            "gcc g++ libc6-dev",
        );
        assert!(product.exists());
    }
}

/// The programs of the guide, as they stand there.
#[test]
fn guide_compiles() {
    let built = Built::new(false);
    let guide = std::fs::read_to_string(root().join("docs/functions.md")).unwrap();
    for (language, name) in [("```c\n", "guide.c"), ("```cpp\n", "guide.cpp")] {
        let (_, program) = guide.split_once(language).unwrap();
        let (program, _) = program.split_once("```").unwrap();
        let source = built.folder.path().join(name);
        std::fs::write(&source, program).unwrap();
        let flags = ["-shared", "-fPIC"];
        let library = built.compile(source.to_str().unwrap(), "libguide.so", &flags);
        built
            .ask(&[], &library, &["celsius"])
            .ends_with(0)
            .has("celsius(double) -> double\n  rows: 9.364777778, -16.471");
    }
}

/// A library of version 1.0, whose source and header never change, in a host of today.
#[test]
fn library_of_version_1() {
    for (file, checksum) in [("firesteel.h", 0xbd20_550e), ("library.c", 0x0fa1_96f8)] {
        let path = root().join(SOURCES).join("frozen_v1").join(file);
        let bytes = std::fs::read(path).unwrap();
        assert_eq!(crc32fast::hash(&bytes), checksum, "{file} has changed");
    }
    let built = Built::new(false);
    let frozen = format!("{SOURCES}/frozen_v1");
    let library = built.compile(
        &format!("{frozen}/library.c"),
        "libfrozen.so",
        &["-shared", "-fPIC", &format!("-I{frozen}")],
    );
    built
        .ask(&[], &library, &[])
        .ends_with(0)
        .has("add_one(bigint) -> bigint\n  rows: -9, -2, 5, 12, 19, null, 33, 40");
}

#[test]
fn every_source_is_run_by_a_test() {
    let tests = std::fs::read_to_string(root().join("tests/functions_in_c.rs")).unwrap();
    for folder in [SOURCES, "examples/functions/c", "examples/functions/cpp"] {
        for entry in std::fs::read_dir(root().join(folder)).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            if name.ends_with(".c") || name.ends_with(".cpp") {
                assert!(tests.contains(&name), "no test runs {name}");
            }
        }
    }
}
