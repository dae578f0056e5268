//! Private decoders as the fuzz targets see them. Compiled for `cargo fuzz` only.

use crate::scan::fuzz_iceberg;
use crate::types::{DataType, Decimal};
use crate::unsafe_row;

/// Tasks that read tables of Iceberg's.
pub fn table_files(data: &[u8]) {
    fuzz_iceberg(data);
}

/// Rows inside plans.
pub fn plan_row(data: &[u8]) {
    let array = |element| DataType::Array {
        element: Box::new(element),
        contains_null: true,
    };
    for element in [DataType::Short, array(array(DataType::String))] {
        let _ = unsafe_row::read_array(data, &element);
    }
    let decimal = |precision| {
        DataType::Decimal(Decimal {
            precision,
            scale: 2,
        })
    };
    let types = [
        DataType::Long,
        DataType::String,
        decimal(18),
        decimal(38),
        DataType::Binary,
        DataType::Boolean,
        DataType::Double,
        DataType::Date,
    ];
    // Wide ones have more than a word of null bits.
    let wide: Vec<_> = types.iter().cycle().take(72).cloned().collect();
    for types in [&types[..], &wide] {
        if let Ok(values) = unsafe_row::read(data, types) {
            assert_eq!(values.len(), types.len());
        }
    }
}
