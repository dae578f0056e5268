//! Transport frames of Spark's `network-common`: what travels on every RPC, file and block connection.
//!
//! ```text
//! i64 length (counts itself) | u8 type | header | body that belongs to the frame
//! ```
//!
//! [`FrameKind`] lists the types. Two of them, [`Frame::StreamResponse`] and [`Frame::UploadStream`], announce
//! bytes that follow *after* the frame: whoever reads the connection must take exactly
//! `byte_count` raw bytes before it looks for the next frame. All integers are big-endian; a string is
//! an i32 length and UTF-8.
//!
//! The layout is the same in Spark 3.5 to 4.3.

use bytes::{Buf, BufMut, Bytes, BytesMut};

/// Bytes of the length field, which the length itself counts.
pub const LENGTH_SIZE: usize = 8;

/// The largest frame Spark's own decoder takes (without the length field): a Java array must hold it.
pub const MAX_FRAME: usize = (i32::MAX - 1) as usize;

/// The type byte of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FrameKind(pub u8);

macro_rules! frame_kinds {
    ($($name:ident = $value:literal),* $(,)?) => {
        impl FrameKind {
            $(#[doc = concat!("Type byte of [`Frame::", stringify!($name), "`].")]
            #[allow(non_upper_case_globals)]
            pub const $name: Self = Self($value);)*
        }

        impl std::fmt::Display for FrameKind {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                match self.0 {
                    $($value => f.write_str(stringify!($name)),)*
                    other => write!(f, "frame type {other}"),
                }
            }
        }
    };
}

frame_kinds! {
    ChunkFetchRequest = 0,
    ChunkFetchSuccess = 1,
    ChunkFetchFailure = 2,
    RpcRequest = 3,
    RpcResponse = 4,
    RpcFailure = 5,
    StreamRequest = 6,
    StreamResponse = 7,
    StreamFailure = 8,
    OneWayMessage = 9,
    UploadStream = 10,
    MergedBlockMetaRequest = 11,
    MergedBlockMetaSuccess = 12,
}

/// One frame. Bodies share memory with the buffer they were decoded from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame {
    /// Asks for one chunk of a stream that an `OpenBlocks`-like request opened.
    ChunkFetchRequest {
        /// Id from the `StreamHandle`.
        stream_id: i64,
        /// Position in the stream, from 0.
        chunk_index: i32,
    },
    /// The bytes of a chunk.
    ChunkFetchSuccess {
        /// As requested.
        stream_id: i64,
        /// As requested.
        chunk_index: i32,
        /// The chunk.
        body: Bytes,
    },
    /// A chunk could not be read.
    ChunkFetchFailure {
        /// As requested.
        stream_id: i64,
        /// As requested.
        chunk_index: i32,
        /// Why; the stack trace as text when a JVM answers.
        error: String,
    },
    /// A request that wants an answer.
    RpcRequest {
        /// Chosen by the asker; the answer repeats it.
        request_id: i64,
        /// An RPC envelope or a block transfer message.
        body: Bytes,
    },
    /// The answer to an [`Frame::RpcRequest`] or [`Frame::UploadStream`].
    RpcResponse {
        /// Id of the request.
        request_id: i64,
        /// The reply.
        body: Bytes,
    },
    /// A request failed.
    RpcFailure {
        /// Id of the request.
        request_id: i64,
        /// Why; the stack trace as text when a JVM answers.
        error: String,
    },
    /// Asks for a whole stream by name.
    StreamRequest {
        /// A path of the file server, or `<stream id>_<chunk index>` of a block server.
        stream_id: String,
    },
    /// A stream: `byte_count` raw bytes follow the frame.
    StreamResponse {
        /// As requested. Answers come in the order of the requests; the name is informative.
        stream_id: String,
        /// Raw bytes after the frame.
        byte_count: u64,
    },
    /// A stream could not be opened.
    StreamFailure {
        /// As requested.
        stream_id: String,
        /// Why.
        error: String,
    },
    /// A message without an answer.
    OneWayMessage {
        /// An RPC envelope.
        body: Bytes,
    },
    /// A request whose data, `byte_count` raw bytes, follow the frame; answered like an `RpcRequest`.
    UploadStream {
        /// Chosen by the asker; the answer repeats it.
        request_id: i64,
        /// A block transfer message that says what the data are.
        meta: Bytes,
        /// Raw bytes after the frame.
        byte_count: u64,
    },
    /// Asks for the chunk bitmaps of a merged shuffle block (push-based shuffle).
    MergedBlockMetaRequest {
        /// Chosen by the asker; the answer repeats it.
        request_id: i64,
        /// Application id.
        app_id: String,
        /// Shuffle.
        shuffle_id: i32,
        /// Attempt of the merge.
        shuffle_merge_id: i32,
        /// Reducer.
        reduce_id: i32,
    },
    /// The answer to a [`Frame::MergedBlockMetaRequest`].
    MergedBlockMetaSuccess {
        /// Id of the request.
        request_id: i64,
        /// Number of bitmaps in the body.
        num_chunks: i32,
        /// The bitmaps.
        body: Bytes,
    },
    /// A type this version of the protocol does not know. It keeps its bytes.
    Unknown {
        /// The type byte.
        kind: FrameKind,
        /// Everything after it.
        body: Bytes,
    },
}

