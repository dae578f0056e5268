use super::*;

fn read(text: &str) -> DataType {
    data_type(text, "Europe/Paris").unwrap()
}

fn error(text: &str) -> String {
    types(text, "UTC").unwrap_err().to_string()
}

#[test]
fn every_word_has_its_arrow_type() {
    let expected = [
        ("boolean", DataType::Boolean),
        ("tinyint", DataType::Int8),
        ("smallint", DataType::Int16),
        ("int", DataType::Int32),
        ("bigint", DataType::Int64),
        ("float", DataType::Float32),
        ("double", DataType::Float64),
        ("decimal(38,0)", DataType::Decimal128(38, 0)),
        ("decimal(1,1)", DataType::Decimal128(1, 1)),
        ("string", DataType::Utf8),
        ("binary", DataType::Binary),
        ("date", DataType::Date32),
        (
            "timestamp",
            DataType::Timestamp(TimeUnit::Microsecond, Some("Europe/Paris".into())),
        ),
        (
            "timestamp_ntz",
            DataType::Timestamp(TimeUnit::Microsecond, None),
        ),
    ];
    for (text, data_type) in expected {
        assert_eq!(read(text), data_type);
        assert_eq!(read(&text.to_uppercase()), data_type);
        assert_eq!(name(&data_type), text);
    }
}

#[test]
fn nested_types_have_the_names_that_spark_gives_them() {
    let element = Field::new("element", DataType::Int32, true);
    assert_eq!(read("array<int>"), DataType::List(Arc::new(element)));
    let entries = Fields::from(vec![
        Field::new("key", DataType::Utf8, false),
        Field::new("value", DataType::Float64, true),
    ]);
    let entries = Field::new("entries", DataType::Struct(entries), false);
    assert_eq!(
        read("map<string,double>"),
        DataType::Map(Arc::new(entries), false)
    );
    let fields = Fields::from(vec![
        Field::new("a_1", DataType::Int32, true),
        Field::new("B", DataType::Date32, true),
    ]);
    assert_eq!(
        read("struct<a_1:int,B:date>"),
        DataType::Struct(fields.clone())
    );
    assert_eq!(columns("a_1:int, B : date", "UTC").unwrap(), fields);
    for text in [
        "array<array<struct<a:map<string,decimal(20,3)>,b:timestamp>>>",
        "map<struct<x:int,y:int>,array<timestamp_ntz>>",
    ] {
        assert_eq!(name(&read(text)), text);
    }
}

#[test]
fn lists_may_be_empty_and_have_whitespace() {
    assert_eq!(types("", "UTC").unwrap(), []);
    assert_eq!(types(" \t\n", "UTC").unwrap(), []);
    assert_eq!(columns(" ", "UTC").unwrap(), Fields::empty());
    assert_eq!(
        types(" Double ,\tdecimal ( 10 , 2 ) , array < int > ", "UTC").unwrap(),
        [
            DataType::Float64,
            DataType::Decimal128(10, 2),
            read("array<int>")
        ]
    );
}

#[test]
fn errors_quote_the_text_and_the_place() {
    for (text, expected) in [
        ("doubel", "no type is named `doubel` at byte 0"),
        (
            "int,",
            "cannot read the types `int,`: a type expected, the end found at byte 4",
        ),
        (
            "int int",
            "cannot read the types `int int`: `,` or the end expected, `i` found at byte 4",
        ),
        ("array int", "`<` expected, `i` found at byte 6"),
        ("array<int", "`>` expected, the end found at byte 9"),
        ("array<>", "a type expected, `>` found at byte 6"),
        ("decimal", "`(` expected, the end found at byte 7"),
        ("decimal(39,0)", "`39` is no number from 1 to 38 at byte 8"),
        ("decimal(0,0)", "`0` is no number from 1 to 38 at byte 8"),
        ("decimal(5,6)", "`6` is no number from 0 to 5 at byte 10"),
        ("decimal(5,-1)", "a number expected, `-` found at byte 10"),
        ("map<int>", "`,` expected, `>` found at byte 7"),
        ("struct<>", "a name expected, `>` found at byte 7"),
        ("struct<a int>", "`:` expected, `i` found at byte 9"),
        (
            "struct<a:int,a:int>",
            "the name `a` a second time at byte 13",
        ),
        ("struct<é:int>", "a name expected, `é` found at byte 7"),
        ("integer", "no type is named `integer`"),
        ("int:int", "`,` or the end expected, `:` found"),
    ] {
        let error = error(text);
        assert!(error.contains(expected), "{error}");
        assert!(error.contains(text), "{error}");
    }
    assert!(data_type("", "UTC").is_err());
    assert!(data_type("int, int", "UTC").is_err());
    assert!(columns("int", "UTC").is_err());
    assert!(columns("a:int, a:int", "UTC").is_err());
    assert_eq!(columns("a:what", "UTC").unwrap_err().place(), 2);
}

