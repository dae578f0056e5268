//! Libraries of native functions as the executor calls them: good ones, and those that do not keep to the interface.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

mod isolated;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use arrow::array::{
    Array, ArrayRef, AsArray, Float64Array, Int32Array, Int64Array, RecordBatch,
    RecordBatchIterator, UInt32Array,
};
use arrow::datatypes::{DataType, Field, Fields, Int32Type, Int64Type, Schema};
use firesteel::cancel::Cancellation;
use firesteel::native_functions::{
    Function, FunctionError, Instance, Kind, Library, Marker, RowFunction, TaskFacts, TaskMemory,
    check, spark_json, types_of,
};

/// Set for a child of this program that calls a function which crashes.
const CRASHES: &str = "FIRESTEEL_TEST_CRASHES";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Compiles a source below the repository to a shared library.
fn compiled(source: &str) -> PathBuf {
    static FOLDER: OnceLock<tempfile::TempDir> = OnceLock::new();
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let folder = FOLDER.get_or_init(|| tempfile::tempdir().unwrap());
    let folder = folder
        .path()
        .join(NEXT.fetch_add(1, Ordering::Relaxed).to_string());
    std::fs::create_dir(&folder).unwrap();
    let source = root().join(source);
    let name = source.file_stem().unwrap().to_string_lossy().into_owned();
    let library = folder.join(format!("lib{name}.so"));
    // The frozen library has a header of its own.
    let headers = match source.parent() {
        Some(folder) if folder.ends_with("frozen_v1") => folder.to_owned(),
        _ => root().join("include"),
    };
    testkit::shared_library(&source, &headers, &library);
    library
}

fn loaded(source: &str) -> Library {
    Library::load(&compiled(source)).unwrap()
}

/// Memory of so many bytes.
#[derive(Debug)]
struct Memory(AtomicUsize);

impl TaskMemory for Memory {
    fn reserve(&self, bytes: usize) -> bool {
        let take = |left: usize| left.checked_sub(bytes);
        self.0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, take)
            .is_ok()
    }

    fn release(&self, bytes: usize) {
        self.0.fetch_add(bytes, Ordering::Relaxed);
    }
}

/// The same, seen from outside.
#[derive(Debug, Clone)]
struct Seen(Arc<Memory>);

impl TaskMemory for Seen {
    fn reserve(&self, bytes: usize) -> bool {
        self.0.reserve(bytes)
    }

    fn release(&self, bytes: usize) {
        self.0.release(bytes);
    }
}

fn memory(bytes: usize) -> Seen {
    Seen(Arc::new(Memory(AtomicUsize::new(bytes))))
}

fn facts(memory: &Seen, cancellation: &Cancellation) -> TaskFacts {
    TaskFacts {
        time_zone: "Europe/Paris".to_owned(),
        ansi: true,
        stage_id: 4,
        partition_id: 5,
        attempt_number: 6,
        task_attempt_id: 7,
        cancellation: cancellation.clone(),
        memory: Box::new(memory.clone()),
    }
}

fn bound(function: &Arc<Function>) -> Instance {
    let facts = facts(&memory(1 << 20), &Cancellation::default());
    Instance::bind(function, 0, None, facts).unwrap()
}

fn ints(values: impl IntoIterator<Item = Option<i32>>) -> ArrayRef {
    Arc::new(values.into_iter().collect::<Int32Array>())
}

#[test]
fn good_libraries_keep_to_the_interface() {
    for source in [
        "examples/functions/c/haversine.c",
        "examples/functions/c/lines.c",
        "examples/functions/cpp/text.cpp",
        "tests/c/functions/frozen_v1/library.c",
        "tests/c/functions/older_library.c",
        "tests/c/functions/newer_library.c",
    ] {
        let findings = check(&loaded(source));
        assert!(findings.len() >= 9, "{source}: {findings:?}");
        let wrong: Vec<_> = findings.iter().filter(|of| of.problem.is_some()).collect();
        assert!(wrong.is_empty(), "{source}: {wrong:#?}");
        // Nothing is tried of which all is refused.
        let tried = findings.iter().filter(|of| of.refused.is_none()).count();
        assert!(tried * 2 > findings.len(), "{source}: {findings:#?}");
    }
}

