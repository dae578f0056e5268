//! Streams of rows of a shuffle: however they are cut, and written back.
#![no_main]

use std::sync::LazyLock;

use arrow::array::RecordBatch;
use bytes::Bytes;
use rows::{RowDecoder, RowEncoder};
use catalyst::{DataType, StructField};

static TYPES: LazyLock<Vec<DataType>> = LazyLock::new(|| {
    use DataType::*;
    let decimal = |precision, scale| DataType::Decimal(catalyst::Decimal { precision, scale });
    let field = |name: &str, data_type| StructField {
        name: name.to_owned(),
        data_type,
        nullable: true,
        field_id: None,
        exists_default: None,
    };
    let inner = Struct(vec![field("g", String)]);
    let outer = vec![
        field("a", Integer),
        field("b", String),
        field("c", decimal(38, 2)),
        field("e", inner),
    ];
    vec![
        Boolean,
        Byte,
        Short,
        Integer,
        Long,
        Float,
        Double,
        decimal(7, 2),
        decimal(18, 0),
        decimal(20, 4),
        decimal(38, 0),
        String,
        Binary,
        Variant,
        Date,
        Timestamp,
        TimestampNtz,
        YearMonthInterval,
        DayTimeInterval,
        Struct(outer),
        Null,
        Long,
    ]
});

/// Arrays and maps in each other.
static NESTED: LazyLock<Vec<DataType>> = LazyLock::new(|| {
    use DataType::*;
    let array = |element| Array {
        element: Box::new(element),
        contains_null: true,
    };
    let map = |key, value| Map {
        key: Box::new(key),
        value: Box::new(value),
        value_contains_null: true,
    };
    let field = |data_type| StructField {
        name: "f".to_owned(),
        data_type,
        nullable: true,
        field_id: None,
        exists_default: None,
    };
    let wide = Decimal(catalyst::Decimal {
        precision: 38,
        scale: 2,
    });
    let entry = Struct(vec![field(array(wide)), field(map(Integer, array(Boolean)))]);
    vec![array(array(Short)), map(String, entry), array(Struct(vec![field(Binary)]))]
});

fn decode(mut decoder: RowDecoder, data: &[u8], step: usize) -> Option<Vec<RecordBatch>> {
    let mut batches = Vec::new();
    for piece in data.chunks(step) {
        decoder.push(Bytes::copy_from_slice(piece));
        while let Some(batch) = decoder.next().ok()? {
            batches.push(batch);
        }
    }
    batches.extend(decoder.finish().ok()?);
    Some(batches)
}

firesteel_fuzz::target!(|data: &[u8]| {
    let step = data.first().map_or(1, |byte| usize::from(*byte) + 1);
    let data = data.get(1..).unwrap_or_default();
    let some = [TYPES[11].clone(), TYPES[4].clone(), TYPES[10].clone()];
    for types in [&TYPES[..], &NESTED, &some, &[]] {
        let decoder = || RowDecoder::new(types).expect("known types");
        let whole = decode(decoder(), data, usize::MAX);
        let pieces = decode(decoder(), data, step);
        // Text may be damaged in a piece that the other way has not come to when a row ends early.
        if let (Some(whole), Some(pieces)) = (&whole, &pieces) {
            assert_eq!(whole, pieces);
        } else {
            assert_eq!(whole.is_some(), pieces.is_some());
        }
        let mut encoder = RowEncoder::new(types).expect("known types");
        for batch in whole.iter().flatten() {
            let written = encoder.encode(batch).expect("columns of these types");
            let read = decode(decoder(), written.bytes(), usize::MAX).expect("it was written here");
            let again = encoder
                .encode(&read[0])
                .expect("columns of these types")
                .bytes()
                .to_vec();
            assert_eq!(encoder.encode(batch).expect("as before").bytes(), again);
        }
    }
    let _ = decode(RowDecoder::opaque(None), data, step);
});
