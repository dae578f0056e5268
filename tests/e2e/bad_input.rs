//! Mistakes of users and administrators: each is one clear line that names the setting, file or peer, and an exit code.

use std::net::TcpListener;
use std::path::Path;
use std::process::Command;

use serde_json::json;
use testkit::{Distribution, NEWEST, OLDEST};

use crate::hold::{Hold, executor_command};
use crate::places;
use crate::process::{Running, one_at_a_time, read_lossy};

const BACKEND: &str = "org.apache.spark.executor.CoarseGrainedExecutorBackend";

/// Runs a command to its end; gives exit code and standard error.
fn end_of(name: &str, command: &mut Command, seconds: u64) -> (i32, String) {
    let dir = places::fresh_dir(&format!("bad-input-{name}"));
    command.current_dir(&dir);
    let mut running = Running::start(command, &dir, "process", false);
    let code = running.exit_code(seconds);
    (code, running.log())
}

/// Some line of `log` holds every one of `words`, and nothing panicked.
fn assert_says(log: &str, words: &[&str]) {
    assert!(!log.contains("panicked at"), "{log}");
    assert!(
        log.lines()
            .any(|line| words.iter().all(|word| line.contains(word))),
        "no line names all of {words:?}:\n{log}"
    );
}

fn java(java_home: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(java_home.join("bin/java"));
    command
        .args(arguments)
        .env("FIRESTEEL_JAVA_HOME", testkit::jdk())
        .stdin(std::process::Stdio::null());
    command
}

#[test]
fn wrong_arguments_print_sparks_usage() {
    for version in [OLDEST, NEWEST] {
        let distribution = Distribution::find(version);
        let jars = distribution.class_path();
        let cases: [&[&str]; 3] = [
            &["-cp", &jars, BACKEND, "--nonsense", "1"],
            &[
                "-cp",
                &jars,
                BACKEND,
                "--driver-url",
                "spark://a@b:1",
                "--executor-id",
                "1",
            ],
            &["-cp", &jars, BACKEND],
        ];
        for case in cases {
            let plain = end_of("usage-plain", &mut java(&testkit::jdk(), case), 60);
            let native = end_of("usage", &mut java(&testkit::firesteel(), case), 10);
            assert_eq!(native.0, 1, "{case:?}");
            assert_eq!(plain.0, 1, "{case:?}");
            let usage = |log: &str| {
                let lines: Vec<String> = log
                    .lines()
                    .map(|line| line.trim().to_owned())
                    .filter(|line| {
                        !line.is_empty() && !line.contains("NOTE:") && !line.starts_with("WARNING:")
                    })
                    .skip_while(|line| {
                        !line.starts_with("Unrecognized") && !line.starts_with("Usage")
                    })
                    .collect();
                lines
            };
            assert!(!usage(&plain.1).is_empty(), "{}", plain.1);
            assert_eq!(usage(&native.1), usage(&plain.1), "{case:?}");
        }
    }
}

#[test]
fn other_main_classes_reach_the_jdk() {
    let version = |home: &Path| java(home, &["-version"]).output().unwrap();
    let (plain, native) = (version(&testkit::jdk()), version(&testkit::firesteel()));
    assert_eq!(native.status.code(), Some(0));
    assert_eq!(
        String::from_utf8_lossy(&native.stderr),
        String::from_utf8_lossy(&plain.stderr)
    );
}

#[test]
fn missing_jdk_names_the_setting() {
    let mut command = java(&testkit::firesteel(), &["-version"]);
    command.env("FIRESTEEL_JAVA_HOME", "/nowhere/jdk");
    let (code, log) = end_of("no-jdk", &mut command, 10);
    assert_ne!(code, 0);
    assert_says(&log, &["FIRESTEEL_JAVA_HOME", "/nowhere/jdk"]);
}

#[test]
fn missing_spark_jars_are_named() {
    let dir = places::fresh_dir("bad-input-empty-jars");
    let class_path = format!("{}/*", dir.display());
    let mut command = executor_command(
        &testkit::firesteel(),
        &class_path,
        "spark://CoarseGrainedScheduler@localhost:9",
        "0",
        "app-1",
    );
    let (code, log) = end_of("no-jars", &mut command, 10);
    assert_eq!(code, 1, "{log}");
    assert_says(&log, &["class path", "-cp"]);
}

