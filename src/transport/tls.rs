//! Connections inside TLS (`spark.ssl.rpc.enabled`): the handshake, and both directions after it.
//!
//! The handshake is the first thing on a connection; authentication comes after it, inside.

use std::io::{self, BufRead, Write};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Buf, BytesMut};
use parking_lot::Mutex;
use rustls::pki_types::ServerName;
use rustls::{AlertDescription, CertificateError, Connection, Error as TlsFault};
use tls::Context;
use tokio::net::TcpStream;
use tokio_rustls::{TlsAcceptor, TlsConnector, TlsStream};

use crate::config::declared;

/// How long a handshake may take, as in Spark, whose library has no setting for it.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// Bytes of a record's head.
const HEAD: usize = 5;
/// The longest record: 16 KiB, and what ciphers of TLS 1.2 may add.
const MAX_RECORD: usize = HEAD + (16 << 10) + 2048;

const ENABLED: &str = declared::SSL_RPC_ENABLED.key;

/// There is no TLS with the other end.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no TLS with {peer}: {why}")]
pub struct TlsError {
    peer: SocketAddr,
    why: String,
}

/// Opens a connection that this process has made.
///
/// # Errors
/// A [`TlsError`] inside; its kind is `PermissionDenied` if another attempt would fail, too.
pub(super) async fn open(
    context: &Context,
    socket: TcpStream,
    peer: SocketAddr,
) -> io::Result<TlsStream<TcpStream>> {
    let name = ServerName::IpAddress(peer.ip().into());
    let connect = TlsConnector::from(Arc::clone(&context.client)).connect(name, socket);
    in_time(connect)
        .await
        .map(TlsStream::from)
        .map_err(|(kind, why)| io::Error::new(kind, TlsError { peer, why }))
}

/// Opens a connection that was accepted.
///
/// # Errors
/// Why it must be closed.
pub(super) async fn accept(
    context: &Context,
    socket: TcpStream,
) -> Result<TlsStream<TcpStream>, String> {
    let accept = TlsAcceptor::from(Arc::clone(&context.server)).accept(socket);
    let accepted = in_time(accept).await.map(TlsStream::from);
    accepted.map_err(|(_, why)| why)
}

async fn in_time<T>(
    handshake: impl Future<Output = io::Result<T>>,
) -> Result<T, (io::ErrorKind, String)> {
    match tokio::time::timeout(HANDSHAKE, handshake).await {
        Ok(done) => done.map_err(|error| (kind(&error), words(&error))),
        Err(_) => {
            let why = format!(
                "the handshake was not over after {} s: look at {ENABLED} at both ends",
                HANDSHAKE.as_secs()
            );
            Err((io::ErrorKind::TimedOut, why))
        }
    }
}

fn fault(error: &io::Error) -> Option<&TlsFault> {
    error.get_ref()?.downcast_ref()
}

fn kind(error: &io::Error) -> io::ErrorKind {
    match fault(error) {
        Some(_) => io::ErrorKind::PermissionDenied,
        None => error.kind(),
    }
}

/// What happened, and which setting to look at.
fn words(error: &io::Error) -> String {
    let look_at: &[&str] = match fault(error) {
        Some(TlsFault::InvalidMessage(_)) => &[ENABLED],
        Some(TlsFault::InvalidCertificate(CertificateError::Expired)) => &[],
        Some(TlsFault::InvalidCertificate(_)) => &[declared::SSL_RPC_TRUST_STORE.key],
        Some(TlsFault::AlertReceived(
            AlertDescription::UnknownCA
            | AlertDescription::BadCertificate
            | AlertDescription::CertificateUnknown,
        )) => &[declared::SSL_RPC_TRUST_STORE.key],
        Some(TlsFault::AlertReceived(_) | TlsFault::PeerIncompatible(_)) => &[
            declared::SSL_RPC_PROTOCOL.key,
            declared::SSL_RPC_ALGORITHMS.key,
        ],
        Some(_) => &[],
        None => &[ENABLED],
    };
    match look_at {
        [] => error.to_string(),
        keys => format!("{error}: look at {} at both ends", keys.join(" and ")),
    }
}

