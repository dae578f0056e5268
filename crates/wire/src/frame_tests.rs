use super::*;
use proptest::prelude::*;

const MAX: usize = 1 << 20;

fn encoded(frame: &Frame) -> BytesMut {
    let mut out = BytesMut::new();
    frame.encode(&mut out);
    out
}

fn decoded(bytes: &[u8]) -> Result<Option<Frame>, FrameError> {
    Frame::decode(&mut BytesMut::from(bytes), MAX)
}

/// Every frame captured from real drivers and executors reads, and writes back to the same bytes.
#[test]
fn captured_frames_survive_a_round_trip() {
    let mut kinds = std::collections::BTreeMap::<String, usize>::new();
    for version in testkit::VERSIONS {
        for (name, bytes) in crate::test_vectors::frames(version) {
            let mut buffer = BytesMut::from(&bytes[..]);
            let frame = Frame::decode(&mut buffer, MAX_FRAME)
                .unwrap()
                .expect("a whole frame");
            assert!(buffer.is_empty(), "{version}: bytes left behind {name}");
            assert_eq!(frame.kind().to_string(), name, "{version}");
            assert_eq!(encoded(&frame), bytes, "{version}: {name}");
            *kinds.entry(name).or_default() += 1;
        }
    }
    for name in [
        "RpcRequest",
        "RpcResponse",
        "RpcFailure",
        "OneWayMessage",
        "StreamRequest",
        "StreamResponse",
    ] {
        assert!(
            kinds.get(name).is_some_and(|count| *count >= 5),
            "{name} missing in {kinds:?}"
        );
    }
}

#[test]
fn a_captured_stream_response_announces_raw_bytes() {
    let bytes = testkit::from_hex(
        "000000000000002707000000122f6a6172732f6170702d763433302e6a61720000000000002a98",
    );
    let expected = Frame::StreamResponse {
        stream_id: "/jars/app-v430.jar".into(),
        byte_count: 10904,
    };
    assert_eq!(decoded(&bytes), Ok(Some(expected)));
}

#[test]
fn an_incomplete_frame_is_no_error_and_takes_nothing() {
    let whole = encoded(&Frame::RpcRequest {
        request_id: 7,
        body: Bytes::from_static(b"hello"),
    });
    for end in 0..whole.len() {
        let mut part = BytesMut::from(&whole[..end]);
        assert_eq!(Frame::decode(&mut part, MAX), Ok(None));
        assert_eq!(part.len(), end);
    }
}

#[test]
fn impossible_lengths_are_refused_before_the_frame_arrives() {
    assert_eq!(
        decoded(&i64::MAX.to_be_bytes()),
        Err(FrameError::TooLarge {
            length: i64::MAX,
            max: MAX
        })
    );
    assert_eq!(
        decoded(&8i64.to_be_bytes()),
        Err(FrameError::Length { length: 8 })
    );
    assert_eq!(
        decoded(&0i64.to_be_bytes()),
        Err(FrameError::Length { length: 0 })
    );
    assert_eq!(
        decoded(&i64::MIN.to_be_bytes()),
        Err(FrameError::Length { length: i64::MIN })
    );
    let length = i64::from_be_bytes(*b"GET / HT");
    assert_eq!(
        decoded(b"GET / HTTP/1.1\r\n\r\n"),
        Err(FrameError::TooLarge { length, max: MAX })
    );
    let just_over = (MAX + LENGTH_SIZE + 1) as i64;
    assert_eq!(
        decoded(&just_over.to_be_bytes()),
        Err(FrameError::TooLarge {
            length: just_over,
            max: MAX
        })
    );
}

#[test]
fn fields_that_leave_the_frame_are_named() {
    let kind = FrameKind::StreamRequest;
    let frame = |body: &[u8]| {
        let mut out = ((LENGTH_SIZE + body.len()) as i64).to_be_bytes().to_vec();
        out.extend_from_slice(body);
        out
    };
    assert_eq!(
        decoded(&frame(&[6, 0, 0])),
        Err(FrameError::Truncated {
            kind,
            field: "streamId"
        })
    );
    assert_eq!(
        decoded(&frame(&[6, 0, 0, 0, 9, b'x'])),
        Err(FrameError::Truncated {
            kind,
            field: "streamId"
        })
    );
    assert_eq!(
        decoded(&frame(&[6, 0xff, 0xff, 0xff, 0xff])),
        Err(FrameError::Negative {
            kind,
            field: "streamId",
            value: -1
        })
    );
    let mut response = vec![7, 0, 0, 0, 0];
    response.extend_from_slice(&(-1i64).to_be_bytes());
    assert_eq!(
        decoded(&frame(&response)),
        Err(FrameError::Negative {
            kind: FrameKind::StreamResponse,
            field: "byteCount",
            value: -1
        })
    );
}

