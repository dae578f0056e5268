//! What both ends of a connection do before anything else is said on it: TLS, and inside it authentication.

use std::io;
use std::sync::Arc;

use auth::Session;
use bytes::BytesMut;
use tls::Context;
use tokio::net::TcpStream;

use super::authentication::{Authentication, Handshaken};
use super::tls::{self as layer, TlsSession};

/// How connections of this process are protected. Clones share keys and secrets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Protection {
    /// Keys, certificates and trust, if connections are inside TLS.
    pub tls: Option<Context>,
    /// How both ends say who they are, if they do.
    pub authentication: Option<Authentication>,
}

/// What hides what is said on a connection.
#[derive(Debug)]
pub(super) enum Cipher {
    /// Keys that were agreed on when both ends said who they are.
    Session(Session),
    /// TLS.
    Tls(Arc<TlsSession>),
}

/// A connection on which nothing but handshakes was said.
#[derive(Debug, Default)]
pub(super) struct Opened {
    /// The cipher, if there is one.
    pub(super) cipher: Option<Cipher>,
    /// What arrived behind the handshakes. Of a connection inside TLS it is decrypted.
    pub(super) rest: BytesMut,
}

impl From<Authentication> for Protection {
    fn from(authentication: Authentication) -> Self {
        Self {
            tls: None,
            authentication: Some(authentication),
        }
    }
}

impl Protection {
    /// For connections that carry blocks of an application.
    #[must_use]
    pub fn of_application(&self, app_id: &str) -> Self {
        let authentication = self.authentication.as_ref();
        Self {
            tls: self.tls.clone(),
            authentication: authentication.map(|one| one.of_application(app_id)),
        }
    }

    /// Whether there is nothing to be done.
    pub(super) fn is_none(&self) -> bool {
        self.tls.is_none() && self.authentication.is_none()
    }

    /// Opens a connection that this process has made.
    pub(super) async fn open(&self, mut socket: TcpStream) -> io::Result<(TcpStream, Opened)> {
        let peer = socket.peer_addr()?;
        let Some(context) = &self.tls else {
            let handshaken = match &self.authentication {
                Some(authentication) => authentication.open(&mut socket, peer).await?,
                None => Handshaken::default(),
            };
            return Ok((socket, Opened::plain(handshaken)));
        };
        let mut stream = layer::open(context, socket, peer).await?;
        let handshaken = match &self.authentication {
            Some(authentication) => authentication.open(&mut stream, peer).await?,
            None => Handshaken::default(),
        };
        Opened::inside(stream, handshaken)
    }

    /// Opens a connection that was accepted.
    ///
    /// # Errors
    /// Why it must be closed; `None` if the other end closed it before it said anything.
    pub(super) async fn accept(
        &self,
        mut socket: TcpStream,
    ) -> Result<(TcpStream, Opened), Option<String>> {
        let Some(context) = &self.tls else {
            let handshaken = match &self.authentication {
                Some(authentication) => authentication.accept(&mut socket).await?,
                None => Handshaken::default(),
            };
            return Ok((socket, Opened::plain(handshaken)));
        };
        let mut stream = layer::accept(context, socket).await?;
        let handshaken = match &self.authentication {
            Some(authentication) => authentication.accept(&mut stream).await?,
            None => Handshaken::default(),
        };
        Opened::inside(stream, handshaken).map_err(|error| Some(error.to_string()))
    }
}

impl Opened {
    fn plain(handshaken: Handshaken) -> Self {
        Self {
            cipher: handshaken.session.map(Cipher::Session),
            rest: handshaken.rest,
        }
    }

    fn inside(
        stream: tokio_rustls::TlsStream<TcpStream>,
        handshaken: Handshaken,
    ) -> io::Result<(TcpStream, Self)> {
        if handshaken.session.is_some() {
            // The settings that ask for both are refused.
            return Err(io::Error::other("a connection cannot be encrypted twice"));
        }
        let (socket, session, plain) = TlsSession::new(stream)?;
        let mut rest = handshaken.rest;
        rest.unsplit(plain);
        let cipher = Some(Cipher::Tls(Arc::new(session)));
        Ok((socket, Self { cipher, rest }))
    }
}
