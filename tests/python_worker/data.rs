//! What goes to a worker and what comes back.

use bytes::Bytes;
use firesteel::python::Element;
use firesteel::task::TaskError;

use crate::bench::{text_element, with_all};

#[test]
fn elements_go_through_a_function() {
    with_all(&[], |bench| {
        assert_eq!(bench.run("upper", &["a", "", "é"]).unwrap(), ["A", "", "É"]);
        assert!(bench.run("upper", &[]).unwrap().is_empty());
        let context = bench.context();
        let input = [
            Element::Null,
            Element::tuple(text_element("k"), Element::Bytes(Bytes::from_static(b"v"))),
        ];
        let input = Box::new(input.into_iter().map(Ok));
        let output = bench
            .workers
            .run(&bench.function("upper"), 0, input, &context);
        let output: Result<Vec<_>, _> = output.unwrap().collect();
        assert_eq!(output.unwrap(), ["(null)", "K", "V"]);
    });
}

#[test]
fn more_than_the_sockets_hold_goes_both_ways() {
    with_all(&[], |bench| {
        let context = bench.context();
        let large = "x".repeat(3 << 20);
        let texts = (0..30_000u32).map(|n| match n % 10_000 {
            0 => large.clone(),
            _ => format!("{n:0100}"),
        });
        let input = Box::new(texts.clone().map(|text| Ok(text_element(&text))));
        let output = bench
            .workers
            .run(&bench.function("upper"), 0, input, &context);
        let mut output = output.unwrap();
        for text in texts {
            assert_eq!(output.next().unwrap().unwrap(), text.to_uppercase());
        }
        assert!(output.next().is_none());
        assert!(output.next().is_none());
    });
}

#[test]
fn the_function_knows_its_task() {
    with_all(&[], |bench| {
        let output = bench.run("context", &[]).unwrap();
        let told: serde_json::Value = serde_json::from_slice(&output[0]).unwrap();
        let files = bench.dir.path().to_str().unwrap();
        assert_eq!(told["index"], 1);
        assert_eq!(told["stage"], 3);
        assert_eq!(told["partition"], 1);
        assert_eq!(told["attempt"], 2);
        assert_eq!(told["task"], 1i64 << 33);
        assert_eq!(told["cpus"], 2);
        assert_eq!(
            told["resources"],
            serde_json::json!({"gpu": ["gpu", ["0", "1"]]})
        );
        assert_eq!(told["property"], "group é");
        assert_eq!(told["files"], files);
        assert_eq!(
            told["path"],
            serde_json::json!([format!("{files}/include.zip")])
        );
        let environment = &told["environment"];
        assert_eq!(environment["PYTHONUNBUFFERED"], "YES");
        assert_eq!(environment["SPARK_BUFFER_SIZE"], "65536");
        assert_eq!(environment["SPARK_REUSE_WORKER"], "1");
        assert_eq!(environment["SPARK_AUTH_SOCKET_TIMEOUT"], "15");
        let threads = if testkit::is_since(bench.version, "4.3") {
            "2"
        } else {
            "1"
        };
        assert_eq!(environment["OMP_NUM_THREADS"], threads);
        assert_eq!(environment["SPARK_JOB_ARTIFACT_UUID"], "default");
        let local = environment["SPARK_LOCAL_DIRS"].as_str().unwrap();
        assert!(local.starts_with(files), "{local}");
    });
}

#[test]
fn a_traceback_is_the_tasks_error() {
    with_all(&[], |bench| {
        let context = bench.context();
        let input: Vec<_> = ["good", "bad", "unseen"]
            .map(|text| Ok(text_element(text)))
            .into();
        let output = bench.workers.run(
            &bench.function("raises"),
            0,
            Box::new(input.into_iter()),
            &context,
        );
        let mut output = output.unwrap();
        let mut results: Vec<_> = output.by_ref().collect();
        let Some(Err(TaskError::Python(traceback))) = results.pop() else {
            panic!("{results:?}");
        };
        assert!(
            traceback.starts_with("Traceback (most recent call last):\n"),
            "{traceback}"
        );
        assert!(traceback.ends_with("ValueError: boom: é\n"), "{traceback}");
        assert!(output.next().is_none());
    });
}

#[test]
fn errors_of_the_input_are_the_tasks_errors() {
    with_all(&[], |bench| {
        let context = bench.context();
        let input = [Ok(text_element("a")), Err(TaskError::io("no such block"))];
        let output = bench.workers.run(
            &bench.function("upper"),
            0,
            Box::new(input.into_iter()),
            &context,
        );
        let error = output.unwrap().collect::<Result<Vec<_>, _>>();
        assert_eq!(error, Err(TaskError::io("no such block")));
    });
}

#[test]
fn updates_of_accumulators_come_back() {
    with_all(&[], |bench| {
        let context = bench.context();
        let mut function = bench.function("accumulates");
        let output = bench.run_function(&function, &["ab", "c"], &context);
        assert!(output.unwrap().is_empty());
        let updates = std::mem::take(&mut *context.python_updates.lock());
        // The pickle of (7, 3).
        assert_eq!(updates.len(), 1);
        assert!(updates[0].ends_with(b"K\x07K\x03\x86\x94."), "{updates:?}");
        function.accumulator = None;
        bench
            .run_function(&function, &["ab", "c"], &context)
            .unwrap();
        assert!(context.python_updates.lock().is_empty());
    });
}
