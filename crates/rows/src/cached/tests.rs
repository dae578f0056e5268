use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, BinaryViewArray, BooleanArray, Date32Array, Decimal128Array, Float64Array,
    Int16Array, Int32Array, Int64Array, ListArray, NullArray, RecordBatch, RecordBatchOptions,
    StringViewArray,
};
use arrow::datatypes::Int32Type;
use catalyst::{DataType, Decimal, Literal, StructField};
use datafusion_common::Result;
use javaser::Catalog;
use javaser::kryo::KryoForm;

use super::*;
use crate::RowEncoder;
use crate::types::schema_of_types;

fn decimal(precision: u8) -> DataType {
    DataType::Decimal(Decimal {
        precision,
        scale: 2,
    })
}

/// Columns of all ways to be kept, with nulls.
fn columns(rows: i64) -> (Vec<DataType>, Vec<ArrayRef>) {
    let some = |row: i64| (row % 5 != 3).then_some(row);
    let all = || (0..rows).map(some);
    let big = |row: i64| i128::from(row - 3) * 10_i128.pow(25);
    let decimals = |values: Decimal128Array, precision| {
        Arc::new(values.with_precision_and_scale(precision, 2).unwrap()) as ArrayRef
    };
    let list = DataType::Array {
        element: Box::new(DataType::Integer),
        contains_null: true,
    };
    let lists = all().map(|row| row.map(|row| (0..row % 4).map(|n| (n != 1).then_some(n as i32))));
    let columns: Vec<(DataType, ArrayRef)> = vec![
        (DataType::Null, Arc::new(NullArray::new(rows as usize))),
        (
            DataType::Boolean,
            Arc::new(
                all()
                    .map(|row| row.map(|row| row % 3 == 0))
                    .collect::<BooleanArray>(),
            ),
        ),
        (
            DataType::Short,
            Arc::new(
                all()
                    .map(|row| row.map(|row| (row / 50) as i16))
                    .collect::<Int16Array>(),
            ),
        ),
        (
            DataType::Integer,
            Arc::new(
                all()
                    .map(|row| row.map(|row| (row * 7) as i32))
                    .collect::<Int32Array>(),
            ),
        ),
        (
            DataType::Date,
            Arc::new(
                all()
                    .map(|row| row.map(|row| (row % 9) as i32 * 900))
                    .collect::<Date32Array>(),
            ),
        ),
        (
            DataType::Long,
            Arc::new(
                all()
                    .map(|row| row.map(|row| row << 40))
                    .collect::<Int64Array>(),
            ),
        ),
        (
            DataType::Double,
            Arc::new(
                all()
                    .map(|row| row.map(|row| [f64::NAN, -0.0, row as f64][row as usize % 3]))
                    .collect::<Float64Array>(),
            ),
        ),
        (
            decimal(10),
            decimals(all().map(|row| row.map(i128::from)).collect(), 10),
        ),
        (
            decimal(38),
            decimals(all().map(|row| row.map(big)).collect(), 38),
        ),
        (
            DataType::String,
            Arc::new(
                all()
                    .map(|row| row.map(|row| format!("{:.1$}", row % 7, (row % 7) as usize * 4)))
                    .collect::<StringViewArray>(),
            ),
        ),
        (
            DataType::Binary,
            Arc::new(
                all()
                    .map(|row| row.map(|row| vec![row as u8; row as usize % 20]))
                    .collect::<BinaryViewArray>(),
            ),
        ),
        (
            list,
            Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>(lists)),
        ),
    ];
    columns.into_iter().unzip()
}

fn batches(
    types: &[DataType],
    columns: &[ArrayRef],
    max_rows: i32,
    compressed: bool,
) -> Vec<CachedBatch> {
    let rows = columns.first().map_or(0, |column| column.len());
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    let schema = schema_of_types(types).unwrap();
    let batch = RecordBatch::try_new_with_options(schema, columns.to_vec(), &options).unwrap();
    let mut encoder = RowEncoder::new(types).unwrap();
    let mut builder = CachedBatchBuilder::new(types, max_rows, compressed).unwrap();
    let mut batches = builder.push(&encoder.encode(&batch).unwrap()).unwrap();
    batches.extend(builder.finish());
    batches
}

