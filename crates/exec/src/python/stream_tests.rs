use arrow::array::{AsArray, Int64Array, StringViewArray, TimestampMicrosecondArray};
use arrow::compute::concat;
use arrow::datatypes::{Int64Type, TimeUnit};
use arrow::ipc::reader::StreamReader;
use catalyst::{Decimal, ExprId, Literal};
use rows::array_of;

use super::*;
use crate::testing::divided;

fn session(batch_size: i32, zone: Option<&str>) -> ArrowSession {
    ArrowSession {
        time_zone: zone.map(str::to_owned),
        batch_size,
        settings: Vec::new(),
        validates_schemas: false,
    }
}

/// The parts of a stream of these batches.
fn parts(mut encoder: ArrowEncoder, batches: Vec<Vec<ArrayRef>>) -> Vec<Vec<u8>> {
    let mut batches = batches.into_iter();
    let mut parts = Vec::new();
    loop {
        match encoder.next().unwrap() {
            Part::Bytes(bytes, _) => parts.push(bytes),
            Part::Rows => match batches.next() {
                Some(batch) => {
                    let rows = batch[0].len();
                    encoder.push(batch, rows).unwrap();
                }
                None => encoder.finish(),
            },
            Part::End => return parts,
        }
    }
}

fn read(stream: &[u8]) -> Vec<RecordBatch> {
    let reader = StreamReader::try_new(stream, None).unwrap();
    reader.collect::<std::result::Result<_, _>>().unwrap()
}

fn read_schema(start: &[u8]) -> SchemaRef {
    StreamReader::try_new(start, None).unwrap().schema()
}

fn longs(range: std::ops::Range<i64>) -> Vec<ArrayRef> {
    vec![Arc::new(Int64Array::from_iter_values(range))]
}

#[test]
fn batches_have_as_many_rows_as_the_session_says() {
    let types = [DataType::Long];
    let lengths = |batches: Vec<Vec<ArrayRef>>| {
        let encoder = ArrowEncoder::new(false, &types, &session(10, None)).unwrap();
        let stream = parts(encoder, batches).concat();
        let batches = read(&stream);
        let values = batches.iter().flat_map(|batch| {
            let values = batch.column(0).as_primitive::<Int64Type>();
            values.values().to_vec()
        });
        assert!(values.enumerate().all(|(at, value)| at as i64 == value));
        batches
            .iter()
            .map(RecordBatch::num_rows)
            .collect::<Vec<_>>()
    };
    assert_eq!(lengths(vec![]), [0; 0]);
    assert_eq!(lengths(vec![longs(0..10)]), [10]);
    assert_eq!(
        lengths(vec![longs(0..3), longs(3..4), longs(4..25)]),
        [10, 10, 5]
    );
    let encoder = ArrowEncoder::new(false, &types, &session(0, None));
    assert!(encoder.is_err());
}

#[test]
fn large_batches_are_divided_if_functions_do_not_see_it() {
    let long: ArrayRef = {
        let text = "x".repeat(1 << 20);
        Arc::new(StringViewArray::from_iter_values(
            (0..40).map(|_| text.as_str()),
        ))
    };
    let of =
        |divides| ArrowEncoder::new(divides, &[DataType::String], &session(100, None)).unwrap();
    let batches = read(&parts(of(true), vec![vec![Arc::clone(&long)]]).concat());
    let rows: Vec<_> = batches.iter().map(RecordBatch::num_rows).collect();
    assert_eq!(rows, [20, 20]);
    let mut encoder = of(false);
    encoder.push(vec![long], 40).unwrap();
    encoder.finish();
    // The state is such that the schema was not given yet.
    assert!(encoder.next().is_err());
}

#[test]
fn timestamps_have_the_session_s_time_zone() {
    let types = [DataType::Timestamp, DataType::TimestampNtz];
    let zone = session(10, Some("Europe/Zurich"));
    let encoder = ArrowEncoder::new(true, &types, &zone).unwrap();
    let of = |value: i64| TimestampMicrosecondArray::from_iter_values([value]);
    let with_zone = of(1).with_data_type(DataType::Timestamp.to_arrow().unwrap());
    let stream = parts(encoder, vec![vec![Arc::new(with_zone), Arc::new(of(2))]]).concat();
    let batches = read(&stream);
    let schema = batches[0].schema();
    let expected =
        |zone: Option<&str>| ArrowType::Timestamp(TimeUnit::Microsecond, zone.map(Arc::from));
    assert_eq!(
        schema.field(0).data_type(),
        &expected(Some("Europe/Zurich"))
    );
    assert_eq!(schema.field(1).data_type(), &expected(None));
    assert_eq!(schema.field(1).name(), "_1");
    let unknown = ArrowEncoder::new(true, &types, &session(10, None));
    assert!(unknown.is_err());
    let no_timestamps = [DataType::Date];
    assert!(ArrowEncoder::new(true, &no_timestamps, &session(10, None)).is_ok());
}

