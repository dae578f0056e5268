//! What workers tell of the pipelines of simple functions that they compile: lines of text, through one pipe.
//!
//! Workers find the pipe by its path among the executor's open files, and write a line at once or not at all. It is
//! read when a task ends, and without waiting. What is read may come from any code of the user's: lines are short,
//! numbers small, and only known reasons are counted.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use parking_lot::Mutex;
use pyfunc::NotSimple;
use rustix::pipe::{PipeFlags, pipe_with};

use crate::report::PythonCompiled;

/// Why `firesteel_worker` does not compile a pipeline, beside the reasons of a function; its `reports.py` has the same
/// texts.
const OF_PIPELINES: [&str; 5] = [
    "records of another source",
    "a profiler or tracer",
    "no memory left",
    "tuples that are no pairs",
    UNEXPECTED,
];
/// What nobody has a word for.
pub(super) const UNEXPECTED: &str = "an unexpected structure";
/// Bytes of a line.
const MAX_LINE: usize = 128;
/// Functions in a pipeline; more are counted as so many.
const MAX_FUNCTIONS: u64 = 1000;
/// Different reasons in one answer.
const MAX_REASONS: usize = 32;
/// Bytes that are read at a time, and how often for one answer: a full pipe.
const CHUNK: usize = 4 << 10;
const MAX_CHUNKS: usize = 16;

/// The pipe.
#[derive(Debug)]
pub(super) struct CompileReports {
    path: PathBuf,
    reading: Mutex<(File, Lines)>,
    /// Without a writer of our own the pipe would end with each worker's.
    _writer: OwnedFd,
}

impl CompileReports {
    /// A new pipe.
    ///
    /// # Errors
    /// There cannot be one.
    pub(super) fn new() -> io::Result<Self> {
        let (reader, writer) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
        let path = format!("/proc/{}/fd/{}", std::process::id(), writer.as_raw_fd());
        Ok(Self {
            path: path.into(),
            reading: Mutex::new((reader.into(), Lines::default())),
            _writer: writer,
        })
    }

    /// Where workers open the pipe.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// What has been told since the last time.
    pub(super) fn take(&self) -> PythonCompiled {
        let mut found = PythonCompiled::default();
        let (reader, lines) = &mut *self.reading.lock();
        let mut chunk = [0; CHUNK];
        for _ in 0..MAX_CHUNKS {
            match reader.read(&mut chunk) {
                Ok(read) if read > 0 => {
                    lines.read(chunk.get(..read).unwrap_or_default(), &mut found)
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // Nothing is there, or nothing more can be had: the rest goes uncounted.
                _ => break,
            }
        }
        found
    }
}

/// Lines in pieces.
#[derive(Debug, Default)]
pub(super) struct Lines {
    /// The beginning of a line whose end has not been read; one byte more than a line may have if it is too long.
    begun: Vec<u8>,
}

impl Lines {
    /// Counts the lines that end in a piece.
    pub(super) fn read(&mut self, piece: &[u8], counts: &mut PythonCompiled) {
        for part in piece.split_inclusive(|byte| *byte == b'\n') {
            let (content, ends) = match part.split_last() {
                Some((b'\n', content)) => (content, true),
                _ => (part, false),
            };
            let room = (MAX_LINE + 1).saturating_sub(self.begun.len());
            let content = content.get(..room).unwrap_or(content);
            self.begun.extend_from_slice(content);
            if ends {
                let line = std::mem::take(&mut self.begun);
                if line.len() <= MAX_LINE
                    && let Ok(line) = std::str::from_utf8(&line)
                {
                    count(line, counts);
                }
            }
        }
    }
}

/// Whether workers give a reason in these words.
pub(super) fn is_reason(text: &str) -> bool {
    OF_PIPELINES.contains(&text) || NotSimple::of_text(text).is_some()
}

/// Counts what a line says, if it is one of a worker's.
fn count(line: &str, counts: &mut PythonCompiled) {
    if line == "left to Python" {
        counts.left_to_python += 1;
    } else if let Some(functions) = line.strip_prefix("compiled ") {
        if let Ok(functions) = functions.parse::<u64>() {
            counts.pipelines += 1;
            counts.functions += functions.min(MAX_FUNCTIONS);
        }
    } else if let Some(reason) = line.strip_prefix("not simple: ")
        && is_reason(reason)
        && (counts.not_simple.len() < MAX_REASONS || counts.not_simple.contains_key(reason))
    {
        *counts.not_simple.entry(reason.to_owned()).or_default() += 1;
    }
}

#[cfg(test)]
mod tests {
    use std::fs::OpenOptions;
    use std::io::Write;