#[test]
fn libraries_that_cannot_be_used_are_named_with_the_reason() {
    for (source, why) in [
        (
            "tests/c/functions/bad_symbol.c",
            "it has no firesteel_module_v1",
        ),
        ("tests/c/functions/bad_major.c", "of version "),
        (
            "tests/c/functions/bad_init.c",
            "failed: no licence for the model of 2019",
        ),
        (
            "tests/c/functions/bad_signature.c",
            "odd signature (array<int, text) -> int",
        ),
    ] {
        let path = compiled(source);
        let error = Library::load(&path).unwrap_err().to_string();
        assert!(error.contains(why), "{source}: {error}");
        assert!(error.contains(path.to_str().unwrap()), "{source}: {error}");
    }
    let error = Library::load(Path::new("/nowhere/libnothing.so")).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("/nowhere/libnothing.so cannot be loaded"),
        "{error}"
    );
}

#[test]
fn results_that_are_not_as_they_should_be_are_refused() {
    let library = loaded("tests/c/functions/bad_calls.c");
    for (name, why) in [
        ("too_few", "values for 4 rows"),
        ("too_many", "values for 4 rows"),
        ("wrong_buffers", "buffers and 0 children"),
        ("no_release", "without a release callback"),
        ("negative_length", "of length -"),
        ("dictionary_set", "and a dictionary"),
        ("untouched", "gave no array"),
        ("status_99", "the unknown status 99"),
        ("long_message", "failed: "),
        ("failed_with_result", "failed"),
    ] {
        let mut instance = bound(library.function(name).unwrap());
        let error = instance
            .execute(&[ints([Some(1), None, Some(3), Some(4)])], 4)
            .unwrap_err();
        let words = error.to_string();
        assert!(words.contains(why), "{name}: {words}");
        let title = format!("function '{name}' of libbad_calls.so (bad_calls 1.0)");
        assert!(words.starts_with(&title), "{words}");
        // No message is longer than a page.
        assert!(words.len() < 13_000, "{name}: {} bytes", words.len());
    }
    let mut offset = bound(library.function("with_offset").unwrap());
    let result = offset.execute(&[ints([Some(1), Some(2)])], 2).unwrap();
    assert_eq!((result.len(), result.null_count()), (2, 0));
    let mut groups = bound(library.function("wrong_groups").unwrap());
    groups
        .update(&[ints([Some(1)])], &UInt32Array::from(vec![0]), 3)
        .unwrap();
    let error = groups.finish(3).unwrap_err().to_string();
    assert!(error.contains("gave 2 values for 3 rows"), "{error}");
}

#[test]
fn streams_that_are_not_as_they_should_be_are_refused() {
    let library = loaded("tests/c/functions/bad_calls.c");
    let schema = Arc::new(Schema::new(vec![Field::new(
        "value",
        DataType::Int32,
        true,
    )]));
    let read = |name: &str| -> Result<usize, FunctionError> {
        let column = ints([Some(1), Some(2)]);
        let batch = RecordBatch::try_new(Arc::clone(&schema), vec![column]).unwrap();
        let batches = RecordBatchIterator::new([Ok(batch)], Arc::clone(&schema));
        let mut rows = bound(library.function(name).unwrap()).open(Box::new(batches))?;
        let mut count = 0;
        // One does not end; whoever has enough drops it.
        for _ in 0..100 {
            match rows.next_rows()? {
                Some(batch) => count += batch.num_rows(),
                None => break,
            }
        }
        Ok(count)
    };
    for (name, why) in [
        ("stream_fails", "failed: the third wheel came off"),
        ("stream_other_schema", "and said Struct"),
        ("stream_other_rows", "buffers"),
        ("stream_untouched", "gave no stream"),
    ] {
        let words = read(name).unwrap_err().to_string();
        assert!(words.contains(why), "{name}: {words}");
        assert!(words.contains("of libbad_calls.so"), "{words}");
    }
    assert_eq!(read("stream_endless").unwrap(), 100);
    // A stream need not take its input.
    read("stream_drops_input").unwrap();
    read("stream_drops_and_fails").unwrap_err();
}