/// Bytes that are not Spark frames. Each is reason enough to close the connection: where the next frame starts is
/// unknown.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// The length field is not larger than itself.
    #[error("frame length {length} is not positive")]
    Length {
        /// The length field as sent.
        length: i64,
    },
    /// The frame is larger than this end takes.
    #[error("frame of {length} bytes is larger than the maximum of {max}")]
    TooLarge {
        /// The length field as sent.
        length: i64,
        /// The maximum, without the length field.
        max: usize,
    },
    /// A field runs past the end of its frame.
    #[error("{kind}: field {field} runs past the end of the frame")]
    Truncated {
        /// Type of the frame.
        kind: FrameKind,
        /// The field.
        field: &'static str,
    },
    /// A length or count is negative.
    #[error("{kind}: field {field} is negative ({value})")]
    Negative {
        /// Type of the frame.
        kind: FrameKind,
        /// The field.
        field: &'static str,
        /// The value as sent.
        value: i64,
    },
}

impl Frame {
    /// Takes one frame from the front of `buffer`, or `None` if it has not arrived wholly; then nothing was
    /// taken. `max` limits the frame without its length field and is checked as soon as the length
    /// is there, so that a claim never makes the caller wait for (or reserve) more than `max` bytes.
    pub fn decode(buffer: &mut BytesMut, max: usize) -> Result<Option<Self>, FrameError> {
        let Some(size) = Self::announced(buffer, max)? else {
            return Ok(None);
        };
        if buffer.len() < size {
            return Ok(None);
        }
        let mut frame = buffer.split_to(size).freeze();
        frame.advance(LENGTH_SIZE);
        Self::read(frame).map(Some)
    }

    /// Size of the frame at the front of `buffer` with its length field, or `None` if even that has not arrived.
    pub fn announced(buffer: &[u8], max: usize) -> Result<Option<usize>, FrameError> {
        let Some(length) = buffer.first_chunk::<LENGTH_SIZE>() else {
            return Ok(None);
        };
        let length = i64::from_be_bytes(*length);
        let rest = length
            .checked_sub(LENGTH_SIZE as i64)
            .filter(|rest| *rest > 0);
        let rest = rest.ok_or(FrameError::Length { length })?;
        match usize::try_from(rest) {
            Ok(rest) if rest <= max => Ok(Some(rest + LENGTH_SIZE)),
            _ => Err(FrameError::TooLarge { length, max }),
        }
    }

    /// Type of the frame at the front of `buffer`, or `None` if it has not arrived.
    pub fn announced_kind(buffer: &[u8]) -> Option<FrameKind> {
        buffer.get(LENGTH_SIZE).copied().map(FrameKind)
    }

