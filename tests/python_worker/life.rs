//! Lives and deaths of workers.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use firesteel::python::{BroadcastFile, PythonBroadcast, PythonFunction};
use firesteel::task::{TaskContext, TaskError, TaskException};
use javaser::types::Throwable;
use testkit::{NEWEST, OLDEST, is_since, of_series};

use crate::bench::{Bench, elements, ends, with_all, with_each};

fn pid(bench: &Bench) -> u32 {
    let output = bench.run("pid", &[]).unwrap();
    std::str::from_utf8(&output[0]).unwrap().parse().unwrap()
}

fn message(error: &TaskError) -> &str {
    match error {
        TaskError::Exception(TaskException {
            class_name,
            message,
            ..
        }) => {
            assert_eq!(class_name, "org.apache.spark.SparkException");
            message
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_worker_serves_one_task_after_another() {
    with_all(&[], |bench| {
        let first = pid(bench);
        assert_eq!(pid(bench), first);
        let memory = bench.workers.memory();
        assert!(memory.resident_bytes > 5 << 20, "{memory:?}");
        assert!(memory.virtual_bytes > memory.resident_bytes, "{memory:?}");
        bench.run("raises", &["bad"]).unwrap_err();
        assert!(ends(first, Duration::from_secs(20)), "it has raised");
        let second = pid(bench);
        assert_ne!(second, first);
        // What a function leaves unread makes its worker unusable.
        assert_eq!(bench.run("takes_one", &["a", "b"]).unwrap(), ["a"]);
        assert_ne!(pid(bench), second);
    });
}

#[test]
fn workers_are_used_once_if_so_set() {
    with_all(&[("spark.python.worker.reuse", "false")], |bench| {
        let first = pid(bench);
        assert_ne!(pid(bench), first);
        assert!(ends(first, Duration::from_secs(20)));
    });
}

#[test]
fn workers_live_without_daemon() {
    with_each(&[("spark.python.use.daemon", "false")], |bench| {
        assert_eq!(bench.run("upper", &["a"]).unwrap(), ["A"]);
        let first = pid(bench);
        assert_ne!(pid(bench), first);
        assert!(ends(first, Duration::from_secs(20)));
    });
}

#[test]
fn unix_sockets_serve_as_well() {
    for daemon in ["true", "false"] {
        let properties = [
            ("spark.python.unix.domain.socket.enabled", "true"),
            ("spark.python.use.daemon", daemon),
        ];
        with_each(&properties, |bench| {
            assert_eq!(bench.run("upper", &["a"]).unwrap(), ["A"]);
            assert_eq!(bench.run("upper", &["b"]).unwrap(), ["B"]);
        });
    }
}

#[test]
fn a_dead_worker_is_told_as_in_spark() {
    with_all(&[], |bench| {
        let error = bench.run("exits", &["a"]).unwrap_err();
        let crashed = "Python worker exited unexpectedly (crashed)";
        let expected = match is_since(bench.version, "4.0") {
            false => crashed.to_owned(),
            true => format!(
                "{crashed}. Consider setting 'spark.sql.execution.pyspark.udf.faulthandler.enabled' or\
                 'spark.python.worker.faulthandler.enabled' configuration to 'true' for the better Python traceback."
            ),
        };
        assert_eq!(message(&error), expected);
    });
    with_all(
        &[("spark.python.worker.faulthandler.enabled", "true")],
        |bench| {
            let error = bench.run("faults", &["a"]).unwrap_err();
            let text = message(&error);
            let expected = "Python worker exited unexpectedly (crashed): Fatal Python error: Segmentation fault\n\nCurrent thread 0x";
            assert!(text.starts_with(expected), "{text}");
            assert!(
                text.ends_with('\n') && text.contains(" in faults\n"),
                "{text}"
            );
            let error = bench.run("exits", &["a"]).unwrap_err();
            let text = message(&error);
            assert!(
                text.starts_with("Python worker exited unexpectedly (crashed)"),
                "{text}"
            );
        },
    );
}

#[test]
fn a_killed_task_ends_its_worker() {
    with_all(&[("spark.python.task.killTimeout", "200ms")], |bench| {
        let context = bench.context();
        let output = bench
            .workers
            .run(&bench.function("sleeps"), 0, elements(&[]), &context);
        let mut output = output.unwrap();
        let worker = output.next().unwrap().unwrap();
        let worker: u32 = std::str::from_utf8(&worker).unwrap().parse().unwrap();
        output.next().unwrap().unwrap();
        let switch = context.cancellation.clone();
        let killing = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(200));
            switch.cancel("stage cancelled");
        });
        let error = output.next().unwrap().unwrap_err();
        assert_eq!(error, TaskError::Killed("stage cancelled".into()));
        killing.join().unwrap();
        assert!(ends(worker, Duration::from_secs(20)));
        let again = bench
            .workers
            .run(&bench.function("upper"), 0, elements(&[]), &context);
        assert_eq!(
            again.err(),
            Some(TaskError::Killed("stage cancelled".into()))
        );
    });
}

