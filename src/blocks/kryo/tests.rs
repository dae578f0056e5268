use super::*;
use proptest::prelude::*;

const ALL: [KryoForm; 4] = [
    KryoForm {
        fixed_width: true,
        references: true,
    },
    KryoForm {
        fixed_width: true,
        references: false,
    },
    KryoForm {
        fixed_width: false,
        references: true,
    },
    KryoForm {
        fixed_width: false,
        references: false,
    },
];

/// Gives one byte at a time.
struct Trickle<'a>(&'a [u8]);

impl Read for Trickle<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let count = buf.len().min(1);
        (&mut self.0).read(&mut buf[..count])
    }
}

fn all(kryo: KryoForm, bytes: &[u8]) -> Result<Vec<KryoValue>, KryoError> {
    let mut reader = KryoReader::new(kryo, Trickle(bytes), 1 << 20);
    let mut values = Vec::new();
    while let Some(value) = reader.read()? {
        values.push(value);
    }
    Ok(values)
}

/// Records as a Python pair shuffle of a real Spark has them.
/// As `KryoSerializer` of Spark 3.5 (Scala 2.12) and 4.3 (2.13) wrote slices of a collection.
#[test]
fn slices_of_collections_are_read() {
    let read = |hex: &str, references| {
        let bytes = testkit::from_hex(hex);
        let kryo = KryoForm {
            references,
            ..KryoForm::default()
        };
        KryoReader::new(kryo, &bytes[..], 100).read_wrapped_byte_arrays()
    };
    let two = [&[1, 2, 3][..], &[9, 9]];
    for (hex, references) in [
        ("8b0101011500c8010103010401020301030909", true),
        ("8b011500c8010304010203030909", false),
        ("c20101c6010103010401020301030909", true),
        ("c201c6010304010203030909", false),
        ("8c0101011500c9010103010401020301030909", true),
        ("c30101c7010103010401020301030909", true),
    ] {
        assert_eq!(read(hex, references).unwrap(), two, "{hex}");
    }
    assert_eq!(read("c20101c6010101", true).unwrap(), [] as [&[u8]; 0]);
    assert!(read("8b01010182010080010101", true).is_err(), "objects");
}

/// As `KryoSerializer` of Spark 3.5 and 4.3 wrote them.
#[test]
fn arrays_of_byte_arrays_are_read_whatever_their_class_id() {
    let read = |bytes: &[u8], references| {
        let kryo = KryoForm {
            references,
            ..KryoForm::default()
        };
        KryoReader::new(kryo, bytes, 100).read_byte_arrays()
    };
    let two = [0xc8, 1, 1, 3, 1, 2, 1, 1, 4, 1, 2, 3];
    assert_eq!(read(&two, true).unwrap(), [&[1][..], &[1, 2, 3]]);
    let two = [0xc6, 1, 3, 2, 1, 4, 1, 2, 3];
    assert_eq!(read(&two, false).unwrap(), [&[1][..], &[1, 2, 3]]);
    assert!(read(&two[..7], false).is_err());
    assert!(read(&[0], true).is_err());
}

#[test]
fn records_are_those_of_a_jvm() {
    let kryo = KryoForm::default();
    let mut out = Vec::new();
    kryo.write_long(&mut out, -2);
    kryo.write_bytes(&mut out, b"abc");
    kryo.write_text(&mut out, b"hi");
    kryo.write_text(&mut out, b"");
    kryo.write_text(&mut out, b"x");
    kryo.write_null(&mut out);
    let expected = b"\x09\xfe\xff\xff\xff\xff\xff\xff\xff\x15\x01\x04abc\x03\x01h\xe9\x03\x01\x81\x03\x01\x82x\x00";
    assert_eq!(out, expected);
    assert_eq!(
        all(kryo, &out).unwrap(),
        [
            KryoValue::Long(-2),
            KryoValue::Bytes(Bytes::from_static(b"abc")),
            KryoValue::Text("hi".into()),
            KryoValue::Text(String::new()),
            KryoValue::Text("x".into()),
            KryoValue::Null
        ]
    );
    let numbers = b"\x02\x01\0\0\0\x0a\0\0\0\0\0\0\xf0\x3f\x05\x01\x08\xff\xff\x07A\0";
    assert_eq!(
        all(kryo, numbers).unwrap(),
        [
            KryoValue::Int(1),
            KryoValue::Double(1.0),
            KryoValue::Boolean(true),
            KryoValue::Short(-1),
            KryoValue::Char(65)
        ]
    );
}