    /// Reads a frame without its length field. `frame` ends where the frame ends; bytes behind the
    /// fields of a frame without body are ignored, as Spark ignores them.
    fn read(frame: Bytes) -> Result<Self, FrameError> {
        let mut fields = Fields {
            kind: FrameKind(0),
            rest: frame,
        };
        fields.kind = FrameKind(fields.take("type", 1)?.get_u8());
        Ok(match fields.kind {
            FrameKind::ChunkFetchRequest => Self::ChunkFetchRequest {
                stream_id: fields.i64("streamId")?,
                chunk_index: fields.i32("chunkIndex")?,
            },
            FrameKind::ChunkFetchSuccess => Self::ChunkFetchSuccess {
                stream_id: fields.i64("streamId")?,
                chunk_index: fields.i32("chunkIndex")?,
                body: fields.rest,
            },
            FrameKind::ChunkFetchFailure => Self::ChunkFetchFailure {
                stream_id: fields.i64("streamId")?,
                chunk_index: fields.i32("chunkIndex")?,
                error: fields.string("errorString")?,
            },
            FrameKind::RpcRequest => {
                let request_id = fields.i64("requestId")?;
                Self::RpcRequest {
                    request_id,
                    body: fields.sized_body()?,
                }
            }
            FrameKind::RpcResponse => {
                let request_id = fields.i64("requestId")?;
                Self::RpcResponse {
                    request_id,
                    body: fields.sized_body()?,
                }
            }
            FrameKind::RpcFailure => Self::RpcFailure {
                request_id: fields.i64("requestId")?,
                error: fields.string("errorString")?,
            },
            FrameKind::StreamRequest => Self::StreamRequest {
                stream_id: fields.string("streamId")?,
            },
            FrameKind::StreamResponse => Self::StreamResponse {
                stream_id: fields.string("streamId")?,
                byte_count: fields.count("byteCount")?,
            },
            FrameKind::StreamFailure => Self::StreamFailure {
                stream_id: fields.string("streamId")?,
                error: fields.string("error")?,
            },
            FrameKind::OneWayMessage => Self::OneWayMessage {
                body: fields.sized_body()?,
            },
            FrameKind::UploadStream => Self::UploadStream {
                request_id: fields.i64("requestId")?,
                meta: fields.bytes("meta")?,
                byte_count: fields.count("bodyByteCount")?,
            },
            FrameKind::MergedBlockMetaRequest => Self::MergedBlockMetaRequest {
                request_id: fields.i64("requestId")?,
                app_id: fields.string("appId")?,
                shuffle_id: fields.i32("shuffleId")?,
                shuffle_merge_id: fields.i32("shuffleMergeId")?,
                reduce_id: fields.i32("reduceId")?,
            },
            FrameKind::MergedBlockMetaSuccess => Self::MergedBlockMetaSuccess {
                request_id: fields.i64("requestId")?,
                num_chunks: fields.i32("numChunks")?,
                body: fields.rest,
            },
            kind => Self::Unknown {
                kind,
                body: fields.rest,
            },
        })
    }

    /// The type byte.
    pub fn kind(&self) -> FrameKind {
        match self {
            Self::ChunkFetchRequest { .. } => FrameKind::ChunkFetchRequest,
            Self::ChunkFetchSuccess { .. } => FrameKind::ChunkFetchSuccess,
            Self::ChunkFetchFailure { .. } => FrameKind::ChunkFetchFailure,
            Self::RpcRequest { .. } => FrameKind::RpcRequest,
            Self::RpcResponse { .. } => FrameKind::RpcResponse,
            Self::RpcFailure { .. } => FrameKind::RpcFailure,
            Self::StreamRequest { .. } => FrameKind::StreamRequest,
            Self::StreamResponse { .. } => FrameKind::StreamResponse,
            Self::StreamFailure { .. } => FrameKind::StreamFailure,
            Self::OneWayMessage { .. } => FrameKind::OneWayMessage,
            Self::UploadStream { .. } => FrameKind::UploadStream,
            Self::MergedBlockMetaRequest { .. } => FrameKind::MergedBlockMetaRequest,
            Self::MergedBlockMetaSuccess { .. } => FrameKind::MergedBlockMetaSuccess,
            Self::Unknown { kind, .. } => *kind,
        }
    }

    /// The part of the frame that [`Frame::encode_head`] leaves out; empty for frames without a body.
    pub fn body(&self) -> Bytes {
        match self {
            Self::ChunkFetchSuccess { body, .. }
            | Self::RpcRequest { body, .. }
            | Self::RpcResponse { body, .. }
            | Self::OneWayMessage { body }
            | Self::MergedBlockMetaSuccess { body, .. }
            | Self::Unknown { body, .. } => body.clone(),
            _ => Bytes::new(),
        }
    }

    /// Writes everything in front of the body.
    pub fn encode_head(&self, out: &mut BytesMut) {
        self.encode_head_for(self.body().len() as u64, out);
    }