    use proptest::prelude::*;

    use super::*;

    fn counted(pieces: &[&[u8]]) -> PythonCompiled {
        let (mut lines, mut counts) = (Lines::default(), PythonCompiled::default());
        for piece in pieces {
            lines.read(piece, &mut counts);
        }
        counts
    }

    fn reasons(counts: &PythonCompiled) -> Vec<(&str, u64)> {
        let reasons = counts.not_simple.iter();
        reasons
            .map(|(reason, count)| (reason.as_str(), *count))
            .collect()
    }

    #[test]
    fn lines_are_counted_as_they_end() {
        let counts = counted(&[
            b"compiled 4\nnot simple: a lo",
            b"op\nleft to Python\nnot simple: a loop\nnot simple: no memory left",
            b"\ncompiled 3\ncompiled",
        ]);
        assert_eq!(
            (counts.pipelines, counts.functions, counts.left_to_python),
            (2, 7, 1)
        );
        assert_eq!(reasons(&counts), [("a loop", 2), ("no memory left", 1)]);
    }

    #[test]
    fn what_no_worker_writes_is_not_counted() {
        let long = [b"not simple: ".as_slice(), &[b'x'; 5000], b"\ncompiled 1\n"].concat();
        assert_eq!(counted(&[&long]).pipelines, 1);
        for line in [
            "compiled -1\n",
            "compiled 99999999999999999999\n",
            "compiled 4 \n",
            "not simple: \n",
            "not simple: whatever\n",
            "left to Python",
            "\n\n\0\n",
        ] {
            assert_eq!(
                counted(&[line.as_bytes()]),
                PythonCompiled::default(),
                "{line}"
            );
        }
        assert_eq!(
            counted(&[b"\xff\ncompiled 5000\n"]).functions,
            MAX_FUNCTIONS
        );
    }

    #[test]
    fn there_are_few_reasons_at_a_time() {
        let line = |minor| format!("not simple: an unknown version of Python: 3.{minor}\n");
        let versions: String = (0..200).map(line).collect();
        let counts = counted(&[
            versions.as_bytes(),
            b"not simple: an unknown version of Python: 3.7\n",
        ]);
        assert_eq!(counts.not_simple.len(), MAX_REASONS);
        assert_eq!(counts.not_simple["an unknown version of Python: 3.7"], 2);
    }

    #[test]
    fn reasons_are_those_of_the_workers() {
        let path = "crates/pyworker/python/firesteel_worker/reports.py";
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
        let source = std::fs::read_to_string(path).unwrap();
        // Lines such as `SOURCE = "records of another source"`.
        let texts = source.lines().filter_map(|line| {
            let (name, text) = line.split_once(" = \"")?;
            let is_name = name
                .bytes()
                .all(|byte| byte.is_ascii_uppercase() || byte == b'_');
            is_name.then(|| text.trim_end_matches('"'))
        });
        assert_eq!(texts.collect::<Vec<_>>(), OF_PIPELINES);
    }

    #[test]
    fn a_worker_opens_the_pipe_by_its_path() {
        let reports = CompileReports::new().unwrap();
        assert_eq!(reports.take(), PythonCompiled::default());
        for _ in 0..2 {
            let mut worker = OpenOptions::new().write(true).open(reports.path()).unwrap();
            worker.write_all(b"compiled 4\n").unwrap();
        }
        assert_eq!(reports.take().functions, 8);
        assert_eq!(reports.take(), PythonCompiled::default());
    }

    /// Lines of workers and others.
    const LINE: &str = "(compiled [0-9]{1,4}|left to Python|not simple: (a loop|other)|.{0,200})";

    proptest! {
        #[test]
        fn pieces_do_not_matter(
            lines in prop::collection::vec(LINE, 0..8),
            cut in 1..40usize,
        ) {
            let whole = lines.join("\n").into_bytes();
            let pieces: Vec<_> = whole.chunks(cut).collect();
            prop_assert_eq!(counted(&pieces), counted(&[&whole]));
        }
    }
}
