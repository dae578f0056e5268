//! Scans of timestamps of 96 bits, as Spark writes them by default.

use std::fs::File;
use std::sync::Arc;

use parquet::data_type::{Int96, Int96Type};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

use super::*;

/// 1970-01-01.
const EPOCH: i32 = 2_440_588;

/// Nanoseconds of Julian days, in a column `at`; a null behind them.
fn write_int96(name: &str, values: &[(i32, u64)], spark: &[(&str, &str)]) -> Written {
    let path = std::env::temp_dir().join(format!("scan-{name}-{}.parquet", std::process::id()));
    let pairs = spark.iter().map(|(key, value)| {
        KeyValue::new(format!("org.apache.spark.{key}"), Some((*value).to_owned()))
    });
    let properties = WriterProperties::builder()
        .set_key_value_metadata(Some(pairs.collect()))
        .build();
    let schema = parse_message_type("message m { optional int96 at; }").unwrap();
    let file = File::create(&path).unwrap();
    let mut writer =
        SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties)).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    let values: Vec<_> = values
        .iter()
        .map(|(day, nanos)| {
            let mut value = Int96::new();
            value.set_data(*nanos as u32, (*nanos >> 32) as u32, *day as u32);
            value
        })
        .collect();
    let levels: Vec<i16> = (0..=values.len())
        .map(|at| i16::from(at < values.len()))
        .collect();
    column
        .typed::<Int96Type>()
        .write_batch(&values, Some(&levels), None)
        .unwrap();
    column.close().unwrap();
    group.close().unwrap();
    writer.close().unwrap();
    let size = i64::try_from(std::fs::metadata(&path).unwrap().len()).unwrap();
    Written { path, size }
}

fn read_at(root: Operator, file: &Written) -> Result<Vec<String>, RunError> {
    read(root, file, &[(0, file.size)]).map(|(rows, _)| rows)
}

fn timestamps() -> Operator {
    scan(&[("at", DataType::Timestamp)], false)
}

#[test]
fn timestamps_of_96_bits_are_cut_to_microseconds() {
    // The last is of the year 9999: no nanoseconds since 1970 would fit.
    let values = [
        (EPOCH, 0),
        (EPOCH - 1, 86_399_999_999_999),
        (EPOCH + 2_932_896, 1_999),
    ];
    let file = write_int96("int96", &values, &[("version", "3.5.9")]);
    let expected = [
        "1970-01-01T00:00:00Z",
        "1969-12-31T23:59:59.999999Z",
        "9999-12-31T00:00:00.000001Z",
        "null",
    ];
    assert_eq!(read_at(timestamps(), &file).unwrap(), expected);
    let other = read_at(scan(&[("at", DataType::TimestampNtz)], false), &file);
    assert!(matches!(other, Err(RunError::BailOut(_))), "{other:?}");
}

#[test]
fn old_timestamps_of_96_bits_are_left_to_spark() {
    // Days of the year 1800.
    let old = [(EPOCH - 62_000, 0)];
    let of = |name, spark: &[(&str, &str)]| {
        let file = write_int96(name, &old, spark);
        read_at(timestamps(), &file).is_ok()
    };
    assert!(of(
        "int96-new",
        &[("version", "3.1.0"), ("legacyDateTime", "")]
    ));
    assert!(!of(
        "int96-legacy",
        &[("version", "3.1.0"), ("legacyINT96", "")]
    ));
    assert!(!of("int96-old", &[("version", "3.0.3")]));
    assert!(!of("int96-other", &[]));
}

#[test]
fn timestamps_that_spark_moves_are_left_to_it() {
    let file = write_int96("int96-moved", &[(EPOCH, 0)], &[("version", "3.5.9")]);
    let mut root = timestamps();
    let OperatorKind::FileSourceScan(scan) = &mut root.kind else {
        panic!("{root:?}");
    };
    let FileFormat::Parquet(options) = &mut scan.format else {
        panic!("{root:?}");
    };
    options.timestamp_conversion = true;
    assert!(read_at(root, &file).is_err());
}
