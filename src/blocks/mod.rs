//! Blocks: stores, disk layout and the block server.
