//! Lines of an event log, of bounded length.

use std::io::{self, BufRead};

/// Longest line that is looked at. Plans of thousands of operators have some MiB.
pub(crate) const MAX_LINE: usize = 64 << 20;

/// A line, or what is wrong with it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line<'a> {
    Whole(&'a [u8]),
    /// Longer than [`MAX_LINE`]; it was skipped.
    TooLong,
    /// The source ended within it.
    CutOff(&'a [u8]),
}

/// The next line without its end; `None` at the end of the source. `buffer` grows with what arrives.
pub(crate) fn next_line<'a>(
    source: &mut impl BufRead,
    buffer: &'a mut Vec<u8>,
    most: usize,
) -> io::Result<Option<Line<'a>>> {
    buffer.clear();
    let mut too_long = false;
    loop {
        let available = match source.fill_buf() {
            Ok(available) => available,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        if available.is_empty() {
            return Ok(match (too_long, buffer.is_empty()) {
                (true, _) => Some(Line::TooLong),
                (false, true) => None,
                (false, false) => Some(Line::CutOff(buffer)),
            });
        }
        let end = available.iter().position(|byte| *byte == b'\n');
        let part = available
            .get(..end.unwrap_or(available.len()))
            .unwrap_or_default();
        too_long |= buffer.len() + part.len() > most;
        if !too_long {
            buffer.extend_from_slice(part);
        }
        let used = part.len() + usize::from(end.is_some());
        source.consume(used);
        if end.is_some() {
            return Ok(Some(match too_long {
                true => Line::TooLong,
                false => Line::Whole(buffer),
            }));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use super::*;

    #[test]
    fn lines_have_a_greatest_length() {
        let text = b"ab\n\nabcd\nabc\nx";
        let mut source = BufReader::with_capacity(2, &text[..]);
        let mut buffer = Vec::new();
        let mut found = Vec::new();
        while let Some(line) = next_line(&mut source, &mut buffer, 3).unwrap() {
            found.push(format!("{line:?}"));
        }
        let expected = [
            Line::Whole(b"ab"),
            Line::Whole(b""),
            Line::TooLong,
            Line::Whole(b"abc"),
            Line::CutOff(b"x"),
        ];
        assert_eq!(found, expected.map(|line| format!("{line:?}")));
    }
}