#[test]
fn nulls_are_kept_from_functions_that_do_not_want_them() {
    let library = loaded("tests/c/functions/everything.c");
    let mut instance = bound(library.function("no_negatives").unwrap());
    let values = ints([Some(3), None, Some(4), None]).slice(1, 3);
    let result = instance.execute(&[values], 3).unwrap();
    let expected = Int32Array::from(vec![None, Some(4), None]);
    assert_eq!(result.as_primitive::<Int32Type>(), &expected);
    let error = instance
        .execute(&[ints([Some(3), None, Some(-4)])], 3)
        .unwrap_err();
    assert!(
        error
            .to_string()
            .contains("failed: -4 is negative (SQLSTATE 22023, row "),
        "{error}"
    );
    // A function that wants them gets them.
    let mut instance = bound(library.function("same_int").unwrap());
    let values = ints([None, Some(i32::MIN), None]);
    assert_eq!(
        &instance.execute(&[Arc::clone(&values)], 3).unwrap(),
        &values
    );
}

#[test]
fn functions_without_arguments_know_how_many_rows_there_are() {
    let library = loaded("tests/c/functions/everything.c");
    let mut instance = bound(library.function("answer").unwrap());
    let result = instance.execute(&[], 5).unwrap();
    assert_eq!((result.len(), result.null_count()), (5, 0));
    let mut instance = bound(library.function("task_of").unwrap());
    let result = instance.execute(&[], 1).unwrap();
    assert_eq!(
        result.as_string::<i32>().value(0),
        "stage=4 partition=5 attempt=6 id=7 zone=Europe/Paris ansi=1"
    );
}

#[test]
fn functions_have_the_memory_of_their_task() {
    let library = loaded("tests/c/functions/everything.c");
    let own = memory(1 << 20);
    for name in ["hog", "borrows"] {
        let facts = facts(&own, &Cancellation::default());
        let function = library.function(name).unwrap();
        let mut instance = Instance::bind(function, 0, None, facts).unwrap();
        let values: ArrayRef = Arc::new(Int64Array::from(vec![1000, 2000]));
        let result = instance.execute(&[values], 2);
        if name == "hog" {
            let error = result.unwrap_err();
            assert!(matches!(error, FunctionError::Refused(_)), "{error}");
            assert!(error.to_string().contains("has no memory"), "{error}");
        } else {
            result.unwrap();
        }
        drop(instance);
        // All of it is there again.
        assert_eq!(own.0.0.load(Ordering::Relaxed), 1 << 20, "{name}");
    }
    // What an aggregate keeps is taken, too.
    let facts = facts(&own, &Cancellation::default());
    let function = library.function("sum_of").unwrap();
    let mut instance = Instance::bind(function, 0, None, facts).unwrap();
    let count = 1_000_000;
    let values: ArrayRef = Arc::new(Int64Array::from(vec![1]));
    let groups = UInt32Array::from(vec![count - 1]);
    let error = instance.update(&[values], &groups, count).unwrap_err();
    assert!(error.to_string().contains("no memory"), "{error}");
    drop(instance);
    assert_eq!(own.0.0.load(Ordering::Relaxed), 1 << 20);
}

#[test]
fn functions_notice_that_their_task_is_cancelled() {
    let library = loaded("tests/c/functions/everything.c");
    let cancellation = Cancellation::default();
    let facts = facts(&memory(0), &cancellation);
    let function = library.function("until_cancelled").unwrap();
    let mut instance = Instance::bind(function, 0, None, facts).unwrap();
    let values: ArrayRef = Arc::new(Int64Array::from(vec![60_000]));
    let worker = std::thread::spawn(move || instance.execute(&[values], 1));
    std::thread::sleep(std::time::Duration::from_millis(50));
    cancellation.cancel("tired of waiting");
    let error = worker.join().unwrap().unwrap_err();
    assert!(matches!(error, FunctionError::Cancelled(_)), "{error}");
}

