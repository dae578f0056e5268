//! What is said at the beginning of a connection, by either end.

use ring::rand::{SecureRandom, SystemRandom};
use thiserror::Error;

use crate::engine::{self, EngineVersion, Half};
use crate::message::{self, Sasl};
use crate::session::{Cipher, Session};
use crate::{Secret, digest};

/// Characters of the other end's words that are kept.
const MAX_WORDS: usize = 300;

/// Which protocols an end speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Protocol {
    /// Agreement on keys, and the cipher that they are for; without, only SASL is spoken.
    pub crypto: Option<Crypto>,
    /// Whether SASL is spoken with ends that do not speak the other protocol: `spark.network.crypto.saslFallback`.
    pub sasl_fallback: bool,
}

/// What keys are agreed on for. Both ends must have the same: nothing of it is said on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Crypto {
    /// How the key is made.
    pub version: EngineVersion,
    /// What it is used for.
    pub cipher: Cipher,
}

/// Why a handshake failed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum HandshakeError {
    /// The other end said something that is no part of a handshake.
    #[error(
        "what came is no part of Spark's authentication: check that spark.authenticate and spark.network.crypto.* are \
         the same at both ends"
    )]
    Malformed,
    /// The other end has another secret.
    #[error("the other end has another secret: check spark.authenticate.secret at both ends")]
    WrongSecret,
    /// The other end speaks for somebody else.
    #[error("'{0}' is not who was expected")]
    Identity(String),
    /// The other end wants a layer of protection that is not there.
    #[error(
        "the other end wants SASL's '{0}', which Firesteel does not have: set spark.network.crypto.enabled=true \
         instead of spark.authenticate.enableSaslEncryption and spark.network.sasl.serverAlwaysEncrypt"
    )]
    Protection(String),
    /// The other end's words.
    #[error(
        "the other end refused with '{0}': check that spark.authenticate, spark.authenticate.secret and \
         spark.network.crypto.* are the same at both ends"
    )]
    Refused(String),
    /// No random bytes, or a key that the library does not take.
    #[error("the cryptographic library failed")]
    Library,
}

/// The end that connects.
pub struct ClientHandshake {
    protocol: Protocol,
    identity: String,
    secret: Secret,
    state: ClientState,
    /// What the other end said to the first attempt.
    refused: Option<String>,
}

enum ClientState {
    Exchange(Box<(Half, Crypto)>),
    Challenge,
    Proof(digest::Client),
    Over,
}

/// What a client does next.
#[derive(Debug)]
pub enum ClientStep {
    /// It sends another request.
    Ask(Vec<u8>),
    /// Both ends know each other; what follows is encrypted if there is a session.
    Done(Option<Session>),
}

impl ClientHandshake {
    /// A handshake in the name of `identity`, and its first request.
    ///
    /// # Errors
    /// [`HandshakeError::Library`]
    pub fn start(
        protocol: Protocol,
        identity: &str,
        secret: &Secret,
    ) -> Result<(Self, Vec<u8>), HandshakeError> {
        Self::start_with(protocol, identity, secret, &SystemRandom::new())
    }

    pub(crate) fn start_with(
        protocol: Protocol,
        identity: &str,
        secret: &Secret,
        random: &dyn SecureRandom,
    ) -> Result<(Self, Vec<u8>), HandshakeError> {
        let mut handshake = Self {
            protocol,
            identity: identity.to_owned(),
            secret: secret.clone(),
            state: ClientState::Challenge,
            refused: None,
        };
        let request = match protocol.crypto {
            Some(crypto) => {
                let half = engine::offer(secret, identity, &[], random)?;
                let request = half.message().to_vec();
                handshake.state = ClientState::Exchange(Box::new((half, crypto)));
                request
            }
            None => handshake.sasl(&[]),
        };
        Ok((handshake, request))
    }

    fn sasl(&self, payload: &[u8]) -> Vec<u8> {
        let identity = &self.identity;
        Sasl { identity, payload }.write()
    }

    /// The next step after the answer to the last request.
    ///
    /// # Errors
    /// The other end is not who it should be, or does not follow the protocol.
    pub fn answered(&mut self, answer: &[u8]) -> Result<ClientStep, HandshakeError> {
        match std::mem::replace(&mut self.state, ClientState::Over) {
            ClientState::Exchange(exchange) => {
                let (half, crypto) = *exchange;
                let Crypto { version, cipher } = crypto;
                let session = half.finish(&self.secret, &self.identity, answer, version, cipher)?;
                Ok(ClientStep::Done(Some(session)))
            }
            ClientState::Challenge => {
                let random = SystemRandom::new();
                let (client, payload) = digest::Client::answer(&self.secret, answer, &random)?;
                self.state = ClientState::Proof(client);
                Ok(ClientStep::Ask(self.sasl(&payload)))
            }
            ClientState::Proof(client) => {
                client.check(answer)?;
                Ok(ClientStep::Done(None))
            }
            ClientState::Over => Err(HandshakeError::Malformed),
        }
    }

    /// The next step after the other end answered that the last request failed.
    ///
    /// # Errors
    /// There is nothing else to try.
    pub fn refused(&mut self, words: &str) -> Result<ClientStep, HandshakeError> {
        let first = matches!(self.state, ClientState::Exchange(_)) && self.protocol.sasl_fallback;
        if !first {
            return Err(self.gone(words));
        }
        self.refused = Some(shortened(words));
        self.state = ClientState::Challenge;
        Ok(ClientStep::Ask(self.sasl(&[])))
    }

    /// Why the handshake failed when the other end did not answer but for `words`: what it said first says most.
    pub fn gone(&mut self, words: &str) -> HandshakeError {
        self.state = ClientState::Over;
        let words = self.refused.take().unwrap_or_else(|| shortened(words));
        HandshakeError::Refused(words)
    }

