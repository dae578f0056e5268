use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Int64Array, LargeBinaryArray, StringViewArray};
use arrow::datatypes::{Int32Type, Int64Type};
use catalyst::DataType;
use javatime::{TimeZone, Zone, Zones};

use super::build::{Builder, Fault};
use super::cast::Caster;
use super::format::Variant;
use super::parse::{Rules, parse};
use super::{exploded, make, path, schema, text};

const RULES: Rules = Rules {
    repeated: true,
    unicode: true,
};

fn made(json: &str) -> Result<Vec<u8>, Fault> {
    parse(json, RULES, &mut Builder::default())
}

fn json_of(bytes: &[u8]) -> String {
    let mut out = String::new();
    text::write(Variant::new(bytes).unwrap(), &Zone::UTC, &mut out).unwrap();
    out
}

/// Value and metadata, in hexadecimal.
fn hex(bytes: &[u8]) -> (String, String) {
    let (value, metadata) = super::format::split(bytes).unwrap();
    let hex = |of: &[u8]| of.iter().map(|byte| format!("{byte:02x}")).collect();
    (hex(value), hex(metadata))
}

#[test]
fn schemas_of_names_alike_are_left_to_spark() {
    // Whether they are one name is the session's to say, which is known to no function.
    let bytes = made(r#"[{"b":1},{"B":999}]"#).unwrap();
    assert_eq!(json_of(&bytes), r#"[{"b":1},{"B":999}]"#);
    let variant = Variant::new(&bytes).unwrap();
    assert!(schema::write(variant, &mut String::new()).is_err());
}

#[test]
fn bytes_are_sparks() {
    // As plain Spark 4.0.5 and 4.3.0 have them.
    for (json, value, metadata) in [
        ("null", "00", "010000"),
        ("1", "0c01", "010000"),
        ("-129", "107fff", "010000"),
        ("1.50", "200296000000", "010000"),
        ("1e5", "1c00000000006af840", "010000"),
        ("\"ab\"", "096162", "010000"),
        ("[1,null]", "03020002030c0100", "010000"),
    ] {
        let found = hex(&made(json).unwrap());
        assert_eq!(found, (value.to_owned(), metadata.to_owned()), "{json}");
    }
    let found = hex(&made("{\"b\":1,\"a\":2}").unwrap());
    let value = "02020100020004".to_owned() + "0c010c02";
    assert_eq!(found, (value, "0102000102".to_owned() + "6261"));
}

#[test]
fn texts_come_back() {
    for json in [
        "[1,2.5,\"x\\n\",null,true,{\"a\":[]}]",
        "{\"a\":{\"b\":-1},\"ä\":\"𝄞\"}",
        "12345678901234567890.5",
        "9223372036854775808",
        "-9223372036854775808",
    ] {
        assert_eq!(json_of(&made(json).unwrap()), json);
    }
    // The last one counts, and its names stay.
    assert_eq!(
        json_of(&made("{\"a\":1,\"b\":2,\"a\":[3]}").unwrap()),
        "{\"a\":[3],\"b\":2}"
    );
    let many: Vec<_> = (0..300).map(|n| format!("\"k{n:03}\":{n}")).collect();
    let many = format!("{{{}}}", many.join(","));
    assert_eq!(json_of(&made(&many).unwrap()), many);
    let bytes = made(&many).unwrap();
    let found = path::find(
        Variant::new(&bytes).unwrap(),
        &path::steps("$.k123").unwrap(),
    );
    assert_eq!(found.unwrap().unwrap().own_bytes().unwrap(), [12, 123]);
}

#[test]
fn what_jackson_reads_is_known() {
    // What stands behind a value does not count.
    for json in [
        "1 x",
        "[1]]",
        "{} garbage",
        "true]",
        "null ",
        "true:",
        "\"a\"b",
        " \n1\t",
    ] {
        assert!(made(json).is_ok(), "{json}");
    }
    for json in [
        "",
        " ",
        "1x",
        "1,2",
        "01",
        "-",
        "+1",
        ".5",
        "1.",
        "1e",
        "nul",
        "truex",
        "true1",
        "NaN",
        "'a'",
        "[1,]",
        "[,1]",
        "[1 2]",
        "{a:1}",
        "{\"a\":1,}",
        "{\"a\"}",
        "\"a\tb\"",
        "\"\\x\"",
        "\"\\u12g4\"",
        "\"abc",
        "\"\\ud83d\"",
        "\"\\ude00\"",
        "{\"\\ud83d\":1}",
        "/**/1",
        "\u{a0}1",
        "\u{1}",
    ] {
        assert_eq!(made(json), Err(Fault::None), "{json}");
    }
    let long = "1".repeat(1001);
    let deep = "[".repeat(400) + &"]".repeat(400);
    for json in [&long, &deep, "nullä", "\"\\u00ı1\""] {
        assert_eq!(made(json), Err(Fault::Unknown), "{json}");
    }
    let halves = Rules {
        repeated: false,
        unicode: false,
    };
    let half = |json| parse(json, halves, &mut Builder::default());
    assert_eq!(
        json_of(&half("\"\\ud83d\\ud83d\\ude00x\\udc00\"").unwrap()),
        "\"?😀x?\""
    );
    assert_eq!(half("{\"\\ud83d\":1}"), Err(Fault::Unknown));
    assert_eq!(half("{\"\\ud83d\":x}"), Err(Fault::None));
    assert_eq!(half("{\"a\":1,\"a\":2}"), Err(Fault::None));
}

#[test]
fn types_are_those_of_all_elements() {
    let of = |json: &str| {
        let mut out = String::new();
        let bytes = made(json).unwrap();
        schema::write(Variant::new(&bytes).unwrap(), &mut out).map(|()| out)
    };
    for (json, expected) in [
        ("null", "VOID"),
        ("[]", "ARRAY<VOID>"),
        ("[1,2.5]", "ARRAY<DECIMAL(21,1)>"),
        ("[1,\"a\"]", "ARRAY<VARIANT>"),
        ("[0.1,1e5]", "ARRAY<DOUBLE>"),
        (
            "[null,{\"b\":1},{\"a c\":[true]}]",
            "ARRAY<OBJECT<`a c`: ARRAY<BOOLEAN>, b: BIGINT>>",
        ),
        ("100.00", "DECIMAL(3,0)"),
        ("0.001", "DECIMAL(3,3)"),
    ] {
        assert_eq!(of(json).as_deref(), Ok(expected), "{json}");
    }
    assert!(of("[{\"a\":1},{\"A\":2}]").is_err());
}

fn cast(json: &[&str], to: &DataType, fails: bool) -> datafusion_common::Result<ArrayRef> {
    let zone = TimeZone::new("UTC", &Zones::default());
    let made: Vec<_> = json.iter().map(|json| made(json).unwrap()).collect();
    let found = made.iter().map(|of| Some(Variant::new(of).unwrap()));
    let found: Vec<_> = found.collect();
    let caster = Caster::new(to, fails, Some(&zone)).unwrap();
    caster.cast(&found)
}

#[test]
fn values_are_cast_by_their_types() {
    let texts = [
        "1",
        "\"2\"",
        "3.9",
        "null",
        "true",
        "[4]",
        "\"x\"",
        "99999999999",
    ];
    let ints = cast(&texts, &DataType::Integer, false).unwrap();
    let ints: Vec<_> = ints.as_primitive::<Int32Type>().iter().collect();
    let expected = [Some(1), Some(2), Some(3), None, Some(1), None, None, None];
    assert_eq!(ints, expected);
    assert!(cast(&["[4]"], &DataType::Integer, true).is_err());
    assert!(cast(&["\"x\""], &DataType::Integer, true).is_err());
    assert!(cast(&["null"], &DataType::Integer, true).is_ok());
    let lists = DataType::Array {
        element: Box::new(DataType::Long),
        contains_null: true,
    };
    let found = cast(&["[1,\"a\",null]", "[]", "1"], &lists, false).unwrap();
    let found = found.as_list::<i32>();
    assert_eq!(
        (found.value_offsets(), found.null_count()),
        (&[0, 3, 3, 3][..], 1)
    );
    let values: Vec<_> = found.values().as_primitive::<Int64Type>().iter().collect();
    assert_eq!(values, [Some(1), None, None]);
}

#[test]
fn variants_are_made_of_columns() {
    let mut builder = Builder::default();
    let column: ArrayRef = Arc::new(Int64Array::from(vec![Some(300), None]));
    for row in 0..2 {
        make::append(&DataType::Long, &column, row, &mut builder).unwrap();
    }
    builder.array(0, &[0, 3]).unwrap();
    assert_eq!(json_of(&builder.finish().unwrap()), "[300,null]");
    builder.clear();
    let text: ArrayRef = Arc::new(StringViewArray::from(vec!["a\"b"]));
    make::append(&DataType::String, &text, 0, &mut builder).unwrap();
    assert_eq!(json_of(&builder.finish().unwrap()), "\"a\\\"b\"");
}

#[test]
fn parts_have_the_names_of_all() {
    let variants = [
        made("{\"b\":1,\"a\":[2]}").unwrap(),
        made("[1,\"x\"]").unwrap(),
        made("1").unwrap(),
    ];
    let column: ArrayRef = Arc::new(LargeBinaryArray::from_iter_values(&variants));
    let (counts, columns) = exploded(&column).unwrap();
    assert_eq!(counts, [2, 2, 0]);
    let names: Vec<_> = columns[1].as_string_view().iter().collect();
    assert_eq!(names, [Some("a"), Some("b"), None, None]);
    assert_eq!(json_of(columns[2].as_binary::<i64>().value(0)), "[2]");
}

#[test]
fn what_is_no_variant_is_refused() {
    for bytes in [
        &b""[..],
        b"\0\0\0",
        b"\xff\xff\xff\xff\0",
        b"\x02\0\0\0\0",
        b"\x01\0\0\0\0\x02\0\0",
    ] {
        assert!(Variant::new(bytes).is_err());
    }
    // An object whose names are not there, texts that end early or are no texts, and objects within themselves.
    let metadata = [1, 0, 0];
    for value in [
        &[2, 1, 0, 0, 1, 0][..],
        &[9, 97],
        &[5, 0xff],
        &[0x40, 255, 255, 255, 127],
        &[3, 1, 0, 4],
    ] {
        let bytes = catalyst::variant_bytes(value, &metadata).unwrap();
        let variant = Variant::new(&bytes).unwrap();
        assert!(
            text::write(variant, &Zone::UTC, &mut String::new()).is_err(),
            "{value:?}"
        );
    }
    let endless = catalyst::variant_bytes(&[3, 1, 0, 0, 3, 1, 0], &metadata).unwrap();
    let _ = schema::write(Variant::new(&endless).unwrap(), &mut String::new());
}
