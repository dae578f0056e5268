//! Frames as CPython writes them (`pickle.dumps(…, 5)`, and protocol 2 where that is said).

use arrow::array::AsArray;
use arrow::datatypes::{Decimal128Type, Float64Type, Int8Type, Int32Type, Int64Type};
use proptest::prelude::*;

use super::*;

fn columns(frame: &[u8], types: &[DataType]) -> Result<(Vec<ArrayRef>, usize)> {
    super::columns(frame, types, 17)
}

fn column_of(frame: &[u8], of: &DataType) -> ArrayRef {
    let (mut columns, _) = columns(frame, std::slice::from_ref(of)).unwrap();
    columns.pop().unwrap()
}

/// `[1, None, -5, 300, 70000, 1 << 35, 1 << 70, True, 1.5, "a", "a"]`
const MIXED: &[u8] = b"\x80\x05\x95:\0\0\0\0\0\0\0]\x94(K\x01NJ\xfb\xff\xff\xffM,\x01Jp\x11\x01\0\
    \x8a\x05\0\0\0\0\x08\x8a\x09\0\0\0\0\0\0\0\0@\x88G?\xf8\0\0\0\0\0\0\x8c\x01a\x94h\x01e.";

#[test]
fn what_has_another_type_is_null() {
    let longs = column_of(MIXED, &DataType::Long);
    let some = [
        Some(1),
        None,
        Some(-5),
        Some(300),
        Some(70000),
        Some(1 << 35),
    ];
    let expected: Vec<_> = some.into_iter().chain([None; 5]).collect();
    assert_eq!(
        longs.as_primitive::<Int64Type>().iter().collect::<Vec<_>>(),
        expected
    );
    // As Java casts.
    let bytes = column_of(MIXED, &DataType::Byte);
    let cut = [Some(1), None, Some(-5), Some(44), Some(112), Some(0)];
    let bytes: Vec<_> = bytes.as_primitive::<Int8Type>().iter().take(6).collect();
    assert_eq!(bytes, cut);
    let days = column_of(MIXED, &DataType::Date);
    assert_eq!(days.null_count(), 7);
    let truths = column_of(MIXED, &DataType::Boolean);
    assert_eq!(truths.null_count(), 10);
    assert!(truths.as_boolean().value(7));
    let doubles = column_of(MIXED, &DataType::Double);
    assert_eq!(doubles.null_count(), 10);
}

#[test]
fn anything_is_a_text_but_what_java_writes_in_its_own_way() {
    // `["é", None, True, 12]`
    let frame = b"\x80\x05]\x94(\x8c\x02\xc3\xa9\x94N\x88K\x0ce.";
    let texts = column_of(frame, &DataType::String);
    let texts: Vec<_> = texts.as_string_view().iter().collect();
    assert_eq!(texts, [Some("é"), None, Some("true"), Some("12")]);
    let why = columns(MIXED, &[DataType::String]).unwrap_err();
    assert!(why.to_string().contains("no text"), "{why}");
}

#[test]
fn lists_and_tuples_are_arrays() {
    // `[[1, 2], (3,), None, 4, []]`, the last two by APPEND and by a list that is made before.
    let frame = b"\x80\x05]\x94(]\x94(K\x01K\x02eK\x03\x85\x94NK\x04]\x94e.";
    let of = DataType::Array {
        element: Box::new(DataType::Integer),
        contains_null: true,
    };
    let lists = column_of(frame, &of);
    let lists: Vec<_> = lists.as_list::<i32>().iter().collect();
    let lists: Vec<_> = lists
        .iter()
        .map(|list| {
            list.as_ref()
                .map(|list| list.as_primitive::<Int32Type>().values().to_vec())
        })
        .collect();
    assert_eq!(
        lists,
        [Some(vec![1, 2]), Some(vec![3]), None, None, Some(vec![])]
    );
}

