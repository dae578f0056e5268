//! Frames that arrive in pieces are those that arrive at once, and are written as they were read.
#![no_main]

use bytes::BytesMut;
use wire::frame::Frame;

const MAX: usize = 1 << 20;

firesteel_fuzz::target!(|data: &[u8]| {
    let step = data.first().map_or(1, |byte| usize::from(*byte) + 1);
    let data = data.get(1..).unwrap_or_default();
    let mut whole = BytesMut::from(data);
    let mut pieces = data.chunks(step);
    let mut arrived = BytesMut::new();
    loop {
        let expected = Frame::decode(&mut whole, MAX);
        let found = loop {
            match Frame::decode(&mut arrived, MAX) {
                Ok(None) => match pieces.next() {
                    Some(piece) => arrived.extend_from_slice(piece),
                    None => break Ok(None),
                },
                found => break found,
            }
        };
        assert_eq!(found, expected);
        let Ok(Some(frame)) = found else { break };
        let mut written = BytesMut::new();
        frame.encode(&mut written);
        assert_eq!(Frame::decode(&mut written, 4 * MAX), Ok(Some(frame)));
        assert!(written.is_empty());
    }
});
