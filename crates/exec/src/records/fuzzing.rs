//! Lines of CSV and JSON as the fuzz target sees them.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, StringViewArray};
use catalyst::{
    CsvInference, CsvOptions, CsvSyntax, DataType, Decimal, JsonForm, JsonInference, Malformed,
    RecordTimes, StructField,
};
use javatime::{TimeZone, Zones};

use super::samples::csv;
use super::{Became, CsvRecords, CsvTypes, JsonRecords, JsonTypes, Records};

/// A line of a file: each value that it makes is one of each column. And a text of which a query asks for a part.
pub fn record_line(data: &[u8]) {
    if let Ok(text) = std::str::from_utf8(data) {
        crate::expr::at_some_paths(text);
        columns_of(text);
    }
    let fields = fields();
    let flat: Vec<usize> = (0..FLAT).collect();
    let mut csv = csv(fields.get(..FLAT).unwrap_or_default());
    csv.times.zone = TimeZone::new("+01:00", &Zones::default());
    csv.times.date = Some("yyyy-MM-dd".to_owned());
    csv.times.timestamp_ntz = Some("yyyy-MM-dd HH:mm:ss".to_owned());
    for trim in [false, true] {
        for escape in [b'\\', b'"', 0] {
            let syntax = CsvSyntax {
                escape,
                trim_leading: trim,
                trim_trailing: trim,
                comment: trim.then_some(b'#'),
                ..csv.syntax.clone()
            };
            csv_columns_of(data, &syntax, &csv.times);
            let options = CsvOptions {
                syntax,
                ..csv.clone()
            };
            for parsed in [&flat[..], &flat[2..4]] {
                let required: Vec<_> = parsed
                    .iter()
                    .map(|at| options.data_schema[*at].clone())
                    .collect();
                let of: Vec<usize> = (0..parsed.len()).collect();
                check(
                    &mut CsvRecords::new(&options, &required, &of).expect("columns"),
                    data,
                );
            }
        }
    }
    let json = JsonForm {
        times: csv.times,
        non_numeric_numbers: true,
        max_depth: 1000,
        max_number: 1000,
        max_text: 1 << 20,
    };
    check(
        &mut JsonRecords::new(&json, &fields).expect("columns"),
        data,
    );
}

/// Finds out the columns of lines, of which each takes some text.
fn columns_of(text: &str) {
    let inference = JsonInference {
        malformed: Malformed::Null,
        corrupt_record: "_corrupt_record".to_owned(),
        primitives_as_string: false,
        case_sensitive: false,
        max_number: 1000,
        max_text: 1 << 20,
    };
    let lines: ArrayRef = Arc::new(StringViewArray::from_iter_values(text.lines()));
    let lines = RecordBatch::try_from_iter([("value", lines)]).expect("a batch");
    let mut types = JsonTypes::new(&inference);
    if types.push(&lines).is_ok() {
        let columns = types.finish();
        assert!(columns.is_ok_and(|columns| columns.len() <= text.len() + 1));
    }
}

/// Finds out the types of the values of lines.
fn csv_columns_of(data: &[u8], syntax: &CsvSyntax, times: &RecordTimes) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let inference = CsvInference {
        syntax: syntax.clone(),
        times: times.clone(),
        columns: 3,
        first_line: "a,b,c".to_owned(),
        prefers_date: true,
    };
    let lines: ArrayRef = Arc::new(StringViewArray::from_iter_values(text.lines()));
    let lines = RecordBatch::try_from_iter([("value", lines)]).expect("a batch");
    let mut types = CsvTypes::new(&inference).expect("known patterns");
    if types.push(&lines).is_ok() {
        assert_eq!(types.finish().len(), 3);
    }
}

fn check(records: &mut dyn Records, line: &[u8]) {
    let Ok(became) = records.read(line) else {
        return;
    };
    let rows = usize::from(became != Became::Nothing);
    for column in records.columns() {
        assert_eq!(column.len(), rows);
        assert_eq!(column.finish().expect("an array").len(), rows);
    }
}

/// Types that CSV has too.
const FLAT: usize = 9;

fn fields() -> Vec<StructField> {
    let of = |data_type: DataType| StructField {
        name: data_type.to_string(),
        data_type,
        nullable: true,
        field_id: None,
        exists_default: None,
    };
    let list = DataType::Array {
        element: Box::new(DataType::Double),
        contains_null: true,
    };
    let map = DataType::Map {
        key: Box::new(DataType::String),
        value: Box::new(list.clone()),
        value_contains_null: true,
    };
    let types = [
        DataType::String,
        DataType::Byte,
        DataType::Long,
        DataType::Float,
        DataType::Decimal(Decimal {
            precision: 20,
            scale: 3,
        }),
        DataType::Boolean,
        DataType::Date,
        DataType::Timestamp,
        DataType::TimestampNtz,
        DataType::Struct(vec![of(list.clone()), of(map.clone())]),
        list,
        map,
    ];
    types.map(of).into()
}
