//! Lines of text as Hadoop's `LineRecordReader` cuts them.

use std::io::{self, Read};

use bytes::{Bytes, BytesMut};

/// UTF-8's byte order mark, which is no part of the first line of a file.
const BYTE_ORDER_MARK: &[u8] = &[0xef, 0xbb, 0xbf];

/// What ends a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Delimiter {
    /// `\n`, `\r\n` or `\r`
    Newline,
    /// These bytes, at least one: `textinputformat.record.delimiter`.
    Bytes(Bytes),
}

/// The lines that belong to a part of a file: those that begin in it, its first byte excepted (unless it is the
/// file's), and its end included.
pub struct Lines<R> {
    input: R,
    delimiter: Delimiter,
    /// What was read and is not given out.
    buffer: BytesMut,
    /// How much of it is known to have no delimiter that begins in it.
    scanned: usize,
    at_end: bool,
    /// Where in the file the buffer begins.
    position: u64,
    /// Where the part ends.
    end: u64,
    /// Bytes of the part that have not been read from the input.
    unread: u64,
    /// Bytes read at a time.
    read_size: usize,
    /// The line before went on behind the end with a part of its delimiter: the reader of the next part cannot see that
    /// delimiter, and takes the next line for the rest of a line.
    one_more: bool,
    started: bool,
}

impl<R: Read> Lines<R> {
    /// Lines of the part from `start` to `end`; the input is at `start`, and is asked for `read_size` bytes at a time
    /// at most. With `u64::MAX` for the end, the input is unpacked from a file and its end is final.
    pub fn new(input: R, delimiter: Delimiter, start: u64, end: u64, read_size: usize) -> Self {
        Self {
            input,
            delimiter,
            buffer: BytesMut::new(),
            scanned: 0,
            at_end: false,
            position: start,
            end,
            unread: end.saturating_sub(start),
            read_size,
            one_more: false,
            started: false,
        }
    }

    /// The next line, without what ends it.
    ///
    /// # Errors
    /// Those of the input.
    pub fn next_line(&mut self) -> io::Result<Option<Bytes>> {
        if !self.started {
            self.started = true;
            if self.position > 0 {
                // Belongs to the part before.
                self.cut()?;
            } else {
                while self.buffer.len() < BYTE_ORDER_MARK.len() && self.fill()? {}
                if self.buffer.starts_with(BYTE_ORDER_MARK) {
                    let _ = self.buffer.split_to(BYTE_ORDER_MARK.len());
                    self.position += BYTE_ORDER_MARK.len() as u64;
                }
                // The first line of a file belongs to its first part, however short that is.
                return self.cut();
            }
        }
        if self.position > self.end && !std::mem::take(&mut self.one_more) {
            return Ok(None);
        }
        self.cut()
    }

    fn cut(&mut self) -> io::Result<Option<Bytes>> {
        loop {
            if let Some((line, delimiter)) = self.find() {
                let text = self.buffer.split_to(line).freeze();
                let _ = self.buffer.split_to(delimiter);
                let begin = self.position + line as u64;
                self.position = begin + delimiter as u64;
                self.one_more = matches!(self.delimiter, Delimiter::Bytes(_))
                    && begin < self.end
                    && self.position > self.end;
                self.scanned = 0;
                return Ok(Some(text));
            }
            if !self.fill()? {
                if self.buffer.is_empty() {
                    return Ok(None);
                }
                let mut text = self.buffer.split().freeze();
                self.position += text.len() as u64;
                self.scanned = 0;
                // Behind a line that nothing ends Hadoop asks a plain file once more, which counts if checksums are
                // read.
                self.at_end = self.end == u64::MAX;
                // The last byte was held back in case that a newline follows.
                if self.delimiter == Delimiter::Newline && text.ends_with(b"\r") {
                    text.truncate(text.len() - 1);
                }
                return Ok(Some(text));
            }
        }
    }

    /// Length of the first line in the buffer and of what ends it, if all of that is there.
    fn find(&mut self) -> Option<(usize, usize)> {
        let rest = self.buffer.get(self.scanned..)?;
        match &self.delimiter {
            Delimiter::Newline => {
                let Some(found) = memchr::memchr2(b'\n', b'\r', rest) else {
                    self.scanned = self.buffer.len();
                    return None;
                };
                let line = self.scanned + found;
                match (self.buffer.get(line), self.buffer.get(line + 1)) {
                    (Some(b'\r'), Some(b'\n')) => Some((line, 2)),
                    (Some(b'\r'), None) => {
                        self.scanned = line;
                        None
                    }
                    _ => Some((line, 1)),
                }
            }
            Delimiter::Bytes(delimiter) => {
                if let Some(found) = memchr::memmem::find(rest, delimiter) {
                    return Some((self.scanned + found, delimiter.len()));
                }
                let begun = delimiter.len().saturating_sub(1);
                self.scanned = self.buffer.len().saturating_sub(begun).max(self.scanned);
                None
            }
        }
    }