#[test]
fn bytes_are_arrays_to_java() {
    // `[b"ab"]`
    let frame = b"\x80\x05]\x94C\x02ab\x94a.";
    let field = |name: &str| StructField {
        name: name.to_owned(),
        data_type: DataType::Byte,
        nullable: true,
        field_id: None,
        exists_default: None,
    };
    let list = DataType::Array {
        element: Box::new(DataType::Byte),
        contains_null: true,
    };
    for of in [list, DataType::Struct(vec![field("a"), field("b")])] {
        assert!(columns(frame, &[of]).is_err());
    }
    let bytes = column_of(frame, &DataType::Binary);
    assert_eq!(bytes.as_binary_view().value(0), b"ab");
}

#[test]
fn results_of_several_functions_come_in_tuples() {
    // `[(1, "a"), (2, None)]`
    let frame = b"\x80\x05]\x94(K\x01\x8c\x01a\x94\x86\x94K\x02N\x86\x94e.";
    let types = [DataType::Integer, DataType::String];
    let (columns_, rows) = columns(frame, &types).unwrap();
    assert_eq!(rows, 2);
    assert_eq!(columns_[0].as_primitive::<Int32Type>().values(), &[1, 2]);
    assert_eq!(columns_[1].null_count(), 1);
    assert!(columns(frame, &[types.as_slice(), &[DataType::Long]].concat()).is_err());
}

#[test]
fn decimals_are_rounded_half_up() {
    // `[decimal.Decimal("1.25"), None]`
    let frame = b"\x80\x05]\x94(\x8c\x07decimal\x94\x8c\x07Decimal\x94\x93\x94\x8c\x041.25\x94\x85\x94R\x94Ne.";
    let of = Decimal {
        precision: 3,
        scale: 1,
    };
    let values = column_of(frame, &DataType::Decimal(of));
    let values: Vec<_> = values.as_primitive::<Decimal128Type>().iter().collect();
    assert_eq!(values, [Some(13), None]);
    for (text, value) in [
        ("-1.25", Some(-13)),
        ("1.24999", Some(12)),
        ("0E-30", Some(0)),
        ("1E+1", Some(100)),
        ("99.94", Some(999)),
        ("99.95", None),
        ("1E+2", None),
        ("0.05", Some(1)),
        ("0.04", Some(0)),
        ("NaN", None),
        ("sNaN1", None),
        ("-Infinity", None),
        ("", None),
        (".", None),
        ("1E", None),
        ("1E+99999999999", None),
        ("1E+2147483647", None),
        ("1E-2147483648", None),
    ] {
        assert_eq!(unscaled(text, of), value, "{text}");
    }
}

/// `[decimal.Decimal(text)]`
fn frame_of_decimal(text: &str) -> Vec<u8> {
    let head = b"\x80\x05]\x94\x8c\x07decimal\x94\x8c\x07Decimal\x94\x93\x94\x8c";
    let length = [u8::try_from(text.len()).unwrap()];
    [head, &length[..], text.as_bytes(), b"\x94\x85\x94R\x94a."].concat()
}

#[test]
fn decimals_that_are_no_numbers_are_what_java_makes_of_them() {
    let doubles = column_of(&frame_of_decimal("NaN"), &DataType::Double);
    assert!(doubles.as_primitive::<Float64Type>().value(0).is_nan());
    assert_eq!(
        column_of(&frame_of_decimal("1.5"), &DataType::Double).null_count(),
        1
    );
    for text in [
        "Infinity",
        "-Infinity",
        "-NaN",
        "sNaN",
        "1E+2147483648",
        "1E+2147483647",
        ".5",
        "",
    ] {
        let frame = frame_of_decimal(text);
        assert!(columns(&frame, &[DataType::Double]).is_err(), "{text}");
    }
}

#[test]
fn other_objects_are_left_to_spark() {
    for frame in [
        // `[set()]`, `[object()]`, nothing, two values, a mark, no list, numbers that nobody gave.
        b"\x80\x05]\x94\x8f\x94a.".as_slice(),
        b"\x80\x05]\x94cbuiltins\nobject\n)R\x94a.",
        b"",
        b"\x80\x05.",
        b"(.",
        b"K\x01.",
        b"]h\x07a.",
        b"]q\x07.",
        b"](e",
        b"]\x8dxxxxxxxx",
        b"]\x8b\xff\xff\xff\xff\0a.",
        b"](\x85.",
    ] {
        assert!(columns(frame, &[DataType::Long]).is_err(), "{frame:?}");
    }
    // `[{}]` is no number.
    let (values, _) = columns(b"\x80\x05]\x94}\x94a.", &[DataType::Long]).unwrap();
    assert!(values[0].is_null(0));
}

