//! The header in front of every RPC message (`RequestMessage` of `NettyRpcEnv`).
//!
//! `sender | receiver | endpoint name (writeUTF) | Java object stream` to the end of the body of an
//! `RpcRequest` or `OneWayMessage` frame. An address is `0`, or `1 | host (writeUTF) | port i32`.

use crate::WireError;
use crate::codec::{Reader, Write};
use bytes::Bytes;
use std::fmt;

/// `org.apache.spark.rpc.RpcAddress`: host and port of an RPC environment that listens.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RpcAddress {
    /// Host name or address, without brackets.
    pub host: String,
    /// TCP port.
    pub port: i32,
}

impl fmt::Display for RpcAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

/// One RPC message with its addresses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestEnvelope {
    /// Address of the sender's server; none if the sender only holds a client connection, as executors do.
    pub sender: Option<RpcAddress>,
    /// Address the sender believes to speak to; none for endpoints of a client-only process.
    pub receiver: Option<RpcAddress>,
    /// Name of the endpoint that shall handle the message; the only part used for dispatch.
    pub endpoint: String,
    /// The Java object stream of the message.
    pub content: Bytes,
}

impl RequestEnvelope {
    /// Splits the body of a frame; `content` shares the body's memory.
    ///
    /// # Errors
    /// [`WireError`] if the body ends inside the header or a string is not modified UTF-8.
    pub fn read(body: &Bytes) -> Result<Self, WireError> {
        let mut r = Reader::new(body);
        let sender = read_address(&mut r, "sender address")?;
        let receiver = read_address(&mut r, "receiver address")?;
        let endpoint = r.utf("endpoint name")?;
        let content = body.slice(r.position()..);
        Ok(Self {
            sender,
            receiver,
            endpoint,
            content,
        })
    }

    /// The frame body of this message.
    ///
    /// # Errors
    /// [`WireError::Length`] if a name is longer than `writeUTF` allows.
    pub fn write(&self) -> Result<Bytes, WireError> {
        let mut out = Vec::with_capacity(self.content.len() + 64);
        write_address(&mut out, self.sender.as_ref())?;
        write_address(&mut out, self.receiver.as_ref())?;
        out.put_utf("endpoint name", &self.endpoint)?;
        out.extend_from_slice(&self.content);
        Ok(out.into())
    }
}

fn read_address(r: &mut Reader<'_>, what: &'static str) -> Result<Option<RpcAddress>, WireError> {
    if !r.bool(what)? {
        return Ok(None);
    }
    Ok(Some(RpcAddress {
        host: r.utf(what)?,
        port: r.i32(what)?,
    }))
}

fn write_address(out: &mut Vec<u8>, address: Option<&RpcAddress>) -> Result<(), WireError> {
    out.put_bool(address.is_some());
    if let Some(RpcAddress { host, port }) = address {
        out.put_utf("RPC host", host)?;
        out.put_i32(*port);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn golden() {
        // Header of a Spark 4.3.0 driver's LaunchTask.
        let body =
            Bytes::from_static(b"\x01\0\x09localhost\0\0\x98\x65\0\0\x08Executor\xac\xed\0\x05");
        let envelope = RequestEnvelope::read(&body).unwrap();
        assert_eq!(
            envelope,
            RequestEnvelope {
                sender: Some(RpcAddress {
                    host: "localhost".into(),
                    port: 0x9865
                }),
                receiver: None,
                endpoint: "Executor".into(),
                content: Bytes::from_static(b"\xac\xed\0\x05"),
            }
        );
        assert_eq!(envelope.write().unwrap(), body);
    }

    #[test]
    fn truncated_bodies_are_errors() {
        let body = Bytes::from_static(b"\x01\0\x09localhost\0\0\x98\x65\0\0\x08Executor");
        for n in 0..body.len() {
            let error = RequestEnvelope::read(&body.slice(..n)).unwrap_err();
            assert!(matches!(error, WireError::Truncated { .. }), "{n}: {error}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_an_envelope_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let body = Bytes::from(bytes);
            if let Ok(envelope) = RequestEnvelope::read(&body) {
                prop_assert!(RequestEnvelope::read(&envelope.write().unwrap()).unwrap() == envelope);
            }
        }
    }
}
