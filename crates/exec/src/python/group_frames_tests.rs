use arrow::array::{AsArray, Int64Array, RecordBatch};
use arrow::datatypes::{DataType as ArrowType, Field, Int64Type, Schema};
use arrow::ipc::reader::StreamReader;
use catalyst::{Attribute, DataType, Expr, ExprId};
use datafusion_execution::memory_pool::{MemoryConsumer, MemoryPool, UnboundedMemoryPool};
use datafusion_physical_plan::stream::RecordBatchStreamAdapter;

use super::*;
use crate::expr::lower;

fn columns() -> Vec<Attribute> {
    let column = |(name, id): (&str, i64)| Attribute {
        name: name.to_owned(),
        data_type: DataType::Long,
        nullable: true,
        id: ExprId { id, jvm_id: 0 },
    };
    [("k", 0), ("v", 1)].map(column).to_vec()
}

/// Rows of a key and a value, in batches; the function is given the values.
fn side(batches: &[&[(Option<i64>, i64)]], pool: &Arc<dyn MemoryPool>) -> Side {
    let fields = ["k", "v"].map(|name| Field::new(name, ArrowType::Int64, true));
    let schema = Arc::new(Schema::new(fields.to_vec()));
    let batches = batches.iter().map(|rows| {
        let keys = Int64Array::from_iter(rows.iter().map(|(key, _)| *key));
        let values = Int64Array::from_iter_values(rows.iter().map(|(_, value)| *value));
        let columns: Vec<ArrayRef> = vec![Arc::new(keys), Arc::new(values)];
        Ok(RecordBatch::try_new(Arc::clone(&schema), columns).unwrap())
    });
    let batches: Vec<Result<RecordBatch>> = batches.collect();
    let stream = RecordBatchStreamAdapter::new(Arc::clone(&schema), futures::stream::iter(batches));
    let [key, value] = &columns()[..] else {
        unreachable!();
    };
    let keys = GroupKeys::new([Expr::attribute(key.clone())], &columns()).unwrap();
    let argument = lower(&Expr::attribute(value.clone()), &columns()).unwrap();
    let given = Schema::new(vec![Field::new("v", ArrowType::Int64, true)]);
    Side::new(
        Box::pin(stream),
        Arc::new(keys),
        Arc::from([argument]),
        BatchWriter::new(given, None).unwrap(),
        MemoryConsumer::new("test").register(pool),
    )
}

fn pool() -> Arc<dyn MemoryPool> {
    Arc::new(UnboundedMemoryPool::default())
}

fn bytes(frames: &mut GroupFrames) -> Vec<u8> {
    frames.flat_map(|frame| frame.unwrap()).collect()
}

/// The batches of a stream at the beginning of some bytes, which it takes away.
fn stream(bytes: &mut &[u8]) -> Vec<Vec<i64>> {
    let mut reader = StreamReader::try_new(&mut *bytes, None).unwrap();
    let batches: Vec<_> = reader.by_ref().map(|batch| batch.unwrap()).collect();
    let values = |batch: &RecordBatch| {
        let column = batch.column(0).as_primitive::<Int64Type>();
        column.values().to_vec()
    };
    batches.iter().map(values).collect()
}

fn number(bytes: &mut &[u8]) -> i32 {
    let (number, rest) = bytes.split_first_chunk().unwrap();
    *bytes = rest;
    i32::from_be_bytes(*number)
}

/// The inputs of each group.
fn groups(bytes: &[u8]) -> Vec<Vec<Vec<Vec<i64>>>> {
    let mut rest = bytes;
    let mut all = Vec::new();
    loop {
        match number(&mut rest) {
            0 => {
                assert_eq!(rest.len(), 0);
                return all;
            }
            inputs => all.push((0..inputs).map(|_| stream(&mut rest)).collect()),
        }
    }
}

const ROWS: &[&[(Option<i64>, i64)]] = &[
    &[(None, 0), (None, 1), (Some(1), 2)],
    &[],
    &[(Some(1), 3), (Some(1), 4)],
    &[(Some(1), 5)],
    &[(Some(2), 6), (Some(5), 7)],
];

#[test]
fn a_group_is_a_batch_of_one_stream() {
    let pool = pool();
    let sent = Count::new();
    let mut frames = GroupFrames::new(vec![side(ROWS, &pool)], Form::Batches, false, sent.clone());
    assert!(frames.has_rows().unwrap());
    let all = bytes(&mut frames);
    let mut rest = &all[..];
    let expected = [vec![0, 1], vec![2, 3, 4, 5], vec![6], vec![7]];
    assert_eq!(stream(&mut rest), expected);
    assert!(rest.is_empty());
    // What stands around batches is not counted.
    let start = side(ROWS, &pool).writer.start().len();
    assert_eq!(sent.value(), all.len() - start - END_OF_STREAM.len());
    assert_eq!(pool.reserved(), 0);
}

#[test]
fn a_group_is_a_stream_of_its_own_of_batches_as_long_as_allowed() {
    let pool = pool();
    for (most, second) in [
        (2, vec![vec![2, 3], vec![4, 5]]),
        (3, vec![vec![2, 3, 4], vec![5]]),
        (100, vec![vec![2, 3, 4, 5]]),
    ] {
        let form = Form::Streams(Some(most));
        let mut frames = GroupFrames::new(vec![side(ROWS, &pool)], form, true, Count::new());
        let expected = [vec![vec![0, 1]], second, vec![vec![6]], vec![vec![7]]];
        assert_eq!(
            groups(&bytes(&mut frames)),
            expected.map(|group| vec![group])
        );
    }
    assert_eq!(pool.reserved(), 0);
}

#[test]
fn groups_of_two_inputs_come_in_the_order_of_their_keys() {
    let pool = pool();
    let other: &[&[(Option<i64>, i64)]] = &[&[(Some(0), 10), (Some(1), 11)], &[(Some(1), 12)]];
    let none = || vec![vec![]];
    let one = |values: &[i64]| vec![values.to_vec()];
    for form in [Form::Streams(None), Form::Streams(Some(100))] {
        let sides = vec![side(ROWS, &pool), side(other, &pool)];
        let sent = Count::new();
        let mut frames = GroupFrames::new(sides, form, true, sent.clone());
        let expected = [
            vec![one(&[0, 1]), none()],
            vec![none(), one(&[10])],
            vec![one(&[2, 3, 4, 5]), one(&[11, 12])],
            vec![one(&[6]), none()],
            vec![one(&[7]), none()],
        ];
        let all = bytes(&mut frames);
        assert_eq!(groups(&all), expected);
        assert_eq!(sent.value(), all.len() - 4);
    }
    assert_eq!(pool.reserved(), 0);
}

#[test]
fn no_rows_are_no_groups() {
    let pool = pool();
    let mut frames = GroupFrames::new(
        vec![side(&[&[]], &pool), side(&[], &pool)],
        Form::Streams(None),
        true,
        Count::new(),
    );
    assert!(!frames.has_rows().unwrap());
    assert_eq!(bytes(&mut frames), 0i32.to_be_bytes());
}
