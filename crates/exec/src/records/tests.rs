//! Lines of CSV and JSON that are read here, and those that are left to Spark.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, StringViewArray};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use catalyst::{CsvInference, CsvOptions, CsvSyntax, DataType, Decimal, JsonForm, StructField};

use super::samples::{csv, times};
use super::{Became, CsvRecords, CsvTypes, JsonRecords, Records};
use crate::testing::field;

fn texts(names: &[&str]) -> Vec<StructField> {
    names
        .iter()
        .map(|name| field(name, DataType::String))
        .collect()
}

fn json() -> JsonForm {
    JsonForm {
        times: times(),
        non_numeric_numbers: true,
        max_depth: 1000,
        max_number: 1000,
        max_text: 20_000_000,
    }
}

/// Values of the row that a line is, or what else became of it.
fn read(records: &mut dyn Records, line: &str) -> String {
    let became = match records.read(line.as_bytes()) {
        Ok(became) => became,
        Err(_) => return "left".to_owned(),
    };
    let format = FormatOptions::new().with_null("null");
    let columns = records.columns().iter_mut();
    let values = columns.map(|column| {
        let array = column.finish().unwrap();
        match became {
            Became::Nothing => "nothing".to_owned(),
            _ => ArrayFormatter::try_new(&array, &format)
                .unwrap()
                .value(0)
                .to_string(),
        }
    });
    let values = values.collect::<Vec<_>>().join("|");
    match became {
        Became::Malformed => format!("{values} malformed"),
        Became::Broken => format!("{values} broken"),
        _ => values,
    }
}

fn csv_read(options: &CsvOptions, parsed: &[usize], lines: &[(&str, &str)]) {
    for (line, expected) in lines {
        let required = options.data_schema.clone();
        let mut records = CsvRecords::new(options, &required, parsed).unwrap();
        assert_eq!(read(&mut records, line), *expected, "{line}");
    }
}