/// Types with values of each.
fn values() -> Vec<(DataType, Vec<Literal>)> {
    use Literal as L;
    let text = |text: &str| L::String(text.as_bytes().to_vec());
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
    let decimal = DataType::Decimal(Decimal {
        precision: 20,
        scale: 2,
    });
    let row = DataType::Struct(vec![
        field("a b", DataType::Integer),
        field("", array(DataType::String)),
    ]);
    let map = DataType::Map {
        key: Box::new(DataType::String),
        value: Box::new(row.clone()),
        value_contains_null: true,
    };
    let a_row = L::Struct(vec![L::Integer(7), L::Array(vec![text("x"), L::Null])]);
    vec![
        (DataType::Null, vec![L::Null, L::Null]),
        (DataType::Boolean, vec![L::Boolean(true), L::Null]),
        (DataType::Double, vec![L::Double(-0.0), L::Double(f64::NAN)]),
        (decimal, vec![L::Decimal(-12345), L::Null]),
        (
            DataType::String,
            vec![text(""), text("more than twelve bytes"), L::Null],
        ),
        (DataType::Binary, vec![L::Binary(vec![0, 255]), L::Null]),
        (DataType::Date, vec![L::Integer(-719_162), L::Null]),
        (DataType::Timestamp, vec![L::Long(i64::MIN), L::Null]),
        (
            array(array(DataType::String)),
            vec![
                L::Array(vec![L::Array(vec![text("a"), L::Null]), L::Null]),
                L::Array(vec![]),
                L::Null,
            ],
        ),
        (
            row,
            vec![a_row.clone(), L::Null, L::Struct(vec![L::Null, L::Null])],
        ),
        (
            map,
            vec![
                L::Map(vec![(text("k"), a_row), (text("l"), L::Null)]),
                L::Map(vec![]),
                L::Null,
            ],
        ),
    ]
}

#[test]
fn what_comes_back_as_it_went_is_the_same() {
    for (of, values) in values() {
        let column = array_of(&of, values.iter().collect()).unwrap();
        let types = [of.clone()];
        let encoder = ArrowEncoder::new(false, &types, &session(2, Some("Asia/Tokyo")));
        let mut decoder = ArrowDecoder::new(&types).unwrap();
        let mut found = Vec::new();
        for message in parts(encoder.unwrap(), vec![vec![Arc::clone(&column)]]) {
            let length = message.len();
            for part in divided(message) {
                if let Some((columns, rows, bytes)) = decoder.push(part).unwrap() {
                    assert_eq!((columns[0].len(), bytes), (rows, length));
                    found.extend(columns);
                }
            }
        }
        assert!(decoder.push(Bytes::from_static(b"more")).is_err());
        let found: Vec<_> = found.iter().map(AsRef::as_ref).collect();
        assert_eq!(&concat(&found).unwrap(), &column, "{of}");
    }
}

#[test]
fn results_of_other_types_are_left_to_spark() {
    let types: Vec<_> = values().into_iter().map(|(of, _)| of).collect();
    for (place, of) in types.iter().enumerate() {
        for other in types.iter().skip(place + 1) {
            let encoder =
                ArrowEncoder::new(false, std::slice::from_ref(of), &session(2, Some("UTC")));
            let mut decoder = ArrowDecoder::new(std::slice::from_ref(other)).unwrap();
            let parts = parts(encoder.unwrap(), Vec::new()).into_iter();
            let refused = parts
                .flat_map(divided)
                .map(|part| decoder.push(part))
                .find_map(Result::err);
            let refused = refused.map(|error| error.to_string()).unwrap_or_default();
            assert!(
                refused.contains("another type"),
                "{of} for {other}: {refused}"
            );
        }
    }
}

#[test]
fn fields_of_one_name_are_left_to_spark() {
    let field = StructField {
        name: "a".to_owned(),
        data_type: DataType::Integer,
        nullable: true,
        field_id: None,
        exists_default: None,
    };
    let of = DataType::Struct(vec![field.clone(), field]);
    assert!(type_for_python(&of, &Arc::from("UTC")).is_err());
}

#[test]
fn damaged_streams_are_refused_or_read() {
    let mut refused = 0;
    for (of, values) in values() {
        let column = array_of(&of, values.iter().collect()).unwrap();
        let types = [of];
        let encoder = ArrowEncoder::new(false, &types, &session(9, Some("UTC")));
        let messages = parts(encoder.unwrap(), vec![vec![column]]);
        let length: usize = messages.iter().map(Vec::len).sum();
        for (place, value) in (0..length).flat_map(|at| [0, 1, 0x7f, 0xff].map(|value| (at, value)))
        {
            let mut decoder = ArrowDecoder::new(&types).unwrap();
            let mut before = 0;
            let parts = messages.iter().flat_map(|message| divided(message.clone()));
            let read = parts.map(|part| {
                let mut part = part.to_vec();
                if let Some(byte) = part.get_mut(place.wrapping_sub(before)) {
                    *byte = value;
                }
                before += part.len();
                decoder.push(part.into())
            });
            refused += usize::from(read.collect::<Result<Vec<_>>>().is_err());
        }
    }
    assert!(refused > 1000, "{refused}");
}

