//! Connections to other block servers.

use super::BlockFetchError;
use crate::transport::{Client, NoRequests, TransportConf};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

/// A few connections per address, each opened when it is first needed and shared by all who ask there.
#[derive(Debug)]
pub(super) struct Pool {
    conf: TransportConf,
    per_peer: usize,
    peers: Mutex<HashMap<Address, Arc<[Slot]>>>,
}

/// Host and port.
type Address = (String, u16);

#[derive(Debug, Default)]
struct Slot {
    /// Locked while somebody connects, so that others wait for the same connection.
    state: tokio::sync::Mutex<Connecting>,
}

#[derive(Debug, Default)]
struct Connecting {
    client: Option<Client>,
    /// When the last attempt failed and why: those who have waited for it do not make another one.
    failure: Option<(Instant, Arc<str>)>,
}

impl Pool {
    /// `per_peer` is `spark.shuffle.io.numConnectionsPerPeer`.
    pub(super) fn new(conf: TransportConf, per_peer: usize) -> Self {
        Self {
            conf,
            per_peer,
            peers: Mutex::default(),
        }
    }

    /// An open connection.
    pub(super) async fn client(&self, host: &str, port: u16) -> Result<Client, BlockFetchError> {
        let slots = {
            let mut peers = self.peers.lock();
            let slots = peers
                .entry((host.to_owned(), port))
                .or_insert_with(|| (0..self.per_peer.max(1)).map(|_| Slot::default()).collect());
            Arc::clone(slots)
        };
        let slot = slots
            .get(fastrand::usize(..slots.len()))
            .ok_or_else(|| BlockFetchError::Protocol("no connections are allowed".into()))?;
        let asked = Instant::now();
        let mut state = slot.state.lock().await;
        if let Some(client) = state.client.as_ref().filter(|client| !client.is_closed()) {
            return Ok(client.clone());
        }
        state.client = None;
        if let Some((at, why)) = &state.failure
            && *at >= asked
        {
            return Err(BlockFetchError::Connection(why.clone()));
        }
        match Client::connect(host, port, &self.conf, Arc::new(NoRequests)).await {
            Ok(client) => {
                state.failure = None;
                state.client = Some(client.clone());
                Ok(client)
            }
            Err(error) => {
                let error = BlockFetchError::connection(error);
                state.failure = Some((Instant::now(), error.to_string().into()));
                drop(state);
                self.forget(host, port);
                Err(error)
            }
        }
    }

    /// Executors come and go: an address that does not answer and that nobody waits for is not kept.
    fn forget(&self, host: &str, port: u16) {
        let mut peers = self.peers.lock();
        let address = (host.to_owned(), port);
        // One is this map's, one that of the caller.
        if peers
            .get(&address)
            .is_some_and(|slots| Arc::strong_count(slots) <= 2)
        {
            peers.remove(&address);
        }
    }
}
