//! Frames hold what went into them, as columns and as Spark's rows.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BinaryViewArray, BooleanArray, Date32Array, Decimal128Array,
    DurationMicrosecondArray, Float32Array, Float64Array, Int8Array, Int16Array, Int32Array,
    Int64Array, IntervalYearMonthArray, NullArray, RecordBatch, RecordBatchOptions,
    StringViewArray, Time64NanosecondArray, TimestampMicrosecondArray, UInt32Array,
};
use arrow::compute::take;
use bytes::Bytes;
use catalyst::{DataType, Decimal};
use proptest::prelude::*;
use rows::RowEncoder;
use rows::types::schema_of_types;

use crate::{ColumnTypes, Decoder, MAX_ROWS, Scatter, frame_rows};

const PARTITIONS: usize = 3;

fn decimal(precision: u8, scale: i8) -> DataType {
    DataType::Decimal(Decimal { precision, scale })
}

fn all_types() -> Vec<DataType> {
    vec![
        DataType::Null,
        DataType::Boolean,
        DataType::Byte,
        DataType::Short,
        DataType::Integer,
        DataType::Long,
        DataType::Float,
        DataType::Double,
        decimal(18, 2),
        decimal(38, 10),
        DataType::String,
        DataType::Binary,
        DataType::Date,
        DataType::Timestamp,
        DataType::TimestampNtz,
        DataType::YearMonthInterval,
        DataType::DayTimeInterval,
        DataType::Time(6),
    ]
}

/// A column of a type: `numbers` say what its values are.
fn array(of: &DataType, numbers: &[Option<i64>]) -> ArrayRef {
    let text = |number: i64| match number % 7 {
        0 => String::new(),
        1 => "a text that is longer than what a view holds".to_owned(),
        2 => "ß€𝄞".repeat(number.unsigned_abs() as usize % 9),
        _ => number.to_string(),
    };
    let floats = [0.0, -0.0, f64::NAN, f64::INFINITY, f64::MIN_POSITIVE, -1.5];
    let float = |number: i64| match floats.get(number.unsigned_abs() as usize % 9) {
        Some(float) => *float,
        None => number as f64 / 3.0,
    };
    let wide = |number: i64| match number % 5 {
        0 => 99_999_999_999_999_999_999_999_999_999_999_999_999,
        _ => i128::from(number),
    };
    let short = |number: i64| i128::from(number % 1_000_000_000_000_000_000);
    let numbers = numbers.iter().copied();
    let nulls = numbers
        .clone()
        .map(|number| number.map(|number| number as i32));
    match of {
        DataType::Null => Arc::new(NullArray::new(numbers.len())),
        DataType::Boolean => Arc::new(
            numbers
                .map(|n| n.map(|n| n % 2 == 0))
                .collect::<BooleanArray>(),
        ),
        DataType::Byte => Arc::new(numbers.map(|n| n.map(|n| n as i8)).collect::<Int8Array>()),
        DataType::Short => Arc::new(numbers.map(|n| n.map(|n| n as i16)).collect::<Int16Array>()),
        DataType::Integer => Arc::new(nulls.collect::<Int32Array>()),
        DataType::Long => Arc::new(numbers.collect::<Int64Array>()),
        DataType::Float => Arc::new(
            numbers
                .map(|n| n.map(|n| float(n) as f32))
                .collect::<Float32Array>(),
        ),
        DataType::Double => Arc::new(numbers.map(|n| n.map(float)).collect::<Float64Array>()),
        DataType::Decimal(Decimal { precision: 18, .. }) => {
            let array = numbers.map(|n| n.map(short)).collect::<Decimal128Array>();
            Arc::new(array.with_precision_and_scale(18, 2).unwrap())
        }
        DataType::Decimal(_) => {
            let array = numbers.map(|n| n.map(wide)).collect::<Decimal128Array>();
            Arc::new(array.with_precision_and_scale(38, 10).unwrap())
        }
        DataType::String => Arc::new(numbers.map(|n| n.map(text)).collect::<StringViewArray>()),
        DataType::Binary => {
            let bytes = numbers.map(|n| n.map(|n| n.to_le_bytes()[..n as usize % 8].to_vec()));
            Arc::new(bytes.collect::<BinaryViewArray>())
        }
        DataType::Date => Arc::new(nulls.collect::<Date32Array>()),
        DataType::Timestamp => Arc::new(
            numbers
                .collect::<TimestampMicrosecondArray>()
                .with_timezone("UTC"),
        ),
        DataType::TimestampNtz => Arc::new(numbers.collect::<TimestampMicrosecondArray>()),
        DataType::YearMonthInterval => Arc::new(nulls.collect::<IntervalYearMonthArray>()),
        DataType::Time(_) => Arc::new(numbers.collect::<Time64NanosecondArray>()),
        _ => Arc::new(numbers.collect::<DurationMicrosecondArray>()),
    }
}

