use std::sync::Arc;

use arrow::array::types::{
    Date32Type, DurationMicrosecondType, Float64Type, Int32Type, IntervalYearMonthType,
    Time64MicrosecondType, Time64NanosecondType, TimestampMicrosecondType,
};
use arrow::array::{
    Array, ArrayRef, AsArray, Float64Array, Int32Array, PrimitiveArray, RecordBatch, StructArray,
};
use arrow::datatypes::ArrowPrimitiveType;
use bytes::Bytes;
use catalyst::{Attribute, DataType, Decimal, ExprId, Literal, StructField};
use datafusion_execution::memory_pool::{
    GreedyMemoryPool, MemoryConsumer, MemoryPool, UnboundedMemoryPool,
};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::{LogicalType, TimeUnit, Type as Physical};
use parquet::file::metadata::ParquetMetaData;
use parquet::schema::printer::print_schema;
use rows::error::RunError;
use rows::types::{schema_of, timestamp};

use super::*;

fn column(name: &str, data_type: DataType, nullable: bool) -> Attribute {
    Attribute {
        name: name.to_owned(),
        data_type,
        nullable,
        id: ExprId { id: 1, jvm_id: 1 },
    }
}

fn options() -> ParquetOptions {
    ParquetOptions {
        codec: Codec::Snappy,
        timestamps: TimestampFormat::Int96,
        refuses_ancient: true,
        refuses_ancient_int96: true,
        dictionaries: true,
        row_group_bytes: 128 << 20,
        spark_version: "4.3.0".to_owned(),
        columns: "{}".to_owned(),
    }
}

fn pool() -> Arc<dyn MemoryPool> {
    Arc::new(UnboundedMemoryPool::default())
}

fn write(
    columns: &[Attribute],
    options: &ParquetOptions,
    batches: &[Vec<ArrayRef>],
    pool: &Arc<dyn MemoryPool>,
) -> std::result::Result<Bytes, RunError> {
    let format = ParquetFormat::new(columns, options).unwrap();
    let memory = MemoryConsumer::new("test").register(pool);
    let mut writer = format.writer(Vec::new(), memory).map_err(RunError::of)?;
    let places: Vec<_> = (0..columns.len()).collect();
    for arrays in batches {
        let batch = RecordBatch::try_new(schema_of(columns).unwrap(), arrays.clone()).unwrap();
        let kept = format.columns(&batch, &places).map_err(RunError::of)?;
        writer.write(&kept).map_err(RunError::of)?;
    }
    let bytes = writer.finish().map_err(RunError::of)?;
    Ok(bytes.into())
}

fn one(of: DataType, nullable: bool, array: ArrayRef) -> std::result::Result<Bytes, RunError> {
    let columns = [column("c", of, nullable)];
    write(&columns, &options(), &[vec![array]], &pool())
}

fn footer(file: &Bytes) -> Arc<ParquetMetaData> {
    let builder = ParquetRecordBatchReaderBuilder::try_new(file.clone()).unwrap();
    Arc::clone(builder.metadata())
}

fn read(file: &Bytes) -> Vec<RecordBatch> {
    let builder = ParquetRecordBatchReaderBuilder::try_new(file.clone()).unwrap();
    builder
        .build()
        .unwrap()
        .map(|batch| batch.unwrap())
        .collect()
}

fn schema(file: &Bytes) -> String {
    let mut out = Vec::new();
    print_schema(&mut out, footer(file).file_metadata().schema());
    String::from_utf8(out).unwrap()
}

fn numbers<T: ArrowPrimitiveType>(values: Vec<Option<T::Native>>) -> ArrayRef
where
    PrimitiveArray<T>: From<Vec<Option<T::Native>>>,
{
    Arc::new(PrimitiveArray::<T>::from(values))
}

