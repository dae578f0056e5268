//! Operators on objects, whose JVM is one that gives the numbers that it is given, some twice and some not.

use std::collections::HashMap;
use std::sync::Mutex;

use arrow::array::{ArrayRef, AsArray, Int64Array, StringViewArray};
use arrow::datatypes::Int64Type;
use bytes::Bytes;
use catalyst::{Metric, ObjectOperator, ObjectsAnswer, ObjectsInput, OperatorKind, TaskInputs};
use datafusion_execution::config::SessionConfig;
use datafusion_execution::runtime_env::RuntimeEnvBuilder;
use rows::types::schema_of_types;

use super::*;
use crate::plan::NativeStage;
use crate::testing::{batch, column, local, operator, rows, run_with, stage, text};

/// What the JVM does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Does {
    /// Each number twice, but for those that 3 divides.
    Twice,
    /// One more for each.
    Append,
    /// The sum of all, when there are no more.
    Sum,
    /// A number, without end and without asking.
    Endless,
    /// Thrice how often it was asked, of a leaf of two answers.
    Scan,
    /// What is no answer to the question.
    Nonsense,
}

/// A JVM for operators on numbers.
#[derive(Debug)]
struct Jvm {
    does: Does,
    /// Of each partition, the sum of what it was given, and how often it was asked.
    running: Mutex<HashMap<u64, (i64, usize)>>,
}

fn made(numbers: Vec<i64>, passed: Vec<u64>, last: bool) -> ObjectsAnswer {
    let schema = schema_of_types([&DataType::Long]).unwrap();
    let numbers: ArrayRef = Arc::new(Int64Array::from(numbers));
    let batch = RecordBatch::try_new(schema, vec![numbers]).unwrap();
    let mut encoder = RowEncoder::new([&DataType::Long]).unwrap();
    let rows = encoder.encode(&batch).unwrap().bytes().to_vec();
    ObjectsAnswer::Made {
        rows: rows.into(),
        passed,
        last,
    }
}

fn numbers(rows: &[u8]) -> Vec<i64> {
    let mut decoder = RowDecoder::new([&DataType::Long]).unwrap();
    decoder.push(Bytes::copy_from_slice(rows));
    let mut all = Vec::new();
    let mut batches = Vec::new();
    while let Some(batch) = decoder.next().unwrap() {
        batches.push(batch);
    }
    batches.extend(decoder.finish().unwrap());
    for batch in batches {
        all.extend(batch.column(0).as_primitive::<Int64Type>().values());
    }
    all
}

impl Sources for Jvm {
    fn alive(&self) -> DataFusionResult<()> {
        Ok(())
    }

    fn jvm_objects(
        &self,
        call: &ObjectsCall,
        input: ObjectsInput<'_>,
    ) -> DataFusionResult<ObjectsAnswer> {
        let mut running = self.running.lock().unwrap();
        let (sum, asked) = running.entry(call.number).or_default();
        *asked += 1;
        Ok(match (self.does, input) {
            (Does::Endless, _) => made(vec![7; 10], vec![0], false),
            (Does::Nonsense, _) => made(vec![1], vec![], true),
            (Does::Scan, _) => {
                let scan = call.scan.as_ref().unwrap();
                assert_eq!(scan.partition, [7]);
                assert!(scan.schema.contains("\"long\""), "{}", scan.schema);
                let last = *asked == 2;
                made(vec![i64::try_from(*asked).unwrap(); 3], vec![4], last)
            }
            (_, ObjectsInput::Next) => ObjectsAnswer::Wanted(0),
            (Does::Sum, ObjectsInput::End) => made(vec![*sum], vec![0], true),
            (_, ObjectsInput::End) => made(Vec::new(), vec![0], true),
            (Does::Sum, ObjectsInput::Rows(rows)) => {
                *sum += numbers(rows).iter().sum::<i64>();
                ObjectsAnswer::Wanted(0)
            }
            (Does::Append, ObjectsInput::Rows(rows)) => {
                let all = numbers(rows).into_iter();
                made(all.map(|number| number + 1).collect(), vec![0], false)
            }
            (_, ObjectsInput::Rows(rows)) => {
                let all = numbers(rows).into_iter();
                let kept: Vec<_> = all.filter(|number| number % 3 != 0).collect();
                let passed = kept.len() as u64;
                let twice = kept.into_iter().flat_map(|number| [number, number]);
                made(twice.collect(), vec![passed], false)
            }
        })
    }
}

fn columns() -> [Attribute; 2] {
    [column(1, DataType::String), column(2, DataType::Long)]
}

/// Operators over a text and a number, of which they are given the number.
fn operators(appends: bool) -> Operator {
    let made = column(9, DataType::Long);
    let objects = Objects {
        chain: vec![
            ObjectOperator::DeserializeToObject,
            ObjectOperator::SerializeFromObject,
        ],
        stream: vec![0xac, 0xed],
        leaf: None,
        inputs: vec![vec![columns()[1].clone()]],
        made: vec![made.clone()],
        appends,
        filters: 1,
        accumulates: false,
        parts: Vec::new(),
    };
    let kind = OperatorKind::Objects {
        objects: Box::new(objects),
        children: vec![*local(0, &columns())],
    };
    let output = match appends {
        true => [&columns()[..], &[made]].concat(),
        false => vec![made],
    };
    let mut root = operator(kind, output);
    root.metrics = vec![Metric {
        name: Objects::passed(0),
        accumulator: 5,
    }];
    root
}