#[test]
fn what_is_cached_is_read_again() {
    let (types, columns) = columns(1000);
    for (max_rows, compressed) in [(10_000, true), (10_000, false), (300, true), (1, true)] {
        let batches = batches(&types, &columns, max_rows, compressed);
        assert_eq!(batches.len(), 1000_usize.div_ceil(max_rows as usize));
        let places: Vec<_> = (0..types.len()).rev().collect();
        let decoder = CachedBatchDecoder::new(&types, &places, max_rows).unwrap();
        let mut start = 0;
        for batch in &batches {
            let decoded = decoder.decode(batch).unwrap();
            for (column, place) in decoded.iter().zip(&places) {
                let expected = columns[*place].slice(start, batch.num_rows);
                // By bits: NaN is no value that is equal to itself.
                let (found, expected) = (column.to_data(), expected.to_data());
                match types[*place] {
                    DataType::Double => {
                        let bits = |data: &arrow::array::ArrayData| {
                            let values = Float64Array::from(data.clone());
                            let bits = values.iter().map(|value| value.map(f64::to_bits));
                            bits.collect::<Vec<_>>()
                        };
                        assert_eq!(bits(&found), bits(&expected));
                    }
                    _ => assert_eq!(found, expected, "{} {compressed}", types[*place]),
                }
            }
            start += batch.num_rows;
        }
        assert_eq!(start, 1000);
    }
}

#[test]
fn batches_end_after_4_mib() {
    let text: StringViewArray = (0..9).map(|_| Some("x".repeat(1 << 20))).collect();
    let batches = batches(&[DataType::String], &[Arc::new(text)], 10_000, true);
    let rows: Vec<_> = batches.iter().map(|batch| batch.num_rows).collect();
    assert_eq!(rows, [4, 4, 1]);
    assert_eq!(batches[0].size_in_bytes(), 4 * (4 + (1 << 20)));
    // Equal values: a run.
    assert_eq!(batches[0].buffers[0].len(), 4 + 4 + 4 + (1 << 20) + 4);
}

/// As Spark's `ColumnBuilder`s do, worked out by hand.
#[test]
fn the_scheme_that_saves_most_is_taken() {
    let ints = |values: Vec<Option<i32>>, compressed| {
        let values: ArrayRef = Arc::new(Int32Array::from(values));
        batches(&[DataType::Integer], &[values], 100, compressed).remove(0)
    };
    let le = |words: &[u32]| {
        words
            .iter()
            .flat_map(|word| word.to_le_bytes())
            .collect::<Vec<_>>()
    };
    let mut sevens = vec![Some(7); 5];
    sevens.insert(1, None);
    let batch = ints(sevens, true);
    assert_eq!(batch.buffers[0], le(&[1, 1, 1, 7, 5]));
    assert_eq!(
        batch.statistics,
        [ColumnStatistics {
            lower: Literal::Integer(7),
            upper: Literal::Integer(7),
            null_count: 1,
            count: 6,
            size_in_bytes: 24,
        }]
    );
    let differences = ints((0..20).map(|n| Some(n * 3)).collect(), true);
    let mut expected = le(&[0, 4]);
    expected.push(0x80);
    expected.extend([0; 4]);
    expected.extend([3; 19]);
    assert_eq!(differences.buffers[0], expected);
    let places = ints((0..40).map(|n| Some((n % 2) * 100_000)).collect(), true);
    assert_eq!(places.buffers[0][..20], le(&[0, 2, 2, 0, 100_000]));
    assert_eq!(places.buffers[0][20..24], [0, 0, 1, 0]);
    let plain = ints(vec![Some(1), Some(i32::MAX), Some(-5)], true);
    assert_eq!(
        plain.buffers[0],
        le(&[0, 0, 1, i32::MAX as u32, -5_i32 as u32])
    );
    assert_eq!(
        ints(vec![Some(7); 3], false).buffers[0],
        le(&[0, 0, 7, 7, 7])
    );
    let none = ints(vec![None, None], true);
    assert_eq!(none.buffers[0], le(&[2, 0, 1, 0]));
    assert_eq!(none.statistics[0].lower, Literal::Integer(i32::MAX));
    assert_eq!(none.statistics[0].upper, Literal::Integer(i32::MIN));
    assert_eq!(none.statistics[0].size_in_bytes, 8);
}