    /// Writes everything in front of a body of `body_len` bytes that comes from elsewhere, such as a
    /// file; the frame's own body is ignored. `body_len` must be 0 for frames without a body.
    pub fn encode_head_for(&self, body_len: u64, out: &mut BytesMut) {
        let start = out.len();
        out.put_u64(0);
        out.put_u8(self.kind().0);
        match self {
            Self::ChunkFetchRequest {
                stream_id,
                chunk_index,
            }
            | Self::ChunkFetchSuccess {
                stream_id,
                chunk_index,
                ..
            } => {
                out.put_i64(*stream_id);
                out.put_i32(*chunk_index);
            }
            Self::ChunkFetchFailure {
                stream_id,
                chunk_index,
                error,
            } => {
                out.put_i64(*stream_id);
                out.put_i32(*chunk_index);
                put_bytes(out, error.as_bytes());
            }
            Self::RpcRequest { request_id, .. } | Self::RpcResponse { request_id, .. } => {
                out.put_i64(*request_id);
                out.put_i32(body_len as i32);
            }
            Self::RpcFailure { request_id, error } => {
                out.put_i64(*request_id);
                put_bytes(out, error.as_bytes());
            }
            Self::StreamRequest { stream_id } => put_bytes(out, stream_id.as_bytes()),
            Self::StreamResponse {
                stream_id,
                byte_count,
            } => {
                put_bytes(out, stream_id.as_bytes());
                out.put_u64(*byte_count);
            }
            Self::StreamFailure { stream_id, error } => {
                put_bytes(out, stream_id.as_bytes());
                put_bytes(out, error.as_bytes());
            }
            Self::OneWayMessage { .. } => out.put_i32(body_len as i32),
            Self::UploadStream {
                request_id,
                meta,
                byte_count,
            } => {
                out.put_i64(*request_id);
                put_bytes(out, meta);
                out.put_u64(*byte_count);
            }
            Self::MergedBlockMetaRequest {
                request_id,
                app_id,
                shuffle_id,
                shuffle_merge_id,
                reduce_id,
            } => {
                out.put_i64(*request_id);
                put_bytes(out, app_id.as_bytes());
                out.put_i32(*shuffle_id);
                out.put_i32(*shuffle_merge_id);
                out.put_i32(*reduce_id);
            }
            Self::MergedBlockMetaSuccess {
                request_id,
                num_chunks,
                ..
            } => {
                out.put_i64(*request_id);
                out.put_i32(*num_chunks);
            }
            Self::Unknown { .. } => {}
        }
        let length = (out.len() - start) as u64 + body_len;
        if let Some(field) = out.get_mut(start..start + LENGTH_SIZE) {
            field.copy_from_slice(&length.to_be_bytes());
        }
    }

    /// Writes the whole frame; bytes that follow a frame are not part of it.
    pub fn encode(&self, out: &mut BytesMut) {
        self.encode_head(out);
        out.extend_from_slice(&self.body());
    }
}

/// `i32` length and bytes. Nothing this end writes into a header comes near 2 GiB.
fn put_bytes(out: &mut BytesMut, bytes: &[u8]) {
    out.put_i32(bytes.len() as i32);
    out.put_slice(bytes);
}

/// The unread part of one frame.
struct Fields {
    kind: FrameKind,
    rest: Bytes,
}

impl Fields {
    fn take(&mut self, field: &'static str, count: usize) -> Result<Bytes, FrameError> {
        if self.rest.len() < count {
            return Err(FrameError::Truncated {
                kind: self.kind,
                field,
            });
        }
        Ok(self.rest.split_to(count))
    }

    fn i32(&mut self, field: &'static str) -> Result<i32, FrameError> {
        Ok(self.take(field, 4)?.get_i32())
    }

    fn i64(&mut self, field: &'static str) -> Result<i64, FrameError> {
        Ok(self.take(field, 8)?.get_i64())
    }

    fn count(&mut self, field: &'static str) -> Result<u64, FrameError> {
        let value = self.i64(field)?;
        u64::try_from(value).map_err(|_| FrameError::Negative {
            kind: self.kind,
            field,
            value,
        })
    }

    fn bytes(&mut self, field: &'static str) -> Result<Bytes, FrameError> {
        let value = self.i32(field)?;
        let count = usize::try_from(value).map_err(|_| FrameError::Negative {
            kind: self.kind,
            field,
            value: i64::from(value),
        })?;
        self.take(field, count)
    }

    /// Text that is not UTF-8 keeps its readable part, as in the JVM.
    fn string(&mut self, field: &'static str) -> Result<String, FrameError> {
        Ok(String::from_utf8_lossy(&self.bytes(field)?).into_owned())
    }

    /// A body behind a size that readers ignore: the frame says where it ends.
    fn sized_body(mut self) -> Result<Bytes, FrameError> {
        self.take("bodySize", 4)?;
        Ok(self.rest)
    }
}

#[cfg(test)]
#[path = "frame_tests.rs"]
mod tests;