fn input(count: i64) -> TaskInputs {
    let texts: StringViewArray = (0..count).map(|n| Some(format!("t{n}"))).collect();
    let numbers: Int64Array = (0..count).collect();
    let arrays: Vec<ArrayRef> = vec![Arc::new(texts), Arc::new(numbers)];
    let rows = rows(&columns(), &[batch(&columns(), arrays)]);
    TaskInputs::Leaf(0, rows)
}

/// The rows of a plan and its metrics.
fn ran(root: Operator, does: Does, count: i64) -> (Vec<String>, Vec<(i64, i64)>) {
    let native = NativeStage::new(stage(root, Inputs::Leaf(0), true)).unwrap();
    let running = Mutex::default();
    let task = native.task(&input(count), Arc::new(Jvm { does, running }));
    let task = task.unwrap();
    let config = SessionConfig::new().with_batch_size(64);
    let batches = run_with(&task, RuntimeEnvBuilder::new(), config).unwrap();
    for batch in &batches {
        assert_eq!(batch.schema(), native.schema());
    }
    (text(&batches), task.metrics())
}

#[test]
fn rows_go_there_as_they_are_wanted() {
    let (rows, metrics) = ran(operators(false), Does::Twice, 200);
    let expected: Vec<_> = (0..200)
        .filter(|n| n % 3 != 0)
        .flat_map(|n| [n, n])
        .collect();
    let expected: Vec<_> = expected.iter().map(ToString::to_string).collect();
    assert_eq!(rows, expected);
    assert_eq!(metrics, [(5, 133)]);
    // Whatever comes of all rows, or of none.
    assert_eq!(ran(operators(false), Does::Sum, 1000).0, ["499500"]);
    assert_eq!(ran(operators(false), Does::Sum, 0).0, ["0"]);
    assert_eq!(ran(operators(false), Does::Twice, 0).0, [""; 0]);
}

#[test]
fn columns_come_behind_their_rows() {
    let (rows, _) = ran(operators(true), Does::Append, 150);
    let expected: Vec<_> = (0..150).map(|n| format!("t{n} {n} {}", n + 1)).collect();
    assert_eq!(rows, expected);
}

#[test]
fn rows_of_a_leaf_come_as_they_are_made() {
    let scan = |leaf| {
        let mut root = operators(false);
        let OperatorKind::Objects { objects, children } = &mut root.kind else {
            unreachable!();
        };
        objects.chain = vec![ObjectOperator::Scan];
        objects.leaf = Some(leaf);
        objects.inputs.clear();
        children.clear();
        root
    };
    let native = NativeStage::new(stage(scan(0), Inputs::Leaf(0), true)).unwrap();
    let task = |input| {
        let jvm = Jvm {
            does: Does::Scan,
            running: Mutex::default(),
        };
        native.task(&TaskInputs::Leaf(0, input), Arc::new(jvm))
    };
    let given = task(LeafInput::Object(vec![7])).unwrap();
    let batches = run_with(&given, RuntimeEnvBuilder::new(), SessionConfig::new()).unwrap();
    assert_eq!(text(&batches), ["1", "1", "1", "2", "2", "2"]);
    assert_eq!(given.metrics(), [(5, 8)]);
    assert!(task(LeafInput::Slice(0)).is_err());
    // A leaf has no inputs.
    let mut other = scan(0);
    if let OperatorKind::Objects { children, .. } = &mut other.kind {
        children.push(*local(0, &columns()));
    }
    assert!(NativeStage::new(stage(other, Inputs::Leaf(0), true)).is_err());
}

#[test]
fn no_more_is_made_than_is_wanted() {
    let limited = operator(
        OperatorKind::Limit {
            limit: 25,
            offset: 0,
            child: Box::new(operators(false)),
        },
        vec![column(9, DataType::Long)],
    );
    assert_eq!(ran(limited, Does::Endless, 3).0, ["7"; 25]);
}

#[test]
fn other_answers_are_bailed_out_of() {
    for (appends, does) in [(false, Does::Nonsense), (true, Does::Twice)] {
        let native = NativeStage::new(stage(operators(appends), Inputs::Leaf(0), true)).unwrap();
        let running = Mutex::default();
        let task = native
            .task(&input(10), Arc::new(Jvm { does, running }))
            .unwrap();
        let failed = run_with(&task, RuntimeEnvBuilder::new(), SessionConfig::new());
        assert!(failed.is_err(), "{does:?}");
    }
}

#[test]
fn objects_of_which_no_rows_are_made_are_refused() {
    let mut root = operators(false);
    if let OperatorKind::Objects { objects, .. } = &mut root.kind {
        objects.stream.clear();
    }
    assert!(NativeStage::new(stage(root, Inputs::Leaf(0), true)).is_err());
}