#[test]
fn mixed_spark_jars_are_named() {
    let (old, new) = (Distribution::find(OLDEST), Distribution::find(NEWEST));
    let class_path = format!("{}:{}", old.class_path(), new.class_path());
    let mut command = executor_command(
        &testkit::firesteel(),
        &class_path,
        "spark://CoarseGrainedScheduler@localhost:9",
        "0",
        "app-1",
    );
    let (code, log) = end_of("mixed-jars", &mut command, 10);
    assert_eq!(code, 1, "{log}");
    assert_says(&log, &[OLDEST, NEWEST]);
}

#[test]
fn unreachable_driver_is_named() {
    let port = testkit::free_port();
    let distribution = Distribution::find(NEWEST);
    let url = format!("spark://CoarseGrainedScheduler@localhost:{port}");
    let mut command = executor_command(
        &testkit::firesteel(),
        &distribution.class_path(),
        &url,
        "0",
        "app-1",
    );
    let (code, log) = end_of("no-driver", &mut command, 60);
    assert_eq!(code, 1, "{log}");
    assert_says(&log, &[&format!("localhost:{port}")]);
}

#[test]
fn driver_that_is_no_driver_is_named() {
    // Somebody who accepts, and answers with something else.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for mut socket in listener.incoming().flatten() {
            use std::io::Write;
            let _ = socket.write_all(b"SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n");
        }
    });
    let distribution = Distribution::find(NEWEST);
    let url = format!("spark://CoarseGrainedScheduler@localhost:{port}");
    let mut command = executor_command(
        &testkit::firesteel(),
        &distribution.class_path(),
        &url,
        "0",
        "app-1",
    );
    let (code, log) = end_of("no-spark-driver", &mut command, 60);
    assert_eq!(code, 1, "{log}");
    assert_says(&log, &[&port.to_string()]);
}

#[test]
fn driver_of_another_version_is_named() {
    let _turn = one_at_a_time();
    let (driver, executor) = (Distribution::find(OLDEST), Distribution::find(NEWEST));
    testkit::firesteel();
    let mut hold = Hold::start(&driver, "other-version", &[]);
    let mut command = hold.executor_command(&testkit::firesteel(), &executor.class_path(), "0");
    let (code, log) = end_of("other-version", &mut command, 60);
    assert_eq!(code, 1, "{log}");
    assert_says(&log, &[NEWEST, "localhost:"]);
    // The driver is as well as before: an executor of its own version registers.
    let mut good = hold.add_executor(&driver, &testkit::firesteel(), "1", &[]);
    assert!(good.is_running());
    hold.ask(json!({"do": "stop"}));
    assert_eq!(good.exit_code(20), 0, "{}", read_lossy(&good.stderr));
}

/// The executor registers without a JDK; the first task needs one. The executor says so and leaves, and the job goes on
/// as soon as there is a better one.
#[test]
fn missing_jdk_ends_the_executor_at_the_first_task() {
    let _turn = one_at_a_time();
    let distribution = Distribution::find(NEWEST);
    testkit::firesteel();
    let mut hold = Hold::start(&distribution, "no-jdk", &["spark.firesteel.lanes=jvm"]);
    let mut command = hold.executor_command(&testkit::firesteel(), &distribution.class_path(), "0");
    command.env("FIRESTEEL_JAVA_HOME", "/nowhere/jdk");
    let mut lame = Running::start(&mut command, &hold.work, "executor-0", false);
    hold.wait_for_executors(&["0"]);
    hold.ask(json!({"do": "begin", "name": "job"}));
    assert_eq!(lame.exit_code(30), 1, "{}", lame.log());
    assert_says(&lame.log(), &["FIRESTEEL_JAVA_HOME", "/nowhere/jdk"]);
    let mut good = hold.add_executor(&distribution, &testkit::firesteel(), "1", &[]);
    assert_eq!(
        hold.ask(json!({"do": "finish", "name": "job"})),
        "332833500 of 1000"
    );
    hold.ask(json!({"do": "stop"}));
    assert_eq!(good.exit_code(20), 0, "{}", good.log());
}
