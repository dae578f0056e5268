//! Results of Python functions as the fuzz target sees them.

use bytes::Bytes;
use catalyst::{Attribute, DataType, Decimal, ExprId, StructField};

use super::results::{columns, rows, tables};
use super::stream::ArrowDecoder;

/// A frame of results, of one function or of several, or of rows; or two of a class that makes rows.
pub fn python_results(data: &[u8]) {
    let map = DataType::Map {
        key: Box::new(DataType::String),
        value: Box::new(DataType::Integer),
        value_contains_null: true,
    };
    let mut types = types().to_vec();
    types.push(map);
    for of in types.chunks(1).chain([&types[..2], &types[..]]) {
        let columns = of.iter().enumerate().skip(of.len() / 2);
        if let Ok((columns, rows)) = rows(data, of.len(), columns, 0) {
            assert_eq!(columns.len(), of.len() - of.len() / 2);
            assert!(columns.iter().all(|column| column.len() == rows));
        }
    }
    let frames = Bytes::copy_from_slice(data);
    let frames = [
        frames.slice(..data.len() / 2),
        frames.slice(data.len() / 2..),
    ];
    let all: Vec<_> = types.iter().collect();
    for frames in [&frames[..], &[Bytes::copy_from_slice(data)]] {
        if let Ok((columns, counts)) = tables(frames, &all, 17) {
            let rows: usize = counts.iter().sum();
            assert!(columns.iter().all(|column| column.len() == rows));
        }
    }
    for of in types.chunks(1).chain([&types[..2], &types[..]]) {
        if let Ok((columns, rows)) = columns(data, of, 17) {
            assert_eq!(columns.len(), of.len());
            assert!(columns.iter().all(|column| column.len() == rows));
        }
    }
}

/// An Arrow stream of results, in the parts that it says it has.
pub fn python_stream(data: &[u8]) {
    let types = types();
    for of in types.chunks(1).chain([&types[..2], &types[..]]) {
        let decoder = ArrowDecoder::new(of).expect("types of columns");
        read_stream(data, decoder, of.len());
    }
    let decoder = ArrowDecoder::of_fields(&types).expect("types of columns");
    read_stream(data, decoder, types.len());
    let columns = types.iter().zip(0..).map(|(of, id)| Attribute {
        name: "f".to_owned(),
        data_type: of.clone(),
        nullable: true,
        id: ExprId { id, jvm_id: 0 },
    });
    let columns: Vec<_> = columns.collect();
    for of in columns.chunks(1).chain([&columns[..]]) {
        let decoder = ArrowDecoder::of_rows(of, true).expect("types of columns");
        read_stream(data, decoder, of.len());
    }
}

fn read_stream(data: &[u8], mut decoder: ArrowDecoder, count: usize) {
    let mut rest = Bytes::copy_from_slice(data);
    while rest.len() >= 8 {
        let start = rest.split_to(8);
        let length = start[4..].try_into().expect("four bytes");
        let length = rest.len().min(u32::from_le_bytes(length) as usize);
        let description = rest.split_to(length);
        let body = crate::arrow_message::body_length(&description).unwrap_or(0);
        let body = rest.split_to(rest.len().min(body));
        let parts = [start, description, body].into_iter();
        let mut parts = parts.filter(|part| !part.is_empty());
        let read = parts.try_for_each(|part| {
            if let Some((columns, rows, _)) = decoder.push(part)? {
                assert_eq!(columns.len(), count);
                assert!(columns.iter().all(|column| column.len() == rows));
            }
            Ok::<_, datafusion_common::DataFusionError>(())
        });
        if read.is_err() {
            break;
        }
    }
}

fn types() -> [DataType; 7] {
    let array = |element| DataType::Array {
        element: Box::new(element),
        contains_null: true,
    };
    let field = |data_type| StructField {
        name: "f".to_owned(),
        data_type,
        nullable: true,
        field_id: None,
        exists_default: None,
    };
    let decimal = DataType::Decimal(Decimal {
        precision: 38,
        scale: 18,
    });
    [
        DataType::Byte,
        DataType::String,
        DataType::Binary,
        DataType::Timestamp,
        decimal,
        array(array(DataType::Double)),
        DataType::Struct(vec![field(DataType::Date), field(array(DataType::Boolean))]),
    ]
}
