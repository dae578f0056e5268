//! NettyRpcEnv semantics: endpoints, asks, replies, timeouts.
