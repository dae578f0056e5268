//! `firesteel decode`: Spark messages and Java object streams as JSON, for people.

use std::io::{self, Read, Write};
use std::path::Path;
use std::process::ExitCode;

use javaser::Limits;
use javaser::arena::Graph;
use javaser::stream::HEADER;
use serde_json::Value;

/// Exit code when the file could not be read or not be decoded to its end.
const UNDECODED: u8 = 1;
/// Largest file that is looked at, in bytes.
const MAX_FILE_BYTES: u64 = 4 << 30;

/// Prints the content of `file` (`-`: standard input).
pub(super) fn main(file: &Path, compact: bool) -> ExitCode {
    let bytes = match read(file) {
        Ok(bytes) => bytes,
        Err(error) => {
            eprintln!("firesteel: cannot read {}: {error}", file.display());
            return UNDECODED.into();
        }
    };
    let (values, failure) = decode(&bytes);
    let mut out = io::stdout().lock();
    for value in &values {
        let text = if compact {
            value.to_string()
        } else {
            format!("{value:#}")
        };
        // Whoever closes the pipe has seen enough.
        if writeln!(out, "{text}").is_err() {
            return ExitCode::SUCCESS;
        }
    }
    match failure {
        None => ExitCode::SUCCESS,
        Some(problem) => {
            eprintln!("firesteel: {}: {problem}", file.display());
            UNDECODED.into()
        }
    }
}

fn read(file: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let input: Box<dyn Read> = if file == Path::new("-") {
        Box::new(io::stdin())
    } else {
        Box::new(std::fs::File::open(file)?)
    };
    input.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(io::Error::new(
            io::ErrorKind::FileTooLarge,
            format!("it has more than {} GiB", MAX_FILE_BYTES >> 30),
        ));
    }
    Ok(bytes)
}

/// What could be decoded, and why it was not all.
fn decode(bytes: &[u8]) -> (Vec<Value>, Option<String>) {
    if bytes.is_empty() {
        return (Vec::new(), Some("the file is empty".to_owned()));
    }
    if bytes.starts_with(&HEADER) {
        return match Graph::parse(bytes, &Limits::default()) {
            Ok(graph) => (vec![graph.to_json()], None),
            Err(error) => (
                Vec::new(),
                Some(format!("not a whole Java object stream: {error}")),
            ),
        };
    }
    let values = wire::json::frames(bytes);
    let failure = values.last().and_then(|last| {
        let error = last.get("error").filter(|_| last.get("frame").is_none());
        error
            .map(|error| {
                format!(
                    "no frame of Spark's protocol: {}",
                    error.as_str().unwrap_or_default()
                )
            })
            .or_else(|| {
                last.get("incomplete")
                    .map(|missing| format!("ends inside a frame: {missing}"))
            })
    });
    (values, failure)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn java_streams_and_frames_are_told_apart() {
        // A string: TC_STRING, two bytes of length, the text.
        let stream = [0xac, 0xed, 0, 5, 0x74, 0, 2, b'h', b'i'];
        let (values, failure) = decode(&stream);
        assert_eq!((values.len(), failure), (1, None));
        assert!(values[0].to_string().contains("hi"));
        // StreamRequest "ab": length 8 + 1 + 4 + 2, type 6.
        let frame = [0, 0, 0, 0, 0, 0, 0, 15, 6, 0, 0, 0, 2, b'a', b'b'];
        let (values, failure) = decode(&[frame, frame].concat());
        assert_eq!((values.len(), failure), (2, None));
        assert!(values[1].to_string().contains("ab"));
    }

    #[test]
    fn what_cannot_be_decoded_is_said() {
        let problem = |bytes: &[u8]| decode(bytes).1.unwrap_or_default();
        assert_eq!(problem(&[]), "the file is empty");
        assert!(
            problem(&[0xac, 0xed, 0, 5, 0x74, 0, 9, b'h'])
                .starts_with("not a whole Java object stream")
        );
        assert!(problem(&[0, 0, 0, 0, 0, 0, 0, 15, 6, 0]).starts_with("ends inside a frame"));
        assert!(problem(&[0xff; 64]).starts_with("no frame of Spark's protocol"));
    }
}
