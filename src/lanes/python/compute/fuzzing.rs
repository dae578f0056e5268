//! Fuzz targets of this room; see [`crate::fuzzing`].

use textfile::{Delimiter, Lines};

use crate::fuzzing::Trickle;

/// Files of checkpoints.
pub fn checkpoint(data: &[u8]) {
    super::checkpoint::fuzz(data);
}

/// Lines of text: those of a file's two parts are those of the file.
pub fn lines(data: &[u8]) {
    let Some((&[cut, step, kind], text)) = data.split_first_chunk() else {
        return;
    };
    let delimiter = match kind % 3 {
        0 => Delimiter::Newline,
        1 => Delimiter::Bytes(b"\n".as_slice().into()),
        _ => Delimiter::Bytes(b"ab".as_slice().into()),
    };
    let step = usize::from(step) + 1;
    let cut = usize::from(cut).min(text.len());
    let part = |start: usize, end: usize| {
        let bytes = text.get(start..).unwrap_or_default();
        let input = Trickle { bytes, step };
        let (start, end) = (start as u64, end as u64);
        let mut lines = Lines::new(input, delimiter.clone(), start, end, step);
        let mut found = Vec::new();
        while let Some(line) = lines.next_line().expect("reading memory") {
            found.push(line);
        }
        found
    };
    let whole = part(0, text.len());
    let long: usize = whole.iter().map(|line| line.len()).sum();
    assert!(long <= text.len());
    // With longer delimiters Hadoop itself loses or joins lines where a cut is inside of one.
    if delimiter == Delimiter::Newline && cut > 0 {
        let mut parts = part(0, cut);
        parts.extend(part(cut, text.len()));
        assert_eq!(parts, whole);
    }
}