#[test]
fn texts_are_limited() {
    let nested = |depth: usize| format!("{}int{}", "array<".repeat(depth), ">".repeat(depth));
    assert!(types(&nested(MAX_DEPTH - 1), "UTC").is_ok());
    let error = types(&nested(MAX_DEPTH), "UTC").unwrap_err();
    assert_eq!(error.place(), MAX_DEPTH * "array<".len());
    let error = error.to_string();
    assert!(error.contains("more than 32 types"), "{error}");
    assert!(error.len() < 400, "{error}");

    let long = format!("int{}", " ".repeat(MAX_LENGTH));
    let error = types(&long, "UTC").unwrap_err().to_string();
    assert!(error.contains("too long"), "{error}");
    // Deep without an end: no overflow of the stack.
    assert!(types(&"array<".repeat(10_000), "UTC").is_err());
    assert!(types(&"é".repeat(10_000), "UTC").is_err());
}

#[test]
fn types_that_differ_in_names_only_fit() {
    let list = |name: &str, nullable| {
        DataType::List(Arc::new(Field::new(name, DataType::Int32, nullable)))
    };
    assert!(fits(&read("array<int>"), &list("item", false)));
    assert!(!fits(&read("array<bigint>"), &list("item", false)));
    assert!(fits(
        &read("timestamp"),
        &data_type("timestamp", "UTC").unwrap()
    ));
    assert!(!fits(&read("timestamp"), &read("timestamp_ntz")));
    assert!(fits(
        &read("map<int,array<int>>"),
        &read("map<int,array<int>>")
    ));
    assert!(!fits(&read("map<int,int>"), &read("map<int,string>")));
    assert!(!fits(&read("struct<a:int>"), &read("struct<b:int>")));
    assert!(!fits(&read("struct<a:int>"), &read("struct<a:int,b:int>")));
    assert!(!fits(&read("int"), &read("bigint")));
}

/// Any bytes, and pieces of the language in any order, are read or refused.
#[test]
fn nothing_makes_it_panic() {
    let pieces = [
        "array<",
        "map<",
        "struct<",
        ">",
        ",",
        ":",
        "(",
        ")",
        "a",
        "int",
        "decimal",
        "38",
        "0",
        " ",
        "é",
        "timestamp",
        "_",
        "\0",
        "\u{202e}",
        "9999999999",
    ];
    let mut state = 0x2545_F491_4F6C_DD1D_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let mut read = 0;
    for _ in 0..20_000 {
        let count = next() % 12;
        let text: String = match next() % 2 {
            0 => (0..count)
                .map(|_| pieces[next() as usize % pieces.len()])
                .collect(),
            _ => {
                let bytes: Vec<u8> = (0..count * 4).map(|_| next() as u8).collect();
                String::from_utf8_lossy(&bytes).into_owned()
            }
        };
        let types = types(&text, "UTC");
        let columns = columns(&text, "UTC");
        for error in [types.as_ref().err(), columns.as_ref().err()]
            .into_iter()
            .flatten()
        {
            assert!(error.place() <= text.len());
            assert!(!error.to_string().is_empty());
        }
        for data_type in types.unwrap_or_default() {
            read += 1;
            assert_eq!(super::data_type(&name(&data_type), "UTC"), Ok(data_type));
        }
    }
    assert!(read > 50, "{read} types were read");
}
