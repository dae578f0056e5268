//! Footers of Parquet files, as columns of Spark.
#![no_main]

use std::sync::Arc;

use bytes::Bytes;
use catalyst::SchemaOptions;
use exec::schema::read;

firesteel_fuzz::target!(|data: &[u8]| {
    for flag in [false, true] {
        let options = SchemaOptions {
            binary_as_string: flag,
            int96_as_timestamp: flag,
            infer_timestamp_ntz: flag,
        };
        let file = Arc::new(Bytes::copy_from_slice(data));
        let _ = read(file, data.len() as u64, options);
    }
});