#[test]
fn groups_are_kept_apart() {
    let library = loaded("tests/c/functions/everything.c");
    let mut instance = bound(library.function("sum_of").unwrap());
    let values: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), Some(10), None, Some(100)]));
    for _ in 0..2 {
        let groups = UInt32Array::from(vec![0, 2, 2, 0]);
        instance.update(&[Arc::clone(&values)], &groups, 3).unwrap();
        let mut other = bound(library.function("sum_of").unwrap());
        other
            .update(&[values.slice(1, 3)], &UInt32Array::from(vec![0, 1, 0]), 2)
            .unwrap();
        let states = other.states(2).unwrap();
        let states = states.as_struct().columns().to_vec();
        instance
            .merge(&states, &UInt32Array::from(vec![2, 1]), 3)
            .unwrap();
        let result = instance.finish(3).unwrap();
        // A group of no rows has no sum, as in SQL.
        let expected = Int64Array::from(vec![Some(101), None, Some(120)]);
        assert_eq!(result.as_primitive::<Int64Type>(), &expected);
    }
}

#[test]
fn partition_functions_of_any_columns_are_given_those_of_the_input() {
    let library = loaded("tests/c/functions/everything.c");
    let columns = Fields::from(vec![
        Field::new("id", DataType::Int64, true),
        Field::new("value", DataType::Utf8, true),
    ]);
    let of_task = facts(&memory(0), &Cancellation::default());
    let function = library.function("pass_through").unwrap();
    let instance = Instance::bind(function, 0, Some(&columns), of_task).unwrap();
    let schema = Arc::new(Schema::new(columns));
    let batch = RecordBatch::try_new(
        Arc::clone(&schema),
        vec![
            Arc::new(Int64Array::from(vec![Some(1), None])) as ArrayRef,
            Arc::new(arrow::array::StringArray::from(vec![Some(""), Some("x")])),
        ],
    )
    .unwrap();
    let batches = [Ok(batch.clone()), Ok(batch.slice(1, 1))];
    let batches = RecordBatchIterator::new(batches, schema);
    let mut rows = instance.open(Box::new(batches)).unwrap();
    let first = rows.next_rows().unwrap().unwrap();
    assert_eq!(first.columns(), batch.columns());
    assert_eq!(rows.next_rows().unwrap().unwrap().num_rows(), 1);
    assert!(rows.next_rows().unwrap().is_none());
    // A function that says what it takes gets nothing else.
    let lines = loaded("examples/functions/c/lines.c");
    let function = lines.function("parse_pairs").unwrap();
    for (name, of, takes) in [
        ("other", DataType::Utf8, true),
        ("value", DataType::Int64, false),
    ] {
        let columns = Fields::from(vec![Field::new(name, of, true)]);
        let own = facts(&memory(0), &Cancellation::default());
        let bound = Instance::bind(function, 0, Some(&columns), own);
        let refused = matches!(bound, Err(FunctionError::NotApplicable(_)));
        assert_eq!(refused, !takes, "{name}");
    }
}

#[test]
fn distances_are_right() {
    let library = loaded("examples/functions/c/haversine.c");
    let mut instance = bound(library.function("haversine").unwrap());
    let column = |value| Arc::new(Float64Array::from(vec![value, f64::NAN])) as ArrayRef;
    let arguments = [48.8566, 2.3522, 40.7128, -74.0060].map(column);
    let result = instance.execute(&arguments, 2).unwrap();
    let result = result.as_primitive::<arrow::datatypes::Float64Type>();
    assert!((result.value(0) - 5837.0).abs() < 1.0, "{result:?}");
    assert!(result.value(1).is_nan());
}

