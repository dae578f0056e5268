//! Functions in processes of their own: they give what they give here, and only a process is lost when one crashes.

use std::time::{Duration, Instant};

use arrow::array::{Decimal128Array, StringArray};
use firesteel::native_functions::{BoundFunction, Isolated, ProcessCounts};

use super::*;

const EVERYTHING: &str = "tests/c/functions/everything.c";
const BAD_CALLS: &str = "tests/c/functions/bad_calls.c";

/// A library, and processes for its functions.
struct Processes {
    library: PathBuf,
    module: &'static str,
    isolated: Arc<Isolated>,
}

impl Processes {
    fn of(source: &str, module: &'static str) -> Self {
        Self {
            library: compiled(source),
            module,
            isolated: Isolated::new(Path::new(env!("CARGO_BIN_EXE_firesteel"))),
        }
    }

    fn bind(
        &self,
        function: &str,
        input: Option<&Fields>,
        facts: TaskFacts,
    ) -> Result<Result<BoundFunction, String>, FunctionError> {
        let marker = Marker {
            function: function.to_owned(),
            library: self
                .library
                .file_name()
                .unwrap()
                .to_string_lossy()
                .into_owned(),
            module: self.module.to_owned(),
            signature: 0,
            version: "1.0".to_owned(),
        };
        self.isolated.bind(&self.library, &marker, input, facts)
    }

    /// Bound for a task of that number.
    fn bound(&self, function: &str, task: i64) -> BoundFunction {
        let facts = TaskFacts {
            task_attempt_id: task,
            ..facts(&memory(1 << 20), &Cancellation::default())
        };
        self.bind(function, None, facts).unwrap().unwrap()
    }
}

fn texts(values: &[Option<&str>]) -> ArrayRef {
    Arc::new(StringArray::from(values.to_vec()))
}

#[test]
fn functions_give_what_they_give_here() {
    let processes = Processes::of(EVERYTHING, "everything");
    let library = Library::load(&processes.library).unwrap();
    let decimals = Decimal128Array::from(vec![Some(1), None, Some(-99)]);
    let decimals = decimals.with_precision_and_scale(20, 4).unwrap();
    let columns: [(&str, ArrayRef); 6] = [
        ("same_int", ints([None, Some(i32::MIN), Some(7)])),
        ("same_string", texts(&[Some(""), None, Some("ä€😀")])),
        ("same_decimal", Arc::new(decimals)),
        (
            "same_double",
            Arc::new(Float64Array::from(vec![Some(f64::NAN), None, Some(-0.0)])),
        ),
        ("no_negatives", ints([Some(3), None, Some(4)])),
        ("twice", ints([Some(3), None, Some(-4)])),
    ];
    for (name, column) in columns {
        let mut here = bound(library.function(name).unwrap());
        let mut there = processes.bound(name, 7);
        assert_eq!(
            (there.kind(), there.result()),
            (Kind::Scalar, here.result()),
            "{name}"
        );
        let column = match here.arguments().first().unwrap().data_type() {
            of if of == column.data_type() => column,
            of => arrow::compute::cast(&column, of).unwrap(),
        };
        for column in [column.slice(0, 3), column.slice(1, 2), column.slice(0, 0)] {
            let rows = column.len();
            let expected = here.execute(&[Arc::clone(&column)], rows).unwrap();
            let given = there.execute(&[column], rows).unwrap();
            assert_eq!(given.to_data(), expected.to_data(), "{name}");
        }
    }
    let answers = processes.bound("answer", 7).execute(&[], 5).unwrap();
    assert_eq!(answers.len(), 5);
    let task = processes.bound("task_of", 7).execute(&[], 1).unwrap();
    assert_eq!(
        task.as_string::<i32>().value(0),
        "stage=4 partition=5 attempt=6 id=7 zone=Europe/Paris ansi=1"
    );
    // One after the other, all were in one process.
    let counts = ProcessCounts {
        started: 1,
        ended: 0,
    };
    assert_eq!(processes.isolated.take_counts(), counts);
    // More rows than a message of a socket, and than memory that is kept.
    let many: ArrayRef = ints((0..3_000_000).map(Some));
    let mut same = processes.bound("same_int", 8);
    assert_eq!(
        &same.execute(&[Arc::clone(&many)], many.len()).unwrap(),
        &many
    );
    let negative = processes
        .bound("no_negatives", 8)
        .execute(&[ints([Some(1), Some(-4)])], 2);
    let negative = negative.unwrap_err();
    let title = "function 'no_negatives' of libeverything.so (everything 1.0)";
    let words = format!("{title} failed: -4 is negative (SQLSTATE 22023, row 1)");
    assert_eq!(negative.to_string(), words);
    assert!(matches!(negative, FunctionError::Refused(_)));
    let counts = ProcessCounts {
        started: 0,
        ended: 0,
    };
    assert_eq!(processes.isolated.take_counts(), counts);
}

