//! Sockets around `wire`'s frames: connections, streams, back-pressure.
