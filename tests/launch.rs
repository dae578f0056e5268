//! The binary as `bin/java`: it hands over to the real JDK, and answers bad executor arguments as Spark does.

// Tests may panic; `allow-*-in-tests` of clippy.toml covers only functions that carry `#[test]`.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use firesteel::launch::{Backend, Jdk};

/// A Firesteel directory as the build makes it, as far as launching goes.
fn dist(dir: &Path) -> PathBuf {
    let bin = dir.join("bin");
    std::fs::create_dir_all(&bin).unwrap();
    for name in ["firesteel", "java"] {
        // Linked, as in the real one; a fresh copy could still be open for writing in a child of another test.
        std::fs::hard_link(env!("CARGO_BIN_EXE_firesteel"), bin.join(name)).unwrap();
    }
    bin.join("java")
}

fn run(program: &Path, args: &[&str], vars: &[(&str, &str)]) -> Output {
    let mut command = Command::new(program);
    command
        .args(args)
        .env_remove("JDK_JAVA_OPTIONS")
        .env_remove("CLASSPATH");
    command.envs(vars.iter().copied()).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn other_programs_run_on_the_real_jdk_as_if_it_had_been_called() {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let java = dist(dir.path());
    let jdk = Jdk::find_on_this_machine().unwrap();
    let source = dir.path().join("Show.java");
    std::fs::write(
        &source,
        r#"public class Show { public static void main(String[] args) {
            System.out.println(String.join("|", args) + " " + System.getProperty("x") + " " + System.getenv("SHOWN") + " " + System.getProperty("java.home"));
            System.exit(args.length);
        } }"#,
    )
    .unwrap();
    let file = dir.path().join("args");
    std::fs::write(&file, "-Dx='from file' -cp nowhere").unwrap();
    let at_file = format!("@{}", file.display());
    let source = source.to_str().unwrap();
    let cases: &[&[&str]] = &[
        &["-version"],
        &["-Dx=1", source, "a", "b c", ""],
        &[&at_file, source, "@kept"],
        &["-cp", "nowhere", "NoSuchClass"],
        &["-cp"],
        &["-XX:NoSuchOption", "Main"],
        &["@/no/such/file"],
        &["-cp", "x", "Other", Backend::CoarseGrained.class_name()],
    ];
    for args in cases {
        let vars = [("SHOWN", "seen")];
        let (ours, real) = (run(&java, args, &vars), run(&jdk.java(), args, &vars));
        assert_eq!(text(&ours.stdout), text(&real.stdout), "{args:?}");
        assert_eq!(text(&ours.stderr), text(&real.stderr), "{args:?}");
        assert_eq!(ours.status.code(), real.status.code(), "{args:?}");
    }
}

#[test]
fn a_jdk_that_is_not_there_is_one_clear_error() {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let java = dist(dir.path());
    let output = run(
        &java,
        &["-version"],
        &[("FIRESTEEL_JAVA_HOME", "/no/such/jdk")],
    );
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(message.lines().count(), 1, "{message}");
    assert!(
        message.contains("FIRESTEEL_JAVA_HOME is set to /no/such/jdk"),
        "{message}"
    );
    // Our own directory as the JDK would be a loop.
    let own = dir.path().to_str().unwrap();
    let output = run(&java, &["-version"], &[("FIRESTEEL_JAVA_HOME", own)]);
    assert!(
        text(&output.stderr).contains("FIRESTEEL_JAVA_HOME"),
        "{}",
        text(&output.stderr)
    );
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn bad_executor_arguments_show_sparks_usage() {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let java = dist(dir.path());
    let usage = include_str!("../src/launch/usage/coarse_grained.txt");
    let class = Backend::CoarseGrained.class_name();
    let output = run(
        &java,
        &["-cp", "x", class, "--cores", "1", "--bogus", "x", "y"],
        &[],
    );
    assert_eq!(
        (text(&output.stderr).as_str(), output.status.code()),
        (usage, Some(1))
    );
    let output = run(
        &dir.path().join("bin/firesteel"),
        &["executor", "--cores", "1", "--bogus", "x", "y"],
        &[],
    );
    assert_eq!(
        (text(&output.stderr).as_str(), output.status.code()),
        (usage, Some(1))
    );
    // Nothing at all: the usage, without the line about the option that is not known.
    let output = run(
        &java,
        &["-cp", "x", class],
        &[("JDK_JAVA_OPTIONS", "-Dx=1")],
    );
    let (_, without_first_line) = usage.split_once('\n').unwrap();
    let expected = format!("NOTE: Picked up JDK_JAVA_OPTIONS: -Dx=1\n{without_first_line}");
    assert_eq!(
        (text(&output.stderr), output.status.code()),
        (expected, Some(1))
    );
}

#[test]
fn the_version_is_told() {
    let output = run(
        Path::new(env!("CARGO_BIN_EXE_firesteel")),
        &["--version"],
        &[],
    );
    assert_eq!(
        text(&output.stdout),
        format!("firesteel {}\n", env!("CARGO_PKG_VERSION"))
    );
    assert!(output.status.success());
}