#[test]
fn variable_widths() {
    let kryo = ALL[2];
    let mut out = Vec::new();
    kryo.write_long(&mut out, -1);
    kryo.write_long(&mut out, 64);
    kryo.write_long(&mut out, i64::MIN);
    assert_eq!(
        out,
        b"\x09\x01\x09\x80\x01\x09\xff\xff\xff\xff\xff\xff\xff\xff\xff"
    );
}

#[test]
fn damage_is_an_error_and_takes_no_memory() {
    let read = |bytes: &[u8]| all(KryoForm::default(), bytes).unwrap_err().to_string();
    assert_eq!(read(b"\x09\0"), KryoError::Truncated.to_string());
    assert_eq!(
        read(b"\x48\x01"),
        "Kryo class id 70 is not one that this program reads"
    );
    assert_eq!(
        read(b"\xff\x01"),
        "Kryo class id 253 is not one that this program reads"
    );
    assert!(read(b"\x15\x02").contains("reference"));
    assert!(read(b"\x15\x01\x00").contains("null"));
    assert!(read(b"\x15\x01\xff\xff\xff\xff\x0f").contains("longer than the 1048576"));
    assert!(read(b"\x03\x01\xff\xff\xff\xff\x0f").contains("longer than"));
    assert!(read(b"\x15\x01\xff\xff\xff\xff\xff").contains("a number"));
    assert_eq!(
        read(b"\x15\x01\x90\x80\x20abc"),
        KryoError::Truncated.to_string()
    );
    let mut pair = KryoReader::new(KryoForm::default(), &b"\0"[..], 1);
    assert!(matches!(pair.read_pair(), Err(KryoError::Truncated)));
}

fn value() -> impl Strategy<Value = KryoValue> {
    prop_oneof![
        Just(KryoValue::Null),
        any::<i64>().prop_map(KryoValue::Long),
        proptest::collection::vec(any::<u8>(), 0..700)
            .prop_map(|bytes| KryoValue::Bytes(bytes.into())),
        "\\PC{0,90}".prop_map(KryoValue::Text),
        "[\\x00-\\x7f]{0,90}".prop_map(KryoValue::Text),
    ]
}

proptest! {
    #[test]
    fn values_survive(values in proptest::collection::vec(value(), 0..20)) {
        for kryo in ALL {
            let mut out = Vec::new();
            for value in &values {
                match value {
                    KryoValue::Long(value) => kryo.write_long(&mut out, *value),
                    KryoValue::Bytes(value) => kryo.write_bytes(&mut out, value),
                    KryoValue::Text(value) => kryo.write_text(&mut out, value.as_bytes()),
                    _ => kryo.write_null(&mut out),
                }
            }
            prop_assert_eq!(&all(kryo, &out).unwrap(), &values);
        }
    }

    #[test]
    fn garbage_does_not_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        for kryo in ALL {
            let _ = all(kryo, &bytes);
        }
    }
}

#[test]
fn large_values_pass_the_buffer() {
    let kryo = KryoForm::default();
    let large: Vec<u8> = (0..READ_SIZE * 3).map(|i| i as u8).collect();
    let mut out = Vec::new();
    kryo.write_bytes(&mut out, &large);
    kryo.write_long(&mut out, 7);
    let mut reader = KryoReader::new(kryo, &out[..], 1 << 30);
    assert_eq!(reader.read().unwrap(), Some(KryoValue::Bytes(large.into())));
    assert_eq!(reader.read().unwrap(), Some(KryoValue::Long(7)));
    assert_eq!(reader.read().unwrap(), None);
}
