//! Blocks of cached tables: streams of batches, their columns and statistics.
#![no_main]

use catalyst::{DataType, Decimal};
use rows::KryoForm;
use rows::cached::{CachedBatchDecoder, CachedBatchFormat, CachedBatchReader};

firesteel_fuzz::target!(|data: &[u8]| {
    let decimal = |precision| DataType::Decimal(Decimal { precision, scale: 2 });
    let array = DataType::Array {
        element: Box::new(DataType::String),
        contains_null: true,
    };
    // The first byte says which type the first column has.
    let Some((first, stream)) = data.split_first() else {
        return;
    };
    let all = [
        DataType::Long,
        DataType::Boolean,
        DataType::Byte,
        DataType::Short,
        DataType::Integer,
        DataType::Double,
        decimal(10),
        decimal(38),
        DataType::String,
        DataType::Binary,
        DataType::Null,
        array,
    ];
    let mut types = all.to_vec();
    types.rotate_left(usize::from(*first) % all.len());
    let form = |fixed_width, references| KryoForm {
        fixed_width,
        references,
    };
    // And how its batches are kept.
    let format = match first >> 4 {
        0 => CachedBatchFormat::kryo(form(true, true), false),
        1 => CachedBatchFormat::kryo(form(false, false), false),
        2 => CachedBatchFormat::kryo(form(true, true), true),
        3 => CachedBatchFormat::kryo(form(false, true), true),
        _ => CachedBatchFormat::java(),
    };
    let mut reader = CachedBatchReader::new(format, stream, &types, true);
    let places: Vec<_> = (0..types.len()).collect();
    let decoder = CachedBatchDecoder::new(&types, &places, 10_000).expect("known types");
    while let Ok(Some(batch)) = reader.next_batch() {
        let Ok(columns) = decoder.decode(&batch) else {
            continue;
        };
        assert!(columns.iter().all(|column| column.len() == batch.num_rows));
    }
});
