//! What an executor and a process of functions say to each other: a length, how many bytes of shared memory go with it,
//! and JSON.

use std::io::{self, Read, Write};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::super::error::FunctionError;
use super::super::library::{Kind, Signature};
use super::super::marker::Marker;

/// Longest message, in bytes.
const MAX_MESSAGE: usize = 256 << 10;

/// Bytes before a message: its length, and that of its columns.
const HEADER: usize = 12;

/// What the executor wants. Instances have numbers that it chooses.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Request {
    /// Bind a function.
    Bind(Box<Binding>),
    /// Call a scalar function for the rows that go with it.
    Execute { instance: u64, rows: usize },
    /// Give an aggregate the rows that go with it, whose last column is the number of each one's group.
    Update {
        instance: u64,
        rows: usize,
        groups: u32,
    },
    /// Ask an aggregate for the values of so many groups.
    Finish { instance: u64, groups: u32 },
    /// Let a partition function take rows.
    Open { instance: u64 },
    /// Ask a partition function for its next rows.
    Next { instance: u64 },
    /// To [`Reply::NeedRows`]: those that go with it.
    Rows { rows: usize },
    /// To [`Reply::NeedRows`]: there are no more.
    NoMoreRows,
    /// To [`Reply::NeedRows`]: they are not to be had.
    RowsFailed { why: String },
    /// Forget an instance.
    Unbind { instance: u64 },
}

/// Which function is bound, and for whom. The columns of the input, of a partition function, go with it as a schema.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Binding {
    pub(super) instance: u64,
    /// The library's file.
    pub(super) library: String,
    pub(super) marker: Marker,
    pub(super) time_zone: String,
    pub(super) ansi: bool,
    pub(super) stage_id: i32,
    pub(super) partition_id: i32,
    pub(super) attempt_number: i32,
    pub(super) task_attempt_id: i64,
}

/// What comes of it.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Reply {
    /// The function is bound.
    Bound {
        kind: Kind,
        signature: Signature,
        title: String,
    },
    /// It is not one that can be called, and why.
    Left { why: String },
    /// Done, and there is nothing to give.
    Done,
    /// Here are columns.
    Columns { rows: usize },
    /// There are no more rows.
    End,
    /// A partition function wants more of its input.
    NeedRows,
    /// It failed.
    Failed { how: How, words: String },
}

/// The kinds of [`FunctionError`] that a process can tell of.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) enum How {
    Failed,
    Refused,
    Cancelled,
    NotApplicable,
}

/// What a process says while it is at something, or is not.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum ToExecutor {
    /// An instance wants to keep so many bytes more.
    Reserve { instance: u64, bytes: usize },
    /// It keeps so many bytes less.
    Release { instance: u64, bytes: usize },
}

/// What the executor says meanwhile.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum ToProcess {
    /// Whether they may be kept.
    Reserved(bool),
    /// The task of an instance was cancelled.
    Cancelled { instance: u64 },
}

impl Reply {
    /// A failure. Its words have what the function is.
    pub(super) fn failure(error: FunctionError) -> Self {
        let (how, words) = match error {
            FunctionError::Failed(words) | FunctionError::Crashed(words) => (How::Failed, words),
            FunctionError::Refused(words) => (How::Refused, words),
            FunctionError::Cancelled(title) => (How::Cancelled, title),
            FunctionError::NotApplicable(title) => (How::NotApplicable, title),
        };
        Self::Failed { how, words }
    }
}

impl How {
    /// The failure that a process told of.
    pub(super) fn error(self, words: String) -> FunctionError {
        match self {
            Self::Failed => FunctionError::Failed(words),
            Self::Refused => FunctionError::Refused(words),
            Self::Cancelled => FunctionError::Cancelled(words),
            Self::NotApplicable => FunctionError::NotApplicable(words),
        }
    }
}

/// Writes a message, with which so many bytes of shared memory go.
///
/// # Errors
/// It is too long, or nobody is there.
pub(super) fn write_message<M: Serialize>(
    to: &mut impl Write,
    message: &M,
    bytes: u64,
) -> io::Result<()> {
    let mut all = vec![0; HEADER];
    serde_json::to_writer(&mut all, message)?;
    let len = all.len() - HEADER;
    let header = u32::try_from(len).ok().filter(|_| len <= MAX_MESSAGE);
    let header = header.ok_or_else(|| io::Error::other("a message that is too long"))?;
    for (to, from) in all
        .iter_mut()
        .zip(header.to_le_bytes().into_iter().chain(bytes.to_le_bytes()))
    {
        *to = from;
    }
    to.write_all(&all)
}

/// Reads a message and how many bytes of shared memory go with it; `None` if nobody is there any more.
///
/// # Errors
/// It is none, or ends early.
pub(super) fn read_message<M: DeserializeOwned>(
    from: &mut impl Read,
) -> io::Result<Option<(M, u64)>> {
    let mut len = [0; 4];
    // An end before a message is an end; within one it is an error.
    let first = loop {
        match from.read(&mut len) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            first => break first?,
        }
    };
    if first == 0 {
        return Ok(None);
    }
    from.read_exact(len.get_mut(first..).unwrap_or_default())?;
    let mut bytes = [0; 8];
    from.read_exact(&mut bytes)?;
    let len = u32::from_le_bytes(len) as usize;
    if len > MAX_MESSAGE {
        return Err(io::Error::other("a message that is too long"));
    }
    let mut text = vec![0; len];
    from.read_exact(&mut text)?;
    Ok(Some((
        serde_json::from_slice(&text)?,
        u64::from_le_bytes(bytes),
    )))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_read_as_they_were_written() {
        let mut sent = Vec::new();
        write_message(&mut sent, &Request::Next { instance: 7 }, 1 << 40).unwrap();
        write_message(&mut sent, &Request::NoMoreRows, 0).unwrap();
        let mut rest = sent.as_slice();
        let first = read_message::<Request>(&mut rest).unwrap().unwrap();
        assert!(matches!(
            first,
            (Request::Next { instance: 7 }, 0x100_0000_0000)
        ));
        let second = read_message::<Request>(&mut rest).unwrap().unwrap();
        assert!(matches!(second, (Request::NoMoreRows, 0)));
        assert!(read_message::<Request>(&mut rest).unwrap().is_none());
        // Anything else is no message, wherever it is cut off.
        for len in 1..sent.len() - 1 {
            let mut cut = sent.get(..len).unwrap();
            let mut read = read_message::<Request>(&mut cut);
            if matches!(read, Ok(Some(_))) {
                read = read_message(&mut cut);
            }
            assert!(matches!(read, Err(_) | Ok(None)), "{len}");
        }
        let too_long = [0xff; 64];
        assert!(read_message::<Request>(&mut too_long.as_slice()).is_err());
        let why = "x".repeat(MAX_MESSAGE);
        assert!(write_message(&mut Vec::new(), &Reply::Left { why }, 0).is_err());
    }
}