fn batch(types: &[DataType], numbers: &[Option<i64>]) -> RecordBatch {
    let columns = types.iter().map(|of| array(of, numbers)).collect();
    let options = RecordBatchOptions::new().with_row_count(Some(numbers.len()));
    RecordBatch::try_new_with_options(schema_of_types(types).unwrap(), columns, &options).unwrap()
}

/// The rows of each reducer.
fn places(rows: usize) -> Vec<Vec<u32>> {
    let of = |partition: usize| {
        (0..rows as u32).filter(move |row| *row as usize * 7 % PARTITIONS == partition)
    };
    (0..PARTITIONS)
        .map(|partition| of(partition).collect())
        .collect()
}

/// Frames by reducer.
fn frames(types: &[DataType], batches: &[RecordBatch]) -> Vec<Vec<(Bytes, usize)>> {
    let mut scatter = Scatter::new(ColumnTypes::new(types).unwrap(), PARTITIONS, 1 << 10).unwrap();
    let mut frames = vec![Vec::new(); PARTITIONS];
    for batch in batches {
        for (partition, rows) in places(batch.num_rows()).iter().enumerate() {
            scatter.append(partition, batch, rows).unwrap();
        }
    }
    let done = scatter.take_all(|partition, frame, rows| {
        frames[partition].push((Bytes::copy_from_slice(frame), rows));
        Ok::<_, ()>(())
    });
    done.unwrap();
    let nothing = scatter.take_all(|partition, _, _| Err(partition));
    assert_eq!(nothing, Ok(()), "what was taken is gone");
    frames
}

fn decoded(mut decoder: Decoder, frames: &[(Bytes, usize)]) -> Vec<RecordBatch> {
    let mut batches = Vec::new();
    for (frame, _) in frames {
        decoder.push(frame.clone()).unwrap();
        while let Some(batch) = decoder.next().unwrap() {
            batches.push(batch);
        }
    }
    while let Some(batch) = decoder.finish().unwrap() {
        batches.push(batch);
    }
    batches
}

fn encoded(types: &[DataType], batches: &[RecordBatch]) -> Vec<u8> {
    let mut encoder = RowEncoder::new(types).unwrap();
    let rows = batches
        .iter()
        .map(|batch| encoder.encode(batch).unwrap().bytes().to_vec());
    rows.collect::<Vec<_>>().concat()
}

fn taken(batch: &RecordBatch, rows: &UInt32Array) -> RecordBatch {
    let columns = batch
        .columns()
        .iter()
        .map(|column| take(column, rows, None).unwrap());
    let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
    RecordBatch::try_new_with_options(batch.schema(), columns.collect(), &options).unwrap()
}

fn assert_back(types: &[DataType], batches: &[RecordBatch]) {
    let frames = frames(types, batches);
    for (partition, frames) in frames.iter().enumerate() {
        let sent = batches.iter().map(|batch| {
            let rows = UInt32Array::from(places(batch.num_rows())[partition].clone());
            taken(batch, &rows)
        });
        let sent = encoded(types, &sent.collect::<Vec<_>>());
        let read = decoded(Decoder::new(types).unwrap(), frames);
        assert!(read.iter().all(|batch| batch.num_rows() <= MAX_ROWS));
        assert!(encoded(types, &read) == sent, "as columns");
        let mut rows = Vec::new();
        for (frame, count) in frames {
            assert_eq!(frame_rows(frame, &mut rows).unwrap(), *count);
        }
        assert!(rows == sent, "as rows");
    }
}