#[test]
fn a_killed_task_lets_its_worker_end_by_itself() {
    with_each(&[("spark.python.task.killTimeout", "60s")], |bench| {
        let context = bench.context();
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("committed");
        let input = [path.to_str().unwrap()];
        let output = bench
            .workers
            .run(&bench.function("commits"), 0, elements(&input), &context);
        let mut output = output.unwrap();
        output.next().unwrap().unwrap();
        let start = Instant::now();
        context.cancellation.cancel("stage cancelled");
        let error = output.next().unwrap().unwrap_err();
        assert_eq!(error, TaskError::Killed("stage cancelled".into()));
        assert!(path.exists(), "what the worker had begun");
        assert!(
            start.elapsed() < Duration::from_secs(50),
            "no longer than that"
        );
    });
}

#[test]
fn output_that_nobody_wants_ends_its_worker() {
    with_all(&[], |bench| {
        let context = bench.context();
        let output = bench
            .workers
            .run(&bench.function("endless"), 0, elements(&[]), &context);
        let some: Result<Vec<_>, _> = output.unwrap().take(3).collect();
        assert_eq!(some.unwrap().len(), 3);
        assert_eq!(bench.run("upper", &["a"]).unwrap(), ["A"]);
    });
}

#[test]
fn a_lost_daemon_is_replaced() {
    with_all(&[], |bench| {
        let first = pid(bench);
        let status = std::fs::read_to_string(format!("/proc/{first}/status")).unwrap();
        let parent = status
            .lines()
            .find_map(|line| line.strip_prefix("PPid:\t"))
            .unwrap();
        let parent = rustix::process::Pid::from_raw(parent.parse().unwrap()).unwrap();
        rustix::process::kill_process(parent, rustix::process::Signal::TERM).unwrap();
        assert!(ends(first, Duration::from_secs(20)));
        assert_ne!(pid(bench), first);
    });
}

#[test]
fn an_interpreter_that_cannot_start_says_why() {
    with_all(
        &[("spark.python.daemon.module", "no_such_module")],
        |bench| {
            let error = bench.run("upper", &[]).unwrap_err();
            let text = message(&error);
            assert!(
                text.starts_with("\nError from python worker:\n  "),
                "{text}"
            );
            assert!(
                text.contains("No module named no_such_module\nPYTHONPATH was:\n  "),
                "{text}"
            );
            let end = "\norg.apache.spark.SparkException: EOFException occurred while reading the port number from no_such_module's stdout and terminated with code: 1..";
            assert!(text.ends_with(end), "{text}");
            let mut function = bench.function("upper");
            function.python_exec = "/no/such/python".into();
            let error = bench
                .run_function(&function, &[], &bench.context())
                .unwrap_err();
            let expected =
                "Cannot run program \"/no/such/python\": error=2, No such file or directory";
            let cause = "error=2, No such file or directory";
            let cause = Throwable::new("java.io.IOException", cause);
            assert_eq!(error, TaskError::io(expected).caused_by(cause));
        },
    );
}

