//! What runs of jobs need: the jobs and their inputs, a `SPARK_HOME`, and a fresh directory for each run.

use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::{Hash, Hasher};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use testkit::Distribution;

/// Whether a test is to run on a version: on those that it runs on by default, and on all of them with
/// `FIRESTEEL_E2E_ALL=1`. Continuous integration has an hour and a half for compiling and all tests, and may have none
/// of plain Spark's answers: of what takes minutes in several forms, each runs by default on one or two versions.
///
/// A slow machine has no time for these either: with `FIRESTEEL_E2E_SPARSE=1` each runs on one version, and those that
/// begin after `FIRESTEEL_E2E_UNTIL`, in seconds since 1970, do not run at all. What is left out so is written into
/// `left-out.txt` beside the logs.
pub(crate) fn asked_for(version: &str, default: &[&str]) -> bool {
    if everything() {
        return true;
    }
    if !default.contains(&version) {
        eprintln!("this runs on Spark {version} with FIRESTEEL_E2E_ALL=1 only");
        return false;
    }
    let one = default.iter().max_by_key(|of| **of == testkit::NEWEST);
    let is_another = one != Some(&version);
    let sparse = std::env::var_os("FIRESTEEL_E2E_SPARSE").is_some();
    let until = std::env::var("FIRESTEEL_E2E_UNTIL").ok();
    let until = until.map(|until| until.parse::<u64>().unwrap());
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    if (sparse && is_another) || until.is_some_and(|until| now.as_secs() > until) {
        let test = std::thread::current().name().unwrap_or(version).to_owned();
        fs::create_dir_all(logs()).unwrap();
        let mut file = fs::OpenOptions::new();
        let file = file.append(true).create(true);
        let mut file = file.open(logs().join("left-out.txt")).unwrap();
        writeln!(file, "{test}").unwrap();
        return false;
    }
    true
}

/// Whether all tests are to run on all versions.
pub(crate) fn everything() -> bool {
    std::env::var_os("FIRESTEEL_E2E_ALL").is_some()
}

/// The Python and Scala jobs.
pub(crate) fn jobs() -> PathBuf {
    testkit::repository().join("tests/jobs")
}

/// Where the directories of all runs are.
pub(crate) fn logs() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("e2e")
}

/// An empty directory for one run; it stays after the test, for its logs.
pub(crate) fn fresh_dir(name: &str) -> PathBuf {
    testkit::fresh_dir(&logs().join(name)).to_owned()
}

/// A number that changes with the JDK and with `sources`: files and directories below `tests`.
pub(crate) fn fingerprint(sources: &[&str]) -> u64 {
    fn visit(path: &Path, hasher: &mut DefaultHasher) {
        if path.is_dir() {
            let mut entries: Vec<PathBuf> = fs::read_dir(path)
                .unwrap()
                .map(|entry| entry.unwrap().path())
                .filter(|path| !path.ends_with("__pycache__"))
                .collect();
            entries.sort();
            entries.iter().for_each(|path| visit(path, hasher));
        } else {
            path.file_name().hash(hasher);
            fs::read(path)
                .unwrap_or_else(|error| panic!("{}: {error}", path.display()))
                .hash(hasher);
        }
    }
    let mut hasher = DefaultHasher::new();
    for source in sources {
        visit(
            &testkit::repository().join("tests").join(source),
            &mut hasher,
        );
    }
    fs::read(testkit::jdk().join("release"))
        .ok()
        .hash(&mut hasher);
    hasher.finish()
}

/// TPC-H tables at a small scale, made on first use.
pub(crate) fn tpch(distribution: &Distribution) -> PathBuf {
    made(distribution, &["make_tpch.py", "0.01", "4"])
}

/// TPC-DS tables at a small scale and its queries, made on first use.
pub(crate) fn tpcds(distribution: &Distribution) -> PathBuf {
    made(distribution, &["make_tpcds.py", "0.01"])
}

/// The directory that a job with arguments makes and prints. Only one at a time: they install what they make it with.
fn made(distribution: &Distribution, command: &[&str]) -> PathBuf {
    static MADE: Mutex<()> = Mutex::new(());
    let _one = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    let output = Command::new(&distribution.python)
        .current_dir(jobs())
        .args(command)
        .stderr(Stdio::inherit())
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{command:?} failed: {}",
        output.status
    );
    PathBuf::from(String::from_utf8(output.stdout).unwrap().trim())
}

