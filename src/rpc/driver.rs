//! The connection to the driver.

use super::RpcConf;
use crate::transport::{AskError, Asked, Client, Peer, Reply, RequestHandler};
use bytes::Bytes;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use wire::WireError;
use wire::envelope::{RequestEnvelope, RpcAddress};

/// What comes from the driver.
#[derive(Debug)]
pub enum Event {
    /// A message to one of this process's endpoints.
    Incoming(Incoming),
    /// The connection is gone, with the reason unless the driver closed it between two messages. Nothing comes after
    /// this.
    Disconnected(Option<String>),
}

/// A message of the driver to an endpoint of this process.
#[derive(Debug)]
pub struct Incoming {
    /// Name of the endpoint.
    pub endpoint: String,
    /// The whole message with its envelope, as received.
    pub envelope: Bytes,
    /// The Java object stream in it.
    pub content: Bytes,
    /// Answers the message; `None` if the driver wants no answer.
    pub reply: Option<Reply>,
}

/// The driver as seen by an executor: one connection in client mode, so messages carry no sender address and the
/// driver knows this process by its end of the connection. Clones share the connection, which ends with the last of
/// them.
///
/// Methods that do not wait keep their order: what is told or asked first is sent first.
#[derive(Clone, Debug)]
pub struct DriverEndpoint {
    client: Client,
    driver: RpcAddress,
}

impl DriverEndpoint {
    /// Connects to the driver at `driver`, and gives what comes from it through the receiver.
    ///
    /// # Errors
    /// The connection could not be made in time.
    pub async fn connect(
        driver: RpcAddress,
        conf: &RpcConf,
    ) -> io::Result<(Self, mpsc::UnboundedReceiver<Event>)> {
        let port = u16::try_from(driver.port).map_err(|_| {
            io::Error::new(
                io::ErrorKind::InvalidInput,
                format!("{driver} has no valid port"),
            )
        })?;
        // Unbounded: the driver is trusted with the executor's memory anyway, and the connection must be read on or
        // asks of this end would not be answered.
        let (events, receiver) = mpsc::unbounded_channel();
        let handler = Arc::new(Inbox { events });
        let client = Client::connect(&driver.host, port, &conf.transport, handler).await?;
        Ok((Self { client, driver }, receiver))
    }

    /// The frame body that carries the object stream `content` to `endpoint` of the driver.
    ///
    /// # Errors
    /// The endpoint's name is too long to be written.
    pub fn envelope(&self, endpoint: &str, content: Bytes) -> Result<Bytes, WireError> {
        let receiver = Some(self.driver.clone());
        RequestEnvelope {
            sender: None,
            receiver,
            endpoint: endpoint.to_owned(),
            content,
        }
        .write()
    }

    /// Asks an endpoint and waits for the object stream of its answer. An answer may be a serialized
    /// `org.apache.spark.rpc.netty.RpcFailure`: that is how an endpoint refuses.
    ///
    /// # Errors
    /// [`AskError`]: the driver could not handle the message, did not answer in time, or is gone.
    pub async fn ask(
        &self,
        endpoint: &str,
        content: Bytes,
        timeout: Duration,
    ) -> Result<Bytes, AskError> {
        let envelope = self
            .envelope(endpoint, content)
            .map_err(|error| AskError::RpcFailure(error.to_string()))?;
        self.ask_raw(envelope, timeout).await
    }

    /// Sends a message to an endpoint without waiting; it is lost if the connection is.
    ///
    /// # Errors
    /// The endpoint's name is too long to be written.
    pub fn tell(&self, endpoint: &str, content: Bytes) -> Result<(), WireError> {
        self.tell_raw(self.envelope(endpoint, content)?);
        Ok(())
    }

    /// Asks with an envelope that is already written.
    ///
    /// # Errors
    /// As [`DriverEndpoint::ask`].
    pub async fn ask_raw(&self, envelope: Bytes, timeout: Duration) -> Result<Bytes, AskError> {
        self.client.ask(envelope, timeout).await
    }

    /// Queues an ask with an envelope that is already written, without waiting.
    pub fn start_ask_raw(&self, envelope: Bytes) -> Asked {
        self.client.start_ask(envelope)
    }

    /// Sends an envelope that is already written, without waiting; it is lost if the connection is.
    pub fn tell_raw(&self, envelope: Bytes) {
        self.client.send_now(envelope);
    }

    /// Waits until everything sent so far has been given to the system, or the connection is closed.
    pub async fn flush(&self) {
        self.client.flush().await;
    }

    /// Closes the connection now. What is not flushed is lost; outstanding asks fail.
    pub fn close(&self) {
        self.client.close();
    }

    /// The driver's address as given.
    pub fn driver(&self) -> &RpcAddress {
        &self.driver
    }

    /// This end of the connection.
    pub fn local_addr(&self) -> SocketAddr {
        self.client.local_addr()
    }
}

/// Turns the driver's requests into events.
struct Inbox {
    events: mpsc::UnboundedSender<Event>,
}

impl Inbox {
    fn receive(&self, peer: Peer, body: Bytes, reply: Option<Reply>) {
        let event = match RequestEnvelope::read(&body) {
            Ok(RequestEnvelope {
                endpoint, content, ..
            }) => Event::Incoming(Incoming {
                endpoint,
                envelope: body,
                content,
                reply,
            }),
            Err(error) => {
                tracing::warn!(
                    "Ignored a message of {} bytes from {}: {error}",
                    body.len(),
                    peer.addr
                );
                if let Some(reply) = reply {
                    reply.failure(error.to_string());
                }
                return;
            }
        };
        // Without a receiver this process is ending; a request is then answered by being dropped.
        let _ = self.events.send(event);
    }
}

impl RequestHandler for Inbox {
    fn on_rpc(&self, peer: Peer, body: Bytes, reply: Reply) {
        self.receive(peer, body, Some(reply));
    }

    fn on_one_way(&self, peer: Peer, body: Bytes) {
        self.receive(peer, body, None);
    }

    fn on_close(&self, _peer: Peer, error: Option<&str>) {
        // As above.
        let _ = self
            .events
            .send(Event::Disconnected(error.map(str::to_owned)));
    }
}
