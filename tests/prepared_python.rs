//! What Firesteel's launcher of Python workers may not change, in the interpreters of the distributions: everything but
//! time.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use testkit::{Distribution, NEWEST, OLDEST, VERSIONS};

fn launcher() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/pyworker/python/run_worker.py")
}

/// What is beside the launcher in a distribution, with the native module.
fn package() -> PathBuf {
    testkit::firesteel().join("python")
}

/// The interpreters of the distributions, and what others there are on this machine, of versions that native code is
/// for; with what these need to find a distribution that supports them all.
fn interpreters() -> Vec<(PathBuf, Option<PathBuf>)> {
    let own = VERSIONS.map(|version| (Distribution::find(version).python, None));
    let packages = Distribution::find(OLDEST).site_packages().to_owned();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut places: Vec<_> = std::env::split_paths(&path).collect();
    let pyenv = Path::new(&std::env::var_os("HOME").unwrap()).join(".pyenv/versions");
    places.extend(
        pyenv
            .read_dir()
            .into_iter()
            .flatten()
            .flatten()
            .map(|found| found.path().join("bin")),
    );
    let others = (9..14).filter_map(|minor| {
        let programs = places
            .iter()
            .map(|place| place.join(format!("python3.{minor}")));
        // A launcher of another program's may be there that starts none.
        let mut usable = programs.filter(|program| {
            let version = Command::new(program).args(["-c", "import ssl"]).output();
            version.is_ok_and(|output| output.status.success())
        });
        Some((usable.next()?, Some(packages.clone())))
    });
    own.into_iter().chain(others).collect()
}

/// Runs a script of comparisons in all of [`interpreters`].
fn compare(script: &str, expected: &str) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/jobs")
        .join(script);
    for (python, packages) in interpreters() {
        let mut command = Command::new(&python);
        command.arg(&script).arg(package());
        if let Some(packages) = packages {
            command.env("PYTHONPATH", packages);
        }
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{}: {said}", python.display());
        let compared = String::from_utf8_lossy(&output.stdout);
        assert_eq!(compared.trim(), expected, "{}: {said}", python.display());
        println!("{}: {expected}", python.display());
    }
}

#[test]
fn native_loops_do_what_pysparks_do() {
    compare("native_loops.py", "129 compared");
}

#[test]
fn workers_tell_what_became_of_pipelines() {
    compare("native_reports.py", "3 compared");
}

#[test]
fn native_pipelines_do_what_pysparks_do() {
    compare("native_pipelines.py", "218 compared");
}

fn run(directory: &Path, first: &str, module: &str) -> Output {
    Command::new(Distribution::find(NEWEST).python)
        .args([first, module, "pyspark.worker", "b c"])
        .env("PYTHONPATH", directory)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("FIRESTEEL_PYTHON_COMPILE", "true")
        .env("FIRESTEEL_PYTHON_REPORTS", "/dev/null")
        .current_dir(directory)
        .output()
        .unwrap()
}

/// Runs a module with `-m` and with the launcher.
fn both(name: &str, text: &str) -> [Output; 2] {
    let directory = tempfile::tempdir().unwrap();
    let package = directory.path().join("lane");
    std::fs::create_dir(&package).unwrap();
    std::fs::write(package.join("__init__.py"), "").unwrap();
    std::fs::write(package.join(format!("{name}.py")), text).unwrap();
    let module = format!("lane.{name}");
    let launcher = launcher();
    ["-m", launcher.to_str().unwrap()].map(|first| run(directory.path(), first, &module))
}

/// Runs a module of assertions with the launcher, to its last line.
fn runs_fine(name: &str, text: &str) {
    let [_, prepared] = both(name, text);
    let said = String::from_utf8_lossy(&prepared.stderr);
    assert_eq!(
        String::from_utf8_lossy(&prepared.stdout).trim(),
        "fine",
        "{said}"
    );
}

const SURROUNDINGS: &str = r#""""A module."""
import gc, json, sys
import __main__
print(json.dumps([
    sys.argv, sys.path, sorted(globals()), __name__, __file__, __doc__, __package__, __spec__.name,
    vars(__main__) is globals(), sorted(name for name in vars(gc) if not name.startswith("_")),
]))
raise SystemExit(3)
"#;

#[test]
fn a_module_finds_what_it_finds_without_the_launcher() {
    for name in ["daemon", "worker"] {
        let [plain, prepared] = both(name, SURROUNDINGS);
        assert_eq!(plain.status.code(), Some(3), "{plain:?}");
        assert_eq!(prepared.status.code(), Some(3), "{prepared:?}");
        assert_eq!(
            String::from_utf8_lossy(&prepared.stdout),
            String::from_utf8_lossy(&plain.stdout)
        );
    }
}

