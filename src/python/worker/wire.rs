//! The few forms that everything between executor and worker consists of: big-endian numbers, and texts behind their
//! length.

use std::io::{self, Read, Write};

use bytes::{BufMut, BytesMut};

/// Lengths that mean something else (`org.apache.spark.api.python.SpecialLengths`).
pub(super) mod special {
    pub(in super::super) const END_OF_DATA_SECTION: i32 = -1;
    pub(in super::super) const PYTHON_EXCEPTION_THROWN: i32 = -2;
    pub(in super::super) const TIMING_DATA: i32 = -3;
    pub(in super::super) const END_OF_STREAM: i32 = -4;
    pub(in super::super) const NULL: i32 = -5;
    pub(in super::super) const START_ARROW_STREAM: i32 = -6;
    pub(in super::super) const START_OF_INIT_MESSAGE: i32 = -8;
}

/// Longest text in a handshake: secrets and paths.
pub(super) const MAX_HANDSHAKE_TEXT: usize = 64 << 10;

/// A length as Java writes it.
///
/// # Errors
/// It does not fit a Java array.
pub(super) fn length(len: usize) -> io::Result<i32> {
    i32::try_from(len).map_err(|_| {
        let text = format!("{len} bytes are more than a Python worker can be told");
        io::Error::new(io::ErrorKind::InvalidInput, text)
    })
}

/// Appends a text or other bytes behind their length.
///
/// # Errors
/// As [`length`].
pub(super) fn put(out: &mut BytesMut, bytes: &[u8]) -> io::Result<()> {
    out.put_i32(length(bytes.len())?);
    out.put_slice(bytes);
    Ok(())
}

/// Writes a text behind its length, in one piece.
pub(super) fn write_text(mut to: impl Write, text: &str) -> io::Result<()> {
    let mut out = BytesMut::with_capacity(4 + text.len());
    put(&mut out, text.as_bytes())?;
    to.write_all(&out)
}

/// Reads a number.
pub(super) fn read_i32(mut from: impl Read) -> io::Result<i32> {
    let mut bytes = [0; 4];
    from.read_exact(&mut bytes)?;
    Ok(i32::from_be_bytes(bytes))
}

/// Reads a text of at most `most` bytes behind its length.
pub(super) fn read_text(mut from: impl Read, most: usize) -> io::Result<String> {
    let invalid = |text: String| io::Error::new(io::ErrorKind::InvalidData, text);
    let len = read_i32(&mut from)?;
    let len = usize::try_from(len)
        .ok()
        .filter(|len| *len <= most)
        .ok_or_else(|| invalid(format!("a text of {len} bytes")))?;
    let mut bytes = vec![0; len];
    from.read_exact(&mut bytes)?;
    String::from_utf8(bytes).map_err(|error| invalid(error.to_string()))
}

/// The client's side of `SocketAuthHelper`: tells the secret and wants `ok`.
pub(super) fn authenticate_to_server<S>(socket: &S, secret: &str) -> io::Result<()>
where
    for<'a> &'a S: Read + Write,
{
    write_text(socket, secret)?;
    match read_text(socket, MAX_HANDSHAKE_TEXT)?.as_str() {
        "ok" => Ok(()),
        _ => Err(io::Error::other("Authentication failed.")),
    }
}

/// The server's side of `SocketAuthHelper`: wants the secret and says whether it was right.
pub(super) fn authenticate_client<S>(socket: &S, secret: &str) -> io::Result<()>
where
    for<'a> &'a S: Read + Write,
{
    let told = read_text(socket, MAX_HANDSHAKE_TEXT)?;
    if told == secret {
        return write_text(socket, "ok");
    }
    write_text(socket, "err")?;
    Err(io::Error::other("Authentication failed."))
}

/// A new secret of 256 bits, in hexadecimal digits.
pub(super) fn new_secret() -> String {
    let half = || uuid::Uuid::new_v4().simple().to_string();
    half() + &half()
}