#[test]
fn crashes_are_told_with_the_functions_name() {
    let source = "tests/c/functions/bad_calls.c";
    if let Ok(name) = std::env::var(CRASHES) {
        let mut instance = bound(loaded(source).function(&name).unwrap());
        let _ = instance.execute(&[ints([Some(1)])], 1);
        return;
    }
    for name in ["crash", "abort_me"] {
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args([
            "--exact",
            "crashes_are_told_with_the_functions_name",
            "--nocapture",
        ]);
        let output = child.env(CRASHES, name).output().unwrap();
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        let expected =
            format!("firesteel: crashed in function '{name}' of libbad_calls.so (bad_calls 1.0)");
        assert!(words.contains(&expected), "{name}: {words}");
        let signal = std::os::unix::process::ExitStatusExt::signal(&output.status);
        assert!(signal.is_some(), "{name}: {:?}", output.status);
    }
}

#[test]
fn exceptions_stay_in_the_library() {
    let library = loaded("tests/c/functions/throws.cpp");
    for (name, why) in [
        ("throws", "has a bug: thrown on purpose"),
        ("throws_number", "has a bug"),
        ("throws_no_memory", "has no memory"),
    ] {
        let mut instance = bound(library.function(name).unwrap());
        let error = instance
            .execute(&[ints([Some(1)])], 1)
            .unwrap_err()
            .to_string();
        assert!(error.contains(why), "{name}: {error}");
    }
    let mut instance = bound(library.function("throws_failure").unwrap());
    let error = instance
        .execute(&[ints([Some(11)])], 1)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("failed: 11 is more than 10 (SQLSTATE 22023"),
        "{error}"
    );
}

fn row_function(function: &str, version: &str) -> Result<RowFunction, String> {
    let path = compiled("tests/c/functions/everything.c");
    let marker = Marker {
        function: function.to_owned(),
        library: "libeverything.so".to_owned(),
        module: "everything".to_owned(),
        signature: 0,
        version: version.to_owned(),
    };
    let facts = facts(&memory(1 << 20), &Cancellation::default());
    RowFunction::bind(&path, &marker, facts)
}

#[test]
fn functions_are_called_row_by_row() {
    let row = |null: u64, value: i32| {
        let words = [null, u64::from(value.cast_unsigned())];
        words.map(u64::to_le_bytes).concat()
    };
    let mut same = row_function("same_int", "1.0").unwrap();
    assert_eq!(same.call(&row(0, -7)).unwrap(), Some(row(0, -7)));
    assert_eq!(same.call(&row(1, 0)).unwrap(), None);
    let mut none = row_function("answer", "1.0").unwrap();
    assert_eq!(none.call(&[]).unwrap(), Some(row(0, 42)));
    // What an instance keeps stays from row to row.
    let mut counter = row_function("counter", "1.0").unwrap();
    for number in 1..4 {
        assert_eq!(counter.call(&[]).unwrap(), Some(row(0, number)));
    }
    let mut positive = row_function("no_negatives", "1.0").unwrap();
    assert_eq!(positive.call(&row(0, 1)).unwrap(), Some(row(0, 1)));
    let error = positive.call(&row(0, -1)).unwrap_err();
    assert!(
        error.starts_with("function 'no_negatives' of libeverything.so (everything 1.0) failed: "),
        "{error}"
    );
    assert!(positive.call(&[0; 3]).is_err());
    for (function, version, why) in [
        (
            "same_int",
            "2.0",
            "libeverything.so is everything 1.0, and the job was written for everything 2.0",
        ),
        ("nothing", "1.0", "libeverything.so has no nothing"),
        (
            "sum_of",
            "1.0",
            "function 'sum_of' of libeverything.so (everything 1.0) is no scalar function",
        ),
    ] {
        assert_eq!(row_function(function, version).unwrap_err(), why);
    }
}

#[test]
fn signatures_are_types_of_spark() {
    let library = loaded("tests/c/functions/everything.c");
    for function in &library.functions {
        let words = (0..function.signatures.len()).map(|number| types_of(function, number, "UTC"));
        let scalar = matches!(function.kind, Kind::Scalar | Kind::Aggregate);
        for types in words.filter(|_| scalar) {
            let (arguments, result) = types.unwrap();
            let all = arguments.iter().chain([&result]);
            assert!(
                all.map(spark_json).all(|json| json.is_some()),
                "{function:?}"
            );
        }
    }
}
