//! Congestion control of accepted connections.
//!
//! What is sent inside a machine meets no congestion. Algorithms that pace what they send (BBR) set a timer for each
//! packet there, which costs more than to send it, and a connection that was paced once stays so. So the listening
//! socket hands the plainest algorithm to all connections, and those from other machines get the system's own again
//! before anything is sent on them.

use rustix::net::sockopt::{set_tcp_congestion, tcp_congestion};
use tokio::net::{TcpSocket, TcpStream};

/// Every system has it, and lets everybody use it.
const PLAINEST: &str = "reno";
/// Algorithms that do not pace.
const UNPACED: [&str; 2] = [PLAINEST, "cubic"];

/// What the connections of a listening socket need.
#[derive(Debug)]
pub(super) struct Pacing {
    /// The system's algorithm, if connections from this machine have another.
    elsewhere: Option<String>,
}

impl Pacing {
    /// Prepares a socket that will listen. Where that cannot be done all connections have the system's algorithm.
    pub(super) fn prepare(socket: &TcpSocket) -> Self {
        let system = tcp_congestion(socket).ok();
        let paced = system.filter(|name| !UNPACED.contains(&name.as_str()));
        // To give the system's own back must be allowed, too.
        let prepare = |name: &String| {
            set_tcp_congestion(socket, name).is_ok() && set_tcp_congestion(socket, PLAINEST).is_ok()
        };
        Self {
            elsewhere: paced.filter(prepare),
        }
    }

    /// Prepares a connection on which nothing was sent yet. It works without that, too.
    pub(super) fn accepted(&self, socket: &TcpStream) {
        let (Some(system), Ok(here), Ok(there)) =
            (&self.elsewhere, socket.local_addr(), socket.peer_addr())
        else {
            return;
        };
        // A route may have an algorithm of its own.
        let is_prepared = || tcp_congestion(socket).is_ok_and(|name| name == PLAINEST);
        if here.ip() != there.ip()
            && is_prepared()
            && let Err(error) = set_tcp_congestion(socket, system)
        {
            tracing::warn!("Cannot give {there} the congestion control {system}: {error}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::net::TcpListener;

    async fn accept(prepare: impl FnOnce(&TcpSocket) -> Pacing, peer: &str) -> (Pacing, TcpStream) {
        let socket = TcpSocket::new_v4().unwrap();
        let pacing = prepare(&socket);
        socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let listener: TcpListener = socket.listen(1).unwrap();
        let client = TcpSocket::new_v4().unwrap();
        client.bind(format!("{peer}:0").parse().unwrap()).unwrap();
        let (accepted, _client) = tokio::join!(
            listener.accept(),
            client.connect(listener.local_addr().unwrap())
        );
        (pacing, accepted.unwrap().0)
    }

    #[tokio::test]
    async fn connections_from_here_are_not_paced() {
        let (pacing, socket) = accept(Pacing::prepare, "127.0.0.1").await;
        pacing.accepted(&socket);
        let name = tcp_congestion(&socket).unwrap();
        assert!(UNPACED.contains(&name.as_str()), "{name}");
    }

    #[tokio::test]
    async fn connections_from_elsewhere_have_the_algorithm_of_the_system() {
        let system = tcp_congestion(TcpSocket::new_v4().unwrap()).unwrap();
        // As if the system's own were one that paces.
        let prepare = |socket: &TcpSocket| {
            set_tcp_congestion(socket, PLAINEST).unwrap();
            Pacing {
                elsewhere: Some(system.clone()),
            }
        };
        let (pacing, socket) = accept(prepare, "127.0.0.2").await;
        assert_eq!(tcp_congestion(&socket).unwrap(), PLAINEST);
        pacing.accepted(&socket);
        assert_eq!(tcp_congestion(&socket).unwrap(), system);
    }
}
