//! Bytes on their way to a worker.

use std::collections::VecDeque;
use std::io::{self, IoSlice, Write};

use bytes::{Buf, BufMut, Bytes, BytesMut};

use super::wire::{length, special};
use crate::python::Element;
use crate::task::TaskError;

/// From this size on an element is sent from where it is instead of being copied.
const OWN_SEGMENT: usize = 16 << 10;
/// Segments that go to the system at a time.
const SEGMENTS: usize = 16;

/// What has not been sent yet, in large pieces.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    segments: VecDeque<Bytes>,
    tail: BytesMut,
    len: usize,
}

impl Outbox {
    /// Bytes that have not been sent.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Appends what stands before the data.
    pub(super) fn put_message(&mut self, message: BytesMut) {
        self.len += message.len();
        self.close_tail();
        self.segments.push_back(message.freeze());
    }

    /// Appends a number.
    pub(super) fn put_i32(&mut self, number: i32) {
        self.tail.put_i32(number);
        self.len += 4;
    }

    /// Appends an element as `PythonRDD.writeNextElementToStream` does.
    ///
    /// # Errors
    /// As there: an element of a kind that Python is not told.
    pub(super) fn put_element(&mut self, element: Element) -> Result<(), TaskError> {
        match element {
            Element::Bytes(bytes) | Element::Text(bytes) => self.put_bytes(bytes)?,
            Element::Null => self.put_i32(special::NULL),
            Element::Tuple(pair) => {
                self.put_element(pair.0)?;
                self.put_element(pair.1)?;
            }
            Element::Pair(..) => {
                return Err(TaskError::spark(
                    "Unexpected element type class java.lang.Long",
                ));
            }
        }
        Ok(())
    }

    fn put_bytes(&mut self, bytes: Bytes) -> io::Result<()> {
        self.put_i32(length(bytes.len())?);
        self.put_part(bytes);
        Ok(())
    }

    /// Appends a part of a stream that says itself where it ends.
    pub(super) fn put_part(&mut self, bytes: Bytes) {
        self.len += bytes.len();
        if bytes.len() < OWN_SEGMENT {
            self.tail.put_slice(&bytes);
        } else {
            self.close_tail();
            self.segments.push_back(bytes);
        }
    }

    fn close_tail(&mut self) {
        if !self.tail.is_empty() {
            self.segments.push_back(self.tail.split().freeze());
        }
    }

    /// Sends as much as `to` takes. Whatever of that is left then, the system wants to be asked again for.
    pub(super) fn write_to(&mut self, mut to: impl Write) -> io::Result<()> {
        self.close_tail();
        while self.len > 0 {
            let mut slices = [IoSlice::new(&[]); SEGMENTS];
            for (slice, segment) in slices.iter_mut().zip(&self.segments) {
                *slice = IoSlice::new(segment);
            }
            match to.write_vectored(&slices) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => self.advance(written),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn advance(&mut self, mut written: usize) {
        self.len = self.len.saturating_sub(written);
        while let Some(first) = self.segments.front_mut() {
            if written < first.len() {
                first.advance(written);
                return;
            }
            written -= first.len();
            self.segments.pop_front();
        }
    }

    /// Forgets what is not sent.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes a few bytes at a time.
    struct Slow(Vec<u8>, usize);

    impl Write for Slow {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let n = bytes.len().min(self.1);
            self.0.extend_from_slice(&bytes[..n]);
            Ok(n)
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn elements_are_framed_as_in_spark() {
        let large = Bytes::from(vec![7; OWN_SEGMENT]);
        let mut outbox = Outbox::default();
        outbox.put_message(BytesMut::from(&b"message"[..]));
        for element in [
            Element::Bytes(Bytes::from_static(b"ab")),
            Element::Null,
            Element::Bytes(large.clone()),
            Element::tuple(
                Element::Text(Bytes::from_static(b"k")),
                Element::Bytes(Bytes::new()),
            ),
        ] {
            outbox.put_element(element).unwrap();
        }
        outbox.put_i32(special::END_OF_STREAM);
        let mut expected = b"message\0\0\0\x02ab\xff\xff\xff\xfb\0\0\x40\0".to_vec();
        expected.extend_from_slice(&large);
        expected.extend_from_slice(b"\0\0\0\x01k\0\0\0\0\xff\xff\xff\xfc");
        assert_eq!(outbox.len(), expected.len());
        let mut slow = Slow(Vec::new(), 5);
        outbox.write_to(&mut slow).unwrap();
        assert_eq!(slow.0, expected);
        assert_eq!(outbox.len(), 0);
    }

    #[test]
    fn a_pairwise_record_is_no_element_for_python() {
        let error = Outbox::default().put_element(Element::Pair(1, Bytes::new()));
        let expected = TaskError::spark("Unexpected element type class java.lang.Long");
        assert_eq!(error, Err(expected));
    }
}