fn run(command: &mut Command) {
    let status = command
        .status()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(status.success(), "{command:?}: {status}");
}

/// Compiles all classes of a directory.
pub(crate) fn make_jar(distribution: &Distribution, sources: &Path, work: &Path, jar: &Path) {
    let classes = work.join(format!(
        "{}-classes",
        jar.file_stem().unwrap().to_string_lossy()
    ));
    fs::create_dir_all(&classes).unwrap();
    let mut javac = Command::new(testkit::jdk().join("bin/javac"));
    javac
        .arg("-d")
        .arg(&classes)
        .arg("-cp")
        .arg(distribution.class_path());
    for entry in fs::read_dir(sources).unwrap() {
        javac.arg(entry.unwrap().path());
    }
    run(&mut javac);
    run(Command::new(testkit::jdk().join("bin/jar"))
        .arg("cf")
        .arg(jar)
        .arg("-C")
        .arg(&classes)
        .arg("."));
}

/// The jar of the classes in a directory of the jobs', made once in `work`.
pub(crate) fn jar_of(distribution: &Distribution, work: &Path, directory: &str) -> String {
    let jar = work.join(format!("{directory}.jar"));
    if !jar.exists() {
        make_jar(distribution, &jobs().join(directory), work, &jar);
    }
    jar.display().to_string()
}

/// Jars, modules, files and archives for the jobs, made in `work`.
pub(crate) struct Inputs {
    pub(crate) dir: PathBuf,
    pub(crate) probe_jar: PathBuf,
    pub(crate) late_jar: PathBuf,
}

impl Inputs {
    pub(crate) fn make(distribution: &Distribution, work: &Path) -> Self {
        let dir = dependencies(distribution, work);
        let probe_jar = dir.join("probe.jar");
        let late_jar = dir.join("late.jar");
        make_jar(distribution, &jobs().join("jar/probe"), work, &probe_jar);
        make_jar(
            distribution,
            &jobs().join("jar/late/probe"),
            work,
            &late_jar,
        );
        Self {
            dir,
            probe_jar,
            late_jar,
        }
    }
}

/// A file, a module and an archive that come with an application, in a directory of `work` that is made here.
pub(crate) fn dependencies(distribution: &Distribution, work: &Path) -> PathBuf {
    let dir = work.join("inputs");
    fs::create_dir_all(dir.join("archive")).unwrap();
    fs::write(dir.join("early.txt"), "early file").unwrap();
    fs::write(dir.join("archive/inner.txt"), "early archive").unwrap();
    fs::write(
        dir.join("early_module.py"),
        "def answer():\n    return 'early module'\n",
    )
    .unwrap();
    run(Command::new("tar")
        .arg("-czf")
        .arg(dir.join("early.tgz"))
        .arg("-C")
        .arg(dir.join("archive"))
        .arg("inner.txt"));
    run(Command::new(&distribution.python).current_dir(&dir).args([
        "-m",
        "zipfile",
        "-c",
        "early_module.zip",
        "early_module.py",
    ]));
    dir
}

/// A directory that serves as `SPARK_HOME`: the distribution by symbolic links, with a `work` directory of its own, so
/// that executors' logs do not land in the installed package.
pub(crate) fn spark_home(distribution: &Distribution, work: &Path) -> PathBuf {
    let home = work.join("home");
    fs::create_dir_all(&home).unwrap();
    for part in ["bin", "data", "examples", "jars", "sbin"] {
        let source = distribution.home.join(part);
        if source.exists() {
            std::os::unix::fs::symlink(source, home.join(part)).unwrap();
        }
    }
    // Jobs may put files of their own beside these.
    fs::create_dir(home.join("python")).unwrap();
    for entry in fs::read_dir(distribution.home.join("python")).unwrap() {
        let entry = entry.unwrap();
        std::os::unix::fs::symlink(entry.path(), home.join("python").join(entry.file_name()))
            .unwrap();
    }
    home
}