#[test]
fn damaged_batches_are_refused() {
    let (types, columns) = columns(40);
    let batch = batches(&types, &columns, 100, true).remove(0);
    let places: Vec<_> = (0..types.len()).collect();
    let decoder = CachedBatchDecoder::new(&types, &places, 100).unwrap();
    assert!(decoder.decode(&batch).is_ok());
    let mut more = batch.clone();
    more.num_rows = 101;
    assert!(decoder.decode(&more).is_err());
    let mut fewer = batch.clone();
    fewer.buffers.pop();
    assert!(decoder.decode(&fewer).is_err());
    for (column, of) in types.iter().enumerate() {
        for length in 0..batch.buffers[column].len() {
            let mut short = batch.clone();
            short.buffers[column].truncate(length);
            assert!(decoder.decode(&short).is_err(), "{} {length}", of);
        }
    }
}

/// A partition of a cached table on disk, as plain Spark wrote it: 60 rows as `tests/jobs/sql_cached.py` makes them,
/// and three columns more. Batches have 25 rows at most.
const OF_SPARK: [(&str, &[u8]); 2] = [
    ("3.5.9", include_bytes!("fixtures/3.5.9.bin")),
    ("4.3.0", include_bytes!("fixtures/4.3.0.bin")),
];

fn types_of_spark() -> Vec<DataType> {
    let array = |element| DataType::Array {
        element: Box::new(element),
        contains_null: true,
    };
    let field = |name: &str, data_type| StructField {
        name: name.to_owned(),
        data_type,
        nullable: true,
        field_id: None,
        exists_default: None,
    };
    vec![
        DataType::Long,
        DataType::Boolean,
        DataType::Byte,
        DataType::Short,
        DataType::Integer,
        DataType::Long,
        DataType::Float,
        DataType::Double,
        decimal(10),
        DataType::Decimal(Decimal {
            precision: 38,
            scale: 10,
        }),
        DataType::String,
        DataType::Binary,
        DataType::Date,
        DataType::Timestamp,
        DataType::TimestampNtz,
        DataType::YearMonthInterval,
        DataType::DayTimeInterval,
        array(DataType::Integer),
        array(array(DataType::String)),
        DataType::Map {
            key: Box::new(DataType::String),
            value: Box::new(DataType::Integer),
            value_contains_null: true,
        },
        DataType::Struct(vec![
            field("a", DataType::Integer),
            field("b", DataType::String),
        ]),
        DataType::Null,
        DataType::Long,
        DataType::Integer,
        DataType::String,
    ]
}

#[test]
fn batches_are_those_that_spark_makes() {
    let types = types_of_spark();
    for (version, stream) in OF_SPARK {
        let mut reader = CachedBatchReader::new(CachedBatchFormat::java(), stream, &types, true);
        let places: Vec<_> = (0..types.len()).collect();
        let decoder = CachedBatchDecoder::new(&types, &places, 25).unwrap();
        let mut encoder = RowEncoder::new(&types).unwrap();
        let mut builder = CachedBatchBuilder::new(&types, 25, true).unwrap();
        let (mut expected, mut found) = (Vec::new(), Vec::new());
        while let Some(batch) = reader.next_batch().unwrap() {
            let columns = decoder.decode(&batch).unwrap();
            let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows));
            let schema = schema_of_types(&types).unwrap();
            let rows = RecordBatch::try_new_with_options(schema, columns, &options).unwrap();
            found.extend(builder.push(&encoder.encode(&rows).unwrap()).unwrap());
            expected.push(batch);
        }
        found.extend(builder.finish());
        let rows: Vec<_> = expected.iter().map(|batch| batch.num_rows).collect();
        assert_eq!(rows, [25, 25, 10], "{version}");
        for (found, expected) in found.iter().zip(&expected) {
            for place in places.iter().copied() {
                let of = format!("{version}: column {place}, {}", types[place]);
                assert_eq!(found.buffers[place], expected.buffers[place], "{of}");
                assert_eq!(found.statistics[place], expected.statistics[place], "{of}");
            }
        }
        assert_eq!(found.len(), expected.len());
    }
}