#[test]
fn values_of_csv_are_between_separators_and_quotes() {
    let options = csv(&texts(&["a", "b", "c"]));
    csv_read(
        &options,
        &[0, 1, 2],
        &[
            ("x,y,z", "x|y|z"),
            ("x,,", "x|null|null"),
            ("x,y", "x|y|null malformed"),
            ("x,y,z,u", "x|y|z malformed"),
            (r#""x,y",y,"z""#, "x,y|y|z"),
            (r#""x\"y",y,z"#, r#"x"y|y|z"#),
            (r#""x\\y",y,z"#, r"x\y|y|z"),
            (r#""x\y",y,z"#, r"x\y|y|z"),
            (r#""","","x""#, "null|null|x"),
            (r#"x"y,y"z",z"#, r#"x"y|y"z"|z"#),
            (r#" "x",y,z"#, r#" "x"|y|z"#),
            (" , ,", " | |null"),
            ("   ", "nothing|nothing|nothing"),
            (r#""x" ,y,z"#, "left"),
            (r#""x"y,y,z"#, "left"),
            (r#""x""y",y,z"#, "left"),
            (r#""x,y,z"#, "left"),
            (r#""x\\",y,z"#, "left"),
            ("x,\0,z", "left"),
        ],
    );
    let doubled = CsvOptions {
        syntax: CsvSyntax {
            escape: b'"',
            trim_leading: true,
            trim_trailing: true,
            comment: Some(b'#'),
            null_value: "-".to_owned(),
            empty_value: "e".to_owned(),
            ..options.syntax.clone()
        },
        ..options
    };
    csv_read(
        &doubled,
        &[1],
        &[
            (r#"a,"x""y" "#, "left"),
            (r#"a, "x""y""#, r#"x"y malformed"#),
            ("a, x ,b", "x"),
            (r#"a,"",b"#, "e"),
            ("a,-,b", "null"),
            ("#a,-,b", "nothing"),
        ],
    );
    let without = CsvOptions {
        syntax: CsvSyntax {
            escape: 0,
            ..doubled.syntax.clone()
        },
        ..doubled.clone()
    };
    csv_read(
        &without,
        &[1],
        &[(r#"a,"x",b"#, "x"), (r#"a,"",b"#, "left")],
    );
    let short = CsvOptions {
        syntax: CsvSyntax {
            max_columns: 2,
            ..doubled.syntax.clone()
        },
        ..doubled
    };
    csv_read(&short, &[1], &[("a,b,c", "left"), ("a,b", "b malformed")]);
}

/// The types that are found out of lines, with a type for each of three columns.
fn csv_types(change: impl FnOnce(&mut CsvInference), lines: &[&str]) -> String {
    let mut of = csv(&[]);
    // As Spark has it if nobody says otherwise.
    of.times.date = Some("yyyy-MM-dd".to_owned());
    let mut inference = CsvInference {
        syntax: of.syntax,
        times: of.times,
        columns: 3,
        first_line: "a,b,c".to_owned(),
        prefers_date: true,
    };
    change(&mut inference);
    let mut types = CsvTypes::new(&inference).unwrap();
    let lines: ArrayRef = Arc::new(StringViewArray::from_iter_values(lines));
    match types.push(&RecordBatch::try_from_iter([("value", lines)]).unwrap()) {
        Ok(()) => {
            let types = types.finish().into_iter();
            types.map(|of| of.to_string()).collect::<Vec<_>>().join(" ")
        }
        Err(_) => "left".to_owned(),
    }
}

#[test]
fn columns_of_csv_have_the_narrowest_type_of_their_values() {
    let plain = |lines: &[&str]| csv_types(|_| (), lines);
    assert_eq!(plain(&["1,2147483648,1.5", "-2,,2"]), "int bigint double");
    assert_eq!(plain(&["", "  ", "1"]), "int void void");
    assert_eq!(
        plain(&["9223372036854775808,1.5e1,1e3"]),
        "decimal(19,0) decimal(2,0) double"
    );
    assert_eq!(
        plain(&["7,12345678901234567890,1", "9223372036854775808,1,1.5e1"]),
        "decimal(19,0) decimal(20,0) decimal(10,0)"
    );
    assert_eq!(
        plain(&[
            "2020-01-02,2020-01-02 03:04,2020-01-02",
            "2020-01-03,2020-01-04,1"
        ]),
        "date timestamp string"
    );
    assert_eq!(
        plain(&["true,NaN,Inf", "FALSE,1,x"]),
        "boolean double string"
    );
    assert_eq!(
        plain(&["true,1,1", "1,true,2020-01-01"]),
        "string string string"
    );
    assert_eq!(plain(&["M\u{fc}ller,\u{ff11}x,1"]), "left");
    assert_eq!(plain(&["M\u{fc}ller,x,1"]), "string string int");
    assert_eq!(plain(&["1,2,3,4", "\"1"]), "left");
    let header = |of: &mut CsvInference| of.syntax.header = true;
    assert_eq!(
        csv_types(header, &["a,b,c", "1,,", "a,b,c"]),
        "int void void"
    );
    assert_eq!(csv_types(|_| (), &["a,b,c"]), "string string string");
    let late = |of: &mut CsvInference| of.prefers_date = false;
    assert_eq!(csv_types(late, &["2020-01-02,2020,1"]), "timestamp int int");
    let casts = |of: &mut CsvInference| of.times.date = None;
    assert_eq!(
        csv_types(casts, &["2020-1-2,2020-01-02 03:04,2020-01-02Tx"]),
        "date date date"
    );
    let pattern = |of: &mut CsvInference| of.times.date = Some("dd/MM/yyyy".to_owned());
    assert_eq!(
        csv_types(pattern, &["02/01/2020,02/01/2020,x", "03/01/2020,y,"]),
        "date string string"
    );
    let nulls = |of: &mut CsvInference| of.syntax.null_value = "NA".to_owned();
    assert_eq!(csv_types(nulls, &["NA,1,NA", "1,NA,NA"]), "int int void");
}

#[test]
fn of_some_columns_lines_may_be_short() {
    let options = csv(&texts(&["a", "b", "c"]));
    let required = texts(&["c"]);
    let mut records = CsvRecords::new(&options, &required, &[0]).unwrap();
    assert_eq!(read(&mut records, "x,y,z"), "z");
    assert_eq!(read(&mut records, "x"), "null");
    assert_eq!(read(&mut records, "x,y,z,u"), "z");
    let doubled = CsvOptions {
        syntax: CsvSyntax {
            escape: b'"',
            ..options.syntax.clone()
        },
        ..options.clone()
    };
    let mut records = CsvRecords::new(&doubled, &required, &[0]).unwrap();
    // Spark's tokenizer may take the end for an escape where it passes over a value.
    assert_eq!(read(&mut records, r#""",y,z"#), "left");
    assert_eq!(read(&mut records, r#"x,"y""",z"#), "left");
    assert_eq!(read(&mut records, r#"x,y,"""#), "null");
    let mut records = CsvRecords::new(&options, &[], &[]).unwrap();
    assert_eq!(records.read(b"\"x").unwrap(), Became::Row);
    assert!(CsvRecords::new(&options, &texts(&["c", "a"]), &[0]).is_err());
    assert!(CsvRecords::new(&options, &texts(&["d"]), &[0]).is_err());
}

#[test]
fn texts_of_csv_are_values_or_malformed() {
    let decimal = DataType::Decimal(Decimal {
        precision: 4,
        scale: 1,
    });
    let data = [
        field("a", DataType::Integer),
        field("b", DataType::Double),
        field("c", decimal),
    ];
    csv_read(
        &csv(&data),
        &[0, 1, 2],
        &[
            ("1,Inf,1.25", "1|inf|1.3"),
            ("x,1.5,1000", "null|1.5|null malformed"),
            ("1.0,1e400,\"1,2\"", "null|inf|12.0 malformed"),
            ("٣,1,1", "left"),
            ("1,0x1p3,1", "left"),
        ],
    );
    let mut none = csv(&data);
    none.data_schema[0].nullable = false;
    assert!(CsvRecords::new(&none, &none.data_schema, &[0]).is_err());
    let nested = csv(&[field("a", DataType::Struct(texts(&["b"])))]);
    assert!(CsvRecords::new(&nested, &nested.data_schema, &[0]).is_err());
}

#[test]
fn objects_of_json_are_rows() {
    let nested = DataType::Struct(vec![
        field("x", DataType::Integer),
        field(
            "y",
            DataType::Array {
                element: Box::new(DataType::String),
                contains_null: true,
            },
        ),
    ]);
    let map = DataType::Map {
        key: Box::new(DataType::String),
        value: Box::new(DataType::Byte),
        value_contains_null: true,
    };
    let fields = [
        field("a", DataType::Long),
        field("b", nested),
        field("c", map),
    ];
    let lines = [
        (
            r#"{"a":1,"b":{"y":["u",null],"x":2},"c":{"k":200}}"#,
            "1|{c0: 2, c1: [u, null]}|{k: -56}",
        ),
        (r#" {"z":[{"a":2}],"c":{},"a":-3} "#, "-3|null|{}"),
        (r#"{"a":null}"#, "null|null|null"),
        ("{}", "null|null|null"),
        (" \t", "nothing|nothing|nothing"),
        (r#"{"a":"x","b":[],"c":1}"#, "null|null|null malformed"),
        (r#"{"a":1.0,"b":null}"#, "null|null|null malformed"),
        (r#"{"a":9223372036854775808}"#, "null|null|null malformed"),
        (r#"{"a":1,"a":2}"#, "left"),
        (r#"{"a":1"#, "null|null|null broken"),
        (r#"{"a":1,"c":{"k":"#, "left"),
        (r#"{"a":1,"c":{"k""#, "left"),
        (r#"{"a":1,"c":{"k":1,"#, "null|null|null broken"),
        (r#"{"a":"x"#, "null|null|null broken"),
        (r#"{"a":tr"#, "null|null|null broken"),
        (r#"{"a":{}"#, "left"),
        (r#"{"a":x"#, "left"),
        ("{'a':1", "left"),
        ("{\0a", "left"),
        ("no JSON at all", "null|null|null broken"),
        ("-1", "null|null|null broken"),
        ("\"{}\"", "null|null|null broken"),
        ("/* {} */", "left"),
        ("\u{feff}{}", "left"),
        (r#"{"a":1} x"#, "left"),
        (r#"{"a":01}"#, "left"),
        (r#"{"a":-0}"#, "left"),
        (r#"{"a":""}"#, "left"),
        (r#"{"b":{"x":"u"}}"#, "left"),
        (r#"{"c":{"k":1,"k":2}}"#, "left"),
        ("[]", "left"),
        ("null", "null|null|null broken"),
    ];
    for (line, expected) in lines {
        let mut records = JsonRecords::new(&json(), &fields).unwrap();
        assert_eq!(read(&mut records, line), expected, "{line}");
    }
    let shallow = JsonForm {
        max_depth: 10,
        ..json()
    };
    assert!(JsonRecords::new(&shallow, &fields).is_err());
}

#[test]
fn values_of_json_are_taken_by_type() {
    let of = |data_type: DataType, value: &str| {
        let fields = [field("v", data_type)];
        let mut records = JsonRecords::new(&json(), &fields).unwrap();
        read(&mut records, &format!("{{\"v\":{value}}}"))
    };
    assert_eq!(of(DataType::Double, "1"), "1.0");
    assert_eq!(of(DataType::Double, "\"-INF\""), "-inf");
    assert_eq!(of(DataType::Double, "\"1.5\""), "null malformed");
    assert_eq!(of(DataType::Float, "16777217"), "16777216.0");
    assert_eq!(of(DataType::String, "12"), "12");
    assert_eq!(of(DataType::String, "true"), "true");
    assert_eq!(of(DataType::String, "1.50"), "left");
    assert_eq!(of(DataType::String, "[1]"), "left");
    assert_eq!(of(DataType::String, r#""\u00e4\n""#), "ä\n");
    assert_eq!(of(DataType::String, r#""\ud83d""#), "left");
    assert_eq!(of(DataType::Boolean, "1"), "null malformed");
    assert_eq!(of(DataType::Date, "\"1970-01-02\""), "1970-01-02");
    assert_eq!(of(DataType::Date, "1"), "null malformed");
    assert_eq!(
        of(DataType::TimestampNtz, "\"1970-01-02 03:04\""),
        "1970-01-02T03:04:00"
    );
    let decimal = DataType::Decimal(Decimal {
        precision: 4,
        scale: 1,
    });
    assert_eq!(of(decimal.clone(), "12.25"), "12.3");
    assert_eq!(of(decimal.clone(), "\"1,2\""), "12.0");
    assert_eq!(of(decimal, "1e4"), "null malformed");
}
