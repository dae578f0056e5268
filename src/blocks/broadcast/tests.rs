use super::*;
use bytes::Bytes;
use javaser::kryo::KryoForm;
use std::io::{self, Read};

/// A Java stream with a `PythonBroadcast` whose payload is cut into these blocks.
fn python_broadcast(blocks: &[&[u8]]) -> Vec<u8> {
    let mut stream =
        b"\xac\xed\0\x05\x73\x72\0\x2borg.apache.spark.api.python.PythonBroadcast".to_vec();
    stream.extend_from_slice(b"12345678\x03\0\x03J\0\x0bbroadcastId");
    stream.extend_from_slice(b"L\0\x01d\x74\0\x04LXX;L\0\x01e\x71\0\x7e\0\x01\x78\x70");
    for block in blocks {
        match u8::try_from(block.len()) {
            Ok(len) => stream.extend_from_slice(&[0x77, len]),
            Err(_) => {
                stream.push(0x7a);
                stream.extend_from_slice(&(block.len() as i32).to_be_bytes());
            }
        }
        stream.extend_from_slice(block);
    }
    stream.push(0x78);
    stream
}

fn read(stream: &[u8]) -> io::Result<(i64, Vec<u8>)> {
    let mut reader = PythonBroadcastReader::new(stream)?;
    let mut payload = Vec::new();
    reader.read_to_end(&mut payload)?;
    Ok((reader.broadcast_id(), payload))
}

#[test]
fn the_pickle_of_a_python_broadcast_is_found() {
    let long = [7; 1000];
    let stream = python_broadcast(&[&[0, 0, 0, 0, 0], &[0, 0, 9, b'a', b'b'], &[], &long, b"end"]);
    let expected = [&b"ab"[..], &long, b"end"].concat();
    assert_eq!(read(&stream).unwrap(), (9, expected.clone()));
    let kryo = [&[0x81, 0x01, 0x01][..], &stream].concat();
    assert_eq!(read(&kryo).unwrap(), (9, expected));
    for len in 0..stream.len() {
        let error = read(&stream[..len]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof, "{len}");
    }
    assert_eq!(
        read(b"\xac\xed\0\x05\x73\x72\0\x01X").unwrap_err().kind(),
        io::ErrorKind::InvalidData
    );
    assert_eq!(
        read(&[0; 20]).unwrap_err().kind(),
        io::ErrorKind::InvalidData
    );
}

#[test]
fn byte_arrays_of_both_serializers_are_taken_out() {
    let java = b"\xac\xed\0\x05\x75\x72\0\x02[B\xac\xf3\x17\xf8\x06\x08\x54\xe0\x02\0\0\x78\x70\0\0\0\x03abc";
    let value = Bytes::copy_from_slice(java);
    let taken = java_byte_array(&value, None).unwrap();
    assert_eq!(&taken[..], b"abc");
    assert!(value.as_ptr_range().contains(&taken.as_ptr()), "no copy");
    for len in 0..java.len() {
        assert!(java_byte_array(&value.slice(..len), None).is_err(), "{len}");
    }
    let kryo = KryoForm::default();
    let mut bytes = Vec::new();
    kryo.write_bytes(&mut bytes, b"abc");
    assert_eq!(
        &java_byte_array(&bytes.into(), Some(kryo)).unwrap()[..],
        b"abc"
    );
    assert!(java_byte_array(&value, Some(kryo)).is_err());
}