    /// True if the protocol that was tried first was not understood.
    pub fn fell_back(&self) -> bool {
        self.refused.is_some()
    }
}

/// The first line of what a JVM says, which may be a stack trace, for people.
fn shortened(words: &str) -> String {
    let line = words.lines().next().unwrap_or_default();
    let printable = line.chars().filter(|c| !c.is_control());
    printable.take(MAX_WORDS).collect()
}

/// The end that is connected to.
pub struct ServerHandshake {
    protocol: Protocol,
    identity: String,
    secret: Secret,
    state: ServerState,
}

enum ServerState {
    Start {
        /// The protocol with keys was tried, which this end does not speak.
        tried: bool,
    },
    Challenged(digest::Server),
    Over,
}

/// What a server does next.
#[derive(Debug)]
pub enum ServerStep {
    /// It answers and waits for another request.
    Answer(Vec<u8>),
    /// It answers in clear, and both ends know each other; what follows is encrypted if there is a session.
    Done(Vec<u8>, Option<Session>),
    /// It answers with a failure of these words and waits for another request: the client may try SASL.
    Retry(&'static str),
    /// It answers with a failure of these words and closes the connection.
    Refuse(&'static str, HandshakeError),
}

impl ServerHandshake {
    /// A handshake with clients that speak for `identity`.
    pub fn new(protocol: Protocol, identity: &str, secret: &Secret) -> Self {
        Self {
            protocol,
            identity: identity.to_owned(),
            secret: secret.clone(),
            state: ServerState::Start { tried: false },
        }
    }

    /// The next step after a request.
    pub fn asked(&mut self, request: &[u8]) -> ServerStep {
        self.asked_with(request, &SystemRandom::new())
    }

    pub(crate) fn asked_with(&mut self, request: &[u8], random: &dyn SecureRandom) -> ServerStep {
        match std::mem::replace(&mut self.state, ServerState::Over) {
            ServerState::Start { tried } => match self.protocol.crypto {
                Some(crypto) if request.first() == Some(&message::EXCHANGE) => {
                    self.exchange(request, crypto, random)
                }
                None if !tried && message::Exchange::read(request).is_ok() => {
                    self.state = ServerState::Start { tried: true };
                    ServerStep::Retry(NOT_SASL)
                }
                Some(_) if !self.protocol.sasl_fallback => ServerStep::Refuse(
                    "java.lang.IllegalArgumentException: Unknown challenge message.",
                    HandshakeError::Malformed,
                ),
                _ => self.challenge(request, random),
            },
            ServerState::Challenged(server) => self.prove(server, request),
            ServerState::Over => refuse_sasl(HandshakeError::Malformed),
        }
    }

    fn exchange(&self, request: &[u8], crypto: Crypto, random: &dyn SecureRandom) -> ServerStep {
        let expected = message::Exchange::read(request)
            .map_err(|_| HandshakeError::Malformed)
            .and_then(|message| self.expect(message.identity));
        let accepted = expected.and_then(|()| {
            engine::accept(&self.secret, request, crypto.version, crypto.cipher, random)
        });
        match accepted {
            Ok((answer, session)) => ServerStep::Done(answer, Some(session)),
            Err(error) => ServerStep::Refuse(
                "java.lang.IllegalArgumentException: Authentication failed.",
                error,
            ),
        }
    }

    fn challenge(&mut self, request: &[u8], random: &dyn SecureRandom) -> ServerStep {
        let payload = match self.sasl(request) {
            Ok(payload) => payload,
            Err(error) => return refuse_sasl(error),
        };
        if !payload.is_empty() {
            return refuse_sasl(HandshakeError::Malformed);
        }
        match digest::Server::challenge(random) {
            Ok((server, challenge)) => {
                self.state = ServerState::Challenged(server);
                ServerStep::Answer(challenge)
            }
            Err(error) => refuse_sasl(error),
        }
    }

    fn prove(&self, server: digest::Server, request: &[u8]) -> ServerStep {
        let proof = self
            .sasl(request)
            .and_then(|payload| server.check(&self.secret, payload));
        match proof {
            Ok(proof) => ServerStep::Done(proof, None),
            Err(error) => refuse_sasl(error),
        }
    }

    fn sasl<'a>(&self, request: &'a [u8]) -> Result<&'a [u8], HandshakeError> {
        let message = Sasl::read(request).map_err(|_| HandshakeError::Malformed)?;
        self.expect(message.identity)?;
        Ok(message.payload)
    }

    fn expect(&self, identity: &str) -> Result<(), HandshakeError> {
        if identity == self.identity {
            return Ok(());
        }
        Err(HandshakeError::Identity(shortened(identity)))
    }
}

/// Spark's words.
const NOT_SASL: &str = "java.lang.IllegalStateException: Expected SaslMessage, received something else (maybe your \
                        client does not have SASL enabled?)";

/// In the words of Spark and of Java's SASL.
fn refuse_sasl(error: HandshakeError) -> ServerStep {
    let words = match &error {
        HandshakeError::Malformed => NOT_SASL,
        HandshakeError::WrongSecret => {
            "java.lang.RuntimeException: javax.security.sasl.SaslException: DIGEST-MD5: digest response format \
             violation. Mismatched response."
        }
        HandshakeError::Protection(_) => {
            "java.lang.RuntimeException: javax.security.sasl.SaslException: DIGEST-MD5: Unsupported quality of \
             protection; Firesteel has none but spark.network.crypto.enabled"
        }
        _ => "java.lang.IllegalArgumentException: Authentication failed.",
    };
    ServerStep::Refuse(words, error)
}

#[cfg(test)]
#[path = "handshake_tests.rs"]
mod tests;