#[test]
fn an_idle_worker_is_killed_if_so_set() {
    let properties = [
        ("spark.python.worker.idleTimeoutSeconds", "1"),
        ("spark.python.worker.killOnIdleTimeout", "true"),
    ];
    for version in [of_series("4.1"), NEWEST] {
        let bench = Bench::new(version, &properties);
        let begin = Instant::now();
        let error = bench.run("sleeps", &[]).unwrap_err();
        let text = "Python worker process terminated due to idle timeout (timeout: 1 seconds)";
        let class = "org.apache.spark.api.python.PythonWorkerException";
        let end = Throwable {
            message: None,
            ..Throwable::new("java.io.EOFException", "")
        };
        // A worker that is killed before it has read all its input resets the connection, for a JVM as for us.
        let reset = Throwable::new("java.net.SocketException", "Connection reset");
        let expected = [end, reset].map(|cause| TaskError::exception(class, text).caused_by(cause));
        assert!(expected.contains(&error), "{error:?}");
        assert!(begin.elapsed() > Duration::from_secs(1));
    }
}

#[derive(Debug)]
struct File(PathBuf);

impl BroadcastFile for File {
    fn path(&self, _: &TaskContext) -> Result<PathBuf, TaskError> {
        match self.0.exists() {
            true => Ok(self.0.clone()),
            false => Err(TaskError::io("asked for too often")),
        }
    }
}

#[test]
fn a_worker_keeps_the_variables_that_it_needs() {
    with_all(&[], |bench| {
        let file = |id: i64, pickle: &[u8]| {
            let path = bench.dir.path().join(format!("broadcast_{id}"));
            std::fs::write(&path, pickle).unwrap();
            PythonBroadcast {
                id,
                file: Arc::new(File(path)),
            }
        };
        let mut function = bench.function("broadcasts");
        function.broadcast_vars = vec![file(0, b"I10\n."), file(5, b"I15\n."), file(5, b"I15\n.")];
        let run = |function: &PythonFunction| {
            bench.run_function(function, &[], &bench.context()).unwrap()
        };
        assert_eq!(run(&function), ["[(0, 10), (5, 15)]"]);
        std::fs::remove_file(bench.dir.path().join("broadcast_5")).unwrap();
        function.broadcast_vars = vec![function.broadcast_vars[1].clone(), file(6, b"I16\n.")];
        assert_eq!(run(&function), ["[(5, 15), (6, 16)]"]);
        function.broadcast_vars.clear();
        assert_eq!(run(&function), ["[]"]);
    });
}

#[test]
fn encrypted_variables_are_decrypted_on_their_way() {
    use firesteel::blocks::crypto::IoEncryption;
    use firesteel::config::SparkProperties;
    use std::io::Write;

    let key = vec![7; 16];
    let encryption = IoEncryption::new(&key, &SparkProperties::default()).unwrap();
    let unix = [("spark.python.unix.domain.socket.enabled", "true")];
    for (version, properties) in [(OLDEST, &[][..]), (of_series("4.1"), &unix), (NEWEST, &[])] {
        let bench = Bench::with_key(version, properties, Some(key.clone()));
        let file = |id: i64, pickle: &[u8]| {
            let path = bench.dir.path().join(format!("broadcast_{id}"));
            let out = std::fs::File::create(&path).unwrap();
            let mut out = encryption.writer(out).unwrap();
            out.write_all(pickle).unwrap();
            out.flush().unwrap();
            let file = Arc::new(File(path));
            PythonBroadcast { id, file }
        };
        let mut function = bench.function("broadcasts");
        function.broadcast_vars = vec![file(1, b"I10\n."), file(2, b"I20\n.")];
        let run = |function: &PythonFunction| {
            bench.run_function(function, &[], &bench.context()).unwrap()
        };
        assert_eq!(run(&function), ["[(1, 10), (2, 20)]"]);
        function.broadcast_vars.remove(0);
        function.broadcast_vars.push(file(3, b"I30\n."));
        assert_eq!(run(&function), ["[(2, 20), (3, 30)]"]);
        function.broadcast_vars.pop();
        assert_eq!(run(&function), ["[(2, 20)]"]);
    }
}
