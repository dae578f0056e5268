//! Results of Python functions as the fuzz target sees them.

use catalyst::{DataType, Decimal, StructField};

use super::results::columns;

/// A frame of results, of one function or of several.
pub fn python_results(data: &[u8]) {
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
    let types = [
        DataType::Byte,
        DataType::String,
        DataType::Binary,
        DataType::Timestamp,
        decimal,
        array(array(DataType::Double)),
        DataType::Struct(vec![field(DataType::Date), field(array(DataType::Boolean))]),
    ];
    for of in types.chunks(1).chain([&types[..2], &types[..]]) {
        if let Ok((columns, rows)) = columns(data, of) {
            assert_eq!(columns.len(), of.len());
            assert!(columns.iter().all(|column| column.len() == rows));
        }
    }
}