/// Columns of an integer and a text, both named, which may be null or not.
fn two_columns(names: [&str; 2], nullable: [bool; 2]) -> Vec<Attribute> {
    let types = [DataType::Long, DataType::String];
    let columns = types.into_iter().zip(names).zip(nullable).zip(0..);
    let columns = columns.map(|(((data_type, name), nullable), id)| Attribute {
        name: name.to_owned(),
        data_type,
        nullable,
        id: ExprId { id, jvm_id: 0 },
    });
    columns.collect()
}

fn fields_of(columns: &[Attribute]) -> Vec<StructField> {
    let fields = columns.iter().map(|column| StructField {
        name: column.name.clone(),
        data_type: column.data_type.clone(),
        nullable: column.nullable,
        field_id: None,
        exists_default: None,
    });
    fields.collect()
}

fn texts(values: [Option<&str>; 3]) -> ArrayRef {
    Arc::new(StringViewArray::from_iter(values))
}

/// What a decoder makes of the rows of an encoder: columns, or the first error.
fn through(encoder: ArrowEncoder, decoder: &mut ArrowDecoder) -> Result<Vec<Vec<ArrayRef>>> {
    let batches = vec![[longs(0..3), vec![texts([Some("a"), None, Some("c")])]].concat()];
    let messages = parts(encoder, batches).into_iter();
    let read = messages.flat_map(divided).map(|part| decoder.push(part));
    let read = read.collect::<Result<Vec<_>>>()?;
    Ok(read
        .into_iter()
        .flatten()
        .map(|(columns, ..)| columns)
        .collect())
}

#[test]
fn rows_go_as_structs_and_come_back_as_columns() {
    let columns = two_columns(["n", "s"], [false, true]);
    let encoder = || ArrowEncoder::of_rows(&fields_of(&columns), &session(2, None)).unwrap();
    let schema = read_schema(encoder().writer.start());
    let row = ArrowType::Struct(Fields::from(vec![
        Field::new("n", ArrowType::Int64, false),
        Field::new("s", ArrowType::Utf8, true),
    ]));
    assert_eq!(
        schema.fields()[..],
        [Arc::new(Field::new("struct", row, true))]
    );
    let mut decoder = ArrowDecoder::of_rows(&columns, true).unwrap();
    let found = through(encoder(), &mut decoder).unwrap();
    let lengths: Vec<_> = found.iter().map(|columns| columns[0].len()).collect();
    assert_eq!(lengths, [2, 1]);
    assert_eq!(
        found[1],
        [longs(2..3), vec![texts([Some("c"); 3]).slice(0, 1)]].concat()
    );
    // A partition without rows: the function is called all the same.
    assert_eq!(parts(encoder(), Vec::new()).len(), 2);
    // What is null where Spark says that nothing is.
    let strict = two_columns(["n", "s"], [false, false]);
    let mut encoder = ArrowEncoder::of_rows(&fields_of(&strict), &session(9, None)).unwrap();
    let nulls = [longs(0..3), vec![texts([None; 3])]].concat();
    encoder.push(nulls, 3).unwrap();
    encoder.finish();
    assert!(encoder.next().is_err());
}

#[test]
fn rows_of_other_columns_are_left_to_spark() {
    let given = |names, nullable, declared: &[Attribute], checked| {
        let given = fields_of(&two_columns(names, nullable));
        let encoder = ArrowEncoder::of_rows(&given, &session(9, None)).unwrap();
        let mut decoder = ArrowDecoder::of_rows(declared, checked).unwrap();
        through(encoder, &mut decoder).is_ok()
    };
    let (loose, strict) = ([true, true], [false, true]);
    let columns = |nullable| two_columns(["n", "s"], nullable);
    assert!(given(["n", "s"], loose, &columns(loose), true));
    assert!(given(["n", "s"], strict, &columns(loose), true));
    assert!(given(["n", "s"], loose, &columns(strict), false));
    assert!(!given(["n", "s"], loose, &columns(strict), true));
    assert!(!given(["n", "t"], loose, &columns(loose), true));
    assert!(!given(["n", "s"], loose, &columns(loose)[..1], true));
    // By their places, if Spark does not look at them.
    assert!(given(["n", "t"], loose, &columns(loose), false));
    assert!(given(["n", "s"], loose, &columns(loose)[..1], false));
    let reversed = [&columns(loose)[1..], &columns(loose)[..1]].concat();
    assert!(!given(["n", "s"], loose, &reversed, false));
    // Columns that are no fields of one.
    let types = [DataType::Long, DataType::String];
    let encoder = ArrowEncoder::new(false, &types, &session(9, None)).unwrap();
    let mut decoder = ArrowDecoder::of_rows(&columns(loose), false).unwrap();
    assert!(through(encoder, &mut decoder).is_err());
}
