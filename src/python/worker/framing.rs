//! How the data of a task is divided.

use std::collections::VecDeque;

use bytes::Bytes;

/// How elements go to a worker, and what it makes of them comes back.
#[derive(Debug)]
pub(super) enum Framing {
    /// Each behind its length.
    Lengths,
    /// As parts of a stream of Arrow's IPC format. Those that came back and were not given out yet.
    Arrow(ArrowParts),
}

/// The stream that comes back.
#[derive(Debug, Default)]
pub(super) struct ArrowParts {
    /// Whether it has begun and not ended.
    pub(super) open: bool,
    /// Parts that were read together.
    pub(super) ready: VecDeque<Bytes>,
}

/// Bytes before a message: a mark, and the length of its description.
pub(super) const MESSAGE_START: usize = 8;

/// Longest description of a message: of some hundred thousand columns.
const MAX_DESCRIPTION: usize = 64 << 20;

/// The length of a message's description; 0 at the end of the stream.
///
/// # Errors
/// What is wrong with the bytes.
pub(super) fn description_length(start: &[u8]) -> Result<usize, &'static str> {
    // Before version 0.15 of the format there was no mark.
    let length = start.strip_prefix(&[0xff; 4]);
    let length = length
        .and_then(<[u8]>::first_chunk)
        .ok_or("no Arrow message")?;
    let length = usize::try_from(u32::from_le_bytes(*length)).ok();
    let length = length.filter(|length| *length <= MAX_DESCRIPTION);
    length.ok_or("a too long Arrow message")
}

/// The length of what follows a message's description.
///
/// # Errors
/// What is wrong with the bytes.
pub(super) fn body_length(description: &[u8]) -> Result<usize, &'static str> {
    let message = arrow::ipc::root_as_message(description);
    let message = message.map_err(|_| "a malformed Arrow message")?;
    usize::try_from(message.bodyLength()).map_err(|_| "an Arrow message of a negative length")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{Int32Array, RecordBatch};
    use arrow::ipc::writer::StreamWriter;

    use super::*;

    #[test]
    fn messages_say_how_long_they_are() {
        let column = Arc::new(Int32Array::from_iter_values(0..100));
        let batch = RecordBatch::try_from_iter([("n", column as _)]).unwrap();
        let mut writer = StreamWriter::try_new(Vec::new(), &batch.schema()).unwrap();
        writer.write(&batch).unwrap();
        writer.finish().unwrap();
        let stream = writer.into_inner().unwrap();
        let mut rest = &stream[..];
        let mut bodies = Vec::new();
        loop {
            let (start, after) = rest.split_at(MESSAGE_START);
            let length = description_length(start).unwrap();
            if length == 0 {
                assert!(after.is_empty());
                break;
            }
            let (description, after) = after.split_at(length);
            let body = body_length(description).unwrap();
            bodies.push(body);
            rest = &after[body..];
        }
        assert_eq!(bodies.len(), 2);
        assert!(bodies[0] == 0 && bodies[1] >= 400, "{bodies:?}");
    }

    #[test]
    fn other_bytes_are_no_messages() {
        let long = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f];
        for start in [&[][..], &[0; 8], &[0xff; 4], &long] {
            assert!(description_length(start).is_err(), "{start:?}");
        }
        for description in [&[][..], &[0xff; 64]] {
            assert!(body_length(description).is_err());
        }
    }
}