#[test]
fn columns_have_the_types_that_spark_gives_them() {
    let decimal = |precision| {
        DataType::Decimal(Decimal {
            precision,
            scale: 2,
        })
    };
    let field = |name: &str, data_type, nullable| StructField {
        name: name.to_owned(),
        data_type,
        nullable,
        field_id: None,
        exists_default: None,
    };
    let list = DataType::Array {
        element: Box::new(DataType::String),
        contains_null: false,
    };
    let map = DataType::Map {
        key: Box::new(DataType::Byte),
        value: Box::new(decimal(10)),
        value_contains_null: true,
    };
    let structure = DataType::Struct(vec![
        field("x", DataType::Timestamp, true),
        field("y", list, false),
    ]);
    let all = [
        ("bo", DataType::Boolean, true),
        ("sm", DataType::Short, false),
        ("da", DataType::Date, true),
        ("ym", DataType::YearMonthInterval, true),
        ("ds", DataType::DayTimeInterval, true),
        ("nt", DataType::TimestampNtz, true),
        ("d9", decimal(9), true),
        ("d38", decimal(38), true),
        ("bi", DataType::Binary, true),
        ("ma", map, true),
        ("st", structure, true),
    ];
    let columns = all.map(|(name, of, nullable)| column(name, of, nullable));
    let file = write(&columns, &options(), &[], &pool()).unwrap();
    let expected = "message spark_schema {
  OPTIONAL BOOLEAN bo;
  REQUIRED INT32 sm (INTEGER(16,true));
  OPTIONAL INT32 da (DATE);
  OPTIONAL INT32 ym;
  OPTIONAL INT64 ds;
  OPTIONAL INT64 nt (TIMESTAMP(MICROS,false));
  OPTIONAL INT32 d9 (DECIMAL(9,2));
  OPTIONAL FIXED_LEN_BYTE_ARRAY (16) d38 (DECIMAL(38,2));
  OPTIONAL BYTE_ARRAY bi;
  OPTIONAL group ma (MAP) {
    REPEATED group key_value {
      REQUIRED INT32 key (INTEGER(8,true));
      OPTIONAL INT64 value (DECIMAL(10,2));
    }
  }
  OPTIONAL group st {
    OPTIONAL INT96 x;
    REQUIRED group y (LIST) {
      REPEATED group list {
        REQUIRED BYTE_ARRAY element (STRING);
      }
    }
  }
}
";
    assert_eq!(schema(&file), expected);
    let footer = footer(&file);
    let said = footer.file_metadata();
    assert!(
        said.created_by()
            .unwrap()
            .starts_with("parquet-mr-compatible")
    );
    let pairs = said.key_value_metadata().unwrap();
    let version = pairs
        .iter()
        .find(|pair| pair.key == "org.apache.spark.version");
    assert_eq!(version.unwrap().value.as_deref(), Some("4.3.0"));
}

#[test]
fn timestamps_are_kept_in_each_of_three_formats() {
    let micros = vec![Some(0), Some(-1), Some(1_600_000_000_123_456), None];
    let array = PrimitiveArray::<TimestampMicrosecondType>::from(micros.clone());
    let array: ArrayRef = Arc::new(array.with_data_type(timestamp()));
    let columns = [column("at", DataType::Timestamp, true)];
    for (timestamps, divisor) in [
        (TimestampFormat::Int96, 1),
        (TimestampFormat::Micros, 1),
        (TimestampFormat::Millis, 1000),
    ] {
        let options = ParquetOptions {
            timestamps,
            ..options()
        };
        let file = write(&columns, &options, &[vec![Arc::clone(&array)]], &pool()).unwrap();
        let batch = &read(&file)[0];
        let to = arrow::datatypes::DataType::Timestamp(
            arrow::datatypes::TimeUnit::Microsecond,
            Some("UTC".into()),
        );
        let found = arrow::compute::cast(batch.column(0), &to).unwrap();
        let found: Vec<_> = found
            .as_primitive::<TimestampMicrosecondType>()
            .iter()
            .collect();
        let expected: Vec<_> = micros
            .iter()
            .map(|of| of.map(|micros: i64| micros.div_euclid(divisor) * divisor))
            .collect();
        assert_eq!(found, expected, "{timestamps:?}");
        let footer = footer(&file);
        let chunk = footer.row_group(0).column(0);
        if timestamps == TimestampFormat::Int96 {
            assert_eq!(chunk.column_type(), Physical::INT96);
            assert!(chunk.statistics().is_none());
            assert_eq!(chunk.column_index_offset(), None);
        } else {
            assert!(chunk.statistics().is_some());
        }
    }
}

#[test]
fn bounds_are_not_told_of_what_has_a_nan() {
    let file = |values: Vec<f64>| {
        one(
            DataType::Double,
            false,
            Arc::new(Float64Array::from(values)),
        )
        .unwrap()
    };
    let with = footer(&file(vec![1.0, f64::NAN, 3.0]));
    assert!(with.row_group(0).column(0).statistics().is_none());
    assert_eq!(with.row_group(0).column(0).column_index_offset(), None);
    let file = file(vec![1.0, 3.0]);
    assert!(footer(&file).row_group(0).column(0).statistics().is_some());
    let found: Vec<_> = read(&file)[0]
        .column(0)
        .as_primitive::<Float64Type>()
        .values()
        .to_vec();
    assert_eq!(found, [1.0, 3.0]);
}

#[test]
fn intervals_are_plain_numbers() {
    let months = numbers::<IntervalYearMonthType>(vec![Some(14), None, Some(-9)]);
    let file = one(DataType::YearMonthInterval, true, months).unwrap();
    let found: Vec<_> = read(&file)[0]
        .column(0)
        .as_primitive::<Int32Type>()
        .iter()
        .collect();
    assert_eq!(found, [Some(14), None, Some(-9)]);
    let micros = numbers::<DurationMicrosecondType>(vec![Some(1), None]);
    let file = one(DataType::DayTimeInterval, true, micros).unwrap();
    assert_eq!(
        footer(&file).row_group(0).column(0).column_type(),
        Physical::INT64
    );
}