#[test]
fn threads_of_a_task_get_their_own_rows() {
    let processes = Processes::of(EVERYTHING, "everything");
    // Both are in one process, which writes what it gives to one piece of memory.
    let bound = [0, 1].map(|seed| (seed, processes.bound("same_int", 1)));
    let threads = bound.map(|(seed, mut same)| {
        std::thread::spawn(move || {
            for round in 0..2000 {
                let column = ints((0..100).map(|row| Some(row * 10 + seed + round)));
                let given = same.execute(&[Arc::clone(&column)], column.len()).unwrap();
                assert_eq!(&given, &column, "{seed}, {round}");
            }
        })
    });
    for thread in threads {
        thread.join().unwrap();
    }
    assert_eq!(processes.isolated.take_counts().started, 1);
}

#[test]
fn groups_and_streams_are_as_here() {
    let processes = Processes::of(EVERYTHING, "everything");
    let mut sums = processes.bound("sum_of", 1);
    let values: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), Some(10), None, Some(100)]));
    for _ in 0..2 {
        let groups = UInt32Array::from(vec![0, 2, 2, 0]);
        sums.update(&[Arc::clone(&values)], &groups, 3).unwrap();
        sums.update(&[values.slice(1, 1)], &UInt32Array::from(vec![2]), 3)
            .unwrap();
        let expected = Int64Array::from(vec![Some(101), None, Some(20)]);
        assert_eq!(
            sums.finish(3).unwrap().as_primitive::<Int64Type>(),
            &expected
        );
    }

    let columns = Fields::from(vec![
        Field::new("id", DataType::Int64, true),
        Field::new("value", DataType::Utf8, true),
    ]);
    let schema = Arc::new(Schema::new(columns.clone()));
    let ids: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), None]));
    let batch = RecordBatch::try_new(
        Arc::clone(&schema),
        vec![ids, texts(&[Some(""), Some("x")])],
    )
    .unwrap();
    let open = |batches: Vec<Result<RecordBatch, arrow::error::ArrowError>>| {
        let own = facts(&memory(0), &Cancellation::default());
        let bound = processes
            .bind("pass_through", Some(&columns), own)
            .unwrap()
            .unwrap();
        assert_eq!(bound.kind(), Kind::Partition);
        bound
            .open(Box::new(RecordBatchIterator::new(
                batches,
                Arc::clone(&schema),
            )))
            .unwrap()
    };
    let mut rows = open(vec![Ok(batch.clone()), Ok(batch.slice(1, 1))]);
    assert_eq!(
        rows.next_rows().unwrap().unwrap().columns(),
        batch.columns()
    );
    assert_eq!(rows.next_rows().unwrap().unwrap().num_rows(), 1);
    assert!(rows.next_rows().unwrap().is_none());
    // Nothing else was in the process that it was bound in first.
    assert_eq!(processes.isolated.take_counts().started, 2);
    let lost = arrow::error::ArrowError::ComputeError("a lost block".to_owned());
    let mut rows = open(vec![Ok(batch.clone()), Err(lost)]);
    rows.next_rows().unwrap();
    let error = rows.next_rows().unwrap_err().to_string();
    assert!(error.contains("a lost block"), "{error}");
    // Whoever has enough drops it.
    open(vec![Ok(batch)]).next_rows().unwrap();

    let lines = Processes::of("examples/functions/c/lines.c", "lines");
    let other = Fields::from(vec![Field::new("value", DataType::Int64, true)]);
    let own = facts(&memory(0), &Cancellation::default());
    let refused = lines.bind("parse_pairs", Some(&other), own);
    assert!(matches!(refused, Err(FunctionError::NotApplicable(_))));
}

#[test]
fn memory_is_that_of_the_task() {
    let processes = Processes::of(EVERYTHING, "everything");
    let own = memory(1 << 20);
    let left = || own.0.0.load(Ordering::Relaxed);
    let bind = |name| {
        let bound = processes.bind(name, None, facts(&own, &Cancellation::default()));
        bound.unwrap().unwrap()
    };
    let values: ArrayRef = Arc::new(Int64Array::from(vec![1000, 2000]));
    let refused = bind("hog").execute(&[Arc::clone(&values)], 2).unwrap_err();
    assert!(matches!(refused, FunctionError::Refused(_)), "{refused}");
    assert!(refused.to_string().contains("has no memory"), "{refused}");
    bind("borrows").execute(&[values], 2).unwrap();
    assert_eq!(left(), 1 << 20);
    let mut sums = bind("sum_of");
    let one: ArrayRef = Arc::new(Int64Array::from(vec![1]));
    sums.update(&[Arc::clone(&one)], &UInt32Array::from(vec![999]), 1000)
        .unwrap();
    assert!(left() < 1 << 20);
    let groups = UInt32Array::from(vec![999_999]);
    let refused = sums.update(&[one], &groups, 1_000_000).unwrap_err();
    assert!(refused.to_string().contains("no memory"), "{refused}");
    drop(sums);
    assert_eq!(left(), 1 << 20);
}

