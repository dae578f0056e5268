//! Options that tests and fuzz targets begin with.

#![allow(clippy::expect_used)]

use catalyst::{
    Broadcast, CsvOptions, CsvSyntax, Malformed, RecordOptions, RecordTimes, StructField,
};
use javaser::Limits;
use javaser::arena::Graph;
use javatime::{TimeZone, Zones};

/// Times of UTC without patterns.
pub(super) fn times() -> RecordTimes {
    RecordTimes {
        zone: TimeZone::new("UTC", &Zones::default()),
        date: None,
        timestamp: None,
        timestamp_ntz: None,
    }
}

/// CSV of these columns with Spark's defaults.
pub(super) fn csv(data: &[StructField]) -> CsvOptions {
    // Only the id of a broadcast variable is looked at. This is a string.
    let value = [0xac, 0xed, 0, 5, 0x74, 0, 1, b'b'];
    let graph = Graph::parse(&value, &Limits::default()).expect("a string");
    let node = graph.root().and_then(|root| root.node()).expect("a string");
    CsvOptions {
        records: RecordOptions {
            conf: Broadcast { id: 5, node },
            line_separator: None,
            malformed: Malformed::Null,
            corrupt_record: "_corrupt_record".to_owned(),
            filters: Vec::new(),
        },
        times: times(),
        data_schema: data.to_vec(),
        column_pruning: true,
        enforce_schema: true,
        syntax: CsvSyntax {
            delimiter: b',',
            quote: b'"',
            escape: b'\\',
            comment: None,
            header: false,
            trim_leading: false,
            trim_trailing: false,
            null_value: String::new(),
            empty_value: String::new(),
            nan: "NaN".to_owned(),
            infinity: "Inf".to_owned(),
            negative_infinity: "-Inf".to_owned(),
            max_columns: 20480,
            max_chars: None,
        },
    }
}