fn pseudo_random(count: usize, distinct: u64) -> Vec<Option<i64>> {
    let numbers = (1..=count as u64).map(|n| n.wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(23));
    let numbers = numbers.map(|n| (n % distinct * 0x0123_4567_89AB) as i64);
    numbers.map(|n| (n % 11 != 3).then_some(n)).collect()
}

#[test]
fn all_types_come_back() {
    let types = all_types();
    for (count, distinct) in [(1, 9), (5, 3), (700, 4), (700, 1 << 40), (40_000, 1 << 20)] {
        let numbers = pseudo_random(count, distinct);
        assert_back(&types, &[batch(&types, &numbers)]);
        let full: Vec<_> = numbers.iter().map(|number| number.or(Some(-1))).collect();
        let none = vec![None; count];
        assert_back(
            &types,
            &[full, none, numbers].map(|numbers| batch(&types, &numbers)),
        );
    }
    assert_back(&types, &[batch(&types, &[])]);
    assert_back(&[], &[batch(&[], &[None; 20_000])]);
}

#[test]
fn some_columns_are_decoded() {
    let types = all_types();
    let batches = [batch(&types, &pseudo_random(500, 1 << 30))];
    let chosen = [10, 4, 4];
    for frames in frames(&types, &batches) {
        let read = decoded(Decoder::of_places(&types, &chosen).unwrap(), &frames);
        let all = decoded(Decoder::new(&types).unwrap(), &frames);
        for (read, all) in read.iter().zip(&all) {
            assert_eq!(read.columns(), all.project(&chosen).unwrap().columns());
        }
        let nothing = decoded(Decoder::of_places(&types, &[]).unwrap(), &frames);
        assert_eq!(
            nothing.iter().map(RecordBatch::num_rows).sum::<usize>(),
            frames.iter().map(|(_, rows)| rows).sum::<usize>()
        );
    }
    assert!(Decoder::of_places(&types, &[types.len()]).is_err());
}

#[test]
fn frames_are_small() {
    let types = [
        DataType::Long,
        DataType::Date,
        decimal(12, 2),
        DataType::String,
    ];
    let modes = ["AIR", "SHIP", "TRUCK", "REG AIR"];
    let count = 9_000_i64;
    let columns: Vec<ArrayRef> = vec![
        Arc::new((0..count).map(|n| Some(n / 4)).collect::<Int64Array>()),
        Arc::new(
            (0..count)
                .map(|n| Some((8_000 + n * 37 % 2_500) as i32))
                .collect::<Date32Array>(),
        ),
        Arc::new(
            (0..count)
                .map(|n| Some(i128::from(90_000 + n * 7_919 % 9_000_000)))
                .collect::<Decimal128Array>()
                .with_precision_and_scale(12, 2)
                .unwrap(),
        ),
        Arc::new(
            (0..count as usize)
                .map(|n| Some(modes[n * n % 7 % 4]))
                .collect::<StringViewArray>(),
        ),
    ];
    let batch = RecordBatch::try_new(schema_of_types(&types).unwrap(), columns).unwrap();
    let frames = frames(&types, &[batch]);
    let bytes: usize = frames.iter().flatten().map(|(frame, _)| frame.len()).sum();
    assert!(bytes < count as usize * 6, "{bytes}");
}

#[test]
fn other_columns_are_refused() {
    let types = [DataType::Long, DataType::String];
    let batch = batch(&types, &pseudo_random(90, 1 << 30));
    let other = [DataType::Long, DataType::Binary];
    let (frame, _) = &frames(&types, std::slice::from_ref(&batch))[0][0];
    let mut decoder = Decoder::new(&other).unwrap();
    decoder.push(frame.clone()).unwrap();
    assert!(decoder.finish().is_err());
    let mut scatter = Scatter::new(ColumnTypes::new(&other).unwrap(), 1, 0).unwrap();
    assert!(scatter.append(0, &batch, &[0]).is_err());
    let mut scatter = Scatter::new(ColumnTypes::new(&types).unwrap(), 1, 0).unwrap();
    assert!(scatter.append(0, &batch, &[90]).is_err());
    assert!(scatter.append(1, &batch, &[0]).is_err());
    assert!(
        scatter
            .append(0, &batch.project(&[0]).unwrap(), &[0])
            .is_err()
    );
}

