//! The C interface as C programs see it: the header, the exported names, and programs that run under valgrind.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Output, Stdio};

use serde_json::Value;
use testkit::{Distribution, NEWEST, from_hex, recorded_frames};

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

fn executor_arguments(spark: &Distribution, driver_url: &str, app: &str) -> Vec<String> {
    [
        "--driver-url",
        driver_url,
        "--executor-id",
        "7",
        "--hostname",
        "localhost",
        "--cores",
        "2",
        "--app-id",
        app,
        "--class-path",
        &spark.class_path(),
    ]
    .map(str::to_owned)
    .to_vec()
}

fn line_of(output: &mut BufReader<ChildStdout>, what: &str) -> String {
    let mut line = String::new();
    assert!(
        output.read_line(&mut line).unwrap() > 0,
        "{what} ended early"
    );
    line
}

/// `driver.py`
struct Driver {
    process: Child,
    commands: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
    url: String,
    app: String,
    _folder: tempfile::TempDir,
}

impl Driver {
    fn start() -> (Self, Distribution) {
        let spark = Distribution::find(NEWEST);
        let folder = tempfile::tempdir().unwrap();
        let mut process = Command::new(&spark.python)
            .arg(root().join("tests/c/driver.py"))
            .current_dir(folder.path())
            .env("SPARK_LOCAL_IP", "127.0.0.1")
            .env("SPARK_LOCAL_HOSTNAME", "localhost")
            .env("SPARK_WORKER_DIR", folder.path())
            .env("PYSPARK_PYTHON", &spark.python)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let commands = process.stdin.take();
        let answers = BufReader::new(process.stdout.take().unwrap());
        let mut driver = Self {
            process,
            commands,
            answers,
            url: String::new(),
            app: String::new(),
            _folder: folder,
        };
        let hello = driver.answer();
        let text = |key: &str| hello[key].as_str().unwrap().to_owned();
        (driver.url, driver.app) = (text("url"), text("app"));
        (driver, spark)
    }

    fn answer(&mut self) -> Value {
        loop {
            let line = line_of(&mut self.answers, "the driver");
            if let Some(answer) = line.strip_prefix("driver> ") {
                return serde_json::from_str(answer).unwrap();
            }
        }
    }

    fn ask(&mut self, command: &str) -> Value {
        writeln!(self.commands.as_ref().unwrap(), "{command}").unwrap();
        self.answer()
    }

    fn stop(&mut self) {
        self.commands = None;
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.stop();
        let _ = self.process.wait();
    }
}

/// `executor_run.c`: a program with an executor inside, registered.
struct Host {
    process: Child,
    reports: BufReader<ChildStdout>,
}

impl Host {
    fn start(mut command: Command, ended_by: &str, driver: &Driver, spark: &Distribution) -> Self {
        let mut process = command
            .arg(ended_by)
            .args(executor_arguments(spark, &driver.url, &driver.app))
            .env("SPARK_LOCAL_IP", "127.0.0.1")
            .env_remove("FIRESTEEL_REPORT")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let reports = BufReader::new(process.stdout.take().unwrap());
        Self { process, reports }
    }

    fn report(&mut self) -> Value {
        let line = line_of(&mut self.reports, "the host program");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }

    fn go_on(&mut self) {
        drop(self.process.stdin.take());
    }

    fn end(&mut self) {
        let status = self.process.wait().unwrap();
        assert!(status.success(), "host program: {status}");
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn versions_and_absent_objects() {
    compile_and_run("version.c", &[]);
}

#[test]
fn java_object_streams() {
    compile_and_run("decode_java.c", &[]);
}

#[test]
fn transport_frames() {
    let vectors = recorded_frames(NEWEST);
    let frame = vectors
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .find(|frame| {
            frame["type"] == "RpcRequest" && frame["endpoint"] == "CoarseGrainedScheduler"
        })
        .expect("a request to the scheduler");
    let bytes = from_hex(frame["hex"].as_str().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("frame");
    std::fs::write(&path, bytes).unwrap();
    let message = frame["message"].as_str().unwrap();
    compile_and_run(
        "decode_frame.c",
        &[
            path.to_str().unwrap(),
            "RpcRequest",
            "CoarseGrainedScheduler",
            message,
        ],
    );
}

#[test]
fn arguments_of_an_executor() {
    compile_and_run("executor_arguments.c", &[]);
}

#[test]
fn driver_that_nobody_can_reach() {
    let address = format!("127.0.0.1:{}", testkit::free_port());
    let url = format!("spark://CoarseGrainedScheduler@{address}");
    let executor = executor_arguments(&Distribution::find(NEWEST), &url, "app-1");
    let executor = executor.iter().map(String::as_str);
    let args: Vec<&str> = std::iter::once(address.as_str()).chain(executor).collect();
    compile_and_run("executor_unreachable.c", &args);
}

#[test]
fn executor_that_its_driver_stops() {
    let (mut driver, spark) = Driver::start();
    let folder = tempfile::tempdir().unwrap();
    let mut host = Host::start(
        valgrind(&compile("executor_run.c", folder.path())),
        "driver",
        &driver,
        &spark,
    );
    assert_eq!(host.report()["executor_id"], "7");
    host.go_on();
    driver.stop();
    let report = host.report();
    assert_eq!(
        (&report["exit_code"], &report["jvm_started"]),
        (&0.into(), &false.into())
    );
    host.end();
}

#[test]
fn executor_that_its_host_stops() {
    let (mut driver, spark) = Driver::start();
    let folder = tempfile::tempdir().unwrap();
    let mut host = Host::start(
        valgrind(&compile("executor_run.c", folder.path())),
        "host",
        &driver,
        &spark,
    );
    host.report();
    host.go_on();
    assert_eq!(host.report()["exit_code"], 0);
    host.end();
    driver.stop();
}

/// A JVM cannot run under valgrind, so this one is without.
#[test]
fn tasks_run_inside_a_host_program() {
    let library = testkit::firesteel().join("lib");
    assert!(
        library.join("libfiresteel.so").exists(),
        "no libfiresteel.so in {}: build the distribution first, with scripts/test",
        library.display()
    );
    let (mut driver, spark) = Driver::start();
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(compile("executor_run.c", folder.path()));
    // Only there does the library find its bridge jars.
    command.env("LD_LIBRARY_PATH", library);
    let mut host = Host::start(command, "driver", &driver, &spark);
    host.report();
    assert_eq!(driver.ask("squares"), 332_833_500);
    assert_eq!(driver.ask("sql"), 332_833_500);
    host.go_on();
    driver.stop();
    let report = host.report();
    // Python without a JVM, SQL with one.
    assert_eq!(report["tasks"]["python"]["finished"], 4);
    assert!(report["tasks"]["jvm"]["finished"].as_u64() >= Some(4));
    assert_eq!(
        (&report["exit_code"], &report["jvm_started"]),
        (&0.into(), &true.into())
    );
    host.end();
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

/// The build rewrites an old header, so the working tree alone cannot tell that somebody forgot to commit it: the index
/// is asked too.
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
        // The C interface of a dependency's dependency (checksums of object stores), which cannot be switched off from
        // here.
        .filter(|name| !name.starts_with("crc_fast_"))
        // For JVMs, which find native methods of classes by their names.
        .filter(|name| !name.starts_with("Java_org_firesteel_NativeCalls_"))
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