#[test]
fn streams_end_where_they_may() {
    let read = |stream: &[u8]| {
        let mut reader =
            CachedBatchReader::new(CachedBatchFormat::java(), stream, &types_of_spark(), false);
        let mut batches = 0;
        while let Some(batch) = reader.next_batch().ok()? {
            assert!(batch.statistics.is_empty());
            batches += 1;
        }
        Some(batches)
    };
    let [(_, stream), _] = OF_SPARK;
    assert_eq!(read(stream), Some(3));
    assert_eq!(read(&[]), Some(0));
    assert_eq!(read(&stream[..4]), Some(0), "no batches");
    for length in (5..stream.len()).step_by(97) {
        assert_eq!(read(&stream[..length]), None, "{length}");
    }
    // Batches one by one, as ours are.
    let reset = [stream, &[0x79]].concat();
    assert_eq!(read(&[&reset[..], &reset[4..]].concat()), Some(6));
    assert_eq!(read(&[stream, &[0x74, 0, 1, b'x']].concat()), None);
}

fn all(format: CachedBatchFormat, stream: &[u8], types: &[DataType]) -> Result<Vec<CachedBatch>> {
    let mut reader = CachedBatchReader::new(format, stream, types, true);
    let mut batches = Vec::new();
    while let Some(batch) = reader.next_batch()? {
        batches.push(batch);
    }
    Ok(batches)
}

/// The same partitions, as Spark wrote them under Kryo.
#[test]
fn under_kryo_batches_are_those_that_spark_keeps() {
    let types = types_of_spark();
    let kryo = |fixed_width, references, of_itself| {
        let form = KryoForm {
            fixed_width,
            references,
        };
        CachedBatchFormat::kryo(form, of_itself)
    };
    let [old, new] =
        OF_SPARK.map(|(_, stream)| all(CachedBatchFormat::java(), stream, &types).unwrap());
    assert_eq!(old.len(), 3);
    for (expected, format, stream) in [
        (
            &old,
            kryo(true, true, false),
            &include_bytes!("fixtures/kryo-3.5.9-fixed.bin")[..],
        ),
        (
            &old,
            kryo(false, false, false),
            include_bytes!("fixtures/kryo-3.5.9-least.bin"),
        ),
        (
            &new,
            kryo(true, true, true),
            include_bytes!("fixtures/kryo-4.3.0-fixed.bin"),
        ),
        (
            &new,
            kryo(false, true, true),
            include_bytes!("fixtures/kryo-4.3.0-variable.bin"),
        ),
    ] {
        assert_eq!(&all(format, stream, &types).unwrap(), expected);
        assert!(all(format, &[stream, &[7]].concat(), &types).is_err());
        for length in (1..stream.len()).step_by(97) {
            let cut = all(format, &stream[..length], &types);
            assert!(cut.is_err(), "{length}");
        }
        // Ours have names where Spark has numbers, and no references.
        let mut written = Vec::new();
        for batch in expected {
            let catalog = Catalog::from_class_path(&[]).unwrap();
            format.write(&catalog, batch, &types, &mut written).unwrap();
        }
        assert_eq!(&all(format, &written, &types).unwrap(), expected);
    }
}