#[test]
fn a_crash_costs_its_task_only() {
    let processes = Processes::of(BAD_CALLS, "bad_calls");
    let one = || ints([Some(1)]);
    let mut other = processes.bound("with_offset", 2);
    for (name, how) in [
        ("crash", "signal 11 (SIGSEGV)"),
        ("abort_me", "signal 6 (SIGABRT)"),
    ] {
        let mut beside = processes.bound("with_offset", 1);
        let mut crashes = processes.bound(name, 1);
        let error = crashes.execute(&[one()], 1).unwrap_err();
        assert!(matches!(error, FunctionError::Crashed(_)), "{error}");
        let words = format!(
            "function '{name}' of libbad_calls.so (bad_calls 1.0) crashed: its process ended by {how}"
        );
        assert_eq!(error.to_string(), words);
        // Of the same task, all is gone; of others, nothing.
        for again in [crashes.execute(&[one()], 1), beside.execute(&[one()], 1)] {
            let error = again.unwrap_err();
            assert!(matches!(error, FunctionError::Crashed(_)), "{error}");
        }
        other.execute(&[one()], 1).unwrap();
        drop((beside, crashes));
        processes
            .bound("with_offset", 1)
            .execute(&[one()], 1)
            .unwrap();
    }
    let counts = processes.isolated.take_counts();
    assert_eq!((counts.started, counts.ended), (4, 2));
}

#[test]
fn what_is_wrong_with_results_is_told_as_here() {
    let processes = Processes::of(BAD_CALLS, "bad_calls");
    let library = Library::load(&processes.library).unwrap();
    for name in [
        "too_few",
        "too_many",
        "wrong_buffers",
        "no_release",
        "status_99",
        "long_message",
        "failed_with_result",
    ] {
        let rows = ints([Some(1), None, Some(3), Some(4)]);
        let here = bound(library.function(name).unwrap()).execute(&[Arc::clone(&rows)], 4);
        let there = processes.bound(name, 1).execute(&[rows], 4);
        assert_eq!(there.unwrap_err(), here.unwrap_err(), "{name}");
    }
    let own = || facts(&memory(0), &Cancellation::default());
    let why = processes.bind("nothing", None, own()).unwrap().err();
    assert_eq!(why.unwrap(), "libbad_calls.so has no nothing");
    let missing = Processes {
        library: PathBuf::from("/nowhere/libbad_calls.so"),
        ..processes
    };
    let why = missing.bind("crash", None, own()).unwrap().err().unwrap();
    assert_eq!(why, "a library that is not there");
    let without = Isolated::new(Path::new("/nowhere/firesteel"));
    let without = Processes {
        isolated: without,
        ..missing
    };
    let error = without.bind("crash", None, own()).unwrap_err().to_string();
    assert!(
        error.contains("has no process: cannot run /nowhere/firesteel"),
        "{error}"
    );
}

#[test]
fn what_does_not_end_is_ended_with_its_task() {
    let everything = Processes::of(EVERYTHING, "everything");
    let bad = Processes::of(BAD_CALLS, "bad_calls");
    for (processes, name, ends) in [(&everything, "until_cancelled", 0), (&bad, "spin", 1)] {
        let cancellation = Cancellation::default();
        let bound = processes.bind(name, None, facts(&memory(0), &cancellation));
        let mut bound = bound.unwrap().unwrap();
        let argument = match name {
            "spin" => ints([Some(1)]),
            _ => Arc::new(Int64Array::from(vec![60_000])),
        };
        let started = Instant::now();
        let worker = std::thread::spawn(move || bound.execute(&[argument], 1));
        std::thread::sleep(Duration::from_millis(50));
        cancellation.cancel("tired of waiting");
        let error = worker.join().unwrap().unwrap_err();
        assert!(matches!(error, FunctionError::Cancelled(_)), "{error}");
        assert!(started.elapsed() < Duration::from_secs(30));
        assert_eq!(processes.isolated.take_counts().ended, ends, "{name}");
    }
}