#[test]
fn memory_is_counted_and_given_back() {
    let types = [DataType::Long, DataType::String];
    let batch = batch(&types, &pseudo_random(6_000, 1 << 30));
    let all: Vec<u32> = (0..6_000).collect();
    let mut scatter = Scatter::new(ColumnTypes::new(&types).unwrap(), 2, 1 << 10).unwrap();
    let waiting = scatter.append(1, &batch, &all).unwrap();
    assert!(waiting > 6_000 * 9 && scatter.memory() >= waiting - 6_000);
    let taken = scatter.take(1, |_, _| Ok::<_, ()>(()));
    assert_eq!(taken, Ok(()));
    assert!(scatter.memory() < waiting * 4);
    scatter.shrink();
    assert_eq!(scatter.memory(), 0);
    assert_eq!(scatter.append(1, &batch, &[]).unwrap(), 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_rows_come_back(
        numbers in proptest::collection::vec(proptest::option::weighted(0.8, any::<i64>()), 0..400),
        few in proptest::collection::vec(proptest::option::of(-9_i64..9), 0..400),
    ) {
        let types = all_types();
        assert_back(&types, &[batch(&types, &numbers), batch(&types, &few)]);
    }

    #[test]
    fn damage_is_no_panic(at in 0..100_000_usize, bits in 1..=255_u8) {
        let types = all_types();
        let (frame, _) = &frames(&types, &[batch(&types, &pseudo_random(600, 1 << 12))])[0][0];
        let mut frame = frame.to_vec();
        let at = at % frame.len();
        frame[at] ^= bits;
        let frame = Bytes::from(frame);
        let _ = frame_rows(&frame, &mut Vec::new());
        let mut decoder = Decoder::new(&types).unwrap();
        if decoder.push(frame).is_ok() {
            while matches!(decoder.finish(), Ok(Some(_))) {}
        }
    }
}

/// One column after the other of a frame of three rows, as `fuzz/seed-corpus.py` makes them: the format stays.
#[test]
fn every_form_is_read() {
    let long: Vec<u8> = [&[0, 0, 1][..], &(0..48).collect::<Vec<u8>>()].concat();
    let wide = "0x0f0e0d0c0b0a09080706050403020100";
    let cases: [(&[u8], &[u8], &str); 9] = [
        (&[5], &[0, 0, 0, 2, 2, 0x24], "1 2 3"),
        (&[4], &[0, 0, 2, 2, 10, 1, 2, 2, 1, 1], "5 5 6"),
        (
            &[11],
            &[0, 0, 1, 0, 2, 0],
            "1970-01-01 1970-01-02 1970-01-03",
        ),
        (&[9], &[0, 0, 0, 0, 2, 0, 3, 97, 98, 99], "a b c"),
        (&[9], &[1, 9, 0x90, 0, 0, 0, 2, 0, 3, 97, 98, 99], "a b c"),
        (
            &[9],
            &[0, 2, 5, 1, 2, 0, 2, 0, 2, 0x78, 0x79, 0, 0, 1, 2],
            "x  x",
        ),
        (&[8, 38, 2], &[0, 0, 0, 0, 2, 0], "0.01 0.01 0.01"),
        (&[1], &[0, 0, 0, 0, 1, 5], "true false true"),
        (&[0], &[0, 1], "  "),
    ];
    let read = |of: &[u8], payload: &[u8]| {
        let frame = [&[3, 1], of, &[payload.len() as u8], payload].concat();
        let mut input = crate::input::Input(of);
        let types = [crate::types::read_type(&mut input).unwrap()];
        let mut decoder = Decoder::new(&types).unwrap();
        decoder.push(frame.into()).unwrap();
        decoder.finish().unwrap().unwrap().column(0).clone()
    };
    for (of, payload, expected) in cases {
        let column = read(of, payload);
        let texts =
            (0..3).map(|row| arrow::util::display::array_value_to_string(&column, row).unwrap());
        assert_eq!(texts.collect::<Vec<_>>().join(" "), expected, "{payload:?}");
    }
    let column = read(&[8, 38, 2], &long);
    let wide = i128::from_str_radix(wide.trim_start_matches("0x"), 16).unwrap();
    let found = column.as_any().downcast_ref::<Decimal128Array>().unwrap();
    assert_eq!(found.value(0), wide);
}