#[test]
fn times_have_the_digits_of_their_type() {
    let nanos = || numbers::<Time64NanosecondType>(vec![Some(1_234_567), None]);
    let micros = one(DataType::Time(6), true, nanos()).unwrap();
    let column = footer(&micros).row_group(0).column(0).clone();
    let unit = |unit| Some(LogicalType::time(false, unit));
    assert_eq!(
        column.column_descr().logical_type_ref().cloned(),
        unit(TimeUnit::MICROS)
    );
    let found = read(&micros);
    let found = found[0].column(0).as_primitive::<Time64MicrosecondType>();
    assert_eq!(found.iter().collect::<Vec<_>>(), [Some(1234), None]);
    let nanos = one(DataType::Time(9), true, nanos()).unwrap();
    let column = footer(&nanos).row_group(0).column(0).clone();
    assert_eq!(
        column.column_descr().logical_type_ref().cloned(),
        unit(TimeUnit::NANOS)
    );
}

#[test]
fn what_spark_refuses_is_left_to_it() {
    let bails_out = |result: std::result::Result<Bytes, RunError>| {
        assert!(matches!(result, Err(RunError::BailOut(_))), "{result:?}");
    };
    let first = numbers::<Date32Type>(vec![Some(-141_427), None]);
    one(DataType::Date, true, Arc::clone(&first)).unwrap();
    let older = numbers::<Date32Type>(vec![None, Some(-141_428)]);
    bails_out(one(DataType::Date, true, Arc::clone(&older)));
    let lenient = ParquetOptions {
        refuses_ancient: false,
        ..options()
    };
    let columns = [column("c", DataType::Date, true)];
    write(&columns, &lenient, &[vec![older]], &pool()).unwrap();
    // A null where none was promised.
    bails_out(one(DataType::Date, false, first));
    let nulls = Arc::new(Int32Array::from(vec![Some(1), None])) as ArrayRef;
    let field = StructField {
        name: "x".to_owned(),
        data_type: DataType::Integer,
        nullable: false,
        field_id: None,
        exists_default: None,
    };
    let of = DataType::Struct(vec![field]);
    let schema = schema_of(&[column("c", of.clone(), true)]).unwrap();
    let arrow::datatypes::DataType::Struct(fields) = schema.field(0).data_type() else {
        panic!("{schema:?}");
    };
    let structure = StructArray::new(fields.clone(), vec![Arc::clone(&nulls)], None);
    bails_out(one(of.clone(), true, Arc::new(structure)));
    // That of a struct that is null itself is none.
    let hidden = arrow::buffer::NullBuffer::from(vec![true, false]);
    let structure = StructArray::new(fields.clone(), vec![nulls], Some(hidden));
    let file = one(of, true, Arc::new(structure)).unwrap();
    assert!(read(&file)[0].column(0).is_null(1));
}

#[test]
fn parts_of_lists_are_written() {
    let of = DataType::Array {
        element: Box::new(DataType::Integer),
        contains_null: true,
    };
    let list = |items: Vec<i32>| Literal::Array(items.into_iter().map(Literal::Integer).collect());
    let values = [
        list(vec![1, 2]),
        list(vec![]),
        Literal::Null,
        list(vec![3, 4, 5]),
    ];
    let array = rows::array_of(&of, values.iter().collect()).unwrap();
    for (start, length) in [(0, 4), (1, 3), (3, 1), (1, 1), (4, 0)] {
        let file = one(of.clone(), true, array.slice(start, length)).unwrap();
        let batches = read(&file);
        let found = batches.iter().map(RecordBatch::num_rows).sum::<usize>();
        assert_eq!(found, length);
        if start == 3 {
            let last = batches[0].column(0).as_list::<i32>().value(0);
            assert_eq!(last.as_primitive::<Int32Type>().values(), &[3, 4, 5]);
        }
    }
}

#[test]
fn row_groups_end_with_their_bytes_or_with_memory() {
    let batch = |start: i32| {
        let values: Vec<i32> = (start..start + 1000)
            .map(|i| i.wrapping_mul(7919))
            .collect();
        vec![Arc::new(Int32Array::from(values)) as ArrayRef]
    };
    let batches: Vec<_> = (0..10).map(|number| batch(number * 1000)).collect();
    let columns = [column("c", DataType::Integer, false)];
    let groups = |options: &ParquetOptions, pool: &Arc<dyn MemoryPool>| {
        let file = write(&columns, options, &batches, pool).unwrap();
        let rows: usize = read(&file).iter().map(RecordBatch::num_rows).sum();
        assert_eq!(rows, 10_000);
        footer(&file).num_row_groups()
    };
    assert_eq!(groups(&options(), &pool()), 1);
    let small = ParquetOptions {
        row_group_bytes: 6000,
        ..options()
    };
    assert!(groups(&small, &pool()) > 2);
    let little: Arc<dyn MemoryPool> = Arc::new(GreedyMemoryPool::new(20_000));
    assert!(groups(&options(), &little) > 1);
}

#[test]
fn columns_that_are_not_written_are_refused() {
    let refused = ParquetFormat::new(&[column("c", DataType::Null, true)], &options());
    assert!(refused.is_err());
    assert_eq!(Codec::of("lz4"), None);
    assert_eq!(Codec::of("zstd").map(Codec::extension), Some(".zstd"));
}