/// The ciphers of a connection. Both directions share them: either may make the other change its key.
#[derive(Debug)]
pub(super) struct TlsSession(Mutex<Connection>);

impl TlsSession {
    /// Takes a connection over on which nothing was said but handshakes, and what has arrived of it already.
    pub(super) fn new(stream: TlsStream<TcpStream>) -> io::Result<(TcpStream, Self, BytesMut)> {
        let (socket, mut connection) = match stream {
            TlsStream::Client(stream) => {
                let (socket, connection) = stream.into_inner();
                (socket, Connection::from(connection))
            }
            TlsStream::Server(stream) => {
                let (socket, connection) = stream.into_inner();
                (socket, Connection::from(connection))
            }
        };
        // What is sealed is taken at once.
        connection.set_buffer_limit(None);
        let mut plain = BytesMut::new();
        take_plain(&mut connection, &mut plain)?;
        Ok((socket, Self(Mutex::new(connection)), plain))
    }

    /// Takes whole records from `arrived`, decrypts them and appends what is in them to `plain`. Less than a record
    /// stays in `arrived`. False if the other end has said that it sends nothing more.
    pub(super) fn open(&self, arrived: &mut BytesMut, plain: &mut BytesMut) -> io::Result<bool> {
        let mut connection = self.0.lock();
        while let Some(len) = record_len(arrived) {
            let mut record = arrived.get(..len).unwrap_or_default();
            while !record.is_empty() {
                if connection.read_tls(&mut record)? == 0 {
                    return Ok(false);
                }
                connection
                    .process_new_packets()
                    .map_err(|why| io::Error::new(io::ErrorKind::InvalidData, why))?;
                if !take_plain(&mut connection, plain)? {
                    return Ok(false);
                }
            }
            arrived.advance(len);
        }
        Ok(true)
    }

    /// Encrypts `plain` to `sealed`, whose former content is gone.
    pub(super) fn seal(&self, plain: &[u8], sealed: &mut Vec<u8>) -> io::Result<()> {
        let mut connection = self.0.lock();
        connection.writer().write_all(plain)?;
        take_sealed(&mut connection, sealed)
    }

    /// The record that says that nothing more is sent.
    pub(super) fn farewell(&self, sealed: &mut Vec<u8>) -> io::Result<()> {
        let mut connection = self.0.lock();
        connection.send_close_notify();
        take_sealed(&mut connection, sealed)
    }
}

fn take_sealed(connection: &mut Connection, sealed: &mut Vec<u8>) -> io::Result<()> {
    sealed.clear();
    while connection.wants_write() {
        connection.write_tls(sealed)?;
    }
    Ok(())
}

/// False if there will be nothing more.
fn take_plain(connection: &mut Connection, plain: &mut BytesMut) -> io::Result<bool> {
    let mut reader = connection.reader();
    loop {
        let count = match reader.fill_buf() {
            Ok([]) => return Ok(false),
            Ok(bytes) => {
                plain.extend_from_slice(bytes);
                bytes.len()
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(true),
            Err(error) => return Err(error),
        };
        reader.consume(count);
    }
}

/// Bytes of the record that `arrived` begins with, if it is whole. What cannot be one counts as whole: the library says
/// what is wrong with it.
fn record_len(arrived: &[u8]) -> Option<usize> {
    let [_, _, _, high, low, ..] = arrived else {
        return None;
    };
    let len = HEAD + usize::from(u16::from_be_bytes([*high, *low]));
    match len {
        len if len > MAX_RECORD => Some(arrived.len()),
        len => (len <= arrived.len()).then_some(len),
    }
}

#[cfg(test)]
#[path = "tls_tests.rs"]
mod tests;