#[test]
fn a_missing_module_is_told_as_without_the_launcher() {
    let directory = tempfile::tempdir().unwrap();
    let launcher = launcher();
    let [plain, prepared] = ["-m", launcher.to_str().unwrap()]
        .map(|first| run(directory.path(), first, "not.there.daemon"));
    assert_eq!(prepared, plain);
    assert!(!plain.status.success());
}

const ENVIRONMENT: &str = r#"
import os, subprocess, sys

ours = "[name for name in os.environ if name.startswith('FIRESTEEL_PYTHON')]"
assert eval(ours) == [], os.environ
child = subprocess.run([sys.executable, "-c", f"import os; print({ours})"], capture_output=True, text=True)
assert child.stdout == "[]\n", child
assert sys.modules["firesteel_worker.reports"].Executor.pipe == "/dev/null"
print("fine")
"#;

#[test]
fn variables_of_the_executor_are_not_seen() {
    runs_fine("daemon", ENVIRONMENT);
    runs_fine("worker", ENVIRONMENT);
}

const COLLECTIONS: &str = r#"
import gc, os, sys, weakref

class Cycle:
    def __init__(self):
        self.own = self

def garbage():
    return weakref.ref(Cycle())

# Survivors are put aside: later collections find only what is new, and find it.
for _ in range(3):
    dead = garbage()
    assert dead() is not None
    assert gc.collect() >= 1
    assert dead() is None
assert gc.get_freeze_count() > 0, "nothing was put aside"

# What was put aside and has become garbage since is found when a full collection is due.
kept = Cycle()
gc.collect.__self__.due = 0.0
gc.collect()
old = weakref.ref(kept)
del kept
gc.collect.__self__.due = float("inf")
gc.collect()
assert old() is not None
gc.collect.__self__.due = 0.0
gc.collect()
assert old() is None

# User code runs in forked workers, with the interpreter's own module.
pid = os.fork()
if pid == 0:
    ours = gc
    import gc as theirs
    os._exit(0 if theirs is not ours and theirs.collect.__class__.__name__ == "builtin_function_or_method" else 1)
assert os.waitpid(pid, 0)[1] == 0, "a worker's gc is not the interpreter's"
print("fine")
"#;

#[test]
fn collections_between_tasks_find_all_garbage() {
    runs_fine("daemon", COLLECTIONS);
}

const ARCHIVES: &str = r#"
import importlib, os, sys, time, zipfile, zipimport

archives = sys.modules["firesteel_worker.archives"]
archives.SETTLED = 0.2
known = zipimport._read_directory.__self__
read, reads = known.read, []
known.read = lambda archive: (reads.append(archive), read(archive))[1]
archive = os.path.join(os.getcwd(), "modules.zip")
sys.path.insert(0, archive)

def write(modules):
    with zipfile.ZipFile(archive, "w") as out:
        for name, text in modules.items():
            out.writestr(name + ".py", text)

def reads_of_invalidation():
    reads.clear()
    importlib.invalidate_caches()
    return reads.count(archive)

write({"first": "", "second/__init__": "", "second/third": "", "second/fourth/__init__": "", "second/fourth/fifth": ""})
reads_of_invalidation()
import first, second.third, second.fourth.fifth
assert reads_of_invalidation() >= 3, "too fresh to be relied on"
time.sleep(0.3)
assert reads_of_invalidation() > 0, "read when it was fresh"
assert reads_of_invalidation() == 0
assert reads_of_invalidation() == 0

# Changes are seen: of a settled archive, and of one that has just changed, though its size and time are the same.
write({"first": "", "sixth": "value = 1"})
assert reads_of_invalidation() > 0
import sixth
assert sixth.value == 1
times = os.stat(archive)
write({"first": "", "sixth": "value = 2"})
os.utime(archive, ns=(times.st_atime_ns, times.st_mtime_ns))
assert reads_of_invalidation() > 0
assert importlib.reload(sixth).value == 2

# So is one that is gone.
time.sleep(0.3)
importlib.invalidate_caches()
assert reads_of_invalidation() == 0
os.remove(archive)
importlib.invalidate_caches()
assert importlib.util.find_spec("first") is not None, "of a loaded module"
del sys.modules["first"]
assert importlib.util.find_spec("first") is None
print("fine")
"#;

#[test]
fn archives_are_read_again_when_they_have_changed() {
    runs_fine("worker", ARCHIVES);
}