#[test]
fn unknown_types_keep_their_bytes() {
    let frame = Frame::Unknown {
        kind: FrameKind(0x63),
        body: Bytes::from_static(b"later"),
    };
    assert_eq!(decoded(&encoded(&frame)), Ok(Some(frame.clone())));
    assert_eq!(frame.kind().to_string(), "frame type 99");
}

fn any_frame() -> impl Strategy<Value = Frame> {
    let ids = || any::<(i64, i32)>();
    let named = || any::<(i64, String)>();
    let body = || proptest::collection::vec(any::<u8>(), 0..64).prop_map(Bytes::from);
    let count = || 0..=i64::MAX as u64;
    prop_oneof![
        ids().prop_map(|(stream_id, chunk_index)| Frame::ChunkFetchRequest {
            stream_id,
            chunk_index
        }),
        (ids(), body()).prop_map(|((stream_id, chunk_index), body)| {
            Frame::ChunkFetchSuccess {
                stream_id,
                chunk_index,
                body,
            }
        }),
        (ids(), any::<String>()).prop_map(|((stream_id, chunk_index), error)| {
            Frame::ChunkFetchFailure {
                stream_id,
                chunk_index,
                error,
            }
        }),
        (any::<i64>(), body())
            .prop_map(|(request_id, body)| Frame::RpcRequest { request_id, body }),
        (any::<i64>(), body())
            .prop_map(|(request_id, body)| Frame::RpcResponse { request_id, body }),
        named().prop_map(|(request_id, error)| Frame::RpcFailure { request_id, error }),
        any::<String>().prop_map(|stream_id| Frame::StreamRequest { stream_id }),
        (any::<String>(), count()).prop_map(|(stream_id, byte_count)| {
            Frame::StreamResponse {
                stream_id,
                byte_count,
            }
        }),
        any::<(String, String)>()
            .prop_map(|(stream_id, error)| Frame::StreamFailure { stream_id, error }),
        body().prop_map(|body| Frame::OneWayMessage { body }),
        (any::<i64>(), body(), count()).prop_map(|(request_id, meta, byte_count)| {
            Frame::UploadStream {
                request_id,
                meta,
                byte_count,
            }
        }),
        (named(), any::<(i32, i32, i32)>()).prop_map(
            |((request_id, app_id), (shuffle_id, shuffle_merge_id, reduce_id))| {
                Frame::MergedBlockMetaRequest {
                    request_id,
                    app_id,
                    shuffle_id,
                    shuffle_merge_id,
                    reduce_id,
                }
            }
        ),
        (ids(), body()).prop_map(|((request_id, num_chunks), body)| {
            Frame::MergedBlockMetaSuccess {
                request_id,
                num_chunks,
                body,
            }
        }),
        (13u8.., body()).prop_map(|(kind, body)| Frame::Unknown {
            kind: FrameKind(kind),
            body
        }),
    ]
}

proptest! {
    #[test]
    fn every_frame_survives_a_round_trip(frames in proptest::collection::vec(any_frame(), 1..5)) {
        let mut wire = BytesMut::new();
        frames.iter().for_each(|frame| frame.encode(&mut wire));
        for frame in frames {
            prop_assert_eq!(Frame::decode(&mut wire, MAX), Ok(Some(frame)));
        }
        prop_assert!(wire.is_empty());
    }

    #[test]
    fn any_bytes_are_decoded_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200), kind in any::<u8>()) {
        let mut framed = ((LENGTH_SIZE + 1 + bytes.len()) as i64).to_be_bytes().to_vec();
        framed.push(kind);
        framed.extend_from_slice(&bytes);
        let mut buffer = BytesMut::from(&framed[..]);
        if let Ok(frame) = Frame::decode(&mut buffer, MAX) {
            prop_assert_eq!(frame.expect("a whole frame").kind(), FrameKind(kind));
        }
    }
}