#[test]
fn rows_of_calls_are_told_apart() {
    let types = [&DataType::Long, &DataType::String];
    let read = |frames: &[&[u8]]| {
        let frames: Vec<_> = frames
            .iter()
            .map(|frame| Bytes::copy_from_slice(frame))
            .collect();
        tables(&frames, &types, 17)
    };
    // [((1, 'x'), None)], [()], [((2, 'x'),)] with the memo of another pickle.
    let first: &[u8] = b"\x80\x05]\x94K\x01\x8c\x01x\x94\x86\x94N\x86\x94a.";
    let last: &[u8] = b"\x80\x05]\x94K\x02\x8c\x01y\x94\x86\x94\x85\x94a.";
    let (columns, counts) = read(&[first, b"\x80\x05])a.", last]).unwrap();
    assert_eq!(counts, [2, 0, 1]);
    let numbers = columns[0].as_primitive::<Int64Type>();
    assert_eq!(numbers, &Int64Array::from(vec![Some(1), None, Some(2)]));
    let texts: Vec<_> = columns[1].as_string_view().iter().collect();
    assert_eq!(texts, [Some("x"), None, Some("y")]);
    // A row of one value, a row that is a list, a call that made no tuple.
    for other in [
        &b"\x80\x05]K\x01\x85\x85a."[..],
        b"\x80\x05]]K\x01aK\x02a\x85a.",
        b"\x80\x05]K\x01a.",
    ] {
        assert!(read(&[other]).is_err(), "{other:?}");
    }
    // The same rows again and again.
    let bomb = nested_again_and_again(b"K\x01\x8c\x01x\x86", 2);
    assert!(read(&[&bomb]).is_err());
}

/// A pickle of `[first] * 256`, and that in a list 256 times, and so on.
fn nested_again_and_again(first: &[u8], levels: u8) -> Vec<u8> {
    let mut frame = b"\x80\x05".to_vec();
    for _ in 0..levels {
        frame.extend_from_slice(b"]\x94(");
    }
    frame.extend_from_slice(first);
    frame.push(b'\x94');
    for inner in (0..levels).rev() {
        frame.extend_from_slice(&[b'h', inner + 1].repeat(255));
        frame.push(b'e');
    }
    frame.push(b'.');
    frame
}

#[test]
fn objects_that_are_named_again_and_again_are_no_bomb() {
    let array = |element| DataType::Array {
        element: Box::new(element),
        contains_null: true,
    };
    let lists = array(array(DataType::Long));
    let frame = nested_again_and_again(b"K\x07", 2);
    let (values, rows) = columns(&frame, &[array(DataType::Long)]).unwrap();
    assert_eq!(rows, 256);
    assert_eq!(values[0].as_list::<i32>().values().len(), 256 * 256);
    assert!(columns(&nested_again_and_again(b"K\x07", 3), &[lists]).is_err());
    for (of, opcode) in [(DataType::String, b'X'), (DataType::Binary, b'B')] {
        let text = |length: u32| {
            let mut object = vec![opcode];
            object.extend_from_slice(&length.to_le_bytes());
            object.resize(object.len() + length as usize, b'a');
            nested_again_and_again(&object, 1)
        };
        let of = [of];
        assert_eq!(columns(&text(10_000), &of).unwrap().1, 256);
        assert!(columns(&text(100_000), &of).is_err());
    }
}

proptest! {
    #[test]
    fn whatever_comes_is_read_or_refused(frame in prop::collection::vec(any::<u8>(), 0..64)) {
        let of = DataType::Array { element: Box::new(DataType::String), contains_null: true };
        for of in [DataType::Long, of] {
            if let Ok((columns, rows)) = columns(&frame, &[of]) {
                prop_assert_eq!(columns[0].len(), rows);
            }
        }
    }
}