    /// Reads more; false at the end of the input.
    fn fill(&mut self) -> io::Result<bool> {
        if self.at_end {
            return Ok(false);
        }
        let held = self.buffer.len();
        // Not beyond the part as long as it may not be needed.
        let size = match usize::try_from(self.unread) {
            Ok(unread) if (1..self.read_size).contains(&unread) => unread,
            _ => self.read_size,
        };
        self.buffer.resize(held + size, 0);
        loop {
            let room = self.buffer.get_mut(held..).unwrap_or_default();
            match self.input.read(room) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.buffer.truncate(held);
                    return Err(error);
                }
                Ok(count) => {
                    self.buffer.truncate(held + count);
                    self.unread = self.unread.saturating_sub(count as u64);
                    self.at_end = count == 0;
                    return Ok(count > 0);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives one byte at a time.
    struct Slowly<'a>(&'a [u8]);

    impl Read for Slowly<'_> {
        fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
            let Some((&first, rest)) = self.0.split_first() else {
                return Ok(0);
            };
            buf[0] = first;
            self.0 = rest;
            Ok(1)
        }
    }

    fn lines(text: &[u8], delimiter: &Delimiter, start: usize, end: usize) -> Vec<Bytes> {
        let read = |slowly: bool| {
            let input: Box<dyn Read> = match slowly {
                true => Box::new(Slowly(&text[start..])),
                false => Box::new(&text[start..]),
            };
            let mut lines = Lines::new(input, delimiter.clone(), start as u64, end as u64, 16);
            let mut all = Vec::new();
            while let Some(line) = lines.next_line().unwrap() {
                all.push(line);
            }
            all
        };
        let fast = read(false);
        assert_eq!(fast, read(true));
        fast
    }

    /// However a file is split, each line is read once.
    fn check(text: &[u8], delimiter: &Delimiter, expected: &[&str]) {
        assert_eq!(lines(text, delimiter, 0, text.len()), expected);
        for first in 0..=text.len() {
            for second in first..=text.len() {
                let mut all = lines(text, delimiter, 0, first);
                all.extend(
                    lines(text, delimiter, first, second)
                        .into_iter()
                        .filter(|_| first > 0 && second > first),
                );
                if first == 0 {
                    all = lines(text, delimiter, 0, second);
                }
                if second < text.len() && second > 0 {
                    all.extend(lines(text, delimiter, second, text.len()));
                }
                if first > 0 || second > 0 {
                    assert_eq!(all, expected, "{first} {second}");
                }
            }
        }
    }

    #[test]
    fn newlines_of_all_systems() {
        check(
            b"a\nbc\r\n\r\nd\re",
            &Delimiter::Newline,
            &["a", "bc", "", "d", "e"],
        );
        check(b"a\n", &Delimiter::Newline, &["a"]);
        check(b"a\r", &Delimiter::Newline, &["a"]);
        check(b"\n\n", &Delimiter::Newline, &["", ""]);
        check(b"", &Delimiter::Newline, &[]);
    }

    #[test]
    fn delimiters_of_several_bytes() {
        let delimiter = Delimiter::Bytes(Bytes::from_static(b"ab"));
        check(b"1ab2aab3\nabab4", &delimiter, &["1", "2a", "3\n", "", "4"]);
    }

    #[test]
    fn the_end_of_a_plain_file_is_asked_for_once_more_behind_a_line_without_end() {
        struct Counted<'a>(&'a [u8], &'a mut usize);

        impl Read for Counted<'_> {
            fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
                let count = self.0.read(buf)?;
                *self.1 += usize::from(count == 0);
                Ok(count)
            }
        }

        let ends = |text: &[u8], end: u64| {
            let mut ends = 0;
            let input = Counted(text, &mut ends);
            let mut lines = Lines::new(input, Delimiter::Newline, 0, end, 16);
            while lines.next_line().unwrap().is_some() {}
            ends
        };
        assert_eq!(ends(b"a\nb\n", 4), 1);
        assert_eq!(ends(b"a\nb", 3), 2);
        assert_eq!(ends(b"a\nb", u64::MAX), 1);
        assert_eq!(ends(b"", 0), 1);
    }

    #[test]
    fn the_byte_order_mark_is_no_text() {
        check(b"\xef\xbb\xbfx\ny", &Delimiter::Newline, &["x", "y"]);
    }
}
